/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"

static char folder[64];
static int dir = -EBADF;

static int setup(void **state) {
        (void) snprintf(folder, sizeof(folder), "/tmp/whole-file-XXXXXX");
        if (!mkdtemp(folder))
                return -1;
        dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return dir < 0;
}

static int teardown(void **state) {
        char command[96];

        (void) close(dir);
        (void) snprintf(command, sizeof(command), "rm -rf %s", folder);
        return system(command);
}

static void holds(const char *path, const char *wanted) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        assert_int_equal(whole_file_read(dir, path, 64, &text, &n), 0);
        assert_int_equal(n, strlen(wanted));
        assert_string_equal(text, wanted);
}

static void test_a_file_is_replaced_whole(void **state) {
        struct stat st;

        assert_int_equal(whole_file_replace(dir, "a", 0600, "first", 5), 0);
        holds("a", "first");
        assert_int_equal(whole_file_replace(dir, "a", 0600, "", 0), 0);
        holds("a", "");
        assert_int_equal(fstatat(dir, "a", &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(faccessat(dir, "a.new", F_OK, 0), -1);
}

static void test_a_dead_writer_is_in_nobodys_way(void **state) {
        assert_int_equal(symlinkat("/nowhere/at/all", dir, "a.new"), 0);
        assert_int_equal(whole_file_replace(dir, "a", 0644, "whole", 5), 0);
        holds("a", "whole");
}

static void test_a_file_that_cannot_be_written_leaves_the_old_one(void **state) {
        const struct rlimit small = { 4, RLIM_INFINITY }, any = { RLIM_INFINITY, RLIM_INFINITY };
        int r;

        assert_int_equal(whole_file_replace(dir, "a", 0644, "old", 3), 0);
        (void) signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        r = whole_file_replace(dir, "a", 0644, "a new one", 9);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
        assert_int_equal(r, -EFBIG);
        holds("a", "old");
        assert_int_equal(faccessat(dir, "a.new", F_OK, 0), -1);
        assert_int_equal(whole_file_replace(dir, "no/such/folder", 0644, "x", 1), -ENOENT);
}

static void test_what_is_no_small_file_is_not_read(void **state) {
        char *text = NULL;
        size_t n;

        assert_int_equal(whole_file_read(dir, "nothing", 64, &text, &n), -ENOENT);
        assert_int_equal(whole_file_read(dir, ".", 64, &text, &n), -EBADMSG);
        assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
        assert_int_equal(whole_file_read(dir, "pipe", 64, &text, &n), -EBADMSG);
        assert_int_equal(whole_file_read(AT_FDCWD, "/dev/zero", 64, &text, &n), -EBADMSG);
        assert_int_equal(whole_file_replace(dir, "a", 0644, "123456789", 9), 0);
        assert_int_equal(whole_file_read(dir, "a", 8, &text, &n), -EFBIG);
        assert_int_equal(whole_file_read(AT_FDCWD, "/proc/self/cmdline", 1, &text, &n), -EFBIG); /* it says that it has no bytes */
        assert_int_equal(whole_file_read(dir, "a", 9, &text, &n), 0);
        assert_int_equal(n, 9);
        free(text);
}

static void drains(const char *path, size_t max, int wanted) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;

        assert_int_equal(whole_file_drain(path, max, &text, &n), wanted < 0 ? wanted : 0);
        if (wanted < 0) {
                assert_null(text);
                return;
        }
        assert_int_equal(n, wanted);
        assert_int_equal(text[n], '\0');
        for (size_t i = 0; i < n; i++)
                assert_int_equal(text[i], 'a' + i % 23);
}

/* A pipe that a child fills and closes, as <(…) of a shell is. */
static void drains_pipe(size_t n_bytes, size_t max, int wanted) {
        char path[32], piece[23];
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        if (fork() == 0) {
                (void) close(ends[0]);
                for (size_t i = 0; i < sizeof(piece); i++)
                        piece[i] = (char) ('a' + i);
                for (size_t n = 0; n < n_bytes; n += sizeof(piece))
                        if (write(ends[1], piece, n_bytes - n < sizeof(piece) ? n_bytes - n : sizeof(piece)) < 0)
                                _exit(1);
                _exit(0);
        }
        (void) close(ends[1]);
        (void) snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
        drains(path, max, wanted);
        (void) close(ends[0]);
        (void) wait(NULL);
}

static void test_whatever_is_named_is_drained(void **state) {
        static const size_t sizes[] = { 0, 1, 16383, 16384, 16385, 32768, 100000 };

        for (size_t i = 0; i < ELEMENTS(sizes); i++) {
                drains_pipe(sizes[i], 100000, (int) sizes[i]);
                drains_pipe(sizes[i], sizes[i], (int) sizes[i]);
                if (sizes[i] > 0)
                        drains_pipe(sizes[i], sizes[i] - 1, -EFBIG);
        }
        drains("/dev/null", 0, 0);
        drains("/dev/zero", 100000, -EFBIG);
        drains("/", 64, -EISDIR);
        drains("/nowhere/at/all", 64, -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_file_is_replaced_whole, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_dead_writer_is_in_nobodys_way, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_file_that_cannot_be_written_leaves_the_old_one, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_no_small_file_is_not_read, setup, teardown),
                cmocka_unit_test(test_whatever_is_named_is_drained),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
