/* SPDX-License-Identifier: Apache-2.0 */

/*
 * host-link
 *
 * The PCIe links of a chip and of the adapter beside it to the host: trained as wide and as fast as they are built (eight lanes of
 * 32 GT/s), as fast in fact as that says, in both directions, and without errors that are corrected so often that they show.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/host-link/parameters.h"
#include "checks/port/device-host.h"
#include "checks/step/check.h"
#include "checks/step/step.h"

#define LANES      8u
#define SPEED      "32.0 GT/s PCIe"
#define BUILT_GBPS (LANES * 32 * 128.0 / 130)
#define WAYS       2u
#define PIECES     4u /* in which bytes are moved: what comes and goes at half of the transfers is missed once in 256 */
#define MOVES      (WAYS * PIECES) /* over one link */
/*
 * PCIe allows a bit error ratio of 1e-12: 128 MiB have 0.001 errors, and three or more, of 800,000 links, once in 6,000 sweeps. A GiB each
 * way has 0.017, and three or more are as rare as one link in a million.
 */
#define ERRORS_MAX 2u

typedef enum Reading {
        READING_WIDTH,
        READING_SPEED,
        READING_MAX_WIDTH,
        READING_MAX_SPEED,
        READING_ERRORS,
        _READING_MAX,
} Reading;

typedef struct HostLink {
        const char *name; /* in sentences */
        const char *paths[_READING_MAX];
} HostLink;

static const HostLink links[] = {
        { "the chip", { "device/current_link_width", "device/current_link_speed", "device/max_link_width", "device/max_link_speed",
                        "device/aer_dev_correctable" } },
        { "the adapter", { "efa/device/current_link_width", "efa/device/current_link_speed", "efa/device/max_link_width",
                           "efa/device/max_link_speed", "efa/device/aer_dev_correctable" } },
};

#define LINKS ELEMENTS(links)

typedef struct Reads {
        char texts[LINKS * _READING_MAX][ATTRIBUTE_TEXT_MAX];
} Reads;

static Location place_of(const Step *step, size_t link) {
        Location where = *step_unit(step);

        if (link == 1)
                (void) location_append(&where, LOCATION_NIC, step_chip(step));
        return where;
}

static int read_all(Step *step, Reads *reads) {
        const char *paths[LINKS * _READING_MAX];
        int errors[LINKS * _READING_MAX], r;

        for (size_t i = 0; i < LINKS * _READING_MAX; i++)
                paths[i] = links[i / _READING_MAX].paths[i % _READING_MAX];
        r = device_attributes(step_device(step), step_chip(step), paths, LINKS * _READING_MAX, reads->texts, errors);
        if (r < 0)
                return step_error(step, r, "the host's links cannot be read");
        for (size_t i = 0; i < LINKS * _READING_MAX; i++)
                if (errors[i] < 0)
                        return step_error(step, errors[i], "%s is not there", paths[i]);

        return 0;
}

/* What AER counted in all, by its last line. */
static int parse_errors(const char *text, uint64_t *ret) {
        const char *total = strstr(text, "TOTAL_ERR_COR ");
        char *end;

        if (!total)
                return -EPROTO;
        total += strlen("TOTAL_ERR_COR ");
        errno = 0;
        *ret = strtoull(total, &end, 10);
        return *total < '0' || *total > '9' || errno != 0 || *end != '\0' ? -EPROTO : 0;
}

/* ---- judging ---- */

/* In Gb/s, raw: what the link says of its width and its speed. 0 where that makes no sense, which judge_training() has found. */
static double gbps_of(const char *width_text, const char *speed_text) {
        double width = strtod(width_text, NULL), speed = strtod(speed_text, NULL);

        if (!(width >= 1 && width <= LANES && speed >= 2.5 && speed <= 32))
                return 0;
        return width * speed * (speed >= 8 ? 128.0 / 130 : 0.8);
}

