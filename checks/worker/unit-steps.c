/* SPDX-License-Identifier: Apache-2.0 */

/* Unit: see unit.h. This part judges what the child says and ends steps. */

#include "checks/worker/unit.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "checks/port/device-control.h"

const char *unit_step_id(const Unit *unit, char id[static UNIT_STEP_ID_MAX]) {
        (void) snprintf(id, UNIT_STEP_ID_MAX, "%s:%s", unit->name, unit_step(unit)->name);
        return id;
}

static Outlet *outlet_of(Unit *unit) {
        return &unit->scan->outlet;
}

/* ---- beginning and end ---- */

/* In a step on a server, the chips it must leave alone are told at once. */
static void tell_excluded_chips(Unit *unit) {
        const ScanServer *server = &unit->scan->servers[unit->server];
        uint16_t included = scan_included(unit->scan, unit->server,
                                          check_disturbs(unit_check(unit), unit_step(unit)->parameters));
        uint16_t unheard = server->error < 0 ? TARGET_CHIPS_ALL : server->lost | inventory_absent(&server->inventory);
        char id[UNIT_STEP_ID_MAX];

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Verdict verdict = unheard & (1u << chip) ? VERDICT_ERROR : VERDICT_SKIPPED;
                Reason reason = server->inventory.chips[chip].error == -EPROTO ? REASON_PROTOCOL : REASON_NONE;
                Location where = unit->where;

                if (!(server->target->chips & (1u << chip)) || (included & (1u << chip)))
                        continue;

                (void) location_append(&where, LOCATION_CHIP, chip);
                outlet_write(outlet_of(unit), stream_part_done(unit_step_id(unit, id), &where, verdict, reason));
                account_part(unit->scan->account, &where, unit->current, verdict);
        }
}

static void tell(Unit *unit, Particulars **particulars) {
        char id[UNIT_STEP_ID_MAX];

        if (*particulars)
                outlet_write(outlet_of(unit), stream_particulars(unit_step_id(unit, id), *particulars));
        free(*particulars);
        *particulars = NULL;
}

/* In the first step of the chip; the server's in whichever step is the first one there. */
static void tell_particulars(Unit *unit) {
        Inventory *inventory = &unit->scan->servers[unit->server].inventory;

        if (unit->chip >= 0)
                tell(unit, &inventory->chips[unit->chip].particulars);
        tell(unit, &inventory->particulars);
}

static void open_step(Unit *unit) {
        unit->begun = true;
        unit->open = true;
        unit->progressed = true;
        unit->n_bytes = 0;
}

/* Without a child: the worker says itself that the step began. */
static void begin(Unit *unit) {
        char id[UNIT_STEP_ID_MAX];

        if (!unit->begun) {
                outlet_write(outlet_of(unit),
                             stream_step_start(unit_step_id(unit, id), unit_step(unit)->check->name));
                tell_particulars(unit);
        }
        open_step(unit);
}

/* What the run under way has said counts from here on, with what the runs before it said. Lines of the retest repeat what is known. */
static void accept_run(Unit *unit) {
        Outcome *outcome = &unit->outcome;

        if (unit->runs == 0)
                outcome_write(outcome, outlet_of(unit), unit->scan->account, &unit->where, unit->current);
        for (size_t i = 0; i < outcome->findings.n; i++)
                if (findings_add(&unit->findings, &outcome->findings.items[i].finding, unit->runs + 1) == -ENOMEM)
                        outlet_write(outlet_of(unit), NULL); /* a finding that was lost would make a pass of a fault */
        outcome_clear(outcome);
}

static void account_for(Unit *unit, Verdict verdict) {
        for (size_t i = 0; i < unit->findings.n; i++)
                account_finding(unit->scan->account, &unit->where, unit->current,
                                &unit->findings.items[i].finding);
        account_end(unit->scan->account, &unit->where, unit->current, verdict);
}

