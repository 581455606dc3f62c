/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Note
 *
 * Signed notes, c2sp.org/signed-note@v1.0.0: a text that ends in a line feed, an empty line, and signature lines
 *
 *     — NAME BASE64(key ID, 4 bytes || signature)
 *
 * A key has a name and a type: 0x01 signs the text with Ed25519 as logs do, 0x04 the time and the text as witnesses do
 * (c2sp.org/tlog-cosignature@v1.0.1). Its ID is the first four bytes of SHA-256(name || LF || type || public key), and it is
 * written down as a vkey, "NAME+HEX(ID)+BASE64(type || public key)". A witness tells a time: one that signs with none, 0, has not said when it
 * has seen the text, and that fits no more than another signature would (c2sp.org/tlog-witness: it must not).
 */

#include <stdbool.h>

#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/keys/key.h"

#define NOTE_MAX            RECORD_NOTE_MAX
#define NOTE_SIGNATURES_MAX 64         /* lines; more is no note of ours */
#define NOTE_NAME_MAX       RECORD_ORIGIN_MAX
#define NOTE_ID_BYTES       4
#define NOTE_PUBLIC_BYTES   KEY_ED25519_BYTES

typedef enum NoteKeyType {
        NOTE_OTHER = 0, /* of a key that cannot be verified with here, and has signed nothing */
        NOTE_LOG = 0x01,
        NOTE_WITNESS = 0x04,
} NoteKeyType;

typedef struct NoteKey {
        char name[NOTE_NAME_MAX];
        NoteKeyType type;
        uint8_t id[NOTE_ID_BYTES];
        uint8_t public[NOTE_PUBLIC_BYTES];
} NoteKey;

/* -EINVAL: an empty or too long name, or one with white space, control characters or '+'; or no vkey of a type above with its own ID. */
int note_key_init(NoteKey *key, const char *name, NoteKeyType type, const uint8_t public[static NOTE_PUBLIC_BYTES]);
/* The public half of SIGNER. -EINVAL, too: it is no Ed25519 key. */
int note_key_own(NoteKey *key, const char *name, NoteKeyType type, const RecordKey *signer);
int note_key_parse(NoteKey *key, const char *vkey);
/* Whether VKEY is well-formed, and of a type that is not above: one of a later standard, such as ML-DSA-44. */
bool note_vkey_is_other(const char *vkey);
void note_key_print(Printer *printer, const NoteKey *key);
/* All of what its ID is the beginning of, for those who name logs by it. 0, or -EIO. */
int note_key_digest(const NoteKey *key, uint8_t ret[static DIGEST_BYTES]);

/*
 * Appends the signature line of KEY, whose private half is SIGNER, for TEXT (N bytes). USEC: CLOCK_REALTIME, told by a witness to the
 * second. Errors stick to NOTE as ever; -EINVAL: SIGNER is no Ed25519 key; -EIO where the library refuses.
 */
void note_sign(Printer *note, const char *text, size_t n, const NoteKey *key, const RecordKey *signer, uint64_t usec);

/* One signature of a note, nothing of it proven. */
typedef struct NoteSignature {
        char name[NOTE_NAME_MAX];
        uint8_t id[NOTE_ID_BYTES];
        const char *line; /* in the note, without its end */
        size_t n_line;
        size_t n;
        uint8_t bytes[128]; /* what is longer is of no type above, and cut */
} NoteSignature;

typedef struct Note {
        const char *text; /* in what was parsed: ends in a line feed, and no other control character is in it */
        size_t n;
        size_t n_signatures;
        NoteSignature signatures[NOTE_SIGNATURES_MAX];
} Note;

/* Borrows DATA. -EBADMSG: no note. */
int note_parse(const char *data, size_t n, Note *ret);

/* The first line of KEY as it stands, with its end, where there is one. */
void note_print_line(Printer *printer, const Note *note, const NoteKey *key);

/*
 * Whether KEY has signed: 1, and for a witness *ret_usec when (0 for a log); 0: there is no line of it, which says nothing;
 * -EBADMSG: there is one and it does not fit, and then nothing of the note may be believed; -ENOMEM.
 */
int note_verify(const Note *note, const NoteKey *key, uint64_t *ret_usec);
