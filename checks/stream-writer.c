/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stream: the writer
 *
 * Lines are printed straight into a growing buffer: a healthy chip says some fifty of them within a few
 * milliseconds, and none of them is worth a tree. Text comes from devices and is made harmless here: what is no
 * UTF-8 or would move a terminal's cursor becomes U+FFFD, and what is too long ends in an ellipsis.
 */

#include "checks/stream.h"

#include <assert.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TEXT_MAX          (STREAM_MESSAGE_MAX - 1)
#define HARDWARE_TEXT_MAX 64
#define NUMBER_ROOM       96 /* what stream_number() adds at most */

typedef struct Json {
        char *bytes;
        size_t n, size;
        bool failed;
} Json;

static void put_bytes(Json *json, const char *bytes, size_t n) {
        if (json->failed)
                return;

        if (n > json->size - json->n) {
                size_t size = 2 * (json->size + n) + 256;
                char *larger = realloc(json->bytes, size);

                if (!larger) {
                        json->failed = true;
                        return;
                }

                json->bytes = larger;
                json->size = size;
        }

        memcpy(json->bytes + json->n, bytes, n);
        json->n += n;
}

/* Text that is JSON already. */
static void put(Json *json, const char *literal) {
        put_bytes(json, literal, strlen(literal));
}

/* Hands out what was written, terminated; NULL where memory ran out. */
static char *json_done(Json *json) {
        put_bytes(json, "", 1);
        if (json->failed) {
                free(json->bytes);
                return NULL;
        }

        return json->bytes;
}

