/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/chip/dispatch.h"
#include "sim/qualify/place.h"
#include "sim/qualify/qualify.h"

#define ROW  "trn-0/chip3/hbm1/ch2/pc0/sid0/bg1/ba2/row77"
#define CELL ROW "/col4/bit9"

static const FaultKind local = { .name = "stuck-at" }, shared = { .name = "cable-broken", .is_shared = true };
static const char *const cell_codes[] = { "hbm-cell", NULL };

static Location location(const char *text) {
        Location at;

        assert_int_equal(location_parse(text, &at, NULL, NULL), 0);
        return at;
}

/* What a worker would have said of sixteen chips: FINDING (NULL: none) on its chip, which comes to RESULT; the others passed. */
typedef struct Scan {
        Observation observation;
        ObservedUnit units[CHIPS];
        ObservedFinding findings[2];
} Scan;

static void scan_init(Scan *scan) {
        *scan = (Scan) { .observation = { .n_units = CHIPS, .units = scan->units } };
        for (unsigned i = 0; i < CHIPS; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "trn-0/chip%u", i);
                scan->units[i].at = location(name);
        }
}

static void scan_find(Scan *scan, unsigned chip, const char *code, const char *at, Verdict verdict) {
        ObservedUnit *unit = &scan->units[chip];
        Fold fold = {};

        unit->findings = scan->findings;
        scan->findings[unit->n_findings++] = (ObservedFinding) { .code = code, .at = location(at) };
        fold_step(&fold, verdict, true);
        unit->result = fold_result(&fold);
}

/* One fault in one run, judged by SCAN. */
typedef struct Case {
        QualifyOrder order;
        Injected injected;
        Run run;
        size_t packed[1];
        Qualification qualification;
} Case;

static void case_init(Case *c, const FaultKind *kind, const char *at) {
        *c = (Case) {
                .order    = { .plan = "p", .samples = 1 },
                .injected = { .partner = SIZE_MAX, .fault = { .kind = kind, .at = location(at), .text = strdup("{}"),
                                         .diagnosis = { .codes = cell_codes, .n_places = 1, .places = { location(at) } } } },
                .run      = { .n = 1, .shared = kind->is_shared },
        };
        c->qualification = (Qualification) { .order = &c->order, .n_faults = 1, .n_runs = 1, .faults = &c->injected, .runs = &c->run,
                                             .packed = c->packed };
}

static void case_done(Case *c) {
        free(c->injected.fault.text);
        for (size_t i = 0; i < c->qualification.n_notes; i++)
                free(c->qualification.notes[i]);
        free(c->qualification.notes);
        free(c->qualification.budgets);
}

static Outcome judge(const FaultKind *kind, const char *at, const char *code, const char *found, Verdict verdict) {
        Location place = location(found);
        Scan scan;
        Outcome outcome;
        Case c;

        scan_init(&scan);
        case_init(&c, kind, at);
        scan_find(&scan, (unsigned) location_index(&place, LOCATION_CHIP), code, found, verdict);
        assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
        outcome = c.injected.outcome;
        case_done(&c);
        return outcome;
}

static void test_where_a_finding_counts(void **state) {
        assert_int_equal(judge(&local, CELL, "hbm-cell", CELL, VERDICT_FAILED), OUTCOME_LOCATED);
        assert_int_equal(judge(&local, CELL, "hbm-cell", CELL, VERDICT_WARNED), OUTCOME_LOCATED);
        assert_int_equal(judge(&local, CELL, "hbm-word", CELL, VERDICT_FAILED), OUTCOME_WRONG_CODE);
        assert_int_equal(judge(&local, CELL, "hbm-row", ROW, VERDICT_FAILED), OUTCOME_MISPLACED);
        assert_int_equal(judge(&local, ROW, "hbm-cell", CELL, VERDICT_FAILED), OUTCOME_MISPLACED);
        assert_int_equal(judge(&local, CELL, "hbm-cell", ROW "/col4/bit8", VERDICT_FAILED), OUTCOME_MISSED);
        assert_int_equal(judge(&local, CELL, "hbm-cell", "trn-0/chip4/hbm1", VERDICT_FAILED), OUTCOME_MISSED);
}

