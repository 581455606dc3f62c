/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cone of defects against an array that holds every register and steps every element for every vector, bit by bit where gates and
 * carries are stuck and with the host's floats elsewhere. It is written from wire.h and the words of the kinds.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/faults.h"
#include "tests/sim/plain-format.h"
#include "tests/sim/tensor-bench.h"

#define FAULTS_MAX 8u

/* ---- what is run, and with which faults ---- */

typedef struct Injury {
        const char *kind;
        unsigned row, column; /* of the element, or of the sparse path */
        TensorFault parameters;
} Injury;

typedef struct Bench {
        TensorBench engine;
        /* the tile */
        unsigned rows, columns, first_row, first_column, keep, group, moving;
        WireFormat w_format, x_format;
        bool ftz, double_row, transposed;
        Injury injuries[FAULTS_MAX];
        Fault faults[FAULTS_MAX];
        unsigned n_faults;
        double droop; /* of those to come */
        uint8_t (*held)[PE_COLUMNS]; /* tags of the sparse load before, where a dense one is to meet them */
} Bench;

static const unsigned modes[][2] = {
        {4,  16},
        { 4, 12},
        { 4, 8 },
        { 2, 8 },
        { 2, 4 },
        { 1, 4 },
        { 1, 2 }
};

static unsigned moving_rows(const Bench *bench) {
        return bench->keep > 0 ? bench->rows / bench->keep * bench->group : bench->rows;
}

static unsigned layers(const Bench *bench) {
        return bench->double_row ? 2 : 1;
}

/* ---- numbers ---- */

static uint32_t to_bits(double value, bool ftz) {
        return plain_flush(ftz, plain_bits((float) value));
}

static double number(WireFormat format, uint32_t image, bool ftz) {
        return (double) plain_float(plain_flush(ftz, plain_bits(plain_decode(format, image))));
}

/* Bits of exponent and fraction. */
static const unsigned widths[_FORMAT_MAX][2] = {
        [FORMAT_FP32] = {8,  23}, [FORMAT_BF16] = { 8, 7 }, [FORMAT_FP16] = { 5, 10 }, [FORMAT_TF32] = { 8, 10 },
        [FORMAT_FP8_E4M3] = { 4, 3 }, [FORMAT_FP8_E5M2] = { 5, 2 }, [FORMAT_FP8_E3M4] = { 3, 4 },
};

/* ---- the array ---- */

typedef struct Array {
        uint32_t weight[PE_ROWS][PE_COLUMNS];
        uint32_t activation[PE_ROWS][PE_COLUMNS];
        uint32_t psum[PE_ROWS][PE_COLUMNS];
        /* What each register should have taken at the vector before; in sparse loads the activation of each column is on its own way. */
        uint32_t activation_wanted[PE_ROWS][16][PE_COLUMNS];
        uint32_t product_wanted[PE_ROWS][PE_COLUMNS];
        uint32_t psum_wanted[PE_ROWS][PE_COLUMNS];
} Array;

static Array *array;

/* The faults of KIND at (ROW, COLUMN), from number FROM on. */
static const Injury *injury_next(const Bench *bench, const char *kind, unsigned row, unsigned column, unsigned *from) {
        while (*from < bench->n_faults) {
                const Injury *injury = &bench->injuries[(*from)++];

                if (strcmp(injury->kind, kind) == 0 && injury->row == row && injury->column == column)
                        return injury;
        }
        return NULL;
}

static uint32_t stick(const Bench *bench, const char *kind, unsigned row, unsigned column, unsigned lane, uint32_t value) {
        const Injury *injury;

        for (unsigned i = 0; (injury = injury_next(bench, kind, row, column, &i));)
                if (injury->parameters.lane == lane)
                        value = injury->parameters.value ? value | 1u << injury->parameters.bit : value & ~(1u << injury->parameters.bit);
        return value;
}

/* Bits that should change as they cannot stay what they were. */
static uint32_t delay(const Bench *bench, const char *kind, unsigned row, unsigned column, uint32_t value, uint32_t *wanted) {
        const Injury *injury;
        uint32_t held = value;

        for (unsigned i = 0; (injury = injury_next(bench, kind, row, column, &i));) {
                unsigned bit = (unsigned) injury->parameters.bit;
                bool was = *wanted >> bit & 1, is = value >> bit & 1;

                if (was != is && is == (injury->parameters.edge == EDGE_RISE))
                        held ^= 1u << bit;
        }
        *wanted = value;
        return held;
}

static bool is_dead(const Bench *bench, const char *kind, unsigned row, unsigned column) {
        for (unsigned i = 0; i < bench->n_faults; i++) {
                const TensorFault *parameters = &bench->injuries[i].parameters;

                if (strcmp(bench->injuries[i].kind, kind) != 0)
                        continue;
                if (strcmp(kind, "pe-row-dead") == 0 && parameters->row == row)
                        return true;
                if (strcmp(kind, "pe-column-dead") == 0 && parameters->column == column)
                        return true;
                if (strcmp(kind, "pe-block-dead") == 0 && parameters->row_group == row / 32 &&
                    parameters->column_group == column / 32)
                        return true;
        }
        return false;
}

