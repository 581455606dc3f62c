/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What faults of cells cost: a million random ones of all primitives, over the 256 stacks of 64 chips, through all elements of
 * March SS; against a plain loop over every access, extrapolated.
 */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/memory/march/notation.h"
#include "sim/chip/chip.h"
#include "sim/hbm/hbm.h"
#include "sim/memory/cells/faults.h"

#define BENCH_CHIPS  64u
#define BENCH_FAULTS 1000000u
#define MISMATCHES   4096u /* told of each element and stack; all are counted */
#define ACCESSES     805306368.0 /* of a stack */

typedef struct BenchFault {
        Fault fault;
        MemoryPrimitiveFault parameters;
} BenchFault;

typedef struct BenchPrimitive {
        const FaultKind *kind;
        Primitive primitive;
} BenchPrimitive;

static double cpu_sec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static uint64_t random_u64(void) {
        static uint64_t state;

        return memory_splitmix64(++state);
}

static unsigned below(unsigned n) {
        return (unsigned) ((random_u64() >> 33) % n);
}

/* All primitives that are laid by their text. */
static size_t all_primitives(BenchPrimitive *ret) {
        const PrimitiveClass *class;
        size_t n = 0;

        for (size_t i = 0; (class = primitive_class_at(i)); i++)
                for (const FaultKind *kind = memory_fault_kinds + _MEMORY_KIND_PRIMITIVES; kind->name; kind++)
                        for (size_t k = 0; strcmp(kind->name, class->kind) == 0 && class->primitives[k]; k++) {
                                ret[n].kind = kind;
                                if (primitive_parse(class->primitives[k], &ret[n++].primitive, NULL, NULL) < 0)
                                        abort();
                        }
        return n;
}

static Location random_cell(unsigned chip, unsigned stack) {
        static const struct {
                LocationKind kind;
                unsigned n;
        } parts[] = { { LOCATION_CHANNEL, 16 }, { LOCATION_PSEUDO_CHANNEL, 2 }, { LOCATION_SID, 3 }, { LOCATION_BANK_GROUP, 4 },
                      { LOCATION_BANK, 4 },     { LOCATION_ROW, 16384 },        { LOCATION_COLUMN, 32 }, { LOCATION_BIT, 256 } };
        Location at = { .server = "us0-0" };

        (void) location_append(&at, LOCATION_CHIP, chip);
        (void) location_append(&at, LOCATION_HBM, stack);
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
                (void) location_append(&at, parts[i].kind, below(parts[i].n));
        return at;
}

/* Half of all aggressors in the next row, the others anywhere in the stack. */
static Location random_aggressor(const Location *victim, unsigned chip, unsigned stack) {
        Location at = *victim;

        if (below(2))
                return random_cell(chip, stack);
        at.parts[at.n_parts - 3].index ^= 1;
        return at;
}

static void draw(BenchFault *f, const BenchPrimitive *primitives, size_t n, uint64_t id, unsigned chip, unsigned stack) {
        const BenchPrimitive *p = &primitives[below((unsigned) n)];

        *f = (BenchFault) {
                .fault = { .id = id, .kind = p->kind, .at = random_cell(chip, stack), .persistence = PERSISTENCE_PERMANENT,
                           .above = -1.0 / 0.0, .parameters = &f->parameters },
                .parameters = { .first = p->primitive },
        };
        if (p->primitive.pair)
                f->parameters.aggressor = random_aggressor(&f->fault.at, chip, stack);
}

static uint64_t run_element(Hbm *hbm, Chip *chip, const MarchElement *element, uint8_t *window) {
        WireCommand command = {
                .type      = COMMAND_HBM_MARCH,
                .out_bytes = MISMATCHES * sizeof(WireMismatch),
                .march     = { .box            = memory_box_whole(&hbm->memory.shape),
                               .descending     = element->direction == MARCH_DOWN,
                               .n_ops          = element->n_ops,
                               .mismatches_max = MISMATCHES },
        };
        WireCompletion completion = {};
        Execution execution = { .chip = chip, .command = &command, .in = window, .out = window, .window = window,
                                .window_bytes = command.out_bytes, .completion = &completion };

        memcpy(command.march.ops, element->ops, sizeof(command.march.ops));
        if (model_hbm.commands[command.type](hbm, &execution) < 0 || completion.status != STATUS_NRT_SUCCESS)
                abort();
        return completion.result[0];
}

