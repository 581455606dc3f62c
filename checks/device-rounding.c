/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/device-rounding.h"

size_t device_convert_bytes(WireFormat format) {
        static const size_t bytes[_FORMAT_MAX] = {
                [FORMAT_BF16] = 2, [FORMAT_FP16] = 2, [FORMAT_FP8_E4M3] = 1, [FORMAT_FP8_E5M2] = 1, [FORMAT_FP8_E3M4] = 1,
        };

        return format < _FORMAT_MAX ? bytes[format] : 0;
}

WireCommand device_convert_command(const Device *device, unsigned core, WireEngine engine, WireFormat format, unsigned flags,
                                   uint32_t count, const void *in, void *out) {
        return (WireCommand) {
                .type       = COMMAND_CONVERT,
                .unit       = (uint8_t) core,
                .in_offset  = device_window_offset(device, in),
                .in_bytes   = (uint32_t) (ENGINE_LANES * count * sizeof(float)),
                .out_offset = device_window_offset(device, out),
                .out_bytes  = (uint32_t) (ENGINE_LANES * count * device_convert_bytes(format)),
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
