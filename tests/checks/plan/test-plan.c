/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"

/* Two words of our own in place of the generated list, so that no change of a real check changes these tests. */
typedef struct Knobs {
        char *march;
        uint64_t loops;
} Knobs;

static const YamlField parameters[] = {
        YAML_STRING("march", Knobs, march, 1, 64),
        YAML_UNSIGNED("loops", Knobs, loops, 1, 8),
        {},
};
static char default_march[] = "March C-";
static const Knobs defaults = { .march = default_march, .loops = 2 };
static const size_t parameters_bytes = sizeof(Knobs);
static const void *const parameters_defaults = &defaults;

static const char *const counts[] = { "hbm_bytes_tested", "systolic_pe_fraction", NULL };
static const char *const other_counts[] = { "packets", NULL };

static const char *refuse(const void *given) {
        const Knobs *knobs = given;

        return knobs->loops == 7 && strcmp(knobs->march, "MATS") == 0 ? "seven loops of MATS are too many" : NULL;
}

static const CheckWord words[] = {
        { "memory", parameters, &parameters_bytes, &parameters_defaults, refuse, counts },
        { .name = "plain" },
        { .name = "other", .counts = other_counts },
};

const CheckWord *check_word_at(size_t index) {
        return index < ELEMENTS(words) ? &words[index] : NULL;
}

const CheckWord *check_word_find(const char *name) {
        for (size_t i = 0; i < ELEMENTS(words); i++)
                if (strcmp(words[i].name, name) == 0)
                        return &words[i];

        return NULL;
}

static const char whole[] = "plan: preflight\n"
                            "summary: everything there is\n"
                            "stage: PREFLIGHT\n"
                            "budget: 30\n"
                            "deadline: 0.5\n"
                            "rotation: 86400\n"
                            "steps:\n"
                            "  - check: memory\n"
                            "    parameters: {loops: 3}\n"
                            "  - {check: memory, name: memory-again, required: false, parameters: {march: MATS}}\n"
                            "  - check: plain\n"
                            "coverage:\n"
                            "  hbm_bytes_tested: 103079215104\n"
                            "  systolic_pe_fraction: 1.0\n";

static void test_a_whole_plan_is_read(void **state) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;
        const Knobs *knobs;

        if (plan_parse("p", whole, strlen(whole), &plan, &error) < 0)
                fail_msg("%s", error);

        assert_string_equal(plan->name, "preflight");
        assert_string_equal(plan->summary, "everything there is");
        assert_int_equal(plan->stage, STAGE_PREFLIGHT);
        assert_true(plan->budget_sec == 30 && plan->deadline_sec == 0.5 && plan->rotation_sec == 86400);
        assert_int_equal(plan->n_steps, 3);
        assert_string_equal(plan->steps[0].name, "memory");
        assert_true(plan->steps[0].required);
        assert_string_equal(plan->steps[1].name, "memory-again");
        assert_false(plan->steps[1].required);
        assert_string_equal(plan->steps[2].check->name, "plain");
        assert_null(plan->steps[2].parameters);

        knobs = plan->steps[0].parameters;
        assert_int_equal(knobs->loops, 3);
        assert_string_equal(knobs->march, "March C-");
        assert_ptr_not_equal(knobs->march, default_march);
        knobs = plan->steps[1].parameters;
        assert_int_equal(knobs->loops, 2);
        assert_string_equal(knobs->march, "MATS");

        assert_int_equal(plan->n_promises, 2);
        assert_string_equal(plan->promises[0].measurement, "hbm_bytes_tested");
        assert_true(plan->promises[0].value == 103079215104.0);
        assert_int_equal(plan->n_text, strlen(whole));
        assert_string_equal(plan->text, whole);
}

static const char escaping[] = "plan: preflight\n"
                               "stage: PREFLIGHT\n"
                               "steps: [{check: plain}]\n"
                               "escapes:\n"
                               "  - {faults: [row-dead, bank-dead], commands: 20, by: campaign}\n"
                               "  - {faults: [linked], always: 0.25, commands: 3, because: half of them need two reads, by: computation}\n"
                               "  - {faults: [hammer, links], always: 1, because: 'no row is opened often, no link tested', by: design}\n"
                               "  - {faults: [serial-mismatch], by: design}\n";

