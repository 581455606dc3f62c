/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "checks/step/check.h"
#include "checks/vocabulary/catalogue.h"

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

/* How the text of a remedy may begin that has an action: with what the action says. */
static const char *const beginnings[_ACTION_MAX][4] = {
        [ACTION_MONITOR]         = { "Watch " },
        [ACTION_RETEST]          = { "Scan " },
        [ACTION_RELOAD_DRIVER]   = { "Reload the driver ", "Reload the EFA driver" },
        [ACTION_RESET_CHIP]      = { "Reset the chip " , "Reset the chips at both ends " },
        [ACTION_REBOOT_SERVER]   = { "Reboot the server " },
        [ACTION_REPAIR_MEMORY]   = { "Scan the chip with plan repair", "Repair the memory" },
        [ACTION_RESEAT_CABLE]    = { "Reseat the cable " },
        [ACTION_REPLACE_CABLE]   = { "Replace the cable" },
        [ACTION_REPLACE_NIC]     = { "Replace the adapter", "Take the adapter out of service and replace it" },
        [ACTION_REPLACE_TRAY]    = { "Replace the tray", "Take the chip out of service and replace its tray" },
        [ACTION_RESEAT_TRAY]     = { "Reseat the tray" },
        [ACTION_QUARANTINE]      = { "Keep the chip out of service", "Keep both parts out of service", "Take the chip out of service when " },
        [ACTION_INSPECT_STATION] = { "Inspect " },
        [ACTION_MOVE_CABLE]      = { "Exchange or move the plug ", "Make the moves " },
        [ACTION_PLUG_IN_CABLE]   = { "Plug in the cable " },
};

static void begins_as_it_says(const char *code, Remedy remedy) {
        for (size_t i = 0; i < sizeof(*beginnings) / sizeof(**beginnings) && beginnings[remedy.action][i]; i++)
                if (strncmp(remedy.text, beginnings[remedy.action][i], strlen(beginnings[remedy.action][i])) == 0)
                        return;
        fail_msg("%s: %s, and the text begins: %.60s", code, action_to_string(remedy.action), remedy.text);
}

/* Who goes by the word alone does what the text says first, and not the dearer thing that it says later. */
static void test_an_action_is_the_first_step_of_its_remedy(void **state) {
        const CatalogueEntry *entry;

        for (size_t i = 0; (entry = catalogue_at(i)); i++) {
                begins_as_it_says(entry->code, (Remedy) { entry->action, entry->remedy });
                if (!entry->without_cable.text)
                        continue;
                begins_as_it_says(entry->code, entry->without_cable);
                assert_int_equal(entry->action, ACTION_RESEAT_CABLE);
                assert_int_not_equal(entry->without_cable.action, ACTION_RESEAT_CABLE);
        }
}

/* What a reset may set right is reset before it is replaced: a mode, a code's own logic, a counter, an engine. */
static void test_what_a_reset_may_mend_costs_no_tray(void **state) {
        static const char *const codes[] = { "systolic-mode", "sram-ecc", "hbm-ecc", "collective-data", "counter-lies", "link-degraded" };

        for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
                if (catalogue_find(codes[i])->action != ACTION_RESET_CHIP)
                        fail_msg("%s: %s", codes[i], action_to_string(catalogue_find(codes[i])->action));
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
                cmocka_unit_test(test_an_action_is_the_first_step_of_its_remedy),
                cmocka_unit_test(test_what_a_reset_may_mend_costs_no_tray),
                cmocka_unit_test(test_actions_have_words),
                cmocka_unit_test(test_checks_declare_the_codes_that_the_catalogue_says_are_theirs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
