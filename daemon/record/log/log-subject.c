/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tells whether a record is of a part itself: places keep their names when trays are exchanged. Sixteen are asked for while others wait for the event loop, and no
 * verdict hangs on the answer: the part's digest in what the database has will do, for no other text in a record is that.
 */

#include <assert.h>
#include <string.h>

#include "daemon/record/log/log.h"

int record_log_is_of(RecordLog *log, uint64_t index, const RecordSubject *chip, const RecordSubject *host) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_free_ char *text = NULL;
        uint8_t id[DIGEST_BYTES];
        char hex[DIGEST_HEX];
        Identity identity;
        const char *payload, *wrong;
        size_t n;
        int r;

        assert(log && chip && host);

        r = identity_of(&log->station.issuer, chip, host, &identity);
        if (r == 0)
                r = store_envelope(log->reader, index, &text, &n, id);
        if (r == 0)
                r = envelope_parse(text, n, &envelope, &wrong);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        payload = envelope_payload(&envelope, &n);
        (void) digest_to_hex(identity.digest, hex);
        return memmem(payload, n, hex, strlen(hex)) != NULL;
}
