/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The selectors against a plain model of them: every element of 128 × 128 with a register, wires and 16 legs of its own, each
 * fault written into a table of switches, nothing skipped.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/faults.h"
#include "sim/tensor/memo.h"
#include "sim/tensor/rows.h"
#include "sim/tensor/select.h"
#include "sim/tensor/sparse-faults.h"

/* Of an intermittent fault the test says itself when it acts. */
static uint64_t acting;

bool fault_is_active(const Fault *fault, const Execution *execution) {
        return acting >> fault->id & 1;
}

static uint64_t seed;

static uint32_t draw(uint32_t n) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t) (seed >> 16) % n;
}

#define FAULTS_MAX 6u
#define ROUNDS     150u
#define VECTORS    5u

static const struct {
        unsigned keep, group;
} modes[] = { { 4, 16 }, { 4, 12 }, { 4, 8 }, { 2, 8 }, { 2, 4 }, { 1, 4 }, { 1, 2 } };

/* ---- the plain model ---- */

typedef struct Plain {
        unsigned tags[PE_ROWS][PE_COLUMNS];
        unsigned keep, group; /* of the load before */
} Plain;

static bool plain_is_at(const Fault *fault, unsigned row, unsigned column) {
        for (unsigned i = 0; i < fault->at.n_parts; i++) {
                const LocationPart *part = &fault->at.parts[i];

                if ((part->kind == LOCATION_SPARSE_ROW && part->index != row) ||
                    (part->kind == LOCATION_SPARSE_SLOT && part->index != column))
                        return false;
        }

        return true;
}

static bool plain_is(const Fault *fault, const char *name) {
        return (acting >> fault->id & 1) && strcmp(fault->kind->name, name) == 0;
}

static unsigned loaded_tag(const uint16_t *tags, unsigned columns, unsigned k, unsigned column) {
        return tags[k * ((columns + 3) / 4) + column / 4] >> 4 * (column % 4) & 15;
}

static void plain_load(Plain *plain, const Fault *faults, size_t n, const Stationary *stationary, const uint16_t *tags,
                       unsigned first_row) {
        bool switched = plain->keep != stationary->keep || plain->group != stationary->group;

        plain->keep = stationary->keep;
        plain->group = stationary->group;

        for (unsigned column = 0; stationary->keep > 0 && column < stationary->columns; column++) {
                unsigned from[PE_ROWS];

                for (unsigned k = 0; k < stationary->rows; k++)
                        from[k] = k;
                for (size_t i = n; i-- > 0;) { /* the last fault is the nearest to the register */
                        const TensorFault *p = faults[i].parameters;
                        unsigned row = 0, a, b, kept;

                        if (!plain_is(&faults[i], "compressed-swapped"))
                                continue;
                        row = (unsigned) location_index(&faults[i].at, LOCATION_SPARSE_ROW);
                        if (!plain_is_at(&faults[i], row, column))
                                continue;
                        if (row < first_row || p->other < first_row || row - first_row >= stationary->rows ||
                            p->other - first_row >= stationary->rows)
                                continue;
                        a = row - first_row;
                        b = (unsigned) p->other - first_row;
                        if (a / stationary->keep != b / stationary->keep)
                                continue;
                        kept = from[a];
                        from[a] = from[b];
                        from[b] = kept;
                }

                for (unsigned k = 0; k < stationary->rows; k++) {
                        unsigned row = first_row + k, tag = loaded_tag(tags, stationary->columns, from[k], column);
                        bool missed = false;

                        for (size_t i = 0; i < n; i++) {
                                const TensorFault *p = faults[i].parameters;

                                if (!plain_is_at(&faults[i], row, column))
                                        continue;
                                if (plain_is(&faults[i], "tag-lane-stuck") && p->bit / 4 == column % 4)
                                        tag = p->value ? tag | 1u << p->bit % 4 : tag & ~(1u << p->bit % 4);
                                if (plain_is(&faults[i], "tag-stale"))
                                        missed = missed || p->misses == 0 || (p->misses == 1 && switched);
                        }
                        if (!missed)
                                plain->tags[row][column] = tag;
                }
        }
}

