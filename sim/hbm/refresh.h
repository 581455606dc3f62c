/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmRefresh
 *
 * Time in a stack: when rows are refreshed, how long cells keep their charge without, and what is drawn of a lognormal
 * distribution.
 *
 * All rows are refreshed once in 32 ms, above 85 °C in 16 (JESD238: 8,192 refreshes of a few rows each, so that the n-th part
 * of the rows has its turn in the n-th part of that time). A pause and a hammering begin with a refresh of all rows
 * of their own. Cells lose their charge twice as fast with every 10 °C; times here are given at 45 °C. So 32 ms
 * at 85 °C, what every good cell is guaranteed to hold, are 512 ms at 45 °C.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory/structures/shape.h"

#define HBM_REFRESH_NSEC     UINT64_C(32000000)
#define HBM_REFRESH_HOT      85.0 /* °C, above which it is twice as often */
#define HBM_REFRESH_COMMANDS 8192u
#define HBM_GUARANTEED_SEC   0.512 /* at 45 °C */

/* The time in which every row has its turn. */
uint64_t hbm_refresh_window(double celsius);
/* When ROW is refreshed first after NSEC: strictly later. */
uint64_t hbm_refresh_next(const MemoryShape *shape, unsigned row, uint64_t window, uint64_t nsec);

/* What SECONDS at 45 °C become at CELSIUS. */
double hbm_seconds_at(double seconds, double celsius);
/* And what SECONDS at CELSIUS were at 45 °C. */
double hbm_seconds_from(double seconds, double celsius);

/* Whether a cell that keeps its charge for HOLDS nanoseconds and was restored at FROM has lost it by TO, with refresh on. */
bool hbm_refresh_misses(const MemoryShape *shape, unsigned row, uint64_t window, double holds, uint64_t from, uint64_t to);

/* The share of a lognormal distribution at or below X. */
double hbm_lognormal_share(double x, double median, double sigma);
/* One value of it, by two hashes of 64 bits. */
double hbm_lognormal_draw(uint64_t a, uint64_t b, double median, double sigma);
/* [0, 1) of a hash. */
double hbm_uniform(uint64_t bits);
