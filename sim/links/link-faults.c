/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/link-faults.h"

#include <errno.h>

#include "checks/text/cleanup.h"
#include "sim/links/link.h"

/* What `production` looks for, the longest of plans; what a shorter one does not find it has missed. */
#define SEEN_RATE    1e-12 /* of disturbances, wrong bits or bursts of them: a lane may have as many */
#define SEEN_CLOSING 2.3   /* 64ths of a unit interval: Q(29.7 / 4.03) = 8.5e-14, and it warns of 1e-13 */
#define WARMEST      12.0  /* °C above LINK_WARM, of a chip at rest */
#define SEEN_SHARE   0.9   /* a sound port may leave out its code and headers */
#define SCAN_SEC     150.0

static const LinkFault *fault_parameters(const Fault *fault) {
        return fault->parameters;
}

LinkFaultKind link_fault_kind(const Fault *fault) {
        for (unsigned kind = 0; kind < _LINK_FAULT_KIND_MAX; kind++)
                if (fault->kind == &link_kinds[kind])
                        return (LinkFaultKind) kind;

        return _LINK_FAULT_KIND_MAX;
}

bool link_fault_is_trouble(const Fault *fault) {
        LinkFaultKind kind = link_fault_kind(fault);

        return kind == LINK_BURST_ERRORS || kind == LINK_CLOCK_SLIPS || kind == LINK_CROSSTALK;
}

/* ---- validation ---- */

static int refuse(const char **ret_wrong, const char *wrong) {
        *ret_wrong = wrong;
        return -EINVAL;
}

static int validate_lane(const Fault *fault, const char **ret_wrong) {
        if (location_index(&fault->at, LOCATION_LANE) >= (int) link_port_lanes(link_fault_port(&fault->at)))
                return refuse(ret_wrong, "z links have lanes 0 to 15");

        return 0;
}

static int validate_signal(const Fault *fault, const char **ret_wrong) {
        int site = fault_parameters(fault)->site;

        if (site == LINK_SITE_RECEIVER_PCS || site == LINK_SITE_TRANSMITTER_PCS)
                return refuse(ret_wrong, "that happens to signals, and a PCS has none");

        return validate_lane(fault, ret_wrong);
}

static int validate_other(const Fault *fault, uint64_t other, const char *same, const char **ret_wrong) {
        if (other >= link_port_lanes(link_fault_port(&fault->at)))
                return refuse(ret_wrong, "z links have lanes 0 to 15");
        if ((int) other == location_index(&fault->at, LOCATION_LANE))
                return refuse(ret_wrong, same);

        return validate_lane(fault, ret_wrong);
}

static int validate_crossed(const Fault *fault, const char **ret_wrong) {
        return validate_other(fault, fault_parameters(fault)->with, "a lane cannot be crossed with itself", ret_wrong);
}

static int validate_crosstalk(const Fault *fault, const char **ret_wrong) {
        int r;

        r = validate_signal(fault, ret_wrong);
        if (r < 0)
                return r;

        return validate_other(fault, fault_parameters(fault)->from, "a lane does not disturb itself", ret_wrong);
}

static int validate_bursts(const Fault *fault, const char **ret_wrong) {
        const LinkFault *parameters = fault_parameters(fault);

        if (parameters->rate * parameters->length > 0.01)
                return refuse(ret_wrong, "bursts that last more than one bit in a hundred are no bursts");

        return validate_lane(fault, ret_wrong);
}

static int validate_width(const Fault *fault, const char **ret_wrong) {
        if (fault_parameters(fault)->width >= link_port_lanes(link_fault_port(&fault->at)))
                return refuse(ret_wrong, "that many lanes are no fewer than the port has");

        return 0;
}

static int validate_gbps(const Fault *fault, const char **ret_wrong) {
        uint64_t gbps = fault_parameters(fault)->gbps;

        if (gbps != 5 && gbps != 8 && gbps != 16)
                return refuse(ret_wrong, "expected 16, 8 or 5 Gb/s");

        return 0;
}

/* ---- what no scan can see ---- */

static const char *rate_is_in_order(const Fault *fault) {
        return fault_parameters(fault)->rate < SEEN_RATE ? "a lane may have up to 1e-12" : NULL;
}

