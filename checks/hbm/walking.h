/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmWalking
 *
 * Patterns for the wires between chip and cells: in one bank of every stack ID of every pseudo-channel, accesses that hold
 * one 1 each, at every place of lane and beat, then one 0 each, then all lanes that change at every beat, copied in
 * and out and compared here.
 */

#include "checks/hbm/run.h"

double hbm_walking_sec(const HbmRun *run);
/* Runs the current pass. FOUND as of a MarchPass. */
int hbm_walking_run(HbmRun *run, int (*found)(const MarchMismatch *mismatch, void *userdata));
