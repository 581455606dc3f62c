/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmLies
 *
 * What the device itself did wrong, told as findings: a plant that memory holds and the comparator does not report, an
 * answer that cannot be.
 */

#include "checks/memory/hbm/report/run.h"

int hbm_lies_tell(HbmRun *run, unsigned stack);
/* Judges wrong answers of the chip's ECC that no single stack explains. */
int hbm_lies_tell_chip(HbmRun *run);
