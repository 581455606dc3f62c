/* SPDX-License-Identifier: Apache-2.0 */

/* Turns: see turns.h. */

#include "daemon/turns.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/queue.h>
#include <time.h>

#include <systemd/sd-event.h>

#include "daemon/bus-errors.h"
#include "daemon/clock.h"

typedef struct Call {
        TAILQ_ENTRY(Call) entry;
        sd_bus_message *message;
} Call;

TAILQ_HEAD(CallQueue, Call); /* oldest first */

typedef struct User {
        TAILQ_ENTRY(User) entry;
        uid_t uid;
        size_t n_calls;
        struct CallQueue calls; /* never empty */
} User;

/* A sender whose user the bus has been asked for. */
typedef struct Newcomer {
        TAILQ_ENTRY(Newcomer) entry;
        Turns *turns;
        char name[AUTHORITY_NAME_BYTES];
        sd_bus_slot *question;
        size_t n_calls;
        struct CallQueue calls; /* until the answer comes */
} Newcomer;

struct Turns {
        sd_bus *bus;
        Authority *authority;
        sd_bus_slot *filter;
        sd_event_source *idle, *overdue, *done;
        sd_bus_message *served; /* on its way to its handler */
        uint64_t begun_usec, took_usec; /* its handler, or the one before */
        TAILQ_HEAD(, User) users; /* who waits, the next one first */
        TAILQ_HEAD(, Newcomer) newcomers;
        size_t n_newcomers;
        size_t n_calls; /* of all users and newcomers */
        struct CallQueue refusals; /* answers */
        size_t n_refusals;
        sd_event_source *refusing;
        uint64_t root_usec; /* when root asked last, by CLOCK_MONOTONIC */
};

/* ---- queues ---- */

static User *find_user(Turns *turns, uid_t uid) {
        User *user;

        TAILQ_FOREACH(user, &turns->users, entry)
                if (user->uid == uid)
                        return user;
        return NULL;
}

static User *user_new(Turns *turns, uid_t uid) {
        User *user = calloc(1, sizeof(*user));

        if (!user)
                return NULL;
        user->uid = uid;
        TAILQ_INIT(&user->calls);
        TAILQ_INSERT_TAIL(&turns->users, user, entry);
        return user;
}

static int queue_add(struct CallQueue *queue, sd_bus_message *message) {
        Call *call = malloc(sizeof(*call));

        if (!call)
                return -ENOMEM;
        call->message = sd_bus_message_ref(message);
        TAILQ_INSERT_TAIL(queue, call, entry);
        return 0;
}

/* The oldest, for the caller to unref. */
static sd_bus_message *queue_take(struct CallQueue *queue) {
        Call *call = TAILQ_FIRST(queue);
        sd_bus_message *message = call->message;

        TAILQ_REMOVE(queue, call, entry);
        free(call);
        return message;
}

/* The oldest call of USER, who goes to the end of the line, or out of it: then USER is no more. */
static sd_bus_message *take_call(Turns *turns, User *user) {
        sd_bus_message *message = queue_take(&user->calls);

        user->n_calls--;
        turns->n_calls--;
        TAILQ_REMOVE(&turns->users, user, entry);
        if (TAILQ_EMPTY(&user->calls))
                free(user);
        else
                TAILQ_INSERT_TAIL(&turns->users, user, entry);
        return message;
}

static int add_call(Turns *turns, uid_t uid, sd_bus_message *message) {
        User *user = find_user(turns, uid) ?: user_new(turns, uid);
        int r;

        if (!user)
                return -ENOMEM;
        r = queue_add(&user->calls, message);
        if (r < 0 && TAILQ_EMPTY(&user->calls)) {
                TAILQ_REMOVE(&turns->users, user, entry);
                free(user);
        }
        if (r < 0)
                return r;
        user->n_calls++;
        turns->n_calls++;
        return 0;
}

/* ---- serving ---- */

/*
 * Whatever else there is to read is read first, so that refusals are fast; and where root has just asked, his next question may be on its way. But neither for
 * ever.
 */
