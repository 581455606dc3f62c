/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/classify/census.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define TURNS_MAX       96u  /* what acts in a fiftieth of the reads shows in one bank in 98 % of so many turns */
#define SILENCE         12.0 /* sightings missed */
#define NEARLY_ALL      10u  /* but for 1 bank of so many */
#define ROWS            4u   /* of a bank, side by side, in one command: few dead rows are not met alone */
#define COLUMNS         4u   /* of these */
#define LISTED          64u  /* failures of a bank that make it a suspect */
#define LISTED_COLUMNS  2u   /* over 1 of so many columns: else it is a column */
#define WIDE            64u  /* failing bits of an access that no cell explains */
#define ONCE            2u   /* elements of one pass in which it failed, and not again */
#define TURNS_IN_DOUBT  1536u /* of all parts together, until something shows again */
#define DEAD_ACCESSES   10u  /* or more than 1 of so many accesses, where it was counted */
#define LANES_PLAUSIBLE 16   /* more lanes that stand still at once are dead banks */

typedef struct Bank {
        bool dead, other;
        uint32_t lanes, ones; /* that stood still, and at 1 */
        bool seen;
} Bank;

typedef struct Part {
        bool tested, suspect, settled;
        unsigned turns, quiet; /* since a bank of it was seen first */
        unsigned n, seen;      /* banks */
        unsigned again, asked_again; /* of those seen: sightings, and turns, after the first */
} Part;

typedef struct Census {
        const HbmTagProbe *probe;
        HbmCase *c;
        HbmAliases *aliases;
        Bank *banks;
        Part *parts;
        uint32_t n_parts, banks_of_part;
        unsigned turn, n_asked;
} Census;

/* ---- who is asked ---- */

/* How long the box is along AXIS, or MAX. */
static unsigned tested(const HbmCase *c, MemoryAxis axis, unsigned max) {
        return MIN(c->box->last[axis] - c->box->first[axis] + 1u, max);
}

/* Failures FIRST … END - 1, of one bank, are many and lie in many columns. */
static bool list_is_suspect(const HbmCase *c, size_t first, size_t end) {
        uint64_t columns = 0;

        for (size_t i = first; i < end; i++)
                columns |= UINT64_C(1) << (c->failures[i].linear % c->geometry->size[HBM_COLUMN] % 64);
        return end - first >= LISTED && LISTED_COLUMNS * (uint32_t) __builtin_popcountll(columns) >= tested(c, HBM_COLUMN, 64);
}

/* Whether only LANES of it fail, and at least two beats of one. */
static bool is_of_a_lane(const MemoryData *bits) {
        uint32_t lanes = 0;

        for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                lanes |= (uint32_t) bits->bytes[k] << (8 * (k % 4));
        return __builtin_popcount(lanes) == 1 && memory_data_count(bits) > 1;
}

/*
 * A whole access, or a lane of it, that was wrong once, where its row is not: what is large and acts seldom is met in single reads beside the
 * marches.
 */
static void suspect_words(Census *census, size_t first, size_t end) {
        const HbmCase *c = census->c;
        uint32_t columns = c->geometry->size[HBM_COLUMN];

        for (size_t i = first, last; i < end; i = last) {
                for (last = i; last < end && c->failures[last].linear / columns == c->failures[i].linear / columns; last++)
                        ;
                for (size_t k = i; k < last && 2 * (last - i) < tested(c, HBM_COLUMN, columns); k++) {
                        const MarchFailure *failure = &c->failures[k];
                        uint32_t part = hbm_case_bank_of(c, failure) / census->banks_of_part;
                        MemoryData bits = memory_data_without(failure->bits, c->lanes[part]);

                        census->parts[part].suspect |=
                                __builtin_popcountll(failure->passes) <= 1 && __builtin_popcount(failure->elements) <= (int) ONCE &&
                                (memory_data_count(&bits) >= WIDE || is_of_a_lane(&bits));
                }
        }
}

static void suspect(Census *census) {
        const HbmCase *c = census->c;

        for (uint32_t bank = 0; bank < hbm_bank_count(c->geometry); bank++)
                if (c->tallies[bank].count > LISTED && DEAD_ACCESSES * c->tallies[bank].count > hbm_case_bank_accesses(c))
                        census->parts[bank / census->banks_of_part].suspect = true;

        for (size_t i = 0, end; i < c->n_failures; i = end) {
                uint32_t bank = hbm_case_bank_of(c, &c->failures[i]);

                for (end = i; end < c->n_failures && hbm_case_bank_of(c, &c->failures[end]) == bank; end++)
                        ;
                if (c->gone[bank])
                        continue;
                if (list_is_suspect(c, i, end))
                        census->parts[bank / census->banks_of_part].suspect = true;
                suspect_words(census, i, end);
        }
}

/* ---- what a turn shows ---- */

