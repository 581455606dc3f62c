/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/doubts.h"

#include <string.h>

#include "checks/memory/march/answers.h"
#include "checks/memory/march/plants.h"
#include "checks/memory/march/trials.h"

#define TRIALS       24u /* one of memory that comes and goes looks like a blind comparator with p <= 1/4 */
#define TRIALS_BLIND 3u /* of them make it worth TRIALS_SURE to know whether the comparator is blind now and then */
#define TRIALS_SURE  240u /* memory gave everything back: one that is wrong in 1/20 of the reads does so in 5 of a million, in 1/50 in 8 of a thousand */
#define BLIND_MAX    16u /* of one part: enough to say so */

void march_doubt(MarchPass *pass, const MarchDoubt *doubt) {
        /* What is dropped still has not come back: plants and returns differ. */
        if (pass->n_doubts < MARCH_DOUBTS_MAX)
                pass->doubts[pass->n_doubts++] = *doubt;
}

typedef enum Trial {
        TRIAL_SEEN,  /* planted and reported */
        TRIAL_LOST,  /* memory does not give it back */
        TRIAL_BLIND, /* memory gives it back, and it was not reported */
} Trial;

typedef struct Attempt {
        const MarchPass *pass;
        const MarchDoubt *doubt;
        MemoryBatch *batch;
        WireBox box;
        WireMarch march; /* whose answer is wanted */
        int marched, copied;
} Attempt;

static int add_march(const Attempt *attempt, const WireMarch *march, unsigned n_ops, uint32_t mismatches_max) {
        WireMarch some = *march;

        some.box = attempt->box;
        some.n_ops = (uint8_t) n_ops;
        some.mismatches_max = mismatches_max;
        return memory_batch_march(attempt->batch, &attempt->pass->parts[attempt->doubt->part], &some);
}

static int add_copy_out(Attempt *attempt) {
        attempt->copied = memory_batch_copy_out(attempt->batch, &attempt->pass->parts[attempt->doubt->part], &attempt->box,
                                                attempt->pass->ecc);
        return attempt->copied;
}

/* Copied in, read back, and read by the element up to its first write. */
static int add_plant(Attempt *attempt, const WireMarch *like) {
        const MarchDoubt *doubt = attempt->doubt;
        int r;

        r = memory_batch_copy_in(attempt->batch, &attempt->pass->parts[doubt->part], &attempt->box, attempt->pass->ecc,
                                 doubt->planted.bytes, sizeof(doubt->planted.bytes));
        if (r < 0)
                return r;
        attempt->march = *like;
        attempt->march.n_ops = (uint8_t) (doubt->op + 1);
        r = add_march(attempt, like, doubt->op + 1, doubt->op + 1);
        if (r < 0)
                return r;
        attempt->marched = r;
        return add_copy_out(attempt);
}

/* The trial again, and before it, what memory gives where the doubted read stands. */
static int add_trial(Attempt *attempt, const WireMarch *like) {
        MarchTrial trial;
        WireMarch left;
        int r;

        march_trial_init(&trial, like);
        attempt->march = left = trial.march;
        left.ops[0] = (uint8_t) (MARCH_WRITE | (trial.left ? MARCH_DATA : 0));

        r = add_march(attempt, &left, 1, 0);
        if (r >= 0 && attempt->doubt->op > 0)
                r = add_march(attempt, &trial.march, attempt->doubt->op, 0);
        if (r >= 0)
                r = add_copy_out(attempt);
        if (r >= 0)
                r = add_march(attempt, &left, 1, 0);
        if (r < 0)
                return r;

        r = add_march(attempt, &trial.march, trial.march.n_ops, trial.march.n_ops);
        attempt->marched = r;
        return r;
}

/* Reported, and with the data that memory gives. */
static bool reports(const Attempt *attempt, const MemoryAnswer *answer) {
        for (size_t i = 0; i < answer->n; i++)
                if (answer->mismatches[i].op == attempt->doubt->op &&
                    memcmp(answer->mismatches[i].actual, attempt->doubt->planted.bytes, MEMORY_ACCESS_BYTES) == 0)
                        return true;
        return false;
}

