/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"

/* Events as text, one per line: what a test compares. */
typedef struct Heard {
        char text[16384];
        size_t n;
        EventType refuse;
} Heard;

static void hear(Heard *heard, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void hear(Heard *heard, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        heard->n += (size_t) vsnprintf(heard->text + heard->n, sizeof(heard->text) - heard->n, format, arguments);
        va_end(arguments);
        assert_true(heard->n < sizeof(heard->text));
}

static const char *at(const Location *location) {
        static char text[LOCATION_STRING_MAX];

        return location_format(location, text);
}

static void hear_finding(Heard *heard, const Finding *finding) {
        hear(heard, "finding %s %s %s '%s' %u/%u", finding->code, severity_to_string(finding->severity),
             at(&finding->where), finding->message, finding->reproduced, finding->runs);
        if (finding->evidence.expected)
                hear(heard, " expected %s", finding->evidence.expected);
        if (finding->evidence.far_end)
                hear(heard, " far %s", finding->evidence.far_end);
        if (finding->evidence.has_count)
                hear(heard, " count %g", finding->evidence.count);
        if (finding->evidence.has_confidence)
                hear(heard, " confidence %g", finding->evidence.confidence);
        if (finding->evidence.decided.measurement)
                hear(heard, " by %s %g against %g", finding->evidence.decided.measurement, finding->evidence.decided.value, finding->evidence.decided.limit);
        if (finding->action != ACTION_NONE)
                hear(heard, " do %s", action_to_string(finding->action));
}

static const char *summed_up(const Series *series) {
        static char text[48];

        (void) snprintf(text, sizeof(text), " %s %llu", statistic_to_string(series->statistic), (unsigned long long) series->count);
        return series->statistic == STATISTIC_NONE ? "" : text;
}

static void hear_particulars(Heard *heard, const Particulars *told) {
        hear(heard, "particulars of %s:", at(&told->where));
        for (size_t i = 0; i < told->n_assemblies; i++)
                hear(heard, " %s at %s '%s' '%s' '%s'", told->assemblies[i].word, at(&told->assemblies[i].where), told->assemblies[i].serial,
                     told->assemblies[i].part_number, told->assemblies[i].version);
        for (size_t i = 0; i < told->n_softwares; i++)
                hear(heard, " %s '%s'", told->softwares[i].word, told->softwares[i].version);
        for (size_t i = 0; i < told->n_readings; i++)
                hear(heard, " %s %g %s", told->readings[i].word, told->readings[i].value, told->readings[i].unit);
}

static int on_event(const Event *event, void *userdata) {
        Heard *heard = userdata;

        hear(heard, "%u %s:%s ", (unsigned) event->sequence, event->unit, event->step);
        switch (event->type) {
        case EVENT_RUN_START:
                hear(heard, "start %s", event->plan);
                for (size_t i = 0; i < event->n_promises; i++)
                        hear(heard, " %s %g", event->promises[i].measurement, event->promises[i].value);
                for (size_t i = 0; i < event->n_escapes; i++)
                        hear(heard, " %s %g+%g", event->escapes[i].fault, event->escapes[i].always, event->escapes[i].commands);
                break;
        case EVENT_HARDWARE:
                hear(heard, "hardware %s %s %s %s %s %s %s %s", at(&event->hardware.where), event->hardware.name,
                     event->hardware.serial, event->hardware.part_number, event->hardware.firmware, event->hardware.firmware_build, event->hardware.tray,
                     event->hardware.pci_address);
                break;
        case EVENT_STEP_START:
                hear(heard, "begins");
                break;
        case EVENT_MEASUREMENT:
                hear(heard, "%s %g %s %s %g %s%s", event->measurement.name, event->measurement.value,
                     event->measurement.unit, limit_type_to_string(event->measurement.limit_type),
                     event->measurement.limit, at(&event->measurement.where), summed_up(&event->measurement.series));
                break;
        case EVENT_FINDING:
                hear_finding(heard, &event->finding);
                break;
        case EVENT_PART_DONE:
                hear(heard, "part %s %s%s%s", at(&event->part), verdict_to_string(event->verdict), event->reason == REASON_NONE ? "" : " for ",
                     reason_to_string(event->reason));
                break;
        case EVENT_PROGRESS:
                hear(heard, "%u %%", event->percent);
                break;
        case EVENT_REGIONS: {
                char text[3][REGIONS_TEXT_MAX], partition[REGIONS_PARTITION_MAX];

                hear(heard, "regions %s from %u tested '%s' failed '%s' occupied '%s'",
                     partition_format(&event->regions->partition, partition), event->regions->position,
                     region_set_format(&event->regions->tested, text[0]), region_set_format(&event->regions->failed, text[1]),
                     region_set_format(&event->regions->occupied, text[2]));
                break;
        }
        case EVENT_PARTICULARS:
                hear_particulars(heard, event->particulars);
                break;
        case EVENT_STEP_END:
                hear(heard, "ends %s '%s' '%s' %d %llu %llu %u/%u%s", verdict_to_string(event->end.verdict),
                     reason_to_string(event->end.reason), event->end.message ? event->end.message : "-",
                     event->end.required, (unsigned long long) event->end.seed,
                     (unsigned long long) event->end.device_nsec, event->end.reproduced, event->end.runs,
                     run_occupancy_to_string(event->end.occupancy));
                break;
        case EVENT_ERROR:
                hear(heard, "error %s", event->message);
                break;
        case EVENT_LOG:
                hear(heard, "log %s", event->message);
                break;
        case EVENT_RUN_END:
                hear(heard, "end %s", result_to_string(event->result));
                break;
        case _EVENT_TYPE_MAX:
                break;
        }

        hear(heard, "\n");
        return event->type == heard->refuse ? -ECANCELED : 0;
}

static Location parse(const char *text) {
        Location location;

        assert_int_equal(location_parse(text, &location, NULL, NULL), 0);
        return location;
}

typedef struct Text {
        char bytes[65536];
        size_t n;
        uint64_t sequence;
} Text;

/* Numbers the lines a writer made and adds them. */
static void add(Text *text, char *lines) {
        char *rest = lines, *line;

        assert_non_null(lines);
        while ((line = strsep(&rest, "\n")) && *line) {
                _cleanup_free_ char *numbered = stream_number(line, text->sequence++);

                text->n += (size_t) snprintf(text->bytes + text->n, sizeof(text->bytes) - text->n, "%s\n", numbered);
                assert_true(text->n < sizeof(text->bytes));
        }

        free(lines);
}

static void add_start(Text *text) {
        Hardware hardware[] = {
                { parse("us0-1"), "Trn2", "S1", "", "", "", "" },
                { parse("us0-1/chip3"), "Trainium2", "C3", "P7", "1.2", "0x1b7", "tray 0", "0000:10:1c.0" },
        };
        Promise promises[] = { { "hbm_bytes_tested", 103079215104 }, { "x", 0.5 } };
        StatedEscape escapes[] = { { "row-dead", 0, 20 }, { "linked", 0.25, 3 } };
        RunStart start = {
                .version = "0.1.0", .command_line = "assay-run", .plan = "preflight", .dut = "us0-1", .seed = 7,
                .n_hardware = 2, .hardware = hardware, .n_promises = 2, .promises = promises, .n_escapes = 2, .escapes = escapes,
        };

        add(text, stream_schema_version());
        add(text, stream_run_start(&start));
}

static int keep_time(const Event *event, void *userdata) {
        *(uint64_t *) userdata = event->usec;
        return 0;
}

static void test_particulars_come_back_as_they_were_told(void **state) {
        Particulars chip = {
                .where = parse("us0-1/chip3"), .n_assemblies = 2, .n_readings = 1,
                .assemblies = { { "tray", parse("us0-1/chip3"), "TR1", "", "" }, { "stack", parse("us0-1/chip3/hbm2"), "H \"7\"", "HBM3-12H", "B0" } },
                .readings = { { "clock", 2400.5, "MHz" } },
        };
        Particulars server = { .where = parse("us0-1"), .n_softwares = 1, .softwares = { { "kernel", "6.8.0-1031-aws" } } };
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        Heard heard = { .refuse = _EVENT_TYPE_MAX };
        Text text = {};

        add_start(&text);
        add(&text, stream_step_start("us0-1/chip3:x", "x"));
        add(&text, stream_particulars("us0-1/chip3:x", &chip));
        add(&text, stream_particulars("us0-1/chip3:x", &server));
        assert_int_equal(stream_reader_new(true, 0, on_event, &heard, &reader), 0);
        if (stream_reader_feed(reader, text.bytes, text.n) < 0)
                fail_msg("%s", stream_reader_error(reader));
        assert_non_null(strstr(heard.text, "3 us0-1/chip3:x particulars of us0-1/chip3: tray at us0-1/chip3 'TR1' '' '' stack at us0-1/chip3/hbm2 'H \"7\"' "
                                           "'HBM3-12H' 'B0' clock 2400.5 MHz\n4 us0-1/chip3:x particulars of us0-1: kernel '6.8.0-1031-aws'\n"));
}

/* A line says when it was written; only our own form of it is read. */
static void test_events_have_the_time_of_their_line(void **state) {
        static const struct {
                const char *text;
                uint64_t usec;
        } times[] = {
                { "1970-01-01T00:00:00.001Z", 1000 }, { "2026-11-23T13:27:13.651Z", 1795440433651000 }, { "2024-02-29T23:59:59.999Z", 1709251199999000 },
                { "2026-11-23T13:27:13Z", 0 }, { "2026-11-23T13:27:13.651+01:00", 0 }, { "2026-11-23T13:27:13.65100Z", 0 },
        };

        for (size_t i = 0; i < ELEMENTS(times); i++) {
                _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
                uint64_t usec = 1;
                char line[512];

                (void) snprintf(line, sizeof(line), "{\"sequenceNumber\":7,\"timestamp\":\"%s\",\"testStepArtifact\":{\"testStepId\":\"a:x\","
                                                    "\"testStepStart\":{\"name\":\"x\"}}}\n", times[i].text);
                assert_int_equal(stream_reader_new(true, 7, keep_time, &usec, &reader), 0);
                assert_int_equal(stream_reader_feed(reader, line, strlen(line)), 0);
                if (usec != times[i].usec)
                        fail_msg("%s is %llu", times[i].text, (unsigned long long) usec);
        }
}

static void test_a_whole_run_comes_back_as_events(void **state) {
        Text text = {};
        Heard heard = { .refuse = _EVENT_TYPE_MAX };
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        Measurement measurement = { "hbm_errors", 3, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 0, parse("us0-1/chip3/hbm2"),
                                    { STATISTIC_P99, 4096 } };
        Finding finding = {
                .code = "hbm-cell", .severity = SEVERITY_FAIL, .where = parse("us0-1/chip3/hbm2/ch3"),
                .message = "bit 9 \"stuck\"", .action = ACTION_QUARANTINE, .reproduced = 2, .runs = 3,
                .evidence = { .expected = "0x00", .far_end = "us0-1/chip4/link-x+", .has_count = true, .count = 1e6,
                              .has_confidence = true, .confidence = 0.99, .decided = { "hbm_reads_wrong", 17, 0 } },
        };
        Location part = parse("us0-1/chip3");
        Regions regions = { .position = 41 };
        StepEnd failed = { VERDICT_FAILED, REASON_NONE, NULL, true, UINT64_MAX, 123456789012, 2, 3 };
        StepEnd skipped = { VERDICT_SKIPPED, REASON_OCCUPIED, "in service", false, 1, 0, 0, 0 };
        StepEnd error = { VERDICT_ERROR, REASON_WORKER_CRASHED, "signal 11", true, 1, 0, 0, 1 };

        add_start(&text);
        add(&text, stream_log("INFO", "hello"));
        add(&text, stream_step_start("us0-1/chip3:hbm", "hbm"));
        add(&text, stream_step_start("us0-1:links", "neuronlink"));
        add(&text, stream_measurement("us0-1/chip3:hbm", &measurement));
        add(&text, stream_progress("us0-1/chip3:hbm", 50));
        assert_int_equal(partition_parse("sid 3 row 16384/32", &regions.partition), 0);
        assert_int_equal(region_set_parse("0-40,95", 96, &regions.tested), 0);
        assert_int_equal(region_set_parse("12", 96, &regions.failed), 0);
        assert_int_equal(region_set_parse("41-94", 96, &regions.occupied), 0);
        add(&text, stream_regions("us0-1/chip3:hbm", &regions));
        add(&text, stream_finding("us0-1/chip3:hbm", &finding));
        add(&text, stream_part_done("us0-1:links", &part, VERDICT_PASSED, REASON_NONE));
        add(&text, stream_part_done("us0-1:links", &part, VERDICT_SKIPPED, REASON_BUDGET));
        add(&text, stream_step_end("us0-1/chip3:hbm", &failed));
        add(&text, stream_step_end("us0-1:links", &skipped));
        add(&text, stream_step_start("us0-1/chip3:efa", "efa"));
        add(&text, stream_step_end("us0-1/chip3:efa", &error));
        add(&text, stream_run_error("resource", "no more forks"));
        add(&text, stream_run_end(RESULT_FAILED));

        assert_int_equal(stream_reader_new(true, 0, on_event, &heard, &reader), 0);
        if (stream_reader_feed(reader, text.bytes, text.n) < 0 || stream_reader_end(reader) < 0)
                fail_msg("%s", stream_reader_error(reader));

        assert_int_equal(stream_reader_sequence(reader), text.sequence);
        assert_string_equal(heard.text,
                            "1 : start preflight hbm_bytes_tested 1.03079e+11 x 0.5 row-dead 0+20 linked 0.25+3\n"
                            "1 : hardware us0-1 Trn2 S1     \n"
                            "1 : hardware us0-1/chip3 Trainium2 C3 P7 1.2 0x1b7 tray 0 0000:10:1c.0\n"
                            "2 : log hello\n"
                            "3 us0-1/chip3:hbm begins\n"
                            "4 us0-1:links begins\n"
                            "5 us0-1/chip3:hbm hbm_errors 3 {error} LESS_THAN_OR_EQUAL 0 us0-1/chip3/hbm2 p99 4096\n"
                            "6 us0-1/chip3:hbm 50 %\n"
                            "7 us0-1/chip3:hbm regions sid 3 row 16384/32 from 41 tested '0-40,95' failed '12' occupied '41-94'\n"
                            "9 us0-1/chip3:hbm finding hbm-cell fail us0-1/chip3/hbm2/ch3 'bit 9 \"stuck\"' 2/3 "
                            "expected 0x00 far us0-1/chip4/link-x+ count 1e+06 confidence 0.99 by hbm_reads_wrong 17 against 0 do quarantine\n"
                            "10 us0-1:links part us0-1/chip3 passed\n"
                            "11 us0-1:links part us0-1/chip3 skipped for budget\n"
                            "13 us0-1/chip3:hbm ends failed '' '-' 1 18446744073709551615 123456789012 2/3\n"
                            "15 us0-1:links ends skipped 'occupied' 'in service' 0 1 0 0/0\n"
                            "16 us0-1/chip3:efa begins\n"
                            "19 us0-1/chip3:efa ends error 'worker-crashed' 'signal 11' 1 1 0 0/1\n"
                            "20 : error no more forks\n"
                            "21 : end FAILED\n");
}

static void test_bytes_may_come_one_by_one(void **state) {
        Text text = {};
        Heard whole = { .refuse = _EVENT_TYPE_MAX }, bytes = { .refuse = _EVENT_TYPE_MAX };
        _cleanup_(stream_reader_freep) StreamReader *a = NULL, *b = NULL;

        add_start(&text);
        add(&text, stream_run_end(RESULT_INCONCLUSIVE));
        assert_int_equal(stream_reader_new(true, 0, on_event, &whole, &a), 0);
        assert_int_equal(stream_reader_new(true, 0, on_event, &bytes, &b), 0);
        assert_int_equal(stream_reader_feed(a, text.bytes, text.n), 0);
        for (size_t i = 0; i < text.n; i++)
                assert_int_equal(stream_reader_feed(b, text.bytes + i, 1), 0);

        assert_int_equal(stream_reader_end(a), 0);
        assert_int_equal(stream_reader_end(b), 0);
        assert_string_equal(whole.text, bytes.text);
        assert_true(whole.n > 0);
}

/* ---- what is refused ---- */

#define STEP(id, artifact) "{\"testStepArtifact\":{\"testStepId\":\"" id "\"," artifact "}}\n"
#define BEGIN(id)          STEP(id, "\"testStepStart\":{\"name\":\"x\"}")
#define END(id, status)    STEP(id, "\"testStepEnd\":{\"status\":\"" status "\"}")
#define REGIONS(id, partition, position, tested, failed, occupied)                                              \
        OURS(id, "regions", "\"partition\":\"" partition "\",\"position\":" position ",\"tested\":\"" tested         \
                            "\",\"failed\":\"" failed "\",\"occupied\":\"" occupied "\"")
#define OURS(id, name, content)                                                                              \
        STEP(id, "\"extension\":{\"name\":\"assay-" name "\",\"content\":{" content "}}")
#define TELLS(of, assemblies, softwares, readings)                                                           \
        OURS("a/chip3:x", "particulars", "\"location\":\"" of "\",\"assemblies\":[" assemblies "],\"softwareInfos\":[" softwares \
             "],\"readings\":[" readings "]")
#define READING        "{\"name\":\"power\",\"value\":7,\"unit\":\"W\"}"
#define FOUR(item)     item "," item "," item "," item
#define FACTS(verdict)                                                                                       \
        "\"verdict\":\"" verdict "\",\"required\":true,\"seed\":\"7\",\"device_nsec\":1,\"reproduced\":0,\"runs\":1"
#define SAID(id, verdict)  OURS(id, "step", FACTS(verdict))
#define FINDS(id, type, where)                                                                               \
        STEP(id, "\"diagnosis\":{\"verdict\":\"hbm-cell\",\"type\":\"" type "\"" where "}")
#define SERIES(statistic, count) ",\"metadata\":{\"statistic\":" statistic ",\"count\":" count "}"
#define MEASURES(id, rest) STEP(id, "\"measurement\":{\"name\":\"m\",\"value\":3" rest "}")
#define LIMIT(type, value) ",\"validators\":[{\"type\":\"" type "\",\"value\":" value "}]"
#define RUN(artifact)      "{\"testRunArtifact\":{" artifact "}}\n"
#define LOG                RUN("\"log\":{\"severity\":\"INFO\",\"message\":\"x\"}")
#define VERSION            "{\"schemaVersion\":{\"major\":2,\"minor\":0}}\n"
#define START                                                                                                \
        RUN("\"testRunStart\":{\"name\":\"a\",\"version\":\"1\",\"commandLine\":\"x\",\"parameters\":{},"    \
            "\"dutInfo\":{\"dutInfoId\":\"a\",\"hardwareInfos\":[{\"hardwareInfoId\":\"a/chip3\",\"name\":\"x\"}]}}")
#define RUN_END(status, result) RUN("\"testRunEnd\":{\"status\":\"" status "\",\"result\":\"" result "\"}")

static const char chip[] = "a/chip3";

typedef struct Refusal {
        const char *lines;
        const char *error;
} Refusal;

/* Numbers the lines where the stream is numbered, feeds them and the end, and returns the error. */
static void feed(bool numbered, uint64_t first, const char *lines, char error[static 256]) {
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        _cleanup_free_ char *copy = strdup(lines);
        Heard heard = { .refuse = _EVENT_TYPE_MAX };
        char *rest = copy, *line;
        int r = 0;

        assert_int_equal(stream_reader_new(numbered, first, on_event, &heard, &reader), 0);
        while (r >= 0 && (line = strsep(&rest, "\n")) && *line) {
                _cleanup_free_ char *whole = NULL;

                if (numbered)
                        whole = stream_number(line, first++);
                else
                        whole = strdup(line);
                r = stream_reader_feed(reader, whole, strlen(whole));
                if (r >= 0)
                        r = stream_reader_feed(reader, "\n", 1);
        }

        if (r >= 0)
                r = stream_reader_end(reader);
        assert_true(r == 0 || r == -EPROTO);
        if (r < 0)
                assert_int_equal(stream_reader_feed(reader, "x", 1), -EPROTO);
        (void) snprintf(error, 256, "%s", r < 0 ? stream_reader_error(reader) : "");
}

static void assert_refused(bool numbered, uint64_t first, const Refusal *cases, size_t n) {
        for (size_t i = 0; i < n; i++) {
                char error[256];

                feed(numbered, first, cases[i].lines, error);
                if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
                        fail_msg("%s\ngot      %s\nexpected %s", cases[i].lines, error, cases[i].error);
        }
}

static void test_what_is_no_line_of_the_standard_is_refused(void **state) {
        static const Refusal cases[] = {
                { "x\n", "line 1: no JSON object" },
                { "[]\n", "line 1: 'line' is no object" },
                { "7\n", "line 1: no JSON object" },
                { "{}\n", "line 1: 'line' has 0 artifacts, expected one" },
                { "{\"a\":1}\n", "line 1: 'line' has a member that the standard does not know" },
                { LOG "{\"testRunArtifact\":{}} {}\n", "line 2: no JSON object" },
                { "{\"testRunArtifact\":{}}\n", "line 1: 'testRunArtifact' has 0 artifacts, expected one" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":\"x\"},\"error\":{\"symptom\":\"x\"}"),
                  "line 1: 'testRunArtifact' has 2 artifacts, expected one" },
                { RUN("\"log\":{\"severity\":\"LOUD\",\"message\":\"x\"}"), "line 1: 'severity' is none of its words" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":7}"), "line 1: 'message' is no string" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":null}"), "line 1: 'message' is no string" },
                { RUN("\"log\":{\"severity\":\"INFO\"}"), "line 1: 'message' is missing in 'log'" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":\"x\",\"x\":1}"),
                  "line 1: 'log' has a member that the standard does not know" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"severity\":\"INFO\",\"message\":\"x\"}"),
                  "line 1: no JSON object" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":\"\\u001b[31m\"}"),
                  "line 1: a control character is in 'message'" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":\"\\u009b\"}"),
                  "line 1: a control character is in 'message'" },
                { RUN("\"log\":{\"severity\":\"INFO\",\"message\":\"\\u0000\"}"), "line 1: no JSON object" },
                { "{\"sequenceNumber\":0," "\"testRunArtifact\":{\"log\":{\"severity\":\"INFO\",\"message\":\"x\"}}}\n",
                  "line 1: 'line' has a member that the standard does not know" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"file\":{\"displayName\":\"x\",\"uri\":\"x\",\"isSnapshot\":1}"),
                  "line 2: 'isSnapshot' is no boolean" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"measurementSeriesEnd\":{\"measurementSeriesId\":\"1\","
                                                       "\"totalCount\":-1}"),
                  "line 2: 'totalCount' is no whole number from 0 on" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"measurementSeriesElement\":{\"index\":1,\"value\":1,"
                                                       "\"measurementSeriesId\":\"1\",\"timestamp\":\"now\"}"),
                  "line 2: 'timestamp' is no time of RFC 3339" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"error\":{\"symptom\":\"x\",\"softwareInfoIds\":[1]}"),
                  "line 2: 'softwareInfoIds' is no string" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"measurement\":{\"name\":\"m\",\"value\":[]}"),
                  "line 2: 'value' is no string, boolean or number" },
        };

        assert_refused(false, 0, cases, ELEMENTS(cases));
}

