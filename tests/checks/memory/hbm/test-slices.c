/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <sys/param.h>

#include "checks/memory/hbm/report/in-use.h"
#include "checks/memory/hbm/report/parameters.h"
#include "checks/memory/march/field.h"
#include "checks/plan/plan.h"
#include "sim/chip/chip.h"
#include "sim/chip/dispatch.h"
#include "sim/hbm/hbm.h"
#include "sim/port/control.h"
#include "sim/qualify/sample.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

#define HEAD   "scenario: t\nseed: 5\ntopology: {servers: 1}\n"
#define WINDOW (1u << 20)
#define SIDS_MAX 4u
#define ROWS_MAX 32768u

/* A chip that is scanned again and again, with a Device that sees every command and may answer attributes itself. */
typedef struct Bench {
        HallDevice hall;
        Device *device;
        HbmParameters parameters;
        double budget_sec, rotation_sec;
        uint64_t seed;
        const char *in_use[4]; /* what assay/hbm/in-use says, one time after another; NULL: what the chip says; "": nothing */
        unsigned n_asked;
        unsigned fail_at, n_batches; /* which batch fails, from 1; 0: none */
        int failure;
        unsigned kill_at;      /* the batch from which on nothing is sent, from 1: its client is dead; 0: none */
        unsigned job_at;       /* the batch before which a job writes into live rows; 0: none */
        unsigned take_at;      /* the batch before which a job takes the rows TAKEN; 0: none */
        Regions regions;       /* of the last scan, where it told any */
        bool has_regions;
        Rotation rotation;     /* for the next scan */
        bool has_rotation;
        Found found;
        uint8_t written[STACKS][SIDS_MAX][ROWS_MAX]; /* whole rows, by elements that do nothing else */
} Bench;

#define TAKEN      "0:0-2047"
#define DIAGNOSED  2000000ul /* accesses that it takes to locate one dead row, at most; four take 6.2 million */
#define TAKEN_ROWS (2048ul * 16 * 2 * 4 * 4 * 32 * STACKS) /* accesses */

static void note_march(Bench *bench, const WireCommand *command) {
        const WireBox *box = &command->march.box;

        if (command->type != COMMAND_HBM_MARCH || command->march.n_ops != 1 || !(command->march.ops[0] & MARCH_WRITE) ||
            box->first[HBM_CHANNEL] != 0 || box->last[HBM_CHANNEL] != 15 || box->first[HBM_COLUMN] != 0 || box->last[HBM_COLUMN] != 31)
                return;
        for (unsigned sid = box->first[HBM_SID]; sid <= box->last[HBM_SID]; sid++)
                for (unsigned row = box->first[HBM_ROW]; row <= box->last[HBM_ROW]; row++)
                        bench->written[command->unit][sid][row]++;
}

/* Zeros into a piece of one live row, as a job may at any time. */
static void write_as_job(Bench *bench) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = 2, .march = { .n_ops = 1, .ops = { MARCH_WRITE } } };
        WireCompletion completion;

        command.march.box = (WireBox) { .first = { 7, 0, 0, 1, 3, 77, 28 }, .last = { 7, 0, 0, 1, 3, 77, 31 } };
        assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
}

static void control(Bench *bench, ControlVerb verb, const char *text);

static int bench_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                         uint64_t deadline_usec) {
        static const char path[] = "assay/hbm/in-use";
        Bench *bench = userdata;
        uint8_t *window = bench->hall.reach.window;
        int r;

        for (size_t i = 0; i < n; i++)
                note_march(bench, &commands[i]);

        if (++bench->n_batches == bench->fail_at)
                return bench->failure;
        if (bench->kill_at > 0 && bench->n_batches >= bench->kill_at)
                return -ENODEV;
        if (bench->n_batches == bench->job_at)
                write_as_job(bench);
        if (bench->n_batches == bench->take_at)
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: \"" TAKEN "\"}");
        r = hall_execute(&bench->hall, commands, n, completions, deadline_usec);
        for (size_t i = 0; i < n; i++) {
                const char *text = bench->in_use[MIN(bench->n_asked, ELEMENTS(bench->in_use) - 1)];

                if (commands[i].type != COMMAND_ATTRIBUTE || commands[i].in_bytes != strlen(path) ||
                    memcmp(window + commands[i].in_offset, path, strlen(path)) != 0)
                        continue;
                bench->n_asked++;
                if (text && !*text)
                        completions[i] = (WireCompletion) { .status = STATUS_NRT_QUEUE_EMPTY };
                else if (text) {
                        memcpy(window + commands[i].out_offset, text, strlen(text));
                        completions[i].out_bytes = (uint32_t) strlen(text);
                }
        }
        return r;
}

static void bench_close(void *userdata) {
}

static const DeviceTransport bench_transport = { bench_execute, bench_close };

/* Another client. */
static void bench_connect(Bench *bench) {
        Reach *reach = &bench->hall.reach;

        (void) device_free(bench->device);
        bench->n_batches = 0;
        assert_int_equal(device_new(&bench_transport, bench, "trn-0", 0, reach->window, WINDOW, &bench->device), 0);
}

static Bench *bench_new(const char *scenario) {
        Bench *bench = calloc(1, sizeof(*bench));
        char *error = NULL;
        void *window;

        assert_non_null(bench);
        if (scenario_parse("test", scenario, strlen(scenario), &bench->hall.scenario, &error) < 0)
                fail_msg("%s", error);
        window = aligned_alloc(4096, WINDOW);
        bench->hall.reach = (Reach) { hall_server(bench->hall.scenario->hall, "trn-0"), 0, window, WINDOW };
        bench_connect(bench);
        bench->parameters = *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;
        bench->parameters.slices = 8;
        bench->parameters.seconds = 1000;
        bench->budget_sec = 1000;
        bench->seed = 1;
        bench->rotation_sec = 86400;
        return bench;
}

static Bench *bench_free(Bench *bench) {
        if (!bench)
                return NULL;
        (void) device_free(bench->device);
        free(bench->hall.reach.window);
        (void) scenario_free(bench->hall.scenario);
        free(bench);
        return NULL;
}

DEFINE_CLEANUP(Bench *, bench_free);
#define _cleanup_bench_ _cleanup_(bench_freep)

static Chip *bench_chip(Bench *bench) {
        return server_chip(bench->hall.reach.server, 0);
}

static unsigned long trespasses(Bench *bench) {
        unsigned long sum = 0;

        for (unsigned stack = 0; stack < STACKS; stack++)
                sum += ((const Hbm *) chip_part(bench_chip(bench), &model_hbm, stack))->live.trespasses;
        return sum;
}

static void control(Bench *bench, ControlVerb verb, const char *text) {
        char answer[1024] = "";
        FILE *out = fmemopen(answer, sizeof(answer), "w");
        int r = control_run(bench->hall.scenario->hall, verb, text, out);

        fclose(out);
        if (r < 0)
                fail_msg("%s: %s", text, answer);
}

static const char *member(const json_t *content, const char *name) {
        return json_string_value(json_object_get(content, name));
}

/* What a daemon does: the words of the stream become what the next scan is told. An hour passes between two. */
static void take_regions(Bench *bench) {
        const char *line = strstr(bench->found.lines, "\"assay-regions\"");
        unsigned total;

        bench->has_regions = line != NULL;
        if (!line)
                return;
        while (line > bench->found.lines && line[-1] != '\n')
                line--;

        json_auto_t *object = json_loadb(line, (size_t) (strchr(line, '\n') - line), 0, NULL);
        const json_t *content = json_object_get(json_object_get(json_object_get(object, "testStepArtifact"), "extension"), "content");

        bench->regions = (Regions) { .position = (unsigned) json_integer_value(json_object_get(content, "position")) };
        assert_int_equal(partition_parse(member(content, "partition"), &bench->regions.partition), 0);
        total = partition_regions(&bench->regions.partition);
        assert_int_equal(region_set_parse(member(content, "tested"), total, &bench->regions.tested), 0);
        assert_int_equal(region_set_parse(member(content, "failed"), total, &bench->regions.failed), 0);
        assert_int_equal(region_set_parse(member(content, "occupied"), total, &bench->regions.occupied), 0);
        if (member(content, "unproven")) {
                assert_int_equal(region_set_parse(member(content, "unproven"), total, &bench->regions.unproven), 0);
                (void) snprintf(bench->regions.because, sizeof(bench->regions.because), "%s", member(content, "because"));
        }
        if (member(content, "altered"))
                assert_int_equal(region_set_parse(member(content, "altered"), total, &bench->regions.altered), 0);
        if (member(content, "suspicious"))
                assert_int_equal(region_set_parse(member(content, "suspicious"), total, &bench->regions.suspicious), 0);
        if (member(content, "joined"))
                assert_int_equal(region_set_parse(member(content, "joined"), total, &bench->regions.joined), 0);
        if (member(content, "together"))
                assert_int_equal(region_set_parse(member(content, "together"), total, &bench->regions.together), 0);
        assert_null(regions_wrong(&bench->regions));

        if (!bench->has_rotation)
                memset(bench->rotation.ages, 0xff, sizeof(bench->rotation.ages));
        bench->has_rotation = true;
        bench->rotation.partition = bench->regions.partition;
        bench->rotation.position = bench->regions.position;
        bench->rotation.age += 3600;
        for (unsigned region = 0; region < total; region++) {
                if (region_set_has(&bench->regions.tested, region))
                        bench->rotation.ages[region] = 0;
                if (bench->rotation.ages[region] >= 0)
                        bench->rotation.ages[region] += 3600;
        }
        region_set_remove(&bench->rotation.failed, &bench->regions.tested);
        for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                bench->rotation.failed.words[i] |= bench->regions.failed.words[i];
        region_set_remove(&bench->rotation.altered, &bench->regions.tested);
        region_set_unite(&bench->rotation.altered, &bench->regions.altered);
        region_set_remove(&bench->rotation.suspicious, &bench->regions.tested);
        region_set_unite(&bench->rotation.suspicious, &bench->regions.suspicious);
        bench->rotation.joined = bench->regions.joined;
        bench->rotation.together = bench->regions.together;
}

static StepEnd scan(Bench *bench) {
        StepServer servers[1] = { { .name = "trn-0", .device = bench->device, .included = 0xffff } };
        StepSettings settings = {
                .name = "hbm", .n_servers = 1, .servers = servers, .parameters = &bench->parameters, .seed = bench->seed,
                .budget_sec = bench->budget_sec, .rotation = bench->has_rotation ? &bench->rotation : NULL,
                .rotation_sec = bench->rotation_sec, .required = true, .write = found_write, .userdata = &bench->found,
        };
        StepEnd end = {};
        Step *step = NULL;

        (void) snprintf(settings.unit.server, sizeof(settings.unit.server), "trn-0");
        (void) location_append(&settings.unit, LOCATION_CHIP, 0);
        found_begin(&bench->found, &settings.unit, &check_hbm);
        assert_int_equal(step_new(&settings, &step), 0);
        (void) step_run(step, &check_hbm, &end);
        end.message = NULL;
        (void) step_free(step);
        bench->found.reader = stream_reader_free(bench->found.reader);
        take_regions(bench);
        return end;
}

