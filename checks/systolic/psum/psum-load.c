/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PSUM while the array works at full load, when the supply sags most: the rest of what is tried in it draws next to nothing.
 *
 * Every product with more than 128 rows is a sum of matmuls. Here each place is given A, then B in place of it, then A on top, with A and
 * B the same full matmul whose vectors are moved on by one in B. Places whose addresses differ in one line have A and B the other way
 * round. So the sums are A + B everywhere, and 2 A, 2 B or less where a matmul went to the twin of its place, A alone where it overwrote
 * what it was to add to, A + B + A where it added to what it was to overwrite.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/port/device-tensor.h"
#include "checks/systolic/patterns/exact.h"
#include "checks/systolic/patterns/patterns.h"
#include "checks/systolic/psum/examination.h"
#include "checks/text/cleanup.h"

#define BLOCK        32u /* vectors of a matmul: lines 0 to 4 are within it */
#define PLACES       12u
#define PLACES_ONCE  4u /* that are read in one batch */
#define PASSES       3u
#define EXAMINATIONS 8u
#define SAMPLES      4u /* columns by which a sum is recognised */
#define ADDRESSES    (PSUM_BANKS * PSUM_ELEMENTS)

/* Every bank; and beside the first place of all those that one line of the element tells from it. */
static const struct {
        uint16_t address;
        bool odd; /* begins with B */
} places[PLACES] = {
        { 0, false },    { 512, true },   { 1024, true },  { 1536, false }, { 2048, true }, { 2560, false },
        { 3072, false }, { 3584, true }, { 32, true },    { 64, true },    { 128, true },  { 256, true },
};

/* Which of A and B a place is given in each pass, and whether that overwrites. */
static const struct {
        bool second, overwrite;
} passes[PASSES] = { { false, true }, { true, true }, { false, false } };

static const uint8_t samples[SAMPLES] = { 0, 41, 82, 123 };

typedef struct Load {
        Device *device;
        const Pattern *pattern;
        uint16_t *weights, *values[2]; /* in the window */
        uint32_t *out[CORES];          /* PLACES_ONCE sums each */
        uint32_t *golden;              /* A + B, as the pattern's */
        unsigned mask;                 /* cores that take part */
        unsigned wrong, refused;       /* of these */
        uint32_t status;
        size_t n_compared;
        WireCommand commands[WIRE_BATCH_MAX];
        WireCompletion completions[WIRE_BATCH_MAX];
        uint32_t seen[PLACES][SAMPLES][BLOCK]; /* of the last core that was wrong */
        bool wrong_at[PLACES];
} Load;

static const Pattern *full_pattern(void) {
        for (unsigned i = 0; i < patterns_count(); i++) {
                const Pattern *pattern = pattern_at(i);

                if (pattern->kind == PATTERN_FULL && pattern->structure && pattern->w_format == FORMAT_BF16 &&
                    pattern->x_format == FORMAT_BF16 && pattern->moving == BLOCK)
                        return pattern;
        }
        return NULL;
}

/* Number N of COLUMN of A, or of B. */
static uint32_t product_at(const Load *load, bool second, unsigned column, unsigned n) {
        return load->pattern->golden[column * BLOCK + (n + second) % BLOCK];
}

static void load_done(Load *load) {
        free(load->golden);
}

/* Behind what the window has already. */
static int load_init(Load *load, Device *device, unsigned mask) {
        *load = (Load) { .device = device, .pattern = full_pattern(), .mask = mask };
        if (!load->pattern)
                return -EINVAL;
        load->golden = malloc(load->pattern->n_bytes);
        if (!load->golden)
                return -ENOMEM;
        load->weights = device_window_take(device, load->pattern->weights_bytes);
        for (unsigned i = 0; i < 2; i++)
                load->values[i] = device_window_take(device, load->pattern->values_bytes);
        for (unsigned core = 0; core < CORES; core++) {
                load->out[core] = device_window_take(device, PLACES_ONCE * load->pattern->n_bytes);
                if (!load->out[core])
                        return -ENOSPC;
        }
        if (!load->weights || !load->values[0] || !load->values[1])
                return -ENOSPC;

        memcpy(load->weights, load->pattern->weights, load->pattern->weights_bytes);
        memcpy(load->values[0], load->pattern->values, load->pattern->values_bytes);
        for (unsigned row = 0; row < PE_ROWS; row++)
                for (unsigned n = 0; n < BLOCK; n++)
                        load->values[1][row * BLOCK + n] = load->values[0][row * BLOCK + (n + 1) % BLOCK];
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (unsigned n = 0; n < BLOCK; n++)
                        load->golden[column * BLOCK + n] =
                                        exact_add(product_at(load, false, column, n), product_at(load, true, column, n), false);
        return 0;
}

/* ---- commands ---- */

