/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/loads.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SUM_BITS       24u /* integers that binary32 holds exactly */
#define TAG_WORDS      (PE_COLUMNS / 4)
#define MOVING_LARGEST (96u + SPARSE_UNIFORM)
#define VALUES_MAX     (PE_ROWS / 4 * SPARSE_GROUP_MAX * MOVING_LARGEST) /* of 4:16, the largest */

static SparseMode modes[SPARSE_MODES] = {
        {.name = "4:16",  .keep = 4, .group = 16},
        { .name = "4:12", .keep = 4, .group = 12},
        { .name = "4:8",  .keep = 4, .group = 8 },
        { .name = "2:8",  .keep = 2, .group = 8 },
        { .name = "2:4",  .keep = 2, .group = 4 },
        { .name = "1:4",  .keep = 1, .group = 4 },
        { .name = "1:2",  .keep = 1, .group = 2 },
};

/* The values of the uniform columns: each bit of an input is 0 in one and 1 in the other. */
static const struct {
        uint16_t image;
        bool negative;
        uint32_t significand;
        int scale; /* of it: significand × 2^scale */
} uniform[SPARSE_UNIFORM] = { { 0x5555, false, 0xd5, 36 }, { 0xaaaa, true, 0xaa, -49 } };

static SparseLoad loads[SPARSE_LOADS];
static unsigned n_loads;
static uint16_t weights[3][PE_ROWS * PE_COLUMNS]; /* by log2 of keep */
static uint16_t values[SPARSE_MODES][VALUES_MAX];
static uint16_t tags[SPARSE_LOADS][PE_ROWS * TAG_WORDS];
static uint32_t goldens[SPARSE_LOADS][PE_COLUMNS * MOVING_LARGEST];

static uint16_t dense_weights[PE_ROWS * PE_COLUMNS], dense_values[PE_ROWS * DENSE_MOVING];
static uint32_t dense_golden[PE_COLUMNS * DENSE_MOVING];

/* The binary32 of an integer below 2^24 times 2^SCALE. */
static uint32_t bits_of(bool negative, uint32_t integer, int scale) {
        uint32_t exponent;

        if (integer == 0)
                return 0;
        exponent = 31 - (uint32_t) __builtin_clz(integer);
        return (uint32_t) negative << 31 | (uint32_t) ((int) exponent + 127 + scale) << 23 |
               ((integer << (23 - exponent)) & 0x7fffff);
}

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
        mode->uniform = (groups + mode->digits - 1) / mode->digits * mode->group;
        mode->moving = mode->uniform + SPARSE_UNIFORM;
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

        for (unsigned row = 0; row < mode->rows; row++)
                for (unsigned i = 0; i < SPARSE_UNIFORM; i++)
                        x[row * mode->moving + mode->uniform + i] = uniform[i].image;
}

static void set_tag(uint16_t *words, unsigned row, unsigned column, unsigned tag) {
        words[row * TAG_WORDS + column / 4] |= (uint16_t) (tag << 4 * (column % 4));
}

static unsigned get_tag(const uint16_t *words, unsigned row, unsigned column) {
        return words[row * TAG_WORDS + column / 4] >> 4 * (column % 4) & 15;
}

static void prepare_golden(const SparseMode *mode, const uint16_t *words, uint32_t *golden) {
        uint32_t sums[PE_COLUMNS] = {}; /* of the weights whose tag is inside its group */

        memset(golden, 0, (size_t) PE_COLUMNS * mode->moving * sizeof(*golden));
        for (unsigned row = 0; row < PE_ROWS; row++) {
                unsigned group = row / mode->keep, first = place_column(mode, group, 0);
                uint32_t weight = 1u << row % mode->keep, shift = place_shift(mode, group);

                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        unsigned tag = get_tag(words, row, column);

                        if (tag >= mode->group)
                                continue;
                        golden[column * mode->moving + first + tag] += weight << shift;
                        sums[column] += weight;
                }
        }

        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                uint32_t *out = golden + (size_t) column * mode->moving;

                for (unsigned n = 0; n < mode->uniform; n++)
                        out[n] = bits_of(false, out[n], 0);
                for (unsigned i = 0; i < SPARSE_UNIFORM; i++)
                        out[mode->uniform + i] = bits_of(uniform[i].negative, uniform[i].significand * sums[column],
                                                         uniform[i].scale);
        }
}

/* Slots of a group lie apart, and neighbours differ, so that a selection cannot pass for another's. STEP
 * walks every element through all its inputs; COMPLEMENT turns every bit of every tag. */
static unsigned step_tag(const SparseLoad *load, unsigned row, unsigned column) {
        const SparseMode *mode = load->mode;
        unsigned slot = row % mode->keep, group = row / mode->keep;
        unsigned tag = (slot * mode->group / mode->keep + group + load->step + 3 * column) % mode->group;

        return load->kind == SPARSE_COMPLEMENT ? ~tag & 15 : tag;
}

/* The mask after MASK with as many bits, in ascending order (Gosper). */
static uint32_t next_mask(uint32_t mask) {
        uint32_t lowest = mask & -mask, ripple = mask + lowest;

        return (((ripple ^ mask) >> 2) / lowest) | ripple;
}

