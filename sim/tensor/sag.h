/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor sag
 *
 * How far the supply of a core sags while its array multiplies: 50 mV times the share of all 128 × 128 elements that multiply two
 * numbers other than zero (in double rows, in one multiplier or both), averaged over the moving vectors. The figure is chosen by us.
 */

#include "sim/tensor/array.h"

#define SAG_MAX 50.0 /* mV */

double tensor_sag(const Stationary *stationary, const Moving *moving);
