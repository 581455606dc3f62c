/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/witness/book.h"
#include "tests/record/place.h"

static Place place;

static int setup(void **state) {
        place_init(&place);
        return 0;
}

static int teardown(void **state) {
        place_done(&place);
        return 0;
}

static Book *reopen(Book *book) {
        char *wrong = NULL;

        if (book)
                assert_int_equal(book_commit(book), 0);
        (void) book_close(book);
        assert_int_equal(book_open(place.folder, NULL, false, &book, &wrong), 0);
        return book;
}

static void test_what_was_written_is_held(void **state) {
        Held one = { 7, { { 1, 2, 3 } }, 1790000000123456 }, none, found;
        TreeHash empty;
        Book *book;

        book = reopen(NULL);
        assert_int_equal(tree_empty(&empty), 0);
        assert_int_equal(book_read(book, "a", &none), 0);
        assert_int_equal(none.size, 0);
        assert_memory_equal(&none.root, &empty, sizeof(empty));
        assert_int_equal(book_write(book, "a", &one, "note", 4), 0);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(book_read(book, "a", &found), 0);
                assert_memory_equal(&found, &one, sizeof(one));
                assert_int_equal(book_read(book, "b", &found), 0);
                assert_int_equal(found.size, 0);
                book = reopen(book);
        }
        (void) book_close(book);
}

static void test_nothing_shrinks(void **state) {
        Held one = { 7, { { 1 } }, 1 }, two = { 7, { { 2 } }, 2 }, less = { 6, { { 3 } }, 3 }, found;
        Book *book = reopen(NULL);

        assert_int_equal(book_write(book, "a", &one, "", 0), 0);
        assert_int_equal(book_write(book, "a", &two, "", 0), -ESTALE);
        assert_int_equal(book_write(book, "a", &less, "", 0), -ESTALE);
        book = reopen(book);
        assert_int_equal(book_read(book, "a", &found), 0);
        assert_memory_equal(&found, &one, sizeof(one));
        (void) book_close(book);
}

static void test_a_group_is_there_as_a_whole(void **state) {
        Held one = { 7, { { 1 } }, 1 }, two = { 8, { { 2 } }, 2 }, found;
        Book *book = reopen(NULL);

        assert_int_equal(book_commit(book), 0); /* of nothing */
        assert_int_equal(book_write(book, "a", &one, "", 0), 0);
        assert_int_equal(book_write(book, "b", &one, "", 0), 0);
        assert_int_equal(book_write(book, "a", &two, "", 0), 0);
        assert_int_equal(book_write(book, "a", &one, "", 0), -ESTALE); /* which is no end of it */
        assert_int_equal(book_read(book, "a", &found), 0);
        assert_int_equal(found.size, 8);
        book = reopen(book);
        assert_int_equal(book_read(book, "a", &found), 0);
        assert_int_equal(found.size, 8);
        assert_int_equal(book_read(book, "b", &found), 0);
        assert_int_equal(found.size, 7);

        assert_int_equal(book_write(book, "a", &(Held) { 9, { { 3 } }, 3 }, "", 0), 0);
        (void) book_close(book); /* as one that was killed */
        book = reopen(NULL);
        assert_int_equal(book_read(book, "a", &found), 0);
        assert_int_equal(found.size, 8);
        (void) book_close(book);
}

