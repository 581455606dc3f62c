/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The public half of a key, as notes name it. */

#include <stdlib.h>

#include "daemon/record/note.h"

static inline NoteKey note_key_of(const char *name, NoteKeyType type, const RecordKey *signer) {
        uint8_t public[NOTE_PUBLIC_BYTES];
        size_t n = sizeof(public);
        NoteKey key;

        if (EVP_PKEY_get_raw_public_key(key_public(signer)->pkey, public, &n) != 1 || note_key_init(&key, name, type, public) < 0)
                abort();
        return key;
}
