/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Faults of cells and decoders against a memory in which every operation looks at every fault (plain-cells.h): random small
 * geometries, faults that share cells, marches, copies. Each log must be the same, entry by entry.
 *
 * ASSAY_CELLS_CASES: how many. CELLS_SEED: that one alone.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/memory/cells/faults.h"
#include "tests/sim/lone-stack.h"
#include "tests/sim/plain-cells.h"
#include "tests/sim/plain-march.h"

#define CASES    500
#define COMMANDS 10
#define LOG_MAX  (PLAIN_ACCESSES * 6)
#define POOL     6 /* cells that most faults of a case sit in */

typedef union Parameters {
        MemoryStuck stuck;
        MemoryPrimitiveFault primitive;
        MemoryDecoderFault decoder;
        MemoryPatternFault pattern;
} Parameters;

typedef struct Case {
        PlainCells plain;
        Fault faults[PLAIN_FAULTS]; /* as the simulator has them */
        Parameters parameters[PLAIN_FAULTS];
        PlainCell pool[POOL];
        uint64_t n_injected;
        LoneStack lone;
        WireMismatch log[LOG_MAX];
        size_t n_log;
} Case;

static uint64_t n_refused, n_injected, n_restless;

/* ---- places ---- */

static void at_of(const PlainCells *plain, unsigned access, uint16_t at[7]) {
        for (int i = 6; i >= 0; i--) {
                at[i] = (uint16_t) (access % plain->size[i]);
                access /= plain->size[i];
        }
}

/* The location of an access, to its row, column or bit. */
static Location location_of(const PlainCells *plain, unsigned access, LocationKind to, unsigned bit) {
        static const LocationKind kinds[] = { LOCATION_CHANNEL, LOCATION_PSEUDO_CHANNEL, LOCATION_SID, LOCATION_BANK_GROUP,
                                              LOCATION_BANK,    LOCATION_ROW,            LOCATION_COLUMN };
        uint16_t coordinates[7];
        Location at;

        at_of(plain, access, coordinates);
        assert_int_equal(location_parse("us0-0/chip0/hbm0", &at, NULL, NULL), 0);
        for (unsigned i = 0; i < 7; i++) {
                assert_int_equal(location_append(&at, kinds[i], coordinates[i]), 0);
                if (kinds[i] == to)
                        return at;
        }
        assert_int_equal(location_append(&at, LOCATION_BIT, bit), 0);
        return at;
}

static Location location_of_cell(const PlainCells *plain, PlainCell cell) {
        return location_of(plain, cell.access, LOCATION_BIT, cell.bit);
}

static PlainCell random_cell(const Case *c) {
        if (below(8))
                return c->pool[below(POOL)];
        return (PlainCell) { below(c->plain.n), below(PLAIN_BITS) };
}

static bool same(PlainCell a, PlainCell b) {
        return a.access == b.access && a.bit == b.bit;
}

/* ---- random faults: the simulator's beside the plain one ---- */

static const FaultKind *kind_called(const char *name) {
        for (const FaultKind *kind = memory_fault_kinds; kind->name; kind++)
                if (strcmp(kind->name, name) == 0)
                        return kind;
        fail_msg("no kind is called %s", name);
        return NULL;
}

static const PrimitiveClass *random_class(void) {
        unsigned n = 0;

        while (primitive_class_at(n))
                n++;
        return primitive_class_at(below(n));
}

static const char *random_text(const PrimitiveClass *class) {
        unsigned n = 0;

        while (class->primitives[n])
                n++;
        return class->primitives[below(n)];
}

/* Puts TEXT at VICTIM into both; *aggressor is drawn for pairs unless it is set. */
static void set_primitive(const Case *c, const char *text, PlainCell victim, PlainRule *rule, Primitive *primitive,
                          PlainCell *aggressor, Location *at) {
        *rule = plain_read(text);
        rule->cells[0] = victim;
        assert_int_equal(primitive_parse(text, primitive, NULL, NULL), 0);
        if (rule->n_cells == 1)
                return;
        while (same(*aggressor, victim))
                *aggressor = random_cell(c);
        rule->cells[1] = *aggressor;
        *at = location_of_cell(&c->plain, *aggressor);
}

