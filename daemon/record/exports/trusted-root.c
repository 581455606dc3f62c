/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Trusted root
 *
 * What Sigstore's verifiers must be told of a log: its key, the name it signs with, and since when. Keys of records are not in there: they
 * are handed to a verifier by their ID, which a bundle names as its hint.
 */

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/timestamp.h"
#include "daemon/record/keys/note.h"
#include "daemon/record/statement/statement.h"

/* The ID of a log that signs checkpoints is that of its key in a note, before that is cut to four bytes. */
static void print_id(Printer *printer, const char *key, const uint8_t id[static DIGEST_BYTES]) {
        printer_key(printer, key);
        printer_open(printer, '{');
        printer_member_base64(printer, "keyId", id, DIGEST_BYTES);
        printer_close(printer, '}');
}

static void print_log(Printer *printer, const char *origin, const PublicKey *key, const uint8_t id[static DIGEST_BYTES], uint64_t since_usec) {
        char url[sizeof("https://") + NOTE_NAME_MAX];

        (void) snprintf(url, sizeof(url), "https://%s", origin);
        printer_open(printer, '{');
        printer_member(printer, "baseUrl", url);
        printer_member(printer, "hashAlgorithm", "SHA2_256");
        printer_key(printer, "publicKey");
        printer_open(printer, '{');
        printer_member_base64(printer, "rawBytes", key->spki, key->n_spki);
        printer_member(printer, "keyDetails", public_key_details(key));
        printer_key(printer, "validFor");
        printer_open(printer, '{');
        timestamp_print(printer, "start", since_usec);
        printer_close(printer, '}');
        printer_close(printer, '}');
        print_id(printer, "logId", id);
        print_id(printer, "checkpointKeyId", id);
        printer_close(printer, '}');
}

int record_trusted_root(const char *vkey, uint64_t since_usec, char **ret, size_t *ret_n) {
        _cleanup_(public_key_done) PublicKey key = {};
        _cleanup_printer_ Printer p = {};
        uint8_t id[DIGEST_BYTES];
        NoteKey log;
        int r;

        if (note_key_parse(&log, vkey) < 0 || log.type != NOTE_LOG)
                return -EINVAL;
        r = note_key_digest(&log, id);
        if (r == 0)
                r = public_key_from_raw(&key, RECORD_ED25519, log.public, NOTE_PUBLIC_BYTES);
        if (r < 0)
                return r;

        printer_open(&p, '{');
        printer_member(&p, "mediaType", "application/vnd.dev.sigstore.trustedroot.v0.1+json");
        printer_key(&p, "tlogs");
        printer_open(&p, '[');
        print_log(&p, log.name, &key, id, since_usec);
        printer_close(&p, ']');
        /* Members that a strict reader expects, and a log of one's own has none of. */
        printer_text(&p, ",\"certificateAuthorities\":[],\"ctlogs\":[],\"timestampAuthorities\":[]}\n");
        if (p.error < 0)
                return p.error;
        *ret_n = p.n;
        *ret = TAKE_PTR(p.text);
        return 0;
}