static int serve_soon(Turns *turns) {
        bool is_root_near = clock_usec(CLOCK_MONOTONIC) - turns->root_usec < TURNS_USEC;
        int armed, r;

        if (turns->served || TAILQ_EMPTY(&turns->users))
                return 0;
        r = sd_event_source_set_enabled(turns->idle, is_root_near ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
        if (r >= 0)
                r = sd_event_source_get_enabled(turns->overdue, &armed);
        if (r < 0 || armed != SD_EVENT_OFF)
                return MIN(r, 0);
        r = sd_event_source_set_time_relative(turns->overdue, TURNS_USEC + turns->took_usec);
        return r < 0 ? r : sd_event_source_set_enabled(turns->overdue, SD_EVENT_ONESHOT);
}

/* The bus hands the call out again, and this time it goes on to its handler. */
static int serve(Turns *turns) {
        sd_bus_message *message;
        uid_t uid;
        int r;

        (void) sd_event_source_set_enabled(turns->idle, SD_EVENT_OFF);
        (void) sd_event_source_set_enabled(turns->overdue, SD_EVENT_OFF);
        if (turns->served || TAILQ_EMPTY(&turns->users))
                return 0;
        uid = TAILQ_FIRST(&turns->users)->uid;
        message = take_call(turns, TAILQ_FIRST(&turns->users));
        authority_remember(turns->authority, sd_bus_message_get_sender(message), uid); /* others may have come in its place since */
        r = sd_bus_enqueue_for_read(turns->bus, message);
        if (r >= 0) {
                turns->served = message;
                return 0;
        }
        (void) sd_bus_reply_method_errnof(message, r, "Failed to serve the call: %s", strerror(-r));
        (void) sd_bus_message_unref(message);
        return serve_soon(turns);
}

/* This comes before the next message, and so when the handler has returned. */
static int on_done(sd_event_source *source, void *userdata) {
        Turns *turns = userdata;

        turns->served = sd_bus_message_unref(turns->served);
        turns->took_usec = clock_usec(CLOCK_MONOTONIC) - turns->begun_usec;
        return serve_soon(turns);
}

static int on_idle(sd_event_source *source, void *userdata) {
        return serve(userdata);
}

static int on_overdue(sd_event_source *source, uint64_t usec, void *userdata) {
        return serve(userdata);
}

/* ---- refusing ---- */

static int refuse_soon(Turns *turns) {
        int armed, r;

        if (TAILQ_EMPTY(&turns->refusals))
                return 0;
        r = sd_event_source_get_enabled(turns->refusing, &armed);
        if (r < 0 || armed != SD_EVENT_OFF)
                return MIN(r, 0);
        r = sd_event_source_set_time_relative(turns->refusing, TURNS_REFUSAL_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(turns->refusing, SD_EVENT_ONESHOT);
}

static void send_refusal(Turns *turns) {
        sd_bus_message *refusal = queue_take(&turns->refusals);

        turns->n_refusals--;
        (void) sd_bus_send(turns->bus, refusal, NULL);
        (void) sd_bus_message_unref(refusal);
}

static int on_refusing(sd_event_source *source, uint64_t usec, void *userdata) {
        Turns *turns = userdata;

        (void) sd_event_source_set_enabled(source, SD_EVENT_OFF);
        if (!TAILQ_EMPTY(&turns->refusals))
                send_refusal(turns);
        return refuse_soon(turns);
}

/* Where there are too many, the oldest are likely of connections that are no more. */
static int refuse(Turns *turns, sd_bus_message *message, const sd_bus_error *error) {
        sd_bus_message *refusal = NULL;
        int r;

        if (sd_bus_message_get_expect_reply(message) <= 0)
                return 0;
        if (turns->n_refusals >= TURNS_REFUSALS)
                send_refusal(turns);
        r = sd_bus_message_new_method_error(message, &refusal, error);
        if (r >= 0)
                r = queue_add(&turns->refusals, refusal);
        (void) sd_bus_message_unref(refusal);
        if (r < 0)
                return r;
        turns->n_refusals++;
        return refuse_soon(turns);
}

/* ---- arriving ---- */

/* Adds what is left of MESSAGE up to the end of the container that is open, and gives up beyond TURNS_BYTES. */
static int add_bytes(sd_bus_message *message, size_t *n) {
        const char *contents;
        char type;
        int r;

        while ((r = sd_bus_message_peek_type(message, &type, &contents)) > 0) {
                union {
                        const char *text;
                        uint64_t number;
                } value;

                if (contents) {
                        r = sd_bus_message_enter_container(message, type, contents);
                        if (r >= 0)
                                r = add_bytes(message, n);
                        if (r >= 0)
                                r = sd_bus_message_exit_container(message);
                } else
                        r = sd_bus_message_read_basic(message, type, &value);
                if (r < 0)
                        return r;
                *n += 8 + (!contents && strchr("sog", type) ? strlen(value.text) : 0);
                if (*n > TURNS_BYTES)
                        return -EFBIG;
        }
        return r;
}

static bool is_too_long(sd_bus_message *message) {
        size_t n = strlen(sd_bus_message_get_path(message));
        int r = add_bytes(message, &n);

        (void) sd_bus_message_rewind(message, true);
        return r < 0 || n > TURNS_BYTES;
}

static int check_length(sd_bus_message *message, sd_bus_error *error) {
        if (is_too_long(message))
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Arguments of more than %u KiB", TURNS_BYTES >> 10);
        return 0;
}

static int check_room_of_all(const Turns *turns, sd_bus_error *error) {
        if (turns->n_calls >= TURNS_OF_USERS)
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "%u calls of other users wait already: try again later", TURNS_OF_USERS);
        return 0;
}

static int check_room(Turns *turns, uid_t uid, sd_bus_error *error) {
        const User *user = find_user(turns, uid);

        if (user && user->n_calls >= TURNS_OF_USER)
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "%u calls of user %u wait already: wait for their answers", TURNS_OF_USER,
                                     (unsigned) uid);
        return check_room_of_all(turns, error);
}

