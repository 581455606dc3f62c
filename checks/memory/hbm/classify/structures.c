/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rules for what is larger than a bank's inside, by the tallies of banks: lanes and lines into dies, dies, stacks,
 * channels, pseudo-channels, banks.
 */

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/classify.h"

#define LANES_PLAUSIBLE  16  /* more stuck lanes in one pseudo-channel are dead banks */
#define LANE_ACCESSES    2u  /* a bank shows a lane where at least 1 of so many accesses fails */
#define LANE_AGREE       9u  /* of 10 failing banks must agree on a lane */
#define LANE_VOICES      256u /* failures that say what a lane is stuck at */
#define LANE_BANKS       16u /* and at least 1 of so many banks of a pseudo-channel */
#define TSV_BANKS        2u  /* for the line into one stack ID: 1 of so many of its banks */
#define DEAD_ACCESSES    10u /* a bank is dead where more than 1 of so many accesses fails */
#define DEAD_COLUMNS     16u /* over at least so many columns */
#define DEAD_BANKS       2u  /* a part is dead where at least 1 of so many of its banks is */
#define NEARLY_ALL       3u  /* of 4, after a census */
#define LINE_BANKS       4u  /* 1 of so many banks, and at least so many, show the same address line: others do now and then */

static uint32_t n_parts(const HbmCase *c) {
        return hbm_bank_count(c->geometry) / hbm_case_banks_of_part(c);
}

/* Of part (channel, pseudo-channel, SID) the index and back. */
static uint32_t part_at(const HbmCase *c, uint32_t channel, uint32_t pseudo_channel, uint32_t sid) {
        const uint16_t *size = c->geometry->size;

        return (channel * size[HBM_PSEUDO_CHANNEL] + pseudo_channel) * size[HBM_SID] + sid;
}

static uint32_t part_accesses(const HbmCase *c) {
        return hbm_case_banks_of_part(c) * hbm_bank_accesses(c->geometry);
}

bool hbm_case_part_is_tested(const HbmCase *c, uint32_t part) {
        uint32_t sid = part % c->geometry->size[HBM_SID],
                 channel = part / c->geometry->size[HBM_SID] / c->geometry->size[HBM_PSEUDO_CHANNEL],
                 pseudo_channel = part / c->geometry->size[HBM_SID] % c->geometry->size[HBM_PSEUDO_CHANNEL];

        return sid >= c->box->first[HBM_SID] && sid <= c->box->last[HBM_SID] && channel >= c->box->first[HBM_CHANNEL] &&
               channel <= c->box->last[HBM_CHANNEL] && pseudo_channel >= c->box->first[HBM_PSEUDO_CHANNEL] &&
               pseudo_channel <= c->box->last[HBM_PSEUDO_CHANNEL];
}

static uint64_t count_of(const HbmCase *c, uint32_t first, uint32_t n) {
        uint64_t count = 0;

        for (uint32_t i = first; i < first + n; i++)
                count += c->tallies[i].count;
        return count;
}

/* ---- lanes ---- */

typedef struct LaneVote {
        uint32_t votes[32];
        uint32_t parts[32]; /* bit per part in which a bank voted */
        uint32_t failing;
} LaneVote;

/* Which lanes the failing banks of a part agree on. */
static void vote(const HbmCase *c, uint32_t part, LaneVote *vote) {
        uint32_t n_banks = hbm_case_banks_of_part(c);

        for (uint32_t i = 0; i < n_banks; i++) {
                const HbmBankTally *tally = &c->tallies[part * n_banks + i];

                if (LANE_ACCESSES * tally->count < hbm_case_bank_accesses(c))
                        continue;
                vote->failing++;
                for (unsigned lane = 0; lane < 32; lane++)
                        if (tally->lanes >> lane & 1) {
                                vote->votes[lane]++;
                                vote->parts[lane] |= UINT32_C(1) << (part % c->geometry->size[HBM_SID] % 32);
                        }
        }
}

static uint32_t agreed(const LaneVote *vote, uint32_t banks_min, int parts_min) {
        uint32_t lanes = 0;

        for (unsigned lane = 0; lane < 32; lane++)
                if (vote->votes[lane] >= banks_min && 10 * vote->votes[lane] >= LANE_AGREE * vote->failing &&
                    __builtin_popcount(vote->parts[lane]) >= parts_min)
                        lanes |= UINT32_C(1) << lane;

        return __builtin_popcount(lanes) <= LANES_PLAUSIBLE ? lanes : 0;
}

