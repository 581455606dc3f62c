/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Noise
 *
 * What sound chips do on their own: the scenario's key `noise:`, off by default. `true` takes the rates below; a mapping
 * sets them, each per chip and hour of device time:
 *
 *     noise: {soft-errors: 1.4e-5, corrected: 0.01, retransmissions: 1e-6, step-times: 0.01}
 *
 * soft-errors: particles that flip stored bits. 18.3 FIT is the sum of the transient modes per DRAM device in the field study of
 * Jaguar (14.2 + 1.4 + 1.4 + 0.2 + 0.8 + 0.3, as FaultSim has them); 96 GiB are 768 such devices of 1 Gb: 14,054 FIT, 1.4e-5 an hour.
 * corrected: errors that ECC corrects and counts without anybody noticing. No public source tells a rate for HBM; one in
 * four days is chosen by us, the order of which a fleet sees chips with a few.
 * retransmissions: the share of packets that a sound fabric loses and sends again. Chosen by us: at a bit error ratio of 1e-12 one packet
 * of 8 KiB in fifteen million is lost; one in a million leaves room for congestion.
 * step-times: by how much chips differ in the time that their CC-cores take for a step of a collective, as a standard deviation, each
 * always the same. Chosen by us: crystals differ by a hundredth of that, what else runs on a core by more.
 */

#include "checks/text/yaml.h"
#include "sim/chip/topology.h"

#define NOISE_SOFT_ERRORS 1.4e-5
#define NOISE_CORRECTED   0.01
#define NOISE_RESENT      1e-6
#define NOISE_STEP_TIMES  0.01
#define NOISE_RATE_MAX    1e6

/* Reads the value of `noise:`. -EINVAL with yaml->error. */
int noise_read(Yaml *yaml, yaml_node_t *node, Hall *hall);
