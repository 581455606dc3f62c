/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Particles: soft-error flips stored bits once, and sound stacks have such hits and corrected errors now and then (noise).
 *
 * Shapes after a beam test of HBM2 (Sullivan et al., MICRO 2021): three in four are a single bit, one in five lies within one byte, the
 * rest on one pin or in one beat of the burst. Of a byte, pin or beat at least two bits flip, each with probability one half.
 *
 * Noise is two Poisson processes per stack in device time. Their events are due at times that hang on nothing but seed and number, and
 * happen at the start of the first command behind them. At most EVENTS_MAX happen at one command; what is more is dropped.
 */

#include <math.h>
#include <string.h>

#include "sim/hbm/hbm.h"
#include "sim/hbm/refresh.h"

#define EVENTS_MAX      4096u
#define DRAW_UPSET      0x7570
#define SALT_NOISE      0x6e6f6973u
#define NSEC_PER_HOUR   3.6e12

const char *const hbm_upset_words[] = { "bit", "byte", "pin", "beat", NULL };

/* Bit I of a shape around BIT: byte, the same pin in all beats, or one beat. */
static unsigned bit_of_shape(int shape, unsigned bit, unsigned i) {
        switch (shape) {
        case HBM_UPSET_BYTE:
                return bit / 8 * 8 + i;
        case HBM_UPSET_PIN:
                return bit % 32 + 32 * i;
        default:
                return bit / 32 * 32 + i;
        }
}

/* Flips of one hit on BIT. Returns how many. */
static size_t shape_flips(uint32_t linear, unsigned bit, int shape, uint64_t hash, MemoryFlip flips[static 32]) {
        unsigned n_bits = shape == HBM_UPSET_BEAT ? 32 : 8;
        size_t n = 0;

        if (shape == HBM_UPSET_BIT) {
                flips[0] = (MemoryFlip) { linear, (uint8_t) bit, MEMORY_FLIP_INVERT };
                return 1;
        }

        while (n < 2) {
                hash = memory_splitmix64(hash);
                n = 0;
                for (unsigned i = 0; i < n_bits; i++)
                        if (hash >> i & 1)
                                flips[n++] = (MemoryFlip) { linear, (uint8_t) bit_of_shape(shape, bit, i), MEMORY_FLIP_INVERT };
        }

        return n;
}

int hbm_upset_strike(Hbm *hbm, const HbmVictim *victim) {
        const HbmUpset *upset = victim->fault->parameters;
        uint64_t hash = draw_u64(hbm->memory.chip, &victim->fault->at, 0, DRAW_UPSET);
        unsigned bit = location_index(&victim->fault->at, LOCATION_BIT) >= 0 ? victim->bit : hash >> 56;
        MemoryFlip flips[32];

        return memory_flips_apply(&hbm->memory, flips,
                                  shape_flips(memory_shape_linear(&hbm->memory.shape, victim->at), bit, upset->shape, hash, flips));
}

/* ---- noise ---- */

static int random_strike(Hbm *hbm, uint64_t hash) {
        static const uint8_t twentieths[] = { [HBM_UPSET_BIT] = 15, [HBM_UPSET_BYTE] = 4 }; /* the rest: pin or beat */
        unsigned of_20 = (unsigned) (hash >> 40) % 20;
        int shape = of_20 < twentieths[HBM_UPSET_BIT] ? HBM_UPSET_BIT :
                    of_20 < twentieths[HBM_UPSET_BIT] + twentieths[HBM_UPSET_BYTE] ? HBM_UPSET_BYTE : hash >> 39 & 1 ? HBM_UPSET_PIN : HBM_UPSET_BEAT;
        uint64_t place = memory_splitmix64(hash);
        MemoryFlip flips[32];

        return memory_flips_apply(&hbm->memory, flips,
                                  shape_flips((uint32_t) ((place >> 32) * hbm->memory.shape.accesses >> 32), place & 0xff, shape, place, flips));
}

/* When the next event is due, RATE per chip and hour. Sets *ret_hash to what else there is to draw of this one. */
static void schedule(const Hbm *hbm, HbmNoise *noise, double rate, uint64_t salt, uint64_t *ret_hash) {
        uint64_t place = chip_index(hbm->memory.chip) * STACKS + hbm->memory.index;
        uint64_t hash = memory_splitmix64(chip_seed(hbm->memory.chip) ^ memory_splitmix64(SALT_NOISE ^ salt ^ place << 32));
        double wait;

        hash = memory_splitmix64(hash ^ noise->number++);
        *ret_hash = memory_splitmix64(hash);
        wait = -log1p(-hbm_uniform(hash)) * NSEC_PER_HOUR / (rate / STACKS);
        noise->nsec += wait < 9e18 - (double) noise->nsec ? (uint64_t) wait + 1 : UINT64_MAX - noise->nsec;
}

/* Runs the events of one process; STRIKE or, without, a corrected error. */
static int run_noise(Hbm *hbm, HbmNoise *noise, double rate, uint64_t salt, uint64_t nsec, int (*strike)(Hbm *hbm, uint64_t hash)) {
        uint64_t hash, corrected = 0;
        int r;

        if (!(rate > 0))
                return 0;
        if (noise->number == 0)
                schedule(hbm, noise, rate, salt, &noise->hash);

        for (unsigned i = 0; noise->nsec <= nsec; i++) {
                if (i >= EVENTS_MAX) {
                        noise->nsec = nsec;
                        schedule(hbm, noise, rate, salt, &noise->hash);
                        break;
                }
                hash = noise->hash;
                schedule(hbm, noise, rate, salt, &noise->hash);
                if (strike) {
                        r = strike(hbm, hash);
                        if (r < 0)
                                return r;
                } else
                        corrected++;
        }

        if (corrected > 0)
                chip_count(hbm->memory.chip, COUNTER_MEM_ECC_CORRECTED, hbm->memory.index, corrected);
        return 0;
}

int hbm_noise_until(Hbm *hbm, uint64_t nsec) {
        NoiseRates rates = chip_noise(hbm->memory.chip);
        int r;

        r = run_noise(hbm, &hbm->disturb.soft_errors, rates.soft_errors, 1, nsec, random_strike);
        if (r < 0)
                return r;
        return run_noise(hbm, &hbm->disturb.corrected, rates.corrected, 2, nsec, NULL);
}
