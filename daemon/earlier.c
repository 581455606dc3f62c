/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/earlier.h"

#include "daemon/standing-log.h"

static RecordEarlier tell(RecordLog *log, const RecordHealth *chip, uint64_t index) {
        return (RecordEarlier) { record_log_is_of(log, index, &chip->subject, &chip->host) > 0, index };
}

void earlier_read(RecordLog *log, RecordHealth *chip) {
        RecordEntry newest;
        RecordPart part;

        if (record_log_newest(log, &chip->subject.where, NULL, &newest) < 0)
                return;
        chip->earlier = tell(log, chip, newest.index);
        standing_log_read(log, &chip->subject.where, NULL, 0, &part);
        if (part.result == RESULT_FAILED && part.index != UINT64_MAX)
                chip->standing = tell(log, chip, part.index);
}