/* Lets a scan have the time of about N slices, and behind them of one column of all rows of three SIDs. */
static void allow(Bench *bench, double n) {
        double rows = 16384.0 / (double) bench->parameters.slices;

        bench->parameters.seconds = (n * 30 * rows * 32 + 3 * 16384) * 16 * 2 * 16 * 32 / 725e9 * 1.001;
}

#define assert_set(set, text)                                                                                  \
        do {                                                                                                   \
                char said_[REGIONS_TEXT_MAX];                                                                  \
                assert_string_equal(region_set_format(set, said_), text);                                      \
        } while (0)

/* ---- slices and rotations ---- */

static void rotate(const char *geometry, uint64_t n_slices, double at_a_time) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD);
        RegionSet seen = {};
        unsigned total, sids = 3, rows = 16384;

        for (unsigned stack = 0; geometry && stack < STACKS; stack++)
                assert_int_equal(hbm_reshape(chip_part(bench_chip(bench), &model_hbm, stack), geometry), 0);
        if (geometry)
                assert_int_equal(sscanf(geometry, "16 2 %u 4 4 %u", &sids, &rows), 2);
        bench->parameters.slices = n_slices;
        allow(bench, at_a_time);

        do {
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                total = partition_regions(&bench->regions.partition);
                assert_int_equal(total, sids * n_slices);
                assert_false(region_set_meets(&seen, &bench->regions.tested));
                assert_true(region_set_count(&bench->regions.tested) > 0);
                for (unsigned i = 0; i < REGIONS_MAX / 64; i++)
                        seen.words[i] |= bench->regions.tested.words[i];

                /* A scan of the rest does not begin the next rotation: it has time for more. */
                if (total - region_set_count(&seen) < region_set_count(&bench->regions.tested))
                        allow(bench, total - region_set_count(&seen));
        } while (region_set_count(&seen) < total);

        /* Once per background, and twice by what fills memory before the first. */
        for (unsigned stack = 0; stack < STACKS; stack++)
                for (unsigned sid = 0; sid < sids; sid++)
                        for (unsigned row = 0; row < rows; row++)
                                assert_int_equal(bench->written[stack][sid][row], 4);
}

static void a_rotation_covers_every_access_once(void **state) {
        rotate(NULL, 32, 9);
        rotate(NULL, 7, 2);
        rotate("16 2 2 4 4 24576 32", 32, 5);
        rotate("16 2 2 4 4 24577 32", 33, 10);
}

static void a_scan_begins_where_the_last_one_stopped(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD);

        allow(bench, 10);
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-9");
        assert_int_equal(bench->regions.position, 10);
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "10-19");
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-5,20-23");
        assert_int_equal(bench->regions.position, 6);

        /* Lost: from the beginning. */
        bench->has_rotation = false;
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-9");

        /* Cut otherwise: from the beginning too, whatever is said of other regions. */
        bench->parameters.slices = 16;
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_true(region_set_has(&bench->regions.tested, 0));
}

static void time_is_kept(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD);
        StepEnd end;

        allow(bench, 3.5);
        end = scan(bench);
        assert_set(&bench->regions.tested, "0-2");
        assert_true((double) end.device_nsec / 1e9 < bench->parameters.seconds);

        /* Seconds for none: one all the same. */
        bench->parameters.seconds = 0.001;
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "3");

        bench->budget_sec = 0.001;
        end = scan(bench);
        assert_int_equal(end.verdict, VERDICT_SKIPPED);
        assert_int_equal(end.reason, REASON_BUDGET);
}

/* ---- faults ---- */

static void a_fault_is_found_by_the_scan_that_reaches_it(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch3/pc1/sid1/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}\n");

        Rotation rotation;

        allow(bench, 4); /* 2048 rows each: it lies in region 8 + 2 */
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "4-7");
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.tested, "8-11");
        assert_set(&bench->regions.failed, "10");
        assert_int_equal(bench->found.n, 1);
        assert_true(found_has(&bench->found, "hbm-cell", "hbm2/ch3/pc1/sid1/bg2/ba1/row4711/col12/bit77"));

        /* It is tested again first, and rotation goes on behind it. */
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.tested, "10,12-14");
        assert_set(&bench->regions.failed, "10");

        /* Also where the plan cuts otherwise: rows 4096 … 6143 are two slices now. */
        bench->parameters.slices = 16;
        allow(bench, 3);
        rotation = bench->rotation;
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.tested, "0,20-21");
        assert_set(&bench->regions.failed, "20");
        bench->parameters.slices = 8;
        allow(bench, 4);
        bench->rotation = rotation;

        /* While a job has it, the failure stands. Beside it rows are read four times before they are written, and it is asked for before each pass. */
        allow(bench, 4.71);
        control(bench, CONTROL_USE, "{at: trn-0/chip0/hbm0, rows: \"1:4096-4096\"}");
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.tested, "15-18");
        assert_set(&bench->regions.occupied, "10");
        assert_set(&bench->regions.failed, "");
        assert_int_equal(bench->found.n, 1);
        assert_true(found_has(&bench->found, "hbm-region-failed", "trn-0/chip0"));

        /* Mended, and free again. */
        allow(bench, 4);
        control(bench, CONTROL_USE, "{at: trn-0/chip0/hbm0, rows: none}");
        control(bench, CONTROL_HEAL, "all");
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "10,19-21");
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-1,22-23");
        assert_int_equal(trespasses(bench), 0);
}

/* Cells of row 3000, in region 1, that only a write of row 7000 disturbs, in region 3; and where the text goes on, others. */
#define FAR_AGGRESSOR                                                                                           \
        HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch3/pc1/sid0/bg2/ba1/row3000/col3/bit7, kind: coupling-idempotent, " \
             "primitive: \"<0w1;0/1/->\", aggressor: row7000/col3/bit7}\n"

static void assert_scan(Bench *bench, Verdict verdict, const char *tested, const char *failed, const char *joined, const char *together) {
        assert_int_equal(scan(bench).verdict, verdict);
        assert_set(&bench->regions.tested, tested);
        assert_set(&bench->regions.failed, failed);
        assert_set(&bench->regions.joined, joined);
        assert_set(&bench->regions.together, together);
}

static void regions_that_failed_together_stand_until_they_pass_together(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(FAR_AGGRESSOR);
        Rotation rotation;

        allow(bench, 4);
        assert_scan(bench, VERDICT_FAILED, "0-3", "1", "0-3", "");
        assert_true(found_has(&bench->found, "hbm-cell", "hbm2/ch3/pc1/sid0/bg2/ba1/row3000/col3/bit7"));

        /* By itself the region passes, and that is no test of it. */
        assert_scan(bench, VERDICT_FAILED, "1,4-6", "", "", "0-3");
        assert_int_equal(bench->found.n, 1);
        assert_true(found_has(&bench->found, "hbm-region-failed", "trn-0/chip0"));
        assert_scan(bench, VERDICT_FAILED, "0-3", "1", "0-3", "0-3");
        assert_true(found_has(&bench->found, "hbm-cell", "hbm2/ch3/pc1/sid0/bg2/ba1/row3000/col3/bit7"));

        /* Where there is no time for all of them, or a job has one, others are tested, and the failure stands. */
        rotation = bench->rotation;
        allow(bench, 3);
        assert_scan(bench, VERDICT_FAILED, "1,7-8", "", "", "0-3");
        bench->rotation.position = 0;
        assert_scan(bench, VERDICT_FAILED, "0-2", "", "", "0-3");
        bench->rotation.position = 9;
        allow(bench, 4.71);
        control(bench, CONTROL_USE, "{at: trn-0/chip0/hbm0, rows: \"0:7000-7000\"}");
        assert_scan(bench, VERDICT_FAILED, "9-12", "", "", "0-3");
        assert_true(found_has(&bench->found, "hbm-region-failed", "trn-0/chip0"));
        control(bench, CONTROL_USE, "{at: trn-0/chip0/hbm0, rows: none}");

        /* Also where the plan cuts otherwise. */
        bench->rotation = rotation;
        bench->parameters.slices = 16;
        allow(bench, 8);
        assert_scan(bench, VERDICT_FAILED, "0-7", "2", "0-7", "0-7");
        bench->rotation = rotation;
        bench->parameters.slices = 8;
        allow(bench, 4);

        control(bench, CONTROL_HEAL, "all");
        assert_scan(bench, VERDICT_PASSED, "0-3", "", "", "");
        assert_scan(bench, VERDICT_PASSED, "7-10", "", "", "");
}

/* Another region that fails by itself explains nothing of the one that does not. */
static void what_fails_alone_does_not_clear_what_fails_together(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(FAR_AGGRESSOR
                        "  - {at: trn-0/chip0/hbm1/ch3/pc1/sid0/bg2/ba1/row5000/col12/bit77, kind: stuck-at, value: 1}\n");

        allow(bench, 4);
        assert_scan(bench, VERDICT_FAILED, "0-3", "1-2", "0-3", "");
        assert_scan(bench, VERDICT_FAILED, "1-2,4-5", "2", "1-2", "0-3");
        control(bench, CONTROL_HEAL, "trn-0/chip0/hbm1");
        assert_scan(bench, VERDICT_FAILED, "0-3", "1", "0-3", "0-3");
        control(bench, CONTROL_HEAL, "all");
        assert_scan(bench, VERDICT_PASSED, "0-3", "", "", "");
}

/* Regions 1 and 5, of which a scan tests two at a time, so that no pass writes both. Whichever of the rows is written, the next scan shows it. */
static void an_alias_of_a_region_that_is_tested_elsewhere_is_told(void **state) {
        static const char *const classes[] = { "c", "d" }; /* b fails by itself */

        for (unsigned i = 0; i < 2 * ELEMENTS(classes); i++) {
                _cleanup_bench_ Bench *bench = NULL;
                unsigned n_scans = 0;
                char text[256];

                (void) snprintf(text, sizeof(text), HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch2/pc1/sid0/bg0/ba0/row%u, kind: decoder, class: %s, partner: row%u}\n",
                                i % 2 ? 3000 : 11598, classes[i / 2], i % 2 ? 11598 : 3000);
                bench = bench_new(text);
                allow(bench, 2);
                while (scan(bench).verdict == VERDICT_PASSED && n_scans < 4)
                        n_scans++;
                assert_true(n_scans < 3);
                assert_int_equal(bench->found.n, 1);
                assert_non_null(strstr(bench->found.lines, "hbm-decoder"));
                assert_set(&bench->regions.joined, "1-5");

                /* It stands until one pass over all that lies between has passed. */
                for (unsigned k = 0; k < 5; k++) {
                        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
                        assert_set(&bench->regions.together, "1-5");
                }
                allow(bench, 8);
                assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
                assert_true(region_set_count(&bench->regions.failed) > 0);
                control(bench, CONTROL_HEAL, "all");
                (void) scan(bench);
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                assert_set(&bench->regions.together, "");
        }
}

/* Row 11598 holds what belongs to another, as if a job had copied it there: the tag of an earlier scan, which this one has not written. */
static void a_tag_of_another_scan_is_no_alias(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch2/pc1/sid0/bg0/ba0/row3000, kind: decoder, class: c, partner: row11598}\n");

        allow(bench, 2);
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        control(bench, CONTROL_HEAL, "all");
        bench->has_rotation = false;
        bench->seed++;
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-1");
}