static const FaultKind *draw_primitive(const Case *c, PlainFault *f, Parameters *p, PlainCell victim) {
        const PrimitiveClass *class = random_class();
        PlainCell aggressor = victim;
        bool biased = below(5) == 0;

        /* Conditions on states often: they act on each other. */
        while (strcmp(class->kind, "stuck-at") == 0 || (biased && strcmp(class->name, "CFst") != 0))
                class = random_class();
        set_primitive(c, random_text(class), victim, &f->rules[0], &p->primitive.first, &aggressor, &p->primitive.aggressor);
        f->n_rules = 1;
        return kind_called(class->kind);
}

static const FaultKind *draw_linked(const Case *c, PlainFault *f, Parameters *p, PlainCell victim) {
        PlainCell aggressor = victim, second = victim;

        do {
                const PrimitiveClass *a = random_class(), *b = random_class();

                memset(&p->primitive, 0, sizeof(p->primitive));
                if (strcmp(a->kind, "stuck-at") == 0 || strcmp(b->kind, "stuck-at") == 0)
                        continue;
                set_primitive(c, random_text(a), victim, &f->rules[0], &p->primitive.first, &aggressor, &p->primitive.aggressor);
                if (below(2) && p->primitive.first.pair)
                        second = aggressor;
                set_primitive(c, random_text(b), victim, &f->rules[1], &p->primitive.second, &second,
                              p->primitive.first.pair ? &p->primitive.second_aggressor : &p->primitive.aggressor);
        } while (p->primitive.first.fault == p->primitive.second.fault ||
                 p->primitive.first.fault != p->primitive.second.victim.state);

        f->n_rules = 2;
        return kind_called("linked");
}

static const FaultKind *draw_stuck(PlainFault *f, Parameters *p, PlainCell victim) {
        p->stuck.value = below(2);
        f->n_rules = 1;
        f->rules[0] = plain_read(p->stuck.value ? "<x/1/->" : "<x/0/->");
        f->rules[0].cells[0] = victim;
        return kind_called("stuck-at");
}

static const FaultKind *draw_open(PlainFault *f, PlainCell victim) {
        f->n_rules = 1;
        f->rules[0] = (PlainRule) { .n_cells = 1, .operated = 0, .n_ops = 1, .states = { 3 }, .cells = { victim } };
        f->open = true;
        f->latch = 0;
        return kind_called("stuck-open");
}

/* Neighbours: row - 1, bit - 1, bit + 1, row + 1. NULL: has not got all four. */
static const FaultKind *draw_pattern(const Case *c, PlainFault *f, Parameters *p, PlainCell base) {
        unsigned columns = c->plain.size[6], row = base.access / columns % c->plain.size[5], moving = 1 + below(4);
        PlainRule *rule = &f->rules[0];

        p->pattern.type = (int) below(_PATTERN_MAX);
        p->pattern.value = below(2);
        *rule = (PlainRule) { .n_cells = 5, .operated = -1, .becomes = (unsigned) p->pattern.value, .reads = -1 };
        rule->states[0] = PLAIN_ANY;
        rule->cells[0] = base;
        for (unsigned i = 1; i < 5; i++) {
                rule->states[i] = below(2);
                p->pattern.pattern[i - 1] = rule->states[i] ? '1' : '0';
        }
        rule->cells[1] = (PlainCell) { base.access - columns, base.bit };
        rule->cells[2] = (PlainCell) { base.access, base.bit - 1 };
        rule->cells[3] = (PlainCell) { base.access, base.bit + 1 };
        rule->cells[4] = (PlainCell) { base.access + columns, base.bit };

        rule->writes[0] = true;
        rule->n_ops = p->pattern.type != PATTERN_STATIC;
        if (p->pattern.type == PATTERN_PASSIVE) {
                rule->operated = 0;
                rule->states[0] = rule->becomes;
                rule->data[0] = !rule->becomes;
        } else if (p->pattern.type == PATTERN_ACTIVE) {
                rule->operated = (int) moving;
                rule->states[0] = !rule->becomes;
                rule->data[0] = !rule->states[moving];
                p->pattern.pattern[moving - 1] = rule->data[0] ? 'u' : 'd';
        }
        f->n_rules = 1;
        if (row == 0 || row + 1u == c->plain.size[5] || base.bit == 0 || base.bit == 255)
                f->n_rules = 0;
        return kind_called("neighbourhood");
}