static const char *crosstalk_is_in_order(const Fault *fault) {
        return fault_parameters(fault)->rate / 2 < SEEN_RATE ? "a lane may have up to 1e-12, and the other one toggles at every other bit" : NULL;
}

static const char *skew_is_taken_up(const Fault *fault) {
        return fault_parameters(fault)->bits <= LINK_DESKEW_BITS ? "the receiver's deskew buffer takes it up" : NULL;
}

static const char *eye_is_wide(const Fault *fault) {
        const LinkFault *parameters = fault_parameters(fault);

        return parameters->closing + WARMEST * parameters->per_degree < SEEN_CLOSING ? "so wide an eye is wrong less than once in 1e13 bits" : NULL;
}

static const char *share_is_in_order(const Fault *fault) {
        return fault_parameters(fault)->share > SEEN_SHARE ? "that much goes into frames" : NULL;
}

static const char *flaps_are_rare(const Fault *fault) {
        return fault_parameters(fault)->every > SCAN_SEC ? "it stays up for longer than a scan" : NULL;
}

static const char *wrapping_is_in_order(const Fault *fault) {
        return "counters of 32 bits wrap, and nothing is wrong with them";
}

/* ---- what a right finding says, and what is drawn ---- */

static void diagnose_crossed(const Fault *fault, Diagnosis *diagnosis) {
        Location *other = &diagnosis->places[diagnosis->n_places++];

        *other = fault->at; /* both lanes carry the other's pattern */
        (void) location_truncate(other, LOCATION_LINK);
        (void) location_append(other, LOCATION_LANE, (unsigned) fault_parameters(fault)->with);
}

static int sample_gbps(Sample *sample) {
        static const uint8_t speeds[] = { 5, 8, 16 };

        sample_key(sample, "gbps", "%u", speeds[sample_below(sample, ELEMENTS(speeds))]);
        return 0;
}

/* Here and below what a short plan can meet. Bursts now and then, or many: with rate and length beyond what is allowed together they would be
 * drawn anew. */
static int sample_bursts(Sample *sample) {
        sample_key(sample, "rate", "%.3g", sample_between(sample, 1e-10, 1e-7));
        sample_key(sample, "length", "%.3g", sample_between(sample, 2, 2000));
        return 0;
}

static int sample_eye(Sample *sample) {
        sample_key(sample, "closing", "%.2f", sample_between(sample, 4, 16));
        return 0;
}

static int sample_flaps(Sample *sample) {
        sample_key(sample, "every", "%.2f", sample_between(sample, 0.5, 2));
        return 0;
}

static int sample_slips(Sample *sample) {
        sample_key(sample, "per-second", "%.3g", sample_between(sample, 5, 1000));
        return 0;
}

/* ---- the table ---- */

static const char *const sites[_LINK_SITE_MAX + 1] = {
        [LINK_SITE_LINE] = "line", [LINK_SITE_RECEIVER_PMA] = "receiver-pma", [LINK_SITE_RECEIVER_PCS] = "receiver-pcs",
        [LINK_SITE_TRANSMITTER_PMA] = "transmitter-pma", [LINK_SITE_TRANSMITTER_PCS] = "transmitter-pcs",
};
static const char *const levels[] = { "low", "high", NULL };
static const char *const drifts[] = { "late", "early", NULL };

static const LocationKind at_port[] = { LOCATION_LINK, _LOCATION_KIND_INVALID };
static const LocationKind at_lane[] = { LOCATION_LANE, _LOCATION_KIND_INVALID };
static const LocationKind at_port_or_lane[] = { LOCATION_LANE, LOCATION_LINK, _LOCATION_KIND_INVALID };

#define COMES_AND_GOES PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT
#define TRIGGERS       TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY

#define FIELD_SITE YAML_WORD("site", LinkFault, site, sites, .summary = "on the way between two ports: the line and the receiver of this port, \
or its transmitter, which the far end hears")
#define NUMBER(name, member, low, high, text) YAML_NUMBER(name, LinkFault, member, low, high, .required = true, .summary = text)
#define COUNT(name, member, low, high, text) YAML_UNSIGNED(name, LinkFault, member, low, high, .required = true, .summary = text)
#define FIELDS(...) .parameters_bytes = sizeof(LinkFault), .parameters = (const YamlField[]) { __VA_ARGS__, {} }

