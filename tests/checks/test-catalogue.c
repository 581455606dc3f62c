/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "checks/catalogue.h"
#include "checks/check.h"

static void test_every_code_is_a_kebab_word_of_its_own(void **state) {
        const CatalogueEntry *entry;

        for (size_t i = 0; (entry = catalogue_at(i)); i++) {
                assert_true(strlen(entry->code) < 64);
                assert_int_equal(strspn(entry->code, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(entry->code));
                assert_ptr_equal(catalogue_find(entry->code), entry); /* none before it has the same code */
        }

        assert_null(catalogue_find("nonsense"));
        assert_null(catalogue_find(NULL));
}

static void test_every_entry_explains_itself(void **state) {
        const CatalogueEntry *entry;

        for (size_t i = 0; (entry = catalogue_at(i)); i++) {
                assert_true(strlen(entry->summary) > 10 && strlen(entry->summary) < 80);
                assert_int_not_equal(entry->summary[strlen(entry->summary) - 1], '.');
                assert_true(strlen(entry->explanation) > 60);
                assert_int_equal(entry->explanation[strlen(entry->explanation) - 1], '.');
                assert_true(strlen(entry->remedy) > 15);
                assert_int_equal(entry->remedy[strlen(entry->remedy) - 1], '.');
        }
}

/* What fails must not be let go with a look at it, and what only warns takes nothing out of service. */
static void test_severity_and_action_never_contradict(void **state) {
        const CatalogueEntry *entry;

        for (size_t i = 0; (entry = catalogue_at(i)); i++) {
                assert_non_null(severity_to_string(entry->severity));
                assert_non_null(action_to_string(entry->action));
                switch (entry->severity) {
                case SEVERITY_INFO:
                        assert_true(entry->action <= ACTION_MONITOR);
                        break;
                case SEVERITY_WARN:
                        assert_true((entry->action >= ACTION_MONITOR && entry->action <= ACTION_REBOOT_SERVER) ||
                                    entry->action == ACTION_INSPECT_STATION);
                        break;
                case SEVERITY_FAIL:
                        assert_true(entry->action > ACTION_RETEST);
                        break;
                case _SEVERITY_MAX:
                case _SEVERITY_INVALID:
                        fail();
                }
        }
}

static void test_actions_have_words(void **state) {
        for (Action action = 0; action < _ACTION_MAX; action++)
                assert_int_equal(action_from_string(action_to_string(action)), action);

        assert_string_equal(action_to_string(ACTION_REPLACE_TRAY), "replace-tray");
        assert_null(action_to_string(_ACTION_MAX));
        assert_int_equal(action_from_string("dance"), _ACTION_INVALID);
        assert_int_equal(action_from_string(NULL), _ACTION_INVALID);
}

static bool is_declared(const Check *check, const char *code) {
        for (const char *const *declared = check->codes; *declared; declared++)
                if (strcmp(*declared, code) == 0)
                        return true;

        return false;
}

static void test_checks_declare_the_codes_that_the_catalogue_says_are_theirs(void **state) {
        const CatalogueEntry *entry;
        const Check *check;

        for (size_t i = 0; (check = check_at(i)); i++)
                for (const char *const *code = check->codes; *code; code++) {
                        entry = catalogue_find(*code);
                        if (entry && strcmp(entry->check, "device") == 0)
                                continue; /* what the port itself does wrong, any check may meet */
                        if (!entry || strcmp(entry->check, check->name) != 0)
                                fail_msg("%s declares %s, which is %s", check->name, *code,
                                         entry ? entry->check : "nobody's");
                }

        for (size_t i = 0; (entry = catalogue_at(i)); i++) {
                if (strcmp(entry->check, "device") == 0)
                        continue;

                check = check_find(entry->check);
                if (!check || !is_declared(check, entry->code))
                        fail_msg("%s does not declare %s", entry->check, entry->code);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_code_is_a_kebab_word_of_its_own),
                cmocka_unit_test(test_every_entry_explains_itself),
                cmocka_unit_test(test_severity_and_action_never_contradict),
                cmocka_unit_test(test_actions_have_words),
                cmocka_unit_test(test_checks_declare_the_codes_that_the_catalogue_says_are_theirs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
