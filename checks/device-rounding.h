/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Commands of the rounding units (see wire.h). IN and OUT are pieces of the device's window. */

#include "checks/device.h"

/* A 128 × count fp32 matrix in, 128 × count of FORMAT out. FLAGS: CONVERT_STOCHASTIC. */
WireCommand device_convert_command(const Device *device, unsigned core, WireEngine engine, WireFormat format, unsigned flags,
                                   uint32_t count, const void *in, void *out);
WireCommand device_seed_command(unsigned core, WireEngine engine, uint32_t seed);

/* Bytes of one converted element; 0 where FORMAT is no target of conversion. */
size_t device_convert_bytes(WireFormat format);
