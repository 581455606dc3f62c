/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmTrespass
 *
 * Counts changes of a job's live data by commands, by cells and not by the addresses that a command names: decoders and
 * stuck address lines lead elsewhere. A cell is live where it lies in rows in use and where an address in use leads to it.
 */

#include "sim/hbm/hbm.h"

/* After a command that wrote all of BOX, with the faults that acted in it: counts each access with live data once. -ENOMEM. */
int hbm_trespass_write(Hbm *hbm, const WireBox *box);
/* Counts a cell that operations on others turned over, where it is live. */
void hbm_trespass_flip(void *userdata, const Memory *memory, uint32_t linear);
