/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/loads.h"

#include <assert.h>

#include "checks/systolic/exact.h"

#define SUM_BITS       24u /* integers that binary32 holds exactly */
#define TAG_WORDS      (PE_COLUMNS / 4)
#define VALUES_MAX     (PE_ROWS / 4 * SPARSE_GROUP_MAX * 96u) /* of 4:16, the largest */
#define MOVING_LARGEST 96u

static SparseMode modes[SPARSE_MODES] = {
        {.name = "4:16",  .keep = 4, .group = 16},
        { .name = "4:12", .keep = 4, .group = 12},
        { .name = "4:8",  .keep = 4, .group = 8 },
        { .name = "2:8",  .keep = 2, .group = 8 },
        { .name = "2:4",  .keep = 2, .group = 4 },
        { .name = "1:4",  .keep = 1, .group = 4 },
        { .name = "1:2",  .keep = 1, .group = 2 },
};

static SparseLoad loads[SPARSE_LOADS];
static unsigned n_loads;
static uint16_t weights[3][PE_ROWS * PE_COLUMNS]; /* by log2 of keep */
static uint16_t values[SPARSE_MODES][VALUES_MAX];
static uint16_t tags[SPARSE_LOADS][PE_ROWS * TAG_WORDS];
static uint32_t goldens[SPARSE_LOADS][PE_COLUMNS * MOVING_LARGEST];
static unsigned steps[SPARSE_LOADS];
static bool complements[SPARSE_LOADS];

static uint16_t power_of_two(unsigned exponent) {
        return (uint16_t) ((exponent + 127) << 7);
}

/* The place of a group's position in the sums: which moving column, and above which bit. */
static unsigned place_column(const SparseMode *mode, unsigned group, unsigned position) {
        return group / mode->digits * mode->group + position;
}

static unsigned place_shift(const SparseMode *mode, unsigned group) {
        return group % mode->digits * mode->keep;
}

static void prepare_mode(unsigned index) {
        SparseMode *mode = &modes[index];
        unsigned groups = PE_ROWS / mode->keep;
        uint16_t *w = weights[mode->keep / 2], *x = values[index];

        mode->digits = SUM_BITS / mode->keep;
        mode->rows = groups * mode->group;
        mode->moving = (groups + mode->digits - 1) / mode->digits * mode->group;
        mode->weights = w;
        mode->values = x;
        assert(mode->rows * mode->moving <= VALUES_MAX && mode->moving <= MOVING_LARGEST);

        for (unsigned row = 0; row < PE_ROWS; row++)
                for (unsigned column = 0; column < PE_COLUMNS; column++)
                        w[row * PE_COLUMNS + column] = power_of_two(row % mode->keep);

        for (unsigned group = 0; group < groups; group++)
                for (unsigned position = 0; position < mode->group; position++)
                        x[(group * mode->group + position) * mode->moving +
                          place_column(mode, group, position)] = power_of_two(place_shift(mode, group));
}

static void set_tag(uint16_t *words, unsigned row, unsigned column, unsigned tag) {
        words[row * TAG_WORDS + column / 4] |= (uint16_t) (tag << 4 * (column % 4));
}

static unsigned get_tag(const uint16_t *words, unsigned row, unsigned column) {
        return words[row * TAG_WORDS + column / 4] >> 4 * (column % 4) & 15;
}

static void prepare_golden(const SparseMode *mode, const uint16_t *words, uint32_t *golden) {
        for (unsigned row = 0; row < PE_ROWS; row++) {
                unsigned group = row / mode->keep, first = place_column(mode, group, 0);
                uint32_t weight = 1u << (place_shift(mode, group) + row % mode->keep);

                for (unsigned column = 0; column < PE_COLUMNS; column++)
                        golden[column * mode->moving + first + get_tag(words, row, column)] += weight;
        }

        for (unsigned i = 0; i < PE_COLUMNS * mode->moving; i++)
                golden[i] = exact_round(false, golden[i], 0);
}

