/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Frame faults: ports that hand out frames which nobody sent, or not now, or not there. */

#include "sim/chip/model.h"

typedef struct Link Link; /* sim/links/link.h */
typedef struct Frame Frame;

/* What such a port keeps of the past; made when it is needed. */
typedef struct FrameMemory FrameMemory;

extern const FaultKind frame_kinds[];

/* LINK sends what is in EXECUTION. -ENOMEM. */
int frame_faults_send(Link *link, const Execution *execution);
/* What LINK hands out in place of *frame, which is the next in its queue or NULL; NULL: nothing. -ENOMEM. */
int frame_faults_receive(Link *link, const Execution *execution, const Frame **frame);
