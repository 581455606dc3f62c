/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Escape
 *
 * A fault that acts in a share p of the commands to its part, n of which would each show it, escapes with (1 - p)^n. What a plan
 * does to a kind of fault is so one number: n, worked out from faults of all p that were found or missed, by maximum likelihood. Its
 * interval holds the values whose likelihood is within exp(-1.92) of the greatest (half of 3.84, the 95 % point of chi-square with
 * one degree of freedom: Wilks 1938).
 */

#include <stdbool.h>
#include <stddef.h>

#define ESCAPE_COMMANDS_MAX 1e6 /* an end beyond this is none */

typedef struct Trial {
        double p; /* above 0, below 1 */
        bool escaped;
} Trial;

typedef struct Escape {
        double commands, low, high; /* n; 0 and ESCAPE_COMMANDS_MAX: no end */
} Escape;

/* N is at least 1. */
Escape escape_estimate(const Trial *trials, size_t n);
