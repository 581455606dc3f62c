/* SPDX-License-Identifier: Apache-2.0 */

/* Authority: see authorize.h. */

#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>

#include <systemd/sd-event.h>

#include "daemon/bus-errors.h"
#include "daemon/authorize.h"

#define POLKIT_NAME      "org.freedesktop.PolicyKit1"
#define POLKIT_PATH      "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"
#define POLKIT_USEC      (UINT64_C(120) * 1000000) /* somebody may have to type a password */

#define ALLOW_INTERACTION 1u

#define SENDERS 256

/* What polkit was asked, and later its answer, for one message and action. */
typedef struct Question {
        LIST_ENTRY(Question) entry;
        Authority *authority;
        sd_bus_message *message;
        char *action;
        uid_t uid;
        bool answered, allowed;
        sd_bus_slot *call;
        sd_event_source *forget;
} Question;

/* A unique name of the bus is never given to another connection, so what was learnt of it stays true. */
typedef struct Sender {
        char name[AUTHORITY_NAME_BYTES]; /* "": none */
        uid_t uid;
} Sender;

struct Authority {
        Sender senders[SENDERS];
        sd_bus *bus;
        sd_bus_slot *watch;
        LIST_HEAD(, Question) questions;
};

static void question_free(Question *question) {
        LIST_REMOVE(question, entry);
        sd_bus_slot_unref(question->call);
        sd_event_source_disable_unref(question->forget);
        sd_bus_message_unref(question->message);
        free(question->action);
        free(question);
}

/* A client that leaves the bus takes its questions with it. */
static int on_name_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Authority *authority = userdata;
        const char *name, *before, *after;
        Question *question, *next;

        if (sd_bus_message_read(message, "sss", &name, &before, &after) < 0 || after[0] != '\0')
                return 0;

        for (question = LIST_FIRST(&authority->questions); question; question = next) {
                const char *sender = sd_bus_message_get_sender(question->message);

                next = LIST_NEXT(question, entry);
                if (sender && strcmp(sender, name) == 0)
                        question_free(question);
        }

        return 0;
}

