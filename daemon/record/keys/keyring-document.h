/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keyring document
 *
 * What roots sign, urn:assay:keyring:v1:
 *
 *     {"_type":"urn:assay:keyring:v1","version":7,"issuedOn":"…","expires":"…",
 *      "root":{"threshold":2,"keys":{"SHA256:…":{"algorithm":"ed25519","spki":"<base64>"},…}},
 *      "recordKeys":{"SHA256:…":{"algorithm":…,"spki":…,"producer":…,"log":…,"fromIndex":0,"untilIndex":4120,"reason":"rotated"},…},
 *      "logs":[{"vkey":…}],"witnesses":[{"name":"w1","vkey":…}],"quorum":1,"minIndex":{"<origin>":0}}
 *
 * The version only rises. A key counts up to an index of its log, never by time; without untilIndex it still does.
 */

#include "daemon/record/keys/keyring.h"
#include "daemon/record/keys/roots.h"

#define KEYRING_TYPE "urn:assay:keyring:v1"

typedef struct KeyringDocument {
        RecordKeyring *keyring;
        Roots roots;
} KeyringDocument;

void keyring_document_done(KeyringDocument *document);

/* The payload of RING, which whoever calls believes. -EBADMSG and *ret_wrong (a static sentence): it is none; -ENOMEM. */
int keyring_document_read(const Ring *ring, KeyringDocument *ret, const char **ret_wrong);
