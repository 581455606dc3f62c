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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/psum.h"

#define ROUNDS         3u  /* of elements and addresses: eight matmuls each to any partition of a bank */
#define FLAG_ROUNDS    8u
#define ADDRESS_BITS   12u
#define CONTROLS       16u  /* places led through the array alone */
#define PARTITIONS_MAX 8u   /* of a bank that are named one by one */
#define RUNS_SURE      3u   /* whole runs that one bank must have lost before that is its own affair … */
#define RUNS_OTHERS    4u   /* … where all others together lost less than a part of these */
#define MOST(n)        ((n) - (n) / 10) /* of as many that must agree */

typedef struct Element { /* bits that were read as 1, and as 0, and should not */
        uint32_t rose, fell;
} Element;

typedef struct Examination {
        Element elements[PSUM_BANKS][PE_COLUMNS][PSUM_ELEMENTS];
        uint16_t runs[PSUM_BANKS][PE_COLUMNS]; /* matmuls that gave nothing right in a partition */
        uint8_t banks[PE_COLUMNS][128];        /* in which an element of a run was wrong, as a mask */
        /* addresses */
        size_t lines[ADDRESS_BITS];
        unsigned strange[CONTROLS], n_strange; /* places with a number of another one */
        bool array_is_wrong;
        /* flag: the answers of a sequence */
        uint32_t sequence[PSUM_FLAGS][PE_COLUMNS * 128];
        unsigned seen; /* of the sequence, as a mask */
        size_t n_wrong;
} Examination;

/* ---- the flag ---- */

/* What the sequence leaves when the steps in ACTS do as STUCK says. */
static void flag_predict(unsigned acts, bool overwrite, uint32_t ret[static PSUM_FLAGS]) {
        int sum = 0;

        for (unsigned step = 0; step < PSUM_FLAGS; step++) {
                bool does = acts >> step & 1 ? overwrite : psum_flag_steps[step].overwrite;

                sum = (does ? 0 : sum) + psum_flag_steps[step].number;
                ret[step] = psum_small(sum);
        }
}

static size_t flag_count(const Examination *examination, const PsumNumbers *numbers, const uint32_t wanted[static PSUM_FLAGS]) {
        size_t words = (size_t) numbers->columns * numbers->moving, n = 0;

        for (size_t i = 0; i < words; i++) {
                bool same = true;

                for (unsigned step = 0; step < PSUM_FLAGS; step++)
                        same = same && (examination->seen >> step & 1 ? examination->sequence[step] :
                                                                        psum_golden_flag(numbers, step))[i] == wanted[step];
                n += same;
        }
        return n;
}

/* 0: overwrite, 1: accumulate, -1: neither explains it. */
static int flag_explain(const Examination *examination, const PsumNumbers *numbers) {
        size_t words = (size_t) numbers->columns * numbers->moving;
        uint32_t golden[PSUM_FLAGS], wanted[PSUM_FLAGS];

        flag_predict(0, true, golden);
        for (unsigned acts = 1; acts < 1u << PSUM_FLAGS; acts++)
                for (int accumulate = 0; accumulate < 2; accumulate++) {
                        flag_predict(acts, accumulate == 0, wanted);
                        if (memcmp(wanted, golden, sizeof(golden)) != 0 && flag_count(examination, numbers, wanted) >= MOST(words))
                                return accumulate;
                }
        return -1;
}

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
                examination->n_wrong += n_wrong;
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
                if (__builtin_popcount(differ) == 1)
                        examination->lines[__builtin_ctz(differ)]++;
                if (examination->n_strange < CONTROLS)
                        examination->strange[examination->n_strange++] = address;
        }
}

