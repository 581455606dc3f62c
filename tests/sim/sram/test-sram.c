/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The arrays of a core against a model that keeps every bit and decodes every word by itself: random small geometries, codes,
 * faults, marches, copies. Logs, counters and statuses must be the same.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sram/sram.h"
#include "tests/sim/lone-command.h"
#include "tests/sim/plain-code.h"
#include "tests/sim/plain-march.h"

#define CASES      500
#define COMMANDS   12
#define CELLS_MAX  256 /* accesses of the plain model */
#define PLAIN_FAULTS 8
#define LOG_MAX    (CELLS_MAX * 5)

typedef enum PlainKind {
        PLAIN_CELL,
        PLAIN_ROW,
        PLAIN_COLUMN,
        PLAIN_PARTITION,
        PLAIN_ARRAY,
        PLAIN_SILENT,
        PLAIN_OFF,
        PLAIN_BLIND,
        _PLAIN_MAX,
} PlainKind;

typedef struct PlainFault {
        Fault fault;
        PlainKind kind;
        uint64_t parameters[2];
        uint16_t at[7];
        unsigned bit, how;
        bool present, active;
} PlainFault;

typedef struct Plain {
        Lone *lone;
        Chip *chip;
        Sram *sram;
        unsigned core;
        WireArray array;
        SramEcc ecc;
        uint16_t size[7];
        unsigned n;
        uint8_t holds[CELLS_MAX][32];
        uint8_t meant[CELLS_MAX][32];
        PlainFault faults[PLAIN_FAULTS];
        uint64_t corrected, uncorrected;
        bool unmended; /* in this command */
        WireMismatch log[LOG_MAX];
        size_t n_log;
} Plain;

static bool covers(const PlainFault *fault, const uint16_t at[7]) {
        bool partition = fault->at[SRAM_PARTITION] == at[SRAM_PARTITION], bank = fault->at[SRAM_BANK] == at[SRAM_BANK];

        if (!fault->present || !fault->active)
                return false;
        switch (fault->kind) {
        case PLAIN_CELL:
        case PLAIN_ROW:
                return partition && bank && fault->at[SRAM_ROW] == at[SRAM_ROW];
        case PLAIN_COLUMN:
        case PLAIN_PARTITION:
                return partition && bank;
        case PLAIN_ARRAY:
        case PLAIN_SILENT:
        case PLAIN_OFF:
                return bank;
        case PLAIN_BLIND:
        case _PLAIN_MAX:
                return false;
        }
        return false;
}

static void settle(Plain *plain, const uint16_t at[7]) {
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                if (plain->faults[i].kind == PLAIN_CELL && covers(&plain->faults[i], at))
                        set_bit(plain->holds[plain_index(plain->size, at)], plain->faults[i].bit, plain->faults[i].how);
}

static void plain_write(Plain *plain, const uint16_t at[7], const uint8_t bytes[32]) {
        memcpy(plain->holds[plain_index(plain->size, at)], bytes, 32);
        memcpy(plain->meant[plain_index(plain->size, at)], bytes, 32);
        settle(plain, at);
}

static void decode(Plain *plain, const uint16_t at[7], uint8_t bytes[32]) {
        bool silent = false, off = plain->ecc == SRAM_ECC_NONE;

        for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                silent |= plain->faults[i].kind == PLAIN_SILENT && covers(&plain->faults[i], at);
                off |= plain->faults[i].kind == PLAIN_OFF && covers(&plain->faults[i], at);
        }

        for (unsigned word = 0; word < 4 && !off; word++) {
                uint64_t meant, got;
                PlainWord made;

                memcpy(&meant, &plain->meant[plain_index(plain->size, at)][8 * word], 8);
                memcpy(&got, &bytes[8 * word], 8);
                made = plain->ecc == SRAM_ECC_SECDED ? plain_secded(got ^ meant) : plain_parity(got ^ meant);
                got = meant ^ made.wrong;
                memcpy(&bytes[8 * word], &got, 8);
                plain->corrected += silent ? 0 : made.corrected;
                plain->uncorrected += silent ? 0 : made.uncorrected;
                plain->unmended |= !silent && made.uncorrected > 0;
        }
}