static uint32_t plain_select(const Plain *plain, const Fault *faults, size_t n, const Stationary *stationary,
                             const Moving *moving, const uint16_t *x, unsigned first_row, unsigned k, unsigned column,
                             unsigned at) {
        static const unsigned mode_keeps[] = { 4, 4, 4, 2, 2, 1, 1 }, mode_groups[] = { 16, 12, 8, 8, 4, 4, 2 };
        unsigned keep = stationary->keep, group = stationary->group, tag = plain->tags[first_row + k][column], chosen;
        uint32_t legs[16] = {}, image = 0;
        bool through[16] = {}, left = false;

        for (size_t i = 0; i < n; i++) {
                const TensorFault *p = faults[i].parameters;

                if (plain_is(&faults[i], "ratio-wrong") && stationary->keep == mode_keeps[p->mode] &&
                    stationary->group == mode_groups[p->mode]) {
                        keep = mode_keeps[p->as];
                        group = mode_groups[p->as];
                }
                if (plain_is(&faults[i], "tag-stale") && p->misses == 2 && plain_is_at(&faults[i], first_row + k, column))
                        left = true;
        }
        if (stationary->keep == 0 && !left)
                return x[k * moving->columns + at];

        if (stationary->keep == 0)
                legs[0] = x[k * moving->columns + at];
        for (unsigned leg = 0; stationary->keep > 0 && leg < group; leg++) {
                unsigned row = k / keep * group + leg;

                legs[leg] = row < moving->rows ? x[row * moving->columns + at] : 0;
        }

        for (size_t i = 0; i < n; i++) {
                const TensorFault *p = faults[i].parameters;

                if (plain_is_at(&faults[i], first_row + k, column) && plain_is(&faults[i], "tag-stuck"))
                        tag = p->value ? tag | 1u << p->bit : tag & ~(1u << p->bit);
        }
        chosen = tag;
        for (size_t i = 0; i < n; i++) {
                const TensorFault *p = faults[i].parameters;

                if (!plain_is_at(&faults[i], first_row + k, column))
                        continue;
                if (plain_is(&faults[i], "decoder-stuck") && p->code == tag)
                        chosen = (unsigned) p->other;
                if (plain_is(&faults[i], "select-bridged"))
                        legs[p->position] = legs[p->other] = p->wired ? legs[p->position] | legs[p->other]
                                                                      : legs[p->position] & legs[p->other];
        }
        through[chosen] = chosen < group || stationary->keep == 0;

        for (unsigned pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < n; i++) {
                        const TensorFault *p = faults[i].parameters;

                        if (!plain_is_at(&faults[i], first_row + k, column))
                                continue;
                        if (plain_is(&faults[i], "select-dead") && pass == 0)
                                through[p->position] = false;
                        if (!plain_is(&faults[i], "select-leg-stuck"))
                                continue;
                        if (p->has_bit && pass == 0)
                                legs[p->position] = p->value ? legs[p->position] | 1u << p->bit
                                                             : legs[p->position] & ~(1u << p->bit);
                        else if (!p->has_bit && p->value == pass)
                                through[p->position] = p->value;
                }

        for (unsigned leg = 0; leg < 16; leg++)
                if (through[leg])
                        image |= legs[leg];
        return image;
}

/* ---- random faults, tags and modes ---- */

typedef struct Drawn {
        Fault faults[FAULTS_MAX];
        TensorFault parameters[FAULTS_MAX];
        size_t n;
} Drawn;

static void add_part(Location *at, LocationKind kind, unsigned index) {
        assert_int_equal(location_append(at, kind, index), 0);
}

static bool kind_is_at(const FaultKind *kind, LocationKind place) {
        for (const LocationKind *at = kind->at; *at >= 0; at++)
                if (*at == place)
                        return true;
        return false;
}

