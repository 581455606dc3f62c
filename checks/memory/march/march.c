/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/march.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/march/answers.h"
#include "checks/memory/march/doubts.h"
#include "checks/memory/march/plants.h"
#include "checks/memory/march/trials.h"

#define USE_SAMPLE UINT64_C(0x73616d70)

typedef struct Sample {
        int number; /* in the batch */
        unsigned part;
        uint16_t at[_MEMORY_AXIS_MAX];
} Sample;

/* One element of a pass on its way. */
typedef struct Visit {
        MarchPass *pass;
        MemoryBatch *batch;
        MarchPlants plants; /* that stand in memory */
        unsigned element;
        WireMarch march;
        MarchTrial trial;
        int marches[MARCH_PARTS_MAX]; /* numbers in the batch */
        unsigned n_samples;
        Sample samples[MARCH_PARTS_MAX * MARCH_SAMPLES_MAX];
        unsigned left; /* data after the element */
} Visit;

uint32_t march_visit_key(const MemoryGeometry *geometry, MemoryOrder order, bool descending,
                         const uint16_t at[static _MEMORY_AXIS_MAX]) {
        /* Fastest first, as wire.h says of each order. */
        static const MemoryAxis fastest[_MEMORY_ORDER_MAX][4] = {
                [MEMORY_ORDER_COLUMN_FAST] = { HBM_COLUMN, HBM_ROW, HBM_BANK, HBM_BANK_GROUP },
                [MEMORY_ORDER_ROW_FAST]    = { HBM_ROW, HBM_COLUMN, HBM_BANK, HBM_BANK_GROUP },
                [MEMORY_ORDER_BANK_FAST]   = { HBM_BANK, HBM_BANK_GROUP, HBM_COLUMN, HBM_ROW },
        };
        static const MemoryAxis slowest[] = { HBM_SID, HBM_PSEUDO_CHANNEL, HBM_CHANNEL };
        uint32_t key = 0, step = 1;

        for (unsigned i = 0; i < 4; i++) {
                key += at[fastest[order][i]] * step;
                step *= geometry->size[fastest[order][i]];
        }
        for (unsigned i = 0; i < 3; i++) {
                key += at[slowest[i]] * step;
                step *= geometry->size[slowest[i]];
        }

        return descending ? UINT32_MAX - key : key;
}

static int found(Visit *visit, unsigned part, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned op,
                 const MemoryData *expected, const MemoryData *actual) {
        MarchMismatch mismatch = {
                .part = part, .element = visit->element, .op = op, .expected = *expected, .actual = *actual,
        };

        memcpy(mismatch.at, at, sizeof(mismatch.at));
        return visit->pass->found(&mismatch, visit->pass->userdata);
}

/* What is asked of all parts for one element. */
static int add_marches(Visit *visit) {
        MarchPass *pass = visit->pass;
        int r;

        r = march_plants_plant(&visit->plants, pass, visit->batch, visit->element);
        if (r < 0)
                return r;

        for (unsigned part = 0; part < pass->n_parts; part++) {
                r = memory_batch_march(visit->batch, &pass->parts[part], &visit->march);
                if (r < 0)
                        return r;
                visit->marches[part] = r;
        }

        return 0;
}

static int add_samples(Visit *visit) {
        MarchPass *pass = visit->pass;
        int r;

        for (unsigned i = 0; i < pass->n_parts * pass->n_samples; i++) {
                Sample *sample = &visit->samples[visit->n_samples];
                WireBox box;

                sample->part = i / pass->n_samples;
                /* The first stays where it is: what a reader keeps of an earlier element shows there. */
                march_choose(pass, USE_SAMPLE + (i % pass->n_samples > 0 ? visit->element + 1 : 0), i, sample->at);
                if (march_plants_find(&visit->plants, sample->part, sample->at))
                        continue;
                box = memory_access_box(sample->at);
                r = memory_batch_copy_out(visit->batch, &pass->parts[sample->part], &box, pass->ecc);
                if (r < 0)
                        return r;
                sample->number = r;
                visit->n_samples++;
        }

        return 0;
}

