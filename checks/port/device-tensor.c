/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-tensor.h"

WireCommand device_load_command(const Device *device, unsigned core, WireLoad load, const void *weights,
                                const uint16_t *tags) {
        size_t n = (size_t) load.rows * load.columns * (load.flags & LOAD_DOUBLE_ROW ? 2 : 1);

        if (load.flags & LOAD_SPARSE)
                load.tags_offset = device_window_offset(device, tags);

        return (WireCommand){
                .type = COMMAND_LOAD_STATIONARY,
                .unit = (uint8_t) core,
                .in_offset = device_window_offset(device, weights),
                .in_bytes = (uint32_t) (n * wire_format_bytes(load.format)),
                .load = load,
        };
}

WireCommand device_matmul_command(const Device *device, unsigned core, WireMatmul matmul, unsigned moving_rows,
                                  const void *values, unsigned columns, uint32_t *out) {
        return (WireCommand){
                .type = COMMAND_MATMUL,
                .unit = (uint8_t) core,
                .in_offset = device_window_offset(device, values),
                .in_bytes = moving_rows * matmul.moving * wire_format_bytes(matmul.format),
                .out_offset = out ? device_window_offset(device, out) : 0,
                .out_bytes = out ? (uint32_t) (columns * matmul.moving * sizeof(uint32_t)) : 0,
                .matmul = matmul,
        };
}

bool device_matmul_is_complete(const WireCommand *command, const WireCompletion *completion) {
        return (completion->status == STATUS_NRT_SUCCESS || completion->status == STATUS_NRT_NC_UE) &&
               completion->out_bytes == command->out_bytes;
}