static void draw_place(const FaultKind *kind, Location *at, unsigned row, unsigned column) {
        bool slot = kind_is_at(kind, LOCATION_SPARSE_SLOT) && (draw(2) || !kind_is_at(kind, LOCATION_SPARSE_ROW));

        assert_int_equal(location_parse("us0-0/chip0/core0/sparse", at, NULL, NULL), 0);
        if (strcmp(kind->name, "tag-stale") == 0 && slot && draw(3) == 0) {
                add_part(at, LOCATION_SPARSE_SLOT, column);
                return;
        }
        if (!kind_is_at(kind, LOCATION_SPARSE_ROW) && !kind_is_at(kind, LOCATION_SPARSE_SLOT))
                return;
        add_part(at, LOCATION_SPARSE_ROW, row);
        if (slot)
                add_part(at, LOCATION_SPARSE_SLOT, column);
}

/* Faults crowd into a few rows and columns, so that they meet. */
static void draw_faults(Drawn *drawn, Selectors *selectors, unsigned row, unsigned column) {
        static const FaultKind *found[16];
        size_t n_kinds = 0;

        for (const FaultKind *kind = tensor_sparse_faults; kind->name; kind++)
                if (strcmp(kind->name, "mode-refused") != 0)
                        found[n_kinds++] = kind;

        drawn->n = 0;
        for (unsigned i = 1 + draw(FAULTS_MAX); i > 0; i--) {
                TensorFault *p = &drawn->parameters[drawn->n];
                Fault *fault = &drawn->faults[drawn->n];
                const char *wrong;

                *fault = (Fault){ .id = drawn->n, .kind = found[draw((uint32_t) n_kinds)], .parameters = p };
                *p = (TensorFault){ .bit = draw(4), .value = draw(2), .position = draw(16), .other = draw(16),
                                    .code = draw(16), .has_bit = draw(2), .wired = (int) draw(2), .misses = (int) draw(3),
                                    .mode = (int) draw(7), .as = (int) draw(7) };
                if (strcmp(fault->kind->name, "tag-lane-stuck") == 0 || p->has_bit)
                        p->bit = draw(16);
                if (strcmp(fault->kind->name, "tag-stuck") == 0)
                        p->bit %= 4;
                draw_place(fault->kind, &fault->at, row + draw(2), column + draw(2));
                if (strcmp(fault->kind->name, "compressed-swapped") == 0)
                        p->other = (uint64_t) location_index(&fault->at, LOCATION_SPARSE_ROW) / 4 * 4 + draw(4);
                if (fault->kind->validate && fault->kind->validate(fault, &wrong) < 0)
                        continue;
                if (selectors_inject(selectors, fault) >= 0)
                        drawn->n++;
        }
}

static Stationary *draw_stationary(unsigned rows, unsigned columns, unsigned mode, const uint16_t **ret_tags) {
        static uint16_t weights[PE_ROWS * PE_COLUMNS], tags[PE_ROWS * PE_COLUMNS];
        bool sparse = mode < ELEMENTS(modes);
        Stationary shape = { .rows = (uint16_t) rows, .columns = (uint16_t) columns, .format = FORMAT_BF16,
                             .keep = sparse ? (uint8_t) modes[mode].keep : 0, .group = sparse ? (uint8_t) modes[mode].group : 0,
                             .n_weights = (size_t) rows * columns * 2,
                             .n_tags = sparse ? rows * stationary_tag_words(columns) * 2 : 0 };
        Stationary *stationary;

        for (size_t i = 0; i < shape.n_tags / 2; i++)
                tags[i] = (uint16_t) draw(65536);
        assert_int_equal(memo_stationary(&shape, weights, tags, &stationary), 0);
        *ret_tags = tags;
        return stationary;
}

static Moving *draw_moving(const Stationary *stationary, uint16_t *x) {
        Moving shape = { .rows = (uint16_t) stationary_moving_rows(stationary), .columns = VECTORS, .format = FORMAT_BF16 };
        Moving *moving;

        shape.n_bytes = (size_t) shape.rows * VECTORS * 2;
        for (size_t i = 0; i < shape.n_bytes / 2; i++)
                x[i] = (uint16_t) draw(65536);
        assert_int_equal(memo_moving(&shape, x, &moving), 0);
        return moving;
}

