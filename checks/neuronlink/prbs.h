/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Prbs: the pseudo-random bit sequences of ITU-T O.150 and their kin, as linear feedback shift registers. A state holds
 * the last k bits sent, the newest in bit 0. All are maximal: every state but 0 comes once in 2^k - 1 bits.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire/wire.h"

unsigned prbs_degree(WirePrbs polynomial); /* k */

/* The next bit; *state moves on. */
unsigned prbs_next(WirePrbs polynomial, uint32_t *state);

/* The state BITS bits later, in about k steps per bit of the number: x^BITS modulo the characteristic polynomial. */
uint32_t prbs_jump(WirePrbs polynomial, uint32_t state, uint64_t bits);

/* Where lane LANE starts, see wire-link.h; and all of N lanes. */
uint32_t prbs_seed(WirePrbs polynomial, uint64_t seed, unsigned lane);
void prbs_seeds(WirePrbs polynomial, uint64_t seed, unsigned n, uint32_t *ret);

/*
 * Whose stream shows STATE: one of N_LANES lanes of SEED, at most SKEW_MAX bits early or late. One that is neither comes first, then
 * lane OWN, then the nearest. Returns the lane and how many bits it is late, or -1. Lanes of a short polynomial send one sequence at
 * distances below SKEW_MAX: there only lanes that are crossed and not skewed can be told from lane OWN.
 */
#define PRBS_SKEW_MAX 65536
int prbs_whose(WirePrbs polynomial, uint64_t seed, unsigned n_lanes, unsigned own, uint32_t state, int *ret_skew);
