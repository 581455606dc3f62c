/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/apart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/cleanup.h"
#include "checks/hbm/marks.h"
#include "checks/hbm/report.h"
#include "checks/march/list.h"

#define SAMPLE     16u /* channels whose first access tells which tags a slice has */
#define LIST       256u
#define COLUMNS    8u /* read in one batch */
#define DECOY_SEED (UINT64_C(1) << 63)
#define NOT_LEFT   "these rows do not hold what a test has left there"

typedef struct Tags { /* of the four stacks: what a test has left in a slice */
        MemoryTag tags[STACKS];
} Tags;

typedef struct Stray { /* an access that does not give back its tag */
        uint32_t row; /* of all stacks */
        unsigned bits;
        unsigned stack;
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryData got;
} Stray;

typedef struct Apart {
        HbmRun *run;
        const WireBox *boxes;
        unsigned n;
        HbmDoubt *doubts;
        unsigned rounds;
        Tags *tags; /* of each box */
        Stray *strays;
        size_t n_strays, allocated;
        unsigned crowded_column; /* the first of which lists had no room for all */
} Apart;

/* ---- which tags there are ---- */

static WireBox sample_of(const Apart *apart, unsigned i) {
        WireBox box = memory_access_box(apart->boxes[i].first);

        box.last[HBM_CHANNEL] = (uint16_t) (MIN(SAMPLE, (unsigned) apart->run->geometry.size[HBM_CHANNEL]) - 1);
        return box;
}

/* Any of them will do, where a cell spoils one. */
static void take_sample(Apart *apart, unsigned i, unsigned stack, const uint8_t *bytes) {
        WireBox box = sample_of(apart, i);
        HbmDoubt other = {};

        for (unsigned k = 0; k < memory_box_accesses(&box); k++) {
                uint16_t at[_MEMORY_AXIS_MAX];
                MemoryData data;
                MemoryTag tag;

                memcpy(at, box.first, sizeof(at));
                at[HBM_CHANNEL] = (uint16_t) k;
                memcpy(data.bytes, bytes + k * MEMORY_ACCESS_BYTES, sizeof(data.bytes));
                if (!memory_tag_read(&data, &tag))
                        continue;
                if (tag.place == memory_geometry_linear(&apart->run->geometry, at)) {
                        apart->tags[i].tags[stack] = tag;
                        return;
                }
                hbm_doubt_other(apart->run, stack, at, tag.place, &other);
        }

        if (hbm_doubt_is(&other))
                apart->doubts[i] = other;
        else
                (void) snprintf(apart->doubts[i].why, HBM_DOUBT_MAX, "these rows hold nothing that a test has left");
}

static int read_samples(Apart *apart, unsigned stack) {
        HbmRun *run = apart->run;
        int r;

        memory_batch_reset(run->batch);
        for (unsigned i = 0; i < apart->n; i++) {
                WireBox box = sample_of(apart, i);

                r = memory_batch_copy_out(run->batch, &run->parts[stack], &box, false);
                if (r < 0)
                        return r;
        }
        r = memory_batch_run(run->batch);
        for (unsigned i = 0; r >= 0 && i < apart->n; i++)
                if (!hbm_doubt_is(&apart->doubts[i]))
                        take_sample(apart, i, stack, memory_batch_answer(run->batch, (int) i).data);
        return r;
}

static bool same_tags(const Tags *a, const Tags *b) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                if (a->tags[stack].seed != b->tags[stack].seed || a->tags[stack].data != b->tags[stack].data)
                        return false;
        return true;
}

/* ---- whether each row gives back its own ---- */

static WireMarch read_of(const HbmRun *run, const MemoryTag *tag, WireBox box, unsigned column, uint32_t list) {
        int mark = hbm_mark_of(&run->geometry, column);
        WireMarch march;

        if (mark >= 0) {
                march = hbm_mark_read(&run->geometry, box, (unsigned) mark);
                march.mismatches_max = list;
                return march;
        }
        box.first[HBM_COLUMN] = box.last[HBM_COLUMN] = (uint16_t) column;
        return (WireMarch) {
                .box            = box,
                .background     = MEMORY_BACKGROUND_ADDRESS,
                .seed           = tag->seed,
                .n_ops          = 1,
                .ops            = { tag->data ? MARCH_DATA : 0 },
                .mismatches_max = list,
        };
}

