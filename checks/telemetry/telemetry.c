/* SPDX-License-Identifier: Apache-2.0 */

/*
 * telemetry
 *
 * What a chip counts and measures of itself. The firmware's mailbox and the driver's sysfs tell the same errors twice: a
 * difference means that one of them lies, and the larger is judged. One uncorrected error condemns, corrected ones only
 * above their limit. The heartbeat is read twice with other readings between, until enough device time has passed.
 *
 * Temperature has two limits: what the chip's memory bears, and how much hotter it may be than the other chips of its server.
 *
 * Mailbox words (API 6): bits 31…16 corrected, 15…12 unrepairable, 11…0 repairable uncorrected errors of a stack; of SRAM
 * 31…16 corrected, 15…0 uncorrected. A full field says "at least".
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/step.h"
#include "checks/telemetry/parameters.h"

#define HEARTBEAT_READINGS_MAX 4096 /* of device time so short that a heartbeat never moves */
#define HEARTBEATS             256  /* it counts in eight bits */
#define OTHERS_MIN             4    /* chips whose median three bad ones cannot move beyond the sound ones */

typedef enum Reading {
        READING_BEAT, /* before all others */
        READING_HBM_0,
        READING_HBM_1,
        READING_HBM_2,
        READING_HBM_3,
        READING_SRAM,
        READING_MEM_CORRECTED,
        READING_MEM_UNCORRECTED,
        READING_MEM_REPAIRABLE,
        READING_SRAM_CORRECTED,
        READING_SRAM_UNCORRECTED,
        READING_COMPONENTS,
        READING_HEALTH,
        READING_TEMPERATURE,
        _READING_MAX,
} Reading;

static const char *const paths[_READING_MAX] = {
        [READING_BEAT]             = "mailbox/heartbeat",
        [READING_HBM_0]            = "mailbox/hbm0_ecc",
        [READING_HBM_1]            = "mailbox/hbm1_ecc",
        [READING_HBM_2]            = "mailbox/hbm2_ecc",
        [READING_HBM_3]            = "mailbox/hbm3_ecc",
        [READING_SRAM]             = "mailbox/sram_ecc",
        [READING_MEM_CORRECTED]    = "stats/hardware/mem_ecc_corrected",
        [READING_MEM_UNCORRECTED]  = "stats/hardware/mem_ecc_uncorrected",
        [READING_MEM_REPAIRABLE]   = "stats/hardware/mem_ecc_repairable_uncorrected",
        [READING_SRAM_CORRECTED]   = "stats/hardware/sram_ecc_corrected",
        [READING_SRAM_UNCORRECTED] = "stats/hardware/sram_ecc_uncorrected",
        [READING_COMPONENTS]       = "stats/hardware/health_status/unhealthy_components",
        [READING_HEALTH]           = "mailbox/health_status",
        [READING_TEMPERATURE]      = "assay/temperature",
};

typedef char Readings[_READING_MAX][ATTRIBUTE_TEXT_MAX];

/* One kind of error: where sysfs and mailbox count it, and what is said of it. */
typedef struct CountedError {
        Reading sysfs;
        Reading word;       /* the first of n_words */
        unsigned n_words;
        unsigned shift;
        uint32_t mask;
        const char *code;
        const char *measurement;
        const char *what;
        size_t limit;       /* in the parameters; SIZE_MAX: none is allowed */
} CountedError;

static const CountedError errors[] = {
        { READING_MEM_UNCORRECTED, READING_HBM_0, STACKS, 12, 0xf, "hbm-uncorrected", "telemetry_hbm_uncorrected",
          "uncorrected HBM errors that no repair mends", SIZE_MAX },
        { READING_MEM_REPAIRABLE, READING_HBM_0, STACKS, 0, 0xfff, "hbm-repairable", "telemetry_hbm_repairable",
          "uncorrected HBM errors that a repair mends", SIZE_MAX },
        { READING_MEM_CORRECTED, READING_HBM_0, STACKS, 16, 0xffff, "hbm-corrected", "telemetry_hbm_corrected",
          "corrected HBM errors", offsetof(TelemetryParameters, hbm_corrected_max) },
        { READING_SRAM_UNCORRECTED, READING_SRAM, 1, 0, 0xffff, "sram-uncorrected", "telemetry_sram_uncorrected",
          "uncorrected SRAM errors", SIZE_MAX },
        { READING_SRAM_CORRECTED, READING_SRAM, 1, 16, 0xffff, "sram-corrected", "telemetry_sram_corrected",
          "corrected SRAM errors", offsetof(TelemetryParameters, sram_corrected_max) },
};