static int try_doubt(MarchPass *pass, const MarchDoubt *doubt, MemoryBatch *batch, Trial *ret, MemoryData *ret_actual) {
        Attempt attempt = { .pass = pass, .doubt = doubt, .batch = batch, .box = memory_access_box(doubt->at) };
        WireMarch like = march_pass_command(pass, doubt->element);
        MemoryAnswer answer;
        int r;

        memory_batch_reset(batch);
        r = doubt->trial ? add_trial(&attempt, &like) : add_plant(&attempt, &like);
        if (r < 0)
                return r;
        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        march_answers_check(batch, pass->parts, pass->n_parts, pass->outcomes);
        answer = memory_batch_answer(batch, attempt.copied);
        memcpy(ret_actual->bytes, answer.data, sizeof(ret_actual->bytes));
        answer = memory_batch_answer(batch, attempt.marched);
        if (memcmp(ret_actual, &doubt->planted, sizeof(doubt->planted)) != 0)
                *ret = TRIAL_LOST;
        else
                *ret = reports(&attempt, &answer) ? TRIAL_SEEN : TRIAL_BLIND;
        return 0;
}

/* Whether another trial is needed after N of them, of which N_BLIND were blind. SILENT: the march gave a list that was complete, and did not
 * tell the doubted read, so the comparator was blind then or memory gave what was wanted, maybe for that once. */
static bool needs_trial(Trial last, bool silent, unsigned n, unsigned n_blind) {
        if (last == TRIAL_LOST || (last == TRIAL_SEEN && !silent))
                return false;
        return n < TRIALS || (n < TRIALS_SURE && n_blind < n && n_blind >= TRIALS_BLIND);
}

static int settle_doubt(MarchPass *pass, const MarchDoubt *doubt, MemoryBatch *batch) {
        MarchOutcome *outcome = &pass->outcomes[doubt->part];
        MarchMismatch mismatch = {
                .part     = doubt->part,
                .element  = doubt->element,
                .op       = doubt->trial ? MARCH_OPS_MAX : doubt->op,
                .expected = doubt->planted,
        };
        bool silent = doubt->told && !doubt->heard;
        unsigned n = 0, n_blind = 0;
        Trial trial;

        do {
                int r = try_doubt(pass, doubt, batch, &trial, &mismatch.actual);

                if (r < 0)
                        return r;
                n++;
                n_blind += trial == TRIAL_BLIND;
        } while (needs_trial(trial, silent, n, n_blind));

        if (trial != TRIAL_LOST && (n_blind == n || (silent && n_blind >= TRIALS_BLIND))) {
                if (outcome->n_blind++ == 0)
                        memcpy(outcome->blind_at, doubt->at, sizeof(doubt->at));
                return 0;
        }

        /* Seen now: behind the end of the list it was seen before, too. Else memory gave what was heard, or the background. */
        if (trial == TRIAL_SEEN && !doubt->told && !doubt->heard) {
                pass->totals.returned++;
                return 0;
        }
        if (trial != TRIAL_LOST)
                mismatch.actual = doubt->heard ? doubt->actual :
                                                 memory_field_data(&pass->field, &pass->geometry, doubt->at, doubt->data);

        outcome->mismatches++;
        memcpy(mismatch.at, doubt->at, sizeof(mismatch.at));
        return pass->found(&mismatch, pass->userdata);
}

int march_doubts_settle(MarchPass *pass, MemoryBatch *batch) {
        int r;

        for (unsigned i = 0; i < pass->n_doubts; i++) {
                if (pass->outcomes[pass->doubts[i].part].n_blind >= BLIND_MAX)
                        continue;
                r = settle_doubt(pass, &pass->doubts[i], batch);
                if (r < 0)
                        return r;
        }

        pass->n_doubts = 0;
        return 0;
}
