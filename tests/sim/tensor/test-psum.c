/* SPDX-License-Identifier: Apache-2.0 */

/*
 * PSUM of a core against plain arrays of numbers that every command writes and reads one by one: matmuls anywhere in the banks,
 * marches and copies of the SRAM between them, resets, and faults of addresses, of the accumulate flag, of cells and of rows.
 * The matmuls are outer products of small integers, so that the sums are the host's.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/chip/fault.h"
#include "tests/sim/lone-command.h"
#include "tests/sim/plain-format.h"

#define SERVER   "trn-0"
#define CORE     3u
#define IN       0u
#define COMMANDS 40u
#define CASES    24u
#define STUCK    6u
#define PARITY   "stats/hardware/sram_ecc_uncorrected"

typedef struct StuckBit {
        unsigned bank, partition, element, bit, value;
} StuckBit;

typedef struct Plain {
        Lone *lone;
        uint32_t holds[PSUM_BANKS][PE_COLUMNS][PSUM_ELEMENTS]; /* cells … */
        uint32_t meant[PSUM_BANKS][PE_COLUMNS][PSUM_ELEMENTS]; /* … and what their parity is of */
        StuckBit stuck[STUCK];
        unsigned n_stuck;
        int dead_bank, dead_partition, dead_row; /* a row that reads inverted; -1: none */
        unsigned clear, set; /* of the address */
        int flag;            /* what matmuls do, or -1 */
        uint64_t wrong;      /* words that parity told */
        bool told;           /* in this command */
} Plain;

static uint64_t state_of_draw;

static uint32_t draw(uint32_t n) {
        state_of_draw ^= state_of_draw << 13;
        state_of_draw ^= state_of_draw >> 7;
        state_of_draw ^= state_of_draw << 17;
        return (uint32_t) ((state_of_draw >> 20) % n);
}

/* ---- the plain memory ---- */

static void plain_settle(Plain *plain) {
        for (unsigned i = 0; i < plain->n_stuck; i++) {
                const StuckBit *stuck = &plain->stuck[i];
                uint32_t *word = &plain->holds[stuck->bank][stuck->partition][stuck->element];

                *word = stuck->value ? *word | 1u << stuck->bit : *word & ~(1u << stuck->bit);
        }
}

static void plain_write(Plain *plain, unsigned bank, unsigned partition, unsigned element, uint32_t value) {
        plain->holds[bank][partition][element] = plain->meant[bank][partition][element] = value;
        plain_settle(plain);
}

static uint32_t plain_read(Plain *plain, unsigned bank, unsigned partition, unsigned element, bool ecc) {
        uint32_t value = plain->holds[bank][partition][element], wrong;

        if ((int) bank == plain->dead_bank && (int) partition == plain->dead_partition && (int) (element / 8) == plain->dead_row)
                value = ~value;
        wrong = value ^ plain->meant[bank][partition][element];
        if (ecc && __builtin_parity(wrong)) {
                plain->wrong++;
                plain->told = true;
        }
        return value;
}

/* ---- matmuls ---- */

typedef struct Outer { /* W as one row, X as one row */
        int w[PE_COLUMNS], x[PSUM_ELEMENTS];
        WireMatmul matmul;
        unsigned columns;
        bool out;
} Outer;

static uint16_t to_bf16(int value) {
        return (uint16_t) (plain_bits((float) value) >> 16);
}

static WireCompletion run(Plain *plain, WireCommand command) {
        plain->told = false;
        plain_settle(plain);
        command.unit = CORE;
        return lone_run(plain->lone, SERVER, 0, command);
}

static void draw_outer(Outer *outer) {
        static const unsigned tiles[] = { 32, 64, 128 };
        unsigned tile = tiles[draw(3)];

        *outer = (Outer) { .out = draw(4) > 0, .columns = 1 + draw(tile) };
        if (draw(3) == 0)
                outer->columns = tile;
        if (tile > 32 && outer->columns <= tile / 2)
                outer->columns = tile / 2 + 1; /* the smallest tile that holds them */
        outer->matmul = (WireMatmul) {
                .moving = (uint16_t) (draw(3) ? 1 + draw(40) : 1 + draw(PSUM_ELEMENTS)),
                .bank = (uint8_t) draw(draw(2) ? 2 : PSUM_BANKS),
                .flags = draw(2) ? MATMUL_OVERWRITE : 0,
                .first_column = (uint8_t) (tile * draw(PE_COLUMNS / tile)),
                .format = FORMAT_BF16,
        };
        outer->matmul.offset = (uint16_t) draw(PSUM_ELEMENTS - outer->matmul.moving + 1u);
        for (unsigned m = 0; m < outer->columns; m++)
                outer->w[m] = (int) draw(15) - 7;
        for (unsigned n = 0; n < outer->matmul.moving; n++)
                outer->x[n] = (int) draw(15) - 7;
}

