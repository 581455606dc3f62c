/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a march element costs: over a whole stack with none and with 1000 faults, and against a plain model that visits
 * every access of a small stack. And what a whole hbm step costs, worker and simulator together.
 */

#include <stdint.h>
#include <time.h>

#include "checks/plan/plan.h"
#include "tests/hall-device.h"

#include "sim/hbm/hbm.h"

#define ROUNDS 200

extern const Check check_hbm;

static double cpu_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

/* Runs March SS's second and third elements alternately; returns CPU µs of one. */
static double march_usec(Device *device, unsigned n_stacks, unsigned mismatches_max) {
        WireCommand commands[2 * STACKS];
        double start;

        for (unsigned i = 0; i < 2 * n_stacks; i++) {
                bool second = i >= n_stacks;

                commands[i] = (WireCommand) {
                        .type       = COMMAND_HBM_MARCH,
                        .unit       = (uint8_t) (i % n_stacks),
                        .out_bytes  = mismatches_max * (uint32_t) sizeof(WireMismatch),
                        .march      = { .box = { .last = { 15, 1, 2, 3, 3, 16383, 31 } }, .n_ops = 5,
                                        .mismatches_max = mismatches_max },
                };
                memcpy(commands[i].march.ops, second ? "\x01\x01\x81\x01\x80" : "\x00\x00\x80\x00\x81", 5);
        }

        /* Once to write, then measured. */
        (void) device_execute(device, commands, 2 * n_stacks, NULL);
        start = cpu_usec();
        for (unsigned i = 0; i < ROUNDS; i++)
                if (device_execute(device, commands, 2 * n_stacks, NULL) < 0)
                        abort();
        return (cpu_usec() - start) / (2 * ROUNDS);
}

/* A scenario with N stuck cells, rows and banks spread over stack 0. */
static char *faulty(unsigned n) {
        char *text = malloc(256 + n * 128ul), *p = text;
        uint64_t x = 1;

        p += sprintf(p, "scenario: bench\nseed: 1\ntopology: {ultraservers: 1}\nfaults:%s\n", n ? "" : " []");
        for (unsigned i = 0; i < n; i++) {
                x = memory_splitmix64(x);
                p += sprintf(p, "  - {at: us0-0/chip0/hbm0/ch%u/pc%u/sid%u/bg%u/ba%u/row%u", (unsigned) (x & 15),
                             (unsigned) (x >> 4 & 1), (unsigned) (x >> 5) % 3, (unsigned) (x >> 8 & 3),
                             (unsigned) (x >> 10 & 3), (unsigned) (x >> 12 & 16383));
                if (i % 10 == 9)
                        p += sprintf(p, ", kind: row-dead, reads: inverted}\n");
                else
                        p += sprintf(p, "/col%u/bit%u, kind: stuck-at, value: %u}\n", (unsigned) (x >> 26 & 31),
                                     (unsigned) (x >> 31 & 255), (unsigned) (x >> 39 & 1));
        }
        return text;
}

/* N rows, parts of rows, bit lines and columns of stack 0, in few banks, so that they cross. */
static char *structures(unsigned n) {
        char *text = malloc(256 + n * 128ul), *p = text;
        uint64_t x = 1;

        p += sprintf(p, "scenario: bench\nseed: 1\ntopology: {ultraservers: 1}\nfaults:\n");
        for (unsigned i = 0; i < n; i++) {
                unsigned row, col;

                x = memory_splitmix64(x);
                row = (unsigned) (x >> 12 & 16383);
                col = (unsigned) (x >> 26 & 31);
                p += sprintf(p, "  - {reads: inverted, at: us0-0/chip0/hbm0/ch%u/pc0/sid0/bg%u/ba%u", (unsigned) (x & 15),
                             (unsigned) (x >> 8 & 3), (unsigned) (x >> 10 & 3));
                if (i % 4 == 0)
                        p += sprintf(p, "/row%u/swl%u, kind: sub-wordline}\n", row, (unsigned) (x >> 31 & 15));
                else if (i % 4 == 1)
                        p += sprintf(p, "/row%u, kind: row-dead}\n", row);
                else if (i % 4 == 2)
                        p += sprintf(p, "/sub%u/col%u/bit%u, kind: bit-line}\n", row / 512, col, (unsigned) (x >> 31 & 255));
                else
                        p += sprintf(p, "/col%u/bit%u, kind: column-select}\n", col, (unsigned) (x >> 31 & 255));
        }
        return text;
}

