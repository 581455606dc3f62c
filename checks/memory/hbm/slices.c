/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/slices.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/passes/passes.h"
#include "checks/memory/hbm/passes/schedule.h"
#include "checks/memory/hbm/report/under-test.h"
#include "checks/memory/hbm/slices-parts.h"

/* ---- which ---- */

/* As many slices of each SID as were asked for and regions have numbers. */
static int cut(Slices *slices) {
        uint32_t sids = slices->whole.size[HBM_SID], rows = slices->whole.size[HBM_ROW];
        uint32_t n = (uint32_t) MIN(slices->run->parameters->slices, (uint64_t) MIN(rows, REGIONS_MAX / sids));

        return partition_new("sid", sids, "row", rows, n, &slices->regions.partition);
}

static WireBox box_of(const Slices *slices, unsigned first, unsigned n) {
        WireBox box = memory_geometry_box(&slices->whole);
        uint32_t sid, row, end, ignored;

        partition_region(&slices->regions.partition, first, &sid, &row, &ignored);
        partition_region(&slices->regions.partition, first + n - 1, &sid, &ignored, &end);
        box.first[HBM_SID] = box.last[HBM_SID] = (uint16_t) sid;
        box.first[HBM_ROW] = (uint16_t) row;
        box.last[HBM_ROW] = (uint16_t) end;
        return box;
}

/* The rows of N slices but for the guard beside live rows; false where that leaves none, or some carry live data. */
static bool free_box(const Slices *slices, const HbmInUse *in_use, unsigned first, unsigned n, WireBox *ret) {
        WireBox box = box_of(slices, first, n);
        unsigned sid = box.first[HBM_SID], begin = box.first[HBM_ROW], end = box.last[HBM_ROW] + 1u;

        if (hbm_in_use_meets(in_use, sid, begin, end - 1))
                return false;
        for (size_t i = 0; i < in_use->n; i++) {
                unsigned below = in_use->ranges[i].last + 1u + HBM_GUARD_ROWS, above = in_use->ranges[i].first;

                if (in_use->ranges[i].sid != sid)
                        continue;
                if (above < begin)
                        begin = MAX(begin, below);
                else
                        end = MIN(end, above > HBM_GUARD_ROWS ? above - HBM_GUARD_ROWS : 0);
        }
        if (begin >= end)
                return false;

        box.first[HBM_ROW] = (uint16_t) begin;
        box.last[HBM_ROW] = (uint16_t) (end - 1);
        *ret = box;
        return true;
}

static bool is_free(const Slices *slices, const HbmInUse *in_use, unsigned region) {
        WireBox box;

        return free_box(slices, in_use, region, 1, &box);
}

/* Whether an interrupted test may have left some of its rows half written. */
static bool is_half_written(const Slices *slices, unsigned region) {
        WireBox box = box_of(slices, region, 1);

        return hbm_in_use_meets(&slices->under_test, box.first[HBM_SID], box.first[HBM_ROW], box.last[HBM_ROW]);
}

static int read_in_use(const Slices *slices, HbmInUse *ret) {
        HbmRun *run = slices->run;
        int r;

        r = device_hbm_in_use(step_device(run->step), step_chip(run->step), &slices->whole, ret);
        if (r < 0 && r != -ENOENT)
                return step_error(run->step, r, "assay/hbm/in-use does not tell which rows carry live data");
        return r;
}

static RegionSet all_half_written(const Slices *slices) {
        RegionSet set = {};

        for (unsigned region = 0; region < partition_regions(&slices->regions.partition); region++)
                if (is_half_written(slices, region))
                        region_set_add(&set, region);
        return set;
}

/* Those of FOUND, of earlier scans, which come first. */
static void queue_found(Slices *slices, const RegionSet *found, RegionSet *queued) {
        for (unsigned region = 0; region < partition_regions(&slices->regions.partition) && slices->n_queue < slices->room; region++)
                if (region_set_has(found, region) && !region_set_has(&slices->regions.occupied, region) && !region_set_has(queued, region)) {
                        slices->queue[slices->n_queue++] = (uint16_t) region;
                        region_set_add(queued, region);
                }
}