/* The bandwidth that the link has trained to, or could train to, whichever is less. 0 where it amounts to what is built, and is told in other words. */
static double trained_gbps(const char texts[static _READING_MAX][ATTRIBUTE_TEXT_MAX]) {
        double least = MIN(gbps_of(texts[READING_WIDTH], texts[READING_SPEED]), gbps_of(texts[READING_MAX_WIDTH], texts[READING_MAX_SPEED]));

        return least < BUILT_GBPS ? least : 0;
}

static int judge_training(Step *step, Verdict *verdict, size_t link, const Reads *reads) {
        const char (*texts)[ATTRIBUTE_TEXT_MAX] = &reads->texts[link * _READING_MAX];
        Location where = place_of(step, link);
        char built[8];

        (void) snprintf(built, sizeof(built), "%u", LANES);
        for (Reading k = READING_WIDTH; k <= READING_MAX_SPEED; k++) {
                bool width = k == READING_WIDTH || k == READING_MAX_WIDTH;
                const char *expected = width ? built : SPEED;

                if (strcmp(texts[k], expected) == 0)
                        continue;
                return step_finding(step, verdict, "host-link", &where,
                                    &(Evidence) { .address = links[link].paths[k], .expected = expected, .actual = texts[k], .replaceable = "cable to the CPU tray",
                                                  .decided = { "host_link_trained", trained_gbps(texts), BUILT_GBPS } },
                                    "%s of %s's PCIe link to the host is %.32s, built is %s", width ? "the width" : "the speed",
                                    links[link].name, texts[k], expected);
        }

        /* Where nothing is moved this alone passes it. */
        return ((const HostLinkParameters *) step_parameters(step))->bytes > 0 ? 0 :
               step_measure(step, "host_link_trained", BUILT_GBPS, "Gbit/s", LIMIT_GREATER_THAN_OR_EQUAL, BUILT_GBPS, &where);
}

static uint64_t piece_of(const HostLinkParameters *parameters) {
        return (parameters->bytes + PIECES - 1) / PIECES;
}

static int judge_transfers(Step *step, Verdict *verdict, size_t link, const Reads *reads, const uint64_t *nsec) {
        const HostLinkParameters *parameters = step_parameters(step);
        static const char *const ways[WAYS] = { "from the host", "to the host" };
        static const char *const names[LINKS] = { "host_link_bandwidth_min", "host_link_adapter_bandwidth_min" };
        const char (*texts)[ATTRIBUTE_TEXT_MAX] = &reads->texts[link * _READING_MAX];
        double limit = gbps_of(texts[READING_WIDTH], texts[READING_SPEED]) * parameters->efficiency, worst = 0;
        Location where = place_of(step, link);
        char expected[32], actual[32];
        size_t slowest = 0;
        int r;

        for (size_t i = 0; i < MOVES; i++) {
                double gbps = (double) piece_of(parameters) * 8 / (double) nsec[i];

                if (gbps > BUILT_GBPS)
                        return step_error(step, -EPROTO, "a transfer over %s's PCIe link took less time than any can", links[link].name);
                if (i == 0 || gbps < worst) {
                        worst = gbps;
                        slowest = i % WAYS;
                }
        }
        r = step_measure_series(step, names[link], (Series) { STATISTIC_MIN, MOVES }, worst, "Gbit/s", LIMIT_GREATER_THAN_OR_EQUAL, limit, NULL);
        if (r <= 0)
                return r;

        (void) snprintf(expected, sizeof(expected), "%.1f Gb/s", limit);
        (void) snprintf(actual, sizeof(actual), "%.1f Gb/s", worst);
        return step_finding(step, verdict, "host-link", &where, &(Evidence) { .expected = expected, .actual = actual, .replaceable = "cable to the CPU tray" },
                            "transfers %s over %s's PCIe link reach %s; as it has trained it must reach %s", ways[slowest], links[link].name, actual,
                            expected);
}