static int keep_stray(Apart *apart, const MemoryTag *tag, unsigned stack, const WireMismatch *mismatch) {
        const MemoryGeometry *geometry = &apart->run->geometry;
        MemoryField field = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = tag->seed }, solid = {};
        int mark = hbm_mark_of(geometry, mismatch->at[HBM_COLUMN]);
        MemoryData own = mark >= 0 ? memory_field_data(&solid, geometry, mismatch->at, (unsigned) mark) :
                                     memory_field_data(&field, geometry, mismatch->at, tag->data), bits;
        Stray *stray;
        int r;

        r = LIST_MAKE_ROOM(apart->strays, apart->n_strays, apart->allocated);
        if (r < 0)
                return r;
        stray = &apart->strays[apart->n_strays++];
        *stray = (Stray) { .stack = stack };
        memcpy(stray->at, mismatch->at, sizeof(stray->at));
        memcpy(stray->got.bytes, mismatch->actual, sizeof(stray->got.bytes));
        stray->row = stack * (geometry->accesses / geometry->size[HBM_COLUMN]) +
                     memory_geometry_linear(geometry, mismatch->at) / geometry->size[HBM_COLUMN];
        for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                bits.bytes[k] = own.bytes[k] ^ stray->got.bytes[k];
        stray->bits = memory_data_count(&bits);
        return 0;
}

/* Some columns of one box, and of each stack a read that must not agree: a comparator that is silent has shown nothing. */
static int read_columns(Apart *apart, const WireBox *box, const Tags *tags, unsigned first, unsigned n, bool *crowded,
                        bool *blind) {
        HbmRun *run = apart->run;
        int numbers[COLUMNS][STACKS], decoys[STACKS], r = 0;
        size_t room;
        uint32_t list;

        memory_batch_reset(run->batch);
        /* A small window shortens the lists. */
        room = memory_batch_room(run->batch) / (STACKS * (COLUMNS + 1));
        list = (uint32_t) MIN((room > 2 * WIRE_ALIGNMENT ? room - 2 * WIRE_ALIGNMENT : 0) / sizeof(WireMismatch), (size_t) LIST);
        for (unsigned stack = 0; stack < STACKS; stack++) {
                MemoryTag decoy = tags->tags[stack];
                WireMarch march;

                for (unsigned i = 0; i < n && r >= 0; i++) {
                        march = read_of(run, &tags->tags[stack], *box, first + i, list);
                        r = numbers[i][stack] = memory_batch_march(run->batch, &run->parts[stack], &march);
                }
                decoy.seed ^= DECOY_SEED;
                march = read_of(run, &decoy, memory_access_box(box->first), 0, 1);
                if (r >= 0)
                        r = decoys[stack] = memory_batch_march(run->batch, &run->parts[stack], &march);
                if (r < 0)
                        return r;
        }

        r = memory_batch_run(run->batch);
        for (unsigned stack = 0; stack < STACKS && r >= 0; stack++) {
                *blind |= memory_batch_answer(run->batch, decoys[stack]).total != 1;
                for (unsigned i = 0; i < n && r >= 0; i++) {
                        MemoryAnswer answer = memory_batch_answer(run->batch, numbers[i][stack]);

                        if (answer.total != answer.n && !*crowded) {
                                apart->crowded_column = first + i;
                                *crowded = true;
                        }
                        for (size_t k = 0; k < answer.n && r >= 0; k++)
                                if (!memory_box_includes(box, answer.mismatches[k].at)) {
                                        apart->crowded_column = *crowded ? apart->crowded_column : first + i;
                                        *crowded = true;
                                } else
                                        r = keep_stray(apart, &tags->tags[stack], stack, &answer.mismatches[k]);
                }
        }
        return r;
}

static int compare_strays(const void *a, const void *b) {
        const Stray *x = a, *y = b;

        return (x->row > y->row) - (x->row < y->row);
}

/* Which box of FIRST … it lies in. */
static HbmDoubt *doubt_of(Apart *apart, unsigned first, unsigned n, const Stray *stray) {
        for (unsigned i = first; i < first + n; i++)
                if (memory_box_includes(&apart->boxes[i], stray->at))
                        return &apart->doubts[i];
        return &apart->doubts[first];
}

static void doubt_stray(Apart *apart, const Stray *stray, HbmDoubt *ret) {
        MemoryTag tag;

        if (hbm_doubt_is(ret))
                return;
        if (memory_tag_read(&stray->got, &tag) && tag.place != memory_geometry_linear(&apart->run->geometry, stray->at))
                hbm_doubt_other(apart->run, stray->stack, stray->at, tag.place, ret);
        else
                hbm_doubt_row(apart->run, stray->stack, stray->at, true, "does not give back what a test has left there", ret);
}

/* So many pseudo-channels fail as one at the most: those of a die. */
static unsigned most_of_part(const MemoryGeometry *geometry) {
        return geometry->size[HBM_CHANNEL] * geometry->size[HBM_PSEUDO_CHANNEL] / 4;
}

