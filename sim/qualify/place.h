/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Place
 *
 * A random location for a kind of fault, out of nothing but the grammar: which parts may stand below which, and how far their
 * numbers run, is asked of location_append(). What a geometry does not have is refused later, and drawn anew.
 */

#include "sim/model.h"

/* Sets sample_at() to a place in CHIP (kinds that are shared: in any) of trn-0; ports that only a ring of servers has are in one
 * of us0-0 … us0-3. -EOPNOTSUPP: the grammar has no way to where KIND can sit. */
int place_draw(Sample *sample, const FaultKind *kind, unsigned chip);
bool place_needs_ring(const Location *at);
