/* SPDX-License-Identifier: Apache-2.0 */

/* What must come out, element by element from the words of checks/wire/wire-collective.h: sums in double, rounded by rint(). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/collective/collective.h"

#define ELEMENTS_MAX 1200u

static uint64_t state = 5;

static uint32_t roll(uint32_t n) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return (uint32_t) (state >> 33) % n;
}

/* The part of N things, cut into PARTS, that has thing I in it. */
static unsigned part_with(uint32_t n, unsigned parts, uint32_t i, uint32_t *ret_first) {
        unsigned k = 0;

        while (((uint64_t) n * (k + 1)) / parts <= i)
                k++;
        *ret_first = (uint32_t) ((uint64_t) n * k / parts);
        return k;
}

static double get(const Recital *recital, const uint8_t *vector, uint32_t i) {
        unsigned bytes = recital->post.format == ELEMENT_FP32 ? 4 : recital->post.format == ELEMENT_BF16 ? 2 : 1;
        uint32_t bits = 0;
        float number;

        memcpy(&bits, vector + (size_t) i * bytes, bytes);
        if (bytes == 1)
                return bits;
        bits <<= bytes == 2 ? 16 : 0;
        memcpy(&number, &bits, 4);
        return number;
}

/* VALUE with so many significant bits, ties to even. */
static double significant(double value, int bits) {
        int exponent;
        double fraction = frexp(value, &exponent);

        return ldexp(rint(ldexp(fraction, bits)), exponent - bits);
}

static double add(const Recital *recital, double a, double b) {
        double sum = significant(a + b, 24);

        return recital->post.format == ELEMENT_BF16 ? significant(sum, 8) : sum;
}

/* Element I of the sum: (((x[q + 1] + x[q + 2]) + …) + x[q]), q the position of its owner on the ring it goes over. */
static double sum_of(const Recital *recital, unsigned base, uint32_t i) {
        uint32_t first, ignored, end;
        unsigned n = recital->post.ranks, owner = part_with(recital->post.elements, n, i, &first), ring, q = 0;
        const uint8_t *order;
        double sum;

        end = (uint32_t) ((uint64_t) recital->post.elements * (owner + 1) / n);
        ring = part_with(end - first, recital->post.rings, i - first, &ignored);
        order = recital->ranks[base].rings[ring].order;
        for (unsigned p = 0; p < n; p++)
                q = order[p] == owner ? p : q;
        sum = get(recital, recital->inputs + (base + order[(q + 1) % n]) * recital->stride, i);
        for (unsigned j = 2; j <= n; j++)
                sum = add(recital, sum, get(recital, recital->inputs + (base + order[(q + j) % n]) * recital->stride, i));
        return sum;
}

static double expected_of(const Recital *recital, unsigned rank, uint32_t i) {
        unsigned n = recital->post.ranks, own = rank % n, base = rank - own;
        uint32_t first = (uint32_t) ((uint64_t) recital->post.elements * own / n), ring_first, shard;

        switch ((WireCollective) recital->post.operation) {
        case COLLECTIVE_ALL_REDUCE:
                return sum_of(recital, base, i);
        case COLLECTIVE_REDUCE_SCATTER:
                return sum_of(recital, base, first + i);
        case COLLECTIVE_ALL_GATHER:
                return get(recital, recital->inputs + (base + part_with(recital->post.elements, n, i, &ring_first)) * recital->stride, i);
        case COLLECTIVE_ALL_TO_ALL:
                shard = (uint32_t) ((uint64_t) recital->post.elements * (own + 1) / n) - first;
                return get(recital, recital->inputs + (base + i / shard) * recital->stride, first + i % shard);
        case COLLECTIVE_SEND_RECEIVE: {
                uint32_t part = recital->post.elements / recital->post.rings;
                unsigned ring = i / part, from = recital->from[rank][ring];

                return from == NOBODY ? 0 : get(recital, recital->inputs + from * recital->stride, i - ring * part + (ring ^ 1u) * part);
        }
        case _COLLECTIVE_MAX:
                break;
        }
        return NAN;
}

