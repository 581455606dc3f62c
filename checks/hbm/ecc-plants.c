/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/ecc.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#define WIDTH        4u /* accesses of a box, in channels next to each other */
#define PLACES       8u /* that are tried until one reads right */
#define TRIALS       3u
#define SYMBOL_BYTES 2u
#define SYMBOLS      (MEMORY_ACCESS_BYTES / SYMBOL_BYTES)
#define USE_PLACE    UINT64_C(0x656363)

enum {
        SINGLE, /* one symbol is wrong */
        DOUBLE,
        _ERRORS,
};

/* The accesses of one kind in one stack. */
typedef struct Plants {
        WireBox box;
        unsigned n;
        MemoryData good[WIDTH], planted[WIDTH];
        int raw, ecc;  /* numbers in the batch */
        bool readable; /* they read right before anything was planted */
} Plants;

typedef struct Trial {
        HbmRun *run;
        MemoryField field;
        Plants plants[STACKS][_ERRORS];
        HbmEccCounts before[STACKS], raw[STACKS], after[STACKS];
        bool doubles; /* are planted */
} Trial;

static WireMarch march_of(const Trial *trial, const Plants *plants, uint8_t op, bool ecc) {
        return (WireMarch) {
                .box            = plants->box,
                .background     = (uint8_t) trial->field.background,
                .seed           = trial->field.seed,
                .ecc            = ecc,
                .n_ops          = 1,
                .ops            = { op },
                .mismatches_max = op & MARCH_WRITE ? 0 : plants->n,
        };
}

static int add_march(const Trial *trial, unsigned stack, const Plants *plants, uint8_t op, bool ecc) {
        WireMarch march = march_of(trial, plants, op, ecc);

        return memory_batch_march(trial->run->batch, &trial->run->parts[stack], &march);
}

/* One place in some channels, of which the seed and ATTEMPT decide; kinds lie in different columns or rows. */
static void choose(const Trial *trial, Plants *plants, unsigned stack, unsigned kind, unsigned attempt) {
        const HbmRun *run = trial->run;
        uint64_t hash = memory_mix(step_seed(run->step) ^ (USE_PLACE << 32 | stack << 16 | kind << 12 | attempt));
        unsigned n_channels = run->box.last[HBM_CHANNEL] - run->box.first[HBM_CHANNEL] + 1u, width = MIN(WIDTH, n_channels);
        uint16_t at[_MEMORY_AXIS_MAX];

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                hash = memory_mix(hash);
                at[axis] = (uint16_t) (run->box.first[axis] +
                                       (hash >> 32) % (run->box.last[axis] - run->box.first[axis] + 1u));
        }
        at[HBM_CHANNEL] = (uint16_t) MIN(at[HBM_CHANNEL], run->box.last[HBM_CHANNEL] + 1u - width);

        plants->box = memory_access_box(at);
        plants->box.last[HBM_CHANNEL] = (uint16_t) (at[HBM_CHANNEL] + width - 1);
        plants->n = width;

        for (unsigned i = 0; i < width; i++, at[HBM_CHANNEL]++) {
                uint16_t error;
                unsigned symbol, other;

                hash = memory_mix(hash);
                error = (uint16_t) (hash % UINT16_MAX + 1);
                symbol = (unsigned) (hash >> 32) % SYMBOLS;
                other = (symbol + 1 + (unsigned) (hash >> 40) % (SYMBOLS - 1)) % SYMBOLS;

                plants->good[i] = plants->planted[i] = memory_field_data(&trial->field, &run->geometry, at, 0);
                for (unsigned byte = 0; byte < SYMBOL_BYTES; byte++) {
                        plants->planted[i].bytes[SYMBOL_BYTES * symbol + byte] ^= (uint8_t) (error >> (8 * byte));
                        if (kind == DOUBLE)
                                plants->planted[i].bytes[SYMBOL_BYTES * other + byte] ^= (uint8_t) (error >> (8 * byte));
                }
        }
}

