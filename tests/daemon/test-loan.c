/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "daemon/loan.h"

#define LOANS_OF_USER (LOAN_BYTES_OF_USER / LOAN_BYTES_LEAST)

/* The clock of this program, which a test sets forward. */
static time_t ahead_sec;

int clock_gettime(clockid_t clock, struct timespec *ret) {
        long r = syscall(SYS_clock_gettime, clock, ret);

        ret->tv_sec += ahead_sec;
        return (int) r;
}

typedef struct Fixture {
        sd_event *event;
        Loans *loans;
} Fixture;

static int set_up(void **state) {
        static Fixture fixture;

        assert_true(sd_event_new(&fixture.event) >= 0);
        assert_int_equal(loans_new(fixture.event, &fixture.loans), 0);
        *state = &fixture;
        return 0;
}

static int tear_down(void **state) {
        Fixture *fixture = *state;

        fixture->loans = loans_free(fixture->loans);
        fixture->event = sd_event_unref(fixture->event);
        return 0;
}

/* N bytes, all the same. */
static int fill(const void *what, int fd, sd_bus_error *error) {
        static char bytes[1 << 20];
        size_t n = *(const size_t *) what;

        memset(bytes, 'x', sizeof(bytes));
        for (size_t k; n > 0; n -= k) {
                k = n < sizeof(bytes) ? n : sizeof(bytes);
                assert_int_equal(write(fd, bytes, k), k);
        }
        return 0;
}

static int fill_nothing(const void *what, int fd, sd_bus_error *error) {
        return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "there is nothing");
}

static int lend(Fixture *fixture, uid_t uid, size_t n) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        int fd = loans_open(fixture->loans, uid, "test", fill, &n, &error);

        if (fd < 0)
                fail_msg("user %u: %s", (unsigned) uid, error.message);
        return fd;
}

static void lend_nothing(Fixture *fixture, uid_t uid, const char *says) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        size_t n = 1;

        assert_true(loans_open(fixture->loans, uid, "test", fill, &n, &error) < 0);
        assert_true(sd_bus_error_has_name(&error, SD_BUS_ERROR_LIMITS_EXCEEDED));
        if (!strstr(error.message, says))
                fail_msg("%s", error.message);
        sd_bus_error_free(&error);
}

static blkcnt_t blocks(int fd) {
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return st.st_blocks;
}

static void test_a_user_holds_only_so_much(void **state) {
        Fixture *fixture = *state;
        int fds[4];

        for (size_t i = 0; i < 4; i++)
                fds[i] = lend(fixture, 1000, LOAN_BYTES_OF_USER / 4);
        lend_nothing(fixture, 1000, "64 MiB, which user 1000 was given");

        close(lend(fixture, 1001, 1));
        close(fds[2]);
        close(lend(fixture, 1000, 1));
        fds[2] = lend(fixture, 1000, LOAN_BYTES_OF_USER / 4);
        lend_nothing(fixture, 1000, "close some");
        for (size_t i = 0; i < 4; i++)
                close(fds[i]);
}

static void test_small_ones_are_counted_too(void **state) {
        static int fds[LOANS_OF_USER];
        Fixture *fixture = *state;

        for (size_t i = 0; i < LOANS_OF_USER; i++)
                fds[i] = lend(fixture, 1000, 1);
        lend_nothing(fixture, 1000, "close some");
        for (size_t i = 0; i < LOANS_OF_USER; i++)
                close(fds[i]);
        close(lend(fixture, 1000, 1));
}

static void test_users_together_leave_the_administrator_something(void **state) {
        Fixture *fixture = *state;
        int fds[LOAN_BYTES_OF_USERS / LOAN_BYTES_OF_USER];

        for (size_t i = 0; i < ELEMENTS(fds); i++)
                fds[i] = lend(fixture, (uid_t) (1000 + i), LOAN_BYTES_OF_USER);
        lend_nothing(fixture, 2000, "other users");
        close(lend(fixture, 0, 1));
        for (size_t i = 0; i < ELEMENTS(fds); i++)
                close(fds[i]);
        close(lend(fixture, 2000, 1));
}

