/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Unit: see unit.h. This part judges chips that owed a step on a server an answer: over a server's connection the driver says whose command timed out.
 *
 * Its neighbours hear nothing from such a chip either, and would be called broken for it. So no run in which a chip was silent fails anything: it is
 * made again, and a chip that is silent once more, whether it is asked behind the run or in the next one, hangs and is left out from there on.
 */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/port/device-control.h"
#include "checks/worker/unit.h"

/* ---- in the child ---- */

typedef struct SilentChips {
        uint16_t hanging; /* silent when they were asked again */
        uint16_t again;   /* not then, but in an earlier run */
        uint16_t once;
} SilentChips;

static SilentChips ask_silent(const Unit *unit, const StepServer *server) {
        uint64_t pause_usec = (uint64_t) (scan_deadline_sec(unit->scan) * 1e6 / CONTROL_ANSWERS);
        DeviceSilence silence = device_take_silence(server->device);
        uint16_t silent = silence.chips & server->included, asked = silent | (silence.adapters & server->included);
        SilentChips chips = {};

        chips.hanging = asked ? inventory_hanging(server->device, asked, pause_usec) : 0;
        chips.once = silent & (uint16_t) ~chips.hanging;
        if (server->included & (uint16_t) ~(silent | server->silent)) /* others answered all the time */
                chips.again = chips.once & server->silent;
        chips.once &= (uint16_t) ~chips.again;
        return chips;
}

static Location chip_of(const StepServer *server, unsigned chip) {
        Location where = {};

        memcpy(where.server, server->name, sizeof(where.server));
        (void) location_append(&where, LOCATION_CHIP, chip);
        return where;
}

static void tell_hanging(Step *step, const StepServer *server, const SilentChips *chips, Verdict *verdict) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_of(server, chip);

                if (chips->hanging >> chip & 1)
                        (void) step_finding(step, verdict, "device-hang", &where,
                                            &(Evidence) { .decided = { "device_answers_of_others", CONTROL_ANSWERS, CONTROL_ANSWERS - 1 } },
                                            "it fell silent in this step, and was silent again while it was asked %u times more and others answered each time",
                                            CONTROL_ANSWERS);
                if (chips->again >> chip & 1)
                        (void) step_finding(step, verdict, "device-hang", &where, &(Evidence) { .decided = { "device_runs_silent", 2, 1 } },
                                            "it is silent at times: in two runs, in which others answered each time, though not while it was asked %u times more behind each",
                                            CONTROL_ANSWERS);
        }
}

/* The worker keeps who was silent. */
static void tell_silent(Step *step, const StepServer *server, uint16_t chips) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_of(server, chip);

                if (chips >> chip & 1)
                        (void) step_part_done(step, &where, VERDICT_ERROR, REASON_DEVICE_TIMEOUT);
        }
}

/* A pass of the others says nothing of a chip of this server that was silent before; one of another server has no part in this step. */
static void doubt_pass(const Unit *unit, StepEnd *end) {
        if (!(unit->servers[0].silent & unit->servers[0].included) || end->verdict != VERDICT_PASSED)
                return;
        end->verdict = VERDICT_ERROR;
        end->reason = REASON_DEVICE_ERROR;
        end->message = "a chip did not answer in an earlier run";
}

int unit_judge_silence(const Unit *unit, Step *step, StepEnd *end) {
        bool counts = end->verdict == VERDICT_PASSED || end->verdict == VERDICT_SKIPPED;
        SilentChips chips[TARGET_SERVERS_MAX] = {};
        Verdict verdict = VERDICT_PASSED;
        uint16_t silent = 0;

        assert(unit->chip < 0);

        for (size_t i = 0; i < unit->scan->n_servers; i++) {
                if (unit->servers[i].device)
                        chips[i] = ask_silent(unit, &unit->servers[i]);
                tell_hanging(step, &unit->servers[i], &chips[i], &verdict);
                silent |= chips[i].once;
        }
        if (verdict == VERDICT_PASSED && (silent == 0 || counts)) {
                doubt_pass(unit, end);
                return 0;
        }

        for (size_t i = 0; i < unit->scan->n_servers; i++)
                tell_silent(step, &unit->servers[i], chips[i].once);
        if (verdict == VERDICT_PASSED)
                end->occupancy = RUN_SILENT;
        else if (verdict_is_judged(end->verdict))
                end->verdict = VERDICT_FAILED;
        return -ETIMEDOUT;
}

/* ---- in the worker ---- */

static ScanServer *server_named(const Unit *unit, const char *name) {
        for (size_t i = 0; i < unit->scan->n_servers; i++)
                if (strcmp(unit->scan->servers[i].target->name, name) == 0)
                        return &unit->scan->servers[i];
        return NULL;
}

/* A chip that hangs is of no use to any step from here on, nor to this one. Returns whether that was news. */
static bool lose_chip(Unit *unit, const Location *where) {
        ScanServer *server = server_named(unit, where->server);
        int chip = location_index(where, LOCATION_CHIP);
        char id[UNIT_STEP_ID_MAX];

        if (!server || chip < 0 || server->lost & (1u << chip))
                return false;
        server->lost |= (uint16_t) (1u << chip);
        if (server == &unit->scan->servers[unit->server]) {
                outlet_write(&unit->scan->outlet, stream_part_done(unit_step_id(unit, id), where, VERDICT_ERROR, REASON_NONE));
                account_part(unit->scan->account, where, unit->current, VERDICT_ERROR);
        }
        return true;
}

/* Each time there are fewer chips. */
static bool lose_hanging(Unit *unit) {
        const Findings *findings = &unit->outcome.findings;
        bool any = false;

        for (size_t i = 0; i < findings->n; i++)
                if (strcmp(findings->items[i].finding.code, "device-hang") == 0)
                        any |= lose_chip(unit, &findings->items[i].finding.where);
        return any;
}

static void note_silent(Unit *unit) {
        for (size_t i = 0; i < unit->scan->n_servers; i++) {
                ScanServer *server = &unit->scan->servers[i];
                uint16_t silent = outcome_parts(&unit->outcome, server->target->name, REASON_DEVICE_TIMEOUT);

                unit->silent[i] |= silent;
                if (i != unit->server)
                        server->doubtful |= silent;
        }
}

bool unit_meets_silence(Unit *unit, StepEnd *end) {
        bool hanging = lose_hanging(unit);

        if (hanging || end->occupancy == RUN_SILENT)
                note_silent(unit);
        if (hanging)
                return true;
        if (end->occupancy != RUN_SILENT)
                return false;
        if (++unit->silences <= UNIT_SILENCES_MAX)
                return true;

        outcome_withdraw(&unit->outcome);
        *end = (StepEnd) { .verdict = VERDICT_ERROR, .reason = REASON_DEVICE_ERROR, .seed = end->seed, .device_nsec = end->device_nsec, .runs = end->runs,
                           .message = "in each run of this step another chip did not answer" };
        return false;
}