static int execute(Load *load, size_t n) {
        int r;

        memset(load->completions, 0, n * sizeof(WireCompletion));
        r = device_execute(load->device, load->commands, n, load->completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;
        for (size_t i = 0; i < n; i++) {
                const WireCompletion *completion = &load->completions[i];

                if (load->commands[i].type == COMMAND_MATMUL ? device_matmul_is_complete(&load->commands[i], completion) :
                                                               completion->status == STATUS_NRT_SUCCESS)
                        continue;
                load->refused |= 1u << load->commands[i].unit;
                load->status = completion->status;
        }
        load->mask &= ~load->refused;
        return 0;
}

static size_t add_load(Load *load, size_t n) {
        const WireLoad shape = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16 };

        for (unsigned core = 0; core < CORES; core++)
                if (load->mask >> core & 1)
                        load->commands[n++] = device_load_command(load->device, core, shape, load->weights, NULL);
        return n;
}

/* SLOT: where it is read to; PLACES_ONCE: it is not. */
static size_t add_matmul(Load *load, size_t n, unsigned pass, unsigned place, unsigned slot) {
        const WireMatmul shape = {
                .moving = BLOCK, .bank = (uint8_t) (places[place].address / PSUM_ELEMENTS), .offset = places[place].address % PSUM_ELEMENTS,
                .format = FORMAT_BF16, .flags = passes[pass].overwrite ? MATMUL_OVERWRITE : 0,
        };
        const uint16_t *values = load->values[passes[pass].second != places[place].odd];

        for (unsigned core = 0; core < CORES; core++) {
                uint32_t *out = slot < PLACES_ONCE ? load->out[core] + slot * (PE_COLUMNS * BLOCK) : NULL;

                if (!(load->mask >> core & 1))
                        continue;
                for (unsigned column = 0; out && column < PE_COLUMNS; column++)
                        out[column * BLOCK] = ~load->golden[column * BLOCK]; /* what is not written does not pass for an answer */
                load->commands[n++] = device_matmul_command(load->device, core, shape, PE_ROWS, values, PE_COLUMNS, out);
        }
        return n;
}

static void take(Load *load, unsigned core, unsigned place, const uint32_t *out) {
        for (unsigned s = 0; s < SAMPLES; s++)
                memcpy(load->seen[place][s], out + samples[s] * BLOCK, sizeof(load->seen[place][s]));
        load->n_compared += PE_COLUMNS * BLOCK;
        load->wrong_at[place] = memcmp(out, load->golden, load->pattern->n_bytes) != 0;
        load->wrong |= (unsigned) load->wrong_at[place] << core;
}

static int overwrite_all(Load *load) {
        size_t n = add_load(load, 0);
        int r = 0;

        for (unsigned pass = 0; pass + 1 < PASSES && r >= 0; pass++) {
                for (unsigned place = 0; place < PLACES; place++)
                        n = add_matmul(load, n, pass, place, PLACES_ONCE);
                r = execute(load, n);
                n = 0;
        }
        return r;
}

/* All of it, once. The answers of a core are kept for the last one that was wrong. */
static int run(Load *load) {
        int r = overwrite_all(load);

        for (unsigned first = 0; first < PLACES && r >= 0; first += PLACES_ONCE) {
                size_t n = 0;

                for (unsigned slot = 0; slot < PLACES_ONCE; slot++)
                        n = add_matmul(load, n, PASSES - 1, first + slot, slot);
                r = execute(load, n);
                for (unsigned core = 0; core < CORES && r >= 0; core++)
                        for (unsigned slot = 0; slot < PLACES_ONCE && load->mask >> core & 1; slot++)
                                take(load, core, first + slot, load->out[core] + slot * (PE_COLUMNS * BLOCK));
        }
        return r;
}

/* ---- what it is ---- */

typedef struct Cause {
        bool flag;
        bool accumulates; /* the flag: it adds, whatever it is told; else it overwrites */
        unsigned line, level;
} Cause;

static unsigned address_under(const Cause *cause, unsigned address) {
        unsigned bit = 1u << cause->line;

        return cause->flag ? address : cause->level ? address | bit : address & ~bit;
}

/* The content that the sequence leaves in PSUM, zeros before, if CAUSE acts all the time. */
static void predict(const Load *load, const Cause *cause, uint32_t ret[PLACES][SAMPLES][BLOCK]) {
        static uint32_t content[ADDRESSES][SAMPLES];

        memset(content, 0, sizeof(content));
        for (unsigned pass = 0; pass < PASSES; pass++)
                for (unsigned place = 0; place < PLACES; place++) {
                        bool second = passes[pass].second != places[place].odd;
                        bool overwrite = cause->flag ? !cause->accumulates : passes[pass].overwrite;

                        for (unsigned n = 0; n < BLOCK; n++)
                                for (unsigned s = 0; s < SAMPLES; s++) {
                                        uint32_t *at = &content[address_under(cause, places[place].address + n)][s];
                                        uint32_t product = product_at(load, second, samples[s], n);

                                        *at = overwrite ? product : exact_add(*at, product, false);
                                }
                        for (unsigned n = 0; n < BLOCK; n++)
                                for (unsigned s = 0; s < SAMPLES; s++)
                                        ret[place][s][n] = content[address_under(cause, places[place].address + n)][s];
                }
}