static int take(PsumTest *test, unsigned core, const PsumSlot *slot, const uint32_t *out) {
        static uint32_t copy[PE_COLUMNS * 128]; /* the window may change under our eyes */
        Examination *examination = test->userdata;
        size_t n_bytes = (size_t) test->columns * test->moving * sizeof(uint32_t);

        memcpy(copy, out, n_bytes);
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

/* ---- whose elements they are ---- */

/* The bank that alone loses whole runs of a partition, or -1. */
static int losing_bank(const Examination *examination, unsigned partition) {
        unsigned sum = 0, bank = 0;

        for (unsigned i = 0; i < PSUM_BANKS; i++) {
                sum += examination->runs[i][partition];
                bank = examination->runs[i][partition] > examination->runs[bank][partition] ? i : bank;
        }

        if (examination->runs[bank][partition] < RUNS_SURE)
                return -1;
        return (sum - examination->runs[bank][partition]) * RUNS_OTHERS <= examination->runs[bank][partition] ? (int) bank : -1;
}

/* What the array does to a partition comes back in another bank, in the same vector. */
static bool is_own(const Examination *examination, unsigned bank, unsigned partition, unsigned element) {
        int losing = losing_bank(examination, partition);
        unsigned banks = examination->banks[partition][element % 128];

        if ((int) bank == losing)
                return true;
        for (unsigned i = 0; i < PSUM_BANKS; i++)
                if (examination->runs[i][partition] > 0 && (int) i != losing)
                        return false;
        return __builtin_popcount(losing < 0 ? banks : banks & ~(1u << losing)) == 1;
}

typedef struct Part { /* of a bank */
        unsigned partition, element; /* the first one */
        unsigned n_elements;
        Element bits; /* of all of them */
} Part;

static unsigned parts_gather(const Examination *examination, unsigned bank, Part parts[static PE_COLUMNS]) {
        unsigned n = 0;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Part part = { .partition = m };

                for (unsigned e = 0; e < PSUM_ELEMENTS; e++) {
                        const Element *element = &examination->elements[bank][m][e];

                        if (!(element->rose | element->fell) || !is_own(examination, bank, m, e))
                                continue;
                        if (part.n_elements++ == 0)
                                part.element = e;
                        part.bits.rose |= element->rose;
                        part.bits.fell |= element->fell;
                }
                if (part.n_elements > 0)
                        parts[n++] = part;
        }
        return n;
}

/* ---- words ---- */

static int find(Step *step, Verdict *verdict, unsigned core, int bank, int partition, const char *text) {
        Location where = *step_unit(step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0 && bank >= 0)
                r = location_append(&where, LOCATION_PSUM, (unsigned) bank);
        if (r >= 0 && partition >= 0)
                r = location_append(&where, LOCATION_PSUM_PARTITION, (unsigned) partition);
        return r < 0 ? r : step_finding(step, verdict, "systolic-psum", &where, NULL, "%s", text);
}

static int report_part(Step *step, Verdict *verdict, unsigned core, unsigned bank, const Part *part) {
        uint32_t bits = part->bits.rose | part->bits.fell;
        char what[96], text[256];

        if (__builtin_popcount(bits) == 1)
                (void) snprintf(what, sizeof(what), "bit %d %s", __builtin_ctz(bits),
                                part->bits.rose & part->bits.fell ? "is wrong" : part->bits.rose ? "is stuck at 1" : "is stuck at 0");
        else
                (void) snprintf(what, sizeof(what), "%d bits are wrong, 0x%08x", __builtin_popcount(bits), bits);

        if (part->n_elements == 1)
                (void) snprintf(text, sizeof(text), "core%u: PSUM bank %u, partition %u, element %u: %s", core, bank, part->partition,
                                part->element, what);
        else
                (void) snprintf(text, sizeof(text), "core%u: PSUM bank %u, partition %u: %u elements from %u on: %s", core, bank,
                                part->partition, part->n_elements, part->element, what);
        return find(step, verdict, core, (int) bank, (int) part->partition, text);
}

static int report_bank(Step *step, Verdict *verdict, unsigned core, unsigned bank, const Part *parts, unsigned n) {
        char text[256];
        int r = 0;

        if (n > PARTITIONS_MAX) {
                unsigned n_elements = 0;

                for (unsigned i = 0; i < n; i++)
                        n_elements += parts[i].n_elements;
                (void) snprintf(text, sizeof(text), "core%u: PSUM bank %u: %u elements of %u partitions are wrong", core, bank, n_elements,
                                n);
                return find(step, verdict, core, (int) bank, -1, text);
        }
        for (unsigned i = 0; i < n && r >= 0; i++)
                r = report_part(step, verdict, core, bank, &parts[i]);
        return r;
}

