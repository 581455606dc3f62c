/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a verified record tells of the regions of one memory: which were tested, when, and what came of it.
 */

#include <jansson.h>
#include <stdint.h>

#include "daemon/record/record.h"

typedef struct Coverage {
        const RecordKnownRegions *known;
        uint64_t record;
        const char *where;          /* the chip */
        uint64_t usec[REGIONS_MAX]; /* when each was tested last, by CLOCK_REALTIME; 0: never */
        bool is_cleared;            /* a newer record, CLEARED_BY, has tested all of this memory at once: record_tests_all_regions() */
        uint64_t cleared_by;
} Coverage;

/* Calls EACH for every step that tells regions of STATEMENT, which is record RECORD of the chip WHERE; stops where it returns
 * something else than 0. -EBADMSG: what it tells is none. */
int coverage_read(const json_t *statement, const char *where, uint64_t record,
                  int (*each)(const Coverage *coverage, void *userdata), void *userdata);

/* The regions that failed when they were last tested, or of which reads have shown since that their part of the memory is broken; none where that is cleared. */
RegionSet coverage_failed(const Coverage *coverage);
/* When the oldest of what was tested was tested; 0: nothing was. */
uint64_t coverage_oldest(const Coverage *coverage);
/* "12 s", "7 min", "3.2 h", "2.5 d" before NOW; "-" for 0. */
char *coverage_age(uint64_t usec, uint64_t now_usec, char text[static 24]);
/* One object per region. */
json_t *coverage_json(const Coverage *coverage, uint64_t now_usec);
