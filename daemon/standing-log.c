/* SPDX-License-Identifier: Apache-2.0 */

/* Standing by the log alone: see standing-log.h. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/clock.h"
#include "daemon/standing-log.h"

#define LATER_MAX 16 /* plans of which the newest look at a failure is read */

__attribute__((format(printf, 2, 3))) static void cannot_tell(RecordPart *part, const char *format, ...) {
        va_list arguments;

        part->result = RESULT_INCONCLUSIVE;
        va_start(arguments, format);
        (void) vsnprintf(part->reason, sizeof(part->reason), format, arguments);
        va_end(arguments);
}

/* Of the plan that ENTRY is of; one that looks at a part where it cannot be believed. All records of a run are of one, so the last is remembered. */
static Stage stage_of(RecordLog *log, const Location *subject, const RecordEntry *entry) {
        static char run[sizeof(entry->run)], plan[sizeof(entry->plan)];
        static Stage stage;
        RecordVerified verified = {};
        int r;

        if (*run && strcmp(entry->run, run) == 0 && strcmp(entry->plan, plan) == 0)
                return stage;
        r = record_log_verified(log, subject, entry, &verified);
        if (r >= 0) {
                stage = verified.stage;
                (void) strcpy(run, verified.entry.run);
                (void) strcpy(plan, verified.entry.plan);
        }
        record_verified_done(&verified);
        return r >= 0 ? stage : STAGE_INFLEET;
}

/* Whether ENTRY is a pass that looked at as much as what FAILED. What cannot be read clears nothing. */
static bool clears(RecordLog *log, const Location *subject, const RecordEntry *entry, const RecordVerified *failed) {
        RecordVerified verified = {};
        bool cleared;

        if (entry->result != RESULT_PASSED && entry->result != RESULT_WARNED)
                return false;
        cleared = record_log_verified(log, subject, entry, &verified) >= 0 && record_clears(&verified, failed) > 0;
        record_verified_done(&verified);
        return cleared;
}

/* Whether a newer pass of another plan has cleared what FAILED. */
static int is_cleared(RecordLog *log, const Location *subject, const RecordEntry *failed) {
        RecordVerified verified = {};
        bool cleared = false;
        RecordEntry entry;
        int r = 0;

        if (record_log_verified(log, subject, failed, &verified) >= 0)
                for (r = record_log_newest(log, subject, NULL, &entry); r >= 0 && entry.index > failed->index && !cleared;
                     r = record_log_newest_before(log, subject, entry.index, &entry))
                        cleared = clears(log, subject, &entry, &verified);
        record_verified_done(&verified);
        return cleared || r == -ENOENT ? cleared : MIN(r, 0);
}

static RecordPart nothing_of(const Location *subject) {
        return (RecordPart) { .where = *subject, .result = RESULT_INCONCLUSIVE, .index = UINT64_MAX, .age_usec = UINT64_MAX };
}

static bool is_server(const Location *subject) {
        return location_kind(subject) == LOCATION_SERVER;
}

/* What ENTRY says of SUBJECT alone. */
static int read_stand(RecordLog *log, const Location *subject, const RecordEntry *entry, RecordStand *ret) {
        RecordVerified verified = {};
        int r;

        r = record_log_verified(log, subject, entry, &verified);
        if (r >= 0)
                r = record_stand_of(&verified, ret);
        record_verified_done(&verified);
        return r;
}

/* A roll-up that failed may have failed by its chips, which speak for themselves. One that cannot be believed counts, and is told as what it is. */
static bool has_failed(RecordLog *log, const Location *subject, const RecordEntry *entry) {
        RecordStand stand = {};
        bool failed = entry->result == RESULT_FAILED;

        if (failed && is_server(subject) && read_stand(log, subject, entry, &stand) >= 0)
                failed = stand.result == RESULT_FAILED;
        record_stand_done(&stand);
        return failed;
}

/*
 * The newest failure that no pass has cleared; or one at a place that none has looked at since. One of a plan that looks at a part, as a repair, goes behind
 * that of a plan that looks at all, which has to pass again in any case. -ENOENT
 */
static int find_failure(RecordLog *log, const Location *subject, RecordEntry *ret) {
        RecordEntry entry;
        bool found = false;
        int r;

        for (r = record_log_newest(log, subject, NULL, &entry); r >= 0; r = record_log_newest_before(log, subject, entry.index, &entry)) {
                bool is_whole = stage_depth(stage_of(log, subject, &entry)) > 0;
                int cleared;

                if ((found && !is_whole) || !has_failed(log, subject, &entry))
                        continue;
                cleared = is_cleared(log, subject, &entry);
                if (cleared < 0)
                        return cleared;
                if (cleared)
                        continue;
                *ret = entry;
                found = true;
                if (is_whole)
                        return 0;
        }
        if (r != -ENOENT)
                return r;
        return found ? 0 : record_log_failure(log, subject, ret);
}

