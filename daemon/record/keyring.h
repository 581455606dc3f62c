/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Keyring: the public keys whose word counts. */

#include "daemon/record/key.h"
#include "daemon/record/record.h"

#define KEYRING_KEYS_MAX 1024

struct RecordKeyring {
        size_t n_keys;
        PublicKey keys[]; /* each once */
};

/* The key that KEY_ID names, or NULL. A hint for where to look first: it proves nothing. */
const PublicKey *keyring_find(const RecordKeyring *keyring, const char *key_id);
