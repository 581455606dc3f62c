/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/slices.h"

#include <math.h>
#include <string.h>
#include <sys/param.h>

#include "checks/hbm/hbm.h"
#include "checks/hbm/in-use.h"
#include "checks/hbm/overdue.h"
#include "checks/hbm/passes.h"
#include "checks/hbm/schedule.h"

typedef struct Slices {
        HbmRun *run;
        MemoryGeometry whole;
        Regions regions;
        const Rotation *before;  /* what earlier scans did; NULL: nothing is known */
        Rotation mapped;         /* where they did it to other slices */
        uint16_t queue[REGIONS_MAX]; /* what to test, in this order */
        unsigned n_queue;
        unsigned n_again;        /* the first of them failed before */
        double region_sec;       /* forecast */
        double allowed_sec;
        uint64_t bytes, mismatches;
        Verdict verdict;
} Slices;

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

static bool is_free(const Slices *slices, const HbmInUse *in_use, unsigned region) {
        WireBox box = box_of(slices, region, 1);

        return !hbm_in_use_meets(in_use, box.first[HBM_SID], box.first[HBM_ROW], box.last[HBM_ROW]);
}

static int read_in_use(const Slices *slices, HbmInUse *ret) {
        HbmRun *run = slices->run;
        int r;

        r = device_hbm_in_use(step_device(run->step), step_chip(run->step), &slices->whole, ret);
        if (r < 0 && r != -ENOENT)
                return step_error(run->step, r, "assay/hbm/in-use does not tell which rows carry live data");
        return r;
}

/* Of all slices those before POSITION come last. Where the time ends is where the next scan begins. */
static void choose(Slices *slices, const HbmInUse *in_use, unsigned position) {
        unsigned total = partition_regions(&slices->regions.partition);
        unsigned room = (unsigned) MIN(fmax(floor(slices->allowed_sec / slices->region_sec), 1), total);
        RegionSet queued = {};

        for (unsigned region = 0; region < total; region++) {
                if (!is_free(slices, in_use, region))
                        region_set_add(&slices->regions.occupied, region);
                else if (slices->before && region_set_has(&slices->before->failed, region) && slices->n_queue < room) {
                        slices->queue[slices->n_queue++] = (uint16_t) region;
                        region_set_add(&queued, region);
                }
        }
        slices->n_again = slices->n_queue;

        slices->regions.position = position;
        for (unsigned i = 0; i < total; i++) {
                unsigned region = (position + i) % total;

                if (region_set_has(&slices->regions.occupied, region) || region_set_has(&queued, region))
                        continue;
                if (slices->n_queue >= room) {
                        slices->regions.position = region;
                        break;
                }
                slices->queue[slices->n_queue++] = (uint16_t) region;
        }
}

