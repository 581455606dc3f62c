/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stream: the writer
 *
 * A healthy chip says some fifty lines within a few milliseconds: they are printed, not built as trees. Text that
 * comes from devices is made harmless on the way, see json-text.h.
 */

#include "checks/stream/stream.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/text/json-text.h"

#define TEXT_MAX          (STREAM_MESSAGE_MAX - 1)
#define HARDWARE_TEXT_MAX 64
#define NUMBER_ROOM       96 /* what stream_number() adds at most */

static void put_string(JsonText *json, const char *name, const char *text) {
        json_put_string(json, name, text, TEXT_MAX);
}

/* "hardwareInfoId" and, for what lies within a chip, "subcomponent". */
static void put_where(JsonText *json, const Location *where) {
        char text[LOCATION_STRING_MAX];
        Location unit = *where;

        if (location_truncate(&unit, LOCATION_CHIP) < 0)
                (void) location_truncate(&unit, LOCATION_SERVER);

        put_string(json, "hardwareInfoId", location_format(&unit, text));
        if (location_equal(&unit, where))
                return;

        (void) location_format(where, text);
        json_put_name(json, "subcomponent");
        json_put(json, "{");
        put_string(json, "name", strrchr(text, '/') + 1);
        put_string(json, "location", text);
        json_put(json, "}");
}

static void begin_step(JsonText *json, const char *step_id, const char *artifact) {
        json_put(json, "{\"testStepArtifact\":{");
        put_string(json, "testStepId", step_id);
        json_put_name(json, artifact);
        json_put(json, "{");
}

static void end_step(JsonText *json) {
        json_put(json, "}}}\n");
}

static void begin_extension(JsonText *json, const char *step_id, const char *name) {
        begin_step(json, step_id, "extension");
        put_string(json, "name", name);
        json_put_name(json, "content");
        json_put(json, "{");
}

static void end_extension(JsonText *json) {
        json_put(json, "}");
        end_step(json);
}

char *stream_schema_version(void) {
        return strdup("{\"schemaVersion\":{\"major\":2,\"minor\":0}}\n");
}

/* What is left out of the run's start where it would become too long a line: less with every level. */
enum {
        DETAIL_NONE,
        DETAIL_TRAYS,
        DETAIL_PART_NUMBERS,
        DETAIL_FIRMWARE,
        DETAIL_PCI_ADDRESSES,
        _DETAIL_MAX,
};

static void put_hardware(JsonText *json, const Hardware *hardware, unsigned detail) {
        char id[LOCATION_STRING_MAX];

        json_put(json, "{");
        put_string(json, "hardwareInfoId", location_format(&hardware->where, id));
        json_put_name(json, "name");
        json_put_text(json, hardware->name, HARDWARE_TEXT_MAX);
        json_put_string_if(json, "serialNumber", hardware->serial, HARDWARE_TEXT_MAX);
        if (detail >= DETAIL_TRAYS)
                json_put_string_if(json, "location", hardware->tray, HARDWARE_TEXT_MAX);
        if (detail >= DETAIL_PART_NUMBERS)
                json_put_string_if(json, "partNumber", hardware->part_number, HARDWARE_TEXT_MAX);
        json_put(json, "}");
}

static void put_firmware(JsonText *json, const Hardware *hardware) {
        char id[LOCATION_STRING_MAX + 8];

        (void) strcat(location_format(&hardware->where, id), ":fw");
        json_put(json, "{");
        put_string(json, "softwareInfoId", id);
        put_string(json, "name", "firmware");
        json_put_string_if(json, "version", hardware->firmware, HARDWARE_TEXT_MAX);
        json_put_string_if(json, "revision", hardware->firmware_build, HARDWARE_TEXT_MAX);
        put_string(json, "softwareType", "FIRMWARE");
        *strrchr(id, ':') = '\0';
        put_string(json, "computerSystem", id);
        json_put(json, "}");
}

static bool is_said(const char *text) {
        return text && *text;
}

