/* SPDX-License-Identifier: Apache-2.0 */

/* Tells whether a record is of a part itself: places keep their names when trays are exchanged. */

#include <assert.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"
#include "daemon/record/statement/statement-read.h"

int record_log_is_of(RecordLog *log, uint64_t index, const RecordSubject *chip, const RecordSubject *host) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_json_ json_t *statement = NULL;
        const json_t *subject;
        char hex[DIGEST_HEX];
        Identity identity;
        int r;

        assert(log && chip && host);

        r = identity_of(&log->station.issuer, chip, host, &identity);
        if (r == 0)
                r = log_read_record(log, index, &verified);
        if (r == 0)
                r = record_statement_read(verified.payload, verified.n_payload, &statement);
        if (r < 0)
                return r;
        subject = json_array_get(json_object_get(statement, "subject"), 0);
        return strcmp(text_of(json_object_get(subject, "digest"), "sha256"), digest_to_hex(identity.digest, hex)) == 0;
}
