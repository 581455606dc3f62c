/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Key swap
 *
 * A private key in a file, its public half beside it (FILE.pub), and the next pair (FILE.new, FILE.new.pub) before it takes their place.
 * Every step is on disk before the next, and all of it can be done again from the beginning whenever it was interrupted.
 */

#include "daemon/record/record.h"

/*
 * Finishes a swap in which only the private key has taken its place: 1; 0: there is none such. -ESTALE: a FILE.new.pub is there that belongs to
 * nothing; or an errno.
 */
int key_swap_resume(const char *file);

/* The next pair, as who was interrupted left it; -ENOENT, -EBADMSG: there is none, whole. */
int key_swap_load(const char *file, RecordKey **ret_next);
/* The same, or a new one. */
int key_swap_prepare(const char *file, RecordAlgorithm algorithm, RecordKey **ret_next);

/* Puts the next pair in its place and keeps the public half of the old one as FILE.FINGERPRINT.pub. */
int key_swap_finish(const char *file);