/* An answer of polkit makes a handler run again, which had its turn. */
static bool has_no_turn(const Turns *turns, sd_bus_message *message) {
        return sd_bus_message_is_method_call(message, NULL, NULL) <= 0 || authority_has_answer(turns->authority, message);
}

/* 1: the message has been taken. R: why it cannot be, with ERROR, or 0. */
static int take_or_refuse(Turns *turns, int r, sd_bus_message *message, sd_bus_error *error) {
        if (r >= 0)
                return 1;
        r = refuse(turns, message, error);
        sd_bus_error_free(error);
        return r < 0 ? r : 1;
}

static int queue_call(Turns *turns, uid_t uid, sd_bus_message *message, sd_bus_error *error) {
        int r;

        r = check_room(turns, uid, error);
        if (r < 0)
                return take_or_refuse(turns, r, message, error);
        r = add_call(turns, uid, message);
        if (r >= 0)
                r = serve_soon(turns);
        return r < 0 ? r : 1;
}

/* 0: it goes on to its handler. */
static int take_turn(Turns *turns, uid_t uid, sd_bus_message *message, sd_bus_error *error) {
        if (uid != 0)
                return queue_call(turns, uid, message, error);
        turns->root_usec = clock_usec(CLOCK_MONOTONIC);
        (void) sd_event_source_set_enabled(turns->idle, SD_EVENT_OFF);
        return 0;
}

/* ---- newcomers ---- */

static Newcomer *find_newcomer(Turns *turns, const char *name) {
        Newcomer *newcomer;

        TAILQ_FOREACH(newcomer, &turns->newcomers, entry)
                if (strcmp(newcomer->name, name) == 0)
                        return newcomer;
        return NULL;
}

static sd_bus_message *newcomer_take(Newcomer *newcomer) {
        newcomer->n_calls--;
        newcomer->turns->n_calls--;
        return queue_take(&newcomer->calls);
}

static void newcomer_free(Newcomer *newcomer) {
        while (!TAILQ_EMPTY(&newcomer->calls))
                (void) sd_bus_message_unref(newcomer_take(newcomer));
        TAILQ_REMOVE(&newcomer->turns->newcomers, newcomer, entry);
        newcomer->turns->n_newcomers--;
        sd_bus_slot_unref(newcomer->question);
        free(newcomer);
}

/* Of root the calls are handed out again, in their order, and now their sender is known. */
static void admit(Turns *turns, uid_t uid, sd_bus_message *message) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = uid == 0 ? sd_bus_enqueue_for_read(turns->bus, message) : queue_call(turns, uid, message, &error);
        if (r < 0)
                (void) sd_bus_reply_method_errnof(message, r, "Failed to take the call: %s", strerror(-r));
}

/* Of those who have left the bus nobody waits for an answer. */
static int on_uid(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Newcomer *newcomer = userdata;
        Turns *turns = newcomer->turns;
        uint32_t uid;

        if (!sd_bus_message_is_method_error(reply, NULL) && sd_bus_message_read(reply, "u", &uid) >= 0) {
                authority_remember(turns->authority, newcomer->name, uid);
                while (!TAILQ_EMPTY(&newcomer->calls)) {
                        sd_bus_message *message = newcomer_take(newcomer);

                        admit(turns, uid, message);
                        (void) sd_bus_message_unref(message);
                }
        }
        newcomer_free(newcomer);
        return 0;
}

static Newcomer *newcomer_new(Turns *turns, const char *name) {
        Newcomer *newcomer = calloc(1, sizeof(*newcomer));

        if (!newcomer)
                return NULL;
        newcomer->turns = turns;
        (void) strcpy(newcomer->name, name);
        TAILQ_INIT(&newcomer->calls);
        TAILQ_INSERT_TAIL(&turns->newcomers, newcomer, entry);
        turns->n_newcomers++;
        if (sd_bus_call_method_async(turns->bus, &newcomer->question, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                     "GetConnectionUnixUser", on_uid, newcomer, "s", name) >= 0)
                return newcomer;
        newcomer_free(newcomer);
        return NULL;
}

/*
 * The bus is asked once for each sender, and its answer comes behind all that it has for us already: to wait for it would be to read all of that, which may
 * be gigabytes. The first call of a newcomer, who may be root, is kept whatever waits.
 */