/* Passes and warnings of chips and servers have always looked at all. */
static bool is_in_part(RecordLog *log, const Location *subject, const RecordEntry *entry) {
        RecordStand stand = {};
        bool in_part = entry->result == RESULT_INCONCLUSIVE || entry->result == RESULT_FAILED;

        if (in_part && read_stand(log, subject, entry, &stand) >= 0)
                in_part = stand.in_part;
        record_stand_done(&stand);
        return in_part;
}

/* Whether ENTRY, a look at all that its plan promises, may stand for NEWEST, which is one at a part: its plan promises no less. */
static bool looks_at_as_much(RecordLog *log, const Location *subject, const RecordEntry *entry, const RecordEntry *newest) {
        return entry->index == newest->index || strcmp(entry->plan, newest->plan) == 0 ||
               stage_depth(stage_of(log, subject, entry)) >= stage_depth(stage_of(log, subject, newest));
}

/* Asked for no plan, a pass that looked at a part, of a repair or in service, says nothing of a whole chip. */
static bool is_lesser_pass(RecordLog *log, const Location *subject, const char *plan, const RecordEntry *entry) {
        if (plan || stage_depth(stage_of(log, subject, entry)) > 0)
                return false;
        return is_server(subject) ? !has_failed(log, subject, entry) : entry->result == RESULT_PASSED || entry->result == RESULT_WARNED;
}

/* The newest of PLAN; of any the newest that says something of the whole, or that at a part where no other plan has looked. */
static int find_newest(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret) {
        RecordEntry newest, entry;
        int r;

        r = record_log_newest(log, subject, plan, &newest);
        if (r < 0)
                return r;
        entry = newest;
        while (r >= 0 && is_lesser_pass(log, subject, plan, &entry))
                r = record_log_newest_before(log, subject, entry.index, &entry);
        *ret = r < 0 ? newest : entry;
        return r == -ENOENT ? 0 : MIN(r, 0);
}

/*
 * The newest look at all that PLAN (NULL: any) promises, or the newest at all where there was none, with *ret_in_part. A chip's failure that no longer
 * stands anywhere, since a newer look at a part cleared it, says no more than that look.
 */
static int find_look(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret, bool *ret_in_part) {
        RecordEntry entry = { .index = UINT64_MAX }, newest;
        int r;

        r = find_newest(log, subject, plan, &newest);
        if (r < 0)
                return r;
        do
                r = record_log_whole_before(log, subject, plan, entry.index, &entry);
        while (r >= 0 && (is_in_part(log, subject, &entry) || is_lesser_pass(log, subject, plan, &entry) || (!is_server(subject) && !looks_at_as_much(log, subject, &entry, &newest))));

        *ret_in_part = r == -ENOENT;
        if (r < 0 || (entry.result == RESULT_FAILED && !is_server(subject) && record_log_newest(log, subject, entry.plan, ret) >= 0 &&
                      ret->index != entry.index))
                entry = newest;
        *ret = entry;
        return r == -ENOENT ? 0 : MIN(r, 0);
}

/*
 * Which record counts; its plan is *ret->plan. Asked for one that looks at a part, that part's word, unless failures are newer. Where PLAN has no
 * record, a failure under another is still known: to a hook that lets pass what nobody knows, it must not look unknown.
 */
static int find_known(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret, bool *ret_in_part) {
        RecordEntry look, failure;
        int r, failed;

        r = find_look(log, subject, plan, &look, ret_in_part);
        if (r < 0 && (r != -ENOENT || !plan))
                return r;
        failed = find_failure(log, subject, &failure);
        if (failed < 0 && failed != -ENOENT)
                return failed;
        if (r < 0 && failed < 0)
                return r;

        *ret = r < 0 ? failure : look;
        if (r < 0)
                *ret_in_part = false;
        if (r < 0 || failed == -ENOENT || (plan && !is_server(subject) && look.result == RESULT_FAILED) ||
            (plan && failure.index < look.index && stage_depth(stage_of(log, subject, &look)) == 0))
                return 0;
        *ret = failure;
        *ret_in_part = false;
        return 0;
}

/*
 * The newest record, of any plan, of a run of which nothing is known but that it was begun after BEFORE: it may have found anything, so no pass of before counts,
 * until its plan or the one that is asked for has looked again. -ENOENT
 */
