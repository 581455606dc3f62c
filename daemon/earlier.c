/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/earlier.h"

#include "daemon/standing-log.h"

static RecordEarlier tell(RecordLog *log, const RecordHealth *chip, uint64_t index) {
        return (RecordEarlier) { record_log_is_of(log, index, &chip->subject, &chip->host) > 0, index };
}

/* Whether a failure may stand, by the tables alone: to verify what does takes milliseconds, which a sound chip is not worth. */
static bool may_have_failed(RecordLog *log, const Location *chip) {
        RecordEntry entry;
        int r;

        for (r = record_log_newest(log, chip, NULL, &entry); r >= 0; r = record_log_newest_before(log, chip, entry.index, &entry))
                if (entry.result == RESULT_FAILED)
                        return true;
        return record_log_failure(log, chip, &entry) >= 0;
}

void earlier_read(RecordLog *log, RecordHealth *chip) {
        RecordEntry newest;
        RecordPart part;

        if (record_log_newest(log, &chip->subject.where, NULL, &newest) < 0)
                return;
        chip->earlier = tell(log, chip, newest.index);
        if (!may_have_failed(log, &chip->subject.where))
                return;
        standing_log_read(log, &chip->subject.where, NULL, 0, &part);
        if (part.result == RESULT_FAILED && part.index != UINT64_MAX)
                chip->standing = tell(log, chip, part.index);
}
