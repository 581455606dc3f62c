/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sim/links/line.h"

#define LINE_EVENTS_MAX 65536u

/*
 * Draws all that the troubles of LINE do within the bits of RUN, together with the events of RUN, in order. *ret_bits: how many of the
 * bits are covered; fewer than there are where that would be more than LINE_EVENTS_MAX events. *ret is malloc()ed; NULL for none.
 */
int line_events_draw(const Line *line, const LineRun *run, Dice *dice, LineEvent **ret, size_t *ret_n, uint64_t *ret_bits);
