/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cases of every class, and how many of them a march finds.
 */

#include "sim/coverage/coverage.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/coverage/machine.h"

#define CELLS          4u
#define LINKED_CELLS   3u
#define ANY_MAX        12u
#define PRIMITIVES_MAX 64u

typedef struct Measure {
        const March *march;
        size_t n_directions;
        uint32_t directions[1u << ANY_MAX]; /* of the `any` elements */
        Coverage *coverage;
        CoverageCount *count; /* of the class at hand */
} Measure;

static void begin_class(Measure *measure, const char *name, bool is_static) {
        assert(measure->coverage->n < COVERAGE_CLASSES_MAX);
        measure->count = &measure->coverage->classes[measure->coverage->n++];
        *measure->count = (CoverageCount) { .name = name, .is_static = is_static };
}

/* One place: found from every content, in every direction of the `any` elements? */
static bool always_detected(const Measure *measure, const CoverageFault *fault, CoverageRun run, const unsigned *contents,
                            unsigned n_contents) {
        for (unsigned i = 0; i < n_contents; i++)
                for (size_t k = 0; k < measure->n_directions; k++) {
                        run.content = contents ? contents[i] : i;
                        run.descending = measure->directions[k];
                        if (!coverage_detects(&run, measure->march, fault))
                                return false;
                }
        return true;
}

static bool found_at(const Measure *measure, const CoverageFault *fault, unsigned n_cells) {
        return always_detected(measure, fault, (CoverageRun) { .n_cells = n_cells }, NULL, 1u << n_cells);
}

static void count_case(Measure *measure, bool detected) {
        measure->count->total++;
        measure->count->detected += detected;
}

static void count_pair(Measure *measure, bool below, bool detected) {
        count_case(measure, detected);
        measure->count->below_total += below;
        measure->count->below_detected += below && detected;
}

/* ---- primitives ---- */

static Primitive primitive_of(const char *text) {
        Primitive primitive;
        int r;

        r = primitive_parse(text, &primitive, NULL, NULL);
        assert(r >= 0);
        (void) r;
        return primitive;
}

static void count_single(Measure *measure, const Primitive *primitive) {
        CoverageFault fault = { .n_links = 1, .links = { { .primitive = *primitive } } };
        bool detected = true;

        for (uint8_t v = 0; v < CELLS; v++) {
                fault.links[0].victim = v;
                detected = detected && found_at(measure, &fault, CELLS);
        }
        count_case(measure, detected);
}

static void count_two(Measure *measure, const Primitive *primitive, bool below) {
        CoverageFault fault = { .n_links = 1, .links = { { .primitive = *primitive } } };
        bool detected = true;

        for (uint8_t a = 0; a < CELLS; a++)
                for (uint8_t v = 0; v < CELLS; v++) {
                        if (a == v || (a < v) != below)
                                continue;
                        fault.links[0].aggressor = a;
                        fault.links[0].victim = v;
                        detected = detected && found_at(measure, &fault, CELLS);
                }
        count_pair(measure, below, detected);
}

static void count_class(Measure *measure, const PrimitiveClass *class) {
        begin_class(measure, class->name, class->is_static);
        for (size_t i = 0; class->primitives[i]; i++) {
                Primitive primitive = primitive_of(class->primitives[i]);

                if (!primitive.pair)
                        count_single(measure, &primitive);
                else {
                        count_two(measure, &primitive, true);
                        count_two(measure, &primitive, false);
                }
        }
}

/* ---- faults that are no primitives ---- */

static void count_stuck_open(Measure *measure) {
        bool detected = true;

        begin_class(measure, "SOF", false);
        for (uint8_t v = 0; v < CELLS; v++)
                for (unsigned sense = 0; sense < 2; sense++) {
                        CoverageFault fault = { .sort = COVERAGE_STUCK_OPEN, .x = v };
                        CoverageRun run = { .n_cells = CELLS, .sense = sense != 0 };

                        detected = detected && always_detected(measure, &fault, run, NULL, 1u << CELLS);
                }
        count_case(measure, detected);
}

static void count_retention(Measure *measure) {
        begin_class(measure, "DRF", false);
        for (uint8_t value = 0; value < 2; value++) {
                bool detected = true;

                for (uint8_t v = 0; v < CELLS; v++) {
                        CoverageFault fault = { .sort = COVERAGE_RETENTION, .x = v, .value = value };

                        detected = detected && found_at(measure, &fault, CELLS);
                }
                count_case(measure, detected);
        }
}

