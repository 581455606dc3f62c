/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/rounding/lane.h"

#include <string.h>

void lane_seed(Lane *lane, const LaneEffects *effects, unsigned engine, unsigned number, uint32_t seed, Seeding seeding) {
        if (effects->keeps & 1u << seeding)
                return;

        generator_seed(&lane->start, engine, effects->foreign ? effects->source : number, seed);
        for (unsigned i = 0; effects->foreign && i < effects->lag; i++)
                (void) generator_next(&lane->start);
        lane->now = lane->start;
        lane->drawn = 0;
}

static uint32_t lane_next(Lane *lane, const LaneEffects *effects) {
        uint32_t word;

        if (effects->locked)
                return lane->now.x[4] + lane->now.d;

        word = generator_next(&lane->now);
        lane->drawn++;
        if (effects->cycle > 0 && lane->drawn >= effects->cycle) {
                lane->now = lane->start;
                lane->drawn = 0;
        }
        return word;
}

static bool goes_up(const LaneEffects *effects, const Target *target, const Cut *cut, bool stochastic, uint32_t word) {
        bool up;

        if (!stochastic)
                return cut_goes_up_nearest(cut);
        up = cut_goes_up_stochastic(cut, word, rounding_field(effects, target, cut));
        return up != (effects->opposite && cut->sign && cut->fraction > 0);
}

static uint32_t round_number(const LaneEffects *effects, const Target *target, uint32_t bits, bool stochastic, uint32_t word) {
        uint32_t mantissa = (1u << target->mantissa_bits) - 1, exponent = ((1u << target->exponent_bits) - 1) << target->mantissa_bits;
        Cut cut = target_cut(target, bits);
        uint64_t kept = cut.kept + goes_up(effects, target, &cut, stochastic, word);
        uint32_t pattern;

        if (effects->carry_lost)
                kept = (cut.kept & ~(uint64_t) mantissa) | (kept & mantissa);
        pattern = cut_join(target, &cut, kept);
        return effects->flushed && !(pattern & exponent) ? cut.sign : pattern;
}

void lane_convert(Lane *lane, const LaneEffects *effects, const Conversion *conversion, const uint8_t *in, uint8_t *out) {
        bool asked = conversion->command.flags & CONVERT_STOCHASTIC, stochastic = asked ? !effects->never : effects->always;
        const Target *target = conversion->target;

        for (uint32_t i = 0; i < conversion->command.count; i++) {
                uint32_t bits, word = 0, pattern;

                memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
                if (asked || stochastic)
                        word = rounding_word(effects, lane_next(lane, effects));
                if (!target_is_special(target, bits, &pattern))
                        pattern = round_number(effects, target, bits, stochastic, word);
                target_store(target, (target_image(target, pattern) | effects->set) & ~effects->clear, out, i);
        }
}