/* The reads of the live rows of SID: all of them where nothing is known, else those beside one test. */
static double live_sec(const Slices *slices, unsigned sid) {
        unsigned looks = HBM_WATCH_LOOKS * (slices->run->n_passes + 2), rows = 0;

        for (size_t i = 0; i < slices->in_use.n; i++)
                if (slices->in_use.ranges[i].sid == sid)
                        rows += slices->in_use.ranges[i].last - slices->in_use.ranges[i].first + 1u;
        if (!hbm_live_known_has(&slices->live, &slices->in_use, sid))
                return rows * slices->row_sec * (HBM_LIVE_COLUMNS + HBM_WATCH_MARKS * (HBM_WATCH_ROUNDS + looks));
        return rows * slices->row_sec * HBM_WATCH_MARKS * looks;
}

/* Those that failed together come before all others, where they can be tested together: in part they could show nothing. */
static void queue_together(Slices *slices, RegionSet *queued) {
        const Partition *partition = &slices->regions.partition;

        for (unsigned first = 0, n; first < partition_regions(partition); first += MAX(n, 1u)) {
                double live = slices->in_use.n > 0 ? live_sec(slices, first / partition->n_slices) : 0;
                RegionSet group;

                n = partition_run(partition, &slices->before->together, first);
                group = region_set_range(first, n);
                if (slices->n_queue + n > slices->room || (slices->n_queue + n) * slices->region_sec + live > slices->allowed_sec ||
                    region_set_meets(&group, &slices->regions.occupied))
                        continue;
                queue_found(slices, &group, queued);
        }
}

/* Of all slices those before POSITION come last. Where the time ends is where the next scan begins. */
static void choose(Slices *slices, unsigned position) {
        unsigned total = partition_regions(&slices->regions.partition);
        RegionSet queued = {}, half_written = all_half_written(slices);

        slices->room = (unsigned) MIN(fmax(floor(slices->allowed_sec / slices->region_sec), 1), total);
        for (unsigned region = 0; region < total; region++)
                if (!is_free(slices, &slices->in_use, region))
                        region_set_add(&slices->regions.occupied, region);
        if (slices->before) {
                queue_together(slices, &queued);
                queue_found(slices, &slices->before->failed, &queued);
                queue_found(slices, &slices->before->altered, &queued);
                queue_found(slices, &slices->before->suspicious, &queued);
        }
        queue_found(slices, &half_written, &queued);
        slices->n_again = slices->n_queue;

        slices->regions.position = position;
        for (unsigned i = 0; i < total; i++) {
                unsigned region = (position + i) % total;

                if (!region_set_has(&slices->regions.occupied, region) && !region_set_has(&queued, region))
                        slices->queue[slices->n_queue++] = (uint16_t) region;
        }
}

/* How many from AT on lie side by side in one SID, at most MOST: they are tested together. */
static unsigned count_joined(const Slices *slices, unsigned at, unsigned most) {
        unsigned end = at < slices->n_again ? slices->n_again : slices->n_queue, n = 1;

        while (n < most && at + n < end && !region_set_has(&slices->regions.unproven, slices->queue[at + n]) &&
               slices->queue[at + n] == slices->queue[at] + n &&
               is_half_written(slices, slices->queue[at + n]) == is_half_written(slices, slices->queue[at]) &&
               slices->queue[at + n] / slices->regions.partition.n_slices ==
                               slices->queue[at] / slices->regions.partition.n_slices)
                n++;
        return n;
}

/* ---- one box of them ---- */

static void begin_box(HbmRun *run, const MemoryGeometry *geometry) {
        run->geometry = *geometry;
        memcpy(run->map.origin, geometry->origin, sizeof(run->map.origin));
        run->box = memory_geometry_box(geometry);
        run->verdict = VERDICT_PASSED;
        run->stopped = run->taken = false;
        run->reached = (HbmDoubt) {};
        march_failures_done(&run->failures);
        hbm_defects_done(&run->defects);
        run->failures = (MarchFailures) {};
        run->defects = (HbmDefects) {};
        memset(run->outcomes, 0, sizeof(run->outcomes));
        for (unsigned stack = 0; stack < STACKS; stack++)
                run->outcomes[stack].accesses = memory_box_accesses(&run->box);
        memory_batch_confine(run->batch, geometry);
}

