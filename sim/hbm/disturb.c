/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/disturb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hbm/hbm.h"
#include "sim/hbm/refresh.h"

const char *const hbm_flip_words[] = { "either", "0", "1", NULL };

static const YamlField retention_fields[] = {
        YAML_NUMBER("seconds", HbmRetention, seconds, 1e-6, 1e6, .summary = "how long it holds without refresh at 45 °C, half of that per 10 °C; else drawn"),
        YAML_UNSIGNED("leaks", HbmRetention, leaks, 0, 1, .summary = "what it becomes: 0 (default, a true cell) or 1 (an anti-cell)"),
        YAML_NUMBER("other", HbmRetention, other, 0, 1e6, .summary = "variable retention: the other time, now and then; 0 (default): it has none"),
        {},
};

static const YamlField hammer_fields[] = {
        YAML_UNSIGNED("threshold", HbmHammer, threshold, 1, 100000000, .summary = "openings of adjacent rows that it bears; else drawn"),
        YAML_NUMBER("far", HbmHammer, far, 0.001, 1, .summary = "what an opening two rows away counts, 0.2 by default"),
        YAML_NUMBER("press", HbmHammer, press, 1, 1000, .summary = "how many times fewer where each lasts 3.9 µs, 20 by default"),
        YAML_WORD("value", HbmHammer, value, hbm_flip_words, .summary = "what it becomes, either (default), 0 or 1"),
        {},
};

static const YamlField upset_fields[] = {
        YAML_WORD("shape", HbmUpset, shape, hbm_upset_words, .summary = "what flips: one bit (default), or bits of one byte, pin or beat of an access"),
        {},
};

static int validate_access(const Fault *fault, const char **ret_wrong) {
        *ret_wrong = "expected a bit of an access, …/rowN/colN/bitN";
        return location_index(&fault->at, LOCATION_ROW) < 0 ? -EINVAL : 0;
}

static int validate_upset(const Fault *fault, const char **ret_wrong) {
        const HbmUpset *upset = fault->parameters;
        bool one_bit = location_index(&fault->at, LOCATION_BIT) >= 0;

        *ret_wrong = "a hit on one bit is …/rowN/colN/bitN; one on a byte, pin or beat …/rowN/colN with its shape";
        return location_index(&fault->at, LOCATION_ROW) < 0 || one_bit != (upset->shape == HBM_UPSET_BIT) ? -EINVAL : 0;
}

static const char *undetectable_retention(const Fault *fault) {
        const HbmRetention *retention = fault->parameters;

        return retention->seconds >= 2 * HBM_GUARANTEED_SEC && (retention->other == 0 || retention->other >= 2 * HBM_GUARANTEED_SEC) ?
                       "it holds as long as sound cells do" : NULL;
}

static const char *undetectable_hammer(const Fault *fault) {
        return ((const HbmHammer *) fault->parameters)->threshold >= HBM_HAMMER_SOUND ? "it bears what sound rows may be asked to bear" : NULL;
}

/* What refresh comes too late for is lost in every test, and is no different from a cell that does not hold at all. */
static void diagnose_retention(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const either[] = { "hbm-retention", "hbm-cell", NULL };
        const HbmRetention *retention = fault->parameters;
        double window = hbm_seconds_from((double) HBM_REFRESH_NSEC * 1e-9, HBM_REFRESH_HOT - 25); /* a chip at rest has about 60 °C */

        if (retention->seconds < window || (retention->other > 0 && retention->other < window))
                diagnosis->codes = either;
}

/* What a pause within the guarantee of a warm chip, or a sweep that sound rows bear, can find. */
static int sample_retention(Sample *sample) {
        double seconds = sample_between(sample, 0.01, HBM_GUARANTEED_SEC / 2);
        bool varies = sample_below(sample, 4) == 0;

        sample_key(sample, "seconds", "%.3g", seconds);
        sample_key(sample, "other", "%.3g", varies ? sample_between(sample, 0.01, HBM_GUARANTEED_SEC / 2) : seconds);
        return 0;
}

static int sample_hammer(Sample *sample) {
        sample_key(sample, "threshold", "%.0f", sample_between(sample, 500, 2 * HBM_HAMMER_SOUND / 3));
        return 0;
}

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define PERSISTENCE (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT)
#define TRIGGERS    (TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY)

const FaultKind hbm_disturb_kinds[] = {
        [HBM_DISTURB_RETENTION] = {
                .name = "retention", .summary = "a cell loses its charge without refresh sooner than it may",
                .family = FAMILY_MEMORY, .at = PLACES(LOCATION_BIT), .persistence = PERSISTENCE, .triggers = TRIGGERS,
                .parameters_bytes = sizeof(HbmRetention), .parameters = retention_fields, .validate = validate_access,
                .undetectable = undetectable_retention, .codes = FAULT_CODES("hbm-retention"),
                .sample = sample_retention, .diagnose = diagnose_retention,
        },
        [HBM_DISTURB_HAMMER] = {
                .name = "hammer", .summary = "a cell flips when rows beside its own are opened too often or too long",
                .family = FAMILY_MEMORY, .at = PLACES(LOCATION_BIT), .persistence = PERSISTENCE, .triggers = TRIGGERS,
                .parameters_bytes = sizeof(HbmHammer), .parameters = hammer_fields, .validate = validate_access,
                .undetectable = undetectable_hammer, .codes = FAULT_CODES("hbm-hammer"),
                .sample = sample_hammer,
        },
        [HBM_DISTURB_UPSET] = {
                .name = "soft-error", .summary = "stored bits flip once, until they are written again",
                .family = FAMILY_MEMORY, .at = PLACES(LOCATION_BIT, LOCATION_COLUMN), .persistence = PERSISTENCE_TRANSIENT,
                .parameters_bytes = sizeof(HbmUpset), .parameters = upset_fields, .validate = validate_upset,
                .codes = FAULT_CODES("hbm-soft-error"),
        },
        {},
};

