/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Everyone's key, RFC 8032 section 7.1, test 1: targets sign with it what no forger could, so that fuzzing gets behind signatures. */

#include <stdlib.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
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
        char path[] = "/tmp/known-key-XXXXXX"; /* a key is a file with a name of its own */
        _cleanup_close_ int fd = mkstemp(path);
        RecordKey *key;

        HOLDS(fd >= 0 && write(fd, pem, sizeof(pem) - 1) == (ssize_t) sizeof(pem) - 1);
        HOLDS(record_key_load(path, &key) == 0);
        HOLDS(unlink(path) == 0);
        return key;
}
