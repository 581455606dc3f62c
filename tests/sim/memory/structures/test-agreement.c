/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stuck bits against data that differ from access to access, in memories of a million and more: stuck lanes, dead columns and parts of
 * rows that cross, some accesses with data of their own, and boxes on both sides of where counts must be exact. The plain side visits
 * every access and shares nothing with the other but wire.h.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-stack.h"

#define CASES      3
#define COMMANDS   12
#define FAULTS_MAX 6
#define HELD_MAX   4
#define LISTED     300u
#define EXACT      (UINT64_C(1) << 20)

/* Words of an access are numbered by their low bits: seeds that differ in these alone would make the same words in another order. */
static const uint64_t seeds[] = { 0, UINT64_C(0x5bd1e995a5c3) };

typedef struct PlainFault {
        Fault fault;
        uint64_t parameters[2];
        uint16_t at[7];
        unsigned n_axes; /* the box: so many coordinates are its own … */
        bool column;     /* … and the column */
        uint64_t bits[4];
        unsigned how;    /* 0 zeros, 1 ones, 2 inverted */
} PlainFault;

typedef struct Plain {
        uint16_t size[7];
        PlainFault faults[FAULTS_MAX]; /* in the order in which data meet them */
        unsigned n_faults;
        WireMarch last;                /* what was written last … */
        unsigned last_data;
        uint16_t held[HELD_MAX][7];    /* … and where, since then, something else was */
        uint64_t data[HELD_MAX][4];
        unsigned n_held;
        uint64_t n_mismatches;
        WireMismatch log[LISTED];
} Plain;

static uint64_t random_state;

static uint64_t random_u64(void) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state * 0x9fb21c651e98df25ull;
}

static unsigned below(unsigned n) {
        return (unsigned) ((random_u64() >> 33) % n);
}

static uint64_t mixed(uint64_t x) {
        x += 0x9e3779b97f4a7c15ull;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
}

static void background(const Plain *plain, const WireMarch *march, const uint16_t at[7], unsigned data, uint64_t ret[4]) {
        uint64_t index = 0;

        for (unsigned i = 0; i < 7; i++)
                index = index * plain->size[i] + at[i];
        for (unsigned word = 0; word < 4; word++)
                ret[word] = (march->background == MEMORY_BACKGROUND_ADDRESS ? mixed(march->seed ^ (4 * index + word)) : 0) ^
                            (data ? UINT64_MAX : 0);
}

static bool covers(const PlainFault *fault, const uint16_t at[7]) {
        return memcmp(fault->at, at, fault->n_axes * sizeof(at[0])) == 0 && (!fault->column || fault->at[6] == at[6]);
}

/* ---- faults ---- */

static const FaultKind *find_kind(const char *name) {
        for (const FaultKind *const *table = model_hbm.faults; *table; table++)
                for (const FaultKind *kind = *table; kind->name; kind++)
                        if (strcmp(kind->name, name) == 0)
                                return kind;
        fail_msg("no kind is called %s", name);
        return NULL;
}

/* KIND counts in the order in which data meet them. */
static void random_fault(Plain *plain, LoneStack *lone, unsigned kind) {
        static const struct {
                const char *name, *end;
                unsigned n_axes, n_ends, width;
                bool column, stuck;
        } kinds[] = { { "sub-wordline", "swl", 6, 16, 16, false, false }, { "column-select", "bit", 5, 256, 1, true, false },
                      { "bank-dead", NULL, 5, 1, 256, false, false },     { "data-tsv", "dq", 3, 32, 1, false, true },
                      { "lane-stuck", "dq", 2, 32, 1, false, true } };
        static const char *const words[] = { "ch", "pc", "sid", "bg", "ba", "row" };
        PlainFault *fault = &plain->faults[plain->n_faults];
        unsigned end = below(kinds[kind].n_ends), how = below(kinds[kind].stuck ? 2 : 3);
        char text[LOCATION_STRING_MAX], *p = text + sprintf(text, "us0-0/chip0/hbm0");

        *fault = (PlainFault) { .n_axes = kinds[kind].n_axes, .column = kinds[kind].column, .how = how, .parameters = { how } };
        for (unsigned i = 0; i < 7; i++)
                fault->at[i] = (uint16_t) below(plain->size[i]);
        for (unsigned i = 0; i < fault->n_axes; i++)
                p += sprintf(p, "/%s%u", words[i], fault->at[i]);
        if (fault->column)
                p += sprintf(p, "/col%u", fault->at[6]);
        if (kinds[kind].end)
                p += sprintf(p, "/%s%u", kinds[kind].end, end);
        for (unsigned bit = 0; bit < 256; bit++)
                if (kinds[kind].stuck ? bit % 32 == end : bit / kinds[kind].width == end)
                        fault->bits[bit / 64] |= UINT64_C(1) << bit % 64;

        assert_int_equal(location_parse(text, &fault->fault.at, NULL, NULL), 0);
        fault->fault.kind = find_kind(kinds[kind].name);
        fault->fault.persistence = PERSISTENCE_PERMANENT;
        fault->fault.parameters = fault->parameters;
        plain->n_faults += model_hbm.inject(&lone->hbm, &fault->fault) == 0;
}