/* Two rows of a bank that have to do with each other. */
static const struct RowPair {
        const char *text;       /* of the fault, by two rows */
        bool by_first, by_other; /* what it does stands in memory once that row is written; else it takes one pass over both */
} row_pairs[] = {
        { "row%u, kind: decoder, class: c, partner: row%u", true, true },
        { "row%u, kind: decoder, class: d, partner: row%u", true, false },
        { "row%u/col3/bit7, kind: coupling-idempotent, primitive: \"<0w1;0/1/->\", aggressor: row%u/col3/bit7", false, false },
};

static bool is_met(const struct RowPair *pair, const RegionSet *tested, const unsigned regions[static 2]) {
        RegionSet between = region_set_range(MIN(regions[0], regions[1]), MAX(regions[0], regions[1]) - MIN(regions[0], regions[1]) + 1);

        return (pair->by_first && region_set_has(tested, regions[0])) || (pair->by_other && region_set_has(tested, regions[1])) ||
               region_set_contains(tested, &between);
}

/* Scans up to ten times what has a fault between two rows. Returns in which it was found, 0: in none. */
static unsigned scan_pair(const struct RowPair *pair, const unsigned rows[static 2]) {
        const unsigned regions[] = { rows[0] / 512, rows[1] / 512 };
        char text[256] = HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch2/pc1/sid0/bg0/ba0/";
        _cleanup_bench_ Bench *bench = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), pair->text, rows[0], rows[1]);
#pragma GCC diagnostic pop
        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "}\n");
        bench = bench_new(text);
        bench->parameters.slices = 32;
        allow(bench, 22);
        for (unsigned n = 1; n <= 10; n++) {
                Verdict verdict;

                bench->seed = n;
                verdict = scan(bench).verdict;
                assert_int_equal(verdict, is_met(pair, &bench->regions.tested, regions) ? VERDICT_FAILED : VERDICT_PASSED);
                if (verdict == VERDICT_FAILED)
                        return n;
        }
        return 0;
}

/* Rows anywhere in a stack ID, 512 to a region, of which a scan tests 22 as under infleet. */
static void a_pair_of_rows_is_met_by_what_it_leaves_or_in_one_pass(void **state) {
        unsigned n_trials = getenv("HBM_TRIALS") ? 2 * (unsigned) atoi(getenv("HBM_TRIALS")) : 3;

        for (size_t i = 0; i < ELEMENTS(row_pairs); i++) {
                unsigned n_found[11] = {};

                for (unsigned trial = 0; trial < n_trials; trial++) {
                        uint64_t draw = memory_mix(trial + 1000);

                        n_found[scan_pair(&row_pairs[i], (unsigned[]) { draw % 16384, draw / 16384 % 16384 })]++;
                }
                for (unsigned n = 2; n <= 10; n++)
                        n_found[n] += n_found[n - 1];
                print_message("# %s: of %u found by the first scan %u, in five %u, in ten %u\n", row_pairs[i].text, n_trials, n_found[1], n_found[5], n_found[10]);
        }
}

static void places_are_exact_in_odd_slices(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "faults:\n"
                             "  - {at: trn-0/chip0/hbm1/ch15/pc0/sid2/bg3/ba3/row2341/col31/bit255, kind: stuck-at, value: 0}\n"
                             "  - {at: trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row16383, kind: row-dead}\n");

        bench->parameters.slices = 7; /* 16384 / 7: slices begin at odd rows too */
        bench->parameters.backgrounds = (MarchBackgrounds) { 3, { MARCH_BACKGROUND_SOLID, MARCH_BACKGROUND_ADDRESS, 1 } };
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.tested, "0-20");
        assert_set(&bench->regions.failed, "6,15");
        assert_int_equal(bench->found.n, 2);
        assert_true(found_has(&bench->found, "hbm-cell", "hbm1/ch15/pc0/sid2/bg3/ba3/row2341/col31/bit255"));
        assert_true(found_has(&bench->found, "hbm-row", "hbm0/ch0/pc0/sid0/bg0/ba0/row16383"));
}

/* The words of the first finding that name the address. */
static void address_of(const Bench *bench, char text[static 64]) {
        const char *at = strstr(bench->found.lines, "\"address\":");

        assert_non_null(at);
        (void) snprintf(text, 64, "%.*s", (int) strcspn(at, ","), at);
}

static void a_slice_names_the_address_that_the_whole_chip_names(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch3/pc1/sid1/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}\n");
        char slice[64], whole[64];

        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        address_of(bench, slice);
        bench->parameters.slices = 0;
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        address_of(bench, whole);
        assert_string_equal(slice, whole);
}

static void what_has_no_place_fails_all_that_was_tested(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "faults:\n  - {at: trn-0/chip0/hbm1, kind: comparator-blind, misses: both}\n");

        allow(bench, 3);
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.failed, "0-2");
        assert_true(found_has(&bench->found, "hbm-comparator", "hbm1"));
}

/*
 * Variable retention time, of a cell that in one of its states holds for less than slices take to be marched over: beside live data nothing
 * may pause, so that only repeats over all slices ask for it.
 */
static void a_cell_of_variable_retention_is_no_particle(void **state) {
        unsigned n = getenv("HBM_TRIALS") ? 4 * (unsigned) atoi(getenv("HBM_TRIALS")) : 16, n_failed = 0, n_soft = 0;

        for (unsigned i = 0; i < n; i++) {
                _cleanup_bench_ Bench *bench = NULL;
                char text[512];

                (void) snprintf(text, sizeof(text), "scenario: t\nseed: %u\ntopology: {servers: 1}\nfaults:\n  - {at: trn-0/chip0/hbm%u/ch%u/pc0/sid0/bg2/ba3/row%u/"
                                "col%u/bit%u, kind: retention, seconds: %.4f, other: 0.107, leaks: %u}\n", i + 1, i % 4, i % 16, 211 * i % 16384,
                                i % 32, 7 * i % 256, 0.003 + 0.001 * (i % 5), i % 2);
                bench = bench_new(text);
                bench->parameters.seconds = 0.25;
                bench->parameters.slices = 32;
                for (unsigned k = 0; k < 2; k++) {
                        n_failed += scan(bench).verdict == VERDICT_FAILED;
                        n_soft += strstr(bench->found.lines, "hbm-soft-error") != NULL;
                }
        }
        print_message("# %u cells in two scans each, %u failed, %u called soft errors\n", n, n_failed, n_soft);
        assert_true(n_failed > 0);
        assert_int_equal(n_soft, 0);
}

/* ---- live data ---- */

/* A few accesses of rows in use, read past the check. */
static void read_live(Bench *bench, uint8_t data[static 64 * MEMORY_ACCESS_BYTES]) {
        for (unsigned i = 0; i < 64; i++) {
                WireCommand command = { .type = COMMAND_HBM_COPY_OUT, .unit = (uint8_t) (i % STACKS), .out_bytes = MEMORY_ACCESS_BYTES };
                uint16_t at[] = { (uint16_t) (i % 16), (uint16_t) (i / 16 % 2), 1, (uint16_t) (i % 4), (uint16_t) (i / 4 % 4),
                                  (uint16_t) (5000 + 47 * i), (uint16_t) (i % 32) };
                WireCompletion completion;

                memcpy(command.copy.box.first, at, sizeof(at));
                memcpy(command.copy.box.last, at, sizeof(at));
                command.out_offset = 4096;
                assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
                memcpy(data + i * MEMORY_ACCESS_BYTES, bench->hall.reach.window + 4096, MEMORY_ACCESS_BYTES);
        }
}

static void live_data_are_left_alone(void **state) {
        static const char *const faults[] = {
                "", "faults:\n  - {at: trn-0/chip0/hbm1/ch3/pc1/sid1/bg2/ba1, kind: bank-dead}\n",
                "faults:\n  - {at: trn-0/chip0/hbm1/ch3/pc1/dq7, kind: lane-stuck, value: 1}\n",
                "faults:\n  - {at: trn-0/chip0/hbm3/ch3/pc1/sid1/bg2/ba1/row12000, kind: row-dead}\n",
                "faults:\n  - {at: trn-0/chip0/hbm0, kind: comparator-blind, misses: ones}\n",
                "faults:\n  - {at: trn-0/chip0/hbm1/ch3/pc1/sid1/bg2/ba1, kind: bank-dead, reads: inverted}\n"
                "  - {at: trn-0/chip0/hbm1/ch3/pc0/sid0/bg2/ba1, kind: bank-dead}\n"
                "  - {at: trn-0/chip0/hbm1/ch3/pc1/dq9, kind: lane-stuck, value: 0}\n",
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                uint8_t before[64 * MEMORY_ACCESS_BYTES], after[64 * MEMORY_ACCESS_BYTES];
                char text[2048];
                _cleanup_bench_ Bench *bench = NULL;

                (void) snprintf(text, sizeof(text),
                                HEAD "occupied: [trn-0/chip0]\nin-use:\n  - {at: trn-0/chip0/hbm1, rows: \"0:0-99,1:4000-9000\"}\n"
                                     "  - {at: trn-0/chip0/hbm2, rows: \"1:5000-8200,2:16383-16383\"}\n"
                                     "  - {at: trn-0/chip0/hbm0, rows: none}\n  - {at: trn-0/chip0/hbm3, rows: none}\n%s",
                                faults[i]);
                bench = bench_new(text);
                read_live(bench, before);
                allow(bench, 5);
                for (unsigned n = 0; n < 6; n++) {
                        StepEnd end = scan(bench);

                        if (i == 0)
                                assert_int_equal(end.verdict, VERDICT_PASSED);
                        /* 2048 rows each: 0, 8 + 1 … 8 + 4, 16 + 7 */
                        if (bench->has_regions)
                                assert_set(&bench->regions.occupied, "0,9-12,23");
                }
                if (i == 0)
                        for (unsigned region = 0; region < 24; region++)
                                assert_int_equal(bench->rotation.ages[region] >= 0,
                                                 !region_set_has(&bench->regions.occupied, region));
                assert_int_equal(trespasses(bench), 0);
                read_live(bench, after);
                assert_memory_equal(before, after, sizeof(before));
        }
}

static unsigned n_trials(unsigned otherwise) {
        return getenv("HBM_TRIALS") ? (unsigned) atoi(getenv("HBM_TRIALS")) : otherwise;
}