static void plain_read(Plain *plain, const uint16_t at[7], bool ecc, uint8_t ret[32]) {
        /* From within to without. */
        static const PlainKind dead[] = { PLAIN_ROW, PLAIN_COLUMN, PLAIN_PARTITION, PLAIN_ARRAY };

        memcpy(ret, plain->holds[plain_index(plain->size, at)], 32);
        for (unsigned k = 0; k < ELEMENTS(dead); k++)
                for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                        const PlainFault *fault = &plain->faults[i];

                        for (unsigned b = 0; b < 256 && fault->kind == dead[k] && covers(fault, at); b++)
                                if (fault->kind != PLAIN_COLUMN || fault->bit == b)
                                        set_bit(ret, b, fault->how == 2 ? !get_bit(ret, b) : fault->how);
                }
        if (ecc)
                decode(plain, at, ret);
}

static bool is_blind(const Plain *plain, unsigned data) {
        for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                const PlainFault *fault = &plain->faults[i];

                if (fault->present && fault->active && fault->kind == PLAIN_BLIND && (fault->how == 2 || fault->how == data))
                        return true;
        }
        return false;
}

static void march_access(Plain *plain, const WireMarch *march, const uint16_t at[7]) {
        for (unsigned op = 0; op < march->n_ops; op++) {
                uint8_t wanted[32], got[32];

                plain_data(plain->size, march, at, march->ops[op], wanted);
                if (march->ops[op] & MARCH_WRITE) {
                        plain_write(plain, at, wanted);
                        continue;
                }

                plain_read(plain, at, march->ecc, got);
                if (memcmp(got, wanted, 32) != 0 && !is_blind(plain, march->ops[op] & 1)) {
                        WireMismatch *mismatch = &plain->log[plain->n_log++];

                        assert_true(plain->n_log <= LOG_MAX);
                        memcpy(mismatch->at, at, sizeof(mismatch->at));
                        mismatch->op = (uint16_t) op;
                        memcpy(mismatch->actual, got, 32);
                }
        }
}

static void plain_march(Plain *plain, const WireMarch *march) {
        plain->n_log = 0;
        for (unsigned k = 0; k < plain_volume(&march->box); k++) {
                uint16_t at[7];

                plain_visit(march, k, at);
                march_access(plain, march, at);
        }
}

/* ---- random things ---- */

static const FaultKind *kind_called(const char *name) {
        for (const FaultKind *const *table = model_sram.faults; *table; table++)
                for (const FaultKind *kind = *table; kind->name; kind++)
                        if (strcmp(kind->name, name) == 0)
                                return kind;
        fail_msg("no kind is called %s", name);
        return NULL;
}

static Location location_of(const Plain *plain, const PlainFault *fault) {
        bool psum = plain->array == ARRAY_PSUM;
        Location at;

        assert_int_equal(location_parse("trn-0/chip1", &at, NULL, NULL), 0);
        assert_int_equal(location_append(&at, LOCATION_CORE, plain->core), 0);
        if (fault->kind == PLAIN_BLIND)
                return at;
        assert_int_equal(location_append(&at, psum ? LOCATION_PSUM : LOCATION_SBUF, psum ? fault->at[SRAM_BANK] : 0), 0);
        if (fault->kind == PLAIN_ARRAY || fault->kind == PLAIN_SILENT || fault->kind == PLAIN_OFF)
                return at;
        assert_int_equal(location_append(&at, psum ? LOCATION_PSUM_PARTITION : LOCATION_SBUF_PARTITION,
                                         fault->at[SRAM_PARTITION]), 0);
        if (fault->kind == PLAIN_PARTITION)
                return at;
        if (fault->kind != PLAIN_COLUMN)
                assert_int_equal(location_append(&at, LOCATION_SRAM_ROW, fault->at[SRAM_ROW]), 0);
        if (fault->kind == PLAIN_CELL || fault->kind == PLAIN_COLUMN)
                assert_int_equal(location_append(&at, LOCATION_SRAM_BIT, fault->bit), 0);
        return at;
}

static void random_fault(Plain *plain, unsigned slot) {
        static const char *const kinds[] = { "stuck-at", "sram-row-dead", "sram-column", "sram-partition-dead", "sram-array-dead",
                                             "sram-ecc-silent", "sram-ecc-off", "comparator-blind" };
        PlainFault *fault = &plain->faults[slot];
        int word;

        *fault = (PlainFault) { .kind = (PlainKind) (below(2) ? PLAIN_CELL : below(_PLAIN_MAX)), .bit = below(256) };
        fault->how = below(fault->kind == PLAIN_CELL ? 2 : 3);
        word = (int) fault->how;
        if (fault->kind == PLAIN_CELL)
                fault->parameters[0] = fault->how;
        else
                memcpy(fault->parameters, &word, sizeof(word));
        for (unsigned i = 0; i < 7; i++)
                fault->at[i] = (uint16_t) below(plain->size[i]);
        if (below(2) && slot > 0) /* beside another: several in one word, a row in a partition */
                memcpy(fault->at, plain->faults[slot - 1].at, sizeof(fault->at));
        if (below(2) && slot > 0)
                fault->bit = plain->faults[slot - 1].bit ^ below(4);

        fault->fault = (Fault) {
                .id          = slot + 1,
                .kind        = kind_called(kinds[fault->kind]),
                .at          = location_of(plain, fault),
                .persistence = below(3) ? PERSISTENCE_PERMANENT : PERSISTENCE_INTERMITTENT,
                .probability = 0.5,
                .above       = -1e9,
                .parameters  = fault->parameters,
        };
        fault->present = model_sram.inject(plain->sram, &fault->fault) == 0; /* else two on one spot */
}