/* x and y in all places of one order, x itself where there is no y. */
static bool decoder_found(const Measure *measure, CoverageFault fault, int order) {
        for (uint8_t x = 0; x < CELLS; x++)
                for (uint8_t y = 0; y < CELLS; y++) {
                        if (order == 0 ? y != x : x == y || (x < y) != (order < 0))
                                continue;
                        fault.x = x;
                        fault.y = y;
                        if (!found_at(measure, &fault, CELLS))
                                return false;
                }
        return true;
}

static void count_decoders(Measure *measure) {
        static const struct {
                const char *name;
                CoverageSort sort;
                bool alone, floats, wired;
        } decoders[] = {
                { "AF-A", COVERAGE_DECODER_A, true,  true,  false },
                { "AF-B", COVERAGE_DECODER_B, false, true,  true  },
                { "AF-C", COVERAGE_DECODER_C, false, false, false },
                { "AF-D", COVERAGE_DECODER_D, false, false, true  },
        };

        for (size_t i = 0; i < ELEMENTS(decoders); i++) {
                begin_class(measure, decoders[i].name, false);
                for (unsigned variant = 0; variant < 4; variant++) {
                        CoverageFault fault = { .sort = decoders[i].sort, .floating = variant & 1, .wired_or = variant >> 1 };

                        if ((fault.floating && !decoders[i].floats) || (fault.wired_or && !decoders[i].wired))
                                continue;
                        if (decoders[i].alone)
                                count_case(measure, decoder_found(measure, fault, 0));
                        else {
                                count_pair(measure, true, decoder_found(measure, fault, -1));
                                count_pair(measure, false, decoder_found(measure, fault, 1));
                        }
                }
        }
}

/* ---- linked faults ---- */

typedef struct Texts {
        size_t n;
        Primitive primitives[PRIMITIVES_MAX];
} Texts;

static void gather(const char *const *names, bool pairs, Texts *ret) {
        const PrimitiveClass *class;

        ret->n = 0;
        for (; *names; names++)
                for (size_t i = 0; (class = primitive_class_at(i)); i++) {
                        if (strcmp(class->name, *names) != 0)
                                continue;
                        for (size_t k = 0; class->primitives[k]; k++) {
                                Primitive primitive = primitive_of(class->primitives[k]);

                                if (primitive.pair == pairs) {
                                        assert(ret->n < PRIMITIVES_MAX);
                                        ret->primitives[ret->n++] = primitive;
                                }
                        }
                }
}

/* What the second needs to hide the first: it begins where the first has left the victim, and undoes it. */
static bool is_linked(const Primitive *first, const Primitive *second) {
        return second->victim.state == first->fault && second->fault == !first->fault;
}

/* Every order of the cells that take part. CELL[i] is where role i lies: victim, first aggressor, second. */
static bool linked_found(const Measure *measure, CoverageFault fault, const uint8_t cell[static 3], bool two_aggressors) {
        fault.links[0].victim = fault.links[1].victim = cell[0];
        fault.links[0].aggressor = cell[1];
        fault.links[1].aggressor = two_aggressors ? cell[2] : cell[1];
        return found_at(measure, &fault, LINKED_CELLS);
}