static void test_valid_lines_without_a_meaning_for_us_are_let_through(void **state) {
        static const char lines[] =
                BEGIN("a/chip3:x")
                STEP("a/chip3:x", "\"file\":{\"displayName\":\"x\",\"uri\":\"x\",\"isSnapshot\":true,\"metadata\":{\"a\":[1]}}")
                STEP("a/chip3:x", "\"measurementSeriesStart\":{\"name\":\"x\",\"measurementSeriesId\":\"1\"}")
                STEP("a/chip3:x", "\"measurementSeriesElement\":{\"index\":0,\"value\":true,\"measurementSeriesId\":\"1\","
                                  "\"timestamp\":\"2026-11-21T10:00:00.5+01:00\"}")
                STEP("a/chip3:x", "\"measurementSeriesEnd\":{\"measurementSeriesId\":\"1\",\"totalCount\":1}")
                STEP("a/chip3:x", "\"extension\":{\"name\":\"other\",\"content\":[{\"x\":null}]}")
                STEP("a/chip3:x", "\"log\":{\"severity\":\"DEBUG\",\"message\":\"two\\nlines\"}")
                SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE");
        char error[256];

        feed(false, 0, lines, error);
        assert_string_equal(error, "");
}

static void test_steps_keep_their_order(void **state) {
        static const Refusal cases[] = {
                { BEGIN("a/chip3:x"), "line 2: the stream ends with 1 steps open" },
                { BEGIN("a/chip3:x") BEGIN("a/chip3:x"), "line 2: a step that started before" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE") BEGIN("a/chip3:x"),
                  "line 4: a step that started before" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE") MEASURES("a/chip3:x", ""),
                  "line 4: a line of a step that is not open" },
                { MEASURES("a/chip3:x", ""), "line 1: a line of a step that is not open" },
                { END("a/chip3:x", "COMPLETE"), "line 1: a line of a step that is not open" },
                { BEGIN("a/chip3:x") END("a/chip3:x", "COMPLETE"), "line 2: a step ends without its verdict" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "passed") MEASURES("a/chip3:x", ""),
                  "line 3: a step goes on after its verdict" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "passed") SAID("a/chip3:x", "passed"),
                  "line 3: a step goes on after its verdict" },
                { BEGIN("a/chip3"), "line 1: 'testStepId' is not UNIT:STEP" },
                { BEGIN("a/chip3:"), "line 1: 'testStepId' is not UNIT:STEP" },
                { BEGIN("a/chip3:X"), "line 1: 'testStepId' is not UNIT:STEP" },
                { BEGIN("A:x"), "line 1: the unit in 'testStepId' is neither a server nor a chip" },
                { BEGIN("a/chip3/core0:x"), "line 1: the unit in 'testStepId' is neither a server nor a chip" },
                { START, "line 1: testRunStart in the lines of a child" },
                { RUN_END("ERROR", "NOT_APPLICABLE"), "line 1: testRunEnd in the lines of a child" },
                { VERSION, "line 1: 'schemaVersion' is not the first line" },
        };

        assert_refused(false, 0, cases, ELEMENTS(cases));
}

