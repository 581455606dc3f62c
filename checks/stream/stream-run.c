/* SPDX-License-Identifier: Apache-2.0 */

/* Stream: what the reader makes of the lines of the run. */

#include <stdio.h>
#include <string.h>

#include "checks/stream/stream-state.h"
#include "checks/text/cleanup.h"

#define HARDWARE_MAX    512
#define PCI_ADDRESS_MAX 64

bool stream_is_declared(const StreamReader *reader, const char *server) {
        for (size_t i = 0; i < reader->n_servers; i++)
                if (strcmp(reader->servers[i], server) == 0)
                        return true;

        return reader->n_servers == 0;
}

static int declare_server(StreamReader *reader, const char *server) {
        ServerName *larger;

        if (reader->n_servers > 0 && stream_is_declared(reader, server))
                return 0;

        larger = reallocarray(reader->servers, reader->n_servers + 1, sizeof(*larger));
        if (!larger)
                return stream_no_memory(reader);

        reader->servers = larger;
        (void) snprintf(larger[reader->n_servers++], sizeof(*larger), "%s", server);
        return 0;
}

/* NULL: none is told. */
static const json_t *firmware_of(const json_t *dut, const char *id) {
        size_t i;
        json_t *info;

        json_array_foreach(json_object_get(dut, "softwareInfos"), i, info)
                if (strcmp(stream_text(info, "computerSystem"), id) == 0 &&
                    strcmp(stream_text(info, "softwareType"), "FIRMWARE") == 0)
                        return info;

        return NULL;
}

/* Metadata holds what it likes: the schema has not looked into it. */
static const char *pci_address_of(const json_t *dut, const char *id) {
        const json_t *addresses = json_object_get(json_object_get(dut, "metadata"), "pciAddresses");
        const char *text = stream_text(addresses, id);

        size_t n = strspn(text, "0123456789abcdefABCDEF:.");

        return text[n] == '\0' && n < PCI_ADDRESS_MAX ? text : "";
}

static int on_hardware(StreamReader *reader, const json_t *dut, const json_t *info) {
        const char *id = stream_text(info, "hardwareInfoId");
        Event event = { .type = EVENT_HARDWARE };
        int r;

        if (location_parse(id, &event.hardware.where, NULL, NULL) < 0 || event.hardware.where.n_parts > 1)
                return stream_refuse(reader, "'hardwareInfoId' is neither a server nor a chip");

        r = declare_server(reader, event.hardware.where.server);
        if (r < 0)
                return r;

        event.hardware.name = stream_text(info, "name");
        event.hardware.serial = stream_text(info, "serialNumber");
        event.hardware.part_number = stream_text(info, "partNumber");
        event.hardware.tray = stream_text(info, "location");
        event.hardware.firmware = stream_text(firmware_of(dut, id), "version");
        event.hardware.firmware_build = stream_text(firmware_of(dut, id), "revision");
        event.hardware.pci_address = pci_address_of(dut, id);
        return stream_emit(reader, NULL, &event);
}

/* Parameters are free-form: a plan's name is taken only where it looks like one. */
static const char *plan_name_of(const json_t *parameters, const char *name) {
        const char *text = stream_text(parameters, name);
        size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return text[n] == '\0' && n < STREAM_STEP_NAME_MAX ? text : "";
}

/* Members that are no numbers, or more than a plan may have, are nobody's promises. */
static size_t read_promises(const json_t *parameters, Promise ret[static STREAM_PROMISES_MAX]) {
        const char *name;
        json_t *value;
        size_t n = 0;

        /* jansson only wants to change what it iterates over. */
        json_object_foreach((json_t *) (uintptr_t) json_object_get(parameters, "coverage"), name, value)
                if (json_is_number(value) && n < STREAM_PROMISES_MAX && strlen(name) < STREAM_STEP_NAME_MAX)
                        ret[n++] = (Promise) { name, json_number_value(value) };
        return n;
}

/* A statement that is none, or more than a plan may make, is nobody's. */
static size_t read_escapes(const json_t *parameters, StatedEscape ret[static STREAM_ESCAPES_MAX]) {
        const char *name;
        json_t *value;
        size_t n = 0;

        json_object_foreach((json_t *) (uintptr_t) json_object_get(parameters, "escapes"), name, value) {
                double always = json_number_value(json_array_get(value, 0)), commands = json_number_value(json_array_get(value, 1));

                if (json_array_size(value) == 2 && json_is_number(json_array_get(value, 0)) && json_is_number(json_array_get(value, 1)) &&
                    always >= 0 && always <= 1 && commands >= 0 && n < STREAM_ESCAPES_MAX && strlen(name) < STREAM_STEP_NAME_MAX)
                        ret[n++] = (StatedEscape) { name, always, commands };
        }
        return n;
}

