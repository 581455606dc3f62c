/* SPDX-License-Identifier: Apache-2.0 */

/* The rounding model against one that is worked out plainly, with all kinds of fault and several at once, bit for bit. */

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

#include "checks/text/cleanup.h"
#include "sim/chip/model.h"
#include "sim/rounding/faults.h"
#include "tests/draw.h"
#include "tests/sim/plain-rounding.h"

extern const Model model_rounding;

#define COUNT  64u
#define WINDOW (1u << 20)
#define OUT    (1u << 19)

/* The chip of this test: every fault acts, unless it is intermittent; then it comes and goes by the command's number. */
static bool acts_in(const Fault *fault, uint64_t number) {
        return fault->persistence != PERSISTENCE_INTERMITTENT || (number + fault->id) % 3 != 0;
}

bool fault_is_active(const Fault *fault, const Execution *execution) {
        return acts_in(fault, execution->number);
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

static void convert(Bench *bench, WireEngine engine, const PlainFormat *format, unsigned flags) {
        memset(bench->window + OUT, 0xa5, OUT);
        run(bench, (WireCommand) {
                .type = COMMAND_CONVERT, .in_bytes = ENGINE_LANES * COUNT * 4, .out_offset = OUT,
                .out_bytes = ENGINE_LANES * COUNT * format->bytes,
                .convert = { .engine = (uint8_t) engine, .format = (uint8_t) format->format, .flags = (uint8_t) flags, .count = COUNT },
        });
        assert_int_equal(bench->completion.status, STATUS_NRT_SUCCESS);
        assert_int_equal(bench->completion.out_bytes, ENGINE_LANES * COUNT * format->bytes);
}

static uint32_t result(const Bench *bench, const PlainFormat *format, unsigned lane, unsigned i) {
        uint32_t image = 0;

        memcpy(&image, bench->window + OUT + (lane * COUNT + i) * format->bytes, format->bytes);
        return image;
}

static float input(const Bench *bench, unsigned lane, unsigned i) {
        float value;

        memcpy(&value, bench->window + (lane * COUNT + i) * 4, 4);
        return value;
}

/* Any bits; near the format's range, where something happens; far below it; just below a step; halves of steps and steps. */
static float draw_input(const PlainFormat *format) {
        uint32_t pattern = draw() % plain_infinity(format), bits = draw();
        double low = plain_value(format, pattern), step = plain_value(format, pattern + 1) - low;
        float value;

        switch (draw() % 8) {
        case 0:
                memcpy(&value, &bits, 4);
                break;
        case 1:
                value = (float) ldexp(1 + bits * 0x1p-32, 1 - plain_bias(format) - format->fraction_bits - (int) (draw() % 36));
                break;
        case 2:
                value = (float) (low + step * (1 - ldexp(1, -(int) (draw() % 24))));
                break;
        case 3:
                value = (float) (low + step / 2);
                break;
        case 4:
                value = (float) low;
                break;
        default:
                value = (float) (low + step * (bits * 0x1p-32));
                break;
        }
        return draw() % 2 ? value : -value;
}

static void fill(Bench *bench, const PlainFormat *format) {
        for (unsigned i = 0; i < ENGINE_LANES * COUNT; i++) {
                float value = draw_input(format);

                memcpy(bench->window + i * 4, &value, 4);
        }
}

/* ---- the plain model beside it ---- */

#define FAULTS_MAX 6u

typedef struct Plain {
        PlainLane lanes[_ENGINE_MAX][ENGINE_LANES];
        unsigned n;
        Fault *real[FAULTS_MAX];
        WireEngine engine[FAULTS_MAX];
        PlainFault faults[FAULTS_MAX];
} Plain;

/* Those of ENGINE that act in the command NUMBER, ended by NULL. */
static void plain_active(const Plain *plain, WireEngine engine, uint64_t number, const PlainFault *ret[static FAULTS_MAX + 1]) {
        unsigned n = 0;

        for (unsigned i = 0; i < plain->n; i++)
                if (plain->engine[i] == engine && acts_in(plain->real[i], number))
                        ret[n++] = &plain->faults[i];
        ret[n] = NULL;
}

static void plain_seed_all(Plain *plain, WireEngine engine, uint64_t number, uint32_t value, bool reset) {
        const PlainFault *active[FAULTS_MAX + 1];

        plain_active(plain, engine, number, active);
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                plain_lane_seed(&plain->lanes[engine][lane], active, engine, lane, value, reset);
}

static void check_convert(Bench *bench, Plain *plain, WireEngine engine, const PlainFormat *format, unsigned flags) {
        const PlainFault *active[FAULTS_MAX + 1];

        plain_active(plain, engine, bench->number, active);
        convert(bench, engine, format, flags);
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                for (unsigned i = 0; i < COUNT; i++) {
                        uint32_t expected = plain_convert(format, &plain->lanes[engine][lane], active, lane, input(bench, lane, i),
                                                          flags & CONVERT_STOCHASTIC);

                        if (result(bench, format, lane, i) != expected)
                                fail_msg("%s of %a on lane %u, element %u, flags %u: 0x%x, plainly 0x%x", format->name,
                                         (double) input(bench, lane, i), lane, i, flags, result(bench, format, lane, i), expected);
                }
}

static void check_state(Bench *bench, const Plain *plain, WireEngine engine) {
        uint32_t words[ENGINE_LANES][6];

        run(bench, (WireCommand) { .type = COMMAND_RNG_STATE, .out_offset = OUT, .out_bytes = sizeof(words), .seed = { .engine = (uint8_t) engine } });
        assert_int_equal(bench->completion.out_bytes, sizeof(words));
        memcpy(words, bench->window + OUT, sizeof(words));
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                const PlainGenerator *g = &plain->lanes[engine][lane].now;

                assert_memory_equal(words[lane], ((uint32_t[6]) { g->x, g->y, g->z, g->w, g->v, g->d }), sizeof(words[lane]));
        }
}

