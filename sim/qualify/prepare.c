/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/dispatch.h"
#include "sim/fleet/scenario.h"
#include "sim/qualify/qualify.h"
#include "sim/chip/sample.h"

#define HASH_RUNS  0x72756e73u /* sets the seeds of runs apart from those of faults */
#define HASH_PAIRS 0x70616972u
#define PAIRS_EACH 20u /* one fault in so many gets the next one into its chip: a tenth of all have company */

static bool is_wanted(const QualifyOrder *order, const FaultKind *kind) {
        for (size_t i = 0; i < order->n_kinds; i++)
                if (order->kinds[i] == kind)
                        return true;
        return order->n_kinds == 0 && (order->family < 0 || (int) kind->family == order->family);
}

/* Kind by kind, each with as many as were ordered: the order of reports. */
static int list_faults(Qualification *qualification) {
        const QualifyOrder *order = qualification->order;
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++) {
                Injected *faults;

                if (!is_wanted(order, kind) || order->samples == 0)
                        continue;
                faults = reallocarray(qualification->faults, qualification->n_faults + order->samples, sizeof(*faults));
                if (!faults)
                        return -ENOMEM;
                qualification->faults = faults;
                for (unsigned k = 0; k < order->samples; k++)
                        faults[qualification->n_faults++] = (Injected) { .fault.kind = kind, .partner = SIZE_MAX };
        }
        return 0;
}

static int add_run(Qualification *qualification, Run run) {
        uint64_t seed = sample_hash(sample_hash(qualification->order->seed, HASH_RUNS), qualification->n_runs);
        Run *runs = reallocarray(qualification->runs, qualification->n_runs + 1, sizeof(*runs));

        if (!runs)
                return -ENOMEM;
        qualification->runs = runs;
        run.seed = seed >> 1;
        run.worker_seed = sample_hash(seed, 0) >> 16; /* a worker's seed ends at 2^53 */
        runs[qualification->n_runs++] = run;
        return 0;
}

/* The first faults of all kinds, then the second: so that neighbours are broken in different ways. */
static size_t nth_fault(const Qualification *qualification, size_t n) {
        unsigned samples = qualification->order->samples;
        size_t n_kinds = qualification->n_faults / samples;

        return n % n_kinds * samples + n / n_kinds;
}

static int draw(Qualification *qualification, size_t index, unsigned chip) {
        const QualifyOrder *order = qualification->order;
        Injected *injected = &qualification->faults[index];
        const FaultKind *kind = injected->fault.kind;
        _cleanup_free_ char *why = NULL;
        unsigned number = (unsigned) (index % order->samples);
        int r;

        injected->run = qualification->n_runs;
        r = sample_draw(order->seed, kind, number, chip, order->probability, &injected->fault, &why);
        if (r != -ERANGE)
                return r;
        /* It was never there, so nothing can be said of it. */
        injected->run = SIZE_MAX;
        if (number == 0)
                r = qualify_note(qualification, "%s cannot be drawn: %s", kind->name, why ? why : "?");
        return r == -ENOMEM ? r : -ERANGE;
}

static bool wants_company(const Qualification *qualification, size_t n) {
        return sample_hash(sample_hash(qualification->order->seed, HASH_PAIRS), n) % PAIRS_EACH == 0;
}

/* Whether a chip takes both: some kinds exclude each other at one place. */
static bool fit_together(const DrawnFault *a, const DrawnFault *b) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_free_ char *faults = NULL, *text = NULL, *error = NULL;

        if (asprintf(&faults, "  - %s\n  - %s\n", a->text, b->text) < 0) {
                faults = NULL;
                return false;
        }
        text = sample_scenario(0, false, faults);
        return text && scenario_parse("pair", text, strlen(text), &scenario, &error) >= 0;
}

/* Draws the fault of INDEX into CHIP, where FIRST is. Returns 0 where the two exclude each other, and nothing is drawn. */
static int draw_beside(Qualification *qualification, size_t index, size_t first, unsigned chip) {
        Injected *own = &qualification->faults[index], *other = &qualification->faults[first];
        const FaultKind *kind = own->fault.kind;
        int r;

        r = draw(qualification, index, chip);
        if (r < 0)
                return r;
        if (fit_together(&other->fault, &own->fault)) {
                other->partner = index;
                own->partner = first;
                return 1;
        }
        drawn_fault_done(&own->fault);
        own->fault.kind = kind;
        return 0;
}

