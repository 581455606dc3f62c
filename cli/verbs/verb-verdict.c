/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "cli/verify/answer.h"

static void print_json(const char *target, const Answer *answer) {
        _cleanup_(json_decrefp) json_t *object = answer_json(target, answer, answer->reason);

        (void) json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        putchar('\n');
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        char since[64] = "", next[ANSWER_NEXT_MAX];
        Answer answer;
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = answer_ask(bus, argv[0], &answer);
        if (r != 0)
                return r;
        if (answer.status == STATUS_USAGE)
                return complain(STATUS_USAGE, "%s", answer.reason);

        if (answer.counts) /* else the reason names the record */
                (void) snprintf(since, sizeof(since), "  record %" PRIu64 ", %.0f s ago", answer.record, (double) answer.age_usec / 1e6);
        if (options.json)
                print_json(argv[0], &answer);
        else
                say(stdout, "%s  %s  %s%s%s\n", argv[0], result_to_string(answer.result), answer.reason, since, answer_next(argv[0], &answer, next));
        return answer.status;
}

const Verb verb_verdict = {
        .name = "verdict",
        .min = 1,
        .max = 1,
        .arguments = "TARGET",
        .summary = "Show the newest verdict on a server or chip",
        .options = "plan max-age key keyring root",
        .run = run,
};
