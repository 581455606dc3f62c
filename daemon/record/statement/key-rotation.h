/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Key rotation
 *
 * What a record says by which a key names the one that signs after it: keyid, algorithm and SPKI of the new key, and under `replaces` those of
 * its own. The subject's digest is that of the new SPKI.
 */

#include <jansson.h>

#include "daemon/record/encode/printer.h"
#include "daemon/record/keys/key.h"

typedef struct KeyRotation {
        PublicKey old, new;
} KeyRotation;

void key_rotation_print(Printer *predicate, const PublicKey *old, const PublicKey *new);
/* -EBADMSG: a key is not what its ID and algorithm say; -ENOMEM. */
int key_rotation_parse(const json_t *predicate, KeyRotation *ret);
void key_rotation_done(KeyRotation *rotation);
