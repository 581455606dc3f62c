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
 * Errors that a check has planted, and left behind because it was killed, are none of the chip's: both tellings are judged
 * without them. While somebody is planting nothing can be judged.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/port/device-errors.h"
#include "checks/step/step.h"
#include "checks/telemetry/parameters.h"

#define HEARTBEAT_READINGS_MAX 4096 /* of device time so short that a heartbeat never moves */
#define HEARTBEATS             256  /* it counts in eight bits */
#define OTHERS_MIN             4    /* chips whose median three bad ones cannot move beyond the sound ones */

typedef enum Reading {
        READING_BEAT, /* before all others */
        READING_COMPONENTS,
        READING_HEALTH,
        READING_TEMPERATURE,
        _READING_MAX,
} Reading;

static const char *const paths[_READING_MAX] = {
        [READING_BEAT]             = "mailbox/heartbeat",
        [READING_COMPONENTS]       = "stats/hardware/health_status/unhealthy_components",
        [READING_HEALTH]           = "mailbox/health_status",
        [READING_TEMPERATURE]      = "assay/temperature",
};

typedef char Readings[_READING_MAX][ATTRIBUTE_TEXT_MAX];

/* A finding about the errors of one counter. */
typedef struct CountedError {
        const char *code;
        const char *measurement;
        const char *what;
        size_t limit; /* in the parameters; SIZE_MAX: none is allowed */
} CountedError;

static const CountedError errors[_ERROR_COUNTER_MAX] = {
        [ERRORS_MEM_UNCORRECTED]  = { "hbm-uncorrected", "telemetry_hbm_uncorrected", "uncorrected HBM errors that no repair mends", SIZE_MAX },
        [ERRORS_MEM_REPAIRABLE]   = { "hbm-repairable", "telemetry_hbm_repairable", "uncorrected HBM errors that a repair mends", SIZE_MAX },
        [ERRORS_MEM_CORRECTED]    = { "hbm-corrected", "telemetry_hbm_corrected", "corrected HBM errors",
                                      offsetof(TelemetryParameters, hbm_corrected_max) },
        [ERRORS_SRAM_UNCORRECTED] = { "sram-uncorrected", "telemetry_sram_uncorrected", "uncorrected SRAM errors", SIZE_MAX },
        [ERRORS_SRAM_CORRECTED]   = { "sram-corrected", "telemetry_sram_corrected", "corrected SRAM errors",
                                      offsetof(TelemetryParameters, sram_corrected_max) },
};

