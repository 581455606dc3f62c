/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmCensus
 *
 * An intermittent fault as large as a bank shows in some reads, and so in some banks. Banks are asked for a few tags (tags.h) in
 * rows and columns that change, turn after turn, and whatever any of the turns shows is kept: a bank that gives back nothing of what was
 * written, a lane that stands still in all of it, the data of another address.
 *
 * Parts that have shown something in the test are asked first, be it one access that was wrong as a whole once; as soon as one does so
 * again, all are. A part is asked until
 *
 *  - nearly all of its banks have shown, or
 *  - the others have been silent for so long that they would have shown at the rate of those that did, but once in e^12 times,
 *
 * so what fails nearly everywhere in a stack, channel, die or pseudo-channel is known from what fails in a few banks of it, and at whatever
 * share of the reads it does.
 */

#include "checks/memory/hbm/classify/classify.h"

/* Adds what was seen to the tallies of C, and data from elsewhere to ALIASES. 0, or could not judge. */
int hbm_census(const HbmTagProbe *probe, HbmCase *c, HbmAliases *aliases);
