/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Envelope
 *
 * DSSE 1.0.2: the pre-authentication encoding (PAE) that is signed, and the JSON object that carries payload
 * and signatures. The record ID is the SHA-256 of the PAE, since envelopes can be written in many ways and
 * the PAE in one. A record has one signature, a keyring one of each root.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/keys/key.h"
#include "daemon/record/tree/tree.h"

/* Appends "DSSEv1 LEN(type) type LEN(payload) payload" to PAE. */
void pae_print(Printer *pae, const char *type, const void *payload, size_t n);

typedef struct Signature {
        char key_id[KEY_ID_MAX]; /* "" without one; what is too long cannot be one of ours and is "" too */
        uint8_t bytes[126];      /* what is longer is of no key of ours, and refused */
        size_t n;
} Signature;

/* What an envelope says, nothing of it proven. */
typedef struct Envelope {
        char *pae; /* the payload is its tail, and only those bytes are ever handed on */
        size_t n_pae;
        size_t payload_offset;
        uint8_t id[DIGEST_BYTES]; /* SHA-256 of the PAE */
        size_t n_signatures, n_max; /* how many there are, and have room */
        Signature *signatures;
} Envelope;

/* One that nobody has signed, with room for MAX signatures. -ENOMEM */
int envelope_init(Envelope *envelope, const char *type, const void *payload, size_t n, size_t max);
void envelope_done(Envelope *envelope);

static inline const char *envelope_payload(const Envelope *envelope, size_t *ret_n) {
        *ret_n = envelope->n_pae - envelope->payload_offset;
        return envelope->pae + envelope->payload_offset;
}

/* A member that makes JSON a bundle (verify/bundle.h), and that no envelope has. */
#define ENVELOPE_OF_BUNDLE "dsseEnvelope"

/*
 * Whether a reader that is lax about names may take a member of OBJECT for another one of an envelope, or of a bundle: Go's takes no notice of case, those of protocol buffers have
 * other names with a '_', and letters beyond ASCII may fold into ASCII.
 */
bool envelope_is_ambiguous(const json_t *object);

/* Of a record: of RECORD_PAYLOAD_TYPE, with one signature. -EBADMSG and *ret_wrong (a static sentence), or -ENOMEM. */
int envelope_parse(const char *text, size_t n, Envelope *ret, const char **ret_wrong);
/* The same of a JSON object that was read already; and of TYPE, with MAX signatures at most and room for as many. */
int envelope_take(const json_t *object, const char *type, size_t max, Envelope *ret, const char **ret_wrong);

/* What the payload says, as json_read(). */
int envelope_read_payload(const Envelope *envelope, json_t **ret, const char **ret_wrong);

/* Signs it, in the place of an earlier signature with the same key. -E2BIG: there are too many; or as key_sign(). */
int envelope_add(Envelope *envelope, const RecordKey *key);
/* Whether KEY has signed it: 1, 0, or -ENOMEM. */
int envelope_verify(const Envelope *envelope, const PublicKey *key);

/*
 * The leaf of the log's Merkle tree: a Rekor v2 hashedrekord body, in the one form that RFC 8785 gives it, so that stock Sigstore
 * verifiers take an inclusion proof. KEY: that of the first signature.
 */
void leaf_print(Printer *leaf, const Envelope *envelope, const PublicKey *key);
int leaf_hash(const Envelope *envelope, const PublicKey *key, TreeHash *ret);

/*
 * The other way: one line, without its end, always the same for the same PAYLOAD, KEY_ID and SIGNATURE. NULL is as good as "", and so is a KEY_ID that
 * would need escapes: it cannot be one of ours.
 */
void envelope_print(Printer *printer, const char *key_id, const void *payload, size_t n, const void *signature, size_t n_signature);

/* One record, signed. */
typedef struct Signed {
        TreeHash leaf; /* of its hashedrekord body */
        Envelope envelope;
} Signed;

void signed_done(Signed *record);

/* Signs PAYLOAD of RECORD_PAYLOAD_TYPE. -EMSGSIZE: the envelope would be larger than any reader takes. */
int envelope_sign(const RecordKey *key, const void *payload, size_t n, Signed *ret);
