/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/march/march.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "checks/march/plants.h"

/* One element on its way. */
typedef struct Visit {
        MarchPass *pass;
        MemoryBatch *batch;
        unsigned element;
        WireMarch march;
        int marches[STACKS];               /* numbers in the batch */
        unsigned n_samples;
        int samples[STACKS * 8u];          /* numbers in the batch */
        unsigned sampled_stacks[STACKS * 8u];
        uint16_t sampled[STACKS * 8u][_MEMORY_AXIS_MAX];
        unsigned left;                     /* data after the element */
} Visit;

void march_pass_lie(MarchPass *pass, unsigned stack, const char *format, ...) {
        va_list arguments;

        if (pass->stacks[stack].n_lies++ > 0)
                return;

        va_start(arguments, format);
        (void) vsnprintf(pass->stacks[stack].lie, MARCH_LIE_MAX, format, arguments);
        va_end(arguments);
}

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

static unsigned data_of(uint8_t op) {
        return op & MARCH_DATA ? 1 : 0;
}

static int found(Visit *visit, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX],
                 const MemoryData *expected, const MemoryData *actual) {
        MarchMismatch mismatch = { .stack = stack, .element = visit->element, .expected = *expected, .actual = *actual };

        memcpy(mismatch.at, at, sizeof(mismatch.at));
        return visit->pass->found(&mismatch, visit->pass->userdata);
}

/* What is asked of all stacks for one element, in one batch. */
static int visit_prepare(Visit *visit, MarchPlants *plants) {
        MarchPass *pass = visit->pass;
        int r;

        memory_batch_reset(visit->batch);
        r = march_plants_plant(plants, pass, visit->batch, visit->element);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                r = memory_batch_march(visit->batch, stack, &visit->march);
                if (r < 0)
                        return r;
                visit->marches[stack] = r;
        }

        return 0;
}