static int find_lost(RecordLog *log, const Location *subject, uint64_t before, RecordEntry *ret) {
        RecordEntry entry;
        int r;

        for (r = record_log_newest(log, subject, NULL, &entry); r >= 0 && entry.index > before; r = record_log_newest_before(log, subject, entry.index, &entry)) {
                RecordStand stand = {};
                bool is_lost = entry.result == RESULT_INCONCLUSIVE && read_stand(log, subject, &entry, &stand) >= 0 && stand.is_lost && !stand.in_part;

                record_stand_done(&stand);
                if (is_lost) {
                        *ret = entry;
                        return 0;
                }
        }
        return MIN(r, 0) ?: -ENOENT;
}

/* The same, unless what was found since is lost. */
static int find_counting(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret, bool *ret_in_part) {
        RecordEntry lost;
        int r;

        r = find_known(log, subject, plan, ret, ret_in_part);
        if (r < 0 || has_failed(log, subject, ret))
                return r;
        r = find_lost(log, subject, ret->index, &lost);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        *ret = lost;
        *ret_in_part = false;
        return 0;
}

/* Leaves of the failure STAND, that FAILED tells, what newer looks of each plan have not cleared. What cannot be read clears nothing. */
static void narrow(RecordLog *log, const Location *subject, const RecordVerified *failed, RecordStand *stand) {
        RecordVerified later[LATER_MAX] = {};
        RecordEntry entry;
        size_t n = 0;

        for (int r = record_log_newest(log, subject, NULL, &entry); r >= 0 && entry.index > failed->entry.index && n < LATER_MAX;
             r = record_log_newest_before(log, subject, entry.index, &entry)) {
                if (record_log_verified(log, subject, &entry, &later[n]) >= 0)
                        n++;
                else
                        record_verified_done(&later[n]);
        }
        if (n > 0)
                (void) record_stand_narrow(stand, failed, later, n);
        for (size_t i = 0; i < n; i++)
                record_verified_done(&later[i]);
}

/* VERIFIED, of SUBJECT alone. STAND: what it says there. */
static void take_verified(const RecordVerified *verified, const RecordStand *stand, bool in_part, RecordPart *ret) {
        uint64_t now = clock_usec(CLOCK_REALTIME), finished = verified->entry.finished_usec;

        ret->result = stand->result;
        ret->index = verified->entry.index;
        ret->age_usec = now > finished ? now - finished : 0;
        (void) snprintf(ret->reason, sizeof(ret->reason), "%s", stand->reason);
        if (in_part && location_kind(&verified->entry.subject) == LOCATION_SERVER && stand->result != RESULT_FAILED)
                cannot_tell(ret, "no scan of all its chips tells of what lies between them");
}

/* What passed may have been taken back in the records that are not there; and a failure does not age. FINISHED_USEC: of what it follows from. */
static void settle(RecordLog *log, uint64_t max_age_usec, uint64_t finished_usec, RecordPart *ret) {
        uint64_t now = clock_usec(CLOCK_REALTIME), cut;
        const char *lost = record_log_cut(log, &cut);

        if (ret->result == RESULT_FAILED)
                return;
        if (record_log_has_failed(log)) {
                ret->index = ret->age_usec = UINT64_MAX;
                cannot_tell(ret, "the log is not sound (assayctl status), so no pass in it counts: %.160s", record_log_wrong(log));
        } else if (ret->index == UINT64_MAX)
                return;
        else if (ret->index < cut) {
                ret->index = ret->age_usec = UINT64_MAX;
                cannot_tell(ret, "%s, and may take back what passed before. Next: assayctl scan %s", lost, ret->where.server);
        } else if (max_age_usec > 0 && finished_usec > now && finished_usec - now > RECORD_AHEAD_USEC)
                cannot_tell(ret, "record %" PRIu64 " is from the future: a clock was set back since", ret->index);
        else if (max_age_usec > 0 && ret->age_usec > max_age_usec)
                cannot_tell(ret, "record %" PRIu64 " is stale: %" PRIu64 " s old, at most %" PRIu64 " s wanted", ret->index,
                            ret->age_usec / 1000000, max_age_usec / 1000000);
}

/* A plan that looks at a part passes nothing by itself. */
static void tell_lesser(const RecordVerified *verified, RecordPart *ret) {
        char line[RECORD_PART_REASON_MAX];

        record_lesser_line(verified, line, sizeof(line));
        cannot_tell(ret, "%s", line);
}