/* Every address line of stack 0 that can be: one into each stack ID of each pseudo-channel. */
static char *address_lines(void) {
        char *text = malloc(96 * 128ul + 256), *p = text;

        p += sprintf(p, "scenario: bench\nseed: 1\ntopology: {ultraservers: 1}\nfaults:\n");
        for (unsigned i = 0; i < 96; i++)
                p += sprintf(p, "  - {at: us0-0/chip0/hbm0/ch%u/pc%u/sid%u, kind: address-tsv, line: row%u, value: %u}\n", i / 6,
                             i / 3 % 2, i % 3, i % 14, i & 1);
        return text;
}

/* CPU µs of one element over stack 0 with these faults. */
static double with_faults(char *text) {
        Device *device = hall_device(text, "us0-0", 0, 4 << 20);
        double usec;

        if (!device)
                abort();
        usec = march_usec(device, 1, 1024);
        device_free(device);
        free(text);
        return usec;
}

/* What visiting every access costs: the same element on memory of 1 MiB, in µs for each access. */
static double plain_usec_of_access(void) {
        enum { ACCESSES = 32768 };
        uint64_t *memory = calloc(ACCESSES, 32), wrong = 0, invert = 0;
        double start = cpu_usec();

        for (unsigned round = 0; round < 20; round++) {
                for (size_t i = 0; i < ACCESSES * 4ul; i++) {
                        wrong += memory[i] != invert;
                        wrong += memory[i] != invert;
                        *(volatile uint64_t *) &memory[i] = invert;
                        wrong += *(volatile uint64_t *) &memory[i] != invert;
                        *(volatile uint64_t *) &memory[i] = ~invert;
                }
                invert = ~invert;
        }
        start = (cpu_usec() - start) / (20.0 * ACCESSES);
        if (wrong > 0)
                abort();
        free(memory);
        return start;
}

static double step_usec(void) {
        Found *found = calloc(1, sizeof(Found));
        char *text = faulty(0);
        Device *device = hall_device(text, "us0-0", 0, 4 << 20);
        StepServer servers[1] = { { .name = "us0-0", .device = device, .included = 0xffff } };
        StepSettings settings = {
                .name = "hbm", .n_servers = 1, .servers = servers, .seed = 1, .budget_sec = 1e9, .required = true,
                .parameters = *check_word_find("hbm")->parameters_defaults, .write = found_write, .userdata = found,
        };
        double start = 0;

        (void) snprintf(settings.unit.server, sizeof(settings.unit.server), "us0-0");
        (void) location_append(&settings.unit, LOCATION_CHIP, 0);
        for (unsigned i = 0; i <= ROUNDS; i++) {
                StepEnd end;
                Step *step;

                if (i == 1)
                        start = cpu_usec();
                found->lines[0] = '\0';
                if (step_new(&settings, &step) < 0)
                        abort();
                step_run(step, &check_hbm, &end);
                if (end.verdict != VERDICT_PASSED)
                        abort();
                step_free(step);
        }
        start = (cpu_usec() - start) / ROUNDS;
        device_free(device);
        free(text);
        free(found);
        return start;
}

int main(void) {
        double plain = plain_usec_of_access() * 805306368.0; /* of a whole stack */
        char *clean = faulty(0), *sick = faulty(1000);
        Device *healthy = hall_device(clean, "us0-0", 0, 4 << 20), *faults = hall_device(sick, "us0-0", 0, 4 << 20);
        double stack, chip, faulty_stack, crossing, astray;

        if (!healthy || !faults)
                return 1;

        stack = march_usec(healthy, 1, 1024);
        chip = march_usec(healthy, STACKS, 1024);
        faulty_stack = march_usec(faults, 1, 1024);

        printf("hbm-element-stack %.2f us %.3g to plain-stack\n", stack, stack / plain);
        printf("hbm-element-chip %.2f us %.3g to plain-chip\n", chip, chip / plain / STACKS);
        printf("hbm-element-1000-faults %.2f us %.3g to plain-stack\n", faulty_stack, faulty_stack / plain);
        printf("hbm-element-per-fault %.3f us\n", (faulty_stack - stack) / 1000);
        crossing = with_faults(structures(1000));
        printf("hbm-element-1000-structures %.2f us %.3g to plain-stack\n", crossing, crossing / plain);
        astray = with_faults(address_lines());
        printf("hbm-element-96-address-lines %.2f us %.3g to plain-stack\n", astray, astray / plain);
        printf("hbm-step-healthy %.0f us\n", step_usec());

        device_free(healthy);
        device_free(faults);
        free(clean);
        free(sick);
        return 0;
}