static int judge_errors(Step *step, Verdict *verdict, size_t link, const Reads *before, const Reads *after) {
        const char *path = links[link].paths[READING_ERRORS];
        Location where = place_of(step, link);
        uint64_t was, is;

        if (parse_errors(before->texts[link * _READING_MAX + READING_ERRORS], &was) < 0 ||
            parse_errors(after->texts[link * _READING_MAX + READING_ERRORS], &is) < 0)
                return step_error(step, -EPROTO, "%s is not as Linux has it", path);
        if (is < was)
                return step_error(step, -EPROTO, "%s ran backwards", path);
        if (is - was <= ERRORS_MAX)
                return 0;
        return step_finding(step, verdict, "host-link-errors", &where,
                            &(Evidence) { .address = path, .has_count = true, .count = (double) (is - was),
                                          .decided = { "host_link_errors_corrected", (double) (is - was), ERRORS_MAX } },
                            "%" PRIu64 " errors were corrected on %s's PCIe link while it was tested, %u may be", is - was, links[link].name,
                            ERRORS_MAX);
}

static int judge_load(Step *step, Verdict *verdict, size_t link, const Reads *before, const Reads *after, const uint64_t *nsec) {
        int r = 0;

        /* What trained anew under load did so for a reason. */
        if (*verdict == VERDICT_PASSED)
                r = judge_training(step, verdict, link, after);
        if (r >= 0)
                r = judge_transfers(step, verdict, link, before, nsec);
        return r < 0 ? r : judge_errors(step, verdict, link, before, after);
}

/* ---- the step ---- */

static int move(Step *step, uint64_t bytes, uint64_t nsec[static LINKS * MOVES]) {
        WireHostTransfer transfers[LINKS * MOVES];
        int r;

        for (size_t i = 0; i < LINKS * MOVES; i++)
                transfers[i] = (WireHostTransfer) { .bytes = bytes, .adapter = (uint8_t) (i / MOVES), .to_host = (uint8_t) (i % WAYS) };
        r = device_host_transfer(step_device(step), step_chip(step), transfers, LINKS * MOVES, nsec);
        return r < 0 ? step_error(step, r, "transfers to and from the host fail") : 0;
}

static int host_link_run(Step *step, Verdict *ret) {
        const HostLinkParameters *parameters = step_parameters(step);
        _cleanup_free_ Reads *before = malloc(sizeof(*before)), *after = malloc(sizeof(*after));
        uint64_t nsec[LINKS * MOVES] = {};
        Verdict verdict = VERDICT_PASSED;
        int r;

        if (!before || !after)
                return -ENOMEM;
        r = read_all(step, before);
        if (r >= 0 && parameters->bytes > 0)
                r = move(step, piece_of(parameters), nsec);
        if (r >= 0 && parameters->bytes > 0)
                r = read_all(step, after);
        for (size_t link = 0; link < LINKS && r >= 0; link++) {
                Verdict own = VERDICT_PASSED;

                r = judge_training(step, &own, link, before);
                if (r >= 0 && parameters->bytes > 0)
                        r = judge_load(step, &own, link, before, after, nsec + link * MOVES);
                verdict = MAX(verdict, own); /* passed, warned, failed */
        }
        if (r >= 0)
                r = step_note(step, "host_link_bytes_moved", (double) piece_of(parameters) * (double) (LINKS * MOVES), "By", NULL);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

/* Attributes are there to be read. */
static Disturbs host_link_disturbs(const void *parameters) {
        return ((const HostLinkParameters *) parameters)->bytes > 0 ? DISTURBS_CHIP : DISTURBS_NOTHING;
}

const Check check_host_link = {
        .name          = "host-link",
        .summary       = "the PCIe links of chip and adapter to the host: width, speed, what transfers reach, corrected errors",
        .reads         = "{,efa/}device/{current,max}_link_{width,speed}, {,efa/}device/aer_dev_correctable; transfers to and from the host",
        .codes         = (const char *const[]) { "host-link", "host-link-errors", NULL },
        .unit          = LOCATION_CHIP,
        .disturbs      = DISTURBS_CHIP,
        .disturbs_with = host_link_disturbs,
        .deadline_sec  = 30,
        .run           = host_link_run,
};