/* Whatever is broken, and whatever the diagnosis does to find out: random faults of every kind, beside live data. */
static void no_fault_leads_into_live_data(void **state) {
        unsigned n_draws = n_trials(2), n = 0, n_failed = 0, n_unproven = 0;
        const FaultKind *kind;

        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                for (unsigned draw = 0; kind->family == FAMILY_MEMORY && draw < n_draws; draw++) {
                        _cleanup_bench_ Bench *bench = NULL;
                        _cleanup_free_ char *error = NULL;
                        DrawnFault fault = {};
                        char text[2048];
                        StepEnd end;

                        if (sample_draw(21, kind, draw, 0, 0, &fault, &error) < 0)
                                fail_msg("%s: %s", kind->name, error);
                        if (location_index(&fault.at, LOCATION_HBM) >= 0) {
                                (void) snprintf(text, sizeof(text),
                                                HEAD "in-use: [{at: trn-0/chip0, rows: \"0:3000-9000,2:0-100,2:16000-16383\"}]\n"
                                                     "faults:\n  - %s\n", fault.text);
                                bench = bench_new(text);
                                end = scan(bench);
                                if (end.verdict == VERDICT_ERROR || trespasses(bench) > 0)
                                        fail_msg("%s: %s, %lu trespasses", fault.text, verdict_to_string(end.verdict),
                                                 trespasses(bench));
                                n++;
                                n_failed += end.verdict == VERDICT_FAILED;
                                n_unproven += end.verdict != VERDICT_FAILED && region_set_count(&bench->regions.unproven) > 0;
                        }
                        drawn_fault_done(&fault);
                }

        /* Not a word of theirs in the rows that were free: then this would show nothing. */
        print_message("# %u faults, %u found in the free regions, %u kept them from being written\n", n, n_failed, n_unproven);
        assert_true(n >= 20 * n_draws && n_failed >= n / 4);
}

/* ---- rows that reach others ---- */

#define JOB  "in-use: [{at: trn-0/chip0, rows: \"0:0-8191\"}]\n" /* slices of 2048 rows: 0 … 3 are in use, 4 … 7 free */
#define BANK "trn-0/chip0/hbm0/ch3/pc1/sid0/bg2/ba1"

enum { LEFT, RANDOM, ZEROS, ONES, _DATA_MAX }; /* of the job: what a test has left, or what it wrote with the fault there */

static void write_rows(Bench *bench, unsigned first, unsigned last, const WireMarch *what) {
        for (unsigned stack = 0; stack < STACKS; stack++) {
                WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = (uint8_t) stack, .march = *what };
                WireCompletion completion;

                command.march.box = (WireBox) { .last = { 15, 1, 0, 3, 3, 0, 31 } };
                command.march.box.first[HBM_ROW] = (uint16_t) first;
                command.march.box.last[HBM_ROW] = (uint16_t) last;
                command.march.n_ops = 1;
                assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
                ((Hbm *) chip_part(bench_chip(bench), &model_hbm, stack))->live.trespasses = 0; /* the job's own */
        }
}

static void write_job(Bench *bench, unsigned data) {
        const WireMarch writes[_DATA_MAX] = {
                [RANDOM] = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = UINT64_C(0x123456789abcdef1), .ops = { MARCH_WRITE } },
                [ZEROS]  = { .ops = { MARCH_WRITE } },
                [ONES]   = { .ops = { MARCH_WRITE | MARCH_DATA } },
        };

        if (data != LEFT)
                write_rows(bench, 0, 8191, &writes[data]);
}

/* The data that the live rows of the bank give back, in two columns, read past the check. */
static void read_job(Bench *bench, uint8_t data[static 8192 * 2 * MEMORY_ACCESS_BYTES]) {
        for (unsigned row = 0; row < 8192; row += 4096)
                for (unsigned k = 0; k < 2; k++) {
                        uint32_t bytes = 4096 * MEMORY_ACCESS_BYTES;
                        WireCommand command = { .type = COMMAND_HBM_COPY_OUT, .out_offset = 4096, .out_bytes = bytes };
                        WireCompletion completion;

                        command.copy.box = (WireBox) { .first = { 3, 1, 0, 2, 1, (uint16_t) row, (uint16_t) (k ? 30 : 1) },
                                                       .last = { 3, 1, 0, 2, 1, (uint16_t) (row + 4095), (uint16_t) (k ? 30 : 1) } };
                        assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
                        memcpy(data + (2 * row + k * 4096) * MEMORY_ACCESS_BYTES, bench->hall.reach.window + 4096, bytes);
                }
}

/* Scans twice beside the job, and compares its data before and after. */
static Verdict scan_beside(Bench *bench, unsigned data) {
        static uint8_t before[8192 * 2 * MEMORY_ACCESS_BYTES], after[8192 * 2 * MEMORY_ACCESS_BYTES];
        Verdict verdict;

        write_job(bench, data);
        read_job(bench, before);
        (void) scan(bench);
        verdict = scan(bench).verdict;
        read_job(bench, after);
        assert_memory_equal(before, after, sizeof(before));
        assert_int_equal(trespasses(bench), 0);
        return verdict;
}

/* Every kind of alias between a free row and a live one, whatever the job's data are. */
static void no_alias_leads_into_live_data(void **state) {
        static const struct {
                const char *fault, *unproven[_DATA_MAX];
        } cases[] = {
                /* The end of the slice is never written. */
                { BANK "/row8191, kind: wordline-short", { "4-7", "", "4-7", "4-7" } },
                { BANK "/row8191, kind: wordline-short, reads: or", { "4-7", "", "4-7", "4-7" } },
                { BANK "/row8192, kind: wordline-short, with: previous", { "4-7", "", "4-7", "4-7" } },
                { BANK "/row8192, kind: wordline-short, with: next", { "", "", "4-7", "4-7" } },
                { BANK "/row9000, kind: decoder, class: c, partner: row100", { "4", "4", "4-7", "4-7" } },
                { BANK "/row100, kind: decoder, class: c, partner: row9000", { "4-7", "4", "4-7", "4-7" } },
                { BANK "/row9000, kind: decoder, class: d, partner: row100, reads: and", { "4", "4", "4-7", "4-7" } },
                { BANK "/row9000, kind: decoder, class: d, partner: row100, reads: or", { "4", "4", "4-7", "4-7" } },
                { BANK "/row100, kind: decoder, class: d, partner: row9000", { "4-7", "4", "4-7", "4-7" } },
                { BANK "/row9000, kind: decoder, class: b, partner: row100", { "4-7", "4", "4-7", "4-7" } },
                { BANK "/row100, kind: decoder, class: b, partner: row9000", { "4-7", "4-7", "4-7", "4-7" } },
                { BANK "/row9000, kind: decoder, class: a", { "4", "4", "4-7", "4-7" } },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row13, value: 0", { "4-7", "4-7", "4-7", "4-7" } },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row13, value: 1", { "4-7", "4-7", "4-7", "4-7" } },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row12, value: 0", { "4-7", "6-7", "4-7", "4-7" } },
                { "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row0, value: 1", { "4-7", "4-7", "4-7", "4-7" } },
        };

        unsigned n_wrong = 0;

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                for (unsigned data = 0; data < _DATA_MAX; data++) {
                        _cleanup_bench_ Bench *bench = NULL;
                        char text[1024], unproven[REGIONS_TEXT_MAX];

                        (void) snprintf(text, sizeof(text), HEAD JOB "faults:\n  - {at: %s}\n", cases[i].fault);
                        bench = bench_new(text);
                        (void) scan_beside(bench, data);
                        if (strcmp(region_set_format(&bench->regions.unproven, unproven), cases[i].unproven[data]) != 0)
                                print_error("%s, data %u: %s unproven: %s\n", cases[i].fault, data, unproven, bench->regions.because), n_wrong++;
                        assert_false(region_set_meets(&bench->regions.unproven, &bench->regions.tested));
                }
        assert_int_equal(n_wrong, 0);
}

static void a_row_that_is_not_proven_is_told(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD JOB "faults:\n  - {at: " BANK "/row9000, kind: decoder, class: c, partner: row100}\n");

        assert_int_equal(scan_beside(bench, RANDOM), VERDICT_WARNED);
        assert_set(&bench->regions.tested, "5-23");
        assert_set(&bench->regions.occupied, "0-3");
        assert_string_equal(bench->regions.because, "hbm0/ch3/pc1/sid0/bg2/ba1/row9000 does not give back what a test has left there");
        assert_int_equal(bench->found.n, 1);
        assert_true(found_has(&bench->found, "hbm-region-unproven", "hbm0/ch3/pc1/sid0/bg2/ba1/row9000"));
        assert_int_equal((int) found_value(&bench->found, "hbm_regions_unproven"), 1);

        /* Of a row that no job has written yet it is known whose it is. */
        control(bench, CONTROL_HEAL, "all");
        control(bench, CONTROL_INJECT, "{at: " BANK "/row9000, kind: decoder, class: c, partner: row9500}");
        (void) scan(bench);
        assert_string_equal(bench->regions.because, "hbm0/ch3/pc1/sid0/bg2/ba1/row9000 gives back what belongs to hbm0/ch3/pc1/sid0/bg2/ba1/row9500");
}

/* A scan dies after any batch, of which each is run to its end or not at all: wire.h. Returns whether it was dead before its own end. */
static bool scan_is_killed(Bench *bench, unsigned batch) {
        Verdict verdict;

        bench_connect(bench);
        bench->kill_at = batch;
        verdict = scan(bench).verdict;
        bench->kill_at = 0;
        bench_connect(bench);
        return verdict == VERDICT_ERROR;
}

/* Whichever region a scan asks next, what was found beside live data stands until its region is tested. */
static void what_is_altered_stands_until_it_is_tested(void **state) {
        static const struct {
                const char *fault, *code, *where, *altered, *suspicious;
                Verdict verdict;
        } cases[] = {
                { "trn-0/chip0/hbm0/ch3/pc1/sid1/bg2/ba1, kind: bank-dead", "hbm-region-altered", "hbm0/ch3/pc1", "8-15", "", VERDICT_FAILED },
                { "trn-0/chip0/hbm0/ch3/pc1/sid1/bg2/ba1/row9000, kind: row-dead", "hbm-region-unproven", "hbm0/ch3/pc1/sid1/bg2/ba1/row9000", "", "12", VERDICT_WARNED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);
                bool found = false;
                char fault[256];

                assert_int_equal(scan_beside(bench, RANDOM), VERDICT_PASSED);
                (void) snprintf(fault, sizeof(fault), "{at: %s}", cases[i].fault);
                control(bench, CONTROL_INJECT, fault);
                allow(bench, 5);
                for (unsigned n = 0; n < 12; n++) {
                        Verdict verdict = scan(bench).verdict;

                        found = found || verdict == cases[i].verdict;
                        assert_int_equal(verdict, found ? cases[i].verdict : VERDICT_PASSED);
                        if (found)
                                assert_true(found_has(&bench->found, cases[i].code, cases[i].where));
                }
                assert_true(found);
                assert_set(&bench->rotation.altered, cases[i].altered);
                assert_set(&bench->rotation.suspicious, cases[i].suspicious);

                /* Nor does a scan that dies clear it. */
                for (unsigned at = 4; scan_is_killed(bench, at); at += 25)
                        assert_int_equal(scan(bench).verdict, cases[i].verdict);
                assert_int_equal(scan(bench).verdict, cases[i].verdict);

                /* A job takes the region: that is no test of it. */
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: \"0:0-8191,1:0-16383\"}");
                assert_int_equal(scan(bench).verdict, cases[i].verdict);
                control(bench, CONTROL_HEAL, "all");
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: none}");
                for (unsigned n = 0; n < 4; n++)
                        (void) scan(bench);
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                assert_set(&bench->rotation.altered, "");
                assert_set(&bench->rotation.suspicious, "");
        }
}