static uint32_t lane(const Bench *bench, const char *kind, unsigned at, uint32_t value) {
        for (unsigned i = 0; i < bench->n_faults; i++) {
                const TensorFault *parameters = &bench->injuries[i].parameters;
                bool row = strcmp(kind, "row-lane-stuck") == 0;

                if (strcmp(bench->injuries[i].kind, kind) == 0 && (row ? parameters->row : parameters->column) == at)
                        value = parameters->value ? value | 1u << parameters->bit : value & ~(1u << parameters->bit);
        }
        return value;
}

/* ---- multiplier and adder ---- */

static bool has(const Bench *bench, const char *kind, unsigned row, unsigned column, unsigned of_lane) {
        const Injury *injury;

        for (unsigned i = 0; (injury = injury_next(bench, kind, row, column, &i));)
                if (injury->parameters.lane == of_lane)
                        return true;
        return false;
}

/* The sum of all gates of a SIZE × SIZE multiplier, each looked at. */
static double gates(const Bench *bench, unsigned row, unsigned column, unsigned of_lane, unsigned size, uint32_t w, uint32_t x) {
        uint64_t sum = 0;

        for (unsigned a = 0; a < size; a++)
                for (unsigned b = 0; b < size; b++) {
                        unsigned gate = (w >> a & 1) && (x >> b & 1);
                        const Injury *injury;

                        for (unsigned i = 0; (injury = injury_next(bench, "multiplier-gate-stuck", row, column, &i));)
                                if (injury->parameters.lane == of_lane && injury->parameters.a == a && injury->parameters.b == b)
                                        gate = (unsigned) injury->parameters.value;
                        sum += (uint64_t) gate << (a + b);
                }
        return (double) sum;
}

static double multiply_gates(const Bench *bench, unsigned row, unsigned column, unsigned of_lane, double w, double x) {
        bool fp32 = bench->w_format == FORMAT_FP32;
        unsigned size = of_lane == 1 ? 5 : 12, bits = fp32 ? 24 : size;
        int w_exponent, x_exponent;
        uint32_t p = (uint32_t) ldexp(frexp(fabs(w), &w_exponent), (int) bits);
        uint32_t q = (uint32_t) ldexp(frexp(fabs(x), &x_exponent), (int) bits);
        double sum;

        if (fp32)
                sum = gates(bench, row, column, 0, 12, p >> 12, q >> 12) * 0x1p24 +
                      gates(bench, row, column, 0, 12, p >> 12, q & 0xfff) * 0x1p12 +
                      gates(bench, row, column, 0, 12, p & 0xfff, q >> 12) * 0x1p12 +
                      gates(bench, row, column, 0, 12, p & 0xfff, q & 0xfff);
        else
                sum = gates(bench, row, column, of_lane, size, p, q);

        sum = ldexp(sum, w_exponent + x_exponent - 2 * (int) bits);
        return signbit(w) != signbit(x) ? -sum : sum;
}

static uint32_t multiply(const Bench *bench, unsigned row, unsigned column, unsigned of_lane, uint32_t w, uint32_t x) {
        double a, b;

        if (is_dead(bench, "pe-block-dead", row, column))
                return 0;

        w = bench->double_row ? w >> 8 * of_lane & 0xff : w;
        x = bench->double_row ? x >> 8 * of_lane & 0xff : x;
        a = number(bench->w_format, w, bench->ftz);
        b = number(bench->x_format, x, bench->ftz);
        if (has(bench, "multiplier-gate-stuck", row, column, of_lane) && isfinite(a) && isfinite(b) && a != 0 && b != 0)
                return to_bits(multiply_gates(bench, row, column, of_lane, a, b), bench->ftz);
        return to_bits(a * b, bench->ftz);
}

static uint32_t carry_at(const Bench *bench, unsigned row, unsigned column, unsigned bit, uint32_t carry) {
        const Injury *injury;

        for (unsigned i = 0; (injury = injury_next(bench, "adder-carry-stuck", row, column, &i));)
                if (injury->parameters.bit == bit)
                        carry = (uint32_t) injury->parameters.value;
        return carry;
}

/* Full adders, one after the other. */
static double add_bits(const Bench *bench, unsigned row, unsigned column, float a, float b) {
        float large = fabsf(a) < fabsf(b) ? b : a, small = fabsf(a) < fabsf(b) ? a : b;
        bool differ = signbit(a) != signbit(b);
        int large_exponent = large == 0 ? -126 : ilogbf(large), small_exponent = small == 0 ? -126 : ilogbf(small);
        double unit, aligned;
        uint32_t p, q, sum = 0, carry = differ;

        large_exponent = large_exponent < -126 ? -126 : large_exponent;
        small_exponent = small_exponent < -126 ? -126 : small_exponent;
        unit = ldexp(1, large_exponent - 26);
        p = (uint32_t) ((double) fabsf(large) / unit);
        aligned = (double) fabsf(small) / unit;
        q = (uint32_t) floor(aligned);
        if ((double) q != aligned)
                q |= 1; /* sticky */

        for (unsigned bit = 0; bit < 27; bit++) {
                uint32_t i = p >> bit & 1, j = (q >> bit & 1) ^ differ;

                carry = carry_at(bench, row, column, bit, carry);
                sum += ((i + j + carry) & 1) << bit;
                carry = i + j + carry >= 2;
        }
        if (!differ)
                sum += carry << 27;

        if (sum == 0)
                return signbit(a) && signbit(b) ? -0.0 : 0.0;
        return signbit(large) ? -(sum * unit) : sum * unit;
}