static WireCompletion run_outer(Plain *plain, const Outer *outer) {
        uint16_t *in = (uint16_t *) (plain->lone->window + IN);
        WireCommand load = {
                .type = COMMAND_LOAD_STATIONARY, .in_offset = IN, .in_bytes = outer->columns * 2,
                .load = { .rows = 1, .columns = (uint16_t) outer->columns, .format = FORMAT_BF16, .first_column = outer->matmul.first_column },
        };
        WireCommand command = {
                .type = COMMAND_MATMUL, .in_offset = IN, .in_bytes = outer->matmul.moving * 2u, .matmul = outer->matmul,
                .out_bytes = outer->out ? (uint32_t) (outer->columns * outer->matmul.moving * 4) : 0,
        };

        for (unsigned m = 0; m < outer->columns; m++)
                in[m] = to_bf16(outer->w[m]);
        assert_int_equal(run(plain, load).status, STATUS_NRT_SUCCESS);
        for (unsigned n = 0; n < outer->matmul.moving; n++)
                in[n] = to_bf16(outer->x[n]);
        return run(plain, command);
}

static unsigned address_of(const Plain *plain, const WireMatmul *matmul, unsigned n) {
        unsigned address = matmul->bank * PSUM_ELEMENTS + matmul->offset + n;

        return (address & ~plain->clear) | plain->set;
}

static void plain_outer(Plain *plain, const Outer *outer, uint32_t *out) {
        bool overwrite = plain->flag < 0 ? (outer->matmul.flags & MATMUL_OVERWRITE) != 0 : plain->flag == 0;

        for (unsigned n = 0; n < outer->matmul.moving; n++) {
                unsigned address = address_of(plain, &outer->matmul, n), bank = address / PSUM_ELEMENTS, element = address % PSUM_ELEMENTS;

                for (unsigned m = 0; m < outer->columns; m++) {
                        unsigned partition = outer->matmul.first_column + m;
                        /* The chain begins with +0, so that no product leaves it as −0. */
                        float sum = 0.0f + (float) outer->w[m] * (float) outer->x[n];

                        if (!overwrite)
                                sum = plain_float(plain_read(plain, bank, partition, element, true)) + sum;
                        plain_write(plain, bank, partition, element, plain_bits(sum));
                }
        }
        for (unsigned n = 0; n < outer->matmul.moving && outer->out; n++) {
                unsigned address = address_of(plain, &outer->matmul, n);

                for (unsigned m = 0; m < outer->columns; m++)
                        out[m * outer->matmul.moving + n] = plain_read(plain, address / PSUM_ELEMENTS, outer->matmul.first_column + m,
                                                                       address % PSUM_ELEMENTS, true);
        }
}

static uint64_t counter(Plain *plain) {
        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = sizeof(PARITY) - 1, .out_bytes = 64 };
        WireCompletion completion;

        memcpy(plain->lone->window, PARITY, sizeof(PARITY) - 1);
        completion = lone_run(plain->lone, SERVER, 0, command);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        plain->lone->window[LONE_OUT + completion.out_bytes] = '\0';
        return strtoull((const char *) plain->lone->window + LONE_OUT, NULL, 0);
}

