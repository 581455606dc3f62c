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

int timestamp_format(uint64_t usec, char ret[static TIMESTAMP_MAX]) {
        time_t sec = (time_t) (usec / 1000000);
        size_t n;
        struct tm tm;

        if (!gmtime_r(&sec, &tm))
                return -EINVAL;
        n = strftime(ret, TIMESTAMP_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
        (void) snprintf(ret + n, TIMESTAMP_MAX - n, ".%03uZ", (unsigned) (usec / 1000 % 1000));
        return 0;
}

void timestamp_print(Printer *printer, const char *key, uint64_t usec) {
        char text[TIMESTAMP_MAX];

        if (timestamp_format(usec, text) < 0)
                printer->error = -EINVAL;
        else
                printer_member(printer, key, text);
}