static void random_march(const Plain *plain, WireMarch *march) {
        *march = (WireMarch) {
                .box        = random_box(plain->size, below(2)),
                .order      = (uint8_t) below(_MEMORY_ORDER_MAX),
                .descending = (uint8_t) below(2),
                .background = (uint8_t) (below(2) ? MEMORY_BACKGROUND_ADDRESS : below(_MEMORY_BACKGROUND_MAX)),
                .parameter  = (uint8_t) below(8),
                .ecc        = below(3) > 0,
                .array      = (uint8_t) plain->array,
                .n_ops      = (uint8_t) (1 + below(5)),
                .seed       = below(2),
        };
        for (unsigned i = 0; i < march->n_ops; i++)
                march->ops[i] = (uint8_t) ((below(2) ? MARCH_WRITE : 0) | below(2));
}

static WireCompletion run(Plain *plain, WireCommand command) {
        Execution execution = { .chip = plain->chip, .number = plain->chip->engine_commands[ENGINE_CORE + plain->core] };

        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                plain->faults[i].active = plain->faults[i].present && fault_is_active(&plain->faults[i].fault, &execution);
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                if (plain->faults[i].kind == PLAIN_CELL)
                        settle(plain, plain->faults[i].at);
        plain->unmended = false;
        command.unit = (uint8_t) plain->core;
        if (command.out_bytes == 0 && command.in_bytes == 0)
                command.out_bytes = LONE_WINDOW - LONE_OUT;
        return lone_run(plain->lone, "trn-0", 1, command);
}

/* ---- the comparison ---- */

static uint64_t counter(Plain *plain, const char *path) {
        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = (uint32_t) strlen(path), .out_bytes = 64 };
        WireCompletion completion;

        memcpy(plain->lone->window, path, command.in_bytes);
        completion = lone_run(plain->lone, "trn-0", 1, command);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        plain->lone->window[LONE_OUT + completion.out_bytes] = '\0';
        return strtoull((const char *) plain->lone->window + LONE_OUT, NULL, 0);
}

static void same_counters(Plain *plain) {
        assert_int_equal(counter(plain, "stats/hardware/sram_ecc_corrected"), plain->corrected);
        assert_int_equal(counter(plain, "stats/hardware/sram_ecc_uncorrected"), plain->uncorrected);
}

static void compare_march(Plain *plain) {
        WireCommand command = { .type = COMMAND_SRAM_MARCH };
        const WireMismatch *mismatches = (const WireMismatch *) (plain->lone->window + LONE_OUT);
        WireCompletion completion;
        size_t n;

        random_march(plain, &command.march);
        command.march.mismatches_max = below(2) ? LOG_MAX : below(20);
        completion = run(plain, command);
        plain_march(plain, &command.march);

        assert_int_equal(completion.status, plain->unmended ? STATUS_NRT_NC_UE : STATUS_NRT_SUCCESS);
        assert_int_equal(completion.result[0], plain->n_log);
        assert_int_equal(completion.result[1], plain_volume(&command.march.box));
        n = plain->n_log < command.march.mismatches_max ? plain->n_log : command.march.mismatches_max;
        assert_int_equal(completion.out_bytes, n * sizeof(WireMismatch));
        for (size_t i = 0; i < n; i++)
                assert_memory_equal(&mismatches[i], &plain->log[i], sizeof(WireMismatch));
        same_counters(plain);
}

