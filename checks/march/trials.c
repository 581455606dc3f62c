/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/march/trials.h"

#include <inttypes.h>
#include <string.h>

#include "checks/march/doubts.h"
#include "checks/march/plants.h"

#define USE_TRIAL UINT64_C(0x74726961)

void march_trial_init(MarchTrial *trial, const WireMarch *like) {
        unsigned held;
        bool written = false;

        *trial = (MarchTrial) { .march = *like };

        for (unsigned i = 0; i < like->n_ops; i++)
                if (like->ops[i] & MARCH_WRITE)
                        trial->left = march_data_of(like->ops[i]);

        held = trial->left;
        for (unsigned i = 0; i < like->n_ops; i++) {
                trial->held[i] = (uint8_t) held;
                if (like->ops[i] & MARCH_WRITE) {
                        trial->march.ops[i] ^= MARCH_DATA;
                        held = march_data_of(trial->march.ops[i]);
                        written = true;
                } else if (written)
                        trial->expected |= UINT32_C(1) << i;
        }

        /* Reads before the first write are expected too where the element leaves other data than it finds. */
        for (unsigned i = 0; i < like->n_ops && trial->expected && !(like->ops[i] & MARCH_WRITE); i++)
                if (march_data_of(like->ops[i]) != trial->left)
                        trial->expected |= UINT32_C(1) << i;

        trial->restores = like->n_ops < MARCH_OPS_MAX;
        if (trial->restores)
                trial->march.ops[trial->march.n_ops++] = (uint8_t) (MARCH_WRITE | (trial->left ? MARCH_DATA : 0));
}

static int restore(const MarchTrial *trial, const MarchPass *pass, MemoryBatch *batch, unsigned part) {
        WireMarch march = trial->march;

        march.box = trial->boxes[part];
        march.n_ops = 1;
        march.ops[0] = (uint8_t) (MARCH_WRITE | (trial->left ? MARCH_DATA : 0));
        march.mismatches_max = 0;
        return memory_batch_march(batch, &pass->parts[part], &march);
}

int march_trial_add(MarchTrial *trial, const MarchPass *pass, MemoryBatch *batch, unsigned element) {
        int r;

        for (unsigned part = 0; part < pass->n_parts && trial->expected; part++) {
                WireMarch march = trial->march;

                trial->boxes[part] = march_choose_box(pass, USE_TRIAL, part, element);
                march.box = trial->boxes[part];
                march.mismatches_max = (uint32_t) memory_box_accesses(&march.box) *
                                       (uint32_t) __builtin_popcount(trial->expected);
                r = memory_batch_march(batch, &pass->parts[part], &march);
                if (r < 0)
                        return r;
                trial->numbers[part] = r;

                if (!trial->restores) {
                        r = restore(trial, pass, batch, part);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

/* Everything a device says of one access: from record *at on. */
typedef struct Answer {
        const MarchTrial *trial;
        MarchPass *pass;
        unsigned part, element;
        const MemoryAnswer *answer;
        size_t at;
} Answer;

static MemoryData field_data(const Answer *a, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned data) {
        return memory_field_data(&a->pass->field, &a->pass->geometry, at, data);
}

static int found(const Answer *a, const uint16_t at[static _MEMORY_AXIS_MAX], const MemoryData *expected,
                 const MemoryData *actual) {
        MarchMismatch mismatch = {
                .part = a->part, .element = a->element, .op = MARCH_OPS_MAX, .expected = *expected, .actual = *actual,
        };

        a->pass->outcomes[a->part].mismatches++;
        memcpy(mismatch.at, at, sizeof(mismatch.at));
        return a->pass->found(&mismatch, a->pass->userdata);
}

/* The next record is of read OP. One that is not expected came from what the element wanted: the cells are bad. Returns whether it
 * is as it should be. */
static int judge_record(const Answer *a, const WireMismatch *record, unsigned op) {
        MemoryData held = field_data(a, record->at, a->trial->held[op]), actual;

        memcpy(actual.bytes, record->actual, sizeof(actual.bytes));
        if (a->trial->expected >> op & 1)
                return memcmp(&held, &actual, sizeof(held)) == 0;
        return found(a, record->at, &held, &actual);
}

static int judge_access(Answer *a, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        const WireMarch *march = &a->trial->march;
        uint32_t missing = 0;
        int r;

        for (unsigned op = 0; op < march->n_ops; op++) {
                const WireMismatch *record = a->at < a->answer->n ? &a->answer->mismatches[a->at] : NULL;

                if (record && record->op == op && !(march->ops[op] & MARCH_WRITE) &&
                    memcmp(record->at, at, sizeof(record->at)) == 0) {
                        a->at++;
                        r = judge_record(a, record, op);
                        if (r < 0)
                                return r;
                        missing |= r > 0 ? 0 : a->trial->expected & UINT32_C(1) << op;
                } else
                        missing |= a->trial->expected & UINT32_C(1) << op;
        }

        a->pass->n_planted++;
        if (missing) {
                unsigned op = (unsigned) __builtin_ctz(missing);
                MarchDoubt doubt = {
                        .part = a->part, .element = a->element, .op = op, .data = march_data_of(march->ops[op]),
                        .told = true, .trial = true, .planted = field_data(a, at, a->trial->held[op]),
                };

                memcpy(doubt.at, at, sizeof(doubt.at));
                march_doubt(a->pass, &doubt);
        } else
                a->pass->n_returned++;
        return 0;
}

int march_trial_judge(const MarchTrial *trial, MarchPass *pass, MemoryBatch *batch, unsigned part, unsigned element) {
        const WireBox *box = &trial->boxes[part];
        MemoryAnswer answer;
        Answer a = { .trial = trial, .pass = pass, .part = part, .element = element, .answer = &answer };
        uint64_t n;
        int r;

        if (!trial->expected)
                return 0;

        answer = memory_batch_answer(batch, trial->numbers[part]);
        n = memory_box_accesses(box);
        if (answer.accesses != n)
                march_pass_lie(pass, part, "visited %" PRIu64 " accesses of %" PRIu64, answer.accesses, n);

        /* Only channels move, and they move slowest. */
        for (uint64_t i = 0; i < n; i++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                memcpy(at, box->first, sizeof(at));
                at[HBM_CHANNEL] = (uint16_t) (at[HBM_CHANNEL] + (trial->march.descending ? n - 1 - i : i));
                r = judge_access(&a, at);
                if (r < 0)
                        return r;
        }

        /* A broken cell may add to what the list has room for; what is in the list must stand in its place. */
        if (a.at != answer.n || answer.total < answer.n)
                march_pass_lie(pass, part, "record %zu of %" PRIu64 " of a trial of element %u cannot be", a.at, answer.total,
                               element);
        return 0;
}
