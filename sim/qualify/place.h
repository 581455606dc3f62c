/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Place
 *
 * A random location for a kind of fault, out of nothing but the grammar: which parts may stand below which, and how far their
 * numbers run, is asked of location_append(). What the simulator does not have is refused later, and drawn anew.
 */

#include "sim/chip/model.h"

/* One of the ways from a chip down to where KIND can sit, with number 0 in every part. -EOPNOTSUPP: the grammar has none. */
int place_way(Sample *sample, const FaultKind *kind, Location *ret);
/* Sets sample_at() to a place at the end of WAY in CHIP (kinds that are shared: in any) of trn-0; ports that only a ring of servers
 * has are in one of us0-0 … us0-3. */
int place_draw(Sample *sample, const FaultKind *kind, const Location *way, unsigned chip);

/* Whether two parts have anything in common: one lies within the other, or, in one memory, they cross (a column and a row, a die and
 * a bank of it). */
bool place_overlaps(const Location *a, const Location *b);
