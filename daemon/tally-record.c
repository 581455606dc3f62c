/* SPDX-License-Identifier: Apache-2.0 */

/* Tally: see tally.h. This half judges and makes the records' facts. */

#include "daemon/tally-parts.h"

/* What never reported, and why. */
static void tell_missing(const Tally *tally, RecordStep *ret) {
        ret->reason = tally->reason;
        ret->message = tally->message;
}

/* A step on the server, as it counts for one of its chips. */
static void tell_part(const Tally *tally, const TallyStep *on_server, const TallyStep *on_chip,
                       RecordStep *ret) {
        if (on_server->state != TALLY_ENDED && !on_chip->has_part) {
                tell_missing(tally, ret);
                return;
        }

        ret->seed = on_server->seed;
        ret->device_nsec = on_server->device_nsec;
        ret->began_usec = on_server->began_usec;
        ret->ended_usec = on_server->ended_usec;
        if (ret->verdict == VERDICT_SKIPPED || ret->verdict == VERDICT_ERROR) {
                ret->message = on_server->message;
                ret->reason = reason_fits(on_chip->part_reason, ret->verdict) ? on_chip->part_reason :
                              reason_fits(on_server->reason, ret->verdict)    ? on_server->reason :
                              ret->verdict == VERDICT_SKIPPED                 ? REASON_OCCUPIED :
                                                                                REASON_DEVICE_ERROR;
        }

        /* A failure that nobody located counts for every chip that was not cleared, and shows there, with what it follows from. */
        if (!on_chip->has_part && ret->verdict == VERDICT_FAILED && on_chip->n_findings == 0) {
                ret->n_diagnoses = on_server->n_findings;
                ret->diagnoses = on_server->findings;
                if (on_chip->n_measurements == 0) {
                        ret->n_measurements = on_server->n_measurements;
                        ret->measurements = on_server->measurements;
                }
        }
}

static void tell_own(const TallyStep *step, RecordStep *ret) {
        ret->reason = step->reason;
        ret->message = step->message;
        ret->seed = step->seed;
        ret->device_nsec = step->device_nsec;
        ret->began_usec = step->began_usec;
        ret->ended_usec = step->ended_usec;
}

/* Where evidence outweighs what the worker concluded, its reason does not hold any more. */
static void tell_evidence(const TallyStep *step, RecordStep *ret) {
        if (verdict_is_judged(ret->verdict))
                ret->reason = REASON_NONE;
        else if (!reason_fits(ret->reason, ret->verdict) && step->beyond) {
                ret->reason = REASON_PROTOCOL;
                ret->message = "a value lies beyond its limit and nothing was found";
        }
}

/* No record says that a step passed which measured too little, or another thing than it must: it would cost the whole server its verdicts. */
static void doubt_step(const Location *chip, RecordStep *step) {
        if ((step->verdict != VERDICT_PASSED && step->verdict != VERDICT_WARNED) || record_step_agrees(step, chip))
                return;
        step->verdict = VERDICT_ERROR;
        step->reason = REASON_PROTOCOL;
        step->message = "its values and their limits do not show that it passed";
}

static StepSaid said_of(const TallyStep *step) {
        return (StepSaid) {
                .begun = step->state != TALLY_UNSEEN,
                .ended = step->state == TALLY_ENDED,
                .verdict = step->verdict,
                .has_part = step->has_part,
                .part = step->part,
                .found = step->found,
                .beyond = step->beyond,
                .failed_elsewhere = step->failed_elsewhere,
        };
}

static void judge_step(const Tally *tally, const TallyServer *server, const TallyUnit *unit, size_t index,
                       RecordStep *ret) {
        const TallyStep *own = &unit->steps[index], *on_server = &server->self.steps[index];
        const PlanStep *planned = &tally->plan->steps[index];
        StepSaid said = said_of(own), server_said = said_of(on_server);

        *ret = (RecordStep) {
                .name = planned->name,
                .check = planned->check->name,
                .required = planned->required,
                .counts = planned->check->counts,
                .samples = planned->check->samples,
                .verdict = verdict_of_step(&said, &server_said),
                .n_measurements = own->n_measurements,
                .measurements = own->measurements,
                .n_diagnoses = own->n_findings,
                .diagnoses = own->findings,
        };

        if (own->state == TALLY_ENDED)
                tell_own(own, ret);
        else if (own->state == TALLY_UNSEEN && (on_server->state != TALLY_UNSEEN || own->has_part))
                tell_part(tally, on_server, own, ret);
        else
                tell_missing(tally, ret);

        tell_evidence(own, ret);
}

static Result judge_chip(const Tally *tally, const TallyUnit *chip, RecordStep *steps,
                         RecordPromise *promises) {
        Fold fold = {};

        for (size_t i = 0; i < tally->plan->n_steps; i++)
                fold_step(&fold, steps[i].verdict, steps[i].required);

        for (size_t p = 0; p < tally->plan->n_promises; p++) {
                double reached = 0;

                for (size_t i = 0; i < tally->plan->n_steps; i++)
                        if (chip->steps[i].reached && verdict_is_judged(steps[i].verdict) &&
                            chip->steps[i].reached[p] > reached)
                                reached = chip->steps[i].reached[p];

                promises[p] = (RecordPromise) {
                        .measurement = tally->plan->promises[p].measurement,
                        .reached = reached,
                        .promised = tally->plan->promises[p].value,
                };
                fold_coverage(&fold, reached, promises[p].promised);
        }

        return fold_result(&fold);
}

static const char *or_empty(const char *text) {
        return text ? text : "";
}

