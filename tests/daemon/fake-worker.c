/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A worker that tests no device. How it behaves stands where a socket would: "sim:pass#us0-1". It reads a request as
 * assay-run does; what it says is made with the writer, so that only what is meant to be wrong is wrong.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/plan/plan.h"
#include "checks/stream/stream.h"
#include "checks/vocabulary/topology.h"
#include "tests/checks/sound.h"

#define TARGETS_MAX 64

typedef struct Request {
        json_t *header;
        char behaviour[64];
        uint64_t sequence;
        bool is_first;
        Plan *plan;
        size_t n_chips;
        Location chips[TARGETS_MAX];
} Request;

static void say(Request *request, char *lines) {
        char *rest = lines, *line;

        while ((line = strsep(&rest, "\n")) && *line) {
                char *ended = NULL, *numbered;

                if (asprintf(&ended, "%s\n", line) < 0)
                        exit(9);
                numbered = stream_number(ended, request->sequence++);
                fputs(numbered, stdout);
                free(numbered);
                free(ended);
        }
        fflush(stdout);
        free(lines);
}

static void pause_msec(long msec) {
        struct timespec time = { msec / 1000, (msec % 1000) * 1000000 };

        (void) nanosleep(&time, NULL);
}

static void read_request(Request *request) {
        static char line[1 << 20], text[PLAN_BYTES_MAX];
        char *error = NULL, *target, *rest;
        Location where;
        size_t n;

        if (!fgets(line, sizeof(line), stdin))
                exit(9);
        request->header = json_loads(line, 0, NULL);
        n = (size_t) json_integer_value(json_object_get(request->header, "plan_bytes"));
        if (n > sizeof(text) || fread(text, 1, n, stdin) != n ||
            plan_parse("plan", text, n, &request->plan, &error) < 0)
                exit(9);

        request->sequence = (uint64_t) json_integer_value(json_object_get(request->header, "first_sequence"));
        request->is_first = request->sequence == 0;
        (void) snprintf(line, sizeof(line), "%s", json_string_value(json_object_get(request->header, "device")));
        rest = strchr(line, '#');
        *rest++ = '\0';
        (void) snprintf(request->behaviour, sizeof(request->behaviour), "%.63s", line + strlen("sim:"));
        while ((target = strsep(&rest, ","))) {
                if (location_parse(target, &where, NULL, NULL) < 0)
                        exit(9);
                if (location_kind(&where) == LOCATION_CHIP)
                        request->chips[request->n_chips++] = where;
                for (unsigned c = 0; location_kind(&where) == LOCATION_SERVER && c < 16; c++) {
                        request->chips[request->n_chips] = where;
                        (void) location_append(&request->chips[request->n_chips++], LOCATION_CHIP, c);
                }
        }
}

/* Whoever relies on the topology wants to know of itself, and of no others. */
static void want_topology(const Request *request) {
        const char *text = json_string_value(json_object_get(request->header, "topology"));
        Topology *topology;
        TopologyRing ring;
        char *error;

        if (!text || topology_parse("topology", text, strlen(text), &topology, &error) < 0 || topology->n_rings != 1 ||
            topology_ring(topology, request->chips[0].server, &ring) < 0)
                exit(9);
        topology_free(topology);
}

static bool is_done(const Request *request, const char *id) {
        const json_t *done = json_object_get(request->header, "done");
        size_t i;
        json_t *item;

        json_array_foreach(done, i, item)
                if (strcmp(json_string_value(item), id) == 0)
                        return true;

        return false;
}

static void begin(Request *request) {
        Hardware hardware[TARGETS_MAX] = {};
        char serials[TARGETS_MAX][24];
        RunStart start = { .version = "0", .command_line = "fake", .plan = request->plan->name,
                           .plan_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                           .dut = "us0-0", .n_hardware = request->n_chips, .hardware = hardware };

        for (size_t i = 0; i < request->n_chips; i++) {
                (void) snprintf(serials[i], sizeof(serials[i]), "SN%zu", i);
                hardware[i] = (Hardware) { .where = request->chips[i], .name = "chip", .serial = serials[i],
                                           .part_number = "P", .firmware = "1", .tray = "tray 0", .pci_address = "0" };
        }
        if (request->is_first) {
                say(request, stream_schema_version());
                say(request, stream_run_start(&start));
        }
}

