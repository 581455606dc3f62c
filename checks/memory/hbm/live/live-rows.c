/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/live/live-rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/tags.h"
#include "checks/memory/hbm/live/marks.h"
#include "checks/memory/hbm/report/report.h"
#include "checks/text/cleanup.h"

#define COUNT_EXACT (1u << 20) /* a device counts so many mismatches of one command */
#define PATCHES_MAX 4096u      /* looked at one after another; more is too much to tell */
#define BATCH       128u
#define BITS_MIN    16u        /* of either value in a live row */
#define STRAYS_MAX  64u        /* of live rows with tags: more were written by a job */

/* ---- doubts ---- */

static const char *within_chip(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX],
                               char text[static LOCATION_STRING_MAX]) {
        Location where = hbm_report_place(run, stack, at, HBM_ROW);
        const char *slash = strstr(location_format(&where, text), "/hbm");

        return slash ? slash + 1 : text;
}

void hbm_doubt_row(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], bool suspicious,
                   const char *what, HbmDoubt *ret) {
        char text[LOCATION_STRING_MAX];

        *ret = (HbmDoubt) { .suspicious = suspicious, .stack = stack };
        memcpy(ret->at, at, sizeof(ret->at));
        (void) snprintf(ret->why, sizeof(ret->why), "%.80s %s", within_chip(run, stack, at, text), what);
}

void hbm_doubt_other(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], uint32_t place, HbmDoubt *ret) {
        char what[HBM_DOUBT_MAX] = "gives back what belongs to another stack", text[LOCATION_STRING_MAX];
        uint16_t other[_MEMORY_AXIS_MAX];

        if (place < run->geometry.accesses) {
                memory_geometry_at(&run->geometry, place, other);
                (void) snprintf(what, sizeof(what), "gives back what belongs to %.80s", within_chip(run, stack, other, text));
        }
        hbm_doubt_row(run, stack, at, true, what, ret);
}

/* One command by itself: MARCH, or where that is NULL, a copy out of BOX. */
static int ask(HbmRun *run, unsigned stack, const WireMarch *march, const WireBox *box, MemoryAnswer *ret) {
        int r;

        memory_batch_reset(run->batch);
        if (march)
                r = memory_batch_march(run->batch, &run->parts[stack], march);
        else
                r = memory_batch_copy_out(run->batch, &run->parts[stack], box, false);
        if (r < 0)
                return r;
        r = memory_batch_run(run->batch);
        if (r < 0)
                return r;
        *ret = memory_batch_answer(run->batch, 0);
        return 0;
}

/* ---- rows that hold but one value ---- */

typedef struct Patch { /* of one column */
        unsigned stack;
        unsigned data; /* the value */
        WireBox box;
        uint64_t bare; /* accesses that hold nothing else */
} Patch;

typedef struct Search {
        HbmRun *run;
        Patch *patches; /* room for PATCHES_MAX */
        size_t n, at;
        HbmDoubt *doubt;
} Search;

static void add_patch(Search *search, const Patch *patch) {
        if (search->n < PATCHES_MAX)
                search->patches[search->n++] = *patch;
        else
                (void) snprintf(search->doubt->why, HBM_DOUBT_MAX, "live data hold too many zeros or ones to tell their rows apart");
}

static void add_range(Search *search, const WireBox *rows) {
        uint64_t a_row = memory_box_accesses(rows) / (rows->last[HBM_ROW] - rows->first[HBM_ROW] + 1u);
        unsigned step = (unsigned) MAX(COUNT_EXACT / a_row, UINT64_C(1));

        for (unsigned stack = 0; stack < STACKS; stack++)
                for (unsigned data = 0; data < 2; data++)
                        for (unsigned row = rows->first[HBM_ROW]; row <= rows->last[HBM_ROW]; row += step) {
                                Patch patch = { .stack = stack, .data = data, .box = *rows };

                                patch.box.first[HBM_ROW] = (uint16_t) row;
                                patch.box.last[HBM_ROW] = (uint16_t) MIN(row + step - 1, (unsigned) rows->last[HBM_ROW]);
                                add_patch(search, &patch);
                        }
}

