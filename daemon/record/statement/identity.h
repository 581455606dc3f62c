/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Identity
 *
 * What a record is about: a small text of facts that never change, whose SHA-256 is the subject's digest, so
 * that a piece of hardware can be named like a file. Anyone with the serial writes the same text.
 *
 *     assay-identity/v1
 *     kind: accelerator | server | slot
 *     manufacturer: Amazon
 *     product: Trainium2
 *     serial: 0123456789abc003
 *
 * A part whose serial is unknown, or no serial at all (RFC 9039 allows A-Z a-z 0-9 . -), is known by where
 * it sits: kind `slot`, the product and serial of its server, and `slot: chip3`. Where the server's serial
 * is unknown too, only the log's own names are left: no serial, `slot: us0-2/chip3` and `origin: ORIGIN`.
 */

#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/record.h"

#define IDENTITY_URI_MAX      320
#define IDENTITY_DOCUMENT_MAX 640 /* of what a URI and an origin spell */

typedef struct Identity {
        const char *name; /* the kind */
        char uri[IDENTITY_URI_MAX]; /* urn:dev:ops:PEN-PRODUCT-SERIAL, with _SLOT for a slot */
        char document[IDENTITY_DOCUMENT_MAX];
        uint8_t digest[DIGEST_BYTES];
} Identity;

/* Where serials and products come from: the number of the enterprise that issues the names, and the log. */
typedef struct IdentityIssuer {
        unsigned pen;
        const char *origin;
} IdentityIssuer;

bool identity_serial_is_valid(const char *serial);
int identity_of(const IdentityIssuer *issuer, const RecordSubject *subject, const RecordSubject *server, Identity *ret);
/* Its name and URI alone. */
void identity_name(const IdentityIssuer *issuer, const RecordSubject *subject, const RecordSubject *server, Identity *ret);

/* Product and serial that URI tells, "" where it tells none: one of a part without a serial has no serial of its own. */
void identity_read(const char *uri, char ret_product[static RECORD_PRODUCT_BYTES], char ret_serial[static RECORD_SERIAL_BYTES]);

/*
 * Whether SHA256 (NULL: none is told) is of the document that URI spells, of a part of KIND, or of the slot that is WHERE (no server: not known), in a
 * record in the log ORIGIN; also where URI is of another scheme. SERVER: the URI of the server it sits in, whose serial a slot's URI has, or ""; 1, 0 or -ENOMEM.
 */
int identity_fits(const char *kind, const char *uri, const char *server, const char *sha256, const char *origin, const Location *where);

/* KEY: a digest, by its algorithm. */
void print_sha256(Printer *printer, const char *key, const char *hex);
/* {"name":…,"uri":…,"digest":{…} and an open brace: the caller may go on, and closes. */
void identity_print_open(Printer *printer, const Identity *identity, const char *name);
