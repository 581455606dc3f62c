/* SPDX-License-Identifier: Apache-2.0 */

/* A private dbus-daemon, an object behind turns that notes who was served, and clients of several users, all in this process. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "daemon/clock.h"
#include "daemon/turns.h"

#define NOBODY    65534
#define OTHER_UID 1
#define PATH      "/test"
#define INTERFACE "test.Test"
#define MANY      300

typedef struct Client {
        sd_bus *bus;
        unsigned n_answered, n_refused, n_failed;
} Client;

typedef struct Fixture {
        char folder[64], address[128];
        pid_t daemon;
        sd_event *event;
        sd_bus *bus;
        Authority *authority;
        Turns *turns;
        char served[2 * MANY + 1]; /* a letter of each call, in the order in which they were handled */
        size_t n_served;
        bool has_strangers; /* 256 others and more come while each call waits */
        uint64_t n_ahead; /* the most that was read before its turn, to learn who asks */
        Client nobody, other, root;
} Fixture;

static void pause_msec(long msec) {
        struct timespec time = { 0, msec * 1000000 };

        (void) nanosleep(&time, NULL);
}

/* ---- the bus and who is served ---- */

static void start_bus(Fixture *fixture) {
        char path[128];
        FILE *file;

        (void) snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/assay-turns-XXXXXX");
        assert_non_null(mkdtemp(fixture->folder));
        assert_int_equal(chmod(fixture->folder, 0755), 0);
        (void) snprintf(fixture->address, sizeof(fixture->address), "unix:path=%s/bus", fixture->folder);
        (void) snprintf(path, sizeof(path), "%s/bus.conf", fixture->folder);
        file = fopen(path, "we");
        fprintf(file,
                "<busconfig><type>system</type><listen>%s</listen><auth>EXTERNAL</auth><policy context=\"default\"><allow user=\"*\"/>"
                "<allow send_destination=\"*\"/><allow receive_sender=\"*\"/><allow own=\"*\"/></policy>"
                "<limit name=\"max_replies_per_connection\">%u</limit></busconfig>",
                fixture->address, 2 * MANY);
        fclose(file);
        fixture->daemon = fork();
        if (fixture->daemon == 0) {
                char option[256];

                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) snprintf(option, sizeof(option), "--config-file=%s", path);
                execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", NULL);
                _exit(127);
        }
        (void) snprintf(path, sizeof(path), "%s/bus", fixture->folder);
        for (unsigned i = 0; i < 1500 && access(path, F_OK) < 0; i++)
                pause_msec(20);
}

/* The bus takes a connection for that of whoever opened it. */
static sd_bus *connect_as(const Fixture *fixture, uid_t uid) {
        const char *name = NULL;
        sd_bus *bus = NULL;

        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_address(bus, fixture->address) >= 0);
        assert_true(sd_bus_set_bus_client(bus, true) >= 0);
        assert_int_equal(seteuid(uid), 0);
        assert_true(sd_bus_start(bus) >= 0);
        assert_true(sd_bus_get_unique_name(bus, &name) >= 0);
        assert_int_equal(seteuid(0), 0);
        return bus;
}

/* They take every place among the senders that are known. */
static void let_strangers_come(Fixture *fixture) {
        char name[32];

        for (unsigned i = 0; i < 10000; i++) {
                (void) snprintf(name, sizeof(name), ":0.%u", i);
                authority_remember(fixture->authority, name, NOBODY - 1);
        }
}

static int method_note(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Fixture *fixture = userdata;
        const char *letter;
        uint64_t n;
        uid_t uid;

        assert_true(sd_bus_message_read(message, "s", &letter) >= 0);
        assert_true(!fixture->has_strangers || authority_knows(fixture->authority, sd_bus_message_get_sender(message), &uid));
        assert_true(authorize_sender_uid(fixture->authority, message, &uid) >= 0);
        assert_int_equal(uid, letter[0] == 'n' ? NOBODY : letter[0] == 'o' ? OTHER_UID : 0);
        assert_true(sd_bus_get_n_queued_read(fixture->bus, &n) >= 0);
        fixture->n_ahead = MAX(fixture->n_ahead, n);
        assert_true(fixture->n_served < sizeof(fixture->served) - 1);
        fixture->served[fixture->n_served++] = letter[0];
        if (fixture->has_strangers)
                let_strangers_come(fixture);
        return sd_bus_reply_method_return(message, NULL);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Note", "s", "", method_note, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static int set_up(void **state) {
        static Fixture fixture;

        fixture = (Fixture) {};
        *state = &fixture;
        if (getuid() != 0)
                return 0;
        start_bus(&fixture);
        fixture.bus = connect_as(&fixture, 0);
        assert_true(sd_event_new(&fixture.event) >= 0);
        assert_true(sd_bus_attach_event(fixture.bus, fixture.event, SD_EVENT_PRIORITY_NORMAL) >= 0);
        assert_true(authority_new(fixture.bus, &fixture.authority) >= 0);
        assert_true(turns_new(fixture.bus, fixture.authority, &fixture.turns) >= 0);
        assert_true(sd_bus_add_object_vtable(fixture.bus, NULL, PATH, INTERFACE, vtable, &fixture) >= 0);
        fixture.nobody.bus = connect_as(&fixture, NOBODY);
        fixture.other.bus = connect_as(&fixture, OTHER_UID);
        fixture.root.bus = connect_as(&fixture, 0);
        return 0;
}

