/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A private dbus-daemon, a stand-in for polkit on it that allows what it finds a file for, the daemon's objects in a
 * child, and clients of another uid where the test may have one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <systemd/sd-bus.h>

#include "daemon/names.h"
#include "tests/daemon/trial.h"

#define NOBODY     65534
#define OTHER_UID  1 /* daemon: dbus-daemon turns away uids that have no name */
#define POLKIT     "org.freedesktop.PolicyKit1"

typedef struct Fixture {
        char folder[64];
        char address[128];
        pid_t bus, polkit, daemon;
} Fixture;

static void pause_msec(long msec) {
        struct timespec time = { 0, msec * 1000000 };

        (void) nanosleep(&time, NULL);
}

/* What a test leaves behind when it fails ends with it. */
static pid_t fork_child(void) {
        pid_t pid = fork();

        if (pid == 0)
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        return pid;
}

static sd_bus *connect_bus(const Fixture *fixture) {
        sd_bus *bus = NULL;

        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_address(bus, fixture->address) >= 0);
        assert_true(sd_bus_set_bus_client(bus, true) >= 0);
        assert_true(sd_bus_negotiate_fds(bus, true) >= 0);
        assert_true(sd_bus_start(bus) >= 0);
        return bus;
}

/* ---- the stand-in ---- */

/* Files of these names make it answer so. */
static const char *const odd_answers[] = { "challenge", "error", "text", "number" };

static int answer_oddly(sd_bus_message *message, const char *answer) {
        if (strcmp(answer, "challenge") == 0)
                return sd_bus_reply_method_return(message, "(bba{ss})", 0, 1, 1, "polkit.retains_authorization_after_challenge", "1");
        if (strcmp(answer, "error") == 0)
                return sd_bus_reply_method_errorf(message, POLKIT ".Error.Failed", "No such action");
        return strcmp(answer, "text") == 0 ? sd_bus_reply_method_return(message, "s", "yes") : sd_bus_reply_method_return(message, "(ub)", 1, 1);
}

static int on_check(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *folder = userdata, *kind, *action;
        char path[256];

        if (sd_bus_message_is_method_call(message, POLKIT ".Authority", "CheckAuthorization") <= 0)
                return 0;
        /* The subject is the caller's name on the bus; more of it than its kind is not looked at here. */
        if (sd_bus_message_enter_container(message, 'r', "sa{sv}") <= 0 ||
            sd_bus_message_read(message, "s", &kind) <= 0 || strcmp(kind, "system-bus-name") != 0 ||
            sd_bus_message_skip(message, "a{sv}") < 0 || sd_bus_message_exit_container(message) < 0 ||
            sd_bus_message_read(message, "s", &action) <= 0)
                return -EBADMSG;

        (void) snprintf(path, sizeof(path), "%s/asked", folder);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        (void) snprintf(path, sizeof(path), "%s/hold", folder);
        while (access(path, F_OK) == 0)
                pause_msec(10);
        for (size_t i = 0; i < ELEMENTS(odd_answers); i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", folder, odd_answers[i]);
                if (access(path, F_OK) == 0)
                        return answer_oddly(message, odd_answers[i]);
        }
        (void) snprintf(path, sizeof(path), "%s/allow-%s", folder, action);
        return sd_bus_reply_method_return(message, "(bba{ss})", access(path, F_OK) == 0, 0, 0);
}

static void serve_polkit(const Fixture *fixture) {
        sd_bus *bus = connect_bus(fixture);

        /* No vtable, with which every answer would be of the type that it names. */
        assert_true(sd_bus_add_object(bus, NULL, "/org/freedesktop/PolicyKit1/Authority", on_check, (void *) fixture->folder) >= 0);
        assert_true(sd_bus_request_name(bus, POLKIT, 0) >= 0);
        for (;;)
                if (sd_bus_process(bus, NULL) == 0)
                        (void) sd_bus_wait(bus, UINT64_MAX);
}

/* ---- the daemon ---- */