/* The worst come first. */
static const ErrorCounter order[] = {
        ERRORS_MEM_UNCORRECTED, ERRORS_MEM_REPAIRABLE, ERRORS_MEM_CORRECTED, ERRORS_SRAM_UNCORRECTED, ERRORS_SRAM_CORRECTED,
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

static int read_errors(Step *step, ErrorCount counts[static _ERROR_COUNTER_MAX]) {
        const char *path;
        int r;

        r = device_errors_read(step_device(step), step_chip(step), ERRORS_ALL, counts, &path);
        if (r == -ENOENT && path)
                return step_error(step, r, "the chip has no %s", path);
        if (r < 0 && path)
                return step_error(step, r, "%s says what cannot be", path);
        if (r < 0)
                return step_error(step, r, "the error counters of the chip cannot be read");
        for (unsigned i = 0; i < _ERROR_COUNTER_MAX; i++) {
                if (counts[i].open)
                        return step_error(step, -EBUSY, "another client plants errors in this chip now");
                if (!error_count_is_possible(&counts[i]))
                        return step_error(step, -EIO, "more errors are said to be planted than the mailbox counts in %s",
                                          error_counter_path((ErrorCounter) i));
        }
        return 0;
}

/* ---- errors ---- */

/* A stack of its own where there are several, else the chip. */
static Location place_of(Step *step, const ErrorCount *counted, unsigned word) {
        Location where = *step_unit(step);

        if (counted->n_words > 1)
                (void) location_append(&where, LOCATION_HBM, word);
        return where;
}

static int measure(Step *step, ErrorCounter counter, uint64_t count, uint64_t limit, const Location *where) {
        return step_measure(step, errors[counter].measurement, (double) count, "{error}", LIMIT_LESS_THAN_OR_EQUAL, (double) limit, where);
}

/* A count beyond its limit, as measurement and finding; LEAST: there may be more. */
static int find_errors(Step *step, Verdict *verdict, ErrorCounter counter, uint64_t count, bool least, uint64_t limit, const Location *where) {
        Evidence evidence = { .address = error_counter_path(counter), .has_count = true, .count = (double) count };
        int r;

        r = measure(step, counter, count, limit, where);
        if (r < 0)
                return r;
        return step_finding(step, verdict, errors[counter].code, where, &evidence, "%s: %s%" PRIu64 ", limit %" PRIu64, errors[counter].what,
                            least ? "at least " : "", count, limit);
}

static int judge_lie(Step *step, Verdict *verdict, ErrorCounter counter, uint64_t sysfs, uint64_t mailbox, bool full) {
        const char *path = error_counter_path(counter);
        char expected[24], actual[24];
        Evidence evidence = { .address = path, .expected = expected, .actual = actual,
                              .decided = { "telemetry_counter_difference", (double) sysfs - (double) mailbox, 0 } };

        if (sysfs == mailbox || (full && sysfs > mailbox))
                return 0;
        (void) snprintf(expected, sizeof(expected), "%" PRIu64, mailbox);
        (void) snprintf(actual, sizeof(actual), "%" PRIu64, sysfs);
        return step_finding(step, verdict, "counter-lies", NULL, &evidence,
                            "%s says %" PRIu64 ", the firmware counted %" PRIu64, path, sysfs, mailbox);
}

/* What the mailbox counts: the sum and the most of one word; beyond its limit each word is a finding of its own. */
typedef struct Counted {
        uint64_t sum, most;
        bool full; /* one of them can count no further */
} Counted;

static int judge_words(Step *step, Verdict *verdict, ErrorCounter counter, uint64_t limit, const ErrorCount *counted, Counted *ret) {
        for (unsigned i = 0; i < counted->n_words; i++) {
                Location where = place_of(step, counted, i);
                bool least;
                uint64_t count = error_count_own_word(counted, i, &least);
                int r;

                ret->full |= counted->words[i] == counted->full;
                ret->sum += count;
                ret->most = count > ret->most ? count : ret->most;
                if (count > limit) {
                        r = find_errors(step, verdict, counter, count, least, limit, &where);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int judge_errors(Step *step, Verdict *verdict, ErrorCounter counter, const ErrorCount *count) {
        uint64_t limit = limit_of(&errors[counter], step_parameters(step)), sysfs = error_count_own_sysfs(count);
        Counted counted = {};
        int r;

        r = judge_words(step, verdict, counter, limit, count, &counted);
        if (r >= 0)
                r = judge_lie(step, verdict, counter, sysfs, counted.sum, counted.full);
        if (r < 0 || counted.most > limit)
                return r;
        /* Or the mailbox is what lies: then what sysfs has counts, wherever it was. */
        if (sysfs > counted.sum && sysfs > limit * count->n_words)
                return find_errors(step, verdict, counter, sysfs, false, limit * count->n_words, NULL);
        r = measure(step, counter, counted.most, limit, NULL);
        return r < 0 ? r : 0;
}

/* ---- health ---- */

enum { BIT_HBM = 3, BIT_SRAM = 6 };

/* The bits of the health register that planted errors have set. */
static uint64_t planted_bits(const ErrorCount counts[static _ERROR_COUNTER_MAX]) {
        uint64_t bits = 0;

        if (error_count_is_planted(&counts[ERRORS_MEM_UNCORRECTED]) || error_count_is_planted(&counts[ERRORS_MEM_REPAIRABLE]))
                bits |= 1u << BIT_HBM;
        if (error_count_is_planted(&counts[ERRORS_SRAM_UNCORRECTED]))
                bits |= 1u << BIT_SRAM;
        return bits;
}

/* hbm and sram are explained by their errors where these were found or planted; all else is said as it stands. */
static int judge_health(Step *step, Verdict *verdict, Readings texts, const ErrorCount counts[static _ERROR_COUNTER_MAX]) {
        const char *components = texts[READING_COMPONENTS];
        uint64_t bits, explained = planted_bits(counts);
        int r;

        r = parse(step, texts, READING_HEALTH, &bits);
        if (r < 0)
                return r;
        if ((bits == 0) != (strcmp(components, "none") == 0))
                return step_finding(step, verdict, "counter-lies", NULL,
                                    &(Evidence) { .address = paths[READING_COMPONENTS], .expected = texts[READING_HEALTH], .actual = components,
                                                  .decided = { "telemetry_health_differing", 1, 0 } },
                                    "the driver calls \"%.64s\" unhealthy, the firmware's register is %.64s", components,
                                    texts[READING_HEALTH]);
        r = step_note(step, "telemetry_health_status", (double) bits, "1", NULL);
        if (*verdict == VERDICT_FAILED)
                explained |= 1u << BIT_HBM | 1u << BIT_SRAM;
        if (r < 0 || (bits & ~explained) == 0)
                return r;
        return step_finding(step, verdict, "component-unhealthy", NULL,
                            &(Evidence) { .address = paths[READING_HEALTH], .expected = "0x00000000", .actual = texts[READING_HEALTH],
                                          .decided = { "telemetry_health_unexplained", (double) (bits & ~explained), 0 } },
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
        ErrorCount counts[_ERROR_COUNTER_MAX];
        Verdict verdict = VERDICT_PASSED;
        Readings texts;
        int r;

        if (step_is_absent(step, step_unit(step)->server, step_chip(step)))
                return step_skip(step, ret, REASON_PREREQUISITE, "there is no such device");
        r = read_all(step, texts);
        if (r >= 0)
                r = read_errors(step, counts);
        for (size_t i = 0; i < ELEMENTS(order) && r >= 0; i++)
                r = judge_errors(step, &verdict, order[i], &counts[order[i]]);
        if (r >= 0)
                r = judge_health(step, &verdict, texts, counts);
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
                        "mailbox/{hbmN_ecc,sram_ecc,health_status,heartbeat}, assay/temperature, assay/planted/*",
        .codes        = (const char *const[]) { "hbm-uncorrected", "hbm-repairable", "hbm-corrected", "sram-uncorrected",
                                                "sram-corrected", "counter-lies", "component-unhealthy", "heartbeat-stalled",
                                                "overheated", "temperature-outlier", NULL },
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_NOTHING,
        .deadline_sec = 30,
        .run          = telemetry_run,
};
