/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A core whose sums are not what they should be: is it PSUM, and what of it?
 *
 *  - The flag: what four matmuls on one place leave, element by element, against what a flag that is stuck in some of them makes
 *    of it. The place holds zeros before, copied in by the SRAM's own way.
 *  - Lines of the address: a number read in another place says where it was stored. All partitions must agree; and the same
 *    number, led through the array alone to one place, must come out right, else the array made it.
 *  - Elements: what the array spoils it spoils in every bank, an element of PSUM in its own. Several rounds, so that what comes
 *    and goes is seen in more than one place, if that is where it comes from.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/psum/examination.h"

#define ROUNDS      3u /* of elements and addresses: eight matmuls each to any partition of a bank */
#define FLAG_ROUNDS 8u

/* The SRAM's own way to the place: where it fails, what the sequence begins with is unknown and explains nothing. */
static int zero_first_elements(PsumTest *test, unsigned core) {
        const unsigned rows = test->moving * sizeof(uint32_t) / MEMORY_ACCESS_BYTES;
        WireCommand command = { .type = COMMAND_SRAM_COPY_IN, .unit = (uint8_t) core, .copy = { .ecc = 1, .array = ARRAY_PSUM } };
        WireCompletion completion = {};
        int r;

        command.copy.box.last[SRAM_PARTITION] = (uint16_t) (test->columns - 1);
        command.copy.box.last[SRAM_ROW] = (uint16_t) (rows - 1);
        command.in_offset = device_window_offset(test->device, test->out[core]);
        command.in_bytes = test->columns * test->moving * (uint32_t) sizeof(uint32_t);
        memset(test->out[core], 0, command.in_bytes);
        r = device_execute(test->device, &command, 1, &completion);
        return r == -EREMOTEIO ? 0 : r;
}

/* ---- what answers say ---- */

static void take_cells(Examination *examination, const PsumTest *test, const PsumSlot *slot, const uint32_t *out) {
        for (unsigned m = 0; m < test->columns; m++) {
                unsigned n_wrong = 0;

                for (unsigned n = 0; n < test->moving; n++) {
                        uint32_t expected = slot->golden[m * test->moving + n], actual = out[m * test->moving + n];
                        Element *element = &examination->elements[slot->bank][m][slot->offset + n];

                        if (actual == expected)
                                continue;
                        n_wrong++;
                        element->rose |= actual & ~expected;
                        element->fell |= ~actual & expected;
                        examination->banks[m][n] |= (uint8_t) (1u << slot->bank);
                }
                examination->runs[slot->bank][m] += n_wrong == test->moving;
                examination->wrong_in[slot->bank][m] |= (uint8_t) ((n_wrong > 0) << examination->round);
        }
}

/* Where most partitions of a place have a number of another one. */
static int source_of(const PsumTest *test, const uint32_t *out, unsigned n) {
        int source = -1;
        unsigned count = 0;

        for (unsigned m = 0; m < test->columns; m++) {
                int here = psum_number_address(out[m * test->moving + n], m);

                if (count == 0)
                        source = here;
                count += here == source ? 1u : -1u;
        }

        count = 0;
        for (unsigned m = 0; m < test->columns; m++)
                count += psum_number_address(out[m * test->moving + n], m) == source;
        return count >= MOST(test->columns) ? source : -1;
}

static void take_addresses(Examination *examination, const PsumTest *test, const PsumSlot *slot, const uint32_t *out) {
        for (unsigned n = 0; n < test->moving; n++) {
                unsigned address = slot->bank * PSUM_ELEMENTS + slot->offset + n, differ;
                int source = source_of(test, out, n);

                if (source < 0 || (unsigned) source == address)
                        continue;
                differ = (unsigned) source ^ address;
                if (__builtin_popcount(differ) == 1) {
                        examination->lines[__builtin_ctz(differ)]++;
                        examination->lines_in[__builtin_ctz(differ)] |= (uint8_t) (1u << examination->round);
                }
                if (examination->n_strange < CONTROLS)
                        examination->strange[examination->n_strange++] = address;
        }
}

static int take(PsumTest *test, unsigned core, const PsumSlot *slot, const uint32_t *out) {
        static uint32_t copy[PE_COLUMNS * 128]; /* the window may change under our eyes */
        Examination *examination = test->userdata;
        size_t n_bytes = (size_t) test->columns * test->moving * sizeof(uint32_t);

        memcpy(copy, out, n_bytes);
        if (psum_slot_is_mistaken(test, slot, copy, &examination->taken_for)) {
                examination->mistaken = true;
                return 0;
        }
        switch (slot->phase) {
        case PSUM_CELLS:
                take_cells(examination, test, slot, copy);
                break;
        case PSUM_ADDRESSES:
                take_addresses(examination, test, slot, copy);
                break;
        case PSUM_FLAG:
                memcpy(examination->sequence[slot->number], copy, n_bytes);
                examination->seen |= 1u << slot->number;
                examination->sequence_in |= (uint8_t) (1u << examination->round);
                break;
        }
        return 0;
}

