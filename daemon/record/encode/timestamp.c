/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

int timestamp_parse(const char *text, uint64_t *ret_usec) {
        struct tm tm = {}, given;
        const char *rest;
        uint64_t usec = 0, unit = 100000;
        time_t sec;

        rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
        if (!rest)
                return -EINVAL;
        given = tm;
        sec = timegm(&tm);
        if (sec < 0 || tm.tm_mday != given.tm_mday || tm.tm_mon != given.tm_mon)
                return -EINVAL;
        if (*rest == '.')
                for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
                        usec += (uint64_t) (*rest - '0') * unit;
        *ret_usec = (uint64_t) sec * 1000000 + usec;
        return 0;
}

void timestamp_print(Printer *printer, const char *key, uint64_t usec) {
        time_t sec = (time_t) (usec / 1000000);
        char text[48], whole[32];
        struct tm tm;

        if (!gmtime_r(&sec, &tm)) {
                printer->error = -EINVAL;
                return;
        }
        (void) strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &tm);
        (void) snprintf(text, sizeof(text), "%s.%03uZ", whole, (unsigned) (usec / 1000 % 1000));
        printer_member(printer, key, text);
}