static void test_a_step_that_contradicts_itself_is_broken(void **state) {
        static const Refusal cases[] = {
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "") SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE"),
                  "line 4: a step with a finding or a value beyond its limit cannot have passed" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "UNKNOWN", "") SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE"),
                  "line 4: a step with a finding or a value beyond its limit cannot have passed" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "") SAID("a/chip3:x", "warned") END("a/chip3:x", "COMPLETE"),
                  "line 4: a step with a finding that says fail has failed" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", LIMIT("LESS_THAN_OR_EQUAL", "2")) SAID("a/chip3:x", "passed")
                  END("a/chip3:x", "COMPLETE"),
                  "line 4: a step with a finding or a value beyond its limit cannot have passed" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"error\":{\"symptom\":\"x\"}") SAID("a/chip3:x", "passed")
                  END("a/chip3:x", "COMPLETE"), "line 4: a step with an error cannot have passed" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "passed") END("a/chip3:x", "SKIP"),
                  "line 3: status and verdict of a step do not go together" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "step", FACTS("error") ",\"reason\":\"protocol\"")
                  END("a/chip3:x", "COMPLETE"), "line 3: status and verdict of a step do not go together" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "error") END("a/chip3:x", "ERROR"),
                  "line 3: verdict and reason do not go together" },
                { BEGIN("a/chip3:x") SAID("a/chip3:x", "fine") END("a/chip3:x", "COMPLETE"),
                  "line 3: verdict and reason do not go together" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "step", FACTS("passed") ",\"reason\":\"protocol\"")
                  END("a/chip3:x", "COMPLETE"), "line 3: verdict and reason do not go together" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "step", "\"verdict\":\"passed\",\"required\":true,\"seed\":\"-7\","
                  "\"device_nsec\":1,\"reproduced\":0,\"runs\":1") END("a/chip3:x", "COMPLETE"),
                  "line 3: 'seed' is no number" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "step", "\"verdict\":\"passed\",\"required\":true,\"seed\":\"7\","
                  "\"device_nsec\":1,\"reproduced\":2,\"runs\":1") END("a/chip3:x", "COMPLETE"),
                  "line 3: reproduced more often than run" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "step", FACTS("failed") ",\"occupancy\":\"mine\"") END("a/chip3:x", "COMPLETE"),
                  "line 3: a run of no such occupancy" },
        };

        assert_refused(false, 0, cases, ELEMENTS(cases));
}

