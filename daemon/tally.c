/* SPDX-License-Identifier: Apache-2.0 */

/* Tally: see tally.h. This half takes events. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "daemon/tally-parts.h"

#define STEP_ID_MAX (LOCATION_STRING_MAX + PLAN_NAME_MAX)

static int unit_init(TallyUnit *unit, const Plan *plan, const char *server, int chip, bool wanted) {
        unit->wanted = wanted;
        (void) snprintf(unit->where.server, sizeof(unit->where.server), "%s", server);
        if (chip >= 0 && location_append(&unit->where, LOCATION_CHIP, (unsigned) chip) < 0)
                return -EINVAL;
        if (!wanted)
                return 0;

        unit->steps = calloc(plan->n_steps, sizeof(*unit->steps));
        return unit->steps ? 0 : -ENOMEM;
}

int tally_new(const Plan *plan, const Selected *selected, size_t n_selected, Tally **ret) {
        _cleanup_(tally_freep) Tally *tally = NULL;
        int r = 0;

        tally = calloc(1, sizeof(*tally));
        if (!tally)
                return -ENOMEM;

        tally->plan = plan;
        tally->reason = REASON_WORKER_CRASHED;
        tally->servers = calloc(n_selected, sizeof(*tally->servers));
        if (!tally->servers)
                return -ENOMEM;

        tally->n_servers = n_selected;
        for (size_t s = 0; s < n_selected && r >= 0; s++) {
                TallyServer *server = &tally->servers[s];
                const char *name = selected[s].target->config->name;

                server->target = selected[s].target;
                r = unit_init(&server->self, plan, name, -1, true);
                for (unsigned c = 0; c < TARGET_CHIPS && r >= 0; c++)
                        r = unit_init(&server->chips[c], plan, name, (int) c, (selected[s].chips >> c) & 1);
        }
        if (r < 0)
                return r;

        *ret = TAKE_PTR(tally);
        return 0;
}

static void step_done(TallyStep *step) {
        for (size_t i = 0; i < step->n_measurements; i++) {
                free((char *) step->measurements[i].name);
                free((char *) step->measurements[i].unit);
        }
        for (size_t i = 0; i < step->n_findings; i++) {
                RecordDiagnosis *finding = &step->findings[i];

                free((char *) finding->code);
                free((char *) finding->message);
                free((char *) finding->address);
                free((char *) finding->expected);
                free((char *) finding->actual);
                free((char *) finding->far_end);
                free((char *) finding->replaceable);
        }
        free(step->measurements);
        free(step->findings);
        free(step->reached);
        free(step->regions);
        free(step->before);
        free(step->message);
}

static void unit_done(TallyUnit *unit, const Plan *plan) {
        for (size_t i = 0; unit->steps && i < plan->n_steps; i++)
                step_done(&unit->steps[i]);

        free(unit->steps);
        free(unit->serial);
        free(unit->part_number);
        free(unit->firmware);
        free(unit->firmware_build);
        free(unit->tray);
        free(unit->pci_address);
        free(unit->particulars);
}

Tally *tally_free(Tally *tally) {
        if (!tally)
                return NULL;

        for (size_t s = 0; s < tally->n_servers; s++) {
                unit_done(&tally->servers[s].self, tally->plan);
                for (unsigned c = 0; c < TARGET_CHIPS; c++)
                        unit_done(&tally->servers[s].chips[c], tally->plan);
        }
        free(tally->servers);
        free(tally->message);
        free(tally);
        return NULL;
}

/* The chip that WHERE lies in, or the server where it lies in none. NULL: nobody asked for it. */
static TallyUnit *find_unit(Tally *tally, const Location *where) {
        int chip = location_index(where, LOCATION_CHIP);

        if (chip >= (int) TARGET_CHIPS)
                return NULL;

        for (size_t s = 0; s < tally->n_servers; s++) {
                TallyServer *server = &tally->servers[s];
                TallyUnit *unit = chip < 0 ? &server->self : &server->chips[chip];

                if (strcmp(server->self.where.server, where->server) == 0)
                        return unit->wanted ? unit : NULL;
        }

        return NULL;
}

static int find_step(const Plan *plan, const char *name) {
        for (size_t i = 0; i < plan->n_steps; i++)
                if (strcmp(plan->steps[i].name, name) == 0)
                        return (int) i;

        return -ENOENT;
}