static void put_dut(JsonText *json, const RunStart *start, unsigned detail) {
        char id[LOCATION_STRING_MAX];

        json_put_name(json, "dutInfo");
        json_put(json, "{");
        put_string(json, "dutInfoId", start->dut);

        json_put_name(json, "hardwareInfos");
        json_put(json, "[");
        for (size_t i = 0; i < start->n_hardware; i++) {
                json_put(json, i > 0 ? "," : "");
                put_hardware(json, &start->hardware[i], detail);
        }

        json_put(json, "],\"softwareInfos\":[");
        for (size_t i = 0, n = 0; detail >= DETAIL_FIRMWARE && i < start->n_hardware; i++)
                if (is_said(start->hardware[i].firmware)) {
                        json_put(json, n++ > 0 ? "," : "");
                        put_firmware(json, &start->hardware[i]);
                }

        json_put(json, "],\"metadata\":{\"pciAddresses\":{");
        for (size_t i = 0; detail >= DETAIL_PCI_ADDRESSES && i < start->n_hardware; i++)
                json_put_string_if(json, location_format(&start->hardware[i].where, id), start->hardware[i].pci_address,
                              HARDWARE_TEXT_MAX);
        json_put(json, "}}}");
}

static void put_promises(JsonText *json, const RunStart *start) {
        if (start->n_promises == 0)
                return;

        json_put_name(json, "coverage");
        json_put(json, "{");
        for (size_t i = 0; i < start->n_promises; i++)
                json_put_double(json, start->promises[i].measurement, start->promises[i].value);
        json_put(json, "}");
}

static void put_escapes(JsonText *json, const RunStart *start) {
        if (start->n_escapes == 0)
                return;

        json_put_name(json, "escapes");
        json_put(json, "{");
        for (size_t i = 0; i < start->n_escapes; i++) {
                char pair[64];

                (void) snprintf(pair, sizeof(pair), "[%.6g,%.6g]", start->escapes[i].always, start->escapes[i].commands);
                json_put_name(json, start->escapes[i].fault);
                json_put(json, pair);
        }
        json_put(json, "}");
}

static char *run_start_line(const RunStart *start, unsigned detail) {
        JsonText json = {};

        json_put(&json, "{\"testRunArtifact\":{\"testRunStart\":{");
        put_string(&json, "name", "assay");
        put_string(&json, "version", start->version);
        put_string(&json, "commandLine", start->command_line);
        json_put_name(&json, "parameters");
        json_put(&json, "{");
        put_string(&json, "plan", start->plan);
        json_put_string_if(&json, "plan_sha256", start->plan_sha256, TEXT_MAX);
        json_put_wide(&json, "seed", start->seed);
        put_promises(&json, start);
        put_escapes(&json, start);
        json_put(&json, "}");
        put_dut(&json, start, detail);
        json_put(&json, "}}}\n");
        return json_text_done(&json);
}

char *stream_run_start(const RunStart *start) {
        assert(start);

        for (unsigned detail = _DETAIL_MAX; detail-- > 0;) {
                char *line = run_start_line(start, detail);

                if (!line || strlen(line) + NUMBER_ROOM <= STREAM_LINE_MAX)
                        return line;

                free(line);
        }

        return NULL;
}

char *stream_run_end(Result result) {
        static const char *const ends[_RESULT_MAX] = {
                [RESULT_PASSED]       = "\"status\":\"COMPLETE\",\"result\":\"PASS\"",
                [RESULT_WARNED]       = "\"status\":\"COMPLETE\",\"result\":\"PASS\"",
                [RESULT_FAILED]       = "\"status\":\"COMPLETE\",\"result\":\"FAIL\"",
                [RESULT_INCONCLUSIVE] = "\"status\":\"ERROR\",\"result\":\"NOT_APPLICABLE\"",
        };
        JsonText json = {};

        assert(result >= 0 && result < _RESULT_MAX);

        json_put(&json, "{\"testRunArtifact\":{\"testRunEnd\":{");
        json_put(&json, ends[result]);
        json_put(&json, "}}}\n");
        return json_text_done(&json);
}

char *stream_run_error(const char *symptom, const char *message) {
        JsonText json = {};

        json_put(&json, "{\"testRunArtifact\":{\"error\":{");
        put_string(&json, "symptom", symptom);
        json_put_string_if(&json, "message", message, TEXT_MAX);
        json_put(&json, "}}}\n");
        return json_text_done(&json);
}

char *stream_log(const char *severity, const char *message) {
        JsonText json = {};

        json_put(&json, "{\"testRunArtifact\":{\"log\":{");
        put_string(&json, "severity", severity);
        put_string(&json, "message", message);
        json_put(&json, "}}}\n");
        return json_text_done(&json);
}

