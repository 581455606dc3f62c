/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/freshness.h"

#include <string.h>
#include <sys/param.h>

#include "checks/memory/march/answers.h"
#include "checks/memory/march/plants.h"
#include "checks/text/cleanup.h"

#define USE_FRESH UINT64_C(0x66726573)

enum {
        COPIED,  /* in first */
        CHANGED, /* copied in over it */
        MARCHED, /* written over that */
        _CONTENTS,
};

typedef struct Question {
        unsigned content; /* that must come back */
        bool march;       /* reported by a march, else copied out */
        int number;       /* in the batch */
} Question;

/* Of one part. */
typedef struct Inquiry {
        MarchPass *pass;
        MemoryBatch *batch;
        unsigned part;
        WireBox box;
        unsigned n;
        MemoryField fields[_CONTENTS];
        Question questions[2 * _CONTENTS];
        unsigned n_questions;
} Inquiry;

static MemoryData content(const Inquiry *inquiry, unsigned which, unsigned i) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memcpy(at, inquiry->box.first, sizeof(at));
        at[HBM_CHANNEL] = (uint16_t) (at[HBM_CHANNEL] + i);
        return memory_field_data(&inquiry->fields[which], &inquiry->pass->geometry, at, 0);
}

static int copy_in(Inquiry *inquiry, unsigned which) {
        MemoryData data[MARCH_WIDTH_MAX];

        for (unsigned i = 0; i < inquiry->n; i++)
                data[i] = content(inquiry, which, i);
        return memory_batch_copy_in(inquiry->batch, &inquiry->pass->parts[inquiry->part], &inquiry->box, inquiry->pass->ecc, data,
                                    inquiry->n * sizeof(MemoryData));
}

/* One operation on the background of MARCHED. */
static int march(Inquiry *inquiry, uint8_t op) {
        WireMarch command = {
                .box            = inquiry->box,
                .background     = (uint8_t) inquiry->fields[MARCHED].background,
                .seed           = inquiry->fields[MARCHED].seed,
                .ecc            = inquiry->pass->ecc,
                .n_ops          = 1,
                .ops            = { op },
                .mismatches_max = op & MARCH_WRITE ? 0 : inquiry->n,
        };

        return memory_batch_march(inquiry->batch, &inquiry->pass->parts[inquiry->part], &command);
}

/* A march reports what it reads where it wants something else. */
static int ask(Inquiry *inquiry, unsigned which, bool by_march) {
        Question *question = &inquiry->questions[inquiry->n_questions];
        int r;

        r = by_march ? march(inquiry, which == MARCHED ? MARCH_DATA : 0)
                     : memory_batch_copy_out(inquiry->batch, &inquiry->pass->parts[inquiry->part], &inquiry->box,
                                             inquiry->pass->ecc);
        if (r < 0)
                return r;

        *question = (Question) { .content = which, .march = by_march, .number = r };
        inquiry->n_questions++;
        return 0;
}

static int inquire(Inquiry *inquiry) {
        int r;

        r = copy_in(inquiry, COPIED);
        if (r >= 0)
                r = ask(inquiry, COPIED, false);
        if (r >= 0)
                r = ask(inquiry, COPIED, true);
        if (r >= 0)
                r = copy_in(inquiry, CHANGED);
        if (r >= 0)
                r = ask(inquiry, CHANGED, false);
        if (r >= 0)
                r = ask(inquiry, CHANGED, true);
        if (r >= 0)
                r = march(inquiry, MARCH_WRITE);
        if (r >= 0)
                r = ask(inquiry, MARCHED, false);
        return r < 0 ? r : ask(inquiry, MARCHED, true);
}

/* What was read of access I; false where it was not told. */
static bool answer_of(const Inquiry *inquiry, const Question *question, unsigned i, MemoryData *ret) {
        MemoryAnswer answer = memory_batch_answer(inquiry->batch, question->number);
        uint16_t at[_MEMORY_AXIS_MAX];

        if (!question->march) {
                memcpy(ret->bytes, answer.data + i * MEMORY_ACCESS_BYTES, MEMORY_ACCESS_BYTES);
                return true;
        }

        memcpy(at, inquiry->box.first, sizeof(at));
        at[HBM_CHANNEL] = (uint16_t) (at[HBM_CHANNEL] + i);
        for (size_t k = 0; k < answer.n; k++)
                if (answer.mismatches[k].op == 0 && memcmp(answer.mismatches[k].at, at, sizeof(at)) == 0) {
                        memcpy(ret->bytes, answer.mismatches[k].actual, MEMORY_ACCESS_BYTES);
                        return true;
                }
        return false;
}

