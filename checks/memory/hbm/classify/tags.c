/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/classify/tags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/classify/probe.h"
#include "checks/memory/march/list.h"
#include "checks/text/cleanup.h"

#define ALIASES_MAX (64u << 10)
#define PIECES      128u /* copied out in one batch */
#define SAMPLE      4u   /* accesses of a bank */
#define LANES_TRIED 3    /* 4 ways of a tag for each stuck lane */

void hbm_aliases_done(HbmAliases *aliases) {
        free(aliases->aliases);
        *aliases = (HbmAliases) {};
}

int hbm_aliases_add(HbmAliases *aliases, const HbmAlias *alias) {
        int r;

        if (aliases->n >= ALIASES_MAX)
                return 0;
        r = LIST_MAKE_ROOM(aliases->aliases, aliases->n, aliases->allocated);
        if (r < 0)
                return r;

        aliases->aliases[aliases->n++] = *alias;
        return 0;
}

static int compare_aliases(const void *a, const void *b) {
        const HbmAlias *x = a, *y = b;

        return (x->linear > y->linear) - (x->linear < y->linear);
}

void hbm_aliases_sort(HbmAliases *aliases) {
        if (aliases->n > 1)
                qsort(aliases->aliases, aliases->n, sizeof(HbmAlias), compare_aliases);
}

const HbmAlias *hbm_aliases_find(const HbmAliases *aliases, uint32_t linear) {
        HbmAlias key = { .linear = linear };

        if (!aliases || aliases->n == 0)
                return NULL;
        return bsearch(&key, aliases->aliases, aliases->n, sizeof(HbmAlias), compare_aliases);
}

/* ---- what a tag says ---- */

static MemoryData tag_of(const MemoryGeometry *geometry, const MemoryField *field, uint32_t linear) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memory_geometry_at(geometry, linear, at);
        return memory_field_data(field, geometry, at, 0);
}

static bool equal_beside(const MemoryData *a, const MemoryData *b, uint32_t lanes) {
        MemoryData difference;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                difference.bytes[i] = a->bytes[i] ^ b->bytes[i];
        difference = memory_data_without(difference, lanes);
        return memory_data_first(&difference) < 0;
}

/* Under many stuck lanes a tag cannot be turned back: only places that differ in one bit of one coordinate are tried. */
static bool find_near(const MemoryGeometry *geometry, const MemoryField *field, uint32_t linear, const MemoryData *got,
                      uint32_t lanes, uint32_t *ret) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memory_geometry_at(geometry, linear, at);
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                for (unsigned bit = 0; 1u << bit < geometry->size[axis]; bit++) {
                        MemoryData tag;
                        uint32_t partner;

                        at[axis] ^= (uint16_t) (1u << bit);
                        partner = memory_geometry_has(geometry, at) ? memory_geometry_linear(geometry, at) : linear;
                        at[axis] ^= (uint16_t) (1u << bit);
                        if (partner == linear)
                                continue;
                        tag = tag_of(geometry, field, partner);
                        if (equal_beside(&tag, got, lanes)) {
                                *ret = partner;
                                return true;
                        }
                }

        return false;
}

/* From the place in the whole stack that a tag is made of to one of the geometry; false where it does not lie in it. */
static bool find_place(const MemoryGeometry *geometry, uint64_t place, uint32_t *ret) {
        uint16_t at[_MEMORY_AXIS_MAX];

        for (unsigned axis = _MEMORY_AXIS_MAX; axis-- > 0;) {
                uint64_t coordinate = place % geometry->whole[axis];

                place /= geometry->whole[axis];
                if (coordinate < geometry->origin[axis] || coordinate - geometry->origin[axis] >= geometry->size[axis])
                        return false;
                at[axis] = (uint16_t) (coordinate - geometry->origin[axis]);
        }

        *ret = memory_geometry_linear(geometry, at);
        return place == 0;
}

/* The place that WORD, the first of a tag, was made of. */
static bool find_made(const MemoryGeometry *geometry, const MemoryField *field, uint64_t word, const MemoryData *got,
                      uint32_t lanes, uint32_t *ret) {
        uint64_t index = memory_unmix(word) ^ field->seed;
        uint32_t linear;
        MemoryData tag;

        if (index % 4 != 0)
                return false;
        if (!find_place(geometry, index / 4, &linear))
                return false;
        tag = tag_of(geometry, field, linear);
        if (!equal_beside(&tag, got, lanes))
                return false;
        *ret = linear;
        return true;
}

