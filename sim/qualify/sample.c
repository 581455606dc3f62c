/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/qualify/sample.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"
#include "sim/chip/fault.h"
#include "sim/chip/sample.h"
#include "sim/qualify/place.h"

/* ---- parameters ---- */

static uint64_t word_count(const YamlField *field) {
        uint64_t n = 0;

        while (field->words[n])
                n++;
        return n;
}

/* Whole numbers of a huge range are mostly small ones: what counts things is interesting from 0 up. */
static uint64_t draw_whole(Sample *sample, const YamlField *field) {
        uint64_t span = field->max - field->min;

        if (span == UINT64_MAX)
                return sample_next(sample) >> sample_below(sample, 64);
        if (span >= 1u << 20)
                span >>= sample_below(sample, 64 - (uint64_t) __builtin_clzll(span));
        return field->min + sample_below(sample, span + 1);
}

/* -EOPNOTSUPP: only the kind knows what to write there. */
static int draw_field(Sample *sample, const YamlField *field) {
        switch (field->type) {
        case YAML_TYPE_BOOLEAN:
                sample_key(sample, field->name, "%s", sample_below(sample, 2) ? "true" : "false");
                return 0;
        case YAML_TYPE_UNSIGNED:
                sample_key(sample, field->name, "%" PRIu64, draw_whole(sample, field));
                return 0;
        case YAML_TYPE_NUMBER:
                sample_key(sample, field->name, "%.3g", sample_between(sample, field->low, field->high));
                return 0;
        case YAML_TYPE_WORD:
                sample_key(sample, field->name, "%s", field->words[sample_below(sample, word_count(field))]);
                return 0;
        case YAML_TYPE_STRING:
        case YAML_TYPE_STRUCT:
        case YAML_TYPE_CUSTOM:
                break;
        }
        return field->required ? -EOPNOTSUPP : 0;
}

static int draw_parameters(Sample *sample) {
        const YamlField *field = sample->kind->parameters;
        int r = 0;

        for (; field && field->name && r >= 0; field++)
                if (!sample_has_key(sample, field->name) && (field->required || sample_below(sample, 2)))
                        r = draw_field(sample, field);
        return r;
}

/* Half of all faults come and go where they can; what acts once and is gone is drawn only of kinds that do nothing else. */
static void draw_persistence(Sample *sample, double probability) {
        unsigned allowed = sample->kind->persistence;

        if (sample_has_key(sample, "persistence") || allowed == PERSISTENCE_PERMANENT)
                return;
        if (!(allowed & (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT))) {
                sample_key(sample, "persistence", "%s", persistence_to_string(PERSISTENCE_TRANSIENT));
                sample_key(sample, "after", "%.3g", sample_between(sample, SAMPLE_AFTER_MIN, SAMPLE_AFTER_MAX));
        } else if (!(allowed & PERSISTENCE_PERMANENT) || ((allowed & PERSISTENCE_INTERMITTENT) && (sample_below(sample, 2) || probability > 0))) {
                sample_key(sample, "persistence", "%s", persistence_to_string(PERSISTENCE_INTERMITTENT));
                sample_key(sample, "probability", "%.2g",
                           probability > 0 ? probability : pow(SAMPLE_PROBABILITY_MIN, sample_between(sample, 0, 1)));
        }
}

static void draw_triggers(Sample *sample) {
        if ((sample->kind->triggers & TRIGGER_TEMPERATURE) && sample_below(sample, 8) == 0)
                sample_key(sample, "above", "%.1f", sample_between(sample, SAMPLE_ABOVE_MIN, SAMPLE_ABOVE_MAX));
        if ((sample->kind->triggers & TRIGGER_ACTIVITY) && sample_below(sample, 8) == 0)
                sample_key(sample, "after-commands", "%" PRIu64, 1 + sample_below(sample, SAMPLE_COMMANDS_MAX));
        if ((sample->kind->triggers & TRIGGER_DROOP) && sample_below(sample, 8) == 0)
                sample_key(sample, "droop", "%.1f", sample_between(sample, SAMPLE_DROOP_MIN, SAMPLE_DROOP_MAX));
}

