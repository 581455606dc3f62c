/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Records know this of memories that scans test region by region. A part of record.h. */

#include "daemon/record/record.h"

#define RECORD_RUN_BYTES    37

/* Regions that were last tested in one scan. */
typedef struct RecordKnownTest {
        uint64_t usec; /* when it ended, CLOCK_REALTIME */
        char run[RECORD_RUN_BYTES];
        RegionSet regions;
} RecordKnownTest;

typedef struct RecordKnownRegions {
        char serial[RECORD_SERIAL_BYTES]; /* of the chip; "": it has none that a record may have */
        char step[64];
        Partition partition;
        unsigned position;    /* where the next scan begins */
        uint64_t since_usec;  /* the first scan of them */
        RegionSet occupied, failed, tested, unproven, altered, suspicious, joined, together;
        char because[REGIONS_REASON_MAX];
        size_t n_tests;
        RecordKnownTest tests[REGIONS_MAX]; /* disjoint, none empty; together `tested`, which has all of `failed` */
} RecordKnownRegions;

struct json_t;
/* What STATEMENT, the payload of a verified record, knows of the INDEX-th of its steps that tell regions; free() it. -ENOENT:
 * there are no more; -EBADMSG: what it tells cannot be; -ENOMEM. */
int record_regions_read(const struct json_t *statement, size_t index, RecordKnownRegions **ret);
