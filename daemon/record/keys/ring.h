/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ring
 *
 * A keyring that roots vouch for: an envelope with one signature for each of them. Its payload is the keyring's text.
 */

#include "daemon/record/keys/keyring.h"

#define RING_PAYLOAD_TYPE   "application/vnd.assay.keyring"
#define RING_SIGNATURES_MAX 32

/* -EBADMSG, and what is wrong: it is none; -ENOMEM. */
int ring_parse(const char *text, size_t n, Envelope *ret, char ret_wrong[static KEYRING_WRONG_MAX]);
void ring_print(Printer *printer, const Envelope *ring); /* one line, with its end */

/* Reads the text, which the caller believes: it has a version, expires, names roots and binds all keys. -EBADMSG, and what is wrong. */
int ring_read(const Envelope *ring, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]);
/* 1: enough of them have; 0: not; -ENOMEM. */
int ring_is_signed(const Envelope *ring, const RecordKeyring *keyring);
