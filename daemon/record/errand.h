/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Errand
 *
 * What the writer does between records: it goes through the queue as they do, as a group without drafts, and its outcome comes back likewise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RecordLog RecordLog;
typedef struct Errand Errand;

struct Errand {
        /*
         * 1: there is more to do, after what waits. -EBADMSG with a sentence: what was brought is wrong; -EUCLEAN, and -EBADMSG without one: what is in
         * the log is, and then the log takes nothing more. In the writer's thread.
         */
        int (*run)(RecordLog *log, Errand *errand);
        const char *wrong; /* a sentence, where it failed */

        uint64_t first, before_usec, n_pruned; /* pruning: from here on, what is older than this; how many were */
        size_t n; /* cosignatures: a note */
        char note[];
};