static int welcome(Turns *turns, const char *name, sd_bus_message *message, sd_bus_error *error) {
        Newcomer *newcomer = find_newcomer(turns, name);
        int r = 0;

        if (newcomer)
                r = newcomer->n_calls >= TURNS_OF_USER ? bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "%u calls of %s wait already: wait for their answers",
                                                                       TURNS_OF_USER, name)
                                                       : check_room_of_all(turns, error);
        else if (turns->n_newcomers >= TURNS_NEWCOMERS)
                r = bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "%u senders of the bus are new: try again later", TURNS_NEWCOMERS);
        if (r < 0)
                return take_or_refuse(turns, r, message, error);
        newcomer = newcomer ?: newcomer_new(turns, name);
        if (!newcomer)
                return -ENOMEM;
        r = queue_add(&newcomer->calls, message);
        if (r < 0)
                return r;
        newcomer->n_calls++;
        turns->n_calls++;
        return 1;
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name = sd_bus_message_get_sender(message);
        Turns *turns = userdata;
        uid_t uid;
        int r;

        if (message == turns->served) {
                turns->begun_usec = clock_usec(CLOCK_MONOTONIC);
                return MIN(sd_event_source_set_enabled(turns->done, SD_EVENT_ONESHOT), 0);
        }
        if (has_no_turn(turns, message))
                return 0;
        r = check_length(message, error);
        if (r < 0)
                return take_or_refuse(turns, r, message, error);
        /* A direct connection has no names, and its peer is known. */
        if (!name || strlen(name) >= AUTHORITY_NAME_BYTES) {
                r = authorize_sender_uid(turns->authority, message, &uid);
                return r < 0 ? sd_bus_error_set_errnof(error, r, "Failed to learn who asks: %s", strerror(-r)) : take_turn(turns, uid, message, error);
        }
        return authority_knows(turns->authority, name, &uid) ? take_turn(turns, uid, message, error) : welcome(turns, name, message, error);
}

/* ---- life ---- */

static int add_defer(Turns *turns, int64_t priority, sd_event_handler_t handler, sd_event_source **ret) {
        int r;

        r = sd_event_add_defer(sd_bus_get_event(turns->bus), ret, handler, turns);
        if (r >= 0)
                r = sd_event_source_set_priority(*ret, priority);
        return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

static int add_timer(Turns *turns, sd_event_time_handler_t handler, sd_event_source **ret) {
        int r;

        r = sd_event_add_time(sd_bus_get_event(turns->bus), ret, CLOCK_MONOTONIC, 0, 1, handler, turns);
        if (r >= 0)
                r = sd_event_source_set_priority(*ret, SD_EVENT_PRIORITY_NORMAL - 1);
        return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

/* The bus itself is attached at the normal priority. */
static int turns_fill(Turns *turns) {
        int r;

        r = add_defer(turns, SD_EVENT_PRIORITY_NORMAL + 1, on_idle, &turns->idle);
        if (r >= 0)
                r = add_defer(turns, SD_EVENT_PRIORITY_NORMAL - 1, on_done, &turns->done);
        if (r >= 0)
                r = add_timer(turns, on_overdue, &turns->overdue);
        if (r >= 0)
                r = add_timer(turns, on_refusing, &turns->refusing);
        return r < 0 ? r : sd_bus_add_filter(turns->bus, &turns->filter, on_message, turns);
}

int turns_new(sd_bus *bus, Authority *authority, Turns **ret) {
        _cleanup_(turns_freep) Turns *turns = calloc(1, sizeof(*turns));
        int r;

        if (!turns)
                return -ENOMEM;
        TAILQ_INIT(&turns->users);
        TAILQ_INIT(&turns->newcomers);
        TAILQ_INIT(&turns->refusals);
        turns->bus = sd_bus_ref(bus);
        turns->authority = authority;
        r = turns_fill(turns);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(turns);
        return 0;
}

Turns *turns_free(Turns *turns) {
        Newcomer *newcomer;
        User *user;

        if (!turns)
                return NULL;
        while ((user = TAILQ_FIRST(&turns->users)))
                (void) sd_bus_message_unref(take_call(turns, user));
        while ((newcomer = TAILQ_FIRST(&turns->newcomers)))
                newcomer_free(newcomer);
        while (!TAILQ_EMPTY(&turns->refusals))
                (void) sd_bus_message_unref(queue_take(&turns->refusals));
        (void) sd_bus_message_unref(turns->served);
        sd_event_source_disable_unref(turns->idle);
        sd_event_source_disable_unref(turns->overdue);
        sd_event_source_disable_unref(turns->refusing);
        sd_event_source_disable_unref(turns->done);
        sd_bus_slot_unref(turns->filter);
        sd_bus_unref(turns->bus);
        free(turns);
        return NULL;
}