char *stream_step_start(const char *step_id, const char *check) {
        JsonText json = {};

        begin_step(&json, step_id, "testStepStart");
        put_string(&json, "name", check);
        end_step(&json);
        return json_text_done(&json);
}

char *stream_measurement(const char *step_id, const Measurement *measurement) {
        JsonText json = {};

        assert(measurement);

        begin_step(&json, step_id, "measurement");
        put_string(&json, "name", measurement->name);
        json_put_double(&json, "value", measurement->value);
        json_put_string_if(&json, "unit", measurement->unit, TEXT_MAX);
        if (measurement->limit_type != LIMIT_NONE) {
                json_put_name(&json, "validators");
                json_put(&json, "[{");
                put_string(&json, "type", limit_type_to_string(measurement->limit_type));
                json_put_double(&json, "value", measurement->limit);
                json_put(&json, "}]");
        }

        if (measurement->series.statistic != STATISTIC_NONE) {
                json_put_name(&json, "metadata");
                json_put(&json, "{");
                put_string(&json, "statistic", statistic_to_string(measurement->series.statistic));
                json_put_unsigned(&json, "count", measurement->series.count);
                json_put(&json, "}");
        }

        put_where(&json, &measurement->where);
        end_step(&json);
        return json_text_done(&json);
}

static void put_evidence(JsonText *json, const Evidence *evidence) {
        json_put_string_if(json, "address", evidence->address, TEXT_MAX);
        json_put_string_if(json, "expected", evidence->expected, TEXT_MAX);
        json_put_string_if(json, "actual", evidence->actual, TEXT_MAX);
        json_put_string_if(json, "far_end", evidence->far_end, TEXT_MAX);
        json_put_string_if(json, "replaceable", evidence->replaceable, TEXT_MAX);
        if (evidence->has_count)
                json_put_double(json, "count", evidence->count);
        if (evidence->has_confidence)
                json_put_double(json, "confidence", evidence->confidence);
        if (evidence->decided.measurement) {
                put_string(json, "decided", evidence->decided.measurement);
                json_put_double(json, "value", evidence->decided.value);
                json_put_double(json, "limit", evidence->decided.limit);
        }
}

char *stream_finding(const char *step_id, const Finding *finding) {
        char text[LOCATION_STRING_MAX];
        JsonText json = {};

        assert(finding);

        begin_step(&json, step_id, "diagnosis");
        put_string(&json, "verdict", finding->code);
        put_string(&json, "type", severity_to_ocp(finding->severity));
        json_put_string_if(&json, "message", finding->message, TEXT_MAX);
        put_where(&json, &finding->where);
        end_step(&json);

        begin_extension(&json, step_id, "assay-evidence");
        put_string(&json, "code", finding->code);
        put_string(&json, "location", location_format(&finding->where, text));
        json_put_string_if(&json, "action", finding->action == ACTION_NONE ? NULL : action_to_string(finding->action), TEXT_MAX);
        put_evidence(&json, &finding->evidence);
        json_put_unsigned(&json, "reproduced", finding->reproduced);
        json_put_unsigned(&json, "runs", finding->runs);
        end_extension(&json);
        return json_text_done(&json);
}

char *stream_part_done(const char *step_id, const Location *part, Verdict verdict, Reason reason) {
        char text[LOCATION_STRING_MAX];
        JsonText json = {};

        assert(part);

        begin_extension(&json, step_id, "assay-part");
        put_string(&json, "part", location_format(part, text));
        put_string(&json, "verdict", verdict_to_string(verdict));
        json_put_string_if(&json, "reason", reason_to_string(reason), TEXT_MAX);
        end_extension(&json);
        return json_text_done(&json);
}

char *stream_progress(const char *step_id, unsigned percent) {
        JsonText json = {};

        begin_extension(&json, step_id, "assay-progress");
        json_put_unsigned(&json, "percent", percent < 100 ? percent : 100);
        end_extension(&json);
        return json_text_done(&json);
}