/* Whether a chip of the server of UNIT has a failure among what its runs found. */
static bool has_failed(const Unit *unit, const Location *chip) {
        for (size_t i = 0; i < unit->findings.n; i++)
                if (unit->findings.items[i].finding.severity == SEVERITY_FAIL &&
                    location_contains(chip, &unit->findings.items[i].finding.where))
                        return true;
        return false;
}

/*
 * A chip that may be the one of two to blame has not passed, in whatever run that was found: what is said of parts is the first run's, which may have
 * had nothing of it.
 */
static void leave_either_open(Unit *unit) {
        char id[UNIT_STEP_ID_MAX];

        for (size_t i = 0; i < unit->findings.n && unit->chip < 0; i++) {
                const FindingSeen *seen = &unit->findings.items[i];
                const CatalogueEntry *entry = catalogue_find(seen->finding.code);
                int index = location_index(&seen->finding.where, LOCATION_CHIP);
                Location chip = unit->where;

                if (!entry || !entry->names_two || seen->n_runs == seen->last_run || index < 0 ||
                    strcmp(seen->finding.where.server, chip.server) != 0)
                        continue;
                (void) location_append(&chip, LOCATION_CHIP, (unsigned) index);
                if (has_failed(unit, &chip))
                        continue;
                outlet_write(outlet_of(unit), stream_part_done(unit_step_id(unit, id), &chip, VERDICT_ERROR, REASON_AMBIGUOUS));
                account_part(unit->scan->account, &chip, unit->current, VERDICT_ERROR);
        }
}

static void end_step(Unit *unit, StepEnd end) {
        char id[UNIT_STEP_ID_MAX];

        end.required = unit_step(unit)->required;
        end.occupancy = RUN_FREE; /* of its runs, and known here alone */
        end.device_nsec += unit->withdrawn_nsec;
        findings_settle(&unit->findings);
        leave_either_open(unit);
        findings_write(&unit->findings, unit_step_id(unit, id), end.runs, unit->chip >= 0, outlet_of(unit));
        outlet_write(outlet_of(unit), stream_step_end(id, &end));
        account_for(unit, end.verdict);

        findings_clear(&unit->findings);
        unit->open = unit->begun = false;
        unit_forget_runs(unit);
        unit->withdrawn_nsec = 0;
        unit->done[unit->current] = true;
        while (unit->current < unit->scan->request->plan->n_steps && unit->done[unit->current])
                unit->current++;
}

/* What a chip was found to have stays found, whatever became of the rest of its step, unless it may be a job's. */
static void end_in_error(Unit *unit, Reason reason, const char *message) {
        StepEnd end = { .runs = unit->runs + 1,
                        .device_nsec = unit->first.device_nsec,
                        .seed = unit->first.seed };
        bool failed;

        if (unit_is_taken(unit) != 0)
                outcome_withdraw(&unit->outcome); /* the child is not there to say what it was */
        accept_run(unit);
        failed = unit->chip >= 0 && findings_verdict(&unit->findings) == VERDICT_FAILED;
        if (failed || unit->runs > 0) {
                end.verdict = VERDICT_FAILED;
                end.reproduced = 1;
        } else {
                end.verdict = VERDICT_ERROR;
                end.reason = reason;
                end.message = message;
        }
        end_step(unit, end);
}

void unit_lose(Unit *unit, Reason reason, const char *message) {
        if (unit->current >= unit->scan->request->plan->n_steps)
                return;
        if (!unit->open)
                begin(unit);
        end_in_error(unit, reason, message);
}

/* ---- steps that do not run ---- */

static void skip_step(Unit *unit, Reason reason, const char *message) {
        StepEnd end = { .verdict = VERDICT_SKIPPED, .reason = reason, .message = message, .runs = 1 };

        begin(unit);
        end_step(unit, end);
}

