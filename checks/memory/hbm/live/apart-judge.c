/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Apart: see apart-parts.h. This part tells a broken part from what a job has left in rows that it has given back.
 *
 * Neither gives back what a test has left, and of one access nobody can tell which it is. Their shapes differ. Addresses go round the
 * pseudo-channels, bank groups and banks before they come to the next column of a row, so data that fill a row of one bank fill that row
 * of all banks of the stack, and data that fill a bank fill all of them. What fills one and leaves others of the same stack as they
 * were is broken: a row by itself is told, and more of them than lists have room for are a part of the stack. Stacks are judged one by one, and the
 * worst counts: what is broken in another one excuses nothing.
 *
 * NEARLY of a stack must be alike before anything is excused, so that more damage has no better verdict until most of a stack has lost
 * what it held, all at the same places; that is what a job leaves, and reads cannot tell. The price: data which a job has laid down in pieces with a
 * stride of 16 KiB over a whole row, or region, and nowhere between are taken for a part that is broken.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/live/apart-parts.h"
#include "checks/memory/hbm/live/marks.h"
#include "checks/text/cleanup.h"

#define NOT_LEFT   "these rows do not hold what a test has left there"
#define NEARLY(n)  (3 * (n) / 4)
#define DIES       4u  /* of a stack ID, the largest part that fails as one */
#define FEW_BITS   16u /* of 256: other data differ in so few with a chance below 1e-50 */
#define QUESTIONED 16u /* rows of a stack, evenly of those that are listed */

typedef struct StrayRow { /* all strays of one row of one stack */
        const Stray *strays;
        size_t n;
        bool is_cell; /* one bit of one access */
} StrayRow;

static int compare_strays(const void *a, const void *b) {
        const Stray *x = a, *y = b;

        return (x->row > y->row) - (x->row < y->row);
}

static void sort_strays(Apart *apart) {
        if (apart->n_strays > 1)
                qsort(apart->strays, apart->n_strays, sizeof(Stray), compare_strays);
}

/* The row whose first stray is I, of sorted ones. */
static StrayRow stray_row(const Apart *apart, size_t i) {
        const Stray *stray = &apart->strays[i];
        StrayRow row = { .strays = stray, .n = 1, .is_cell = stray->bits == 1 };

        for (; i + row.n < apart->n_strays && stray[row.n].row == stray->row; row.n++)
                row.is_cell &= stray[row.n].bits == 1 && stray[row.n].at[HBM_COLUMN] == stray->at[HBM_COLUMN];
        return row;
}

/* ---- doubts ---- */

/* Which box of FIRST … it lies in. */
static HbmDoubt *doubt_of(Apart *apart, unsigned first, unsigned n, const Stray *stray) {
        for (unsigned i = first; i < first + n; i++)
                if (memory_box_includes(&apart->boxes[i], stray->at))
                        return &apart->doubts[i];
        return &apart->doubts[first];
}

static bool gives_another(const Apart *apart, const Stray *stray, MemoryTag *ret) {
        return memory_tag_read(&stray->got, ret) && ret->place != memory_geometry_linear(&apart->run->geometry, stray->at);
}

static void doubt_stray(const Apart *apart, const Stray *stray, HbmDoubt *ret) {
        MemoryTag tag;

        if (gives_another(apart, stray, &tag))
                hbm_doubt_other(apart->run, stray->stack, stray->at, tag.place, ret);
        else
                hbm_doubt_row(apart->run, stray->stack, stray->at, true, "does not give back what a test has left there", ret);
}

static void doubt_left(HbmDoubt *ret) {
        *ret = (HbmDoubt) {};
        (void) snprintf(ret->why, sizeof(ret->why), NOT_LEFT);
}

/* ---- few strays ---- */

/* No job writes what belongs to another access, or all but a few bits of what a test wrote. In marks a job's zeros and ones look like that. */
static bool is_no_data(const Apart *apart, const StrayRow *row) {
        MemoryTag tag;

        for (size_t i = 0; i < row->n; i++)
                if (gives_another(apart, &row->strays[i], &tag) ||
                    (row->strays[i].bits <= FEW_BITS && hbm_mark_of(&apart->run->geometry, row->strays[i].at[HBM_COLUMN]) < 0))
                        return true;
        return false;
}