/* Under stuck lanes two bits of the word for each of these are not known: all that they may be are tried. */
static bool find_other(const MemoryGeometry *geometry, const MemoryField *field, const MemoryData *got, uint32_t lanes, uint32_t *ret) {
        uint64_t word = 0, unknown = (uint64_t) lanes << 32 | lanes, bits = 0;

        for (unsigned i = 0; i < 8; i++)
                word |= (uint64_t) got->bytes[i] << (8 * i);
        word &= ~unknown;
        do {
                if (find_made(geometry, field, word | bits, got, lanes, ret))
                        return true;
                bits = (bits - unknown) & unknown; /* the next subset */
        } while (bits != 0);
        return false;
}

/* Whether all of A that is looked at is also in B. */
static bool within(const MemoryData *a, const MemoryData *b, uint32_t lanes) {
        MemoryData beyond;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                beyond.bytes[i] = a->bytes[i] & (uint8_t) ~b->bytes[i];
        beyond = memory_data_without(beyond, lanes);
        return memory_data_first(&beyond) < 0;
}

HbmTagReading hbm_tag_read(const MemoryGeometry *geometry, const MemoryField *field, uint32_t linear, const MemoryData *got,
                           uint32_t lanes, uint32_t *ret_partner) {
        MemoryData own = tag_of(geometry, field, linear), zeros = {}, ones;

        memset(&ones, 0xff, sizeof(ones));
        if (equal_beside(&own, got, lanes))
                return HBM_TAG_OWN;
        if (equal_beside(&zeros, got, lanes) || equal_beside(&ones, got, lanes))
                return HBM_TAG_CONSTANT;
        if (__builtin_popcount(lanes) > LANES_TRIED ? find_near(geometry, field, linear, got, lanes, ret_partner) :
                                                      find_other(geometry, field, got, lanes, ret_partner))
                return HBM_TAG_OTHER;

        /* Half of a tag's bits are ones: a bit alone that is wrong is no AND of two tags. */
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                zeros.bytes[i] = own.bytes[i] ^ got->bytes[i];
        if (memory_data_count(&zeros) > 32 && (within(got, &own, lanes) || within(&own, got, lanes)))
                return HBM_TAG_MIXED;
        return HBM_TAG_NOISE;
}

bool hbm_alias_find_mixed(const MemoryGeometry *geometry, const HbmAlias *alias, uint32_t lanes, uint32_t *ret) {
        static const MemoryAxis axes[] = { HBM_ROW, HBM_COLUMN };
        unsigned nth = alias->readings[0] == HBM_TAG_MIXED ? 0 : 1;
        MemoryField field = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = alias->seeds[nth] };

        for (unsigned i = 0; i < ELEMENTS(axes); i++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                memory_geometry_at(geometry, alias->linear, at);
                for (at[axes[i]] = 0; at[axes[i]] < geometry->size[axes[i]]; at[axes[i]]++) {
                        MemoryData mixed = memory_field_data(&field, geometry, at, 0);

                        for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                                mixed.bytes[k] = (uint8_t) (alias->is_or ? mixed.bytes[k] | alias->wanted[nth].bytes[k] :
                                                                           mixed.bytes[k] & alias->wanted[nth].bytes[k]);
                        *ret = memory_geometry_linear(geometry, at);
                        if (*ret != alias->linear && equal_beside(&mixed, &alias->got[nth], lanes))
                                return true;
                }
        }

        return false;
}

/* ---- asking ---- */

typedef struct Asking {
        const HbmTagProbe *probe;
        MemoryField field;
        WireBox *pieces;
        size_t n_pieces;
        const uint32_t *lanes; /* of every part */
        unsigned turn, n_turns;
        HbmAlias *aliases;     /* of every access of the pieces, in their order */
} Asking;

