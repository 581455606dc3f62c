/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-bus.h>

#include "daemon/names.h"
#include "tests/daemon/trial.h"

#define TARGETS "[{device: sim:slow, servers: [us0-0, us0-1]}, {device: sim:lie, model: Trn3, servers: [trn-0]}, " \
        "{device: sim:endless, servers: [us1-0]}]" /* its scans end where they are cancelled */
#define LIMITS  "{workers: 1, scans_per_uid: 3}"

/* How far ahead the daemon's clock of the day is; shared with it. */
static int64_t *sec_ahead;

int clock_gettime(clockid_t clock, struct timespec *ret) {
        int r = (int) syscall(SYS_clock_gettime, clock, ret);

        if (r == 0 && clock == CLOCK_REALTIME && sec_ahead)
                ret->tv_sec += *sec_ahead;
        return r;
}

/* The daemon in a child, its objects on one end of a socketpair; the test is the client at the other. */
typedef struct Fixture {
        pid_t daemon;
        sd_bus *bus;
        char folder[64];
} Fixture;

static void serve(int fd, int ready) {
        Trial trial;
        sd_bus *bus = NULL;
        sd_id128_t id;
        char path[128];
        FILE *plan;

        assert_int_equal(trial_new(TARGETS, LIMITS, &trial), 0);
        (void) snprintf(path, sizeof(path), "%s/broken.yaml", trial.folder);
        plan = fopen(path, "we");
        fputs("plan: broken\ncolour: red\n", plan);
        fclose(plan);

        assert_true(sd_id128_randomize(&id) >= 0);
        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_fd(bus, fd, fd) >= 0);
        assert_true(sd_bus_set_server(bus, true, id) >= 0);
        assert_true(sd_bus_negotiate_fds(bus, true) >= 0);
        assert_true(sd_bus_start(bus) >= 0);
        assert_true(sd_bus_attach_event(bus, trial.event, 0) >= 0);
        assert_true(sd_bus_set_exit_on_disconnect(bus, true) >= 0);
        assert_true(manager_attach(trial.manager, bus) >= 0);
        assert_int_equal(write(ready, trial.folder, sizeof(trial.folder)), sizeof(trial.folder));

        (void) sd_event_loop(trial.event);
        sd_bus_unref(bus);
        trial_done(&trial);
        _exit(0);
}

static int set_up(void **state) {
        static Fixture fixture;
        int pair[2], ready[2];

        fixture = (Fixture) {};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
        fixture.daemon = fork();
        assert_true(fixture.daemon >= 0);
        if (fixture.daemon == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                close(pair[1]);
                serve(pair[0], ready[1]);
        }

        close(pair[0]);
        close(ready[1]);
        assert_int_equal(read(ready[0], fixture.folder, sizeof(fixture.folder)), sizeof(fixture.folder));
        close(ready[0]);
        assert_true(sd_bus_new(&fixture.bus) >= 0);
        assert_true(sd_bus_set_fd(fixture.bus, pair[1], pair[1]) >= 0);
        assert_true(sd_bus_negotiate_fds(fixture.bus, true) >= 0);
        assert_true(sd_bus_start(fixture.bus) >= 0);
        *state = &fixture;
        return 0;
}

static int tear_down(void **state) {
        Fixture *fixture = *state;

        sd_bus_flush_close_unref(fixture->bus);
        return waitpid(fixture->daemon, NULL, 0) == fixture->daemon ? 0 : -1;
}

static int call(Fixture *fixture, const char *path, const char *interface, const char *method, sd_bus_error *error,
                sd_bus_message **reply, const char *types, ...) {
        sd_bus_message *message = NULL;
        va_list arguments;
        int r;

        assert_true(sd_bus_message_new_method_call(fixture->bus, &message, NULL, path, interface, method) >= 0);
        va_start(arguments, types);
        assert_true(sd_bus_message_appendv(message, types, arguments) >= 0);
        va_end(arguments);
        r = sd_bus_call(fixture->bus, message, UINT64_C(20000000), error, reply);
        sd_bus_message_unref(message);
        return r;
}

#define MANAGER(fixture, method, error, reply, ...)                                                          \
        call(fixture, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, method, error, reply, __VA_ARGS__)

