/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What faults of a tensor engine cost: CPU time of one matmul with a faulty element, and of a chip in `systolic` with many in one
 * core, model and check together and apart. What healthy chips cost is the affair of bench-steps. One line per figure: NAME VALUE UNIT.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/systolic/parameters.h"
#include "sim/tensor/memo.h"
#include "tests/checks/tensor-chip.h"

extern const Check check_systolic;

static TensorOutcome outcome;

static double cpu_now(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static void must(bool held, const char *what) {
        if (held)
                return;

        fprintf(stderr, "bench-systolic: %s\n", what);
        exit(EXIT_FAILURE);
}

/* N stuck bits of elements all over one core. */
static void bench_faults(TensorChip *chip, const void *parameters, const char *name, unsigned n) {
        static const char *const kinds[] = { "weight-stuck", "product-stuck", "psum-stuck", "activation-stuck" };
        double begin;

        srandom(n);
        for (unsigned i = 0; i < n; i++) {
                char where[32];

                (void) snprintf(where, sizeof(where), "core0/pe%u.%ld", i % PE_ROWS, random() % PE_COLUMNS);
                tensor_chip_inject(chip, kinds[i % ELEMENTS(kinds)], where,
                                   (TensorParameters){ .bit = (uint64_t) random() % 16, .value = (uint64_t) random() % 2 }, 1);
        }

        chip->model_sec = 0;
        begin = cpu_now();
        tensor_chip_run(chip, &check_systolic, parameters, &outcome);
        begin = cpu_now() - begin;
        must(outcome.error == 0 && outcome.verdict == VERDICT_FAILED, "a faulty chip did not fail");
        tensor_chip_heal(chip);
        printf("%s_with_%u_faults %.1f ms (%zu findings)\n", name, n, begin * 1e3, outcome.n_findings);
        printf("%s_with_%u_faults_model %.1f ms\n", name, n, chip->model_sec * 1e3);
}

/* Faults of every reach, that change something in all of the data below. */
static const struct {
        const char *kind, *where;
        TensorParameters parameters;
} cones[] = {
        { "product-stuck",         "core0/pe64.64", { .bit = 9, .value = 1 }                },
        { "multiplier-gate-stuck", "core0/pe64.64", { .a = 11, .b = 5, .value = 0 }         },
        { "adder-carry-stuck",     "core0/pe64.64", { .bit = 20, .value = 1 }               },
        { "psum-slow",             "core0/pe64.64", { .bit = 21, .edge = EDGE_RISE }        },
        { "weight-shift-stuck",    "core0/pe64.64", { .bit = 3, .value = 1 }                },
        { "column-lane-stuck",     "core0",         { .column = 64, .bit = 3, .value = 1 }  },
        { "pe-block-dead",         "core0",         { .row_group = 2, .column_group = 2 }   },
        { "activation-stuck",      "core0/pe64.64", { .bit = 3, .value = 1 }                },
};

/* Load and matmul, the best of seven: host time; in *ret_device the virtual time of the device. */
static double run_matmul(TensorChip *chip, unsigned moving, bool forget, double *ret_device) {
        WireCommand commands[2] = {
                { .type = COMMAND_LOAD_STATIONARY,
                  .in_bytes = PE_ROWS * PE_COLUMNS * 2,
                  .load = { .rows = PE_ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16 } },
                { .type = COMMAND_MATMUL,
                  .in_offset = PE_ROWS * PE_COLUMNS * 2,
                  .in_bytes = PE_ROWS * moving * 2,
                  .out_offset = 512 << 10,
                  .out_bytes = PE_COLUMNS * moving * 4,
                  .matmul = { .moving = (uint16_t) moving, .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16 } },
        };
        WireCompletion completions[2];
        double best = 1e9;

        for (unsigned i = 0; i < 7; i++) {
                double begin;

                if (forget)
                        memo_forget();
                begin = cpu_now();
                must(device_execute(chip->device, commands, 2, completions) == 0, "a matmul failed");
                begin = cpu_now() - begin;
                best = begin < best ? begin : best;
        }

        *ret_device = (double) (completions[0].device_nsec + completions[1].device_nsec) * 1e-9;
        return best;
}

/* One matmul of 128 × 128 × MOVING of NOISE (else one-hot), from scratch and with one thing faulty. */
static void bench_cone(TensorChip *chip, bool noise, unsigned moving, const char *name) {
        uint16_t *w = (uint16_t *) chip->window, *x = w + PE_ROWS * PE_COLUMNS;
        double full, device;

        for (unsigned i = 0; i < PE_ROWS * PE_COLUMNS; i++)
                w[i] = (uint16_t) (0x3f00 + random() % 0x100);
        for (unsigned i = 0; i < PE_ROWS * moving; i++)
                x[i] = noise || i / moving == i % moving ? (uint16_t) (0x3f00 + random() % 0x100) : 0;

        full = run_matmul(chip, moving, true, &device);
        printf("%s_matmul_device %.6f ms\n", name, device * 1e3);
        printf("%s_matmul %.3f ms RATIO %.0f to %s_matmul_device\n", name, full * 1e3, full / device, name);

        for (unsigned i = 0; i < ELEMENTS(cones); i++) {
                double best;

                tensor_chip_inject(chip, cones[i].kind, cones[i].where, cones[i].parameters, 1);
                best = run_matmul(chip, moving, false, &device);
                tensor_chip_heal(chip);
                printf("%s_cone_%s %.3f ms RATIO %.3f to %s_matmul\n", name, cones[i].kind, best * 1e3, best / full, name);
        }
}

int main(void) {
        static const SystolicParameters structure = { .patterns = SYSTOLIC_STRUCTURE, .formats = (1u << _FORMAT_MAX) - 1, .repeats = 1 };
        static const SystolicParameters whole = { .patterns = SYSTOLIC_ALL, .formats = (1u << _FORMAT_MAX) - 1, .repeats = 1 };
        static const unsigned faults[] = { 1, 10, 100 };
        TensorChip chip;

        check_systolic.prepare();
        tensor_chip_init(&chip);
        chip.measure = true;
        bench_cone(&chip, false, 128, "one_hot");
        bench_cone(&chip, true, 128, "dense");
        for (unsigned i = 0; i < ELEMENTS(faults); i++) {
                bench_faults(&chip, &structure, "structure", faults[i]);
                bench_faults(&chip, &whole, "whole", faults[i]);
        }
        tensor_chip_done(&chip);
        return EXIT_SUCCESS;
}