static bool is_stale(const Inquiry *inquiry, unsigned i) {
        for (unsigned q = 0; q < inquiry->n_questions; q++) {
                const Question *question = &inquiry->questions[q];
                MemoryData got;

                if (!answer_of(inquiry, question, i, &got))
                        continue;
                for (unsigned earlier = 0; earlier < question->content; earlier++) {
                        MemoryData old = content(inquiry, earlier, i);

                        if (memcmp(&got, &old, sizeof(got)) == 0)
                                return true;
                }
        }

        return false;
}

/* Answers that are missing or other than what must come back. */
static unsigned count_wrong(const Inquiry *inquiry) {
        unsigned n = 0;

        for (unsigned q = 0; q < inquiry->n_questions; q++)
                for (unsigned i = 0; i < inquiry->n; i++) {
                        const Question *question = &inquiry->questions[q];
                        MemoryData good = content(inquiry, question->content, i), got;

                        n += !answer_of(inquiry, question, i, &got) || memcmp(&got, &good, sizeof(got)) != 0;
                }
        return n;
}

static void judge(const Inquiry *inquiry) {
        MarchOutcome *outcome = &inquiry->pass->outcomes[inquiry->part];
        unsigned n = 0, first = 0;

        /* Cells that the passes will find; but where they find nothing this is no pass. */
        inquiry->pass->totals.wrong += count_wrong(inquiry);

        for (unsigned i = 0; i < inquiry->n; i++)
                if (is_stale(inquiry, i) && n++ == 0)
                        first = i;

        /* Fewer are single rows that take no writes. */
        if (2 * n < inquiry->n || n == 0)
                return;
        if (outcome->n_stale == 0) {
                memcpy(outcome->stale_at, inquiry->box.first, sizeof(outcome->stale_at));
                outcome->stale_at[HBM_CHANNEL] = (uint16_t) (outcome->stale_at[HBM_CHANNEL] + first);
        }
        outcome->n_stale += n;
}

static int begin(Inquiry *inquiry, MarchPass *pass, MemoryBatch *batch, unsigned part, WireBox box) {
        *inquiry = (Inquiry) {
                .pass = pass, .batch = batch, .part = part, .box = box, .n = (unsigned) memory_box_accesses(&box),
        };
        for (unsigned i = 0; i < _CONTENTS; i++)
                inquiry->fields[i] = (MemoryField) { .background = MEMORY_BACKGROUND_ADDRESS,
                                                     .seed = memory_mix(pass->seed ^ (USE_FRESH + i)) };
        return inquire(inquiry);
}

int march_freshness_run(MarchPass *pass, MemoryBatch *batch) {
        Inquiry inquiries[MARCH_PARTS_MAX];
        int r;

        memory_batch_reset(batch);
        pass->width = MARCH_WIDTH_MAX;

        for (unsigned part = 0; part < pass->n_parts; part++) {
                r = begin(&inquiries[part], pass, batch, part, march_choose_box(pass, USE_FRESH, part, 0));
                if (r < 0)
                        return r;
        }

        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        march_answers_check(batch, pass->parts, pass->n_parts, pass->outcomes);
        for (unsigned part = 0; part < pass->n_parts; part++)
                judge(&inquiries[part]);
        return 0;
}

int march_freshness_ask(MarchPass *pass, MemoryBatch *batch, unsigned part, const WireBox *box, unsigned *ret_asked,
                        unsigned *ret_stale) {
        unsigned n = (unsigned) MIN(memory_box_accesses(box), (uint64_t) MARCH_FRESHNESS_PLACES), n_stale = 0;
        Inquiry inquiries[MARCH_FRESHNESS_PLACES];
        MarchPass within = *pass;
        int r;

        within.box = *box;
        memory_batch_reset(batch);
        for (unsigned i = 0; i < n; i++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                march_choose(&within, USE_FRESH, i, at);
                r = begin(&inquiries[i], pass, batch, part, memory_access_box(at));
                if (r < 0)
                        return r;
        }

        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < n; i++)
                n_stale += is_stale(&inquiries[i], 0);
        *ret_asked = n;
        *ret_stale = n_stale;
        return 0;
}
