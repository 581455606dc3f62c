/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rounding model against the definition, worked out on values: neighbours by search, fractions as exact integers, the
 * generator by the judges' own code. Nothing here works on the bits of significands as the model does.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/rounding/golden.h"
#include "sim/model.h"

extern const Model model_rounding;

#define COUNT  64u
#define WINDOW (1u << 20)
#define OUT    (1u << 19)

/* The chip of this test: every fault acts, unless it is intermittent and the command's number is odd. */
bool fault_is_active(const Fault *fault, const Execution *execution) {
        return fault->persistence != PERSISTENCE_INTERMITTENT || execution->number % 2 == 0;
}

static const WireFormat formats[] = { FORMAT_BF16, FORMAT_FP16, FORMAT_FP8_E4M3, FORMAT_FP8_E5M2, FORMAT_FP8_E3M4 };
static uint64_t seed = 88172645463325252u;

static uint32_t draw(void) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t) (seed >> 16);
}

typedef struct Bench {
        void *state;
        uint8_t *window;
        uint64_t number;
        WireCompletion completion;
} Bench;

static int setup(void **state) {
        Bench *bench = calloc(1, sizeof(*bench));

        bench->state = calloc(1, model_rounding.state_size);
        bench->window = calloc(1, WINDOW);
        *state = bench;
        return 0;
}

static int teardown(void **state) {
        Bench *bench = *state;

        model_rounding.done(bench->state);
        free(bench->state);
        free(bench->window);
        free(bench);
        return 0;
}

static void run(Bench *bench, WireCommand command) {
        Execution execution = {
                .command = &command, .in = bench->window + command.in_offset, .out = bench->window + command.out_offset,
                .window = bench->window, .window_bytes = WINDOW, .number = bench->number++, .completion = &bench->completion,
        };

        bench->completion = (WireCompletion) {};
        assert_int_equal(model_rounding.commands[command.type](bench->state, &execution), 0);
}

static void reseed(Bench *bench, WireEngine engine, uint32_t value) {
        run(bench, (WireCommand) { .type = COMMAND_RNG_SEED, .seed = { .engine = (uint8_t) engine, .seed = value } });
}

static uint32_t bytes_of(WireFormat format) {
        return golden_sign(format) > 0xff ? 2 : 1;
}

static void convert(Bench *bench, WireEngine engine, WireFormat format, unsigned flags) {
        memset(bench->window + OUT, 0xa5, OUT);
        run(bench, (WireCommand) {
                .type = COMMAND_CONVERT, .in_bytes = ENGINE_LANES * COUNT * 4, .out_offset = OUT,
                .out_bytes = ENGINE_LANES * COUNT * bytes_of(format),
                .convert = { .engine = (uint8_t) engine, .format = (uint8_t) format, .flags = (uint8_t) flags, .count = COUNT },
        });
        assert_int_equal(bench->completion.status, STATUS_NRT_SUCCESS);
        assert_int_equal(bench->completion.out_bytes, ENGINE_LANES * COUNT * bytes_of(format));
}

static uint32_t result(const Bench *bench, WireFormat format, unsigned lane, unsigned i) {
        const uint8_t *at = bench->window + OUT + (lane * COUNT + i) * bytes_of(format);

        return bytes_of(format) == 1 ? at[0] : (uint32_t) (at[0] | at[1] << 8);
}

static float input(const Bench *bench, unsigned lane, unsigned i) {
        float value;

        memcpy(&value, bench->window + (lane * COUNT + i) * 4, 4);
        return value;
}

/* Any bits, and as many again near the format's range, where something happens. */
static void fill(Bench *bench, WireFormat format) {
        for (unsigned i = 0; i < ENGINE_LANES * COUNT; i++) {
                uint32_t bits = draw();
                float near = (float) golden_value(format, draw() % golden_infinity(format)) * (1 + ldexpf((float) (draw() & 0xffffff), -26));

                if (i % 4 != 0) {
                        memcpy(&bits, &near, 4);
                        bits ^= draw() << 31;
                }
                memcpy(bench->window + i * 4, &bits, 4);
        }
}

