/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/ecc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/sram/report.h"
#include "checks/port/device-errors.h"
#include "checks/text/cleanup.h"

#define BANKS_MAX 16u /* of an array that can be */
#define CHOICES   64u /* places tried for one without failures */
#define COMMANDS  5u  /* of a trial, beside its reads */
#define ROUNDS    4u  /* through all banks, to find again what does not always act */
#define READS     8u  /* of every planted error then, at least */
#define SEED_ECC  0x65636373u
#define WORD_BITS 32u /* two wrong bits must share a word of either code */

enum { COUNT_CORRECTED, COUNT_UNCORRECTED, COUNTS };

static const ErrorCounter counters[COUNTS] = {
        [COUNT_CORRECTED]   = ERRORS_SRAM_CORRECTED,
        [COUNT_UNCORRECTED] = ERRORS_SRAM_UNCORRECTED,
};

/* The error counts of sysfs. */
typedef struct Counts {
        uint64_t n[COUNTS];
} Counts;

/* One array: a word in each bank from FIRST on. */
typedef struct Trial {
        unsigned number;
        SramCode code;
        WireBox box;
        unsigned n; /* accesses */
        MemoryData good[BANKS_MAX], single[BANKS_MAX], pair[BANKS_MAX];
        unsigned reads;    /* of every planted error */
        int raw, one, two; /* numbers in the batch of what is copied out: raw, and the first of those through the code */
} Trial;

/* What is wrong with the code of one bank, as a sentence. NULL: nothing. */
typedef struct Verdicts {
        uint8_t asked[SRAM_ARRAYS][BANKS_MAX]; /* bit per counter that has to move; 0: was not asked */
        const char *wrong[SRAM_ARRAYS][BANKS_MAX];
} Verdicts;

/* ---- places ---- */

static bool is_suspect(const SramRun *run, unsigned number, unsigned partition) {
        const MemoryGeometry *geometry = &run->geometry[sram_array(number)];
        uint32_t accesses = geometry->accesses / geometry->size[SRAM_PARTITION];
        size_t n;
        const MarchFailure *failures = march_failures_of(&run->failures, number, &n);

        for (size_t i = 0; i < n; i++)
                if (failures[i].linear / accesses == partition)
                        return true;
        return false;
}

/* False where all places that were tried are in partitions with failures. */
static bool choose_place(const SramRun *run, Trial *trial, uint64_t seed) {
        const MemoryGeometry *geometry = &run->geometry[sram_array(trial->number)];

        /* Of what is dead as a whole not all failures are known. */
        for (size_t i = 0; i < run->defects.n; i++)
                if (run->defects.defects[i].number == trial->number && run->defects.defects[i].kind == SRAM_DEFECT_ARRAY)
                        return false;

        for (unsigned i = 0; i < CHOICES; i++) {
                uint64_t hash = memory_mix(seed + i);
                unsigned partition = (unsigned) (hash % geometry->size[SRAM_PARTITION]);
                unsigned row = (unsigned) ((hash >> 32) % geometry->size[SRAM_ROW]);

                if (is_suspect(run, trial->number, partition))
                        continue;
                trial->box = memory_geometry_box(geometry);
                trial->box.first[SRAM_PARTITION] = trial->box.last[SRAM_PARTITION] = (uint16_t) partition;
                trial->box.first[SRAM_ROW] = trial->box.last[SRAM_ROW] = (uint16_t) row;
                trial->n = MIN(geometry->size[SRAM_BANK], BANKS_MAX);
                trial->box.last[SRAM_BANK] = (uint16_t) (trial->n - 1);
                return true;
        }

        return false;
}

static void flip(MemoryData *data, unsigned bit) {
        data->bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
}

static void fill(Trial *trial, uint64_t seed) {
        for (unsigned i = 0; i < trial->n; i++) {
                uint64_t hash = memory_mix(~seed + i);
                unsigned bit = (unsigned) (hash >> 56), other = (unsigned) (1 + (hash >> 48 & 0xff) % (WORD_BITS - 1));

                for (unsigned word = 0; word < MEMORY_ACCESS_BYTES / 8; word++) {
                        hash = memory_mix(hash);
                        memcpy(&trial->good[i].bytes[8 * word], &hash, 8);
                }
                trial->single[i] = trial->pair[i] = trial->good[i];
                flip(&trial->single[i], bit);
                flip(&trial->pair[i], bit);
                flip(&trial->pair[i], bit - bit % WORD_BITS + (bit + other) % WORD_BITS);
        }
}

/* ---- asking ---- */

