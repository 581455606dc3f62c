/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chance
 *
 * What counts say: how likely an uneven spread is by chance, and what a few failed trials allow the true rate to be.
 */

#include <stddef.h>
#include <stdint.h>

/* P(chi-square with DF degrees of freedom ≥ X); 1 for DF = 0. */
double chance_chi_square(double x, unsigned df);

/* p that N counts are as uneven as these or more if every place is as likely as the others; 1 where that cannot be told. */
double chance_even(const uint32_t *counts, size_t n);

/* Clopper and Pearson 1934: the exact 95 % interval of a rate of which K of N trials were seen, N ≥ 1. */
void chance_interval(unsigned k, unsigned n, double *ret_low, double *ret_high);
