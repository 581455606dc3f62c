/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/place.h"

#include <errno.h>
#include <stdio.h>

#include "sim/topology.h"

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

static LocationKind draw_kind(Sample *sample, const LocationKind *kinds) {
        unsigned n = 0;

        while (kinds[n] >= 0)
                n++;
        return kinds[sample_below(sample, n)];
}

bool place_needs_ring(const Location *at) {
        int port = location_index(at, LOCATION_LINK);

        return port == LINK_Z_PLUS || port == LINK_Z_MINUS;
}

int place_draw(Sample *sample, const FaultKind *kind, unsigned chip) {
        Ways ways = { .wanted = draw_kind(sample, kind->at) };
        Location *at = sample_at(sample), way = { .server = "trn-0" };
        int r;

        r = location_append(&way, LOCATION_CHIP, 0);
        if (r < 0)
                return r;
        find_ways(&ways, &way);
        if (ways.n == 0)
                return -EOPNOTSUPP;
        way = ways.ends[sample_below(sample, ways.n)];

        *at = (Location) { .server = "trn-0" };
        for (unsigned i = 0; i < way.n_parts; i++) {
                LocationKind part = way.parts[i].kind;
                unsigned n = count_numbers(at, part), index = (unsigned) sample_below(sample, n), column = 0;

                if (part == LOCATION_PE)
                        column = (unsigned) sample_below(sample, n);
                if (part == LOCATION_CHIP && !kind->is_shared)
                        index = chip;
                r = append(at, part, index, column);
                if (r < 0)
                        return r;
        }
        if (place_needs_ring(at))
                (void) snprintf(at->server, sizeof(at->server), "us0-%u", (unsigned) sample_below(sample, RING));
        return 0;
}