static void test_what_escapes_is_read(void **state) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL, *limits = NULL;

        if (plan_parse("p", escaping, strlen(escaping), &plan, &error) < 0)
                fail_msg("%s", error);

        assert_int_equal(plan->n_escapes, 4);
        assert_int_equal(plan->escapes[0].n_faults, 2);
        assert_string_equal(plan->escapes[0].faults[0], "row-dead");
        assert_string_equal(plan->escapes[0].faults[1], "bank-dead");
        assert_true(plan->escapes[0].always == 0 && plan->escapes[0].commands == 20);
        assert_string_equal(escape_by_to_string((EscapeBy) plan->escapes[0].by), "campaign");
        assert_null(plan->escapes[0].because);
        assert_true(plan->escapes[1].always == 0.25 && plan->escapes[1].commands == 3);
        assert_string_equal(plan->escapes[1].because, "half of them need two reads");
        assert_string_equal(escape_by_to_string((EscapeBy) plan->escapes[1].by), "computation");
        assert_true(plan->escapes[2].always == 1 && plan->escapes[2].commands == 0);
        assert_string_equal(plan->escapes[2].faults[1], "links");
        assert_string_equal(escape_by_to_string((EscapeBy) plan->escapes[2].by), "design");
        assert_true(plan->escapes[3].always == 0 && plan->escapes[3].commands == 0);

        /* It judges nobody. */
        assert_int_equal(plan_limits(plan, &limits), 0);
        assert_string_equal(limits, "assay-limits/v1\nchecks " ASSAY_VERSION "\nstep plain plain required {}\n");
}

static char *limits_of(const char *text) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;
        char *limits;

        if (plan_parse("p", text, strlen(text), &plan, &error) < 0)
                fail_msg("%s", error);
        assert_int_equal(plan_limits(plan, &limits), 0);
        return limits;
}

static void test_limits_are_what_a_plan_judges_by_and_no_more(void **state) {
        _cleanup_free_ char *limits = limits_of(whole);
        _cleanup_free_ char *same = limits_of(
                        "# in other words\n{summary: all, coverage: {systolic_pe_fraction: 1.0, hbm_bytes_tested: 103079215104},\n"
                        " rotation: 86400.0, plan: other, stage: RMA, steps: [{parameters: {loops: 3}, check: memory},\n"
                        "  {check: memory, parameters: {march: 'MATS'}, name: memory-again, required: false}, {check: plain, required: true}]}");
        static const char *const others[][2] = {
                { "loops: 3", "loops: 4" }, { "march: MATS", "march: March X" }, { "required: false", "required: true" },
                { "tested: 103079215104", "tested: 103079215103" }, { "  - check: plain\n", "" }, { "rotation: 86400\n", "" },
        };

        assert_string_equal(limits, "assay-limits/v1\nchecks " ASSAY_VERSION "\nrotation 86400\n"
                                    "step memory memory required {\"loops\":\"3\"}\n"
                                    "step memory-again memory optional {\"march\":\"MATS\"}\n"
                                    "step plain plain required {}\n"
                                    "coverage hbm_bytes_tested 103079215104\ncoverage systolic_pe_fraction 1\n");
        assert_string_equal(same, limits);
        for (size_t i = 0; i < ELEMENTS(others); i++) {
                const char *at = strstr(whole, others[i][0]);
                _cleanup_free_ char *changed = NULL, *other = NULL;

                assert_true(asprintf(&changed, "%.*s%s%s", (int) (at - whole), whole, others[i][1], at + strlen(others[i][0])) > 0);
                other = limits_of(changed);
                assert_string_not_equal(other, limits);
        }
}

static void test_what_may_be_left_out_has_a_default(void **state) {
        static const char text[] = "{plan: a, stage: RMA, steps: [{check: memory}]}";
        _cleanup_(plan_freep) Plan *plan = NULL;

        assert_int_equal(plan_parse("p", text, strlen(text), &plan, NULL), 0);
        assert_true(plan->deadline_sec == 2);
        assert_true(plan->rotation_sec == 0);
        assert_true(plan->budget_sec > 0);
        assert_null(plan->summary);
        assert_int_equal(((const Knobs *) plan->steps[0].parameters)->loops, 2);
}

