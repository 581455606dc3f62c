/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/diagnose/diagnose.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/census.h"
#include "checks/memory/hbm/diagnose/again.h"
#include "checks/memory/hbm/diagnose/examine.h"
#include "checks/memory/hbm/diagnose/suspects.h"
#include "checks/text/cleanup.h"

#define LIST_FIRST   8u    /* mismatches asked of every bank */
#define LIST_FULL    2048u /* and of each subarray of one that has more */
#define FULL_BANKS   256u  /* banks read to the end */
#define TAG_BANKS    256u  /* asked for tags one by one */
#define PATIENT_BANKS 16u  /* several times */
#define TAG_TURNS    12u   /* what acts in half of all commands shows in one of them but once in 4096 */
#define TAG_ENOUGH   9u    /* turns of these in which a place was astray: then the other of a pair has been, too */
#define TAG_LONGER   96u   /* turns, where it was seldom astray, … */
#define TAG_FEW      8u    /* … of a bank in which few rows are asked */
#define TAG_ROWS     64u   /* of each; where more rows fail as a whole it is no decoder of one address */
#define COLUMN_CLASSES 64u
#define WIDE         64u   /* failing bits of an access that may be another one's data */
#define TAG_SEED     UINT64_C(0x746167)

static const HbmProbePattern solid[] = {
        { .field = { .background = MEMORY_BACKGROUND_SOLID }, .data = 0 },
        { .field = { .background = MEMORY_BACKGROUND_SOLID }, .data = 1 },
};

/*
 * The values that the stuck lanes of each part are stuck at, malloc'd: the failures that tell them move when a probe adds to them.
 * NULL without memory.
 */
static uint32_t *lane_values(const HbmCase *c) {
        uint32_t n = hbm_bank_count(c->geometry) / hbm_case_banks_of_part(c), *values = calloc(n, sizeof(*values));

        for (uint32_t i = 0; values && i < n; i++)
                values[i] = c->lanes[i] ? hbm_case_lane_values(c, i, c->lanes[i]) : 0;
        return values;
}