static void serve_daemon(const Fixture *fixture) {
        Trial trial;
        sd_bus *bus;

        assert_int_equal(trial_new("[{device: sim:slow, servers: [us0-0, us0-1]}]", "{workers: 1}", &trial), 0);
        bus = connect_bus(fixture);
        assert_true(sd_bus_attach_event(bus, trial.event, 0) >= 0);
        assert_true(sd_event_set_signal_exit(trial.event, true) >= 0);
        assert_true(manager_attach(trial.manager, bus) >= 0);
        assert_true(sd_bus_request_name(bus, ASSAY_BUS_NAME, 0) >= 0);
        (void) sd_event_loop(trial.event);
        sd_bus_flush_close_unref(bus);
        trial_done(&trial);
        _exit(0);
}

static void wait_name(const Fixture *fixture, const char *name) {
        sd_bus *bus = connect_bus(fixture);

        for (unsigned i = 0; i < 1500; i++) {
                if (sd_bus_get_name_creds(bus, name, 0, NULL) >= 0) {
                        sd_bus_flush_close_unref(bus);
                        return;
                }
                pause_msec(20);
        }

        fail_msg("%s does not come", name);
}

static void start_bus(Fixture *fixture) {
        char path[128], config[1024];
        FILE *file;

        (void) snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/assay-authorize-XXXXXX");
        assert_non_null(mkdtemp(fixture->folder));
        assert_int_equal(chmod(fixture->folder, 0755), 0);
        (void) snprintf(fixture->address, sizeof(fixture->address), "unix:path=%s/bus", fixture->folder);
        (void) snprintf(config, sizeof(config),
                        "<busconfig><type>system</type><listen>%s</listen><auth>EXTERNAL</auth>"
                        "<policy context=\"default\"><allow user=\"*\"/><allow send_destination=\"*\"/>"
                        "<allow receive_sender=\"*\"/><allow own=\"*\"/></policy></busconfig>",
                        fixture->address);
        (void) snprintf(path, sizeof(path), "%s/bus.conf", fixture->folder);
        file = fopen(path, "we");
        fputs(config, file);
        fclose(file);

        fixture->bus = fork_child();
        if (fixture->bus == 0) {
                char option[256];

                (void) snprintf(option, sizeof(option), "--config-file=%s", path);
                execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", NULL);
                _exit(127);
        }

        (void) snprintf(path, sizeof(path), "%s/bus", fixture->folder);
        for (unsigned i = 0; i < 1500 && access(path, F_OK) < 0; i++)
                pause_msec(20);
}

static int set_up(void **state) {
        static Fixture fixture;
        sigset_t mask;

        fixture = (Fixture) {};
        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGTERM);
        start_bus(&fixture);
        fixture.polkit = fork_child();
        if (fixture.polkit == 0)
                serve_polkit(&fixture);
        (void) sigprocmask(SIG_BLOCK, &mask, NULL);
        fixture.daemon = fork_child();
        if (fixture.daemon == 0)
                serve_daemon(&fixture);
        (void) sigprocmask(SIG_UNBLOCK, &mask, NULL);

        wait_name(&fixture, POLKIT);
        wait_name(&fixture, ASSAY_BUS_NAME);
        *state = &fixture;
        return 0;
}

static void end(pid_t pid) {
        if (pid > 0) {
                (void) kill(pid, SIGTERM);
                (void) waitpid(pid, NULL, 0);
        }
}

static int tear_down(void **state) {
        Fixture *fixture = *state;
        char command[128];

        end(fixture->daemon);
        end(fixture->polkit);
        end(fixture->bus);
        (void) snprintf(command, sizeof(command), "rm -rf '%s'", fixture->folder);
        return system(command);
}

static void allow(const Fixture *fixture, const char *action, bool allowed) {
        char path[256];

        (void) snprintf(path, sizeof(path), "%s/allow-%s", fixture->folder, action);
        if (allowed)
                close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        else
                (void) unlink(path);
}

/* ---- clients: a child each, of another uid where this is root; its status says what came of it ---- */

enum { GRANTED, DENIED, OTHER };