/* One try: its text, which may be refused. */
static int draw_text(Sample *sample, const Location *way, unsigned chip, double probability, char **ret) {
        _cleanup_free_ char *keys = NULL;
        char at[LOCATION_STRING_MAX];
        size_t n_keys;
        int r;

        r = place_draw(sample, sample->kind, way, chip);
        if (r < 0)
                return r;
        sample->n_written = 0;
        sample->keys = open_memstream(&keys, &n_keys);
        if (!sample->keys)
                return -ENOMEM;
        r = sample->kind->sample ? sample->kind->sample(sample) : 0;
        if (r >= 0)
                r = draw_parameters(sample);
        if (r >= 0) {
                draw_persistence(sample, probability);
                draw_triggers(sample);
        }
        if (fclose(sample->keys) != 0)
                return -ENOMEM;
        if (r < 0)
                return r;
        return asprintf(ret, "{at: %s, kind: %s%s}", location_format(&sample->at, at), sample->kind->name, keys) < 0 ? -ENOMEM : 0;
}

/* ---- accepted or not ---- */

char *sample_scenario(uint64_t seed, bool ring, const char *faults) {
        char *text;

        if (asprintf(&text, "scenario: qualify\nseed: %" PRIu64 "\ntopology: {%s: 1}\n%s%s", seed,
                     ring ? "ultraservers" : "servers", faults[0] ? "faults:\n" : "noise: true\n", faults) < 0)
                return NULL;
        return text;
}

static void keep(const Sample *sample, const Fault *fault, DrawnFault *ret) {
        ret->kind = sample->kind;
        ret->ring = sample_has_ring(sample);
        ret->at = fault->at;
        ret->comes_and_goes = fault->persistence == PERSISTENCE_INTERMITTENT;
        ret->probability = fault->probability;
        ret->triggers = (isfinite(fault->above) ? TRIGGER_TEMPERATURE : 0) | (fault->after_commands > 0 ? TRIGGER_ACTIVITY : 0) |
                        (fault->droop > 0 ? TRIGGER_DROOP : 0);
        ret->undetectable = fault->kind->undetectable ? fault->kind->undetectable(fault) : NULL;
        ret->diagnosis = (Diagnosis) { .codes = fault->kind->codes, .n_places = 1, .places = { fault->at } };
        if (fault->kind->diagnose)
                fault->kind->diagnose(fault, &ret->diagnosis);
}

/* Injects it into a hall of its own. -EINVAL where the simulator refuses it. */
static int try_text(const Sample *sample, const char *text, DrawnFault *ret, char **ret_error) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_free_ char *item = NULL, *whole = NULL;
        const Chip *chip;
        int r;

        if (asprintf(&item, "  - %s\n", text) < 0)
                return -ENOMEM;
        whole = sample_scenario(0, sample_has_ring(sample), item);
        if (!whole)
                return -ENOMEM;
        r = scenario_parse("drawn", whole, strlen(whole), &scenario, ret_error);
        if (r < 0)
                return r == -ENOMEM ? r : -EINVAL;
        chip = server_chip(hall_server(scenario->hall, sample->at.server), (unsigned) location_index(&sample->at, LOCATION_CHIP));
        if (!chip || chip->n_faults != 1)
                return -EINVAL;
        keep(sample, chip->faults[0], ret);
        return 0;
}

static uint64_t name_hash(const char *name) {
        uint64_t hash = 0;

        for (; *name; name++)
                hash = sample_hash(hash, (uint8_t) *name);
        return hash;
}

int sample_draw(uint64_t seed, const FaultKind *kind, unsigned index, unsigned chip, double probability, DrawnFault *ret,
                char **ret_error) {
        Sample sample = { .kind = kind, .state = sample_hash(sample_hash(seed, name_hash(kind->name)), index) };
        Location way;
        int r = -EINVAL;

        *ret_error = NULL;
        for (unsigned i = 0; i < SAMPLE_TRIES_MAX && r == -EINVAL; i++) {
                _cleanup_free_ char *text = NULL;

                free(TAKE_PTR(*ret_error));
                /* A kind may be refused at the end of one way altogether, but not because its first tries were unlucky. */
                r = i % SAMPLE_TRIES_EACH == 0 ? place_way(&sample, kind, &way) : 0;
                if (r >= 0)
                        r = draw_text(&sample, &way, chip, probability, &text);
                if (r == -EOPNOTSUPP)
                        break;
                if (r < 0)
                        return r;
                r = try_text(&sample, text, ret, ret_error);
                if (r >= 0)
                        ret->text = TAKE_PTR(text);
        }
        if (r == -EOPNOTSUPP)
                *ret_error = strdup("a parameter has no range to draw from");
        return r == -EINVAL || r == -EOPNOTSUPP ? -ERANGE : r;
}

void drawn_fault_done(DrawnFault *fault) {
        free(fault->text);
        *fault = (DrawnFault) {};
}
