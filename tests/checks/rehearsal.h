/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rehearsal
 *
 * A check run in this process against the servers of a scenario, without worker and socket: the transport hands each
 * batch to the simulator's own reader of packets. It stands in for checks/step/step.c and keeps what the check says.
 */

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/step/step.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/worker/findings.h"
#include "sim/fleet/scenario.h"
#include "sim/port/batch.h"
#include "tests/checks/held.h"

#define REHEARSAL_WINDOW   (256u << 10)
#define REHEARSAL_FINDINGS 4096u

typedef struct Said {
        char code[32];
        char at[LOCATION_STRING_MAX];
        char message[STREAM_MESSAGE_MAX];
        char actual[LOCATION_STRING_MAX];
        char far_end[LOCATION_STRING_MAX];
        char replaceable[32]; /* "": the tray */
} Said;

typedef struct RehearsalServer {
        Server *server;
        Device *device;
        uint16_t included;
} RehearsalServer;

struct Step {
        Scenario *scenario;
        const CheckWord *word;
        Location unit;
        unsigned own; /* index of the unit's server */
        size_t n_servers;
        RehearsalServer servers[RING];
        void *parameters;
        uint64_t seed;
        double budget_sec;
        Topology *topology; /* the test's; NULL: names tell */
        unsigned fail_at, n_batches; /* the n-th batch fails with `failure` */
        int failure;
        /* What a device makes of the answer to one command, if it lies. */
        void (*tamper)(Step *step, const WireCommand *command, WireCompletion *completion);
        unsigned n_tampered;
        /* What it makes of the bytes that go with it, on server SERVER of its UltraServer. */
        void (*rewrite)(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion);
        size_t n_said;
        Said said[REHEARSAL_FINDINGS];
        Verdict parts[CHIPS]; /* _VERDICT_INVALID: nothing was said of it */
        Reason reasons[CHIPS]; /* of these */
        unsigned n_measurements;
        Verdict beyond; /* what values beyond their limits come to */
        double ports_tested[CHIPS], lanes_tested[CHIPS], bytes_compared[CHIPS]; /* the last by `collective` */
        unsigned n_untested;           /* ports and adapters that were named as not tested */
        char untested[CHIPS * PORTS][96]; /* "WHY WHERE" */
        double reorder;
        Reason skip;
        char message[512];
};

typedef struct Line {
        Reach reach;
        Step *step;
} Line;

static int line_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        static _Alignas(16) uint8_t packet[BATCH_PACKET_MAX], answer[BATCH_ANSWER_MAX];
        WireBatch header = { .magic = WIRE_MAGIC, .n = (uint32_t) n };
        Line *line = userdata;
        ssize_t size;

        if (++line->step->n_batches == line->step->fail_at)
                return line->step->failure;

        memcpy(packet, &header, sizeof(header));
        memcpy(packet + sizeof(header), commands, n * sizeof(*commands));
        size = batch_run(&line->reach, packet, sizeof(header) + n * sizeof(*commands), answer);
        if (size == 0)
                return -ETIMEDOUT;
        if (size != (ssize_t) (sizeof(header) + n * sizeof(*completions)))
                return -EPROTO;

        memcpy(completions, answer + sizeof(header), n * sizeof(*completions));
        for (size_t i = 0; line->step->rewrite && i < n; i++)
                line->step->rewrite(line->step, line->reach.server->index, &commands[i], line->reach.window + commands[i].out_offset,
                                    &completions[i]);
        for (size_t i = 0; line->step->tamper && i < n; i++)
                line->step->tamper(line->step, &commands[i], &completions[i]);
        return 0;
}

static void line_close(void *userdata) {
        Line *line = userdata;

        free(line->reach.window);
        free(line);
}

static const DeviceTransport line_transport = { line_execute, line_close };

static Device *line_open(Step *step, Server *server) {
        Line *line = calloc(1, sizeof(*line));
        Device *device = NULL;

        line->step = step;
        line->reach = (Reach) {
                .server = server, .chip = WIRE_CHIP_ALL, .window = aligned_alloc(4096, REHEARSAL_WINDOW),
                .window_bytes = REHEARSAL_WINDOW,
        };
        if (device_new(&line_transport, line, server->name, WIRE_CHIP_ALL, line->reach.window, REHEARSAL_WINDOW, &device) < 0)
                abort();
        return device;
}