/* Whether mismatch number I of a list is one that a sound device can have met there. */
static bool is_possible(const Visit *visit, const MemoryAnswer *answer, size_t i, const MemoryData *expected) {
        const MarchPass *pass = visit->pass;
        const WireMismatch *mismatch = &answer->mismatches[i];
        uint32_t key, previous;

        if (!memory_box_includes(&pass->box, mismatch->at) || mismatch->op >= visit->march.n_ops ||
            visit->march.ops[mismatch->op] & MARCH_WRITE)
                return false;
        if (memcmp(expected->bytes, mismatch->actual, MEMORY_ACCESS_BYTES) == 0)
                return false;
        if (i == 0)
                return true;

        key = march_visit_key(&pass->geometry, pass->order, visit->march.descending, mismatch->at);
        previous = march_visit_key(&pass->geometry, pass->order, visit->march.descending, mismatch[-1].at);
        return key > previous || (key == previous && mismatch->op > mismatch[-1].op);
}

/* Everything one part reports of the element. */
static int judge_part(Visit *visit, unsigned part) {
        MarchPass *pass = visit->pass;
        MemoryAnswer answer = memory_batch_answer(visit->batch, visit->marches[part]);
        uint64_t n_plants = 0;
        int r;

        answer.total = march_outcome_count(&pass->outcomes[part], &visit->march, &answer);

        for (size_t i = 0; i < answer.n; i++) {
                const WireMismatch *mismatch = &answer.mismatches[i];
                MemoryData expected = {}, actual;

                if (memory_geometry_has(&pass->geometry, mismatch->at) && mismatch->op < visit->march.n_ops)
                        expected = memory_field_data(&pass->field, &pass->geometry, mismatch->at,
                                                  march_data_of(visit->march.ops[mismatch->op]));
                if (!is_possible(visit, &answer, i, &expected)) {
                        march_outcome_lie(&pass->outcomes[part], "mismatch %zu of element %u cannot be", i, visit->element);
                        break;
                }

                memcpy(actual.bytes, mismatch->actual, sizeof(actual.bytes));
                r = march_plants_match(&visit->plants, part, mismatch->at, mismatch->op, &actual);
                n_plants += r != MARCH_PLANT_NONE;
                if (r == MARCH_PLANT_NONE) {
                        r = found(visit, part, mismatch->at, mismatch->op, &expected, &actual);
                        if (r < 0)
                                return r;
                }
        }

        pass->outcomes[part].truncated |= answer.total > answer.n;
        pass->outcomes[part].mismatches += answer.total - n_plants;
        if (answer.accesses < pass->outcomes[part].accesses)
                pass->outcomes[part].accesses = answer.accesses;

        march_plants_settle(&visit->plants, pass, part, visit->element, answer.total > answer.n);
        return 0;
}

