/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The public half of a key, as notes name it, and notes that it signs. */

#include <stdlib.h>

#include "daemon/record/keys/checkpoint.h"

static inline NoteKey note_key_of(const char *name, NoteKeyType type, const RecordKey *signer) {
        uint8_t public[NOTE_PUBLIC_BYTES];
        size_t n = sizeof(public);
        NoteKey key;

        if (EVP_PKEY_get_raw_public_key(key_public(signer)->pkey, public, &n) != 1 || note_key_init(&key, name, type, public) < 0)
                abort();
        return key;
}

/* A public key as keyrings name it: the inside of its PEM block, in one word. */
#define KEY_WORD_MAX 256
static inline const char *key_word(const RecordKey *key, char word[static KEY_WORD_MAX]) {
        const char *pem = strchr(record_key_public_pem(key), '\n');
        size_t n = 0;

        for (; *pem && *pem != '-' && n < KEY_WORD_MAX - 1; pem++)
                if (*pem != '\n')
                        word[n++] = *pem;
        word[n] = '\0';
        return word;
}

/* What LOG says of itself, signed; of which so many bytes are text, for others to sign. */
static inline size_t note_of(Printer *note, const Checkpoint *checkpoint, const NoteKey *log, const RecordKey *signer) {
        size_t n;

        checkpoint_print(note, checkpoint);
        n = note->n;
        printer_text(note, "\n");
        note_sign(note, note->text, n, log, signer, 0);
        if (note->error < 0)
                abort();
        return n;
}