static void limit_files(rlim_t size) {
        struct rlimit limit;

        assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = size;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Wherever in the group the disk is full: nothing of it is held, and neither is what is written before it is over. */
static void test_a_full_disk_takes_none_of_a_group(void **state) {
        static char note[16384];
        Held held = { 7, { { 1 } }, 1 }, found;
        Book *book = reopen(NULL);
        unsigned n_refused = 0;

        (void) signal(SIGXFSZ, SIG_IGN);
        for (unsigned room = 0; room < 40; room++) {
                int written = 0, r;

                limit_files((rlim_t) room * 4096);
                for (unsigned i = 0; i < 4; i++) {
                        char name[16];

                        (void) snprintf(name, sizeof(name), "%u/%u", room, i);
                        r = book_write(book, name, &held, note, sizeof(note));
                        assert_true(written == 0 || r == written);
                        written = r;
                }
                r = book_commit(book);
                assert_true(written == 0 || r == written);
                limit_files(RLIM_INFINITY);
                n_refused += r < 0;
                for (unsigned i = 0; i < 4; i++) {
                        char name[16];

                        (void) snprintf(name, sizeof(name), "%u/%u", room, i);
                        assert_int_equal(book_read(book, name, &found), 0);
                        assert_int_equal(found.size, r < 0 ? 0 : 7);
                }
                if (room % 8 == 0)
                        book = reopen(book);
        }
        assert_true(n_refused > 4 && n_refused < 40);
        /* What is refused changes nothing, and the anchor tells no number of what was rolled back. */
        limit_files(0);
        assert_true(book_write(book, "none", &held, note, sizeof(note)) < 0 || book_commit(book) < 0);
        limit_files(RLIM_INFINITY);
        (void) book_commit(book);
        assert_int_equal(book_write(book, "0/0", &(Held) { 0 }, "", 0), book_read(book, "0/0", &found) == 0 && found.size > 0 ? -ESTALE : 0);
        book = reopen(book);
        assert_int_equal(book_write(book, "last", &held, note, sizeof(note)), 0);
        book = reopen(book);
        assert_int_equal(book_read(book, "last", &found), 0);
        assert_int_equal(found.size, 7);
        (void) book_close(book);
}

static void execute(const char *sql) {
        char path[128];
        sqlite3 *db;

        (void) snprintf(path, sizeof(path), "%s/witness.db", place.folder);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        (void) sqlite3_close(db);
}

static void assert_refused(int error, const char *why) {
        char *wrong = NULL;
        Book *book;

        assert_int_equal(book_open(place.folder, NULL, false, &book, &wrong), error);
        if (why)
                assert_non_null(strstr(wrong, why));
        free(wrong);
}

static void test_what_is_no_book_is_refused(void **state) {
        execute("CREATE TABLE other (x)");
        assert_refused(-EBADMSG, "no book");
}

static void test_what_others_added_is_refused(void **state) {
        (void) book_close(reopen(NULL));
        execute("CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM log; END");
        assert_refused(-EBADMSG, "added");
}

static void test_a_newer_version_is_refused(void **state) {
        (void) book_close(reopen(NULL));
        execute("PRAGMA user_version=2");
        assert_refused(-EBADMSG, "newer version");
}

static void test_a_row_that_is_none_is_not_believed(void **state) {
        Book *book;
        Held held;

        (void) book_close(reopen(NULL));
        execute("INSERT INTO log VALUES ('a', 5, x'00', x'', 0, 0), ('b', -1, zeroblob(32), x'', 0, 0)");
        book = reopen(NULL);
        assert_int_equal(book_read(book, "a", &held), -EBADMSG);
        assert_int_equal(book_read(book, "b", &held), -EBADMSG);
        (void) book_close(book);
}

static void test_two_cannot_have_one_book(void **state) {
        Book *book = reopen(NULL);

        assert_refused(-EBUSY, NULL);
        (void) book_close(book);
}

/* Row by row: rows taken away are an older state. */
static void test_a_book_behind_its_anchor_is_refused(void **state) {
        Held held = { 7, { { 1 } }, 1 };
        Book *book = reopen(NULL);
        char *wrong = NULL;

        assert_int_equal(book_write(book, "a", &held, "", 0), 0);
        assert_int_equal(book_write(book, "b", &held, "", 0), 0);
        assert_int_equal(book_commit(book), 0);
        (void) book_close(book);
        execute("DELETE FROM log WHERE origin = 'b'");
        assert_refused(-EBADMSG, "old copy");
        assert_int_equal(book_open(place.folder, NULL, true, &book, &wrong), 0);
        (void) book_close(reopen(book));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_what_was_written_is_held),
                TEST(test_nothing_shrinks),
                TEST(test_a_group_is_there_as_a_whole),
                TEST(test_a_full_disk_takes_none_of_a_group),
                TEST(test_what_is_no_book_is_refused),
                TEST(test_what_others_added_is_refused),
                TEST(test_a_newer_version_is_refused),
                TEST(test_a_row_that_is_none_is_not_believed),
                TEST(test_two_cannot_have_one_book),
                TEST(test_a_book_behind_its_anchor_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
