/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Token
 *
 * A private key that never leaves its hardware: PKCS#11 through p11-kit, named by a URI of RFC 7512,
 *
 *     pkcs11:token=station;object=record?pin-source=/run/credentials/assayd.service/record-pin
 *
 * `module-path` names the module, else those that p11-kit is configured with are asked. The PIN is the first line of the file
 * `pin-source` names, which only its owner may see, or `pin-value`. Token, object, id, serial and so on must name one key; both its
 * halves must be on the token, under one id.
 */

#include "daemon/record/keys/key.h"

#define TOKEN_SCHEME "pkcs11:"

typedef struct Token Token;

/*
 * Finds the key, logs in where IS_PRIVATE, and tells its public half. -EINVAL: no such URI; -ELIBACC: the module cannot be used; -ENODEV: no
 * such token; -ENOKEY: no such key on it; -ENOTUNIQ: more than one; -EACCES: the PIN; -EBADMSG: a key of another algorithm; -EIO; and what
 * reading the PIN's file gave.
 */
int token_open(const char *uri, bool is_private, Token **ret, PublicKey *ret_public);
Token *token_free(Token *token);
DEFINE_CLEANUP(Token *, token_free);

/*
 * As key_sign(). A token that was taken out and put back, or has lost its session for another reason, is opened again once. A wrong
 * PIN is never sent twice, since tokens count.
 */
int token_sign(Token *token, const void *message, size_t n, uint8_t ret[static KEY_SIGNATURE_MAX], size_t *ret_n);
