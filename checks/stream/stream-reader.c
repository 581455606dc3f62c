/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stream: the reader
 *
 * The peer is a worker that may have been taken over by what it tests: everything is counted, bounded and held
 * against the tables of stream-schema.c before it becomes an event, and nothing it wrote stands in an error. A stream
 * that contradicts itself (a finding that says fail in a step that says passed) is broken, not believed.
 */

#include "checks/stream/stream.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/stream/stream-state.h"

int stream_reader_new(bool numbered, uint64_t first, StreamHandler handler, void *userdata, StreamReader **ret) {
        StreamReader *reader;

        assert(handler);
        assert(ret);

        reader = calloc(1, sizeof(*reader));
        if (!reader)
                return -ENOMEM;

        reader->numbered = numbered;
        reader->first = first;
        reader->handler = handler;
        reader->userdata = userdata;
        *ret = reader;
        return 0;
}

static void step_forget(StreamStep *step) {
        json_decref(step->pending);
        step->pending = NULL;
        json_decref(step->facts);
        step->facts = NULL;
}

StreamReader *stream_reader_free(StreamReader *reader) {
        if (!reader)
                return NULL;

        for (size_t i = 0; i < reader->n_steps; i++) {
                step_forget(&reader->steps[i]);
                free(reader->steps[i].id);
        }

        free(reader->steps);
        free(reader->servers);
        free(reader);
        return NULL;
}

int stream_refuse(StreamReader *reader, const char *format, ...) {
        va_list arguments;
        int n;

        n = snprintf(reader->error, sizeof(reader->error), "line %llu: ",
                     (unsigned long long) (reader->first + reader->n_lines + 1));
        va_start(arguments, format);
        (void) vsnprintf(reader->error + n, sizeof(reader->error) - (size_t) n, format, arguments);
        va_end(arguments);
        return reader->failed = -EPROTO;
}

int stream_no_memory(StreamReader *reader) {
        (void) snprintf(reader->error, sizeof(reader->error), "out of memory");
        return reader->failed = -ENOMEM;
}

int stream_emit(StreamReader *reader, const StreamStep *step, Event *event) {
        int r;

        event->sequence = reader->first + reader->n_lines;
        event->usec = reader->usec;
        event->unit = event->step = "";
        if (step) {
                (void) snprintf(reader->unit, sizeof(reader->unit), "%.*s", (int) step->n_unit, step->id);
                (void) snprintf(reader->step, sizeof(reader->step), "%s", step->id + step->n_unit + 1);
                event->unit = reader->unit;
                event->step = reader->step;
        }

        r = reader->handler(event, reader->userdata);
        if (r >= 0)
                return 0;

        (void) snprintf(reader->error, sizeof(reader->error), "line %llu: the handler refused it",
                        (unsigned long long) (reader->first + reader->n_lines + 1));
        return reader->failed = r;
}

