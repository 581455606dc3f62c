/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Keys that sign records and checkpoints. A part of record.h. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "checks/text/cleanup.h"

typedef struct RecordKey RecordKey; /* private */

typedef enum RecordAlgorithm {
        RECORD_ED25519,
        RECORD_ECDSA_P256, /* with SHA-256; signatures in DER */
        _RECORD_ALGORITHM_MAX,
        _RECORD_ALGORITHM_INVALID = -EINVAL,
} RecordAlgorithm;

const char *record_algorithm_to_string(RecordAlgorithm algorithm); /* "ed25519", "ecdsa-p256" */
RecordAlgorithm record_algorithm_from_string(const char *word);

/*
 * SOURCE: a file, PEM, PKCS#8, that only its owner and a group may read; or the URI of a key on a PKCS#11 token, "pkcs11:token=…;object=…"
 * (daemon/record/keys/token.h). record_key_strerror() says in a static text what an error of either means.
 */
int record_key_load(const char *source, RecordKey **ret);
/* Of a public half in PEM form; it signs nothing. -EBADMSG */
int record_key_from_public_pem(const char *pem, RecordKey **ret);
/* The public half alone, from a file with either half or a token, which is asked for no PIN. It signs nothing. */
int record_key_load_public(const char *source, RecordKey **ret);
const char *record_key_strerror(const char *source, int error);
/* How much of SOURCE may be shown: not the end of a URI, which may hold a PIN. */
size_t record_key_source_length(const char *source);
/* A command line shows it to everyone. */
bool record_key_source_has_pin(const char *source);
/* Makes a new key at PATH (0600, must not exist) and its public half at PATH.pub (PEM, SPKI). */
int record_key_generate(const char *path, RecordAlgorithm algorithm);
RecordKey *record_key_free(RecordKey *key);
DEFINE_CLEANUP(RecordKey *, record_key_free);
RecordAlgorithm record_key_algorithm(const RecordKey *key);
const char *record_key_id(const RecordKey *key);         /* "SHA256:…", the OpenSSH fingerprint */
const char *record_key_public_pem(const RecordKey *key); /* SPKI */
/* As the key of the log ORIGIN, C2SP signed-note; malloc'd. -EINVAL: it is not Ed25519, or that is no origin. */
int record_key_vkey(const RecordKey *key, const char *origin, char **ret);
