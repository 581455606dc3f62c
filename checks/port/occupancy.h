/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Occupancy
 *
 * Whether a chip carries work: it says so itself (assay/occupied), or some of its rows hold live data (assay/hbm/in-use, see
 * wire.h). A chip that does not tell the first counts as occupied; one without the second does not tell of rows.
 */

#include "checks/port/device.h"

#define OCCUPANCY_PATHS ((const char *const[]) { "assay/occupied", "assay/hbm/in-use" })

typedef enum OccupancyPath {
        OCCUPANCY_OCCUPIED,
        OCCUPANCY_IN_USE,
        _OCCUPANCY_MAX,
} OccupancyPath;

/* Of what the two attributes read; "" where there is no such attribute. */
bool occupancy_carries_work(const char *occupied, const char *in_use);

/*
 * Asks CHIP now: 1 where it carries work, 0 where it does not, or the errors of device_attributes(); -EPROTO where one of the answers
 * is empty. Whoever writes into parts of
 * a chip asks before each write that he can: a job that began meanwhile is harmed by one of them at most.
 */
int occupancy_ask(Device *device, unsigned chip);

typedef struct OccupancyQuestion {
        Device *device;
        uint16_t chips; /* bit per chip */
} OccupancyQuestion;

/* Whether any of the chips of N questions carries work: 1 where one does, else the error of the first that does not tell, else 0. */
int occupancy_ask_any(const OccupancyQuestion *questions, size_t n);
