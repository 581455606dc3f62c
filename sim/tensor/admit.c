/* SPDX-License-Identifier: Apache-2.0 */

/* Which commands a tensor engine takes: what no core does is invalid, what this one does not do unsupported. */

#include "sim/tensor/faults.h"
#include "sim/tensor/sparse-faults.h"
#include "sim/tensor/tensor.h"

static bool mode_is_refused(const Tensor *tensor, int mode, const Execution *execution) {
        for (size_t i = 0; i < tensor->selectors.n_injected; i++) {
                const Fault *fault = tensor->selectors.injected[i];

                if (sparse_fault_refuses(fault, mode) && fault_is_active(fault, execution))
                        return true;
        }

        return false;
}

static bool format_is_refused(const Tensor *tensor, unsigned format, const Execution *execution) {
        for (size_t i = 0; i < tensor->n_faults; i++)
                if (tensor_fault_refuses_format(tensor->faults[i], format) && fault_is_active(tensor->faults[i], execution))
                        return true;

        return tensor->settings.absent >> format & 1;
}

static bool format_is_fp8(unsigned format) {
        return wire_format_bytes(format) == 1;
}

/* What no core does, and what this one does not do. */
static WireStatus load_admit_mode(const Tensor *tensor, const Execution *execution) {
        const WireLoad *load = &execution->command->load;
        int mode;

        if (load->flags & LOAD_DOUBLE_ROW)
                return load->flags & LOAD_SPARSE || !format_is_fp8(load->format) ? STATUS_NRT_INVALID : STATUS_NRT_SUCCESS;
        if (!(load->flags & LOAD_SPARSE))
                return STATUS_NRT_SUCCESS;

        if (wire_format_bytes(load->format) == sizeof(uint32_t))
                return STATUS_NRT_INVALID;
        mode = sparse_mode_find(load->keep, load->group);
        if (mode < 0 || mode_is_refused(tensor, mode, execution))
                return STATUS_NRT_UNSUPPORTED;

        return load->rows % load->keep == 0 ? STATUS_NRT_SUCCESS : STATUS_NRT_INVALID;
}

WireStatus tensor_admit_load(const Tensor *tensor, const Execution *execution, Tile *ret) {
        const WireLoad *load = &execution->command->load;

        if (load->rows < 1 || load->rows > PE_ROWS || load->columns < 1 || load->columns > PE_COLUMNS ||
            load->flags & ~(LOAD_SPARSE | LOAD_DOUBLE_ROW) || load->format >= _FORMAT_MAX || !tile_of(load, ret))
                return STATUS_NRT_INVALID;
        if (format_is_refused(tensor, load->format, execution))
                return STATUS_NRT_UNSUPPORTED;

        return load_admit_mode(tensor, execution);
}

/* Any two formats, but those of 32 bits only with themselves. */
static bool formats_go_together(unsigned a, unsigned b) {
        return a == b || (wire_format_bytes(a) < sizeof(uint32_t) && wire_format_bytes(b) < sizeof(uint32_t));
}

static WireStatus matmul_admit_mode(const WireMatmul *matmul, const Tile *tile) {
        const Stationary *stationary = tile->stationary;

        if (!formats_go_together(tile->format, matmul->format) ||
            (stationary->double_row && !format_is_fp8(matmul->format)))
                return STATUS_NRT_INVALID;
        if (matmul->flags & MATMUL_TRANSPOSE &&
            (!(matmul->flags & MATMUL_OVERWRITE) || stationary->keep > 0 || stationary->double_row))
                return STATUS_NRT_INVALID;

        return STATUS_NRT_SUCCESS;
}

WireStatus tensor_admit_matmul(const Tensor *tensor, const Execution *execution, const Tile **ret) {
        const WireMatmul *matmul = &execution->command->matmul;

        *ret = tiles_find(&tensor->tiles, matmul->first_row, matmul->first_column);
        if (matmul->moving < 1 || matmul->moving > MOVING_MAX || matmul->bank >= PSUM_BANKS || matmul->offset >= PSUM_ELEMENTS ||
            matmul->offset + matmul->moving > PSUM_ELEMENTS || matmul->flags & ~(MATMUL_OVERWRITE | MATMUL_TRANSPOSE) ||
            matmul->format >= _FORMAT_MAX)
                return STATUS_NRT_INVALID;
        if (format_is_refused(tensor, matmul->format, execution))
                return STATUS_NRT_UNSUPPORTED;

        return *ret ? matmul_admit_mode(matmul, *ret) : STATUS_NRT_INVALID;
}