static int tear_down(void **state) {
        Fixture *fixture = *state;
        char command[128];

        if (getuid() != 0)
                return 0;
        turns_free(fixture->turns);
        authority_free(fixture->authority);
        sd_bus_flush_close_unref(fixture->nobody.bus);
        sd_bus_flush_close_unref(fixture->other.bus);
        sd_bus_flush_close_unref(fixture->root.bus);
        sd_bus_flush_close_unref(fixture->bus);
        sd_event_unref(fixture->event);
        (void) kill(fixture->daemon, SIGTERM);
        (void) waitpid(fixture->daemon, NULL, 0);
        (void) snprintf(command, sizeof(command), "rm -rf '%s'", fixture->folder);
        return system(command);
}

/* ---- asking ---- */

static int on_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Client *client = userdata;

        if (sd_bus_message_is_method_error(message, SD_BUS_ERROR_LIMITS_EXCEEDED) > 0)
                client->n_refused++;
        else if (sd_bus_message_is_method_error(message, NULL) > 0)
                client->n_failed++;
        else
                client->n_answered++;
        return 0;
}

static void ask(Fixture *fixture, Client *client, unsigned n, const char *text) {
        const char *name;

        assert_true(sd_bus_get_unique_name(fixture->bus, &name) >= 0);
        for (unsigned i = 0; i < n; i++)
                assert_true(sd_bus_call_method_async(client->bus, NULL, name, PATH, INTERFACE, "Note", on_answer, client, "s", text) >= 0);
        assert_true(sd_bus_flush(client->bus) >= 0);
}

