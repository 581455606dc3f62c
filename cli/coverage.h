/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a verified record tells of the regions of one memory: which were tested, when, and what came of it.
 */

#include <jansson.h>
#include <stdint.h>

#include "checks/cleanup.h"
#include "checks/regions.h"

typedef struct Coverage {
        char where[96];       /* the chip */
        char step[64];
        uint64_t record;
        Partition partition;
        unsigned position;
        RegionSet failed, occupied, tested;
        uint64_t usec[REGIONS_MAX]; /* when each was tested last, by CLOCK_REALTIME; 0: never */
} Coverage;

/* Calls EACH for every step of a health statement that tells regions; stops where it returns something else than 0. -EBADMSG: what
 * it tells is none. */
int coverage_read(const json_t *statement, int (*each)(const Coverage *coverage, void *userdata), void *userdata);

/* When the oldest of what was tested was tested; 0: nothing was. */
uint64_t coverage_oldest(const Coverage *coverage);
/* "12 s", "7 min", "3.2 h", "2.5 d" before NOW; "-" for 0. */
char *coverage_age(uint64_t usec, uint64_t now_usec, char text[static 24]);
/* One object per region. */
json_t *coverage_json(const Coverage *coverage, uint64_t now_usec);