/* Whatever else than the descriptor keeps the pages is a holder like it. */
static void test_what_is_mapped_copied_or_on_its_way_is_held(void **state) {
        Fixture *fixture = *state;
        char control[CMSG_SPACE(sizeof(int))] = {}, byte = 'x';
        struct iovec iov = { &byte, 1 };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
        int fd = lend(fixture, 1000, LOAN_BYTES_OF_USER), again, pair[2];
        void *map;

        map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
        assert_true(map != MAP_FAILED);
        again = dup(fd);
        close(fd);
        lend_nothing(fixture, 1000, "close some");
        close(again);
        lend_nothing(fixture, 1000, "close some");
        assert_int_equal(*(char *) map, 'x');
        assert_int_equal(munmap(map, 4096), 0);

        fd = lend(fixture, 1000, LOAN_BYTES_OF_USER);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        *CMSG_FIRSTHDR(&message) = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &fd, sizeof(fd));
        assert_int_equal(sendmsg(pair[0], &message, 0), 1);
        close(fd);
        lend_nothing(fixture, 1000, "close some");
        close(pair[0]);
        close(pair[1]);
        close(lend(fixture, 1000, 1));
}

/* A descriptor that only names the file keeps its inode, and must not keep its pages. */
static void test_a_name_alone_keeps_no_pages(void **state) {
        Fixture *fixture = *state;
        int fd = lend(fixture, 1000, LOAN_BYTES_OF_USER), name;
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        name = open(path, O_PATH | O_CLOEXEC);
        assert_true(name >= 0);
        close(fd);
        assert_true(blocks(name) > 0);
        close(lend(fixture, 1000, 1));
        assert_int_equal(blocks(name), 0);
        close(name);
}

static void test_what_is_returned_goes_by_itself(void **state) {
        Fixture *fixture = *state;
        int fd = lend(fixture, 1000, 1 << 20), name;
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        name = open(path, O_PATH | O_CLOEXEC);
        close(fd);
        for (unsigned i = 0; i < 10 && blocks(name) > 0; i++)
                assert_true(sd_event_run(fixture->event, UINT64_C(2000000)) >= 0);
        assert_int_equal(blocks(name), 0);
        close(name);
}

static void test_a_reader_changes_nothing(void **state) {
        Fixture *fixture = *state;
        int fd = lend(fixture, 1000, 100);
        char bytes[200], path[64];
        struct stat st;

        assert_true(write(fd, "y", 1) < 0);
        assert_true(ftruncate(fd, 1) < 0);
        assert_true(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, S_IRUSR);
        assert_int_equal(read(fd, bytes, sizeof(bytes)), 100);

        /* The user that the daemon runs as can open it once more, and even so cannot change what others read. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int again = open(path, O_RDWR | O_CLOEXEC);
        if (again >= 0) {
                assert_true(pwrite(again, "y", 1, 0) < 0);
                assert_true(pwrite(again, "y", 1, 100) < 0);
                assert_true(fallocate(again, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 100) < 0);
                close(again);
        }
        close(fd);
}

static void test_what_cannot_be_made_is_no_loan(void **state) {
        sd_bus_error error = SD_BUS_ERROR_NULL;
        Fixture *fixture = *state;

        for (size_t i = 0; i < 2 * LOANS_OF_USER; i++) {
                assert_true(loans_open(fixture->loans, 1000, "test", fill_nothing, NULL, &error) < 0);
                assert_true(sd_bus_error_has_name(&error, SD_BUS_ERROR_FAILED));
                sd_bus_error_free(&error);
        }
}

/* As with fs.leases-enable=0, which is one switch for the whole machine. For this process and for ever. */
static void forbid_leases(void) {
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETLEASE, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { ELEMENTS(code), code };

        assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Nobody can tell what was closed: what was lent long ago is taken back, or nothing would be lent ever again. */
static void test_without_leases_time_tells(void **state) {
        Fixture *fixture = *state;
        char byte;
        int fd;

        forbid_leases();
        fd = lend(fixture, 1000, LOAN_BYTES_OF_USER);
        lend_nothing(fixture, 1000, "close some");
        ahead_sec = LOAN_UNTOLD_USEC / 1000000 - 5;
        lend_nothing(fixture, 1000, "close some");
        assert_int_equal(read(fd, &byte, 1), 1);
        ahead_sec = LOAN_UNTOLD_USEC / 1000000 + 1;
        close(lend(fixture, 1000, 1));
        assert_int_equal(read(fd, &byte, 1), 0);
        assert_int_equal(blocks(fd), 0);
        close(fd);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_user_holds_only_so_much, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_small_ones_are_counted_too, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_users_together_leave_the_administrator_something, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_is_mapped_copied_or_on_its_way_is_held, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_name_alone_keeps_no_pages, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_is_returned_goes_by_itself, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_reader_changes_nothing, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_cannot_be_made_is_no_loan, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_without_leases_time_tells, set_up, tear_down), /* the last */
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