/* What a scan leaves behind that dies beside a job blames nobody, is written by none that cannot tell whose it is, and is tested when the job has ended. */
static void what_a_killed_scan_has_left_is_no_finding(void **state) {
        unsigned n_kills = 0, n_half = 0;

        for (unsigned at = 1;; at++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);

                write_job(bench, RANDOM);
                allow(bench, 5);
                if (!scan_is_killed(bench, at))
                        break;
                n_kills++;
                for (unsigned n = 0; n < 3; n++) {
                        Verdict verdict = scan(bench).verdict;

                        if (verdict != VERDICT_PASSED || bench->found.n > 0 || region_set_count(&bench->regions.altered) > 0 || region_set_count(&bench->regions.suspicious) > 0)
                                fail_msg("killed at batch %u, scan %u: %s, %u findings, %s", at, n, verdict_to_string(verdict), bench->found.n, bench->regions.because);
                }
                n_half += strstr(bench->regions.because, "half written") != NULL;
                assert_int_equal(trespasses(bench), 0);

                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: none}");
                bench->rotation.position = 0;
                allow(bench, 24);
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                assert_set(&bench->regions.tested, "0-23");
                assert_int_equal(region_set_count(&bench->regions.unproven), 0);
        }
        print_message("# %u kills, %u left rows half written\n", n_kills, n_half);
        assert_true(n_half > 20 && n_half < n_kills);
}

/* Nor what a scan of the whole chip has left, before a job came. */
static void what_a_killed_scan_of_all_has_left_is_no_finding(void **state) {
        unsigned n_kills = 0, n_unproven = 0;

        for (unsigned at = 1;; at += 2) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD);

                bench->parameters.slices = 0;
                if (!scan_is_killed(bench, at))
                        break;
                n_kills++;
                bench->parameters.slices = 8;
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: \"0:0-8191\"}");
                write_job(bench, RANDOM);
                allow(bench, 5);
                if (scan(bench).verdict == VERDICT_FAILED || bench->found.n > 0)
                        fail_msg("killed at batch %u: %u findings, %s", at, bench->found.n, bench->regions.because);
                n_unproven += region_set_count(&bench->regions.unproven) == 20;
        }
        print_message("# of %u kills of a scan of the whole chip %u left all that is free half written\n", n_kills, n_unproven);
        assert_true(n_unproven > 5);
}

/*
 * The first that a march writes is own-address data that are no tags, and one seed in four makes them look like those of other rows. A job takes them
 * before it writes anything itself.
 */
static void what_a_killed_scan_has_left_is_no_finding_in_live_rows(void **state) {
        unsigned n_alike = 0;

        for (uint64_t seed = 1; seed <= 20; seed++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);

                write_job(bench, RANDOM);
                allow(bench, 3);
                bench->seed = seed;
                assert_true(scan_is_killed(bench, 142)); /* the first batch that has written something is 141 */
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: \"0:0-10239\"}");
                allow(bench, 8);
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                assert_int_equal(bench->found.n, 0);
                n_alike += strstr(bench->regions.because, " gives back what belongs to ") != NULL;
        }
        print_message("# of 20 kills %u have left in live rows what looks like another row's\n", n_alike);
        assert_true(n_alike > 0);
}

/* Data of a job, whatever they are, beside a sound chip: only where they hold but one value can nothing be said. */
static void a_sound_chip_is_tested_beside_its_job(void **state) {
        static const char *const tested[_DATA_MAX] = { "4-23", "4-23", "8-23", "8-23" };
        static const char *const because[_DATA_MAX] = { "", "", " holds nothing but zeros", " holds nothing but ones" };

        for (unsigned data = 0; data < _DATA_MAX; data++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);

                assert_int_equal(scan_beside(bench, data), VERDICT_PASSED);
                assert_set(&bench->regions.tested, tested[data]);
                assert_non_null(strstr(bench->regions.because, because[data]));
                assert_int_equal(bench->found.n, 0);
                /* Two rows of 16 banks of 32 pseudo-channels, each of 1 KiB, in four stacks. */
                if (data == RANDOM) {
                        assert_int_equal((int) found_value(&bench->found, "hbm_rows_guarded"), 2);
                        assert_true(found_value(&bench->found, "hbm_bytes_tested") ==
                                    20.0 * 2048 * 512 * 1024 * STACKS - 2.0 * 512 * 1024 * STACKS);
                }
        }
}

/* The reads of live rows are paid for by regions, and not by more seconds. */
static void time_is_kept_beside_live_data(void **state) {
        static const struct {
                const char *rows;
                unsigned regions; /* of 96, in a quarter of a second: units/plans/infleet.yaml */
        } cases[] = { { "none", 22 }, { "0:0-8191,1:0-8191,2:0-8191", 14 }, { "0:0-14335,1:0-14335,2:0-14335", 8 } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[256];
                _cleanup_bench_ Bench *bench = NULL;
                StepEnd end;

                (void) snprintf(text, sizeof(text), HEAD "in-use: [{at: trn-0/chip0, rows: \"%s\"}]\n", cases[i].rows);
                bench = bench_new(text);
                if (i == 1)
                        write_job(bench, RANDOM); /* whose rows are read twice where rows without data are read once */
                bench->parameters.slices = 32;
                bench->parameters.seconds = 0.25;
                for (unsigned n = 0; n < 12; n++) {
                        end = scan(bench);
                        assert_int_equal(end.verdict, VERDICT_PASSED);
                        if (n == 0)
                                assert_int_equal(region_set_count(&bench->regions.tested), cases[i].regions);
                        if (getenv("HBM_TRIALS"))
                                print_message("# beside %s: %u regions in %.3f s\n", cases[i].rows, region_set_count(&bench->regions.tested),
                                              (double) end.device_nsec / 1e9);
                        assert_true((double) end.device_nsec / 1e9 < bench->parameters.seconds);
                }
        }
}

/* Zeros in a few rows among others, and in all but a few accesses of a row. */
static void one_bare_row_is_found_among_others(void **state) {
        static const struct {
                uint16_t row, last_column;
                const char *unproven;
        } cases[] = { { 77, 31, "4-7" }, { 8191, 31, "4-7" }, { 5000, 30, "" }, { 5000, 0, "" } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);
                WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = 2, .march = { .n_ops = 1, .ops = { MARCH_WRITE } } };
                WireCompletion completion;

                write_job(bench, RANDOM);
                command.march.box = (WireBox) { .first = { 7, 0, 0, 1, 3, cases[i].row, 0 },
                                                .last = { 7, 0, 0, 1, 3, cases[i].row, cases[i].last_column } };
                assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                assert_set(&bench->regions.unproven, cases[i].unproven);
                if (*cases[i].unproven) {
                        char where[128];

                        (void) snprintf(where, sizeof(where), "hbm2/ch7/pc0/sid0/bg1/ba3/row%u carries live data and holds nothing but zeros",
                                        cases[i].row);
                        assert_string_equal(bench->regions.because, where);
                }
        }
}

/* The data that another job has left tell no row from another, until the chip is idle once. */
static void what_a_job_has_left_waits_for_an_idle_chip(void **state) {
        static const WireMarch zeros = { .ops = { MARCH_WRITE } };
        _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);

        write_job(bench, RANDOM);
        write_rows(bench, 9000, 16383, &zeros); /* regions 4 … 7, the first in part */
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_int_equal(bench->found.n, 0);
        assert_set(&bench->regions.tested, "8-23");
        assert_set(&bench->regions.unproven, "4-7");
        assert_string_equal(bench->regions.because,
                            "these rows do not hold what a test has left there; the like of 3 more regions");

        control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: none}");
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-23");
        control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: \"0:0-8191\"}");
        assert_int_equal(scan_beside(bench, RANDOM), VERDICT_PASSED);
        assert_set(&bench->regions.tested, "4-23");
}

/* Of a job that has written little the rest gives back its tags. A kilobyte goes round all pseudo-channels of a stack, which no fault of a part does. */
static void what_a_job_has_left_in_few_rows_is_no_finding(void **state) {
        static const struct {
                WireBox box;
        } cases[] = {
                { { { 0, 0, 0, 2, 1, 9000, 5 }, { 15, 1, 0, 2, 1, 9000, 5 } } },    /* 1 KiB */
                { { { 0, 0, 0, 0, 1, 9000, 5 }, { 15, 1, 0, 3, 1, 9000, 5 } } },    /* 4 KiB */
                { { { 0, 0, 0, 0, 0, 9000, 5 }, { 15, 1, 0, 3, 3, 9000, 5 } } },    /* 16 KiB */
                { { { 0, 0, 0, 0, 0, 9000, 7 }, { 15, 1, 0, 3, 3, 9000, 22 } } },   /* 256 KiB */
                { { { 0, 0, 0, 0, 0, 9000, 0 }, { 15, 1, 0, 3, 3, 9003, 31 } } },   /* 2 MiB */
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);
                WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = 1 };
                WireCompletion completion;

                write_job(bench, RANDOM);
                command.march = (WireMarch) { .box = cases[i].box, .background = MEMORY_BACKGROUND_ADDRESS, .seed = 4711, .n_ops = 1, .ops = { MARCH_WRITE } };
                assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                if (scan(bench).verdict != VERDICT_PASSED || bench->found.n > 0)
                        fail_msg("case %zu: %u findings, %s", i, bench->found.n, bench->regions.because);
                assert_set(&bench->regions.unproven, "4");
        }
}

