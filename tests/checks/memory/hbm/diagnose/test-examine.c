/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Only the work of a particle is called a soft error. A scan begins with the data that the one before has left in memory, which some
 * faults need to show and no repeat of the march alone brings back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "sim/chip/dispatch.h"
#include "sim/memory/structures/primitive.h"
#include "sim/qualify/sample.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

#define HEAD     "scenario: t\nseed: %u\ntopology: {ultraservers: 1}\nfaults:\n"
#define TOGETHER 32u /* faults of one chip, in as many banks of its four stacks */
#define SCANS    3u

typedef struct Together {
        char text[TOGETHER * 256 + 256];
        size_t n_text;
        unsigned n, n_faults, n_failed; /* in this chip; so far; those of which anything was said */
} Together;

static HbmParameters defaults(void) {
        return *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;
}

static unsigned below(unsigned n) {
        static uint64_t state = 1147;

        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return (unsigned) (state >> 33) % n;
}

static unsigned n_rounds(void) {
        return getenv("SOFT_ROUNDS") ? (unsigned) atoi(getenv("SOFT_ROUNDS")) : 1;
}

/* Scans of one chip, one after another; none of them may speak of particles. */
static void scan_together(Together *together, const HbmParameters *parameters) {
        static Found found;
        Device *device;

        if (together->n == 0)
                return;
        device = hall_device(together->text, "us0-1", 3, 1 << 20);
        assert_non_null(device);
        for (unsigned i = 0; i < SCANS; i++) {
                (void) hall_scan(device, &check_hbm, parameters, &found);
                if (strstr(found.lines, "hbm-soft-error"))
                        fail_msg("scan %u of %s\n%s", i, together->text, found.lines);
        }
        together->n_failed += found.n;
        (void) device_free(device);
        together->n = 0;
}

/* WHAT: kind and parameters of a fault of bit VICTIM of an access; each in a bank of its own. */
static void add(Together *together, const HbmParameters *parameters, unsigned victim, const char *what) {
        unsigned bank = together->n;

        if (bank == 0)
                together->n_text = (size_t) snprintf(together->text, sizeof(together->text), HEAD, 5u);
        together->n_text += (size_t) snprintf(together->text + together->n_text, sizeof(together->text) - together->n_text,
                                              "  - {at: us0-1/chip3/hbm%u/ch%u/pc1/sid0/bg%u/ba1/row%u/col%u/bit%u, kind: %s}\n",
                                              bank % 4, bank / 4, bank % 3, 1 + below(16000), 1 + below(30), victim, what);
        together->n_faults++;
        if (++together->n == TOGETHER)
                scan_together(together, parameters);
}

static void no_permanent_fault_of_an_access_is_a_particle(void **state) {
        const HbmParameters parameters = defaults();
        const PrimitiveClass *class;
        Together together = {};

        for (unsigned round = 0; round < 2 * n_rounds(); round++)
                for (size_t i = 0; (class = primitive_class_at(i)); i++)
                        for (size_t k = 0; class->primitives[k] && strcmp(class->kind, "stuck-at") != 0; k++) {
                                unsigned victim = below(256);
                                char what[160];
                                int n = snprintf(what, sizeof(what), "%s, primitive: \"%s\"", class->kind, class->primitives[k]);

                                if (strchr(class->primitives[k], ';'))
                                        (void) snprintf(what + n, sizeof(what) - (size_t) n, ", aggressor: bit%u", victim ^ (1 + below(255)));
                                add(&together, &parameters, victim, what);
                        }
        scan_together(&together, &parameters);

        print_message("# %u faults, %u found\n", together.n_faults, together.n_failed);
        assert_true(together.n_faults >= 200 && together.n_failed >= together.n_faults / 3);
}

/* Kinds of every sort, with aggressors anywhere; after marches on random data, too. */
static void no_permanent_fault_anywhere_is_a_particle(void **state) {
        HbmParameters parameters = defaults();
        unsigned n = 0, n_failed = 0;
        const FaultKind *kind;

        parameters.phases = 1u << HBM_DO_MARCH | 1u << HBM_DO_RANDOM;
        parameters.random = 3;
        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                for (unsigned k = 0; kind->family == FAMILY_MEMORY && strcmp(kind->name, "soft-error") != 0 && k < 3 * n_rounds(); k++) {
                        DrawnFault fault = {};
                        char *error = NULL;

                        if (sample_draw(77, kind, k, 3, 0, &fault, &error) >= 0 && !fault.comes_and_goes &&
                            location_index(&fault.at, LOCATION_HBM) >= 0 && !strstr(fault.text, "transient")) {
                                _cleanup_free_ char *item = NULL, *whole = NULL;
                                static Found found;
                                Device *device;

                                assert_true(asprintf(&item, "  - %s\n", fault.text) > 0);
                                whole = sample_scenario(k, fault.ring, item);
                                device = hall_device(whole, location_index(&fault.at, LOCATION_CHIP) >= 0 ? fault.at.server : "us0-1", 3, 1 << 20);
                                assert_non_null(device);
                                for (unsigned scan = 0; scan < 2; scan++) {
                                        n_failed += hall_scan(device, &check_hbm, &parameters, &found) == VERDICT_FAILED;
                                        if (strstr(found.lines, "hbm-soft-error"))
                                                fail_msg("scan %u of %s\n%s", scan, whole, found.lines);
                                }
                                (void) device_free(device);
                                n++;
                        }
                        free(error);
                        drawn_fault_done(&fault);
                }

        print_message("# %u faults, %u scans failed\n", n, n_failed);
        assert_true(n >= 30 && n_failed >= n);
}