/* Up or down by the definition in wire.h. */
static uint32_t stochastic(WireFormat format, float value, uint32_t word) {
        uint32_t sign = signbit(value) ? golden_sign(format) : 0, infinity = golden_infinity(format), low;
        double magnitude = fabs((double) value), step;
        int exponent, d;
        uint64_t fraction;

        if (isnan(value) || isinf(value) || magnitude == 0)
                return golden_nearest(format, value);

        low = golden_nearest(format, (float) magnitude);
        if (low == infinity)
                low--;
        while (golden_value(format, low) > magnitude)
                low--;
        step = low + 1 < infinity ? golden_value(format, low + 1) - golden_value(format, low) :
                                    golden_value(format, low) - golden_value(format, low - 1);
        if (low + 1 == infinity && magnitude >= golden_value(format, low) + step)
                return sign | infinity;

        (void) frexp(magnitude, &exponent); /* magnitude = m × 2^exponent, m in [1/2, 1): its last bit is 2^(exponent − 24) */
        exponent = exponent - 24 < -149 ? -149 : exponent - 24;
        d = ilogb(step) - exponent;
        fraction = (uint64_t) ldexp(magnitude - golden_value(format, low), -exponent);
        if (d > 63)
                return sign | low;
        if (d <= 32 ? fraction + ((uint64_t) word >> (32 - d)) >= 1ull << d : (fraction >> (d - 32)) + word >= 1ull << 32)
                low++;
        return sign | low;
}

static void test_nearest_is_what_the_values_say(void **state) {
        Bench *bench = *state;

        for (size_t f = 0; f < ELEMENTS(formats); f++)
                for (unsigned round = 0; round < 8; round++) {
                        fill(bench, formats[f]);
                        convert(bench, ENGINE_VECTOR, formats[f], 0);
                        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                                for (unsigned i = 0; i < COUNT; i++)
                                        assert_int_equal(result(bench, formats[f], lane, i), golden_nearest(formats[f], input(bench, lane, i)));
                }
}

static void check_stochastic(Bench *bench, WireEngine engine, WireFormat format, GoldenLane lanes[static ENGINE_LANES], unsigned faulty,
                             uint32_t set, uint32_t clear, bool off) {
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                for (unsigned i = 0; i < COUNT; i++) {
                        uint32_t word = golden_lane_next(&lanes[lane]);

                        if (lane == faulty)
                                word = (word | set) & ~clear;
                        assert_int_equal(result(bench, format, lane, i), lane == faulty && off ? golden_nearest(format, input(bench, lane, i)) :
                                                                                                 stochastic(format, input(bench, lane, i), word));
                }
}

static void test_stochastic_follows_each_lanes_generator(void **state) {
        Bench *bench = *state;
        GoldenLane lanes[ENGINE_LANES];

        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++)
                for (size_t f = 0; f < ELEMENTS(formats); f++) {
                        uint32_t start = draw();

                        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                                golden_lane_seed(&lanes[lane], engine, lane, start);
                        reseed(bench, engine, start);
                        fill(bench, formats[f]);
                        /* Three in a row: the stream goes on. The third repeats what was remembered with another state. */
                        for (unsigned i = 0; i < 3; i++) {
                                convert(bench, engine, formats[f], CONVERT_STOCHASTIC);
                                check_stochastic(bench, engine, formats[f], lanes, ENGINE_LANES, 0, 0, false);
                        }
                }
}

static void test_what_is_remembered_equals_what_is_computed(void **state) {
        Bench *bench = *state;
        static uint8_t first[ENGINE_LANES * COUNT * 2];

        fill(bench, FORMAT_BF16);
        reseed(bench, ENGINE_VECTOR, 5);
        convert(bench, ENGINE_VECTOR, FORMAT_BF16, CONVERT_STOCHASTIC);
        memcpy(first, bench->window + OUT, sizeof(first));
        reseed(bench, ENGINE_VECTOR, 5);
        convert(bench, ENGINE_VECTOR, FORMAT_BF16, CONVERT_STOCHASTIC);
        assert_memory_equal(first, bench->window + OUT, sizeof(first));

        /* One input bit, another answer: memory must not be fooled. */
        bench->window[3] ^= 0x40;
        reseed(bench, ENGINE_VECTOR, 5);
        convert(bench, ENGINE_VECTOR, FORMAT_BF16, CONVERT_STOCHASTIC);
        assert_memory_not_equal(first, bench->window + OUT, sizeof(first));
}

