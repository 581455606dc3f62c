/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Addresses that reach the wrong place of their bank, from the tags that came back (tags.h). Of two addresses x and y:
 *
 *  A, B   x reaches no cell: it reads one value whatever is written. Whether y writes the cell of x as well can be seen only where
 *         x now and then reaches its cell.
 *  C      both reach the cell of y: each reads what was written last through either. Which of them is wrong cannot be seen;
 *         the later one is named. Two rows side by side are a short of their word lines; there the earlier one is named.
 *  D      x reaches the cells of both and y its own: written last, x is read through y; written first, it reads as AND or OR.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/classify.h"

#define SPEAKERS    4u /* columns of a row that are tried: more than may be wrong for a reason of their own */
#define ROW_ALIASES 2u /* a row is meant where at least 1 of so many columns comes from the same other row */

/* A row or an access whose tags came back from elsewhere. */
typedef struct Unit {
        uint32_t linear; /* of its first access */
        uint32_t partner;
        bool row;
        HbmTagReading reading;
        bool is_or;
        bool constant; /* now and then it reads one value */
        bool varies;   /* from turn to turn */
        bool done;
        unsigned n_astray, n_turns;
} Unit;

typedef struct Units {
        Unit *units;
        size_t n;
} Units;

/* The telling one of the two: another's data over a mixture over a constant. */
static HbmTagReading reading_of(const HbmAlias *alias) {
        static const HbmTagReading telling[] = { HBM_TAG_OTHER, HBM_TAG_MIXED };

        for (unsigned i = 0; i < ELEMENTS(telling); i++)
                if (alias->readings[0] == telling[i] || alias->readings[1] == telling[i])
                        return telling[i];
        return alias->readings[0] == alias->readings[1] ? alias->readings[0] : HBM_TAG_NOISE;
}

/*
 * Aliases FIRST … END - 1 are of one row. One that speaks for the row as a whole, where most of its columns have the same reading and
 * partner row: some may be wrong for a reason of their own. NULL: each is for itself.
 */
static const HbmAlias *speaker_of(const HbmCase *c, size_t first, size_t end) {
        const HbmAlias *aliases = c->aliases->aliases;
        uint32_t columns = (uint32_t) (c->box->last[HBM_COLUMN] - c->box->first[HBM_COLUMN] + 1);

        for (size_t k = first; k < end && k < first + SPEAKERS; k++) {
                uint32_t distance = aliases[k].partner - aliases[k].linear, n = 0;

                for (size_t i = first; i < end; i++)
                        n += reading_of(&aliases[i]) == reading_of(&aliases[k]) &&
                             aliases[i].partner - aliases[i].linear == distance;
                if (n >= 2 && ROW_ALIASES * n >= columns && distance % c->geometry->size[HBM_COLUMN] == 0)
                        return &aliases[k];
        }

        return NULL;
}

static void add_unit(Units *units, const HbmCase *c, const HbmAlias *alias, bool row) {
        uint32_t columns = c->geometry->size[HBM_COLUMN], partner = alias->partner;
        uint32_t part = alias->linear / hbm_bank_accesses(c->geometry) / hbm_case_banks_of_part(c);
        HbmTagReading reading = reading_of(alias);

        /* Whatever is not another's data does not prove a decoder. */
        if (reading == HBM_TAG_MIXED && !hbm_alias_find_mixed(c->geometry, alias, c->lanes[part], &partner))
                reading = HBM_TAG_NOISE;
        units->units[units->n++] = (Unit) {
                .linear   = row ? alias->linear / columns * columns : alias->linear,
                .partner  = row ? partner / columns * columns : partner,
                .row      = row,
                .reading  = reading,
                .constant = (alias->seen[0] | alias->seen[1]) >> HBM_TAG_CONSTANT & 1,
                .varies   = __builtin_popcount(alias->seen[0]) > 1 || __builtin_popcount(alias->seen[1]) > 1,
                .is_or    = alias->is_or,
                .n_astray = alias->n_astray,
                .n_turns  = alias->n_turns,
        };
}

static void gather(const HbmCase *c, size_t first, size_t end, Units *units) {
        uint32_t columns = c->geometry->size[HBM_COLUMN];
        const HbmAlias *aliases = c->aliases->aliases;

        for (size_t i = first, last; i < end; i = last) {
                const HbmAlias *speaker;

                for (last = i; last < end && aliases[last].linear / columns == aliases[i].linear / columns; last++)
                        ;
                speaker = speaker_of(c, i, last);
                if (speaker)
                        add_unit(units, c, speaker, true);
                else
                        for (size_t k = i; k < last; k++)
                                add_unit(units, c, &aliases[k], false);
        }
}

static Unit *find_unit(const Units *units, uint32_t linear, bool row) {
        for (size_t i = 0; i < units->n; i++)
                if (units->units[i].linear == linear && units->units[i].row == row)
                        return &units->units[i];
        return NULL;
}

/* Takes the failures of a unit out and returns the first. */
static MarchFailure *take(const HbmCase *c, HbmBank *bank, uint32_t linear, bool row, uint64_t *n, uint64_t *n_reads) {
        uint32_t end = linear + (row ? c->geometry->size[HBM_COLUMN] : 1);
        MarchFailure *first = NULL;

        for (size_t i = 0; i < bank->n; i++) {
                MarchFailure *failure = bank->failures[i];

                if (!failure || failure->linear < linear || failure->linear >= end)
                        continue;
                first = first ? first : failure;
                (*n)++;
                *n_reads += failure->count;
                bank->failures[i] = NULL;
        }

        return first;
}