static void expect_error(int r, sd_bus_error *error, const char *name, const char *says) {
        assert_true(r < 0);
        if (!sd_bus_error_has_name(error, name) || !strstr(error->message, says))
                fail_msg("expected %s with '%s', is %s: %s", name, says, error->name, error->message);
        sd_bus_error_free(error);
}

static void test_targets_are_listed_with_and_without_chips(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *name, *model, *what, *verdict;
        Fixture *fixture = *state;
        unsigned n = 0;

        assert_true(MANAGER(fixture, "ListTargets", &error, &reply, "t", (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_enter_container(reply, 'a', "(ssss)") > 0);
        assert_true(sd_bus_message_read(reply, "(ssss)", &name, &model, &what, &verdict) > 0);
        assert_string_equal(name, "us0-0");
        assert_string_equal(model, "Trn2");
        assert_string_equal(what, ASSAY_TARGET_IDLE);
        assert_string_equal(verdict, "");
        assert_true(sd_bus_message_read(reply, "(ssss)", &name, &model, &what, &verdict) > 0);
        assert_true(sd_bus_message_read(reply, "(ssss)", &name, &model, &what, &verdict) > 0);
        assert_string_equal(model, "Trn3");
        assert_true(sd_bus_message_read(reply, "(ssss)", &name, &model, &what, &verdict) > 0);
        assert_int_equal(sd_bus_message_read(reply, "(ssss)", &name, &model, &what, &verdict), 0);
        sd_bus_message_unref(reply);

        assert_true(MANAGER(fixture, "ListTargets", &error, &reply, "t", (uint64_t) ASSAY_TARGETS_CHIPS) >= 0);
        assert_true(sd_bus_message_enter_container(reply, 'a', "(ssss)") > 0);
        while (sd_bus_message_read(reply, "(ssss)", &name, &model, &what, &verdict) > 0)
                n++;
        assert_int_equal(n, 4 * 17);
        sd_bus_message_unref(reply);

        expect_error(MANAGER(fixture, "ListTargets", &error, NULL, "t", (uint64_t) 6), &error,
                     SD_BUS_ERROR_INVALID_ARGS, "0x6");
}

typedef struct Refusal {
        const char *target;
        const char *plan;
        const char *option;
        const char *type;
        const char *value;
        uint64_t flags;
        const char *error;
        const char *says;
} Refusal;

#define SIXTEEN   "0123456789abcdef"
#define SIXTY     SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define LONG_NOTE SIXTY SIXTY SIXTY SIXTY "x" /* a byte too many */

static const Refusal refusals[] = {
        { NULL,               "quick",   NULL,        NULL, NULL,   0, SD_BUS_ERROR_INVALID_ARGS,  "No targets"     },
        { "us9-9",            "quick",   NULL,        NULL, NULL,   0, ASSAY_ERROR_NO_SUCH_TARGET, "us9-9"          },
        { "us0-0/chip77",     "quick",   NULL,        NULL, NULL,   0, ASSAY_ERROR_NO_SUCH_TARGET, "us0-0/chip77"   },
        { "?",                "quick",   NULL,        NULL, NULL,   0, ASSAY_ERROR_NO_SUCH_TARGET, "'?'"            },
        { "us0-0/chip1/hbm0", "quick",   NULL,        NULL, NULL,   0, SD_BUS_ERROR_INVALID_ARGS,  "whole servers"  },
        { "us0-0",            "none",    NULL,        NULL, NULL,   0, ASSAY_ERROR_NO_SUCH_PLAN,   "none"           },
        { "us0-0",            "../quick", NULL,       NULL, NULL,   0, NULL,                       ""               },
        { "us0-0",            "broken",  NULL,        NULL, NULL,   0, ASSAY_ERROR_BAD_PLAN,       "broken.yaml:2:1:" },
        { "us0-0",            "quick",   "Colour",    "s",  "red",  0, SD_BUS_ERROR_INVALID_ARGS,  "Colour"         },
        { "us0-0",            "quick",   "Seed",      "s",  "7",    0, SD_BUS_ERROR_INVALID_ARGS,  "type"           },
        { "us0-0",            "quick",   "BudgetSec", "s",  "7",    0, SD_BUS_ERROR_INVALID_ARGS,  "type"           },
        { "us0-0",            "quick",   "Challenge", "s",  "a b",  0, SD_BUS_ERROR_INVALID_ARGS,  "base64"         },
        { "us0-0",            "quick",   "Challenge", "s",  "",     0, SD_BUS_ERROR_INVALID_ARGS,  "base64"         },
        { "us0-0",            "quick",   "Challenge", "s",  "AAB=", 0, SD_BUS_ERROR_INVALID_ARGS,  "base64"         },
        { "us0-0",            "quick",   "Challenge", "s",  "AB==", 0, SD_BUS_ERROR_INVALID_ARGS,  "base64"         },
        { "us0-0",            "quick",   "Note",      "s",  "",     0, SD_BUS_ERROR_INVALID_ARGS,  "printable"      },
        { "us0-0",            "quick",   "Note",      "s",  "a\nb", 0, SD_BUS_ERROR_INVALID_ARGS,  "printable"      },
        { "us0-0",            "quick",   "Note",      "s",  "\x1b[2J", 0, SD_BUS_ERROR_INVALID_ARGS, "printable"     },
        { "us0-0",            "quick",   "Note",      "s",  "\xe2\x80\xae" "4711", 0, SD_BUS_ERROR_INVALID_ARGS, "printable" },
        { "us0-0",            "quick",   "Note",      "s",  LONG_NOTE, 0, SD_BUS_ERROR_INVALID_ARGS, "printable"      },
        { "us0-0",            "quick",   "Note",      "t",  "",     0, SD_BUS_ERROR_INVALID_ARGS,  "type"           },
        { "us0-0",            "quick",   NULL,        NULL, NULL,   2, SD_BUS_ERROR_INVALID_ARGS,  "0x2"            },
};

static int start(Fixture *fixture, const Refusal *refusal, sd_bus_error *error) {
        sd_bus_message *message = NULL;
        int r;

        assert_true(sd_bus_message_new_method_call(fixture->bus, &message, NULL, ASSAY_OBJECT_PATH,
                                                   ASSAY_MANAGER_INTERFACE, "StartScan") >= 0);
        assert_true(sd_bus_message_append(message, "as", refusal->target ? 1 : 0, refusal->target) >= 0);
        assert_true(sd_bus_message_append(message, "s", refusal->plan) >= 0);
        if (refusal->option)
                assert_true(sd_bus_message_append(message, "a{sv}", 1, refusal->option, refusal->type,
                                                  refusal->value) >= 0);
        else
                assert_true(sd_bus_message_append(message, "a{sv}", 0) >= 0);
        assert_true(sd_bus_message_append(message, "t", refusal->flags) >= 0);
        r = sd_bus_call(fixture->bus, message, UINT64_C(20000000), error, NULL);
        sd_bus_message_unref(message);
        return r;
}

static void test_a_scan_that_cannot_be_is_refused_before_anybody_is_asked(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;
        uint64_t size;

        for (size_t i = 0; i < ELEMENTS(refusals); i++) {
                int r = start(fixture, &refusals[i], &error);

                if (!refusals[i].error) {
                        assert_true(r < 0);
                        sd_bus_error_free(&error);
                        continue;
                }
                expect_error(r, &error, refusals[i].error, refusals[i].says);
        }

        expect_error(MANAGER(fixture, "StartScan", &error, NULL, "asa{sv}t", 1, "us0-0", 0, (uint64_t) 0), &error,
                     SD_BUS_ERROR_INVALID_ARGS, "");
        expect_error(MANAGER(fixture, "StartScan", &error, NULL, "assa{sv}t", 1, "us0-0", "quick", 1, "BudgetSec", "d",
                             1e9, (uint64_t) 0),
                     &error, SD_BUS_ERROR_INVALID_ARGS, "more than the plan's");
        expect_error(MANAGER(fixture, "StartScan", &error, NULL, "assa{sv}t", 1, "us0-0", "quick", 1, "Seed", "t",
                             UINT64_MAX, (uint64_t) 0),
                     &error, SD_BUS_ERROR_INVALID_ARGS, "larger");
        expect_error(MANAGER(fixture, "StartScan", &error, NULL, "assa{sv}t", 2, "us0-0", "us0", "quick", 0,
                             (uint64_t) 0),
                     &error, SD_BUS_ERROR_INVALID_ARGS, "twice");
        assert_true(sd_bus_get_property_trivial(fixture->bus, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE,
                                                "LogSize", &error, 't', &size) >= 0);
        assert_int_equal(size, 0);
}

static void test_what_nobody_knows_is_inconclusive_or_said_so(void **state) {
        static const char *const targets[] = { "us0-0", "us0-0/chip3", "nowhere", "us0-0/chip99", "", "/" };
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;

        for (size_t i = 0; i < ELEMENTS(targets); i++) {
                sd_bus_message *reply = NULL;
                const char *verdict, *reason;
                uint64_t index, age;

                assert_true(MANAGER(fixture, "GetVerdict", &error, &reply, "sstt", targets[i], "", (uint64_t) 0,
                                    (uint64_t) 0) >= 0);
                assert_true(sd_bus_message_read(reply, "sstt", &verdict, &reason, &index, &age) > 0);
                assert_string_equal(verdict, "INCONCLUSIVE");
                assert_string_equal(reason, "no record");
                assert_true(index == UINT64_MAX && age == UINT64_MAX);
                sd_bus_message_unref(reply);
        }

        expect_error(MANAGER(fixture, "GetScan", &error, NULL, "t", (uint64_t) 7), &error, ASSAY_ERROR_NO_SUCH_SCAN,
                     "7");
        expect_error(MANAGER(fixture, "OpenRecords", &error, NULL, "ttt", (uint64_t) 0, (uint64_t) 0, (uint64_t) 0),
                     &error, ASSAY_ERROR_NO_SUCH_RECORD, "0");
        for (uint64_t flags = 0; flags < 2; flags++) {
                expect_error(MANAGER(fixture, "FindRecord", &error, NULL, "sst", "us0-0/chip3", "quick", flags), &error,
                             ASSAY_ERROR_NO_SUCH_RECORD, "us0-0/chip3");
                expect_error(MANAGER(fixture, "FindRecord", &error, NULL, "sst", "no place", "quick/regions", flags), &error,
                             ASSAY_ERROR_NO_SUCH_RECORD, "no place");
        }
        expect_error(MANAGER(fixture, "FindRecord", &error, NULL, "sst", "us0-0", "", (uint64_t) 2), &error,
                     SD_BUS_ERROR_INVALID_ARGS, "");
        expect_error(call(fixture, ASSAY_SCAN_PATH_PREFIX "/_7", ASSAY_SCAN_INTERFACE, "Cancel", &error, NULL, "t",
                          (uint64_t) 0),
                     &error, SD_BUS_ERROR_UNKNOWN_OBJECT, "");
}

/* ---- with rights: on a direct connection that is root alone ---- */

static uint64_t start_scan(Fixture *fixture, const char *target, char ret_path[static 64]) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *path;
        uint64_t id;

        if (MANAGER(fixture, "StartScan", &error, &reply, "assa{sv}t", 1, target, "quick", 1, "Challenge", "s",
                    "AAECAw==", (uint64_t) 0) < 0)
                fail_msg("%s: %s", error.name, error.message);
        assert_true(sd_bus_message_read(reply, "to", &id, &path) > 0);
        (void) snprintf(ret_path, 64, "%s", path);
        sd_bus_message_unref(reply);
        return id;
}

static void wait_finished(Fixture *fixture, const char *path) {
        for (unsigned i = 0; i < 1200; i++) {
                sd_bus_error error = SD_BUS_ERROR_NULL;
                struct timespec time = { 0, 50000000 };
                char *text = NULL;

                assert_true(sd_bus_get_property_string(fixture->bus, NULL, path, ASSAY_SCAN_INTERFACE, "State", &error,
                                                       &text) >= 0);
                bool finished = strcmp(text, ASSAY_STATE_FINISHED) == 0;
                free(text);
                if (finished)
                        return;
                (void) nanosleep(&time, NULL);
        }

        fail_msg("%s does not finish", path);
}

typedef struct Seen {
        unsigned n_new, n_signed, n_findings, n_changed, n_progress;
        bool finished;
        bool signed_after_finish;
} Seen;

static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *member = sd_bus_message_get_member(message);
        Seen *seen = userdata;

        if (!member)
                return 0;
        if (strcmp(member, "ScanNew") == 0)
                seen->n_new++;
        if (strcmp(member, "RecordSigned") == 0) {
                seen->n_signed++;
                seen->signed_after_finish = seen->signed_after_finish || seen->finished;
        }
        if (strcmp(member, "Finding") == 0)
                seen->n_findings++;
        if (strcmp(member, "PropertiesChanged") == 0) {
                const char *interface, *name, *text;

                seen->n_changed++;
                assert_true(sd_bus_message_read(message, "s", &interface) > 0);
                assert_true(sd_bus_message_enter_container(message, 'a', "{sv}") > 0);
                while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
                        assert_true(sd_bus_message_read(message, "s", &name) > 0);
                        if (strcmp(name, "Progress") == 0)
                                seen->n_progress++;
                        if (strcmp(name, "State") == 0) {
                                assert_true(sd_bus_message_read(message, "v", "s", &text) > 0);
                                seen->finished = strcmp(text, ASSAY_STATE_FINISHED) == 0;
                        } else
                                assert_true(sd_bus_message_skip(message, "v") >= 0);
                        assert_true(sd_bus_message_exit_container(message) >= 0);
                }
        }
        return 0;
}