/* The SRAM decodes whole accesses, of which a matmul may want some words: where others are wrong too, counts are not compared. */
static void compare_outer(Plain *plain, bool counts) {
        static uint32_t out[PE_COLUMNS * PSUM_ELEMENTS];
        WireCompletion completion;
        Outer outer;

        draw_outer(&outer);
        plain_settle(plain);
        completion = run_outer(plain, &outer);
        plain_outer(plain, &outer, out);
        if (outer.out) {
                assert_int_equal(completion.out_bytes, outer.columns * outer.matmul.moving * 4);
                assert_memory_equal(plain->lone->window + LONE_OUT, out, completion.out_bytes);
        } else
                assert_int_equal(completion.out_bytes, 0);
        if (counts) {
                assert_int_equal(completion.status, plain->told ? STATUS_NRT_NC_UE : STATUS_NRT_SUCCESS);
                assert_int_equal(counter(plain), plain->wrong);
        }
}

/* ---- marches and copies ---- */

static WireBox draw_box(void) {
        static const uint16_t size[_MEMORY_AXIS_MAX] = { PE_COLUMNS, 1, 1, 1, PSUM_BANKS, 64, 1 };
        WireBox box = {};
        bool large = draw(4) == 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                unsigned n = large && draw(3) ? size[axis] : 1 + draw(size[axis] < 4 ? size[axis] : 4);

                box.first[axis] = (uint16_t) draw(size[axis] - n + 1);
                box.last[axis] = (uint16_t) (box.first[axis] + n - 1);
        }
        return box;
}

/* Calls for every word of BOX in the order of copies. */
#define FOR_EACH_WORD(box, p, b, e)                                                                          \
        for (unsigned p = (box)->first[SRAM_PARTITION]; p <= (box)->last[SRAM_PARTITION]; p++)               \
                for (unsigned b = (box)->first[SRAM_BANK]; b <= (box)->last[SRAM_BANK]; b++)                 \
                        for (unsigned e = (box)->first[SRAM_ROW] * 8u; e < ((box)->last[SRAM_ROW] + 1u) * 8; e++)

static size_t box_words(const WireBox *box) {
        return 8ul * (box->last[SRAM_PARTITION] - box->first[SRAM_PARTITION] + 1ul) *
               (box->last[SRAM_BANK] - box->first[SRAM_BANK] + 1ul) * (box->last[SRAM_ROW] - box->first[SRAM_ROW] + 1ul);
}

static void compare_copy(Plain *plain, bool in) {
        WireCommand command = { .type = in ? COMMAND_SRAM_COPY_IN : COMMAND_SRAM_COPY_OUT, .copy = { .box = draw_box(), .array = ARRAY_PSUM } };
        uint32_t *words = (uint32_t *) (plain->lone->window + (in ? IN : LONE_OUT));
        size_t i = 0, n = box_words(&command.copy.box);

        if (n * 4 > LONE_WINDOW - LONE_OUT)
                return;
        command.in_bytes = in ? (uint32_t) n * 4 : 0;
        command.out_bytes = in ? 0 : (uint32_t) n * 4;
        for (i = 0; in && i < n; i++)
                words[i] = plain_bits((float) draw(1000));
        assert_int_equal(run(plain, command).status, STATUS_NRT_SUCCESS);
        i = 0;
        FOR_EACH_WORD(&command.copy.box, p, b, e) {
                if (in)
                        plain_write(plain, b, p, e, words[i]);
                else
                        assert_int_equal(words[i], plain_read(plain, b, p, e, false));
                i++;
        }
}

/* Background solid: accesses that do not read as wanted. */
static void compare_march(Plain *plain) {
        static const uint8_t ops[][3] = {
                { MARCH_WRITE }, { MARCH_WRITE | MARCH_DATA }, { 0 }, { 0, MARCH_WRITE | MARCH_DATA, MARCH_DATA }, { MARCH_WRITE, 0 },
                { MARCH_DATA, MARCH_WRITE },
        };
        static const uint8_t n_ops[] = { 1, 1, 1, 3, 2, 2 };
        unsigned which = draw(6);
        WireCommand command = { .type = COMMAND_SRAM_MARCH,
                                .march = { .box = draw_box(), .array = ARRAY_PSUM, .n_ops = n_ops[which], .descending = (uint8_t) draw(2) } };
        const WireBox *box = &command.march.box;
        uint64_t mismatches = 0;
        WireCompletion completion;

        memcpy(command.march.ops, ops[which], n_ops[which]);
        plain_settle(plain);
        command.out_bytes = 4096;
        completion = run(plain, command);
        for (unsigned op = 0; op < n_ops[which]; op++) {
                uint32_t data = ops[which][op] & MARCH_DATA ? UINT32_MAX : 0;
                bool bad = false;

                FOR_EACH_WORD(box, p, b, e) {
                        if (ops[which][op] & MARCH_WRITE) {
                                plain->holds[b][p][e] = plain->meant[b][p][e] = data;
                                continue;
                        }
                        bad = bad || plain_read(plain, b, p, e, false) != data;
                        if (e % 8 == 7) {
                                mismatches += bad;
                                bad = false;
                        }
                }
                plain_settle(plain);
        }
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_int_equal(completion.result[0], mismatches);
}

