/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmTags
 *
 * Own-address data as tags: what an access gives back tells whose data it is. A bank (or a stack) is written with
 * MEMORY_BACKGROUND_ADDRESS, once ascending and once descending, as of two addresses that reach one place the later wins;
 * then the accesses in question are read. What comes and goes is asked several times: one tag of another place is proof, for
 * nothing else makes it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/memory/march/failures.h"

typedef enum HbmTagReading {
        HBM_TAG_OWN,      /* as it should be */
        HBM_TAG_OTHER,    /* the data of another access of the stack */
        HBM_TAG_CONSTANT, /* nothing but zeros or ones */
        HBM_TAG_MIXED,    /* own data and another's, wired AND or OR */
        HBM_TAG_NOISE,    /* none of these */
} HbmTagReading;

typedef struct HbmAlias {
        uint32_t linear;
        HbmTagReading readings[2]; /* after ascending and descending writes, the most telling of all turns */
        unsigned seen[2];          /* bit per reading of any turn; HBM_TAG_CONSTANT in the later half of them */
        uint32_t partner;          /* HBM_TAG_OTHER in either; else its own */
        bool is_or;                /* HBM_TAG_CONSTANT: ones; HBM_TAG_MIXED: OR */
        unsigned n_astray, n_turns; /* turns in which it did not read as it should, of how many */
        unsigned last_astray;       /* the last of these, counted from 1 */
        uint64_t seeds[2];          /* of the tags below */
        MemoryData wanted[2], got[2];
} HbmAlias;

typedef struct HbmAliases {
        HbmAlias *aliases; /* sorted by access; those that read as they should in both are not kept */
        size_t n, allocated;
} HbmAliases;

void hbm_aliases_done(HbmAliases *aliases);
int hbm_aliases_add(HbmAliases *aliases, const HbmAlias *alias);
const HbmAlias *hbm_aliases_find(const HbmAliases *aliases, uint32_t linear);
void hbm_aliases_sort(HbmAliases *aliases);

/* HBM_TAG_MIXED: whose data are mixed with its own, of the places in its row and in its column; false where none fits. */
bool hbm_alias_find_mixed(const MemoryGeometry *geometry, const HbmAlias *alias, uint32_t lanes, uint32_t *ret);

/* Whose data GOT is; LANES are stuck and not looked at. */
HbmTagReading hbm_tag_read(const MemoryGeometry *geometry, const MemoryField *field, uint32_t linear, const MemoryData *got,
                           uint32_t lanes, uint32_t *ret_partner);

typedef struct HbmTagProbe {
        const MemoryGeometry *geometry;
        MemoryBatch *batch;
        const WireBox *box; /* what may be written, of the stack */
        unsigned stack;
        uint64_t seed;
} HbmTagProbe;

/* Writes all of BOX both ways and reads the rows in ROWS (linear of their first access) back, of which it holds N; N_TURNS times. */
int hbm_tags_of_rows(const HbmTagProbe *probe, const WireBox *box, const uint32_t *rows, size_t n, const uint32_t *lanes,
                     unsigned n_turns, HbmAliases *aliases);
/* The same of N pieces, each of one bank. */
int hbm_tags_of_pieces(const HbmTagProbe *probe, const WireBox *box, WireBox *pieces, size_t n, const uint32_t *lanes,
                       unsigned n_turns, HbmAliases *aliases);
/* Writes all of the probe's box both ways and reads a few accesses of every bank back. */
int hbm_tags_of_banks(const HbmTagProbe *probe, const uint32_t *lanes, HbmAliases *aliases);