typedef struct Asking {
        uid_t uid;
        const char *path, *interface, *method;
        const char *property; /* of LogControl1, else NULL */
        const char *value;
} Asking;

static sd_bus_message *make_call(sd_bus *bus, const Asking *asking) {
        sd_bus_message *message = NULL;

        assert_true(sd_bus_message_new_method_call(bus, &message, ASSAY_BUS_NAME, asking->path, asking->interface,
                                                   asking->method) >= 0);
        if (asking->property)
                assert_true(sd_bus_message_append(message, "ssv", "org.freedesktop.LogControl1", asking->property, "s",
                                                  asking->value) >= 0);
        else if (strcmp(asking->method, "StartScan") == 0)
                assert_true(sd_bus_message_append(message, "assa{sv}t", 1, "us0-0", "quick", 0, (uint64_t) 0) >= 0);
        else if (strcmp(asking->method, "AddCosignatures") == 0)
                assert_true(sd_bus_message_append(message, "st", asking->value, (uint64_t) 0) >= 0);
        else
                assert_true(sd_bus_message_append(message, "t", (uint64_t) 0) >= 0);
        return message;
}

static int ask(const Fixture *fixture, const Asking *asking) {
        int status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                sd_bus_error error = SD_BUS_ERROR_NULL;
                sd_bus *bus;
                int r;

                if (geteuid() == 0 && asking->uid != 0 &&
                    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                     setresuid(asking->uid, asking->uid, asking->uid) < 0))
                        _exit(99);
                bus = connect_bus(fixture);
                r = sd_bus_call(bus, make_call(bus, asking), UINT64_C(20000000), &error, NULL);
                if (r < 0 && !sd_bus_error_has_name(&error, SD_BUS_ERROR_ACCESS_DENIED))
                        fprintf(stderr, "%s: %s\n", error.name, error.message);
                _exit(r >= 0 ? GRANTED : sd_bus_error_has_name(&error, SD_BUS_ERROR_ACCESS_DENIED) ? DENIED : OTHER);
        }

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static const Asking start = { NOBODY, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "StartScan", NULL, NULL };
static const Asking list = { NOBODY, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "ListTargets", NULL, NULL };
static const Asking set_level = { NOBODY, "/org/freedesktop/LogControl1", "org.freedesktop.DBus.Properties", "Set",
                                  "LogLevel", "debug" };

static void test_polkit_decides_who_may_scan(void **state) {
        Fixture *fixture = *state;

        assert_int_equal(ask(fixture, &list), GRANTED);
        assert_int_equal(ask(fixture, &start), DENIED);
        allow(fixture, ASSAY_ACTION_SCAN, true);
        assert_int_equal(ask(fixture, &start), GRANTED);
        allow(fixture, ASSAY_ACTION_SCAN, false);
        assert_int_equal(ask(fixture, &start), DENIED); /* no answer is kept for the next call */
}

/* It would have to ask him for a password, failed, or says what no polkit says. */
static void test_no_answer_but_yes_permits(void **state) {
        Fixture *fixture = *state;
        char path[128];

        allow(fixture, ASSAY_ACTION_SCAN, true);
        for (size_t i = 0; i < ELEMENTS(odd_answers); i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", fixture->folder, odd_answers[i]);
                close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
                if (ask(fixture, &start) != DENIED)
                        fail_msg("%s is not refused", odd_answers[i]);
                (void) unlink(path);
        }
        assert_int_equal(ask(fixture, &start), GRANTED);
}

static void test_root_need_not_ask(void **state) {
        Fixture *fixture = *state;
        Asking as_root = start;

        if (geteuid() != 0)
                skip();
        as_root.uid = 0;
        assert_int_equal(ask(fixture, &as_root), GRANTED);
}