/* Returns the number of the first. */
static int add_reads(SramRun *run, const Trial *trial) {
        int first = 0, r;

        for (unsigned i = 0; i < trial->reads; i++) {
                r = memory_batch_copy_out(run->batch, &run->parts[trial->number], &trial->box, true);
                if (r < 0)
                        return r;
                if (i == 0)
                        first = r;
        }

        return first;
}

static int add_trial(SramRun *run, Trial *trial) {
        const MemoryPart *part = &run->parts[trial->number];
        size_t bytes = trial->n * sizeof(MemoryData);
        int r;

        r = memory_batch_copy_in(run->batch, part, &trial->box, true, trial->good, bytes);
        if (r >= 0)
                r = memory_batch_plant(run->batch, part, &trial->box, trial->single, bytes);
        if (r >= 0)
                r = trial->raw = memory_batch_copy_out(run->batch, part, &trial->box, false);
        if (r >= 0)
                r = trial->one = add_reads(run, trial);
        if (r >= 0)
                r = memory_batch_plant(run->batch, part, &trial->box, trial->pair, bytes);
        if (r >= 0)
                r = trial->two = add_reads(run, trial);
        if (r >= 0)
                r = memory_batch_copy_in(run->batch, part, &trial->box, true, trial->good, bytes);
        return r;
}

/* ---- judging ---- */

/* Whether what was copied out as NUMBER is other than WANTED. */
static bool differs(const SramRun *run, const Trial *trial, int number, const MemoryData *wanted) {
        return memcmp(memory_batch_answer(run->batch, number).data, wanted, trial->n * sizeof(MemoryData)) != 0;
}

static bool is_told(const SramRun *run, int number) {
        return memory_batch_answer(run->batch, number).status == STATUS_NRT_NC_UE;
}

/* What read I of both errors of a trial says of the code. NULL: nothing is wrong. */
static const char *judge_read(const SramRun *run, const Trial *trial, int i) {
        bool secded = trial->code == SRAM_CODE_SECDED, told_one = is_told(run, trial->one + i), told_two = is_told(run, trial->two + i);

        if (differs(run, trial, trial->one + i, secded ? trial->good : trial->single))
                return secded ? "SECDED does not correct one wrong bit" : "parity changes a word with one wrong bit";
        if (told_one == secded)
                return secded ? "SECDED calls one wrong bit an uncorrected error" : "parity does not tell one wrong bit";
        if (differs(run, trial, trial->two + i, trial->pair))
                return "a word with two wrong bits is changed";
        if (told_two != secded)
                return secded ? "SECDED does not tell two wrong bits" : "parity tells two wrong bits of one word";
        return NULL;
}

static const char *judge_trial(const SramRun *run, const Trial *trial) {
        const char *wrong = NULL;

        if (differs(run, trial, trial->raw, trial->single))
                return "a word does not hold the wrong bit that was planted, read beside the code";
        for (unsigned i = 0; i < trial->reads && !wrong; i++)
                wrong = judge_read(run, trial, (int) i);
        return wrong;
}

static void expect(const Trial *trial, Counts *counts) {
        counts->n[COUNT_CORRECTED] += trial->code == SRAM_CODE_SECDED ? trial->n * trial->reads : 0;
        counts->n[COUNT_UNCORRECTED] += trial->n * trial->reads;
}

static int read_errors(const SramRun *run, ErrorCount ret[static _ERROR_COUNTER_MAX]) {
        const char *path;
        int r;

        r = device_errors_read(step_device(run->step), step_chip(run->step), ERRORS_SRAM, ret, &path);
        return r < 0 && path ? step_error(run->step, r, "%s is not there or says what cannot be", path) : r;
}

static int read_counts(const SramRun *run, Counts *ret) {
        ErrorCount errors[_ERROR_COUNTER_MAX];
        int r;

        r = read_errors(run, errors);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < COUNTS; i++)
                ret->n[i] = errors[counters[i]].sysfs;
        return 0;
}

/* Whoever reads the counters after us knows then what is none of the chip's, also where we are not there any more to tell. */
static int announce(const SramRun *run, const Counts *expected) {
        uint64_t most[_ERROR_COUNTER_MAX] = {};

        for (unsigned i = 0; i < COUNTS; i++)
                most[counters[i]] = expected->n[i];
        return device_errors_announce(step_device(run->step), step_chip(run->step), ERRORS_SRAM, most);
}

/* Which counter moved by less than EXPECTED; -1: none. Errors of the memory's own may come on top. */
static int miscounted(const Counts *before, const Counts *after, const Counts *expected) {
        for (int i = 0; i < COUNTS; i++)
                if (after->n[i] < before->n[i] || after->n[i] - before->n[i] < expected->n[i])
                        return i;
        return -1;
}

static const char *miscount(int counter) {
        return counter == COUNT_CORRECTED ? "corrected errors are not counted" : "uncorrected errors are not counted";
}

