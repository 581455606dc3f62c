/* SPDX-License-Identifier: Apache-2.0 */

/* Standing: see standing.h. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/clock.h"
#include "daemon/standing.h"
#include "daemon/target.h"

__attribute__((format(printf, 2, 3))) static void cannot_tell(Standing *standing, const char *format, ...) {
        va_list arguments;

        standing->result = RESULT_INCONCLUSIVE;
        va_start(arguments, format);
        (void) vsnprintf(standing->reason, sizeof(standing->reason), format, arguments);
        va_end(arguments);
}

/* Of the plan that ENTRY is of; one that looks at a part where it cannot be believed. */
static Stage stage_of(RecordLog *log, const Location *subject, const RecordEntry *entry) {
        RecordVerified verified = {};
        Stage stage = STAGE_INFLEET;

        if (record_log_verified(log, subject, entry, &verified) >= 0)
                stage = verified.stage;
        record_verified_done(&verified);
        return stage;
}

/* Whether a newer pass of another plan looked at as much as what FAILED. */
static int is_cleared(RecordLog *log, const Location *subject, const RecordEntry *failed) {
        Stage stage = stage_of(log, subject, failed);
        RecordEntry entry;
        int r;

        for (r = record_log_newest(log, subject, NULL, &entry); r >= 0 && entry.index > failed->index;
             r = record_log_newest_before(log, subject, entry.index, &entry))
                if ((entry.result == RESULT_PASSED || entry.result == RESULT_WARNED) && stage_clears(stage_of(log, subject, &entry), stage))
                        return true;
        return r == -ENOENT ? false : MIN(r, 0);
}

/* The newest of all plans, or the newest failure that no pass has cleared; or one at a place that none has looked at since. */
static int find_any(RecordLog *log, const Location *subject, RecordEntry *ret) {
        RecordEntry entry;
        int r;

        r = record_log_newest(log, subject, NULL, ret);
        if (r < 0)
                return r;

        for (entry = *ret; r >= 0; r = record_log_newest_before(log, subject, entry.index, &entry)) {
                int cleared;

                if (entry.result != RESULT_FAILED)
                        continue;
                cleared = is_cleared(log, subject, &entry);
                if (cleared < 0)
                        return cleared;
                if (!cleared) {
                        *ret = entry;
                        return 0;
                }
        }

        if (r != -ENOENT)
                return r;
        r = record_log_failure(log, subject, &entry);
        if (r >= 0)
                *ret = entry;
        return r == -ENOENT ? 0 : r;
}

/* Which record counts; its plan is *ret->plan. Asked for one that looks at a part, that part's word, unless failures are newer. */
static int find_newest(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret) {
        RecordEntry of_plan;
        int r;

        r = find_any(log, subject, ret);
        if (r < 0 || !plan)
                return r;

        r = record_log_newest(log, subject, plan, &of_plan);
        if (r < 0)
                return r;
        if (ret->result != RESULT_FAILED || of_plan.result == RESULT_FAILED ||
            (ret->index < of_plan.index && stage_depth(stage_of(log, subject, &of_plan)) == 0))
                *ret = of_plan;
        return 0;
}

static void take_verified(const RecordVerified *verified, Standing *ret) {
        uint64_t now = clock_usec(CLOCK_REALTIME), finished = verified->entry.finished_usec;

        ret->result = verified->entry.result;
        ret->index = verified->entry.index;
        ret->age_usec = now > finished ? now - finished : 0;
        ret->is_ahead = finished > now && finished - now > RECORD_AHEAD_USEC;
        (void) snprintf(ret->reason, sizeof(ret->reason), "%s", verified->reason ? verified->reason : "");
}

/* A server is no better than the newest word on each of its chips: a scan of one chip must not hide
 * another's failure. */
static void weigh_chips(RecordLog *log, const Location *server, Standing *ret) {
        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                RecordVerified verified = {};
                Location chip = *server;
                RecordEntry entry;

                if (location_append(&chip, LOCATION_CHIP, c) < 0 ||
                    find_any(log, &chip, &entry) < 0 || entry.result != RESULT_FAILED)
                        continue;

                if (record_log_verified(log, &chip, &entry, &verified) >= 0)
                        take_verified(&verified, ret);
                else
                        cannot_tell(ret, "record %" PRIu64 " of chip %u does not verify", entry.index, c);
                record_verified_done(&verified);
                return;
        }
}

void standing_read(RecordLog *log, const Location *subject, const char *plan, uint64_t max_age_usec,
                   Standing *ret) {
        RecordVerified verified = {};
        RecordEntry entry;
        int r;

        *ret = (Standing) { .result = RESULT_INCONCLUSIVE, .index = UINT64_MAX, .age_usec = UINT64_MAX };

        r = find_newest(log, subject, plan, &entry);
        if (r == -ENOENT) {
                cannot_tell(ret, "no record");
                return;
        }
        if (r >= 0)
                r = record_log_verified(log, subject, &entry, &verified);
        if (r < 0) {
                cannot_tell(ret, "%s: %s",
                            r == -EBADMSG ? "the newest record does not verify"
                                          : "the log could not be read",
                            verified.reason ? verified.reason : strerror(-r));
                record_verified_done(&verified);
                return;
        }

        take_verified(&verified, ret);
        record_verified_done(&verified);
        if (location_kind(subject) == LOCATION_SERVER && ret->result != RESULT_FAILED)
                weigh_chips(log, subject, ret);

        /* What passed may have been taken back in the records that are not there. */
        if (ret->result != RESULT_FAILED && record_log_has_failed(log)) {
                *ret = (Standing) { .index = UINT64_MAX, .age_usec = UINT64_MAX };
                cannot_tell(ret, "the log is not sound, so no pass in it counts: the journal of assayd says what is wrong");
                return;
        }

        /* A failure does not age. */
        if (max_age_usec == 0 || ret->result == RESULT_FAILED)
                return;
        if (ret->is_ahead)
                cannot_tell(ret, "record %" PRIu64 " is from the future: a clock was set back since", ret->index);
        else if (ret->age_usec > max_age_usec)
                cannot_tell(ret,
                            "record %" PRIu64 " is stale: %" PRIu64 " s old, at most %" PRIu64 " s wanted",
                            ret->index, ret->age_usec / 1000000, max_age_usec / 1000000);
}