/* The answer of one bank after the NTH write of a turn. */
typedef struct Answer {
        unsigned n_wrong, n_other;
        uint32_t ones, zeros; /* lanes that stand still in all that is wrong */
        uint32_t differ;      /* lanes in which anything is wrong */
} Answer;

static Answer answer_of(const HbmAlias *aliases, size_t n, unsigned nth) {
        Answer answer = { .ones = UINT32_MAX, .zeros = UINT32_MAX };

        for (size_t i = 0; i < n; i++) {
                const HbmAlias *alias = &aliases[i];

                if (alias->readings[nth] == HBM_TAG_OWN)
                        continue;
                answer.n_wrong++;
                answer.n_other += alias->readings[nth] == HBM_TAG_OTHER;
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++) {
                        unsigned shift = 8 * (k % 4);
                        uint32_t got = alias->got[nth].bytes[k], wanted = alias->wanted[nth].bytes[k];

                        answer.ones &= got << shift | ~(UINT32_C(0xff) << shift);
                        answer.zeros &= ~(got << shift);
                        answer.differ |= (got ^ wanted) << shift;
                }
        }
        return answer;
}

/* A stuck lane agrees with a tag in all of its 8 beats by chance once in 256 times. */
static bool sees(Bank *bank, const Answer *answer, unsigned n_asked) {
        uint32_t lanes = answer->ones | answer->zeros;

        if (answer->n_wrong == 0)
                return false;
        if (2 * answer->n_wrong >= n_asked && __builtin_popcount(lanes) <= LANES_PLAUSIBLE && (answer->differ & ~lanes) == 0) {
                bank->lanes |= answer->differ;
                bank->ones |= answer->differ & answer->ones;
                return true;
        }
        if (answer->n_other > 0) {
                bank->other = true;
                return true;
        }
        if (answer->n_wrong < n_asked)
                return false;
        bank->dead = true;
        return true;
}

/* N tags of a bank that were not as they should be. */
static void judge_bank(Census *census, Part *part, Bank *bank, const HbmAlias *aliases, size_t n, bool *ret_new) {
        bool seen = false;

        for (unsigned nth = 0; nth < 2; nth++) {
                Answer answer = answer_of(aliases, n, nth);

                seen |= sees(bank, &answer, tested(census->c, HBM_ROW, ROWS) * tested(census->c, HBM_COLUMN, COLUMNS));
        }

        part->asked_again += bank->seen;
        part->again += bank->seen && seen;
        if (!seen || bank->seen)
                return;
        bank->seen = *ret_new = true;
        part->seen++;
}

/* ---- asking ---- */

static uint16_t anywhere(const Census *census, MemoryAxis axis, unsigned length, uint64_t random) {
        const WireBox *box = census->probe->box;
        unsigned n = box->last[axis] - box->first[axis] + 1u;

        return (uint16_t) (box->first[axis] + (n > length ? (unsigned) (random >> 16) % (n - length + 1) : 0));
}

/* One of each bank of a part, elsewhere in every turn. */
static size_t choose_pieces(const Census *census, uint32_t part, WireBox *pieces) {
        const HbmCase *c = census->c;
        size_t n = 0;

        for (uint32_t bank = part * census->banks_of_part; bank < (part + 1) * census->banks_of_part; bank++) {
                uint64_t random = memory_mix(census->probe->seed + census->turn * UINT64_C(0x10001) + bank);
                unsigned rows = tested(c, HBM_ROW, ROWS), columns = tested(c, HBM_COLUMN, COLUMNS);
                WireBox *piece = &pieces[n];

                memory_geometry_at(c->geometry, bank * hbm_bank_accesses(c->geometry), piece->first);
                piece->first[HBM_ROW] = anywhere(census, HBM_ROW, rows, random);
                piece->first[HBM_COLUMN] = anywhere(census, HBM_COLUMN, columns, memory_mix(random));
                memcpy(piece->last, piece->first, sizeof(piece->last));
                piece->last[HBM_ROW] = (uint16_t) (piece->first[HBM_ROW] + rows - 1);
                piece->last[HBM_COLUMN] = (uint16_t) (piece->first[HBM_COLUMN] + columns - 1);
                n += !c->gone[bank] && memory_box_includes(census->probe->box, piece->first);
        }
        return n;
}

/* How often a bank that was seen is seen again in a turn. */
static double rate_of(const Part *part) {
        return (part->again + 0.5) / (part->asked_again + 1);
}

static bool is_settled(const Part *part, double rate) {
        if (part->seen > 0)
                rate = rate_of(part);
        return part->turns >= TURNS_MAX || NEARLY_ALL * (part->n - part->seen) <= part->n ||
               (part->n - part->seen) * rate * part->quiet > SILENCE;
}

