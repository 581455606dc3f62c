/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tensor
 *
 * The tensor engine of a NeuronCore: 128 × 128 processing elements, weights stationary, matrices of seven formats into PSUM,
 * bit-exact as wire.h says.
 *
 * What is stuck acts where the value is used: a weight or tag in each matmul after its load, an activation
 * from its column on, a product before it is added, a sum before it goes on to the next row. Healthy
 * products, and sums of them in PSUM, are shared by all cores of a thread.
 *
 * Device time: 2.4 GHz, one moving column per cycle and pass, 64 cycles of start-up; a load takes one cycle per row.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/faults.h"
#include "sim/tensor/memo.h"
#include "sim/tensor/sag.h"
#include "sim/tensor/sparse-faults.h"
#include "sim/tensor/spoil.h"
#include "sim/tensor/tensor.h"

#define START_CYCLES   64u
#define FP32_PASSES    4u
#define CYCLES_PER_5NS 12u /* 2.4 GHz */

static uint64_t cycles_to_nsec(uint64_t cycles) {
        return (cycles * 5 + CYCLES_PER_5NS - 1) / CYCLES_PER_5NS;
}

static int refuse(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        return 0;
}

/* ---- load ---- */

/* What the core takes numbers of FORMAT for. */
static uint8_t format_taken(const Tensor *tensor, WireFormat format, const Execution *execution) {
        for (size_t i = 0; i < tensor->n_faults; i++) {
                WireFormat taken = tensor_fault_format(tensor->faults[i], format);

                if (taken != format && fault_is_active(tensor->faults[i], execution))
                        return (uint8_t) taken;
        }

        return (uint8_t) format;
}

/* What will be loaded. Returns false where the areas of the command do not hold it. */
static bool load_shape(const Execution *execution, Stationary *ret) {
        const WireLoad *load = &execution->command->load;
        bool double_row = load->flags & LOAD_DOUBLE_ROW, sparse = load->flags & LOAD_SPARSE;

        *ret = (Stationary){
                .rows = load->rows,
                .columns = load->columns,
                .format = load->format,
                .double_row = double_row,
                .keep = sparse ? load->keep : 0,
                .group = sparse ? load->group : 0,
                .n_weights = (size_t) load->rows * load->columns * wire_format_bytes(load->format) * (double_row ? 2 : 1),
                .n_tags = sparse ? load->rows * stationary_tag_words(load->columns) * sizeof(uint16_t) : 0,
        };

        return execution->command->in_bytes == ret->n_weights &&
               (!sparse || (load->tags_offset % sizeof(uint16_t) == 0 && load->tags_offset <= execution->window_bytes &&
                            execution->window_bytes - load->tags_offset >= ret->n_tags));
}

static int load_stationary(void *state, Execution *execution) {
        Stationary shape = {};
        Tensor *tensor = state;
        WireStatus status;
        Tile tile = {};
        int r;

        status = tensor_admit_load(tensor, execution, &tile);
        if (status == STATUS_NRT_SUCCESS && !load_shape(execution, &shape))
                status = STATUS_NRT_INVALID;
        if (status != STATUS_NRT_SUCCESS)
                return refuse(execution, status);

        shape.format = format_taken(tensor, execution->command->load.format, execution);
        r = memo_stationary(&shape, execution->in,
                            execution->window + (shape.keep ? execution->command->load.tags_offset : 0),
                            &tile.stationary);
        if (r < 0)
                return r;

        tiles_load(&tensor->tiles, tile);
        selectors_gather(&tensor->selectors, execution);
        selectors_load(&tensor->selectors, tile.stationary, tile.first_row);
        execution->completion->device_nsec = cycles_to_nsec(START_CYCLES + shape.rows);
        return 0;
}

/* ---- matmul ---- */

static int compare_defects(const void *a, const void *b) {
        return defect_compare(a, b);
}

