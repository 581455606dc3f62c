/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmWalking
 *
 * Patterns for the wires between chip and cells, copied in and out and compared here: a 1 that walks through zeros and a 0 through
 * ones, and all lanes that change at every beat. In one bank of every pseudo-channel it goes to every lane at every beat, in
 * one bank of its other stack IDs to every lane.
 */

#include "checks/memory/hbm/report/run.h"

double hbm_walking_sec(const HbmRun *run);
/* Runs the current pass. FOUND as of a MarchPass. */
int hbm_walking_run(HbmRun *run, int (*found)(const MarchMismatch *mismatch, void *userdata));
