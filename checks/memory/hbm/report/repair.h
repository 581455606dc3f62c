/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmRepair
 *
 * Rows that a spare row would mend: how many spares their banks have left, asking for repairs, and the proof of those
 * that were done. A repair is asked for only where the plan says so (`repair: request`); it takes effect at the next reset, and
 * the row loses its data. A row that was seen to fail once and never again is not asked for.
 */

#include "checks/memory/hbm/report/run.h"

/* What a bank has left for a defect, after hbm_rows_gather(); NULL where no spare row mends it. */
const HbmRow *hbm_rows_find(const HbmRun *run, const HbmDefect *defect);

/* Gathers the rows of the run's defects, asks for their spares and, if the plan says so, for their repair. */
int hbm_rows_gather(HbmRun *run);
/* Rows that were repaired and fail, and banks with more of them than spares: findings. */
int hbm_rows_tell(HbmRun *run);
void hbm_rows_done(HbmRows *rows);

/* Where the plan asks for repairs or their proof: marches over each repaired row and its neighbours. */
int hbm_repairs_prove(HbmRun *run);