const char *stream_text(const json_t *object, const char *name) {
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

const char *stream_text_if(const json_t *object, const char *name) {
        return json_string_value(json_object_get(object, name));
}

static int on_schema_version(StreamReader *reader, const json_t *version) {
        if (!reader->numbered || reader->versioned || reader->n_lines > 0)
                return stream_refuse(reader, "'schemaVersion' is not the first line");
        if (json_integer_value(json_object_get(version, "major")) != 2 ||
            json_integer_value(json_object_get(version, "minor")) != 0)
                return stream_refuse(reader, "a version that is not 2.0");

        reader->versioned = true;
        return 0;
}

/* ---- lines ---- */

/* Deeper than any line of ours? Known before jansson recurses. */
static bool is_too_deep(const char *line, size_t n) {
        unsigned depth = 0;
        bool quoted = false;

        for (size_t i = 0; i < n; i++)
                if (quoted) {
                        if (line[i] == '\\')
                                i++;
                        else if (line[i] == '"')
                                quoted = false;
                } else if (line[i] == '"')
                        quoted = true;
                else if (line[i] == '{' || line[i] == '[') {
                        if (++depth > STREAM_DEPTH_MAX)
                                return true;
                } else if ((line[i] == '}' || line[i] == ']') && depth > 0)
                        depth--;

        return false;
}

static int on_object(StreamReader *reader, const json_t *object) {
        const json_t *version = json_object_get(object, "schemaVersion");
        const json_t *run = json_object_get(object, "testRunArtifact");

        if (version)
                return on_schema_version(reader, version);
        if (reader->numbered && !reader->versioned && reader->first == 0)
                return stream_refuse(reader, "'schemaVersion' is missing");

        return run ? stream_on_run(reader, run)
                   : stream_on_step(reader, json_object_get(object, "testStepArtifact"));
}

/* As stream_number() prints it; what RFC 3339 allows besides is 0, not known. */
static uint64_t read_usec(const char *text) {
        unsigned year, month, day, hour, minute, second, milliseconds;
        struct tm tm;
        time_t sec;
        int end = 0;

        if (sscanf(text, "%4u-%2u-%2uT%2u:%2u:%2u.%3uZ%n", &year, &month, &day, &hour, &minute, &second, &milliseconds, &end) < 7 || end != 24 ||
            year < 1970 || month == 0)
                return 0;
        tm = (struct tm) { .tm_year = (int) year - 1900, .tm_mon = (int) month - 1, .tm_mday = (int) day,
                           .tm_hour = (int) hour, .tm_min = (int) minute, .tm_sec = (int) second };
        sec = timegm(&tm);
        return sec < 0 ? 0 : (uint64_t) sec * 1000000 + milliseconds * UINT64_C(1000);
}

/* One line without its newline. */
static int on_line(StreamReader *reader, const char *line, size_t n) {
        json_auto_t *object = NULL;
        char wrong[SCHEMA_WRONG_MAX];
        json_error_t error;
        int r;

        reader->n_bytes += n + 1;
        if (reader->n_bytes > STREAM_BYTES_MAX)
                return stream_refuse(reader, "more than %u bytes", STREAM_BYTES_MAX);
        if (reader->ended)
                return stream_refuse(reader, "a line after testRunEnd");
        if (is_too_deep(line, n))
                return stream_refuse(reader, "nested deeper than %d levels", STREAM_DEPTH_MAX);

        object = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
        if (!object)
                return json_error_code(&error) == json_error_out_of_memory
                                       ? stream_no_memory(reader)
                                       : stream_refuse(reader, "no JSON object, at byte %d", error.position);
        if (stream_schema_judge(object, reader->numbered, wrong) < 0)
                return stream_refuse(reader, "%s", wrong);
        if (reader->numbered && (uint64_t) json_integer_value(json_object_get(object, "sequenceNumber")) !=
                                                reader->first + reader->n_lines)
                return stream_refuse(reader, "'sequenceNumber' does not count up by one");

        reader->usec = read_usec(stream_text(object, "timestamp"));
        r = on_object(reader, object);
        if (r < 0)
                return r;

        reader->n_lines++;
        return 0;
}

/* Keeps what has no newline yet. */
static int keep(StreamReader *reader, const char *bytes, size_t n) {
        if (n >= STREAM_LINE_MAX - reader->n_partial)
                return stream_refuse(reader, "longer than %u bytes", STREAM_LINE_MAX);

        memcpy(reader->partial + reader->n_partial, bytes, n);
        reader->n_partial += n;
        return 0;
}

int stream_reader_feed(StreamReader *reader, const void *bytes, size_t n) {
        const char *at = bytes, *end = at + n;
        int r;

        assert(reader);
        assert(bytes || n == 0);

        if (reader->failed < 0)
                return reader->failed;

        while (at < end) {
                const char *newline = memchr(at, '\n', (size_t) (end - at));

                if (!newline)
                        return keep(reader, at, (size_t) (end - at));

                if (reader->n_partial == 0 && newline - at < (ptrdiff_t) STREAM_LINE_MAX)
                        r = on_line(reader, at, (size_t) (newline - at));
                else {
                        r = keep(reader, at, (size_t) (newline - at));
                        if (r >= 0)
                                r = on_line(reader, reader->partial, reader->n_partial);
                        reader->n_partial = 0;
                }

                if (r < 0)
                        return r;

                at = newline + 1;
        }

        return 0;
}

int stream_reader_end(StreamReader *reader) {
        assert(reader);

        /* No finding is lost with the evidence that did not come. */
        for (size_t i = 0; i < reader->n_steps && (reader->failed == 0 || reader->failed == -EPROTO); i++) {
                int failed = reader->failed, r = stream_emit_pending(reader, &reader->steps[i], NULL);

                if (r >= 0)
                        reader->failed = failed;
        }

        if (reader->failed < 0)
                return reader->failed;

        if (reader->n_partial > 0)
                (void) stream_refuse(reader, "cut off");
        else if (reader->n_open > 0)
                (void) stream_refuse(reader, "the stream ends with %zu steps open", reader->n_open);
        else if (reader->numbered && !reader->ended)
                (void) stream_refuse(reader, "the stream ends before testRunEnd");
        return reader->failed;
}

const char *stream_reader_error(const StreamReader *reader) {
        assert(reader);

        return reader->error;
}

uint64_t stream_reader_sequence(const StreamReader *reader) {
        assert(reader);

        return reader->first + reader->n_lines;
}