/* Nor does what it wrote come and go, or fill a row alone: data that do would not have found room in the lists. */
static bool is_broken(const Apart *apart, const StrayRow *row) {
        uint64_t seen = 0;
        unsigned n;

        for (size_t i = 0; i < row->n; i++)
                seen |= UINT64_C(1) << row->strays[i].at[HBM_COLUMN] % 64;
        n = (unsigned) __builtin_popcountll(seen);
        return is_no_data(apart, row) || row->n != (size_t) n * apart->n_rounds || n > apart->run->geometry.size[HBM_COLUMN] / 2u;
}

void apart_judge_strays(Apart *apart, unsigned first, unsigned n) {
        StrayRow row;

        sort_strays(apart);
        for (unsigned broken = 2; broken-- > 0;) /* whatever else lies in a box */
                for (size_t i = 0; i < apart->n_strays; i += row.n) {
                        HbmDoubt *doubt = doubt_of(apart, first, n, &apart->strays[i]);

                        row = stray_row(apart, i);
                        if (row.is_cell || hbm_doubt_is(doubt) || is_broken(apart, &row) != broken)
                                continue;
                        if (broken)
                                doubt_stray(apart, row.strays, doubt);
                        else
                                doubt_left(doubt);
                }
}

/* ---- more than lists have room for ---- */

/* How many rows of the box differ in the crowded column, for each bank of each pseudo-channel: in all, in the bank where most do, and in how many pseudo-channels. */
typedef struct Spread {
        uint64_t sum, most;
        unsigned n_channels;
} Spread;

static int count_bank(Apart *apart, const WireBox *box, const MemoryTag *tag, unsigned stack, unsigned bank, bool *channels, Spread *spread) {
        const MemoryGeometry *geometry = &apart->run->geometry;
        unsigned n_pseudo = geometry->size[HBM_PSEUDO_CHANNEL], n = geometry->size[HBM_CHANNEL] * n_pseudo;
        MemoryBatch *batch = apart->run->batch;
        int r;

        memory_batch_reset(batch);
        for (unsigned i = 0; i < n; i++) {
                WireMarch march = apart_read(apart->run, tag, *box, apart->crowded_columns[stack], 0);

                march.box.first[HBM_CHANNEL] = march.box.last[HBM_CHANNEL] = (uint16_t) (i / n_pseudo);
                march.box.first[HBM_PSEUDO_CHANNEL] = march.box.last[HBM_PSEUDO_CHANNEL] = (uint16_t) (i % n_pseudo);
                march.box.first[HBM_BANK_GROUP] = march.box.last[HBM_BANK_GROUP] = (uint16_t) (bank / geometry->size[HBM_BANK]);
                march.box.first[HBM_BANK] = march.box.last[HBM_BANK] = (uint16_t) (bank % geometry->size[HBM_BANK]);
                r = memory_batch_march(batch, &apart->run->parts[stack], &march);
                if (r < 0)
                        return r;
        }
        r = memory_batch_run(batch);
        for (unsigned i = 0; r >= 0 && i < n; i++) {
                uint64_t total = memory_batch_answer(batch, (int) i).total;

                spread->sum += total;
                spread->most = MAX(spread->most, total);
                spread->n_channels += total > 0 && !channels[i];
                channels[i] |= total > 0;
        }
        return r;
}

/* Whether what differs in a stack lies in the pseudo-channels of a die at most, or fills banks and leaves others as they were. Returns 1, 0, or could not judge. */
static int lies_in_part(Apart *apart, const WireBox *box, const MemoryTag *tag, unsigned stack) {
        const MemoryGeometry *geometry = &apart->run->geometry;
        unsigned n_channels = geometry->size[HBM_CHANNEL] * geometry->size[HBM_PSEUDO_CHANNEL];
        unsigned n_banks = geometry->size[HBM_BANK_GROUP] * geometry->size[HBM_BANK];
        uint64_t rows = box->last[HBM_ROW] - box->first[HBM_ROW] + UINT64_C(1);
        bool *channels = calloc(n_channels, sizeof(bool));
        Spread spread = {};
        int r = channels ? 0 : -ENOMEM;

        for (unsigned bank = 0; bank < n_banks && r >= 0; bank++)
                r = count_bank(apart, box, tag, stack, bank, channels, &spread);
        free(channels);
        if (r < 0)
                return r;
        return spread.sum > 0 && (spread.n_channels <= n_channels / DIES ||
                                  (spread.most >= NEARLY(rows) && spread.sum < NEARLY(spread.most * n_banks * n_channels)));
}

