/* SPDX-License-Identifier: Apache-2.0 */

/* What can be wrong with an adapter, with one of its paths through the fabric, and with a path of the fabric itself. */

#include <errno.h>
#include <stdlib.h>

#include "sim/chip/chip.h"
#include "sim/nic/kinds.h"

#define SAMPLE_RATE_MIN  0.01    /* of the packets */
#define SAMPLE_DROPS_MIN 0.05
#define LATENCY_SOUND    15000u  /* nsec: what the check takes for sound, see checks/efa/parameters.c */
#define LATENCY_MOST     8000u   /* of a path within a server: see run.c */
#define SAMPLE_DELAY_MIN 9000.0  /* beyond what the fastest path has left */
#define SHARE_SOUND      0.88    /* what leaves 160 Gb/s with the smallest of long messages */
#define PATH_SAMPLE      0.25    /* of the packets of one path, so that few hundreds show it */
#define SAMPLE_CLOCK_MIN 9000.0  /* beyond what the slowest path takes */
#define LATENCY_LEAST    6500u   /* of a path */
#define PACE_SOUND       1.1     /* either way: what the check takes for the same */

static const LocationKind at_nic[] = { LOCATION_NIC, _LOCATION_KIND_INVALID };
static const LocationKind at_path[] = { LOCATION_PATH, _LOCATION_KIND_INVALID };
static const LocationKind at_nic_or_path[] = { LOCATION_NIC, LOCATION_PATH, _LOCATION_KIND_INVALID };
static const char *const directions[] = { "both", "send", "receive", NULL };

static const YamlField packet_parameters[] = {
        YAML_NUMBER("rate", PacketParameters, rate, 1e-9, 1, .required = true, .summary = "of the packets"),
        YAML_WORD("direction", PacketParameters, direction, directions, .summary = "both, send or receive"),
        {}
};

static const YamlField refused_parameters[] = {
        YAML_NUMBER("rate", PacketParameters, rate, 1e-9, 1, .required = true, .summary = "of the packets that it gets"),
        {}
};

static const YamlField drops_parameters[] = {
        YAML_NUMBER("rate", PacketParameters, rate, 1e-9, 0.5, .required = true, .summary = "of the packets, each time they are sent"),
        YAML_WORD("direction", PacketParameters, direction, directions, .summary = "both, send or receive"),
        {}
};

static const YamlField plane_parameters[] = {
        YAML_NUMBER("rate", PacketParameters, rate, 1e-9, 0.5, .required = true, .summary = "of the packets on this path, of all adapters"),
        {}
};

static const YamlField delay_parameters[] = {
        YAML_UNSIGNED("nsec", DelayParameters, nsec, 1, NIC_DELAY_MAX, .required = true, .summary = "by which packets are late"),
        YAML_WORD("direction", DelayParameters, direction, directions, .summary = "both, send or receive"),
        {}
};

static const YamlField share_parameters[] = {
        YAML_NUMBER("share", ShareParameters, share, 0.01, 0.999, .required = true, .summary = "of 200 Gb/s"),
        {}
};

static const YamlField path_parameters[] = {
        YAML_UNSIGNED("path", PathParameters, path, 0, NIC_PATHS - 1, .summary = "the one it takes"),
        {}
};

static const YamlField flood_parameters[] = {
        YAML_UNSIGNED("packets", FloodParameters, packets, 1, NIC_PACKETS_MAX, .required = true,
                      .summary = "with each flow that it sends, to the same receiver"),
        {}
};

static const char *const clock_ways[] = { [CLOCK_AHEAD] = "ahead", [CLOCK_BEHIND] = "behind", NULL };

static const YamlField clock_parameters[] = {
        YAML_UNSIGNED("nsec", ClockParameters, nsec, 1, NIC_DELAY_MAX, .required = true, .summary = "by which it is off"),
        YAML_WORD("way", ClockParameters, way, clock_ways, .summary = "ahead or behind"),
        {}
};

static const YamlField pace_parameters[] = {
        YAML_NUMBER("pace", PaceParameters, pace, 0.01, 100, .required = true, .summary = "seconds that it shows in one"),
        {}
};

/* The adapter beside chip N is nicN. */
static int validate_nic(const Fault *fault, const char **ret_wrong) {
        if (location_index(&fault->at, LOCATION_NIC) != location_index(&fault->at, LOCATION_CHIP)) {
                *ret_wrong = "the adapter has the number of its chip";
                return -EINVAL;
        }

        return 0;
}

/* A scan sends thousands of packets through an adapter and some hundred over a path: what happens to few of them is not there for it. */
static int sample_packets(Sample *sample) {
        bool path = location_kind(sample_at(sample)) == LOCATION_PATH;

        sample_key(sample, "rate", "%.3g", sample_between(sample, path ? PATH_SAMPLE : SAMPLE_RATE_MIN, 1));
        return 0;
}