/* Good data everywhere, and whether they read so both ways. */
static int prepare(Trial *trial, unsigned attempt) {
        MemoryBatch *batch = trial->run->batch;
        int r = 0;

        memory_batch_reset(batch);
        for (unsigned i = 0; r >= 0 && i < STACKS * _ERRORS; i++) {
                unsigned stack = i / _ERRORS;
                Plants *plants = &trial->plants[stack][i % _ERRORS];

                if (plants->readable)
                        continue;
                choose(trial, plants, stack, i % _ERRORS, attempt);
                r = add_march(trial, stack, plants, MARCH_WRITE, true);
                if (r >= 0)
                        r = plants->raw = add_march(trial, stack, plants, 0, false);
                if (r >= 0)
                        r = plants->ecc = add_march(trial, stack, plants, 0, true);
        }
        if (r >= 0)
                r = memory_batch_run(batch);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < STACKS * _ERRORS; i++) {
                Plants *plants = &trial->plants[i / _ERRORS][i % _ERRORS];

                if (!plants->readable)
                        plants->readable = memory_batch_answer(batch, plants->raw).total == 0 &&
                                           memory_batch_answer(batch, plants->ecc).total == 0;
        }
        return 0;
}

static bool wants(const Trial *trial, const Plants *plants, unsigned kind) {
        return plants->readable && (kind == SINGLE || trial->doubles);
}

/* Plants (or with ECC reads what was planted) in one batch. */
static int run_batch(Trial *trial, bool ecc) {
        MemoryBatch *batch = trial->run->batch;
        int r = 0;

        memory_batch_reset(batch);
        for (unsigned i = 0; r >= 0 && i < STACKS * _ERRORS; i++) {
                unsigned stack = i / _ERRORS;
                Plants *plants = &trial->plants[stack][i % _ERRORS];

                if (!wants(trial, plants, i % _ERRORS))
                        continue;
                if (!ecc)
                        r = memory_batch_plant(batch, &trial->run->parts[stack], &plants->box, plants->planted,
                                               plants->n * sizeof(MemoryData));
                if (r >= 0)
                        r = add_march(trial, stack, plants, 0, ecc);
                if (ecc)
                        plants->ecc = r;
                else
                        plants->raw = r;
        }

        return r < 0 ? r : memory_batch_run(batch);
}

/* Accesses of a box that one reading reported, with what was planted where DATA. */
static unsigned n_reported(const Trial *trial, const Plants *plants, int number, bool data) {
        MemoryAnswer answer = memory_batch_answer(trial->run->batch, number);
        unsigned n = 0;

        for (unsigned i = 0; i < plants->n; i++)
                for (size_t k = 0; k < answer.n; k++) {
                        const WireMismatch *mismatch = &answer.mismatches[k];

                        if (mismatch->at[HBM_CHANNEL] != plants->box.first[HBM_CHANNEL] + i)
                                continue;
                        n += !data || memcmp(mismatch->actual, plants->planted[i].bytes, sizeof(mismatch->actual)) == 0;
                        break;
                }
        return n;
}

static void judge_raw(Trial *trial, unsigned stack) {
        for (unsigned kind = 0; kind < _ERRORS; kind++) {
                const Plants *plants = &trial->plants[stack][kind];
                unsigned n;

                if (!wants(trial, plants, kind))
                        continue;
                n = n_reported(trial, plants, plants->raw, true);
                trial->run->tally.ecc_planted += plants->n;
                if (n < plants->n)
                        hbm_ecc_lie(trial->run, stack, plants->n - n,
                                    "%u of %u planted errors do not show in reads beside ECC", plants->n - n, plants->n);
        }
}

/* How many counts there are between the two. Saturated or cleared meanwhile: as many as could be told. */
static uint64_t counted(uint64_t before, uint64_t after) {
        return after > before ? after - before : 0;
}

static void judge_counts(Trial *trial, unsigned stack, unsigned n_single, unsigned n_double) {
        const HbmEccCounts *before = &trial->before[stack], *raw = &trial->raw[stack], *after = &trial->after[stack];
        uint64_t corrected = counted(raw->corrected, after->corrected);
        uint64_t uncorrected = counted(raw->uncorrected, after->uncorrected) + counted(raw->repairable, after->repairable);

        trial->run->tally.ecc_corrected += corrected;
        trial->run->tally.ecc_uncorrected += uncorrected;

        if (memcmp(before, raw, sizeof(*before)) != 0)
                hbm_ecc_lie(trial->run, stack, 1, "reads beside ECC moved its counters");
        if (corrected != n_single && raw->corrected + n_single <= UINT16_MAX)
                hbm_ecc_lie(trial->run, stack, n_single, "%u errors of one symbol were planted, %" PRIu64 " counted as corrected",
                            n_single, corrected);
        if (uncorrected != n_double)
                hbm_ecc_lie(trial->run, stack, n_double,
                            "%u errors of two symbols were planted, %" PRIu64 " counted as uncorrected", n_double, uncorrected);
}