static uint32_t add(const Bench *bench, unsigned row, unsigned column, uint32_t x, uint32_t y) {
        float a = plain_float(to_bits((double) plain_float(x), bench->ftz)), b = plain_float(to_bits((double) plain_float(y), bench->ftz));
        bool stuck = column < PE_COLUMNS && has(bench, "adder-carry-stuck", row, column, 0);

        if (stuck && isfinite(a) && isfinite(b))
                return to_bits(add_bits(bench, row, column, a, b), bench->ftz);
        return to_bits((double) a + (double) b, bench->ftz);
}

/* ---- loads and vectors ---- */

static uint32_t image(const uint8_t *bytes, WireFormat format, unsigned n_layers, size_t layer, size_t at) {
        unsigned size = wire_format_bytes(format);
        uint32_t word = 0;

        memcpy(&word, bytes + at * size, size);
        if (format == FORMAT_TF32)
                word &= ~0x1fffu;
        if (n_layers == 2)
                word |= (uint32_t) bytes[layer + at] << 8;
        return word;
}

static void array_load(const Bench *bench) {
        memset(array, 0, sizeof(*array));

        for (unsigned k = 0; k < bench->rows; k++)
                for (unsigned m = 0; m < bench->columns; m++) {
                        unsigned row = bench->first_row + k, column = bench->first_column + m;
                        uint32_t w = image(bench->engine.window + WEIGHTS, bench->w_format, layers(bench), (size_t) bench->rows * bench->columns,
                                           (size_t) k * bench->columns + m);

                        for (unsigned above = 0; above <= row; above++)
                                w = stick(bench, "weight-shift-stuck", above, column, 0, w);
                        array->weight[row][column] = stick(bench, "weight-stuck", row, column, 0, w);
                }
}

static unsigned loaded_tag(const Bench *bench, unsigned k, unsigned m) {
        uint16_t word;

        memcpy(&word, bench->engine.window + TAGS + 2 * (k * ((bench->columns + 3) / 4) + m / 4), 2);
        return word >> 4 * (m % 4) & 15;
}

/* What comes to row K for column M at vector N. A dense load has one input; only what goes on selecting heeds a tag in it. */
static uint32_t coming(const Bench *bench, unsigned k, unsigned m, unsigned n) {
        unsigned row = bench->first_row + k, column = bench->first_column + m, from = k, tag, unused = 0;

        if (bench->keep > 0 || injury_next(bench, "tag-stale", row, column, &unused)) {
                tag = bench->keep > 0 ? loaded_tag(bench, k, m) : bench->held[row][column];
                tag = stick(bench, "tag-stuck", row, column, 0, tag);
                if (tag >= (bench->keep > 0 ? bench->group : 1))
                        return 0;
                for (unsigned i = 0; i < bench->n_faults; i++)
                        if (strcmp(bench->injuries[i].kind, "select-dead") == 0 && bench->injuries[i].row == row &&
                            bench->injuries[i].parameters.position == tag)
                                return 0;
                from = bench->keep > 0 ? k / bench->keep * bench->group + tag : k;
        }
        return image(bench->engine.window + MOVING, bench->x_format, layers(bench), (size_t) moving_rows(bench) * bench->moving,
                     (size_t) from * bench->moving + n);
}

/* One activation from the edge of the array to the register of column TO. */
static uint32_t walk(const Bench *bench, unsigned row, unsigned way, unsigned to, uint32_t x) {
        if (is_dead(bench, "pe-row-dead", row, 0))
                x = 0;
        x = lane(bench, "row-lane-stuck", row, x);
        for (unsigned column = 0; column <= to; column++) {
                x = delay(bench, "activation-slow", row, column, x, &array->activation_wanted[row][way][column]);
                x = stick(bench, "activation-stuck", row, column, 0, x);
                array->activation[row][column] = x;
        }
        return x;
}

static uint32_t product_register(const Bench *bench, unsigned row, unsigned column, unsigned of_lane, uint32_t product) {
        if (of_lane == 0)
                product = delay(bench, "product-slow", row, column, product, &array->product_wanted[row][column]);
        return stick(bench, "product-stuck", row, column, of_lane, product);
}

static void element(const Bench *bench, unsigned row, unsigned column) {
        uint32_t psum = row > bench->first_row ? array->psum[row - 1][column] : 0;
        uint32_t w = array->weight[row][column], x = array->activation[row][column], product;

        if (bench->transposed) {
                product = number(bench->x_format, x, bench->ftz) == 0 || is_dead(bench, "pe-block-dead", row, column) ? 0 : w;
                psum |= product_register(bench, row, column, 0, product);
        } else {
                product = product_register(bench, row, column, 0, multiply(bench, row, column, 0, w, x));
                if (bench->double_row)
                        product = add(bench, row, PE_COLUMNS, product,
                                      product_register(bench, row, column, 1, multiply(bench, row, column, 1, w, x)));
                psum = add(bench, row, column, psum, product);
        }

        psum = delay(bench, "psum-slow", row, column, psum, &array->psum_wanted[row][column]);
        array->psum[row][column] = stick(bench, "psum-stuck", row, column, 0, psum);
}

static uint32_t column_out(const Bench *bench, unsigned column) {
        uint32_t out = array->psum[bench->first_row + bench->rows - 1][column];

        if (is_dead(bench, "pe-column-dead", 0, column))
                out = 0;
        return lane(bench, "column-lane-stuck", column, out);
}

