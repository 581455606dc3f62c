/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Again
 *
 * A list that was cut short shows what fails first and hides what else there is. Once the large is known, the marches are
 * run again over everything it does not explain, in boxes as large as can be: each has a list of its own, and where
 * that is cut short, too, its halves have.
 */

#include "checks/memory/hbm/diagnose/diagnose.h"

/* Adds to the diagnosis's failures. 0, or could not judge. */
int hbm_march_again(const HbmDiagnosis *diagnosis, const HbmCase *c);
