/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/telemetry/parameters.h"

#include "checks/plan/plan.h"

/*
 * 95 °C: where the extended range of HBM ends (JESD235). A few corrected errors are ordinary. 20 K is chosen: a chip at the end of a
 * tray's air stream is some 10 K hotter than the one at its start, and twice that is no matter of place.
 */
static const TelemetryParameters defaults = {
        .hbm_corrected_max = 100, .sram_corrected_max = 10, .temperature_max = 95, .temperature_rise_max = 20, .heartbeat_usec = 400,
};

extern const YamlField parameters_telemetry[];
extern const size_t parameters_telemetry_bytes;
extern const void *const parameters_telemetry_defaults;

const YamlField parameters_telemetry[] = {
        YAML_UNSIGNED("hbm_corrected_max", TelemetryParameters, hbm_corrected_max, 0, 65534, .summary = "corrected errors of one HBM stack"),
        YAML_UNSIGNED("sram_corrected_max", TelemetryParameters, sram_corrected_max, 0, 65534, .summary = "corrected errors of the chip's SRAM"),
        YAML_NUMBER("temperature_max", TelemetryParameters, temperature_max, 0, 150, .summary = "degrees Celsius"),
        YAML_NUMBER("temperature_rise_max", TelemetryParameters, temperature_rise_max, 0.1, 150,
                    .summary = "kelvins above the median of the server's other idle chips"),
        YAML_UNSIGNED("heartbeat_usec", TelemetryParameters, heartbeat_usec, 200, 20000, .summary = "device time in which the heartbeat must have moved"),
        {}
};
const size_t parameters_telemetry_bytes = sizeof(TelemetryParameters);
const void *const parameters_telemetry_defaults = &defaults;
