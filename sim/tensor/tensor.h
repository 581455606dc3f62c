/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor
 *
 * The state of a tensor engine, and which commands it takes.
 */

#include "sim/chip/model.h"
#include "sim/tensor/pe.h"
#include "sim/tensor/psum.h"
#include "sim/tensor/select.h"
#include "sim/tensor/tiles.h"

typedef struct Tensor {
        TensorSettings settings;
        Tiles tiles;
        Psum psum;
        Selectors selectors;
        const Fault **faults;
        size_t n_faults;
        Defect *defects; /* room for those of the command at work */
        bool sags;       /* some fault asks how far the supply does */
} Tensor;

/* SUCCESS, with the tile that the load takes, or why it will not be done. */
WireStatus tensor_admit_load(const Tensor *tensor, const Execution *execution, Tile *ret);

/* SUCCESS, with the tile that it goes through, or why it will not be done. */
WireStatus tensor_admit_matmul(const Tensor *tensor, const Execution *execution, const Tile **ret);
