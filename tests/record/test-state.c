/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/record/keys/state.h"
#include "tests/record/payload.h"

static char folder[128];

static RecordState *opened(void) {
        RecordState *state;

        assert_int_equal(record_state_open(folder, &state), 0);
        return state;
}

static int setup(void **state) {
        payloads_init(&payloads);
        (void) snprintf(folder, sizeof(folder), "%s/state", payloads.place.folder);
        return 0;
}

/* As one process does it: whatever comes of it, the folder is free again. */
static RecordTrust verify(const char *envelope, bool accept, const char *reason) {
        RecordState *state = opened();
        RecordVerified verified;
        RecordTrust trust;
        bool says;
        int r;

        r = record_verify_with_policy(&(RecordPolicy) { .keyring = payloads.keyring, .state = state }, envelope, strlen(envelope), &trust, &verified);
        if (r == 0 && accept)
                r = record_state_accept(state);
        (void) record_state_free(state);
        assert_int_equal(r, 0);
        says = !reason || strstr(verified.reason, reason);
        record_verified_done(&verified);
        assert_true(says);
        return trust;
}

static void test_what_is_written_is_read_back_by_the_next(void **state) {
        _cleanup_(record_state_freep) RecordState *one = opened();
        _cleanup_free_ char *text = NULL;
        size_t n;

        assert_int_equal(state_read_checkpoint(one, STATE_PROVEN, "a", &text, &n), -ENOENT);
        assert_int_equal(state_write_checkpoint(one, STATE_PROVEN, "a", "first", 5), 0);
        assert_int_equal(state_write_checkpoint(one, STATE_PROVEN, "b", "other", 5), 0);
        assert_int_equal(state_write_checkpoint(one, STATE_PROVEN, "a", "second", 6), 0);
        one = record_state_free(one);
        one = opened();
        assert_int_equal(state_read_checkpoint(one, STATE_PROVEN, "a", &text, &n), 0);
        assert_int_equal(n, 6);
        assert_string_equal(text, "second");
}

static void test_a_record_is_accepted_once(void **state) {
        /* Seen, but not accepted. */
        assert_int_equal(verify(payloads.envelope, false, NULL), RECORD_VERIFIED);
        assert_int_equal(verify(payloads.envelope, true, NULL), RECORD_VERIFIED);
        assert_int_equal(verify(payloads.envelope, true, "accepted before"), RECORD_REFUSED);
        assert_int_equal(verify(payloads.envelope_start, true, "accepted before"), RECORD_REFUSED); /* index 0 */
}

static void test_what_is_damaged_leaves_a_doubt(void **state) {
        DIR *dir = opendir(folder);
        unsigned n = 0;

        for (struct dirent *entry; (entry = readdir(dir));) {
                int fd;

                if (!strstr(entry->d_name, ".accepted"))
                        continue;
                fd = openat(dirfd(dir), entry->d_name, O_WRONLY | O_TRUNC | O_CLOEXEC);
                assert_true(fd >= 0 && write(fd, "4", 1) == 1);
                (void) close(fd);
                n++;
        }
        (void) closedir(dir);
        assert_int_equal(n, 1);
        assert_int_equal(verify(payloads.envelope, false, NULL), RECORD_CANNOT_TELL);
}

/* And nobody who may only look into the folder keeps others from it: they cannot open the file that is locked. */
static void test_one_at_a_time_has_it(void **state) {
        _cleanup_(record_state_freep) RecordState *one = opened();
        _cleanup_close_ int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC);
        struct stat st;

        assert_true(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
        assert_int_equal(flock(dir, LOCK_EX | LOCK_NB), 0);
        assert_true(fstat(fd, &st) == 0 && (st.st_mode & 07) == 0);
        one = record_state_free(one);
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
}

/* Whose keyring lies there is believed before any roots that are given. */
static void test_a_folder_of_others_is_not_believed(void **state) {
        RecordState *one;

        assert_int_equal(chmod(folder, 01777), 0);
        assert_int_equal(record_state_open(folder, &one), -EPERM);
        assert_int_equal(chmod(folder, 0755), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(folder, 65534, (gid_t) -1), 0);
                assert_int_equal(record_state_open(folder, &one), -EPERM);
                assert_int_equal(chown(folder, 0, (gid_t) -1), 0);
        }
        (void) record_state_free(opened());
}

static void test_a_folder_that_cannot_be_is_told(void **state) {
        RecordState *one;

        assert_int_equal(record_state_open("/nonexistent/folder/of/mine", &one), -ENOENT);
        assert_int_equal(record_state_open("/dev/null", &one), -ENOTDIR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_written_is_read_back_by_the_next),
                cmocka_unit_test(test_a_record_is_accepted_once),
                cmocka_unit_test(test_what_is_damaged_leaves_a_doubt),
                cmocka_unit_test(test_one_at_a_time_has_it),
                cmocka_unit_test(test_a_folder_of_others_is_not_believed),
                cmocka_unit_test(test_a_folder_that_cannot_be_is_told),
        };

        return cmocka_run_group_tests(tests, setup, payloads_teardown);
}