static void array_step(const Bench *bench, unsigned n, uint32_t *ret) {
        for (unsigned k = 0; k < bench->rows; k++) {
                unsigned row = bench->first_row + k, last = bench->first_column + bench->columns - 1;
                bool own_ways = bench->keep > 0 || bench->held;

                if (!own_ways)
                        (void) walk(bench, row, 0, last, coming(bench, k, 0, n));
                for (unsigned m = 0; m < bench->columns; m++) {
                        unsigned column = bench->first_column + m;

                        if (own_ways)
                                (void) walk(bench, row, m, column, coming(bench, k, m, n));
                        element(bench, row, column);
                }
        }

        for (unsigned m = 0; m < bench->columns; m++)
                ret[m] = column_out(bench, bench->first_column + m);
}

/* ---- the model ---- */

static void bench_init(Bench *bench) {
        settings = (TensorSettings){};
        *bench = (Bench){};
        tensor_bench_init(&bench->engine);
        array = calloc(1, sizeof(*array));
        assert_non_null(array);
}

static void bench_done(Bench *bench) {
        tensor_bench_done(&bench->engine);
        free(array);
}

static void bench_load(Bench *bench) {
        WireCommand command = {
                .type = COMMAND_LOAD_STATIONARY,
                .in_offset = WEIGHTS,
                .in_bytes = layers(bench) * bench->rows * bench->columns * wire_format_bytes(bench->w_format),
                .load = {.rows = (uint16_t) bench->rows,
                         .columns = (uint16_t) bench->columns,
                         .format = (uint8_t) bench->w_format,
                         .flags = (uint8_t) ((bench->keep > 0 ? LOAD_SPARSE : 0) | (bench->double_row ? LOAD_DOUBLE_ROW : 0)),
                         .keep = (uint8_t) bench->keep,
                         .group = (uint8_t) bench->group,
                         .tags_offset = TAGS,
                         .first_row = (uint8_t) bench->first_row,
                         .first_column = (uint8_t) bench->first_column},
        };

        assert_int_equal(tensor_bench_run(&bench->engine, &command), STATUS_NRT_SUCCESS);
}

static void bench_matmul(Bench *bench) {
        WireCommand command = {
                .type = COMMAND_MATMUL,
                .in_offset = MOVING,
                .in_bytes = layers(bench) * moving_rows(bench) * bench->moving * wire_format_bytes(bench->x_format),
                .out_offset = OUT,
                .out_bytes = bench->columns * bench->moving * 4,
                .matmul = {.moving = (uint16_t) bench->moving,
                           .flags = (uint8_t) (MATMUL_OVERWRITE | (bench->transposed ? MATMUL_TRANSPOSE : 0)),
                           .first_row = (uint8_t) bench->first_row,
                           .first_column = (uint8_t) bench->first_column,
                           .format = (uint8_t) bench->x_format},
        };

        assert_int_equal(tensor_bench_run(&bench->engine, &command), STATUS_NRT_SUCCESS);
        assert_int_equal(bench->engine.completion.out_bytes, bench->columns * bench->moving * 4);
}

/* Returns 0, or what the model said against it; then it is not there. */
static int bench_inject(Bench *bench, Injury injury) {
        Fault *fault = &bench->faults[bench->n_faults];
        const FaultKind *kind = tensor_kind(injury.kind);
        char text[96];
        int r;

        (void) snprintf(text, sizeof(text),
                        kind->at[0] == LOCATION_PE            ? "us0-0/chip0/core0/pe%u.%u"
                        : kind->at[0] == LOCATION_SPARSE_SLOT ? "us0-0/chip0/core0/sparse/row%u/slot%u"
                        : kind->at[0] == LOCATION_SPARSE_ROW  ? "us0-0/chip0/core0/sparse/row%u"
                                                              : "us0-0/chip0/core0",
                        injury.row, injury.column);
        bench->injuries[bench->n_faults] = injury;
        *fault = (Fault){ .kind = kind, .persistence = PERSISTENCE_PERMANENT, .droop = bench->droop, .parameters = &bench->injuries[bench->n_faults].parameters };
        assert_return_code(location_parse(text, &fault->at, NULL, NULL), 0);

        r = model_tensor.inject(bench->engine.state, fault);
        if (r >= 0)
                bench->n_faults++;
        return r;
}

static void bench_heal(Bench *bench) {
        for (unsigned i = 0; i < bench->n_faults; i++)
                model_tensor.heal(bench->engine.state, &bench->faults[i]);
        bench->n_faults = 0;
}

static void describe(const Bench *bench) {
        print_message("# %u × %u × %u at %u.%u, %s × %s%s%s%s, %u:%u\n", bench->rows, bench->columns, bench->moving, bench->first_row,
                      bench->first_column, wire_format_words[bench->w_format], wire_format_words[bench->x_format],
                      bench->ftz ? ", ftz" : "", bench->double_row ? ", double rows" : "", bench->transposed ? ", transposed" : "",
                      bench->keep, bench->group);
        for (unsigned i = 0; i < bench->n_faults; i++)
                print_message("# %s at %u.%u: bit %u value %u lane %u edge %d a %u b %u row %u column %u\n", bench->injuries[i].kind,
                              bench->injuries[i].row, bench->injuries[i].column, (unsigned) bench->injuries[i].parameters.bit,
                              (unsigned) bench->injuries[i].parameters.value, (unsigned) bench->injuries[i].parameters.lane,
                              bench->injuries[i].parameters.edge, (unsigned) bench->injuries[i].parameters.a,
                              (unsigned) bench->injuries[i].parameters.b, (unsigned) bench->injuries[i].parameters.row,
                              (unsigned) bench->injuries[i].parameters.column);
}