/* TEXT is a scenario; CHECK runs on SERVER of it. Change included, parameters, seed before rehearsal_run(). */
static Step *rehearsal_new(const char *text, const char *check, const char *server) {
        Step *step = calloc(1, sizeof(*step));
        char *error = NULL;
        Server *own;

        if (scenario_parse("test", text, strlen(text), &step->scenario, &error) < 0) {
                fprintf(stderr, "%s\n", error);
                abort();
        }
        own = hall_server(step->scenario->hall, server);
        step->n_servers = own->ultraserver->n_servers;
        step->own = own->index;
        for (size_t s = 0; s < step->n_servers; s++)
                step->servers[s] = (RehearsalServer) {
                        .server = &own->ultraserver->servers[s],
                        .device = line_open(step, &own->ultraserver->servers[s]), .included = 0xffff,
                };
        (void) location_parse(server, &step->unit, NULL, NULL);
        step->word = check_word_find(check);
        step->parameters = malloc(*step->word->parameters_bytes);
        memcpy(step->parameters, *step->word->parameters_defaults, *step->word->parameters_bytes);
        step->seed = step->scenario->hall->seed;
        step->budget_sec = 1000;
        return step;
}

static Step *rehearsal_free(Step *step) {
        for (size_t s = 0; s < step->n_servers; s++)
                step->servers[s].device = device_free(step->servers[s].device);
        step->scenario = scenario_free(step->scenario);
        free(step->parameters);
        free(step);
        return NULL;
}

DEFINE_CLEANUP(Step *, rehearsal_free);
#define _cleanup_rehearsal_ _cleanup_(rehearsal_freep)

static int rehearsal_run(Step *step, Verdict *ret) {
        int r;

        step->n_said = step->n_batches = step->n_measurements = step->n_tampered = step->n_untested = 0;
        step->reorder = -1;
        step->beyond = VERDICT_PASSED;
        for (unsigned c = 0; c < CHIPS; c++)
                step->parts[c] = _VERDICT_INVALID;
        r = check_find(step->word->name)->run(step, ret);
        if (r >= 0 && *ret == VERDICT_PASSED && step->beyond != VERDICT_PASSED) {
                fprintf(stderr, "a value is beyond its limit, and the step passed\n");
                abort();
        }
        return r;
}

static __attribute__((unused)) bool rehearsal_said(const Step *step, const char *code, const char *at) {
        for (size_t i = 0; i < step->n_said; i++)
                if (strcmp(step->said[i].code, code) == 0 && strcmp(step->said[i].at, at) == 0)
                        return true;

        return false;
}

static __attribute__((unused)) bool rehearsal_untested(const Step *step, const char *why_and_port) {
        for (unsigned i = 0; i < step->n_untested; i++)
                if (strcmp(step->untested[i], why_and_port) == 0)
                        return true;

        return false;
}

static __attribute__((unused)) void rehearsal_print(const Step *step) {
        for (size_t i = 0; i < step->n_said; i++)
                fprintf(stderr, "# %s %s: %s\n", step->said[i].at, step->said[i].code, step->said[i].message);
}

/* Adds what RUN, from 1, has found to FINDINGS, as the worker does. */
static __attribute__((unused)) void rehearsal_keep(const Step *step, unsigned run, Findings *findings) {
        for (size_t i = 0; i < step->n_said; i++) {
                Finding finding = {
                        .code = step->said[i].code, .severity = catalogue_find(step->said[i].code)->severity, .message = step->said[i].message,
                        .evidence = { .far_end = step->said[i].far_end }, .reproduced = 1, .runs = 1,
                };

                if (location_parse(step->said[i].at, &finding.where, NULL, NULL) < 0 || findings_add(findings, &finding, run) < 0)
                        abort();
        }
}

/* ---- what checks/step/step.c does for a worker ---- */

static RehearsalServer *server_named(Step *step, const char *name) {
        for (size_t s = 0; s < step->n_servers; s++)
                if (strcmp(step->servers[s].server->name, name) == 0)
                        return &step->servers[s];

        return NULL;
}

Device *step_device(Step *step) {
        return step->servers[step->own].device;
}

unsigned step_chip(const Step *step) {
        return WIRE_CHIP_ALL;
}

const Location *step_unit(const Step *step) {
        return &step->unit;
}

const char *step_server(const Step *step, size_t index) {
        return index < step->n_servers ? step->servers[(step->own + index) % step->n_servers].server->name : NULL;
}

Device *step_neighbour(Step *step, const char *server) {
        RehearsalServer *found = server_named(step, server);

        return found && found->included ? found->device : NULL;
}

bool step_includes(const Step *step, const char *server, unsigned chip) {
        const RehearsalServer *found = server_named((Step *) step, server);

        return found && found->included >> chip & 1;
}

unsigned step_unasked(const Step *step) {
        return 0;
}

