/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/cells/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/cells/faults.h"

#define NEAR_ROWS 4u

/* The arrays of a core have codes of their own. An address that reaches nothing is as a dead row; one that reaches another's
 * cells is told of the partition, whose decoder it is. */
static void diagnose_core(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const cell[] = { "sram-cell", NULL }, *const comparator[] = { "sram-comparator", NULL },
                                 *const decoder[] = { "sram-decoder", "sram-row", NULL };

        diagnosis->codes = fault->kind == &memory_fault_kinds[MEMORY_KIND_COMPARATOR] ? comparator : cell;
        if (fault->kind != &memory_fault_kinds[MEMORY_KIND_DECODER])
                return;

        diagnosis->codes = decoder;
        diagnosis->places[diagnosis->n_places] = fault->at;
        diagnosis->places[diagnosis->n_places++].n_parts--;
}

/* A row whose address reaches no cells, and one whose cells another address reaches besides: from outside both are dead. */
static bool is_like_a_dead_row(const Fault *fault) {
        const MemoryDecoderFault *decoder = fault->parameters;

        return location_kind(&fault->at) == LOCATION_ROW && (decoder->class == DECODER_A || decoder->class == DECODER_B);
}

/* Two rows side by side that are one: from outside their word lines touch. */
static bool is_like_a_short(const Fault *fault) {
        const MemoryDecoderFault *decoder = fault->parameters;
        int row = location_index(&fault->at, LOCATION_ROW), other = location_index(&decoder->partner, LOCATION_ROW);

        return location_kind(&fault->at) == LOCATION_ROW && decoder->class == DECODER_C && other >= 0 && abs(row - other) == 1;
}

void memory_diagnose(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const row[] = { "hbm-decoder", "hbm-row", NULL };
        static const char *const tied[] = { "hbm-wordline-short", NULL };
        const MemoryDecoderFault *decoder = fault->parameters;

        if (location_index(&fault->at, LOCATION_CORE) >= 0)
                diagnose_core(fault, diagnosis);
        else if (fault->kind == &memory_fault_kinds[MEMORY_KIND_DECODER] && is_like_a_dead_row(fault))
                diagnosis->codes = row;
        else if (fault->kind == &memory_fault_kinds[MEMORY_KIND_DECODER] && is_like_a_short(fault))
                diagnosis->codes = tied;
        /* Two addresses are entangled, and either may be found to be wrong. */
        if (fault->kind == &memory_fault_kinds[MEMORY_KIND_DECODER] && decoder->partner.n_parts > 0)
                diagnosis->places[diagnosis->n_places++] = decoder->partner;
}

/* ---- fault primitives ---- */

/* The Nth primitive, counted through all classes of the kind, or through those in NAMES; NULL past the end. */
static const char *nth_primitive(const char *kind, const char *const names[], size_t n) {
        const PrimitiveClass *class;

        for (size_t i = 0; (class = primitive_class_at(i)); i++) {
                bool wanted = kind && strcmp(class->kind, kind) == 0;

                for (size_t k = 0; names && names[k]; k++)
                        wanted = wanted || strcmp(class->name, names[k]) == 0;
                for (size_t k = 0; wanted && class->primitives[k]; k++)
                        if (n-- == 0)
                                return class->primitives[k];
        }
        return NULL;
}

static const char *draw_primitive(Sample *sample, const char *kind, const char *const names[]) {
        size_t n = 0;

        while (nth_primitive(kind, names, n))
                n++;
        return nth_primitive(kind, names, sample_below(sample, n));
}

/* ---- other places ---- */

static unsigned numbers(const Location *at, LocationKind kind) {
        static const uint16_t usual[_LOCATION_KIND_MAX] = {
                [LOCATION_CHANNEL] = 16, [LOCATION_PSEUDO_CHANNEL] = 2,  [LOCATION_SID] = 3,
                [LOCATION_BANK_GROUP] = 4, [LOCATION_BANK] = 4,          [LOCATION_ROW] = 16384,
                [LOCATION_COLUMN] = 32,  [LOCATION_BIT] = 256,           [LOCATION_SRAM_BIT] = 256,
                [LOCATION_PSUM] = 8,     [LOCATION_PSUM_PARTITION] = 128, [LOCATION_SBUF_PARTITION] = 128,
        };

        if (kind == LOCATION_SRAM_ROW)
                return location_index(at, LOCATION_PSUM) >= 0 ? 64 : 7168;
        return usual[kind];
}