/* Sends and leaves, before the daemon can ask the bus who that was. */
static void ask_and_leave(const Fixture *fixture, const Asking *asking) {
        sd_bus_message *call;
        int status;
        pid_t pid;

        assert_int_equal(kill(fixture->daemon, SIGSTOP), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                sd_bus *bus;

                if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                    setresuid(asking->uid, asking->uid, asking->uid) < 0)
                        _exit(99);
                bus = connect_bus(fixture);
                call = make_call(bus, asking);
                if (sd_bus_message_set_expect_reply(call, false) < 0 || sd_bus_send(bus, call, NULL) < 0 ||
                    sd_bus_flush(bus) < 0)
                        _exit(98);
                sd_bus_close(bus);
                _exit(0);
        }

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        pause_msec(100); /* the bus hears of it */
        assert_int_equal(kill(fixture->daemon, SIGCONT), 0);
}

static void test_who_has_left_the_bus_is_not_taken_for_its_owner(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;
        sd_bus_message *reply = NULL;
        sd_bus *bus;

        if (geteuid() != 0)
                skip(); /* the owner of the bus is root only here */
        ask_and_leave(fixture, &start);
        assert_int_equal(ask(fixture, &list), GRANTED);

        bus = connect_bus(fixture);
        assert_true(sd_bus_call_method(bus, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "GetScan",
                                       &error, &reply, "t", (uint64_t) 1) < 0);
        assert_string_equal(error.name, ASSAY_ERROR_NO_SUCH_SCAN);
        sd_bus_error_free(&error);
        sd_bus_flush_close_unref(bus);
}

static bool wait_file(const Fixture *fixture, const char *name) {
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
        for (unsigned i = 0; i < 3000; i++) {
                if (access(path, F_OK) == 0)
                        return true;
                pause_msec(10);
        }
        return false;
}