/* What acts in this command, on TILE. */
static Spoil spoil_gather(Tensor *tensor, const Tile *tile, MatmulMode mode, const Execution *execution) {
        Spoil spoil = { .ftz = mode.ftz,
                        .transposed = mode.transposed,
                        .first_row = tile->first_row,
                        .first_column = tile->first_column,
                        .defects = tensor->defects,
                        .selectors = &tensor->selectors };

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (fault_is_active(tensor->faults[i], execution) &&
                    tensor_fault_defect(tensor->faults[i], &tensor->defects[spoil.n_defects]))
                        spoil.n_defects++;

        if (spoil.n_defects > 1)
                qsort(tensor->defects, spoil.n_defects, sizeof(Defect), compare_defects);
        selectors_gather(&tensor->selectors, execution);
        return spoil;
}

/* The product of what is loaded in TILE and MOVING: shared where nothing is stuck, else the core's own. */
static int multiply(Tensor *tensor, const Tile *tile, const Execution *execution, Moving *moving, Product **ret) {
        const MatmulMode mode = {
                .ftz = tensor->settings.ftz, .transposed = execution->command->matmul.flags & MATMUL_TRANSPOSE
        };
        Product *healthy, *own;
        Spoil spoil;
        int r;

        r = memo_product(tile->stationary, moving, mode, &healthy);
        if (r < 0)
                return r;

        spoil = spoil_gather(tensor, tile, mode, execution);
        if (spoil.n_defects == 0 && !selectors_may_err(&tensor->selectors, tile->stationary, tile->first_row)) {
                *ret = healthy;
                return 0;
        }

        r = product_new(healthy->columns, healthy->moving, &own);
        if (r >= 0) {
                memcpy(own->bits, healthy->bits, (size_t) own->columns * own->moving * sizeof(uint32_t));
                r = array_spoil(tile->stationary, moving, &spoil, own);
        }
        (void) product_unref(healthy);
        if (r < 0)
                return r;

        *ret = own;
        return 0;
}

/* What will move. Returns false where the areas of the command do not hold it, or what comes of it. */
static bool matmul_shape(const Execution *execution, const Stationary *stationary, Moving *ret) {
        const WireCommand *command = execution->command;
        const WireMatmul *matmul = &command->matmul;
        unsigned rows = stationary_moving_rows(stationary);

        *ret = (Moving){
                .rows = (uint16_t) rows,
                .columns = matmul->moving,
                .format = matmul->format,
                .double_row = stationary->double_row,
                .n_bytes = (size_t) rows * matmul->moving * wire_format_bytes(matmul->format) * (stationary->double_row ? 2 : 1),
        };

        return command->in_bytes == ret->n_bytes &&
               (command->out_bytes == 0 || command->out_bytes >= stationary->columns * matmul->moving * sizeof(uint32_t));
}

/* What moves, as the core takes it; how far the supply sags is known by what should. */
static int moving_take(const Tensor *tensor, const Tile *tile, Execution *execution, Moving *shape, Moving **ret) {
        Moving *moving;
        uint8_t taken;
        int r;

        r = memo_moving(shape, execution->in, &moving);
        if (r < 0)
                return r;

        if (tensor->sags)
                execution->sag = tensor_sag(tile->stationary, moving);

        taken = format_taken(tensor, shape->format, execution);
        if (taken == shape->format) {
                *ret = moving;
                return 0;
        }

        (void) moving_unref(moving);
        shape->format = taken;
        return memo_moving(shape, execution->in, ret);
}

static uint64_t matmul_cycles(const WireMatmul *matmul) {
        return START_CYCLES + (uint64_t) matmul->moving * (matmul->format == FORMAT_FP32 ? FP32_PASSES : 1);
}

static int matmul_run(void *state, Execution *execution) {
        const WireMatmul *matmul = &execution->command->matmul;
        Moving *moving, shape = {};
        Tensor *tensor = state;
        Product *product;
        const Tile *tile;
        WireStatus status;
        int r;

        status = tensor_admit_matmul(tensor, execution, &tile);
        if (status == STATUS_NRT_SUCCESS && !matmul_shape(execution, tile->stationary, &shape))
                status = STATUS_NRT_INVALID;
        if (status != STATUS_NRT_SUCCESS)
                return refuse(execution, status);

        r = moving_take(tensor, tile, execution, &shape, &moving);
        if (r < 0)
                return r;

        r = multiply(tensor, tile, execution, moving, &product);
        (void) moving_unref(moving);
        if (r < 0)
                return r;

        r = psum_run(&tensor->psum, execution, product, tensor->settings.ftz);
        if (r < 0)
                return r;

        execution->completion->device_nsec = cycles_to_nsec(matmul_cycles(matmul));
        return 0;
}

