/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ber: what a count of bit errors proves. A lane of bit error ratio b makes Poisson(N b) errors in N bits. Below, NB is
 * N × b for the ratio that is to be excluded.
 */

/* How sure it is that the ratio is below b when ERRORS were seen: 1 - P(at most ERRORS errors at b). */
double ber_confidence(double nb, unsigned errors);

/* The smallest N × b at which ERRORS errors still prove the ratio with CONFIDENCE. */
double ber_required(double confidence, unsigned errors);

/* The most errors that still prove it, or -1 where even none would not: too few bits. At most BER_ERRORS_MAX. */
#define BER_ERRORS_MAX 1000000
int ber_allowed(double nb, double confidence);

/* The fewest errors that a lane of which NB are expected makes with less than this CHANCE. */
unsigned ber_certain(double nb, double chance);

/*
 * At most how likely the sequential test calls a lane bad of which NB errors are expected in each pass: it fails with
 * certain[n] errors after n passes, or with more than allowed[N_PASSES] after the last. Both from 1, not negative.
 */
double ber_false_alarm(double nb, const int allowed[], const int certain[], unsigned n_passes);
