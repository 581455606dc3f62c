/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Telemetry: what a chip counts and measures of itself. ECC errors stand in two places that agree on a healthy chip:
 * the words of the firmware's mailbox (corrected in bits 31…16, unrepairable in 15…12, repairable in 11…0, as of API 6)
 * and the driver's counters in sysfs. Healthy memories correct an error now and then.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/chip.h"
#include "sim/chip/planted.h"

#define FAULTS_HERE      16u
#define HEARTBEAT_NSEC   100000u /* of device time, between two beats */
#define HEARTBEATS       256u    /* eight bits in the mailbox */
#define NOISE_MAX        3u      /* corrected errors of a healthy stack, at most */
#define DRAW_NOISE       0x7e1e
#define ORDINARY_HBM     100u /* corrected errors of a stack */
#define ORDINARY_SRAM    10u  /* of a chip */
#define ORDINARY_HEAT    23.0 /* K: 20 beyond the median of the others are ordinary, and chips at rest differ by up to 3 */

extern const Model model_telemetry;

typedef struct EccFault {
        int counter;
        uint64_t stack, count;
} EccFault;

typedef struct OverheatFault {
        double celsius;
} OverheatFault;

typedef struct ComponentFault {
        int component;
} ComponentFault;

typedef struct Telemetry {
        Chip *chip;
        uint64_t counts[_COUNTER_MAX][STACKS]; /* what really happened */
        Planted planted[_COUNTER_MAX];
        const Fault *stuck[_COUNTER_MAX];
        uint64_t shown[_COUNTER_MAX]; /* what sysfs stays at while it is stuck */
        const Fault *stalled;
        uint64_t stalled_at;
        size_t n_faults; /* of the other kinds */
        const Fault *faults[FAULTS_HERE];
} Telemetry;

/* The bits of the health register that the driver names. */
static const char *const component_words[] = {
        "firmware_service_api", "firmware_service_processor", "link_intraserver", "link_host", "link_efa",
        "link_interserver", "link_switch", "axi_fabric", NULL,
};
static const uint8_t component_bits[] = { 4, 5, 7, 8, 9, 10, 11, 12 };
enum { BIT_HBM = 3, BIT_SRAM = 6 };

static const char *const counter_words[] = {
        [COUNTER_MEM_ECC_CORRECTED]              = "mem_ecc_corrected",
        [COUNTER_MEM_ECC_UNCORRECTED]            = "mem_ecc_uncorrected",
        [COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED] = "mem_ecc_repairable_uncorrected",
        [COUNTER_SRAM_ECC_CORRECTED]             = "sram_ecc_corrected",
        [COUNTER_SRAM_ECC_UNCORRECTED]           = "sram_ecc_uncorrected",
        NULL,
};

enum { KIND_ERRORS, KIND_STUCK, KIND_STALLED, KIND_OVERHEAT, KIND_COMPONENT, KINDS };
static const FaultKind faults[KINDS + 1];

static int telemetry_init(void *state, Chip *chip, unsigned index) {
        Telemetry *telemetry = state;
        Location at;

        telemetry->chip = chip;
        chip_location(chip, &at);
        for (unsigned stack = 0; stack < STACKS; stack++)
                telemetry->counts[COUNTER_MEM_ECC_CORRECTED][stack] =
                                draw_u64(chip, &at, stack, DRAW_NOISE) % (NOISE_MAX + 1);
        return 0;
}

void chip_count(Chip *chip, Counter counter, unsigned stack, uint64_t n) {
        Telemetry *telemetry = chip_part(chip, &model_telemetry, 0);
        uint64_t *count;

        if (!telemetry || stack >= STACKS)
                return;
        count = &telemetry->counts[counter][stack];
        *count = n > UINT64_MAX - *count ? UINT64_MAX : *count + n;
}

/* What the firmware counted in one stack; SRAM has but one word, as stack 0. */
static uint64_t counted(const Telemetry *telemetry, Counter counter, unsigned stack) {
        uint64_t count = telemetry->counts[counter][stack];

        for (size_t i = 0; i < telemetry->n_faults; i++) {
                const EccFault *errors = telemetry->faults[i]->parameters;

                if (telemetry->faults[i]->kind == &faults[KIND_ERRORS] && errors->counter == (int) counter &&
                    errors->stack == stack)
                        count += errors->count;
        }
        if (telemetry->stuck[counter]) {
                const EccFault *unseen = telemetry->stuck[counter]->parameters;

                if (unseen->stack == stack)
                        count += unseen->count;
        }
        return count;
}