static const FaultKind *draw_decoder(const Case *c, PlainFault *f, Parameters *p, unsigned access, Location *at) {
        bool row = below(2) && c->plain.size[5] > 1;
        unsigned columns = c->plain.size[6], partner = access;
        static const char classes[] = "abcde";

        p->decoder.class = (int) below(row || columns > 1 ? _DECODER_MAX : 1);
        f->decoder = classes[p->decoder.class];
        f->wired_or = below(2);
        f->ones = below(2);
        f->n = row ? columns : 1;
        while (f->decoder != 'a' && partner == access)
                partner = row ? access - access / columns % c->plain.size[5] * columns + below(c->plain.size[5]) * columns :
                                access - access % columns + below(columns);
        f->x = row ? access - access % columns : access;
        f->y = row ? partner - partner % columns : partner;

        p->decoder.floats = f->ones;
        p->decoder.reads = f->decoder == 'a' ? (f->ones ? DECODER_READS_ONES : DECODER_READS_ZEROS) :
                                               (f->wired_or ? DECODER_READS_OR : DECODER_READS_AND);
        *at = location_of(&c->plain, access, row ? LOCATION_ROW : LOCATION_COLUMN, 0);
        if (f->decoder != 'a')
                p->decoder.partner = location_of(&c->plain, partner, row ? LOCATION_ROW : LOCATION_COLUMN, 0);
        return kind_called("decoder");
}

static void inject(Case *c, unsigned slot) {
        static const uint8_t weights[] = { 60, 70, 80, 86, 93, 100 };
        PlainFault *f = &c->plain.faults[slot];
        Fault *fault = &c->faults[slot];
        Parameters *p = &c->parameters[slot];
        PlainCell victim = random_cell(c);
        unsigned what = 0, draw = below(100);
        int together = (int) below(_TOGETHER_MAX), r;

        while (draw >= weights[what])
                what++;
        memset(p, 0, sizeof(*p));
        *f = (PlainFault) { .order = ++c->n_injected };
        *fault = (Fault) {
                .id          = random_u64(),
                .persistence = below(3) ? PERSISTENCE_PERMANENT : PERSISTENCE_INTERMITTENT,
                .above       = -1.0 / 0.0,
                .parameters  = p,
                .at          = location_of_cell(&c->plain, victim),
        };
        fault->kind = what == 0 ? draw_primitive(c, f, p, victim) :
                      what == 1 ? draw_linked(c, f, p, victim) :
                      what == 2 ? draw_stuck(f, p, victim) :
                      what == 3 ? draw_open(f, victim) :
                      what == 4 ? draw_pattern(c, f, p, victim) :
                                  draw_decoder(c, f, p, victim.access, &fault->at);
        if (what <= 1)
                p->primitive.together = together;
        if (what == 4)
                p->pattern.together = together;
        f->write_wins = together == TOGETHER_WRITE || (together == TOGETHER_SCENARIO && c->lone.chip.write_wins);

        r = model_hbm.inject(&c->lone.hbm, fault);
        if (what == 4 && f->n_rules == 0) {
                assert_int_equal(r, -EINVAL);
                return;
        }
        assert_true(r == 0 || r == -EEXIST);
        f->present = r == 0;
        n_injected += r == 0;
        n_refused += r != 0;
        if (r == 0)
                plain_changed(&c->plain);
}

static void heal(Case *c, unsigned slot) {
        model_hbm.heal(&c->lone.hbm, &c->faults[slot]);
        c->plain.faults[slot].present = false;
        plain_changed(&c->plain);
}

/* ---- commands ---- */

static void begin_command(Case *c) {
        Execution execution = { .number = c->lone.number };

        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                c->plain.faults[i].active = c->plain.faults[i].present && fault_is_active(&c->faults[i], &execution);
        plain_settle(&c->plain);
}

static void to_bytes(const uint8_t bits[PLAIN_BITS], uint8_t bytes[32]) {
        memset(bytes, 0, 32);
        for (unsigned bit = 0; bit < PLAIN_BITS; bit++)
                bytes[bit / 8] |= (uint8_t) (bits[bit] << bit % 8);
}

static void to_bits(const uint8_t bytes[32], uint8_t bits[PLAIN_BITS]) {
        for (unsigned bit = 0; bit < PLAIN_BITS; bit++)
                bits[bit] = bytes[bit / 8] >> bit % 8 & 1;
}

/* Through ECC, which is not what is tested here: the stack's own. */
static void plain_read_out(Case *c, unsigned access, bool ecc, uint8_t bits[PLAIN_BITS]) {
        uint8_t meant[PLAIN_BITS], bytes[32];
        MemoryEccTally tally = {};
        MemoryBits got, intended;

        plain_get(&c->plain, access, bits, meant);
        if (!ecc)
                return;
        to_bytes(bits, bytes);
        memcpy(&got, bytes, sizeof(got));
        to_bytes(meant, bytes);
        memcpy(&intended, bytes, sizeof(intended));
        got = hbm_decode(got, &intended, &tally);
        memcpy(bytes, &got, sizeof(bytes));
        to_bits(bytes, bits);
}

