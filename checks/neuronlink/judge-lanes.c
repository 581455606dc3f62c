/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What it says of lanes that fail. The same ailment of more than LANES_TOLD lanes is not so many single lanes: it is the link. Where the
 * ladder leads to the far end's transmitter, the finding stands at the far end.
 */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/neuronlink/judge.h"
#include "checks/neuronlink/margin.h"

#define COUNTS_BOUNDED 10000u /* of more, both bounds have the same two digits */
#define LANES_TOLD 7u /* each on its own: one less than half of a z link */

typedef enum Ailment { /* the first ones are LaneFault */
        AILMENT_CLOCK = _LANE_FAULT_MAX,
        AILMENT_CROSSTALK,
        AILMENT_ERRORS,
        AILMENT_AT_TIMES, /* errors that came while it was sampled near the middle, and no more */
        AILMENT_MARGIN,
        _AILMENT_MAX,
} Ailment;

static const struct {
        const char *code, *text; /* NULL: written for the lane */
} ailments[_AILMENT_MAX] = {
        [LANE_LOW]          = { "link-lane", "dead: an idle line that stands at 0" },
        [LANE_HIGH]         = { "link-lane", "dead: an idle line that stands at 1" },
        [LANE_UNLOCKED]     = { "link-lane", "changes, but never locks to its pattern" },
        [LANE_LATE]         = { "link-lane", "locks only long after its pattern has begun" },
        [LANE_INVERTED]     = { "link-lane", "inverted: every bit arrives as its opposite" },
        [LANE_CROSSED]      = { "link-lane", NULL },
        [LANE_FOREIGN]      = { "link-lane", "carries a stream that no lane of the far end sent" },
        [LANE_SKEWED]       = { "link-lane", NULL },
        [AILMENT_CLOCK]     = { "link-clock", NULL },
        [AILMENT_CROSSTALK] = { "link-crosstalk", NULL },
        [AILMENT_ERRORS]    = { "link-errors", NULL },
        [AILMENT_AT_TIMES]  = { "link-errors", NULL },
        [AILMENT_MARGIN]    = { "link-margin", NULL },
};

static const struct {
        bool at_far, is_line;
        const char *text;
} segments[_SEGMENT_MAX] = {
        [SEGMENT_UNKNOWN] = { false, true, "" },
        [SEGMENT_FAR_PCS] = { true, false, "; this transmitter's PCS: its near-end PCS loopback fails as well, and the receiver is sound" },
        [SEGMENT_FAR_PMA] = { true, false, "; this transmitter's PMA: its loopback behind the PCS is sound, behind the PMA not, and the "
                                           "receiver is sound" },
        [SEGMENT_LINE]    = { false, true, "; the line: both ends hear themselves, what goes over it and back fails" },
        [SEGMENT_OWN_PMA] = { false, false, "; this receiver's PMA: its loopback behind the PCS is sound, behind the PMA not" },
        [SEGMENT_OWN_PCS] = { false, false, "; this receiver's PCS: its near-end PCS loopback fails as well" },
};

/* What was looped back off the middle of the eye, see margin.c. */
static const char *const eye_texts[_SEGMENT_MAX] = {
        [SEGMENT_UNKNOWN] = "",
        [SEGMENT_FAR_PCS] = "", /* a PCS has no signal */
        [SEGMENT_FAR_PMA] = "; this transmitter's PMA: in its near-end PMA loopback the eye is as narrow, and in the receiver's it is not",
        [SEGMENT_LINE]    = "; the line: in the near-end PMA loopbacks of both ends the eye is wide",
        [SEGMENT_OWN_PMA] = "; this receiver's PMA: in its near-end PMA loopback the eye is as narrow",
        [SEGMENT_OWN_PCS] = "",
};

static Ailment ailment_of(const Lane *lane) {
        if (lane->fault != LANE_SOUND)
                return (Ailment) lane->fault;
        if (lane->slipped != 0)
                return AILMENT_CLOCK;
        if (lane->outcome != BER_FAILS)
                return lane->margin > 0 ? AILMENT_MARGIN : (Ailment) LANE_SOUND;

        return lane->crosstalk ? AILMENT_CROSSTALK : lane->offset > 0 ? AILMENT_AT_TIMES : AILMENT_ERRORS;
}