static void step(Request *request, size_t chip, size_t index, Verdict verdict) {
        const char *check = request->plan->steps[index].check->name;
        StepEnd end = { .verdict = verdict, .required = true, .runs = 1 };
        char where[LOCATION_STRING_MAX], id[LOCATION_STRING_MAX + 64];
        Measurement value;

        (void) snprintf(id, sizeof(id), "%s:%s", location_format(&request->chips[chip], where),
                        request->plan->steps[index].name);
        if (is_done(request, id))
                return;

        say(request, stream_step_start(id, check));
        if (strcmp(request->behaviour, "lie") == 0 && chip == 1) {
                Finding finding = { .code = "device-hang", .severity = SEVERITY_FAIL, .where = request->chips[chip],
                                    .message = "found", .reproduced = 1, .runs = 1 };
                say(request, stream_finding(id, &finding));
        }
        if (strcmp(request->behaviour, "die") == 0 || (strcmp(request->behaviour, "die-once") == 0 && request->is_first))
                exit(1);
        if (strcmp(request->behaviour, "half-line") == 0 && request->is_first) {
                printf("{\"testStepArtifact\":");
                fflush(stdout);
                exit(1);
        }
        if (strcmp(request->behaviour, "slow") == 0)
                pause_msec(5);
        if (strcmp(request->behaviour, "stuck") == 0 && chip == 3 && request->is_first)
                pause_msec(60000);
        for (size_t i = 0; sound_value(check, &request->chips[chip], &i, &value);)
                say(request, stream_measurement(id, &value));
        say(request, stream_step_end(id, &end));
}

static void misbehave(Request *request) {
        if (strcmp(request->behaviour, "with-topology") == 0)
                want_topology(request);

        static char noise[4096];

        if (strcmp(request->behaviour, "garbage") == 0)
                for (unsigned i = 0; i < 100; i++)
                        printf("%c\xff\x01{]garbage\n", (int) (i * 37 % 256));
        if (strcmp(request->behaviour, "wrong-number") == 0)
                request->sequence += 5;
        if (strcmp(request->behaviour, "silence") == 0)
                pause_msec(60000);
        memset(noise, 'x', sizeof(noise));
        while (strcmp(request->behaviour, "flood-line") == 0)
                if (fwrite(noise, 1, sizeof(noise), stdout) == 0)
                        exit(1);
        while (strcmp(request->behaviour, "flood") == 0)
                say(request, stream_log("INFO", "the same and the same and the same and the same and the same"));
        while (strcmp(request->behaviour, "endless") == 0) {
                say(request, stream_log("INFO", "still here"));
                pause_msec(10);
        }
        if (strcmp(request->behaviour, "nothing-tested") == 0) {
                say(request, stream_run_end(RESULT_PASSED));
                exit(0);
        }
        if (strcmp(request->behaviour, "refuse") == 0) {
                say(request, stream_run_error("device-error", "no server answers there"));
                say(request, stream_run_end(RESULT_INCONCLUSIVE));
                exit(0);
        }
}

int main(void) {
        static Request request;

        read_request(&request);
        if (strcmp(request.behaviour, "mute") == 0)
                return 0;
        if (strcmp(request.behaviour, "deaf") == 0)
                pause_msec(60000);

        begin(&request);
        misbehave(&request);
        for (size_t chip = 0; chip < request.n_chips; chip++)
                for (size_t i = 0; i < request.plan->n_steps; i++)
                        step(&request, chip, i, VERDICT_PASSED);

        say(&request, stream_run_end(RESULT_PASSED));
        return 0;
}
