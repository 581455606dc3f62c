/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the marches and backgrounds of the plan production promise together, where coverage(7) counts cells of accesses of their own:
 *
 *  - Three linked cells, two aggressors of one victim, wherever they lie: apart, two or all three in one access. Every linked pair
 *    of primitives in places drawn at random; March SL finds them all, on solid data alone it does not.
 *  - Two operations and two bits of one access: every such primitive. March AB on solid data, for cells of two accesses, and
 *    March RAW on all others find them all; March AB alone does not: it writes over what the read of <0w1r1> disturbed. One
 *    of the others, row-stripe, has all bits of an access alike: any two differ under some stripe and agree under it.
 *
 *  - Static faults between two bits of one access: every primitive of two cells, and places of which half differ in one bit of their
 *    number, so that one background alone tells them apart. The plans preflight and repair find them all, over SRAM by the same
 *    marches; infleet does not, and its text says how many.
 *
 * LINKED_PLACES draws more of them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/memory/march/backgrounds.h"
#include "checks/memory/march/march.h"
#include "checks/memory/sram/parameters.h"
#include "checks/plan/plan.h"
#include "sim/memory/structures/primitive.h"
#include "tests/hall-device.h"

#define ROW       1000u
#define COLUMN    3u
#define TOGETHER  256u /* faults of one chip, each in a bank of its own */
#define LINE_MAX  320u

typedef struct Linked {
        const HbmParameters *plan, *other_plan; /* or NULL: … */
        const char *const *marches; /* on solid data, on all others, and one to compare with on all of them; NULL */
        unsigned first, last;       /* backgrounds after the first */
        unsigned n;
        bool found[TOGETHER];
        char text[TOGETHER * LINE_MAX + 256];
        size_t n_text;
        unsigned n_faults, n_missed, n_missed_other; /* so far */
} Linked;

static unsigned below(unsigned n) {
        static uint64_t state = 4711;

        state = memory_mix(state);
        return (unsigned) (state >> 33) % n;
}

static int hear(const MarchMismatch *mismatch, void *userdata) {
        Linked *linked = userdata;
        unsigned bank = mismatch->at[HBM_CHANNEL] * 96u + mismatch->at[HBM_PSEUDO_CHANNEL] * 48u + mismatch->at[HBM_SID] * 16u +
                        mismatch->at[HBM_BANK_GROUP] * 4u + mismatch->at[HBM_BANK];

        if (mismatch->at[HBM_ROW] == ROW && mismatch->at[HBM_COLUMN] == COLUMN && bank < linked->n)
                linked->found[bank] = true;
        return 0;
}

static unsigned count_missed(const Linked *linked) {
        unsigned n = 0;

        for (unsigned i = 0; i < linked->n; i++)
                n += !linked->found[i];
        return n;
}

static void march_one(Linked *linked, Device *device, MemoryBatch *batch, unsigned background, const March *march) {
        const MarchBackgroundWord *word = march_background_word(background);
        MemoryPart part = memory_part_stack(0);
        MarchPass pass = {
                .parts = &part, .n_parts = 1, .march = march, .mismatches_max = 1 << 17, .seed = background, .found = hear, .userdata = linked,
                .field = { .background = word->background, .parameter = word->parameter, .seed = 99 },
        };

        assert_int_equal(device_hbm_geometry(device, 0, &pass.geometry), 0);
        pass.box = memory_geometry_box(&pass.geometry);
        assert_int_equal(march_pass_run(&pass, batch), 0);
        assert_false(pass.outcomes[0].truncated);
}

/* SOLID on solid data, OTHERS (or NULL) on those behind. */
static unsigned march_all(Linked *linked, Device *device, const char *solid, const char *others) {
        _cleanup_(memory_batch_freep) MemoryBatch *batch = NULL;
        March march;

        memset(linked->found, 0, sizeof(linked->found));
        assert_int_equal(memory_batch_new(device, &batch), 0);
        for (unsigned i = 0; i <= linked->last && (i == 0 || others); i = i == 0 ? linked->first : i + 1) {
                assert_int_equal(march_read(i == 0 ? solid : others, &march, NULL, NULL), 0);
                march_one(linked, device, batch, i, &march);
        }
        return count_missed(linked);
}

/* As a plan has it. */
static unsigned march_plan(Linked *linked, Device *device, const HbmParameters *plan) {
        _cleanup_(memory_batch_freep) MemoryBatch *batch = NULL;

        memset(linked->found, 0, sizeof(linked->found));
        assert_int_equal(memory_batch_new(device, &batch), 0);
        for (unsigned i = 0; i < plan->backgrounds.n; i++)
                march_one(linked, device, batch, plan->backgrounds.indices[i], i == 0 ? &plan->march : &plan->others);
        return count_missed(linked);
}