/* Draws the parts of *AT anew from the one of index FIRST on; every other row near the one that was there. */
static void redraw(Sample *sample, Location *at, unsigned first) {
        for (unsigned i = first; i < at->n_parts; i++) {
                LocationPart *part = &at->parts[i];
                unsigned n = numbers(at, part->kind), old = part->index;
                bool row = part->kind == LOCATION_ROW || part->kind == LOCATION_SRAM_ROW;

                if (n == 0)
                        continue; /* sbuf */
                part->index = (uint16_t) sample_below(sample, n);
                if (row && sample_below(sample, 2))
                        part->index = (uint16_t) ((old + n + sample_below(sample, 2 * NEAR_ROWS + 1) - NEAR_ROWS) % n);
        }
}

/* Writes KEY: where another cell differs from the place of the fault, from its first part that does on. */
static void write_other(Sample *sample, const char *key, unsigned shared_min) {
        Location *at = sample_at(sample), other = *at, start = *at;
        char whole[LOCATION_STRING_MAX], before[LOCATION_STRING_MAX];
        /* Half of them within the access or the row, most others within the bank. */
        unsigned depth = 1 + (unsigned) sample_below(sample, 4);

        if (sample_below(sample, 8) == 0 || depth > at->n_parts - shared_min)
                depth = 1 + (unsigned) sample_below(sample, at->n_parts - shared_min);
        start.n_parts = at->n_parts - depth;
        redraw(sample, &other, start.n_parts);
        (void) location_format(&start, before);
        (void) location_format(&other, whole);
        sample_key(sample, key, "%s", whole + strlen(before) + 1);
}

/* What two cells of one memory have in common at least: chip and stack, or chip, core and array. */
static unsigned shared_parts(const Sample *sample, const Location *at) {
        return location_index(at, LOCATION_CORE) < 0 ? 2 : location_index(at, LOCATION_SBUF) >= 0 ? 3 : 2;
}

/* ---- kinds ---- */

int memory_sample_cell(Sample *sample) {
        const char *text = draw_primitive(sample, sample_kind(sample), NULL);

        if (!text)
                return -EINVAL;
        sample_key(sample, "primitive", "\"%s\"", text);
        return 0;
}

int memory_sample_pair(Sample *sample) {
        int r = memory_sample_cell(sample);

        if (r >= 0)
                write_other(sample, "aggressor", shared_parts(sample, sample_at(sample)));
        return r;
}

/* The classes that faults.h names for the two; what does not fit together is refused and drawn anew. */
int memory_sample_linked(Sample *sample) {
        static const char *const first[] = { "TF", "WDF", "DRDF", "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFdrd", NULL };
        static const char *const second[] = { "WDF", "RDF", "CFds_wt", "CFds_wn", "CFds_r", "CFwd", "CFrd", NULL };
        const char *a = draw_primitive(sample, NULL, first), *b = draw_primitive(sample, NULL, second);
        unsigned shared = shared_parts(sample, sample_at(sample));
        bool pair_a, pair_b;

        if (!a || !b)
                return -EINVAL;
        pair_a = strchr(a, ';') != NULL;
        pair_b = strchr(b, ';') != NULL;
        sample_key(sample, "first", "\"%s\"", a);
        sample_key(sample, "second", "\"%s\"", b);
        if (pair_a || pair_b)
                write_other(sample, "aggressor", shared);
        if (pair_a && pair_b && sample_below(sample, 2))
                write_other(sample, "second-aggressor", shared);
        return 0;
}

int memory_sample_decoder(Sample *sample) {
        static const char *const reads_a[] = { "zeros", "ones" }, *const reads_bd[] = { "and", "or" };
        char class = (char) ('a' + sample_below(sample, 4));

        sample_key(sample, "class", "%c", class);
        if (class == 'a')
                sample_key(sample, "reads", "%s", reads_a[sample_below(sample, 2)]);
        else
                write_other(sample, "partner", sample_at(sample)->n_parts - 1);
        if (class == 'b' || class == 'd')
                sample_key(sample, "reads", "%s", reads_bd[sample_below(sample, 2)]);
        else if (class == 'c')
                sample_key(sample, "reads", "default");
        if (class == 'b')
                sample_key(sample, "floats", "%s", reads_a[sample_below(sample, 2)]);
        else
                sample_key(sample, "floats", "zeros");
        return 0;
}

/* Four neighbours; of an active one exactly one moves. */
int memory_sample_pattern(Sample *sample) {
        static const char *const types[] = { "static", "passive", "active" };
        unsigned type = (unsigned) sample_below(sample, ELEMENTS(types));
        char pattern[5] = "";

        for (unsigned i = 0; i < 4; i++)
                pattern[i] = sample_below(sample, 2) ? '1' : '0';
        if (type == 2)
                pattern[sample_below(sample, 4)] = sample_below(sample, 2) ? 'u' : 'd';
        sample_key(sample, "type", "%s", types[type]);
        sample_key(sample, "pattern", "\"%s\"", pattern);
        return 0;
}
