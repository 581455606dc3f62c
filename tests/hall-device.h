/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HallDevice
 *
 * A scenario and a Device on one chip of it within the test's own process: the batches that a socket would carry are
 * handed straight to the simulator. For tests of a check against faults.
 */

#include <string.h>
#include <sys/mman.h>

#include "checks/step/step.h"
#include "sim/fleet/scenario.h"
#include "sim/port/batch.h"
#include "tests/checks/held.h"

typedef struct HallDevice {
        Scenario *scenario;
        const char *server;
        Reach reach;
        uint32_t sequence;
        _Alignas(WireCommand) uint8_t packet[BATCH_PACKET_MAX];
        _Alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
} HallDevice;

/* What a finding of the step came to, for asserting. */
typedef struct Found {
        unsigned n;
        char lines[65536];
        char message[512]; /* why it was skipped or could not judge */
        StreamReader *reader;
        Verdict beyond;    /* what values beyond their limits come to */
} Found;

/* What the device makes of the answer to one command, where a test has it lie. */
static void (*hall_lie)(const WireCommand *command, WireCompletion *completion);

/* Whether what the step says is read and held against the table of measurements: not where a test leaves no memory, for the reader needs some. */
static bool hall_holds = true;

/* The seed of the step. */
static uint64_t hall_seed = 1;

static inline int hall_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                               uint64_t deadline_usec) {
        HallDevice *hall = userdata;
        WireBatch header = { .magic = WIRE_MAGIC, .sequence = ++hall->sequence, .n = (uint32_t) n };
        WireBatch reply;
        ssize_t got;

        memcpy(hall->packet, &header, sizeof(header));
        memcpy(hall->packet + sizeof(header), commands, n * sizeof(*commands));
        got = batch_run(&hall->reach, hall->packet, sizeof(header) + n * sizeof(*commands), hall->answer);
        if (got == 0)
                return -ETIMEDOUT;
        memcpy(&reply, hall->answer, sizeof(reply));
        if ((size_t) got != sizeof(reply) + n * sizeof(*completions) || reply.magic != WIRE_MAGIC ||
            reply.sequence != header.sequence || reply.n != n)
                return -EPROTO;
        memcpy(completions, hall->answer + sizeof(reply), n * sizeof(*completions));
        for (size_t i = 0; hall_lie && i < n; i++)
                hall_lie(&commands[i], &completions[i]);
        return 0;
}

static inline void hall_close(void *userdata) {
        HallDevice *hall = userdata;

        (void) munmap(hall->reach.window, hall->reach.window_bytes);
        (void) scenario_free(hall->scenario);
        free(hall);
}

static const DeviceTransport hall_transport = { .execute = hall_execute, .close = hall_close };

