/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bundle
 *
 * A record, its proof and the hint which key to use, in one JSON object that Sigstore's own verifiers take: media type
 * application/vnd.dev.sigstore.bundle.v0.3+json. The proof in it is a tlog-proof written in another way; record_bundle() writes one.
 */

#include "daemon/record/keys/envelope.h"
#include "daemon/record/keys/proof.h"

#define BUNDLE_TYPE "application/vnd.dev.sigstore.bundle.v0.3+json"
#define BUNDLE_MAX  (2 * RECORD_ENVELOPE_MAX) /* bytes: an envelope and a proof, whose line feeds are escaped */

#define BUNDLE_BODY_MAX 1024

/* Taken apart, nothing of it proven. */
typedef struct Bundle {
        json_t *object;
        Envelope envelope;
        size_t n_body; /* 0: it has no entry of a log, and no proof */
        uint8_t body[BUNDLE_BODY_MAX]; /* of the leaf, as the bundle says: must be the one that is made from the envelope */
        uint8_t log_id[DIGEST_BYTES]; /* of the log's key, as the bundle says */
        Proof proof;   /* borrows from the object */
} Bundle;

void bundle_done(Bundle *bundle);

/* -EBADMSG, and *ret_wrong (a static sentence): no bundle, or one that contradicts itself; -ENOMEM. */
int bundle_parse(const char *text, size_t n, Bundle *ret, const char **ret_wrong);
