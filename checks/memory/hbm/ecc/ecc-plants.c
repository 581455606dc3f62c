/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/ecc/ecc.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#include "checks/port/device-errors.h"

#define WIDTH        4u /* accesses of a box, in channels next to each other */
#define PLACES       8u /* that are tried until one reads right */
#define TRIALS       8u /* where the first one lied */
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

/* Of one stack, besides its lie. */
typedef struct Signs {
        bool foreign; /* beside ECC there were data that nobody wrote: it is memory that fails now and then */
        bool proven;  /* nothing but ECC can have done what was seen */
} Signs;

typedef struct Trial {
        HbmRun *run;
        MemoryField field;
        Plants plants[STACKS][_ERRORS];
        HbmEccCounts before[STACKS + 1], raw[STACKS + 1], after[STACKS + 1];
        bool doubles; /* are planted */
        Signs signs[STACKS + 1];
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
                r = hbm_ecc_run_batch(trial->run);
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

/* Plants, reads raw, with ECC through it too, and writes over what is planted, in one batch: so nobody can leave it behind. */
static int run_batch(Trial *trial, bool ecc) {
        MemoryBatch *batch = trial->run->batch;
        int r = 0;

        memory_batch_reset(batch);
        for (unsigned i = 0; r >= 0 && i < STACKS * _ERRORS; i++) {
                unsigned stack = i / _ERRORS;
                Plants *plants = &trial->plants[stack][i % _ERRORS];

                if (!wants(trial, plants, i % _ERRORS))
                        continue;
                r = memory_batch_plant(batch, &trial->run->parts[stack], &plants->box, plants->planted, plants->n * sizeof(MemoryData));
                if (r >= 0)
                        r = plants->raw = add_march(trial, stack, plants, 0, false);
                if (r >= 0 && ecc)
                        r = plants->ecc = add_march(trial, stack, plants, 0, true);
                if (r >= 0)
                        r = add_march(trial, stack, plants, MARCH_WRITE, true);
        }

        return r < 0 ? r : hbm_ecc_run_batch(trial->run);
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

/* Only where all that was planted was there to be read the rest is proof of anything. */
static void judge_raw(Trial *trial, unsigned stack) {
        Signs *signs = &trial->signs[stack];

        signs->proven = true;
        for (unsigned kind = 0; kind < _ERRORS; kind++) {
                const Plants *plants = &trial->plants[stack][kind];
                unsigned n;

                if (!wants(trial, plants, kind))
                        continue;
                n = n_reported(trial, plants, plants->raw, true);
                trial->run->tally.ecc_planted += plants->n;
                signs->foreign |= n_reported(trial, plants, plants->raw, false) > n;
                signs->proven &= n == plants->n;
                if (n < plants->n)
                        hbm_ecc_lie(trial->run, stack, plants->n - n,
                                    "%u of %u planted errors do not show in reads beside ECC", plants->n - n, plants->n);
        }
}

/* How many counts there are between the two. Saturated or cleared meanwhile: as many as could be told. */
static uint64_t counted(uint64_t before, uint64_t after) {
        return after > before ? after - before : 0;
}

/* Whether fewer errors were counted than there were. */
static bool judge_counts(Trial *trial, unsigned stack, unsigned n_single, unsigned n_double) {
        const HbmEccCounts *before = &trial->before[stack], *raw = &trial->raw[stack], *after = &trial->after[stack];
        uint64_t corrected = counted(raw->corrected, after->corrected);
        uint64_t uncorrected = counted(raw->uncorrected, after->uncorrected) + counted(raw->repairable, after->repairable);
        bool full = raw->corrected + n_single > UINT16_MAX;

        trial->run->tally.ecc_corrected += corrected;
        trial->run->tally.ecc_uncorrected += uncorrected;

        if (memcmp(before, raw, sizeof(*before)) != 0)
                hbm_ecc_lie(trial->run, stack, 1, "reads beside ECC moved its counters");
        if (corrected != n_single && !full)
                hbm_ecc_lie(trial->run, stack, n_single, "%u errors of one symbol were planted, %" PRIu64 " counted as corrected",
                            n_single, corrected);
        if (uncorrected != n_double)
                hbm_ecc_lie(trial->run, stack, n_double,
                            "%u errors of two symbols were planted, %" PRIu64 " counted as uncorrected", n_double, uncorrected);
        return !full && corrected + uncorrected < n_single + n_double;
}

static void judge_stack(Trial *trial, unsigned stack) {
        Plants *single = &trial->plants[stack][SINGLE], *twice = &trial->plants[stack][DOUBLE];
        unsigned n_single = wants(trial, single, SINGLE) ? single->n : 0, n_double = wants(trial, twice, DOUBLE) ? twice->n : 0;
        unsigned wrong = n_single > 0 ? n_reported(trial, single, single->ecc, false) : 0;
        unsigned uncorrected = n_single > 0 ? n_reported(trial, single, single->ecc, true) : 0;
        unsigned hidden = n_double > 0 ? n_double - n_reported(trial, twice, twice->ecc, false) : 0;
        bool foreign = wrong > uncorrected || (n_double > 0 && n_reported(trial, twice, twice->ecc, true) < n_double);
        bool silent = n_double > 0 && memory_batch_answer(trial->run->batch, twice->ecc).status == STATUS_NRT_SUCCESS, missing;

        if (wrong > 0)
                hbm_ecc_lie(trial->run, stack, wrong, "%u of %u errors of one symbol were not corrected", wrong, n_single);
        if (hidden > 0)
                hbm_ecc_lie(trial->run, stack, hidden, "%u of %u errors of two symbols read as if they were right", hidden, n_double);
        if (silent)
                hbm_ecc_lie(trial->run, stack, n_double, "a read of %u errors of two symbols says that it went well", n_double);
        missing = judge_counts(trial, stack, n_single, n_double);

        /* Broken memory reads neither as planted nor right, and adds to what is counted: it takes nothing away. */
        trial->signs[stack].proven &= uncorrected > 0 || ((missing || silent) && !foreign);
}

/* By how much the stacks moved together. A full field stops: then nobody knows. */
static bool moved(const Trial *trial, uint64_t (*of)(const HbmEccCounts *counts), uint64_t full, uint64_t *ret) {
        *ret = 0;
        for (unsigned stack = 0; stack < STACKS; stack++) {
                if (of(&trial->after[stack]) >= full)
                        return false;
                *ret += counted(of(&trial->raw[stack]), of(&trial->after[stack]));
        }
        return true;
}

static uint64_t corrected_of(const HbmEccCounts *counts) {
        return counts->corrected;
}

static uint64_t uncorrected_of(const HbmEccCounts *counts) {
        return counts->uncorrected;
}

static uint64_t repairable_of(const HbmEccCounts *counts) {
        return counts->repairable;
}

/* Sysfs counts what the mailbox does. */
static void judge_sysfs(Trial *trial) {
        static const struct {
                uint64_t (*of)(const HbmEccCounts *counts);
                uint64_t full;
                ErrorCounter counter;
        } tellings[] = {
                { corrected_of, 0xffff, ERRORS_MEM_CORRECTED },
                { uncorrected_of, 0xf, ERRORS_MEM_UNCORRECTED },
                { repairable_of, 0xfff, ERRORS_MEM_REPAIRABLE },
        };

        for (size_t i = 0; i < ELEMENTS(tellings); i++) {
                uint64_t before = tellings[i].of(&trial->raw[HBM_ECC_CHIP]), after = tellings[i].of(&trial->after[HBM_ECC_CHIP]), firmware;

                if (!moved(trial, tellings[i].of, tellings[i].full, &firmware) || after - before == firmware)
                        continue;
                hbm_ecc_lie(trial->run, HBM_ECC_CHIP, firmware > 0 ? firmware : 1,
                            "%s went from %" PRIu64 " to %" PRIu64 " while the firmware counted %" PRIu64 " errors",
                            error_counter_path(tellings[i].counter), before, after, firmware);
                return;
        }
}

/* Through ECC, with its counters. */
static int run_counted(Trial *trial) {
        HbmRun *run = trial->run;
        int r;

        r = hbm_ecc_announce(run, WIDTH);
        if (r >= 0)
                r = run_batch(trial, true);
        if (r >= 0)
                r = hbm_ecc_read_counts(run, trial->after);
        if (r >= 0)
                return hbm_ecc_end(run);
        hbm_ecc_give_up(run);
        return r;
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
        if (r >= 0)
                r = hbm_ecc_read_counts(run, trial->raw);
        if (r >= 0)
                r = run_counted(trial);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                judge_raw(trial, stack);
                judge_stack(trial, stack);
        }
        judge_sysfs(trial);
        return 0;
}

static int try_plants(HbmRun *run, unsigned number, Signs signs[static STACKS + 1]) {
        Trial trial = {
                .run   = run,
                .field = { MEMORY_BACKGROUND_ADDRESS, 0, memory_mix(step_seed(run->step) ^ (USE_PLACE + number)) },
        };
        unsigned n_readable = 0;
        int r;

        for (unsigned attempt = 0; attempt < PLACES && n_readable < STACKS * _ERRORS; attempt++) {
                r = prepare(&trial, PLACES * number + attempt);
                if (r < 0)
                        return r;
                n_readable = 0;
                for (unsigned i = 0; i < STACKS * _ERRORS; i++)
                        n_readable += trial.plants[i / _ERRORS][i % _ERRORS].readable;
        }

        r = run_trial(&trial);
        memcpy(signs, trial.signs, sizeof(trial.signs));
        return r;
}

/* The errors of ECC of one stack, or the chip, after some trials. */
typedef struct Charge {
        HbmEccLie lie;
        bool proven;  /* the lie is */
        bool dropped; /* it did as it should, or memory itself came and went */
} Charge;

static void weigh(Charge *charge, const HbmEccLie *lie, const Signs *signs) {
        charge->dropped |= lie->n == 0 || signs->foreign;
        if (charge->proven || lie->n == 0)
                return;
        charge->proven = signs->proven;
        charge->lie = *lie;
}

/*
 * An error that is none of ours may be counted meanwhile, once, and memory may fail now and then; ECC that lies does so each
 * time. But nothing else makes it miss an error that was there: that is proof at the first time.
 */
int hbm_ecc_run_plants(HbmRun *run) {
        Charge charges[STACKS + 1] = {};
        HbmEccLie before[STACKS + 1];
        HbmTally tally = run->tally;
        bool doubt = true;
        int r = 0;

        memcpy(before, run->ecc_lies, sizeof(before));
        for (unsigned i = 0; r >= 0 && i < TRIALS && doubt; i++) {
                Signs signs[STACKS + 1] = {};

                memset(run->ecc_lies, 0, sizeof(run->ecc_lies));
                run->tally = tally;
                r = try_plants(run, run->passes[run->pass].repeat * TRIALS + i, signs);

                doubt = false;
                for (unsigned stack = 0; stack <= HBM_ECC_CHIP; stack++) {
                        weigh(&charges[stack], &run->ecc_lies[stack], &signs[stack]);
                        doubt |= !charges[stack].proven && !charges[stack].dropped;
                }
        }

        for (unsigned stack = 0; stack <= HBM_ECC_CHIP; stack++) {
                bool told = charges[stack].proven || !charges[stack].dropped;

                run->ecc_lies[stack] = before[stack].n == 0 && told ? charges[stack].lie : before[stack];
        }
        return r;
}