static void check_reseed(Bench *bench, Plain *plain, WireEngine engine, uint32_t value) {
        plain_seed_all(plain, engine, bench->number, value, false);
        reseed(bench, engine, value);
}

/* A reset, and the first command to each engine, which finds out what it left. */
static void check_reset(Bench *bench, Plain *plain) {
        model_rounding.reset(bench->state);
        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                plain_seed_all(plain, engine, bench->number, 0, true);
                check_state(bench, plain, engine);
        }
}

/* ---- without faults ---- */

static void test_all_formats_are_what_the_values_say(void **state) {
        Bench *bench = *state;
        Plain plain = {};

        check_reset(bench, &plain);
        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++)
                for (size_t f = 0; f < PLAIN_FORMATS; f++) {
                        check_reseed(bench, &plain, engine, draw());
                        fill(bench, &plain_formats[f]);
                        /* The stream goes on; to nearest it stands. */
                        for (unsigned i = 0; i < 4; i++)
                                check_convert(bench, &plain, engine, &plain_formats[f], i == 2 ? 0 : CONVERT_STOCHASTIC);
                        check_state(bench, &plain, engine);
                }
}

static void test_what_is_remembered_equals_what_is_computed(void **state) {
        const PlainFormat *bf16 = &plain_formats[0];
        Bench *bench = *state;
        static uint8_t first[ENGINE_LANES * COUNT * 2];

        fill(bench, bf16);
        reseed(bench, ENGINE_VECTOR, 5);
        convert(bench, ENGINE_VECTOR, bf16, CONVERT_STOCHASTIC);
        memcpy(first, bench->window + OUT, sizeof(first));
        reseed(bench, ENGINE_VECTOR, 5);
        convert(bench, ENGINE_VECTOR, bf16, CONVERT_STOCHASTIC);
        assert_memory_equal(first, bench->window + OUT, sizeof(first));

        /* One input bit, another answer: memory must not be fooled. */
        bench->window[3] ^= 0x40;
        reseed(bench, ENGINE_VECTOR, 5);
        convert(bench, ENGINE_VECTOR, bf16, CONVERT_STOCHASTIC);
        assert_memory_not_equal(first, bench->window + OUT, sizeof(first));
}

/* ---- with faults ---- */

