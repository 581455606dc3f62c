/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/device-tensor.h"

WireCommand device_load_command(const Device *device, unsigned core, const uint16_t *weights, unsigned rows,
                                unsigned columns) {
        return (WireCommand){
                .type = COMMAND_LOAD_STATIONARY,
                .unit = (uint8_t) core,
                .in_offset = device_window_offset(device, weights),
                .in_bytes = (uint32_t) (rows * columns * sizeof(uint16_t)),
                .load = {.rows = (uint16_t) rows, .columns = (uint16_t) columns, .format = FORMAT_BF16},
        };
}

WireCommand device_load_sparse_command(const Device *device, unsigned core, const uint16_t *weights,
                                       const uint16_t *tags, unsigned rows, unsigned columns, unsigned keep,
                                       unsigned group) {
        WireCommand command = device_load_command(device, core, weights, rows, columns);

        command.load.flags = LOAD_SPARSE;
        command.load.keep = (uint8_t) keep;
        command.load.group = (uint8_t) group;
        command.load.tags_offset = device_window_offset(device, tags);
        return command;
}

WireCommand device_matmul_command(const Device *device, unsigned core, const uint16_t *values,
                                  unsigned moving_rows, unsigned moving, uint32_t *out, unsigned columns,
                                  unsigned bank) {
        return (WireCommand){
                .type = COMMAND_MATMUL,
                .unit = (uint8_t) core,
                .in_offset = device_window_offset(device, values),
                .in_bytes = (uint32_t) (moving_rows * moving * sizeof(uint16_t)),
                .out_offset = device_window_offset(device, out),
                .out_bytes = (uint32_t) (columns * moving * sizeof(uint32_t)),
                .matmul = {.moving = (uint16_t) moving, .bank = (uint8_t) bank, .flags = MATMUL_OVERWRITE},
        };
}

bool device_matmul_is_complete(const WireCommand *command, const WireCompletion *completion) {
        return completion->status == STATUS_NRT_SUCCESS && completion->out_bytes == command->out_bytes;
}