static void judge(Linked *linked) {
        Device *device = hall_device(linked->text, "us0-0", 0, 32 << 20);

        assert_non_null(device);
        if (linked->plan) {
                linked->n_missed_other += march_plan(linked, device, linked->other_plan);
                linked->n_missed += march_plan(linked, device, linked->plan);
        } else {
                linked->n_missed_other += march_all(linked, device, linked->marches[2], linked->marches[3]);
                linked->n_missed += march_all(linked, device, linked->marches[0], linked->marches[1]);
        }
        linked->n_faults += linked->n;
        linked->n = 0;
        (void) device_free(device);
}

/* The end of a location: another bit of the victim's access, or a place of its bank. */
static void place(char text[static 64], unsigned victim) {
        unsigned bit = below(8) == 0 ? victim : below(256);

        if (below(2))
                (void) snprintf(text, 64, "bit%u", bit == victim ? bit ^ 1u << below(8) : bit);
        else if (below(2))
                (void) snprintf(text, 64, "col%u/bit%u", COLUMN + 1 + below(28), bit);
        else
                (void) snprintf(text, 64, "row%u/col%u/bit%u", below(2) ? ROW - 1 - below(9) : ROW + 1 + below(9), COLUMN + below(2), bit);
}

/* WHAT: kind and parameters of a fault of bit VICTIM. */
static void add(Linked *linked, unsigned victim, const char *what) {
        unsigned bank = linked->n;

        if (linked->n == 0)
                linked->n_text = (size_t) snprintf(linked->text, sizeof(linked->text),
                                                   "scenario: t\nseed: 9\ntopology: {ultraservers: 1}\nfaults:\n");
        linked->n_text += (size_t) snprintf(linked->text + linked->n_text, sizeof(linked->text) - linked->n_text,
                                            "  - {at: us0-0/chip0/hbm0/ch%u/pc%u/sid%u/bg%u/ba%u/row%u/col%u/bit%u, kind: %s}\n",
                                            bank / 96, bank / 48 % 2, bank / 16 % 3, bank / 4 % 4, bank % 4, ROW, COLUMN, victim, what);
        if (++linked->n == TOGETHER)
                judge(linked);
}

static void add_linked(Linked *linked, const char *first, const char *second) {
        unsigned victim = below(256);
        char a[64], b[64], what[LINE_MAX - 80];

        place(a, victim);
        do
                place(b, victim);
        while (strcmp(a, b) == 0);

        (void) snprintf(what, sizeof(what), "linked, first: \"%s\", second: \"%s\", aggressor: %s, second-aggressor: %s", first,
                        second, a, b);
        add(linked, victim, what);
}

static unsigned n_places(void) {
        return getenv("LINKED_PLACES") ? (unsigned) atoi(getenv("LINKED_PLACES")) : 20;
}

/* The Nth primitive of two cells of the classes in NAMES; NULL past the end. */
static const char *nth(const char *const *names, size_t n) {
        const PrimitiveClass *class;

        for (; *names; names++)
                for (size_t i = 0; (class = primitive_class_at(i)); i++)
                        for (size_t k = 0; strcmp(class->name, *names) == 0 && class->primitives[k]; k++)
                                if (n-- == 0)
                                        return class->primitives[k];
        return NULL;
}

static void three_linked_cells_are_found_wherever_they_lie(void **state) {
        static const char *const firsts[] = { "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFdrd", NULL };
        static const char *const seconds[] = { "CFds_wt", "CFds_wn", "CFds_r", "CFwd", "CFrd", NULL };
        static const char *const marches[] = { "March SL", "March SL", "March SL", NULL };
        static Linked linked = { .marches = marches, .first = 1, .last = MARCH_BACKGROUND_ADDRESS };
        const char *a, *b;

        for (size_t i = 0; (a = nth(firsts, i)); i++)
                for (size_t k = 0; (b = nth(seconds, k)); k++) {
                        Primitive first, second;

                        assert_int_equal(primitive_parse(a, &first, NULL, NULL), 0);
                        assert_int_equal(primitive_parse(b, &second, NULL, NULL), 0);
                        /* The second begins in what the first leaves, and undoes it. */
                        if (second.victim.state != first.fault || second.fault != !first.fault)
                                continue;
                        for (unsigned n = 0; n < n_places(); n++)
                                add_linked(&linked, a, b);
                }
        if (linked.n > 0)
                judge(&linked);

        print_message("# %u faults, %u missed, %u by solid data alone\n", linked.n_faults, linked.n_missed, linked.n_missed_other);
        assert_int_equal(linked.n_faults, 240 * n_places());
        assert_int_equal(linked.n_missed, 0);
        assert_true(linked.n_missed_other > 0);
}