static unsigned draw_lane(void) {
        static const unsigned few[] = { 0, 77, 127 };

        return few[draw() % ELEMENTS(few)];
}

static PlainFault draw_fault(PlainKind kind) {
        PlainFault f = { .kind = kind, .lane = draw() % 3 == 0 ? -1 : (int) draw_lane() };

        f.bit = draw() % 2 ? draw() % 32 : 30 + draw() % 2; /* so that several meet */
        f.value = draw() % 2;
        f.words = 1 + draw() % (draw() % 2 ? 300 : 5);
        f.lag = 1 + draw() % 64;
        f.bits = 1 + draw() % 31;
        f.field = draw() % (2 + PLAIN_FORMATS);
        f.wired_and = draw() % 2;
        do
                f.other = kind == PLAIN_BITS_TIED || kind == PLAIN_BITS_SWAPPED ? draw() % 32 : draw_lane();
        while (kind == PLAIN_BITS_TIED || kind == PLAIN_BITS_SWAPPED ? f.other == f.bit : (int) f.other == f.lane);
        return f;
}

/* The same as the simulator reads it out of a scenario. */
static Fault *make_fault(const PlainFault *f, WireEngine engine) {
        static const char *const places[] = { "vector", "scalar", "gpsimd" };
        bool bits = f->kind == PLAIN_BITS_TIED || f->kind == PLAIN_BITS_SWAPPED;
        bool bit = bits || f->kind == PLAIN_BIT_STUCK || f->kind == PLAIN_CONVERT_STUCK;
        RoundingFault *parameters = calloc(1, sizeof(*parameters));
        Fault *fault = calloc(1, sizeof(*fault));
        char at[64];

        for (fault->kind = model_rounding.faults[0]; strcmp(fault->kind->name, plain_kind_names[f->kind]) != 0; fault->kind++)
                assert_non_null(fault->kind->name);
        snprintf(at, sizeof(at), f->lane < 0 ? "us0-0/chip0/core0/%s" : "us0-0/chip0/core0/%s/lane%d", places[engine], f->lane);
        assert_int_equal(location_parse(at, &fault->at, NULL, NULL), 0);
        if (bit)
                parameters->bit = f->bit;
        if (bits)
                parameters->other = f->other;
        if (f->kind == PLAIN_SEED_SHARED || f->kind == PLAIN_SEED_SHIFTED)
                parameters->source = f->other;
        if (f->kind == PLAIN_SEED_SHIFTED)
                parameters->lag = f->lag;
        parameters->value = f->value;
        parameters->wired = f->wired_and;
        parameters->words = f->words;
        parameters->field = (int) f->field;
        parameters->bits = f->bits;
        fault->persistence = draw() % 2 ? PERSISTENCE_PERMANENT : PERSISTENCE_INTERMITTENT;
        fault->id = draw();
        fault->parameters = parameters;
        return fault;
}

static void drop_fault(Fault *fault) {
        free(fault->parameters);
        free(fault);
}

static void inject(Bench *bench, Plain *plain, WireEngine engine, PlainKind kind) {
        PlainFault drawn = draw_fault(kind);
        Fault *fault = make_fault(&drawn, engine);
        int r = model_rounding.inject(bench->state, fault);

        assert_true(r == 0 || r == -EEXIST);
        if (r < 0) {
                drop_fault(fault);
                return;
        }
        plain->real[plain->n] = fault;
        plain->engine[plain->n] = engine;
        plain->faults[plain->n++] = drawn;
}

static void heal(Bench *bench, Plain *plain, unsigned i) {
        model_rounding.heal(bench->state, plain->real[i]);
        drop_fault(plain->real[i]);
        plain->n--;
        for (; i < plain->n; i++) {
                plain->real[i] = plain->real[i + 1];
                plain->engine[i] = plain->engine[i + 1];
                plain->faults[i] = plain->faults[i + 1];
        }
}