static Fault *make_fault(const char *kind, const char *at, uint64_t bit, uint64_t value) {
        Fault *fault = calloc(1, sizeof(*fault));
        uint64_t *parameters = calloc(2, sizeof(*parameters));

        for (fault->kind = model_rounding.faults[0]; strcmp(fault->kind->name, kind) != 0; fault->kind++)
                assert_non_null(fault->kind->name);
        assert_int_equal(location_parse(at, &fault->at, NULL, NULL), 0);
        parameters[0] = bit;
        parameters[1] = value;
        fault->persistence = PERSISTENCE_PERMANENT;
        fault->parameters = parameters;
        return fault;
}

static void test_faults_touch_their_lane_alone(void **state) {
        Bench *bench = *state;
        GoldenLane lanes[ENGINE_LANES];

        for (unsigned bit = 11; bit < 32; bit += 4)
                for (unsigned kind = 0; kind < 3; kind++) {
                        Fault *fault = make_fault(kind < 2 ? "rng-bit-stuck" : "sr-off", "us0-0/chip0/core0/scalar/lane77", bit, kind);

                        assert_int_equal(model_rounding.inject(bench->state, fault), 0);
                        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                                golden_lane_seed(&lanes[lane], ENGINE_SCALAR, lane, bit);
                        reseed(bench, ENGINE_SCALAR, bit);
                        fill(bench, FORMAT_FP8_E5M2);
                        convert(bench, ENGINE_SCALAR, FORMAT_FP8_E5M2, CONVERT_STOCHASTIC);
                        check_stochastic(bench, ENGINE_SCALAR, FORMAT_FP8_E5M2, lanes, 77, kind == 1 ? 1u << bit : 0, kind == 0 ? 1u << bit : 0,
                                         kind == 2);
                        model_rounding.heal(bench->state, fault);
                        free(fault->parameters);
                        free(fault);
                }
}

static void test_a_reset_seeds_with_zero(void **state) {
        Bench *bench = *state;
        static uint8_t first[ENGINE_LANES * COUNT * 2];

        fill(bench, FORMAT_BF16);
        convert(bench, ENGINE_GPSIMD, FORMAT_BF16, CONVERT_STOCHASTIC);
        memcpy(first, bench->window + OUT, sizeof(first));
        model_rounding.reset(bench->state);
        convert(bench, ENGINE_GPSIMD, FORMAT_BF16, CONVERT_STOCHASTIC);
        assert_memory_equal(first, bench->window + OUT, sizeof(first));
        reseed(bench, ENGINE_GPSIMD, 0);
        convert(bench, ENGINE_GPSIMD, FORMAT_BF16, CONVERT_STOCHASTIC);
        assert_memory_equal(first, bench->window + OUT, sizeof(first));
}

static void *convert_something(void *userdata) {
        convert(userdata, ENGINE_VECTOR, FORMAT_BF16, CONVERT_STOCHASTIC);
        return NULL;
}

/* Seen by the leak sanitizer alone. */
static void test_a_thread_that_ends_forgets_what_it_remembered(void **state) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, convert_something, *state), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_what_is_out_of_range_is_refused(void **state) {
        static const WireConvert bad[] = {
                { .engine = _ENGINE_MAX, .format = FORMAT_BF16, .count = COUNT },
                { .format = FORMAT_FP32, .count = COUNT },
                { .format = 200, .count = COUNT },
                { .format = FORMAT_BF16, .count = 0 },
                { .format = FORMAT_BF16, .count = COUNT + 1 }, /* more than in_bytes has */
                { .format = FORMAT_BF16, .count = UINT32_MAX },
                { .format = FORMAT_BF16, .count = COUNT, .flags = 0x80 },
        };
        Bench *bench = *state;

        for (size_t i = 0; i < ELEMENTS(bad); i++) {
                run(bench, (WireCommand) { .type = COMMAND_CONVERT, .in_bytes = ENGINE_LANES * COUNT * 4, .out_offset = OUT,
                                           .out_bytes = ENGINE_LANES * COUNT * 2, .convert = bad[i] });
                assert_int_not_equal(bench->completion.status, STATUS_NRT_SUCCESS);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_nearest_is_what_the_values_say, setup, teardown),
                cmocka_unit_test_setup_teardown(test_stochastic_follows_each_lanes_generator, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_remembered_equals_what_is_computed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_faults_touch_their_lane_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_reset_seeds_with_zero, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_thread_that_ends_forgets_what_it_remembered, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_out_of_range_is_refused, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
