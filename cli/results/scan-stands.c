/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/scan-stands.h"

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/terminal/say.h"
#include "cli/verify/answer.h"

#define LINES_MAX 8 /* then how many more there are */

typedef struct Stands {
        sd_bus *bus;
        const Outcome *outcome;
        VerifyPolicy policy;
        size_t n;
} Stands;

static bool is_of_scan(const Outcome *outcome, uint64_t index) {
        for (size_t i = 0; i < outcome->n; i++)
                if (outcome->entries[i].index == index)
                        return true;
        return false;
}

/* Whether the scan tells no fault of WHERE; where it could not judge it, it has said so. A server may fail by its chips, which says nothing of the rest. */
static bool is_passed(const Outcome *outcome, const Location *where) {
        for (size_t i = 0; i < outcome->n; i++) {
                Result result = outcome->entries[i].result;

                if (location_equal(&outcome->entries[i].subject, where) && record_is_verdict(&outcome->entries[i]))
                        return result != RESULT_INCONCLUSIVE && (result != RESULT_FAILED || !view_is_health(outcome->views[i]));
        }
        return false;
}

static void print_part(Stands *stands, const Location *where, const Hint *hint) {
        char name[LOCATION_STRING_MAX];
        const char *reason;
        RecordStand stand = {};
        Answer answer;
        size_t n;

        if (answer_part(&stands->policy, where, hint, &stand, &answer) == 0 && answer.counts && answer.result == RESULT_FAILED && stands->n++ < LINES_MAX) {
                n = strlen(location_format(where, name));
                reason = strncmp(answer.reason, name, n) == 0 ? answer.reason + n + strspn(answer.reason + n, ": ") : answer.reason;
                say_words(0, "gate: %s stands FAILED (%s): %s", name, answer.plan, reason);
        }
        record_stand_done(&stand);
}

static int print_parts(Stands *stands, sd_bus_message *reply) {
        const char *name, *verdict;
        uint64_t age;
        int r;

        r = sd_bus_message_enter_container(reply, 'a', "(ssstt)");
        while (r >= 0) {
                Location where;
                Hint hint = {};

                r = sd_bus_message_read(reply, "(ssstt)", &name, &verdict, &hint.reason, &hint.record, &age);
                if (r <= 0)
                        return r;
                hint.said = result_from_string(verdict);
                if (hint.said == RESULT_FAILED && !is_of_scan(stands->outcome, hint.record) && location_parse(name, &where, NULL, NULL) >= 0 &&
                    is_passed(stands->outcome, &where))
                        print_part(stands, &where, &hint);
        }
        return r;
}

static bool is_first_of_server(const Outcome *outcome, size_t index) {
        for (size_t i = 0; i < index; i++)
                if (strcmp(outcome->entries[i].subject.server, outcome->entries[index].subject.server) == 0)
                        return false;
        return true;
}

/* A daemon that does not say is none of this scan's matter. */
void scan_stands_print(sd_bus *bus, const Outcome *outcome) {
        Stands stands = { .bus = bus, .outcome = outcome };

        if (verify_policy_init(&stands.policy, bus, false) != 0)
                return;
        stands.policy.policy.plan = NULL;
        stands.policy.policy.max_age_usec = 0;
        for (size_t i = 0; i < outcome->n; i++) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

                if (is_first_of_server(outcome, i) &&
                    call_manager(bus, "GetParts", &error, &reply, "sstt", outcome->entries[i].subject.server, "", (uint64_t) 0, (uint64_t) 0) >= 0)
                        (void) print_parts(&stands, reply);
        }
        if (stands.n > LINES_MAX)
                say_words(0, "gate: %zu more stand FAILED", stands.n - LINES_MAX);
        verify_policy_done(&stands.policy);
}