static int judge_samples(Visit *visit) {
        MarchPass *pass = visit->pass;
        int r;

        for (unsigned i = 0; i < visit->n_samples; i++) {
                const Sample *sample = &visit->samples[i];
                MemoryAnswer answer = memory_batch_answer(visit->batch, sample->number);
                MemoryData expected = memory_field_data(&pass->field, &pass->geometry, sample->at, visit->left), actual;

                memcpy(actual.bytes, answer.data, sizeof(actual.bytes));
                pass->totals.compared++;
                if (memcmp(&expected, &actual, sizeof(expected)) == 0)
                        continue;

                pass->totals.wrong++;
                /* What stale reads return is no evidence of cells. */
                if (pass->outcomes[sample->part].n_stale > 0)
                        continue;
                r = found(visit, sample->part, sample->at, MARCH_OPS_MAX, &expected, &actual);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int run_pause(MarchPass *pass, MemoryBatch *batch) {
        int r;

        if (pass->delay)
                return pass->delay(pass, batch);

        memory_batch_reset(batch);
        for (unsigned part = 0; part < pass->n_parts; part++) {
                r = memory_batch_pause(batch, &pass->parts[part], pass->pause_nsec);
                if (r < 0)
                        return r;
        }

        return memory_batch_run(batch);
}

WireMarch march_pass_command(const MarchPass *pass, unsigned element) {
        const MarchElement *of = &pass->march->elements[element];
        WireMarch march = {
                .box            = pass->box,
                .order          = (uint8_t) pass->order,
                .descending     = of->direction == MARCH_DOWN,
                .background     = (uint8_t) pass->field.background,
                .parameter      = pass->field.parameter,
                .seed           = pass->field.seed,
                .ecc            = pass->ecc,
                .n_ops          = of->n_ops,
                .mismatches_max = pass->mismatches_max,
        };

        memcpy(march.ops, of->ops, of->n_ops);
        return march;
}

static int judge_parts(Visit *visit) {
        int r;

        for (unsigned part = 0; part < visit->pass->n_parts; part++) {
                r = judge_part(visit, part);
                if (r < 0)
                        return r;
                r = march_trial_judge(&visit->trial, visit->pass, visit->batch, part, visit->element);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int visit_add(Visit *visit, unsigned number) {
        const MarchElement *element = &visit->pass->march->elements[number];
        int r;

        visit->element = number;
        visit->march = march_pass_command(visit->pass, visit->element);
        visit->left = march_data_of(element->ops[element->n_ops - 1]);
        visit->n_samples = 0;
        march_trial_init(&visit->trial, &visit->march);

        r = add_marches(visit);
        if (r < 0)
                return r;
        r = add_samples(visit);
        if (r < 0)
                return r;
        return march_trial_add(&visit->trial, visit->pass, visit->batch, number);
}

static int visit_judge(Visit *visit) {
        int r;

        r = judge_parts(visit);
        if (r < 0)
                return r;
        march_plants_forget(&visit->plants, &visit->pass->march->elements[visit->element]);
        return judge_samples(visit);
}

/* An element of all passes, in one batch. */
static int run_element(Visit *visits, unsigned n, unsigned number, MemoryBatch *batch) {
        int r;

        memory_batch_reset(batch);
        for (unsigned i = 0; i < n; i++) {
                r = visit_add(&visits[i], number);
                if (r < 0)
                        return r;
        }

        r = memory_batch_run(batch);
        for (unsigned i = 0; i < n && r >= 0; i++)
                r = visit_judge(&visits[i]);
        return r;
}

/* As many channels as ROOM has beside the lists. */
static unsigned choose_width(const MarchPass *pass, size_t room) {
        size_t lists = pass->n_parts * (pass->mismatches_max * sizeof(WireMismatch) + WIRE_ALIGNMENT);
        size_t single = pass->n_parts * (pass->n_samples * (MEMORY_ACCESS_BYTES + WIRE_ALIGNMENT) + 4 * WIRE_ALIGNMENT);
        unsigned wanted = pass->width_max > 0 ? MIN(pass->width_max, MARCH_WIDTH_MAX) : MARCH_WIDTH_MAX, n_reads = 0;
        size_t a_channel = MEMORY_ACCESS_BYTES;

        for (unsigned i = 0; i < pass->march->n_elements; i++)
                n_reads = MAX(n_reads, pass->march->elements[i].n_ops);
        a_channel += n_reads * sizeof(WireMismatch);

        return lists + single >= room ? 0
                                      : (unsigned) MIN((room - lists - single) / (pass->n_parts * a_channel),
                                                       (size_t) wanted);
}

static int pass_begin(MarchPass *pass, size_t room) {
        assert(pass->n_parts > 0 && pass->n_parts <= MARCH_PARTS_MAX);
        assert(pass->n_samples <= MARCH_SAMPLES_MAX);

        pass->width = choose_width(pass, room);
        if (pass->width == 0)
                return -ENOSPC;
        for (unsigned part = 0; part < pass->n_parts; part++)
                pass->outcomes[part].accesses = memory_box_accesses(&pass->box);
        return 0;
}

static bool is_over(MarchPass *const passes[], unsigned n) {
        for (unsigned i = 0; i < n; i++)
                if (passes[i]->is_over && passes[i]->is_over(passes[i]))
                        return true;
        return false;
}

int march_passes_run(MarchPass *const passes[], unsigned n, MemoryBatch *batch) {
        Visit visits[MARCH_PASSES_MAX];
        const March *march = passes[0]->march;
        int r = 0;

        assert(n > 0 && n <= MARCH_PASSES_MAX);

        memory_batch_reset(batch);
        for (unsigned i = 0; i < n; i++) {
                assert(passes[i]->march == march);
                visits[i] = (Visit) { .pass = passes[i], .batch = batch };
                r = pass_begin(passes[i], memory_batch_room(batch) / n);
                if (r < 0)
                        return r;
        }

        for (unsigned number = 0; number < march->n_elements && r >= 0; number++) {
                if (march->elements[number].direction != MARCH_DELAY)
                        r = run_element(visits, n, number, batch);
                else
                        for (unsigned i = 0; i < n && r >= 0; i++)
                                r = run_pause(passes[i], batch);
                if (r >= 0 && is_over(passes, n))
                        return 0;
        }

        for (unsigned i = 0; i < n && r >= 0; i++)
                r = march_doubts_settle(passes[i], batch);
        return r < 0 ? r : 0;
}

int march_pass_run(MarchPass *pass, MemoryBatch *batch) {
        return march_passes_run(&pass, 1, batch);
}