static void test_every_refusal_says_where_and_what(void **state) {
        static const struct {
                const char *text, *error;
        } cases[] = {
                { "", "p:1:1: expected a mapping with the keys: plan, summary, stage, budget, deadline, rotation, steps, coverage, escapes" },
                { "{stage: RMA, steps: [{check: plain}]}", "p:1:1: 'plan' is missing here" },
                { "{plan: a, steps: [{check: plain}]}", "p:1:1: 'stage' is missing here" },
                { "{plan: a, stage: RMA}", "p:1:1: 'steps' is missing here" },
                { "plan: A b", "p:1:7: 'A b' is no name, expected a name of lower-case letters" },
                { "plan: -a", "p:1:7: '-a' is no name" },
                { "plan: a234567890123456789012345678901234567890123456789012345678901234", "p:1:7: 'a2345678901234567" },
                { "stage: preflight", "p:1:8: 'preflight' is no stage, expected one of: PREFLIGHT, INFLEET" },
                { "budget: 0", "p:1:9: '0' is no value for 'budget'" },
                { "rotation: 0", "p:1:11: '0' is no value for 'rotation'" },
                { "rotation: 24h", "p:1:11: '24h' is no value for 'rotation'" },
                { "deadline: 1e9", "p:1:11: '1e9' is no value for 'deadline'" },
                { "steps: []", "p:1:8: no step is here, expected a list of 1 to 64 steps" },
                { "steps: {}", "p:1:8: expected a list of 1 to 64 steps" },
                { "steps: [{name: a}]", "p:1:9: 'check' is missing here" },
                { "steps: [{check: memry}]", "p:1:17: 'memry' is no check, expected one of: memory, plain" },
                { "steps:\n- check: memory\n  marches: 3", "p:3:3: 'marches' is no key here, expected one of: check, name" },
                { "steps: [{check: plain}, {check: plain}]", "p:1:25: a step called 'plain' stands above" },
                { "steps: [{check: plain, name: a/b}]", "p:1:30: 'a/b' is no name" },
                { "steps: [{check: plain, parameters: {}}]", "p:1:36: the check 'plain' takes no parameters" },
                { "steps: [{check: memory, parameters: {loops: 9}}]", "p:1:45: '9' is no value for 'loops'" },
                { "steps: [{parameters: {march: x, what: y}, check: memory}]", "p:1:33: 'what' is no key here, "
                                                                              "expected one of: march, loops" },
                { "coverage: 3", "p:1:11: expected a mapping from measurements to values" },
                { "coverage: {Bytes: 3}", "p:1:12: 'Bytes' is no measurement" },
                { "coverage: {bytes: many}", "p:1:19: 'many' is no value for 'bytes', expected a number" },
                { "plan: a\nstage: RMA\ncoverage: {hbm_bytes_tested: 1, bytes: 3}\nsteps: [{check: memory}]",
                  "p:3:33: nothing counts 'bytes', expected one of: hbm_bytes_tested, systolic_pe_fraction, packets" },
                { "plan: a\nstage: RMA\nsteps: [{check: memory}]\ncoverage:\n  packets: 3\n",
                  "p:5:3: 'packets' is counted by the check 'other', and no step is one" },
                { "steps: [{check: memory, parameters: {march: MATS, loops: 7}}]", "p:1:37: seven loops of MATS are too many" },
                { "escapes: {hammer: 1}", "p:1:10: expected a list of at most 64 statements" },
                { "escapes: [{by: design}]", "p:1:11: 'faults' is missing here" },
                { "escapes: [{faults: [hammer]}]", "p:1:11: 'by' is missing here" },
                { "escapes: [{faults: hammer, by: design}]", "p:1:20: expected a list of kinds of faults" },
                { "escapes: [{faults: [], by: design}]", "p:1:11: no kind of fault is here" },
                { "escapes:\n- {faults: [hammer, rowdead], by: design}", "p:2:21: 'rowdead' is no kind of fault, expected one of `assay-sim kinds`" },
                { "escapes: [{faults: [hammer, hammer], by: design}]", "p:1:29: 'hammer' stands above" },
                { "escapes:\n- {faults: [hammer], by: design}\n- {faults: [links, hammer], by: design}", "p:3:20: 'hammer' stands above" },
                { "escapes: [{faults: [hammer], by: luck}]", "p:1:34: 'luck' is no value for 'by'" },
                { "escapes: [{faults: [hammer], by: campaign, commands: -1}]", "p:1:54: '-1' is no value for 'commands'" },
                { "escapes: [{faults: [hammer], by: campaign, always: 1.5}]", "p:1:52: '1.5' is no value for 'always'" },
                { "escapes: [{faults: [hammer], by: campaign, always: 0.5}]", "p:1:11: faults that are always there escape, expected `because:`" },
                { "escapes: [{faults: [hammer], by: design, always: 1, because: x, commands: 2}]", "p:1:11: all of them escape, so" },
                { "coverage: {bytes: -1}", "p:1:19: '-1' is no value for 'bytes'" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(plan_freep) Plan *plan = NULL;
                _cleanup_free_ char *error = NULL;

                assert_int_equal(plan_parse("p", cases[i].text, strlen(cases[i].text), &plan, &error), -EINVAL);
                assert_null(plan);
                assert_non_null(error);
                if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
                        fail_msg("%s\ngot      %s\nexpected %s", cases[i].text, error, cases[i].error);
        }
}

static void test_too_large_plans_are_refused(void **state) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *text = NULL, *error = NULL, *error2 = NULL, *error3 = NULL;
        size_t n = 0;

        text = malloc(2 * PLAN_BYTES_MAX);
        assert_non_null(text);
        memset(text, ' ', PLAN_BYTES_MAX + 1);
        memcpy(text, whole, strlen(whole));
        assert_int_equal(plan_parse("p", text, PLAN_BYTES_MAX + 1, &plan, &error), -EINVAL);
        assert_string_equal(error, "p:1:1: larger than 65536 bytes, the most a plan may have");

        n = (size_t) sprintf(text, "plan: a\nstage: RMA\nsteps:\n");
        for (unsigned i = 0; i < PLAN_STEPS_MAX + 1; i++)
                n += (size_t) sprintf(text + n, "- {check: plain, name: n%u}\n", i);
        assert_int_equal(plan_parse("p", text, n, &plan, &error2), -EINVAL);
        assert_string_equal(error2, "p:68:3: more than 64 items, expected a list of 1 to 64 steps");

        n = (size_t) sprintf(text, "coverage:\n");
        for (unsigned i = 0; i < PLAN_PROMISES_MAX + 1; i++)
                n += (size_t) sprintf(text + n, " m%u: 1\n", i);
        assert_int_equal(plan_parse("p", text, n, &plan, &error3), -EINVAL);
        assert_string_equal(error3, "p:34:2: more than 32 promises of coverage");
}