/* Visiting every access of 1 MiB with one read and one write: seconds for each operation on an access. */
static double plain_sec_of_operation(void) {
        enum { N = 32768, ROUNDS = 40 };
        uint64_t *memory = calloc(N, 32), wrong = 0;
        double start = cpu_sec();

        for (unsigned round = 0; round < ROUNDS; round++)
                for (size_t i = 0; i < N * 4ul; i++) {
                        wrong += memory[i] != (round & 1 ? UINT64_MAX : 0);
                        *(volatile uint64_t *) &memory[i] = round & 1 ? 0 : UINT64_MAX;
                }
        start = (cpu_sec() - start) / (2.0 * ROUNDS * N);
        if (wrong > 0)
                abort();
        free(memory);
        return start;
}

static size_t heap_bytes(void) {
        struct mallinfo2 info = mallinfo2();

        return info.uordblks + info.hblkhd;
}

int main(void) {
        BenchFault *faults = calloc(BENCH_FAULTS, sizeof(BenchFault));
        uint8_t *window = malloc(MISMATCHES * sizeof(WireMismatch));
        double plain = plain_sec_of_operation(), start, laid, marched;
        Hbm *stacks[BENCH_CHIPS * STACKS];
        BenchPrimitive primitives[256];
        size_t n_primitives = all_primitives(primitives), before;
        uint64_t mismatches = 0, refused = 0;
        Hall *hall;
        March march;

        if (!faults || !window || hall_new(1, 60, true, 1, &hall) < 0 || march_read("March SS", &march, NULL, NULL) < 0)
                return 1;
        for (unsigned i = 0; i < BENCH_CHIPS * STACKS; i++)
                stacks[i] = chip_part(server_chip(hall_server_at(hall, i / STACKS / CHIPS), i / STACKS % CHIPS), &model_hbm, i % STACKS);
        for (unsigned i = 0; i < BENCH_FAULTS; i++) {
                unsigned stack = i % (BENCH_CHIPS * STACKS);

                draw(&faults[i], primitives, n_primitives, i + 1, stack / STACKS % CHIPS, stack % STACKS);
        }

        before = heap_bytes();
        start = cpu_sec();
        for (unsigned i = 0; i < BENCH_FAULTS; i++)
                refused += model_hbm.inject(stacks[i % (BENCH_CHIPS * STACKS)], &faults[i].fault) < 0;
        laid = cpu_sec() - start;

        start = cpu_sec();
        for (unsigned i = 0; i < BENCH_CHIPS * STACKS; i++)
                for (unsigned k = 0; k < march.n_elements; k++)
                        mismatches += run_element(stacks[i], stacks[i]->memory.chip, &march.elements[k], window);
        marched = cpu_sec() - start;

        plain *= ACCESSES * march_operations(&march);
        printf("cells-inject-1000000-faults %.3f s\n", laid);
        printf("cells-march-ss-1000000-faults-64-chips %.3f s %.3g to plain-64-chips\n", marched, marched / plain / (BENCH_CHIPS * STACKS));
        printf("cells-march-ss-faults %.3g faults/s\n", (BENCH_FAULTS - (double) refused) / marched);
        printf("cells-march-ss-chip-15625-faults %.3f ms %.3g to plain-chip\n", marched / BENCH_CHIPS * 1e3, marched / BENCH_CHIPS / (plain * STACKS));
        printf("cells-march-ss-mismatches %llu in all, %llu faults refused\n", (unsigned long long) mismatches, (unsigned long long) refused);
        printf("cells-memory %.0f By/fault of %zu more for what was asked\n", (double) (heap_bytes() - before) / BENCH_FAULTS, sizeof(BenchFault));
        (void) hall_free(hall);
        free(faults);
        free(window);
        return 0;
}