static int write_tags(const Asking *asking, const WireBox *box, bool descending) {
        MemoryPart part = memory_part_stack(asking->probe->stack);
        WireMarch march = {
                .box        = *box,
                .descending = descending,
                .background = (uint8_t) asking->field.background,
                .seed       = asking->field.seed,
                .n_ops      = 1,
                .ops        = { MARCH_WRITE },
        };
        int r;

        memory_batch_reset(asking->probe->batch);
        r = memory_batch_march(asking->probe->batch, &part, &march);
        return r < 0 ? r : memory_batch_run(asking->probe->batch);
}

static uint32_t lanes_at(const Asking *asking, uint32_t linear) {
        const MemoryGeometry *geometry = asking->probe->geometry;
        uint32_t banks = (uint32_t) geometry->size[HBM_BANK_GROUP] * geometry->size[HBM_BANK];

        return asking->lanes ? asking->lanes[linear / hbm_bank_accesses(geometry) / banks] : 0;
}

static bool tells_more(HbmTagReading reading, HbmTagReading than) {
        static const unsigned ranks[] = {
                [HBM_TAG_OWN] = 0, [HBM_TAG_NOISE] = 1, [HBM_TAG_CONSTANT] = 2, [HBM_TAG_MIXED] = 3, [HBM_TAG_OTHER] = 4,
        };

        return ranks[reading] > ranks[than];
}

static void read_tag(const Asking *asking, HbmAlias *alias, uint32_t linear, const uint8_t *data, unsigned nth) {
        MemoryData wanted = tag_of(asking->probe->geometry, &asking->field, linear), got;
        uint32_t partner = linear;
        HbmTagReading reading;

        memcpy(got.bytes, data, MEMORY_ACCESS_BYTES);
        reading = hbm_tag_read(asking->probe->geometry, &asking->field, linear, &got, lanes_at(asking, linear), &partner);

        if (alias->n_turns == 0)
                *alias = (HbmAlias) { .linear = linear, .partner = linear, .n_turns = asking->n_turns };
        if (reading != HBM_TAG_OWN && alias->last_astray != asking->turn + 1) {
                alias->last_astray = asking->turn + 1;
                alias->n_astray++;
        }
        /* Until something is written to it, it may hold what a march has left: no answer of its address. */
        if (reading != HBM_TAG_CONSTANT || 2 * asking->turn >= asking->n_turns)
                alias->seen[nth] |= 1u << reading;
        if (!tells_more(reading, alias->readings[nth]))
                return;

        alias->readings[nth] = reading;
        alias->seeds[nth] = asking->field.seed;
        alias->wanted[nth] = wanted;
        alias->got[nth] = got;
        if (reading == HBM_TAG_OTHER)
                alias->partner = partner;
        if (reading == HBM_TAG_CONSTANT || reading == HBM_TAG_MIXED)
                alias->is_or = memory_data_count(&got) > memory_data_count(&wanted);
}

/* As many pieces as go into one batch, from *at on; *at_alias is the first access of these. */
static int read_some(const Asking *asking, unsigned nth, size_t *at, size_t *at_alias) {
        MemoryPart part = memory_part_stack(asking->probe->stack);
        MemoryBatch *batch = asking->probe->batch;
        size_t first = *at;
        int numbers[PIECES], r;

        memory_batch_reset(batch);
        for (; *at < asking->n_pieces && *at - first < PIECES; (*at)++) {
                r = memory_batch_copy_out(batch, &part, &asking->pieces[*at], false);
                if (r == -ENOSPC && *at > first)
                        break;
                if (r < 0)
                        return r;
                numbers[*at - first] = r;
        }

        r = memory_batch_run(batch);
        if (r < 0)
                return r;

        for (size_t i = first; i < *at; i++) {
                const uint8_t *data = memory_batch_answer(batch, numbers[i - first]).data;
                const WireBox *piece = &asking->pieces[i];
                uint32_t linear = memory_geometry_linear(asking->probe->geometry, piece->first),
                         columns = piece->last[HBM_COLUMN] - piece->first[HBM_COLUMN] + 1u;
                uint32_t n = (uint32_t) memory_box_accesses(piece);

                for (uint32_t k = 0; k < n; k++)
                        read_tag(asking, &asking->aliases[(*at_alias)++],
                                 linear + k / columns * asking->probe->geometry->size[HBM_COLUMN] + k % columns,
                                 data + k * MEMORY_ACCESS_BYTES, nth);
        }

        return 0;
}