/* Counts the bare accesses of the next patches. */
static int count_some(Search *search, size_t n) {
        HbmRun *run = search->run;
        int numbers[BATCH], r;

        memory_batch_reset(run->batch);
        for (size_t i = 0; i < n; i++) {
                const Patch *patch = &search->patches[search->at + i];
                WireMarch march = { .box = patch->box, .n_ops = 1, .ops = { patch->data ? MARCH_DATA : 0 } };

                r = memory_batch_march(run->batch, &run->parts[patch->stack], &march);
                if (r < 0)
                        return r;
                numbers[i] = r;
        }

        r = memory_batch_run(run->batch);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                Patch *patch = &search->patches[search->at + i];
                uint64_t accesses = memory_box_accesses(&patch->box);

                patch->bare = accesses - MIN(memory_batch_answer(run->batch, numbers[i]).total, accesses);
        }
        return r;
}

/* Whether a row of N accesses gives back tags of another. */
static void look_for_others(Search *search, const Patch *patch, const WireBox *row, const uint8_t *bytes, unsigned n) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memcpy(at, row->first, sizeof(at));
        for (unsigned i = 0; i < n && !hbm_doubt_is(search->doubt); i++) {
                MemoryData data;
                MemoryTag tag;

                at[HBM_COLUMN] = (uint16_t) i;
                memcpy(data.bytes, bytes + i * MEMORY_ACCESS_BYTES, sizeof(data.bytes));
                if (memory_tag_read(&data, &tag) && tag.place != memory_geometry_linear(&search->run->geometry, at))
                        hbm_doubt_other(search->run, patch->stack, at, tag.place, search->doubt);
        }
}

/* All of the row in which the patch begins. */
static int look_at_row(Search *search, const Patch *patch) {
        static const char *const words[] = { "carries live data and holds nothing but zeros", "carries live data and holds nothing but ones" };
        HbmRun *run = search->run;
        WireBox row = memory_access_box(patch->box.first);
        unsigned ones = 0, bits;
        MemoryAnswer answer;
        int r;

        row.first[HBM_COLUMN] = 0;
        row.last[HBM_COLUMN] = (uint16_t) (run->geometry.size[HBM_COLUMN] - 1);
        bits = (unsigned) memory_box_accesses(&row) * MEMORY_ACCESS_BYTES;
        r = ask(run, patch->stack, NULL, &row, &answer);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < bits; i++)
                ones += (unsigned) __builtin_popcount(answer.data[i]);
        if (MIN(ones, 8 * bits - ones) < BITS_MIN)
                hbm_doubt_row(run, patch->stack, row.first, false, words[ones > 4 * bits], search->doubt);
        else
                look_for_others(search, patch, &row, answer.data, bits / MEMORY_ACCESS_BYTES);
        return 0;
}

static void split(Search *search, Patch patch) {
        unsigned axis = 0;
        uint16_t middle;

        for (unsigned i = 1; i < _MEMORY_AXIS_MAX; i++)
                if (patch.box.last[i] - patch.box.first[i] > patch.box.last[axis] - patch.box.first[axis])
                        axis = i;
        if (patch.box.last[axis] == patch.box.first[axis])
                return; /* one access, and its row was looked at */

        middle = (uint16_t) ((patch.box.first[axis] + patch.box.last[axis]) / 2);
        for (unsigned half = 0; half < 2; half++) {
                Patch part = patch;

                if (half == 0)
                        part.box.last[axis] = middle;
                else
                        part.box.first[axis] = (uint16_t) (middle + 1);
                add_patch(search, &part);
        }
}

