/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Commands of the rounding units (see wire.h). IN and OUT are pieces of the device's window. */

#include "checks/port/device.h"

/* A 128 × count fp32 matrix in, 128 × count of FORMAT out. FLAGS: CONVERT_STOCHASTIC. */
WireCommand device_convert_command(const Device *device, unsigned core, WireEngine engine, WireFormat format, unsigned flags,
                                   uint32_t count, const void *in, void *out);
WireCommand device_seed_command(unsigned core, WireEngine engine, uint32_t seed);

/* The core alone, of which generators lose their state and the tensor engine what was loaded. */
WireCommand device_reset_command(unsigned core);

/* What the engine says its generators' states are: x0 … x4 and the counter of each lane. */
#define DEVICE_STATE_BYTES (ENGINE_LANES * 6u * (uint32_t) sizeof(uint32_t))
WireCommand device_state_command(const Device *device, unsigned core, WireEngine engine, void *out);