static uint64_t counted_all(const Telemetry *telemetry, Counter counter) {
        uint64_t sum = 0;

        for (unsigned stack = 0; stack < STACKS; stack++)
                sum += counted(telemetry, counter, stack);
        return sum;
}

static void counted_each(const Telemetry *telemetry, Counter counter, uint64_t ret[static STACKS]) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                ret[stack] = counted(telemetry, counter, stack);
}

static uint64_t beats(const Telemetry *telemetry) {
        return (telemetry->stalled ? telemetry->stalled_at : chip_nsec(telemetry->chip)) / HEARTBEAT_NSEC % HEARTBEATS;
}

static uint32_t health(const Telemetry *telemetry) {
        uint32_t bits = 0;

        if (counted_all(telemetry, COUNTER_MEM_ECC_UNCORRECTED) + counted_all(telemetry, COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED) > 0)
                bits |= 1u << BIT_HBM;
        if (counted_all(telemetry, COUNTER_SRAM_ECC_UNCORRECTED) > 0)
                bits |= 1u << BIT_SRAM;
        for (size_t i = 0; i < telemetry->n_faults; i++)
                if (telemetry->faults[i]->kind == &faults[KIND_COMPONENT])
                        bits |= 1u << component_bits[((const ComponentFault *) telemetry->faults[i]->parameters)->component];
        return bits;
}

/* ---- sysfs ---- */

static int read_counter(void *state, Counter counter, char *text, size_t size) {
        const Telemetry *telemetry = state;

        (void) snprintf(text, size, "%" PRIu64,
                        telemetry->stuck[counter] ? telemetry->shown[counter] : counted_all(telemetry, counter));
        return 0;
}

/* The driver and the firmware clear together; a fault goes on to count what it counts. */
static void clear_counter(Telemetry *telemetry, Counter counter) {
        uint64_t now[STACKS];

        memset(telemetry->counts[counter], 0, sizeof(telemetry->counts[counter]));
        counted_each(telemetry, counter, now);
        planted_clear(&telemetry->planted[counter], now);
}

/*
 * Firmware begins anew. No public source tells that of its counters; but a reset is the public remedy of errors that a spare row mends, and would be
 * none if they were counted still.
 */
static void telemetry_reset(void *state) {
        for (Counter counter = 0; counter < _COUNTER_MAX; counter++)
                clear_counter(state, counter);
}

static int read_planted(void *state, Counter counter, char *text, size_t size) {
        const Telemetry *telemetry = state;
        uint64_t now[STACKS];

        counted_each(telemetry, counter, now);
        planted_format(&telemetry->planted[counter], now, counter < COUNTER_SRAM_ECC_CORRECTED ? STACKS : 1, text, size);
        return 0;
}

static int announce_planted(void *state, Chip *chip, Counter counter, const char *text) {
        Telemetry *telemetry = state;
        uint64_t now[STACKS];

        counted_each(telemetry, counter, now);
        return planted_announce(&telemetry->planted[counter], now, chip_client(chip), text);
}

static void release(void *state, const void *client) {
        Telemetry *telemetry = state;
        uint64_t now[STACKS];

        for (Counter counter = 0; counter < _COUNTER_MAX; counter++) {
                counted_each(telemetry, counter, now);
                planted_release(&telemetry->planted[counter], now, client);
        }
}

#define COUNTER_FILE(name, counter)                                                                          \
        static int read_##name(void *state, Chip *chip, unsigned index, char *text, size_t size) {           \
                return read_counter(state, counter, text, size);                                             \
        }                                                                                                    \
        static int clear_##name(void *state, Chip *chip, unsigned index, const char *text) {                 \
                clear_counter(state, counter);                                                               \
                return 0;                                                                                    \
        }                                                                                                    \
        static int read_planted_##name(void *state, Chip *chip, unsigned index, char *text, size_t size) {   \
                return read_planted(state, counter, text, size);                                             \
        }                                                                                                    \
        static int announce_##name(void *state, Chip *chip, unsigned index, const char *text) {              \
                return announce_planted(state, chip, counter, text);                                         \
        }                                                                                                    \
        struct counter_file_##name##_needs_a_semicolon

COUNTER_FILE(mem_corrected, COUNTER_MEM_ECC_CORRECTED);
COUNTER_FILE(mem_uncorrected, COUNTER_MEM_ECC_UNCORRECTED);
COUNTER_FILE(mem_repairable, COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED);
COUNTER_FILE(sram_corrected, COUNTER_SRAM_ECC_CORRECTED);
COUNTER_FILE(sram_uncorrected, COUNTER_SRAM_ECC_UNCORRECTED);