static int sample_drops(Sample *sample) {
        bool path = location_kind(sample_at(sample)) == LOCATION_PATH;

        sample_key(sample, "rate", "%.3g", sample_between(sample, path ? PATH_SAMPLE : SAMPLE_DROPS_MIN, 0.5));
        return 0;
}

static int sample_delay(Sample *sample) {
        sample_key(sample, "nsec", "%.0f", sample_between(sample, SAMPLE_DELAY_MIN, NIC_DELAY_MAX));
        return 0;
}

static int sample_refused(Sample *sample) {
        sample_key(sample, "rate", "%.3g", sample_between(sample, SAMPLE_RATE_MIN, 1));
        return 0;
}

static const char *undetectable_delay(const Fault *fault) {
        const DelayParameters *delay = fault->parameters;

        return delay->nsec <= LATENCY_SOUND - LATENCY_MOST ? "a sound path may take as long: up to 15 microseconds" : NULL;
}

static const char *undetectable_share(const Fault *fault) {
        const ShareParameters *share = fault->parameters;

        return share->share >= SHARE_SOUND ? "a sound adapter may be as slow: 160 Gb/s of long messages" : NULL;
}

static int sample_clock(Sample *sample) {
        sample_key(sample, "nsec", "%.0f", sample_between(sample, SAMPLE_CLOCK_MIN, NIC_DELAY_MAX));
        return 0;
}

static const char *undetectable_clock(const Fault *fault) {
        const ClockParameters *clock = fault->parameters;

        return clock->nsec <= LATENCY_LEAST ? "times stay such as a sound fabric makes" : NULL;
}

static const char *undetectable_pace(const Fault *fault) {
        double pace = ((const PaceParameters *) fault->parameters)->pace;

        return pace <= PACE_SOUND && pace >= 1 / PACE_SOUND ? "bandwidth and latency are told a tenth wrong at most" : NULL;
}

static const char *undetectable_wrap(const Fault *fault) {
        return "counters of 32 bits wrap on sound adapters";
}

/* What is wrong on one path is told as the path's. */
static void diagnose_path(const Fault *fault, Diagnosis *diagnosis) {
        static const char *const codes[] = { "efa-path", NULL };

        if (location_kind(&fault->at) == LOCATION_PATH)
                diagnosis->codes = codes;
}

/* It is nobody's adapter. */
static void diagnose_plane(const Fault *fault, Diagnosis *diagnosis) {
        (void) location_truncate(&diagnosis->places[0], LOCATION_SERVER);
}

#define NIC_KIND(word, text, where, code)                                                                    \
        .name = word, .summary = text, .family = FAMILY_LINKS, .at = where, .validate = validate_nic, .is_shared = true,             \
        .codes = FAULT_CODES(code)

#define NIC_COMES_AND_GOES                                                                                   \
        .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT, .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY

#define NIC_PARAMETERS(type, table) .parameters_bytes = sizeof(type), .parameters = table

#define PACKET_KIND(word, code, text)                                                                        \
        { NIC_KIND(word, text, at_nic_or_path, code), NIC_COMES_AND_GOES, NIC_PARAMETERS(PacketParameters, packet_parameters),        \
          .diagnose = diagnose_path, .sample = sample_packets }