static void two_operations_are_found_between_bits_of_an_access(void **state) {
        static const struct {
                const char *kind, *names[2];
                unsigned n;
        } kinds[] = {
                { "dynamic-coupling-disturb", { "dCFds" }, 8 },
                { "dynamic-coupling-read-destructive", { "dCFrd" }, 8 },
                { "dynamic-coupling-deceptive-read", { "dCFdrd" }, 8 },
                { "dynamic-coupling-incorrect-read", { "dCFir" }, 8 },
        };
        static const char *const marches[] = { "March AB", "March RAW", "March AB", "March AB" };
        static Linked linked = { .marches = marches, .first = 2, .last = MARCH_BACKGROUND_ADDRESS - 1 };
        const char *primitive;
        size_t n;

        for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                for (n = 0; (primitive = nth(kinds[i].names, n)); n++)
                        for (unsigned k = 0; k < n_places(); k++) {
                                unsigned victim = below(256);
                                char what[LINE_MAX - 80];

                                (void) snprintf(what, sizeof(what), "%s, primitive: \"%s\", aggressor: bit%u", kinds[i].kind,
                                                primitive, victim ^ (1 + below(255)));
                                add(&linked, victim, what);
                        }
                assert_int_equal(n, kinds[i].n);
        }
        if (linked.n > 0)
                judge(&linked);

        print_message("# %u faults, %u missed, %u by March AB\n", linked.n_faults, linked.n_missed, linked.n_missed_other);
        assert_int_equal(linked.n_missed, 0);
        assert_true(linked.n_missed_other > 0);
}

/* The step of CHECK in a plan we ship; released by the caller. */
static const void *parameters_of(const char *name, const char *check, Plan **ret) {
        _cleanup_free_ char *error = NULL;

        if (plan_find(getenv("ASSAY_PLANS"), name, ret, &error) < 0)
                fail_msg("%s", error);
        for (size_t i = 0; i < (*ret)->n_steps; i++)
                if (strcmp((*ret)->steps[i].check->name, check) == 0)
                        return (*ret)->steps[i].parameters;
        fail_msg("%s has no %s", name, check);
        return NULL;
}

static bool marches_alike(const HbmParameters *hbm, const March *march, const March *others, const MarchBackgrounds *backgrounds) {
        return memcmp(&hbm->march, march, sizeof(*march)) == 0 && memcmp(&hbm->others, others, sizeof(*others)) == 0 &&
               memcmp(&hbm->backgrounds, backgrounds, sizeof(*backgrounds)) == 0;
}

static void static_faults_between_bits_of_an_access_are_found_before_a_job(void **state) {
        static const char *const names[] = { "CFst", "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFrd", "CFdrd", "CFir", NULL };
        _cleanup_(plan_freep) Plan *preflight = NULL, *arrays = NULL, *repair = NULL, *infleet = NULL;
        const HbmParameters *hbm = parameters_of("preflight", "hbm", &preflight), *again = parameters_of("repair", "hbm", &repair);
        const SramParameters *sram = parameters_of("preflight", "sram", &arrays);
        static Linked linked;
        const char *primitive;
        size_t n;

        assert_true(marches_alike(hbm, &sram->march, &sram->others, &sram->backgrounds));
        assert_true(marches_alike(hbm, &again->march, &again->others, &again->backgrounds));
        linked.plan = hbm;
        linked.other_plan = parameters_of("infleet", "hbm", &infleet);

        for (n = 0; (primitive = nth(names, n)); n++)
                for (unsigned k = 0; k < n_places(); k++) {
                        unsigned victim = below(256), other = victim ^ (k % 2 ? 1u << below(8) : 1 + below(255));
                        const PrimitiveClass *class;
                        char what[LINE_MAX - 80];

                        for (size_t i = 0; (class = primitive_class_at(i)); i++)
                                for (size_t c = 0; strchr(class->primitives[0], ';') && class->is_static && class->primitives[c]; c++)
                                        if (strcmp(class->primitives[c], primitive) == 0)
                                                (void) snprintf(what, sizeof(what), "%s, primitive: \"%s\", aggressor: bit%u", class->kind, primitive, other);
                        add(&linked, victim, what);
                }
        if (linked.n > 0)
                judge(&linked);

        print_message("# %u faults, %u missed before a job, %u in service\n", linked.n_faults, linked.n_missed, linked.n_missed_other);
        assert_int_equal(n, 36);
        assert_int_equal(linked.n_missed, 0);
        assert_true(linked.n_missed_other > 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(three_linked_cells_are_found_wherever_they_lie),
                cmocka_unit_test(two_operations_are_found_between_bits_of_an_access),
                cmocka_unit_test(static_faults_between_bits_of_an_access_are_found_before_a_job),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