static void plain_march_access(Case *c, const WireMarch *march, const uint16_t at[7]) {
        unsigned access = plain_index(c->plain.size, at);

        for (unsigned op = 0; op < march->n_ops; op++) {
                uint8_t wanted[PLAIN_BITS], got[PLAIN_BITS];
                WireMismatch *mismatch = &c->log[c->n_log];

                for (unsigned bit = 0; bit < PLAIN_BITS; bit++)
                        wanted[bit] = (uint8_t) (plain_background(c->plain.size, march, at, bit) ^ (march->ops[op] & 1));
                if (march->ops[op] & MARCH_WRITE) {
                        plain_write(&c->plain, access, wanted);
                        continue;
                }
                plain_read_out(c, access, march->ecc, got);
                if (memcmp(got, wanted, sizeof(got)) == 0)
                        continue;
                assert_true(c->n_log++ < LOG_MAX);
                memcpy(mismatch->at, at, sizeof(mismatch->at));
                mismatch->op = (uint16_t) op;
                to_bytes(got, mismatch->actual);
        }
}

/* An element of a march: mostly one that good cells pass. */
static WireMarch random_march(const PlainCells *plain) {
        WireMarch march = {
                .box        = random_box(plain->size, below(3)),
                .order      = (uint8_t) below(_MEMORY_ORDER_MAX),
                .descending = (uint8_t) below(2),
                .background = (uint8_t) (below(2) ? MEMORY_BACKGROUND_SOLID : below(_MEMORY_BACKGROUND_MAX)),
                .parameter  = (uint8_t) below(8),
                .ecc        = below(8) == 0,
                .n_ops      = (uint8_t) (1 + below(6)),
                .seed       = below(2),
        };
        unsigned data = below(2);

        for (unsigned i = 0; i < march.n_ops; i++) {
                bool write = below(2);

                if (write || below(12) == 0)
                        data = below(2);
                march.ops[i] = (uint8_t) ((write ? MARCH_WRITE : 0) | data);
        }
        return march;
}

static void compare_march(Case *c) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = random_march(&c->plain) };
        const WireMismatch *mismatches = (const WireMismatch *) c->lone.window;
        unsigned total = plain_volume(&command.march.box);
        WireCompletion completion;

        begin_command(c);
        c->n_log = 0;
        for (unsigned k = 0; k < total; k++) {
                uint16_t at[7];

                plain_visit(&command.march, k, at);
                plain_march_access(c, &command.march, at);
        }
        command.march.mismatches_max = below(4) ? LOG_MAX : below((unsigned) c->n_log + 2);
        completion = lone_stack_run(&c->lone, command);
        if (c->plain.restless)
                return;

        assert_int_equal(completion.result[0], c->n_log);
        if (c->n_log > command.march.mismatches_max)
                c->n_log = command.march.mismatches_max;
        assert_int_equal(completion.out_bytes, c->n_log * sizeof(WireMismatch));
        for (size_t i = 0; i < c->n_log; i++)
                assert_memory_equal(&mismatches[i], &c->log[i], sizeof(WireMismatch));
}

static void compare_copy(Case *c, WireBox box, bool in, bool ecc) {
        WireCommand command = { .type = in ? COMMAND_HBM_COPY_IN : COMMAND_HBM_COPY_OUT, .copy = { .box = box, .ecc = ecc } };
        unsigned total = plain_volume(&box);

        command.in_bytes = in ? total * 32 : 0;
        for (size_t i = 0; in && i < total * 32; i++)
                c->lone.window[i] = (uint8_t) random_u64();

        begin_command(c);
        assert_true(lone_stack_run(&c->lone, command).status != STATUS_NRT_INVALID);
        for (unsigned k = 0; k < total; k++) {
                uint8_t bits[PLAIN_BITS], bytes[32];
                uint16_t at[7];

                plain_place(&box, MEMORY_ORDER_COLUMN_FAST, k, at);
                if (in) {
                        to_bits(c->lone.window + k * 32, bits);
                        plain_write(&c->plain, plain_index(c->plain.size, at), bits);
                        continue;
                }
                plain_read_out(c, plain_index(c->plain.size, at), ecc, bits);
                to_bytes(bits, bytes);
                if (!c->plain.restless)
                        assert_memory_equal(bytes, c->lone.window + k * 32, 32);
        }
}

