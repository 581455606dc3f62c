/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/deadline.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define NEAR_USEC 250000

static const char *last_words;
static size_t n_last_words;
static int last_status;

/* Wherever the program is: in a call to the bus, or in one to the file system. Only what a handler may do. */
static void on_time(int signal) {
        (void) !write(STDOUT_FILENO, last_words, n_last_words);
        _exit(last_status);
}

static int set_timer(double sec) {
        struct itimerval timer = { .it_value = { (time_t) sec, (suseconds_t) ((sec - (double) (time_t) sec) * 1e6) } };

        return setitimer(ITIMER_REAL, &timer, NULL) < 0 ? -errno : 0;
}

int deadline_set(double sec, const char *text, int status) {
        struct sigaction action = { .sa_handler = on_time };

        last_words = text;
        n_last_words = strlen(text);
        last_status = status;
        if (sigaction(SIGALRM, &action, NULL) < 0)
                return -errno;
        return set_timer(sec);
}

void deadline_clear(void) {
        (void) set_timer(0);
}

static struct timeval time_left(void) {
        struct itimerval left;

        return getitimer(ITIMER_REAL, &left) < 0 ? (struct timeval) {} : left.it_value;
}

bool deadline_is_set(void) {
        struct timeval left = time_left();

        return left.tv_sec > 0 || left.tv_usec > 0;
}

bool deadline_is_near(void) {
        return deadline_is_set() && time_left().tv_sec == 0 && time_left().tv_usec < NEAR_USEC;
}