/* Something happens to ENGINE, and both agree about it. */
static void step(Bench *bench, Plain *plain, WireEngine engine) {
        const PlainFormat *format = &plain_formats[draw() % PLAIN_FORMATS];

        switch (draw() % 8) {
        case 0:
                check_reseed(bench, plain, engine, draw());
                break;
        case 1:
                check_state(bench, plain, engine);
                break;
        case 2:
                if (draw() % 4 == 0)
                        check_reset(bench, plain);
                if (draw() % 2 == 0)
                        check_reseed(bench, plain, engine, draw());
                break;
        default:
                fill(bench, format);
                check_convert(bench, plain, engine, format, draw() % 4 ? CONVERT_STOCHASTIC : 0);
                break;
        }
}

static void try_faults(Bench *bench, PlainKind kind, unsigned n) {
        Plain plain = {};

        check_reset(bench, &plain);
        for (unsigned i = 0; i < n; i++)
                inject(bench, &plain, i == 0 || draw() % 8 == 0 ? draw() % _ENGINE_MAX : plain.engine[0], i == 0 || draw() % 2 ? kind : draw() % _PLAIN_KIND_MAX);
        for (unsigned i = 0; i < 12; i++)
                step(bench, &plain, plain.engine[draw() % plain.n]);
        while (plain.n > 0) {
                heal(bench, &plain, draw() % plain.n);
                step(bench, &plain, draw() % _ENGINE_MAX);
        }
}

static unsigned cases(void) {
        const char *wanted = getenv("ROUNDING_CASES");

        return wanted ? (unsigned) strtoul(wanted, NULL, 10) : 4;
}

static void test_each_kind_does_what_it_says(void **state) {
        for (PlainKind kind = 0; kind < _PLAIN_KIND_MAX; kind++)
                for (unsigned i = 0; i < cases(); i++)
                        try_faults(*state, kind, 1);
}

static void test_several_faults_act_in_their_order(void **state) {
        for (PlainKind kind = 0; kind < _PLAIN_KIND_MAX; kind++)
                for (unsigned i = 0; i < cases(); i++)
                        try_faults(*state, kind, 2 + draw() % (FAULTS_MAX - 1));
}

static void test_the_plain_model_knows_all_kinds(void **state) {
        unsigned n = 0;

        for (const FaultKind *kind = model_rounding.faults[0]; kind->name; kind++)
                n++;
        assert_int_equal(n, _PLAIN_KIND_MAX);
}

static void test_two_of_a_kind_do_not_share_a_place(void **state) {
        PlainFault stuck = { .kind = PLAIN_BIT_STUCK, .lane = 5, .bit = 3 }, tied = { .kind = PLAIN_BITS_TIED, .lane = -1, .bit = 3, .other = 9 };
        PlainFault off = { .kind = PLAIN_SR_OFF, .lane = 5 };
        Bench *bench = *state;
        Fault *faults[7];

        for (unsigned i = 0; i < 6; i++)
                faults[i] = make_fault(i / 2 == 0 ? &stuck : i / 2 == 1 ? &tied : &off, ENGINE_SCALAR);
        ((RoundingFault *) faults[3]->parameters)->bit = 9;
        ((RoundingFault *) faults[3]->parameters)->other = 3;
        stuck.bit = 4;
        faults[6] = make_fault(&stuck, ENGINE_SCALAR);
        for (unsigned i = 0; i < 7; i++)
                assert_int_equal(model_rounding.inject(bench->state, faults[i]), i < 6 && i % 2 ? -EEXIST : 0);
        for (unsigned i = 0; i < 7; i++) {
                model_rounding.heal(bench->state, faults[i]);
                drop_fault(faults[i]);
        }
}

static void *convert_something(void *userdata) {
        convert(userdata, ENGINE_VECTOR, &plain_formats[0], CONVERT_STOCHASTIC);
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
                cmocka_unit_test_setup_teardown(test_all_formats_are_what_the_values_say, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_remembered_equals_what_is_computed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_each_kind_does_what_it_says, setup, teardown),
                cmocka_unit_test_setup_teardown(test_several_faults_act_in_their_order, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_plain_model_knows_all_kinds, setup, teardown),
                cmocka_unit_test_setup_teardown(test_two_of_a_kind_do_not_share_a_place, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_thread_that_ends_forgets_what_it_remembered, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_out_of_range_is_refused, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
