/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Classify
 *
 * From failing accesses to defects, top-down; the first rule that matches wins and takes what it explains:
 *
 *  lane                 one data lane wrong in all 8 beats of most accesses of 9 of 10 failing banks, in 2 stack IDs
 *  data TSV             the same in one stack ID only
 *  stack, channel, die, pseudo-channel
 *                       half of the banks are dead in all parts it is made of: a part is a pseudo-channel's share of one stack
 *                       ID; a die has those of 4 channels. Or half of all, scattered over it
 *  address TSV          data that tells addresses apart comes from a place that differs in one and the same bit, in 1 of 4 banks
 *                       of a part
 *  bank                 more than 1 access of 10 fails, over many columns
 *  hammer, retention    fails in that phase alone
 *  decoder, word line short
 *                       own-address data comes from another place of the bank; two neighbouring rows are a short
 *  sub-wordline         one 16-bit symbol fails in most columns of a row, and nothing else
 *  row                  1 column of 8, and at least 2, fail in it
 *  bit line             one bit of one column fails in half of the rows of a subarray
 *  column               the same in half of all rows, before bit lines
 *  word, cell           several bits or one of one access
 *  scattered            more cells and words in a stack than anyone would repair one by one; told at their bank if they share it
 *
 * What repeats say of cells and words, intermittent or soft errors, is found in examine.h.
 */

#include <stdbool.h>

#include "checks/memory/hbm/classify/probe.h"
#include "checks/memory/hbm/classify/tags.h"
#include "checks/memory/march/failures.h"

typedef enum HbmDefectKind {
        HBM_DEFECT_STACK,
        HBM_DEFECT_CHANNEL,
        HBM_DEFECT_DIE,
        HBM_DEFECT_PSEUDO_CHANNEL,
        HBM_DEFECT_LANE,
        HBM_DEFECT_DATA_TSV,
        HBM_DEFECT_ADDRESS_TSV,
        HBM_DEFECT_BANK,
        HBM_DEFECT_HAMMER,
        HBM_DEFECT_RETENTION,
        HBM_DEFECT_WORDLINE_SHORT,
        HBM_DEFECT_DECODER,
        HBM_DEFECT_SUB_WORDLINE,
        HBM_DEFECT_ROW,
        HBM_DEFECT_BIT_LINE,
        HBM_DEFECT_COLUMN,
        HBM_DEFECT_WORD,
        HBM_DEFECT_CELL,
        HBM_DEFECT_INTERMITTENT,
        HBM_DEFECT_SOFT_ERROR,
        HBM_DEFECT_SCATTERED,
        _HBM_DEFECT_KIND_MAX,
} HbmDefectKind;

#define HBM_DETAIL_MAX   192u
#define HBM_DIE_CHANNELS 4u

typedef struct HbmDefect {
        HbmDefectKind kind;
        unsigned stack;
        uint16_t at[_MEMORY_AXIS_MAX]; /* as far as LAST; the evidence's place beyond */
        MemoryAxis last;               /* how far AT is the place of the defect */
        int bit;                       /* of the access; a lane; a symbol; a die; -1: more than one */
        unsigned value;                /* HBM_DEFECT_LANE, _DATA_TSV: what it is stuck at */
        char line[8];                  /* HBM_DEFECT_ADDRESS_TSV: "row3" */
        char class;                    /* HBM_DEFECT_DECODER: 'A' (or B), 'B', 'C', 'D' */
        bool has_partner;
        uint16_t partner[_MEMORY_AXIS_MAX]; /* the other place of decoders and shorts, and the aggressor of a cell */
        int partner_bit;               /* of an aggressor; -1: not known */
        uint64_t n_accesses;           /* that fail, as far as known */
        uint64_t n_reads;              /* that differed, of those told */
        MemoryData expected, actual;   /* of the first difference */
        uint16_t first[_MEMORY_AXIS_MAX]; /* where that was */
        MarchSighting sighting;          /* which read that was */
        uint32_t phases;               /* bit per MarchPhase it failed in */
        uint64_t passes;               /* bit per pass it failed in */
        uint32_t elements;             /* bit per element of these */
        unsigned n_failed, n_trials;   /* reads that failed when the test was repeated; 0 of 0: it was not */
        double evenness;               /* HBM_DEFECT_SCATTERED: p of an even spread over banks */
        char detail[HBM_DETAIL_MAX];   /* a cell's candidates, see syndrome.h */
} HbmDefect;

typedef struct HbmDefects {
        HbmDefect *defects;
        size_t n, allocated;
} HbmDefects;

