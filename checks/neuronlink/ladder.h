/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the loopbacks of ladder.c and near-loops.c have in common: turns of one stage, at both ends of each port of server 0 with Ladder.again. */

#include "checks/neuronlink/fabric.h"

#define BITS_LEAST      1e6 /* of a loop */
#define LADDER_TURNS    10u /* of all stages; the near loops have the turns from there on */

/* Own ends first, then the far ends, server by server, in RUN and, each with the port that wants it, in OWNERS (RUN_MAX). Returns how many of the
 * first there are. NUMBER: see run_add(). */
size_t ladder_gather(Fabric *fabric, Run *run, unsigned number, PortId *owners);
/* Loops all these back in STAGE: Ladder.now and Ladder.refused. */
int ladder_stage(Fabric *fabric, Run *run, PortId *owners, unsigned turn, WireLoopback stage);

/* ---- near-loops.c ---- */

/* The near loops of both ends of each port with Ladder.whole; what does not hear itself is Port.broken. */
int ladder_loop_near(Fabric *fabric, Run *run, PortId *owners);