static char *copy(const char *text) {
        return text && text[0] ? strdup(text) : NULL;
}

static void replace(char **where, const char *text) {
        free(*where);
        *where = copy(text);
}

static void take_hardware(Tally *tally, const Hardware *hardware) {
        TallyUnit *unit = find_unit(tally, &hardware->where);

        if (!unit)
                return; /* a worker tells all chips of its server, also those nobody asked for */

        replace(&unit->serial, hardware->serial);
        replace(&unit->part_number, hardware->part_number);
        replace(&unit->firmware, hardware->firmware);
        replace(&unit->firmware_build, hardware->firmware_build);
        replace(&unit->tray, hardware->tray);
        replace(&unit->pci_address, hardware->pci_address);
}

/* A worker that goes on tells them again. */
static int take_particulars(Tally *tally, const Particulars *particulars) {
        TallyUnit *unit = find_unit(tally, &particulars->where);

        if (!unit)
                return 0;
        if (!unit->particulars)
                unit->particulars = malloc(sizeof(*unit->particulars));
        if (!unit->particulars)
                return -ENOMEM;
        *unit->particulars = *particulars;
        return 0;
}

static bool is_promised(const Plan *plan, const char *name) {
        for (size_t i = 0; i < plan->n_promises; i++)
                if (strcmp(plan->promises[i].measurement, name) == 0)
                        return true;

        return false;
}

/* Promises are kept by measurements of the chip itself; a step that runs twice covers no more than once. */
static int take_reached(const Plan *plan, TallyUnit *unit, TallyStep *step, const Measurement *measurement) {
        for (size_t i = 0; i < plan->n_promises; i++) {
                if (strcmp(plan->promises[i].measurement, measurement->name) != 0 ||
                    !location_equal(&measurement->where, &unit->where))
                        continue;

                if (!step->reached)
                        step->reached = calloc(plan->n_promises, sizeof(*step->reached));
                if (!step->reached)
                        return -ENOMEM;
                step->reached[i] = fmax(step->reached[i], measurement->value);
        }

        return 0;
}