/* Whether the array makes numbers of other places by itself: there is no telling then. */
static int control(Examination *examination, PsumTest *test, unsigned core) {
        for (unsigned i = 0; i < examination->n_strange; i++) {
                unsigned n_wrong = 0;
                int r;

                r = psum_try_alone(test, core, examination->strange[i]);
                if (r < 0)
                        return r;
                for (unsigned m = 0; m < test->columns; m++)
                        n_wrong += test->out[core][m] != psum_number(examination->strange[i], m);
                if (n_wrong >= MOST(test->columns))
                        examination->array_is_wrong = true;
        }
        return 0;
}

/* ---- a core ---- */

static int measure(Examination *examination, PsumTest *test, unsigned core, int *ret_flag) {
        const PsumNumbers *numbers = psum_numbers(false);
        int r = 0;

        *ret_flag = -1;
        /* One that is found is tried on, until it has once done as told. */
        for (; examination->round < FLAG_ROUNDS && r >= 0 && !examination->flag_at_times; examination->round++) {
                examination->seen = 0;
                r = zero_first_elements(test, core);
                if (r >= 0)
                        r = psum_try_flag(test);
                if (r >= 0 && examination->seen && *ret_flag < 0)
                        *ret_flag = psum_flag_explain(examination, numbers);
                examination->flag_at_times = *ret_flag >= 0 && (examination->sequence_in != (2u << examination->round) - 1 ||
                                                                !psum_flag_is_stuck(examination, numbers, *ret_flag));
        }
        if (r < 0 || *ret_flag >= 0)
                return r;

        for (examination->round = 0; examination->round < ROUNDS && r >= 0 && examination->n_strange == 0; examination->round++) {
                r = psum_try_cells(test);
                if (r >= 0)
                        r = psum_try_addresses(test);
        }
        return r >= 0 ? control(examination, test, core) : r;
}

typedef struct Twins { /* bits that were wrong, by bank */
        Element banks[2][4][PE_COLUMNS * 128];
} Twins;

static int take_twins(PsumTest *test, unsigned core, const PsumSlot *slot, const uint32_t *out) {
        Twins *twins = test->userdata;

        for (size_t i = 0; i < (size_t) test->columns * test->moving; i++) {
                uint32_t actual = out[i];

                twins->banks[slot->bank][slot->offset / 128][i].rose |= actual & ~slot->golden[i];
                twins->banks[slot->bank][slot->offset / 128][i].fell |= ~actual & slot->golden[i];
        }
        return 0;
}

int psum_suspect(Step *step, unsigned core, bool *ret) {
        static PsumTest test;
        static Twins twins;
        int r;

        memset(&twins, 0, sizeof(twins));
        r = psum_test_init(&test, step_device(step), false);
        test.mask = 1u << core;
        test.take = take_twins;
        test.userdata = &twins;
        for (unsigned round = 0; round < 2 && r >= 0; round++)
                r = psum_try_twins(&test);
        if (r < 0)
                return r;

        *ret = test.told || memcmp(twins.banks[0], twins.banks[1], sizeof(twins.banks[0])) != 0;
        return 0;
}

int psum_examine(Step *step, unsigned core, PsumDoubt doubt, Verdict *verdict, PsumResult *result) {
        static PsumTest test;
        Examination *examination = calloc(1, sizeof(*examination));
        const Report report = { step, verdict, core, examination, result };
        int r, flag;

        if (!examination)
                return -ENOMEM;

        r = psum_test_init(&test, step_device(step), false);
        test.mask = 1u << core;
        test.take = take;
        test.userdata = examination;
        if (r >= 0)
                r = measure(examination, &test, core, &flag);
        if (r >= 0 && test.refused) {
                result->refused |= test.refused;
                result->status = test.status;
        } else if (r >= 0 && flag >= 0)
                r = psum_report_flag(&report, flag);
        else if (r >= 0) {
                if (!examination->array_is_wrong)
                        r = psum_report_lines(&report);
                if (r >= 0 && !(result->spoilt >> core & 1))
                        r = psum_report_elements(&report);
                if (r >= 0 && doubt == PSUM_TOLD && !(result->faulty >> core & 1))
                        r = psum_report_told(&report);
                if (doubt == PSUM_WRONG && !(result->faulty >> core & 1))
                        result->unexplained |= 1u << core;
                if (examination->mistaken) {
                        result->mistaken |= 1u << core;
                        result->taken_for = examination->taken_for;
                }
        }
        result->n_compared += test.n_compared;
        free(examination);
        return r;
}