/* STAND: of the record that counts, where it was read. */
static void read_one(RecordLog *log, const Location *subject, const char *plan, uint64_t max_age_usec, RecordStand *stand, RecordPart *ret) {
        RecordVerified verified = {};
        bool in_part = false;
        RecordEntry entry;
        int r;

        *ret = nothing_of(subject);

        r = find_counting(log, subject, plan, &entry, &in_part);
        if (r == -ENOENT) {
                cannot_tell(ret, "no record");
                settle(log, max_age_usec, 0, ret);
                return;
        }
        if (r >= 0)
                r = record_log_verified(log, subject, &entry, &verified);
        if (r >= 0)
                r = record_stand_of(&verified, stand);
        if (r >= 0 && stand->result == RESULT_FAILED)
                narrow(log, subject, &verified, stand);
        if (r < 0)
                cannot_tell(ret, "%s: %s", r == -EBADMSG ? "the newest record does not verify" : "the log could not be read",
                            verified.reason ? verified.reason : strerror(-r));
        else
                take_verified(&verified, stand, in_part, ret);
        if (r >= 0 && stand->result != RESULT_FAILED && !stand->is_lost && is_lesser_pass(log, subject, plan, &entry))
                tell_lesser(&verified, ret);
        settle(log, max_age_usec, verified.entry.finished_usec, ret);
        record_verified_done(&verified);
}

/* A chip whose newest record is the one that the roll-up names by its digest, and as passed, need not be read again. */
static bool is_told(RecordLog *log, const Location *chip, const char *plan, const RecordStand *rollup) {
        const RecordNamed *named = record_stand_find(rollup, chip);
        RecordEntry entry;
        bool in_part;

        return named && named->result == RESULT_PASSED && find_counting(log, chip, plan, &entry, &in_part) >= 0 && entry.index == named->index &&
               strcmp(entry.id, named->id) == 0;
}

void standing_log_parts(RecordLog *log, const Location *server, const char *plan, uint64_t max_age_usec, RecordPart ret[static STANDING_PARTS]) {
        RecordStand rollup = {};

        read_one(log, server, plan, max_age_usec, &rollup, &ret[0]);
        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                Location chip = *server;
                RecordStand stand = {};

                (void) location_append(&chip, LOCATION_CHIP, c);
                /* It is as old as that. */
                if (ret[0].result == RESULT_PASSED && is_told(log, &chip, plan, &rollup)) {
                        ret[c + 1] = ret[0];
                        ret[c + 1].where = chip;
                        ret[c + 1].index = record_stand_find(&rollup, &chip)->index;
                } else
                        read_one(log, &chip, plan, max_age_usec, &stand, &ret[c + 1]);
                record_stand_done(&stand);
        }
        record_part_leaves_out(&ret[0], &rollup);
        record_stand_done(&rollup);
}

static void read_server(RecordLog *log, const Location *server, const char *plan, uint64_t max_age_usec, RecordPart *ret) {
        RecordPart *parts = calloc(STANDING_PARTS, sizeof(*parts));
        char name[LOCATION_STRING_MAX];
        const RecordPart *worst;

        *ret = nothing_of(server);
        if (!parts) {
                cannot_tell(ret, "out of memory");
                return;
        }
        standing_log_parts(log, server, plan, max_age_usec, parts);
        worst = record_parts_worst(parts, STANDING_PARTS);
        ret->result = worst->result;
        ret->index = worst->index;
        ret->age_usec = worst->age_usec;
        if (record_parts_lack_records(parts, STANDING_PARTS))
                cannot_tell(ret, "%s", worst->reason);
        else
                record_parts_line(location_format(server, name), parts, STANDING_PARTS, ret->reason, sizeof(ret->reason));
        free(parts);
}

void standing_log_read(RecordLog *log, const Location *subject, const char *plan, uint64_t max_age_usec, RecordPart *ret) {
        RecordStand stand = {};

        if (is_server(subject))
                read_server(log, subject, plan, max_age_usec, ret);
        else
                read_one(log, subject, plan, max_age_usec, &stand, ret);
        record_stand_done(&stand);
}

/* NAMED by the newest roll-up, of PLAN. */
static bool is_away(RecordLog *log, const RecordNamed *named, const char *plan) {
        RecordStand stand = {};
        RecordEntry entry;
        bool away;

        away = record_log_newest(log, &named->where, plan, &entry) >= 0 && entry.index == named->index && read_stand(log, &named->where, &entry, &stand) >= 0 &&
               stand.is_away;
        record_stand_done(&stand);
        return away;
}

bool standing_log_is_unreachable(RecordLog *log, const Location *server) {
        RecordStand rollup = {};
        RecordEntry entry;
        bool away;

        if (record_log_newest(log, server, NULL, &entry) < 0 || entry.result != RESULT_INCONCLUSIVE || read_stand(log, server, &entry, &rollup) < 0)
                return false;
        away = rollup.n_named > 0;
        for (size_t i = 0; i < rollup.n_named && away; i++)
                away = is_away(log, &rollup.named[i], entry.plan);
        record_stand_done(&rollup);
        return away;
}
