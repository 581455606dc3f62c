/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "checks/text/whole-file.h"
#include "tests/record/published.h"

#define RECORDS 5

static Published published;
static char copy[128];

static RecordLog *open_log(void) {
        RecordLog *log = NULL;
        char *error = NULL;
        int r;

        r = published_open(&published, &log, &error);
        if (r < 0)
                fail_msg("%d: %s", r, error ?: "");
        free(error);
        return log;
}

static void append(unsigned n) {
        RecordLog *log = open_log();
        uint64_t size = record_log_size(log) + n;

        published_append(&published, log, n);
        published_wait(log, size);
        (void) record_log_free(log);
}

static int setup(void **state) {
        published_init(&published);
        (void) snprintf(copy, sizeof(copy), "%s/copy.db", published.place.folder);
        append(RECORDS);
        return 0;
}

static int teardown(void **state) {
        published_done(&published);
        return 0;
}

static void execute(const char *path, const char *sql) {
        char *error = NULL;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
                fail_msg("%s: %s", sql, error);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* As a backup is made and put back. */
static void back_up(void) {
        char sql[256];

        (void) snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", copy);
        execute(published.place.log, sql);
}

static void put_back(void) {
        char path[128];

        (void) snprintf(path, sizeof(path), "%s-wal", published.place.log);
        (void) remove(path);
        assert_int_equal(rename(copy, published.place.log), 0);
}

static long read_file(const char *path, char *text, size_t size) {
        FILE *file = fopen(path, "re");
        size_t n;

        assert_non_null(file);
        n = fread(text, 1, size, file);
        (void) fclose(file);
        return (long) n;
}

static void refuse(const char *says) {
        _cleanup_free_ char *error = NULL;
        char before[4096], after[4096];
        RecordLog *log = NULL;
        long n = read_file(published.anchor, before, sizeof(before));
        int r;

        r = published_open(&published, &log, &error);
        assert_null(log);
        assert_non_null(error);
        assert_int_equal(r, strstr(error, "--continue-log") ? -ENOTRECOVERABLE : -EBADMSG); /* what it points to */
        if (!strstr(error, says))
                fail_msg("\"%s\" does not say \"%s\"", error, says);
        assert_int_equal(read_file(published.anchor, after, sizeof(after)), n);
        assert_memory_equal(before, after, (size_t) n);
}

static void test_a_backup_is_good_until_more_is_published(void **state) {
        back_up();
        put_back();
        append(0);
        back_up();
        append(1);
        put_back();
        refuse("it has 5 records, and a checkpoint of 6 was published");
}

static void test_two_that_went_on_from_the_same_state_are_told(void **state) {
        char first[4096], anchor[4096];
        long n, n_other;

        back_up();
        n = read_file(published.anchor, first, sizeof(first));
        append(2);
        n_other = read_file(published.anchor, anchor, sizeof(anchor));
        put_back();
        assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, first, (size_t) n), 0);
        published.server.run[35] = '9';
        append(3);
        assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, anchor, (size_t) n_other), 0);
        refuse("its first 7 records are not those that were published");
}

static void test_records_that_were_taken_away_are_missed(void **state) {
        execute(published.place.log, "DELETE FROM record WHERE idx = 4; DELETE FROM entry WHERE idx = 4");
        refuse("it has 4 records, and a checkpoint of 5");
}

static void test_a_checkpoint_at_another_place_is_told(void **state) {
        execute(published.place.log, "DELETE FROM checkpoint WHERE size = 4;"
                                     "UPDATE checkpoint SET size = 4, note = (SELECT note FROM checkpoint ORDER BY size LIMIT 1) WHERE size = 5");
        refuse("its first 4 records are not those of its checkpoint");
}

/* Another log of the same keys and length, with the checkpoints of this one. */
static void test_a_log_with_the_checkpoints_of_another_is_told(void **state) {
        char sql[256];

        back_up();
        (void) remove(published.place.log);
        (void) remove(published.anchor);
        published.server.run[35] = '9';
        append(RECORDS);
        (void) snprintf(sql, sizeof(sql), "ATTACH '%s' AS other; DELETE FROM checkpoint; INSERT INTO checkpoint SELECT * FROM other.checkpoint", copy);
        execute(published.place.log, sql);
        refuse("its first 5 records are not those of its checkpoint");
}

