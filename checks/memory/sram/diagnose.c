/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/diagnose.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#define LIST_FIRST  8u   /* mismatches asked of every block */
#define LIST_MIN    64u  /* that must fit into a window for reading a block to its end */
#define FULL_BLOCKS 256u /* blocks read to the end */
#define ASKS        192u /* reads in one batch */
#define PROBES      4u   /* of every block, while nothing shows */
#define DEAD_TURNS  256u /* of every block, while more and more is dead: what acts in a fiftieth of the reads of one datum is silent once in 176 */
#define DECODERS    64u  /* blocks asked for their decoder */
#define TRIALS      3u   /* of each; … */
#define TRIALS_FEW  12u  /* … of one in which few rows are astray: maybe now and then */
#define FEW_ROWS    4u
#define LINES       64u  /* blocks asked for their bit lines */
#define LINE_TURNS  64u  /* what acts in a fiftieth of all reads shows in 128 of them but once in thirteen */
#define REFUTED     8u   /* turns in which what was known failed again, and nothing else */
#define LINE_SHARE  10u  /* nearly all of a line: but for 1 row of so many */

/* One march of one operation; what differs goes to the failures. */
typedef struct Ask {
        WireBox box;
        MemoryField field;
        unsigned data;
        bool descending;
        uint32_t list_max; /* 0: it writes */
} Ask;

static int add_ask(const SramDiagnosis *diagnosis, const Ask *ask) {
        WireMarch march = {
                .box            = ask->box,
                .descending     = ask->descending,
                .background     = (uint8_t) ask->field.background,
                .seed           = ask->field.seed,
                .n_ops          = 1,
                .ops            = { (uint8_t) ((ask->list_max > 0 ? 0 : MARCH_WRITE) | (ask->data ? MARCH_DATA : 0)) },
                .mismatches_max = ask->list_max,
        };

        return memory_batch_march(diagnosis->batch, diagnosis->part, &march);
}

static int run_ask(const SramDiagnosis *diagnosis, const Ask *ask, MemoryAnswer *ret) {
        int number, r;

        memory_batch_reset(diagnosis->batch);
        number = add_ask(diagnosis, ask);
        if (number < 0)
                return number;
        r = memory_batch_run(diagnosis->batch);
        if (r >= 0)
                *ret = memory_batch_answer(diagnosis->batch, number);
        return r;
}

static int keep_answer(const SramDiagnosis *diagnosis, const Ask *ask, const MemoryAnswer *answer) {
        static const MarchSighting probe = { .phase = MARCH_PHASE_PROBE, .pass = MARCH_STEP_PASSES_MAX, .op = MARCH_OPS_MAX };
        int r;

        for (size_t i = 0; i < answer->n; i++) {
                const WireMismatch *mismatch = &answer->mismatches[i];
                MemoryData expected, actual;

                /* A place outside of what was asked for is no evidence of anything here. */
                if (!memory_box_includes(&ask->box, mismatch->at))
                        continue;
                expected = memory_field_data(&ask->field, diagnosis->geometry, mismatch->at, ask->data);
                memcpy(actual.bytes, mismatch->actual, sizeof(actual.bytes));
                if (memcmp(&expected, &actual, sizeof(expected)) == 0)
                        continue;
                r = march_failures_add(diagnosis->failures, diagnosis->number, memory_geometry_linear(diagnosis->geometry, mismatch->at),
                                       &probe, &expected, &actual);
                if (r < 0)
                        return r;
        }

        return 0;
}

static void take_again(const SramDiagnosis *diagnosis, SramCase *c) {
        march_failures_merge(diagnosis->failures);
        sram_case_take(c, diagnosis->failures);
}

static Ask solid(const SramDiagnosis *diagnosis, uint32_t block, unsigned data, uint32_t list_max) {
        return (Ask) {
                .box      = sram_block_box(diagnosis->geometry, block),
                .field    = { .background = MEMORY_BACKGROUND_SOLID },
                .data     = data,
                .list_max = list_max,
        };
}

/* ---- lists that were cut short ---- */

/* Reads as many blocks as go into one batch, from *block on. */
static int read_some(const SramDiagnosis *diagnosis, SramCase *c, unsigned data, uint32_t *block) {
        uint32_t first = *block, n_blocks = sram_blocks(diagnosis->geometry);
        int numbers[ASKS], r;

        memory_batch_reset(diagnosis->batch);
        for (; *block < n_blocks && *block - first < ASKS; (*block)++) {
                Ask ask = solid(diagnosis, *block, data, LIST_FIRST);

                r = add_ask(diagnosis, &ask);
                if (r == -ENOSPC && *block > first)
                        break;
                if (r < 0)
                        return r;
                numbers[*block - first] = r;
        }

        r = memory_batch_run(diagnosis->batch);
        for (uint32_t i = first; r >= 0 && i < *block; i++) {
                MemoryAnswer answer = memory_batch_answer(diagnosis->batch, numbers[i - first]);
                Ask ask = solid(diagnosis, i, data, LIST_FIRST);

                c->counts[i] = (uint32_t) MAX((uint64_t) c->counts[i], MIN(answer.total, (uint64_t) sram_rows(diagnosis->geometry)));
                r = keep_answer(diagnosis, &ask, &answer);
        }
        return r;
}