/* To the worker, which takes it back: what it tells itself has been decided. */
static void test_only_a_child_says_that_a_job_has_its_chip(void **state) {
        static const Refusal told = { VERSION START BEGIN("a/chip3:x") OURS("a/chip3:x", "step", FACTS("failed") ",\"occupancy\":\"taken\"")
                                      END("a/chip3:x", "COMPLETE"), "line 5: a run of no such occupancy" };
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        _cleanup_free_ char *start = stream_step_start("a/chip3:x", "x"),
                            *end = stream_step_end("a/chip3:x", &(StepEnd) { .verdict = VERDICT_FAILED, .runs = 1, .occupancy = RUN_TAKEN });
        Heard heard = { .refuse = _EVENT_TYPE_MAX };

        assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &reader), 0);
        assert_int_equal(stream_reader_feed(reader, start, strlen(start)), 0);
        assert_int_equal(stream_reader_feed(reader, end, strlen(end)), 0);
        assert_string_equal(heard.text, "0 a/chip3:x begins\n2 a/chip3:x ends failed '' '-' 0 0 0 0/1taken\n");
        assert_refused(true, 0, &told, 1);
}

static void test_findings_and_values_sit_where_their_step_may_look(void **state) {
        static const Refusal cases[] = {
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", ",\"hardwareInfoId\":\"a/chip4\""),
                  "line 2: a location outside of the chip of its step" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", ",\"hardwareInfoId\":\"a/chip3/hbm0\""),
                  "line 2: 'hardwareInfoId' is neither a server nor a chip" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", ",\"hardwareInfoId\":\"7\""),
                  "line 2: 'hardwareInfoId' is no location" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", ",\"subcomponent\":{\"name\":\"x\"}"),
                  "line 2: the location of 'subcomponent' is none" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", ",\"subcomponent\":{\"name\":\"x\",\"location\":\"a/chip4/nic0\"}"),
                  "line 2: 'subcomponent' is not within its hardware" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", LIMIT("LESS_THAN", "2")),
                  "line 2: a validator that is no limit of a number" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", LIMIT("EQUAL", "\"2\"")),
                  "line 2: a validator that is no limit of a number" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", ",\"validators\":[{\"type\":\"EQUAL\",\"value\":3},"
                                                           "{\"type\":\"EQUAL\",\"value\":3}]"),
                  "line 2: more than one validator" },
                { BEGIN("a/chip3:x") STEP("a/chip3:x", "\"measurement\":{\"name\":\"m\",\"value\":\"3\"}"),
                  "line 2: a measurement that is no named number" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", SERIES("\"median\"", "3")), "line 2: a statistic that is none" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", SERIES("\"\"", "3")), "line 2: a statistic that is none" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", SERIES("7", "3")), "line 2: a statistic that is none" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", SERIES("\"min\"", "-1")), "line 2: a statistic that is none" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", SERIES("\"min\"", "\"3\"")), "line 2: a statistic that is none" },
                { BEGIN("a/chip3:x") MEASURES("a/chip3:x", ",\"metadata\":{\"statistic\":\"min\"}"), "line 2: a statistic that is none" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "evidence", "\"code\":\"x\",\"location\":\"a\",\"reproduced\":1,\"runs\":1"),
                  "line 2: evidence without a finding" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-row\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1"),
                  "line 3: evidence of another finding" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-cell\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1,"
                       "\"confidence\":1.5"),
                  "line 3: evidence out of range" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-cell\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1,"
                       "\"decided\":\"hbm_luck\",\"value\":1,\"limit\":0"),
                  "line 3: a finding that follows from no value with a limit" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-cell\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1,"
                       "\"decided\":\"hbm_regions\",\"value\":1,\"limit\":0"),
                  "line 3: a finding that follows from no value with a limit" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-cell\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1,"
                       "\"decided\":\"hbm_reads_wrong\",\"value\":1"),
                  "line 3: a finding that follows from no value with a limit" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-cell\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1,"
                       "\"far_end\":\"There\""),
                  "line 3: 'far_end' is no location" },
                { BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "")
                  OURS("a/chip3:x", "evidence", "\"code\":\"hbm-cell\",\"location\":\"a/chip3\",\"reproduced\":1,\"runs\":1,"
                       "\"action\":\"dance\""),
                  "line 3: no action is called so" },
                { BEGIN("a/chip3:x") OURS("a/chip3:x", "part", "\"part\":\"a/chip3\",\"verdict\":\"passed\""),
                  "line 2: a part is done in a step that is not of a server" },
                { BEGIN("a:x") OURS("a:x", "part", "\"part\":\"a/chip3\",\"verdict\":\"passed\",\"reason\":\"budget\""),
                  "line 2: verdict and reason do not go together" },
                { BEGIN("a:x") OURS("a:x", "part", "\"part\":\"a\",\"verdict\":\"passed\""),
                  "line 2: 'part' is no chip of this run" },
                { BEGIN("a:x") OURS("a:x", "part", "\"part\":\"a/chip3\",\"verdict\":\"fine\""),
                  "line 2: 'verdict' is none of its words" },
                { BEGIN("a/chip3:x") TELLS("a/chip4", "", "", ""), "line 2: particulars of neither the unit nor its server" },
                { BEGIN("a/chip3:x") TELLS("b", "", "", ""), "line 2: particulars of neither the unit nor its server" },
                { BEGIN("a/chip3:x") TELLS("a/chip3/hbm0", "", "", ""), "line 2: particulars of neither the unit nor its server" },
                { BEGIN("a/chip3:x") TELLS("A", "", "", ""), "line 2: particulars of neither the unit nor its server" },
                { BEGIN("a/chip3:x") TELLS("a/chip3", "{\"name\":\"tray\",\"location\":\"a/chip4\"}", "", ""), "line 2: an assembly that is elsewhere" },
                { BEGIN("a/chip3:x") TELLS("a/chip3", "{\"name\":\"Tray\",\"location\":\"a/chip3\"}", "", ""), "line 2: an assembly without a word" },
                { BEGIN("a/chip3:x") TELLS("a/chip3", "{\"name\":\"tray\",\"location\":\"a/chip3\",\"serialNumber\":\"\"}", "", ""),
                  "line 2: an assembly with a text that is none" },
                { BEGIN("a/chip3:x") TELLS("a/chip3", "{\"name\":\"tray\",\"location\":\"a/chip3\",\"version\":\"caf\u00e9\"}", "", ""),
                  "line 2: an assembly with a text that is none" },
                { BEGIN("a/chip3:x") TELLS("a/chip3", "{\"name\":\"tray\",\"location\":\"a/chip3\",\"partNumber\":\"012345678901234567890123456789012345678901234567\"}", "", ""),
                  "line 2: an assembly with a text that is none" },
                { BEGIN("a/chip3:x") TELLS("a", "", "{\"name\":\"bios\",\"version\":\"\"}", ""), "line 2: software without a version" },
                { BEGIN("a/chip3:x") TELLS("a", "", "{\"name\":\"bios\"}", ""), "line 2: 'version' is missing in 'softwareInfos'" },
                { BEGIN("a/chip3:x") TELLS("a", "", "", "{\"name\":\"power\",\"value\":\"7\",\"unit\":\"W\"}"), "line 2: 'value' is no number" },
                { BEGIN("a/chip3:x") TELLS("a", "", "", "{\"name\":\"power\",\"value\":7,\"unit\":\"\"}"), "line 2: a reading that is none" },
                { BEGIN("a/chip3:x") TELLS("a", "", "", FOUR(READING) "," FOUR(READING) "," READING), "line 2: more particulars than anything has" },
                { BEGIN("a/chip3:x") TELLS("a", "", "", "{\"name\":\"power\",\"value\":7,\"unit\":\"01234567890123456789012345678901\"}"),
                  "line 2: a reading that is none" },
                { BEGIN("a:x") OURS("a:x", "progress", "\"percent\":101"), "line 2: more than 100 percent" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "0", "1", "", "") REGIONS("a/chip3:x", "sid 3 row 9/3", "0", "2", "", ""),
                  "line 3: regions told twice, or of what is no chip" },
                { BEGIN("a:x") REGIONS("a:x", "sid 3 row 9/3", "0", "1", "", ""), "line 2: regions told twice, or of what is no chip" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/10", "0", "1", "", ""), "line 2: 'partition' is none" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "9", "1", "", ""), "line 2: a position that is no region" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "99999999999", "1", "", ""), "line 2: a position that is no region" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "0", "9", "", ""), "line 2: a set of regions that is none" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "0", "0-1", "2", ""), "line 2: a region that failed untested" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "0", "0-1", "", "1-2"),
                  "line 2: a region that was tested and left alone" },
                { BEGIN("a/chip3:x") REGIONS("a/chip3:x", "sid 3 row 9/3", "0", "0-1", "1", "") SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE"),
                  "line 4: a step with a region that failed has failed" },
                { BEGIN("a:x") OURS("a:x", "magic", ""), "line 2: an extension of ours that does not exist" },
        };

        assert_refused(false, 0, cases, ELEMENTS(cases));
}

