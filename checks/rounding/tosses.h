/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tosses
 *
 * Lanes that draw what nobody can predict, as coins: thousands of conversions half of the way up, and what serial.h and a comparison
 * of all pairs of lanes, at shifts too, make of them. Only lanes that were found wrong are told, so no sound one is called so here.
 */

#include "checks/rounding/session.h"
#include "checks/statistics/serial.h"

#define TOSSES      4096u
#define TOSS_SHIFTS 16u
/* A name is given to what coins do less often than this, over all tests of a chip together. */
#define TOSS_ALPHA  (1e-6 / (CORES * _ENGINE_MAX * ENGINE_LANES * (SERIAL_TESTS + ENGINE_LANES * TOSS_SHIFTS)))

typedef struct Tosses {
        uint64_t bits[ENGINE_LANES][TOSSES / 64];
} Tosses;

int tosses_draw(Session *session, unsigned core, WireEngine engine, Tosses *ret);

/* Tells in TEXT how LANE is no coin, false where it is one. *ret_other: the lane it goes with, or ENGINE_LANES. */
bool tosses_explain(const Tosses *tosses, unsigned lane, char *text, size_t size, unsigned *ret_other);