const char *step_tray(const Step *step, const char *server, unsigned chip) {
        static char text[16];

        (void) snprintf(text, sizeof(text), "%u", torus_tray(chip));
        return text;
}

const Topology *step_topology(const Step *step) {
        return step->topology;
}

const void *step_parameters(const Step *step) {
        return step->parameters;
}

bool step_is_absent(const Step *step, const char *server, unsigned chip) {
        return false;
}

double step_temperature(const Step *step, const char *server, unsigned chip) {
        return 0;
}

const Location *step_twin(const Step *step) {
        return NULL;
}

unsigned step_twin_servers(const Step *step) {
        return 0;
}

int step_nonce(Step *step, uint64_t *ret) {
        static uint64_t nonce = 4711;

        *ret = nonce++;
        return 0;
}

uint64_t step_seed(const Step *step) {
        return step->seed;
}

double step_budget_sec(const Step *step) {
        return step->budget_sec;
}

const Rotation *step_rotation(const Step *step) {
        return NULL;
}

unsigned step_position(const Step *step) {
        return 0;
}

double step_rotation_sec(const Step *step) {
        return 0;
}

int step_regions(Step *step, const Regions *regions) {
        return 0;
}

int step_measure_series(Step *step, const char *name, Series series, double value, const char *unit, LimitType type, double limit,
                        const Location *where) {
        int chip = where ? location_index(where, LOCATION_CHIP) : -ENOENT;

        step->n_measurements++;
        held_value(name, unit, value, type, limit, &step->beyond);
        if (strcmp(name, "neuronlink_ports_tested") == 0)
                step->ports_tested[chip] = value;
        if (strstr(name, "_untested_") && step->n_untested < CHIPS * PORTS) {
                char at[LOCATION_STRING_MAX];

                (void) snprintf(step->untested[step->n_untested++], sizeof(step->untested[0]), "%s %s",
                                strstr(name, "_untested_") + strlen("_untested_"), location_format(where ? where : &step->unit, at));
        }
        if (strcmp(name, "neuronlink_lanes_tested") == 0)
                step->lanes_tested[chip] = value;
        if (strcmp(name, "collective_bytes_compared") == 0)
                step->bytes_compared[chip] = value;
        if (strcmp(name, "efa_reorder_distance_max") == 0)
                step->reorder = value;
        return type == LIMIT_NONE || limit_holds(type, value, limit) ? 0 : 1;
}

int step_measure(Step *step, const char *name, double value, const char *unit, LimitType type, double limit,
                 const Location *where) {
        return step_measure_series(step, name, (Series) {}, value, unit, type, limit, where);
}

int step_note_series(Step *step, const char *name, Series series, double value, const char *unit, const Location *where) {
        return step_measure_series(step, name, series, value, unit, LIMIT_NONE, 0, where);
}

int step_note(Step *step, const char *name, double value, const char *unit, const Location *where) {
        return step_note_series(step, name, (Series) {}, value, unit, where);
}

int step_finding(Step *step, Verdict *verdict, const char *code, const Location *where, const Evidence *evidence,
                 const char *format, ...) {
        Said *said = &step->said[step->n_said++ % REHEARSAL_FINDINGS];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(said->message, sizeof(said->message), format, arguments);
        va_end(arguments);
        (void) snprintf(said->code, sizeof(said->code), "%s", code);
        (void) snprintf(said->actual, sizeof(said->actual), "%s", evidence && evidence->actual ? evidence->actual : "");
        (void) snprintf(said->far_end, sizeof(said->far_end), "%s", evidence && evidence->far_end ? evidence->far_end : "");
        (void) snprintf(said->replaceable, sizeof(said->replaceable), "%s", evidence && evidence->replaceable ? evidence->replaceable : "");
        location_format(where ? where : &step->unit, said->at);
        held_finding(code, evidence ? &evidence->decided : NULL, step->beyond);
        verdict_raise(verdict, catalogue_find(code)->severity);
        return 0;
}

int step_skip(Step *step, Verdict *ret, Reason reason, const char *format, ...) {
        step->skip = reason;
        *ret = VERDICT_SKIPPED;
        return 0;
}

int step_error(Step *step, int error, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(step->message, sizeof(step->message), format, arguments);
        va_end(arguments);
        return error;
}

void step_progress(Step *step, unsigned percent) {
}

int step_part_done(Step *step, const Location *chip, Verdict verdict, Reason reason) {
        step->parts[location_index(chip, LOCATION_CHIP)] = verdict;
        step->reasons[location_index(chip, LOCATION_CHIP)] = reason;
        return 0;
}