static void test_a_run_keeps_its_order(void **state) {
        static const Refusal cases[] = {
                { "", "line 1: the stream ends before testRunEnd" },
                { START, "line 1: 'schemaVersion' is missing" },
                { "{\"schemaVersion\":{\"major\":2,\"minor\":1}}\n", "line 1: a version that is not 2.0" },
                { VERSION VERSION, "line 2: 'schemaVersion' is not the first line" },
                { VERSION BEGIN("a/chip3:x"), "line 2: a step before testRunStart" },
                { VERSION START START, "line 3: testRunStart comes twice or late" },
                { VERSION START, "line 3: the stream ends before testRunEnd" },
                { VERSION START BEGIN("b/chip3:x"), "line 3: a step on a server that testRunStart did not declare" },
                { VERSION START BEGIN("a:x") FINDS("a:x", "FAIL", ",\"hardwareInfoId\":\"b\""),
                  "line 4: a server that testRunStart did not declare" },
                { VERSION START BEGIN("a/chip3:x") RUN_END("COMPLETE", "PASS"), "line 4: testRunEnd with 1 steps open" },
                { VERSION START RUN_END("COMPLETE", "PASS") LOG, "line 4: a line after testRunEnd" },
                { VERSION START RUN_END("ERROR", "PASS"), "line 3: status and result of the run do not go together" },
                { VERSION START RUN_END("COMPLETE", "NOT_APPLICABLE"),
                  "line 3: status and result of the run do not go together" },
                { VERSION RUN_END("COMPLETE", "PASS"), "line 2: testRunEnd before testRunStart" },
                { VERSION START RUN("\"error\":{\"symptom\":\"x\"}") RUN_END("COMPLETE", "PASS"),
                  "line 4: a run with a failed step or an error cannot have passed" },
                { VERSION START BEGIN("a/chip3:x") SAID("a/chip3:x", "failed") END("a/chip3:x", "COMPLETE")
                  RUN_END("COMPLETE", "PASS"), "line 6: a run with a failed step or an error cannot have passed" },
                { VERSION RUN("\"testRunStart\":{\"name\":\"a\",\"version\":\"1\",\"commandLine\":\"x\",\"parameters\":{},"
                  "\"dutInfo\":{\"dutInfoId\":\"a\",\"hardwareInfos\":[{\"hardwareInfoId\":\"a/nic3\",\"name\":\"x\"}]}}"),
                  "line 2: 'hardwareInfoId' is neither a server nor a chip" },
        };

        assert_refused(true, 0, cases, ELEMENTS(cases));
}

