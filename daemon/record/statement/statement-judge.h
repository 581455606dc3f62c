/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statement, judged: whether a payload of any of our types agrees with itself. */

#include "daemon/record/statement/health-read.h"

/*
 * STATEMENT fits the schema of PREDICATE_TYPE. *RET: what it says where it is a verdict, else empty; it is to be released. *RET_JUDGEMENT: how it contradicts
 * itself. -ENOMEM.
 */
int statement_judge(json_t *statement, const char *predicate_type, Health *ret, Judgement *ret_judgement);