static int question(Apart *apart, const MemoryTag *tag, unsigned stack, const WireBox *row) {
        unsigned n = hbm_mark_column(&apart->run->geometry, 0);
        WireMarch march = apart_read(apart->run, tag, *row, 0, 0);

        march.box.last[HBM_COLUMN] = (uint16_t) (n - 1);
        return memory_batch_march(apart->run->batch, &apart->run->parts[stack], &march);
}

/* Whether most of its row differs, and not the same row of nearly all banks of the stack. Returns 1, 0, or could not judge. */
static int is_row_alone(Apart *apart, const MemoryTag *tag, const Stray *stray) {
        const MemoryGeometry *geometry = &apart->run->geometry;
        WireBox own = memory_access_box(stray->at), all = memory_geometry_box(geometry);
        uint64_t n_own, n_all;
        int own_number, all_number, r;

        if (!hbm_marks_fit(geometry))
                return 0;
        all.first[HBM_SID] = all.last[HBM_SID] = stray->at[HBM_SID];
        all.first[HBM_ROW] = all.last[HBM_ROW] = stray->at[HBM_ROW];
        memory_batch_reset(apart->run->batch);
        r = own_number = question(apart, tag, stray->stack, &own);
        if (r >= 0)
                r = all_number = question(apart, tag, stray->stack, &all);
        if (r >= 0)
                r = memory_batch_run(apart->run->batch);
        if (r < 0)
                return r;
        n_own = memory_batch_answer(apart->run->batch, own_number).total;
        n_all = memory_batch_answer(apart->run->batch, all_number).total;
        return n_own > geometry->size[HBM_COLUMN] / 2u && n_all < NEARLY(n_own * (memory_box_accesses(&all) / geometry->size[HBM_COLUMN]));
}

/* Asks some of the N_ROWS rows of STACK that are listed. *ret is the first that is broken, NULL without. Returns whether most are, or could not judge. */
static int question_rows(Apart *apart, const MemoryTag *tag, unsigned stack, size_t n_rows, const Stray **ret) {
        size_t step = MAX(n_rows / QUESTIONED, (size_t) 1), at = 0, n_asked = 0, n_broken = 0;
        StrayRow row;

        *ret = NULL;
        for (size_t i = 0; i < apart->n_strays; i += row.n) {
                int r = 0;

                row = stray_row(apart, i);
                if (row.strays->stack != stack || row.is_cell)
                        continue;
                if (at++ % step == 0) {
                        r = is_row_alone(apart, tag, row.strays);
                        if (r < 0)
                                return r;
                        n_asked++;
                        n_broken += r > 0;
                }
                if (!*ret && (r > 0 || is_no_data(apart, &row)))
                        *ret = row.strays;
        }
        return 2 * n_broken > n_asked;
}

/* Judges one stack of a box. *doubt is as it was where nothing of it is broken. */
static int judge_stack(Apart *apart, unsigned i, unsigned stack, HbmDoubt *doubt) {
        const MemoryTag *tag = &apart->tags[i].tags[stack];
        const Stray *first = NULL, *found;
        size_t n_rows = 0;
        StrayRow row;
        int r, in_part;

        for (size_t k = 0; k < apart->n_strays; k += row.n) {
                row = stray_row(apart, k);
                if (row.strays->stack != stack || row.is_cell)
                        continue;
                first = first ? first : row.strays;
                n_rows++;
        }
        if (!first)
                return 0;
        in_part = apart->crowded[stack] ? lies_in_part(apart, &apart->boxes[i], tag, stack) : 0;
        r = in_part == 0 ? question_rows(apart, tag, stack, n_rows, &found) : MIN(in_part, 0);
        if (r < 0)
                return r;
        if (in_part > 0 || (r > 0 && apart->crowded[stack])) {
                doubt_stray(apart, first, doubt);
                doubt->in_part = true;
        } else if (found && !hbm_doubt_is(doubt))
                doubt_stray(apart, found, doubt);
        return 0;
}

int apart_judge_crowd(Apart *apart, unsigned i) {
        HbmDoubt *doubt = &apart->doubts[i];
        int r = 0;

        if (hbm_doubt_is(doubt))
                return 0;
        sort_strays(apart);
        for (unsigned stack = 0; stack < STACKS && r >= 0 && !doubt->in_part; stack++)
                r = judge_stack(apart, i, stack, doubt);
        if (r >= 0 && !hbm_doubt_is(doubt))
                doubt_left(doubt);
        return r;
}