static void unit_subject(const TallyUnit *unit, const char *product, RecordSubject *ret) {
        *ret = (RecordSubject) {
                .where = unit->where,
                .serial = or_empty(unit->serial),
                .product = product,
                .part_number = or_empty(unit->part_number),
                .firmware = or_empty(unit->firmware),
                .firmware_build = or_empty(unit->firmware_build),
                .tray = or_empty(unit->tray),
                .pci_address = or_empty(unit->pci_address),
                .particulars = unit->particulars,
        };
}

void tally_subject(const Tally *tally, size_t index, RecordSubject *ret) {
        unit_subject(&tally->servers[index].self, tally->servers[index].target->config->model, ret);
}

/* A server is as bad as its worst chip and as what lies in none of them; and a scan of some chips cannot clear it. */
static Result judge_server(const Tally *tally, const TallyServer *server, const RecordScan *scan) {
        Result result = scan->n_chips < TARGET_CHIPS ? RESULT_INCONCLUSIVE : RESULT_PASSED;

        for (size_t c = 0; c < scan->n_chips; c++)
                result = result_worst(result, scan->chips[c].result);

        for (size_t i = 0; i < tally->plan->n_steps; i++) {
                StepSaid said = said_of(&server->self.steps[i]);

                result = result_worst(result, result_of_server_step(&said));
        }

        return result_worst(result, record_own_result(scan));
}

/* A memory that nobody came to is told as it was, by the record before: this one says nothing of it. */
static int record_regions(const TallyUnit *unit, const RecordRun *run, size_t n_steps, RecordStep *steps) {
        bool any = false;

        for (size_t i = 0; i < n_steps; i++)
                any = any || unit->steps[i].regions;
        for (size_t i = 0; any && i < n_steps; i++) {
                RecordRegions *regions;
                int r;

                r = rotation_facts(unit->steps[i].before, unit->steps[i].regions, unit->serial, run, &regions);
                if (r < 0)
                        return r;
                steps[i].regions = regions;
        }
        return 0;
}

static int record_chip(const Tally *tally, const TallyServer *server, const TallyUnit *unit,
                       const RecordSubject *host, const RecordRun *run, RecordHealth *ret) {
        RecordStep *steps;
        RecordPromise *promises;
        int r;

        steps = calloc(tally->plan->n_steps, sizeof(*steps));
        promises = calloc(tally->plan->n_promises + 1, sizeof(*promises));
        *ret = (RecordHealth) {
                .host = *host,
                .n_steps = tally->plan->n_steps,
                .steps = steps,
                .n_promises = tally->plan->n_promises,
                .promises = promises,
        };
        if (!steps || !promises)
                return -ENOMEM;

        unit_subject(unit, TARGET_CHIP_MODEL, &ret->subject);
        for (size_t i = 0; i < tally->plan->n_steps; i++)
                judge_step(tally, server, unit, i, &steps[i]);
        r = record_regions(unit, run, tally->plan->n_steps, steps);
        for (size_t i = 0; i < tally->plan->n_steps; i++)
                doubt_step(&unit->where, &steps[i]);

        ret->result = judge_chip(tally, unit, steps, promises);
        return r;
}

/* What steps on the server measured and found that lies in none of its chips. The texts stay the tally's. */
static int record_server(const Tally *tally, const TallyServer *server, RecordScan *scan) {
        RecordStep *steps = calloc(tally->plan->n_steps, sizeof(*steps));

        if (!steps)
                return -ENOMEM;
        scan->steps = steps;
        for (; scan->n_steps < tally->plan->n_steps; scan->n_steps++)
                judge_step(tally, server, &server->self, scan->n_steps, &steps[scan->n_steps]);
        return 0;
}

int tally_record(const Tally *tally, size_t index, const RecordRun *run, RecordScan *ret) {
        const TallyServer *server = &tally->servers[index];
        RecordScan scan = { .run = *run };
        RecordHealth *chips;
        int r = 0;

        chips = calloc(TARGET_CHIPS, sizeof(*chips));
        if (!chips)
                return -ENOMEM;

        scan.chips = chips;
        scan.n_chips_of_server = TARGET_CHIPS;
        tally_subject(tally, index, &scan.server);
        for (unsigned c = 0; c < TARGET_CHIPS && r >= 0; c++)
                if (server->chips[c].wanted)
                        r = record_chip(tally, server, &server->chips[c], &scan.server, run,
                                        &chips[scan.n_chips++]);
        if (r >= 0)
                r = record_server(tally, server, &scan);
        if (r < 0) {
                tally_record_done(&scan);
                return r;
        }

        scan.result = judge_server(tally, server, &scan);
        *ret = scan;
        return 0;
}

Result tally_asked(const RecordScan *scan) {
        Result result = scan->n_chips > 0 ? RESULT_PASSED : RESULT_INCONCLUSIVE;

        for (size_t c = 0; c < scan->n_chips; c++)
                result = result_worst(result, scan->chips[c].result);

        return scan->result == RESULT_INCONCLUSIVE ? result : result_worst(result, scan->result);
}

void tally_record_done(RecordScan *scan) {
        for (size_t c = 0; c < scan->n_chips; c++) {
                for (size_t i = 0; scan->chips[c].steps && i < scan->chips[c].n_steps; i++)
                        rotation_facts_free((RecordRegions *) scan->chips[c].steps[i].regions);
                free((RecordStep *) scan->chips[c].steps);
                free((RecordPromise *) scan->chips[c].promises);
        }
        free((RecordHealth *) scan->chips);
        free((RecordStep *) scan->steps);
        *scan = (RecordScan) {};
}