static void test_what_comes_and_goes_may_be_called_so(void **state) {
        Scan scan;
        Case c;

        assert_int_equal(judge(&local, CELL, "hbm-intermittent", CELL, VERDICT_FAILED), OUTCOME_WRONG_CODE);
        scan_init(&scan);
        case_init(&c, &local, CELL);
        c.injected.fault.comes_and_goes = true;
        scan_find(&scan, 3, "hbm-intermittent", CELL, VERDICT_FAILED);
        assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
        assert_int_equal(c.injected.outcome, OUTCOME_LOCATED);
        case_done(&c);
}

/* Parts of one memory that are no parts of each other, and yet have cells in common, or not. */
static void test_what_crosses_is_near(void **state) {
        static const struct {
                const char *a, *b;
                bool cross;
        } table[] = {
                { "trn-0/chip3/hbm1/die9", "trn-0/chip3/hbm1/ch7/pc1/sid2/bg0/ba1", true },
                { "trn-0/chip3/hbm1/die9", "trn-0/chip3/hbm1/ch8/pc1/sid2/bg0/ba1", false },
                { "trn-0/chip3/hbm1/die9", "trn-0/chip3/hbm1/ch7/pc1/sid1/bg0/ba1", false },
                { "trn-0/chip3/hbm1/die9", "trn-0/chip3/hbm2/ch7/pc1/sid2/bg0/ba1", false },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/dq9", CELL, true },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/dq8", CELL, false },
                { "trn-0/chip3/hbm1/ch2/pc0/sid1/dq9", CELL, false },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/bg1/ba2/sub0/col4/bit9", CELL, true },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/bg1/ba2/sub1/col4/bit9", CELL, false },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/bg1/ba2/sub0/col4/bit9", ROW, true },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/bg1/ba2/col4", ROW, true },
                { "trn-0/chip3/hbm1/ch2/pc0/sid0/bg1/ba2/col5", CELL, false },
                { ROW "/swl0", CELL, true },
                { ROW "/swl1", CELL, false },
                { "trn-0/chip3/core1/sbuf/part4/bit7", "trn-0/chip3/core1/sbuf/part4/row9", true },
                { "trn-0/chip3/core1/sbuf/part4/bit7", "trn-0/chip3/core1/sbuf/part4/row9/bit8", false },
                { "trn-0/chip3/core1/psum1/part4/bit7", "trn-0/chip3/core1/psum2/part4/row9", false },
                { "trn-0/chip3/core1/psum1/part4", "trn-0/chip3/core1/sbuf", false },
                { "trn-0/chip3/core1/pe4.5", "trn-0/chip3/core1/vector/lane4", false },
        };

        for (size_t i = 0; i < ELEMENTS(table); i++) {
                Location a = location(table[i].a), b = location(table[i].b);

                assert_int_equal(place_overlaps(&a, &b), table[i].cross);
                assert_int_equal(place_overlaps(&b, &a), table[i].cross);
        }
}

/* A finding on a chip that all the same passed is worth nothing. */
static void test_a_pass_is_a_miss(void **state) {
        assert_int_equal(judge(&local, CELL, "hbm-cell", CELL, VERDICT_PASSED), OUTCOME_MISSED);
        assert_int_equal(judge(&local, CELL, "hbm-cell", CELL, VERDICT_ERROR), OUTCOME_INCONCLUSIVE);
}

/* A finding that no injected fault explains is told with all that is needed to see it again. */
static void test_an_innocent_part_is_told(void **state) {
        for (unsigned n = 1; n <= 2; n++) {
                size_t packed[] = { 0, 1 };
                Injected injected[2];
                Scan scan;
                Case c;

                scan_init(&scan);
                case_init(&c, &local, CELL);
                injected[0] = injected[1] = c.injected;
                injected[1].fault.at = injected[1].fault.diagnosis.places[0] = location("trn-0/chip3/hbm2");
                injected[0].partner = n == 2 ? 1 : SIZE_MAX;
                injected[1].partner = 0;
                c.qualification.faults = injected;
                c.qualification.packed = packed;
                c.run.n = n;
                scan_find(&scan, 3, "hbm-cell", CELL, VERDICT_FAILED);
                scan_find(&scan, 3, "hbm-cell", "trn-0/chip3/hbm2", VERDICT_FAILED);
                assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
                assert_int_equal(c.qualification.innocents, 2 - n);
                assert_int_equal(injected[0].strays, 2 - n);
                assert_int_equal(c.qualification.n_notes, 2 - n);
                assert_int_equal(injected[0].outcome, OUTCOME_LOCATED);
                assert_int_equal(qualify_status(&c.qualification), n == 2 ? STATUS_PASSED : STATUS_FAILED);
                if (n == 2) {
                        c.qualification.n_faults = 2;
                        assert_int_equal(qualify_pair_score(&c.qualification).both, 1);
                        assert_int_equal(injected[1].outcome, OUTCOME_LOCATED);
                }
                c.injected = injected[0]; /* its text */
                case_done(&c);
        }
}