const FaultKind link_kinds[_LINK_FAULT_KIND_MAX + 1] = {
        [LINK_LANES_CROSSED] = {
                .name = "lanes-crossed", .summary = "two lanes of a port arrive in each other's place",
                .family = FAMILY_LINKS, .at = at_lane, .persistence = PERSISTENCE_PERMANENT,
                FIELDS(FIELD_SITE, COUNT("with", with, 0, LINK_LANES_MAX - 1, "the other lane")),
                .validate = validate_crossed, .is_shared = true, .codes = FAULT_CODES("link-lane"), .diagnose = diagnose_crossed,
        },
        [LINK_LANE_SKEWED] = {
                .name = "lane-skewed", .summary = "a lane arrives later than the others",
                .family = FAMILY_LINKS, .at = at_lane, .persistence = PERSISTENCE_PERMANENT,
                FIELDS(FIELD_SITE, COUNT("bits", bits, 1, 65536, "how much; the receiver's buffer takes up the first 160")),
                .validate = validate_lane, .undetectable = skew_is_taken_up, .is_shared = true, .codes = FAULT_CODES("link-lane"),
        },
        [LINK_LANE_INVERTED] = {
                .name = "lane-inverted", .summary = "the two wires of a lane are exchanged",
                .family = FAMILY_LINKS, .at = at_lane, .persistence = PERSISTENCE_PERMANENT,
                FIELDS(FIELD_SITE),
                .validate = validate_lane, .is_shared = true, .codes = FAULT_CODES("link-lane"),
        },
        [LINK_BIT_ERRORS] = {
                .name = "bit-errors", .summary = "bits arrive wrong on a lane, or on all lanes of a port",
                .family = FAMILY_LINKS, .at = at_port_or_lane, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE, NUMBER("rate", rate, 1e-14, 0.01, "of the bits received; a worse lane does not train")),
                .validate = validate_lane, .undetectable = rate_is_in_order, .is_shared = true, .codes = FAULT_CODES("link-errors"),
        },
        [LINK_BURST_ERRORS] = {
                .name = "burst-errors", .summary = "wrong bits come in bursts",
                .family = FAMILY_LINKS, .at = at_port_or_lane, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE, NUMBER("rate", rate, 1e-14, 1e-4, "of bits at which a burst begins"),
                       NUMBER("length", length, 1, 10000, "of bursts in bits, on average"),
                       NUMBER("density", density, 0.01, 0.5, "of wrong bits in a burst")),
                .validate = validate_bursts, .undetectable = rate_is_in_order, .is_shared = true, .codes = FAULT_CODES("link-errors"),
                .sample = sample_bursts,
        },
        [LINK_CLOCK_SLIPS] = {
                .name = "clock-slips", .summary = "a receiver's clock loses or repeats a bit",
                .family = FAMILY_LINKS, .at = at_lane, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE, NUMBER("per-second", per_second, 0.1, 1000, "of device time"),
                       YAML_WORD("drift", LinkFault, drift, drifts, .summary = "late repeats bits, early loses them")),
                .validate = validate_signal, .is_shared = true, .codes = FAULT_CODES("link-clock"), .sample = sample_slips,
        },
        [LINK_CROSSTALK] = {
                .name = "crosstalk", .summary = "bits arrive wrong where another lane toggles",
                .family = FAMILY_LINKS, .at = at_lane, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE, COUNT("from", from, 0, LINK_LANES_MAX - 1, "the other lane"),
                       NUMBER("rate", rate, 1e-14, 0.01, "of the bits at which it toggles")),
                .validate = validate_crosstalk, .undetectable = crosstalk_is_in_order, .is_shared = true,
                .codes = FAULT_CODES("link-crosstalk", "link-errors"),
        },
        [LINK_EYE_CLOSED] = {
                .name = "eye-closed", .summary = "the eye of a lane is narrow, the more so the hotter it is",
                .family = FAMILY_LINKS, .at = at_port_or_lane, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE, YAML_NUMBER("closing", LinkFault, closing, 0, 16, .summary = "64ths of a unit interval on each side"),
                       YAML_NUMBER("per-degree", LinkFault, per_degree, 0, 0.4, .summary = "more for each °C above 50")),
                .validate = validate_signal, .undetectable = eye_is_wide, .is_shared = true,
                .codes = FAULT_CODES("link-errors", "link-lane", "link-margin"), .sample = sample_eye,
        },
        [LINK_LANE_DEAD] = {
                .name = "lane-dead", .summary = "nothing arrives on a lane: an idle line",
                .family = FAMILY_LINKS, .at = at_lane, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE, YAML_WORD("level", LinkFault, level, levels, .summary = "at which it is idle")),
                .validate = validate_lane, .is_shared = true, .codes = FAULT_CODES("link-lane"),
        },
        [LINK_ONE_WAY] = {
                .name = "link-one-way", .summary = "nothing arrives on any lane of a port; the other way works",
                .family = FAMILY_LINKS, .at = at_port, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(FIELD_SITE),
                .is_shared = true, .codes = FAULT_CODES("link-down"),
        },
        [LINK_DOWN] = {
                .name = "link-down", .summary = "the transceiver of a port is dead",
                .family = FAMILY_LINKS, .at = at_port, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                .is_shared = true, .codes = FAULT_CODES("link-down"),
        },
        [LINK_NARROWED] = {
                .name = "link-narrowed", .summary = "a link trains with fewer lanes than it has, all of which are sound",
                .family = FAMILY_LINKS, .at = at_port, .persistence = PERSISTENCE_PERMANENT,
                FIELDS(COUNT("width", width, 1, LINK_LANES_MAX - 1, "lanes")),
                .validate = validate_width, .is_shared = true, .codes = FAULT_CODES("link-degraded"),
        },
        [LINK_SLOWED] = {
                .name = "link-slowed", .summary = "a link trains slower than it can",
                .family = FAMILY_LINKS, .at = at_port, .persistence = PERSISTENCE_PERMANENT,
                FIELDS(COUNT("gbps", gbps, 5, 16, "of each lane: 16, 8 or 5")),
                .validate = validate_gbps, .is_shared = true, .codes = FAULT_CODES("link-degraded"), .sample = sample_gbps,
        },
        [LINK_THROTTLED] = {
                .name = "link-throttled", .summary = "a port receives slower than its link would carry",
                .family = FAMILY_LINKS, .at = at_port, .persistence = COMES_AND_GOES, .triggers = TRIGGERS,
                FIELDS(NUMBER("share", share, 0.01, 1, "of the bandwidth that is left")),
                .undetectable = share_is_in_order, .is_shared = true, .codes = FAULT_CODES("link-bandwidth"),
        },
        [LINK_FLAPS] = {
                .name = "link-flaps", .summary = "a link goes down again and again, for the millisecond that training takes",
                .family = FAMILY_LINKS, .at = at_port, .persistence = PERSISTENCE_PERMANENT,
                FIELDS(NUMBER("every", every, 0.5, 3600, "seconds of device time")),
                .undetectable = flaps_are_rare, .is_shared = true, .codes = FAULT_CODES("link-flap"), .sample = sample_flaps,
        },
        [LINK_COUNTER_STUCK] = {
                .name = "link-counter-stuck", .summary = "the counters of a port stand still whatever happens",
                .family = FAMILY_LINKS, .at = at_port, .persistence = PERSISTENCE_PERMANENT,
                .is_shared = true, .codes = FAULT_CODES("link-counter"),
        },
        [LINK_COUNTER_RUNS_BACK] = {
                .name = "link-counter-runs-back", .summary = "the counters of a port count downwards",
                .family = FAMILY_LINKS, .at = at_port, .persistence = PERSISTENCE_PERMANENT,
                .is_shared = true, .codes = FAULT_CODES("link-counter"),
        },
        [LINK_COUNTER_WRAPS] = {
                .name = "link-counter-wraps", .summary = "the counters of a port have 32 bits, and those of frames are about to wrap",
                .family = FAMILY_LINKS, .at = at_port, .persistence = PERSISTENCE_PERMANENT,
                .undetectable = wrapping_is_in_order, .is_shared = true, .codes = FAULT_CODES("link-counter"),
        },
        {}
};
