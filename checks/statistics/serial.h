/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Serial
 *
 * Whether bits that should be tossed coins are: of one lane among themselves, of two lanes together. Nothing is assumed of the
 * generator. Each test gives the exact probability that coins do so or worse.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERIAL_LAGS 64u
#define SERIAL_COMPLEXITY_BITS 256u

typedef enum SerialTest {
        SERIAL_ONES,            /* how many are 1 */
        SERIAL_RUNS,            /* how often they change: one more is the number of runs */
        SERIAL_AUTOCORRELATION, /* how often they are as so many earlier */
        SERIAL_COMPLEXITY,      /* the shortest linear register that gives the first 256: too short (Berlekamp and Massey) */
        _SERIAL_TEST_MAX,
} SerialTest;

typedef struct Serial {
        SerialTest test; /* the least likely */
        unsigned lag;    /* of AUTOCORRELATION */
        uint64_t value;  /* ones, changes, agreements, or the register's length */
        uint64_t n;      /* of so many bits */
        double p_value;  /* of that test alone: there are SERIAL_TESTS of them */
} Serial;

#define SERIAL_TESTS (3u + SERIAL_LAGS - 1) /* lag 1 is told as runs */

/* Bit I is bit I % 64 of BITS[I / 64]; N ≥ 256. */
Serial serial_test(const uint64_t *bits, size_t n);

/* The length of the shortest linear feedback register that gives N bits, at most SERIAL_COMPLEXITY_BITS. */
unsigned serial_complexity(const uint64_t *bits, size_t n);

/* Of N - LAG pairs of bits, one of A and one LAG further in B, how many agree; and how likely that, or worse, is for coins. */
uint64_t serial_agreements(const uint64_t *a, const uint64_t *b, size_t n, unsigned lag);
double serial_p_value(uint64_t agreements, uint64_t n);
