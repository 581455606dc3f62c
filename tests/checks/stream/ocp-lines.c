/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ocp-lines
 *
 * Prints a stream with every kind of line the writer makes, with every member and with as few as can be; with `judge`,
 * holds the lines of standard input against the reader's tables and says "ok" or what is wrong with each.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "checks/stream/stream-schema.h"
#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"

static uint64_t sequence;

static void say(char *lines) {
        char *rest = lines, *line;

        while (rest && (line = strsep(&rest, "\n")) && *line) {
                _cleanup_free_ char *numbered = stream_number(line, sequence++);

                puts(numbered ? numbered : "out of memory");
        }

        free(lines);
}

static Location parse(const char *text) {
        Location location;

        if (location_parse(text, &location, NULL, NULL) < 0)
                abort();

        return location;
}

static void say_findings(const char *step) {
        Finding finding = {
                .code = "hbm-cell", .where = parse("us0-1/chip3/hbm2/ch3"), .message = "\"odd\"\n\x1b \xff …",
                .reproduced = 2, .runs = 3,
                .evidence = { "row 7", "0x00", "0x01", true, true, 1e9, 0.5, "us0-1/chip4/link-x+", "tray 0" },
        };
        Finding bare = { .code = "identity-firmware", .severity = SEVERITY_WARN, .where = parse("us0-1/chip3") };

        for (finding.severity = 0; finding.severity < _SEVERITY_MAX; finding.severity++)
                say(stream_finding(step, &finding));
        say(stream_finding(step, &bare));
}

static void say_measurements(const char *step) {
        static const double values[] = { 0, -1, 0.1, 1e-300, 1.7976931348623157e308 };
        Measurement measurement = { .name = "hbm_errors", .unit = "{error}", .where = parse("us0-1/chip3/link-z-/lane7") };

        for (size_t i = 0; i < ELEMENTS(values); i++) {
                measurement.value = measurement.limit = values[i];
                measurement.limit_type = (LimitType) (i % _LIMIT_TYPE_MAX);
                say(stream_measurement(step, &measurement));
        }

        measurement = (Measurement) { .name = "bare", .where = parse("us0-1") };
        say(stream_measurement("us0-1:links", &measurement));
}

static void print_stream(void) {
        Regions regions = {};
        static const StepEnd ends[] = {
                { VERDICT_PASSED, REASON_NONE, NULL, true, UINT64_MAX, UINT64_MAX, 0, 1 },
                { VERDICT_WARNED, REASON_NONE, NULL, true, 0, 0, 1, 3 },
                { VERDICT_FAILED, REASON_NONE, NULL, true, 0, 0, 1, 3 },
                { VERDICT_SKIPPED, REASON_OCCUPIED, "in service", false, 0, 0, 0, 0 },
                { VERDICT_ERROR, REASON_WORKER_CRASHED, "signal 11", false, 0, 0, 0, 0 },
                { VERDICT_ERROR, REASON_PROTOCOL, NULL, false, 0, 0, 0, 0 },
        };
        Hardware hardware[] = {
                { parse("us0-1"), "Trn2", "", "", "", "", "" },
                { parse("us0-1/chip3"), "Trainium2", "C3", "P7", "1.2", "tray 0", "0000:10:1c.0" },
        };
        Promise promises[] = { { "hbm_bytes_tested", 103079215104 }, { "x", 0.5 } };
        StatedEscape escapes[] = { { "row-dead", 0, 20 }, { "linked", 0.25, 3 } };
        RunStart start = { "0.1.0", "assay-run --plan \"x\"", "preflight", "ab", "us0-1", UINT64_MAX, 2, hardware, 2, promises, 2, escapes };
        Location chip = parse("us0-1/chip3");

        say(stream_schema_version());
        say(stream_run_start(&start));
        say(stream_log("WARNING", "look"));
        say(stream_step_start("us0-1:links", "neuronlink"));
        say(stream_part_done("us0-1:links", &chip, VERDICT_PASSED, REASON_NONE));
        say(stream_step_start("us0-1/chip3:many", "hbm"));
        say_measurements("us0-1/chip3:many");
        say(stream_progress("us0-1/chip3:many", 100));
        (void) partition_parse("sid 3 row 16384/32", &regions.partition);
        say(stream_regions("us0-1/chip3:many", &regions));
        say_findings("us0-1/chip3:many");
        say(stream_step_end("us0-1/chip3:many", &ends[2]));
        say(stream_step_end("us0-1:links", &ends[0]));
        for (size_t i = 0; i < ELEMENTS(ends); i++) {
                char id[64];

                (void) snprintf(id, sizeof(id), "us0-1/chip3:n%zu", i);
                say(stream_step_start(id, "x"));
                say(stream_step_end(id, &ends[i]));
        }
        say(stream_run_error("resource", NULL));
        say(stream_run_error("resource", "no memory"));
        for (Result result = 0; result < _RESULT_MAX; result++)
                say(stream_run_end(result));
}

/* Whether our own tables take each line of standard input. */
static void judge_lines(void) {
        char line[STREAM_LINE_MAX + 2], wrong[SCHEMA_WRONG_MAX];

        while (fgets(line, sizeof(line), stdin)) {
                json_auto_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

                puts(!object ? "no JSON" : stream_schema_judge(object, true, wrong) < 0 ? wrong : "ok");
        }
}

int main(int argc, char *argv[]) {
        if (argc > 1 && strcmp(argv[1], "judge") == 0)
                judge_lines();
        else
                print_stream();

        return 0;
}
