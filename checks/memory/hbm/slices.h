/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmSlices
 *
 * A chip in service: the rows of each SID are cut into slices, of which a step tests as many as its seconds allow, from
 * where the last scan stopped, and none that carries live data. Each slice is treated as a small memory of its own
 * (memory_geometry_narrow()), so that no command reaches beyond it, whatever the diagnosis asks for. Whether its addresses do is
 * proven by reads before the first write, as long as any row of the chip carries live data (apart.h): what cannot be proven is left
 * alone and told. Rows beside live ones are not written.
 *
 * A slice cannot show faults of two rows that lie in different slices, decoders above all, unless its rows have lost by them
 * what they held; and what needs a stack without refresh. Reads turn over what the job's own reads turn over.
 */

#include "checks/memory/hbm/report/run.h"

/* The step from here on: RUN has its geometry and parts. 0 with *ret set, or could not judge. */
int hbm_slices_run(HbmRun *run, Verdict *ret);
