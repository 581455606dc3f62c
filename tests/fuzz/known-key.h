/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Everyone's key, RFC 8032 section 7.1, test 1: targets sign with it what no forger could, so that fuzzing gets behind signatures. */

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "checks/cleanup.h"
#include "daemon/record/record.h"

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

static inline RecordKey *known_key(void) {
        static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                                  "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                                  "-----END PRIVATE KEY-----\n";
        _cleanup_close_ int fd = memfd_create("key", MFD_CLOEXEC);
        RecordKey *key;
        char path[64];

        HOLDS(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, pem, sizeof(pem) - 1) == (ssize_t) sizeof(pem) - 1);
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        HOLDS(record_key_load(path, &key) == 0);
        return key;
}