/* What came is what comes of the array; returns how much of it is not what comes of one without faults. */
static unsigned assert_output(Bench *bench) {
        const uint32_t *out = bench->engine.out;
        unsigned n_faults = bench->n_faults, wrong = 0;

        array_load(bench);
        for (unsigned n = 0; n < bench->moving; n++) {
                uint32_t column[PE_COLUMNS];

                array_step(bench, n, column);
                for (unsigned m = 0; m < bench->columns; m++)
                        if (column[m] != out[m * bench->moving + n]) {
                                describe(bench);
                                fail_msg("out[%u][%u] is %#x and not %#x", m, n, out[m * bench->moving + n], column[m]);
                        }
        }

        bench->n_faults = 0;
        array_load(bench);
        for (unsigned n = 0; n < bench->moving; n++) {
                uint32_t column[PE_COLUMNS];

                array_step(bench, n, column);
                for (unsigned m = 0; m < bench->columns; m++)
                        wrong += column[m] != out[m * bench->moving + n];
        }
        bench->n_faults = n_faults;
        return wrong;
}

static unsigned assert_as_the_array(Bench *bench) {
        bench_matmul(bench);
        return assert_output(bench);
}

/* ---- what is drawn ---- */

/* Numbers as jobs have them, any bits, few bits, or only some that are not zero. */
static void fill(uint8_t *bytes, size_t n, WireFormat format, unsigned how) {
        unsigned size = wire_format_bytes(format);

        for (size_t i = 0; i < n; i++) {
                uint32_t word = draw() ^ draw() << 16, top = 8 * size - 1, low = top - widths[format][0];
                uint32_t exponent = (1u << (widths[format][0] - 1)) - 3 + draw() % 5;

                if (how == 1 || (how == 2 && draw() % 3 == 0))
                        word = (word & ~(((1u << widths[format][0]) - 1) << low)) | exponent << low;
                else if (how == 2)
                        word &= 1u << top | ((1u << low) - 1); /* zero or subnormal */
                else if (how == 3)
                        word = draw() % 6 == 0 ? exponent << low | (word & ((1u << low) - 1)) : 0;
                memcpy(bytes + i * size, &word, size);
        }
}

static unsigned tile_size(unsigned n) {
        return n <= 32 ? 32 : n <= 64 ? 64 : 128;
}