/* The slices that hold what failed; all of them where what failed has no place, or not every place is known. */
static void keep_failed(Slices *slices, unsigned first, unsigned n) {
        const HbmRun *run = slices->run;
        bool complete = !run->failures.full;
        RegionSet failed = {};

        for (unsigned stack = 0; stack < STACKS; stack++)
                complete = complete && !run->outcomes[stack].truncated && run->outcomes[stack].n_blind == 0 &&
                           run->outcomes[stack].n_lies == 0;

        for (size_t i = 0; complete && i < run->failures.n; i++) {
                uint16_t at[_MEMORY_AXIS_MAX];
                unsigned row, slice;

                memory_geometry_at(&run->geometry, run->failures.failures[i].linear, at);
                row = memory_geometry_absolute(&run->geometry, HBM_ROW, at);
                for (slice = first; slice < first + n - 1 && row > box_of(slices, slice, 1).last[HBM_ROW]; slice++)
                        ;
                region_set_add(&failed, slice);
        }
        if (region_set_count(&failed) == 0)
                for (unsigned i = 0; i < n; i++)
                        region_set_add(&failed, first + i);

        region_set_unite(&slices->regions.failed, &failed);
}

/* Returns whether all N slices from FIRST on are still free; those that are not are occupied from now on. */
static int still_free(Slices *slices, unsigned first, unsigned n, HbmInUse *ret_in_use) {
        int r;

        r = read_in_use(slices, ret_in_use);
        if (r < 0)
                return r;

        r = 1;
        for (unsigned i = 0; i < n; i++)
                if (!is_free(slices, ret_in_use, first + i)) {
                        region_set_add(&slices->regions.occupied, first + i);
                        slices->taken = true;
                        r = 0;
                }
        return r;
}

/* What their rows hold tells nothing, not even that they are broken: they wait for the job to end. */
static int leave_half_written(Slices *slices, unsigned first, unsigned n) {
        for (unsigned i = first; i < first + n; i++) {
                (void) snprintf(slices->doubts[i].why, sizeof(slices->doubts[i].why), "a test that did not come to its end may have left these rows half written");
                region_set_add(&slices->regions.unproven, i);
        }
        return 0;
}

/* Nor is a row suspicious that a job has taken since, for what a test has left in it. */
static void excuse_half_written(const Slices *slices, HbmDoubt *doubt) {
        unsigned row = doubt->at[HBM_ROW];

        if (!doubt->in_part && hbm_in_use_meets(&slices->under_test, doubt->at[HBM_SID], row, row))
                doubt->suspicious = false;
}

/* Beside live data only what reads have proven to lie apart is written: returns how many slices from FIRST on do. */
static int prove(Slices *slices, const HbmInUse *in_use, unsigned first, unsigned n) {
        WireBox boxes[REGIONS_MAX];
        unsigned n_proven = n;
        int r;

        if (in_use->n == 0)
                return (int) n;
        if (is_half_written(slices, first))
                return leave_half_written(slices, first, n);

        slices->run->geometry = slices->whole;
        for (unsigned i = 0; i < n; i++)
                (void) free_box(slices, in_use, first + i, 1, &boxes[i]);
        r = hbm_apart_judge(slices->run, in_use, &slices->live, boxes, n, &slices->doubts[first]);
        if (r < 0)
                return step_error(slices->run->step, r, "rows could not be told from those with live data");

        for (unsigned i = n; i-- > 0;)
                if (hbm_doubt_is(&slices->doubts[first + i])) {
                        excuse_half_written(slices, &slices->doubts[first + i]);
                        region_set_add(&slices->regions.unproven, first + i);
                        n_proven = i;
                }
        return (int) n_proven;
}