static int read_beat(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%" PRIu64, beats(state));
        return 0;
}

/* The names of what is unhealthy, comma-separated; "none". */
static int read_unhealthy(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        uint32_t bits = health(state);
        size_t n = 0;

        (void) snprintf(text, size, "none");
        if (bits & 1u << BIT_HBM)
                n += (size_t) snprintf(text + n, size - n, "hbm");
        if (bits & 1u << BIT_SRAM)
                n += (size_t) snprintf(text + n, size - n, "%ssram", n > 0 ? "," : "");
        for (size_t i = 0; i < ELEMENTS(component_bits) && n < size; i++)
                if (bits & 1u << component_bits[i])
                        n += (size_t) snprintf(text + n, size - n, "%s%s", n > 0 ? "," : "", component_words[i]);
        return 0;
}

static int read_hw_error(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%u", health(state) != 0);
        return 0;
}

static int read_power(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        uint64_t second = chip_nsec(chip) / 1000000000;
        Location at;
        unsigned idle;

        /* A resting chip draws a tenth of what it may; which sixtieth of a percent is its own. */
        chip_location(chip, &at);
        idle = 900 + (unsigned) (draw_u64(chip, &at, second, DRAW_NOISE) % 200);
        (void) snprintf(text, size, "POWER_STATUS_VALID,%" PRIu64 ",%u.%02u,%u.%02u,%u.%02u", second, (idle - 40) / 100,
                        (idle - 40) % 100, (idle + 60) / 100, (idle + 60) % 100, idle / 100, idle % 100);
        return 0;
}

/* ---- mailbox ---- */

static uint64_t at_most(uint64_t value, uint64_t max) {
        return value > max ? max : value;
}

static int read_hbm_word(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const Telemetry *telemetry = state;

        if (index >= STACKS)
                return -ENOENT;
        (void) snprintf(text, size, "0x%08" PRIx64,
                        at_most(counted(telemetry, COUNTER_MEM_ECC_CORRECTED, index), 0xffff) << 16 |
                                        at_most(counted(telemetry, COUNTER_MEM_ECC_UNCORRECTED, index), 0xf) << 12 |
                                        at_most(counted(telemetry, COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED, index), 0xfff));
        return 0;
}

static int read_sram_word(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const Telemetry *telemetry = state;

        (void) snprintf(text, size, "0x%08" PRIx64,
                        at_most(counted_all(telemetry, COUNTER_SRAM_ECC_CORRECTED), 0xffff) << 16 |
                                        at_most(counted_all(telemetry, COUNTER_SRAM_ECC_UNCORRECTED), 0xffff));
        return 0;
}

static int read_health(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "0x%08" PRIx32, health(state));
        return 0;
}

static int read_temperature(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%.1f", chip_temperature(chip));
        return 0;
}

#define HEALTH  "stats/hardware/health_status/"
#define PLANTED "assay/planted/"

static const Attribute attributes[] = {
        { "stats/hardware/mem_ecc_corrected",              read_mem_corrected,    clear_mem_corrected    },
        { "stats/hardware/mem_ecc_uncorrected",            read_mem_uncorrected,  clear_mem_uncorrected  },
        { "stats/hardware/mem_ecc_repairable_uncorrected", read_mem_repairable,   clear_mem_repairable   },
        { "stats/hardware/sram_ecc_corrected",             read_sram_corrected,   clear_sram_corrected   },
        { "stats/hardware/sram_ecc_uncorrected",           read_sram_uncorrected, clear_sram_uncorrected },
        { PLANTED "mem_ecc_corrected",   read_planted_mem_corrected,    announce_mem_corrected    },
        { PLANTED "mem_ecc_uncorrected", read_planted_mem_uncorrected,  announce_mem_uncorrected  },
        { PLANTED "mem_ecc_repairable_uncorrected", read_planted_mem_repairable, announce_mem_repairable },
        { PLANTED "sram_ecc_corrected",  read_planted_sram_corrected,   announce_sram_corrected   },
        { PLANTED "sram_ecc_uncorrected", read_planted_sram_uncorrected, announce_sram_uncorrected },
        { HEALTH "unhealthy_components",                   read_unhealthy,        NULL                   },
        { HEALTH "healthcheck_heartbeat",                  read_beat,             NULL                   },
        { HEALTH "hw_error_event",                         read_hw_error,         NULL                   },
        { "stats/power/utilization",                       read_power,            NULL                   },
        { "mailbox/health_status",                         read_health,           NULL                   },
        { "mailbox/heartbeat",                             read_beat,             NULL                   },
        { "mailbox/sram_ecc",                              read_sram_word,        NULL                   },
        { "mailbox/hbm%u_ecc",                             read_hbm_word,         NULL                   },
        { "assay/temperature",                             read_temperature,      NULL                   },
        {},
};