/* Under stuck lanes every access fails; look again with patterns that these do not disturb. */
static int look_under_lanes(const HbmProbe *probe, HbmCase *c) {
        uint32_t n_banks = hbm_case_banks_of_part(c), n = hbm_bank_count(c->geometry) / n_banks;
        _cleanup_free_ uint32_t *values = lane_values(c);
        int r;

        if (!values)
                return -ENOMEM;
        for (uint32_t i = 0; i < n; i++) {
                HbmProbePattern patterns[HBM_PROBE_PATTERNS_MAX];
                size_t n_patterns;

                if (c->lanes[i] == 0)
                        continue;
                n_patterns = hbm_probe_patterns(c->lanes[i], values[i], patterns);
                r = hbm_probe_banks(probe, i * n_banks, n_banks, patterns, n_patterns, NULL,
                                    c->tallies + i * n_banks);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Banks that have more failures than were told, though not enough to be dead. */
static int read_to_the_end(const HbmProbe *probe, const HbmCase *c) {
        _cleanup_free_ uint32_t *values = lane_values(c);
        HbmProbe full = *probe;
        unsigned n_read = 0;
        int r;

        if (!values)
                return -ENOMEM;

        for (uint32_t bank = 0; bank < hbm_bank_count(c->geometry) && n_read < FULL_BANKS; bank++) {
                uint32_t part = bank / hbm_case_banks_of_part(c), lanes = c->lanes[part];
                HbmProbePattern patterns[HBM_PROBE_PATTERNS_MAX];
                size_t n_patterns;

                if (c->gone[bank] || c->tallies[bank].count <= LIST_FIRST)
                        continue;
                n_patterns = hbm_probe_patterns(lanes, values[part], patterns);
                full.list_max = (uint32_t) MIN(c->tallies[bank].count, (uint64_t) LIST_FULL);
                r = hbm_probe_pieces(&full, bank, c->subarray, patterns, n_patterns);
                if (r == -ENOSPC) /* a small window: what was told must do */
                        return 0;
                if (r < 0)
                        return r;
                n_read++;
        }

        return 0;
}

static void take_again(const HbmDiagnosis *diagnosis, HbmCase *c) {
        march_failures_merge(diagnosis->failures);
        hbm_case_take(c, diagnosis->failures);
}

static HbmTagProbe tag_probe(const HbmDiagnosis *diagnosis, const HbmCase *c) {
        return (HbmTagProbe) {
                .geometry = diagnosis->geometry,
                .batch    = diagnosis->batch,
                .box      = diagnosis->box,
                .stack    = c->stack,
                .seed     = memory_mix(TAG_SEED + c->stack),
        };
}

/* Asks every bank with solid patterns: these alone show all beats of a lane. */
static int ask_banks(const HbmDiagnosis *diagnosis, HbmProbe *probe, HbmCase *c) {
        MarchFailures probed = {};
        int r;

        probe->failures = &probed;
        r = hbm_probe_banks(probe, 0, hbm_bank_count(diagnosis->geometry), solid, ELEMENTS(solid), NULL,
                            c->tallies);
        if (r >= 0) {
                march_failures_merge(&probed);
                hbm_case_take(c, &probed);
                r = hbm_case_find_lanes(c);
        }

        probe->failures = diagnosis->failures;
        if (r >= 0)
                r = look_under_lanes(probe, c);
        for (size_t i = 0; r >= 0 && i < probed.n; i++)
                r = march_failures_add(diagnosis->failures, c->stack, probed.failures[i].linear, &probed.failures[i].first,
                                       &probed.failures[i].expected, &probed.failures[i].actual);

        take_again(diagnosis, c);
        march_failures_done(&probed);
        return r;
}

/* Solid data do not see that two addresses are one: tags of a few accesses of every bank do. */
static int ask_lines(const HbmDiagnosis *diagnosis, HbmCase *c) {
        HbmTagProbe probe = tag_probe(diagnosis, c);
        HbmAliases aliases = {};
        int r;

        r = hbm_tags_of_banks(&probe, c->lanes, &aliases);
        if (r >= 0) {
                c->aliases = &aliases;
                r = hbm_case_find_address_lines(c);
        }

        c->aliases = NULL;
        hbm_aliases_done(&aliases);
        return r;
}

static bool is_wide(const HbmCase *c, const MarchFailure *failure) {
        MemoryData bits = memory_data_without(failure->bits, c->lanes[hbm_case_bank_of(c, failure) / hbm_case_banks_of_part(c)]);

        return memory_data_count(&bits) >= WIDE;
}

/*
 * Rows of BANK, from failure *at on, in which whole accesses fail; not counting columns (modulo COLUMN_CLASSES) that do in more
 * rows than any decoder of one address makes wrong.
 */
static size_t wide_rows(const HbmCase *c, uint32_t bank, size_t *at, uint32_t rows[static TAG_ROWS + 1]) {
        uint32_t columns = c->geometry->size[HBM_COLUMN], counts[COLUMN_CLASSES] = {};
        size_t n = 0, first = *at;

        for (; *at < c->n_failures && hbm_case_bank_of(c, &c->failures[*at]) == bank; (*at)++)
                counts[c->failures[*at].linear % columns % COLUMN_CLASSES] += is_wide(c, &c->failures[*at]);

        for (size_t i = first; i < *at; i++) {
                const MarchFailure *failure = &c->failures[i];
                uint32_t row = failure->linear / columns * columns;

                if (n <= TAG_ROWS && counts[failure->linear % columns % COLUMN_CLASSES] <= TAG_ROWS && is_wide(c, failure) &&
                    (n == 0 || rows[n - 1] != row))
                        rows[n++] = row;
        }

        return n;
}

/* Rows of BANK whose data came back elsewhere and that were not among the N asked: they tell who is wrong. */
static size_t partner_rows(const HbmCase *c, const HbmAliases *aliases, uint32_t bank, const uint32_t *rows, size_t n,
                           uint32_t partners[static TAG_ROWS]) {
        uint32_t columns = c->geometry->size[HBM_COLUMN], accesses = hbm_bank_accesses(c->geometry);
        size_t n_partners = 0;

        for (size_t i = 0; i < aliases->n && n_partners < TAG_ROWS; i++) {
                const HbmAlias *alias = &aliases->aliases[i];
                uint32_t row = alias->partner / columns * columns;
                bool known = alias->partner == alias->linear || alias->linear / accesses != bank || row / accesses != bank;

                for (size_t k = 0; k < n; k++)
                        known |= rows[k] == row;
                for (size_t k = 0; k < n_partners; k++)
                        known |= partners[k] == row;
                if (!known)
                        partners[n_partners++] = row;
        }

        return n_partners;
}

/* Asks which row's data each of ROWS of a bank holds, and then those rows that the data come from. */
static int ask_rows(const HbmTagProbe *probe, const HbmCase *c, const WireBox *box, const uint32_t *rows, size_t n, unsigned n_turns,
                    HbmAliases *aliases) {
        uint32_t partners[TAG_ROWS], bank = rows[0] / hbm_bank_accesses(c->geometry);
        size_t n_partners;
        int r;

        r = hbm_tags_of_rows(probe, box, rows, n, c->lanes, n_turns, aliases);
        if (r < 0)
                return r;
        n_partners = partner_rows(c, aliases, bank, rows, n, partners);
        return n_partners > 0 ? hbm_tags_of_rows(probe, box, partners, n_partners, c->lanes, n_turns, aliases) : 0;
}

/* A fault that shows in a few turns only may have shown just one of two rows that are tied together, which is a decoder's. */
static bool is_rare(const HbmAliases *aliases) {
        for (size_t i = 0; i < aliases->n; i++)
                if (aliases->aliases[i].n_astray >= TAG_ENOUGH)
                        return false;
        return true;
}

static int ask_patiently(const HbmTagProbe *probe, const HbmCase *c, const WireBox *box, const uint32_t *rows, size_t n, HbmAliases *aliases) {
        HbmAliases longer = {};
        int r;

        r = ask_rows(probe, c, box, rows, n, TAG_TURNS, aliases);
        if (r < 0 || n > TAG_FEW || !is_rare(aliases))
                return r;

        r = ask_rows(probe, c, box, rows, n, TAG_LONGER, &longer);
        if (r >= 0 && longer.n > 0) {
                hbm_aliases_done(aliases);
                *aliases = longer;
                return 0;
        }
        hbm_aliases_done(&longer);
        return r;
}

/* Banks in which whole accesses fail are asked whose data these hold. */
static int ask_tags(const HbmDiagnosis *diagnosis, HbmCase *c, HbmAliases *aliases) {
        HbmTagProbe probe = tag_probe(diagnosis, c);
        HbmProbe limits = { .geometry = diagnosis->geometry, .box = diagnosis->box };
        unsigned n_banks = 0;
        int r = 0;

        for (size_t at = 0; r >= 0 && at < c->n_failures && n_banks < TAG_BANKS;) {
                uint32_t bank = hbm_case_bank_of(c, &c->failures[at]), rows[TAG_ROWS + 1];
                size_t n = wide_rows(c, bank, &at, rows);
                HbmAliases found = {};
                WireBox box;

                if (n == 0 || n > TAG_ROWS || c->gone[bank] || !hbm_probe_box(&limits, bank, 1, &box))
                        continue;
                r = n_banks < PATIENT_BANKS ? ask_patiently(&probe, c, &box, rows, n, &found) : ask_rows(&probe, c, &box, rows, n, 1, &found);
                for (size_t i = 0; r >= 0 && i < found.n; i++)
                        r = hbm_aliases_add(aliases, &found.aliases[i]);
                hbm_aliases_done(&found);
                n_banks++;
        }

        hbm_aliases_sort(aliases);
        c->aliases = aliases;
        return r;
}

/* Finds faults as large as a bank or larger, intermittent ones too. */
static int find_structures(const HbmDiagnosis *diagnosis, const HbmProbe *probe, HbmCase *c) {
        HbmTagProbe tags = tag_probe(diagnosis, c);
        size_t n_before = c->defects->n;
        HbmAliases aliases = {};
        int r;

        r = hbm_census(&tags, c, &aliases);
        if (r >= 0)
                r = hbm_case_find_lanes(c);
        if (r >= 0 && c->defects->n > n_before)
                r = look_under_lanes(probe, c);
        /* First: a line that comes and goes leaves half of what it reaches as it was, which looks dead. */
        c->aliases = &aliases;
        if (r >= 0)
                r = hbm_case_find_address_lines(c);
        c->aliases = NULL;
        hbm_aliases_done(&aliases);
        if (r >= 0)
                r = hbm_case_find_dead(c);
        return r < 0 ? r : hbm_case_find_banks(c);
}

static HbmProbe first_probe(const HbmDiagnosis *diagnosis, const HbmCase *c) {
        return (HbmProbe) {
                .geometry = diagnosis->geometry,
                .box      = diagnosis->box,
                .batch    = diagnosis->batch,
                .stack    = c->stack,
                .list_max = LIST_FIRST,
                .failures = diagnosis->failures,
        };
}

static int diagnose_cut_short(const HbmDiagnosis *diagnosis, HbmCase *c) {
        HbmProbe probe = first_probe(diagnosis, c);
        int r;

        r = ask_banks(diagnosis, &probe, c);
        if (r >= 0)
                r = find_structures(diagnosis, &probe, c);
        if (r >= 0)
                r = read_to_the_end(&probe, c);
        if (r >= 0)
                r = hbm_march_again(diagnosis, c);
        if (r < 0)
                return r;
        take_again(diagnosis, c);
        return 0;
}

static bool is_held_or_hammered(const HbmCase *c) {
        for (size_t i = 0; i < c->n_failures; i++)
                if (c->failures[i].phases & (1u << MARCH_PHASE_HAMMER | 1u << MARCH_PHASE_RETENTION))
                        return true;
        return false;
}

static int diagnose_complete(const HbmDiagnosis *diagnosis, HbmCase *c) {
        HbmProbe probe = first_probe(diagnosis, c);
        int r;

        hbm_case_take(c, diagnosis->failures);
        /* Under a stuck address line rows are opened twice as often, and what is planted shows twice: these are no weak cells. */
        r = diagnosis->batch && is_held_or_hammered(c) ? ask_lines(diagnosis, c) : 0;
        if (r < 0)
                return r;
        hbm_case_tally(c);
        r = hbm_case_find_lanes(c);
        if (r < 0)
                return r;

        hbm_case_tally(c);
        if (diagnosis->batch) {
                r = find_structures(diagnosis, &probe, c);
                take_again(diagnosis, c);
                return r;
        }
        r = hbm_case_find_dead(c);
        return r < 0 ? r : hbm_case_find_banks(c);
}

static int judge(const HbmDiagnosis *diagnosis, HbmCase *c, bool truncated, HbmAliases *aliases) {
        size_t first = c->defects->n;
        int r;

        r = truncated && diagnosis->batch ? diagnose_cut_short(diagnosis, c) : diagnose_complete(diagnosis, c);
        if (r >= 0 && diagnosis->batch)
                r = hbm_suspects_ask(diagnosis, c);
        if (r >= 0 && diagnosis->batch) {
                take_again(diagnosis, c);
                r = ask_tags(diagnosis, c, aliases);
        }
        if (r >= 0)
                r = hbm_case_find_rest(c);
        if (r >= 0 && diagnosis->batch)
                r = hbm_examine(diagnosis, c, first, truncated);
        return r;
}

int hbm_diagnose(const HbmDiagnosis *diagnosis, unsigned stack, bool truncated, HbmDefects *defects) {
        HbmAliases aliases = {};
        HbmCase c;
        int r;

        r = hbm_case_init(&c, diagnosis->geometry, diagnosis->box, stack, defects);
        if (r < 0)
                return r;
        c.scatter_max = diagnosis->scatter_max;
        c.subarray = diagnosis->subarray;

        r = judge(diagnosis, &c, truncated, &aliases);
        hbm_case_done(&c);
        hbm_aliases_done(&aliases);
        return r;
}