static size_t read_fd(int fd, char *buffer, size_t max) {
        size_t n = 0;

        for (ssize_t got; n < max && (got = read(fd, buffer + n, max - n)) > 0;)
                n += (size_t) got;
        return n;
}

static void check_records(Fixture *fixture) {
        static char bytes[2][1 << 20];
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *replies[2];
        size_t n[2], lines = 0;

        for (unsigned i = 0; i < 2; i++) {
                int fd;

                assert_true(MANAGER(fixture, "OpenRecords", &error, &replies[i], "ttt", (uint64_t) 0, (uint64_t) 0,
                                    (uint64_t) 0) >= 0);
                assert_true(sd_bus_message_read(replies[i], "h", &fd) > 0);
                assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
                assert_true(write(fd, "x", 1) < 0);
                n[i] = read_fd(fd, bytes[i], sizeof(bytes[i]));
        }
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(bytes[0], bytes[1], n[0]);
        for (size_t i = 0; i < n[0]; i++)
                lines += bytes[0][i] == '\n';
        assert_int_equal(lines, 18);
        sd_bus_message_unref(replies[0]);
        sd_bus_message_unref(replies[1]);
}

/* Memory that a client holds is the daemon's: who has enough of it is told so, and nothing is kept from who closes what was read. */
static void check_loans(Fixture *fixture) {
        static sd_bus_message *replies[1024];
        sd_bus_error error = SD_BUS_ERROR_NULL;
        size_t n = 0;

        while (n < ELEMENTS(replies) &&
               MANAGER(fixture, n % 2 ? "OpenLeaves" : "OpenRecords", &error, &replies[n], "ttt", (uint64_t) 0, (uint64_t) 1, (uint64_t) 0) >= 0)
                n++;
        assert_int_equal(n, LOAN_BYTES_OF_USER / LOAN_BYTES_LEAST);
        assert_true(sd_bus_error_has_name(&error, SD_BUS_ERROR_LIMITS_EXCEEDED));
        sd_bus_error_free(&error);
        while (n > 0)
                sd_bus_message_unref(replies[--n]);

        for (n = 0; n < ELEMENTS(replies); n++) {
                assert_true(MANAGER(fixture, "OpenRecords", &error, &replies[0], "ttt", (uint64_t) 0, (uint64_t) 0, (uint64_t) 0) >= 0);
                sd_bus_message_unref(replies[0]);
        }
}