/* The passes over BOX. Returns 0 where the time was over. */
static int test_rows(Slices *slices, const WireBox *box, HbmLiveWatch *watch) {
        MemoryGeometry geometry = memory_geometry_narrow(&slices->whole, box);
        HbmRun *run = slices->run;
        int r;

        begin_box(run, &geometry);
        run->watch = watch;
        r = hbm_schedule(run);
        if (r < 0)
                return hbm_schedule_error(run, r);
        r = hbm_under_test_begin(run);
        if (r < 0)
                return step_error(run->step, r, "the chip could not be told which rows are written");
        r = hbm_passes_run(run);
        if (r < 0)
                return hbm_passes_error(run, r);
        return run->stopped || run->taken || hbm_doubt_is(&run->reached) || hbm_passes_complete(run);
}

/* Live rows have changed while N slices from FIRST on were written: they count as not tested, and nothing more is written beside these rows. */
static int keep_reached(Slices *slices, unsigned first, unsigned n) {
        slices->live.doubt = slices->run->reached;
        for (unsigned i = 0; i < n; i++) {
                slices->doubts[first + i] = slices->live.doubt;
                region_set_add(&slices->regions.unproven, first + i);
        }
        return 1;
}

/* Finds out what failed, leaves tags, and looks at the live rows a last time. */
static int end_rows(HbmRun *run) {
        int r;

        if (run->stopped)
                return hbm_apart_tell(run);
        r = hbm_run_diagnose(run);
        if (r >= 0)
                r = hbm_passes_leave_tags(run);
        if (r >= 0 && !run->taken)
                r = hbm_under_test_end(run);
        if (r >= 0 && run->watch)
                r = hbm_live_watch_look(run->watch, HBM_WATCH_LOOKS, &run->reached);
        return r;
}

/* Concludes the passes over N slices from FIRST on. Returns 0 where a job took them. */
static int conclude_rows(Slices *slices, unsigned first, unsigned n) {
        HbmRun *run = slices->run;
        int r = 0;

        if (!hbm_doubt_is(&run->reached))
                r = end_rows(run);
        if (r < 0)
                return step_error(run->step, r, "failures could not be located");
        if (run->taken && run->verdict == VERDICT_PASSED) {
                HbmInUse later;

                r = still_free(slices, first, n, &later);
                return MIN(r, 0);
        }
        if (hbm_doubt_is(&run->reached) && run->verdict == VERDICT_PASSED)
                return keep_reached(slices, first, n);

        for (unsigned stack = 0; stack < STACKS; stack++) {
                slices->mismatches += run->outcomes[stack].mismatches;
                slices->bytes += run->outcomes[stack].accesses * MEMORY_ACCESS_BYTES;
        }
        for (unsigned i = 0; i < n; i++)
                region_set_add(&slices->regions.tested, first + i);
        if (hbm_doubt_is(&run->reached))
                slices->live.doubt = run->reached;
        if (run->verdict == VERDICT_FAILED)
                keep_failed(slices, first, n);
        hbm_together_tested(&slices->together, &slices->regions.partition, first, n, run->verdict == VERDICT_FAILED);
        if (run->verdict != VERDICT_PASSED && slices->verdict != VERDICT_FAILED)
                slices->verdict = run->verdict;
        return 1;
}

/*
 * Tests *N slices from FIRST on, or as many of them as are proven to lie apart: *n says how many, 0 where the first is not. Returns 0
 * where the time was over or a job took them.
 */
static int test_some(Slices *slices, unsigned first, unsigned *n) {
        HbmInUse in_use, later;
        WireBox box, box_later;
        int r;

        r = still_free(slices, first, *n, &in_use);
        if (r <= 0)
                return r;
        r = prove(slices, &in_use, first, *n);
        if (r < 0)
                return r;
        *n = (unsigned) r;
        if (*n == 0)
                return 1;

        (void) free_box(slices, &in_use, first, *n, &box);
        r = test_rows(slices, &box, in_use.n > 0 ? slices->live.watch : NULL);
        if (r <= 0)
                return r;

        /* Data that a job wrote meanwhile are no failure. */
        r = still_free(slices, first, *n, &later);
        if (r <= 0)
                return r;
        if (slices->run->taken || !free_box(slices, &later, first, *n, &box_later) || memcmp(&box, &box_later, sizeof(box)) != 0)
                return 0;

        r = conclude_rows(slices, first, *n);
        if (r <= 0)
                return r;
        box_later = box_of(slices, first, *n);
        slices->guarded += (unsigned) (box_later.last[HBM_ROW] - box_later.first[HBM_ROW] - (box.last[HBM_ROW] - box.first[HBM_ROW]));
        return 1;
}