/* Length of the UTF-8 character at TEXT, 0 where there is none: no overlong form, no surrogate, nothing above U+10FFFF. */
static size_t character_length(const unsigned char *text) {
        size_t n;

        if (text[0] < 0x80)
                return 1;
        if (text[0] >= 0xc2 && text[0] <= 0xdf)
                n = 2;
        else if (text[0] >= 0xe0 && text[0] <= 0xef)
                n = 3;
        else if (text[0] >= 0xf0 && text[0] <= 0xf4)
                n = 4;
        else
                return 0;

        for (size_t i = 1; i < n; i++)
                if ((text[i] & 0xc0) != 0x80) /* also the final zero */
                        return 0;

        if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
            (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
                return 0;

        return n;
}

static bool is_control(const unsigned char *text, size_t n) {
        if (n == 1)
                return (text[0] < 0x20 && text[0] != '\n' && text[0] != '\t') || text[0] == 0x7f;

        return n == 2 && text[0] == 0xc2 && text[1] < 0xa0; /* U+0080 … U+009F */
}

/* One character in its JSON form; returns how many bytes of text it stands for. */
static size_t put_character(Json *json, const unsigned char *text, size_t n) {
        if (n == 0 || is_control(text, n)) {
                put(json, "\xef\xbf\xbd");
                return 3;
        }

        if (n > 1 || (text[0] >= 0x20 && text[0] != '"' && text[0] != '\\'))
                put_bytes(json, (const char *) text, n);
        else if (text[0] == '\n')
                put(json, "\\n");
        else if (text[0] == '\t')
                put(json, "\\t");
        else {
                put(json, "\\");
                put_bytes(json, (const char *) text, 1);
        }

        return n;
}

/* How many bytes from here on need no second look: most texts are all of that. */
static size_t plain_length(const char *text) {
        size_t n = 0;

        while (text[n] >= 0x20 && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
                n++;

        return n;
}

/* A string of at most MAX bytes once it is decoded. */
static void put_text(Json *json, const char *text, size_t max) {
        size_t used = 0, fits = 0, n;

        text = text ? text : "";
        n = plain_length(text);
        put(json, "\"");
        if (text[n] == '\0' && n <= max) {
                put_bytes(json, text, n);
                put(json, "\"");
                return;
        }

        for (const unsigned char *at = (const unsigned char *) text; *at;) {
                n = character_length(at);
                if (used <= max - 3)
                        fits = json->n; /* an ellipsis still fits here */

                used += put_character(json, at, n);
                if (used > max) {
                        json->n = fits;
                        put(json, "…");
                        break;
                }

                at += n > 0 ? n : 1;
        }

        put(json, "\"");
}

/* ,"name": */
static void put_name(Json *json, const char *name) {
        char before = json->n > 0 ? json->bytes[json->n - 1] : '{';

        put(json, before == '{' || before == '[' ? "\"" : ",\"");
        put(json, name);
        put(json, "\":");
}

static void put_string(Json *json, const char *name, const char *text) {
        put_name(json, name);
        put_text(json, text, TEXT_MAX);
}

static void put_string_if(Json *json, const char *name, const char *text, size_t max) {
        if (!text || !*text)
                return;

        put_name(json, name);
        put_text(json, text, max);
}

static char *print_unsigned(uint64_t value, char buffer[static 24]) {
        char *at = buffer + 23;

        *at = '\0';
        do
                *--at = (char) ('0' + value % 10);
        while ((value /= 10) > 0);

        return at;
}

static void put_unsigned(Json *json, const char *name, uint64_t value) {
        char buffer[24];

        put_name(json, name);
        put(json, print_unsigned(value, buffer));
}

/* 64 bits do not fit the numbers of JSON's readers. */
static void put_wide(Json *json, const char *name, uint64_t value) {
        char buffer[24];

        put_string(json, name, print_unsigned(value, buffer));
}

/* The shortest text that reads back as VALUE, with a point in every locale. */
static void print_double(double value, char buffer[static 32]) {
        static locale_t c_locale; /* made once, kept for good */
        locale_t before;

        if (!c_locale)
                c_locale = newlocale(LC_ALL_MASK, "C", (locale_t) 0);

        before = c_locale ? uselocale(c_locale) : (locale_t) 0;
        for (int digits = 15; digits <= 17; digits++) {
                (void) snprintf(buffer, 32, "%.*g", digits, value);
                if (strtod(buffer, NULL) == value)
                        break;
        }

        if (c_locale)
                (void) uselocale(before);
}

static void put_double(Json *json, const char *name, double value) {
        char buffer[32], *text = buffer;

        assert(isfinite(value));

        if (fabs(value) < 1e15 && value == trunc(value) && !(value == 0 && signbit(value))) {
                text = print_unsigned((uint64_t) fabs(value), buffer);
                if (value < 0)
                        *--text = '-';
        } else
                print_double(value, buffer);

        put_name(json, name);
        put(json, text);
}

/* "hardwareInfoId" and, for what lies within a chip, "subcomponent". */
static void put_where(Json *json, const Location *where) {
        char text[LOCATION_STRING_MAX];
        Location unit = *where;

        if (location_truncate(&unit, LOCATION_CHIP) < 0)
                (void) location_truncate(&unit, LOCATION_SERVER);

        put_string(json, "hardwareInfoId", location_format(&unit, text));
        if (location_equal(&unit, where))
                return;

        (void) location_format(where, text);
        put_name(json, "subcomponent");
        put(json, "{");
        put_string(json, "name", strrchr(text, '/') + 1);
        put_string(json, "location", text);
        put(json, "}");
}

static void begin_step(Json *json, const char *step_id, const char *artifact) {
        put(json, "{\"testStepArtifact\":{");
        put_string(json, "testStepId", step_id);
        put_name(json, artifact);
        put(json, "{");
}

static void end_step(Json *json) {
        put(json, "}}}\n");
}

static void begin_extension(Json *json, const char *step_id, const char *name) {
        begin_step(json, step_id, "extension");
        put_string(json, "name", name);
        put_name(json, "content");
        put(json, "{");
}

static void end_extension(Json *json) {
        put(json, "}");
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

static void put_hardware(Json *json, const Hardware *hardware, unsigned detail) {
        char id[LOCATION_STRING_MAX];

        put(json, "{");
        put_string(json, "hardwareInfoId", location_format(&hardware->where, id));
        put_name(json, "name");
        put_text(json, hardware->name, HARDWARE_TEXT_MAX);
        put_string_if(json, "serialNumber", hardware->serial, HARDWARE_TEXT_MAX);
        if (detail >= DETAIL_TRAYS)
                put_string_if(json, "location", hardware->tray, HARDWARE_TEXT_MAX);
        if (detail >= DETAIL_PART_NUMBERS)
                put_string_if(json, "partNumber", hardware->part_number, HARDWARE_TEXT_MAX);
        put(json, "}");
}

static void put_firmware(Json *json, const Hardware *hardware) {
        char id[LOCATION_STRING_MAX + 8];

        (void) strcat(location_format(&hardware->where, id), ":fw");
        put(json, "{");
        put_string(json, "softwareInfoId", id);
        put_string(json, "name", "firmware");
        put_string_if(json, "version", hardware->firmware, HARDWARE_TEXT_MAX);
        put_string(json, "softwareType", "FIRMWARE");
        *strrchr(id, ':') = '\0';
        put_string(json, "computerSystem", id);
        put(json, "}");
}

static bool is_said(const char *text) {
        return text && *text;
}

static void put_dut(Json *json, const RunStart *start, unsigned detail) {
        char id[LOCATION_STRING_MAX];

        put_name(json, "dutInfo");
        put(json, "{");
        put_string(json, "dutInfoId", start->dut);

        put_name(json, "hardwareInfos");
        put(json, "[");
        for (size_t i = 0; i < start->n_hardware; i++) {
                put(json, i > 0 ? "," : "");
                put_hardware(json, &start->hardware[i], detail);
        }

        put(json, "],\"softwareInfos\":[");
        for (size_t i = 0, n = 0; detail >= DETAIL_FIRMWARE && i < start->n_hardware; i++)
                if (is_said(start->hardware[i].firmware)) {
                        put(json, n++ > 0 ? "," : "");
                        put_firmware(json, &start->hardware[i]);
                }

        put(json, "],\"metadata\":{\"pciAddresses\":{");
        for (size_t i = 0; detail >= DETAIL_PCI_ADDRESSES && i < start->n_hardware; i++)
                put_string_if(json, location_format(&start->hardware[i].where, id), start->hardware[i].pci_address,
                              HARDWARE_TEXT_MAX);
        put(json, "}}}");
}

static char *run_start_line(const RunStart *start, unsigned detail) {
        Json json = {};

        put(&json, "{\"testRunArtifact\":{\"testRunStart\":{");
        put_string(&json, "name", "assay");
        put_string(&json, "version", start->version);
        put_string(&json, "commandLine", start->command_line);
        put_name(&json, "parameters");
        put(&json, "{");
        put_string(&json, "plan", start->plan);
        put_string_if(&json, "plan_sha256", start->plan_sha256, TEXT_MAX);
        put_wide(&json, "seed", start->seed);
        put(&json, "}");
        put_dut(&json, start, detail);
        put(&json, "}}}\n");
        return json_done(&json);
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
        Json json = {};

        assert(result >= 0 && result < _RESULT_MAX);

        put(&json, "{\"testRunArtifact\":{\"testRunEnd\":{");
        put(&json, ends[result]);
        put(&json, "}}}\n");
        return json_done(&json);
}

char *stream_run_error(const char *symptom, const char *message) {
        Json json = {};

        put(&json, "{\"testRunArtifact\":{\"error\":{");
        put_string(&json, "symptom", symptom);
        put_string_if(&json, "message", message, TEXT_MAX);
        put(&json, "}}}\n");
        return json_done(&json);
}

char *stream_log(const char *severity, const char *message) {
        Json json = {};

        put(&json, "{\"testRunArtifact\":{\"log\":{");
        put_string(&json, "severity", severity);
        put_string(&json, "message", message);
        put(&json, "}}}\n");
        return json_done(&json);
}

char *stream_step_start(const char *step_id, const char *check) {
        Json json = {};

        begin_step(&json, step_id, "testStepStart");
        put_string(&json, "name", check);
        end_step(&json);
        return json_done(&json);
}

char *stream_measurement(const char *step_id, const Measurement *measurement) {
        Json json = {};

        assert(measurement);

        begin_step(&json, step_id, "measurement");
        put_string(&json, "name", measurement->name);
        put_double(&json, "value", measurement->value);
        put_string_if(&json, "unit", measurement->unit, TEXT_MAX);
        if (measurement->limit_type != LIMIT_NONE) {
                put_name(&json, "validators");
                put(&json, "[{");
                put_string(&json, "type", limit_type_to_string(measurement->limit_type));
                put_double(&json, "value", measurement->limit);
                put(&json, "}]");
        }

        put_where(&json, &measurement->where);
        end_step(&json);
        return json_done(&json);
}

static void put_evidence(Json *json, const Evidence *evidence) {
        put_string_if(json, "address", evidence->address, TEXT_MAX);
        put_string_if(json, "expected", evidence->expected, TEXT_MAX);
        put_string_if(json, "actual", evidence->actual, TEXT_MAX);
        put_string_if(json, "far_end", evidence->far_end, TEXT_MAX);
        put_string_if(json, "replaceable", evidence->replaceable, TEXT_MAX);
        if (evidence->has_count)
                put_double(json, "count", evidence->count);
        if (evidence->has_confidence)
                put_double(json, "confidence", evidence->confidence);
}

char *stream_finding(const char *step_id, const Finding *finding) {
        char text[LOCATION_STRING_MAX];
        Json json = {};

        assert(finding);

        begin_step(&json, step_id, "diagnosis");
        put_string(&json, "verdict", finding->code);
        put_string(&json, "type", severity_to_ocp(finding->severity));
        put_string_if(&json, "message", finding->message, TEXT_MAX);
        put_where(&json, &finding->where);
        end_step(&json);

        begin_extension(&json, step_id, "assay-evidence");
        put_string(&json, "code", finding->code);
        put_string(&json, "location", location_format(&finding->where, text));
        put_evidence(&json, &finding->evidence);
        put_unsigned(&json, "reproduced", finding->reproduced);
        put_unsigned(&json, "runs", finding->runs);
        end_extension(&json);
        return json_done(&json);
}

char *stream_part_done(const char *step_id, const Location *part, Verdict verdict) {
        char text[LOCATION_STRING_MAX];
        Json json = {};

        assert(part);

        begin_extension(&json, step_id, "assay-part");
        put_string(&json, "part", location_format(part, text));
        put_string(&json, "verdict", verdict_to_string(verdict));
        end_extension(&json);
        return json_done(&json);
}

char *stream_progress(const char *step_id, unsigned percent) {
        Json json = {};

        begin_extension(&json, step_id, "assay-progress");
        put_unsigned(&json, "percent", percent < 100 ? percent : 100);
        end_extension(&json);
        return json_done(&json);
}

static void put_step_facts(Json *json, const char *step_id, const StepEnd *end) {
        begin_extension(json, step_id, "assay-step");
        put_string(json, "verdict", verdict_to_string(end->verdict));
        put_string_if(json, "reason", reason_to_string(end->reason), TEXT_MAX);
        put_string_if(json, "message", end->message, TEXT_MAX);
        put_name(json, "required");
        put(json, end->required ? "true" : "false");
        put_wide(json, "seed", end->seed);
        put_unsigned(json, "device_nsec", end->device_nsec < INT64_MAX ? end->device_nsec : INT64_MAX);
        put_unsigned(json, "reproduced", end->reproduced);
        put_unsigned(json, "runs", end->runs);
        end_extension(json);
}

char *stream_step_end(const char *step_id, const StepEnd *end) {
        Json json = {};

        assert(end);
        assert(verdict_to_string(end->verdict));

        if (end->verdict == VERDICT_ERROR) {
                begin_step(&json, step_id, "error");
                put_string(&json, "symptom", end->reason == REASON_NONE ? "error" : reason_to_string(end->reason));
                put_string_if(&json, "message", end->message, TEXT_MAX);
                end_step(&json);
        }

        put_step_facts(&json, step_id, end);
        begin_step(&json, step_id, "testStepEnd");
        put_string(&json, "status", end->verdict == VERDICT_ERROR     ? "ERROR"
                                    : end->verdict == VERDICT_SKIPPED ? "SKIP"
                                                                      : "COMPLETE");
        end_step(&json);
        return json_done(&json);
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
        Json json = {};

        assert(line && line[0] == '{');

        print_time(time);
        put(&json, "{\"sequenceNumber\":");
        put(&json, print_unsigned(sequence, number));
        put(&json, ",\"timestamp\":\"");
        put(&json, time);
        put(&json, line[1] == '}' ? "\"" : "\",");
        put(&json, line + 1);
        return json_done(&json);
}
