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
         * 1: there is more to do, after what waits. -EBADMSG with a sentence: what was brought is wrong; -EUCLEAN, and -EBADMSG without
         * one: what is in the log is, and then the log takes nothing more. In the writer's thread.
         */
        int (*run)(RecordLog *log, Errand *errand);
        const char *wrong; /* a sentence, where it failed */

        /* archiving: what ended before this, and the log has gone on for that long since; from FIRST to END, which is 0 until it is looked up */
        uint64_t before_usec, lived_usec, first, end;
        uint64_t n_pruned;
        size_t n; /* bytes of the text: a note with cosignatures, or the folder of archives */
        char text[];
};
