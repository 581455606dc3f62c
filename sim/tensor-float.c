/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "sim/tensor-float.h"

Bf16Parts bf16_parts(uint16_t x) {
        uint32_t sign = (uint32_t) (x & 0x8000) << 16, fraction = x & 0x7f, field = x >> 7 & 0xff;
        int32_t scale = (int32_t) field - 134;

        if (field > 0)
                return (Bf16Parts){ sign | fraction | 0x80, scale };
        if (fraction == 0)
                return (Bf16Parts){ sign, 0 };

        for (scale = -133; fraction < 0x80; scale--)
                fraction <<= 1;

        return (Bf16Parts){ sign | fraction, scale };
}

uint32_t float_multiply(uint16_t a, uint16_t b) {
        bool a_is_nan = (a & 0x7fff) > 0x7f80, b_is_nan = (b & 0x7fff) > 0x7f80;

        if (bf16_is_finite(a) && bf16_is_finite(b)) {
                Bf16Parts x = bf16_parts(a), y = bf16_parts(b);

                return float_multiply_parts(x.significand, x.scale, y.significand, y.scale);
        }

        if (a_is_nan || b_is_nan || bf16_is_zero(a) || bf16_is_zero(b))
                return FLOAT_NAN;

        return FLOAT_INFINITY | (uint32_t) ((a ^ b) & 0x8000) << 16;
}

/* The same loop for every machine and, where there are variable shifts of vectors, for that one: asked at
 * run time. */
#define MULTIPLY_ADD_BODY                                                                                   \
        for (; n_blocks > 0; n_blocks--) {                                                                  \
                for (size_t i = 0; i < FLOAT_BLOCK; i++)                                                    \
                        psum[i] = float_add(psum[i], float_multiply_parts(w.significand, w.scale,           \
                                                                          significands[i], scales[i]));     \
                psum += FLOAT_BLOCK;                                                                        \
                significands += FLOAT_BLOCK;                                                                \
                scales += FLOAT_BLOCK;                                                                      \
        }

static void multiply_add_anywhere(uint32_t *restrict psum, const uint32_t *restrict significands,
                                  const int32_t *restrict scales, unsigned n_blocks, Bf16Parts w) {
        MULTIPLY_ADD_BODY
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_add_avx2(uint32_t *restrict psum,
                                                              const uint32_t *restrict significands,
                                                              const int32_t *restrict scales,
                                                              unsigned n_blocks, Bf16Parts w) {
        MULTIPLY_ADD_BODY
}
#endif

void float_multiply_add(uint32_t *restrict psum, const uint32_t *restrict significands,
                        const int32_t *restrict scales, unsigned n_blocks, Bf16Parts w) {
#if defined(__x86_64__)
        if (__builtin_cpu_supports("avx2")) {
                multiply_add_avx2(psum, significands, scales, n_blocks, w);
                return;
        }
#endif
        multiply_add_anywhere(psum, significands, scales, n_blocks, w);
}
