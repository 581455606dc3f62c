/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/verify/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/plan-names.h"
#include "cli/terminal/options.h"

void answer_refuse(Answer *answer, int status, const char *format, ...) {
        va_list arguments;

        answer->status = status;
        answer->result = RESULT_INCONCLUSIVE;
        va_start(arguments, format);
        (void) vsnprintf(answer->reason, sizeof(answer->reason), format, arguments);
        va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void want_scan(Answer *answer, const char *format, ...) {
        va_list arguments;

        answer_refuse(answer, STATUS_CANNOT_TELL, "%s", "");
        answer->wants_scan = true;
        va_start(arguments, format);
        (void) vsnprintf(answer->reason, sizeof(answer->reason), format, arguments);
        va_end(arguments);
}

const char *answer_next(const char *target, const Answer *answer, char ret[static ANSWER_NEXT_MAX]) {
        const char *plan = options.plan ?: answer->counts ? answer->plan : NULL;
        int n_server = (int) strcspn(target, "/");

        *ret = '\0';
        if (answer->status == STATUS_CANNOT_TELL && answer->wants_scan)
                (void) snprintf(ret, ANSWER_NEXT_MAX, ". Next: assayctl scan %.*s%s%s", n_server, target, plan ? " --plan " : "", plan ?: "");
        else if (answer->counts && answer->result == RESULT_INCONCLUSIVE)
                (void) snprintf(ret, ANSWER_NEXT_MAX, ". Next: assayctl explain %" PRIu64, answer->record);
        return ret;
}

/* The daemon's word where no record tells of a part; what else it says is a slip of whoever asked. */
static void refuse_unscanned(Answer *answer, const char *reason) {
        if (strcmp(reason, "no record") != 0)
                answer_refuse(answer, STATUS_CANNOT_TELL, "%s", reason);
        else if (options.plan)
                want_scan(answer, "never scanned by plan %s", options.plan);
        else
                want_scan(answer, "never scanned");
}

static uint64_t now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

static void take(Answer *answer, const RecordStand *stand) {
        answer->counts = true;
        answer->wants_scan = (stand->in_part || stand->is_lost) && stand->result == RESULT_INCONCLUSIVE; /* of its whole server, or again */
        answer->result = stand->result;
        answer->status = result_to_status(stand->result, options.strict);
        (void) snprintf(answer->reason, sizeof(answer->reason), "%s", stand->reason);
}

static void refuse_lesser(Answer *answer, const RecordVerified *verified) {
        char line[sizeof(answer->reason)];

        record_lesser_line(verified, line, sizeof(line));
        answer_refuse(answer, STATUS_CANNOT_TELL, "%s", line);
}

/*
 * What the record itself says. A newer failure under any plan counts against the part, and a failure does not age: it would become `unknown`,
 * which some hooks let pass.
 */
static void judge(Answer *answer, const Location *where, const Hint *hint, const RecordVerified *verified, const RecordStand *stand) {
        const RecordEntry *entry = &verified->entry;
        char subject[LOCATION_STRING_MAX];
        uint64_t now = now_usec(), finished = entry->finished_usec;
        uint64_t seen = verified->witnessed_usec; /* it is at least as old, whatever the station's clock told */
        bool failed = stand->result == RESULT_FAILED;
        bool ages = options.max_age_usec != UINT64_MAX && !failed;

        if (seen > 0 && seen < finished)
                finished = seen;
        (void) strcpy(answer->id, entry->id);
        (void) strcpy(answer->plan, entry->plan);
        (void) snprintf(answer->step, sizeof(answer->step), "%s", stand->failed_step);
        answer->age_usec = now > finished ? now - finished : 0;
        location_format(&entry->subject, subject);
        if (!location_equal(&entry->subject, where))
                answer_refuse(answer, STATUS_REFUSED, "record %" PRIu64 " is about %s", entry->index, subject);
        else if (options.plan && strcmp(options.plan, entry->plan) != 0 && !failed && !stand->is_lost)
                answer_refuse(answer, STATUS_REFUSED, "record %" PRIu64 " is of plan %s", entry->index, entry->plan);
        else if (!options.plan && !failed && result_worst(stand->result, RESULT_WARNED) == RESULT_WARNED && stage_depth(verified->stage) == 0)
                refuse_lesser(answer, verified);
        else if (stand->in_part && location_kind(where) == LOCATION_SERVER && !failed)
                want_scan(answer, "no scan of all its chips tells of what lies between them");
        else if (ages && finished > now && finished - now > RECORD_AHEAD_USEC)
                answer_refuse(answer, STATUS_CANNOT_TELL, "record %" PRIu64 " is from the future: a clock was set back since", entry->index);
        else if (ages && answer->age_usec > options.max_age_usec)
                want_scan(answer, "record %" PRIu64 " is too old (%" PRIu64 " s)", entry->index, answer->age_usec / 1000000);
        else if (result_worst(hint->said, stand->result) != stand->result)
                answer_refuse(answer, STATUS_CANNOT_TELL, "record %" PRIu64 " says %s, and assayd %s%s%s", entry->index, result_to_string(stand->result),
                              result_to_string(hint->said) ?: "nothing", *hint->reason ? ": " : "", hint->reason);
        else
                take(answer, stand);
}

/* A roll-up that failed by its chips was let through unproven, and passes nothing by that. */
static bool lacks_proof(const VerifyPolicy *policy, const RecordVerified *verified, const RecordStand *stand) {
        return policy->policy.needs_proof && verified->log_size == 0 && stand->result != RESULT_FAILED;
}

static void distrust(Answer *answer, uint64_t record, RecordTrust trust, const char *reason) {
        bool has_reason = reason && trust != RECORD_UNKNOWN_KEY;

        answer_refuse(answer, call_trust_status(trust), "record %" PRIu64 "%s%s%s", record, verify_policy_distrust(trust), has_reason ? ": " : "",
                      has_reason ? reason : "");
}

/* The newest record about WHERE of PLAN ("": of any), where it is behind record INDEX and verifies. Only how a failure is told hangs on it. */
static bool fetch_later(const VerifyPolicy *policy, const Location *where, const char *plan, uint64_t index, RecordVerified *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        char name[LOCATION_STRING_MAX];
        RecordPolicy without_proof = policy->policy;
        RecordTrust trust;
        uint64_t found;

        without_proof.needs_proof = false; /* which a record of this second may lack */
        if (call_manager(policy->bus, "FindRecord", &error, &reply, "sst", location_format(where, name), plan, (uint64_t) 0) < 0 ||
            sd_bus_message_read(reply, "t", &found) < 0 || found <= index)
                return false;
        return call_verified_by(policy->bus, &without_proof, found, &trust, ret) == 0 && trust == RECORD_VERIFIED &&
               location_equal(&ret->entry.subject, where) && ret->entry.index > index && record_is_verdict(&ret->entry);
}

/* Leaves of a failure what neither the newest look by its plan nor the newest at all has cleared. */
static void narrow(const VerifyPolicy *policy, const Location *where, const RecordVerified *failed, RecordStand *stand) {
        const char *const plans[] = { failed->entry.plan, "" };
        RecordVerified later[ELEMENTS(plans)] = {};
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTS(plans); i++) {
                if (fetch_later(policy, where, plans[i], failed->entry.index, &later[n]))
                        n++;
                else
                        record_verified_done(&later[n]);
        }
        if (n > 0)
                (void) record_stand_narrow(stand, failed, later, n);
        for (size_t i = 0; i < n; i++)
                record_verified_done(&later[i]);
}

