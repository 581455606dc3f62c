/* SPDX-License-Identifier: Apache-2.0 */

/*
 * gate
 *
 * The answer for a hook: from the newest record, of which the daemon is believed no more than `verify` believes it: its signature and, where
 * the keyring names logs, its place in one of them are checked here. It never tests and never falls back to healthy.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/location.h"
#include "cli/assayctl.h"
#include "cli/call.h"
#include "cli/verify-policy.h"
#include "daemon/names.h"

#define LINE_MAX_NPD 80 /* what node-problem-detector keeps */

typedef struct Answer {
        int status;
        char line[512];
} Answer;

static void answer(Answer *answer, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void answer(Answer *a, int status, const char *format, ...) {
        va_list arguments;

        a->status = status;
        va_start(arguments, format);
        vsnprintf(a->line, sizeof(a->line), format, arguments);
        va_end(arguments);
}

static uint64_t now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* A server is answered for by its own record, or by that of a chip in it that failed. */
static bool is_about(const RecordEntry *entry, const char *target) {
        Location where;

        if (location_parse(target, &where, NULL, NULL) < 0)
                return false;
        return location_equal(&entry->subject, &where) ||
               (entry->result == RESULT_FAILED && location_contains(&where, &entry->subject));
}

/*
 * What the record itself says: the daemon only pointed at it. A newer failure under any plan counts against the target,
 * and a failure does not age: it would become `unknown`, which some hooks let pass.
 */
static void judge(Answer *a, const char *target, const RecordVerified *verified) {
        const RecordEntry *entry = &verified->entry;
        char subject[LOCATION_STRING_MAX];
        uint64_t now = now_usec(), finished = entry->finished_usec;
        uint64_t seen = verified->witnessed_usec; /* it is at least as old, whatever the station's clock told */
        bool ages = options.max_age_usec != UINT64_MAX && entry->result != RESULT_FAILED;

        if (seen > 0 && seen < finished)
                finished = seen;
        location_format(&entry->subject, subject);
        if (!is_about(entry, target))
                answer(a, STATUS_REFUSED, "%s: record %" PRIu64 " is about %s", target, entry->index, subject);
        else if (options.plan && strcmp(options.plan, entry->plan) != 0 && entry->result != RESULT_FAILED)
                answer(a, STATUS_REFUSED, "%s: record %" PRIu64 " is of plan %s", target, entry->index, entry->plan);
        else if (ages && finished > now && finished - now > RECORD_AHEAD_USEC)
                answer(a, STATUS_CANNOT_TELL, "%s: record %" PRIu64 " is from the future: a clock was set back since", target,
                       entry->index);
        else if (ages && now > finished && now - finished > options.max_age_usec)
                answer(a, STATUS_CANNOT_TELL, "%s: record %" PRIu64 " is too old (%" PRIu64 " s)", target, entry->index,
                       (now - finished) / 1000000);
        else
                answer(a, result_to_status(entry->result, options.strict), "%s: %s rec=%.16s",
                       result_to_string(entry->result), verified->reason ?: target, entry->id);
}

static void tell_distrust(Answer *a, const char *target, uint64_t record, RecordTrust trust, const char *reason) {
        bool has_reason = reason && trust != RECORD_UNKNOWN_KEY;

        answer(a, call_trust_status(trust), "%s: record %" PRIu64 "%s%s%s", target, record, verify_policy_distrust(trust), has_reason ? ": " : "", has_reason ? reason : "");
}

static int ask(sd_bus *bus, const char *target, Answer *a) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(verify_policy_done) VerifyPolicy policy = {};
        _cleanup_(record_verified_done) RecordVerified verified = {};
        const char *verdict, *reason;
        uint64_t record, age;
        RecordTrust trust;
        int r;

        r = call_manager(bus, "GetVerdict", &error, &reply, "sstt", target, options.plan ?: "", options.max_age_usec, (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "sstt", &verdict, &reason, &record, &age);
        if (r < 0)
                return complain_bus(&error, r, "gate");
        if (record == UINT64_MAX) {
                if (call_is_target(bus, target))
                        answer(a, STATUS_CANNOT_TELL, "%s: %s", target, reason);
                else {
                        a->status = STATUS_USAGE;
                        call_tell_target(bus, target, a->line, sizeof(a->line));
                }
                return 0;
        }

        r = verify_policy_init(&policy, bus);
        /* These are judged here, since a failure counts under any plan and does not age. */
        policy.policy.plan = NULL;
        policy.policy.max_age_usec = 0;
        if (r == 0)
                r = verify_policy_fetch_verdict(&policy, record, &trust, &verified);
        if (r != 0)
                return r;

        if (trust == RECORD_VERIFIED)
                judge(a, target, &verified);
        else
                tell_distrust(a, target, record, trust, verified.reason);
        return 0;
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
        Answer a = {};
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = ask(bus, argv[0], &a);
        if (r != 0)
                answer(&a, r, "%s: unknown, %s", argv[0], r == STATUS_UNREACHABLE ? "assayd does not answer" : "could not ask");

        if (options.npd && strlen(a.line) > LINE_MAX_NPD - 1)
                a.line[LINE_MAX_NPD - 1] = '\0';
        if (options.json) {
                _cleanup_(json_decrefp) json_t *object = json_pack("{s:s, s:i, s:s}", "target", argv[0], "status", a.status, "reason", a.line);

                (void) json_dumpf(object, stdout, 0);
                putchar('\n');
        } else if (!options.quiet)
                say(stdout, "%s\n", a.line);
        return translate(a.status);
}
