/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Suspects
 *
 * A column of which one bit fails in more than one row is asked again as a whole, both ways, turn after turn, and what fails joins
 * the failures. So a line that comes and goes shows all of itself before anybody counts: it has nearly all of its rows in the
 * end, and cells beside each other have not. Asking ends when nearly all fails, or when what is known has failed again in a few turns
 * and nothing else did: if it were the line, its other rows would fail as often.
 */

#include "checks/memory/hbm/diagnose/diagnose.h"

/* Grows the failures of C's stack, which are to be taken again. 0, or could not judge. */
int hbm_suspects_ask(const HbmDiagnosis *diagnosis, const HbmCase *c);
