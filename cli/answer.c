/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/answer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/location.h"
#include "cli/assayctl.h"
#include "cli/call.h"
#include "cli/verify-policy.h"

/* What a daemon points at, and what it calls that. */
typedef struct Hint {
        uint64_t record;
        Result said;
        const char *reason;
} Hint;

static void refuse(Answer *answer, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void refuse(Answer *answer, int status, const char *format, ...) {
        va_list arguments;

        answer->status = status;
        answer->result = RESULT_INCONCLUSIVE;
        va_start(arguments, format);
        (void) vsnprintf(answer->reason, sizeof(answer->reason), format, arguments);
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
 * What the record itself says. A newer failure under any plan counts against the target, and a failure does not age: it would become `unknown`,
 * which some hooks let pass.
 */
static void judge(Answer *answer, const char *target, const Hint *hint, const RecordVerified *verified) {
        const RecordEntry *entry = &verified->entry;
        char subject[LOCATION_STRING_MAX];
        uint64_t now = now_usec(), finished = entry->finished_usec;
        uint64_t seen = verified->witnessed_usec; /* it is at least as old, whatever the station's clock told */
        bool ages = options.max_age_usec != UINT64_MAX && entry->result != RESULT_FAILED;

        if (seen > 0 && seen < finished)
                finished = seen;
        (void) strcpy(answer->id, entry->id);
        answer->age_usec = now > finished ? now - finished : 0;
        location_format(&entry->subject, subject);
        if (!is_about(entry, target))
                refuse(answer, STATUS_REFUSED, "record %" PRIu64 " is about %s", entry->index, subject);
        else if (options.plan && strcmp(options.plan, entry->plan) != 0 && entry->result != RESULT_FAILED)
                refuse(answer, STATUS_REFUSED, "record %" PRIu64 " is of plan %s", entry->index, entry->plan);
        else if (ages && finished > now && finished - now > RECORD_AHEAD_USEC)
                refuse(answer, STATUS_CANNOT_TELL, "record %" PRIu64 " is from the future: a clock was set back since", entry->index);
        else if (ages && answer->age_usec > options.max_age_usec)
                refuse(answer, STATUS_CANNOT_TELL, "record %" PRIu64 " is too old (%" PRIu64 " s)", entry->index, answer->age_usec / 1000000);
        else if (result_worst(hint->said, entry->result) != entry->result)
                refuse(answer, STATUS_CANNOT_TELL, "record %" PRIu64 " says %s, and assayd %s%s%s", entry->index, result_to_string(entry->result),
                       result_to_string(hint->said) ?: "nothing", *hint->reason ? ": " : "", hint->reason);
        else {
                answer->counts = true;
                answer->result = entry->result;
                answer->status = result_to_status(entry->result, options.strict);
                (void) snprintf(answer->reason, sizeof(answer->reason), "%s", verified->reason ?: target);
        }
}

static int verify(sd_bus *bus, const char *target, const Hint *hint, Answer *answer) {
        _cleanup_(verify_policy_done) VerifyPolicy policy = {};
        _cleanup_(record_verified_done) RecordVerified verified = {};
        RecordTrust trust;
        int r;

        r = verify_policy_init(&policy, bus);
        /* These are judged here, since a failure counts under any plan and does not age. */
        policy.policy.plan = NULL;
        policy.policy.max_age_usec = 0;
        if (r == 0)
                r = verify_policy_fetch_verdict(&policy, hint->record, &trust, &verified);
        if (r != 0)
                return r;

        if (trust == RECORD_VERIFIED)
                judge(answer, target, hint, &verified);
        else {
                bool has_reason = verified.reason && trust != RECORD_UNKNOWN_KEY;

                refuse(answer, call_trust_status(trust), "record %" PRIu64 "%s%s%s", hint->record, verify_policy_distrust(trust),
                       has_reason ? ": " : "", has_reason ? verified.reason : "");
        }
        return 0;
}

int answer_ask(sd_bus *bus, const char *target, Answer *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *verdict;
        Hint hint = {};
        uint64_t age;
        int r;

        r = call_manager(bus, "GetVerdict", &error, &reply, "sstt", target, options.plan ?: "", options.max_age_usec, (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "sstt", &verdict, &hint.reason, &hint.record, &age);
        if (r < 0)
                return complain_bus(&error, r, "could not ask for the verdict");

        hint.said = result_from_string(verdict);
        *ret = (Answer) { .status = STATUS_CANNOT_TELL, .result = RESULT_INCONCLUSIVE, .record = hint.record };
        if (hint.record != UINT64_MAX)
                return verify(bus, target, &hint, ret);
        if (call_is_target(bus, target))
                refuse(ret, STATUS_CANNOT_TELL, "%s", hint.reason);
        else {
                ret->status = STATUS_USAGE;
                call_tell_target(bus, target, ret->reason, sizeof(ret->reason));
        }
        return 0;
}
