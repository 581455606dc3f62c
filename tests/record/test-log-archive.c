/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "checks/text/whole-file.h"
#include "daemon/record/log/holes.h"
#include "tests/record/archiving.h"
#include "tests/record/power.h"
#include "tests/record/small-disk.h"

#define ARCHIVE     "records-000000000000.intoto.jsonl"
#define FILE_MAX    (UINT64_C(1) << 26)
#define WRITE_EVERY 41 /* of 256 lines; ARCHIVE_DEATHS=1: each */
#define OPERATION_EVERY 10 /* of 140 of the database, since SQLite writes each page by itself; likewise */

static Archiving archiving;

/* ---- calls that make a file, which this program has in the place of libc's ---- */

typedef enum Calamity { NOTHING, DEATH, FAILURE } Calamity;

static struct {
        Calamity calamity;
        unsigned n, at, n_writes; /* calls since; the one that it befalls */
        int error;
        bool stays;
} disk;

static bool befalls(void) {
        if (disk.calamity == NOTHING)
                return false;
        disk.n++;
        if (disk.n != disk.at && !(disk.stays && disk.at > 0 && disk.n > disk.at))
                return false;
        if (disk.calamity == DEATH)
                (void) kill(getpid(), SIGKILL);
        errno = disk.error;
        return true;
}

ssize_t write(int fd, const void *data, size_t n) {
        static unsigned every;

        if (every == 0)
                every = getenv("ARCHIVE_DEATHS") ? 1 : WRITE_EVERY;
        if (disk.calamity != NOTHING && n > 100 && disk.n_writes++ % every == 0 && befalls())
                return -1;
        return syscall(SYS_write, fd, data, n);
}

int fsync(int fd) {
        return befalls() ? -1 : (int) syscall(SYS_fsync, fd);
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
        return befalls() ? -1 : (int) syscall(SYS_renameat2, from, old, to, new, flags);
}

static _Thread_local unsigned n_looks; /* at the clock of this thread, until something comes between */
static void archive_meanwhile(void);

int clock_gettime(clockid_t clock, struct timespec *ret) {
        if (clock == CLOCK_MONOTONIC && n_looks > 0 && --n_looks == 0)
                archive_meanwhile();
        return (int) syscall(SYS_clock_gettime, clock, ret);
}

/* ---- a log that is full of old records, kept as it is before anything of it is archived ---- */

typedef struct Kept {
        char *text;
        size_t n;
} Kept;

static Kept database, anchor, lines; /* lines: as `export` wrote them then */

static void keep(const char *path, Kept *ret) {
        assert_int_equal(whole_file_read(AT_FDCWD, path, FILE_MAX, &ret->text, &ret->n), 0);
}

static void export_lines(Kept *ret) {
        FILE *file = tmpfile();

        assert_int_equal(record_log_export(archiving.log, 0, RECORD_ARCHIVE_RECORDS, fileno(file)), RECORD_ARCHIVE_RECORDS);
        ret->n = (size_t) lseek(fileno(file), 0, SEEK_END);
        ret->text = malloc(ret->n);
        assert_int_equal(pread(fileno(file), ret->text, ret->n, 0), ret->n);
        (void) fclose(file);
}

static int group_setup(void **state) {
        archiving_init(&archiving);
        archiving_fill(&archiving);
        archiving_beat(&archiving);
        published_wait(archiving.log, record_log_size(archiving.log));
        export_lines(&lines);
        archiving_close(&archiving);
        keep(archiving.published.place.log, &database);
        keep(archiving.published.anchor, &anchor);
        return 0;
}

static int group_teardown(void **state) {
        archiving_done(&archiving);
        free(database.text);
        free(anchor.text);
        free(lines.text);
        return 0;
}

static void put(const char *path, const Kept *kept) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, kept->text, kept->n), kept->n);
        (void) close(fd);
}

/* As it was, and no archive. */
static void begin_anew(void) {
        static const char *const gone[] = { "records.db-wal", "records.db-shm", "archive/" ARCHIVE, "archive/" ARCHIVE ".new", "archive/records-000000000256.intoto.jsonl" };
        char path[160];

        archiving_close(&archiving);
        for (size_t i = 0; i < ELEMENTS(gone); i++) {
                (void) snprintf(path, sizeof(path), "%.63s/%s", archiving.published.place.folder, gone[i]);
                (void) unlink(path);
        }
        put(archiving.published.place.log, &database);
        put(archiving.published.anchor, &anchor);
}

