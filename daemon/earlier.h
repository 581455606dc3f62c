/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Earlier
 *
 * The records of a chip that a new one of it refers to: the newest, and the failure that stood until now. So who has a chip that was returned finds what was
 * found of it before, and who has the failure finds the record that proves the repair.
 */

#include "daemon/record/record.h"

/* Fills CHIP's earlier and standing. What cannot be read, or is of another chip that sat in the same place, is not told. */
void earlier_read(RecordLog *log, RecordHealth *chip);
