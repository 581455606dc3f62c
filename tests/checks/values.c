/* SPDX-License-Identifier: Apache-2.0 */

/*
 * values SAID STREAM…: holds all that a worker measured against the table of measurements, and works the verdict of each step on each chip out again
 * from nothing but values and their limits. Names that were said are added to the file SAID.
 *
 * values --orphans SAID EXCEPTIONS: each row of the table has been said, or stands in EXCEPTIONS with the reason.
 *
 * Prints what is wrong; exit status 1 where anything is.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/measurements.h"

#define PARTS_MAX 4096u /* chips and servers, times steps */
#define ROWS_MAX  512u

/* The values of a step on a chip, or of one on a server that lie in no chip. */
typedef struct Part {
        Location at;
        const PlanStep *step;
        StepSaid said;
        unsigned n_limited;
        Verdict values;      /* what they come to */
        bool rows[ROWS_MAX]; /* that were said, with a limit or where there is none */
} Part;

typedef struct Reading {
        const char *name; /* of the stream */
        Plan *plan;
        Part *parts;
        size_t n_parts;
        FILE *said;
        unsigned n_wrong;
} Reading;

static size_t number_of(const MeasurementRow *row) {
        return (size_t) (row - measurement_at(0));
}

static void __attribute__((format(printf, 3, 4))) complain(Reading *reading, const Part *part, const char *format, ...) {
        char text[LOCATION_STRING_MAX];
        va_list arguments;

        printf("%s: %s:%s: ", reading->name, location_format(&part->at, text), part->step->name);
        va_start(arguments, format);
        (void) vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
        reading->n_wrong++;
}

/* Of the chip that WHERE lies in, else of the server. */
static Part *part_of(Reading *reading, const Location *where, const char *step) {
        Location at = *where;
        Part *part;

        (void) location_truncate(&at, location_index(where, LOCATION_CHIP) >= 0 ? LOCATION_CHIP : LOCATION_SERVER);
        for (size_t i = 0; i < reading->n_parts; i++)
                if (location_equal(&reading->parts[i].at, &at) && strcmp(reading->parts[i].step->name, step) == 0)
                        return &reading->parts[i];
        if (reading->n_parts == PARTS_MAX)
                return NULL;
        part = &reading->parts[reading->n_parts];
        *part = (Part) { .at = at };
        for (size_t i = 0; i < reading->plan->n_steps; i++)
                if (strcmp(reading->plan->steps[i].name, step) == 0)
                        part->step = &reading->plan->steps[i];
        reading->n_parts += part->step != NULL;
        return part->step ? part : NULL;
}

static void take_value(Reading *reading, Part *part, const Measurement *value) {
        const MeasurementRow *row = measurement_find(part->step->check->name, value->name);
        const char *wrong = row ? measurement_wrong(row, value->unit, value->limit_type, value->limit) : "no row of the table has this name";

        if (!wrong && row->limit_type != LIMIT_NONE && row->duty != MEASUREMENT_BEYOND && limit_holds(value->limit_type, value->value, value->limit))
                wrong = measurement_impossible(row, value->value, value->series.statistic);
        if (wrong) {
                complain(reading, part, "%s %s: %s", value->name, value->unit, wrong);
                return;
        }
        fprintf(reading->said, "%zu\n", number_of(row));
        if (value->limit_type == LIMIT_NONE)
                return;
        part->rows[number_of(row)] = true;
        part->n_limited++;
        if (limit_holds(value->limit_type, value->value, value->limit)) {
                if (row->duty == MEASUREMENT_BEYOND)
                        complain(reading, part, "%s is within its limit, and is said beyond it alone", value->name);
                return;
        }
        part->said.beyond = true;
        verdict_raise(&part->values, row->beyond);
}

static int on_event(const Event *event, void *userdata) {
        Reading *reading = userdata;
        Location unit = {};
        Part *own, *part;

        if (event->type == EVENT_RUN_START && !reading->plan) {
                char *error = NULL;

                if (plan_find(plan_folders(), event->plan, &reading->plan, &error) < 0)
                        printf("%s: %s\n", reading->name, error ? error : event->plan);
                free(error);
                return reading->plan ? 0 : -ENOENT;
        }
        if (!event->unit || event->unit[0] == '\0' || location_parse(event->unit, &unit, NULL, NULL) < 0)
                return 0;
        own = part_of(reading, &unit, event->step);
        if (!own)
                return -EPROTO;

        /* The values of a chip's step stay with the chip. */
        switch ((int) event->type) {
        case EVENT_STEP_START:
                own->said.begun = true;
                return 0;
        case EVENT_MEASUREMENT:
                part = location_kind(&unit) == LOCATION_CHIP ? own : part_of(reading, &event->measurement.where, event->step);
                if (part)
                        take_value(reading, part, &event->measurement);
                return 0;
        case EVENT_FINDING:
                part = location_kind(&unit) == LOCATION_CHIP ? own : part_of(reading, &event->finding.where, event->step);
                if (part)
                        verdict_raise(&part->said.found, event->finding.severity);
                return 0;
        case EVENT_PART_DONE:
                part = part_of(reading, &event->part, event->step);
                if (part) {
                        part->said.has_part = true;
                        part->said.part = event->verdict;
                }
                return 0;
        case EVENT_STEP_END:
                own->said.ended = true;
                own->said.verdict = event->end.verdict;
                return 0;
        default:
                return 0;
        }
}