/* Data of a job that are less than that, or begin anywhere, or lie in several stacks: pieces of one row or more, each in all banks and pseudo-channels of its box. */
static void what_a_job_has_left_anywhere_is_no_finding(void **state) {
        static const struct {
                const char *what;
                struct {
                        uint8_t stack;
                        WireBox box;
                } pieces[4];
                unsigned n, n_copies; /* of the pieces, each 5 rows and 3 columns on */
        } cases[] = {
                { "32 bytes", { { 1, { { 3, 1, 0, 2, 1, 9000, 5 }, { 3, 1, 0, 2, 1, 9000, 5 } } } }, 1, 1 },
                { "64 bytes", { { 1, { { 3, 0, 0, 2, 1, 9000, 5 }, { 3, 1, 0, 2, 1, 9000, 5 } } } }, 1, 1 },
                { "256 bytes", { { 1, { { 8, 0, 0, 2, 1, 9000, 5 }, { 11, 1, 0, 2, 1, 9000, 5 } } } }, 1, 1 },
                { "1 KiB that begins in the middle", { { 1, { { 8, 0, 0, 2, 1, 9000, 5 }, { 15, 1, 0, 2, 1, 9000, 5 } } }, { 1, { { 0, 0, 0, 2, 2, 9000, 5 }, { 7, 1, 0, 2, 2, 9000, 5 } } } }, 2, 1 },
                { "64 bytes in each stack", { { 0, { { 3, 0, 0, 2, 1, 9000, 5 }, { 3, 1, 0, 2, 1, 9000, 5 } } }, { 1, { { 3, 0, 0, 2, 1, 9000, 5 }, { 3, 1, 0, 2, 1, 9000, 5 } } },
                                              { 2, { { 3, 0, 0, 2, 1, 9000, 5 }, { 3, 1, 0, 2, 1, 9000, 5 } } }, { 3, { { 3, 0, 0, 2, 1, 9000, 5 }, { 3, 1, 0, 2, 1, 9000, 5 } } } }, 4, 1 },
                { "2 MiB, and 64 bytes in another stack", { { 0, { { 0, 0, 0, 0, 0, 9000, 0 }, { 15, 1, 0, 3, 3, 9003, 31 } } }, { 2, { { 3, 0, 0, 2, 1, 9100, 0 }, { 3, 1, 0, 2, 1, 9100, 0 } } } }, 2, 1 },
                { "2 MiB with ragged ends", { { 3, { { 5, 0, 0, 2, 1, 9000, 9 }, { 15, 1, 0, 2, 1, 9000, 9 } } }, { 3, { { 0, 0, 0, 0, 0, 9000, 10 }, { 15, 1, 0, 3, 3, 9000, 31 } } },
                                              { 3, { { 0, 0, 0, 0, 0, 9001, 0 }, { 15, 1, 0, 3, 3, 9003, 31 } } }, { 3, { { 0, 0, 0, 0, 0, 9004, 0 }, { 15, 1, 0, 2, 3, 9004, 16 } } } }, 4, 1 },
                { "1 KiB in many places", { { 1, { { 0, 0, 0, 2, 1, 8200, 1 }, { 15, 1, 0, 2, 1, 8200, 1 } } } }, 1, 300 },
                { "512 bytes in each KiB", { { 1, { { 0, 0, 0, 0, 0, 9000, 1 }, { 7, 1, 0, 3, 3, 9100, 1 } } } }, 1, 1 },
                { "1 KiB in each 16", { { 1, { { 0, 0, 0, 2, 1, 9000, 1 }, { 15, 1, 0, 2, 1, 9000, 12 } } } }, 1, 1 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);

                write_job(bench, RANDOM);
                for (unsigned k = 0; k < cases[i].n * cases[i].n_copies; k++) {
                        WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = cases[i].pieces[k % cases[i].n].stack };
                        WireBox box = cases[i].pieces[k % cases[i].n].box;
                        unsigned copy = k / cases[i].n;
                        WireCompletion completion;

                        box.first[HBM_ROW] = (uint16_t) (box.first[HBM_ROW] + 5 * copy);
                        box.last[HBM_ROW] = (uint16_t) (box.last[HBM_ROW] + 5 * copy);
                        if (cases[i].n_copies > 1)
                                box.first[HBM_COLUMN] = box.last[HBM_COLUMN] = (uint16_t) ((box.first[HBM_COLUMN] + 3 * copy) % 32);
                        command.march = (WireMarch) { .box = box, .background = MEMORY_BACKGROUND_ADDRESS, .seed = 4711, .n_ops = 1, .ops = { MARCH_WRITE } };
                        assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
                }
                if (scan(bench).verdict != VERDICT_PASSED || bench->found.n > 0)
                        fail_msg("%s: %u findings, %s", cases[i].what, bench->found.n, bench->regions.because);
                assert_set(&bench->regions.unproven, "4");
        }
}

/* What no data of a job look like, in however little: a few bits, what belongs to another row, what comes and goes. In the first columns the same row carries such data. */
static void what_no_job_has_left_is_told(void **state) {
        static const char *const faults[] = {
                "{at: " BANK "/row9000/col2/bit17, kind: stuck-at, value: 0}, {at: " BANK "/row9000/col2/bit18, kind: stuck-at, value: 1},"
                " {at: " BANK "/row9000/col2/bit19, kind: stuck-at, value: 0}, {at: " BANK "/row9000/col2/bit20, kind: stuck-at, value: 1},"
                " {at: " BANK "/row9000/col2/bit21, kind: stuck-at, value: 0}, {at: " BANK "/row9000/col2/bit22, kind: stuck-at, value: 1},"
                " {at: " BANK "/row9000/col2/bit23, kind: stuck-at, value: 0}, {at: " BANK "/row9000/col2/bit24, kind: stuck-at, value: 1}",
                "{at: " BANK "/row9000, kind: decoder, class: c, partner: row9500}",
                "{at: " BANK "/row9000, kind: row-dead, persistence: intermittent, probability: 0.05}",
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++)
                for (unsigned much = 0; much < 2; much++) {
                        _cleanup_bench_ Bench *bench = NULL;
                        WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = 0 };
                        WireCompletion completion;
                        char text[2048];

                        (void) snprintf(text, sizeof(text), HEAD JOB "faults: [%s]\n", faults[i]);
                        bench = bench_new(text);
                        write_job(bench, much && i == 2 ? ZEROS : RANDOM); /* beside live zeros nothing is written, and free rows are read once */
                        command.march = (WireMarch) { .background = MEMORY_BACKGROUND_ADDRESS, .seed = 4711, .n_ops = 1, .ops = { MARCH_WRITE } };
                        command.march.box = (WireBox) { { 3, 0, 0, 2, 1, 9001, 3 }, { 3, 1, 0, 2, 1, 9001, 3 } };
                        if (much && i < 2) /* which more than lists have room for does not hide either */
                                command.march.box = (WireBox) { { 0, 0, 0, 0, 0, 9001, 0 }, { 15, 1, 0, 3, 3, 9002, 31 } };
                        assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
                        if (scan(bench).verdict != VERDICT_WARNED || !found_has(&bench->found, "hbm-region-unproven", "hbm0/ch3/pc1/sid0/bg2/ba1/row9000"))
                                fail_msg("%s, %u: %u findings, %s", faults[i], much, bench->found.n, bench->regions.because);
                }
}

/* How bad it is. */
static unsigned rank(Verdict verdict) {
        return verdict == VERDICT_FAILED ? 2 : verdict == VERDICT_WARNED ? 1 : 0;
}

/* One more of what is dead, all ALIKE at one place, or each at a place of its own; the first of them, NARROW, in a quarter of the pseudo-channels. */
static void kill_one(Bench *bench, const char *kind, unsigned stack, unsigned i, const char *alike, unsigned narrow) {
        unsigned bank = (i / 32 + (unsigned) (memory_splitmix64(100 * (i % 32) + stack) & 15)) % 16;
        bool is_row = strcmp(kind, "row-dead") == 0;
        unsigned channel = i < narrow ? i % 8 : i % 16, pseudo_channel = i < narrow ? 0 : i / 16 % 2;
        char text[256], place[64];

        (void) snprintf(place, sizeof(place), is_row ? "/sid1/bg%u/ba%u/row%u" : "/sid1/bg%u/ba%u", bank / 4, bank % 4, 4096 + 2 * i + stack % 2);
        (void) snprintf(text, sizeof(text), "{at: trn-0/chip0/hbm%u/ch%u/pc%u%s, kind: %s}", stack, channel, pseudo_channel, alike ? alike : place, kind);
        control(bench, CONTROL_INJECT, text);
}

/*
 * More damage has no better verdict: N rows or banks of one stack, or of several, from the first of them to one in each pseudo-channel, at one place or
 * at many, and on to more rows than lists have room for. Each time the next scan knows nothing of the last.
 */
static void more_damage_has_no_better_verdict(void **state) {
        static const struct {
                const char *kind, *alike;
                unsigned stacks, counts[12];
                Verdict verdict;
                unsigned narrow;
        } cases[] = {
                { "row-dead", "/sid1/bg2/ba1/row4711", 1, { 1, 4, 8, 9, 16, 23, 24, 25, 31, 32 }, VERDICT_WARNED },
                { "row-dead", "/sid1/bg2/ba1/row4711", 4, { 1, 2, 3, 8, 9, 24, 32 }, VERDICT_WARNED },
                { "row-dead", "/sid1/bg0/ba0/row4096", 1, { 1, 15, 16, 32 }, VERDICT_WARNED }, /* the first of a region */
                { "row-dead", NULL, 1, { 1, 8, 9, 24, 32, 64, 256, 288 }, VERDICT_WARNED },
                { "row-dead", NULL, 4, { 1, 2, 3, 9, 24, 32 }, VERDICT_WARNED },
                { "row-dead", NULL, 1, { 1, 264, 265, 272, 300 }, VERDICT_WARNED, 264 },
                { "bank-dead", "/sid1/bg2/ba1", 1, { 1, 5, 8, 9, 16, 23, 24, 25, 31, 32 }, VERDICT_FAILED },
                { "bank-dead", "/sid1/bg2/ba1", 2, { 1, 4, 5, 9, 24, 32 }, VERDICT_FAILED },
                { "bank-dead", "/sid1/bg0/ba0", 1, { 1, 15, 16, 17, 32 }, VERDICT_FAILED }, /* the first of a stack ID */
                { "column-select", "/sid1/bg2/ba1/col3", 1, { 1, 8, 9, 16, 23, 24, 32 }, VERDICT_FAILED },
                { "pseudo-channel-dead", "", 1, { 1, 8, 9, 16, 23 }, VERDICT_FAILED },
                { "bank-dead", NULL, 4, { 1, 2, 3, 9, 24, 32, 48 }, VERDICT_FAILED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);
                unsigned done = 0, worst = 0;
                Rotation rotation;

                allow(bench, 4); /* the four regions that are free beside the job, so that the next begins with SID 1 */
                assert_int_equal(scan_beside(bench, RANDOM), VERDICT_PASSED);
                bench->rotation.position = 8;
                rotation = bench->rotation;
                for (const unsigned *n = cases[i].counts; *n > 0; n++) {
                        Verdict verdict;

                        for (; done < *n; done++)
                                for (unsigned stack = 0; stack < cases[i].stacks; stack++)
                                        kill_one(bench, cases[i].kind, stack, done, cases[i].alike, cases[i].narrow);
                        bench->rotation = rotation;
                        verdict = scan(bench).verdict;
                        if (n == cases[i].counts)
                                assert_int_equal(verdict, cases[i].verdict);
                        if (rank(verdict) < worst)
                                fail_msg("%u %s in each of %u stacks%s: %s, fewer were worse; %s", *n, cases[i].kind, cases[i].stacks, cases[i].alike ?: "",
                                         verdict_to_string(verdict), bench->regions.because);
                        worst = rank(verdict);
                }
        }
}

/* A stack whose rows a job has filled hides nothing of another. */
static void what_is_broken_beside_a_stack_without_tags_is_told(void **state) {
        static const WireMarch data = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = 4711, .n_ops = 1, .ops = { MARCH_WRITE } };
        WireCommand command = { .type = COMMAND_HBM_MARCH, .unit = 0, .march = data };
        _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);
        WireCompletion completion;

        write_job(bench, RANDOM);
        command.march.box = (WireBox) { { 0, 0, 0, 0, 0, 8192, 0 }, { 15, 1, 0, 3, 3, 16383, 31 } };
        assert_int_equal(hall_execute(&bench->hall, &command, 1, &completion, 0), 0);
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.unproven, "4-7");
        assert_string_equal(bench->regions.because, "these rows hold nothing that a test has left");
        control(bench, CONTROL_INJECT, "{at: trn-0/chip0/hbm1/ch3/pc1/sid0/bg2/ba1/row9000, kind: row-dead}");
        assert_int_equal(scan(bench).verdict, VERDICT_WARNED);
        assert_true(found_has(&bench->found, "hbm-region-unproven", "hbm1/ch3/pc1/sid0/bg2/ba1/row9000"));
        assert_non_null(strstr(bench->regions.because, "row9000 does not give back what a test has left there"));
}