int answer_part(const VerifyPolicy *policy, const Location *where, const Hint *hint, RecordStand *ret_stand, Answer *ret) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        VerifyPolicy with_older = *policy; /* which stand for nothing but a failure, and clear nothing */
        RecordTrust trust;
        int r;

        with_older.policy.takes_older_rules = true;
        *ret = (Answer) { .status = STATUS_CANNOT_TELL, .result = RESULT_INCONCLUSIVE, .record = hint->record };
        if (hint->record == UINT64_MAX) {
                refuse_unscanned(ret, hint->reason);
                return 0;
        }
        r = verify_policy_fetch_verdict(&with_older, hint->record, &trust, &verified);
        if (r != 0)
                return r;
        if (trust != RECORD_VERIFIED)
                distrust(ret, hint->record, trust, verified.reason);
        else if (record_stand_of(&verified, ret_stand) < 0)
                answer_refuse(ret, STATUS_CANNOT_TELL, "record %" PRIu64 " cannot be read", hint->record);
        else if (lacks_proof(policy, &verified, ret_stand))
                answer_refuse(ret, STATUS_CANNOT_TELL, "record %" PRIu64 " is not proven to be in its log", hint->record);
        else {
                if (ret_stand->result == RESULT_FAILED)
                        narrow(policy, where, &verified, ret_stand);
                judge(ret, where, hint, &verified, ret_stand);
        }
        return 0;
}

/* A chip, or what nobody knows. */
static int ask_one(sd_bus *bus, const VerifyPolicy *policy, const char *target, const Location *where, Answer *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        RecordStand stand = {};
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
        r = answer_part(policy, where, &hint, &stand, ret);
        record_stand_done(&stand);
        if (r == 0 && hint.record == UINT64_MAX && !call_is_target(bus, target)) {
                ret->status = STATUS_USAGE;
                call_tell_target(bus, target, ret->reason, sizeof(ret->reason));
        }
        return r;
}

/* Where assayd says that there is no such plan: a slip, which no hook may take for a part that nobody has scanned. */
static void refuse_plan(Answer *answer) {
        size_t n = strlen(answer->reason);

        if (!strstr(answer->reason, "no plan is called"))
                return;
        answer->status = STATUS_USAGE;
        (void) plan_names_question(options.plan, answer->reason + n, sizeof(answer->reason) - n);
}

/* A slip, or a variable that was not set: no record can be of such a plan, whatever is known of the target. */
static bool refuse_plan_name(Answer *ret) {
        _cleanup_(plan_freep) Plan *plan = NULL;

        if (!options.plan || plan_find("", options.plan, &plan, NULL) != -EINVAL)
                return false;
        *ret = (Answer) { .record = UINT64_MAX };
        answer_refuse(ret, STATUS_USAGE, "--plan has what is no name of a plan: that is letters, digits and '-'");
        return true;
}

int answer_ask(sd_bus *bus, const char *target, Answer *ret) {
        _cleanup_(verify_policy_done) VerifyPolicy policy = {};
        Location where = {};
        bool is_location = location_parse(target, &where, NULL, NULL) >= 0;
        int r;

        if (refuse_plan_name(ret))
                return 0;
        r = verify_policy_init(&policy, bus, false);
        if (r != 0)
                return r;
        /* These are judged here, since a failure counts under any plan and does not age. */
        policy.policy.plan = NULL;
        policy.policy.max_age_usec = 0;
        r = is_location && location_kind(&where) == LOCATION_SERVER ? answer_parts(bus, &policy, target, ret) : ask_one(bus, &policy, target, &where, ret);
        if (r == 0 && options.plan && ret->record == UINT64_MAX)
                refuse_plan(ret);
        return r;
}
