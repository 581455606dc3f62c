/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/stream.h"

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
}

static int on_event(const Event *event, void *userdata) {
        Heard *heard = userdata;

        hear(heard, "%u %s:%s ", (unsigned) event->sequence, event->unit, event->step);
        switch (event->type) {
        case EVENT_RUN_START:
                hear(heard, "start %s", event->plan);
                break;
        case EVENT_HARDWARE:
                hear(heard, "hardware %s %s %s %s %s %s %s", at(&event->hardware.where), event->hardware.name,
                     event->hardware.serial, event->hardware.part_number, event->hardware.firmware, event->hardware.tray,
                     event->hardware.pci_address);
                break;
        case EVENT_STEP_START:
                hear(heard, "begins");
                break;
        case EVENT_MEASUREMENT:
                hear(heard, "%s %g %s %s %g %s", event->measurement.name, event->measurement.value,
                     event->measurement.unit, limit_type_to_string(event->measurement.limit_type),
                     event->measurement.limit, at(&event->measurement.where));
                break;
        case EVENT_FINDING:
                hear_finding(heard, &event->finding);
                break;
        case EVENT_PART_DONE:
                hear(heard, "part %s %s", at(&event->part), verdict_to_string(event->verdict));
                break;
        case EVENT_PROGRESS:
                hear(heard, "%u %%", event->percent);
                break;
        case EVENT_STEP_END:
                hear(heard, "ends %s '%s' '%s' %d %llu %llu %u/%u", verdict_to_string(event->end.verdict),
                     reason_to_string(event->end.reason), event->end.message ? event->end.message : "-",
                     event->end.required, (unsigned long long) event->end.seed,
                     (unsigned long long) event->end.device_nsec, event->end.reproduced, event->end.runs);
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
                { parse("us0-1/chip3"), "Trainium2", "C3", "P7", "1.2", "tray 0", "0000:10:1c.0" },
        };
        RunStart start = {
                .version = "0.1.0", .command_line = "assay-run", .plan = "preflight", .dut = "us0-1", .seed = 7,
                .n_hardware = 2, .hardware = hardware,
        };

        add(text, stream_schema_version());
        add(text, stream_run_start(&start));
}

static void test_a_whole_run_comes_back_as_events(void **state) {
        Text text = {};
        Heard heard = { .refuse = _EVENT_TYPE_MAX };
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        Measurement measurement = { "hbm_errors", 3, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 0, parse("us0-1/chip3/hbm2") };
        Finding finding = {
                .code = "hbm-cell", .severity = SEVERITY_FAIL, .where = parse("us0-1/chip3/hbm2/ch3"),
                .message = "bit 9 \"stuck\"", .reproduced = 2, .runs = 3,
                .evidence = { .expected = "0x00", .far_end = "us0-1/chip4/link-x+", .has_count = true, .count = 1e6,
                              .has_confidence = true, .confidence = 0.99 },
        };
        Location part = parse("us0-1/chip3");
        StepEnd failed = { VERDICT_FAILED, REASON_NONE, NULL, true, UINT64_MAX, 123456789012, 2, 3 };
        StepEnd skipped = { VERDICT_SKIPPED, REASON_OCCUPIED, "in service", false, 1, 0, 0, 0 };
        StepEnd error = { VERDICT_ERROR, REASON_WORKER_CRASHED, "signal 11", true, 1, 0, 0, 1 };

        add_start(&text);
        add(&text, stream_log("INFO", "hello"));
        add(&text, stream_step_start("us0-1/chip3:hbm", "hbm"));
        add(&text, stream_step_start("us0-1:links", "neuronlink"));
        add(&text, stream_measurement("us0-1/chip3:hbm", &measurement));
        add(&text, stream_progress("us0-1/chip3:hbm", 50));
        add(&text, stream_finding("us0-1/chip3:hbm", &finding));
        add(&text, stream_part_done("us0-1:links", &part, VERDICT_PASSED));
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
                            "1 : start preflight\n"
                            "1 : hardware us0-1 Trn2 S1    \n"
                            "1 : hardware us0-1/chip3 Trainium2 C3 P7 1.2 tray 0 0000:10:1c.0\n"
                            "2 : log hello\n"
                            "3 us0-1/chip3:hbm begins\n"
                            "4 us0-1:links begins\n"
                            "5 us0-1/chip3:hbm hbm_errors 3 {error} LESS_THAN_OR_EQUAL 0 us0-1/chip3/hbm2\n"
                            "6 us0-1/chip3:hbm 50 %\n"
                            "8 us0-1/chip3:hbm finding hbm-cell fail us0-1/chip3/hbm2/ch3 'bit 9 \"stuck\"' 2/3 "
                            "expected 0x00 far us0-1/chip4/link-x+ count 1e+06 confidence 0.99\n"
                            "9 us0-1:links part us0-1/chip3 passed\n"
                            "11 us0-1/chip3:hbm ends failed '' '-' 1 18446744073709551615 123456789012 2/3\n"
                            "13 us0-1:links ends skipped 'occupied' 'in service' 0 1 0 0/0\n"
                            "14 us0-1/chip3:efa begins\n"
                            "17 us0-1/chip3:efa ends error 'worker-crashed' 'signal 11' 1 1 0 0/1\n"
                            "18 : error no more forks\n"
                            "19 : end FAILED\n");
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

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_whole_run_comes_back_as_events),
                cmocka_unit_test(test_bytes_may_come_one_by_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