int authority_new(sd_bus *bus, Authority **ret) {
        _cleanup_(authority_freep) Authority *authority = NULL;
        int r;

        authority = calloc(1, sizeof(*authority));
        if (!authority)
                return -ENOMEM;

        LIST_INIT(&authority->questions);
        authority->bus = sd_bus_ref(bus);

        /* A direct connection has no names. */
        if (sd_bus_is_bus_client(bus) > 0) {
                r = sd_bus_match_signal_async(bus, &authority->watch, "org.freedesktop.DBus",
                                              "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                              "NameOwnerChanged", on_name_owner_changed, NULL, authority);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(authority);
        return 0;
}

Authority *authority_free(Authority *authority) {
        Question *question;

        if (!authority)
                return NULL;

        while ((question = LIST_FIRST(&authority->questions)))
                question_free(question);
        sd_bus_slot_unref(authority->watch);
        sd_bus_unref(authority->bus);
        free(authority);
        return NULL;
}

static size_t place_of(const char *name) {
        size_t hash = 0;

        for (const char *c = name; *c; c++)
                hash = hash * 31 + (unsigned char) *c;
        return hash % SENDERS;
}

void authority_remember(Authority *authority, const char *name, uid_t uid) {
        Sender *sender = name ? &authority->senders[place_of(name)] : NULL;

        if (!sender || strlen(name) >= sizeof(sender->name))
                return;
        (void) strcpy(sender->name, name);
        sender->uid = uid;
}

bool authority_knows(const Authority *authority, const char *name, uid_t *ret) {
        const Sender *sender = &authority->senders[place_of(name)];

        if (!*name || strcmp(sender->name, name) != 0)
                return false;
        *ret = sender->uid;
        return true;
}

int authorize_sender_uid(const Authority *authority, sd_bus_message *message, uid_t *ret) {
        const char *name = sd_bus_message_get_sender(message);
        sd_bus_creds *creds = NULL;
        int r;

        if (name && authority_knows(authority, name, ret))
                return 0;

        /*
         * A direct connection has no sender: its peer is who speaks. Only then: the peer of a bus
         * connection is whoever made the bus, often root, and a sender that has left by now must not become
         * that.
         */
        if (name)
                r = sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID, &creds);
        else
                r = sd_bus_get_owner_creds(sd_bus_message_get_bus(message), SD_BUS_CREDS_EUID, &creds);
        if (r >= 0)
                r = sd_bus_creds_get_euid(creds, ret);

        sd_bus_creds_unref(creds);
        return r;
}

static int on_forget(sd_event_source *source, void *userdata) {
        question_free(userdata);
        return 0;
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Question *question = userdata;
        int allowed = false, r;

        /* An error of polkit, its absence and a timeout come as error replies: refused. */
        if (!sd_bus_message_is_method_error(reply, NULL)) {
                r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
                if (r > 0)
                        r = sd_bus_message_read(reply, "b", &allowed);
                if (r < 0)
                        allowed = false;
        }

        question->answered = true;
        question->allowed = allowed;
        authority_remember(question->authority, sd_bus_message_get_sender(question->message), question->uid); /* others may have come since */

        /* The handler runs again and finds the answer; after that nobody needs it. */
        r = sd_event_add_defer(sd_bus_get_event(question->authority->bus), &question->forget, on_forget,
                               question);
        if (r >= 0)
                r = sd_event_source_set_priority(question->forget, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = sd_bus_message_rewind(question->message, true);
        if (r >= 0)
                r = sd_bus_enqueue_for_read(question->authority->bus, question->message);
        if (r < 0) {
                (void) sd_bus_reply_method_errnof(question->message, r, "Failed to take polkit's answer");
                question_free(question);
        }

        return 0;
}

static int append_details(sd_bus_message *call, const char *const *details) {
        int r;

        r = sd_bus_message_open_container(call, 'a', "{ss}");
        for (size_t i = 0; r >= 0 && details && details[i]; i += 2)
                r = sd_bus_message_append(call, "{ss}", details[i], details[i + 1]);
        if (r < 0)
                return r;

        return sd_bus_message_close_container(call);
}

static int ask(Question *question, const char *const *details) {
        sd_bus_message *call = NULL;
        uint32_t flags;
        int r;

        flags = sd_bus_message_get_allow_interactive_authorization(question->message) > 0 ? ALLOW_INTERACTION
                                                                                          : 0;
        r = sd_bus_message_new_method_call(question->authority->bus, &call, POLKIT_NAME, POLKIT_PATH,
                                           POLKIT_INTERFACE, "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(call, "(sa{sv})s", "system-bus-name", 1, "name", "s",
                                          sd_bus_message_get_sender(question->message), question->action);
        if (r >= 0)
                r = append_details(call, details);
        if (r >= 0)
                r = sd_bus_message_append(call, "us", flags, "");
        if (r >= 0)
                r = sd_bus_call_async(question->authority->bus, &question->call, call, on_answer, question,
                                      POLKIT_USEC);

        sd_bus_message_unref(call);
        return r;
}

static size_t count_questions(const Authority *authority, uid_t uid, size_t *ret_total) {
        const Question *question;
        size_t n = 0;

        *ret_total = 0;
        LIST_FOREACH(question, &authority->questions, entry) {
                (*ret_total)++;
                if (question->uid == uid)
                        n++;
        }

        return n;
}

static int question_new(Authority *authority, sd_bus_message *message, const char *action, uid_t uid,
                        const char *const *details) {
        Question *question;
        int r;

        question = calloc(1, sizeof(*question));
        if (!question)
                return -ENOMEM;

        question->authority = authority;
        question->uid = uid;
        question->message = sd_bus_message_ref(message);
        question->action = strdup(action);
        LIST_INSERT_HEAD(&authority->questions, question, entry);

        r = question->action ? ask(question, details) : -ENOMEM;
        if (r < 0)
                question_free(question);
        return r;
}

static int refuse(sd_bus_error *error, const char *action) {
        return bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED, "Not permitted: %s", action);
}

bool authority_has_answer(const Authority *authority, const sd_bus_message *message) {
        const Question *question;

        LIST_FOREACH(question, &authority->questions, entry)
                if (question->answered && question->message == message)
                        return true;
        return false;
}

int authorize(Authority *authority, sd_bus_message *message, const char *action, const char *const *details,
              sd_bus_error *error) {
        const Question *question;
        size_t n, total;
        uid_t uid;
        int r;

        LIST_FOREACH(question, &authority->questions, entry) {
                if (question->answered && question->message == message &&
                    strcmp(question->action, action) == 0)
                        return question->allowed ? 1 : refuse(error, action);
        }

        r = authorize_sender_uid(authority, message, &uid);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to learn who asks: %s", strerror(-r));
        if (uid == 0)
                return 1;
        if (!sd_bus_message_get_sender(message))
                return refuse(error, action); /* a direct connection: polkit knows no such subject */

        n = count_questions(authority, uid, &total);
        if (n >= AUTHORITY_QUESTIONS_PER_UID_MAX || total >= AUTHORITY_QUESTIONS_MAX)
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                     "Too many questions to polkit are open: %s", action);

        r = question_new(authority, message, action, uid, details);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to ask polkit about %s: %s", action,
                                               strerror(-r));

        return 0;
}