/* Draws the fault of INDEX into a chip of its own, of RUN or of the next one. */
static int draw_alone(Qualification *qualification, size_t index, Run *run, unsigned *chips, size_t n_packed) {
        int r = 0;

        if (*chips == CHIPS) {
                r = add_run(qualification, *run);
                *run = (Run) { .first = n_packed };
                *chips = 0;
        }
        if (r >= 0)
                r = draw(qualification, index, *chips);
        if (r >= 0)
                ++*chips;
        return r;
}

/* Faults that only their own chip feels: a server full of them. */
static int pack_chips(Qualification *qualification, size_t *n_packed) {
        Run run = { .first = *n_packed };
        size_t first = SIZE_MAX; /* a fault that is to have company */
        unsigned chips = 0;
        int r = 0;

        for (size_t n = 0; n < qualification->n_faults; n++) {
                size_t index = nth_fault(qualification, n);

                if (qualification->faults[index].fault.kind->is_shared)
                        continue;
                r = first == SIZE_MAX ? 0 : draw_beside(qualification, index, first, chips - 1);
                first = SIZE_MAX;
                if (r == 0) {
                        r = draw_alone(qualification, index, &run, &chips, *n_packed);
                        first = r >= 0 && wants_company(qualification, n) ? index : SIZE_MAX;
                }
                if (r == -ERANGE)
                        continue;
                if (r < 0)
                        return r;
                qualification->packed[(*n_packed)++] = index;
                run.n++;
        }
        return run.n > 0 ? add_run(qualification, run) : 0;
}

static int pack_servers(Qualification *qualification, size_t *n_packed) {
        for (size_t n = 0; n < qualification->n_faults; n++) {
                size_t index = nth_fault(qualification, n);
                Run run = { .first = *n_packed, .n = 1, .shared = true };
                int r;

                if (!qualification->faults[index].fault.kind->is_shared)
                        continue;
                r = draw(qualification, index, 0);
                if (r == -ERANGE)
                        continue;
                if (r < 0)
                        return r;
                qualification->packed[(*n_packed)++] = index;
                run.ring = qualification->faults[index].fault.ring;
                r = add_run(qualification, run);
                if (r < 0)
                        return r;
        }
        return 0;
}

int qualify_prepare(const QualifyOrder *order, Qualification *ret) {
        size_t n_packed = 0;
        int r;

        *ret = (Qualification) { .order = order };
        r = list_faults(ret);
        if (r < 0)
                return r;
        ret->packed = calloc(ret->n_faults + 1, sizeof(*ret->packed));
        if (!ret->packed)
                return -ENOMEM;
        r = pack_chips(ret, &n_packed);
        if (r >= 0)
                r = pack_servers(ret, &n_packed);
        for (unsigned chips = 0; chips < order->healthy && r >= 0; chips += CHIPS)
                r = add_run(ret, (Run) { .first = n_packed });
        return r;
}

void qualify_done(Qualification *qualification) {
        for (size_t i = 0; i < qualification->n_faults; i++)
                drawn_fault_done(&qualification->faults[i].fault);
        for (size_t i = 0; i < qualification->n_notes; i++)
                free(qualification->notes[i]);
        free(qualification->faults);
        free(qualification->runs);
        free(qualification->packed);
        free(qualification->budgets);
        free(qualification->escapes);
        free(qualification->notes);
        *qualification = (Qualification) {};
}

char *qualify_scenario(const Qualification *qualification, const Run *run) {
        _cleanup_free_ char *faults = NULL;
        size_t n_faults;
        FILE *file = open_memstream(&faults, &n_faults);

        if (!file)
                return NULL;
        for (size_t i = 0; i < run->n; i++)
                fprintf(file, "  - %s\n", qualify_fault(qualification, run, i)->fault.text);
        if (fclose(file) != 0)
                return NULL;
        return sample_scenario(run->seed, run->ring, faults);
}

int qualify_note(Qualification *qualification, const char *format, ...) {
        va_list arguments;
        char **notes, *note;
        int n;

        notes = reallocarray(qualification->notes, qualification->n_notes + 1, sizeof(*notes));
        if (!notes)
                return -ENOMEM;
        qualification->notes = notes;
        va_start(arguments, format);
        n = vasprintf(&note, format, arguments);
        va_end(arguments);
        if (n < 0)
                return -ENOMEM;
        notes[qualification->n_notes++] = note;
        return 0;
}
