/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A payload signed, as the line that others see. */

#include "daemon/record/keys/envelope.h"

typedef struct SignedLine {
        uint8_t id[DIGEST_BYTES];
        TreeHash leaf;
        Printer envelope;
} SignedLine;

static inline void signed_line_done(SignedLine *line) {
        printer_done(&line->envelope);
}

static inline void signed_print(Printer *printer, const Signed *record) {
        const Envelope *envelope = &record->envelope;
        size_t n;
        const char *payload = envelope_payload(envelope, &n);

        envelope_print(printer, envelope->signatures[0].key_id, payload, n, envelope->signatures[0].bytes, envelope->signatures[0].n);
}

/* As envelope_sign(). */
static inline int sign_line(const RecordKey *key, const void *payload, size_t n, SignedLine *ret) {
        Signed record;
        int r;

        r = envelope_sign(key, payload, n, &record);
        if (r < 0)
                return r;
        *ret = (SignedLine) { .leaf = record.leaf };
        memcpy(ret->id, record.envelope.id, DIGEST_BYTES);
        signed_print(&ret->envelope, &record);
        signed_done(&record);
        return ret->envelope.error;
}