static int setup(void **state) {
        disk.calamity = NOTHING;
        begin_anew();
        return 0;
}

static void open_log(void) {
        _cleanup_free_ char *error = NULL;
        int r = archiving_open(&archiving, &error);

        if (r < 0)
                fail_msg("%s: %s", strerror(-r), error ?: "-");
}

static int archive(uint64_t *ret_n) {
        return archiving_prune(&archiving, ARCHIVING_NEW, 0, ret_n);
}

static char *path_of(const char *name, char path[static 160]) {
        (void) snprintf(path, 160, "%s/%s", archiving.folder, name);
        return path;
}

/* It has what the log had, and nothing lies beside it. */
static void check_archive(void) {
        DIR *folder = opendir(archiving.folder);
        char path[160], *text;
        struct stat st;
        unsigned n_files = 0;
        size_t n;

        while (readdir(folder))
                n_files++;
        (void) closedir(folder);
        assert_int_equal(n_files, 3); /* with . and .. */
        assert_int_equal(stat(path_of(ARCHIVE, path), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
        assert_int_equal(whole_file_read(AT_FDCWD, path, FILE_MAX, &text, &n), 0);
        assert_int_equal(n, lines.n);
        assert_memory_equal(text, lines.text, n);
        free(text);
}

/* The newest record tells of it, with its digest and size; and says what the log drops. */
static void check_record(uint64_t index) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = place_keyring(&archiving.published.place);
        char hex[RECORD_ID_HEX], wanted[192];
        RecordVerified verified;

        place_verify(archiving.log, keyring, index, &verified);
        assert_string_equal(verified.entry.type, RECORD_TYPE_ARCHIVE);
        assert_int_equal(record_digest(lines.text, lines.n, hex), 0);
        (void) snprintf(wanted, sizeof(wanted), "\"subject\":[{\"name\":\"" ARCHIVE "\",\"digest\":{\"sha256\":\"%s\"}}]", hex);
        assert_non_null(strstr(verified.payload, wanted));
        (void) snprintf(wanted, sizeof(wanted), "\"range\":{\"first\":0,\"end\":256},\"size\":%zu,\"dropped\":\"0-2,4-15,17-19,", lines.n);
        assert_non_null(strstr(verified.payload, wanted));
        assert_string_equal(verified.reason, PLACE_PRODUCER ": records 0-255 archived, 225 of them dropped");
        record_verified_done(&verified);
}

/* ---- */

static void test_what_is_old_goes_into_an_archive(void **state) {
        RecordVerified verified;
        char *proof;
        size_t size;
        uint64_t n;

        open_log();
        assert_int_equal(archiving_prune(&archiving, ARCHIVING_OLD, 0, &n), 0); /* which is when they ended */
        assert_int_equal(n, 0);
        assert_int_equal(archiving_prune(&archiving, ARCHIVING_NEW, ARCHIVING_NEW, &n), 0); /* nor has the log gone on for so long */
        assert_int_equal(n, 0);
        assert_int_equal(archive(&n), 0);
        assert_int_equal(n, ARCHIVING_DROPPED);
        assert_int_equal(archiving_count(&archiving), ARCHIVING_DROPPED);
        check_archive();
        assert_int_equal(record_log_size(archiving.log), ARCHIVING_SCANS * ARCHIVING_RECORDS + 2);
        check_record(record_log_size(archiving.log) - 1);
        assert_false(archiving_is_dropped(&archiving, SERVER_BAD));
        assert_false(archiving_is_dropped(&archiving, RECORD_ARCHIVE_RECORDS - 1)); /* the newest of chip 0 */

        /* Once. */
        assert_int_equal(archive(&n), 0);
        assert_int_equal(n, 0);
        archiving_close(&archiving);
        open_log();
        archiving_scan(&archiving, ARCHIVING_OLD); /* so that another one is the newest of chip 0 */
        archiving_beat(&archiving);
        assert_int_equal(archive(&n), 0);
        assert_int_equal(n, 0);
        assert_false(archiving_is_dropped(&archiving, RECORD_ARCHIVE_RECORDS - 1));
        check_archive();
        assert_int_equal(archiving_count(&archiving), ARCHIVING_DROPPED);

        for (uint64_t i = 0; i < RECORD_ARCHIVE_RECORDS; i += 51) {
                assert_int_equal(record_log_proof(archiving.log, i, &proof, &size), 0);
                free(proof);
        }
        assert_int_equal(record_log_verified(archiving.log, &archiving.published.server.chips[0].subject.where, &(RecordEntry) {}, &verified), -ENODATA);
}

/* The daily reading knows what went, and finds what somebody takes away while the log is open. */
static void test_what_is_taken_away_is_found_later(void **state) {
        static const char sql[] = "UPDATE record SET payload = NULL, signature = NULL, keyid = NULL WHERE idx = ";
        static const unsigned taken[] = { 3, 260 };

        for (size_t i = 0; i < ELEMENTS(taken); i++) {
                char text[160], *wrong = NULL;
                RecordScrub scrub;
                uint64_t n;

                open_log();
                assert_int_equal(archive(&n), 0);
                if (record_log_check(archiving.log, &wrong) < 0)
                        fail_msg("%s", wrong);
                record_log_scrubbed(archiving.log, &scrub);
                assert_int_equal(scrub.n_pruned, ARCHIVING_DROPPED);
                (void) snprintf(text, sizeof(text), "%s%u", sql, taken[i]);
                archiving_execute(&archiving, text);
                assert_int_equal(record_log_check(archiving.log, &wrong), -EBADMSG);
                (void) snprintf(text, sizeof(text), "record %u: has no envelope, and no record says which archive has it", taken[i]);
                assert_string_equal(wrong, text);
                free(wrong);
                begin_anew();
        }
}

/* No envelope tells of them any more: the record of the archive binds what the table says. */
static void test_what_the_table_says_of_the_dropped_stays(void **state) {
        static const char *const edits[] = {
                "subject = 'us9-9/chip4'", "plan = 'other'", "run = '01234567-89ab-7cde-8f01-23456789abcd'", "type = '" RECORD_TYPE_HEARTBEAT "'", "result = 'INCONCLUSIVE'", "finished = finished + 1",
        };
        static const char sentence[] = "what its tables say of records 0-255, which are in an archive, is not what they said when these were dropped";

        for (size_t i = 0; i < ELEMENTS(edits); i++) {
                char sql[160], *wrong = NULL;
                uint64_t n;

                open_log();
                assert_int_equal(archive(&n), 0);
                (void) snprintf(sql, sizeof(sql), "UPDATE entry SET %s WHERE idx = %u", edits[i], i % 2 == 0 ? 0 : 250);
                archiving_execute(&archiving, sql);
                assert_int_equal(record_log_check(archiving.log, &wrong), -EBADMSG);
                if (!wrong || !strstr(wrong, sentence))
                        fail_msg("%s: %s", edits[i], wrong ?: "-");
                free(wrong);
                archiving_close(&archiving);
                begin_anew();
        }
}

static void test_records_of_older_tables_go_as_well(void **state) {
        _cleanup_free_ char *envelope = NULL, *sql = NULL;
        uint64_t n;

        open_log();
        envelope = place_envelope(archiving.log, 7);
        archiving_close(&archiving);
        assert_true(asprintf(&sql, "UPDATE record SET envelope = CAST('%s' AS BLOB), payload = NULL, keyid = NULL, signature = NULL WHERE idx = 7", envelope) > 0);
        archiving_execute(&archiving, sql);
        open_log();
        assert_int_equal(archive(&n), 0);
        assert_int_equal(n, ARCHIVING_DROPPED);
        assert_true(archiving_is_dropped(&archiving, 7));
}

/* Who writes the tables does not choose what goes: the records say for themselves that they did not fail, before anything is dropped. */
static void test_tables_alone_drop_nothing(void **state) {
        static const char *const forged[] = {
                "UPDATE entry SET result = 'PASSED' WHERE idx = 3",                  /* one that FAILED */
                "UPDATE entry SET finished = finished - 1000000 WHERE idx = 250",    /* another time */
                "UPDATE record SET signature = zeroblob(64) WHERE idx = 5",          /* one that nobody has signed */
        };

        for (size_t i = 0; i < ELEMENTS(forged); i++) {
                uint64_t n = 0;

                archiving_execute(&archiving, forged[i]);
                open_log();
                assert_int_equal(archive(&n), -EUCLEAN);
                assert_int_equal(n, 0);
                assert_true(record_log_has_failed(archiving.log));
                assert_non_null(strstr(record_log_wrong(archiving.log), i == 0 ? "record 3 is to be dropped" : i == 1 ? "record 250 is to be dropped" : "5"));
                assert_int_equal(archiving_count(&archiving), 0);
                begin_anew();
        }
}

/* What is not a whole archive's yet stays. */
static void test_archives_are_made_one_after_another(void **state) {
        uint64_t n;

        open_log();
        for (unsigned i = 0; i + 1 < ARCHIVING_SCANS; i++)
                archiving_scan(&archiving, ARCHIVING_OLD);
        assert_int_equal(record_log_size(archiving.log), 2 * RECORD_ARCHIVE_RECORDS + 16);
        assert_int_equal(archive(&n), 0);
        assert_int_equal(archiving_count(&archiving), n);
        for (uint64_t i = 2 * RECORD_ARCHIVE_RECORDS; i < record_log_size(archiving.log); i++)
                assert_false(archiving_is_dropped(&archiving, i));
        assert_true(archiving_is_dropped(&archiving, RECORD_ARCHIVE_RECORDS + 21));
        assert_int_equal(record_log_size(archiving.log), 2 * RECORD_ARCHIVE_RECORDS + 18);
        archiving_close(&archiving);
        open_log();
        assert_int_equal(archive(&n), 0);
        assert_int_equal(n, 0);
}

static void archive_meanwhile(void) {
        uint64_t n;

        assert_int_equal(archive(&n), 0);
        assert_true(n > 0);
}

/* A pass has read which archives there are at its first hole; another one is made while it goes on. */
static void test_an_archive_that_is_made_during_a_pass_is_found(void **state) {
        _cleanup_free_ char *wrong = NULL;
        uint64_t n;

        open_log();
        assert_int_equal(archive(&n), 0);
        for (unsigned i = 0; i + 1 < ARCHIVING_SCANS; i++)
                archiving_scan(&archiving, ARCHIVING_OLD);
        n_looks = 3; /* when the second slice of the pass begins */
        if (record_log_check(archiving.log, &wrong) < 0)
                fail_msg("%s", wrong ?: "");
        assert_int_equal(n_looks, 0);
        assert_true(archiving_is_dropped(&archiving, RECORD_ARCHIVE_RECORDS + 23));
}

/* ---- an envelope that is gone otherwise ---- */

static void refused(const char *sql, unsigned index) {
        _cleanup_free_ char *error = NULL;
        char wanted[128];
        int r;

        archiving_close(&archiving);
        archiving_execute(&archiving, sql);
        r = archiving_open(&archiving, &error);
        assert_int_equal(r, error && strstr(error, "--continue-log") ? -ENOTRECOVERABLE : -EBADMSG);
        (void) snprintf(wanted, sizeof(wanted), "record %u has no envelope, and no record says which archive has it", index);
        if (!error || !strstr(error, wanted))
                fail_msg("%s: %s", sql, error ?: "-");
}

static void test_a_log_that_lacks_an_envelope_does_not_open(void **state) {
        static const char *const columns[] = { "payload", "signature", "keyid" };
        char sql[96];
        uint64_t n;

        for (size_t i = 0; i < ELEMENTS(columns); i++) {
                (void) snprintf(sql, sizeof(sql), "UPDATE record SET %s = NULL WHERE idx = 5", columns[i]);
                refused(sql, 5);
                begin_anew();
        }
        refused("UPDATE record SET payload = NULL, signature = NULL, keyid = NULL WHERE idx IN (3, 20)", 3); /* which FAILED */
        begin_anew();

        /* Where there is an archive, what it keeps must be there. */
        open_log();
        assert_int_equal(archive(&n), 0);
        archiving_close(&archiving);
        open_log();
        refused("UPDATE record SET payload = NULL, signature = NULL, keyid = NULL WHERE idx = 3", 3);
        begin_anew();
        open_log();
        assert_int_equal(archive(&n), 0);
        refused("UPDATE record SET payload = NULL, signature = NULL, keyid = NULL WHERE idx = 260", 260);
        begin_anew();

        /* And what tells of it: without that record all that it tells of is missing. */
        open_log();
        assert_int_equal(archive(&n), 0);
        refused("UPDATE entry SET type = '" RECORD_TYPE_HEARTBEAT "' WHERE type = '" RECORD_TYPE_ARCHIVE "'", 0);
}

/* A row of the tables alone makes no archive: its record is read. */
static void test_what_only_looks_like_an_archive_is_none(void **state) {
        refused("UPDATE record SET payload = NULL, signature = NULL, keyid = NULL WHERE idx = 5;"
                "UPDATE entry SET type = '" RECORD_TYPE_ARCHIVE "' WHERE idx = 270", 5);
}

/* A stricter rule than the one that it was signed under: what it tells is told, and the log stays open. */
static void test_a_rule_that_changes_closes_no_log(void **state) {
        Archive told = { .size = 1 };
        _cleanup_free_ char *wrong = NULL;
        uint8_t digest[DIGEST_BYTES] = {};
        DraftGroup *group;
        RecordScrub scrub;
        char *size;

        open_log();
        region_set_add(&told.dropped, 5);
        assert_int_equal(draft_archive(&archiving.log->station, &told, digest, &group), 0);
        size = memmem(group->drafts[0].tail.text, group->drafts[0].tail.n, "\"size\":1", strlen("\"size\":1"));
        assert_non_null(size);
        memcpy(size, "\"size\":0", strlen("\"size\":0")); /* which today's schema refuses */
        assert_int_equal(queue_put(archiving.log, group, 1), 0);
        (void) place_take(archiving.log);
        archiving_close(&archiving);
        open_log();
        if (record_log_check(archiving.log, &wrong) < 0)
                fail_msg("%s", wrong ?: "");
        record_log_scrubbed(archiving.log, &scrub);
        assert_int_equal(scrub.n_unruled, 1);
        assert_int_equal(scrub.n_pruned, 1);
        refused("UPDATE record SET payload = NULL, signature = NULL, keyid = NULL WHERE idx = 6", 6);
}

/* ---- calamities ---- */

/* Nothing is lost: what the log has dropped the archive has, and then a record says so. */
static void check_nothing_lost(void) {
        unsigned n = archiving_count(&archiving);

        if (n > 0) {
                assert_int_equal(n, ARCHIVING_DROPPED);
                check_archive();
                check_record(ARCHIVING_SCANS * ARCHIVING_RECORDS + 1);
        } else
                assert_int_equal(record_log_size(archiving.log), ARCHIVING_SCANS * ARCHIVING_RECORDS + 1);
}

/* And the next errand goes on from there. */
static void check_goes_on(void) {
        uint64_t n;

        check_nothing_lost();
        assert_int_equal(archive(&n), 0);
        assert_int_equal(archiving_count(&archiving), ARCHIVING_DROPPED);
        check_archive();
        check_record(ARCHIVING_SCANS * ARCHIVING_RECORDS + 1);
}

/* Whether the child lived to its end. */
static bool die_in_a_child(unsigned at_call, unsigned at_operation, PowerLoss loss) {
        pid_t pid = fork();
        uint64_t n;
        int status;

        if (pid == 0) {
                if (at_operation > 0)
                        power_install(0, loss, at_operation);
                if (archiving_open(&archiving, NULL) < 0)
                        _exit(2);
                power.dies_at = at_operation > 0 ? power.n_operations + at_operation : 0;
                disk.calamity = at_call > 0 ? DEATH : NOTHING;
                disk.at = at_call;
                disk.n = 0;
                n = 0;
                _exit(archive(&n) == 0 && n == ARCHIVING_DROPPED ? 0 : 3);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status))
                return false;
        assert_int_equal(WEXITSTATUS(status), 0);
        return true;
}

