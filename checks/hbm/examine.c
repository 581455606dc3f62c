/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/examine.h"

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/hbm/replay.h"

#define EXAMINED_MAX    32u /* of a stack; what is more is told as it was first seen */
#define REPEATS         16u /* over the bank */
#define WIDE_REPEATS    2u  /* over all that was tested */
#define WIDE_MAX        4u  /* defects of a stack for which that is done */
#define SOFT_ELEMENTS   2   /* elements in which one flip can be read before it is written over */
#define STRIPES         8u  /* bits of a bit's number */
#define TRIES           2u  /* of a replay in a search: the first may begin with other data in memory */

typedef struct Examination {
        const HbmDiagnosis *diagnosis;
        HbmDefect *defect;
        const HbmPass *pass;
        HbmReplay replay;
        WireBox bank;     /* as far as it was tested */
        WireBox region;   /* in which it reproduces */
        uint64_t failed;  /* how it does */
} Examination;

/* The first march pass it failed in; NULL where it was no plain march. */
static const HbmPass *pass_of(const HbmDiagnosis *diagnosis, const HbmDefect *defect) {
        for (unsigned i = 0; i < diagnosis->n_passes; i++) {
                const HbmPass *pass = &diagnosis->passes[i];

                if (defect->passes != 0 && !(defect->passes >> i & 1))
                        continue;
                if (pass->ran && pass->march && (pass->phase == MARCH_PHASE_MARCH || pass->phase == MARCH_PHASE_ADDRESS) && !pass->ecc)
                        return pass;
        }
        return NULL;
}

static int repeat(Examination *x, const WireBox *region, unsigned n_repeats, unsigned *ret_failed, unsigned *ret_trials) {
        uint64_t all = 0, common = UINT64_MAX;
        unsigned n_failed = 0;
        HbmEcho echo;
        int r;

        /* Once before it counts: what memory held may matter to the first reads. */
        for (unsigned i = 0; i <= n_repeats; i++) {
                r = hbm_replay(&x->replay, region, &echo);
                if (r < 0)
                        return r;
                if (i == 0)
                        continue;
                all |= echo.failed;
                common &= echo.failed;
                n_failed += (unsigned) __builtin_popcountll(echo.failed);
        }

        x->region = *region;
        x->failed = common;
        *ret_failed = n_failed;
        *ret_trials = n_repeats * (unsigned) __builtin_popcountll(all);
        return 0;
}

/* ---- who disturbs it ---- */

/* 1 where the replay over REGION fails as before. */
static int fails_alike(const Examination *x, const HbmReplay *replay, const WireBox *region) {
        HbmEcho echo;
        int r;

        for (unsigned i = 0; i < TRIES; i++) {
                r = hbm_replay(replay, region, &echo);
                if (r < 0)
                        return r;
                if (echo.failed == x->failed)
                        return 1;
        }
        return 0;
}