/* Bare accesses are closed in on by halves; where all of a patch are, its first row most often is what is looked for. */
static int close_in(Search *search) {
        int r = 0;

        while (search->at < search->n && !hbm_doubt_is(search->doubt) && r >= 0) {
                size_t n = MIN(search->n - search->at, (size_t) BATCH);

                r = count_some(search, n);
                for (size_t i = 0; r >= 0 && i < n && !hbm_doubt_is(search->doubt); i++) {
                        Patch patch = search->patches[search->at + i];

                        if (patch.bare == 0)
                                continue;
                        if (patch.bare == memory_box_accesses(&patch.box))
                                r = look_at_row(search, &patch);
                        if (r >= 0 && !hbm_doubt_is(search->doubt))
                                split(search, patch);
                }
                search->at += n;
        }
        return r;
}

static int look_for_bare(HbmRun *run, const WireBox *ranges, size_t n, HbmDoubt *ret) {
        Search search = { .run = run, .doubt = ret };
        int r;

        search.patches = calloc(PATCHES_MAX, sizeof(Patch));
        if (!search.patches)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                add_range(&search, &ranges[i]);
        r = close_in(&search);
        free(search.patches);
        return r;
}

int hbm_live_rows_close_in(HbmRun *run, unsigned stack, const WireBox *column, unsigned data, HbmDoubt *ret) {
        Search search = { .run = run, .doubt = ret };
        Patch patch = { .stack = stack, .data = data, .box = *column };
        int r;

        search.patches = calloc(PATCHES_MAX, sizeof(Patch));
        if (!search.patches)
                return -ENOMEM;
        add_patch(&search, &patch);
        r = close_in(&search);
        free(search.patches);
        return r;
}

/* ---- live rows that a test has left something in ---- */

/* One access of a live row that should hold its own tag. */
static void judge_tag(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], const MemoryTag *own,
                      const uint8_t *bytes, HbmDoubt *ret) {
        MemoryField field = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = own->seed };
        uint32_t linear = memory_geometry_linear(&run->geometry, at), partner;
        MemoryData data;
        MemoryTag tag;

        memcpy(data.bytes, bytes, sizeof(data.bytes));
        if (memory_tag_read(&data, &tag)) {
                if (tag.place != linear)
                        hbm_doubt_other(run, stack, at, tag.place, ret);
                return;
        }
        for (unsigned i = 0; own->data && i < MEMORY_ACCESS_BYTES; i++)
                data.bytes[i] = (uint8_t) ~data.bytes[i];
        if (hbm_tag_read(&run->geometry, &field, linear, &data, 0, &partner) == HBM_TAG_MIXED)
                hbm_doubt_row(run, stack, at, true, "gives back what belongs to two rows at once", ret);
}

/* Reads a piece of one row and keeps what its tags are, where they are its own. */
static int sample(HbmRun *run, unsigned stack, const WireBox *piece, MemoryTag *ret_tag, bool *found, HbmDoubt *doubt) {
        uint64_t n = memory_box_accesses(piece);
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryAnswer answer;
        int r;

        r = ask(run, stack, NULL, piece, &answer);
        if (r < 0)
                return r;

        for (uint64_t i = 0; i < n; i++) { /* of channels and pseudo-channels, nothing else */
                unsigned pseudo_channels = run->geometry.size[HBM_PSEUDO_CHANNEL];
                MemoryData data;
                MemoryTag tag;

                memcpy(at, piece->first, sizeof(at));
                at[HBM_CHANNEL] = (uint16_t) (i / pseudo_channels);
                at[HBM_PSEUDO_CHANNEL] = (uint16_t) (i % pseudo_channels);
                memcpy(data.bytes, answer.data + i * MEMORY_ACCESS_BYTES, sizeof(data.bytes));
                if (!memory_tag_read(&data, &tag))
                        continue;
                if (tag.place != memory_geometry_linear(&run->geometry, at)) {
                        hbm_doubt_other(run, stack, at, tag.place, doubt);
                        return 0;
                }
                *ret_tag = tag;
                *found = true;
        }
        return 0;
}