/* ---- one bank after another, where something was wrong ---- */

/* Returns 1 where something is wrong, in *wrong, 0 where not. */
static int ask_bank(SramRun *run, Trial *trial, unsigned bank, const char **wrong) {
        Counts before, after, expected = {};
        int counter, r;

        trial->box.first[SRAM_BANK] = trial->box.last[SRAM_BANK] = (uint16_t) bank;
        trial->n = 1;
        trial->reads = MAX(trial->reads, READS);
        r = read_counts(run, &before);
        if (r < 0)
                return r;
        memory_batch_reset(run->batch);
        r = add_trial(run, trial);
        if (r >= 0)
                r = memory_batch_run(run->batch);
        if (r >= 0)
                r = read_counts(run, &after);
        if (r < 0)
                return r;

        expect(trial, &expected);
        counter = miscounted(&before, &after, &expected);
        if (!*wrong)
                *wrong = judge_trial(run, trial);
        if (!*wrong && counter >= 0)
                *wrong = miscount(counter);
        return *wrong != NULL;
}

/* Returns how many are wrong. */
static int ask_banks(SramRun *run, const Trial *trials, unsigned n_trials, Verdicts *verdicts) {
        int n_wrong = 0, r;

        for (unsigned i = 0; i < n_trials; i++)
                for (unsigned bank = 0; bank < trials[i].n; bank++) {
                        Trial trial = trials[i];

                        /* The words of the first banks will do for any. */
                        verdicts->asked[trials[i].number][bank] =
                                        1u << COUNT_UNCORRECTED | (trials[i].code == SRAM_CODE_SECDED) << COUNT_CORRECTED;
                        r = ask_bank(run, &trial, bank, &verdicts->wrong[trials[i].number][bank]);
                        if (r < 0)
                                return r;
                        n_wrong += r;
                }

        return n_wrong;
}

/* The sentence that is true of every bank of arrays FIRST … FIRST + N - 1 that has to move COUNTER; NULL: there is none. */
static const char *common(const Verdicts *verdicts, unsigned first, unsigned n, unsigned counter) {
        const char *wrong = NULL;

        for (unsigned number = first; number < first + n; number++)
                for (unsigned bank = 0; bank < BANKS_MAX; bank++) {
                        if (!(verdicts->asked[number][bank] & 1u << counter))
                                continue;
                        if (!verdicts->wrong[number][bank] || (wrong && wrong != verdicts->wrong[number][bank]))
                                return NULL;
                        wrong = verdicts->wrong[number][bank];
                }

        return wrong;
}