static void where_nothing_is_proven_nothing_passes(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD "in-use: [{at: trn-0/chip0, rows: \"0:0-8191,1:0-16383,2:0-16383\"}]\n");
        StepEnd end;

        write_job(bench, ZEROS);
        end = scan(bench);
        assert_int_equal(end.verdict, VERDICT_SKIPPED);
        assert_int_equal(end.reason, REASON_OCCUPIED);
        assert_set(&bench->regions.tested, "");
        assert_set(&bench->regions.unproven, "4-7");
        assert_int_equal(trespasses(bench), 0);
}

/* A scan of the whole chip and a diagnosis leave own-address data, so that the next scan can go on beside a job. */
static void every_scan_leaves_rows_that_tell_whose_they_are(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch3/pc1/sid0/bg2/ba1/row9711/col12/bit77, kind: stuck-at, value: 1}\n");

        for (unsigned last = 0; last < 3; last++) {
                bench->parameters.slices = 0;
                bench->parameters.phases = 1u << HBM_DO_MARCH | (last == 0 ? 0 : last == 1 ? 1u << HBM_DO_WALKING : 1u << HBM_DO_ECC);
                assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
                bench->parameters.slices = 8;
                bench->parameters.phases = 1u << HBM_DO_MARCH;
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: \"0:0-8191\"}");
                for (unsigned i = 0; i < 3; i++) {
                        assert_int_equal(scan_beside(bench, RANDOM), VERDICT_FAILED);
                        assert_set(&bench->regions.tested, "4-23");
                        assert_set(&bench->regions.failed, "4");
                        assert_true(found_has(&bench->found, "hbm-cell", "hbm2/ch3/pc1/sid0/bg2/ba1/row9711/col12/bit77"));
                }
                control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: none}");
        }
}

/* Cells of the last live row are coupled to those of the first free one. */
static void rows_beside_live_ones_are_a_guard(void **state) {
        for (unsigned away = 1; away < 4; away++) {
                char text[1024];
                _cleanup_bench_ Bench *bench = NULL;
                unsigned long disturbed;

                (void) snprintf(text, sizeof(text), HEAD JOB "faults:\n  - {at: " BANK "/row8191/col3/bit7, kind: coupling-inversion, "
                                "primitive: \"<0w1;x/!x/->\", aggressor: row%u/col3/bit7}\n", 8191 + away);
                bench = bench_new(text);
                write_job(bench, RANDOM);
                disturbed = ((const Hbm *) chip_part(bench_chip(bench), &model_hbm, 0))->live.disturbed;
                (void) scan(bench);
                disturbed = ((const Hbm *) chip_part(bench_chip(bench), &model_hbm, 0))->live.disturbed - disturbed;
                assert_int_equal(disturbed > 0, away > 2); /* farther than cells couple: said in apart.h */
        }
}

/* Aliases between a free row and a live one, the fault at either. */
static const char *const either_side[] = {
        BANK "/row9000, kind: decoder, class: c, partner: row100",
        BANK "/row9000, kind: decoder, class: d, partner: row100, reads: and",
        BANK "/row9000, kind: decoder, class: d, partner: row100, reads: or",
        BANK "/row9000, kind: decoder, class: b, partner: row100",
        BANK "/row100, kind: decoder, class: c, partner: row9000",
        BANK "/row100, kind: decoder, class: d, partner: row9000, reads: and",
        BANK "/row100, kind: decoder, class: d, partner: row9000, reads: or",
        BANK "/row100, kind: decoder, class: b, partner: row9000",
        "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row13, value: 0",
        "trn-0/chip0/hbm0/ch3/pc1/sid0, kind: address-tsv, line: row13, value: 1",
};

static Bench *bench_beside(const char *fault, const char *when, unsigned seed, unsigned data) {
        char text[1024];
        Bench *bench;

        (void) snprintf(text, sizeof(text), "scenario: t\nseed: %u\ntopology: {servers: 1}\n" JOB "faults:\n  - {at: %s, %s}\n", seed, fault,
                        when);
        bench = bench_new(text);
        write_job(bench, data);
        return bench;
}

/* Faults that act with a chance in each command, at a free row or at a live one: 128 reads of each row miss them with (1 - p)^128. */
static void what_comes_and_goes_is_met_by_the_reads(void **state) {
        static const double chances[] = { 0.02, 0.05, 0.2, 0.5, 0.9 };

        for (size_t k = 0; k < ELEMENTS(chances); k++) {
                unsigned n = 0, n_missed = 0, n_harmed = 0;

                for (size_t i = 0; i < ELEMENTS(either_side); i++) {
                        unsigned n_before = n, missed = 0, harmed = 0;

                        for (unsigned seed = 0; seed < n_trials(2); seed++, n++) {
                                _cleanup_bench_ Bench *bench = NULL;
                                char when[64];

                                (void) snprintf(when, sizeof(when), "persistence: intermittent, probability: %g", chances[k]);
                                bench = bench_beside(either_side[i], when, seed + 10, seed % 4 == 3 ? LEFT : RANDOM);
                                (void) scan(bench);
                                missed += region_set_count(&bench->regions.unproven) == 0;
                                harmed += trespasses(bench) > 0;
                        }
                        if (getenv("HBM_TRIALS"))
                                print_message("#   %s: of %u missed %u, reached live data %u\n", either_side[i], n - n_before, missed, harmed);
                        n_missed += missed;
                        n_harmed += harmed;
                }
                print_message("# of %u faults that act with %g in a command, reads missed %u, and %u reached live data\n", n, chances[k],
                              n_missed, n_harmed);
                /* Three standard deviations above what is said, and of few one more. */
                assert_true(n_missed <= n * pow(1 - chances[k], 128) + 3 * sqrt(n * pow(1 - chances[k], 128)) + 1);
                assert_true(n_harmed <= n_missed);
        }
}

/* Faults that begin at some command of a scan: they are told by this very scan, unless it wrote nothing after them. */
static void what_begins_meanwhile_is_told_at_once(void **state) {
        unsigned n = 0, n_told = 0, n_harmed = 0, n_untold = 0;

        for (size_t i = 0; i < ELEMENTS(either_side); i++)
                for (unsigned k = 0; k < n_trials(8); k++) {
                        unsigned after = 100 + (unsigned) (memory_splitmix64(1000 * i + k) % 2000); /* behind the first count: live-watch.h */
                        _cleanup_bench_ Bench *bench = NULL;
                        char when[64];
                        bool told;

                        (void) snprintf(when, sizeof(when), "after-commands: %u", after);
                        bench = bench_beside(either_side[i], when, 10, RANDOM);
                        allow(bench, 12);
                        told = scan(bench).verdict != VERDICT_PASSED || region_set_count(&bench->regions.unproven) > 0;
                        n++;
                        n_told += told;
                        n_harmed += trespasses(bench) > 0;
                        n_untold += trespasses(bench) > 0 && !told;
                        if (trespasses(bench) > 0)
                                print_message("#   %s, after %u: %lu accesses, %s\n", either_side[i], after, trespasses(bench), told ? "told" : "NOT told");
                }
        print_message("# of %u faults that begin in a scan %u are told by it, %u reached live data, %u of these were not told\n", n, n_told,
                      n_harmed, n_untold);
        assert_true(n_told > 0);
        assert_int_equal(n_untold, 0);
}

/* A fault that begins while rows are written is no reason to write more. */
static void a_march_that_meets_more_than_cells_is_stopped(void **state) {
        unsigned n_stopped = 0;

        for (unsigned after = 1500; after < 1740; after += 10) { /* commands of a stack: reads first, then the march */
                _cleanup_bench_ Bench *bench = NULL;
                char text[1024];

                (void) snprintf(text, sizeof(text), HEAD JOB "faults:\n  - {at: " BANK "/row9000, kind: decoder, class: d, partner: row9500, "
                                "after-commands: %u}\n", after);
                bench = bench_new(text);
                write_job(bench, RANDOM);
                allow(bench, 4.71);
                if (scan(bench).verdict != VERDICT_FAILED)
                        continue;
                n_stopped++;
                assert_int_equal(bench->found.n, 1);
                /* The element in which it is met tells one of its two rows. */
                assert_true(found_has(&bench->found, "hbm-region-stopped", "hbm0/ch3/pc1/sid0/bg2/ba1/row9000") ||
                            found_has(&bench->found, "hbm-region-stopped", "hbm0/ch3/pc1/sid0/bg2/ba1/row9500"));
                assert_int_equal(trespasses(bench), 0);
        }
        assert_true(n_stopped > 0);
}

/* A job works while its chip is scanned: where that cannot be told from an alias nothing more is written, and nobody is blamed. */
static void a_job_that_writes_is_not_blamed(void **state) {
        unsigned n_unproven = 0, n = 0;

        for (unsigned at = 85; at < 173; at += 8, n++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD JOB);

                write_job(bench, RANDOM);
                allow(bench, 8);
                bench->n_batches = 0;
                bench->job_at = at;
                assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
                assert_int_equal(bench->found.n, 0);
                n_unproven += region_set_count(&bench->regions.unproven) > 0;
        }
        print_message("# a job wrote in %u scans, %u of which left regions untested\n", n, n_unproven);
        assert_true(n_unproven > n / 2);
}

/* A port that fails at any command: what it did not answer was not tested, and nothing passes. */
static void a_port_that_fails_is_no_pass(void **state) {
        static const int errors[] = { -EIO, -ETIMEDOUT, -EPROTO, -ENOMEM };
        unsigned n_batches = UINT_MAX;

        for (unsigned at = 0; at < n_batches; at++)
                for (size_t i = 0; i < ELEMENTS(errors); i++) {
                        _cleanup_bench_ Bench *bench = bench_new(HEAD "in-use: [{at: trn-0/chip0, rows: \"0:2048-9000\"}]\n");
                        StepEnd end;

                        allow(bench, 2);
                        bench->fail_at = at + 1;
                        bench->failure = errors[i];
                        end = scan(bench);
                        if (bench->n_batches <= at) {
                                n_batches = bench->n_batches; /* it ended before */
                                assert_int_equal(end.verdict, VERDICT_PASSED);
                                break;
                        }
                        assert_int_equal(end.verdict, VERDICT_ERROR);
                        assert_false(bench->has_regions);
                        assert_int_equal(trespasses(bench), 0);
                }
        assert_true(n_batches > 20 && n_batches < 1000);
}

static void faults_in_live_rows_are_not_claimed_as_covered(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "in-use: [{at: trn-0/chip0, rows: \"1:4096-6143\"}]\n"
                             "faults:\n  - {at: trn-0/chip0/hbm2/ch3/pc1/sid1/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}\n");

        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
        assert_set(&bench->regions.tested, "0-9,11-23");
        assert_set(&bench->regions.occupied, "10");
        assert_int_equal(bench->rotation.ages[10], -1);

        control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: none}");
        assert_int_equal(scan(bench).verdict, VERDICT_FAILED);
        assert_set(&bench->regions.failed, "10");
}

