/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cases
 *
 * Numbers that conversions to nearest get wrong first: on a number of the format, a quarter above it, just below, on and just above
 * the middle, three quarters above it, of both signs; then signed zeros, infinities, NaN with several payloads, the smallest and
 * the largest of binary32. Around all numbers of an 8-bit format, or around landmarks: ends of the subnormal and of the normal
 * range, carries into the exponent, neighbours of 1.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/rounding/element.h"

#define CASES_MAX 1664u

/* Returns how many. EVERY: of 8-bit formats all numbers; and each place of both signs, not of one or the other. */
unsigned cases_make(WireFormat format, bool every, Element ret[static CASES_MAX]);