static void count_linked_places(Measure *measure, const CoverageFault *fault, unsigned n_roles) {
        static const uint8_t pairs[6][3] = { { 1, 0 }, { 2, 0 }, { 2, 1 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
        static const uint8_t triples[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
        bool all = true;

        if (n_roles == 1) {
                for (uint8_t v = 0; v < LINKED_CELLS; v++)
                        all = all && linked_found(measure, *fault, (uint8_t[]) { v, v, v }, false);
                count_case(measure, all);
        } else if (n_roles == 2)
                for (unsigned half = 0; half < 2; half++) {
                        all = true;
                        for (unsigned i = 0; i < 3; i++)
                                all = all && linked_found(measure, *fault, pairs[3 * half + i], false);
                        count_pair(measure, half == 0, all);
                }
        else
                for (unsigned i = 0; i < 6; i++)
                        count_case(measure, linked_found(measure, *fault, triples[i], true));
}

static void count_linked(Measure *measure) {
        static const char *const first_names[] = { "TF", "WDF", "DRDF", "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFdrd", NULL };
        static const char *const second_names[] = { "WDF", "RDF", "CFds_wt", "CFds_wn", "CFds_r", "CFwd", "CFrd", NULL };
        static const struct {
                const char *name;
                bool first_pair, second_pair;
                unsigned n_roles;
        } linked[] = {
                { "LF1", false, false, 1 }, { "LF2av", true, false, 2 }, { "LF2va", false, true, 2 },
                { "LF2aa", true, true, 2 }, { "LF3", true, true, 3 },
        };
        Texts firsts, seconds;

        for (size_t i = 0; i < ELEMENTS(linked); i++) {
                begin_class(measure, linked[i].name, false);
                gather(first_names, linked[i].first_pair, &firsts);
                gather(second_names, linked[i].second_pair, &seconds);
                for (size_t a = 0; a < firsts.n; a++)
                        for (size_t b = 0; b < seconds.n; b++) {
                                CoverageFault fault = { .n_links = 2,
                                                        .links = { { .primitive = firsts.primitives[a] },
                                                                   { .primitive = seconds.primitives[b] } } };

                                if (is_linked(&firsts.primitives[a], &seconds.primitives[b]))
                                        count_linked_places(measure, &fault, linked[i].n_roles);
                        }
        }
}

/* ---- neighbourhoods ---- */

static void count_neighbourhoods(Measure *measure) {
        static const struct {
                const char *name;
                CoverageSort sort;
                unsigned n_neighbours;
        } sorts[] = {
                { "SNPSF", COVERAGE_STATIC_NEIGHBOURS,  1 },
                { "PNPSF", COVERAGE_PASSIVE_NEIGHBOURS, 1 },
                { "ANPSF", COVERAGE_ACTIVE_NEIGHBOURS,  4 },
        };
        /* Spread: solid, checkered, striped along rows and columns, and the complement of each. */
        static const unsigned contents[] = { 0x000, 0x1ff, 0x0aa, 0x155, 0x038, 0x1c7, 0x092, 0x16d };

        for (size_t i = 0; i < ELEMENTS(sorts); i++) {
                begin_class(measure, sorts[i].name, false);
                for (uint8_t neighbour = 0; neighbour < sorts[i].n_neighbours; neighbour++)
                        for (uint8_t pattern = 0; pattern < 16; pattern++)
                                for (uint8_t value = 0; value < 2; value++) {
                                        CoverageFault fault = { .sort = sorts[i].sort, .neighbour = neighbour,
                                                                .pattern = pattern, .value = value };

                                        count_case(measure,
                                                   always_detected(measure, &fault,
                                                                   (CoverageRun) { .n_cells = COVERAGE_CELLS_MAX },
                                                                   contents, ELEMENTS(contents)));
                                }
        }
}

/* ---- all of it ---- */

/* Every combination of directions of the `any` elements, or all ascending. */
static int list_directions(Measure *measure, bool strict) {
        unsigned elements[MARCH_ELEMENTS_MAX], n = 0;

        for (unsigned i = 0; i < measure->march->n_elements; i++)
                if (measure->march->elements[i].direction == MARCH_ANY)
                        elements[n++] = i;
        if (!strict)
                n = 0;
        if (n > ANY_MAX)
                return -E2BIG;

        measure->n_directions = (size_t) 1 << n;
        for (size_t combination = 0; combination < measure->n_directions; combination++) {
                measure->directions[combination] = 0;
                for (unsigned i = 0; i < n; i++)
                        measure->directions[combination] |= (uint32_t) (combination >> i & 1) << elements[i];
        }
        return 0;
}

int coverage_measure(const March *march, bool strict, Coverage *ret) {
        Coverage coverage = { .operations = march_operations(march) };
        Measure measure = { .march = march, .coverage = &coverage };
        const PrimitiveClass *class;
        int r;

        r = list_directions(&measure, strict);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < march->n_elements; i++)
                coverage.delays += march->elements[i].direction == MARCH_DELAY;
        for (size_t i = 0; (class = primitive_class_at(i)); i++)
                count_class(&measure, class);
        count_stuck_open(&measure);
        count_retention(&measure);
        count_decoders(&measure);
        count_linked(&measure);
        count_neighbourhoods(&measure);

        for (size_t i = 0; i < coverage.n; i++)
                if (coverage.classes[i].is_static) {
                        coverage.static_detected += coverage.classes[i].detected;
                        coverage.static_total += coverage.classes[i].total;
                }
        *ret = coverage;
        return 0;
}