static void mask_tags(const SparseLoad *load, uint16_t *words) {
        const SparseMode *mode = load->mode;
        uint32_t first = (1u << mode->keep) - 1, mask = first;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (unsigned group = 0; group < PE_ROWS / mode->keep; group++) {
                        uint32_t left = mask;

                        for (unsigned slot = 0; slot < mode->keep; slot++, left &= left - 1)
                                set_tag(words, group * mode->keep + slot, column, (unsigned) __builtin_ctz(left));
                        mask = next_mask(mask);
                        if (mask >> mode->group)
                                mask = first;
                }
}

/* In every other group the first slot names an input outside of it, where the mode has such tags; in the others the second one
 * has the tag of the first. */
static unsigned odd_tag(const SparseLoad *load, unsigned row, unsigned column) {
        const SparseMode *mode = load->mode;
        unsigned slot = row % mode->keep, group = row / mode->keep, outside = SPARSE_GROUP_MAX - mode->group;

        if (outside > 0 && (group + column) % 2 == 0 && slot == 0)
                return mode->group + (column / 2 + group) % outside;
        if ((group + column) % 2 == 1 && slot == 1)
                return step_tag(load, row - 1, column);
        return step_tag(load, row, column);
}

static void compute_load(unsigned index) {
        SparseLoad *load = &loads[index];

        if (load->kind == SPARSE_MASKS)
                mask_tags(load, tags[index]);
        for (unsigned row = 0; load->kind != SPARSE_MASKS && row < PE_ROWS; row++)
                for (unsigned column = 0; column < PE_COLUMNS; column++)
                        set_tag(tags[index], row, column, load->kind == SPARSE_ODD ? odd_tag(load, row, column)
                                                                                   : step_tag(load, row, column));

        prepare_golden(load->mode, tags[index], goldens[index]);
        load->tags = tags[index];
        load->golden = goldens[index];
}

static void add_load(unsigned mode, SparseTags kind, unsigned step) {
        bool is_widest = modes[mode].group == SPARSE_GROUP_MAX, for_bits = kind == SPARSE_COMPLEMENT || (kind == SPARSE_STEP && step == 0);

        assert(n_loads < SPARSE_LOADS);
        loads[n_loads++] = (SparseLoad){
                .mode = &modes[mode],
                .kind = kind,
                .step = step,
                .for_bits = for_bits,
                .then_dense = is_widest && for_bits, /* tags that are 0 in one of the two are 15 in the other */
                .n_bytes = PE_COLUMNS * modes[mode].moving * sizeof(uint32_t),
        };
}

static void prepare_dense(void) {
        for (unsigned i = 0; i < PE_ROWS * PE_COLUMNS; i++)
                dense_weights[i] = power_of_two(0);
        for (unsigned row = 0; row < PE_ROWS; row++)
                dense_values[row * DENSE_MOVING + row / SUM_BITS] = power_of_two(row % SUM_BITS);
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (unsigned n = 0; n < DENSE_MOVING; n++) {
                        unsigned rows = n + 1 < DENSE_MOVING ? SUM_BITS : PE_ROWS - n * SUM_BITS;

                        dense_golden[column * DENSE_MOVING + n] = bits_of(false, (1u << rows) - 1, 0);
                }
}

/* The list of loads; what they hold is computed when it is first wanted. */
static void make_list(void) {
        if (n_loads > 0)
                return;

        prepare_dense();
        for (unsigned i = 0; i < SPARSE_MODES; i++) {
                prepare_mode(i);
                add_load(i, SPARSE_STEP, 0);
                if (modes[i].group == SPARSE_GROUP_MAX)
                        add_load(i, SPARSE_COMPLEMENT, 0);
                for (unsigned step = 1; step < modes[i].group; step++)
                        add_load(i, SPARSE_STEP, step);
                add_load(i, SPARSE_MASKS, 0);
                add_load(i, SPARSE_ODD, 0);
        }
        assert(n_loads == SPARSE_LOADS);
}

const DenseProbe *dense_probe(void) {
        static const DenseProbe probe = { dense_weights, dense_values, dense_golden };

        make_list();
        return &probe;
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

unsigned sparse_load_index(const SparseLoad *load) {
        return (unsigned) (load - loads);
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

bool sparse_load_has_wrong_data(const SparseLoad *load, const uint32_t *out, unsigned column) {
        const uint32_t *sums = out + (size_t) column * load->mode->moving + load->mode->uniform;
        uint32_t multiple, most = PE_ROWS << (load->mode->keep - 1);
        double ratio;
        float sum;

        memcpy(&sum, &sums[0], sizeof(sum));
        ratio = ldexp((double) sum / uniform[0].significand, -uniform[0].scale);
        if (!(ratio >= 0 && ratio <= most)) /* also what is not a number */
                return true;

        multiple = (uint32_t) ratio;
        return sums[0] != bits_of(uniform[0].negative, uniform[0].significand * multiple, uniform[0].scale) ||
               sums[1] != bits_of(uniform[1].negative, uniform[1].significand * multiple, uniform[1].scale);
}

bool sparse_load_is_whole(const SparseLoad *load, const uint32_t *out, unsigned column) {
        size_t at = (size_t) column * load->mode->moving + load->mode->uniform;

        return memcmp(out + at, load->golden + at, SPARSE_UNIFORM * sizeof(uint32_t)) == 0;
}

bool dense_probe_has(const uint32_t *out, unsigned row, unsigned column, bool *ret) {
        uint32_t sum;

        if (!integer_of(out[column * DENSE_MOVING + row / SUM_BITS], &sum))
                return false;
        *ret = sum >> row % SUM_BITS & 1;
        return true;
}