static void test_a_scan_is_told_from_its_start_to_its_records(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        Fixture *fixture = *state;
        const char *verdict, *reason;
        static char stream[1 << 20];
        uint64_t index, age;
        Seen seen = {};
        char path[64], *text;
        int fd;

        if (geteuid() != 0)
                skip();
        assert_true(sd_bus_add_filter(fixture->bus, NULL, on_signal, &seen) >= 0);
        assert_int_equal(start_scan(fixture, "trn-0", path), 1);
        assert_string_equal(path, ASSAY_SCAN_PATH_PREFIX "/_1");
        wait_finished(fixture, path);
        while (sd_bus_process(fixture->bus, NULL) > 0)
                ;

        assert_int_equal(seen.n_new, 1);
        assert_int_equal(seen.n_signed, 18);
        assert_true(seen.n_findings >= 1);
        assert_true(seen.finished);
        assert_false(seen.signed_after_finish);

        assert_true(sd_bus_get_property_string(fixture->bus, NULL, path, ASSAY_SCAN_INTERFACE, "Result", &error, &text) >=
                    0);
        assert_string_equal(text, "FAILED");
        free(text);
        assert_true(MANAGER(fixture, "GetVerdict", &error, &reply, "sstt", "trn-0/chip1", "quick", (uint64_t) 0,
                            (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_read(reply, "sstt", &verdict, &reason, &index, &age) > 0);
        assert_string_equal(verdict, "FAILED");
        assert_non_null(strstr(reason, "device-hang"));
        assert_true(index < 18 && age < UINT64_C(60000000));
        sd_bus_message_unref(reply);

        check_records(fixture);
        check_loans(fixture);
        assert_true(call(fixture, path, ASSAY_SCAN_INTERFACE, "OpenStream", &error, &reply, "t", (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_read(reply, "h", &fd) > 0);
        assert_non_null(memmem(stream, read_fd(fd, stream, sizeof(stream)), "testRunStart", 12));
        sd_bus_message_unref(reply);
        expect_error(call(fixture, path, ASSAY_SCAN_INTERFACE, "Cancel", &error, NULL, "t", (uint64_t) 0), &error,
                     ASSAY_ERROR_SCAN_FINISHED, "1");
}

/* A large scan's streams are files for an administrator; nobody makes the daemon copy them all into its memory. */
static void test_streams_beyond_a_bound_are_not_copied(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;
        char path[64], command[512];

        if (geteuid() != 0)
                skip();
        (void) start_scan(fixture, "us0-1", path);
        wait_finished(fixture, path);
        (void) snprintf(command, sizeof(command),
                        "cd %s/evidence && n=0; until ls *.zst && ! ls *.jsonl || [ $n = 100 ]; do sleep 0.1; n=$((n+1)); done "
                        ">/dev/null 2>&1; for f in *.zst; do truncate -s 65M \"${f%%.zst}\"; done", fixture->folder);
        assert_int_equal(system(command), 0);
        expect_error(call(fixture, path, ASSAY_SCAN_INTERFACE, "OpenStream", &error, NULL, "t", (uint64_t) 0), &error,
                     SD_BUS_ERROR_LIMITS_EXCEEDED, "64 MiB");
}

static void test_a_stale_record_is_inconclusive(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        struct timespec time = { 0, 20000000 };
        sd_bus_message *reply = NULL;
        Fixture *fixture = *state;
        const char *verdict, *reason;
        uint64_t index, age;
        char path[64];

        if (geteuid() != 0)
                skip();
        (void) start_scan(fixture, "us0-1", path);
        wait_finished(fixture, path);
        (void) nanosleep(&time, NULL);
        assert_true(MANAGER(fixture, "GetVerdict", &error, &reply, "sstt", "us0-1", "", (uint64_t) 1, (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_read(reply, "sstt", &verdict, &reason, &index, &age) > 0);
        assert_string_equal(verdict, "INCONCLUSIVE");
        assert_non_null(strstr(reason, "stale"));
        sd_bus_message_unref(reply);
        assert_true(MANAGER(fixture, "GetVerdict", &error, &reply, "sstt", "us0-1", "", (uint64_t) 0, (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_read(reply, "sstt", &verdict, &reason, &index, &age) > 0);
        assert_string_equal(verdict, "PASSED");
        sd_bus_message_unref(reply);
}

static void test_a_record_from_the_future_is_of_no_age(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        Fixture *fixture = *state;
        const char *verdict, *reason;
        char path[64];

        if (geteuid() != 0)
                skip();
        *sec_ahead = 86400;
        (void) start_scan(fixture, "us0-1", path);
        wait_finished(fixture, path);
        *sec_ahead = 0;
        assert_true(MANAGER(fixture, "GetVerdict", &error, &reply, "sstt", "us0-1", "", UINT64_C(3600000000), (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_read(reply, "ss", &verdict, &reason) > 0);
        assert_string_equal(verdict, "INCONCLUSIVE");
        assert_non_null(strstr(reason, "future"));
        sd_bus_message_unref(reply);
        assert_true(MANAGER(fixture, "GetVerdict", &error, &reply, "sstt", "us0-1", "", (uint64_t) 0, (uint64_t) 0) >= 0);
        assert_true(sd_bus_message_read(reply, "ss", &verdict, &reason) > 0);
        assert_string_equal(verdict, "PASSED");
        sd_bus_message_unref(reply);
}

static void test_limits_and_busy_servers_are_refused_by_name(void **state) {
        Refusal occupied = { "us1-0", "quick", NULL, NULL, NULL, ASSAY_SCAN_NO_QUEUE, NULL, NULL };
        Refusal plain = { "us1-0", "quick", NULL, NULL, NULL, 0, NULL, NULL };
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;
        char paths[3][64];

        if (geteuid() != 0)
                skip();
        for (unsigned i = 0; i < 3; i++) {
                if (i == 1)
                        expect_error(start(fixture, &occupied, &error), &error, ASSAY_ERROR_OCCUPIED, "us1-0");
                (void) start_scan(fixture, "us1-0", paths[i]);
        }
        expect_error(start(fixture, &plain, &error), &error, ASSAY_ERROR_TOO_MANY_SCANS, "3 scans");

        for (unsigned i = 0; i < 3; i++)
                assert_true(call(fixture, paths[2 - i], ASSAY_SCAN_INTERFACE, "Cancel", &error, NULL, "t", (uint64_t) 0) >= 0);
        for (unsigned i = 0; i < 3; i++)
                wait_finished(fixture, paths[i]);
}

/* ---- the interface ---- */

static const char *last_tag(const char *begin, const char *end) {
        while (end > begin && *end != '<')
                end--;

        return end;
}

/* Drops comments, the heading, and all white space between tags; an element without content is written as one tag. */
static char *squeeze(const char *xml) {
        char *out = calloc(1, strlen(xml) + 1), *end = out;

        while (*xml) {
                const char *stop;

                if (strncmp(xml, "<!--", 4) == 0 && (stop = strstr(xml, "-->")))
                        xml = stop + 3;
                else if ((strncmp(xml, "<?", 2) == 0 || strncmp(xml, "<!", 2) == 0) && (stop = strchr(xml, '>')))
                        xml = stop + 1;
                else if (strchr(" \t\n", *xml) && (end == out || end[-1] == '>'))
                        xml++;
                else if (strncmp(xml, "</property>", 11) == 0 && strncmp(last_tag(out, end), "<property", 9) == 0) {
                        end = stpcpy(end - 1, "/>");
                        xml += 11;
                } else
                        *end++ = *xml++;
        }

        return out;
}

static char *interface_of(const char *xml, const char *name) {
        char start_tag[128], *begin, *end, *copy;

        (void) snprintf(start_tag, sizeof(start_tag), "<interface name=\"%s\">", name);
        begin = strstr(xml, start_tag);
        assert_non_null(begin);
        end = strstr(begin, "</interface>");
        assert_non_null(end);
        copy = strndup(begin, (size_t) (end - begin));
        return copy;
}

static char *load(const char *path) {
        FILE *file = fopen(path, "re");
        char *text = calloc(1, 1 << 20);

        assert_non_null(file);
        assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
        fclose(file);
        return text;
}

static void compare_interface(Fixture *fixture, const char *path, const char *interface) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *text;

        assert_true(call(fixture, path, "org.freedesktop.DBus.Introspectable", "Introspect", &error, &reply, "") >= 0);
        assert_true(sd_bus_message_read(reply, "s", &text) > 0);

        _cleanup_free_ char *live = squeeze(text), *raw = load(getenv("ASSAY_XML")), *file = squeeze(raw);
        _cleanup_free_ char *of_live = interface_of(live, interface), *of_file = interface_of(file, interface);

        /* Members in any order: their lengths and each of them. */
        assert_int_equal(strlen(of_live), strlen(of_file));
        for (char *member = of_file; (member = strchr(member, '<'));) {
                static const char *const kinds[] = { "method", "signal", "property" };

                for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                        char closing[32];
                        size_t n = strlen(kinds[i]);

                        if (strncmp(member + 1, kinds[i], n) != 0)
                                continue;
                        (void) snprintf(closing, sizeof(closing), "</%s>", kinds[i]);

                        const char *tag_end = strchr(member, '>'), *end = tag_end[-1] == '/' ? tag_end + 1 : strstr(member, closing);
                        _cleanup_free_ char *whole = strndup(member, (size_t) (end - member));

                        if (!strstr(of_live, whole))
                                fail_msg("%s is not what the daemon offers:\n%s", whole, of_live);
                }
                member++;
        }
        sd_bus_message_unref(reply);
}

/* Of a record that there is and of one that there is not, and nothing else is told of either. */
/* Somebody took the last record away: whoever asks next finds it, and nothing is begun that could not be signed. */
static void test_a_log_that_is_not_sound_begins_nothing(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;
        char path[128];
        sqlite3 *db;

        if (geteuid() != 0)
                skip();
        assert_int_equal(start_scan(fixture, "trn-0", path), 1);
        wait_finished(fixture, path);
        (void) snprintf(path, sizeof(path), "%s/records.db", fixture->folder);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_busy_timeout(db, 20000), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "DELETE FROM record WHERE idx = (SELECT max(idx) FROM record)", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        (void) MANAGER(fixture, "GetVerdict", &error, NULL, "sstt", "trn-0/chip1", "quick", (uint64_t) 0, (uint64_t) 0);
        sd_bus_error_free(&error);

        expect_error(MANAGER(fixture, "StartScan", &error, NULL, "assa{sv}t", 1, "trn-0", "quick", 0, (uint64_t) 0), &error, ASSAY_ERROR_STORE,
                     "The log is not sound, nothing is signed");
        expect_error(MANAGER(fixture, "AddCosignatures", &error, NULL, "st", "a note", (uint64_t) 0), &error, ASSAY_ERROR_STORE,
                     "The log is not sound, nothing is signed");
}

static void test_companions_are_signed_no_more(void **state) {
        static const uint64_t calls[][2] = { { 0, 0 }, { UINT64_MAX, 0 }, { 0, 1 } };
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;

        for (size_t i = 0; i < ELEMENTS(calls); i++)
                expect_error(MANAGER(fixture, "GetCompanion", &error, NULL, "tt", calls[i][0], calls[i][1]), &error, SD_BUS_ERROR_NOT_SUPPORTED,
                             "the record itself has the fields of test-result, see assay-records(7)");
}

static void test_the_documented_interface_is_the_live_one(void **state) {
        Fixture *fixture = *state;
        char path[64];

        compare_interface(fixture, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE);
        if (geteuid() != 0)
                skip();
        (void) start_scan(fixture, "us0-1/chip3", path);
        compare_interface(fixture, path, ASSAY_SCAN_INTERFACE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
        sec_ahead = mmap(NULL, sizeof(*sec_ahead), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (sec_ahead == MAP_FAILED)
                return 1;

        const struct CMUnitTest tests[] = {
                TEST(test_targets_are_listed_with_and_without_chips),
                TEST(test_a_scan_that_cannot_be_is_refused_before_anybody_is_asked),
                TEST(test_what_nobody_knows_is_inconclusive_or_said_so),
                TEST(test_a_scan_is_told_from_its_start_to_its_records),
                TEST(test_streams_beyond_a_bound_are_not_copied),
                TEST(test_a_stale_record_is_inconclusive),
                TEST(test_a_record_from_the_future_is_of_no_age),
                TEST(test_limits_and_busy_servers_are_refused_by_name),
                TEST(test_a_log_that_is_not_sound_begins_nothing),
                TEST(test_companions_are_signed_no_more),
                TEST(test_the_documented_interface_is_the_live_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