static uint64_t limit_of(const CountedError *error, const TelemetryParameters *parameters) {
        return error->limit == SIZE_MAX ? 0 : *(const uint64_t *) ((const uint8_t *) parameters + error->limit);
}

static int parse(Step *step, Readings texts, Reading reading, uint64_t *ret) {
        const char *text = texts[reading];
        char *end;

        errno = 0;
        *ret = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
        if (text[0] < '0' || text[0] > '9' || errno != 0 || *end != '\0')
                return step_error(step, -EPROTO, "%s says \"%.64s\", which is no number", paths[reading], text);
        return 0;
}

static int read_all(Step *step, Readings texts) {
        int missing[_READING_MAX], r;

        r = device_attributes(step_device(step), step_chip(step), paths, _READING_MAX, texts, missing);
        if (r < 0)
                return step_error(step, r, "the counters of the chip cannot be read");
        for (unsigned i = 0; i < _READING_MAX; i++)
                if (missing[i] < 0)
                        return step_error(step, missing[i], "the chip has no %s", paths[i]);
        return 0;
}

/* ---- errors ---- */

/* A stack of its own where there are several, else the chip. */
static Location place_of(Step *step, const CountedError *error, unsigned word) {
        Location where = *step_unit(step);

        if (error->n_words > 1)
                (void) location_append(&where, LOCATION_HBM, word);
        return where;
}

static int measure(Step *step, const CountedError *error, uint64_t count, uint64_t limit, const Location *where) {
        return step_measure(step, error->measurement, (double) count, "{error}", LIMIT_LESS_THAN_OR_EQUAL, (double) limit, where);
}

/* A count beyond its limit, as measurement and finding. */
static int find_errors(Step *step, Verdict *verdict, const CountedError *error, uint64_t count, uint64_t limit,
                       const Location *where) {
        Evidence evidence = { .address = paths[error->sysfs], .has_count = true, .count = (double) count };
        int r;

        r = measure(step, error, count, limit, where);
        if (r < 0)
                return r;
        return step_finding(step, verdict, error->code, where, &evidence, "%s: %" PRIu64 ", limit %" PRIu64, error->what, count, limit);
}

static int judge_lie(Step *step, Verdict *verdict, const CountedError *error, uint64_t sysfs, uint64_t mailbox, bool full) {
        char expected[24], actual[24];
        Evidence evidence = { .address = paths[error->sysfs], .expected = expected, .actual = actual };

        if (sysfs == mailbox || (full && sysfs > mailbox))
                return 0;
        (void) snprintf(expected, sizeof(expected), "%" PRIu64, mailbox);
        (void) snprintf(actual, sizeof(actual), "%" PRIu64, sysfs);
        return step_finding(step, verdict, "counter-lies", NULL, &evidence,
                            "%s says %" PRIu64 ", the firmware counted %" PRIu64, paths[error->sysfs], sysfs, mailbox);
}

/* What the mailbox counts: the sum and the most of one word; beyond its limit each word is a finding of its own. */
typedef struct Counted {
        uint64_t sum, most;
        bool full; /* one of them can count no further */
} Counted;