/* All that was sent on BUS has reached the bus, and what that sent to BUS before has reached it: a connection's messages keep their order. */
static void synchronise(sd_bus *bus) {
        assert_true(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId", NULL, NULL, NULL) >= 0);
}

/* Until each of the N has what was to come of it. */
static void wait_outcomes(Fixture *fixture, unsigned n) {
        Client *const clients[] = { &fixture->nobody, &fixture->other, &fixture->root };
        time_t end = time(NULL) + 60;

        for (unsigned known = 0; known < n;) {
                assert_true(time(NULL) < end);
                assert_true(sd_event_run(fixture->event, 1000) >= 0);
                known = 0;
                for (size_t i = 0; i < ELEMENTS(clients); i++) {
                        while (sd_bus_process(clients[i]->bus, NULL) > 0)
                                ;
                        known += clients[i]->n_answered + clients[i]->n_refused + clients[i]->n_failed;
                }
        }
}

static void skip_unless_root(void) {
        if (getuid() != 0) {
                print_message("skipped: only root can be three users\n");
                skip();
        }
}

/* ---- tests ---- */

static void test_users_are_served_in_turn(void **state) {
        Fixture *fixture = *state;
        const char *first, *next;

        skip_unless_root();
        /* Their users are known then, so that none has to wait for that. */
        ask(fixture, &fixture->nobody, 1, "n");
        ask(fixture, &fixture->other, 1, "o");
        wait_outcomes(fixture, 2);
        ask(fixture, &fixture->nobody, 20, "n");
        ask(fixture, &fixture->other, 5, "o");
        synchronise(fixture->nobody.bus);
        synchronise(fixture->other.bus);
        synchronise(fixture->bus);
        wait_outcomes(fixture, 27);
        assert_int_equal(fixture->nobody.n_answered, 21);
        assert_int_equal(fixture->other.n_answered, 6);

        first = strchr(fixture->served + 2, 'o');
        assert_non_null(first);
        for (unsigned i = 1; i < 5; i++, first = next) {
                next = strchr(first + 1, 'o');
                if (!next || next != first + 2)
                        fail_msg("not in turn: %s", fixture->served);
        }
}

/* To ask the bus would be to read all that it has for us already: of a flood of long calls a hundred megabytes. */
static void test_who_asks_is_known_without_reading_on(void **state) {
        Fixture *fixture = *state;

        skip_unless_root();
        ask(fixture, &fixture->root, 1, "r");
        ask(fixture, &fixture->nobody, 1, "n");
        wait_outcomes(fixture, 2);
        fixture->n_ahead = 0;
        ask(fixture, &fixture->root, 20, "r");
        ask(fixture, &fixture->nobody, 20, "n");
        synchronise(fixture->root.bus);
        synchronise(fixture->nobody.bus);
        wait_outcomes(fixture, 42);
        assert_int_equal(fixture->n_ahead, 0);
}

static void test_who_has_a_turn_is_known_whoever_came_since(void **state) {
        Fixture *fixture = *state;

        skip_unless_root();
        fixture->has_strangers = true;
        ask(fixture, &fixture->nobody, 5, "n");
        ask(fixture, &fixture->other, 5, "o");
        wait_outcomes(fixture, 10);
        assert_int_equal(fixture->nobody.n_answered + fixture->other.n_answered, 10);
}

static void test_root_waits_for_nobody(void **state) {
        Fixture *fixture = *state;

        skip_unless_root();
        /* Both are known then: how soon the bus answers who root is would count otherwise. */
        ask(fixture, &fixture->root, 1, "r");
        ask(fixture, &fixture->nobody, 1, "n");
        wait_outcomes(fixture, 2);
        ask(fixture, &fixture->nobody, TURNS_OF_USER, "n");
        synchronise(fixture->nobody.bus);
        ask(fixture, &fixture->root, 3, "r");
        synchronise(fixture->root.bus);
        synchronise(fixture->bus);
        wait_outcomes(fixture, TURNS_OF_USER + 5);
        /* Some may have had their turn before root was heard. */
        if (strrchr(fixture->served, 'r') > fixture->served + 2 + TURNS_OF_USER / 2)
                fail_msg("root waited: %s", fixture->served);
}

static void test_who_asks_too_much_is_refused_and_nobody_else(void **state) {
        Fixture *fixture = *state;
        uint64_t begun;

        skip_unless_root();
        /* A new sender has the limit of any user, until the bus has told whose it is. */
        ask(fixture, &fixture->root, 1, "r");
        wait_outcomes(fixture, 1);
        fixture->root.n_answered = 0;
        begun = clock_usec(CLOCK_MONOTONIC);
        ask(fixture, &fixture->nobody, MANY, "n");
        ask(fixture, &fixture->other, 5, "o");
        ask(fixture, &fixture->root, MANY / 2, "r");
        pause_msec(100);
        wait_outcomes(fixture, MANY + 5 + MANY / 2);
        assert_true(fixture->nobody.n_answered >= TURNS_OF_USER);
        assert_true(fixture->nobody.n_refused > 0);
        assert_int_equal(fixture->nobody.n_answered + fixture->nobody.n_refused, MANY);
        assert_int_equal(fixture->other.n_answered, 5);
        assert_int_equal(fixture->root.n_answered, MANY / 2);
        assert_true(clock_usec(CLOCK_MONOTONIC) - begun >= (fixture->nobody.n_refused - 1) * TURNS_REFUSAL_USEC); /* in good time */

        /* And later is heard again. */
        ask(fixture, &fixture->nobody, 1, "n");
        wait_outcomes(fixture, MANY + 5 + MANY / 2 + 1);
        assert_int_equal(fixture->nobody.n_answered + fixture->nobody.n_refused, MANY + 1);
        assert_int_equal(fixture->served[fixture->n_served - 1], 'n');
}

static void test_a_call_of_too_many_bytes_is_not_kept(void **state) {
        static char text[TURNS_BYTES + 2];
        Fixture *fixture = *state;

        skip_unless_root();
        memset(text, 'n', sizeof(text) - 1);
        ask(fixture, &fixture->nobody, 1, text);
        wait_outcomes(fixture, 1);
        assert_int_equal(fixture->nobody.n_refused, 1);
        text[TURNS_BYTES / 2] = '\0';
        ask(fixture, &fixture->nobody, 1, text);
        wait_outcomes(fixture, 2);
        assert_int_equal(fixture->nobody.n_answered, 1);
}

static void test_what_still_waits_at_the_end_is_let_go(void **state) {
        Fixture *fixture = *state;

        skip_unless_root();
        ask(fixture, &fixture->nobody, MANY, "n");
        pause_msec(50);
        for (unsigned i = 0; i < 40; i++)
                assert_true(sd_event_run(fixture->event, 1000) >= 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_users_are_served_in_turn),
                TEST(test_who_asks_is_known_without_reading_on),
                TEST(test_who_has_a_turn_is_known_whoever_came_since),
                TEST(test_root_waits_for_nobody),
                TEST(test_who_asks_too_much_is_refused_and_nobody_else),
                TEST(test_a_call_of_too_many_bytes_is_not_kept),
                TEST(test_what_still_waits_at_the_end_is_let_go),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