static void judge_stack(Trial *trial, unsigned stack) {
        unsigned expected[_ERRORS] = {}, wrong;

        for (unsigned kind = 0; kind < _ERRORS; kind++)
                if (wants(trial, &trial->plants[stack][kind], kind))
                        expected[kind] = trial->plants[stack][kind].n;

        if (expected[SINGLE] > 0) {
                wrong = n_reported(trial, &trial->plants[stack][SINGLE], trial->plants[stack][SINGLE].ecc, false);
                if (wrong > 0)
                        hbm_ecc_lie(trial->run, stack, wrong, "%u of %u errors of one symbol were not corrected", wrong,
                                    expected[SINGLE]);
        }
        if (expected[DOUBLE] > 0) {
                wrong = expected[DOUBLE] - n_reported(trial, &trial->plants[stack][DOUBLE], trial->plants[stack][DOUBLE].ecc, false);
                if (wrong > 0)
                        hbm_ecc_lie(trial->run, stack, wrong, "%u of %u errors of two symbols read as if they were right", wrong,
                                    expected[DOUBLE]);
        }
        judge_counts(trial, stack, expected[SINGLE], expected[DOUBLE]);
}

/* What is planted is written over. */
static int restore(Trial *trial) {
        int r;

        memory_batch_reset(trial->run->batch);
        for (unsigned i = 0; i < STACKS * _ERRORS; i++) {
                r = add_march(trial, i / _ERRORS, &trial->plants[i / _ERRORS][i % _ERRORS], MARCH_WRITE, true);
                if (r < 0)
                        return r;
        }
        return memory_batch_run(trial->run->batch);
}

static int run_trial(Trial *trial) {
        HbmRun *run = trial->run;
        int r;

        r = hbm_ecc_read_counts(run, trial->before);
        if (r < 0)
                return r;
        trial->doubles = true;
        for (unsigned stack = 0; stack < STACKS; stack++)
                trial->doubles &= trial->before[stack].uncorrected == 0 && trial->before[stack].repairable == 0;

        r = run_batch(trial, false);
        if (r < 0)
                return r;
        for (unsigned stack = 0; stack < STACKS; stack++)
                judge_raw(trial, stack);
        r = hbm_ecc_read_counts(run, trial->raw);
        if (r < 0)
                return r;

        r = run_batch(trial, true);
        if (r < 0)
                return r;
        r = hbm_ecc_read_counts(run, trial->after);
        if (r < 0)
                return r;
        for (unsigned stack = 0; stack < STACKS; stack++)
                judge_stack(trial, stack);

        r = restore(trial);
        return r < 0 ? r : hbm_ecc_clear_counts(run);
}

static int try_plants(HbmRun *run, unsigned number) {
        Trial trial = {
                .run   = run,
                .field = { MEMORY_BACKGROUND_ADDRESS, 0, memory_mix(step_seed(run->step) ^ (USE_PLACE + number)) },
        };
        unsigned n_readable = 0;

        for (unsigned attempt = 0; attempt < PLACES && n_readable < STACKS * _ERRORS; attempt++) {
                int r = prepare(&trial, PLACES * number + attempt);

                if (r < 0)
                        return r;
                n_readable = 0;
                for (unsigned i = 0; i < STACKS * _ERRORS; i++)
                        n_readable += trial.plants[i / _ERRORS][i % _ERRORS].readable;
        }

        return run_trial(&trial);
}

static bool lies(const HbmRun *run) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                if (run->ecc_lies[stack].n > 0)
                        return true;
        return false;
}

/* An error that is none of ours may be counted meanwhile, once; ECC that lies does so each time. */
int hbm_ecc_run_plants(HbmRun *run) {
        HbmTally before = run->tally;
        int r = 0;

        for (unsigned i = 0; r >= 0 && i < TRIALS && (i == 0 || lies(run)); i++) {
                memset(run->ecc_lies, 0, sizeof(run->ecc_lies));
                run->tally = before;
                r = try_plants(run, i);
        }

        return r;
}
