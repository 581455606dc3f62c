/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/float.h"

#include <stddef.h>

/* What is added to a sum: the product, or of two lanes the sum of both. WIDTH and FTZ are constants where it is inlined. */
FLOAT_INLINE uint32_t lanes_multiply(FloatWidth width, bool ftz, FloatLane a, FloatLane b, size_t i) {
        uint32_t product, second;

        if (width == FLOAT_24)
                product = float_multiply_24(a.w.significand, a.w.scale, a.significands[i], a.scales[i]);
        else
                product = float_multiply_12(a.w.significand, a.w.scale, a.significands[i], a.scales[i]);
        product = ftz ? float_flush(product) : product;
        if (width != FLOAT_DOUBLE)
                return product;

        second = float_multiply_12(b.w.significand, b.w.scale, b.significands[i], b.scales[i]);
        product = float_add(product, ftz ? float_flush(second) : second);
        return ftz ? float_flush(product) : product;
}

FLOAT_INLINE uint32_t lanes_add(bool ftz, uint32_t psum, uint32_t product) {
        uint32_t sum = float_add(psum, product);

        return ftz ? float_flush(sum) : sum;
}

/* The same loops for every machine and, where there are variable shifts of vectors, for that one: asked at run time. */
typedef void MultiplyAdd(uint32_t *restrict psum, const FloatLane *lanes, unsigned n_blocks);

#define MULTIPLY_ADD(name, attribute, width, ftz)                                                                              \
        attribute static void name(uint32_t *restrict psum, const FloatLane *lanes, unsigned n_blocks) {                       \
                FloatLane a = lanes[0], b = lanes[(width) == FLOAT_DOUBLE ? 1 : 0];                                            \
                                                                                                                               \
                for (; n_blocks > 0; n_blocks--) {                                                                             \
                        for (size_t i = 0; i < FLOAT_BLOCK; i++)                                                               \
                                psum[i] = lanes_add((ftz), psum[i], lanes_multiply((width), (ftz), a, b, i));                  \
                        psum += FLOAT_BLOCK;                                                                                   \
                        a.significands += FLOAT_BLOCK;                                                                         \
                        a.scales += FLOAT_BLOCK;                                                                               \
                        b.significands += FLOAT_BLOCK;                                                                         \
                        b.scales += FLOAT_BLOCK;                                                                               \
                }                                                                                                              \
        }

#define MULTIPLY_ADD_ALL(machine, attribute)                                                                                   \
        MULTIPLY_ADD(multiply_add_12_##machine, attribute, FLOAT_12, false)                                                    \
        MULTIPLY_ADD(multiply_add_24_##machine, attribute, FLOAT_24, false)                                                    \
        MULTIPLY_ADD(multiply_add_double_##machine, attribute, FLOAT_DOUBLE, false)                                            \
        MULTIPLY_ADD(multiply_add_12_ftz_##machine, attribute, FLOAT_12, true)                                                 \
        MULTIPLY_ADD(multiply_add_24_ftz_##machine, attribute, FLOAT_24, true)                                                 \
        MULTIPLY_ADD(multiply_add_double_ftz_##machine, attribute, FLOAT_DOUBLE, true)                                         \
                                                                                                                               \
        static MultiplyAdd *const multiply_add_##machine[_FLOAT_WIDTH_MAX][2] = {                                              \
                [FLOAT_12]     = { multiply_add_12_##machine, multiply_add_12_ftz_##machine },                                 \
                [FLOAT_24]     = { multiply_add_24_##machine, multiply_add_24_ftz_##machine },                                 \
                [FLOAT_DOUBLE] = { multiply_add_double_##machine, multiply_add_double_ftz_##machine },                         \
        };

MULTIPLY_ADD_ALL(anywhere, )
#if defined(__x86_64__)
MULTIPLY_ADD_ALL(avx2, __attribute__((target("avx2"))))
#endif

void float_multiply_add(uint32_t *restrict psum, const FloatLane *lanes, unsigned n_blocks, FloatWidth width, bool ftz) {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
                multiply_add_avx2[width][ftz](psum, lanes, n_blocks);
                return;
        }
#endif
        multiply_add_anywhere[width][ftz](psum, lanes, n_blocks);
}

/* Where few numbers move the first product mostly meets +0. */
void float_multiply_add_at(uint32_t *restrict psum, const FloatLane *lanes, const uint16_t *at, unsigned n, FloatWidth width, bool ftz) {
        FloatLane a = lanes[0], b = lanes[width == FLOAT_DOUBLE ? 1 : 0];

        for (unsigned i = 0; i < n; i++) {
                uint32_t *sum = &psum[at[i]], product = lanes_multiply(width, ftz, a, b, i);

                if (*sum == 0)
                        *sum = product == FLOAT_SIGN ? 0 : product;
                else
                        *sum = lanes_add(ftz, *sum, product);
        }
}