/* ---- the plain side ---- */

static void plain_read(const Plain *plain, const uint16_t at[7], uint64_t bits[4]) {
        for (unsigned i = 0; i < plain->n_faults; i++) {
                const PlainFault *fault = &plain->faults[i];

                for (unsigned word = 0; word < 4 && covers(fault, at); word++)
                        bits[word] = fault->how == 0 ? bits[word] & ~fault->bits[word] :
                                     fault->how == 1 ? bits[word] | fault->bits[word] :
                                                       bits[word] ^ fault->bits[word];
        }
}

static void plain_visit(Plain *plain, const WireMarch *march, const uint16_t at[7]) {
        uint64_t zero[4], wanted[4], stored[4], got[4];

        background(plain, march, at, 0, zero);
        background(plain, &plain->last, at, plain->last_data, stored);
        for (unsigned i = 0; i < plain->n_held; i++)
                if (memcmp(plain->held[i], at, sizeof(plain->held[i])) == 0)
                        memcpy(stored, plain->data[i], sizeof(stored));

        for (unsigned op = 0; op < march->n_ops; op++) {
                for (unsigned word = 0; word < 4; word++)
                        wanted[word] = zero[word] ^ (march->ops[op] & MARCH_DATA ? UINT64_MAX : 0);
                if (march->ops[op] & MARCH_WRITE) {
                        memcpy(stored, wanted, sizeof(stored));
                        continue;
                }
                memcpy(got, stored, sizeof(got));
                plain_read(plain, at, got);
                if (memcmp(got, wanted, sizeof(got)) == 0)
                        continue;
                if (plain->n_mismatches < LISTED) {
                        WireMismatch *mismatch = &plain->log[plain->n_mismatches];

                        *mismatch = (WireMismatch) { .op = (uint16_t) op };
                        memcpy(mismatch->at, at, sizeof(mismatch->at));
                        memcpy(mismatch->actual, got, sizeof(got));
                }
                plain->n_mismatches++;
        }
}

static bool has_reads(const WireMarch *march) {
        for (unsigned i = 0; i < march->n_ops; i++)
                if (!(march->ops[i] & MARCH_WRITE))
                        return true;
        return false;
}

static void plain_march(Plain *plain, const WireMarch *march) {
        uint16_t at[7];
        int axis;

        plain->n_mismatches = 0;
        if (!has_reads(march))
                return;
        memcpy(at, march->box.first, sizeof(at));
        do {
                plain_visit(plain, march, at);
                for (axis = 6; axis >= 0 && at[axis] == march->box.last[axis]; axis--)
                        at[axis] = march->box.first[axis];
                if (axis >= 0)
                        at[axis]++;
        } while (axis >= 0);
}

/* ---- the comparison ---- */

/* All of it is written in one go, so that the plain side knows what lies everywhere; reads go to parts. */
static WireMarch random_march(const Plain *plain, bool first) {
        WireMarch march = { .background = below(4) ? MEMORY_BACKGROUND_ADDRESS : MEMORY_BACKGROUND_SOLID, .seed = seeds[below(2)],
                            .mismatches_max = LISTED, .n_ops = (uint8_t) (1 + below(4)) };
        bool writes = first || below(3) == 0;

        for (unsigned i = 0; i < 7; i++)
                march.box.last[i] = (uint16_t) (plain->size[i] - 1);
        for (unsigned i = 0; i < march.n_ops; i++)
                march.ops[i] = (uint8_t) ((writes && below(2) ? MARCH_WRITE : 0) | below(2));
        if (first)
                march.ops[0] |= MARCH_WRITE;
        /* The same parts again and again: what was found out of one must not be taken for that of other data. */
        if (!writes && below(4)) {
                unsigned columns = below(3);

                if (columns > 0 && plain->n_faults > 0)
                        march.box.first[6] = march.box.last[6] = plain->faults[columns % plain->n_faults].at[6];
                else
                        march.box.last[5] = (uint16_t) (plain->size[5] / 2);
        }
        /* Half of them want what lies there. */
        if (!first && below(2)) {
                march.background = plain->last.background;
                march.seed = plain->last.seed;
                for (unsigned i = 0; i < march.n_ops && !(march.ops[i] & MARCH_WRITE); i++)
                        march.ops[i] = (uint8_t) plain->last_data;
        }
        return march;
}

static void compare_march(Plain *plain, LoneStack *lone, const WireMarch *march) {
        WireCompletion completion = lone_stack_run(lone, (WireCommand) { .type = COMMAND_HBM_MARCH, .march = *march });
        uint64_t n;

        plain_march(plain, march);
        n = plain->n_mismatches;
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        if (n <= EXACT)
                assert_int_equal(completion.result[0], n);
        else
                assert_in_range(completion.result[0], EXACT, n);
        assert_int_equal(completion.out_bytes, (n < LISTED ? n : LISTED) * sizeof(WireMismatch));
        assert_memory_equal(lone->window, plain->log, completion.out_bytes);

        for (unsigned i = 0; i < march->n_ops; i++)
                if (march->ops[i] & MARCH_WRITE) {
                        plain->last = *march;
                        plain->last_data = march->ops[i] & MARCH_DATA;
                        plain->n_held = 0;
                }
}