void hbm_defects_done(HbmDefects *defects);
/* The larger before the smaller, those that no spare row mends before those that one does; of a kind by stack and place. */
void hbm_defects_sort(HbmDefects *defects);

/* One stack being judged. A part is a pseudo-channel's share of one stack ID. */
typedef struct HbmCase {
        const MemoryGeometry *geometry;
        const WireBox *box;      /* that was tested */
        unsigned subarray;       /* rows */
        unsigned stack;
        MarchFailure *failures;    /* sorted by place, each access once */
        size_t n_failures;
        HbmBankTally *tallies;   /* of every bank */
        uint32_t *lanes;         /* stuck ones, of every part */
        uint32_t *still;         /* lanes of which it is known what they are stuck at: those, and others of the census */
        uint32_t *values;        /* those of them that are at 1 */
        bool asked;              /* a census was taken */
        bool *dead;              /* banks that gave back nothing in a turn of the census */
        bool *gone;              /* banks that are explained as a whole */
        const HbmAliases *aliases; /* own-address data that came from elsewhere; NULL: nobody asked */
        unsigned scatter_max;    /* more cells and words are told as scattered */
        HbmDefects *defects;
} HbmCase;

int hbm_case_init(HbmCase *c, const MemoryGeometry *geometry, const WireBox *box, unsigned stack, HbmDefects *defects);
void hbm_case_done(HbmCase *c);
/* The next failures to judge: those of the stack, merged. */
void hbm_case_take(HbmCase *c, const MarchFailures *failures);
/* Tallies as the failures have them, without what the lanes found so far explain: where these are all there are. */
void hbm_case_tally(HbmCase *c);

uint32_t hbm_case_bank_of(const HbmCase *c, const MarchFailure *failure);
uint32_t hbm_case_banks_of_part(const HbmCase *c);
/* Accesses of a bank that were tested; all banks of the box have as many. */
uint32_t hbm_case_bank_accesses(const HbmCase *c);
/* The first failure from access FIRST on, within N; NULL without. */
const MarchFailure *hbm_case_first(const HbmCase *c, uint32_t first, uint32_t n);
/* Adds a defect at access LINEAR with FAILURE (or NULL) as evidence, or -ENOMEM; then the newest, to add to. */
int hbm_case_add(HbmCase *c, HbmDefectKind kind, const MarchFailure *failure, uint32_t linear, MemoryAxis last, int bit);
HbmDefect *hbm_case_newest(HbmCase *c);

/* What LANES of a part read where they are wrong. */
uint32_t hbm_case_lane_values(const HbmCase *c, uint32_t part, uint32_t lanes);

/* Whether any of the part was tested, and whether a bank fails over many columns and nothing explains it yet. */
bool hbm_case_part_is_tested(const HbmCase *c, uint32_t part);
bool hbm_case_bank_is_dead(const HbmCase *c, uint32_t bank);
/* Banks FIRST … FIRST + N - 1 fail as one: explains them. */
int hbm_case_add_banks(HbmCase *c, HbmDefectKind kind, uint32_t first, uint32_t n, MemoryAxis last);

/* The rules, in this order; each adds to defects. 0 or -ENOMEM. */
int hbm_case_find_lanes(HbmCase *c);         /* structures.c: lanes and data TSVs */
int hbm_case_find_dead(HbmCase *c);          /* structures.c: stacks … pseudo-channels */
int hbm_case_find_flickering_stack(HbmCase *c);    /* flicker.c: for those before, where they come and go */
int hbm_case_find_flickering_channels(HbmCase *c);
/* Whether of N parts from FIRST on, those of some channels, nearly all that is dead is of stack ID SID, and all over it. */
bool hbm_case_die_flickers(const HbmCase *c, uint32_t first, uint32_t n, uint32_t sid);
int hbm_case_find_address_lines(HbmCase *c); /* structures.c: address TSVs */
int hbm_case_find_banks(HbmCase *c);         /* structures.c */
int hbm_case_find_rest(HbmCase *c);          /* classify.c: within banks, and what is scattered */

/* The failures of one bank that nothing larger explains: pointers into the case. */
typedef struct HbmBank {
        uint32_t linear; /* of its first access */
        MarchFailure **failures;
        size_t n;
} HbmBank;

void hbm_bank_take_out(HbmBank *bank); /* closes the gaps of what was set to NULL */
int hbm_bank_judge(HbmCase *c, HbmBank *bank);      /* bank.c: the rules within a bank */
int hbm_bank_find_columns(HbmCase *c, HbmBank *bank); /* columns.c: columns and bit lines */
int hbm_bank_find_aliases(HbmCase *c, HbmBank *bank); /* decoder.c: decoders and word line shorts */