bool hbm_disturb_has(const FaultKind *kind) {
        return kind >= hbm_disturb_kinds && kind < hbm_disturb_kinds + _HBM_DISTURB_MAX;
}

void hbm_disturb_done(Hbm *hbm) {
        free(hbm->disturb.victims);
        hbm->disturb = (HbmDisturb) {};
}

int hbm_disturb_inject(Hbm *hbm, const Fault *fault, const WireBox *box) {
        HbmDisturb *disturb = &hbm->disturb;
        int bit = location_index(&fault->at, LOCATION_BIT);
        HbmVictim victim = { .fault = fault, .bit = (uint8_t) (bit < 0 ? 0 : bit), .restored = chip_nsec(hbm->memory.chip) };
        HbmVictim *grown;

        memcpy(victim.at, box->first, sizeof(victim.at));
        for (size_t i = 0; i < disturb->n_victims && fault->kind != &hbm_disturb_kinds[HBM_DISTURB_UPSET]; i++) {
                const HbmVictim *other = &disturb->victims[i];

                if (other->fault->kind == fault->kind && other->bit == victim.bit && memcmp(other->at, victim.at, sizeof(victim.at)) == 0)
                        return -EEXIST;
        }

        grown = reallocarray(disturb->victims, disturb->n_victims + 1, sizeof(HbmVictim));
        if (!grown)
                return -ENOMEM;
        disturb->victims = grown;
        disturb->victims[disturb->n_victims++] = victim;
        return 0;
}

void hbm_disturb_heal(Hbm *hbm, const Fault *fault) {
        HbmDisturb *disturb = &hbm->disturb;
        size_t n = 0;

        for (size_t i = 0; i < disturb->n_victims; i++)
                if (disturb->victims[i].fault != fault)
                        disturb->victims[n++] = disturb->victims[i];
        disturb->n_victims = n;
}

void hbm_disturb_leave(Hbm *hbm, const WireBox *row) {
        for (size_t i = 0; i < hbm->disturb.n_victims; i++)
                if (memory_box_has(row, hbm->disturb.victims[i].at))
                        hbm->disturb.victims[i].gone = true;
}

/* The box that a command visits, and how; NULL where it opens none as a march or copy does. */
static const WireBox *visited(const WireCommand *command, unsigned *ret_ops) {
        *ret_ops = command->type == COMMAND_HBM_MARCH ? command->march.n_ops : 1;
        if (command->type == COMMAND_HBM_MARCH)
                return &command->march.box;
        return command->type == COMMAND_HBM_COPY_IN || command->type == COMMAND_HBM_COPY_OUT ? &command->copy.box : NULL;
}

/* When COMMAND comes to the access, after its start; its box is valid and has it. */
static uint64_t visit_nsec(const WireCommand *command, const WireBox *box, unsigned n_ops, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        bool march = command->type == COMMAND_HBM_MARCH;
        MemoryOrder order = march ? (MemoryOrder) command->march.order : MEMORY_ORDER_COLUMN_FAST;

        return memory_box_position(box, order, march && command->march.descending, at) * n_ops * MEMORY_ACCESS_BYTES / HBM_BYTES_PER_NSEC;
}

int hbm_disturb_before(Hbm *hbm, const Execution *execution) {
        const WireCommand *command = execution->command;
        unsigned n_ops;
        const WireBox *box = visited(command, &n_ops);
        int r;

        r = hbm_noise_until(hbm, execution->start_nsec);
        if (r < 0)
                return r;
        if (box && (!memory_box_is_valid(&hbm->memory.shape, box) || (command->type == COMMAND_HBM_MARCH && command->march.order >= _MEMORY_ORDER_MAX)))
                return 0; /* it will be refused */

        for (size_t i = 0; i < hbm->disturb.n_victims; i++) {
                HbmVictim *victim = &hbm->disturb.victims[i];

                if (victim->gone)
                        continue;
                if (victim->fault->kind == &hbm_disturb_kinds[HBM_DISTURB_UPSET] && fault_is_active(victim->fault, execution))
                        r = hbm_upset_strike(hbm, victim);
                else if (victim->fault->kind == &hbm_disturb_kinds[HBM_DISTURB_RETENTION] && box && memory_box_has(box, victim->at))
                        r = hbm_retention_open(hbm, victim, execution,
                                               execution->start_nsec + visit_nsec(command, box, n_ops, victim->at));
                if (r < 0)
                        return r;
        }

        return 0;
}