/* TEXT is a whole scenario. Returns NULL and prints why where it is refused. Release with hall_close(). */
static inline HallDevice *hall_device_new(const char *text, const char *server, unsigned chip, size_t window_bytes) {
        HallDevice *hall = calloc(1, sizeof(*hall));
        char *error = NULL;
        void *window;

        if (!hall)
                return NULL;
        if (scenario_parse("test", text, strlen(text), &hall->scenario, &error) < 0) {
                fprintf(stderr, "%s\n", error ? error : "out of memory");
                free(error);
                free(hall);
                return NULL;
        }
        window = mmap(NULL, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        hall->server = server;
        hall->reach = (Reach) { hall_server(hall->scenario->hall, server), chip, window, window_bytes };
        return hall;
}

/* The device of HALL, through a TRANSPORT that may be somebody between the two, with his USERDATA. */
static inline Device *hall_connect(HallDevice *hall, const DeviceTransport *transport, void *userdata) {
        Device *device;

        return device_new(transport, userdata, hall->server, hall->reach.chip, hall->reach.window, hall->reach.window_bytes,
                          &device) < 0 ? NULL : device;
}

static inline Device *hall_device(const char *text, const char *server, unsigned chip, size_t window_bytes) {
        HallDevice *hall = hall_device_new(text, server, chip, window_bytes);

        return hall ? hall_connect(hall, &hall_transport, hall) : NULL;
}

static inline int found_write(void *userdata, const char *lines) {
        Found *found = userdata;
        size_t n = strlen(found->lines);

        if (strstr(lines, "\"diagnosis\""))
                found->n++;
        (void) snprintf(found->lines + n, sizeof(found->lines) - n, "%s", lines);
        return found->reader ? stream_reader_feed(found->reader, lines, strlen(lines)) : 0;
}

/* All that the step says is read as the worker does. */
static inline void found_begin(Found *found, const Location *unit, const Check *check) {
        char id[LOCATION_STRING_MAX + 64], text[LOCATION_STRING_MAX], *start;

        found->n = 0;
        found->lines[0] = found->message[0] = '\0';
        found->beyond = VERDICT_PASSED;
        (void) snprintf(id, sizeof(id), "%s:%s", location_format(unit, text), check->name);
        start = stream_step_start(id, check->name);
        found->reader = NULL;
        if (hall_holds && (!start || stream_reader_new(false, 0, held_event, &found->beyond, &found->reader) < 0 ||
                           stream_reader_feed(found->reader, start, strlen(start)) < 0))
                abort();
        free(start);
}

/* Runs CHECK on the chip of DEVICE, or on its server where it is for all chips. Lines of the step go to FOUND. */
static inline Verdict hall_scan(Device *device, const Check *check, const void *parameters, Found *found) {
        StepServer servers[1] = { { .device = device, .included = 0xffff } };
        StepSettings settings = {
                .name = check->name, .n_servers = 1, .servers = servers, .parameters = parameters, .seed = hall_seed, .budget_sec = 600,
                .required = true, .write = found_write, .userdata = found,
        };
        StepEnd end = { .verdict = _VERDICT_INVALID };
        Step *step = NULL;

        (void) snprintf(servers[0].name, sizeof(servers[0].name), "%s", device_server(device));
        (void) snprintf(settings.unit.server, sizeof(settings.unit.server), "%s", device_server(device));
        if (device_chip(device) != WIRE_CHIP_ALL)
                (void) location_append(&settings.unit, LOCATION_CHIP, device_chip(device));
        found_begin(found, &settings.unit, check);
        if (step_new(&settings, &step) >= 0) {
                step_run(step, check, &end);
                if (end.message) {
                        fprintf(stderr, "%s\n", end.message);
                        (void) snprintf(found->message, sizeof(found->message), "%s", end.message);
                }
        }
        (void) step_free(step);
        found->reader = stream_reader_free(found->reader);
        return end.verdict;
}

/* The same on a chip of the scenario TEXT. */
static inline Verdict hall_judge(const char *text, const Check *check, const char *server, unsigned chip, const void *parameters,
                                 Found *found) {
        Device *device = hall_device(text, server, chip, 1 << 20);
        Verdict verdict = device ? hall_scan(device, check, parameters, found) : _VERDICT_INVALID;

        (void) device_free(device);
        return verdict;
}

/* Whether a finding of CODE at a place that ends in AT was written. */
static inline bool found_has(const Found *found, const char *code, const char *at) {
        char location[LOCATION_STRING_MAX + 16];
        const char *line = found->lines, *end;

        (void) snprintf(location, sizeof(location), "%s\"", at);
        for (; (end = strchr(line, '\n')); line = end + 1) {
                const char *code_at = memmem(line, (size_t) (end - line), code, strlen(code));

                if (code_at && code_at[strlen(code)] == '"' && memmem(line, (size_t) (end - line), location, strlen(location)))
                        return true;
        }
        return false;
}

typedef struct Expected {
        const char *code, *at;
} Expected;

/* Whether these were found, and nothing else; prints what is otherwise. */
static inline bool found_all(const Found *found, const Expected *expected, size_t n) {
        bool all = found->n == n;

        for (size_t i = 0; i < n; i++)
                if (!found_has(found, expected[i].code, expected[i].at)) {
                        fprintf(stderr, "no %s at %s\n", expected[i].code, expected[i].at);
                        all = false;
                }
        if (!all)
                fprintf(stderr, "%zu wanted, %u found:\n%s", n, found->n, found->lines);
        return all;
}

/* What was measured as NAME first; -1: nothing. */
static inline double found_value(const Found *found, const char *name) {
        char text[128];
        const char *at;

        (void) snprintf(text, sizeof(text), "\"name\":\"%s\",\"value\":", name);
        at = strstr(found->lines, text);
        return at ? atof(at + strlen(text)) : -1;
}
