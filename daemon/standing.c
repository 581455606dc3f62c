/* SPDX-License-Identifier: Apache-2.0 */

/* Standing: see standing.h. */

#include <stdio.h>
#include <string.h>

#include "daemon/manager.h"
#include "daemon/standing-log.h"
#include "daemon/unrecorded.h"

/* As of a log that is not sound: what passed before says nothing; and what failed stands. */
static void hide(const Manager *manager, RecordPart *part) {
        char why[UNRECORDED_REASON_MAX];

        if (part->result == RESULT_FAILED || !unrecorded_hides(manager, &part->where, why))
                return;
        part->result = RESULT_INCONCLUSIVE;
        part->index = part->age_usec = UINT64_MAX;
        (void) snprintf(part->reason, sizeof(part->reason), "%s", why);
}

/* Where records are lost none may count any more, and yet SUBJECT has been scanned before. */
static bool has_any(RecordLog *log, const Location *subject, const RecordPart *part) {
        RecordEntry entry;
        uint64_t cut;

        return part->index != UINT64_MAX || (record_log_cut(log, &cut) && record_log_newest(log, subject, NULL, &entry) >= 0);
}

bool standing_read(const Manager *manager, const Location *subject, const char *plan, uint64_t max_age_usec, RecordPart *ret) {
        bool has_record;

        standing_log_read(manager->log, subject, plan, max_age_usec, ret);
        has_record = has_any(manager->log, subject, ret);
        hide(manager, ret);
        return has_record;
}

bool standing_parts(const Manager *manager, const Location *server, const char *plan, uint64_t max_age_usec, RecordPart ret[static STANDING_PARTS]) {
        bool has_record;

        standing_log_parts(manager->log, server, plan, max_age_usec, ret);
        has_record = !record_parts_lack_records(ret, STANDING_PARTS) || has_any(manager->log, server, &ret[0]);
        for (size_t i = 0; i < STANDING_PARTS; i++)
                hide(manager, &ret[i]);
        return has_record;
}

Result standing_result(const Manager *manager, Target *target, const Location *subject) {
        TargetStanding *cached = target_standing(target, subject);
        RecordPart part;

        if (!cached)
                return _RESULT_INVALID;

        if (!cached->known) {
                standing_log_read(manager->log, subject, NULL, 0, &part);
                cached->result = has_any(manager->log, subject, &part) ? part.result : _RESULT_INVALID;
                cached->known = true;
        }

        part = (RecordPart) { .where = *subject, .result = cached->result };
        if (part.result != RESULT_FAILED && record_log_has_failed(manager->log))
                part.result = RESULT_INCONCLUSIVE;
        hide(manager, &part);
        return part.result;
}

bool standing_is_unreachable(const Manager *manager, Target *target) {
        Location server = {};

        if (!target->reach_is_known) {
                (void) snprintf(server.server, sizeof(server.server), "%s", target->config->name);
                target->is_unreachable = standing_log_is_unreachable(manager->log, &server);
                target->reach_is_known = true;
        }
        return target->is_unreachable;
}