/* How many from AT on lie side by side in one SID: they are tested together. */
static unsigned count_joined(const Slices *slices, unsigned at) {
        unsigned end = at < slices->n_again ? slices->n_again : slices->n_queue, n = 1;

        while (at + n < end && slices->queue[at + n] == slices->queue[at] + n &&
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
static int still_free(Slices *slices, unsigned first, unsigned n) {
        HbmInUse in_use;
        int r;

        r = read_in_use(slices, &in_use);
        if (r < 0)
                return r;

        r = 1;
        for (unsigned i = 0; i < n; i++)
                if (!is_free(slices, &in_use, first + i)) {
                        region_set_add(&slices->regions.occupied, first + i);
                        r = 0;
                }
        return r;
}

/* Returns 1 where they were tested, 0 where the time was over or a job took them. */
static int test_box(Slices *slices, unsigned first, unsigned n) {
        WireBox box = box_of(slices, first, n);
        MemoryGeometry geometry = memory_geometry_narrow(&slices->whole, &box);
        HbmRun *run = slices->run;
        int r;

        r = still_free(slices, first, n);
        if (r <= 0)
                return r;

        begin_box(run, &geometry);
        r = hbm_schedule(run);
        if (r < 0)
                return hbm_schedule_error(run, r);
        r = hbm_passes_run(run);
        if (r < 0)
                return hbm_passes_error(run, r);
        if (!hbm_passes_complete(run))
                return 0;

        /* What a job wrote meanwhile is no failure; a job that can take rows at any moment must ask for them first. */
        r = still_free(slices, first, n);
        if (r <= 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                slices->mismatches += run->outcomes[stack].mismatches;
                slices->bytes += run->outcomes[stack].accesses * MEMORY_ACCESS_BYTES;
        }
        for (unsigned i = 0; i < n; i++)
                region_set_add(&slices->regions.tested, first + i);

        r = hbm_run_diagnose(run);
        if (r < 0)
                return step_error(run->step, r, "failures could not be located");
        if (run->verdict == VERDICT_FAILED)
                keep_failed(slices, first, n);
        if (run->verdict != VERDICT_PASSED && slices->verdict != VERDICT_FAILED)
                slices->verdict = run->verdict;
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

static int test_queue(Slices *slices) {
        int r;

        for (unsigned at = 0, n; at < slices->n_queue; at += n) {
                n = count_joined(slices, at);
                if (at > 0 && used_sec(slices) >= slices->allowed_sec) {
                        leave_off(slices, at); /* slower than foreseen */
                        return 0;
                }
                r = test_box(slices, slices->queue[at], n);
                if (r < 0)
                        return r;
                if (r == 0) {
                        leave_off(slices, at);
                        return 0;
                }
                step_progress(slices->run->step, 95 * (at + n) / slices->n_queue);
        }

        return 0;
}

/* ---- what came of it ---- */

static int measure(Slices *slices) {
        const Regions *regions = &slices->regions;
        const HbmRun *run = slices->run;
        int r;

        r = step_note(run->step, "hbm_bytes_tested", (double) slices->bytes, "By", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions", partition_regions(&regions->partition), "1", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions_tested", region_set_count(&regions->tested), "1", NULL);
        if (r >= 0)
                r = step_note(run->step, "hbm_regions_occupied", region_set_count(&regions->occupied), "1", NULL);
        return r < 0 ? r : march_totals_measure(&run->totals, run->step, "hbm", slices->mismatches);
}

static int conclude(Slices *slices, Verdict *ret) {
        HbmRun *run = slices->run;
        int r;

        r = measure(slices);
        if (r >= 0)
                r = hbm_overdue_tell(run->step, &slices->regions, slices->before, &slices->verdict);
        if (r >= 0)
                r = step_regions(run->step, &slices->regions);
        if (r < 0)
                return r;

        if (region_set_count(&slices->regions.tested) == 0 && slices->verdict != VERDICT_FAILED) {
                if (region_set_count(&slices->regions.occupied) == partition_regions(&slices->regions.partition))
                        return step_skip(run->step, ret, REASON_OCCUPIED, "all of the memory carries live data");
                return step_skip(run->step, ret, REASON_BUDGET, "a slice takes %.3g s", slices->region_sec);
        }

        *ret = slices->verdict;
        return 0;
}

/* Works out the device seconds of all passes over the first slice, which is as large as any but for a row. */
static int forecast(Slices *slices) {
        int r;

        slices->run->box = box_of(slices, 0, 1);
        r = hbm_schedule(slices->run);
        if (r < 0)
                return hbm_schedule_error(slices->run, r);
        slices->region_sec = hbm_schedule_sec(slices->run);
        return 0;
}

/* Of slices cut otherwise nothing is known but what failed: a new beginning must not clear it. */
static void map_before(Slices *slices) {
        Rotation *mapped = &slices->mapped;

        mapped->partition = slices->regions.partition;
        memset(mapped->ages, 0xff, sizeof(mapped->ages));
        mapped->failed = partition_map(&slices->before->partition, &slices->before->failed, &mapped->partition);
        slices->before = mapped;
}

int hbm_slices_run(HbmRun *run, Verdict *ret) {
        Slices slices = { .run = run, .whole = run->geometry, .verdict = VERDICT_PASSED };
        unsigned position = step_position(run->step);
        HbmInUse in_use;
        int r;

        r = cut(&slices);
        if (r < 0)
                return step_error(run->step, -EPROTO, "stacks of %u SIDs cannot be", run->geometry.size[HBM_SID]);

        slices.before = step_rotation(run->step);
        if (slices.before && !partition_equal(&slices.before->partition, &slices.regions.partition))
                map_before(&slices);
        if (slices.before)
                position = slices.before->position;
        if (position >= partition_regions(&slices.regions.partition))
                return step_error(run->step, -EINVAL, "position %u is no region: there are %u", position,
                                  partition_regions(&slices.regions.partition));

        r = read_in_use(&slices, &in_use);
        if (r == -ENOENT)
                return step_skip(run->step, ret, REASON_OCCUPIED, "the chip does not tell which of its memory carries live data");
        if (r < 0)
                return r;

        r = forecast(&slices);
        if (r < 0)
                return r;
        slices.allowed_sec = fmin(run->parameters->seconds, step_budget_sec(run->step));
        if (slices.region_sec > step_budget_sec(run->step))
                return step_skip(run->step, ret, REASON_BUDGET, "a slice takes %.3g s", slices.region_sec);

        choose(&slices, &in_use, position);
        r = test_queue(&slices);
        return r < 0 ? r : conclude(&slices, ret);
}
