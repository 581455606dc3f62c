/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What was just committed, for who tells of it. That these are the bytes which were signed follows from the ID that the writer gave them: no signature
 * is looked at again and no verdict judged again, since others wait for the event loop.
 */

#include <assert.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"
#include "daemon/record/statement/reason.h"

/* The payload of ENTRY's record: its own, whatever stands in the store by now. */
static int read_payload(RecordLog *log, const RecordEntry *entry, Envelope *ret) {
        uint8_t id[DIGEST_BYTES];
        char hex[DIGEST_HEX];
        int r;

        r = store_parsed(log->reader, entry->index, ret, id);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        return strcmp(digest_to_hex(ret->id, hex), entry->id) == 0 ? 0 : -EBADMSG;
}

int record_log_told(RecordLog *log, const RecordEntry *entry, RecordTold *ret) {
        _cleanup_(record_told_done) RecordTold told = {};
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_health_ Health health = {};
        const char *wrong;
        int r;

        assert(log && entry && ret && record_is_verdict(entry));

        r = read_payload(log, entry, &envelope);
        if (r == 0)
                r = envelope_read_payload(&envelope, &told.statement, &wrong);
        if (r == 0)
                r = health_read(told.statement, entry->type, &health);
        if (r == 0)
                r = reason_of(told.statement, entry->type, &health, &told.reason);
        if (r < 0)
                return r;
        json_decref(told.statement);
        told.statement = json_incref(health.statement); /* in the form that all readers know */
        *ret = told;
        told = (RecordTold) {};
        return 0;
}

void record_told_done(RecordTold *told) {
        json_decref(told->statement);
        free(told->reason);
        *told = (RecordTold) {};
}