static int tell_array(SramRun *run, const Verdicts *verdicts, unsigned number) {
        const char *all = common(verdicts, number, 1, COUNT_UNCORRECTED);
        uint16_t at[_MEMORY_AXIS_MAX] = {};
        int r;

        if (all && sram_array(number) == ARRAY_PSUM)
                return sram_report_ecc(run, number, NULL, all);
        for (unsigned bank = 0; bank < BANKS_MAX; bank++) {
                at[SRAM_BANK] = (uint16_t) bank;
                if (!verdicts->wrong[number][bank])
                        continue;
                r = sram_report_ecc(run, number, at, verdicts->wrong[number][bank]);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* SEEN: what was wrong when all were asked together. */
static int tell(SramRun *run, const Verdicts *verdicts, unsigned number, const char *seen) {
        bool any = false;
        int r;

        /* A counter that nobody moves is the chip's. */
        for (unsigned counter = 0; counter < COUNTS; counter++)
                if (common(verdicts, 0, SRAM_ARRAYS, counter) == miscount((int) counter))
                        return sram_report_ecc(run, SRAM_ARRAYS, NULL, miscount((int) counter));

        for (unsigned i = 0; i < SRAM_ARRAYS; i++) {
                for (unsigned bank = 0; bank < BANKS_MAX; bank++)
                        any |= verdicts->wrong[i][bank] != NULL;
                r = tell_array(run, verdicts, i);
                if (r < 0)
                        return r;
        }
        return any ? 0 : sram_report_ecc(run, number, NULL, seen);
}

static int look_closer(SramRun *run, Trial *trials, unsigned n_trials, unsigned number, const char *seen) {
        Verdicts *verdicts = calloc(1, sizeof(*verdicts));
        int r = 0;

        if (!verdicts)
                return -ENOMEM;
        for (unsigned i = 0; i < ROUNDS && r == 0; i++)
                r = ask_banks(run, trials, n_trials, verdicts);
        if (r >= 0)
                r = tell(run, verdicts, number, seen);
        free(verdicts);
        return r;
}

/* ---- all at once ---- */

/* As many trials as the window has room for in one batch, from *first on. Sets *seen, of array *number, to what is wrong. */
static int run_some(SramRun *run, Trial *trials, unsigned n_trials, unsigned *first, unsigned *number, const char **seen) {
        unsigned from = *first, n_commands = 0;
        int r;

        memory_batch_reset(run->batch);
        for (; *first < n_trials; (*first)++) {
                Trial *trial = &trials[*first];
                unsigned n = COMMANDS + 2 * trial->reads;

                /* Planted data are written over in the same batch, so that a check that dies cannot leave them behind. */
                n_commands += n;
                if (*first > from && (n_commands > WIRE_BATCH_MAX ||
                                      memory_batch_room(run->batch) < n * (trial->n * sizeof(MemoryData) + 2 * WIRE_ALIGNMENT)))
                        break;
                r = add_trial(run, trial);
                if (r < 0)
                        return r;
        }

        r = memory_batch_run(run->batch);
        for (unsigned i = from; r >= 0 && i < *first; i++) {
                const char *wrong = judge_trial(run, &trials[i]);

                run->n_ecc_planted += 2 * trials[i].reads * trials[i].n;
                run->n_ecc_seen += wrong ? 0 : 2 * trials[i].reads * trials[i].n;
                if (wrong && !*seen) {
                        *seen = wrong;
                        *number = trials[i].number;
                }
        }
        return r;
}

/* Where banks are asked one by one, each is asked anew in all rounds. */
static int announce_closer(const SramRun *run, const Trial *trials, unsigned n_trials) {
        Counts most = {};

        for (unsigned i = 0; i < n_trials; i++) {
                Trial trial = trials[i];

                trial.reads = MAX(trial.reads, READS);
                expect(&trial, &most);
        }
        for (unsigned i = 0; i < COUNTS; i++)
                most.n[i] *= ROUNDS;
        return announce(run, &most);
}

static int try_all(SramRun *run, Trial *trials, unsigned n_trials, const Counts *expected) {
        unsigned number = SRAM_ARRAYS, first = 0;
        const char *seen = NULL;
        Counts before, after;
        int counter, r;

        r = read_counts(run, &before);
        if (r >= 0)
                r = announce(run, expected);
        while (r >= 0 && first < n_trials)
                r = run_some(run, trials, n_trials, &first, &number, &seen);
        if (r >= 0)
                r = read_counts(run, &after);
        if (r < 0)
                return r;

        counter = miscounted(&before, &after, expected);
        if (!seen && counter >= 0) {
                seen = miscount(counter);
                run->n_ecc_seen = 0;
        }
        if (!seen)
                return 0;
        r = announce_closer(run, trials, n_trials);
        return r < 0 ? r : look_closer(run, trials, n_trials, number, seen);
}

/* A counter that has counted nothing but what was planted starts from zero again, for those who read it and know of no planting. What
 * counts errors of the chip's own stays. */
static int end_planting(const SramRun *run) {
        ErrorCount errors[_ERROR_COUNTER_MAX];
        unsigned cleared = 0;
        int r;

        r = read_errors(run, errors);
        for (unsigned i = 0; r >= 0 && i < COUNTS; i++)
                cleared |= (unsigned) error_count_is_planted(&errors[counters[i]]) << counters[i];
        /* Errors from here on were not planted, however this ended. */
        if (r < 0) {
                (void) device_errors_end(step_device(run->step), step_chip(run->step), ERRORS_SRAM, 0);
                return r;
        }
        return device_errors_end(step_device(run->step), step_chip(run->step), ERRORS_SRAM, cleared);
}

static int run_trials(SramRun *run, Trial *trials, unsigned n_trials) {
        Counts expected = {};
        int r, ended;

        for (unsigned i = 0; i < n_trials; i++)
                expect(&trials[i], &expected);
        r = try_all(run, trials, n_trials, &expected);
        ended = end_planting(run);
        return r < 0 ? r : ended;
}

int sram_ecc_run(SramRun *run) {
        _cleanup_free_ Trial *trials = calloc(SRAM_ARRAYS, sizeof(*trials));
        unsigned n = 0;

        if (!trials)
                return -ENOMEM;

        for (unsigned number = 0; number < SRAM_ARRAYS; number++) {
                uint64_t seed = memory_mix(step_seed(run->step) ^ SEED_ECC) + number;

                trials[n].number = number;
                trials[n].code = run->codes[sram_array(number)];
                trials[n].reads = (unsigned) run->parameters->ecc;
                if (trials[n].code == SRAM_CODE_NONE || !choose_place(run, &trials[n], seed))
                        continue;
                fill(&trials[n++], seed);
        }

        return n > 0 ? run_trials(run, trials, n) : 0;
}
