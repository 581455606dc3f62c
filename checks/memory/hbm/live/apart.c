/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/live/apart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/live/apart-parts.h"
#include "checks/memory/hbm/live/marks.h"
#include "checks/memory/hbm/report/report.h"
#include "checks/memory/march/list.h"
#include "checks/text/cleanup.h"

#define SAMPLE     16u /* channels of which an access tells which tags a slice has … */
#define PLACES     4u  /* … at so many places from its first to its last, or what fails in one bank would hide the others */
#define LIST       256u
#define COLUMNS    8u /* read in one batch */
#define DECOY_SEED (UINT64_C(1) << 63)

/* ---- which tags there are ---- */

static WireBox sample_of(const Apart *apart, unsigned i, unsigned place) {
        static const MemoryAxis spread[] = { HBM_PSEUDO_CHANNEL, HBM_BANK_GROUP, HBM_BANK, HBM_ROW };
        WireBox box = memory_access_box(apart->boxes[i].first);

        for (unsigned k = 0; k < ELEMENTS(spread); k++) {
                unsigned first = apart->boxes[i].first[spread[k]], last = apart->boxes[i].last[spread[k]];

                box.first[spread[k]] = box.last[spread[k]] = (uint16_t) (first + place * (last - first) / (PLACES - 1));
        }
        box.last[HBM_CHANNEL] = (uint16_t) (MIN(SAMPLE, (unsigned) apart->run->geometry.size[HBM_CHANNEL]) - 1);
        return box;
}

/* Any of them will do, where a cell spoils one. */
static void take_sample(Apart *apart, unsigned i, unsigned place, unsigned stack, const uint8_t *bytes) {
        WireBox box = sample_of(apart, i, place);
        Tags *tags = &apart->tags[i];

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
                        tags->tags[stack] = tag;
                        tags->found[stack] = true;
                        return;
                }
                hbm_doubt_other(apart->run, stack, at, tag.place, &tags->other);
        }
}

/* Of the boxes of which no tag is known yet. */
static int read_samples(Apart *apart, unsigned stack, unsigned place) {
        HbmRun *run = apart->run;
        unsigned asked = 0;
        int r;

        memory_batch_reset(run->batch);
        for (unsigned i = 0; i < apart->n; i++) {
                WireBox box = sample_of(apart, i, place);

                if (apart->tags[i].found[stack])
                        continue;
                r = memory_batch_copy_out(run->batch, &run->parts[stack], &box, false);
                if (r < 0)
                        return r;
                asked++;
        }
        r = asked > 0 ? memory_batch_run(run->batch) : 0;
        asked = 0;
        for (unsigned i = 0; r >= 0 && i < apart->n; i++)
                if (!apart->tags[i].found[stack])
                        take_sample(apart, i, place, stack, memory_batch_answer(run->batch, (int) asked++).data);
        return r;
}

int apart_read_tags(Apart *apart) {
        int r = 0;

        for (unsigned stack = 0; stack < STACKS && r >= 0; stack++)
                for (unsigned place = 0; place < PLACES && r >= 0; place++)
                        r = read_samples(apart, stack, place);
        return r;
}

static unsigned count_found(const Tags *tags) {
        unsigned n = 0;

        for (unsigned stack = 0; stack < STACKS; stack++)
                n += tags->found[stack];
        return n;
}

static bool same_tags(const Tags *a, const Tags *b) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                if (a->found[stack] != b->found[stack] || a->tags[stack].seed != b->tags[stack].seed || a->tags[stack].data != b->tags[stack].data)
                        return false;
        return true;
}

/* ---- whether each row gives back its own ---- */

WireMarch apart_read(const HbmRun *run, const MemoryTag *tag, WireBox box, unsigned column, uint32_t list) {
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

static void note_crowd(Apart *apart, unsigned stack, unsigned column) {
        if (!apart->crowded[stack])
                apart->crowded_columns[stack] = column;
        apart->crowded[stack] = true;
}

static bool is_crowded(const Apart *apart) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                if (apart->crowded[stack])
                        return true;
        return false;
}

