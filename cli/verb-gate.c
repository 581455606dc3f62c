/* SPDX-License-Identifier: Apache-2.0 */

/*
 * gate
 *
 * The answer for a hook: from the newest record, of which the daemon is believed no more than `verify` believes it: its signature and, where
 * the keyring names logs, its place in one of them are checked here. It never tests and never falls back to healthy.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/assayctl.h"
#include "cli/call.h"

#define LINE_BYTES   640
#define LINE_MAX_NPD 80 /* what node-problem-detector keeps */

/* As the line of a server does. */
static bool names_target(const char *reason, const char *target) {
        size_t n = strlen(target);

        return strncmp(reason, target, n) == 0 && reason[n] == ':';
}

static void write_line(const char *target, const Answer *answer, char line[static LINE_BYTES]) {
        if (answer->counts)
                (void) snprintf(line, LINE_BYTES, "%s: %s rec=%.16s", result_to_string(answer->result), answer->reason, answer->id);
        else if (answer->status == STATUS_USAGE || names_target(answer->reason, target))
                (void) snprintf(line, LINE_BYTES, "%s", answer->reason);
        else
                (void) snprintf(line, LINE_BYTES, "%s: %s", target, answer->reason);
}

/*
 * What the hook asked for: every code but 0 and 1 is unknown to it. What --unknown=pass never lets through is a record that
 * does not verify, and a target that does not exist.
 */
static int translate(int status) {
        if (status == STATUS_PASSED || status == STATUS_FAILED || (status == STATUS_USAGE && !options.npd))
                return status;
        if (status == STATUS_REFUSED && options.unknown)
                return STATUS_FAILED;
        if (options.unknown)
                return strcmp(options.unknown, "pass") == 0 ? STATUS_PASSED : STATUS_FAILED;
        return options.npd ? STATUS_CANNOT_TELL : status;
}

int verb_gate(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        char line[LINE_BYTES];
        Answer answer = { .result = RESULT_INCONCLUSIVE, .record = UINT64_MAX };
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = answer_ask(bus, argv[0], &answer);
        if (r == 0)
                write_line(argv[0], &answer, line);
        else {
                answer = (Answer) { .status = r, .result = RESULT_INCONCLUSIVE, .record = UINT64_MAX };
                (void) snprintf(line, sizeof(line), "%s: unknown, %s", argv[0], r == STATUS_UNREACHABLE ? "assayd does not answer" : "could not ask");
        }

        if (options.npd && strlen(line) > LINE_MAX_NPD - 1)
                line[LINE_MAX_NPD - 1] = '\0';
        if (options.json) {
                _cleanup_(json_decrefp) json_t *object = answer_json(argv[0], &answer, line);

                (void) json_dumpf(object, stdout, 0);
                putchar('\n');
        } else if (!options.quiet)
                say(stdout, "%s\n", line);
        return translate(answer.status);
}