/* A tenth of them, each with its partner in the same chip of the same run, and no more chips than a server has. */
static void test_some_faults_have_company(void **state) {
        const FaultKind *kinds[] = { fault_kind_find("bank-dead"), fault_kind_find("heartbeat-stalled"), fault_kind_find("row-dead") };
        QualifyOrder order = { .plan = "p", .kinds = kinds, .n_kinds = ELEMENTS(kinds), .family = -1, .samples = 100, .seed = 5 };
        Qualification qualification;
        unsigned n = 0;

        assert_int_equal(qualify_prepare(&order, &qualification), 0);
        for (size_t i = 0; i < qualification.n_faults; i++) {
                const Injected *own = &qualification.faults[i], *partner;

                if (own->partner == SIZE_MAX)
                        continue;
                partner = &qualification.faults[own->partner];
                assert_int_equal(partner->partner, i);
                assert_int_equal(partner->run, own->run);
                assert_int_equal(location_index(&partner->fault.at, LOCATION_CHIP), location_index(&own->fault.at, LOCATION_CHIP));
                n++;
        }
        assert_in_range(n, 20, 40);
        for (size_t r = 0; r < qualification.n_runs; r++) {
                unsigned in_chip[CHIPS] = {};

                for (size_t i = 0; i < qualification.runs[r].n; i++) {
                        const Injected *own = qualify_fault(&qualification, &qualification.runs[r], i);

                        assert_int_equal(own->run, r);
                        assert_in_range(++in_chip[location_index(&own->fault.at, LOCATION_CHIP)], 1, own->partner == SIZE_MAX ? 1 : 2);
                }
        }
        qualify_done(&qualification);
}

/* Only of a shared kind may a finding stand on another chip. */
static void test_the_far_end_counts_for_shared_kinds(void **state) {
        Scan scan;
        Case c;

        scan_init(&scan);
        case_init(&c, &shared, "trn-0/chip3/link-x+");
        c.injected.fault.diagnosis.places[c.injected.fault.diagnosis.n_places++] = location("trn-0/chip2/link-x-");
        scan_find(&scan, 2, "hbm-cell", "trn-0/chip2/link-x-", VERDICT_FAILED);
        assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
        assert_int_equal(c.injected.outcome, OUTCOME_LOCATED);
        case_done(&c);

        scan_init(&scan);
        case_init(&c, &local, "trn-0/chip3/link-x+");
        c.injected.fault.diagnosis.places[c.injected.fault.diagnosis.n_places++] = location("trn-0/chip2/link-x-");
        scan_find(&scan, 2, "hbm-cell", "trn-0/chip2/link-x-", VERDICT_FAILED);
        assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
        assert_int_equal(c.injected.outcome, OUTCOME_MISSED);
        assert_int_equal(c.qualification.false_alarms, 1); /* chip 2 is a bystander */
        assert_int_equal(c.qualification.healthy_chips, CHIPS - 1);
        case_done(&c);
}

/* The far end hears the faults of a transmitter: x+ of chip 2 leads to x- of chip 3. Its other lanes have nothing to do with it. */
static void test_the_far_end_of_a_link_is_near(void **state) {
        assert_int_equal(judge(&shared, "trn-0/chip2/link-x+/lane20", "link-lane", "trn-0/chip3/link-x-/lane20", VERDICT_FAILED), OUTCOME_MISPLACED);
        assert_int_equal(judge(&shared, "trn-0/chip2/link-x+/lane20", "link-down", "trn-0/chip3/link-x-", VERDICT_FAILED), OUTCOME_MISPLACED);
        assert_int_equal(judge(&shared, "trn-0/chip2/link-x+", "link-lane", "trn-0/chip3/link-x-/lane20", VERDICT_FAILED), OUTCOME_MISPLACED);
        assert_int_equal(judge(&shared, "trn-0/chip2/link-x+/lane20", "link-lane", "trn-0/chip3/link-x-/lane21", VERDICT_FAILED), OUTCOME_MISSED);
        assert_int_equal(judge(&shared, "trn-0/chip2/link-x+/lane20", "link-lane", "trn-0/chip3/link-x+/lane20", VERDICT_FAILED), OUTCOME_MISSED);
        assert_int_equal(judge(&shared, "trn-0/chip2/link-x+/lane20", "link-lane", "trn-0/chip3/link-x-/lane20", VERDICT_PASSED), OUTCOME_MISSED);
}

