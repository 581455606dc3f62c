/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-rounding.h"

WireCommand device_convert_command(const Device *device, unsigned core, WireEngine engine, WireFormat format, unsigned flags,
                                   uint32_t count, const void *in, void *out) {
        return (WireCommand) {
                .type       = COMMAND_CONVERT,
                .unit       = (uint8_t) core,
                .in_offset  = device_window_offset(device, in),
                .in_bytes   = (uint32_t) (ENGINE_LANES * count * sizeof(float)),
                .out_offset = device_window_offset(device, out),
                .out_bytes  = (uint32_t) (ENGINE_LANES * count * wire_format_bytes(format)),
                .convert    = { .engine = (uint8_t) engine, .format = (uint8_t) format, .flags = (uint8_t) flags, .count = count },
        };
}

WireCommand device_seed_command(unsigned core, WireEngine engine, uint32_t seed) {
        return (WireCommand) {
                .type = COMMAND_RNG_SEED,
                .unit = (uint8_t) core,
                .seed = { .engine = (uint8_t) engine, .seed = seed },
        };
}

WireCommand device_reset_command(unsigned core) {
        return (WireCommand) { .type = COMMAND_RESET, .unit = (uint8_t) core };
}

WireCommand device_state_command(const Device *device, unsigned core, WireEngine engine, void *out) {
        return (WireCommand) {
                .type       = COMMAND_RNG_STATE,
                .unit       = (uint8_t) core,
                .out_offset = device_window_offset(device, out),
                .out_bytes  = DEVICE_STATE_BYTES,
                .seed       = { .engine = (uint8_t) engine },
        };
}
