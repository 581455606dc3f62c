/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The pseudo-random sequences that transmitters send: the state is the last k bits sent, the newest in bit 0. */

#include <stdint.h>

#include "checks/wire/wire.h"

unsigned line_prbs_degree(WirePrbs polynomial); /* k */
uint64_t line_prbs_period(WirePrbs polynomial); /* 2^k - 1 */

/* Where lane LANE begins. */
uint32_t line_prbs_seed(WirePrbs polynomial, uint64_t seed, unsigned lane);

/* The bit that follows on K bits, by the recurrence. */
unsigned line_prbs_next_bit(WirePrbs polynomial, uint32_t state);

/* The state BITS later, or earlier where negative: x^BITS modulo the characteristic polynomial, applied. */
uint32_t line_prbs_jump(WirePrbs polynomial, uint32_t state, int64_t bits);
