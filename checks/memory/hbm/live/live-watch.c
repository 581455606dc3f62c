/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/live/live-watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/live/apart.h"
#include "checks/memory/hbm/live/marks.h"
#include "checks/memory/march/list.h"

#define COUNT_EXACT (1u << 20) /* a device counts so many mismatches of one command */
#define BATCH       256u
#define FEW         64u        /* accesses that read as a mark from the first count on are looked at */

enum { WATCH_ZEROS, WATCH_ONES, WATCH_TAGS, _WATCH_MAX };

typedef struct Block { /* rows of all banks of one stack */
        unsigned stack;
        WireBox rows; /* of the column whose tags are read */
        MemoryTag tag;
        bool has_tag; /* a sample had one */
        uint64_t agree[_WATCH_MAX]; /* accesses that read so at first */
} Block;

typedef struct Question {
        size_t block;
        unsigned what;
} Question;

struct HbmLiveWatch {
        HbmRun *run;
        MemoryGeometry whole;
        Block *blocks;
        size_t n_blocks, blocks_allocated;
        Question *questions; /* of one round */
        size_t n_questions, questions_allocated;
};

/* ---- which rows ---- */

static int add_rows(HbmLiveWatch *watch, WireBox rows) {
        uint64_t a_row = memory_box_accesses(&rows) / (rows.last[HBM_ROW] - rows.first[HBM_ROW] + 1u);
        unsigned step = (unsigned) MAX(COUNT_EXACT / a_row, UINT64_C(1)), end = rows.last[HBM_ROW];

        for (unsigned row = rows.first[HBM_ROW]; row <= end; row += step)
                for (unsigned stack = 0; stack < STACKS; stack++) {
                        Block block = { .stack = stack, .rows = rows };
                        int r;

                        block.rows.first[HBM_ROW] = (uint16_t) row;
                        block.rows.last[HBM_ROW] = (uint16_t) MIN(row + step - 1, end);
                        r = LIST_MAKE_ROOM(watch->blocks, watch->n_blocks, watch->blocks_allocated);
                        if (r < 0)
                                return r;
                        watch->blocks[watch->n_blocks++] = block;
                }
        return 0;
}

/* The rows FIRST … LAST but for those that are live. */
static int add_guard(HbmLiveWatch *watch, const HbmInUse *in_use, WireBox rows, int first, int last) {
        int r = 0;

        for (int row = MAX(first, 0); row <= MIN(last, watch->whole.size[HBM_ROW] - 1) && r >= 0; row++) {
                if (hbm_in_use_meets(in_use, rows.first[HBM_SID], (unsigned) row, (unsigned) row))
                        continue;
                rows.first[HBM_ROW] = rows.last[HBM_ROW] = (uint16_t) row;
                r = add_rows(watch, rows);
        }
        return r;
}

static int add_ranges(HbmLiveWatch *watch, const HbmInUse *in_use, unsigned sid) {
        WireBox rows = memory_geometry_box(&watch->whole);
        int r = 0;

        rows.first[HBM_SID] = rows.last[HBM_SID] = (uint16_t) sid;
        rows.first[HBM_COLUMN] = rows.last[HBM_COLUMN] =
                        (uint16_t) (step_seed(watch->run->step) % hbm_mark_column(&watch->whole, 0));
        for (size_t i = 0; i < in_use->n && r >= 0; i++) {
                int first = in_use->ranges[i].first, last = in_use->ranges[i].last;

                if (in_use->ranges[i].sid != sid)
                        continue;
                rows.first[HBM_ROW] = (uint16_t) first;
                rows.last[HBM_ROW] = (uint16_t) last;
                r = add_rows(watch, rows);
                if (r >= 0)
                        r = add_guard(watch, in_use, rows, first - (int) HBM_GUARD_ROWS, first - 1);
                if (r >= 0)
                        r = add_guard(watch, in_use, rows, last + 1, last + (int) HBM_GUARD_ROWS);
        }
        return r;
}

/* ---- counting ---- */

static WireMarch read_of(const HbmLiveWatch *watch, const Question *question) {
        const Block *block = &watch->blocks[question->block];

        if (question->what != WATCH_TAGS)
                return hbm_mark_read(&watch->whole, block->rows, question->what);
        return (WireMarch) {
                .box = block->rows, .background = MEMORY_BACKGROUND_ADDRESS, .seed = block->tag.seed, .n_ops = 1,
                .ops = { block->tag.data ? MARCH_DATA : 0 },
        };
}

/* N questions, round after round from number FIRST on. Calls back with how many accesses agree. */
static int count(HbmLiveWatch *watch, size_t first, size_t n, void (*take)(Block *block, unsigned what, uint64_t agree, HbmDoubt *doubt),
                 HbmDoubt *doubt) {
        HbmRun *run = watch->run;
        int r = 0;

        memory_batch_reset(run->batch);
        for (size_t i = 0; i < n && r >= 0; i++) {
                const Question *question = &watch->questions[(first + i) % watch->n_questions];
                WireMarch march = read_of(watch, question);

                r = memory_batch_march(run->batch, &run->parts[watch->blocks[question->block].stack], &march);
        }
        if (r >= 0)
                r = memory_batch_run(run->batch);
        for (size_t i = 0; i < n && r >= 0; i++) {
                const Question *question = &watch->questions[(first + i) % watch->n_questions];
                Block *block = &watch->blocks[question->block];
                uint64_t accesses = memory_box_accesses(&block->rows);

                take(block, question->what, accesses - MIN(memory_batch_answer(run->batch, (int) i).total, accesses), doubt);
        }
        return r;
}

