/* SPDX-License-Identifier: Apache-2.0 */

/* What a run was begun with, out of its own record: see record.h. */

#include <assert.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"
#include "daemon/record/statement/health-read.h"
#include "daemon/record/statement/identity.h"

static void read_started(const RecordEntry *entry, RecordStarted *started) {
        const json_t *predicate = json_object_get(started->statement, "predicate"), *place = json_object_get(predicate, "location");

        run_read(predicate, &started->run);
        started->run.started_usec = entry->finished_usec;
        identity_read(text_of(json_array_get(json_object_get(started->statement, "subject"), 0), "uri"), started->product, started->serial);
        started->server = (RecordSubject) {
                .where = entry->subject,
                .serial = *started->serial ? started->serial : text_of(place, "reportedSerial"),
                .product = started->product,
                .part_number = "",
                .firmware = "",
                .tray = text_of(place, "tray"),
                .pci_address = text_of(place, "pciAddress"),
        };
}

int record_log_started(RecordLog *log, const RecordEntry *entry, RecordStarted *ret) {
        _cleanup_(log_record_done) LogRecord record = {};
        _cleanup_free_ char *wrong = NULL;
        const RecordEntry *begun = &record.verified.entry;
        int r;

        assert(log && entry && ret);

        /* Its rules may be older than this program: what it lacks is empty. */
        r = log_check_record(log, log->reader, entry->index, &record, &wrong);
        if (r < 0)
                return r;
        /* The table that led here proves nothing. */
        if (strcmp(begun->type, RECORD_TYPE_RUN_START) != 0 || strcmp(begun->run, entry->run) != 0 || !location_equal(&begun->subject, &entry->subject))
                return -EBADMSG;

        *ret = (RecordStarted) { .statement = TAKE_PTR(record.statement) };
        read_started(begun, ret);
        return 0;
}

void record_started_done(RecordStarted *started) {
        json_decref(started->statement);
        *started = (RecordStarted) {};
}