static void test_an_anchor_is_of_this_log_or_none(void **state) {
        static const char *const texts[] = { "", "\n", "nonsense\n" };
        char path[128], anchor[4096], *big;
        long n = read_file(published.anchor, anchor, sizeof(anchor));

        for (size_t i = 0; i < ELEMENTS(texts); i++) {
                assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, texts[i], strlen(texts[i])), 0);
                refuse("holds no checkpoint of this log");
        }
        big = calloc(1, NOTE_MAX + 1);
        assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, big, NOTE_MAX + 1), 0);
        refuse("holds no checkpoint of this log");
        free(big);
        for (long i = 0; i < n; i++) {
                anchor[i] ^= 1;
                assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, anchor, (size_t) n), 0);
                refuse("holds no checkpoint of this log");
                anchor[i] ^= 1;
        }
        (void) snprintf(path, sizeof(path), "%s/x", published.place.folder);
        (void) remove(published.anchor);
        assert_int_equal(mkdir(published.anchor, 0700), 0);
        assert_int_equal(published_open(&published, &(RecordLog *) { NULL }, NULL), -ENOTRECOVERABLE);
        assert_int_equal(rmdir(published.anchor), 0);
}

static void test_without_the_key_nothing_goes_on(void **state) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log;

        assert_int_equal(published_open_with(&published, NULL, NULL, &log, &error), -EBADMSG);
        assert_non_null(strstr(error, "there is no log key"));
        free(error);
        error = NULL;
        execute(published.place.log, "DELETE FROM checkpoint");
        assert_int_equal(published_open_with(&published, NULL, published.anchor, &log, &error), -EBADMSG);
        assert_non_null(strstr(error, "there is no log key"));
}

/* What a crash leaves between the two. */
static void test_what_is_committed_is_anchored_at_last(void **state) {
        char before[4096], after[4096];
        long n = read_file(published.anchor, before, sizeof(before));
        _cleanup_free_ char *remark = NULL;
        RecordLog *log;

        append(2);
        assert_int_equal(whole_file_replace(AT_FDCWD, published.anchor, 0640, before, (size_t) n), 0);
        assert_int_equal(published_open(&published, &log, &remark), 0);
        assert_null(remark);
        published_wait(log, RECORDS + 2);
        (void) record_log_free(log);
        n = read_file(published.anchor, after, sizeof(after) - 1);
        after[n] = '\0';
        assert_non_null(strstr(after, "\n7\n"));
}

/* Nothing is published that the anchor does not hold; records go on meanwhile. */
static void test_an_anchor_that_cannot_be_written_is_told_and_tried_again(void **state) {
        const struct timespec moment = { .tv_nsec = 1000000 };
        char folder[128], gone[128], anchor[sizeof(published.anchor)];
        RecordLog *log;
        uint64_t size;
        char *note;
        size_t n;

        (void) memcpy(anchor, published.anchor, sizeof(anchor));
        (void) snprintf(folder, sizeof(folder), "%.60s/later", published.place.folder);
        (void) snprintf(gone, sizeof(gone), "%.60s/gone", published.place.folder);
        (void) snprintf(published.anchor, sizeof(published.anchor), "%.80s/anchor", folder);
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(rename(anchor, published.anchor), 0);
        log = open_log();
        assert_int_equal(rename(folder, gone), 0);
        published_append(&published, log, 2);
        for (unsigned i = 0; i < 20000 && record_log_checkpointed(log, &size) == 0; i++)
                (void) nanosleep(&moment, NULL);
        assert_int_equal(record_log_checkpointed(log, &size), -ENOENT);
        assert_int_equal(size, RECORDS);
        assert_int_equal(record_log_checkpoint(log, &note, &n), 0);
        assert_non_null(strstr(note, "\n5\n"));
        free(note);
        assert_int_equal(record_log_proof(log, RECORDS, &note, &n), -ENOENT);

        assert_int_equal(rename(gone, folder), 0);
        published_wait(log, RECORDS + 2);
        assert_int_equal(record_log_proof(log, RECORDS, &note, &n), 0);
        free(note);
        (void) record_log_free(log);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_backup_is_good_until_more_is_published, setup, teardown),
                cmocka_unit_test_setup_teardown(test_two_that_went_on_from_the_same_state_are_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_records_that_were_taken_away_are_missed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_checkpoint_at_another_place_is_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_with_the_checkpoints_of_another_is_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_anchor_is_of_this_log_or_none, setup, teardown),
                cmocka_unit_test_setup_teardown(test_without_the_key_nothing_goes_on, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_committed_is_anchored_at_last, setup, teardown),
                cmocka_unit_test_setup_teardown(test_an_anchor_that_cannot_be_written_is_told_and_tried_again, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