static int count_rounds(HbmLiveWatch *watch, unsigned rounds, void (*take)(Block *block, unsigned what, uint64_t agree, HbmDoubt *doubt),
                        HbmDoubt *doubt) {
        size_t n = rounds * watch->n_questions;
        int r = 0;

        memory_batch_confine(watch->run->batch, &watch->whole);
        for (size_t at = 0; at < n && r >= 0 && !hbm_doubt_is(doubt); at += BATCH)
                r = count(watch, at, MIN(n - at, (size_t) BATCH), take, doubt);
        memory_batch_confine(watch->run->batch, &watch->run->geometry);
        return r;
}

static void take_first(Block *block, unsigned what, uint64_t agree, HbmDoubt *doubt) {
        block->agree[what] = agree;
}

static void compare(Block *block, unsigned what, uint64_t agree, HbmDoubt *doubt) {
        if (agree == block->agree[what] || hbm_doubt_is(doubt))
                return;
        (void) snprintf(doubt->why, sizeof(doubt->why),
                        "hbm%u sid%u: between rows %u and %u live data do not read alike every time: a job writes there, or an "
                        "address leads elsewhere", block->stack, block->rows.first[HBM_SID], block->rows.first[HBM_ROW],
                        block->rows.last[HBM_ROW]);
}

/* ---- the first counts ---- */

static int ask(HbmLiveWatch *watch, size_t block, unsigned what) {
        int r;

        r = LIST_MAKE_ROOM(watch->questions, watch->n_questions, watch->questions_allocated);
        if (r >= 0)
                watch->questions[watch->n_questions++] = (Question) { block, what };
        return r;
}

/* Rows that all hold tags hold marks too, which tell nothing then; and those that hold none need not be asked for them. */
static int choose_questions(HbmLiveWatch *watch, bool all) {
        int r = 0;

        watch->n_questions = 0;
        for (size_t i = 0; i < watch->n_blocks; i++) {
                const Block *block = &watch->blocks[i];
                bool is_left = !all && block->has_tag && block->agree[WATCH_TAGS] == memory_box_accesses(&block->rows);

                for (unsigned what = 0; what < _WATCH_MAX && r >= 0; what++)
                        if (what == WATCH_TAGS ? block->has_tag : !is_left)
                                r = ask(watch, i, what);
        }
        return r;
}

/* An access that reads as a mark in every round, beside a job's data, is the job's, or always leads astray: then its row tells. */
static int look_at_few(HbmLiveWatch *watch, HbmDoubt *doubt) {
        int r = 0;

        for (size_t i = 0; i < watch->n_blocks; i++)
                for (unsigned data = 0; data < 2 && r >= 0 && !hbm_doubt_is(doubt); data++) {
                        const Block *block = &watch->blocks[i];
                        WireBox box = hbm_mark_read(&watch->whole, block->rows, data).box;

                        if (!block->has_tag && block->agree[data] > 0 && block->agree[data] <= FEW)
                                r = hbm_live_rows_close_in(watch->run, block->stack, &box, data, doubt);
                }
        return r;
}

int hbm_live_watch_new(HbmRun *run, const HbmInUse *in_use, unsigned sid, HbmLiveWatch **ret, HbmDoubt *ret_doubt) {
        HbmLiveWatch *watch = calloc(1, sizeof(*watch));
        int r;

        if (!watch)
                return -ENOMEM;
        *watch = (HbmLiveWatch) { .run = run, .whole = run->geometry };
        *ret_doubt = (HbmDoubt) {};
        r = add_ranges(watch, in_use, sid);
        for (size_t i = 0; i < watch->n_blocks && r >= 0 && !hbm_doubt_is(ret_doubt); i++) {
                Block *block = &watch->blocks[i];

                r = hbm_live_rows_find_tag(run, block->stack, &block->rows, &block->tag, &block->has_tag, ret_doubt);
        }
        if (r >= 0)
                r = choose_questions(watch, true);
        if (r >= 0 && !hbm_doubt_is(ret_doubt))
                r = count_rounds(watch, 1, take_first, ret_doubt);
        if (r >= 0 && !hbm_doubt_is(ret_doubt))
                r = look_at_few(watch, ret_doubt);
        if (r >= 0)
                r = choose_questions(watch, false);
        if (r >= 0 && !hbm_doubt_is(ret_doubt))
                r = hbm_live_watch_look(watch, HBM_WATCH_ROUNDS, ret_doubt);
        if (r < 0) {
                (void) hbm_live_watch_free(watch);
                return r;
        }
        *ret = watch;
        return 0;
}

HbmLiveWatch *hbm_live_watch_free(HbmLiveWatch *watch) {
        if (!watch)
                return NULL;
        free(watch->blocks);
        free(watch->questions);
        free(watch);
        return NULL;
}

int hbm_live_watch_look(HbmLiveWatch *watch, unsigned n, HbmDoubt *ret) {
        *ret = (HbmDoubt) {};
        return count_rounds(watch, n, compare, ret);
}