int apart_read_columns(Apart *apart, const WireBox *box, const Tags *tags, unsigned first, unsigned n, bool *blind) {
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

                if (!tags->found[stack])
                        continue;
                for (unsigned i = 0; i < n && r >= 0; i++) {
                        march = apart_read(run, &tags->tags[stack], *box, first + i, list);
                        r = numbers[i][stack] = memory_batch_march(run->batch, &run->parts[stack], &march);
                }
                decoy.seed ^= DECOY_SEED;
                march = apart_read(run, &decoy, memory_access_box(box->first), 0, 1);
                if (r >= 0)
                        r = decoys[stack] = memory_batch_march(run->batch, &run->parts[stack], &march);
                if (r < 0)
                        return r;
        }

        r = memory_batch_run(run->batch);
        for (unsigned stack = 0; stack < STACKS && r >= 0; stack++) {
                if (!tags->found[stack])
                        continue;
                *blind |= memory_batch_answer(run->batch, decoys[stack]).total != 1;
                for (unsigned i = 0; i < n && r >= 0; i++) {
                        MemoryAnswer answer = memory_batch_answer(run->batch, numbers[i][stack]);

                        if (answer.total != answer.n)
                                note_crowd(apart, stack, first + i);
                        for (size_t k = 0; k < answer.n && r >= 0; k++)
                                if (memory_box_includes(box, answer.mismatches[k].at))
                                        r = keep_stray(apart, &tags->tags[stack], stack, &answer.mismatches[k]);
                                else
                                        note_crowd(apart, stack, first + i);
                }
        }
        return r;
}

/* N boxes from FIRST on with the same tags, as one. More strays than lists have room for are looked at box by box. */
static int judge_group(Apart *apart, unsigned first, unsigned n) {
        unsigned columns = apart->run->geometry.size[HBM_COLUMN];
        WireBox box = apart->boxes[first];
        unsigned rounds = count_found(&apart->tags[first]) == STACKS ? apart->rounds : 1; /* else nothing will be written */
        bool blind = false;
        int r = 0;

        box.last[HBM_ROW] = apart->boxes[first + n - 1].last[HBM_ROW];
        apart->n_strays = apart->n_rounds = 0;
        memset(apart->crowded, 0, sizeof(apart->crowded));
        /* Where there are strays all rounds are made, which tell what comes and goes from what lies there. */
        while (r >= 0 && !is_crowded(apart) && apart->n_rounds < (apart->n_strays > 0 ? HBM_APART_ROUNDS : rounds)) {
                for (unsigned at = 0; at < columns && r >= 0 && !is_crowded(apart); at += COLUMNS)
                        r = apart_read_columns(apart, &box, &apart->tags[first], at, MIN(COLUMNS, columns - at), &blind);
                apart->n_rounds++;
        }
        if (r < 0)
                return r;

        if (is_crowded(apart) && n > 1) {
                for (unsigned i = first; i < first + n && r >= 0; i++)
                        r = judge_group(apart, i, 1);
                return r;
        }
        for (unsigned i = first; i < first + n && blind; i++)
                (void) snprintf(apart->doubts[i].why, HBM_DOUBT_MAX, "a march over them reports nothing");
        if (is_crowded(apart))
                return apart_judge_crowd(apart, first);
        apart_judge_strays(apart, first, n);
        return 0;
}

/* A box that holds nothing of a test in some stack, of which what is broken in the others has not been told. */
static void doubt_tagless(Apart *apart, unsigned i) {
        HbmDoubt *doubt = &apart->doubts[i];

        if (count_found(&apart->tags[i]) == STACKS || doubt->suspicious)
                return;
        if (hbm_doubt_is(&apart->tags[i].other))
                *doubt = apart->tags[i].other;
        else
                (void) snprintf(doubt->why, HBM_DOUBT_MAX, "these rows hold nothing that a test has left");
}

static int judge_all(Apart *apart) {
        int r = apart_read_tags(apart);

        for (unsigned first = 0, n; first < apart->n && r >= 0; first += n) {
                n = 1;
                while (first + n < apart->n && same_tags(&apart->tags[first], &apart->tags[first + n]))
                        n++;
                if (count_found(&apart->tags[first]) > 0)
                        r = judge_group(apart, first, n);
        }
        for (unsigned i = 0; i < apart->n; i++)
                doubt_tagless(apart, i);
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
        /* Rows that cannot be written are read once all the same, for what is broken. */
        if (hbm_doubt_is(&known->doubt))
                apart.rounds = 1;
        memset(doubts, 0, n * sizeof(*doubts));
        apart.tags = calloc(n, sizeof(Tags));
        r = apart.tags ? judge_all(&apart) : -ENOMEM;
        if (r >= 0 && !hbm_doubt_is(&known->doubt)) /* these reads took a while */
                r = hbm_live_watch_look(known->watch, HBM_WATCH_LOOKS, &known->doubt);
        for (unsigned i = 0; i < n && hbm_doubt_is(&known->doubt); i++)
                if (!doubts[i].suspicious)
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
        evidence.decided = (Decided) { "hbm_reads_wide", MAX(evidence.count, 1), 0 };
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
