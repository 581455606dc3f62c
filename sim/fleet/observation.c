/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/observation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/stream/stream.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/fleet/sheet.h"

ObservedUnit *observation_find(const Observation *observation, const Location *at) {
        for (size_t i = 0; i < observation->n_units; i++)
                if (location_equal(&observation->units[i].at, at))
                        return &observation->units[i];
        return NULL;
}

static int add_unit(Observation *observation, const Location *at) {
        ObservedUnit *units;

        if (observation_find(observation, at))
                return -EPROTO;
        units = reallocarray(observation->units, observation->n_units + 1, sizeof(*units));
        if (!units)
                return -ENOMEM;
        observation->units = units;
        units[observation->n_units++] = (ObservedUnit) { .at = *at };
        return 0;
}

static ObservedUnit *unit_named(const Observation *observation, const char *name) {
        Location at;

        return location_parse(name, &at, NULL, NULL) < 0 ? NULL : observation_find(observation, &at);
}

/* A finding belongs to the chip it lies in, else to the server. */
static int add_finding(Observation *observation, const Finding *finding) {
        const CatalogueEntry *entry = catalogue_find(finding->code);
        Location at = finding->where;
        ObservedFinding *findings;
        ObservedUnit *unit;

        (void) location_truncate(&at, location_index(&at, LOCATION_CHIP) >= 0 ? LOCATION_CHIP : LOCATION_SERVER);
        unit = observation_find(observation, &at);
        if (!unit || !entry)
                return -EPROTO;
        for (size_t i = 0; i < unit->n_findings; i++)
                if (unit->findings[i].code == entry->code && location_equal(&unit->findings[i].at, &finding->where))
                        return 0;
        findings = reallocarray(unit->findings, unit->n_findings + 1, sizeof(*findings));
        if (!findings)
                return -ENOMEM;
        unit->findings = findings;
        findings[unit->n_findings++] = (ObservedFinding) { .code = entry->code, .at = finding->where };
        return 0;
}

#define ALARMS_SUFFIX "_false_alarms"

static int add_alarms(Observation *observation, const Measurement *measurement) {
        size_t n = strlen(measurement->name), i;
        ObservedAlarms *alarms;

        if (n < strlen(ALARMS_SUFFIX) || strcmp(measurement->name + n - strlen(ALARMS_SUFFIX), ALARMS_SUFFIX) != 0)
                return 0;
        for (i = 0; i < observation->n_alarms && strcmp(observation->alarms[i].name, measurement->name) != 0; i++)
                ;
        if (i == observation->n_alarms) {
                if (n >= sizeof(alarms->name))
                        return -EPROTO;
                alarms = reallocarray(observation->alarms, i + 1, sizeof(*alarms));
                if (!alarms)
                        return -ENOMEM;
                observation->alarms = alarms;
                alarms[i] = (ObservedAlarms) {};
                memcpy(alarms[i].name, measurement->name, n);
                observation->n_alarms++;
        }
        observation->alarms[i].expected += measurement->value;
        return 0;
}

/* All servers are scanned with one plan: what the first stream states is what all do. */
static int add_escapes(Observation *observation, const Event *event) {
        if (observation->escapes || event->n_escapes == 0)
                return 0;
        observation->escapes = calloc(event->n_escapes, sizeof(*observation->escapes));
        if (!observation->escapes)
                return -ENOMEM;
        for (size_t i = 0; i < event->n_escapes; i++) {
                ObservedEscape *escape = &observation->escapes[observation->n_escapes++];

                (void) snprintf(escape->fault, sizeof(escape->fault), "%s", event->escapes[i].fault);
                escape->always = event->escapes[i].always;
                escape->commands = event->escapes[i].commands;
        }
        return 0;
}

static int end_step(Observation *observation, const Event *event) {
        ObservedUnit *unit = unit_named(observation, event->unit);

        if (!unit)
                return -EPROTO;
        unit->device_nsec += event->end.device_nsec;
        return 0;
}