static bool ailment_is_failure(Ailment ailment) {
        return ailment != (Ailment) LANE_SOUND && ailment != AILMENT_MARGIN;
}

bool judged_lanes_fail(const Judged *judged) {
        for (unsigned l = 0; l < link_port_width(judged->id.port); l++)
                if (ailment_is_failure(ailment_of(&judged->port->lanes[l])))
                        return true;

        return false;
}

/* ---- one finding ---- */

/* Lanes with the same ailment, told as one: all of `mask`, whose counts are added and of whose other figures the worst stands. */
typedef struct Group {
        Ailment ailment;
        uint32_t mask;
        unsigned n;
        Lane sum;
        Segment segment; /* of all of them, else unknown */
        PortId blamed;   /* where that is */
} Group;

static Group group_of(const Judged *judged, Ailment ailment, uint32_t mask) {
        Group group = { .ailment = ailment, .mask = mask };

        for (unsigned l = 0; l < link_port_width(judged->id.port); l++) {
                const Lane *lane = &judged->port->lanes[l];

                if (!(mask >> l & 1))
                        continue;
                if (group.n++ == 0) {
                        group.sum = *lane;
                        group.segment = (Segment) lane->segment;
                        continue;
                }
                group.sum.bits += lane->bits;
                group.sum.errors += lane->errors;
                group.sum.blocks += lane->blocks;
                group.sum.resyncs += lane->resyncs;
                group.sum.limit = MIN(group.sum.limit, lane->limit);
                group.sum.margin = fmax(group.sum.margin, lane->margin);
                if (llabs(lane->slipped) > llabs(group.sum.slipped))
                        group.sum.slipped = lane->slipped;
                if (abs(lane->skew) > abs(group.sum.skew))
                        group.sum.skew = lane->skew;
                if (group.segment != (Segment) lane->segment)
                        group.segment = SEGMENT_UNKNOWN;
        }

        group.blamed = segments[group.segment].at_far ? judged->sender : judged->id;
        return group;
}

static double ratio(const Lane *lane) {
        return lane->bits > 0 ? (double) lane->errors / (double) lane->bits : 0;
}

/* The lane failed by its count, which no sound lane reaches; its ratio alone says less, since a better lane than the limit may have so many. */
static void describe_errors(const Judged *judged, const Group *group, char *text, size_t size) {
        const NeuronlinkParameters *parameters = judged->fabric->parameters;
        const Lane *sum = &group->sum;
        bool bursty = ber_is_bursty(sum->bits, sum->errors, sum->blocks);
        char between[64] = "", bursts[64] = "";
        double low, high;

        if (!bursty && sum->blocks > 0 && sum->blocks <= COUNTS_BOUNDED) {
                ber_interval(sum->bits, sum->blocks, parameters->confidence, &low, &high);
                (void) snprintf(between, sizeof(between), " (%.2g to %.2g with %g %%)", low, high, parameters->confidence * 100);
        }
        if (bursty)
                (void) snprintf(bursts, sizeof(bursts), ", in bursts: %" PRIu64 " wrong bits", sum->errors);
        (void) snprintf(text, size, "error ratio %.2g%s: %" PRIu64 " blocks with errors in %.3g bits%s%s, and no sound lane has more than %" PRIu64,
                        ratio(sum), between, sum->blocks / group->n, (double) sum->bits / group->n,
                        group->n > 1 ? " on average" : "", bursts, sum->limit);
}

/* What degrades does so with the temperature of the chip that it is in. */
static void describe_margin(const Judged *judged, const Group *group, char *text, size_t size) {
        Device *device = judged->fabric->servers[group->blamed.server].device;
        char temperature[ATTRIBUTE_TEXT_MAX];
        int n;

        n = snprintf(text, size, "delivers now and is close to failing: by its edges it makes an error ratio of %.1g in the middle of its eye, "
                     "a good lane %g", group->sum.margin, GOOD_LANE);
        if (n > 0 && (size_t) n < size && device_attribute(device, group->blamed.chip, "assay/temperature", temperature) >= 0)
                (void) snprintf(text + n, size - (size_t) n, ", at %.8s degrees Celsius", temperature);
}

