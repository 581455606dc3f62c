/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/store/store-vfs.h"
#include "tests/record/faults.h"
#include "tests/record/place.h"

#define SIZE  (1024 * 1024)
#define STEPS 3000

static Place place;
static sqlite3_file *file;

static int open_as(int kind) {
        sqlite3_vfs *vfs;

        place_init(&place);
        assert_int_equal(store_vfs_register(), 0);
        vfs = sqlite3_vfs_find(STORE_VFS);
        assert_non_null(vfs);
        assert_ptr_not_equal(vfs, sqlite3_vfs_find(NULL));
        file = calloc(1, (size_t) vfs->szOsFile);
        assert_non_null(file);
        return vfs->xOpen(vfs, place.log, file, kind | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
}

static int setup(void **state) {
        return open_as(SQLITE_OPEN_WAL);
}

static int setup_database(void **state) {
        return open_as(SQLITE_OPEN_MAIN_DB);
}

static int teardown(void **state) {
        faults_set(0, 0, false, false);
        (void) file->pMethods->xClose(file);
        free(file);
        place_done(&place);
        return 0;
}

static int file_write(const void *data, size_t n, size_t at) {
        return file->pMethods->xWrite(file, data, (int) n, (sqlite3_int64) at);
}

static int file_sync(void) {
        return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

/* How much of it the operating system has. */
static int64_t passed_on(void) {
        struct stat st;

        assert_int_equal(stat(place.log, &st), 0);
        return st.st_size;
}

static void test_what_follows_is_one_write_and_there_when_it_is_synced(void **state) {
        static const uint8_t page[4096] = { 1 };

        faults_set(1000, SQLITE_IOERR_WRITE, false, false);
        for (size_t i = 0; i < 8; i++)
                assert_int_equal(file_write(page, sizeof(page), i * sizeof(page)), SQLITE_OK);
        assert_int_equal(atomic_load(&faults.countdown), 1000);
        assert_int_equal(passed_on(), 0);
        assert_int_equal(file_sync(), SQLITE_OK);
        assert_int_equal(atomic_load(&faults.countdown), 998); /* a write and the sync */
        assert_int_equal(passed_on(), 8 * sizeof(page));
        assert_int_equal(file_sync(), SQLITE_OK);
        assert_int_equal(atomic_load(&faults.countdown), 997);
}

/* Nothing that is asked of the file sees it without what was written. */
static void test_nothing_overtakes_a_write(void **state) {
        sqlite3_int64 size;
        uint8_t bytes[4];

        assert_int_equal(file_write("abcd", 4, 0), SQLITE_OK);
        assert_int_equal(file->pMethods->xRead(file, bytes, 4, 0), SQLITE_OK);
        assert_memory_equal(bytes, "abcd", 4);
        assert_int_equal(file_write("efgh", 4, 4), SQLITE_OK);
        assert_int_equal(file->pMethods->xFileSize(file, &size), SQLITE_OK);
        assert_int_equal(size, 8);
        assert_int_equal(file_write("ijkl", 4, 8), SQLITE_OK);
        assert_int_equal(file->pMethods->xTruncate(file, 10), SQLITE_OK);
        assert_int_equal(passed_on(), 10);
        assert_int_equal(store_vfs_reach(file), 10);
        assert_int_equal(file_write("mnop", 4, 10), SQLITE_OK);
        assert_int_equal(store_vfs_reach(file), 10);
        assert_int_equal(file_sync(), SQLITE_OK);
        assert_int_equal(passed_on(), 14);
        assert_int_equal(store_vfs_reach(file), 14);
        /* what stands elsewhere is written after what was written before */
        assert_int_equal(file_write("qrst", 4, 14), SQLITE_OK);
        assert_int_equal(file_write("A", 1, 0), SQLITE_OK);
        assert_int_equal(passed_on(), 18);
}

/* Writes anywhere and of any length, next to each other mostly, against memory. */
static void test_a_file_is_what_was_written(void **state) {
        uint8_t *expected = calloc(1, SIZE), *found = calloc(1, SIZE);
        size_t at = 0, end = 0;
        unsigned seed = 7;

        for (unsigned i = 0; i < STEPS; i++) {
                size_t n = (size_t) rand_r(&seed) % (rand_r(&seed) % 50 == 0 ? 300000 : 5000) + 1;

                if (rand_r(&seed) % 10 == 0 || at + n > SIZE)
                        at = (size_t) rand_r(&seed) % (SIZE / 2);
                memset(expected + at, rand_r(&seed), n);
                /* as SQLite's own files do, which take less than 128 KiB at once */
                if (n < 128 * 1024)
                        assert_int_equal(file_write(expected + at, n, at), SQLITE_OK);
                else
                        for (size_t k = 0; k < n; k += 65536)
                                assert_int_equal(file_write(expected + at + k, n - k < 65536 ? n - k : 65536, at + k), SQLITE_OK);
                at += n;
                end = at > end ? at : end;
                if (rand_r(&seed) % 50 == 0) {
                        assert_int_equal(file->pMethods->xRead(file, found, (int) end, 0), SQLITE_OK);
                        assert_memory_equal(found, expected, end);
                }
        }
        assert_int_equal(file_sync(), SQLITE_OK);
        assert_int_equal(passed_on(), end);
        assert_int_equal(file->pMethods->xRead(file, found, (int) end, 0), SQLITE_OK);
        assert_memory_equal(found, expected, end);
        free(expected);
        free(found);
}

static void test_what_cannot_be_written_is_said_by_the_sync_and_forgotten(void **state) {
        assert_int_equal(file_write("abcd", 4, 0), SQLITE_OK);
        faults_set(1, SQLITE_FULL, false, false);
        assert_int_equal(file_sync(), SQLITE_FULL);
        assert_int_equal(passed_on(), 0);
        assert_int_equal(file_sync(), SQLITE_OK);
        assert_int_equal(passed_on(), 0);
        assert_int_equal(file_write("abcd", 4, 0), SQLITE_OK);
        assert_int_equal(file_sync(), SQLITE_OK);
        assert_int_equal(passed_on(), 4);
}

/* Nothing of it is told as written that is not: SQLite syncs no database of whose write-ahead log somebody reads an older state. */
static void test_a_database_is_not_gathered(void **state) {
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(file_write("abcd", 4, 4 * i), SQLITE_OK);
                assert_int_equal(passed_on(), 4 * (i + 1));
        }
        faults_set(1, SQLITE_FULL, false, false);
        assert_int_equal(file_write("abcd", 4, 12), SQLITE_FULL);
        assert_int_equal(passed_on(), 12);
}

static void test_a_file_that_is_not_there_is_not_opened(void **state) {
        sqlite3_vfs *vfs = sqlite3_vfs_find(STORE_VFS);
        sqlite3_file *other = calloc(1, (size_t) vfs->szOsFile);

        assert_int_not_equal(vfs->xOpen(vfs, "/nowhere/records.db", other, SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        assert_null(other->pMethods);
        assert_int_not_equal(vfs->xOpen(vfs, "/nowhere/records.db-wal", other, SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
        assert_null(other->pMethods);
        free(other);
}

int main(void) {
        faults_install();

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_what_follows_is_one_write_and_there_when_it_is_synced, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_overtakes_a_write, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_file_is_what_was_written, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_cannot_be_written_is_said_by_the_sync_and_forgotten, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_database_is_not_gathered, setup_database, teardown),
                cmocka_unit_test_setup_teardown(test_a_file_that_is_not_there_is_not_opened, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