static void test_a_death_loses_nothing(void **state) {
        unsigned n = 0;

        for (bool is_over = false; !is_over && n < 1000; begin_anew()) {
                is_over = die_in_a_child(++n, 0, POWER_KEEPS);
                open_log();
                check_goes_on();
        }
        print_message("# %u calls\n", n - 1);
        assert_in_range(n, 8, 999);
}

static void test_power_that_fails_loses_nothing(void **state) {
        for (PowerLoss loss = POWER_LOSES; loss <= POWER_TEARS; loss++) {
                unsigned every = getenv("ARCHIVE_DEATHS") ? 1 : OPERATION_EVERY, n = 1 + (unsigned) loss % every;

                for (bool is_over = false; !is_over && n < 1000; n += every, begin_anew()) {
                        is_over = die_in_a_child(0, n, loss);
                        open_log();
                        check_goes_on();
                }
                print_message("# %u operations of the database\n", n);
                assert_in_range(n, 3, 999);
        }
}

static void test_a_disk_that_fails_loses_nothing(void **state) {
        static const int errors[] = { ENOSPC, EIO };

        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (unsigned i = 1;; i++) {
                        uint64_t n;
                        int r;

                        open_log();
                        disk.n = disk.n_writes = 0;
                        disk.at = i;
                        disk.error = errors[e];
                        disk.stays = e == 0; /* it is full; else it fails once */
                        disk.calamity = FAILURE;
                        r = archive(&n);
                        disk.calamity = NOTHING;
                        check_nothing_lost();
                        assert_true(r == 0 || r == -errors[e]);
                        if (r < 0)
                                assert_int_equal(archiving_count(&archiving), 0);
                        check_goes_on();
                        begin_anew();
                        if (r == 0) {
                                assert_in_range(i, 5, 999); /* each of 256 lines, where ARCHIVE_DEATHS=1 */
                                break;
                        }
                }
}