/* Slots of a group lie apart, and neighbours differ, so that a selection cannot pass for another's. STEP
 * walks every element through all its inputs; COMPLEMENT turns every bit of every tag. */
static void compute_load(unsigned index) {
        SparseLoad *load = &loads[index];
        const SparseMode *mode = load->mode;

        for (unsigned row = 0; row < PE_ROWS; row++) {
                unsigned slot = row % mode->keep, group = row / mode->keep;
                unsigned tag = (slot * mode->group / mode->keep + group + steps[index]) % mode->group;

                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        set_tag(tags[index], row, column, complements[index] ? ~tag & 15 : tag);
                        tag += 3 % mode->group;
                        tag -= tag >= mode->group ? mode->group : 0;
                }
        }

        prepare_golden(mode, tags[index], goldens[index]);
        load->tags = tags[index];
        load->golden = goldens[index];
}

static void add_load(unsigned mode, unsigned step, bool complement, bool for_bits) {
        assert(n_loads < SPARSE_LOADS);

        steps[n_loads] = step;
        complements[n_loads] = complement;
        loads[n_loads++] = (SparseLoad){
                .mode = &modes[mode],
                .for_bits = for_bits,
                .n_bytes = PE_COLUMNS * modes[mode].moving * sizeof(uint32_t),
        };
}

/* The list of loads; what they hold is computed when it is first wanted. */
static void make_list(void) {
        if (n_loads > 0)
                return;

        for (unsigned i = 0; i < SPARSE_MODES; i++) {
                prepare_mode(i);
                for (unsigned step = 0; step < modes[i].group; step++)
                        add_load(i, step, false, step == 0);
                if (modes[i].group == SPARSE_GROUP_MAX)
                        add_load(i, 0, true, true);
        }
        assert(n_loads == SPARSE_LOADS);
}

void loads_prepare(void) {
        make_list();

        for (unsigned i = 0; i < SPARSE_LOADS; i++)
                if (loads[i].for_bits)
                        (void) sparse_load_at(i);
}

const SparseMode *sparse_mode_at(unsigned index) {
        assert(index < SPARSE_MODES);

        make_list();
        return &modes[index];
}

unsigned sparse_mode_index(const SparseMode *mode) {
        return (unsigned) (mode - modes);
}

const SparseLoad *sparse_load_at(unsigned index) {
        assert(index < SPARSE_LOADS);

        make_list();
        if (!loads[index].golden)
                compute_load(index);
        return &loads[index];
}

bool sparse_load_is_for_bits(unsigned index) {
        assert(index < SPARSE_LOADS);

        make_list();
        return loads[index].for_bits;
}

unsigned sparse_load_tag(const SparseLoad *load, unsigned row, unsigned column) {
        return get_tag(load->tags, row, column);
}

/* BITS as an integer of at most SUM_BITS bits. */
static bool integer_of(uint32_t bits, uint32_t *ret) {
        uint32_t exponent = bits >> 23, significand = (bits & 0x7fffff) | 0x800000, shift;

        if (bits == 0) {
                *ret = 0;
                return true;
        }
        if (exponent < 127 || exponent > 127 + SUM_BITS - 1) /* the sign would make it larger */
                return false;

        shift = 150 - exponent;
        if (significand & ((1u << shift) - 1))
                return false;

        *ret = significand >> shift;
        return true;
}

bool sparse_load_selected(const SparseLoad *load, const uint32_t *out, unsigned row, unsigned column,
                          uint32_t *ret) {
        const SparseMode *mode = load->mode;
        unsigned group = row / mode->keep, bit = place_shift(mode, group) + row % mode->keep;
        uint32_t selected = 0;

        for (unsigned position = 0; position < mode->group; position++) {
                uint32_t sum;

                if (!integer_of(out[column * mode->moving + place_column(mode, group, position)], &sum))
                        return false;
                selected |= (sum >> bit & 1) << position;
        }

        *ret = selected;
        return true;
}