static void a_chip_that_does_not_tell_is_not_touched(void **state) {
        static const struct {
                const char *text;
                Verdict verdict;
                Reason reason;
        } cases[] = {
                { "", VERDICT_SKIPPED, REASON_OCCUPIED },
                { "0:0-16383,1:0-16383,2:0-16383", VERDICT_SKIPPED, REASON_OCCUPIED },
                { "all", VERDICT_ERROR, REASON_PROTOCOL },          { "0:0-16384", VERDICT_ERROR, REASON_PROTOCOL },
                { "3:0-1", VERDICT_ERROR, REASON_PROTOCOL },        { "0:9-8", VERDICT_ERROR, REASON_PROTOCOL },
                { "0:0-5,0:5-6", VERDICT_ERROR, REASON_PROTOCOL },  { "1:0-5,0:0-5", VERDICT_ERROR, REASON_PROTOCOL },
                { "0:0-5,", VERDICT_ERROR, REASON_PROTOCOL },       { "0:00-5", VERDICT_ERROR, REASON_PROTOCOL },
                { "none ", VERDICT_ERROR, REASON_PROTOCOL },        { "0:0-5 1:0-5", VERDICT_ERROR, REASON_PROTOCOL },
                { "0:0-99999999999999999999", VERDICT_ERROR, REASON_PROTOCOL },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_bench_ Bench *bench = bench_new(HEAD "in-use: [{at: trn-0/chip0, rows: all}]\n");
                StepEnd end;

                for (size_t k = 0; k < ELEMENTS(bench->in_use); k++)
                        bench->in_use[k] = cases[i].text;
                end = scan(bench);
                assert_int_equal(end.verdict, cases[i].verdict);
                assert_int_equal(end.reason, cases[i].reason);
                assert_int_equal(trespasses(bench), 0);
        }
}

/* The chip tells of a job when the check looks again. */
static void what_a_job_takes_meanwhile_is_not_claimed(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(
                        HEAD "faults:\n  - {at: trn-0/chip0/hbm2/ch3/pc1/sid0/bg2/ba1/row711/col12/bit77, kind: stuck-at, value: 1}\n");
        StepEnd end;

        allow(bench, 2);
        bench->in_use[0] = bench->in_use[1] = "none";
        bench->in_use[2] = bench->in_use[3] = "0:0-2047";
        end = scan(bench);
        assert_int_equal(end.verdict, VERDICT_SKIPPED); /* what differs may be the job's */
        assert_int_equal(bench->found.n, 0);
        assert_set(&bench->regions.tested, "");
        assert_set(&bench->regions.occupied, "0");
        assert_int_equal(bench->regions.position, 0); /* nobody loses a turn */
}

/*
 * At whichever batch a job takes rows, of those that are being tested: none of its rows count as tested, unless the scan was through with
 * them; and it is harmed by no more than the pass that was under way, which writes each access as often as its march does, and a few
 * of them where it looks for stale reads.
 */
static void a_job_is_harmed_by_one_pass_at_most(void **state) {
        static const struct {
                uint64_t slices;
                unsigned long writes; /* of an access, by the longest pass: March C- */
        } cases[] = { { 8, 5 }, { 0, 5 } };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                for (unsigned at = 1, n = 1; at <= n; at++) {
                        _cleanup_bench_ Bench *bench = bench_new(HEAD);
                        unsigned long harmed;
                        StepEnd end;

                        bench->parameters.slices = cases[i].slices;
                        bench->take_at = at;
                        allow(bench, 1);
                        end = scan(bench);
                        n = MAX(n, bench->n_batches);
                        harmed = trespasses(bench);

                        if (harmed > cases[i].writes * TAKEN_ROWS + 1000)
                                fail_msg("taken before batch %u: %lu accesses were written", at, harmed);
                        assert_int_equal(bench->found.n, 0);
                        if (harmed > 0 && (end.verdict != VERDICT_SKIPPED || end.reason != REASON_OCCUPIED))
                                fail_msg("taken before batch %u: %lu written, %s", at, harmed, verdict_to_string(end.verdict));
                }
}

/* What SCENARIO makes of a whole chip on which a job takes rows before batch AT. Returns how many batches there were. */
static unsigned take_whole(const char *scenario, unsigned at, StepEnd *ret, unsigned *ret_found, unsigned long *ret_harmed) {
        _cleanup_bench_ Bench *bench = bench_new(scenario);

        bench->parameters.slices = 0;
        bench->take_at = at;
        allow(bench, 1);
        *ret = scan(bench);
        *ret_found = bench->found.n;
        *ret_harmed = trespasses(bench);
        return bench->n_batches;
}

/* While failures are located, one stack after another, memory is written, too. */
static void a_job_is_met_by_the_diagnosis_of_one_stack_at_most(void **state) {
        static const char broken[] = HEAD "faults:\n"
                                          "  - {at: trn-0/chip0/hbm0/ch3/pc1/sid0/bg2/ba1/row711, kind: row-dead}\n"
                                          "  - {at: trn-0/chip0/hbm1/ch3/pc1/sid0/bg2/ba1/row711, kind: row-dead}\n"
                                          "  - {at: trn-0/chip0/hbm2/ch3/pc1/sid0/bg2/ba1/row711, kind: row-dead}\n"
                                          "  - {at: trn-0/chip0/hbm3/ch3/pc1/sid0/bg2/ba1/row711, kind: row-dead}\n";
        unsigned long harmed;
        unsigned n_found, first, last;
        StepEnd end;

        first = take_whole(HEAD, 0, &end, &n_found, &harmed) + 4; /* behind the passes */
        assert_int_equal(end.verdict, VERDICT_PASSED);
        last = take_whole(broken, 0, &end, &n_found, &harmed) - 4; /* before tags are left, when all is told */
        assert_int_equal(end.verdict, VERDICT_FAILED);
        assert_true(last > first + 8);

        for (unsigned at = first; at < last; at += (last - first) / 8) {
                (void) take_whole(broken, at, &end, &n_found, &harmed);
                if (end.verdict != VERDICT_SKIPPED || end.reason != REASON_OCCUPIED || n_found > 0 || harmed > DIAGNOSED)
                        fail_msg("taken before batch %u of %u: %s, %u found, %lu accesses were written", at, last,
                                 verdict_to_string(end.verdict), n_found, harmed);
        }
}

static void what_reaches_beyond_a_slice_is_not_run(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD "in-use: [{at: trn-0/chip0, rows: \"0:0-2047\"}]\n");
        const char *wrong;
        size_t offset;

        assert_int_equal(march_read("any(w0);Del;any(r0)", &bench->parameters.march, &wrong, &offset), 0);
        assert_int_equal(scan(bench).verdict, VERDICT_ERROR);
        assert_int_equal(trespasses(bench), 0);
}

/* ---- age ---- */

static void what_is_overdue_is_warned_of(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD "in-use: [{at: trn-0/chip0, rows: \"0:0-4095\"}]\n");

        allow(bench, 22);
        bench->rotation_sec = 7200;
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED); /* an hour */
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED); /* two */
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED); /* 7200 s: not more */
        assert_int_equal(scan(bench).verdict, VERDICT_WARNED);
        assert_true(found_has(&bench->found, "hbm-region-overdue", "trn-0/chip0"));

        control(bench, CONTROL_USE, "{at: trn-0/chip0, rows: none}");
        allow(bench, 24);
        assert_int_equal(scan(bench).verdict, VERDICT_PASSED);
}

static void a_bad_position_is_refused(void **state) {
        _cleanup_bench_ Bench *bench = bench_new(HEAD);

        assert_int_equal(partition_parse("sid 3 row 16384/8", &bench->rotation.partition), 0);
        bench->rotation.position = 24;
        bench->has_rotation = true;
        assert_int_equal(scan(bench).verdict, VERDICT_ERROR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_rotation_covers_every_access_once),
                cmocka_unit_test(a_scan_begins_where_the_last_one_stopped),
                cmocka_unit_test(time_is_kept),
                cmocka_unit_test(time_is_kept_beside_live_data),
                cmocka_unit_test(a_fault_is_found_by_the_scan_that_reaches_it),
                cmocka_unit_test(regions_that_failed_together_stand_until_they_pass_together),
                cmocka_unit_test(what_fails_alone_does_not_clear_what_fails_together),
                cmocka_unit_test(an_alias_of_a_region_that_is_tested_elsewhere_is_told),
                cmocka_unit_test(a_tag_of_another_scan_is_no_alias),
                cmocka_unit_test(a_pair_of_rows_is_met_by_what_it_leaves_or_in_one_pass),
                cmocka_unit_test(places_are_exact_in_odd_slices),
                cmocka_unit_test(a_slice_names_the_address_that_the_whole_chip_names),
                cmocka_unit_test(what_has_no_place_fails_all_that_was_tested),
                cmocka_unit_test(a_cell_of_variable_retention_is_no_particle),
                cmocka_unit_test(live_data_are_left_alone),
                cmocka_unit_test(no_fault_leads_into_live_data),
                cmocka_unit_test(no_alias_leads_into_live_data),
                cmocka_unit_test(a_row_that_is_not_proven_is_told),
                cmocka_unit_test(what_is_altered_stands_until_it_is_tested),
                cmocka_unit_test(what_a_killed_scan_has_left_is_no_finding),
                cmocka_unit_test(what_a_killed_scan_of_all_has_left_is_no_finding),
                cmocka_unit_test(what_a_killed_scan_has_left_is_no_finding_in_live_rows),
                cmocka_unit_test(a_sound_chip_is_tested_beside_its_job),
                cmocka_unit_test(one_bare_row_is_found_among_others),
                cmocka_unit_test(what_a_job_has_left_waits_for_an_idle_chip),
                cmocka_unit_test(what_a_job_has_left_in_few_rows_is_no_finding),
                cmocka_unit_test(what_a_job_has_left_anywhere_is_no_finding),
                cmocka_unit_test(what_no_job_has_left_is_told),
                cmocka_unit_test(more_damage_has_no_better_verdict),
                cmocka_unit_test(what_is_broken_beside_a_stack_without_tags_is_told),
                cmocka_unit_test(where_nothing_is_proven_nothing_passes),
                cmocka_unit_test(every_scan_leaves_rows_that_tell_whose_they_are),
                cmocka_unit_test(rows_beside_live_ones_are_a_guard),
                cmocka_unit_test(what_comes_and_goes_is_met_by_the_reads),
                cmocka_unit_test(what_begins_meanwhile_is_told_at_once),
                cmocka_unit_test(a_march_that_meets_more_than_cells_is_stopped),
                cmocka_unit_test(a_job_that_writes_is_not_blamed),
                cmocka_unit_test(a_port_that_fails_is_no_pass),
                cmocka_unit_test(faults_in_live_rows_are_not_claimed_as_covered),
                cmocka_unit_test(a_chip_that_does_not_tell_is_not_touched),
                cmocka_unit_test(what_a_job_takes_meanwhile_is_not_claimed),
                cmocka_unit_test(a_job_is_harmed_by_one_pass_at_most),
                cmocka_unit_test(a_job_is_met_by_the_diagnosis_of_one_stack_at_most),
                cmocka_unit_test(what_reaches_beyond_a_slice_is_not_run),
                cmocka_unit_test(what_is_overdue_is_warned_of),
                cmocka_unit_test(a_bad_position_is_refused),
        };

        if (getenv("HBM_TEST"))
                cmocka_set_test_filter(getenv("HBM_TEST"));
        return cmocka_run_group_tests(tests, NULL, NULL);
}
