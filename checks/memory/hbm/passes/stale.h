/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmStale
 *
 * What fails all over may be sound memory whose reads are late: a place that gives back exactly what it held before the last
 * write does not fail to hold data. Asked of every defect that fills a bank or more before it is told.
 */

#include "checks/memory/hbm/report/run.h"

/* Tells DEFECT as hbm-stale where half of the accesses asked are; returns whether it did. */
int hbm_stale_judge(HbmRun *run, const HbmDefect *defect);