static void test_a_stream_may_go_on_where_another_was_lost(void **state) {
        static const char lines[] = BEGIN("a/chip3:x") SAID("a/chip3:x", "passed") END("a/chip3:x", "COMPLETE")
                        RUN_END("COMPLETE", "PASS");
        static const char restarted[] = VERSION START RUN_END("COMPLETE", "PASS");
        char error[256];

        feed(true, 42, lines, error);
        assert_string_equal(error, "");
        feed(true, 42, restarted, error);
        assert_string_equal(error, "");
}

static void test_lines_count_up_by_one(void **state) {
        static const char *const lines[] = {
                "{\"sequenceNumber\":1,\"timestamp\":\"2026-11-21T10:00:00Z\",\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
                "{\"sequenceNumber\":0.0,\"timestamp\":\"2026-11-21T10:00:00Z\",\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
                "{\"sequenceNumber\":-1,\"timestamp\":\"2026-11-21T10:00:00Z\",\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
                "{\"timestamp\":\"2026-11-21T10:00:00Z\",\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
                "{\"sequenceNumber\":0,\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
                "{\"sequenceNumber\":0,\"timestamp\":\"2026-11-21T10:00:00\",\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
                "{\"sequenceNumber\":0,\"timestamp\":\"2026-11-21 10:00:00Z\",\"schemaVersion\":{\"major\":2,\"minor\":0}}\n",
        };

        for (size_t i = 0; i < ELEMENTS(lines); i++) {
                _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
                Heard heard = { .refuse = _EVENT_TYPE_MAX };

                assert_int_equal(stream_reader_new(true, 0, on_event, &heard, &reader), 0);
                assert_int_equal(stream_reader_feed(reader, lines[i], strlen(lines[i])), -EPROTO);
                assert_int_equal(stream_reader_sequence(reader), 0); /* what was refused does not count */
        }
}