static double used_sec(const Slices *slices) {
        return (double) (device_nsec(step_device(slices->run->step)) - slices->run->start_nsec) / 1e9;
}

/* What is left in the queue is the next scan's: no region loses its turn. */
static void leave_off(Slices *slices, unsigned at) {
        if (slices->n_queue > slices->n_again)
                slices->regions.position = slices->queue[MAX(at, slices->n_again)];
}

/* For how many from AT on there is time, of which N_TESTED are done. */
static unsigned count_timely(const Slices *slices, unsigned at, unsigned n_tested) {
        unsigned sid = slices->queue[at] / slices->regions.partition.n_slices, most = slices->room - MIN(n_tested, slices->room);
        double left = slices->allowed_sec - used_sec(slices);

        if (n_tested > 0 && left <= 0)
                return 0;
        if (slices->in_use.n > 0)
                most = MIN(most, (unsigned) fmax(floor((left - live_sec(slices, sid)) / slices->region_sec), 0));
        return n_tested > 0 ? most : MAX(most, 1u);
}

static int test_queue(Slices *slices) {
        unsigned n_tested = 0;

        for (unsigned at = 0; at < slices->n_queue;) {
                unsigned n;
                int r;

                if (region_set_has(&slices->regions.unproven, slices->queue[at])) {
                        at++;
                        continue;
                }
                n = count_timely(slices, at, n_tested);
                if (n == 0) {
                        leave_off(slices, at); /* time is over, perhaps sooner than foreseen */
                        return 0;
                }
                n = count_joined(slices, at, n);
                r = test_some(slices, slices->queue[at], &n);
                if (r < 0)
                        return r;
                if (r == 0) {
                        leave_off(slices, at);
                        return 0;
                }
                at += n;
                n_tested += n;
                step_progress(slices->run->step, 95 * n_tested / MAX(slices->room, n_tested));
        }

        return 0;
}

/* ---- behind all tests ---- */

/* Reads one column of all free rows of a SID of which regions were written: an address of one region that reaches another shows in no pass over either. */
static int look_for_alias(Slices *slices, unsigned sid, HbmFarAlias *ret) {
        const Partition *partition = &slices->regions.partition;
        RegionSet own = region_set_range(sid * partition->n_slices, partition->n_slices);
        WireBox boxes[REGIONS_MAX];
        HbmInUse in_use;
        unsigned n = 0;
        int r;

        *ret = (HbmFarAlias) {};
        if (!region_set_meets(&own, &slices->regions.tested))
                return 0;
        r = read_in_use(slices, &in_use);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < partition->n_slices; i++)
                n += free_box(slices, &in_use, sid * partition->n_slices + i, 1, &boxes[n]);
        slices->run->geometry = slices->whole;
        r = hbm_far_alias_look(slices->run, boxes, n, hbm_schedule_tags(slices->run).seed, ret);
        return r < 0 ? step_error(slices->run->step, r, "rows could not be read behind the tests of others") : 0;
}

static int look_for_aliases(Slices *slices) {
        HbmFarAlias alias = {};
        int r = 0;

        for (unsigned sid = 0; sid < slices->whole.size[HBM_SID] && r >= 0 && !alias.found && !slices->taken; sid++)
                r = look_for_alias(slices, sid, &alias);
        return r >= 0 && alias.found ? slices_tell_alias(slices, &alias) : r;
}

/* ---- all of it ---- */