/* ---- faults ---- */

static const LocationKind at_chip[] = { LOCATION_CHIP, _LOCATION_KIND_INVALID };

static int validate_errors(const Fault *fault, const char **ret_wrong) {
        const EccFault *errors = fault->parameters;

        *ret_wrong = "SRAM errors are counted for the whole chip: stack must be 0";
        return errors->counter >= COUNTER_SRAM_ECC_CORRECTED && errors->stack > 0 ? -EINVAL : 0;
}

/* Of the others planted errors show that they stand. */
static const char *undetectable_stuck(const Fault *fault) {
        const EccFault *unseen = fault->parameters;

        return unseen->count == 0 && unseen->counter == COUNTER_MEM_ECC_UNCORRECTED
                               ? "nothing was counted that the stuck counter could hide, and planted errors are repairable ones" : NULL;
}

static void diagnose_stuck(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const hbm[] = { "counter-lies", "hbm-ecc", NULL }, *const sram[] = { "counter-lies", "sram-ecc", NULL };
        const EccFault *unseen = fault->parameters;

        diagnosis->codes = unseen->counter < COUNTER_SRAM_ECC_CORRECTED ? hbm : sram;
}

/* What the checks call ordinary unless a plan says otherwise (checks/telemetry). */
static const char *errors_in_order(const Fault *fault) {
        const EccFault *errors = fault->parameters;

        if (errors->counter == COUNTER_MEM_ECC_CORRECTED && errors->count <= ORDINARY_HBM)
                return "a healthy stack may have corrected 100 errors";
        if (errors->counter == COUNTER_SRAM_ECC_CORRECTED && errors->count <= ORDINARY_SRAM)
                return "a healthy chip may have corrected 10 errors of its SRAM";
        return NULL;
}

static const char *heat_in_order(const Fault *fault) {
        const OverheatFault *heat = fault->parameters;

        return heat->celsius <= ORDINARY_HEAT ? "a chip may be 20 K hotter than its neighbours, which differ by 3" : NULL;
}

/* Less than the limit of the memory is told by comparison alone. */
static void diagnose_heat(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const either[] = { "overheated", "temperature-outlier", NULL };

        diagnosis->codes = either;
}

static int sample_heat(Sample *sample) {
        sample_key(sample, "celsius", "%.1f", sample_between(sample, 20, 120));
        return 0;
}

/* Errors of a stack are found at the stack. */
static void diagnose_errors(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const words[_COUNTER_MAX][2] = {
                [COUNTER_MEM_ECC_CORRECTED]              = { "hbm-corrected" },
                [COUNTER_MEM_ECC_UNCORRECTED]            = { "hbm-uncorrected" },
                [COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED] = { "hbm-repairable" },
                [COUNTER_SRAM_ECC_CORRECTED]             = { "sram-corrected" },
                [COUNTER_SRAM_ECC_UNCORRECTED]           = { "sram-uncorrected" },
        };
        const EccFault *errors = fault->parameters;

        diagnosis->codes = words[errors->counter];
        if (errors->counter < COUNTER_SRAM_ECC_CORRECTED)
                (void) location_append(&diagnosis->places[0], LOCATION_HBM, (unsigned) errors->stack);
}

static const YamlField errors_fields[] = {
        YAML_WORD("counter", EccFault, counter, counter_words, .required = true, .summary = "which errors"),
        YAML_UNSIGNED("stack", EccFault, stack, 0, STACKS - 1, .summary = "of which HBM stack"),
        YAML_UNSIGNED("count", EccFault, count, 1, 4095, .required = true, .summary = "how many"),
        {},
};

static const YamlField stuck_fields[] = {
        YAML_WORD("counter", EccFault, counter, counter_words, .required = true, .summary = "which counter of sysfs"),
        YAML_UNSIGNED("stack", EccFault, stack, 0, STACKS - 1, .summary = "where the errors are that it hides"),
        YAML_UNSIGNED("count", EccFault, count, 0, 4095, .summary = "how many the mailbox counted meanwhile"),
        {},
};

static const YamlField overheat_fields[] = {
        YAML_NUMBER("celsius", OverheatFault, celsius, 0.1, 200, .required = true, .summary = "how much hotter it is"),
        {},
};

