/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tally
 *
 * What the stream of one worker amounts to: for each chip that was asked for, every step of the plan with
 * its verdict, measurements and findings, and at the end the records of each server. It grows with what the
 * plan and the limits below allow, whatever the worker says.
 *
 * A step on a server counts for each of its chips: failed where a finding lies in the chip; else what the
 * worker said when it was done with that part; else how the step ended. A finding in the chip of another
 * server of the same worker counts there. Steps of the plan that never reported are errors.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "checks/plan/plan.h"
#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"
#include "daemon/record/record.h"
#include "daemon/target.h"

/* A record must stay below RECORD_ENVELOPE_MAX; of each step at least the first finding is kept. */
#define TALLY_MEASUREMENTS_MAX 512 /* of one chip or server */
#define TALLY_FINDINGS_MAX     128

typedef struct Tally Tally;

/* Borrows PLAN. SELECTED says which chips of which servers count. */
int tally_new(const Plan *plan, const Selected *selected, size_t n_selected, Tally **ret);
Tally *tally_free(Tally *tally);
DEFINE_CLEANUP(Tally *, tally_free);

/*
 * Reads what LOG knows of the regions of every step of its chips, where the plan has a rotation. Once, before the worker
 * begins and while no other scan has the servers. What cannot be read is not known.
 */
void tally_read_rotations(Tally *tally, RecordLog *log);
/* What of that a worker is told: a list, NULL without memory. */
json_t *tally_rotations(const Tally *tally, uint64_t now_usec);

/* Takes one event. -EPROTO: a unit or step that nobody asked for, with *ret_wrong set to a static sentence.
 */
int tally_event(Tally *tally, const Event *event, const char **ret_wrong);

/* The worker is gone: the steps it had open end here. Calls EACH (may be NULL) with their ids before. */
void tally_lose(Tally *tally, Reason reason, const char *message,
                void (*each)(const char *step_id, bool required, void *userdata), void *userdata);

/* What has ended, for the worker that goes on: calls EACH with every id. */
void tally_done_steps(const Tally *tally, void (*each)(const char *step_id, void *userdata), void *userdata);

/* Nobody will report any more: why the rest could not be judged. The first reason stays. */
void tally_close(Tally *tally, Reason reason, const char *message);

bool tally_has_ended(const Tally *tally); /* the worker said so */
unsigned tally_progress(const Tally *tally, unsigned *ret_total); /* steps of chips that are settled */

/*
 * The facts of server INDEX (of SELECTED) as they stand now, with RUN. Strings and arrays are borrowed from
 * the tally; release with tally_record_done().
 */
int tally_record(const Tally *tally, size_t index, const RecordRun *run, RecordScan *ret);
void tally_record_done(RecordScan *scan);
/* The result of what was asked for. The server's own (scan->result) is INCONCLUSIVE where only some of its
 * chips were: a scan of one chip passes when the chip does, and still does not clear the server. */
Result tally_asked(const RecordScan *scan);
void tally_subject(const Tally *tally, size_t index, RecordSubject *ret);
