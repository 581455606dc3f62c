/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Where a part comes and goes each command meets it or not, so what is dead lies scattered over it; but that many banks do not
 * die there for as many reasons. Where banks were asked again and again (census.h) half of them must have shown: those of a part that fails
 * have by then, and a few dead banks stay what they are.
 */

#include "checks/memory/hbm/classify/classify.h"

#define BANKS       8u /* at least 1 of so many banks is dead */
#define BANKS_ASKED 2u /* the same after a census */
#define BANKS_MIN   4u
#define UNITS       3u /* in 3 of 4 of a stack's channels, of a die's parts */

/* How much of something is dead, and in how many of its units. */
typedef struct Flicker {
        uint32_t tested, dead;             /* banks */
        uint32_t units_tested, units_dead; /* with any of them */
} Flicker;

static Flicker count_flicker(const HbmCase *c, uint32_t first, uint32_t n, uint32_t unit) {
        Flicker flicker = {};

        for (uint32_t i = first; i < first + n; i += unit) {
                uint32_t tested = 0, dead = 0;

                for (uint32_t bank = i; bank < i + unit; bank++) {
                        tested += hbm_case_part_is_tested(c, bank / hbm_case_banks_of_part(c));
                        dead += hbm_case_bank_is_dead(c, bank);
                }
                flicker.tested += tested;
                flicker.dead += dead;
                flicker.units_tested += tested > 0;
                flicker.units_dead += dead > 0;
        }
        return flicker;
}

static bool has_many_banks(const HbmCase *c, const Flicker *flicker) {
        return flicker->dead >= BANKS_MIN && (c->asked ? BANKS_ASKED : BANKS) * flicker->dead >= flicker->tested;
}

int hbm_case_find_flickering_stack(HbmCase *c) {
        uint32_t n_banks = hbm_bank_count(c->geometry);
        Flicker channels = count_flicker(c, 0, n_banks, n_banks / c->geometry->size[HBM_CHANNEL]);

        if (channels.units_tested <= HBM_DIE_CHANNELS || 4 * channels.units_dead < UNITS * channels.units_tested ||
            !has_many_banks(c, &channels))
                return 0;
        return hbm_case_add_banks(c, HBM_DEFECT_STACK, 0, n_banks, HBM_CHANNEL);
}

bool hbm_case_die_flickers(const HbmCase *c, uint32_t first, uint32_t n, uint32_t sid) {
        uint32_t sids = c->geometry->size[HBM_SID], n_banks = hbm_case_banks_of_part(c);
        Flicker die = {}, others = {};

        for (uint32_t part = first; part < first + n; part++) {
                Flicker one = count_flicker(c, part * n_banks, n_banks, n_banks), *all = part % sids == sid ? &die : &others;

                all->tested += one.tested;
                all->dead += one.dead;
                all->units_tested += one.units_tested;
                all->units_dead += one.units_dead;
        }

        return die.units_tested > 1 && 4 * die.units_dead >= UNITS * die.units_tested && has_many_banks(c, &die) && die.dead > 2 * others.dead;
}

/* In more than one stack ID, so it is none of a die. */
static bool pseudo_channel_flickers(const HbmCase *c, uint32_t first, uint32_t n) {
        Flicker parts = count_flicker(c, first, n, hbm_case_banks_of_part(c));

        return parts.units_dead >= 2 && has_many_banks(c, &parts);
}

int hbm_case_find_flickering_channels(HbmCase *c) {
        uint32_t n_banks = hbm_bank_count(c->geometry), of_channel = n_banks / c->geometry->size[HBM_CHANNEL];
        uint32_t of_half = of_channel / c->geometry->size[HBM_PSEUDO_CHANNEL];
        int r;

        for (uint32_t first = 0; first < n_banks; first += of_channel) {
                uint32_t n = 0;

                for (uint32_t half = first; half < first + of_channel; half += of_half)
                        n += pseudo_channel_flickers(c, half, of_half);
                if (n < 2 || n < c->geometry->size[HBM_PSEUDO_CHANNEL])
                        continue;
                r = hbm_case_add_banks(c, HBM_DEFECT_CHANNEL, first, of_channel, HBM_CHANNEL);
                if (r < 0)
                        return r;
        }

        for (uint32_t half = 0; half < n_banks; half += of_half) {
                if (!pseudo_channel_flickers(c, half, of_half))
                        continue;
                r = hbm_case_add_banks(c, HBM_DEFECT_PSEUDO_CHANNEL, half, of_half, HBM_PSEUDO_CHANNEL);
                if (r < 0)
                        return r;
        }

        return 0;
}

