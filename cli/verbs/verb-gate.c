/* SPDX-License-Identifier: Apache-2.0 */

/*
 * gate
 *
 * The answer for a hook: from the newest record, of which the daemon is believed no more than `verify` believes it: its signature and, where
 * the keyring names logs, its place in one of them are checked here. It never tests, never falls back to healthy, and never takes longer than --timeout.
 */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/deadline.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "cli/verify/answer.h"

#define LINE_BYTES   1024
#define LINE_MAX_NPD 80 /* what node-problem-detector keeps */

/* As the line of a server does. */
static bool names_target(const char *reason, const char *target) {
        size_t n = strlen(target);

        return strncmp(reason, target, n) == 0 && reason[n] == ':';
}

static bool has_step(const Plan *plan, const char *step) {
        for (size_t i = 0; i < plan->n_steps; i++)
                if (strcmp(plan->steps[i].name, step) == 0)
                        return true;
        return false;
}

/* "production; cleared by --plan production", or why that cannot be. Plans of another machine are not known here. */
static void write_cure(const Answer *answer, char *ret, size_t size) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *wrong = NULL;
        int r = options.host ? 0 : plan_find(plan_folders(), answer->plan, &plan, &wrong);

        if (r == -ENOENT)
                (void) snprintf(ret, size, "%s; cleared by --plan %s, of which there is no file here", answer->plan, answer->plan);
        else if (r < 0)
                (void) snprintf(ret, size, "%s; cleared by --plan %s, which is no plan as it is", answer->plan, answer->plan);
        else if (plan && *answer->step && !has_step(plan, answer->step))
                (void) snprintf(ret, size, "%s; cleared by a plan with its step %s, which %s has no longer", answer->plan, answer->step, answer->plan);
        else
                (void) snprintf(ret, size, "%s; cleared by --plan %s", answer->plan, answer->plan);
}

static void write_line(const char *target, const Answer *answer, char line[static LINE_BYTES]) {
        const char *word = answer->status == STATUS_REFUSED ? "REFUSED: " : answer->status == STATUS_CANNOT_TELL ? "UNKNOWN: " : "";
        bool is_named = names_target(answer->reason, target);
        char cure[256], next[ANSWER_NEXT_MAX];

        (void) answer_next(target, answer, next);
        if (answer->counts && answer->result == RESULT_FAILED) {
                write_cure(answer, cure, sizeof(cure));
                (void) snprintf(line, LINE_BYTES, "FAILED: %s (%s) rec=%.16s", answer->reason, cure, answer->id);
        } else if (answer->counts)
                (void) snprintf(line, LINE_BYTES, "%s: %s rec=%.16s plan=%s%s", result_to_string(answer->result), answer->reason, answer->id, answer->plan, next);
        else
                (void) snprintf(line, LINE_BYTES, "%s%s%s%s%s", word, is_named ? "" : target, is_named ? "" : ": ", answer->reason, next);
}

/*
 * What the hook asked for: every code but 0 and 1 is unknown to it. What --unknown=pass never lets through is a record that
 * does not verify, and a target or a plan that does not exist.
 */
static int translate(int status) {
        if (status == STATUS_PASSED || status == STATUS_FAILED || (status == STATUS_USAGE && !options.npd))
                return status;
        if ((status == STATUS_REFUSED || status == STATUS_USAGE) && options.unknown)
                return STATUS_FAILED;
        if (options.unknown)
                return strcmp(options.unknown, "pass") == 0 ? STATUS_PASSED : STATUS_FAILED;
        return options.npd ? STATUS_CANNOT_TELL : status;
}

/* The line, as the options want it, malloc'd; "" where they want none. */
static char *render(const char *target, const Answer *answer, char *line) {
        char *text = NULL;

        if (options.npd && strlen(line) > LINE_MAX_NPD - 1)
                line[LINE_MAX_NPD - 1] = '\0';
        make_plain(line, "");
        if (options.json) {
                _cleanup_(json_decrefp) json_t *object = answer_json(target, answer, line);
                _cleanup_free_ char *json = object ? json_dumps(object, JSON_REAL_PRECISION(15)) : NULL;

                return json && asprintf(&text, "%s\n", json) >= 0 ? text : NULL;
        }
        return asprintf(&text, "%s%s", options.quiet ? "" : line, options.quiet ? "" : "\n") >= 0 ? text : NULL;
}

static void write_unknown(const char *target, int status, const char *why, Answer *ret, char line[static LINE_BYTES]) {
        *ret = (Answer) { .status = status, .result = RESULT_INCONCLUSIVE, .record = UINT64_MAX };
        (void) snprintf(line, LINE_BYTES, "UNKNOWN: %s: %s", target, why);
}

/* What is printed if the time is up before there is an answer. */
static char *expect_silence(const char *target) {
        char why[64], line[LINE_BYTES];
        Answer answer;
        char *text;

        (void) snprintf(why, sizeof(why), "assayd did not answer in %g s", options.timeout_sec);
        write_unknown(target, STATUS_UNREACHABLE, why, &answer, line);
        text = render(target, &answer, line);
        if (text && deadline_set(options.timeout_sec, text, translate(STATUS_UNREACHABLE)) < 0)
                (void) complain(0, "could not watch the time: %m");
        return text;
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ char *silence = NULL, *text = NULL;
        char line[LINE_BYTES];
        Answer answer = {};
        int r;

        silence = expect_silence(argv[0]); /* what the deadline prints, so it lives until the end */
        r = call_connect(&bus);
        if (r == 0)
                r = answer_ask(bus, argv[0], &answer);
        deadline_clear();
        if (r == 0)
                write_line(argv[0], &answer, line);
        else
                write_unknown(argv[0], r, r == STATUS_UNREACHABLE ? "assayd does not answer" : "could not ask", &answer, line);
        text = render(argv[0], &answer, line);
        if (!text)
                return complain(translate(STATUS_CANNOT_TELL), "out of memory");
        fputs(text, stdout);
        bus = sd_bus_unref(bus); /* what is left to say to a daemon that does not listen is nothing to wait for */
        return translate(answer.status);
}

const Verb verb_gate = {
        .name = "gate",
        .min = 1,
        .max = 1,
        .arguments = "TARGET",
        .summary = "For hooks: 0 fit, 1 not fit, 2 unknown, one line of reason",
        .options = "plan max-age timeout key keyring root npd unknown",
        .run = run,
};