static void run_case(Plain *plain, bool counts) {
        for (unsigned i = 0; i < COMMANDS; i++) {
                if (draw(10) == 0)
                        chip_reset(lone_chip(plain->lone, SERVER, 0), CORE);
                switch (draw(5)) {
                case 0:
                        compare_copy(plain, draw(2));
                        break;
                case 1:
                        compare_march(plain);
                        break;
                default:
                        compare_outer(plain, counts);
                }
        }
}

/* ---- cases ---- */

__attribute__((format(printf, 2, 3))) static void inject(Plain *plain, const char *format, ...) {
        _cleanup_yaml_ Yaml yaml = {};
        char text[FAULT_TEXT_MAX];
        va_list arguments;
        Fault *fault;

        va_start(arguments, format);
        (void) vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        assert_int_equal(yaml_parse(&yaml, "fault", text, strlen(text)), 0);
        if (fault_read(&yaml, yaml_root(&yaml), plain->lone->scenario->hall, &fault) < 0)
                fail_msg("%s", yaml.error);
        assert_int_equal(fault_inject(plain->lone->scenario->hall, fault), 0);
}

static Plain *plain_new(uint64_t seed) {
        Plain *plain = calloc(1, sizeof(*plain));
        WireCommand march = { .type = COMMAND_SRAM_MARCH,
                              .march = { .box = { .last = { PE_COLUMNS - 1, 0, 0, 0, PSUM_BANKS - 1, 63, 0 } }, .array = ARRAY_PSUM,
                                         .n_ops = 1, .ops = { MARCH_WRITE } } };

        assert_non_null(plain);
        state_of_draw = (seed + 1) * 0x9e3779b97f4a7c15u;
        plain->lone = lone_new("{scenario: lone, topology: {servers: 1}}", NULL);
        assert_non_null(plain->lone);
        plain->flag = plain->dead_bank = plain->dead_partition = plain->dead_row = -1;
        /* What it powers up with is not said. */
        assert_int_equal(run(plain, march).status, STATUS_NRT_SUCCESS);
        return plain;
}

static void plain_free(Plain *plain) {
        (void) lone_free(plain->lone);
        free(plain);
}

static void a_sound_psum_is_an_array_of_numbers(void **state) {
        for (unsigned i = 0; i < CASES; i++) {
                Plain *plain = plain_new(i);

                run_case(plain, true);
                plain_free(plain);
        }
}

static void lines_of_the_address_and_the_flag_do_what_they_say(void **state) {
        for (unsigned i = 0; i < CASES; i++) {
                Plain *plain = plain_new(1000 + i);
                unsigned bit = i % 12, value = i / 12 % 2;

                inject(plain, "{at: " SERVER "/chip0/core3, kind: psum-address-stuck, bit: %u, value: %u}", bit, value);
                *(value ? &plain->set : &plain->clear) = 1u << bit;
                if (i % 3 == 0) {
                        plain->flag = (int) draw(2);
                        inject(plain, "{at: " SERVER "/chip0/core3, kind: accumulate-stuck, value: %s}",
                               plain->flag ? "accumulate" : "overwrite");
                }
                run_case(plain, true);
                plain_free(plain);
        }
}

static void draw_stuck(Plain *plain) {
        for (unsigned i = 0; i < STUCK; i++) {
                StuckBit stuck = { draw(2), draw(PE_COLUMNS), draw(PSUM_ELEMENTS), draw(23), draw(2) };

                if (i > 0 && draw(2)) /* beside the one before */
                        stuck = (StuckBit) { plain->stuck[0].bank, plain->stuck[0].partition, plain->stuck[0].element ^ i, draw(23), draw(2) };
                inject(plain, "{at: " SERVER "/chip0/core3/psum%u/part%u/row%u/bit%u, kind: stuck-at, value: %u}", stuck.bank,
                       stuck.partition, stuck.element / 8, 32 * (stuck.element % 8) + stuck.bit, stuck.value);
                plain->stuck[plain->n_stuck++] = stuck;
        }
}