static void describe(const Judged *judged, const Group *group, char *text, size_t size) {
        const char *worst = group->n > 1 ? "up to " : "", *first = group->n > 1 ? "each that of another; the first " : "";
        double limit = judged->fabric->parameters->margin;
        const Lane *lane = &group->sum;

        if (ailments[group->ailment].text)
                (void) snprintf(text, size, "%s", ailments[group->ailment].text);
        else if (group->ailment == (Ailment) LANE_CROSSED)
                (void) snprintf(text, size, "%scarries the stream of lane %u", first, lane->source);
        else if (group->ailment == (Ailment) LANE_SKEWED)
                (void) snprintf(text, size, "%s%d bits %s against the other lanes, and a receiver takes %d", worst, abs(lane->skew),
                                lane->skew < 0 ? "early" : "late", LINK_DESKEW_BITS);
        else if (group->ailment == AILMENT_CLOCK)
                (void) snprintf(text, size, "its clock slips: out of lock %" PRIu64 " times, %s%lld bits %s in %.3g", lane->resyncs, worst,
                                llabs(lane->slipped), lane->slipped < 0 ? "lost" : "repeated", (double) lane->bits);
        else if (group->ailment == AILMENT_CROSSTALK)
                (void) snprintf(text, size, "error ratio %.2g, and none while lane %u is quiet: in %u of %u runs with that one alone, in none of %u with all but that one; "
                                "its pulses couple into this lane", ratio(lane), lane->aggressor, CROSSTALK_PROOFS, lane->n_pairs, lane->n_pairs);
        else if (group->ailment == AILMENT_AT_TIMES)
                (void) snprintf(text, size, "errors come and go: error ratio %.2g when sampled %u/64 off the middle of the eye, where a lane that makes %g "
                                "in the middle makes %.1g", ratio(lane), lane->offset, limit, margin_ratio(GOOD_LANE, limit, lane->offset));
        else if (group->ailment == AILMENT_MARGIN)
                describe_margin(judged, group, text, size);
        else
                describe_errors(judged, group, text, size);
}

/* How sure it is that these are no sound lanes: the chance that one has fewer blocks with errors. */
static double alarm_confidence(const Group *group) {
        uint64_t each = group->sum.blocks / group->n;

        return each == 0 ? 0 : 1 - ber_confidence((double) group->sum.bits / group->n * GOOD_LANE, each - 1);
}

static void tell_errors(const Group *group, Evidence *evidence, char *expected, char *actual, size_t size) {
        const Lane *sum = &group->sum;

        (void) snprintf(expected, size, "at most %" PRIu64 " blocks with errors a lane", sum->limit);
        (void) snprintf(actual, size, "%" PRIu64 " errors in %.3g bits", sum->errors, (double) sum->bits);
        evidence->expected = expected;
        evidence->actual = actual;
        evidence->has_count = true;
        evidence->count = (double) sum->errors;
        evidence->has_confidence = group->ailment != AILMENT_AT_TIMES;
        evidence->confidence = evidence->has_confidence ? alarm_confidence(group) : 0;
}

/* The value by which it fails, or is warned of. */
static Decided decided_of(const Judged *judged, const Group *group) {
        const Lane *sum = &group->sum;

        if (group->ailment == AILMENT_MARGIN) /* what equals the plan's is too much */
                return (Decided) { "neuronlink_margin_ratio", sum->margin, nextafter(judged->fabric->parameters->margin, 0) };
        if (group->ailment == AILMENT_CLOCK)
                return (Decided) { "neuronlink_bits_slipped", (double) sum->slipped, 0 };
        if (group->ailment < AILMENT_CROSSTALK)
                return (Decided) { "neuronlink_lanes_faulty", group->n, 0 };
        return (Decided) { "neuronlink_lane_errors", (double) sum->blocks / group->n, (double) sum->limit };
}

