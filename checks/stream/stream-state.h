/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stream-state
 *
 * What the reader of a stream remembers, shared by its three files: stream-reader.c takes bytes and lines,
 * stream-run.c what belongs to the run, stream-step.c what belongs to a step. Private to the stream.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/stream/stream-schema.h"
#include "checks/stream/stream.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"

#define STREAM_STEP_ID_MAX   (LOCATION_STRING_MAX + STREAM_STEP_NAME_MAX)

typedef struct StreamStep {
        char *id;
        Location unit;
        size_t n_unit; /* bytes of the unit in id; ':' and the step's name follow */
        bool ended;
        bool errored;    /* an error artifact was seen */
        bool beyond;     /* a measurement was beyond its limit */
        Verdict found;   /* what its findings say */
        bool has_regions, region_failed;
        json_t *pending; /* a diagnosis that waits for its evidence */
        json_t *facts;   /* of assay-step: only the end may follow */
        unsigned n_findings;
        unsigned n_measurements;
} StreamStep;

typedef char ServerName[LOCATION_SERVER_NAME_MAX];

struct StreamReader {
        bool numbered;
        uint64_t first;
        StreamHandler handler;
        void *userdata;

        int failed; /* 0, or what every call returns from now on */
        char error[SCHEMA_WRONG_MAX + 64];

        uint64_t usec;    /* when the line at hand was written; 0: it does not say */
        uint64_t n_lines; /* that were good */
        uint64_t n_bytes;
        size_t n_partial;
        char partial[STREAM_LINE_MAX];

        bool versioned, started, ended;
        bool errored;  /* an error of the run */
        bool warned, step_failed;
        size_t n_steps, size_steps, n_open;
        StreamStep *steps;
        size_t n_servers;
        ServerName *servers;

        char unit[STREAM_STEP_ID_MAX], step[STREAM_STEP_NAME_MAX]; /* of the event at hand */
};

/* Both set the error and return it; from then on the reader takes nothing more. */
int stream_refuse(StreamReader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
int stream_no_memory(StreamReader *reader);

/* Calls the handler. STEP is NULL for events of the run. */
int stream_emit(StreamReader *reader, const StreamStep *step, Event *event);

/* Whether the run said that SERVER is part of it; a child's stream, or one that goes on, says nothing. */
bool stream_is_declared(const StreamReader *reader, const char *server);

/* The text of a member that the schema has seen to be a string; without it "", or NULL. */
const char *stream_text(const json_t *object, const char *name);
const char *stream_text_if(const json_t *object, const char *name);

int stream_on_run(StreamReader *reader, const json_t *artifact);
int stream_on_step(StreamReader *reader, const json_t *artifact);

int stream_on_particulars(StreamReader *reader, const StreamStep *step, const json_t *content); /* stream-particulars.c */

/* Hands out the finding that waits. CONTENT is its evidence, NULL where none came. */
int stream_emit_pending(StreamReader *reader, StreamStep *step, const json_t *content);
