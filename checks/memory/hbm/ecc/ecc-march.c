/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/ecc/ecc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define ATTEMPTS     10u /* once readings differ: errors that come and go make them do so, ECC that lies does it each time */
#define SETTLING     2u  /* readings before those that count, then: a cell that reading turns over shows in the next one */
#define SYMBOL_BYTES 2u

/* What one stack showed in one attempt. */
typedef struct Reading {
        MemoryAnswer raw, ecc;
        int number;
        uint64_t n_corrected; /* accesses that were wrong beside ECC and right through it */
        uint64_t n_single;    /* wrong in one symbol beside ECC, and wrong through it */
        uint64_t n_new;       /* wrong through ECC alone */
} Reading;

typedef struct Attempt {
        HbmRun *run;
        const HbmPass *pass;
        int (*found)(const MarchMismatch *mismatch, void *userdata);
        unsigned data;
        uint32_t list_max;
        WireMismatch *lists[STACKS]; /* of the raw reading */
        Reading readings[STACKS];
        HbmEccCounts before[STACKS + 1], after[STACKS + 1];
} Attempt;

static WireMarch march_of(const Attempt *attempt, bool write, bool ecc) {
        return (WireMarch) {
                .box            = attempt->run->box,
                .background     = (uint8_t) attempt->pass->field.background,
                .parameter      = attempt->pass->field.parameter,
                .seed           = attempt->pass->field.seed,
                .ecc            = ecc,
                .n_ops          = 1,
                .ops            = { (uint8_t) ((write ? MARCH_WRITE : 0) | (attempt->data ? MARCH_DATA : 0)) },
                .mismatches_max = write ? 0 : attempt->list_max,
        };
}

static int read_all(Attempt *attempt, bool write, bool ecc) {
        HbmRun *run = attempt->run;
        int r;

        memory_batch_reset(run->batch);
        for (unsigned stack = 0; stack < STACKS; stack++) {
                WireMarch march = march_of(attempt, true, false);

                if (write) {
                        r = memory_batch_march(run->batch, &run->parts[stack], &march);
                        if (r < 0)
                                return r;
                }
                march = march_of(attempt, false, ecc);
                r = memory_batch_march(run->batch, &run->parts[stack], &march);
                if (r < 0)
                        return r;
                attempt->readings[stack].number = r;
        }
        return hbm_ecc_run_batch(run);
}

/* The batch forgets its answers with the next run. */
static int keep_raw(Attempt *attempt, unsigned stack) {
        Reading *reading = &attempt->readings[stack];

        reading->raw = memory_batch_answer(attempt->run->batch, reading->number);
        free(attempt->lists[stack]);
        attempt->lists[stack] = NULL;
        if (reading->raw.n == 0)
                return 0;

        attempt->lists[stack] = reallocarray(NULL, reading->raw.n, sizeof(WireMismatch));
        if (!attempt->lists[stack])
                return -ENOMEM;
        memcpy(attempt->lists[stack], reading->raw.mismatches, reading->raw.n * sizeof(WireMismatch));
        reading->raw.mismatches = attempt->lists[stack];
        return 0;
}

static MemoryData difference(const Attempt *attempt, const WireMismatch *mismatch) {
        MemoryData data = memory_field_data(&attempt->pass->field, &attempt->run->geometry, mismatch->at, attempt->data);

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                data.bytes[i] ^= mismatch->actual[i];
        return data;
}

static unsigned n_symbols(const MemoryData *bits) {
        unsigned n = 0;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i += SYMBOL_BYTES)
                n += bits->bytes[i] != 0 || bits->bytes[i + 1] != 0;
        return n;
}

/* What the raw reading shows are failures like any. Places that cannot be are a lie of the comparator, told by marches. */
static int tell_raw(const Attempt *attempt, unsigned stack) {
        const Reading *reading = &attempt->readings[stack];
        HbmRun *run = attempt->run;

        run->outcomes[stack].mismatches += reading->raw.total;
        run->outcomes[stack].truncated |= reading->raw.total > reading->raw.n;
        for (size_t i = 0; i < reading->raw.n; i++) {
                const WireMismatch *record = &reading->raw.mismatches[i];
                MarchMismatch mismatch = { .part = stack, .element = 1 };
                int r;

                if (!memory_box_includes(&run->box, record->at))
                        continue;
                memcpy(mismatch.at, record->at, sizeof(mismatch.at));
                mismatch.expected = memory_field_data(&attempt->pass->field, &run->geometry, record->at, attempt->data);
                memcpy(mismatch.actual.bytes, record->actual, sizeof(mismatch.actual.bytes));
                r = attempt->found(&mismatch, run);
                if (r < 0)
                        return r;
        }

        return 0;
}

static uint32_t key_of(const Attempt *attempt, const WireMismatch *mismatch) {
        return memory_geometry_linear(&attempt->run->geometry, mismatch->at);
}