/* Whether the other way of the link has the same lanes fail, "" where that is not known or the place explains it. */
static const char *other_way(const Judged *judged, const Group *group) {
        const Port *far = fabric_port(judged->fabric, judged->sender);

        if (group->segment != SEGMENT_LINE || judged->sender.server != 0 || !far->prbs)
                return "";
        for (unsigned l = 0; l < link_port_width(judged->id.port); l++)
                if (group->mask >> l & 1 && ailment_of(&far->lanes[l]) != (Ailment) LANE_SOUND)
                        return ", both ways";

        return ", this way only";
}

/* "12 of 32 lanes (0-7, 9, 11-13)". */
static void name_lanes(const Group *group, unsigned width, char *text, size_t size) {
        int n = snprintf(text, size, "%u of %u lanes", group->n, width);

        for (unsigned l = 0, end; group->n < width && l < width && n > 0 && (size_t) n + 12 < size; l = end + 1) {
                for (end = l; end < width && group->mask >> end & 1; end++)
                        ;
                if (end == l)
                        continue;
                n += snprintf(text + n, size - (size_t) n, end > l + 1 ? "%s%u-%u" : "%s%u", text[n - 1] == 's' ? " (" : ", ", l, end - 1);
        }
        if (n > 0 && (size_t) n + 1 < size && group->n < width)
                (void) snprintf(text + n, size - (size_t) n, ")");
}

static int say(Judged *judged, const Group *group) {
        char what[128], text[256], expected[64], actual[64], own_text[LOCATION_STRING_MAX];
        bool at_far = segments[group->segment].at_far, whole = group->n > 1;
        Location where = fabric_location(judged->fabric, group->blamed);
        Evidence evidence = {
                .far_end = at_far ? own_text : judged->far_text,
                .replaceable = segments[group->segment].is_line ? judged_replaceable(judged) : NULL,
                .decided = decided_of(judged, group),
        };

        location_format(&judged->where, own_text);
        if (whole)
                name_lanes(group, link_port_width(judged->id.port), what, sizeof(what));
        else {
                unsigned l = (unsigned) __builtin_ctz(group->mask);

                (void) location_append(&where, LOCATION_LANE, l);
                (void) snprintf(what, sizeof(what), "lane %u", l);
        }
        describe(judged, group, text, sizeof(text));
        if (group->ailment >= AILMENT_CROSSTALK && group->ailment <= AILMENT_AT_TIMES)
                tell_errors(group, &evidence, expected, actual, sizeof(expected));

        return step_finding(judged->fabric->step, &judged->fabric->verdicts[group->blamed.server][group->blamed.chip], ailments[group->ailment].code,
                            &where, &evidence, "%s: %s%s%s; %s %s", what, text, (group->sum.by_eye ? eye_texts[group->segment] : segments[group->segment].text), other_way(judged, group),
                            at_far ? "seen at" : "from", at_far ? own_text : judged->far_text);
}

int judge_lanes(Judged *judged) {
        unsigned width = link_port_width(judged->id.port);
        uint32_t masks[_AILMENT_MAX] = {};

        for (unsigned l = 0; l < width; l++)
                masks[ailment_of(&judged->port->lanes[l])] |= UINT32_C(1) << l;

        for (unsigned a = LANE_SOUND + 1; a < _AILMENT_MAX; a++) {
                unsigned n = (unsigned) __builtin_popcount(masks[a]);
                bool whole = n > LANES_TOLD;

                /* While the link trains nothing arrives on any lane: that is told as such. */
                if (n >= width / 2 && judged_retrained(judged) && (a == AILMENT_CLOCK || a == AILMENT_ERRORS || a == AILMENT_AT_TIMES))
                        continue;
                for (uint32_t left = masks[a]; left != 0; left = whole ? 0 : left & (left - 1)) {
                        Group group = group_of(judged, (Ailment) a, whole ? left : left & -left);
                        int r;

                        r = say(judged, &group);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}