static void test_what_cannot_be_judged(void **state) {
        Scan scan;
        Case c;

        /* No stream, a worker that gave up, a chip left out: never detected, and never missed either. */
        for (unsigned way = 0; way < 3; way++) {
                scan_init(&scan);
                case_init(&c, &local, CELL);
                scan_find(&scan, 3, "hbm-cell", CELL, VERDICT_FAILED);
                scan.observation.broken = way == 1;
                scan.observation.n_units -= way == 2;
                assert_int_equal(qualify_score(&c.qualification, &c.run, way == 0 ? NULL : &scan.observation, "it died"), 0);
                assert_int_equal(c.injected.outcome, OUTCOME_UNJUDGED);
                assert_int_equal(qualify_status(&c.qualification), STATUS_CANNOT_TELL);
                case_done(&c);
        }
}

static void test_false_alarms_and_the_budget(void **state) {
        ObservedAlarms alarms = { .name = "rounding_false_alarms", .expected = 3e-9 };
        Scan scan;
        Case c;

        scan_init(&scan);
        case_init(&c, &local, CELL);
        c.run.n = 0;
        c.qualification.n_faults = 0;
        scan.observation.alarms = &alarms;
        scan.observation.n_alarms = 1;
        assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
        assert_int_equal(qualify_status(&c.qualification), STATUS_PASSED);
        scan_find(&scan, 5, "efa-loss", "trn-0/chip5/nic5", VERDICT_FAILED);
        assert_int_equal(qualify_score(&c.qualification, &c.run, &scan.observation, NULL), 0);
        assert_int_equal(c.qualification.healthy_chips, 2 * CHIPS);
        assert_int_equal(c.qualification.false_alarms, 1);
        assert_int_equal(qualify_status(&c.qualification), STATUS_FAILED);
        assert_int_equal(c.qualification.n_budgets, 1);
        assert_true(fabs(c.qualification.budgets[0].sum / (double) c.qualification.budget_chips - 3e-9 / CHIPS) < 1e-20);
        case_done(&c);
}

/* Whether it can be found is decided by the fault alone. */
static void test_undetectable_is_no_outcome(void **state) {
        Injected faults[3] = {
                { .fault = { .kind = &local, .undetectable = "masked" }, .outcome = OUTCOME_MISSED },
                { .fault = { .kind = &local, .undetectable = "masked" }, .outcome = OUTCOME_LOCATED },
                { .fault = { .kind = &local }, .outcome = OUTCOME_INCONCLUSIVE },
        };
        QualifyOrder order = { .samples = 2 };
        Qualification qualification = { .order = &order, .n_faults = 2, .faults = faults };
        KindScore score = qualify_kind_score(faults, 3);

        assert_int_equal(score.injected, 3);
        assert_int_equal(score.undetectable, 2);
        assert_int_equal(score.undetectable_found, 1);
        assert_int_equal(score.detected, 0);
        assert_int_equal(score.missed, 1);
        assert_int_equal(score.inconclusive, 1);
        assert_int_equal(qualify_status(&qualification), STATUS_PASSED);
        order.samples = 3;
        qualification.n_faults = 3;
        assert_int_equal(qualify_status(&qualification), STATUS_FAILED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_where_a_finding_counts),
                cmocka_unit_test(test_what_comes_and_goes_may_be_called_so),
                cmocka_unit_test(test_what_crosses_is_near),
                cmocka_unit_test(test_a_pass_is_a_miss),
                cmocka_unit_test(test_an_innocent_part_is_told),
                cmocka_unit_test(test_some_faults_have_company),
                cmocka_unit_test(test_the_far_end_counts_for_shared_kinds),
                cmocka_unit_test(test_the_far_end_of_a_link_is_near),
                cmocka_unit_test(test_what_cannot_be_judged),
                cmocka_unit_test(test_false_alarms_and_the_budget),
                cmocka_unit_test(test_undetectable_is_no_outcome),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