/* Another log's, or one that was changed: it stays, and so do the envelopes. */
static void test_a_file_that_is_there_is_not_replaced(void **state) {
        Kept other = { .n = lines.n };
        char path[160], *text;
        uint64_t n;

        other.text = malloc(lines.n);
        memcpy(other.text, lines.text, lines.n);
        other.text[lines.n / 2] ^= 1;
        put(path_of(ARCHIVE, path), &other);
        open_log();
        assert_int_equal(archive(&n), -EEXIST);
        assert_int_equal(archiving_count(&archiving), 0);
        assert_int_equal(whole_file_read(AT_FDCWD, path, FILE_MAX, &text, &n), 0);
        assert_memory_equal(text, other.text, lines.n);
        free(text);
        free(other.text);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(mkfifo(path, 0600), 0); /* which nobody waits for */
        assert_int_equal(archive(&n), -EEXIST);
        assert_int_equal(archiving_count(&archiving), 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(archiving.folder), 0);
        assert_int_equal(archive(&n), -ENOENT);
        assert_int_equal(mkdir(archiving.folder, 0700), 0);
        check_goes_on();
}

/* Whatever is written behind a hole in it makes the write-ahead log as long as it was, so that the next to look would find nothing. */
static void test_nothing_is_written_behind_a_hole(void **state) {
        struct stat st;
        char wal[160];
        uint64_t n;

        (void) snprintf(wal, sizeof(wal), "%s-wal", archiving.published.place.log);
        open_log();
        archiving_beat(&archiving);
        published_wait(archiving.log, record_log_size(archiving.log)); /* nothing else is written then */
        assert_int_equal(truncate(wal, 0), 0);
        assert_int_not_equal(archive(&n), 0);
        assert_int_equal(stat(wal, &st), 0);
        assert_int_equal(st.st_size, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_what_is_old_goes_into_an_archive, setup),
                cmocka_unit_test_setup(test_what_is_taken_away_is_found_later, setup),
                cmocka_unit_test_setup(test_what_the_table_says_of_the_dropped_stays, setup),
                cmocka_unit_test_setup(test_records_of_older_tables_go_as_well, setup),
                cmocka_unit_test_setup(test_tables_alone_drop_nothing, setup),
                cmocka_unit_test_setup(test_archives_are_made_one_after_another, setup),
                cmocka_unit_test_setup(test_an_archive_that_is_made_during_a_pass_is_found, setup),
                cmocka_unit_test_setup(test_a_log_that_lacks_an_envelope_does_not_open, setup),
                cmocka_unit_test_setup(test_what_only_looks_like_an_archive_is_none, setup),
                cmocka_unit_test_setup(test_a_rule_that_changes_closes_no_log, setup),
                cmocka_unit_test_setup(test_a_death_loses_nothing, setup),
                cmocka_unit_test_setup(test_power_that_fails_loses_nothing, setup),
                cmocka_unit_test_setup(test_a_disk_that_fails_loses_nothing, setup),
                cmocka_unit_test_setup(test_a_file_that_is_there_is_not_replaced, setup),
                cmocka_unit_test_setup(test_nothing_is_written_behind_a_hole, setup),
        };

        return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