static void write_file(const char *folder, const char *name, const char *text) {
        _cleanup_free_ char *path = NULL;
        FILE *file;

        assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
}

static void test_plans_are_found_by_name_in_the_first_folder_that_has_them(void **state) {
        char a[] = "/tmp/test-plan-a-XXXXXX", b[] = "/tmp/test-plan-b-XXXXXX", folders[200], command[200];
        static const struct {
                const char *name;
                int r;
                const char *error;
        } cases[] = {
                { "nightly", -ENOENT, "no plan is called 'nightly' in " },
                { "../secret", -EINVAL, "'../secret' is no name of a plan" },
                { "", -EINVAL, "'' is no name of a plan" },
                { "broken", -EINVAL, NULL },
                { "renamed", -EINVAL, NULL },
                { "pipe", -EINVAL, NULL }, /* nobody ever writes into it */
        };

        assert_non_null(mkdtemp(a));
        assert_non_null(mkdtemp(b));
        write_file(a, "both.yaml", "{plan: both, stage: RMA, steps: [{check: plain}]}");
        write_file(b, "both.yaml", "{plan: both, stage: BURNIN, steps: [{check: plain}]}");
        write_file(b, "second.yaml", "{plan: second, stage: BURNIN, steps: [{check: plain}]}");
        write_file(a, "broken.yaml", "{plan: broken");
        write_file(b, "broken.yaml", "{plan: broken, stage: RMA, steps: [{check: plain}]}");
        write_file(a, "renamed.yaml", "{plan: other, stage: RMA, steps: [{check: plain}]}");
        (void) snprintf(command, sizeof(command), "mkfifo %s/pipe.yaml", a);
        assert_int_equal(system(command), 0);
        (void) snprintf(folders, sizeof(folders), "/nowhere::%s:%s", a, b);

        for (unsigned i = 0; i < 2; i++) {
                _cleanup_(plan_freep) Plan *plan = NULL;

                assert_int_equal(plan_find(folders, i == 0 ? "both" : "second", &plan, NULL), 0);
                assert_int_equal(plan->stage, i == 0 ? STAGE_RMA : STAGE_BURNIN);
        }

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(plan_freep) Plan *plan = NULL;
                _cleanup_free_ char *error = NULL;

                assert_int_equal(plan_find(folders, cases[i].name, &plan, &error), cases[i].r);
                assert_non_null(error);
                assert_null(plan);
                assert_int_equal(strncmp(error, cases[i].error ? cases[i].error : a,
                                         strlen(cases[i].error ? cases[i].error : a)), 0);
        }

        (void) snprintf(command, sizeof(command), "rm -r %s %s", a, b);
        assert_int_equal(system(command), 0);
}

static void test_the_environment_says_where_plans_are(void **state) {
        assert_int_equal(unsetenv("ASSAY_PLANS"), 0);
        assert_string_equal(plan_folders(), "/etc/assay/plans:" ASSAY_PLANS_DIR);
        assert_int_equal(setenv("ASSAY_PLANS", "/x:/y", 1), 0);
        assert_string_equal(plan_folders(), "/x:/y");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_whole_plan_is_read),
                cmocka_unit_test(test_limits_are_what_a_plan_judges_by_and_no_more),
                cmocka_unit_test(test_what_may_be_left_out_has_a_default),
                cmocka_unit_test(test_what_escapes_is_read),
                cmocka_unit_test(test_every_refusal_says_where_and_what),
                cmocka_unit_test(test_too_large_plans_are_refused),
                cmocka_unit_test(test_plans_are_found_by_name_in_the_first_folder_that_has_them),
                cmocka_unit_test(test_the_environment_says_where_plans_are),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
