/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Draft check
 *
 * Whether facts may be signed: they fit the schema of what is printed from them, and the judge who will read them agrees.
 */

#include "daemon/record/statement/judge.h"

bool draft_check_run(const RecordRun *run, Judgement *ret);
bool draft_check_scan(const RecordScan *scan, Judgement *ret);
