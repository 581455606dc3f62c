/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The process that writes the log dies: of SIGKILL at random moments under load, and at each write, sync and truncation of the database, with
 * all, none or some sectors of what was not synced left on the disk. After each death the log opens again, which checks it against the checkpoints
 * that it published; what was acknowledged is there once, a group is there whole or not at all, and every record verifies and names the one
 * before.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/record/chain.h"
#include "tests/record/power.h"
#include "tests/record/published.h"

#define CHIPS         2
#define RECORDS       (CHIPS + 1) /* of one scan here */
#define KILLS_DEFAULT 50          /* DEATHS=1000 for more */
#define OPERATIONS    400         /* more than a writer here does */

static Published published;
static unsigned seed;
static int nowhere; /* for acknowledgements that nobody waits for */

static int setup(void **state) {
        published_init(&published);
        published.server.scan.n_chips = CHIPS; /* without the broken one */
        published.server.scan.result = RESULT_INCONCLUSIVE;
        return 0;
}

/* What a disk loses is our own doing here: it needs not be one, and a thousand syncs are for nothing. */
static int setup_in_memory(void **state) {
        if (access("/dev/shm", W_OK) == 0)
                (void) setenv("TMPDIR", "/dev/shm", 0);
        return setup(state);
}

static int teardown(void **state) {
        published_done(&published);
        return 0;
}

static RecordLog *open_log(const char *when, unsigned n) {
        _cleanup_free_ char *error = NULL; /* or a remark, where it opens */
        RecordLog *log = NULL;
        int r;

        r = published_open(&published, &log, &error);
        if (r < 0)
                fail_msg("the log does not open %s %u (seed %u): %s (%s)", when, n, seed, strerror(-r), error ? error : "-");
        return log;
}

/* Several scans at once, so that a death meets group commits too; the last index of each goes to FD when it is acknowledged. */
static void append(RecordLog *log, unsigned n, int fd) {
        for (unsigned i = 0; i < n; i++)
                if (record_log_scan(log, &published.server.scan, i) < 0)
                        _exit(2);
        for (unsigned i = 0; i < n; i++) {
                RecordOutcome outcome;
                uint64_t last;

                place_wait(log, &outcome);
                if (outcome.error < 0)
                        _exit(3);
                last = outcome.entries[outcome.n_entries - 1].index;
                record_outcome_done(&outcome);
                if (write(fd, &last, sizeof(last)) != sizeof(last))
                        _exit(4);
        }
}

/* As a daemon does: what came before it is not read again by the next opening, and what it signs of the tables must be what they are then. */
static void beat(RecordLog *log) {
        RecordOutcome outcome;

        if (record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 0) < 0)
                _exit(2);
        place_wait(log, &outcome);
        if (outcome.error < 0)
                _exit(3);
        record_outcome_done(&outcome);
}

static void append_for_ever(int fd) {
        RecordLog *log = NULL;

        if (published_open(&published, &log, NULL) < 0)
                _exit(1);
        for (;;) {
                beat(log);
                append(log, 3, fd);
        }
}

static unsigned count_heartbeats(void) {
        sqlite3_stmt *statement;
        unsigned n;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM entry WHERE type = '" RECORD_TYPE_HEARTBEAT "'", -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        n = (unsigned) sqlite3_column_int(statement, 0);
        (void) sqlite3_finalize(statement);
        (void) sqlite3_close(db);
        return n;
}

/* Four scans, heartbeats, checkpoints and an end, and power fails at operation DIES_AT of all that. */
static void append_until_power_fails(int fd, unsigned dies_at, PowerLoss loss) {
        RecordLog *log = NULL;

        power_install(dies_at, loss, seed + dies_at);
        if (published_open(&published, &log, NULL) < 0)
                _exit(1);
        append(log, 1, fd);
        published_wait(log, RECORDS);
        beat(log);
        append(log, 3, fd);
        beat(log);
        published_wait(log, 4 * RECORDS + 2);
        (void) record_log_free(log);
        _exit(0);
}

/* How many records were acknowledged: one more than the last index told, of which LAST was read already. */
static uint64_t acknowledged(int fd, uint64_t last) {
        uint64_t n;

        while (read(fd, &n, sizeof(n)) == sizeof(n))
                last = n;
        return last + 1;
}

