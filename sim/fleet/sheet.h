/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sheet
 *
 * The steps of each part as a stream tells them, and the result that follows for a part: by the folds of verdict.h, which the
 * daemon signs by. So the scorer cannot come to another result than the signer. The plan itself is not needed: its steps
 * are those that the stream names anywhere, its promises stand at the beginning of the stream.
 */

#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"

#define SHEET_STEPS_MAX 64u

typedef struct Sheet Sheet;

int sheet_new(Sheet **ret);
Sheet *sheet_free(Sheet *sheet);
DEFINE_CLEANUP(Sheet *, sheet_free);

/*
 * Takes one event. Returns 0; -EPROTO where it is of a part that no list of hardware has, or tells a part twice; -E2BIG where there
 * are more than SHEET_STEPS_MAX steps; -ENOMEM.
 */
int sheet_event(Sheet *sheet, const Event *event);

/* Of a chip its own; of a server the worst of its chips and of what was found in none of them. INCONCLUSIVE: the sheet has no such part. */
Result sheet_result(const Sheet *sheet, const Location *at);
