/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Roots
 *
 * The keys that vouch for keyrings, and how many of them it takes. They are kept away from machines, so that no single theft adds a key.
 */

#include "daemon/record/keys/key.h"
#include "daemon/record/keys/ring.h"

#define ROOTS_MAX 32

typedef struct Roots {
        unsigned threshold;
        size_t n;
        PublicKey keys[ROOTS_MAX]; /* each once */
} Roots;

void roots_done(Roots *roots);

/*
 * Public keys in PEM form, and a line "threshold N"; without one it takes all of them. -EBADMSG: no such text.
 */
int roots_parse(Roots *roots, const char *text, size_t n);
/* Takes over KEY also on failure. -EBADMSG: it is there already, or there are too many. */
int roots_add(Roots *roots, PublicKey *key);
/* How many of them have signed RING, each counted once; -ENOMEM. */
int roots_count_signed(const Roots *roots, const Ring *ring);
/* 1: enough of them have signed RING; 0: not; -ENOMEM. */
int roots_have_signed(const Roots *roots, const Ring *ring);