static void test_floods_are_stopped(void **state) {
        static char line[STREAM_LINE_MAX + 2];
        char many[64], error[256];
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL, *steps = NULL, *findings = NULL;
        Heard heard = { .refuse = _EVENT_TYPE_MAX };
        int r = 0;

        /* a line without an end */
        memset(line, ' ', sizeof(line));
        assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &reader), 0);
        for (unsigned i = 0; i < 40 && r >= 0; i++)
                r = stream_reader_feed(reader, line, 1024);
        assert_int_equal(r, -EPROTO);
        assert_string_equal(stream_reader_error(reader), "line 1: longer than 32768 bytes");

        /* and one that ends too late */
        line[STREAM_LINE_MAX] = '\n';
        line[STREAM_LINE_MAX + 1] = '\0';
        feed(false, 0, line, error);
        assert_string_equal(error, "line 1: longer than 32768 bytes");

        feed(false, 0, "{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}\n", error);
        assert_string_equal(error, "line 1: nested deeper than 16 levels");

        /* more findings than a step may have */
        assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &findings), 0);
        assert_int_equal(stream_reader_feed(findings, BEGIN("a/chip3:x"), strlen(BEGIN("a/chip3:x"))), 0);
        for (unsigned i = 0; i <= STREAM_FINDINGS_MAX; i++) {
                heard.n = 0;
                r = stream_reader_feed(findings, FINDS("a/chip3:x", "FAIL", ""), strlen(FINDS("a/chip3:x", "FAIL", "")));
                assert_int_equal(r, i < STREAM_FINDINGS_MAX ? 0 : -EPROTO);
        }

        /* more steps than a stream may have */
        assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &steps), 0);
        for (unsigned i = 0; i <= STREAM_STEPS_MAX; i++) {
                _cleanup_free_ char *start = NULL;

                heard.n = 0;
                (void) snprintf(many, sizeof(many), "%s:n%u", chip, i);
                start = stream_step_start(many, "x");
                r = stream_reader_feed(steps, start, strlen(start));
                assert_int_equal(r, i < STREAM_STEPS_MAX ? 0 : -EPROTO);
        }
}

