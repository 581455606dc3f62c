/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/trials.h"

#include <inttypes.h>
#include <string.h>

#include "checks/memory/march/answers.h"
#include "checks/memory/march/doubts.h"
#include "checks/memory/march/plants.h"

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
                /* Reads that should be silent need room too: what a broken lane adds must not push out what is expected. */
                march.mismatches_max = (uint32_t) memory_box_accesses(&march.box) * march.n_ops;
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

/* The record of read OP, which is the next; NULL where nothing was reported. */
static const WireMismatch *take_record(Answer *a, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned op) {
        const WireMismatch *record = a->at < a->answer->n ? &a->answer->mismatches[a->at] : NULL;

        if (!record || record->op != op || a->trial->march.ops[op] & MARCH_WRITE || memcmp(record->at, at, sizeof(record->at)) != 0)
                return NULL;
        a->at++;
        return record;
}

/* Read OP is not as it should be: the first of the access is doubted. */
static void doubt_read(const Answer *a, const WireMismatch *record, unsigned op, MarchDoubt *doubt) {
        doubt->op = op;
        doubt->data = march_data_of(a->trial->march.ops[op]);
        doubt->planted = field_data(a, doubt->at, a->trial->held[op]);
        doubt->heard = record;
        if (record)
                memcpy(doubt->actual.bytes, record->actual, sizeof(doubt->actual.bytes));
}

static int judge_access(Answer *a, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        MarchDoubt doubt = { .part = a->part, .element = a->element, .told = true, .trial = true };
        bool doubted = false;
        int r;

        memcpy(doubt.at, at, sizeof(doubt.at));
        for (unsigned op = 0; op < a->trial->march.n_ops; op++) {
                const WireMismatch *record = take_record(a, at, op);
                MemoryData held = field_data(a, at, a->trial->held[op]), actual;

                if (record)
                        memcpy(actual.bytes, record->actual, sizeof(actual.bytes));
                if (a->trial->expected >> op & 1) {
                        if (!doubted && (!record || memcmp(&held, &actual, sizeof(held)) != 0)) {
                                doubt_read(a, record, op, &doubt);
                                doubted = true;
                        }
                } else if (record) {
                        /* It came from what the element wanted: the cells are bad. */
                        r = found(a, at, &held, &actual);
                        if (r < 0)
                                return r;
                }
        }

        a->pass->totals.planted++;
        a->pass->totals.returned += !doubted;
        if (doubted)
                march_doubt(a->pass, &doubt);
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
                march_outcome_lie(&pass->outcomes[part], "visited %" PRIu64 " accesses of %" PRIu64, answer.accesses, n);

        /* Only channels move, and they move slowest. */
        for (uint64_t i = 0; i < n; i++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                memcpy(at, box->first, sizeof(at));
                at[HBM_CHANNEL] = (uint16_t) (at[HBM_CHANNEL] + (trial->march.descending ? n - 1 - i : i));
                r = judge_access(&a, at);
                if (r < 0)
                        return r;
        }

        /* There was room for every read: all must be listed, each in its place. */
        if (a.at != answer.n || answer.total != answer.n)
                march_outcome_lie(&pass->outcomes[part], "record %zu of %" PRIu64 " of a trial of element %u cannot be", a.at,
                                  answer.total, element);
        return 0;
}