/* Halves REGION, slowest axis first, until it is one access. 0: none of two halves does it alone. */
static int search(const Examination *x, WireBox *region) {
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

/* How the victim fails after the last of a few replays over ACCESS: what memory held before does not matter any more. */
static int settled(const HbmReplay *replay, const WireBox *access, uint64_t *ret) {
        HbmEcho echo = {};

        for (unsigned i = 0; i < TRIES; i++) {
                int r = hbm_replay(replay, access, &echo);

                if (r < 0)
                        return r;
        }

        *ret = echo.failed;
        return 0;
}

/*
 * Bit p of its number, with a march under which the aggressor's data make a difference: those of stripe p leave the bits alone in
 * which it is 0, and invert those in which it is 1. 0: this march does not tell.
 */
static int search_bit(HbmReplay replay, const WireBox *access, int *ret) {
        uint64_t plain, inverted, failed;
        int bit = 0, r;

        r = settled(&replay, access, &plain);
        replay.region_inverted = true;
        if (r >= 0)
                r = settled(&replay, access, &inverted);
        if (r < 0)
                return r;
        if (plain == inverted)
                return 0;

        replay.region_inverted = false;
        for (unsigned p = 0; p < STRIPES; p++) {
                replay.region_field = (MemoryField) { .background = MEMORY_BACKGROUND_BIT_STRIPE, .parameter = (uint8_t) p };
                r = settled(&replay, access, &failed);
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
static int name_bit(const Examination *x, const WireBox *access) {
        static const char *const telling[] = {
                "any(w0);any(r0);up(r0,w1);any(r1);up(r1,w0);any(r0)",
                "any(w0);any(r0);dn(r0,w1);any(r1);dn(r1,w0);any(r0)",
                "any(w0);any(r0);up(r0,w0);any(r0);dn(r0,w0);any(r0);any(w1);any(r1);up(r1,w1);any(r1);dn(r1,w1);any(r1)",
        };
        HbmReplay replay = x->replay;
        March march;
        int r;

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
static int anybody_does(const Examination *x, const WireBox *access) {
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

static int name_aggressor(Examination *x) {
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

/* Whether the cell fails alone under stripe P (or STRIPES: solid), in either polarity; -1: in one of the two. */
static int fails_under(const Examination *x, unsigned p, int *ret) {
        HbmReplay replay = x->replay;
        bool fails[2];
        HbmEcho echo;
        int r;

        replay.march = x->diagnosis->passes[0].march ? x->diagnosis->passes[0].march : x->pass->march;
        replay.field = (MemoryField) { .background = MEMORY_BACKGROUND_SOLID };
        if (p < STRIPES)
                replay.field = (MemoryField) { .background = MEMORY_BACKGROUND_BIT_STRIPE, .parameter = (uint8_t) p };

        for (unsigned i = 0; i < 2; i++) {
                replay.inverted = i;
                r = hbm_replay(&replay, NULL, &echo);
                if (r < 0)
                        return r;
                fails[i] = echo.bits.bytes[x->defect->bit / 8] >> (x->defect->bit % 8) & 1;
        }
        *ret = fails[0] == fails[1] ? fails[0] : -1;
        return 0;
}

/* A bit of the same access disturbs only where both hold the same data, or only where they do not: which stripes tell. */
static int name_neighbour(Examination *x) {
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

/* ---- one defect ---- */

static int explain(Examination *x) {
        HbmDefect *defect = x->defect;
        MarchSyndrome syndrome;
        HbmEcho alone;
        int r;

        if (defect->kind != HBM_DEFECT_CELL)
                return 0;

        if (x->pass->field.background == MEMORY_BACKGROUND_SOLID) {
                march_syndrome_explain(x->pass->march, x->failed, false, &syndrome);
                (void) snprintf(defect->detail, sizeof(defect->detail), "%s", syndrome.text);
        }

        for (unsigned i = 0; i < TRIES; i++) {
                r = hbm_replay(&x->replay, NULL, &alone);
                if (r < 0)
                        return r;
        }
        return alone.failed == x->failed ? name_neighbour(x) : name_aggressor(x);
}

/* It did not fail again where it is; may it do so with all that was tested? */
static int look_wider(Examination *x, unsigned *n_wide) {
        HbmDefect *defect = x->defect;
        bool once = __builtin_popcountll(defect->passes) == 1 && __builtin_popcount(defect->elements) <= SOFT_ELEMENTS;
        unsigned n_trials = 0, n_failed = 0;
        int r;

        if (*n_wide < WIDE_MAX) {
                (*n_wide)++;
                r = repeat(x, x->diagnosis->box, WIDE_REPEATS, &n_failed, &n_trials);
                if (r < 0)
                        return r;
                if (n_trials > 0) {
                        defect->n_failed = n_failed;
                        defect->n_trials = n_trials;
                }
                if (n_trials > 0 && n_failed == n_trials)
                        return explain(x);
        }

        defect->kind = once && n_failed == 0 ? HBM_DEFECT_SOFT_ERROR : HBM_DEFECT_INTERMITTENT;
        return 0;
}

static unsigned reads_of(const March *march) {
        unsigned n = 0;

        for (unsigned i = 0; i < march->n_elements; i++)
                for (unsigned k = 0; k < march->elements[i].n_ops; k++)
                        n += !(march->elements[i].ops[k] & MARCH_WRITE);
        return n;
}

static int examine(Examination *x, unsigned *n_wide) {
        HbmDefect *defect = x->defect;
        int r;

        r = repeat(x, &x->bank, REPEATS, &defect->n_failed, &defect->n_trials);
        if (r < 0)
                return r;

        if (defect->n_trials == 0) {
                defect->n_trials = REPEATS * reads_of(x->pass->march);
                return look_wider(x, n_wide);
        }
        if (defect->n_failed < defect->n_trials) {
                defect->kind = HBM_DEFECT_INTERMITTENT;
                return 0;
        }
        return explain(x);
}

static bool is_examined(const HbmDefect *defect) {
        return defect->kind == HBM_DEFECT_CELL || defect->kind == HBM_DEFECT_WORD;
}

int hbm_examine(const HbmDiagnosis *diagnosis, HbmCase *c, size_t first) {
        HbmProbe limits = { .geometry = diagnosis->geometry, .box = diagnosis->box };
        unsigned n = 0, n_wide = 0;
        int r;

        for (size_t i = first; i < c->defects->n && n < EXAMINED_MAX; i++) {
                HbmDefect *defect = &c->defects->defects[i];
                Examination x = { .diagnosis = diagnosis, .defect = defect, .pass = pass_of(diagnosis, defect) };
                uint32_t linear = memory_geometry_linear(diagnosis->geometry, defect->at);

                /* Under a stuck lane every read of the access fails. */
                if (!is_examined(defect) || !x.pass || c->lanes[linear / hbm_bank_accesses(c->geometry) / hbm_case_banks_of_part(c)] ||
                    !hbm_probe_box(&limits, linear / hbm_bank_accesses(diagnosis->geometry), 1, &x.bank))
                        continue;

                x.replay = (HbmReplay) {
                        .geometry     = diagnosis->geometry,
                        .batch        = diagnosis->batch,
                        .stack        = c->stack,
                        .target       = linear,
                        .march        = x.pass->march,
                        .order        = x.pass->order,
                        .pause_nsec   = (uint64_t) (x.pass->paused_sec * 1e9),
                        .field        = x.pass->field,
                        .region_field = x.pass->field,
                };
                r = examine(&x, &n_wide);
                if (r < 0)
                        return r;
                n++;
        }

        return 0;
}