const FaultKind nic_kinds[_KIND_MAX + 1] = {
        [ODD_LOST - 1]    = PACKET_KIND("packet-loss", "efa-loss", "packets never arrive"),
        [ODD_CORRUPT - 1] = PACKET_KIND("packet-corruption", "efa-corruption", "packets arrive with a wrong bit"),
        [ODD_TWICE - 1]   = PACKET_KIND("packet-duplicate", "efa-misdelivery", "packets arrive twice"),
        [ODD_ASTRAY - 1]  = PACKET_KIND("packet-misdelivery", "efa-misdelivery", "packets arrive at another adapter"),
        [ODD_DROPPED - 1] = { NIC_KIND("path-drops", "packets are lost on the way and sent again until they arrive", at_nic_or_path,
                                   "efa-retransmission"),
                          NIC_COMES_AND_GOES, NIC_PARAMETERS(PacketParameters, drops_parameters), .diagnose = diagnose_path,
                          .sample = sample_drops },
        [ODD_REFUSED - 1] = { NIC_KIND("receiver-not-ready", "it has no buffer posted for packets that come, and they are gone", at_nic,
                                   "efa-not-ready"),
                          NIC_COMES_AND_GOES, NIC_PARAMETERS(PacketParameters, refused_parameters), .sample = sample_refused },
        [KIND_DELAY] = { NIC_KIND("path-delay", "packets take longer", at_nic_or_path, "efa-slow"), NIC_COMES_AND_GOES,
                         NIC_PARAMETERS(DelayParameters, delay_parameters), .diagnose = diagnose_path,
                         .undetectable = undetectable_delay, .sample = sample_delay },
        [KIND_SLOW] = { NIC_KIND("nic-slow", "the adapter reaches only a share of its bandwidth, both ways", at_nic, "efa-slow"),
                        NIC_COMES_AND_GOES, NIC_PARAMETERS(ShareParameters, share_parameters), .undetectable = undetectable_share },
        [KIND_UNRESPONSIVE] = { NIC_KIND("unresponsive", "the adapter neither sends nor receives", at_nic, "efa-unresponsive"),
                                NIC_COMES_AND_GOES },
        [KIND_SINGLE_PATH] = { NIC_KIND("single-path", "what should be sprayed over all paths takes one", at_nic, "efa-single-path"),
                               NIC_COMES_AND_GOES, NIC_PARAMETERS(PathParameters, path_parameters) },
        [KIND_FLOOD] = { NIC_KIND("packet-flood", "the adapter sends packets that nobody asked it for", at_nic, "efa-flood"),
                         NIC_COMES_AND_GOES, NIC_PARAMETERS(FloodParameters, flood_parameters) },
        [KIND_COUNTER_STUCK] = { NIC_KIND("nic-counter-stuck", "the counters of the adapter stand still whatever happens", at_nic,
                                          "efa-counter"),
                                 .persistence = PERSISTENCE_PERMANENT },
        [KIND_COUNTER_RUNS_BACK] = { NIC_KIND("nic-counter-runs-back", "the counters of the adapter count downwards", at_nic,
                                              "efa-counter"),
                                     .persistence = PERSISTENCE_PERMANENT },
        [KIND_COUNTER_WRAPS] = { NIC_KIND("nic-counter-wraps", "its counters are 32 bits wide and about to wrap: nothing is wrong", at_nic,
                                          "efa-counter"),
                                 .persistence = PERSISTENCE_PERMANENT, .undetectable = undetectable_wrap },
        [KIND_PLANE] = { NIC_KIND("fabric-path-drops", "one path of the fabric loses packets of every adapter of the hall, which are sent "
                                  "again until they arrive", at_path, "efa-fabric"),
                         .persistence = PERSISTENCE_PERMANENT, NIC_PARAMETERS(PacketParameters, plane_parameters),
                         .diagnose = diagnose_plane, .sample = sample_drops },
        [KIND_CLOCK_OFF] = { NIC_KIND("nic-clock-off", "the clock of the adapter shows another time than those of all others", at_nic,
                                      "efa-clock"),
                             .persistence = PERSISTENCE_PERMANENT, NIC_PARAMETERS(ClockParameters, clock_parameters),
                             .undetectable = undetectable_clock, .sample = sample_clock },
        [KIND_CLOCK_PACE] = { NIC_KIND("nic-clock-pace", "the clock of the adapter runs at another pace during a flow, so that it makes it "
                                       "look faster or slower than it is", at_nic, "efa-clock"),
                              .persistence = PERSISTENCE_PERMANENT, NIC_PARAMETERS(PaceParameters, pace_parameters),
                              .undetectable = undetectable_pace },
        [KIND_CABLE_LOSS] = { NIC_KIND("cable-loss", "packets never arrive that pass the cable of the adapter; those to itself do not pass it",
                                       at_nic, "efa-cable"),
                              NIC_COMES_AND_GOES, NIC_PARAMETERS(PacketParameters, packet_parameters), .sample = sample_packets },
        {}
};

static const Fault **plane_of(const Nic *nic, const Fault *fault) {
        return &nic->chip->server->ultraserver->hall->planes[location_index(&fault->at, LOCATION_PATH)];
}

int nic_inject(void *state, const Fault *fault) {
        Nic *nic = state;
        const Fault **more;

        if (fault->kind == &nic_kinds[KIND_PLANE]) {
                if (*plane_of(nic, fault))
                        return -EEXIST;
                *plane_of(nic, fault) = fault;
                return 0;
        }

        more = reallocarray(nic->faults, nic->n_faults + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;

        nic->faults = more;
        nic->faults[nic->n_faults++] = fault;
        if (fault->kind == &nic_kinds[KIND_COUNTER_RUNS_BACK] || fault->kind == &nic_kinds[KIND_COUNTER_WRAPS])
                nic_counters_age(nic, fault->kind == &nic_kinds[KIND_COUNTER_WRAPS]);
        return 0;
}

void nic_heal(void *state, const Fault *fault) {
        Nic *nic = state;

        if (fault->kind == &nic_kinds[KIND_PLANE]) {
                *plane_of(nic, fault) = NULL;
                return;
        }
        for (size_t i = 0; i < nic->n_faults; i++)
                if (nic->faults[i] == fault) {
                        nic->faults[i] = nic->faults[--nic->n_faults];
                        return;
                }
}