/*
 * Works out the device seconds of all passes over the first slice, which is as large as any but for a row; beside live data with
 * the reads before them and the marks that are written between them.
 */
static int forecast(Slices *slices) {
        HbmRun *run = slices->run;
        double read_sec;
        int r;

        run->box = box_of(slices, 0, 1);
        r = hbm_schedule(run);
        if (r < 0)
                return hbm_schedule_error(run, r);
        read_sec = hbm_schedule_read_sec(run);
        slices->row_sec = read_sec / (run->geometry.size[HBM_COLUMN] * (run->box.last[HBM_ROW] - run->box.first[HBM_ROW] + 1.0));
        slices->region_sec = hbm_schedule_sec(run);
        if (slices->in_use.n > 0)
                slices->region_sec += (HBM_APART_ROUNDS + 2.0 * (run->n_passes + 1) / run->geometry.size[HBM_COLUMN]) * read_sec;
        slices->allowed_sec = fmin(run->parameters->seconds, step_budget_sec(run->step)) -
                              slices->whole.size[HBM_SID] * slices->whole.size[HBM_ROW] * slices->row_sec;
        return 0;
}

/* Of slices cut otherwise nothing is known but what failed: a new beginning must not clear it. */
static void map_before(Slices *slices) {
        Rotation *mapped = &slices->mapped;

        mapped->partition = slices->regions.partition;
        memset(mapped->ages, 0xff, sizeof(mapped->ages));
        mapped->failed = partition_map(&slices->before->partition, &slices->before->failed, &mapped->partition);
        mapped->altered = partition_map(&slices->before->partition, &slices->before->altered, &mapped->partition);
        mapped->joined = partition_map(&slices->before->partition, &slices->before->joined, &mapped->partition);
        mapped->together = partition_map(&slices->before->partition, &slices->before->together, &mapped->partition);
        mapped->suspicious = partition_map(&slices->before->partition, &slices->before->suspicious, &mapped->partition);
        slices->before = mapped;
}

int hbm_slices_run(HbmRun *run, Verdict *ret) {
        Slices slices = { .run = run, .whole = run->geometry, .verdict = VERDICT_PASSED };
        unsigned position = step_position(run->step);
        int r;

        run->whole = &slices.whole;
        r = cut(&slices);
        if (r < 0)
                return step_error(run->step, -EPROTO, "stacks of %u SIDs cannot be", run->geometry.size[HBM_SID]);

        slices.before = step_rotation(run->step);
        if (slices.before && !partition_equal(&slices.before->partition, &slices.regions.partition))
                map_before(&slices);
        if (slices.before) {
                position = slices.before->position;
                slices.together = (HbmTogether) { .joined = slices.before->joined, .together = slices.before->together };
        }
        if (position >= partition_regions(&slices.regions.partition))
                return step_error(run->step, -EINVAL, "position %u is no region: there are %u", position,
                                  partition_regions(&slices.regions.partition));

        r = read_in_use(&slices, &slices.in_use);
        if (r == -ENOENT)
                return step_skip(run->step, ret, REASON_OCCUPIED, "the chip does not tell which of its memory carries live data");
        if (r < 0)
                return r;

        r = device_hbm_under_test(step_device(run->step), step_chip(run->step), &slices.whole, &slices.under_test);
        if (r == -ENOENT && slices.in_use.n > 0)
                return step_skip(run->step, ret, REASON_OCCUPIED, "the chip carries live data and does not tell which rows an interrupted test has left");
        if (r < 0 && r != -ENOENT)
                return step_error(run->step, r, "assay/hbm/under-test does not tell which rows an interrupted test has left");

        r = forecast(&slices);
        if (r < 0)
                return r;
        if (slices.region_sec > step_budget_sec(run->step))
                return step_skip(run->step, ret, REASON_BUDGET, "a slice takes %.3g s", slices.region_sec);

        choose(&slices, position);
        r = test_queue(&slices);
        if (r >= 0)
                r = look_for_aliases(&slices);
        hbm_live_known_done(&slices.live);
        return r < 0 ? r : slices_conclude(&slices, ret);
}
