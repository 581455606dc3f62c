/* SPDX-License-Identifier: Apache-2.0 */

/* Loans: see loan.h. */

#include "daemon/bus-errors.h"
#include "daemon/loan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "daemon/authorize.h"
#include "daemon/clock.h"

#define SWEEP_USEC UINT64_C(1000000)

typedef struct Loan {
        LIST_ENTRY(Loan) entry;
        uid_t uid;
        uint64_t bytes, lent_usec;
        int fd;    /* for writing, as it was made */
        int probe; /* for reading, never passed on */
} Loan;

struct Loans {
        LIST_HEAD(, Loan) items;
        sd_event_source *timer;
};

/*
 * The pages go now, even if somebody still has a hold of the name alone (O_PATH), which is no reader: for this the file is not sealed against
 * shrinking, which only who may open it for writing could do, and its mode lets nobody.
 */
static Loan *loan_free(Loan *loan) {
        if (loan->fd >= 0)
                (void) !ftruncate(loan->fd, 0);
        (void) close_fd(loan->fd);
        (void) close_fd(loan->probe);
        free(loan);
        return NULL;
}

DEFINE_CLEANUP(Loan *, loan_free);

/*
 * A lease for writing is granted to the only one who has a file open, mapped or on its way through a socket; no receiver can feign that. Where
 * there are no leases (fs.leases-enable) nobody tells who has closed what: it is taken back when there was time enough to read it, for else a user
 * who has had so many would never be lent another.
 */
static bool is_returned(const Loan *loan) {
        if (fcntl(loan->probe, F_SETLEASE, F_WRLCK) < 0)
                return errno != EAGAIN && clock_usec(CLOCK_MONOTONIC) - loan->lent_usec >= LOAN_UNTOLD_USEC;
        (void) fcntl(loan->probe, F_SETLEASE, F_UNLCK);
        return true;
}

static void sweep(Loans *loans) {
        Loan *next;

        for (Loan *loan = LIST_FIRST(&loans->items); loan; loan = next) {
                next = LIST_NEXT(loan, entry);
                if (!is_returned(loan))
                        continue;
                LIST_REMOVE(loan, entry);
                (void) loan_free(loan);
        }
}

static int sweep_again(Loans *loans) {
        int r;

        if (LIST_EMPTY(&loans->items))
                return 0;
        r = sd_event_source_set_time_relative(loans->timer, SWEEP_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(loans->timer, SD_EVENT_ONESHOT);
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        sweep(userdata);
        return sweep_again(userdata);
}

int loans_new(sd_event *event, Loans **ret) {
        _cleanup_(loans_freep) Loans *loans = calloc(1, sizeof(*loans));
        int r;

        if (!loans)
                return -ENOMEM;
        LIST_INIT(&loans->items);
        r = sd_event_add_time_relative(event, &loans->timer, CLOCK_MONOTONIC, 0, SWEEP_USEC / 4, on_time, loans);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(loans);
        return 0;
}

Loans *loans_free(Loans *loans) {
        Loan *loan;

        if (!loans)
                return NULL;
        while ((loan = LIST_FIRST(&loans->items))) {
                LIST_REMOVE(loan, entry);
                loan->fd = close_fd(loan->fd); /* who holds it may read on */
                (void) loan_free(loan);
        }
        sd_event_source_disable_unref(loans->timer);
        free(loans);
        return NULL;
}

static int check(const Loans *loans, uid_t uid, sd_bus_error *error) {
        uint64_t of_user = 0, of_users = 0;
        const Loan *loan;

        LIST_FOREACH(loan, &loans->items, entry) {
                if (loan->uid == uid)
                        of_user += loan->bytes;
                if (loan->uid != 0)
                        of_users += loan->bytes;
        }
        if (of_user >= LOAN_BYTES_OF_USER)
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Files of %u MiB, which user %u was given, are still open: close some first",
                                     (unsigned) (of_user >> 20), (unsigned) uid);
        if (uid != 0 && of_users >= LOAN_BYTES_OF_USERS)
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "Files of %u MiB, which other users were given, are still open: try again later",
                                     (unsigned) (of_users >> 20));
        return 0;
}

/* A descriptor that is passed on shares its offset: the second reader would find the end. */
static int open_again(int fd) {
        char path[64];
        int again;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        again = open(path, O_RDONLY | O_CLOEXEC);
        return again < 0 ? -errno : again;
}

/* Whoever opens the file while the lease is held would end the process by SIGIO. */
static int seal(Loan *loan) {
        struct stat st;

        if (fchmod(loan->fd, S_IRUSR) < 0 || fcntl(loan->fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 || fstat(loan->fd, &st) < 0)
                return -errno;
        loan->bytes = (uint64_t) st.st_size > LOAN_BYTES_LEAST ? (uint64_t) st.st_size : LOAN_BYTES_LEAST;
        loan->probe = open_again(loan->fd);
        if (loan->probe < 0)
                return loan->probe;
        return fcntl(loan->probe, F_SETSIG, SIGURG) < 0 ? -errno : 0;
}

static int failed(sd_bus_error *error, int r) {
        return sd_bus_error_set_errnof(error, r, "Failed to make a file for the answer: %s", strerror(-r));
}

int loans_open(Loans *loans, uid_t uid, const char *name, LoanFill fill, const void *what, sd_bus_error *error) {
        _cleanup_(loan_freep) Loan *loan = NULL;
        int fd, r;

        sweep(loans);
        r = check(loans, uid, error);
        if (r < 0)
                return r;

        loan = malloc(sizeof(*loan));
        if (!loan)
                return failed(error, -ENOMEM);
        *loan = (Loan) { .uid = uid, .lent_usec = clock_usec(CLOCK_MONOTONIC), .fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), .probe = -EBADF };
        if (loan->fd < 0)
                return failed(error, -errno);
        r = fill(what, loan->fd, error);
        if (r < 0)
                return r;
        r = seal(loan);
        if (r < 0)
                return failed(error, r);

        fd = open_again(loan->fd);
        if (fd < 0)
                return failed(error, fd);
        LIST_INSERT_HEAD(&loans->items, loan, entry);
        loan = NULL;
        (void) sweep_again(loans); /* else it is swept with the next one */
        return fd;
}

int loans_reply(Loans *loans, const Authority *authority, sd_bus_message *message, const char *name, LoanFill fill, const void *what, sd_bus_error *error) {
        _cleanup_close_ int fd = -EBADF;
        uid_t uid;
        int r;

        r = authorize_sender_uid(authority, message, &uid);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to learn who asks: %s", strerror(-r));
        fd = loans_open(loans, uid, name, fill, what, error);
        return fd < 0 ? fd : sd_bus_reply_method_return(message, "h", fd);
}