/* ---- cases ---- */

static void start_case(Case *c) {
        static const unsigned max[] = { 2, 2, 1, 2, 2, 6, 4 };
        char geometry[MEMORY_SHAPE_TEXT_MAX];
        PlainCells *plain = &c->plain;
        WireBox whole = {};

        memset(c, 0, sizeof(*c));
        do {
                plain->n = 1;
                for (unsigned i = 0; i < 7; i++) {
                        plain->size[i] = (uint16_t) (1 + below(max[i]));
                        plain->n *= plain->size[i];
                }
        } while (plain->n > PLAIN_ACCESSES);

        (void) snprintf(geometry, sizeof(geometry), "%u %u %u %u %u %u %u", plain->size[0], plain->size[1], plain->size[2],
                        plain->size[3], plain->size[4], plain->size[5], plain->size[6]);
        lone_stack_open(&c->lone, geometry, LOG_MAX * sizeof(WireMismatch));
        c->lone.chip.write_wins = below(2);

        /* What it powers up with is the stack's own affair: ask it. */
        for (unsigned i = 0; i < 7; i++)
                whole.last[i] = (uint16_t) (plain->size[i] - 1);
        (void) lone_stack_run(&c->lone, (WireCommand) { .type = COMMAND_HBM_COPY_OUT, .copy = { .box = whole } });
        for (unsigned i = 0; i < plain->n; i++)
                to_bits(c->lone.window + i * 32, plain->holds[i]);
        memcpy(plain->meant, plain->holds, sizeof(plain->meant));

        /* Cells that are each other's neighbours, so that faults share them. */
        for (unsigned i = 0; i < POOL; i++)
                c->pool[i] = (PlainCell) { below(plain->n), below(PLAIN_BITS) };
        for (unsigned i = 1; i < POOL; i++)
                if (below(2))
                        c->pool[i] = (PlainCell) { c->pool[i - 1].access, c->pool[i - 1].bit ^ (1 + below(3)) };
                else if (below(2))
                        c->pool[i] = (PlainCell) { (c->pool[i - 1].access + plain->size[6]) % plain->n, c->pool[i - 1].bit };
}

static void run_case(Case *c, uint64_t seed) {
        unsigned n_faults;

        random_state = seed * 0x9e3779b97f4a7c15ull + 1;
        start_case(c);
        n_faults = 1 + below(PLAIN_FAULTS);
        for (unsigned i = 0; i < n_faults && below(5); i++)
                inject(c, i);

        for (unsigned i = 0; i < COMMANDS && !c->plain.restless; i++) {
                unsigned slot = below(n_faults);

                if (c->plain.faults[slot].present && below(6) == 0)
                        heal(c, slot);
                else if (!c->plain.faults[slot].present && below(2))
                        inject(c, slot);

                if (below(5) == 0)
                        compare_copy(c, random_box(c->plain.size, below(3)), below(2), below(8) == 0);
                else
                        compare_march(c);
        }

        n_restless += c->plain.restless;
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                if (c->plain.faults[i].present)
                        model_hbm.heal(&c->lone.hbm, &c->faults[i]);
        lone_stack_close(&c->lone);
}

static uint64_t running; /* the seed of the case that runs */

static int say_seed(void **state) {
        if (running)
                fprintf(stderr, "failed with CELLS_SEED=%llu\n", (unsigned long long) running);
        return 0;
}

static void faults_of_cells_log_what_a_memory_of_bits_logs(void **state) {
        const char *only = getenv("CELLS_SEED"), *many = getenv("ASSAY_CELLS_CASES");
        uint64_t cases = many ? strtoull(many, NULL, 0) : CASES;
        Case *c = calloc(1, sizeof(Case));

        assert_non_null(c);
        for (uint64_t seed = only ? strtoull(only, NULL, 0) : 1; seed <= (only ? strtoull(only, NULL, 0) : cases); seed++) {
                running = seed;
                run_case(c, seed);
        }
        running = 0;
        free(c);
        fprintf(stderr, "%llu faults, %llu more contradicted others, %llu cases ended early\n", (unsigned long long) n_injected,
                (unsigned long long) n_refused, (unsigned long long) n_restless);
        assert_true(only || 20 * n_restless < cases);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(faults_of_cells_log_what_a_memory_of_bits_logs, say_seed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