static void judge_turn(Census *census, uint32_t index, const HbmAliases *turn) {
        Part *part = &census->parts[index];
        uint32_t first = index * census->banks_of_part, accesses = hbm_bank_accesses(census->c->geometry);
        bool new = false;
        size_t at = 0;

        for (uint32_t bank = first; bank < first + census->banks_of_part; bank++) {
                size_t end = at;

                while (end < turn->n && turn->aliases[end].linear / accesses == bank)
                        end++;
                if (!census->c->gone[bank])
                        judge_bank(census, part, &census->banks[bank], turn->aliases + at, end - at, &new);
                at = end;
        }
        part->turns++;
        part->quiet = new ? 0 : part->quiet + 1;
}

static int keep_others(Census *census, const HbmAliases *turn) {
        int r;

        for (size_t i = 0; i < turn->n; i++)
                if (turn->aliases[i].partner != turn->aliases[i].linear) {
                        r = hbm_aliases_add(census->aliases, &turn->aliases[i]);
                        if (r < 0)
                                return r;
                }
        return 0;
}

static int ask_part(Census *census, uint32_t index, WireBox *pieces) {
        HbmProbe limits = { .geometry = census->c->geometry, .box = census->probe->box };
        HbmTagProbe probe = *census->probe;
        HbmAliases turn = {};
        size_t n = choose_pieces(census, index, pieces);
        WireBox box;
        int r;

        census->parts[index].n = (unsigned) n;
        if (n == 0 || !hbm_probe_box(&limits, index * census->banks_of_part, census->banks_of_part, &box)) {
                census->parts[index].settled = true;
                return 0;
        }

        probe.seed = memory_mix(census->probe->seed + census->turn);
        r = hbm_tags_of_pieces(&probe, &box, pieces, n, census->c->lanes, 1, &turn);
        if (r >= 0) {
                judge_turn(census, index, &turn);
                r = keep_others(census, &turn);
        }
        hbm_aliases_done(&turn);
        return r;
}

/* The lowest of the rates that are known well, for parts that have shown nothing; 0: nothing was seen at all. */
static double lowest_rate(const Census *census) {
        double rate = 0;

        for (uint32_t i = 0; i < census->n_parts; i++)
                if (census->parts[i].seen > 0 && (rate == 0 || rate_of(&census->parts[i]) < rate))
                        rate = rate_of(&census->parts[i]);
        return rate;
}

/* A turn over all parts that are not settled. 0: there are none. */
static int take_turn(Census *census, WireBox *pieces) {
        double rate = lowest_rate(census);
        unsigned n_asked = 0;
        int r;

        if (rate == 0 && census->n_asked >= TURNS_IN_DOUBT)
                return 0;
        for (uint32_t i = 0; i < census->n_parts; i++) {
                Part *part = &census->parts[i];

                if (!part->tested || part->settled || (rate == 0 && !part->suspect))
                        continue;
                if (part->turns > 0 && is_settled(part, rate)) {
                        part->settled = true;
                        continue;
                }
                r = ask_part(census, i, pieces);
                if (r < 0)
                        return r;
                n_asked++;
        }

        census->turn++;
        census->n_asked += n_asked;
        return n_asked > 0;
}

static void tell(const Census *census) {
        HbmCase *c = census->c;

        for (uint32_t bank = 0; bank < hbm_bank_count(c->geometry); bank++) {
                HbmBankTally *tally = &c->tallies[bank];

                c->dead[bank] = census->banks[bank].dead;
                if (census->banks[bank].dead)
                        *tally = (HbmBankTally) { .count = hbm_case_bank_accesses(c), .columns = UINT64_MAX };
                c->still[bank / census->banks_of_part] |= census->banks[bank].lanes;
                c->values[bank / census->banks_of_part] |= census->banks[bank].ones;
                if (census->banks[bank].lanes)
                        *tally = (HbmBankTally) { .count = hbm_case_bank_accesses(c), .columns = UINT64_MAX,
                                                  .lanes = tally->lanes | census->banks[bank].lanes };
        }
}

int hbm_census(const HbmTagProbe *probe, HbmCase *c, HbmAliases *aliases) {
        Census census = { .probe = probe, .c = c, .aliases = aliases, .banks_of_part = hbm_case_banks_of_part(c) };
        WireBox *pieces = calloc(census.banks_of_part, sizeof(WireBox));
        int r = -ENOMEM;

        census.n_parts = hbm_bank_count(c->geometry) / census.banks_of_part;
        census.banks = calloc(hbm_bank_count(c->geometry), sizeof(Bank));
        census.parts = calloc(census.n_parts, sizeof(Part));
        if (pieces && census.banks && census.parts) {
                for (uint32_t i = 0; i < census.n_parts; i++)
                        census.parts[i].tested = hbm_case_part_is_tested(c, i);
                suspect(&census);
                do
                        r = take_turn(&census, pieces);
                while (r > 0);
        }
        if (r >= 0) {
                hbm_aliases_sort(aliases);
                tell(&census);
                c->asked = census.n_asked > 0;
        }

        free(pieces);
        free(census.banks);
        free(census.parts);
        return r;
}