/* A flag and an address are those of all columns. */
static bool is_golden_in_samples(const Load *load, unsigned place) {
        for (unsigned s = 0; s < SAMPLES; s++)
                if (memcmp(load->seen[place][s], load->golden + samples[s] * BLOCK, sizeof(load->seen[place][s])) != 0)
                        return false;
        return true;
}

/* All that is wrong is what CAUSE makes; where it is right a cause that comes and goes did not act. */
static bool explains(const Load *load, const Cause *cause) {
        static uint32_t predicted[PLACES][SAMPLES][BLOCK];
        unsigned n_wrong = 0;

        predict(load, cause, predicted);
        for (unsigned place = 0; place < PLACES; place++) {
                if (!load->wrong_at[place])
                        continue;
                n_wrong++;
                if (is_golden_in_samples(load, place) || memcmp(load->seen[place], predicted[place], sizeof(predicted[place])) != 0)
                        return false;
        }
        return n_wrong > 0;
}

#define CAUSES (2u + 2u * ADDRESS_BITS)

/* The flag, which overwrites or adds; then each line at 0 and 1. */
static Cause cause_at(unsigned i) {
        return i < 2 ? (Cause) { .flag = true, .accumulates = i } : (Cause) { .line = (i - 2) / 2, .level = i % 2 };
}

/* Strikes out what does not explain this round. What comes and goes may look like several causes in one round, hardly in all. */
static void narrow(const Load *load, bool possible[static CAUSES]) {
        for (unsigned i = 0; i < CAUSES; i++) {
                Cause cause = cause_at(i);

                possible[i] = possible[i] && explains(load, &cause);
        }
}

/* Whether one flag or one line is left; its two levels have one name. */
static bool find_cause(const bool possible[static CAUSES], Cause *ret) {
        unsigned n = 0;

        for (unsigned i = 0; i < CAUSES; i++) {
                Cause cause = cause_at(i);

                if (!possible[i])
                        continue;
                n += n == 0 || cause.flag || cause.line != ret->line;
                *ret = cause;
        }
        return n == 1;
}

/* SUSPECT: the array may have made it; then only what PSUM alone can make is told. */
static int examine(Step *step, unsigned core, bool suspect, Verdict *verdict, PsumResult *result) {
        static PsumTest test; /* as in psum_judge() */
        _cleanup_free_ Load *load = calloc(1, sizeof(*load));
        unsigned seen = 0, round = 0;
        bool possible[CAUSES], found = false;
        Cause cause;
        int r;

        if (!load)
                return -ENOMEM;
        memset(possible, true, sizeof(possible));
        r = psum_test_init(&test, step_device(step), false);
        test.mask = 1u << core;
        if (r >= 0)
                r = load_init(load, step_device(step), 1u << core);
        for (; round < EXAMINATIONS && r >= 0 && !found; round++) {
                load->wrong = 0;
                r = psum_try_zeros(&test);
                if (r >= 0)
                        r = run(load);
                if (r < 0 || !load->wrong)
                        continue;
                seen++;
                narrow(load, possible);
                found = find_cause(possible, &cause);
        }
        result->n_compared += load->n_compared;
        load_done(load);
        if (r < 0)
                return r;
        if (!found) {
                result->unexplained |= suspect ? 0 : 1u << core;
                return 0;
        }
        result->spoilt |= 1u << core;
        return psum_report_loaded(step, core, cause.flag ? -1 : (int) cause.line, cause.accumulates, 1 + seen, 1 + round, verdict, result);
}

/* A fault that PSUM shows at rest too is reported by the test at rest. */
static int judge_core(Step *step, unsigned core, bool suspect, Verdict *verdict, PsumResult *result) {
        unsigned bit = 1u << core;
        int r;

        if (suspect)
                return examine(step, core, true, verdict, result);
        r = psum_examine(step, core, PSUM_WRONG, verdict, result);
        if (r < 0 || !(result->unexplained & bit))
                return r;
        result->unexplained &= ~bit;
        return examine(step, core, false, verdict, result);
}

int psum_judge_load(Step *step, unsigned rounds, unsigned cores, unsigned suspects, Verdict *verdict, PsumResult *result) {
        _cleanup_free_ Load *load = calloc(1, sizeof(*load));
        int r;

        if (!load)
                return -ENOMEM;
        device_window_reset(step_device(step));
        r = load_init(load, step_device(step), cores);
        for (unsigned round = 0; round < rounds && r >= 0; round++)
                r = run(load);
        load_done(load);
        if (r < 0)
                return r;

        result->n_compared += load->n_compared;
        if (load->refused) {
                result->refused |= load->refused;
                result->status = load->status;
        }
        for (unsigned core = 0; core < CORES && r >= 0; core++)
                if (load->wrong & ~load->refused & 1u << core)
                        r = judge_core(step, core, suspects >> core & 1, verdict, result);
        return r;
}
