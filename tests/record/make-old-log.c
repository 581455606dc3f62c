/* SPDX-License-Identifier: Apache-2.0 */

/*
 * make-old-log FOLDER ORIGIN: the log of a station that has been up for sixty hours, of another boot: in the first thirty of them a server was scanned each
 * hour, 18 records, and it has beaten each hour up to now. Leaves there records.db with its anchor, record.pem and log.pem.
 */

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/record/place.h"
#include "tests/record/server.h"

#define HOURS 60
#define SCANS 30

static int64_t ahead_sec; /* of what clocks say here */

/* The clocks of that station, and its boot, in the place of libc's. */
int clock_gettime(clockid_t clock, struct timespec *ret) {
        int r = (int) syscall(SYS_clock_gettime, clock, ret);

        if (clock == CLOCK_REALTIME)
                ret->tv_sec += ahead_sec;
        if (clock == CLOCK_BOOTTIME)
                ret->tv_sec += ahead_sec + HOURS * 3600;
        return r;
}

int open(const char *path, int flags, ...) {
        static const char boot[] = "01234567-89ab-cdef-0123-456789abcdef\n";
        va_list arguments;
        mode_t mode;
        int fd;

        va_start(arguments, flags);
        mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
        va_end(arguments);
        if (strcmp(path, "/proc/sys/kernel/random/boot_id") != 0)
                return (int) syscall(SYS_open, path, flags, mode);
        fd = memfd_create("boot", MFD_CLOEXEC);
        if (write(fd, boot, strlen(boot)) < 0)
                return -1;
        (void) lseek(fd, 0, SEEK_SET);
        return fd;
}

static void scan(Server *server, RecordLog *log, unsigned i) {
        RecordRun *run = &server->scan.run;
        struct timespec now;
        char challenge[16];

        (void) clock_gettime(CLOCK_REALTIME, &now);
        (void) snprintf(server->run, sizeof(server->run), "01934a6e-5e00-7000-8000-%012u", i);
        (void) snprintf(challenge, sizeof(challenge), "%08u", i);
        run->challenge = challenge;
        run->started_usec = run->finished_usec = (uint64_t) now.tv_sec * 1000000;
        (void) server_start(server, log);
        (void) server_scan(server, log);
}

int main(int argc, char *argv[]) {
        RecordLogOptions options = { .producer = PLACE_PRODUCER, .version = "0.1.0" };
        char anchor[160];
        RecordLog *log;
        Server server;
        Place place;

        if (argc != 3)
                return 64;
        (void) snprintf(place.folder, sizeof(place.folder), "%.63s", argv[1]);
        (void) snprintf(place.log, sizeof(place.log), "%.63s/records.db", argv[1]);
        (void) snprintf(anchor, sizeof(anchor), "%s.anchor", place.log);
        options.path = place.log;
        options.origin = argv[2];
        options.anchor = anchor;
        options.key = place_key(&place, "record.pem", RECORD_ED25519);
        options.log_key = place_key(&place, "log.pem", RECORD_ED25519);
        server_init(&server);
        ahead_sec = -HOURS * 3600;
        if (record_log_open(&options, &log, NULL) < 0)
                return 1;
        for (unsigned i = 0; i < HOURS; i++, ahead_sec += 3600) {
                if (i < SCANS)
                        scan(&server, log, i);
                if (record_log_heartbeat(log, i == 0 ? RECORD_HEARTBEAT_START : RECORD_HEARTBEAT_INTERVAL, 1) < 0)
                        return 1;
                (void) place_take(log);
        }
        (void) record_log_free(log);
        return 0;
}