static int add_samples(Visit *visit, const MarchPlants *plants) {
        MarchPass *pass = visit->pass;
        int r;

        for (unsigned i = 0; i < STACKS * pass->n_samples; i++) {
                unsigned stack = i / pass->n_samples;
                uint16_t *at = visit->sampled[visit->n_samples];
                WireBox box;

                march_choose(pass, UINT64_C(0x73616d70) + visit->element, i, at);
                if (march_plants_find(plants, stack, at) >= 0)
                        continue;
                box = memory_access_box(at);
                r = memory_batch_copy_out(visit->batch, stack, &box);
                if (r < 0)
                        return r;
                visit->sampled_stacks[visit->n_samples] = stack;
                visit->samples[visit->n_samples++] = r;
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

/* Everything one stack reports of the element. */
static int judge_stack(Visit *visit, MarchPlants *plants, unsigned stack) {
        MarchPass *pass = visit->pass;
        MemoryAnswer answer = memory_batch_answer(visit->batch, visit->marches[stack]);
        uint64_t n_plants = 0;
        int r;

        if (answer.accesses != memory_box_accesses(&pass->box))
                march_pass_lie(pass, stack, "visited %" PRIu64 " accesses of %" PRIu64, answer.accesses,
                               memory_box_accesses(&pass->box));
        if (answer.n !=
            (answer.total < visit->march.mismatches_max ? answer.total : visit->march.mismatches_max)) {
                march_pass_lie(pass, stack, "counted %" PRIu64 " mismatches and listed %zu", answer.total, answer.n);
                answer.total = answer.n > answer.total ? answer.n : answer.total;
        }

        for (size_t i = 0; i < answer.n; i++) {
                const WireMismatch *mismatch = &answer.mismatches[i];
                MemoryData expected = {}, actual;

                if (memory_geometry_has(&pass->geometry, mismatch->at) && mismatch->op < visit->march.n_ops)
                        expected = memory_field_data(&pass->field, &pass->geometry, mismatch->at,
                                                  data_of(visit->march.ops[mismatch->op]));
                if (!is_possible(visit, &answer, i, &expected)) {
                        march_pass_lie(pass, stack, "mismatch %zu of element %u cannot be", i, visit->element);
                        break;
                }

                memcpy(actual.bytes, mismatch->actual, sizeof(actual.bytes));
                r = march_plants_match(plants, stack, mismatch->at, mismatch->op, &actual, &expected);
                n_plants += r == MARCH_PLANT_RETURNED;
                if (r != MARCH_PLANT_RETURNED) {
                        r = found(visit, stack, mismatch->at, &expected, &actual);
                        if (r < 0)
                                return r;
                }
        }

        pass->stacks[stack].truncated |= answer.total > answer.n;
        pass->stacks[stack].mismatches += answer.total - n_plants;
        if (answer.accesses < pass->stacks[stack].accesses)
                pass->stacks[stack].accesses = answer.accesses;

        march_plants_settle(plants, pass, stack, visit->element, answer.total > answer.n);
        return 0;
}

static int judge_samples(Visit *visit) {
        MarchPass *pass = visit->pass;
        int r;

        for (unsigned i = 0; i < visit->n_samples; i++) {
                MemoryAnswer answer = memory_batch_answer(visit->batch, visit->samples[i]);
                MemoryData expected = memory_field_data(&pass->field, &pass->geometry, visit->sampled[i], visit->left), actual;

                memcpy(actual.bytes, answer.data, sizeof(actual.bytes));
                pass->n_samples_compared++;
                if (memcmp(&expected, &actual, sizeof(expected)) == 0)
                        continue;

                pass->n_samples_wrong++;
                r = found(visit, visit->sampled_stacks[i], visit->sampled[i], &expected, &actual);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int run_pause(MarchPass *pass, MemoryBatch *batch) {
        int r;

        memory_batch_reset(batch);
        for (unsigned stack = 0; stack < STACKS; stack++) {
                r = memory_batch_pause(batch, stack, pass->pause_nsec);
                if (r < 0)
                        return r;
        }

        return memory_batch_run(batch);
}

static int run_element(Visit *visit, MarchPlants *plants, const MarchElement *element) {
        MarchPass *pass = visit->pass;
        int r;

        visit->march = (WireMarch) {
                .box            = pass->box,
                .order          = (uint8_t) pass->order,
                .descending     = element->direction == MARCH_DOWN,
                .background     = (uint8_t) pass->field.background,
                .parameter      = pass->field.parameter,
                .seed           = pass->field.seed,
                .n_ops          = element->n_ops,
                .mismatches_max = pass->mismatches_max,
        };
        memcpy(visit->march.ops, element->ops, element->n_ops);
        visit->left = data_of(element->ops[element->n_ops - 1]);
        visit->n_samples = 0;

        r = visit_prepare(visit, plants);
        if (r < 0)
                return r;
        march_plants_expect(plants, element);
        r = add_samples(visit, plants);
        if (r < 0)
                return r;
        r = memory_batch_run(visit->batch);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                r = judge_stack(visit, plants, stack);
                if (r < 0)
                        return r;
        }
        march_plants_forget(plants, element);
        return judge_samples(visit);
}

int march_pass_run(MarchPass *pass, MemoryBatch *batch) {
        MarchPlants plants;
        Visit visit = { .pass = pass, .batch = batch };
        int r;

        assert(pass->n_samples <= 8);

        march_plants_init(&plants, pass->march);
        for (unsigned stack = 0; stack < STACKS; stack++)
                pass->stacks[stack].accesses = memory_box_accesses(&pass->box);

        for (unsigned i = 0; i < pass->march->n_elements; i++) {
                const MarchElement *element = &pass->march->elements[i];

                visit.element = i;
                r = element->direction == MARCH_DELAY ? run_pause(pass, batch)
                                                      : run_element(&visit, &plants, element);
                if (r < 0)
                        return r;
        }

        return march_doubts_settle(pass, batch);
}