/* The faults come before the first matmul, or into what matmuls left. */
static void cells_of_the_sram_spoil_sums(void **state) {
        for (unsigned i = 0; i < CASES; i++) {
                Plain *plain = plain_new(2000 + i);

                if (i % 2)
                        run_case(plain, true);
                draw_stuck(plain);
                run_case(plain, false);
                plain_free(plain);
        }
}

static void a_row_that_reads_wrong_spoils_sums(void **state) {
        for (unsigned i = 0; i < CASES; i++) {
                Plain *plain = plain_new(3000 + i);

                if (i % 2)
                        run_case(plain, true);
                plain->dead_bank = (int) draw(2);
                plain->dead_partition = (int) draw(PE_COLUMNS);
                plain->dead_row = (int) draw(64);
                inject(plain, "{at: " SERVER "/chip0/core3/psum%d/part%d/row%d, kind: sram-row-dead, reads: inverted}", plain->dead_bank,
                       plain->dead_partition, plain->dead_row);
                run_case(plain, false);
                plain_free(plain);
        }
}

/* One word, by hand: bit 12 of 3.0 is 0, so parity tells it where a matmul reads it, and the sum stands. */
static void parity_tells_what_a_matmul_reads(void **state) {
        Plain *plain = plain_new(1);
        Outer outer = { .w = { 1 }, .x = { 3 }, .columns = 1, .out = true,
                        .matmul = { .moving = 1, .bank = 5, .offset = 77, .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16 } };
        const uint32_t *out = (const uint32_t *) (plain->lone->window + LONE_OUT);

        inject(plain, "{at: " SERVER "/chip0/core3/psum5/part0/row9/bit%u, kind: stuck-at, value: 1}", 32 * 5 + 12);
        assert_int_equal(run_outer(plain, &outer).status, STATUS_NRT_NC_UE);
        assert_int_equal(out[0], 0x40401000);
        assert_int_equal(counter(plain), 1);

        outer.out = false;
        assert_int_equal(run_outer(plain, &outer).status, STATUS_NRT_SUCCESS); /* nothing is read */
        assert_int_equal(counter(plain), 1);

        outer.matmul.flags = 0;
        assert_int_equal(run_outer(plain, &outer).status, STATUS_NRT_NC_UE); /* read to add */
        assert_int_equal(counter(plain), 2);
        plain_free(plain);
}

/* A march that is none of these: what matmuls left stays. */
static void a_march_that_is_refused_changes_nothing(void **state) {
        Plain *plain = plain_new(2);
        Outer outer = { .w = { 1 }, .x = { 3 }, .columns = 1, .out = true, .matmul = { .moving = 1, .format = FORMAT_BF16 } };
        WireCommand march = { .type = COMMAND_SRAM_MARCH, .march = { .array = ARRAY_PSUM, .order = _MEMORY_ORDER_MAX, .n_ops = 1, .ops = { MARCH_WRITE } } };
        const uint32_t *out = (const uint32_t *) (plain->lone->window + LONE_OUT);

        assert_int_equal(run_outer(plain, &outer).status, STATUS_NRT_SUCCESS);
        assert_int_equal(run(plain, march).status, STATUS_NRT_INVALID);
        assert_int_equal(run_outer(plain, &outer).status, STATUS_NRT_SUCCESS);
        assert_int_equal(out[0], 0x40c00000); /* 3 + 3 */
        plain_free(plain);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_march_that_is_refused_changes_nothing),
                cmocka_unit_test(a_sound_psum_is_an_array_of_numbers),
                cmocka_unit_test(lines_of_the_address_and_the_flag_do_what_they_say),
                cmocka_unit_test(cells_of_the_sram_spoil_sums),
                cmocka_unit_test(a_row_that_reads_wrong_spoils_sums),
                cmocka_unit_test(parity_tells_what_a_matmul_reads),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