static int ask_blocks(const SramDiagnosis *diagnosis, SramCase *c) {
        int r;

        for (unsigned data = 0; data < 2; data++) {
                Ask write = { .box = memory_geometry_box(diagnosis->geometry), .data = data };
                MemoryAnswer answer;

                r = run_ask(diagnosis, &write, &answer);
                if (r < 0)
                        return r;
                for (uint32_t block = 0; block < sram_blocks(diagnosis->geometry);) {
                        r = read_some(diagnosis, c, data, &block);
                        if (r < 0)
                                return r;
                }
        }

        take_again(diagnosis, c);
        return 0;
}

/* All failures of one block, with both data. -ENOSPC: the window is too small for that. */
static int read_block(const SramDiagnosis *diagnosis, uint32_t block) {
        uint32_t rows = sram_rows(diagnosis->geometry), step;
        int r;

        memory_batch_reset(diagnosis->batch);
        step = (uint32_t) MIN((memory_batch_room(diagnosis->batch) - MIN(memory_batch_room(diagnosis->batch), 4096)) / sizeof(WireMismatch),
                              (size_t) rows);
        if (step < MIN(LIST_MIN, rows))
                return -ENOSPC;

        for (unsigned data = 0; data < 2; data++) {
                Ask ask = solid(diagnosis, block, data, 0);
                MemoryAnswer answer;

                r = run_ask(diagnosis, &ask, &answer);
                if (r < 0)
                        return r;

                ask.list_max = step;
                for (uint32_t row = 0; row < rows; row += step) {
                        ask.box.first[SRAM_ROW] = (uint16_t) row;
                        ask.box.last[SRAM_ROW] = (uint16_t) (MIN(row + step, rows) - 1);
                        r = run_ask(diagnosis, &ask, &answer);
                        if (r < 0)
                                return r;
                        r = keep_answer(diagnosis, &ask, &answer);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

/*
 * A part that is dead as a whole now and then may have shown in one place, so all blocks are asked, until a whole bank has failed, or
 * what is known fails again and again and nothing else does: if it were the bank, its other partitions would fail as often.
 */
static int ask_dead(const SramDiagnosis *diagnosis, SramCase *c) {
        SramDead before = sram_case_count_dead(c);
        unsigned n_refuting = 0;

        for (unsigned i = 0; i < (before.n_reads > 0 ? DEAD_TURNS : PROBES) && n_refuting < REFUTED; i++) {
                SramDead after;
                int r = ask_blocks(diagnosis, c);

                if (r < 0)
                        return r;
                after = sram_case_count_dead(c);
                if (after.n_blocks > 0 && after.complete)
                        break;
                n_refuting += after.n_blocks == before.n_blocks && after.n_reads > before.n_reads;
                before = after;
        }
        return sram_case_find_blocks(c);
}

static int read_blocks(const SramDiagnosis *diagnosis, SramCase *c) {
        unsigned n_read = 0;
        int r;

        for (uint32_t block = 0; block < sram_blocks(diagnosis->geometry) && n_read < FULL_BLOCKS; block++) {
                if (c->gone[block] || c->counts[block] <= LIST_FIRST)
                        continue;
                r = read_block(diagnosis, block);
                if (r == -ENOSPC) /* what was told must do */
                        break;
                if (r < 0)
                        return r;
                n_read++;
        }

        take_again(diagnosis, c);
        return 0;
}

/* ---- bit lines that come and go ---- */

/* The failures of one block. */
typedef struct Tally {
        uint32_t n;      /* rows that fail */
        uint64_t reads;  /* and reads of them */
        uint32_t line;   /* rows of the bit that fails in most */
} Tally;

static Tally tally_block(const SramDiagnosis *diagnosis, const SramCase *c, uint32_t block) {
        uint32_t counts[8 * MEMORY_ACCESS_BYTES] = {};
        Tally tally = {};

        for (size_t i = 0; i < c->n_failures; i++) {
                const MarchFailure *failure = &c->failures[i];

                if (failure->linear / sram_rows(diagnosis->geometry) != block)
                        continue;
                tally.n++;
                tally.reads += failure->count;
                for (unsigned bit = 0; bit < ELEMENTS(counts) && !sram_is_wide(failure); bit++)
                        counts[bit] += failure->bits.bytes[bit / 8] >> bit % 8 & 1;
        }
        for (unsigned bit = 0; bit < ELEMENTS(counts); bit++)
                tally.line = MAX(tally.line, counts[bit]);
        return tally;
}

/*
 * A block of which one bit fails in more than one row is read again until nearly all of the line has failed, or what is known fails again
 * and again alone: if it were the line, its other rows would fail as often.
 */
static int ask_line(const SramDiagnosis *diagnosis, SramCase *c, uint32_t block) {
        uint32_t rows = sram_rows(diagnosis->geometry);
        Tally before = tally_block(diagnosis, c, block);
        unsigned n_refuting = 0;

        for (unsigned i = 0; i < LINE_TURNS && n_refuting < REFUTED && LINE_SHARE * (rows - before.line) > rows; i++) {
                Tally after;
                int r = read_block(diagnosis, block);

                if (r == -ENOSPC) /* what was told must do */
                        return 0;
                if (r < 0)
                        return r;
                take_again(diagnosis, c);
                after = tally_block(diagnosis, c, block);
                n_refuting += after.n == before.n && after.reads > before.reads;
                before = after;
        }
        return 0;
}

static int ask_lines(const SramDiagnosis *diagnosis, SramCase *c) {
        unsigned n_asked = 0;
        int r;

        /* Blocks only gain failures while they are asked: the next one is looked for by its number. */
        for (size_t i = 0; i < c->n_failures && n_asked < LINES;) {
                uint32_t block = c->failures[i].linear / sram_rows(diagnosis->geometry);

                if (!c->gone[block] && tally_block(diagnosis, c, block).line > 1) {
                        r = ask_line(diagnosis, c, block);
                        if (r < 0)
                                return r;
                        n_asked++;
                }
                for (i = 0; i < c->n_failures && c->failures[i].linear / sram_rows(diagnosis->geometry) <= block; i++)
                        ;
        }
        return 0;
}

/* ---- decoders ---- */

/* The access of the block whose address, in either polarity, is ACTUAL; -1: none. */
static int64_t find_address(const SramDiagnosis *diagnosis, const Ask *ask, const MemoryData *actual) {
        uint32_t first = memory_geometry_linear(diagnosis->geometry, ask->box.first);

        for (uint32_t i = 0; i < sram_rows(diagnosis->geometry); i++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                memory_geometry_at(diagnosis->geometry, first + i, at);
                for (unsigned data = 0; data < 2; data++) {
                        MemoryData tag = memory_field_data(&ask->field, diagnosis->geometry, at, data);

                        if (memcmp(&tag, actual, sizeof(tag)) == 0)
                                return first + i;
                }
        }

        return -1;
}

/* Which rows of the block give back what others were given. */
static int ask_decoder(const SramDiagnosis *diagnosis, SramCase *c, uint32_t block) {
        unsigned n_trials = TRIALS_FEW;
        int r;

        for (unsigned trial = 0; trial < 2 * n_trials; trial++) {
                Ask ask = {
                        .box        = sram_block_box(diagnosis->geometry, block),
                        .field      = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = memory_mix(diagnosis->seed + trial) },
                        .descending = trial % 2,
                };
                MemoryAnswer answer;

                r = run_ask(diagnosis, &ask, &answer);
                if (r < 0)
                        return r;
                ask.list_max = LIST_MIN;
                r = run_ask(diagnosis, &ask, &answer);
                if (r < 0)
                        return r;

                if (answer.n > FEW_ROWS)
                        n_trials = TRIALS;
                for (size_t i = 0; i < answer.n; i++) {
                        MemoryData actual;
                        int64_t other;
                        uint32_t own;

                        if (!memory_box_includes(&ask.box, answer.mismatches[i].at))
                                continue;
                        memcpy(actual.bytes, answer.mismatches[i].actual, sizeof(actual.bytes));
                        own = memory_geometry_linear(diagnosis->geometry, answer.mismatches[i].at);
                        other = find_address(diagnosis, &ask, &actual);
                        if (other < 0 || other == own)
                                continue;
                        r = sram_case_add_pair(c, own, (uint32_t) other);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

static int ask_decoders(const SramDiagnosis *diagnosis, SramCase *c) {
        uint32_t asked = UINT32_MAX;
        unsigned n = 0;
        int r;

        for (size_t i = 0; i < c->n_failures && n < DECODERS; i++) {
                uint32_t block = c->failures[i].linear / sram_rows(diagnosis->geometry);

                if (block == asked || c->gone[block] || !sram_is_wide(&c->failures[i]))
                        continue;
                asked = block;
                n++;
                r = ask_decoder(diagnosis, c, block);
                if (r < 0)
                        return r;
        }

        return 0;
}

int sram_diagnose(const SramDiagnosis *diagnosis, bool truncated, SramDefects *defects) {
        SramCase c;
        int r;

        r = sram_case_init(&c, diagnosis->geometry, diagnosis->number, diagnosis->scatter_max, defects);
        if (r < 0)
                return r;

        sram_case_take(&c, diagnosis->failures);
        r = ask_dead(diagnosis, &c);
        if (r >= 0 && truncated)
                r = read_blocks(diagnosis, &c);
        if (r >= 0)
                r = ask_lines(diagnosis, &c);
        if (r >= 0)
                r = ask_decoders(diagnosis, &c);
        if (r >= 0)
                r = sram_case_find_rest(&c);
        sram_case_done(&c);
        return r;
}
