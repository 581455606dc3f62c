/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Aggressor
 *
 * Finds the aggressor of a cell that fails in every replay over examination->region: another access, found by replays over halves of
 * it, and then with stripes of data until its bit is known; or a bit of its own access, which stripes tell. Where neither is found the
 * aggressor stays unknown.
 */

#include "checks/memory/hbm/diagnose/examination.h"

/* Of a cell that does not fail alike alone: its partner, and the partner's bit. 0, or could not judge. */
int hbm_aggressor_name(HbmExamination *x);
/* Of one that does: the bit of its access. 0, or could not judge. */
int hbm_aggressor_name_bit(HbmExamination *x);