/* Where nobody has seen them stand still, by most of what is told of them: a decoder or a cell may show the other value. */
uint32_t hbm_case_lane_values(const HbmCase *c, uint32_t part, uint32_t lanes) {
        uint32_t values = c->values[part] & lanes, accesses = part_accesses(c);
        const MarchFailure *failure = hbm_case_first(c, part * accesses, accesses);
        int counts[32] = {};

        for (unsigned n = 0; failure && n < LANE_VOICES && failure < c->failures + c->n_failures && failure->linear / accesses == part;
             failure++, n++)
                for (uint32_t rest = lanes & ~c->still[part]; rest; rest &= rest - 1) {
                        unsigned lane = (unsigned) __builtin_ctz(rest);

                        for (unsigned k = lane / 8; k < MEMORY_ACCESS_BYTES; k += 4) {
                                bool wrong = failure->bits.bytes[k] >> lane % 8 & 1, one = failure->ones.bytes[k] >> lane % 8 & 1;

                                counts[lane] += !wrong ? 0 : one ? 1 : -1;
                        }
                }

        for (unsigned lane = 0; lane < 32; lane++)
                values |= counts[lane] > 0 ? (UINT32_C(1) << lane) & ~c->still[part] : 0;
        return values;
}

/* LANES of N parts from FIRST on: a pseudo-channel, or one part of it. */
static int add_lanes(HbmCase *c, HbmDefectKind kind, uint32_t first, uint32_t n, uint32_t lanes) {
        uint32_t accesses = part_accesses(c), still = 0, values = 0;
        const MarchFailure *failure = hbm_case_first(c, first * accesses, n * accesses);
        int r;

        for (uint32_t i = first; i < first + n; i++)
                still |= c->still[i] & lanes;
        for (uint32_t i = first; i < first + n; i++)
                values |= (c->values[i] & still) | hbm_case_lane_values(c, i, lanes & ~still);

        for (int lane = 0; lane < 32; lane++) {
                if (!(lanes >> lane & 1))
                        continue;
                r = hbm_case_add(c, kind, failure, first * accesses,
                                 kind == HBM_DEFECT_DATA_TSV ? HBM_SID : HBM_PSEUDO_CHANNEL, lane);
                if (r < 0)
                        return r;
                hbm_case_newest(c)->value = values >> lane & 1;
                hbm_case_newest(c)->n_accesses = count_of(c, first * hbm_case_banks_of_part(c), n * hbm_case_banks_of_part(c));
        }

        /* A cause that one part shows holds for its other parts, whether they have shown it yet or not. */
        for (uint32_t i = first; i < first + n; i++) {
                c->lanes[i] |= lanes;
                c->values[i] |= values;
                c->still[i] |= lanes;
        }
        return 0;
}