/* Data of a job lie in all pseudo-channels of a stack, be they a kilobyte; what fails row by row does not. */
static bool are_spread(const Apart *apart, const HbmDoubt *doubt, unsigned first, unsigned n) {
        const MemoryGeometry *geometry = &apart->run->geometry;
        bool seen[STACKS][64] = {};
        unsigned n_seen = 0;

        for (size_t i = 0; i < apart->n_strays; i++) {
                const Stray *stray = &apart->strays[i];
                bool *place = &seen[stray->stack][(stray->at[HBM_CHANNEL] * geometry->size[HBM_PSEUDO_CHANNEL] + stray->at[HBM_PSEUDO_CHANNEL]) % 64];

                if (doubt_of((Apart *) apart, first, n, stray) != doubt || stray->bits == 1)
                        continue;
                n_seen += !*place;
                *place = true;
        }
        return n_seen > most_of_part(geometry);
}

static void judge_strays(Apart *apart, unsigned first, unsigned n) {
        size_t same;

        if (apart->n_strays > 1)
                qsort(apart->strays, apart->n_strays, sizeof(Stray), compare_strays);
        for (size_t i = 0; i < apart->n_strays; i += same) {
                const Stray *stray = &apart->strays[i];
                bool is_cell = stray->bits == 1;

                for (same = 1; i + same < apart->n_strays && stray[same].row == stray->row; same++)
                        is_cell &= stray[same].bits == 1 && stray[same].at[HBM_COLUMN] == stray->at[HBM_COLUMN];
                if (!is_cell)
                        doubt_stray(apart, stray, doubt_of(apart, first, n, stray));
        }
        for (unsigned i = first; i < first + n; i++)
                if (apart->doubts[i].suspicious && are_spread(apart, &apart->doubts[i], first, n)) {
                        apart->doubts[i] = (HbmDoubt) {};
                        (void) snprintf(apart->doubts[i].why, HBM_DOUBT_MAX, NOT_LEFT);
                }
}

/*
 * Whether what a box does not give back lies in a part of a stack that can fail as one, a die at the most. Data of a job lie all
 * over it, for its addresses go round the channels, and differently in each row.
 */
static int lies_in_part(Apart *apart, const WireBox *box, const Tags *tags, bool *ret) {
        HbmRun *run = apart->run;
        unsigned channels = run->geometry.size[HBM_CHANNEL], n = channels * run->geometry.size[HBM_PSEUDO_CHANNEL], n_astray = 0;
        int r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                memory_batch_reset(run->batch);
                for (unsigned i = 0; i < n; i++) {
                        WireMarch march = read_of(run, &tags->tags[stack], *box, apart->crowded_column, 0);

                        march.box.first[HBM_CHANNEL] = march.box.last[HBM_CHANNEL] = (uint16_t) (i % channels);
                        march.box.first[HBM_PSEUDO_CHANNEL] = march.box.last[HBM_PSEUDO_CHANNEL] = (uint16_t) (i / channels);
                        r = memory_batch_march(run->batch, &run->parts[stack], &march);
                        if (r < 0)
                                return r;
                }
                r = memory_batch_run(run->batch);
                if (r < 0)
                        return r;
                for (unsigned i = 0; i < n; i++)
                        n_astray += memory_batch_answer(run->batch, (int) i).total > 0;
        }
        *ret = n_astray <= most_of_part(&run->geometry);
        return 0;
}

static int judge_crowd(Apart *apart, unsigned i) {
        HbmDoubt *doubt = &apart->doubts[i];
        bool in_part;
        int r;

        r = lies_in_part(apart, &apart->boxes[i], &apart->tags[i], &in_part);
        if (r < 0)
                return r;
        doubt->in_part = in_part && doubt->suspicious;
        if (doubt->in_part)
                return 0;
        *doubt = (HbmDoubt) {};
        (void) snprintf(doubt->why, sizeof(doubt->why), NOT_LEFT);
        return 0;
}

/* N boxes from FIRST on with the same tags, as one. More strays than lists have room for are looked at box by box. */
static int judge_group(Apart *apart, unsigned first, unsigned n) {
        unsigned columns = apart->run->geometry.size[HBM_COLUMN];
        WireBox box = apart->boxes[first];
        bool crowded = false, blind = false;
        int r = 0;

        box.last[HBM_ROW] = apart->boxes[first + n - 1].last[HBM_ROW];
        apart->n_strays = 0;
        for (unsigned at = 0; at < apart->rounds * columns && r >= 0 && !crowded; at += COLUMNS)
                r = read_columns(apart, &box, &apart->tags[first], at % columns, MIN(COLUMNS, columns - at % columns), &crowded, &blind);
        if (r < 0)
                return r;

        if (crowded && n > 1) {
                for (unsigned i = first; i < first + n && r >= 0; i++)
                        r = judge_group(apart, i, 1);
                return r;
        }
        for (unsigned i = first; i < first + n && blind; i++)
                (void) snprintf(apart->doubts[i].why, HBM_DOUBT_MAX, "a march over them reports nothing");
        judge_strays(apart, first, n);
        return crowded ? judge_crowd(apart, first) : 0;
}