/* Both lists ascend: columns move fastest. */
static void compare(const Attempt *attempt, Reading *reading) {
        size_t i = 0, k = 0;

        reading->n_corrected = reading->n_single = reading->n_new = 0;
        while (i < reading->raw.n || k < reading->ecc.n) {
                uint64_t raw = i < reading->raw.n ? key_of(attempt, &reading->raw.mismatches[i]) : UINT64_MAX;
                uint64_t ecc = k < reading->ecc.n ? key_of(attempt, &reading->ecc.mismatches[k]) : UINT64_MAX;

                if (raw == ecc) {
                        MemoryData bits = difference(attempt, &reading->raw.mismatches[i]);

                        reading->n_single += n_symbols(&bits) == 1;
                }
                reading->n_corrected += raw < ecc;
                reading->n_new += ecc < raw;
                i += raw <= ecc;
                k += ecc <= raw;
        }
}

static uint64_t counted(uint64_t before, uint64_t after) {
        return after > before ? after - before : 0;
}

/* Whether ECC of the stack did and counted what the raw reading foretells. With TELL its first lie is noted. */
static bool is_sound(const Attempt *attempt, unsigned stack, bool tell) {
        const Reading *reading = &attempt->readings[stack];
        const HbmEccCounts *before = &attempt->before[stack], *after = &attempt->after[stack];
        uint64_t corrected = counted(before->corrected, after->corrected);
        uint64_t all = corrected + counted(before->uncorrected, after->uncorrected) + counted(before->repairable, after->repairable);
        bool truncated = reading->raw.total > reading->raw.n || reading->ecc.total > reading->ecc.n;
        struct {
                bool lies;
                uint64_t n;
                const char *what;
        } lies[] = {
                { !truncated && reading->n_single > 0, reading->n_single, "accesses are wrong in one symbol and are not corrected" },
                { !truncated && reading->n_new > 0, reading->n_new, "accesses read wrong through ECC and right beside it" },
                { !truncated && corrected < reading->n_corrected && after->corrected < UINT16_MAX, reading->n_corrected - corrected,
                  "corrections were not counted" },
                { all > reading->raw.total, all - reading->raw.total, "errors were counted that reads beside ECC do not show" },
        };

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                if (!lies[i].lies)
                        continue;
                if (tell)
                        hbm_ecc_lie(attempt->run, stack, lies[i].n, "%" PRIu64 " %s", lies[i].n, lies[i].what);
                return false;
        }

        return true;
}

/* FIRST: not again, to see whether it comes and goes. What raw readings show is told of each. */
static int run_attempt(Attempt *attempt, bool first) {
        int r;

        r = read_all(attempt, true, false);
        for (unsigned i = 0; r >= 0 && !first && i < SETTLING; i++)
                r = read_all(attempt, false, false);
        for (unsigned stack = 0; r >= 0 && stack < STACKS; stack++)
                r = keep_raw(attempt, stack);
        for (unsigned stack = 0; r >= 0 && stack < STACKS; stack++)
                r = tell_raw(attempt, stack);
        if (r >= 0)
                r = hbm_ecc_read_counts(attempt->run, attempt->before);
        if (r >= 0)
                r = read_all(attempt, false, true);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                Reading *reading = &attempt->readings[stack];

                reading->ecc = memory_batch_answer(attempt->run->batch, reading->number);
                compare(attempt, reading);
                if (first)
                        attempt->run->tally.ecc_wrong += reading->ecc.total;
        }
        return hbm_ecc_read_counts(attempt->run, attempt->after);
}

int hbm_ecc_run_march(HbmRun *run, int (*found)(const MarchMismatch *mismatch, void *userdata)) {
        Attempt attempt = { .run = run, .pass = &run->passes[run->pass], .found = found };
        size_t room = device_window_free(step_device(run->step)) / (STACKS + 1) / sizeof(WireMismatch);
        bool lies[STACKS], doubt = true;
        int r = 0;

        attempt.data = attempt.pass->march->elements[0].ops[0] & MARCH_DATA ? 1 : 0;
        attempt.list_max = (uint32_t) MIN((size_t) run->parameters->mismatches, room);
        memset(lies, true, sizeof(lies));

        /* Doubt about one stack is looked at to the end: what comes and goes is to be seen beside ECC, too. */
        for (unsigned i = 0; doubt && i < ATTEMPTS; i++) {
                r = run_attempt(&attempt, i == 0);
                if (r < 0)
                        break;
                for (unsigned stack = 0; stack < STACKS; stack++)
                        lies[stack] &= !is_sound(&attempt, stack, lies[stack] && i == ATTEMPTS - 1);
                if (i == 0)
                        doubt = memchr(lies, true, sizeof(lies)) != NULL;
        }

        for (unsigned stack = 0; stack < STACKS; stack++)
                free(attempt.lists[stack]);
        return r;
}