static int on_run_start(StreamReader *reader, json_t *start) {
        const json_t *dut = json_object_get(start, "dutInfo"), *hardware = json_object_get(dut, "hardwareInfos");
        Event event = { .type = EVENT_RUN_START };
        Promise promises[STREAM_PROMISES_MAX];
        StatedEscape escapes[STREAM_ESCAPES_MAX];
        size_t i;
        json_t *info;
        int r;

        if (!reader->numbered)
                return stream_refuse(reader, "testRunStart in the lines of a child");
        if (reader->started || reader->n_steps > 0)
                return stream_refuse(reader, "testRunStart comes twice or late");
        if (json_array_size(hardware) > HARDWARE_MAX)
                return stream_refuse(reader, "more than %d parts", HARDWARE_MAX);

        reader->started = true;
        event.plan = plan_name_of(json_object_get(start, "parameters"), "plan");
        event.n_promises = read_promises(json_object_get(start, "parameters"), promises);
        event.promises = promises;
        event.n_escapes = read_escapes(json_object_get(start, "parameters"), escapes);
        event.escapes = escapes;
        r = stream_emit(reader, NULL, &event);
        if (r < 0)
                return r;

        json_array_foreach(hardware, i, info) {
                r = on_hardware(reader, dut, info);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The pairs that OCP allows, and what they are to us. */
static Result read_result(const json_t *end) {
        static const struct {
                const char *status, *result;
                Result means;
        } pairs[] = {
                { "COMPLETE", "PASS", RESULT_PASSED },
                { "COMPLETE", "FAIL", RESULT_FAILED },
                { "ERROR", "NOT_APPLICABLE", RESULT_INCONCLUSIVE },
                { "SKIP", "NOT_APPLICABLE", RESULT_INCONCLUSIVE },
        };

        for (size_t i = 0; i < ELEMENTS(pairs); i++)
                if (strcmp(stream_text(end, "status"), pairs[i].status) == 0 &&
                    strcmp(stream_text(end, "result"), pairs[i].result) == 0)
                        return pairs[i].means;

        return _RESULT_INVALID;
}

static int on_run_end(StreamReader *reader, json_t *end) {
        Event event = { .type = EVENT_RUN_END, .result = read_result(end) };

        if (!reader->numbered)
                return stream_refuse(reader, "testRunEnd in the lines of a child");
        if (!reader->started && reader->first == 0 && event.result != RESULT_INCONCLUSIVE)
                return stream_refuse(reader, "testRunEnd before testRunStart");
        if (reader->n_open > 0)
                return stream_refuse(reader, "testRunEnd with %zu steps open", reader->n_open);
        if (event.result < 0)
                return stream_refuse(reader, "status and result of the run do not go together");
        if (event.result == RESULT_PASSED && (reader->step_failed || reader->errored))
                return stream_refuse(reader, "a run with a failed step or an error cannot have passed");

        if (event.result == RESULT_PASSED && reader->warned)
                event.result = RESULT_WARNED;

        reader->ended = true;
        return stream_emit(reader, NULL, &event);
}

static int on_run_error(StreamReader *reader, json_t *error) {
        const char *message = stream_text_if(error, "message");
        const char *symptom = stream_text(error, "symptom");
        Event event = { .type = EVENT_ERROR, .message = message ? message : symptom };

        if (reason_from_string(symptom) == REASON_DEVICE_UNREACHABLE)
                event.end.reason = REASON_DEVICE_UNREACHABLE; /* else the worker's own */

        reader->errored = true;
        return stream_emit(reader, NULL, &event);
}

static int on_run_log(StreamReader *reader, json_t *line) {
        Event event = { .type = EVENT_LOG, .message = stream_text(line, "message") };

        return stream_emit(reader, NULL, &event);
}

static const struct {
        const char *name;
        int (*handle)(StreamReader *reader, json_t *object);
} run_artifacts[] = {
        { "testRunStart", on_run_start },
        { "testRunEnd", on_run_end },
        { "error", on_run_error },
        { "log", on_run_log },
};

int stream_on_run(StreamReader *reader, const json_t *artifact) {
        for (size_t i = 0; i < ELEMENTS(run_artifacts); i++) {
                json_t *object = json_object_get(artifact, run_artifacts[i].name);

                if (object)
                        return run_artifacts[i].handle(reader, object);
        }

        return stream_refuse(reader, "an artifact that is not known");
}