/* X and, where it is known, its PARTNER are one defect. */
static int add_decoder(HbmCase *c, HbmBank *bank, const Unit *x, bool has_partner, uint32_t partner, char class) {
        uint64_t n = 0, n_reads = 0;
        MarchFailure *failure = take(c, bank, x->linear, x->row, &n, &n_reads), *other = NULL;
        HbmDefectKind kind = HBM_DEFECT_DECODER;
        uint32_t columns = c->geometry->size[HBM_COLUMN];
        int r;

        if (has_partner)
                other = take(c, bank, partner, x->row, &n, &n_reads);
        if (class == 'C' && x->row && (x->linear == partner + columns || partner == x->linear + columns))
                kind = HBM_DEFECT_WORDLINE_SHORT;

        r = hbm_case_add(c, kind, failure ? failure : other, x->linear, x->row ? HBM_ROW : HBM_COLUMN, -1);
        if (r < 0)
                return r;
        if (x->varies) {
                hbm_case_newest(c)->n_failed = x->n_astray;
                hbm_case_newest(c)->n_trials = x->n_turns;
        }
        hbm_case_newest(c)->class = class;
        hbm_case_newest(c)->value = x->is_or;
        hbm_case_newest(c)->has_partner = has_partner;
        memory_geometry_at(c->geometry, has_partner ? partner : x->linear, hbm_case_newest(c)->partner);
        hbm_case_newest(c)->n_accesses = n;
        hbm_case_newest(c)->n_reads = n_reads;
        return 0;
}

/* It reads one value, and another's data where that is away. */
static bool is_class_b(const Unit *x) {
        return x->reading == HBM_TAG_OTHER && x->constant;
}

/* Whether anything of the unit fails that is not explained yet. */
static bool is_left(const HbmCase *c, const HbmBank *bank, const Unit *x) {
        uint32_t n = x->row ? c->geometry->size[HBM_COLUMN] : 1;

        for (size_t i = 0; i < bank->n; i++)
                if (bank->failures[i] && bank->failures[i]->linear - x->linear < n)
                        return true;
        return false;
}

/* What comes and goes may by chance show in every turn of one of the two. */
static void share_turns(Unit *x, Unit *y) {
        Unit *from = x->varies ? x : y, *to = x->varies ? y : x;

        if (to->varies || !from->varies)
                return;
        to->varies = true;
        to->n_astray = from->n_astray;
        to->n_turns = from->n_turns;
}

static int judge_unit(HbmCase *c, HbmBank *bank, const Units *units, Unit *x) {
        bool another = x->reading == HBM_TAG_OTHER || x->reading == HBM_TAG_MIXED;
        Unit *y = another ? find_unit(units, x->partner, x->row) : NULL;
        uint32_t bank_accesses = hbm_bank_accesses(c->geometry);

        x->done = true;
        if (y)
                share_turns(x, y);
        if (!is_left(c, bank, x))
                return 0;
        if (x->reading == HBM_TAG_CONSTANT && !x->row)
                return add_decoder(c, bank, x, false, 0, 'A');
        if (!another || x->partner / bank_accesses != bank->linear / bank_accesses)
                return 0;
        if (!y || (x->reading == HBM_TAG_MIXED && y->reading != HBM_TAG_MIXED))
                return add_decoder(c, bank, x, true, x->partner, x->reading == HBM_TAG_MIXED ? 'D' : is_class_b(x) ? 'B' : 'C');

        y->done = true;
        if (is_class_b(x))
                return add_decoder(c, bank, x, true, y->linear, 'B');
        if (y->reading == HBM_TAG_MIXED && x->reading == HBM_TAG_OTHER)
                return add_decoder(c, bank, y, true, x->linear, 'D');
        if (x->linear > y->linear) {
                Unit *later = x;

                x = y;
                y = later;
        }
        if (x->row && y->linear == x->linear + c->geometry->size[HBM_COLUMN])
                return add_decoder(c, bank, x, true, y->linear, 'C');
        return add_decoder(c, bank, y, true, x->linear, 'C');
}

int hbm_bank_find_aliases(HbmCase *c, HbmBank *bank) {
        uint32_t bank_accesses = hbm_bank_accesses(c->geometry);
        const HbmAliases *aliases = c->aliases;
        size_t first = 0, end;
        Units units = {};
        int r = 0;

        while (aliases && first < aliases->n && aliases->aliases[first].linear < bank->linear)
                first++;
        for (end = first; aliases && end < aliases->n && aliases->aliases[end].linear - bank->linear < bank_accesses; end++)
                ;
        if (end == first)
                return 0;

        units.units = calloc(end - first, sizeof(Unit));
        if (!units.units)
                return -ENOMEM;
        gather(c, first, end, &units);

        /* What names its partner first: it explains the partner too. */
        for (unsigned constant = 0; constant < 2; constant++)
                for (size_t i = 0; r >= 0 && i < units.n; i++)
                        if (!units.units[i].done && (units.units[i].reading == HBM_TAG_OTHER) == !constant)
                                r = judge_unit(c, bank, &units, &units.units[i]);

        free(units.units);
        hbm_bank_take_out(bank);
        return r;
}