/* As ask_and_leave(), once polkit has been asked. */
static void leave_while_polkit_is_asked(const Fixture *fixture) {
        int status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                sd_bus_message *call;
                sd_bus *bus;

                if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
                        _exit(99);
                bus = connect_bus(fixture);
                call = make_call(bus, &start);
                if (sd_bus_message_set_expect_reply(call, false) < 0 || sd_bus_send(bus, call, NULL) < 0 || sd_bus_flush(bus) < 0)
                        _exit(98);
                _exit(wait_file(fixture, "asked") ? 0 : 97);
        }

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static size_t count_names(sd_bus *bus) {
        sd_bus_message *reply = NULL;
        const char *name;
        size_t n = 0;

        assert_true(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListNames", NULL, &reply, NULL) >= 0);
        assert_true(sd_bus_message_enter_container(reply, 'a', "s") > 0);
        while (sd_bus_message_read(reply, "s", &name) > 0)
                n++;
        sd_bus_message_unref(reply);
        return n;
}

/* Nobody is there who could be told of it. */
static void test_who_left_before_polkit_answered_starts_nothing(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;
        char path[128];
        uint32_t uid;
        sd_bus *bus;
        size_t n;

        if (geteuid() != 0)
                skip();
        allow(fixture, ASSAY_ACTION_SCAN, true);
        (void) snprintf(path, sizeof(path), "%s/hold", fixture->folder);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        bus = connect_bus(fixture);
        n = count_names(bus);
        leave_while_polkit_is_asked(fixture);
        for (unsigned i = 0; i < 3000 && count_names(bus) > n; i++)
                pause_msec(10);
        (void) unlink(path);

        assert_int_equal(ask(fixture, &start), GRANTED); /* asked behind it, so it is answered */
        assert_true(sd_bus_get_property_trivial(bus, ASSAY_BUS_NAME, ASSAY_SCAN_PATH_PREFIX "/_1", ASSAY_SCAN_INTERFACE, "RequesterUID", &error, 'u', &uid) >= 0);
        assert_int_equal(uid, NOBODY);
        assert_true(sd_bus_get_property_trivial(bus, ASSAY_BUS_NAME, ASSAY_SCAN_PATH_PREFIX "/_2", ASSAY_SCAN_INTERFACE, "RequesterUID", &error, 'u', &uid) < 0);
        sd_bus_error_free(&error);
        sd_bus_flush_close_unref(bus);
}

static void test_without_polkit_nothing_is_permitted(void **state) {
        Fixture *fixture = *state;

        allow(fixture, ASSAY_ACTION_SCAN, true);
        end(fixture->polkit);
        fixture->polkit = 0;
        assert_int_equal(ask(fixture, &start), DENIED);
        assert_int_equal(ask(fixture, &list), GRANTED);
}

static void test_who_started_a_scan_may_cancel_it_and_others_ask(void **state) {
        Asking cancel = { NOBODY, ASSAY_SCAN_PATH_PREFIX "/_1", ASSAY_SCAN_INTERFACE, "Cancel", NULL, NULL };
        Fixture *fixture = *state;

        allow(fixture, ASSAY_ACTION_SCAN, true);
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(ask(fixture, &start), GRANTED);
        cancel.path = ASSAY_SCAN_PATH_PREFIX "/_4";
        if (geteuid() == 0) {
                cancel.uid = OTHER_UID;
                assert_int_equal(ask(fixture, &cancel), DENIED);
                allow(fixture, ASSAY_ACTION_CANCEL_ANY, true);
                assert_int_equal(ask(fixture, &cancel), GRANTED);
                allow(fixture, ASSAY_ACTION_CANCEL_ANY, false);
        }
        cancel.uid = NOBODY;
        cancel.path = ASSAY_SCAN_PATH_PREFIX "/_3";
        assert_int_equal(ask(fixture, &cancel), GRANTED);
}

static void test_the_log_level_is_set_by_who_may_and_only_to_what_there_is(void **state) {
        Fixture *fixture = *state;
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Asking wrong = set_level;
        sd_bus *bus;
        char *level;

        assert_int_equal(ask(fixture, &set_level), DENIED);
        allow(fixture, ASSAY_ACTION_LOG_LEVEL, true);
        assert_int_equal(ask(fixture, &set_level), GRANTED);
        wrong.value = "loud";
        assert_int_equal(ask(fixture, &wrong), OTHER);

        bus = connect_bus(fixture);
        assert_true(sd_bus_get_property_string(bus, ASSAY_BUS_NAME, "/org/freedesktop/LogControl1",
                                               "org.freedesktop.LogControl1", "LogLevel", &error, &level) >= 0);
        assert_string_equal(level, "debug");
        free(level);
        sd_bus_flush_close_unref(bus);
}

/* A question is open for as long as its asker likes, and his message is kept for it: 32 of 32 MB would be all the memory there is. */
static void test_what_cannot_be_is_refused_before_anybody_is_asked(void **state) {
        Asking cosign = { NOBODY, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "AddCosignatures", NULL, "a note" }, set = set_level;
        Fixture *fixture = *state;
        char *text = calloc(1, (1 << 16) + 2);

        (void) memset(text, 'x', (1 << 16) + 1);
        assert_int_equal(ask(fixture, &cosign), DENIED);
        cosign.value = text;
        assert_int_equal(ask(fixture, &cosign), OTHER);
        set.property = text;
        assert_int_equal(ask(fixture, &set), OTHER);
        free(text);
}

/* On a direct connection a message names no sender. */
static void test_who_has_no_name_is_not_remembered(void **state) {
        Authority *authority;
        sd_bus *bus;
        uid_t uid;

        assert_true(sd_bus_new(&bus) >= 0);
        assert_int_equal(authority_new(bus, &authority), 0);
        authority_remember(authority, NULL, 0);
        assert_false(authority_knows(authority, "", &uid));
        (void) authority_free(authority);
        sd_bus_unref(bus);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_polkit_decides_who_may_scan),
                TEST(test_root_need_not_ask),
                TEST(test_who_has_left_the_bus_is_not_taken_for_its_owner),
                TEST(test_no_answer_but_yes_permits),
                TEST(test_who_left_before_polkit_answered_starts_nothing),
                TEST(test_without_polkit_nothing_is_permitted),
                TEST(test_who_started_a_scan_may_cancel_it_and_others_ask),
                TEST(test_the_log_level_is_set_by_who_may_and_only_to_what_there_is),
                TEST(test_what_cannot_be_is_refused_before_anybody_is_asked),
                cmocka_unit_test(test_who_has_no_name_is_not_remembered),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