/* Why the current step must not run; REASON_NONE: it may. */
static Reason find_obstacle(const Unit *unit, const Check *check, const char **ret_message) {
        const ScanServer *server = &unit->scan->servers[unit->server];
        uint16_t chips = unit->chip >= 0 ? (uint16_t) (1u << unit->chip) : server->target->chips;
        uint16_t included = scan_included(unit->scan, unit->server,
                                          check_disturbs(check, unit_step(unit)->parameters));
        uint16_t left_out;

        *ret_message = "not asked for";
        if (!request_asks_for(unit->scan->request, unit_step(unit)->name))
                return REASON_NOT_REQUESTED;

        *ret_message = reason_to_words(REASON_CLAIMED);
        if (server->error == -EBUSY)
                return REASON_CLAIMED;

        *ret_message = "the chips do not answer";
        if (unit->chip < 0 && (chips & ~server->lost) == 0)
                return REASON_PREREQUISITE;

        *ret_message = "the server cannot be reached";
        if (server->error < 0)
                return REASON_DEVICE_UNREACHABLE;

        left_out = (uint16_t) (chips & ~server->lost & ~included);
        if (left_out == 0 || (left_out != (chips & ~server->lost) && check->disturbs != DISTURBS_SERVER))
                return REASON_NONE;
        *ret_message = "there is no such device";
        if ((left_out & ~inventory_absent(&server->inventory)) == 0)
                return REASON_PREREQUISITE;
        *ret_message = "carries work that this would disturb";
        return REASON_OCCUPIED;
}

/* Ends the current step, unless it is to run. */
static void skip_current(Unit *unit) {
        const Check *check = unit_check(unit);
        const char *message;
        char id[UNIT_STEP_ID_MAX];
        Reason reason;

        if (request_is_done(unit->scan->request, unit_step_id(unit, id))) {
                unit->done[unit->current] = true;
                account_leave_out(unit->scan->account, &unit->where, unit->current);
                return;
        }

        if (!check) {
                begin(unit);
                end_in_error(unit, REASON_RESOURCE, "this worker does not have the check");
                return;
        }

        reason = find_obstacle(unit, check, &message);
        if (reason != REASON_NONE)
                skip_step(unit, reason, message);
}

void unit_skip(Unit *unit) {
        const Plan *plan = unit->scan->request->plan;

        if (unit->begun)
                return; /* another run is due: the step is open as far as the stream knows */

        for (size_t i = 0; i < plan->n_steps; i++) {
                unit->current = i;
                if (!unit->done[i])
                        skip_current(unit);
        }

        unit->current = 0;
        while (unit->current < plan->n_steps && unit->done[unit->current])
                unit->current++;
}

void unit_give_up(Unit *unit, const char *message) {
        unit_skip(unit);
        while (unit->current < unit->scan->request->plan->n_steps) {
                skip_step(unit, REASON_PREREQUISITE, message);
                unit_skip(unit);
        }
}

static int add_suspicion(Unit *unit, const char *code, Decided decided, const char *message) {
        Finding finding = {
                .code = code, .severity = SEVERITY_FAIL, .where = unit->where, .message = message, .evidence = { .decided = decided },
                .reproduced = 1, .runs = 1,
        };

        return findings_add(&unit->findings, &finding, 1);
}

void unit_refuse(Unit *unit, int error, const char *message) {
        if (!unit->open)
                begin(unit);
        if (unit->chip >= 0 && error == -ETIMEDOUT && unit->scan->servers[unit->server].inventory.chips[unit->chip].hangs)
                (void) add_suspicion(unit, "device-hang", (Decided) { "device_answers_of_others", CONTROL_ANSWERS, CONTROL_ANSWERS - 1 }, message);
        if (unit->chip >= 0 && error == -EPROTO && unit_is_garbled(unit))
                (void) add_suspicion(unit, "device-garbled", (Decided) { "device_answers_garbled", 1, 0 }, message);
        end_in_error(unit, step_reason(error), message);
}

/* ---- what the child says ---- */

static int __attribute__((format(printf, 2, 3))) refuse_line(Unit *unit, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(unit->message, sizeof(unit->message), format, arguments);
        va_end(arguments);
        return -EPROTO;
}

static int keep(Unit *unit, const Event *event) {
        return outcome_keep(&unit->outcome, event, unit->line, unit->n_line);
}