static void test_a_finding_without_evidence_comes_before_the_next_line_of_its_step(void **state) {
        static const char lines[] = BEGIN("a/chip3:x") BEGIN("a/chip4:x") FINDS("a/chip3:x", "FAIL", "") LOG
                        MEASURES("a/chip4:x", "") MEASURES("a/chip3:x", "");
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        Heard heard = { .refuse = _EVENT_TYPE_MAX };

        assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &reader), 0);
        assert_int_equal(stream_reader_feed(reader, lines, strlen(lines)), 0);
        assert_string_equal(heard.text, "0 a/chip3:x begins\n"
                                        "1 a/chip4:x begins\n"
                                        "3 : log x\n"
                                        "4 a/chip4:x m 3  NONE 0 a/chip4\n"
                                        "5 a/chip3:x finding hbm-cell fail a/chip3 '' 1/1 do repair-memory\n"
                                        "5 a/chip3:x m 3  NONE 0 a/chip3\n");
}

static void test_a_finding_is_not_lost_with_its_stream(void **state) {
        static const char lines[] = BEGIN("a/chip3:x") FINDS("a/chip3:x", "FAIL", "");

        for (unsigned broken = 0; broken < 2; broken++) {
                _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
                Heard heard = { .refuse = _EVENT_TYPE_MAX };

                assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &reader), 0);
                assert_int_equal(stream_reader_feed(reader, lines, strlen(lines)), 0);
                if (broken)
                        assert_int_equal(stream_reader_feed(reader, "x\n", 2), -EPROTO);
                assert_int_equal(stream_reader_end(reader), -EPROTO);
                assert_non_null(strstr(heard.text, "finding hbm-cell fail a/chip3"));
        }
}

static void test_what_the_handler_refuses_is_not_counted_as_taken(void **state) {
        static const char lines[] = LOG BEGIN("a/chip3:x") LOG;
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        Heard heard = { .refuse = EVENT_STEP_START };

        assert_int_equal(stream_reader_new(false, 0, on_event, &heard, &reader), 0);
        assert_int_equal(stream_reader_feed(reader, lines, strlen(lines)), -ECANCELED);
        assert_int_equal(stream_reader_sequence(reader), 1);
        assert_int_equal(stream_reader_feed(reader, LOG, strlen(LOG)), -ECANCELED);
        assert_string_equal(heard.text, "0 : log x\n1 a/chip3:x begins\n");
}

static void test_a_stream_cut_anywhere_is_no_whole_one(void **state) {
        Text text = {};
        StepEnd passed = { .verdict = VERDICT_PASSED, .runs = 1 };

        add_start(&text);
        add(&text, stream_step_start("us0-1/chip3:hbm", "hbm"));
        add(&text, stream_step_end("us0-1/chip3:hbm", &passed));
        add(&text, stream_run_end(RESULT_PASSED));

        for (size_t n = 0; n <= text.n; n++) {
                _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
                Heard heard = { .refuse = _EVENT_TYPE_MAX };

                assert_int_equal(stream_reader_new(true, 0, on_event, &heard, &reader), 0);
                assert_int_equal(stream_reader_feed(reader, text.bytes, n), 0);
                assert_int_equal(stream_reader_end(reader), n == text.n ? 0 : -EPROTO);
                assert_int_equal(strstr(heard.text, "end PASSED") != NULL, n == text.n);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_particulars_come_back_as_they_were_told),
                cmocka_unit_test(test_events_have_the_time_of_their_line),
                cmocka_unit_test(test_a_whole_run_comes_back_as_events),
                cmocka_unit_test(test_bytes_may_come_one_by_one),
                cmocka_unit_test(test_what_is_no_line_of_the_standard_is_refused),
                cmocka_unit_test(test_valid_lines_without_a_meaning_for_us_are_let_through),
                cmocka_unit_test(test_steps_keep_their_order),
                cmocka_unit_test(test_a_step_that_contradicts_itself_is_broken),
                cmocka_unit_test(test_only_a_child_says_that_a_job_has_its_chip),
                cmocka_unit_test(test_findings_and_values_sit_where_their_step_may_look),
                cmocka_unit_test(test_a_run_keeps_its_order),
                cmocka_unit_test(test_a_stream_may_go_on_where_another_was_lost),
                cmocka_unit_test(test_lines_count_up_by_one),
                cmocka_unit_test(test_floods_are_stopped),
                cmocka_unit_test(test_a_finding_without_evidence_comes_before_the_next_line_of_its_step),
                cmocka_unit_test(test_a_finding_is_not_lost_with_its_stream),
                cmocka_unit_test(test_what_the_handler_refuses_is_not_counted_as_taken),
                cmocka_unit_test(test_a_stream_cut_anywhere_is_no_whole_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
