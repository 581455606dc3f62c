/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collectives on the chips of one server, see checks/wire/wire-collective.h. Ranks on other servers are posted and waited for through
 * their devices: post all before the first is waited for. What became of each rank:
 *
 *     0            posted; or done, with its output
 *     -ETIME       its collective did not come to its end, its status tells how far it was
 *     -ETIMEDOUT   its chip does not answer
 *     -EPROTO      it answered what no chip may say
 *     -EREMOTEIO   anything else
 *
 * The calls themselves fail only where the device port does.
 */

#include "checks/port/device.h"

typedef struct CollectiveRank {
        uint8_t chip;
        WireCollectivePost post;
        WireCollectiveRing rings[COLLECTIVE_RINGS_MAX];
        const uint8_t *input; /* n_input bytes */
        uint32_t n_input;
        uint8_t *output;      /* n_output bytes, written where it was done */
        uint32_t n_output;
        WireCollectiveStatus status; /* all zero unless it was done or is -ETIME */
        int error;
} CollectiveRank;

int device_collective_post(Device *device, CollectiveRank *ranks, size_t n);
/* Of those without an error so far. */
int device_collective_wait(Device *device, CollectiveRank *ranks, size_t n, uint64_t timeout_nsec);
