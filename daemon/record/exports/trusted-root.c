/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Trusted root
 *
 * What Sigstore's verifiers must be told of a log: its key, the name it signs with, and since when. Keys of records are not in there: they
 * are handed to a verifier by their ID, which a bundle names as its hint.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/keys/note.h"

/* The log's ID is that of its key in a note, before that is cut to four bytes. */
static json_t *print_log(const NoteKey *log, const PublicKey *key, const uint8_t id[static DIGEST_BYTES], const char *since) {
        char url[sizeof("https://") + NOTE_NAME_MAX], raw[BASE64_SIZE(sizeof(key->spki)) + 1], key_id[BASE64_SIZE(DIGEST_BYTES) + 1];

        (void) snprintf(url, sizeof(url), "https://%s", log->name);
        *base64_encode(key->spki, key->n_spki, raw) = '\0';
        *base64_encode(id, DIGEST_BYTES, key_id) = '\0';
        return json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s}, s:{s:s}}", "baseUrl", url, "hashAlgorithm", "SHA2_256", "publicKey", "rawBytes", raw,
                         "keyDetails", public_key_details(key), "validFor", "start", since, "logId", "keyId", key_id, "checkpointKeyId", "keyId", key_id);
}

int record_trusted_root(const char *vkey, uint64_t since_usec, char **ret, size_t *ret_n) {
        _cleanup_(public_key_done) PublicKey key = {};
        _cleanup_json_ json_t *root = NULL;
        _cleanup_free_ char *text = NULL;
        char since[TIMESTAMP_MAX];
        uint8_t id[DIGEST_BYTES];
        NoteKey log;
        int r;

        if (note_key_parse(&log, vkey) < 0 || log.type != NOTE_LOG)
                return -EINVAL;
        r = note_key_digest(&log, id);
        if (r == 0)
                r = public_key_from_raw(&key, RECORD_ED25519, log.public, NOTE_PUBLIC_BYTES);
        if (r == 0)
                r = timestamp_format(since_usec, since);
        if (r < 0)
                return r;

        /* The last members a strict reader expects, and a log of one's own has none of. */
        root = json_pack("{s:s, s:[o], s:[], s:[], s:[]}", "mediaType", "application/vnd.dev.sigstore.trustedroot.v0.1+json", "tlogs",
                         print_log(&log, &key, id, since), "certificateAuthorities", "ctlogs", "timestampAuthorities");
        text = json_dumps(root, JSON_COMPACT);
        if (!text)
                return -ENOMEM;
        r = asprintf(ret, "%s\n", text);
        if (r < 0)
                return -ENOMEM;
        *ret_n = (size_t) r;
        return 0;
}