static void compare_copy(Plain *plain) {
        bool in = below(2);
        WireCommand command = { .type = in ? COMMAND_SRAM_COPY_IN : COMMAND_SRAM_COPY_OUT,
                                .copy = { .box = random_box(plain->size, below(2)), .ecc = below(2) > 0, .array = (uint8_t) plain->array,
                                          .plant = in && below(2) } };
        unsigned total = plain_volume(&command.copy.box);
        uint8_t *data = plain->lone->window;
        WireCompletion completion;

        command.in_bytes = in ? total * 32 : 0;
        for (size_t i = 0; i < command.in_bytes; i++)
                data[i] = (uint8_t) random_u64();
        /* Most plants are a few wrong bits of one word, as codes are made for. */
        for (unsigned k = 0; command.copy.plant && k < total; k++) {
                unsigned bit = below(256), n = below(4);
                uint16_t at[7];

                plain_place(&command.copy.box, MEMORY_ORDER_COLUMN_FAST, k, at);
                if (below(8))
                        memcpy(data + k * 32, plain->meant[plain_index(plain->size, at)], 32);
                for (unsigned i = 0; i < n; i++, bit ^= 1 + below(63))
                        data[k * 32 + bit / 8] ^= (uint8_t) (1u << bit % 8);
        }
        completion = run(plain, command);

        for (unsigned k = 0; k < total; k++) {
                uint16_t at[7];
                uint8_t got[32];

                plain_place(&command.copy.box, MEMORY_ORDER_COLUMN_FAST, k, at);
                if (command.copy.plant) {
                        memcpy(plain->holds[plain_index(plain->size, at)], data + k * 32, 32);
                        settle(plain, at);
                        continue;
                }
                if (in) {
                        plain_write(plain, at, data + k * 32);
                        continue;
                }
                plain_read(plain, at, command.copy.ecc, got);
                assert_memory_equal(got, data + LONE_OUT + k * 32, 32);
        }
        assert_int_equal(completion.status, plain->unmended ? STATUS_NRT_NC_UE : STATUS_NRT_SUCCESS);
        assert_int_equal(completion.out_bytes, in ? 0 : total * 32);
        same_counters(plain);
}

static void start_case(Plain *plain) {
        char geometry[MEMORY_SHAPE_TEXT_MAX];
        WireCommand all = { .type = COMMAND_SRAM_COPY_OUT };

        plain->lone = lone_new("{scenario: lone, topology: {servers: 1}}", NULL);
        assert_non_null(plain->lone);
        plain->chip = lone_chip(plain->lone, "trn-0", 1);
        plain->core = below(CORES);
        plain->sram = chip_part(plain->chip, &model_sram, plain->core);
        plain->array = (WireArray) below(_ARRAY_MAX);
        plain->ecc = (SramEcc) below(_SRAM_ECC_MAX);

        for (unsigned i = 0; i < 7; i++)
                plain->size[i] = 1;
        plain->size[SRAM_PARTITION] = (uint16_t) (1 + below(5));
        plain->size[SRAM_BANK] = (uint16_t) (plain->array == ARRAY_PSUM ? 1 + below(3) : 1);
        plain->size[SRAM_ROW] = (uint16_t) (1 + below(12));
        plain->n = plain->size[SRAM_PARTITION] * plain->size[SRAM_BANK] * plain->size[SRAM_ROW];
        (void) snprintf(geometry, sizeof(geometry), "%u 1 1 1 %u %u 1", plain->size[SRAM_PARTITION], plain->size[SRAM_BANK],
                        plain->size[SRAM_ROW]);
        assert_int_equal(sram_reshape(plain->sram, plain->array, geometry, plain->ecc), 0);

        /* What it powers up with is the array's own affair: ask it. */
        memset(plain->faults, 0, sizeof(plain->faults));
        for (unsigned i = 0; i < 7; i++)
                all.copy.box.last[i] = (uint16_t) (plain->size[i] - 1);
        all.copy.array = (uint8_t) plain->array;
        assert_int_equal(run(plain, all).status, STATUS_NRT_SUCCESS);
        memcpy(plain->holds, plain->lone->window + LONE_OUT, plain->n * 32ul);
        memcpy(plain->meant, plain->holds, sizeof(plain->meant));
        plain->corrected = plain->uncorrected = 0;
}

static void end_case(Plain *plain) {
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                if (plain->faults[i].present)
                        model_sram.heal(plain->sram, &plain->faults[i].fault);
        (void) lone_free(plain->lone);
}

static void the_arrays_log_what_arrays_of_bits_log(void **state) {
        Plain *plain = calloc(1, sizeof(*plain));

        assert_non_null(plain);
        for (unsigned i = 0; i < CASES; i++) {
                unsigned n_faults;

                random_state = (i + 1) * 0x9e3779b97f4a7c15ull;
                start_case(plain);
                n_faults = below(PLAIN_FAULTS + 1);
                for (unsigned k = 0; k < COMMANDS; k++) {
                        if (k < n_faults)
                                random_fault(plain, k);
                        if (below(8) == 0)
                                chip_reset(plain->chip, plain->core);
                        if (below(3))
                                compare_march(plain);
                        else
                                compare_copy(plain);
                }
                end_case(plain);
        }
        free(plain);
}