static int judge_all(Apart *apart) {
        int r = 0;

        for (unsigned stack = 0; stack < STACKS && r >= 0; stack++)
                r = read_samples(apart, stack);
        for (unsigned first = 0, n; first < apart->n && r >= 0; first += n) {
                n = 1;
                if (hbm_doubt_is(&apart->doubts[first]))
                        continue;
                while (first + n < apart->n && !hbm_doubt_is(&apart->doubts[first + n]) &&
                       same_tags(&apart->tags[first], &apart->tags[first + n]))
                        n++;
                r = judge_group(apart, first, n);
        }
        return r;
}

bool hbm_live_known_has(const HbmLiveKnown *known, const HbmInUse *in_use, unsigned sid) {
        return known->known && known->sid == sid && memcmp(&known->in_use, in_use, sizeof(*in_use)) == 0;
}

void hbm_live_known_done(HbmLiveKnown *known) {
        (void) hbm_live_watch_free(known->watch);
        *known = (HbmLiveKnown) {};
}

static int judge_live(HbmRun *run, const HbmInUse *in_use, unsigned sid, HbmLiveKnown *known) {
        int r;

        if (hbm_live_known_has(known, in_use, sid))
                return 0;
        hbm_live_known_done(known);
        r = hbm_live_rows_judge(run, in_use, sid, &known->doubt);
        if (r >= 0 && !hbm_doubt_is(&known->doubt))
                r = hbm_live_watch_new(run, in_use, sid, &known->watch, &known->doubt);
        if (r < 0)
                return r;
        known->known = true;
        known->sid = sid;
        memcpy(&known->in_use, in_use, sizeof(*in_use));
        return 0;
}

int hbm_apart_judge(HbmRun *run, const HbmInUse *in_use, HbmLiveKnown *known, const WireBox boxes[], unsigned n, HbmDoubt doubts[]) {
        Apart apart = { .run = run, .boxes = boxes, .n = n, .doubts = doubts, .rounds = HBM_APART_ROUNDS };
        int r;

        memory_batch_confine(run->batch, &run->geometry);
        r = judge_live(run, in_use, boxes[0].first[HBM_SID], known);
        if (r < 0)
                return r;
        /* Rows that cannot be written are read once all the same, for a part that is broken. */
        if (hbm_doubt_is(&known->doubt))
                apart.rounds = 1;
        memset(doubts, 0, n * sizeof(*doubts));
        apart.tags = calloc(n, sizeof(Tags));
        r = apart.tags ? judge_all(&apart) : -ENOMEM;
        if (r >= 0 && !hbm_doubt_is(&known->doubt)) /* these reads took a while */
                r = hbm_live_watch_look(known->watch, HBM_WATCH_LOOKS, &known->doubt);
        for (unsigned i = 0; i < n && hbm_doubt_is(&known->doubt); i++)
                if (!doubts[i].in_part)
                        doubts[i] = known->doubt;
        free(apart.tags);
        free(apart.strays);
        return r;
}

/* ---- while it is marched over ---- */

/* A failure that is more than a cell, NULL without: several bits of an access, or several accesses of a row. */
static const MarchFailure *find_wide(HbmRun *run) {
        uint32_t columns = run->geometry.size[HBM_COLUMN];

        march_failures_merge(&run->failures);
        for (size_t i = 0; i < run->failures.n; i++) {
                const MarchFailure *failure = &run->failures.failures[i];

                if (memory_data_count(&failure->bits) > 1 ||
                    (i > 0 && failure[-1].part == failure->part && failure[-1].linear / columns == failure->linear / columns))
                        return failure;
        }
        return NULL;
}

bool hbm_apart_holds(HbmRun *run) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                if (run->outcomes[stack].truncated)
                        return false;
        return !find_wide(run);
}

int hbm_apart_tell(HbmRun *run) {
        const MarchFailure *failure = find_wide(run);
        Evidence evidence = { .has_count = true };
        Location where = *step_unit(run->step);

        for (unsigned stack = 0; stack < STACKS; stack++)
                evidence.count += (double) run->outcomes[stack].mismatches;
        if (failure) {
                uint16_t at[_MEMORY_AXIS_MAX];

                memory_geometry_at(&run->geometry, failure->linear, at);
                where = hbm_report_place(run, failure->part, at, HBM_ROW);
        }
        return step_finding(run->step, &run->verdict, "hbm-region-stopped", &where, &evidence,
                            "%.15g reads differ, more than single cells do, in rows that reads alone had shown to be sound: the march "
                            "was stopped, for what comes and goes there may reach live data",
                            evidence.count);
}