static int ask_once(Asking *asking, const WireBox *box, unsigned nth) {
        size_t at_alias = 0;
        int r;

        r = write_tags(asking, box, nth == 1);
        for (size_t at = 0; r >= 0 && at < asking->n_pieces;)
                r = read_some(asking, nth, &at, &at_alias);
        return r;
}

/* Pieces lie within one bank each. */
static int ask(Asking *asking, const WireBox *box, HbmAliases *aliases) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < asking->n_pieces; i++)
                n += memory_box_accesses(&asking->pieces[i]);
        asking->aliases = calloc(n + 1, sizeof(HbmAlias));
        if (!asking->aliases)
                return -ENOMEM;

        for (asking->turn = 0; r >= 0 && asking->turn < asking->n_turns; asking->turn++) {
                /* Seeds that differ little make tags of one turn look like those of another place in the next. */
                asking->field = (MemoryField) { .background = MEMORY_BACKGROUND_ADDRESS,
                                                .seed = memory_mix(asking->probe->seed + asking->turn) };
                for (unsigned nth = 0; r >= 0 && nth < 2; nth++)
                        r = ask_once(asking, box, nth);
        }
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (asking->aliases[i].readings[0] != HBM_TAG_OWN || asking->aliases[i].readings[1] != HBM_TAG_OWN)
                        r = hbm_aliases_add(aliases, &asking->aliases[i]);

        free(asking->aliases);
        hbm_aliases_sort(aliases);
        return r;
}

int hbm_tags_of_rows(const HbmTagProbe *probe, const WireBox *box, const uint32_t *rows, size_t n, const uint32_t *lanes,
                     unsigned n_turns, HbmAliases *aliases) {
        Asking asking = { .probe = probe, .lanes = lanes, .n_pieces = n, .n_turns = n_turns };
        int r;

        asking.pieces = calloc(n + 1, sizeof(WireBox));
        if (!asking.pieces)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                memory_geometry_at(probe->geometry, rows[i], at);
                asking.pieces[i] = memory_access_box(at);
                asking.pieces[i].first[HBM_COLUMN] = box->first[HBM_COLUMN];
                asking.pieces[i].last[HBM_COLUMN] = box->last[HBM_COLUMN];
        }

        r = ask(&asking, box, aliases);
        free(asking.pieces);
        return r;
}

int hbm_tags_of_pieces(const HbmTagProbe *probe, const WireBox *box, WireBox *pieces, size_t n, const uint32_t *lanes,
                       unsigned n_turns, HbmAliases *aliases) {
        Asking asking = { .probe = probe, .pieces = pieces, .n_pieces = n, .lanes = lanes, .n_turns = n_turns };

        return ask(&asking, box, aliases);
}

int hbm_tags_of_banks(const HbmTagProbe *probe, const uint32_t *lanes, HbmAliases *aliases) {
        uint32_t n_banks = hbm_bank_count(probe->geometry), n_sample;
        Asking asking = { .probe = probe, .lanes = lanes, .n_turns = 1 };
        int r;

        asking.pieces = calloc(n_banks, sizeof(WireBox));
        if (!asking.pieces)
                return -ENOMEM;

        n_sample = MIN(SAMPLE, probe->box->last[HBM_COLUMN] - probe->box->first[HBM_COLUMN] + 1u);
        for (uint32_t bank = 0; bank < n_banks; bank++) {
                WireBox *piece = &asking.pieces[asking.n_pieces];
                unsigned row = (probe->box->first[HBM_ROW] + probe->box->last[HBM_ROW]) / 2u;

                memory_geometry_at(probe->geometry, bank * hbm_bank_accesses(probe->geometry), piece->first);
                piece->first[HBM_ROW] = (uint16_t) row;
                piece->first[HBM_COLUMN] = probe->box->first[HBM_COLUMN];
                memcpy(piece->last, piece->first, sizeof(piece->last));
                piece->last[HBM_COLUMN] = (uint16_t) (piece->first[HBM_COLUMN] + n_sample - 1);
                asking.n_pieces += memory_box_includes(probe->box, piece->first);
        }

        r = ask(&asking, probe->box, aliases);
        free(asking.pieces);
        return r;
}
