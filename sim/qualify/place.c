/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/place.h"

#include <errno.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "sim/chip/topology.h"

#define WAYS_MAX 16u /* from a chip to one kind of part */

typedef struct Ways {
        LocationKind wanted;
        unsigned n;
        Location ends[WAYS_MAX]; /* with number 0 in every part */
} Ways;

static int append(Location *at, LocationKind kind, unsigned index, unsigned column) {
        return kind == LOCATION_PE ? location_append_pe(at, index, column) : location_append(at, kind, index);
}

/* The grammar is a tree but for the few parts that may stand below several. */
static void find_ways(Ways *ways, const Location *at) {
        if (location_kind(at) == ways->wanted && ways->n < WAYS_MAX)
                ways->ends[ways->n++] = *at;
        for (LocationKind kind = 0; kind < _LOCATION_KIND_MAX && at->n_parts < LOCATION_DEPTH_MAX; kind++) {
                Location below = *at;

                if (append(&below, kind, 0, 0) >= 0)
                        find_ways(ways, &below);
        }
}

/* How many numbers KIND has below AT: the first that is refused. */
static unsigned count_numbers(const Location *at, LocationKind kind) {
        unsigned low = 1, high = UINT16_MAX + 1u;

        while (low < high) {
                unsigned middle = (low + high) / 2;
                Location below = *at;

                if (append(&below, kind, middle, 0) >= 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* What a chip has of a part by default, where the grammar allows more: no more than a hint, for the simulator has the last word. */
static unsigned usual_numbers(const Location *at, LocationKind kind) {
        static const uint16_t usual[_LOCATION_KIND_MAX] = {
                [LOCATION_CHANNEL] = 16, [LOCATION_SID] = 3,     [LOCATION_BANK_GROUP] = 4, [LOCATION_BANK] = 4,
                [LOCATION_ROW] = 16384,  [LOCATION_COLUMN] = 32, [LOCATION_SUBARRAY] = 32,  [LOCATION_DIE] = 12,
        };

        if (kind == LOCATION_SRAM_ROW)
                return location_index(at, LOCATION_PSUM) >= 0 ? 64 : 7168;
        return usual[kind] > 0 ? usual[kind] : UINT16_MAX + 1u;
}

static unsigned draw_number(Sample *sample, const Location *at, LocationKind kind) {
        unsigned n = count_numbers(at, kind), usual = usual_numbers(at, kind);

        return (unsigned) sample_below(sample, n < usual ? n : usual);
}

int place_way(Sample *sample, const FaultKind *kind, Location *ret) {
        Location chip = { .server = "trn-0" };
        Ways ways = {};
        unsigned n = 0;
        int r;

        while (kind->at[n] >= 0)
                n++;
        ways.wanted = kind->at[sample_below(sample, n)];
        r = location_append(&chip, LOCATION_CHIP, 0);
        if (r < 0)
                return r;
        find_ways(&ways, &chip);
        if (ways.n == 0)
                return -EOPNOTSUPP;
        *ret = ways.ends[sample_below(sample, ways.n)];
        return 0;
}

int place_draw(Sample *sample, const FaultKind *kind, const Location *way, unsigned chip) {
        Location *at = sample_at(sample);
        int r;

        *at = (Location) { .server = "trn-0" };
        for (unsigned i = 0; i < way->n_parts; i++) {
                LocationKind part = way->parts[i].kind;
                unsigned index = draw_number(sample, at, part), column = 0;

                if (part == LOCATION_PE)
                        column = draw_number(sample, at, part);
                if (part == LOCATION_CHIP && !kind->is_shared)
                        index = chip;
                if (part == LOCATION_NIC)
                        index = (unsigned) location_index(at, LOCATION_CHIP);
                r = append(at, part, index, column);
                if (r < 0)
                        return r;
        }
        if (sample_has_ring(sample))
                (void) snprintf(at->server, sizeof(at->server), "us0-%u", (unsigned) sample_below(sample, RING));
        return 0;
}

/* ---- crossing parts of one memory ---- */

#define DIE_CHANNELS  4
#define SUBARRAY_ROWS 512
#define SYMBOL_BITS   16 /* of a sub-wordline */
#define LANES         32 /* a beat of the burst each */

/* What AT has of an axis, from its own part or from one that implies it; -1: all of it. */
static int on_axis(const Location *at, LocationKind axis) {
        static const struct {
                LocationKind axis, part;
                int divide, modulo; /* the axis of this part of AT: so many of its numbers, counted so */
        } implied[] = {
                { LOCATION_SID,      LOCATION_DIE, DIE_CHANNELS,  0 },
                { LOCATION_SUBARRAY, LOCATION_ROW, SUBARRAY_ROWS, 0 },
                { LOCATION_SUB_WORDLINE, LOCATION_BIT, SYMBOL_BITS, 0 },
                { LOCATION_DQ,       LOCATION_BIT, 1,             LANES },
        };
        int index = location_index(at, axis);

        for (size_t i = 0; index < 0 && i < ELEMENTS(implied); i++)
                if (implied[i].axis == axis && location_index(at, implied[i].part) >= 0) {
                        index = location_index(at, implied[i].part) / implied[i].divide;
                        if (implied[i].modulo > 0)
                                index %= implied[i].modulo;
                }
        return index < 0 ? -1 : index;
}

/* Of four channels each, by the quarter that a channel is in. */
static int quarter(const Location *at) {
        int die = location_index(at, LOCATION_DIE), channel = location_index(at, LOCATION_CHANNEL);

        return die >= 0 ? die % DIE_CHANNELS : channel >= 0 ? channel / DIE_CHANNELS : -1;
}

static bool same_memory(const Location *a, const Location *b) {
        static const LocationKind memories[] = { LOCATION_HBM, LOCATION_SBUF, LOCATION_PSUM };
        Location x, y;

        for (size_t i = 0; i < ELEMENTS(memories); i++) {
                x = *a;
                y = *b;
                if (location_truncate(&x, memories[i]) >= 0 && location_truncate(&y, memories[i]) >= 0)
                        return location_equal(&x, &y);
        }
        return false;
}

bool place_overlaps(const Location *a, const Location *b) {
        static const LocationKind axes[] = {
                LOCATION_CHANNEL, LOCATION_PSEUDO_CHANNEL, LOCATION_SID, LOCATION_BANK_GROUP, LOCATION_BANK, LOCATION_SUBARRAY,
                LOCATION_ROW, LOCATION_COLUMN, LOCATION_SUB_WORDLINE, LOCATION_DQ, LOCATION_BIT,
                LOCATION_SBUF_PARTITION, LOCATION_PSUM_PARTITION, LOCATION_SRAM_ROW, LOCATION_SRAM_BIT,
        };

        if (location_contains(a, b) || location_contains(b, a))
                return true;
        if (!same_memory(a, b) || (quarter(a) >= 0 && quarter(b) >= 0 && quarter(a) != quarter(b)))
                return false;
        for (size_t i = 0; i < ELEMENTS(axes); i++) {
                int x = on_axis(a, axes[i]), y = on_axis(b, axes[i]);

                if (x >= 0 && y >= 0 && x != y)
                        return false;
        }
        return true;
}
