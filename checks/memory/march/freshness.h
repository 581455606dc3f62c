/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchFreshness
 *
 * Whether reads return what was written last. A few accesses of every part are copied in, read back both ways, copied in
 * anew and written by a march; every content is a random number of its own, so an access that gives back an earlier one
 * exactly cannot be broken cells. Where half of the accesses of a part do, its reads are stale.
 */

#include "checks/memory/march/march.h"

/* Adds to PASS's outcomes: n_stale, stale_at. Uses its parts, geometry, box, ecc and seed. */
int march_freshness_run(MarchPass *pass, MemoryBatch *batch);

#define MARCH_FRESHNESS_PLACES 8u

/* The same for single accesses of one part, spread over BOX: how many of *ret_asked are stale. */
int march_freshness_ask(MarchPass *pass, MemoryBatch *batch, unsigned part, const WireBox *box, unsigned *ret_asked,
                        unsigned *ret_stale);