char *stream_regions(const char *step_id, const Regions *regions) {
        char text[REGIONS_TEXT_MAX], partition[REGIONS_PARTITION_MAX];
        JsonText json = {};

        assert(regions);

        begin_extension(&json, step_id, "assay-regions");
        put_string(&json, "partition", partition_format(&regions->partition, partition));
        json_put_unsigned(&json, "position", regions->position);
        put_string(&json, "tested", region_set_format(&regions->tested, text));
        put_string(&json, "failed", region_set_format(&regions->failed, text));
        put_string(&json, "occupied", region_set_format(&regions->occupied, text));
        if (region_set_count(&regions->unproven) > 0) {
                put_string(&json, "unproven", region_set_format(&regions->unproven, text));
                put_string(&json, "because", regions->because);
        }
        if (region_set_count(&regions->altered) > 0)
                put_string(&json, "altered", region_set_format(&regions->altered, text));
        if (region_set_count(&regions->suspicious) > 0)
                put_string(&json, "suspicious", region_set_format(&regions->suspicious, text));
        if (region_set_count(&regions->joined) > 0)
                put_string(&json, "joined", region_set_format(&regions->joined, text));
        if (region_set_count(&regions->together) > 0)
                put_string(&json, "together", region_set_format(&regions->together, text));
        end_extension(&json);
        return json_text_done(&json);
}

static void put_step_facts(JsonText *json, const char *step_id, const StepEnd *end) {
        begin_extension(json, step_id, "assay-step");
        put_string(json, "verdict", verdict_to_string(end->verdict));
        json_put_string_if(json, "reason", reason_to_string(end->reason), TEXT_MAX);
        json_put_string_if(json, "message", end->message, TEXT_MAX);
        json_put_name(json, "required");
        json_put(json, end->required ? "true" : "false");
        json_put_wide(json, "seed", end->seed);
        json_put_unsigned(json, "device_nsec", end->device_nsec < INT64_MAX ? end->device_nsec : INT64_MAX);
        json_put_unsigned(json, "reproduced", end->reproduced);
        json_put_unsigned(json, "runs", end->runs);
        json_put_string_if(json, "occupancy", run_occupancy_to_string(end->occupancy), TEXT_MAX);
        end_extension(json);
}

char *stream_step_end(const char *step_id, const StepEnd *end) {
        JsonText json = {};

        assert(end);
        assert(verdict_to_string(end->verdict));

        if (end->verdict == VERDICT_ERROR) {
                begin_step(&json, step_id, "error");
                put_string(&json, "symptom", end->reason == REASON_NONE ? "error" : reason_to_string(end->reason));
                json_put_string_if(&json, "message", end->message, TEXT_MAX);
                end_step(&json);
        }

        put_step_facts(&json, step_id, end);
        begin_step(&json, step_id, "testStepEnd");
        put_string(&json, "status", end->verdict == VERDICT_ERROR     ? "ERROR"
                                    : end->verdict == VERDICT_SKIPPED ? "SKIP"
                                                                      : "COMPLETE");
        end_step(&json);
        return json_text_done(&json);
}

/* Two digits each, as a clock shows them. */
static char *put_digits(char *at, unsigned value, unsigned n) {
        for (unsigned i = n; i-- > 0; value /= 10)
                at[i] = (char) ('0' + value % 10);

        return at + n;
}

static void print_time(char buffer[static 25]) {
        struct timespec now;
        struct tm tm;
        char *at = buffer;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        (void) gmtime_r(&now.tv_sec, &tm);

        at = put_digits(at, (unsigned) tm.tm_year + 1900, 4);
        *at++ = '-';
        at = put_digits(at, (unsigned) tm.tm_mon + 1, 2);
        *at++ = '-';
        at = put_digits(at, (unsigned) tm.tm_mday, 2);
        *at++ = 'T';
        at = put_digits(at, (unsigned) tm.tm_hour, 2);
        *at++ = ':';
        at = put_digits(at, (unsigned) tm.tm_min, 2);
        *at++ = ':';
        at = put_digits(at, (unsigned) tm.tm_sec, 2);
        *at++ = '.';
        at = put_digits(at, (unsigned) (now.tv_nsec / 1000000), 3);
        *at++ = 'Z';
        *at = '\0';
}

char *stream_number(const char *line, uint64_t sequence) {
        char time[25], number[24];
        JsonText json = {};

        assert(line && line[0] == '{');

        print_time(time);
        json_put(&json, "{\"sequenceNumber\":");
        json_put(&json, json_print_unsigned(sequence, number));
        json_put(&json, ",\"timestamp\":\"");
        json_put(&json, time);
        json_put(&json, line[1] == '}' ? "\"" : "\",");
        json_put(&json, line + 1);
        return json_text_done(&json);
}