/* ---- judging ---- */

static void judge_rows(Reading *reading, const Part *part) {
        const MeasurementRow *row;

        for (size_t i = 0; (row = measurement_at(i)); i++)
                if (row->duty == MEASUREMENT_EACH && strcmp(row->check, part->step->check->name) == 0 && !part->rows[i] && !row->unlimited)
                        complain(reading, part, "%s is not said, with a limit", row->name);
        if (part->n_limited == 0)
                complain(reading, part, "no value has a limit");
}

static void judge_chip(Reading *reading, const Part *part) {
        static const StepSaid none = {};
        const Part *server = NULL;
        Verdict verdict;

        for (size_t i = 0; i < reading->n_parts; i++)
                if (location_kind(&reading->parts[i].at) == LOCATION_SERVER && reading->parts[i].step == part->step &&
                    strcmp(reading->parts[i].at.server, part->at.server) == 0)
                        server = &reading->parts[i];
        if (!part->said.begun && !(server && server->said.begun))
                return; /* the step of another server spoke of a chip that this one says nothing of */
        verdict = verdict_of_step(&part->said, server ? &server->said : &none);
        if (!verdict_is_judged(verdict))
                return;
        if (verdict != part->values)
                complain(reading, part, "it is called %s, and its values come to %s", verdict_to_string(verdict), verdict_to_string(part->values));
        if (verdict != VERDICT_FAILED)
                judge_rows(reading, part);
}

/* Values that lie in none of its chips; a value beyond its limit alone, as of all packets, makes it no worse than its chips are. */
static void judge_server(Reading *reading, const Part *part) {
        if (part->said.found > part->values || (part->values == VERDICT_FAILED && part->said.found != VERDICT_FAILED))
                complain(reading, part, "its findings come to %s, and its values to %s", verdict_to_string(part->said.found),
                         verdict_to_string(part->values));
}

static int read_stream(Reading *reading, FILE *file) {
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        char line[STREAM_LINE_MAX + 2];
        int r;

        r = stream_reader_new(true, 0, on_event, reading, &reader);
        while (r >= 0 && fgets(line, sizeof(line), file))
                r = stream_reader_feed(reader, line, strlen(line));
        if (r >= 0)
                r = stream_reader_end(reader);
        if (r < 0)
                printf("%s: %s\n", reading->name, stream_reader_error(reader));
        return r;
}

static bool judge_stream(const char *name, FILE *said) {
        _cleanup_free_ Part *parts = calloc(PARTS_MAX, sizeof(*parts));
        Reading reading = { .name = name, .parts = parts, .said = said };
        FILE *file = fopen(name, "re");
        int r = parts && file ? read_stream(&reading, file) : -ENOENT;

        for (size_t i = 0; r >= 0 && i < reading.n_parts; i++)
                if (location_kind(&parts[i].at) == LOCATION_CHIP)
                        judge_chip(&reading, &parts[i]);
                else
                        judge_server(&reading, &parts[i]);
        if (file)
                (void) fclose(file);
        reading.plan = plan_free(reading.plan);
        return r >= 0 && reading.n_wrong == 0;
}

/* ---- rows that nothing says ---- */

static bool is_excepted(const char *path, const char *name) {
        FILE *file = fopen(path, "re");
        char line[512], first[256];
        bool found = false;

        while (file && !found && fgets(line, sizeof(line), file))
                found = sscanf(line, "%255s %*s", first) == 1 && strcmp(first, name) == 0;
        if (file)
                (void) fclose(file);
        return found;
}

static int list_orphans(const char *said_path, const char *exceptions) {
        FILE *file = fopen(said_path, "re");
        const MeasurementRow *row;
        bool said[ROWS_MAX] = {};
        int n = 0;
        size_t i;

        if (!file)
                return 1;
        while (fscanf(file, "%zu", &i) == 1)
                said[i % ROWS_MAX] = true;
        (void) fclose(file);
        for (i = 0; (row = measurement_at(i)); i++) {
                bool excepted = is_excepted(exceptions, row->name);

                if (said[i] != excepted)
                        continue;
                printf("%s %s\n", row->name, excepted ? "is said, and stands among the exceptions" : "is said by nothing");
                n++;
        }
        return n > 0;
}

int main(int argc, char *argv[]) {
        bool good = true;
        FILE *said;

        if (argc == 4 && strcmp(argv[1], "--orphans") == 0)
                return list_orphans(argv[2], argv[3]);
        if (argc < 3)
                return 64;
        said = fopen(argv[1], "ae");
        if (!said)
                return 1;
        for (int i = 2; i < argc; i++)
                good = judge_stream(argv[i], said) && good;
        (void) fclose(said);
        return good ? 0 : 1;
}