static int report_lines(Step *step, Verdict *verdict, unsigned core, const Examination *examination, PsumResult *result) {
        char text[256];
        int r = 0;

        for (unsigned bit = 0; bit < ADDRESS_BITS && r >= 0; bit++) {
                if (examination->lines[bit] == 0)
                        continue;
                (void) snprintf(text, sizeof(text),
                                "core%u: line %u of the PSUM address (bit %u of the %s) does not tell places apart: %zu of them gave what was "
                                "stored at the other one", core, bit, bit < 9 ? bit : bit - 9, bit < 9 ? "element" : "bank",
                                examination->lines[bit]);
                result->faulty |= 1u << core;
                result->spoilt |= 1u << core;
                r = find(step, verdict, core, -1, -1, text);
        }
        return r;
}

static int report_flag(Step *step, Verdict *verdict, unsigned core, int accumulates, PsumResult *result) {
        char text[256];

        (void) snprintf(text, sizeof(text), "core%u: matmuls %s, though told to %s: the accumulate flag is stuck", core,
                        accumulates ? "add to PSUM" : "overwrite PSUM", accumulates ? "overwrite it" : "add to it");
        result->faulty |= 1u << core;
        result->spoilt |= 1u << core;
        return find(step, verdict, core, -1, -1, text);
}

static int report_elements(Step *step, Verdict *verdict, unsigned core, const Examination *examination, PsumResult *result) {
        static Part parts[PE_COLUMNS];
        int r = 0;

        for (unsigned bank = 0; bank < PSUM_BANKS && r >= 0; bank++) {
                unsigned n = parts_gather(examination, bank, parts);

                if (n == 0)
                        continue;
                result->faulty |= 1u << core;
                result->banks[core] &= (uint8_t) ~(1u << bank);
                r = report_bank(step, verdict, core, bank, parts, n);
        }
        return r;
}

/* What was seen once and nothing explains; not where the array failed too, which is told for itself. */
static int report_rest(Step *step, Verdict *verdict, unsigned core, PsumDoubt doubt, PsumResult *result) {
        static const char *const texts[] = {
                [PSUM_TOLD] = "reads of PSUM told of errors that its code could not correct; no number was wrong",
                [PSUM_WRONG] = "sums were wrong, which no element of PSUM, no line of its address and no flag explains",
        };
        char text[256];

        if (result->faulty >> core & 1 || doubt == PSUM_OF_THE_ARRAY)
                return 0;
        (void) snprintf(text, sizeof(text), "core%u: %s", core, texts[doubt]);
        result->faulty |= 1u << core;
        return find(step, verdict, core, -1, -1, text);
}

/* ---- a core ---- */

static int measure(Examination *examination, PsumTest *test, unsigned core, int *ret_flag) {
        const PsumNumbers *numbers = psum_numbers(false);
        int r = 0;

        *ret_flag = -1;
        for (unsigned round = 0; round < FLAG_ROUNDS && r >= 0 && *ret_flag < 0; round++) {
                examination->seen = 0;
                r = zero_first_elements(test, core);
                if (r >= 0)
                        r = psum_try_flag(test);
                if (r >= 0 && examination->seen)
                        *ret_flag = flag_explain(examination, numbers);
        }
        for (unsigned round = 0; round < ROUNDS && r >= 0 && *ret_flag < 0 && examination->n_strange == 0; round++) {
                r = psum_try_cells(test);
                if (r >= 0)
                        r = psum_try_addresses(test);
        }
        return r >= 0 && *ret_flag < 0 ? control(examination, test, core) : r;
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
                r = report_flag(step, verdict, core, flag, result);
        else if (r >= 0) {
                if (!examination->array_is_wrong)
                        r = report_lines(step, verdict, core, examination, result);
                if (r >= 0 && !(result->spoilt >> core & 1))
                        r = report_elements(step, verdict, core, examination, result);
                if (r >= 0)
                        r = report_rest(step, verdict, core, doubt, result);
        }
        result->n_compared += test.n_compared;
        free(examination);
        return r;
}