static void fill(Recital *recital) {
        unsigned bytes = format_bytes(recital->post.format);

        for (unsigned r = 0; r < recital->n; r++)
                for (uint32_t i = 0; i < recital->post.elements; i++) {
                        float number = (float) ((int) roll(1u << 24) - (1 << 23)) / (float) (1u << roll(24));
                        uint32_t bits;

                        memcpy(&bits, &number, 4);
                        bits = bytes == 4 ? bits : bytes == 2 ? bits >> 16 : roll(254 / recital->post.ranks + 1);
                        memcpy(recital->inputs + r * recital->stride + (size_t) i * bytes, &bits, bytes);
                }
}

static void shuffle_rings(Recital *recital) {
        for (unsigned c = 0; c < recital->post.rings; c++) {
                uint8_t order[RANKS_MAX];

                for (unsigned p = 0; p < recital->post.ranks; p++)
                        order[p] = (uint8_t) p;
                for (unsigned p = recital->post.ranks; p-- > 1;) {
                        unsigned with = roll(p + 1);
                        uint8_t kept = order[p];

                        order[p] = order[with];
                        order[with] = kept;
                }
                for (unsigned r = 0; r < recital->n; r++) {
                        memcpy(recital->ranks[r].rings[c].order, order, sizeof(order));
                        recital->from[r][c] = (uint8_t) (roll(4) == 0 ? NOBODY : roll(recital->n));
                }
        }
}

static void expect_golden(unsigned operation, unsigned format, unsigned ranks, unsigned rings, uint32_t elements, bool paired) {
        Recital *recital = calloc(1, sizeof(*recital));
        static uint8_t out[(ELEMENTS_MAX + RANKS_MAX) * 4];

        recital->post = (WireCollectivePost) { .operation = (uint8_t) operation, .format = (uint8_t) format, .elements = elements,
                                               .repeat = 1, .ranks = (uint8_t) ranks, .rings = (uint8_t) rings };
        recital->n = paired ? 8 : ranks;
        recital->paired = paired;
        recital->stride = (size_t) (elements + ranks) * format_bytes(format);
        recital->inputs = calloc(recital->n, recital->stride);
        recital->ranks = calloc(RANKS_MAX, sizeof(*recital->ranks));
        recital->from = calloc(RANKS_MAX, sizeof(*recital->from));
        shuffle_rings(recital);
        fill(recital);
        for (unsigned r = 0; r < recital->n; r++) {
                memset(out, 0xa5, sizeof(out));
                recital_expected(recital, r, recital->inputs, out);
                for (uint32_t i = 0; i < recital_output_elements(recital, r); i++)
                        if (get(recital, out, i) != expected_of(recital, r, i))
                                fail_msg("%s of %u %s over %u ranks and %u rings, element %u at rank %u: %.9g, not %.9g",
                                         collective_word(operation), elements, format_word(format), ranks, rings, i, r,
                                         get(recital, out, i), expected_of(recital, r, i));
        }
        free(recital->inputs);
        free(recital->ranks);
        free(recital->from);
        free(recital);
}

static void test_what_comes_out_is_what_the_words_say(void **unused) {
        static const uint32_t sizes[] = { 1, 5, 17, 64, 97, 384 };

        for (unsigned operation = 0; operation < COLLECTIVE_SEND_RECEIVE; operation++)
                for (unsigned format = 0; format < _ELEMENT_MAX; format++)
                        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                                expect_golden(operation, format, 16, 4, sizes[i], false);
                                expect_golden(operation, format, 16, 1, sizes[i], false);
                                expect_golden(operation, format, 3, 6, sizes[i], false);
                                expect_golden(operation, format, 2, 1, sizes[i], true);
                        }
        expect_golden(COLLECTIVE_ALL_REDUCE, ELEMENT_FP32, 64, 6, 1025, false);
        expect_golden(COLLECTIVE_ALL_REDUCE, ELEMENT_BF16, 64, 6, 63, false);
}

static void test_neighbours_get_what_was_sent_to_them(void **unused) {
        for (unsigned format = 0; format < _ELEMENT_MAX; format++) {
                expect_golden(COLLECTIVE_SEND_RECEIVE, format, 16, 4, 64, false);
                expect_golden(COLLECTIVE_SEND_RECEIVE, format, 64, 6, 96, false);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_comes_out_is_what_the_words_say),
                cmocka_unit_test(test_neighbours_get_what_was_sent_to_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