/* 1 in 50 commands: what was wrong once is asked again until it would have shown. */
static void what_comes_and_goes_is_no_particle(void **state) {
        const HbmParameters parameters = defaults();
        unsigned n = 100 * n_rounds(), n_soft = 0, n_failed = 0;

        for (unsigned i = 0; i < n; i++) {
                static Found found;
                char text[512];

                (void) snprintf(text, sizeof(text), HEAD "  - {at: us0-1/chip3/hbm%u/ch%u/pc0/sid1/bg2/ba3/row%u/col%u/bit%u, kind: read-destructive, "
                                "primitive: \"<1r1/0/0>\", persistence: intermittent, probability: 0.05}\n", i, below(4), below(16), below(16384),
                                below(32), below(256));
                n_failed += hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found) == VERDICT_FAILED;
                n_soft += strstr(found.lines, "hbm-soft-error") != NULL;
        }

        print_message("# %u faults, %u failed, %u called soft errors\n", n, n_failed, n_soft);
        assert_true(n_failed > 0 && n_soft <= n / 50);
}

/*
 * Variable retention time: in one of its two states a cell holds for less than it takes to march over all that is tested, and longer than over
 * its bank. A march of the bank alone never shows it, however often; asked with pauses it does.
 */
static void a_cell_of_variable_retention_is_no_particle(void **state) {
        const HbmParameters parameters = defaults();
        unsigned n = 12 * n_rounds(), n_failed = 0, n_soft = 0;

        for (unsigned i = 0; i < n; i++) {
                static Found found;
                char text[512];

                (void) snprintf(text, sizeof(text), HEAD "  - {at: us0-1/chip3/hbm%u/ch%u/pc0/sid1/bg2/ba3/row%u/col%u/bit%u, kind: retention, "
                                "seconds: %.4f, other: 0.107, leaks: %u}\n", i, below(4), below(16), below(16384), below(32), below(256),
                                0.012 + 0.002 * (i % 6), i % 2);
                n_failed += hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found) == VERDICT_FAILED;
                if (strstr(found.lines, "hbm-soft-error"))
                        n_soft++, print_message("%s\n%s", text, found.lines);
        }

        print_message("# %u cells, %u failed, %u called soft errors\n", n, n_failed, n_soft);
        assert_true(n_failed > 0);
        assert_int_equal(n_soft, 0);
}

/* A particle that hits while the march stands between a write and a read; between a read and a write nobody sees it. */
static void a_particle_is_called_one(void **state) {
        HbmParameters parameters = defaults();
        unsigned n_soft = 0;

        for (unsigned i = 0; i < 40; i++) {
                bool random = i % 4 == 3;
                static Found found;
                char text[512], bit[16] = "";

                /* One bit, or some of a byte. */
                if (i % 2 == 0)
                        (void) snprintf(bit, sizeof(bit), "/bit%u", below(256));
                parameters.phases = random ? 1u << HBM_DO_RANDOM : 1u << HBM_DO_MARCH;
                parameters.random = 3;
                (void) snprintf(text, sizeof(text), HEAD "  - {at: us0-1/chip3/hbm%u/ch%u/pc1/sid2/bg1/ba0/row%u/col%u%s, kind: soft-error, "
                                "after: %.3f, shape: %s}\n", i, below(4), below(16), below(16384), below(32), bit, 0.025 * i,
                                i % 2 ? "byte" : "bit");
                assert_int_not_equal(hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found), VERDICT_FAILED);
                assert_int_equal(found.n, strstr(found.lines, "hbm-soft-error") != NULL);
                n_soft += found.n;
        }

        print_message("# 40 particles, %u seen\n", n_soft);
        assert_true(n_soft >= 25);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_permanent_fault_of_an_access_is_a_particle),
                cmocka_unit_test(no_permanent_fault_anywhere_is_a_particle),
                cmocka_unit_test(what_comes_and_goes_is_no_particle),
                cmocka_unit_test(a_cell_of_variable_retention_is_no_particle),
                cmocka_unit_test(a_particle_is_called_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