/* The lanes of a pseudo-channel, then what only one of its parts has. */
int hbm_case_find_lanes(HbmCase *c) {
        uint32_t sids = c->geometry->size[HBM_SID], n_banks = hbm_case_banks_of_part(c);
        int sids_min = MIN(2, c->box->last[HBM_SID] - c->box->first[HBM_SID] + 1), r;

        for (uint32_t first = 0; first < n_parts(c); first += sids) {
                LaneVote all = {};
                uint32_t lanes;

                for (uint32_t i = 0; i < sids; i++)
                        vote(c, first + i, &all);
                lanes = agreed(&all, MAX(sids * n_banks / LANE_BANKS, MIN(2u, sids * n_banks)), sids_min);
                r = lanes ? add_lanes(c, HBM_DEFECT_LANE, first, sids, lanes) : 0;
                if (r < 0)
                        return r;

                for (uint32_t i = first; i < first + sids; i++) {
                        LaneVote one = {};

                        vote(c, i, &one);
                        lanes = agreed(&one, MAX(n_banks / TSV_BANKS, MIN(2u, n_banks)), 1) & ~c->lanes[i];
                        r = lanes ? add_lanes(c, HBM_DEFECT_DATA_TSV, i, 1, lanes) : 0;
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

/* ---- banks, and what is made of them ---- */

bool hbm_case_bank_is_dead(const HbmCase *c, uint32_t bank) {
        const HbmBankTally *tally = &c->tallies[bank];
        int columns = c->box->last[HBM_COLUMN] - c->box->first[HBM_COLUMN] + 1;

        if (c->dead[bank] && !c->gone[bank])
                return true;
        if (c->gone[bank] || (uint64_t) DEAD_ACCESSES * tally->count <= hbm_case_bank_accesses(c))
                return false;
        return tally->columns == 0 || __builtin_popcountll(tally->columns) >= MIN((int) DEAD_COLUMNS, MAX(columns / 2, 1));
}

static bool part_is_dead(const HbmCase *c, uint32_t part) {
        uint32_t n_banks = hbm_case_banks_of_part(c), dead = 0;

        for (uint32_t i = 0; i < n_banks; i++)
                dead += hbm_case_bank_is_dead(c, part * n_banks + i);
        return dead >= MIN(2u, n_banks) && (c->asked ? 4 * dead >= NEARLY_ALL * n_banks : DEAD_BANKS * dead >= n_banks);
}

int hbm_case_add_banks(HbmCase *c, HbmDefectKind kind, uint32_t first, uint32_t n, MemoryAxis last) {
        uint32_t accesses = hbm_bank_accesses(c->geometry);
        int r;

        r = hbm_case_add(c, kind, hbm_case_first(c, first * accesses, n * accesses), first * accesses, last, -1);
        if (r < 0)
                return r;
        hbm_case_newest(c)->n_accesses = count_of(c, first, n);
        memset(c->gone + first, true, n * sizeof(c->gone[0]));
        return 0;
}

/* Dead parts in a box of parts, and how many there are that were tested. */
typedef struct PartCount {
        uint32_t dead, tested;
} PartCount;

static PartCount count_parts(const HbmCase *c, uint32_t first, uint32_t n, uint32_t step) {
        PartCount count = {};

        for (uint32_t i = first; i < first + n; i += step) {
                if (!hbm_case_part_is_tested(c, i))
                        continue;
                count.tested++;
                count.dead += part_is_dead(c, i);
        }
        return count;
}

static bool is_all(PartCount count) {
        return count.tested > 0 && count.dead == count.tested;
}

/* Four channels of one stack ID, where the other stack IDs live. */
static int find_die(HbmCase *c, uint32_t group, uint32_t sid) {
        const uint16_t *size = c->geometry->size;
        uint32_t first = part_at(c, group * HBM_DIE_CHANNELS, 0, sid), n_banks = hbm_case_banks_of_part(c);
        uint32_t n = HBM_DIE_CHANNELS * size[HBM_PSEUDO_CHANNEL] * size[HBM_SID] - sid;
        uint64_t count = 0;
        bool whole;
        int r;

        if ((group + 1) * HBM_DIE_CHANNELS > size[HBM_CHANNEL] || size[HBM_SID] < 2)
                return 0;
        whole = is_all(count_parts(c, first, n, size[HBM_SID])) && !is_all(count_parts(c, first - sid, n + sid, 1));
        if (!whole && !hbm_case_die_flickers(c, first - sid, n + sid, sid))
                return 0;

        r = hbm_case_add(c, HBM_DEFECT_DIE,
                         hbm_case_first(c, first * part_accesses(c), part_accesses(c)), first * part_accesses(c), HBM_SID,
                         (int) (HBM_DIE_CHANNELS * sid + group));
        if (r < 0)
                return r;
        for (uint32_t part = first; part < first + n; part += size[HBM_SID]) {
                count += count_of(c, part * n_banks, n_banks);
                memset(c->gone + part * n_banks, true, n_banks * sizeof(c->gone[0]));
        }
        hbm_case_newest(c)->n_accesses = count;
        return 0;
}

/* Where all parts of UNITS × PARTS are dead, one defect each. */
static int find_whole(HbmCase *c, HbmDefectKind kind, uint32_t parts, MemoryAxis last) {
        uint32_t n_banks = hbm_case_banks_of_part(c);
        int r;

        for (uint32_t first = 0; first < n_parts(c); first += parts) {
                if (!is_all(count_parts(c, first, parts, 1)))
                        continue;
                r = hbm_case_add_banks(c, kind, first * n_banks, parts * n_banks, last);
                if (r < 0)
                        return r;
        }

        return 0;
}

int hbm_case_find_dead(HbmCase *c) {
        const uint16_t *size = c->geometry->size;
        uint32_t of_channel = (uint32_t) size[HBM_PSEUDO_CHANNEL] * size[HBM_SID];
        int r;

        if (size[HBM_CHANNEL] > 1) {
                r = find_whole(c, HBM_DEFECT_STACK, n_parts(c), HBM_CHANNEL);
                if (r < 0)
                        return r;
        }
        r = hbm_case_find_flickering_stack(c);
        if (r < 0)
                return r;
        if (size[HBM_PSEUDO_CHANNEL] > 1) {
                r = find_whole(c, HBM_DEFECT_CHANNEL, of_channel, HBM_CHANNEL);
                if (r < 0)
                        return r;
        }

        for (uint32_t group = 0; group * HBM_DIE_CHANNELS < size[HBM_CHANNEL]; group++)
                for (uint32_t sid = 0; sid < size[HBM_SID]; sid++) {
                        r = find_die(c, group, sid);
                        if (r < 0)
                                return r;
                }

        r = hbm_case_find_flickering_channels(c);
        if (r < 0)
                return r;
        r = find_whole(c, HBM_DEFECT_PSEUDO_CHANNEL, size[HBM_SID], HBM_PSEUDO_CHANNEL);
        if (r < 0)
                return r;

        return size[HBM_SID] > 1 ? find_whole(c, HBM_DEFECT_PSEUDO_CHANNEL, 1, HBM_SID) : 0;
}

int hbm_case_find_banks(HbmCase *c) {
        int r;

        for (uint32_t bank = 0; bank < hbm_bank_count(c->geometry); bank++) {
                if (!hbm_case_bank_is_dead(c, bank))
                        continue;
                r = hbm_case_add_banks(c, HBM_DEFECT_BANK, bank, 1, HBM_BANK);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- address lines ---- */

/* The one bit of one coordinate in which two places differ: axis × 16 + bit, or -1. */
static int line_between(const MemoryGeometry *geometry, uint32_t a, uint32_t b) {
        uint16_t at[_MEMORY_AXIS_MAX], partner[_MEMORY_AXIS_MAX];
        int line = -1;

        memory_geometry_at(geometry, a, at);
        memory_geometry_at(geometry, b, partner);
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                unsigned difference = at[axis] ^ partner[axis];

                if (difference == 0)
                        continue;
                if (line >= 0 || axis < HBM_BANK_GROUP || __builtin_popcount(difference) != 1)
                        return -1;
                line = (int) (axis * 16) + __builtin_ctz(difference);
        }

        return line;
}

/* The line that banks of PART agree on, -1; and the first place that shows it. */
static int find_line(const HbmCase *c, uint32_t part, size_t *at, const HbmAlias **ret_first) {
        uint32_t n_banks = hbm_case_banks_of_part(c), accesses = hbm_bank_accesses(c->geometry), tested = 0, agree = 0;
        const HbmAliases *aliases = c->aliases;
        int line = -1;

        for (uint32_t bank = part * n_banks; bank < (part + 1) * n_banks; bank++) {
                bool shows = false;

                for (; *at < aliases->n && aliases->aliases[*at].linear < (bank + 1) * accesses; (*at)++) {
                        const HbmAlias *alias = &aliases->aliases[*at];

                        if (alias->partner == alias->linear || line_between(c->geometry, alias->linear, alias->partner) < 0)
                                continue;
                        if (line < 0) {
                                line = line_between(c->geometry, alias->linear, alias->partner);
                                *ret_first = alias;
                        }
                        shows |= line_between(c->geometry, alias->linear, alias->partner) == line;
                }
                tested += !c->gone[bank];
                agree += shows && !c->gone[bank];
        }

        return agree >= MIN(LINE_BANKS, n_banks) && LINE_BANKS * agree >= tested ? line : -1;
}

int hbm_case_find_address_lines(HbmCase *c) {
        static const char *const words[_MEMORY_AXIS_MAX] = {
                [HBM_BANK_GROUP] = "bg", [HBM_BANK] = "ba", [HBM_ROW] = "row", [HBM_COLUMN] = "col",
        };
        uint32_t n_banks = hbm_case_banks_of_part(c);
        size_t at = 0;
        int r;

        for (uint32_t part = 0; c->aliases && part < n_parts(c); part++) {
                const HbmAlias *first = NULL;
                int line = find_line(c, part, &at, &first);

                if (line < 0)
                        continue;
                r = hbm_case_add_banks(c, HBM_DEFECT_ADDRESS_TSV, part * n_banks, n_banks, HBM_SID);
                if (r < 0)
                        return r;
                (void) snprintf(hbm_case_newest(c)->line, sizeof(hbm_case_newest(c)->line), "%s%d", words[line / 16], line % 16);
                hbm_case_newest(c)->has_partner = true;
                memory_geometry_at(c->geometry, first->linear, hbm_case_newest(c)->first);
                memory_geometry_at(c->geometry, first->partner, hbm_case_newest(c)->partner);
                for (unsigned nth = 0; nth < 2; nth++)
                        if (first->readings[nth] == HBM_TAG_OTHER) {
                                hbm_case_newest(c)->expected = first->wanted[nth];
                                hbm_case_newest(c)->actual = first->got[nth];
                        }
        }

        return 0;
}
