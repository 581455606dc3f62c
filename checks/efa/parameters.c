/* SPDX-License-Identifier: Apache-2.0 */

#include <stddef.h>

#include "checks/efa/efa.h"
#include "checks/plan/plan.h"

extern const YamlField parameters_efa[];
extern const size_t parameters_efa_bytes;
extern const void *const parameters_efa_defaults;

const YamlField parameters_efa[] = {
        YAML_UNSIGNED("packets", EfaParameters, packets, 128, 65536,
                      .summary = "of one byte, to each partner in the server, in four flows. Two of each path at least, or their order says nothing"),
        YAML_UNSIGNED("large", EfaParameters, large, 2, 65536,
                      .summary = "of each other size, per flow. Bandwidth is the time between two of them"),
        YAML_UNSIGNED("peers", EfaParameters, peers, 0, 65536,
                      .summary = "of one byte, per flow to and from other servers of the scan; 0: none"),
        YAML_UNSIGNED("peers_large", EfaParameters, peers_large, 0, 65536,
                      .summary = "of 8192 bytes, the same way, where there are peers; 0: none. One alone has no bandwidth"),
        YAML_NUMBER("latency", EfaParameters, latency, 8, 90, .summary = "microseconds, one way, that a sound fabric stays below"),
        YAML_NUMBER("bandwidth", EfaParameters, bandwidth, 1, 175, .summary = "Gb/s of long messages that a sound adapter reaches"),
        {}
};
const size_t parameters_efa_bytes = sizeof(EfaParameters);

/*
 * Two partners send to an adapter and two get from it: some thousand packets, so that what loses one in 217 is seen with 99 %. What arrives
 * at one adapter fits into one call.
 *
 * latency: EFAv3 needs about 6.5 microseconds within a server's fabric, and 15 are published for a hop between servers with all that software adds.
 * A packet that was lost and sent again is later by the retransmission timer, far more than that.
 * bandwidth: 200 Gb/s of the wire less the adapter's own time for each packet: 4096 bytes take 184 ns, which is 178 Gb/s; a tenth is left
 * for what else passes.
 */
static const EfaParameters defaults = { .packets = 237, .large = 2, .peers = 32, .latency = 15, .bandwidth = 160 };
const void *const parameters_efa_defaults = &defaults;