static int on_event(const Event *event, void *userdata) {
        Observation *observation = userdata;
        int r = sheet_event(observation->sheet, event);

        if (r < 0)
                return r;

        switch (event->type) {
        case EVENT_RUN_START:
                return add_escapes(observation, event);
        case EVENT_HARDWARE:
                return add_unit(observation, &event->hardware.where);
        case EVENT_FINDING:
                return add_finding(observation, &event->finding);
        case EVENT_MEASUREMENT:
                return add_alarms(observation, &event->measurement);
        case EVENT_STEP_END:
                return end_step(observation, event);
        case EVENT_ERROR:
                observation->broken = true;
                return 0;
        case EVENT_STEP_START:
        case EVENT_PART_DONE:
        case EVENT_PROGRESS:
        case EVENT_REGIONS:
        case EVENT_PARTICULARS:
        case EVENT_LOG:
        case EVENT_RUN_END:
        case _EVENT_TYPE_MAX:
                return 0;
        }
        return 0;
}

/* Every stream begins with this; a server of its own in a scan of several has one of its own. */
#define FIRST_LINE "{\"sequenceNumber\":0,"

/* Ends what was being read, so that a stream cut off before the next one is not taken for whole. */
static int end_stream(StreamReader **reader, FILE *out) {
        int r = *reader ? stream_reader_end(*reader) : 0;

        if (r < 0)
                fprintf(out, "the stream cannot be read: %s\n", stream_reader_error(*reader));
        *reader = stream_reader_free(*reader);
        return r;
}

/* LINE may be part of one where that is longer than any may be: the reader refuses it. */
static int read_line(Observation *observation, StreamReader **reader, const char *line, FILE *out) {
        int r;

        if (!*reader || strncmp(line, FIRST_LINE, strlen(FIRST_LINE)) == 0) {
                r = end_stream(reader, out);
                if (r >= 0)
                        r = stream_reader_new(true, 0, on_event, observation, reader);
                if (r < 0)
                        return r;
        }
        r = stream_reader_feed(*reader, line, strlen(line));
        if (r < 0) {
                const char *why = stream_reader_error(*reader);

                fprintf(out, "the stream cannot be read: %s\n", why && why[0] != '\0' ? why : strerror(-r));
        }
        return r;
}

/* A worker that gave up has not judged anything to its end. */
static void conclude(Observation *observation) {
        for (size_t i = 0; i < observation->n_units; i++) {
                ObservedUnit *unit = &observation->units[i];

                unit->result = sheet_result(observation->sheet, &unit->at);
                if (observation->broken)
                        unit->result = result_worst(unit->result, RESULT_INCONCLUSIVE);
        }
}

int observation_read(FILE *file, Observation **ret, FILE *out) {
        _cleanup_(observation_freep) Observation *observation = calloc(1, sizeof(*observation));
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        char line[STREAM_LINE_MAX + 2];
        int r = 0;

        if (!observation || sheet_new(&observation->sheet) < 0)
                return -ENOMEM;
        while (r >= 0 && fgets(line, sizeof(line), file))
                r = read_line(observation, &reader, line, out);
        if (r >= 0 && ferror(file)) {
                fprintf(out, "the stream cannot be read: %s\n", strerror(EIO));
                r = -EIO;
        }
        if (r >= 0)
                r = end_stream(&reader, out);
        if (r < 0)
                return r;

        conclude(observation);
        *ret = TAKE_PTR(observation);
        return 0;
}

Observation *observation_free(Observation *observation) {
        if (!observation)
                return NULL;
        for (size_t i = 0; i < observation->n_units; i++)
                free(observation->units[i].findings);
        free(observation->units);
        sheet_free(observation->sheet);
        free(observation->alarms);
        free(observation->escapes);
        free(observation);
        return NULL;
}