static void compare(Selectors *selectors, const Plain *plain, const Drawn *drawn, const Stationary *stationary,
                    unsigned first_row, size_t *n_wrong) {
        static uint16_t x[512 * VECTORS];
        Moving *moving = draw_moving(stationary, x);

        for (unsigned k = 0; k < stationary->rows; k++)
                for (unsigned column = 0; column < stationary->columns; column++) {
                        Selection selection = selection_of(selectors, stationary, first_row, 0, moving, k, column);

                        for (unsigned n = 0; n < VECTORS; n++) {
                                uint32_t expected = plain_select(plain, drawn->faults, drawn->n, stationary, moving, x,
                                                                 first_row, k, column, n);
                                uint32_t right = plain_select(plain, NULL, 0, stationary, moving, x, first_row, k, column, n);

                                assert_int_equal(selection_image(&selection, n), expected);
                                if (selection.right && (stationary->keep == 0 ||
                                                        plain->tags[first_row + k][column] == stationary_tag(stationary, k, column)))
                                        assert_int_equal(expected, right);
                                if (!selectors_may_err(selectors, stationary, first_row) ||
                                    !selectors_may_err_in(selectors, stationary, first_row, 0, column))
                                        assert_true(selection.right);
                                *n_wrong += expected != right;
                        }
                }
        (void) moving_unref(moving);
}

static void test_selectors_are_those_of_the_plain_model(void **state) {
        static Plain plain;
        size_t n_wrong = 0;

        seed = 20260611;
        for (unsigned round = 0; round < ROUNDS; round++) {
                Selectors selectors = {};
                Drawn drawn = {};

                plain = (Plain){};
                draw_faults(&drawn, &selectors, 4 * draw(10), draw(30));
                for (unsigned load = 0; load < 6; load++) {
                        unsigned first_row = draw(3) ? 0 : 32, rows = 16 + 4 * draw(5), columns = 32, mode = draw(8);
                        const uint16_t *tags;
                        Stationary *stationary = draw_stationary(rows, columns, mode, &tags);

                        acting = round % 2 ? UINT64_MAX : draw(64);
                        selectors_gather(&selectors, NULL);
                        selectors_load(&selectors, stationary, first_row);
                        plain_load(&plain, drawn.faults, drawn.n, stationary, tags, first_row);

                        acting = round % 2 ? UINT64_MAX : draw(64);
                        selectors_gather(&selectors, NULL);
                        if (drawn.n > 0)
                                compare(&selectors, &plain, &drawn, stationary, first_row, &n_wrong);
                        (void) stationary_unref(stationary);
                }
                selectors_done(&selectors);
        }
        assert_true(n_wrong > 1000);
        memo_forget();
}

static void test_healed_selectors_keep_what_they_hold_until_the_next_load(void **state) {
        TensorFault parameters = { .misses = 0 };
        Fault fault = { .kind = &tensor_sparse_faults[2], .parameters = &parameters };
        Selectors selectors = {};
        const uint16_t *tags;
        Stationary *stationary = draw_stationary(32, 32, 0, &tags);

        acting = UINT64_MAX;
        assert_string_equal(fault.kind->name, "tag-stale");
        assert_int_equal(location_parse("us0-0/chip0/core0/sparse/row3", &fault.at, NULL, NULL), 0);
        assert_int_equal(selectors_inject(&selectors, &fault), 1);
        assert_int_equal(selectors_inject(&selectors, &fault), -EEXIST);
        selectors_gather(&selectors, NULL);
        selectors_load(&selectors, stationary, 0);
        selectors_heal(&selectors, &fault);
        assert_true(selectors_may_err(&selectors, stationary, 0));
        selectors_gather(&selectors, NULL);
        selectors_load(&selectors, stationary, 0);
        assert_false(selectors_may_err(&selectors, stationary, 0));
        selectors_done(&selectors);
        (void) stationary_unref(stationary);
        memo_forget();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_selectors_are_those_of_the_plain_model),
                cmocka_unit_test(test_healed_selectors_keep_what_they_hold_until_the_next_load),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