static void what_is_wrong_is_refused(void **state) {
        _cleanup_(lone_freep) Lone *lone = lone_new("{scenario: lone, topology: {servers: 1}}", NULL);
        WireCommand march = { .type = COMMAND_SRAM_MARCH, .march = { .n_ops = 1, .ops = { MARCH_WRITE } } };
        WireCommand copy = { .type = COMMAND_SRAM_COPY_OUT, .out_bytes = 32 };

        assert_int_equal(lone_run(lone, "trn-0", 0, march).status, STATUS_NRT_SUCCESS);
        assert_int_equal(lone_run(lone, "trn-0", 0, copy).status, STATUS_NRT_SUCCESS);
        march.march.array = copy.copy.array = _ARRAY_MAX;
        assert_int_equal(lone_run(lone, "trn-0", 0, march).status, STATUS_NRT_INVALID);
        assert_int_equal(lone_run(lone, "trn-0", 0, copy).status, STATUS_NRT_INVALID);
        march.march.array = ARRAY_PSUM;
        march.march.box.first[SRAM_ROW] = march.march.box.last[SRAM_ROW] = 64;
        assert_int_equal(lone_run(lone, "trn-0", 0, march).status, STATUS_NRT_INVALID);
        march.unit = CORES;
        assert_int_equal(lone_run(lone, "trn-0", 0, march).status, STATUS_NRT_INVALID_HANDLE);
}

static void faults_outside_of_the_arrays_are_refused(void **state) {
        static const char *const places[] = { "sbuf/part0/row7168, kind: sram-row-dead", "psum3/part0/row64, kind: sram-row-dead",
                                              "sbuf/part3/bit7, kind: stuck-at, value: 1", "sbuf/part3/row0/bit7, kind: sram-column" };
        static const char *const good[] = { "sbuf/part127/row7167, kind: sram-row-dead", "psum7/part127/row63, kind: sram-row-dead",
                                            "sbuf/part3/row0/bit7, kind: stuck-at, value: 1", "sbuf/part3/bit7, kind: sram-column" };
        char text[200];

        for (unsigned i = 0; i < ELEMENTS(places); i++) {
                char *error = NULL;
                Lone *lone;

                (void) snprintf(text, sizeof(text), "{scenario: x, topology: {servers: 1}, faults: [{at: trn-0/chip0/core0/%s}]}", places[i]);
                assert_null(lone_new(text, &error));
                assert_non_null(error);
                free(error);
                (void) snprintf(text, sizeof(text), "{scenario: x, topology: {servers: 1}, faults: [{at: trn-0/chip0/core0/%s}]}", good[i]);
                lone = lone_new(text, NULL);
                assert_non_null(lone);
                (void) lone_free(lone);
        }
}

static void the_scenario_says_which_array_has_which_code(void **state) {
        static const struct {
                const char *text, *sbuf, *psum;
        } cases[] = {
                { "{scenario: x, topology: {servers: 1}}", "secded", "parity" },
                { "{scenario: x, topology: {servers: 1}, sram: {sbuf: parity, psum: secded}}", "parity", "secded" },
                { "{scenario: x, topology: {servers: 1}, sram: {psum: none}}", "secded", "none" },
        };
        static const char *const paths[] = { "assay/sram/sbuf/ecc", "assay/sram/psum/ecc" };

        for (unsigned i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(lone_freep) Lone *lone = lone_new(cases[i].text, NULL);

                assert_non_null(lone);
                for (unsigned k = 0; k < 2; k++) {
                        WireCommand command = { .type = COMMAND_ATTRIBUTE, .in_bytes = (uint32_t) strlen(paths[k]), .out_bytes = 64 };
                        const char *wanted = k == 0 ? cases[i].sbuf : cases[i].psum;
                        WireCompletion completion;

                        memcpy(lone->window, paths[k], command.in_bytes);
                        completion = lone_run(lone, "trn-0", 5, command);
                        assert_int_equal(completion.out_bytes, strlen(wanted));
                        assert_memory_equal(lone->window + LONE_OUT, wanted, strlen(wanted));
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_arrays_log_what_arrays_of_bits_log),
                cmocka_unit_test(what_is_wrong_is_refused),
                cmocka_unit_test(faults_outside_of_the_arrays_are_refused),
                cmocka_unit_test(the_scenario_says_which_array_has_which_code),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