/*
 * What a death leaves: what was acknowledged, none lost of SIZE, in whole groups. Where ALL is looked at, one more scan shows that it goes on.
 * Returns how many records there are.
 */
static uint64_t look(const char *when, unsigned n, uint64_t size, uint64_t n_acknowledged, bool all) {
        RecordLog *log = open_log(when, n);
        uint64_t now = record_log_size(log);

        assert_true(now >= n_acknowledged);
        assert_true(now >= size);
        assert_int_equal((now - count_heartbeats()) % RECORDS, 0); /* a group is there or it is not */
        if (all) {
                append(log, 1, nowhere);
                now = record_log_size(log);
                check_chain(log, &published.place);
        }
        (void) record_log_free(log);
        return now;
}

static void test_nothing_acknowledged_is_lost_by_kills_at_random_moments(void **state) {
        const char *wanted = getenv("DEATHS");
        unsigned n_kills = wanted ? (unsigned) strtoul(wanted, NULL, 10) : KILLS_DEFAULT;
        uint64_t size = 0;

        for (unsigned i = 0; i < n_kills; i++) {
                uint64_t last = UINT64_MAX;
                int fds[2], status;
                pid_t pid;

                assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
                pid = fork();
                if (pid == 0)
                        append_for_ever(fds[1]);
                (void) close(fds[1]);
                /* Half of them at once, also while the log opens; the others after a first acknowledgement. */
                if (i % 2 == 0)
                        assert_int_equal(read(fds[0], &last, sizeof(last)), sizeof(last));
                (void) usleep((useconds_t) (rand_r(&seed) % 10000));
                assert_int_equal(kill(pid, SIGKILL), 0);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_true(WIFSIGNALED(status));
                size = look("after kill", i, size, acknowledged(fds[0], last), i % 10 == 9 || i + 1 == n_kills);
                (void) close(fds[0]);
        }
        print_message("# %u kills, %llu records\n", n_kills, (unsigned long long) size);
}

/* The keys stay: making them would take longer than all else. */
static void begin_anew(void) {
        static const char *const suffixes[] = { "", "-wal", "-shm", ".lock" };
        char path[128];

        for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
                (void) snprintf(path, sizeof(path), "%s%s", published.place.log, suffixes[i]);
                (void) unlink(path);
        }
        (void) unlink(published.anchor);
}

/* For one kind of loss: power fails at operation 1, 2, … until nothing fails any more; each time from an empty place. */
static unsigned sweep(PowerLoss loss) {
        for (unsigned n = 1; n < OPERATIONS; n++) {
                int fds[2], status;
                pid_t pid;

                assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
                pid = fork();
                if (pid == 0)
                        append_until_power_fails(fds[1], n, loss);
                (void) close(fds[1]);
                assert_int_equal(waitpid(pid, &status, 0), pid);
                if (WIFEXITED(status)) {
                        assert_int_equal(WEXITSTATUS(status), 0);
                        (void) close(fds[0]);
                        return n - 1;
                }
                (void) look("after operation", n, 0, acknowledged(fds[0], UINT64_MAX), true);
                (void) close(fds[0]);
                begin_anew();
        }
        fail_msg("a writer does more than %u operations", OPERATIONS);
        return 0;
}

static void test_nothing_acknowledged_is_lost_with_power_at_any_operation(void **state) {
        static const char *const words[] = { [POWER_KEEPS] = "all kept", [POWER_LOSES] = "all lost", [POWER_TEARS] = "torn" };

        for (PowerLoss loss = 0; loss < _POWER_MAX; loss++) {
                unsigned n = sweep(loss);

                print_message("# %u operations, what was not synced: %s\n", n, words[loss]);
                assert_true(n > 20);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_nothing_acknowledged_is_lost_by_kills_at_random_moments, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_acknowledged_is_lost_with_power_at_any_operation, setup_in_memory, teardown),
        };

        seed = getenv("DEATHS_SEED") ? (unsigned) strtoul(getenv("DEATHS_SEED"), NULL, 10) : (unsigned) time(NULL);
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
        print_message("# DEATHS_SEED=%u\n", seed);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