/* A chip speaks for itself; a step on a server for all servers of the scan, as links have two ends. */
static bool may_speak_of(const Unit *unit, const Location *where) {
        if (unit->chip >= 0)
                return location_contains(&unit->where, where);

        for (size_t i = 0; i < unit->scan->n_servers; i++)
                if (strcmp(unit->scan->servers[i].target->name, where->server) == 0)
                        return true;

        return false;
}

static int on_start(Unit *unit, const Event *event) {
        if (unit->open || unit->current >= unit->scan->request->plan->n_steps ||
            strcmp(event->unit, unit->name) != 0 || strcmp(event->step, unit_step(unit)->name) != 0)
                return refuse_line(unit, "a step began that was not due");

        if (!unit->begun) {
                outlet_forward(outlet_of(unit), unit->line, unit->n_line);
                tell_particulars(unit);
                if (unit->chip < 0)
                        tell_excluded_chips(unit);
        }
        open_step(unit);
        return 0;
}

static int on_measurement(Unit *unit, const Event *event) {
        if (!may_speak_of(unit, &event->measurement.where))
                return refuse_line(unit, "a measurement of another part");

        return keep(unit, event);
}

static int on_finding(Unit *unit, const Event *event) {
        const CatalogueEntry *entry = catalogue_find(event->finding.code);
        int r;

        if (!may_speak_of(unit, &event->finding.where))
                return refuse_line(unit, "a finding in another part");
        if (!entry || entry->severity != event->finding.severity)
                return refuse_line(unit, "a finding that is not as the catalogue has it");

        r = findings_add(&unit->outcome.findings, &event->finding, 1);
        return r == -ENOBUFS ? 0 : r;
}

static int on_part(Unit *unit, const Event *event) {
        if (unit->chip >= 0 || location_kind(&event->part) != LOCATION_CHIP ||
            !may_speak_of(unit, &event->part))
                return refuse_line(unit, "the part of a step that is no chip");

        return keep(unit, event);
}

/* That the device hangs its port has made sure of; that it makes no sense counts only if others do. Returns what to do next. */
static UnitNext judge_suspicion(Unit *unit, StepEnd *end) {
        bool hang = findings_find(&unit->findings, "device-hang") != NULL;
        bool confirmed = hang || unit_is_garbled(unit);

        if (!confirmed)
                findings_remove(&unit->findings, "device-garbled");

        if (confirmed) {
                end->verdict = VERDICT_FAILED;
                end->reason = REASON_NONE;
                end->message = NULL;
                end->reproduced = 1;
        }
        if (confirmed && hang)
                unit->scan->servers[unit->server].lost |= (uint16_t) (1u << unit->chip);
        return hang ? UNIT_GIVE_UP : UNIT_FRESH;
}

/* Of this run no more is told than that a chip hangs, and the step takes place once more. */
static int run_anew(Unit *unit, const StepEnd *end) {
        outcome_withdraw(&unit->outcome);
        accept_run(unit);
        unit->withdrawn_nsec += end->device_nsec;
        unit->open = false;
        unit->next = UNIT_RETEST_FRESH;
        return 0;
}

/* Ends the step with what its runs say together. */
static void conclude(Unit *unit, StepEnd end) {
        if (unit->chip < 0 && verdict_is_judged(end.verdict) && findings_find(&unit->findings, "device-hang"))
                end.verdict = VERDICT_FAILED;
        end.runs = unit->runs + (unit->runs == 0 || end.verdict != VERDICT_SKIPPED);
        end.reproduced = end.verdict == VERDICT_FAILED;
        if (unit->runs > 0) {
                /* It failed once: that stands, however the retest came out. */
                end.verdict = VERDICT_FAILED;
                end.reason = REASON_NONE;
                end.message = NULL;
                end.reproduced += 1;
                end.device_nsec += unit->first.device_nsec;
        }
        end_step(unit, end);
}