/* ---- life ---- */

static int tensor_init(void *state, Chip *chip, unsigned index) {
        Tensor *tensor = state;

        tensor->settings = chip_tensor(chip);
        return 0;
}

static void tensor_reset(void *state) {
        Tensor *tensor = state;

        tiles_reset(&tensor->tiles);
        selectors_reset(&tensor->selectors);
}

static void tensor_done(void *state) {
        Tensor *tensor = state;

        tensor_reset(tensor);
        psum_done(&tensor->psum);
        free(tensor->faults);
        free(tensor->defects);
        selectors_done(&tensor->selectors);
}

Psum *tensor_psum(void *tensor) {
        return &((Tensor *) tensor)->psum;
}

static int read_ftz(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const Tensor *tensor = state;

        (void) snprintf(text, size, "%d", tensor->settings.ftz);
        return 0;
}

static int read_formats(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const Tensor *tensor = state;
        size_t used = 0;

        text[0] = '\0';
        for (unsigned i = 0; i < _FORMAT_MAX && used < size; i++)
                if (!(tensor->settings.absent >> i & 1))
                        used += (size_t) snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", wire_format_words[i]);
        return 0;
}

/* ---- faults ---- */

/* Registers that begin to be kept hold what was loaded before. */
static int selectors_put(Tensor *tensor, const Fault *fault) {
        int r;

        r = selectors_inject(&tensor->selectors, fault);
        if (r < 0)
                return r;

        for (unsigned i = 0; r > 0 && i < tensor->tiles.n; i++)
                selectors_load(&tensor->selectors, tensor->tiles.tiles[i].stationary, tensor->tiles.tiles[i].first_row);
        return 0;
}

static int tensor_inject(void *state, const Fault *fault) {
        Tensor *tensor = state;
        const Fault **faults;
        Defect *defects;

        tensor->sags |= fault->droop > 0;
        if (psum_has_kind(fault))
                return psum_inject(&tensor->psum, fault);
        if (fault_is_sparse(fault))
                return selectors_put(tensor, fault);

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (tensor_faults_collide(tensor->faults[i], fault))
                        return -EEXIST;

        faults = realloc(tensor->faults, (tensor->n_faults + 1) * sizeof(*faults));
        if (!faults)
                return -ENOMEM;
        tensor->faults = faults;

        defects = realloc(tensor->defects, (tensor->n_faults + 1) * sizeof(*defects));
        if (!defects)
                return -ENOMEM;
        tensor->defects = defects;

        faults[tensor->n_faults++] = fault;
        return 0;
}

static void tensor_heal(void *state, const Fault *fault) {
        Tensor *tensor = state;
        size_t n = 0;

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (tensor->faults[i] != fault)
                        tensor->faults[n++] = tensor->faults[i];

        tensor->n_faults = n;
        psum_heal(&tensor->psum, fault);
        if (fault_is_sparse(fault))
                selectors_heal(&tensor->selectors, fault);
}

const Model model_tensor = {
        .name       = "tensor",
        .part       = LOCATION_CORE,
        .state_size = sizeof(Tensor),
        .init       = tensor_init,
        .done       = tensor_done,
        .commands   = {
                [COMMAND_LOAD_STATIONARY] = load_stationary,
                [COMMAND_MATMUL]          = matmul_run,
        },
        .attributes = (const Attribute[]) {
                { "assay/tensor/ftz",     read_ftz,     NULL },
                { "assay/tensor/formats", read_formats, NULL },
                {}
        },
        .faults     = (const FaultKind *const[]) { tensor_faults, tensor_sparse_faults, psum_fault_kinds, NULL },
        .inject     = tensor_inject,
        .heal       = tensor_heal,
        .reset      = tensor_reset,
};
