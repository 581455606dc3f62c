/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

typedef struct TelemetryParameters {
        uint64_t hbm_corrected_max;  /* of one stack */
        uint64_t sram_corrected_max; /* of the chip */
        double temperature_max;      /* °C */
        double temperature_rise_max; /* K above the median of the other idle chips of the server */
        uint64_t heartbeat_usec;     /* device time in which the heartbeat must have moved */
} TelemetryParameters;