static const WireFormat any_format[] = { FORMAT_FP32, FORMAT_BF16, FORMAT_FP16, FORMAT_TF32, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
static const WireFormat fp8_format[] = { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };

static void draw_formats(Bench *bench) {
        bench->w_format = any_format[draw() % ELEMENTS(any_format)];
        bench->x_format = any_format[draw() % ELEMENTS(any_format)];
        if (bench->double_row) {
                bench->w_format = fp8_format[draw() % 3];
                bench->x_format = fp8_format[draw() % 3];
        } else if (bench->w_format == FORMAT_FP32 || bench->w_format == FORMAT_TF32)
                bench->x_format = bench->w_format;
        else if (bench->x_format == FORMAT_FP32 || bench->x_format == FORMAT_TF32)
                bench->w_format = bench->x_format;
}

static void draw_tile(Bench *bench, unsigned rows, unsigned columns, unsigned moving) {
        const unsigned *mode = modes[draw() % ELEMENTS(modes)];
        bool sparse = draw() % 4 == 0 && columns <= 16;

        bench->rows = rows;
        bench->columns = columns;
        bench->moving = moving;
        bench->double_row = draw() % 5 == 0;
        bench->keep = bench->group = 0;
        draw_formats(bench);
        if (sparse && !bench->double_row && bench->w_format != FORMAT_FP32 && bench->w_format != FORMAT_TF32) {
                bench->keep = mode[0];
                bench->group = mode[1];
                bench->rows = (rows + bench->keep - 1) / bench->keep * bench->keep;
        }
        bench->transposed = bench->keep == 0 && !bench->double_row && draw() % 6 == 0;
        settings.ftz = bench->ftz = draw() % 3 == 0;
        assert_int_equal(model_tensor.init(bench->engine.state, NULL, 0), 0);

        bench->first_row = bench->first_column = 0;
        if (!bench->double_row && draw() % 2)
                bench->first_row = tile_size(bench->rows) * (draw() % (PE_ROWS / tile_size(bench->rows)));
        if (!bench->double_row && bench->keep == 0 && draw() % 2)
                bench->first_column = tile_size(columns) * (draw() % (PE_COLUMNS / tile_size(columns)));

        fill(bench->engine.window + WEIGHTS, (size_t) layers(bench) * bench->rows * bench->columns, bench->w_format, draw() % 4);
        for (unsigned i = 0; i < bench->rows * (bench->columns + 3) / 4 * 2; i++)
                bench->engine.window[TAGS + i] = (uint8_t) draw();
        fill(bench->engine.window + MOVING, (size_t) layers(bench) * moving_rows(bench) * bench->moving, bench->x_format, draw() % 4);
}

static Injury draw_injury(const Bench *bench) {
        static const char *const kinds[] = {
                "weight-stuck",       "activation-stuck", "product-stuck",  "psum-stuck",       "weight-shift-stuck",
                "activation-slow",    "product-slow",     "psum-slow",      "multiplier-gate-stuck", "multiplier-gate-stuck",
                "adder-carry-stuck",  "adder-carry-stuck", "pe-row-dead",   "pe-column-dead",   "pe-block-dead",
                "row-lane-stuck",     "column-lane-stuck", "tag-stuck",     "select-dead",
        };
        Injury injury = { .kind = kinds[draw() % (ELEMENTS(kinds) - (bench->keep > 0 ? 0 : 2))] };
        TensorFault *parameters = &injury.parameters;
        bool product = strcmp(injury.kind, "product-stuck") == 0, gate = strcmp(injury.kind, "multiplier-gate-stuck") == 0;
        unsigned row = bench->first_row + draw() % bench->rows, column = bench->first_column + draw() % bench->columns, bits = 32;

        if (draw() % 8 == 0)
                row = draw() % PE_ROWS;
        if (draw() % 8 == 0)
                column = draw() % PE_COLUMNS;
        bits = strcmp(injury.kind, "adder-carry-stuck") == 0 ? 27 : strcmp(injury.kind, "tag-stuck") == 0 ? 4 : bits;
        bits = strcmp(injury.kind, "select-dead") == 0 ? 1 : bits;

        if (strstr(injury.kind, "lane") || strstr(injury.kind, "pe-")) {
                parameters->row = row;
                parameters->column = column;
                parameters->row_group = row / 32;
                parameters->column_group = column / 32;
        } else {
                injury.row = row;
                injury.column = strcmp(injury.kind, "select-dead") == 0 ? 0 : column;
        }
        parameters->bit = draw() % bits;
        if (widths[bench->w_format][0] + widths[bench->w_format][1] < 16 && strstr("weight-stuck activation-stuck", injury.kind))
                parameters->bit %= 16;
        parameters->value = strcmp(injury.kind, "select-dead") == 0 ? 0 : draw() % 2;
        parameters->edge = draw() % 2 ? EDGE_RISE : EDGE_FALL;
        parameters->lane = (product || gate) && bench->double_row ? draw() % 2 : 0;
        parameters->a = gate ? (parameters->lane ? draw() % 5 : 11 - draw() % 12) : 0;
        parameters->b = gate ? (parameters->lane ? draw() % 5 : 11 - draw() % 12) : 0;
        parameters->position = strcmp(injury.kind, "select-dead") == 0 ? draw() % 16 : 0;
        return injury;
}

/* ASSAY_SPOIL_ROUNDS times as many as stand here. */
static unsigned rounds_of(unsigned n) {
        const char *times = getenv("ASSAY_SPOIL_ROUNDS");

        return times ? n * (unsigned) strtoul(times, NULL, 10) : n;
}

static void run_random(unsigned n_faults, unsigned rounds, uint64_t first_seed) {
        unsigned wrong = 0;
        Bench bench;

        rounds = rounds_of(rounds);

        bench_init(&bench);
        seed = first_seed;
        print_message("# seed %llu\n", (unsigned long long) seed);

        for (unsigned round = 0; round < rounds; round++) {
                draw_tile(&bench, 1 + draw() % 24, 1 + draw() % 9, 1 + draw() % 24);
                bench_load(&bench);
                for (unsigned i = 0; i < n_faults; i++)
                        (void) bench_inject(&bench, draw_injury(&bench));
                wrong += assert_as_the_array(&bench) > 0;
                bench_heal(&bench);
        }

        print_message("# %u of %u were wrong anywhere\n", wrong, rounds);
        assert_in_range(wrong, rounds / 3, rounds); /* else the faults do nothing, and this proves nothing */
        bench_done(&bench);
}

static void test_one_fault_makes_what_it_makes_of_the_array(void **state) {
        run_random(1, 4000, 0x243f6a8885a308d3);
}

static void test_several_faults_make_what_they_make_of_the_array(void **state) {
        run_random(3, 2000, 0x13198a2e03707344);
        run_random(FAULTS_MAX, 1000, 0xa4093822299f31d0);
}

static void test_faults_of_a_full_array(void **state) {
        Bench bench;

        bench_init(&bench);
        seed = 0x082efa98ec4e6c89;
        for (unsigned round = 0; round < 12; round++) {
                draw_tile(&bench, PE_ROWS, PE_COLUMNS, 6);
                bench_load(&bench);
                for (unsigned i = 0; i < 1 + round % 3; i++)
                        (void) bench_inject(&bench, draw_injury(&bench));
                (void) assert_as_the_array(&bench);
                bench_heal(&bench);
        }
        bench_done(&bench);
}

/* A load that fills all tag registers. */
static void load_tags(Bench *bench, uint8_t held[static PE_ROWS][PE_COLUMNS]) {
        bench->rows = PE_ROWS;
        bench->columns = PE_COLUMNS;
        bench->first_row = bench->first_column = 0;
        bench->keep = 4;
        bench->group = 16;
        bench->w_format = FORMAT_BF16;
        bench->double_row = bench->transposed = false;
        for (unsigned i = 0; i < PE_ROWS * PE_COLUMNS / 2; i++)
                bench->engine.window[TAGS + i] = (uint8_t) (draw() & (draw() | 0xf0) & (draw() | 0xf)); /* some are 0 */
        for (unsigned k = 0; k < PE_ROWS; k++)
                for (unsigned m = 0; m < PE_COLUMNS; m++)
                        held[k][m] = (uint8_t) loaded_tag(bench, k, m);
        bench_load(bench);
}

/* Elements that go on selecting in dense tiles, wherever these begin. */
static void test_a_tag_outlives_its_load_in_dense_tiles(void **state) {
        static uint8_t held[PE_ROWS][PE_COLUMNS];
        unsigned wrong = 0, beside = 0;
        Bench bench;

        bench_init(&bench);
        seed = 0x452821e638d01377;
        assert_true(bench_inject(&bench, (Injury){ "tag-stale", 0, 0, { .misses = 2 } }) >= 0);
        bench_heal(&bench); /* from the first fault on, the model keeps what registers hold through dense loads */
        for (unsigned round = 0; round < 300; round++) {
                Injury stale = { "tag-stale", 0, 0, { .misses = 2 } };

                load_tags(&bench, held);
                do
                        draw_tile(&bench, 1 + draw() % 24, 1 + draw() % 9, 1 + draw() % 12);
                while (bench.keep > 0);
                bench.held = held;
                bench_load(&bench);
                for (unsigned i = 0; i < 3; i++) {
                        stale.row = bench.first_row + draw() % bench.rows;
                        stale.column = bench.first_column + draw() % bench.columns;
                        (void) bench_inject(&bench, stale);
                }
                if (round % 2)
                        (void) bench_inject(&bench, (Injury){ "tag-stuck", stale.row, stale.column, { .bit = draw() % 4, .value = draw() % 2 } });
                if (round % 3 == 0)
                        (void) bench_inject(&bench, draw_injury(&bench));
                wrong += assert_as_the_array(&bench) > 0;
                beside += bench.first_column > 0;
                bench_heal(&bench);
                bench.held = NULL;
        }
        assert_true(wrong > 150 && beside > 60);
        bench_done(&bench);
}

/* One number after the other through one element. */
static const uint32_t *run_vectors(Bench *bench, const uint16_t *x, unsigned n) {
        bench->rows = bench->columns = 1;
        bench->moving = n;
        bench->w_format = bench->x_format = FORMAT_BF16;
        memcpy(bench->engine.window + WEIGHTS, &(uint16_t){ 0x3f80 }, 2);
        memcpy(bench->engine.window + MOVING, x, 2 * n);
        bench_load(bench);
        bench_matmul(bench);
        return bench->engine.out;
}

static void test_a_slow_bit_comes_one_vector_late(void **state) {
        static const uint16_t x[] = { 0x3f80, 0x3fc0, 0x3fc0, 0x3f80, 0x3fc0, 0x3f80 };
        static const uint32_t rise[] = { 0x3f800000, 0x3f800000, 0x3fc00000, 0x3f800000, 0x3f800000, 0x3f800000 };
        static const uint32_t fall[] = { 0x3f800000, 0x3fc00000, 0x3fc00000, 0x3fc00000, 0x3fc00000, 0x3fc00000 };
        Bench bench;

        bench_init(&bench);
        assert_int_equal(bench_inject(&bench, (Injury){ "psum-slow", 0, 0, { .bit = 22, .edge = EDGE_RISE } }), 0);
        assert_memory_equal(run_vectors(&bench, x, ELEMENTS(x)), rise, sizeof(rise));
        assert_memory_equal(run_vectors(&bench, x, ELEMENTS(x)), rise, sizeof(rise));
        bench_heal(&bench);
        assert_int_equal(bench_inject(&bench, (Injury){ "psum-slow", 0, 0, { .bit = 22, .edge = EDGE_FALL } }), 0);
        assert_memory_equal(run_vectors(&bench, x, ELEMENTS(x)), fall, sizeof(fall));
        assert_int_equal(bench_inject(&bench, (Injury){ "psum-slow", 0, 0, { .bit = 22, .edge = EDGE_RISE } }), -EEXIST);
        bench_done(&bench);
}

/* Two negative zeros meet in an adder of which a carry is stuck. */
static void test_a_broken_adder_keeps_negative_zeros(void **state) {
        static const uint16_t weights[] = { 0, 0x8000 };
        Bench bench;

        bench_init(&bench);
        bench.rows = 2;
        bench.columns = bench.moving = 1;
        bench.w_format = bench.x_format = FORMAT_BF16;
        memcpy(bench.engine.window + WEIGHTS, weights, sizeof(weights));
        assert_int_equal(bench_inject(&bench, (Injury){ "psum-stuck", 0, 0, { .bit = 31, .value = 1 } }), 0);
        assert_int_equal(bench_inject(&bench, (Injury){ "adder-carry-stuck", 1, 0, { .bit = 9, .value = 0 } }), 0);
        bench_load(&bench);
        assert_int_equal(assert_as_the_array(&bench), 1);
        assert_int_equal(bench.engine.out[0], 0x80000000);
        bench_done(&bench);
}

static void test_an_intermittent_fault_comes_and_goes(void **state) {
        static const uint16_t one = 0x3f80;
        Bench bench;

        bench_init(&bench);
        assert_int_equal(bench_inject(&bench, (Injury){ "multiplier-gate-stuck", 0, 0, { .a = 11, .b = 10, .value = 1 } }), 0);
        bench.faults[0].persistence = PERSISTENCE_INTERMITTENT;
        assert_int_equal(run_vectors(&bench, &one, 1)[0], 0x3f800000); /* the load was number 0 */
        bench_matmul(&bench);
        assert_int_equal(bench.engine.out[0], 0x3fc00000);
        bench_done(&bench);
}

/* A format that is taken for the next of its width: bytes do not change, nor do faults of registers beside it. */
static void test_a_format_is_taken_for_another(void **state) {
        static const WireFormat taken[][2] = {
                { FORMAT_FP32, FORMAT_TF32 },         { FORMAT_TF32, FORMAT_FP32 },         { FORMAT_BF16, FORMAT_FP16 },
                { FORMAT_FP16, FORMAT_BF16 },         { FORMAT_FP8_E4M3, FORMAT_FP8_E5M2 }, { FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 },
                { FORMAT_FP8_E3M4, FORMAT_FP8_E4M3 },
        };
        Bench bench;

        bench_init(&bench);
        seed = 0xec4e6c89452821e6;
        for (unsigned round = 0; round < 20 * ELEMENTS(taken); round++) {
                const WireFormat *pair = taken[round % ELEMENTS(taken)];
                WireFormat w_format, x_format;

                draw_tile(&bench, 1 + draw() % 24, 1 + draw() % 9, 1 + draw() % 24);
                assert_int_equal(bench_inject(&bench, (Injury){ "format-wrong", 0, 0, { .format = (int) pair[0] } }), 0);
                (void) bench_inject(&bench, draw_injury(&bench));
                bench_load(&bench);

                w_format = bench.w_format;
                x_format = bench.x_format;
                bench_matmul(&bench);
                bench.w_format = w_format == pair[0] ? pair[1] : w_format;
                bench.x_format = x_format == pair[0] ? pair[1] : x_format;
                (void) assert_output(&bench);
                bench_heal(&bench);
        }
        bench_done(&bench);
}

static void test_a_format_is_refused(void **state) {
        static const uint16_t one = 0x3f80;
        WireCommand load = {
                .type = COMMAND_LOAD_STATIONARY, .in_bytes = 2, .load = { .rows = 1, .columns = 1, .format = FORMAT_FP16 }
        };
        WireCommand matmul = {
                .type = COMMAND_MATMUL, .in_offset = MOVING, .in_bytes = 2, .matmul = { .moving = 1, .format = FORMAT_FP16 }
        };
        Bench bench;

        bench_init(&bench);
        assert_int_equal(bench_inject(&bench, (Injury){ "format-refused", 0, 0, { .format = FORMAT_FP16 } }), 0);
        assert_int_equal(run_vectors(&bench, &one, 1)[0], 0x3f800000);
        assert_int_equal(tensor_bench_run(&bench.engine, &matmul), STATUS_NRT_UNSUPPORTED);
        assert_int_equal(tensor_bench_run(&bench.engine, &load), STATUS_NRT_UNSUPPORTED);
        bench_heal(&bench);
        assert_int_equal(tensor_bench_run(&bench.engine, &matmul), STATUS_NRT_SUCCESS);
        bench_done(&bench);
}

/* All 16,384 elements at work are 50 mV, half of them 25. */
static void test_a_droop_needs_elements_at_work(void **state) {
        uint16_t *weights, *moving;
        Bench bench;

        bench_init(&bench);
        weights = (uint16_t *) (bench.engine.window + WEIGHTS);
        moving = (uint16_t *) (bench.engine.window + MOVING);
        bench.rows = bench.columns = PE_ROWS;
        bench.moving = 2;
        bench.w_format = bench.x_format = FORMAT_BF16;
        for (unsigned i = 0; i < PE_ROWS * PE_COLUMNS; i++)
                weights[i] = 0x3f80;
        for (unsigned i = 0; i < PE_ROWS * 2; i++)
                moving[i] = i % 2 == 0 ? 0x3f80 : 0;

        bench.droop = 25;
        assert_int_equal(bench_inject(&bench, (Injury){ "product-stuck", 3, 4, { .bit = 31, .value = 1 } }), 0);
        bench_load(&bench);
        assert_true(assert_as_the_array(&bench) > 0);
        weights[77] = 0x8000;
        bench_load(&bench);
        bench.n_faults = 0;
        assert_int_equal(assert_as_the_array(&bench), 0);
        bench_done(&bench);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_fault_makes_what_it_makes_of_the_array),
                cmocka_unit_test(test_several_faults_make_what_they_make_of_the_array),
                cmocka_unit_test(test_faults_of_a_full_array),
                cmocka_unit_test(test_a_tag_outlives_its_load_in_dense_tiles),
                cmocka_unit_test(test_a_slow_bit_comes_one_vector_late),
                cmocka_unit_test(test_a_broken_adder_keeps_negative_zeros),
                cmocka_unit_test(test_an_intermittent_fault_comes_and_goes),
                cmocka_unit_test(test_a_format_is_taken_for_another),
                cmocka_unit_test(test_a_format_is_refused),
                cmocka_unit_test(test_a_droop_needs_elements_at_work),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