static void hold(Plain *plain, LoneStack *lone) {
        WireCommand command = { .type = COMMAND_HBM_COPY_IN, .in_bytes = 32 };
        uint64_t *data = plain->data[plain->n_held];
        uint16_t *at = plain->held[plain->n_held];

        for (unsigned i = 0; i < 7; i++)
                at[i] = command.copy.box.first[i] = command.copy.box.last[i] = (uint16_t) below(plain->size[i]);
        for (unsigned i = 0; i < plain->n_held; i++)
                if (memcmp(plain->held[i], at, sizeof(plain->held[i])) == 0)
                        return;
        for (unsigned word = 0; word < 4; word++)
                data[word] = random_u64();
        memcpy(lone->window, data, 32);
        assert_int_equal(lone_stack_run(lone, command).status, STATUS_NRT_SUCCESS);
        plain->n_held++;
}

static void open_stack(Plain *plain, LoneStack *lone, uint64_t seed) {
        static const uint16_t sizes[][7] = { { 1, 1, 1, 1, 2, 20000, 32 }, { 1, 2, 2, 1, 1, 10000, 33 }, { 1, 1, 1, 1, 1, 60000, 22 } };
        char geometry[MEMORY_SHAPE_TEXT_MAX];

        random_state = seed * 0x9e3779b97f4a7c15ull + 1;
        memset(plain, 0, sizeof(*plain));
        memcpy(plain->size, sizes[below(3)], sizeof(plain->size));
        (void) snprintf(geometry, sizeof(geometry), "%u %u %u %u %u %u %u", plain->size[0], plain->size[1], plain->size[2],
                        plain->size[3], plain->size[4], plain->size[5], plain->size[6]);
        lone_stack_open(lone, geometry, 1 << 20);
}

static void run_case(Plain *plain, uint64_t seed) {
        LoneStack lone;

        open_stack(plain, &lone, seed);

        for (unsigned kind = 0; kind < 5; kind++)
                for (unsigned i = kind == 1 || kind == 4 ? 2 : 1; i > 0 && plain->n_faults < FAULTS_MAX; i--)
                        if (below(kind < 3 ? 3 : 2) == 0)
                                random_fault(plain, &lone, kind);
        for (unsigned i = 0; i < COMMANDS; i++) {
                WireMarch march = random_march(plain, i == 0);

                if (i > 0 && plain->n_held < HELD_MAX && below(3) == 0)
                        hold(plain, &lone);
                compare_march(plain, &lone, &march);
        }
        lone_stack_close(&lone);
}

static uint64_t running; /* the seed of the case that runs */

static int say_seed(void **state) {
        if (running)
                fprintf(stderr, "failed with HBM_SEED=%llu\n", (unsigned long long) running);
        return 0;
}

static void stuck_bits_are_told_from_hashes_access_by_access(void **state) {
        Plain *plain = calloc(1, sizeof(Plain));
        const char *only = getenv("HBM_SEED");

        assert_non_null(plain);
        for (uint64_t seed = only ? strtoull(only, NULL, 0) : 1; seed <= (only ? strtoull(only, NULL, 0) : CASES); seed++) {
                running = seed;
                run_case(plain, seed);
        }
        running = 0;
        free(plain);
}

/* Writes data of SEED everywhere and reads ROWS of one column. */
static void write_and_read(Plain *plain, LoneStack *lone, uint64_t seed, unsigned rows) {
        WireMarch march = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = seed, .mismatches_max = LISTED, .n_ops = 1,
                            .ops = { MARCH_WRITE } };

        for (unsigned i = 0; i < 7; i++)
                march.box.last[i] = (uint16_t) (plain->size[i] - 1);
        compare_march(plain, lone, &march);
        march.box.last[6] = 0;
        march.box.last[5] = (uint16_t) (rows - 1);
        march.ops[0] = 0;
        compare_march(plain, lone, &march);
}

static void what_was_found_out_is_not_taken_for_something_else(void **state) {
        Plain *plain = calloc(1, sizeof(Plain));
        LoneStack lone;

        assert_non_null(plain);
        open_stack(plain, &lone, 1);
        for (unsigned lane = 0; lane < 4; lane++) {
                PlainFault *fault = &plain->faults[0];

                plain->n_faults = 0;
                random_fault(plain, &lone, 4);
                write_and_read(plain, &lone, seeds[0], 5000);
                write_and_read(plain, &lone, seeds[0], 5000);
                write_and_read(plain, &lone, seeds[1], 5000);
                write_and_read(plain, &lone, seeds[1], 4000);
                model_hbm.heal(&lone.hbm, &fault->fault);
        }
        lone_stack_close(&lone);
        free(plain);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_found_out_is_not_taken_for_something_else),
                cmocka_unit_test_teardown(stuck_bits_are_told_from_hashes_access_by_access, say_seed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