static const YamlField component_fields[] = {
        YAML_WORD("component", ComponentFault, component, component_words, .required = true, .summary = "of the health register"),
        {},
};

static const FaultKind faults[KINDS + 1] = {
        [KIND_ERRORS] = {
                .name = "ecc-errors", .summary = "memory errors that have been counted", .family = FAMILY_TELEMETRY,
                .at = at_chip, .persistence = PERSISTENCE_PERMANENT, .parameters_bytes = sizeof(EccFault),
                .parameters = errors_fields, .validate = validate_errors, .undetectable = errors_in_order,
                .diagnose = diagnose_errors,
        },
        [KIND_STUCK] = {
                .name = "counter-stuck", .summary = "a counter of sysfs stays where it is while the mailbox counts",
                .family = FAMILY_TELEMETRY, .at = at_chip, .persistence = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(EccFault), .parameters = stuck_fields, .validate = validate_errors,
                .undetectable = undetectable_stuck, .codes = FAULT_CODES("counter-lies"), .diagnose = diagnose_stuck,
        },
        [KIND_STALLED] = {
                .name = "heartbeat-stalled", .summary = "the firmware's heartbeat stands still", .family = FAMILY_TELEMETRY,
                .at = at_chip, .persistence = PERSISTENCE_PERMANENT, .codes = FAULT_CODES("heartbeat-stalled"),
        },
        [KIND_OVERHEAT] = {
                .name = "overheat", .summary = "hotter than its neighbours", .family = FAMILY_TELEMETRY, .at = at_chip,
                .persistence = PERSISTENCE_PERMANENT, .parameters_bytes = sizeof(OverheatFault), .parameters = overheat_fields,
                .undetectable = heat_in_order, .diagnose = diagnose_heat, .sample = sample_heat,
        },
        [KIND_COMPONENT] = {
                .name = "component-unhealthy", .summary = "the firmware gives up on one of its components",
                .family = FAMILY_TELEMETRY, .at = at_chip, .persistence = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(ComponentFault), .parameters = component_fields,
                .codes = FAULT_CODES("component-unhealthy"),
        },
        {},
};

/* Of all that heat it together. */
static void set_heat(Telemetry *telemetry) {
        telemetry->chip->heat = 0;
        for (size_t i = 0; i < telemetry->n_faults; i++)
                if (telemetry->faults[i]->kind == &faults[KIND_OVERHEAT])
                        telemetry->chip->heat += ((const OverheatFault *) telemetry->faults[i]->parameters)->celsius;
}

static int inject(void *state, const Fault *fault) {
        Telemetry *telemetry = state;
        const EccFault *errors = fault->parameters;

        switch (fault->kind - faults) {
        case KIND_STUCK:
                if (telemetry->stuck[errors->counter])
                        return -EEXIST;
                telemetry->shown[errors->counter] = counted_all(telemetry, (Counter) errors->counter);
                telemetry->stuck[errors->counter] = fault;
                return 0;
        case KIND_STALLED:
                if (telemetry->stalled)
                        return -EEXIST;
                telemetry->stalled = fault;
                telemetry->stalled_at = chip_nsec(telemetry->chip);
                return 0;
        default:
                if (telemetry->n_faults >= FAULTS_HERE)
                        return -ENOSPC;
                telemetry->faults[telemetry->n_faults++] = fault;
                set_heat(telemetry);
                return 0;
        }
}

static void heal(void *state, const Fault *fault) {
        Telemetry *telemetry = state;

        if (telemetry->stalled == fault)
                telemetry->stalled = NULL;
        for (unsigned counter = 0; counter < _COUNTER_MAX; counter++)
                if (telemetry->stuck[counter] == fault)
                        telemetry->stuck[counter] = NULL;
        for (size_t i = 0; i < telemetry->n_faults; i++)
                if (telemetry->faults[i] == fault) {
                        memmove(&telemetry->faults[i], &telemetry->faults[i + 1],
                                (--telemetry->n_faults - i) * sizeof(telemetry->faults[0]));
                        break;
                }
        set_heat(telemetry);
}

const Model model_telemetry = {
        .name       = "telemetry",
        .part       = LOCATION_CHIP,
        .state_size = sizeof(Telemetry),
        .init       = telemetry_init,
        .reset      = telemetry_reset,
        .attributes = attributes,
        .faults     = (const FaultKind *const[]) { faults, NULL },
        .inject     = inject,
        .heal       = heal,
        .release    = release,
};