static int take_measurement(Tally *tally, TallyUnit *unit, size_t index, const Measurement *measurement) {
        TallyUnit *holder = find_unit(tally, &measurement->where);
        Measurement *grown;
        TallyStep *step;
        int r;

        /* What a chip's step says of elsewhere stays with the chip. */
        if (!holder || location_kind(&unit->where) == LOCATION_CHIP)
                holder = unit;

        step = &holder->steps[index];
        if (measurement->limit_type != LIMIT_NONE &&
            !limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                step->beyond = true;

        r = take_reached(tally->plan, holder, step, measurement);
        if (r < 0)
                return r;
        if (holder->n_measurements >= TALLY_MEASUREMENTS_MAX && !is_promised(tally->plan, measurement->name))
                return 0; /* the evidence has the rest */

        grown = realloc(step->measurements, (step->n_measurements + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        step->measurements = grown;
        grown[step->n_measurements] = *measurement;
        grown[step->n_measurements].name = strdup(measurement->name);
        grown[step->n_measurements].unit = strdup(measurement->unit ? measurement->unit : "");
        step->n_measurements++;
        holder->n_measurements++;
        return grown[step->n_measurements - 1].name && grown[step->n_measurements - 1].unit ? 0 : -ENOMEM;
}

static int take_finding(Tally *tally, TallyUnit *unit, size_t index, const Finding *finding) {
        TallyUnit *holder = find_unit(tally, &finding->where);
        const CatalogueEntry *meaning = catalogue_find(finding->code);
        Severity severity = meaning && meaning->severity > finding->severity ? meaning->severity : finding->severity;
        const Evidence *evidence = &finding->evidence;
        RecordDiagnosis *grown;
        TallyStep *step;

        if (!holder || location_kind(&unit->where) == LOCATION_CHIP)
                holder = unit;

        step = &holder->steps[index];
        verdict_raise(&step->found, severity);
        if (severity == SEVERITY_FAIL && location_kind(&unit->where) == LOCATION_SERVER && strcmp(unit->where.server, finding->where.server) != 0)
                unit->steps[index].failed_elsewhere = true;
        if (step->n_findings > 0 && holder->n_findings >= TALLY_FINDINGS_MAX)
                return 0;

        grown = realloc(step->findings, (step->n_findings + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        step->findings = grown;
        grown[step->n_findings] = (RecordDiagnosis) {
                .code = strdup(finding->code),
                .severity = severity,
                .where = finding->where,
                .message = strdup(finding->message ? finding->message : ""),
                .action = finding->action == ACTION_NONE ? NULL : action_to_string(finding->action),
                .address = copy(evidence->address),
                .expected = copy(evidence->expected),
                .actual = copy(evidence->actual),
                .far_end = copy(evidence->far_end),
                .replaceable = copy(evidence->replaceable),
                .count = evidence->has_count ? evidence->count : -1,
                .confidence = evidence->has_confidence ? evidence->confidence : -1,
                .reproduced = finding->reproduced,
                .runs = finding->runs,
        };
        step->n_findings++;
        holder->n_findings++;
        return grown[step->n_findings - 1].code && grown[step->n_findings - 1].message ? 0 : -ENOMEM;
}

static int take_part(Tally *tally, TallyUnit *unit, size_t index, const Event *event, const char **ret_wrong) {
        TallyUnit *chip = find_unit(tally, &event->part);

        if (location_kind(&unit->where) != LOCATION_SERVER || location_kind(&event->part) != LOCATION_CHIP) {
                *ret_wrong = "the part of a step that is no chip of its server";
                return -EPROTO;
        }
        if (!chip)
                return 0;

        chip->steps[index].has_part = true;
        chip->steps[index].part = event->verdict;
        chip->steps[index].part_reason = event->reason;
        return 0;
}

static int take_end(TallyStep *step, const StepEnd *end) {
        step->state = TALLY_ENDED;
        step->verdict = end->verdict;
        step->reason = end->reason;
        step->seed = end->seed;
        step->device_nsec = end->device_nsec;
        replace(&step->message, end->message);
        if (!reason_fits(step->reason, step->verdict))
                step->reason = step->verdict == VERDICT_SKIPPED ? REASON_NOT_APPLICABLE :
                               step->verdict == VERDICT_ERROR   ? REASON_PROTOCOL :
                                                                  REASON_NONE;
        return 0;
}

static int take_regions(TallyStep *step, const Regions *regions) {
        if (!step->regions)
                step->regions = malloc(sizeof(*step->regions));
        if (!step->regions)
                return -ENOMEM;

        *step->regions = *regions;
        return 0;
}

static int take_in_step(Tally *tally, const Event *event, const char **ret_wrong) {
        TallyUnit *unit;
        Location where;
        TallyStep *step;
        int index;

        index = find_step(tally->plan, event->step);
        unit = location_parse(event->unit, &where, NULL, NULL) < 0 ? NULL : find_unit(tally, &where);
        if (index < 0 || !unit || !location_equal(&where, &unit->where)) {
                *ret_wrong = "a step that the plan does not have, or on a unit that nobody asked for";
                return -EPROTO;
        }

        step = &unit->steps[index];
        if (event->type == EVENT_STEP_START ? step->state != TALLY_UNSEEN : step->state != TALLY_OPEN) {
                *ret_wrong = "a step that starts twice or is not open";
                return -EPROTO;
        }

        switch (event->type) {
        case EVENT_STEP_START:
                step->state = TALLY_OPEN;
                step->began_usec = event->usec;
                return 0;
        case EVENT_MEASUREMENT:
                return take_measurement(tally, unit, (size_t) index, &event->measurement);
        case EVENT_FINDING:
                return take_finding(tally, unit, (size_t) index, &event->finding);
        case EVENT_PART_DONE:
                return take_part(tally, unit, (size_t) index, event, ret_wrong);
        case EVENT_REGIONS:
                return take_regions(step, event->regions);
        case EVENT_STEP_END:
                step->ended_usec = event->usec;
                return take_end(step, &event->end);
        case EVENT_PARTICULARS:
                return take_particulars(tally, event->particulars);
        case EVENT_RUN_START:
        case EVENT_HARDWARE:
        case EVENT_PROGRESS:
        case EVENT_ERROR:
        case EVENT_LOG:
        case EVENT_RUN_END:
        case _EVENT_TYPE_MAX:
                return 0;
        }

        return 0;
}

int tally_event(Tally *tally, const Event *event, const char **ret_wrong) {
        switch (event->type) {
        case EVENT_HARDWARE:
                take_hardware(tally, &event->hardware);
                return 0;
        case EVENT_ERROR:
                tally_close(tally, event->end.reason == REASON_NONE ? REASON_DEVICE_ERROR : event->end.reason, event->message);
                return 0;
        case EVENT_RUN_END:
                tally->ended = true;
                return 0;
        case EVENT_STEP_START:
        case EVENT_MEASUREMENT:
        case EVENT_FINDING:
        case EVENT_PART_DONE:
        case EVENT_REGIONS:
        case EVENT_PARTICULARS:
        case EVENT_STEP_END:
                return take_in_step(tally, event, ret_wrong);
        case EVENT_RUN_START:
        case EVENT_PROGRESS:
        case EVENT_LOG:
        case _EVENT_TYPE_MAX:
                return 0;
        }

        return 0;
}

void tally_close(Tally *tally, Reason reason, const char *message) {
        if (tally->closed)
                return;

        tally->closed = true;
        tally->reason = reason;
        replace(&tally->message, message);
}

bool tally_has_ended(const Tally *tally) {
        return tally->ended;
}

/* Calls EACH for the steps of UNIT in STATE. */
static void each_step(const Tally *tally, const TallyUnit *unit, TallyState state,
                      void (*each)(TallyStep *step, const PlanStep *planned, const char *id, void *userdata),
                      void *userdata) {
        char where[LOCATION_STRING_MAX], id[STEP_ID_MAX];

        for (size_t i = 0; unit->steps && i < tally->plan->n_steps; i++) {
                if (unit->steps[i].state != state)
                        continue;
                (void) snprintf(id, sizeof(id), "%s:%s", location_format(&unit->where, where),
                                tally->plan->steps[i].name);
                each(&unit->steps[i], &tally->plan->steps[i], id, userdata);
        }
}

static void each_unit(const Tally *tally, TallyState state,
                      void (*each)(TallyStep *step, const PlanStep *planned, const char *id, void *userdata),
                      void *userdata) {
        for (size_t s = 0; s < tally->n_servers; s++) {
                for (unsigned c = 0; c < TARGET_CHIPS; c++)
                        each_step(tally, &tally->servers[s].chips[c], state, each, userdata);
                each_step(tally, &tally->servers[s].self, state, each, userdata);
        }
}

typedef struct Losing {
        Reason reason;
        const char *message;
        void (*each)(const char *step_id, bool required, void *userdata);
        void *userdata;
} Losing;

static void lose_step(TallyStep *step, const PlanStep *planned, const char *id, void *userdata) {
        Losing *losing = userdata;

        if (losing->each)
                losing->each(id, planned->required, losing->userdata);

        step->state = TALLY_ENDED;
        step->verdict = VERDICT_ERROR;
        step->reason = losing->reason;
        replace(&step->message, losing->message);
}

void tally_lose(Tally *tally, Reason reason, const char *message,
                void (*each)(const char *step_id, bool required, void *userdata), void *userdata) {
        Losing losing = { reason, message, each, userdata };

        each_unit(tally, TALLY_OPEN, lose_step, &losing);
}

typedef struct Naming {
        void (*each)(const char *step_id, void *userdata);
        void *userdata;
} Naming;

static void name_step(TallyStep *step, const PlanStep *planned, const char *id, void *userdata) {
        const Naming *naming = userdata;

        naming->each(id, naming->userdata);
}

void tally_done_steps(const Tally *tally, void (*each)(const char *step_id, void *userdata),
                      void *userdata) {
        Naming naming = { each, userdata };

        each_unit(tally, TALLY_ENDED, name_step, &naming);
}

unsigned tally_progress(const Tally *tally, unsigned *ret_total) {
        unsigned settled = 0, total = 0;

        for (size_t s = 0; s < tally->n_servers; s++)
                for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                        const TallyUnit *chip = &tally->servers[s].chips[c];

                        for (size_t i = 0; chip->wanted && i < tally->plan->n_steps; i++, total++)
                                if (chip->steps[i].state == TALLY_ENDED || chip->steps[i].has_part ||
                                    tally->servers[s].self.steps[i].state == TALLY_ENDED)
                                        settled++;
                }

        *ret_total = total;
        return settled;
}
