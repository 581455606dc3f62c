/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/diagnose/aggressor.h"

#include <string.h>
#include <sys/param.h>

#define STRIPES 8u /* bits of a bit's number */

/* 1 where the replay over REGION fails as before. */
static int fails_alike(const HbmExamination *x, const HbmReplay *replay, const WireBox *region) {
        HbmEcho echo;
        int r;

        for (unsigned i = 0; i < HBM_REPLAY_TRIES; i++) {
                r = hbm_replay(replay, region, &echo);
                if (r < 0)
                        return r;
                if (echo.failed == x->failed)
                        return 1;
        }
        return 0;
}

/* Halves REGION, slowest axis first, until it is one access. 0: none of two halves does it alone. */
static int search(const HbmExamination *x, WireBox *region) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                while (region->first[axis] < region->last[axis]) {
                        uint16_t middle = (uint16_t) ((region->first[axis] + region->last[axis]) / 2);
                        WireBox low = *region, high = *region;
                        int r;

                        low.last[axis] = middle;
                        high.first[axis] = (uint16_t) (middle + 1);
                        r = fails_alike(x, &x->replay, &low);
                        if (r > 0) {
                                *region = low;
                                continue;
                        }
                        if (r == 0)
                                r = fails_alike(x, &x->replay, &high);
                        if (r <= 0)
                                return r;
                        *region = high;
                }

        return 1;
}

/*
 * Bit p of its number, with a march under which the aggressor's data make a difference: those of stripe p leave the bits alone in
 * which it is 0, and invert those in which it is 1. 0: this march does not tell.
 */
static int search_bit(HbmReplay replay, const WireBox *access, int *ret) {
        uint64_t plain, inverted, failed;
        int bit = 0, r;

        r = hbm_replay_settled(&replay, access, &plain);
        replay.region_inverted = true;
        if (r >= 0)
                r = hbm_replay_settled(&replay, access, &inverted);
        if (r < 0)
                return r;
        if (plain == inverted)
                return 0;

        replay.region_inverted = false;
        for (unsigned p = 0; p < STRIPES; p++) {
                replay.region_field = (MemoryField) { .background = MEMORY_BACKGROUND_BIT_STRIPE, .parameter = (uint8_t) p };
                r = hbm_replay_settled(&replay, access, &failed);
                if (r < 0)
                        return r;
                if (failed != plain && failed != inverted)
                        return 0;
                bit |= (failed == inverted) << p;
        }

        *ret = bit;
        return 1;
}

/* The march it failed in, and others that read after every change. */
static int name_bit(const HbmExamination *x, const WireBox *access) {
        static const char *const telling[] = {
                "any(w0);any(r0);up(r0,w1);any(r1);up(r1,w0);any(r0)",
                "any(w0);any(r0);dn(r0,w1);any(r1);dn(r1,w0);any(r0)",
                "any(w0);any(r0);up(r0,w0);any(r0);dn(r0,w0);any(r0);any(w1);any(r1);up(r1,w1);any(r1);dn(r1,w1);any(r1)",
        };
        HbmReplay replay = x->replay;
        March march;
        int r;

        replay.before = NULL;
        r = search_bit(replay, access, &x->defect->partner_bit);
        for (unsigned i = 0; r == 0 && i < ELEMENTS(telling); i++) {
                r = march_parse(telling[i], &march, NULL, NULL);
                if (r < 0)
                        return r;
                replay.march = &march;
                r = search_bit(replay, access, &x->defect->partner_bit);
        }

        return r < 0 ? r : 0;
}

/*
 * Whether any access does what this one does. Two operations in a row fail more often alone, where the end of an element and the
 * start of the next are such too, and as before as soon as anything comes between.
 */
static int anybody_does(const HbmExamination *x, const WireBox *access) {
        WireBox other = x->bank;
        int r = 0;

        for (unsigned i = 0; r == 0 && i < 2; i++) {
                for (unsigned axis = HBM_ROW; axis < _MEMORY_AXIS_MAX; axis++) {
                        uint16_t first = x->bank.first[axis], last = x->bank.last[axis], at = i ? last : first;

                        while (at != (i ? first : last) && (at == access->first[axis] || at == x->defect->at[axis]))
                                at = (uint16_t) (i ? at - 1 : at + 1);
                        if (at == access->first[axis] || at == x->defect->at[axis])
                                return 0;
                        other.first[axis] = other.last[axis] = at;
                }
                r = fails_alike(x, &x->replay, &other);
        }
        return r;
}

int hbm_aggressor_name(HbmExamination *x) {
        WireBox region = x->region;
        int r;

        r = search(x, &region);
        if (r <= 0)
                return r;
        r = anybody_does(x, &region);
        if (r != 0)
                return MIN(r, 0);

        x->defect->has_partner = true;
        memcpy(x->defect->partner, region.first, sizeof(x->defect->partner));
        if (x->pass->field.background != MEMORY_BACKGROUND_SOLID)
                return 0;
        return name_bit(x, &region);
}

static const March *first_march(const HbmExamination *x) {
        for (unsigned i = 0; i < x->diagnosis->n_passes; i++)
                if (x->diagnosis->passes[i].march && !x->diagnosis->passes[i].fill)
                        return x->diagnosis->passes[i].march;
        return x->pass->march;
}

/*
 * Whether the cell fails alone under stripe P (or STRIPES: solid), in either polarity, after the same data; -1: in one of the
 * two.
 */
static int fails_under(const HbmExamination *x, unsigned p, int *ret) {
        HbmReplay replay = x->replay;
        bool fails[2];
        HbmEcho echo = {};
        int r;

        replay.before = NULL;
        replay.march = first_march(x);
        replay.field = (MemoryField) { .background = MEMORY_BACKGROUND_SOLID };
        if (p < STRIPES)
                replay.field = (MemoryField) { .background = MEMORY_BACKGROUND_BIT_STRIPE, .parameter = (uint8_t) p };

        for (unsigned i = 0; i < 2; i++) {
                replay.inverted = i;
                for (unsigned k = 0; k < HBM_REPLAY_TRIES; k++) {
                        r = hbm_replay(&replay, NULL, &echo);
                        if (r < 0)
                                return r;
                }
                fails[i] = echo.bits.bytes[x->defect->bit / 8] >> (x->defect->bit % 8) & 1;
        }
        *ret = fails[0] == fails[1] ? fails[0] : -1;
        return 0;
}

/* It disturbs only where both hold the same data, or only where they do not: which stripes tell. */
int hbm_aggressor_name_bit(HbmExamination *x) {
        int solid, mask = 0, r;

        r = fails_under(x, STRIPES, &solid);
        if (r < 0 || solid < 0)
                return r;

        for (unsigned p = 0; p < STRIPES; p++) {
                int fails;

                r = fails_under(x, p, &fails);
                if (r < 0 || fails < 0)
                        return r;
                mask |= (fails != solid) << p;
        }

        if (mask == 0)
                return 0;
        x->defect->has_partner = true;
        memcpy(x->defect->partner, x->defect->at, sizeof(x->defect->partner));
        x->defect->partner_bit = x->defect->bit ^ mask;
        return 0;
}