static int judge_words(Step *step, Verdict *verdict, const CountedError *error, uint64_t limit, Readings texts, Counted *ret) {
        int r;

        for (unsigned i = 0; i < error->n_words; i++) {
                Location where = place_of(step, error, i);
                uint64_t word, count;

                r = parse(step, texts, error->word + i, &word);
                if (r < 0)
                        return r;
                if (word > UINT32_MAX)
                        return step_error(step, -EPROTO, "%s has more than 32 bits", paths[error->word + i]);
                count = word >> error->shift & error->mask;
                ret->full |= count == error->mask;
                ret->sum += count;
                ret->most = count > ret->most ? count : ret->most;
                if (count > limit) {
                        r = find_errors(step, verdict, error, count, limit, &where);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int judge_error(Step *step, Verdict *verdict, const CountedError *error, Readings texts) {
        uint64_t limit = limit_of(error, step_parameters(step)), sysfs;
        Counted counted = {};
        int r;

        r = parse(step, texts, error->sysfs, &sysfs);
        if (r >= 0)
                r = judge_words(step, verdict, error, limit, texts, &counted);
        if (r >= 0)
                r = judge_lie(step, verdict, error, sysfs, counted.sum, counted.full);
        if (r < 0 || counted.most > limit)
                return r;
        /* Or the mailbox is what lies: then what sysfs has counts, wherever it was. */
        if (sysfs > counted.sum && sysfs > limit * error->n_words)
                return find_errors(step, verdict, error, sysfs, limit * error->n_words, NULL);
        r = measure(step, error, counted.most, limit, NULL);
        return r < 0 ? r : 0;
}

/* ---- health ---- */

/* hbm and sram are explained by their errors where these were found; all else is said as it stands. */
static int judge_health(Step *step, Verdict *verdict, Readings texts) {
        const char *components = texts[READING_COMPONENTS];
        uint64_t bits;
        int r;

        r = parse(step, texts, READING_HEALTH, &bits);
        if (r < 0)
                return r;
        if ((bits == 0) != (strcmp(components, "none") == 0))
                return step_finding(step, verdict, "counter-lies", NULL,
                                    &(Evidence) { .address = paths[READING_COMPONENTS], .expected = texts[READING_HEALTH], .actual = components },
                                    "the driver calls \"%.64s\" unhealthy, the firmware's register is %.64s", components,
                                    texts[READING_HEALTH]);
        r = step_note(step, "telemetry_health_status", (double) bits, "1", NULL);
        if (r < 0 || bits == 0 || (*verdict == VERDICT_FAILED && (bits & ~(1u << 3 | 1u << 6)) == 0))
                return r;
        return step_finding(step, verdict, "component-unhealthy", NULL,
                            &(Evidence) { .address = paths[READING_HEALTH], .expected = "0x00000000", .actual = texts[READING_HEALTH] },
                            "the firmware calls %.64s unhealthy", components);
}

static int compare_numbers(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

/* The median of the other chips of the server that are at rest, as this one is; NAN where they are too few to be compared with. */
static double temperature_of_others(Step *step) {
        const char *server = step_unit(step)->server;
        double others[CHIPS];
        size_t n = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                double celsius = step_temperature(step, server, chip);

                if (chip != step_chip(step) && !isnan(celsius))
                        others[n++] = celsius;
        }
        if (n < OTHERS_MIN || isnan(step_temperature(step, server, step_chip(step))))
                return NAN;
        qsort(others, n, sizeof(*others), compare_numbers);
        return n % 2 ? others[n / 2] : (others[n / 2 - 1] + others[n / 2]) / 2;
}

static int judge_rise(Step *step, Verdict *verdict, double celsius) {
        const TelemetryParameters *parameters = step_parameters(step);
        double others = temperature_of_others(step);
        int r;

        if (isnan(others))
                return 0;
        r = step_measure(step, "telemetry_temperature_rise", celsius - others, "K", LIMIT_LESS_THAN_OR_EQUAL, parameters->temperature_rise_max, NULL);
        if (r <= 0)
                return r;
        return step_finding(step, verdict, "temperature-outlier", NULL, &(Evidence) { .address = paths[READING_TEMPERATURE] },
                            "%.1f degrees Celsius, %.1f above the median of the other idle chips, limit %.1f", celsius, celsius - others,
                            parameters->temperature_rise_max);
}

static int judge_temperature(Step *step, Verdict *verdict, Readings texts) {
        const TelemetryParameters *parameters = step_parameters(step);
        const char *text = texts[READING_TEMPERATURE];
        double celsius;
        char *end;
        int r;

        celsius = strtod(text, &end);
        if (end == text || *end != '\0' || !isfinite(celsius))
                return step_error(step, -EPROTO, "%s says \"%.64s\", which is no temperature", paths[READING_TEMPERATURE], text);
        r = step_measure(step, "telemetry_temperature", celsius, "Cel", LIMIT_LESS_THAN_OR_EQUAL, parameters->temperature_max, NULL);
        if (r == 0)
                return judge_rise(step, verdict, celsius);
        if (r < 0)
                return r;
        return step_finding(step, verdict, "overheated", NULL, &(Evidence) { .address = paths[READING_TEMPERATURE], .actual = text },
                            "%.1f degrees Celsius, limit %.1f", celsius, parameters->temperature_max);
}

/* ---- heartbeat ---- */

/* Reads on until the heartbeat has moved or its time is over; device time passes by reading, and nothing is disturbed. */
static int judge_heartbeat(Step *step, Verdict *verdict, Readings texts, uint64_t began_nsec) {
        const TelemetryParameters *parameters = step_parameters(step);
        Device *device = step_device(step);
        uint64_t first, beat;
        int r;

        r = parse(step, texts, READING_BEAT, &first);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < HEARTBEAT_READINGS_MAX; i++) {
                r = device_attribute_u64(device, step_chip(step), paths[READING_BEAT], &beat);
                if (r < 0)
                        return step_error(step, r, "the heartbeat cannot be read again");
                if (beat >= HEARTBEATS || first >= HEARTBEATS)
                        return step_error(step, -EPROTO, "a heartbeat of eight bits cannot be %" PRIu64, beat);
                if (beat != first || device_nsec(device) - began_nsec >= parameters->heartbeat_usec * 1000)
                        break;
        }
        if (beat == first && device_nsec(device) - began_nsec < parameters->heartbeat_usec * 1000)
                return step_error(step, -EPROTO, "%u readings took no device time", HEARTBEAT_READINGS_MAX);

        r = step_measure(step, "telemetry_heartbeats", (double) ((beat - first) % HEARTBEATS), "1",
                         LIMIT_GREATER_THAN_OR_EQUAL, 1, NULL);
        if (r <= 0)
                return r;
        return step_finding(step, verdict, "heartbeat-stalled", NULL,
                            &(Evidence) { .address = paths[READING_BEAT], .actual = texts[READING_BEAT] },
                            "the heartbeat stood at %" PRIu64 " for %" PRIu64 " µs of device time", beat,
                            (device_nsec(device) - began_nsec) / 1000);
}

static int telemetry_run(Step *step, Verdict *ret) {
        uint64_t began_nsec = device_nsec(step_device(step));
        Verdict verdict = VERDICT_PASSED;
        Readings texts;
        int r;

        if (step_is_absent(step, step_unit(step)->server, step_chip(step)))
                return step_skip(step, ret, REASON_PREREQUISITE, "there is no such device");
        r = read_all(step, texts);
        for (size_t i = 0; i < ELEMENTS(errors) && r >= 0; i++)
                r = judge_error(step, &verdict, &errors[i], texts);
        if (r >= 0)
                r = judge_health(step, &verdict, texts);
        if (r >= 0)
                r = judge_temperature(step, &verdict, texts);
        if (r >= 0)
                r = judge_heartbeat(step, &verdict, texts, began_nsec);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

const Check check_telemetry = {
        .name         = "telemetry",
        .summary      = "what every chip counts and measures of itself, and whether its two tellings agree",
        .reads        = "stats/hardware/{mem,sram}_ecc_*, stats/hardware/health_status/unhealthy_components, "
                        "mailbox/{hbmN_ecc,sram_ecc,health_status,heartbeat}, assay/temperature",
        .codes        = (const char *const[]) { "hbm-uncorrected", "hbm-repairable", "hbm-corrected", "sram-uncorrected",
                                                "sram-corrected", "counter-lies", "component-unhealthy", "heartbeat-stalled",
                                                "overheated", "temperature-outlier", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 30,
        .run          = telemetry_run,
};
