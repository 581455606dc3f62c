/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Margin: how wrong a lane would be in the middle of its eye, told from its edges, where few bits show it.
 *
 * The edges of an eye jitter by a normal distribution of some sigma about where they would be without it, half an eye from the middle
 * and less where it is closed. Sampled x from the middle, towards one edge, a bit is wrong where it changes (half of them do) and the
 * edge comes too late:
 *
 *     ratio(x) = 1/2 Q((edge - x) / sigma),  Q(z) = 1/2 erfc(z / sqrt 2)
 *
 * So z = Q^-1(2 ratio) lies on a straight line over x: the Q scale of the dual-Dirac model (R. Stephens, Jitter Analysis: The Dual-Dirac
 * Model, RJ/DJ, and Q-Scale, 2004; INCITS TR-35, Methodologies for Jitter and Signal Quality, 2004). Two points and more give the line, each
 * weighted by what its count is worth, and at x = 0 the ratio of this edge. Both edges add up.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct MarginPoint {
        int offset; /* towards the edge, positive */
        uint64_t bits, errors;
} MarginPoint;

double margin_q(double z);
double margin_q_inverse(double q); /* 0 < q < 1 */

/* How often a lane is wrong at OFFSET that jitters as one with a ratio of GOOD does in an eye that nothing closes, while its own is closed so
 * far that it is wrong as often as MIDDLE in its middle. */
double margin_ratio(double good, double middle, int offset);

/* The ratio that one edge makes in the middle, by points with 1 ≤ errors, 4 × errors ≤ bits, of which there must be two with different
 * offsets: else, or where the line does not fall, -1. */
double margin_extrapolate(const MarginPoint *points, size_t n);
