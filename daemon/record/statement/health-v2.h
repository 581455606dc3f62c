/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Health, version 2
 *
 * A chip's record in a third of the bytes: what follows from the rest is not told, and what the chip shares with its server stands in the roll-up alone
 * (scanner, clock, seeds, worker, the stream's digest, the digest of the plan's limits). The verdict follows from this record alone, as ever.
 *
 *   "steps": { NAME: { "check"?, "result", "status"?, "required"?, "ms": [BEGIN, END]?, "reason"?, "message"?, "open"?, "regions"?,
 *                      "counted": { … }?, "measured": { … }?, "errors"?, "diagnoses"? }, … }
 *   "coverage": { MEASUREMENT: [REACHED, PROMISED], … }?
 *
 * Steps stand in their order. `check` is told where the step is called otherwise, `status` where it is not COMPLETE, `required` where it is false. `ms` are
 * milliseconds since run.startedOn. `open` names the promises that a step which was not tested could have kept.
 *
 * `counted` is what tells how much was tested, `measured` all else. A name stands without its check's word and '_' where it begins with it; else behind '/'.
 * Each has one ENTRY, or several as { "each": [ENTRY, …] }. An ENTRY is a number without unit and limit; or a list, in this order:
 *
 *   VALUE, or a list of values of alike parts; UNIT, where it is not the usual one; RELATION and LIMIT; "of" and PROMISE; PARTS
 *
 * RELATION is ==, <= or >=. A unit is not told where it is the usual one: in braces, "{error}", where checks/vocabulary/measurements.h has that for the name, else 1. PARTS is an object: { "min": 8 } says which statistic of how
 * many values this is, "at" lists the parts, below the subject, that the values are of: "hbm0-3" is four of them, "." the subject itself. One value at
 * several parts is the value of each.
 *
 *   "telemetry": { "result": "PASSED", "ms": [90, 161], "measured": {
 *       "hbm_corrected": [[3, 0, 1, 2], "<=", 100, {"at": ["hbm0-3"]}], "temperature": [58.9, "Cel", "<=", 95] } }
 *
 * A count that a step promised to the plan and measured is "of" that promise; reached of it is the largest value of a judged step, of the chip itself.
 * `coverage` holds only promises of which that is not so. Diagnoses, errors and regions are as in version 1.
 */

#include <jansson.h>

#include "daemon/record/encode/printer.h"
#include "daemon/record/record.h"
#include "daemon/record/statement/schema.h"

/* The unit of measurement NAME of CHECK where none is told. */
const char *health_v2_unit(const char *check, const char *name);

/* From `status` to `coverage`. */
void health_v2_print(Printer *printer, const RecordRun *run, const RecordHealth *health);

/*
 * STATEMENT, which fits the schema of version 2, in the members of version 1 but for what it does not tell; *RET is a new reference. -EBADMSG, and *WRONG says why: then it is no such
 * record; -ENOMEM.
 */
int health_v2_expand(const json_t *statement, json_t **ret, SchemaWrong *wrong);