/* One column of rows that hold tags. Where more than a few do not, a job has written there, and its data are not judged. */
static int read_tags(HbmRun *run, unsigned stack, const WireBox *rows, const MemoryTag *tag, HbmDoubt *doubt) {
        WireMarch march = {
                .box            = *rows,
                .background     = MEMORY_BACKGROUND_ADDRESS,
                .seed           = tag->seed,
                .n_ops          = 1,
                .ops            = { tag->data ? MARCH_DATA : 0 },
                .mismatches_max = STRAYS_MAX,
        };
        MemoryAnswer answer;
        int r;

        r = ask(run, stack, &march, NULL, &answer);
        if (r < 0)
                return r;

        for (size_t i = 0; answer.total <= answer.n && i < answer.n && !hbm_doubt_is(doubt); i++)
                if (memory_box_includes(rows, answer.mismatches[i].at))
                        judge_tag(run, stack, answer.mismatches[i].at, tag, answer.mismatches[i].actual, doubt);
        return 0;
}

int hbm_live_rows_find_tag(HbmRun *run, unsigned stack, const WireBox *rows, MemoryTag *ret_tag, bool *ret_found, HbmDoubt *doubt) {
        const unsigned at[] = { rows->first[HBM_ROW], (rows->first[HBM_ROW] + rows->last[HBM_ROW]) / 2u, rows->last[HBM_ROW] };
        int r = 0;

        *ret_found = false;
        for (unsigned i = 0; i < ELEMENTS(at) && r >= 0 && !hbm_doubt_is(doubt); i++) {
                WireBox piece = *rows;

                piece.first[HBM_ROW] = piece.last[HBM_ROW] = (uint16_t) at[i];
                piece.last[HBM_BANK_GROUP] = piece.last[HBM_BANK] = 0;
                r = sample(run, stack, &piece, ret_tag, ret_found, doubt);
        }
        return r;
}

static int look_for_tags(HbmRun *run, const WireBox *rows, HbmDoubt *doubt) {
        int r = 0;

        for (unsigned stack = 0; stack < STACKS && r >= 0 && !hbm_doubt_is(doubt); stack++) {
                bool found;
                MemoryTag tag;

                r = hbm_live_rows_find_tag(run, stack, rows, &tag, &found, doubt);
                if (r >= 0 && found && !hbm_doubt_is(doubt))
                        r = read_tags(run, stack, rows, &tag, doubt);
        }
        return r;
}

int hbm_live_rows_judge(HbmRun *run, const HbmInUse *in_use, unsigned sid, HbmDoubt *ret) {
        WireBox ranges[HBM_IN_USE_MAX];
        size_t n = 0;
        int r;

        *ret = (HbmDoubt) {};
        if (!hbm_marks_fit(&run->geometry)) {
                (void) snprintf(ret->why, sizeof(ret->why), "rows of %u columns have no room for marks", run->geometry.size[HBM_COLUMN]);
                return 0;
        }
        for (size_t i = 0; i < in_use->n; i++) {
                WireBox *box = &ranges[n];

                if (in_use->ranges[i].sid != sid)
                        continue;
                *box = memory_geometry_box(&run->geometry);
                box->first[HBM_SID] = box->last[HBM_SID] = (uint16_t) sid;
                box->first[HBM_ROW] = in_use->ranges[i].first;
                box->last[HBM_ROW] = in_use->ranges[i].last;
                box->first[HBM_COLUMN] = box->last[HBM_COLUMN] = (uint16_t) (step_seed(run->step) % hbm_mark_column(&run->geometry, 0));
                n++;
        }

        r = look_for_bare(run, ranges, n, ret);
        for (size_t i = 0; i < n && r >= 0 && !hbm_doubt_is(ret); i++)
                r = look_for_tags(run, &ranges[i], ret);
        return r;
}