/* Nothing that the run has said is told: it takes place once more. */
static int withdraw(Unit *unit, const StepEnd *end) {
        if (++unit->withdrawn > UNIT_WITHDRAWN_MAX)
                return refuse_line(unit, "a step that was withdrawn too often");

        unit->withdrawn_nsec += end->device_nsec;
        unit->open = false;
        unit->next = end->occupancy == RUN_UNTOLD ? UNIT_RETEST_FRESH : UNIT_RETEST;
        return 0;
}

/* A run of which ERROR kept anybody from saying whether it met a job was none that could judge. */
static void leave_open(StepEnd *end, int error) {
        if (end->verdict == VERDICT_ERROR)
                return;
        end->verdict = VERDICT_ERROR;
        end->reason = step_reason(error);
        end->message = error == -ENODEV ? STEP_SERVER_GONE : STEP_OCCUPANCY_UNTOLD;
}

static int on_end(Unit *unit, const Event *event) {
        StepEnd end = event->end;
        bool suspicion, contradicts;
        int taken;

        if (!reason_fits(end.reason, end.verdict))
                return refuse_line(unit, "a verdict with a reason that does not go with it");
        if (unit->chip >= 0 && end.occupancy == RUN_SILENT)
                return refuse_line(unit, "a chip that was silent to its own step hangs");
        unit->used_nsec += end.device_nsec;
        if (unit->chip < 0 && unit_meets_silence(unit, &end))
                return run_anew(unit, &end);
        taken = end.occupancy == RUN_UNTOLD ? unit_is_taken(unit) : end.occupancy == RUN_TAKEN;
        if (taken != 0)
                outcome_withdraw(&unit->outcome);
        if (taken > 0 && unit->outcome.findings.n == 0)
                return withdraw(unit, &end);
        if (taken != 0)
                leave_open(&end, taken < 0 ? taken : -EPROTO);

        contradicts = end.verdict != VERDICT_FAILED && end.verdict != VERDICT_ERROR && unit->runs == 0 &&
                      findings_verdict(&unit->outcome.findings) == VERDICT_FAILED;
        accept_run(unit);
        if (contradicts)
                return refuse_line(unit, "a step that found a failure and did not fail");

        suspicion = unit->chip >= 0 && (findings_find(&unit->findings, "device-hang") ||
                                        findings_find(&unit->findings, "device-garbled"));
        if (suspicion)
                unit->next = judge_suspicion(unit, &end);
        else if (end.verdict == VERDICT_ERROR && end.reason == REASON_DEVICE_TIMEOUT)
                unit->next = UNIT_GIVE_UP; /* each further step would cost a whole patience */

        if (end.verdict == VERDICT_FAILED && unit->runs == 0 && !(suspicion && unit->next == UNIT_GIVE_UP)) {
                unit->next = suspicion || end.occupancy == RUN_UNTOLD ? UNIT_RETEST_FRESH : UNIT_RETEST;
                unit->first = end;
                unit->first.message = NULL;
                unit->runs = 1;
                unit->open = false;
                return 0;
        }

        conclude(unit, end);
        return 0;
}

int unit_on_event(const Event *event, void *userdata) {
        Unit *unit = userdata;

        if (event->type == EVENT_STEP_START)
                return on_start(unit, event);
        if (!unit->open)
                return refuse_line(unit, "a line outside of any step");

        switch (event->type) {
        case EVENT_MEASUREMENT:
                return on_measurement(unit, event);
        case EVENT_FINDING:
                return on_finding(unit, event);
        case EVENT_PART_DONE:
                return on_part(unit, event);
        case EVENT_REGIONS:
                return keep(unit, event);
        case EVENT_PROGRESS:
                if (unit->runs == 0)
                        outlet_forward(outlet_of(unit), unit->line, unit->n_line);
                return 0;
        case EVENT_STEP_END:
                return on_end(unit, event);
        case EVENT_RUN_START:
        case EVENT_HARDWARE:
        case EVENT_PARTICULARS:
        case EVENT_STEP_START:
        case EVENT_ERROR:
        case EVENT_LOG:
        case EVENT_RUN_END:
        case _EVENT_TYPE_MAX:
                break;
        }

        return refuse_line(unit, "a line that no child may write");
}
