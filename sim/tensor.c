/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tensor
 *
 * The tensor engine of a NeuronCore: 128 × 128 processing elements, weights stationary, dense and
 * structured-sparse bf16 matrices into PSUM, bit-exact as wire.h says. Other formats and transposition are
 * answered as unsupported.
 *
 * What is stuck acts where the value is used: a weight or tag in each matmul after its load, an activation
 * from its column on, a product before it is added, a sum before it goes on to the next row. Healthy
 * products are shared by all cores of a thread; a bank of PSUM holds such a product as long as nothing was
 * added to it.
 *
 * Device time: 2.4 GHz, one moving column per cycle, 64 cycles of start-up; a load takes one cycle per row.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/model.h"
#include "sim/tensor-array.h"
#include "sim/tensor-faults.h"
#include "sim/tensor-memo.h"
#include "sim/tensor-psum.h"
#include "sim/tensor-select.h"
#include "sim/tensor-sag.h"
#include "sim/tensor-sparse-faults.h"
#include "sim/tensor-spoil.h"

#define START_CYCLES   64u
#define CYCLES_PER_5NS 12u /* 2.4 GHz */

typedef struct Tensor {
        Stationary *stationary;     /* NULL: nothing loaded */
        Psum psum;
        Selectors selectors;
        const Fault **faults;
        size_t n_faults;
        Defect *defects; /* room for those of the command at work */
        bool sags;       /* some fault asks how far the supply does */
} Tensor;

static uint64_t cycles_to_nsec(uint64_t cycles) {
        return (cycles * 5 + CYCLES_PER_5NS - 1) / CYCLES_PER_5NS;
}

static int refuse(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        return 0;
}

/* ---- load ---- */

static bool mode_is_refused(const Tensor *tensor, int mode, const Execution *execution) {
        for (size_t i = 0; i < tensor->selectors.n_injected; i++) {
                const Fault *fault = tensor->selectors.injected[i];

                if (sparse_fault_refuses(fault, mode) && fault_is_active(fault, execution))
                        return true;
        }

        return false;
}

/* Fills in what will be loaded; SUCCESS, or why it will not. */
static WireStatus load_shape(const Tensor *tensor, const Execution *execution, Stationary *ret) {
        const WireLoad *load = &execution->command->load;
        size_t n_tags = 0;
        int mode;

        if (load->rows < 1 || load->rows > PE_ROWS || load->columns < 1 || load->columns > PE_COLUMNS ||
            load->flags & ~LOAD_SPARSE || load->format >= _FORMAT_MAX)
                return STATUS_NRT_INVALID;
        if (load->format != FORMAT_BF16)
                return STATUS_NRT_UNSUPPORTED;
        if (execution->command->in_bytes != load->rows * load->columns * sizeof(uint16_t))
                return STATUS_NRT_INVALID;

        if (load->flags & LOAD_SPARSE) {
                mode = sparse_mode_find(load->keep, load->group);
                if (mode < 0 || mode_is_refused(tensor, mode, execution))
                        return STATUS_NRT_UNSUPPORTED;

                n_tags = load->rows * stationary_tag_words(load->columns);
                if (load->rows % load->keep != 0 || load->tags_offset % sizeof(uint16_t) != 0 ||
                    load->tags_offset > execution->window_bytes ||
                    execution->window_bytes - load->tags_offset < n_tags * sizeof(uint16_t))
                        return STATUS_NRT_INVALID;
        }

        *ret = (Stationary){
                .rows = load->rows,
                .columns = load->columns,
                .keep = n_tags > 0 ? load->keep : 0,
                .group = n_tags > 0 ? load->group : 0,
                .format = load->format,
                .n_weights = execution->command->in_bytes,
                .n_tags = n_tags * sizeof(uint16_t),
        };
        return STATUS_NRT_SUCCESS;
}

static int load_stationary(void *state, Execution *execution) {
        Tensor *tensor = state;
        Stationary *stationary;
        Stationary shape = {};
        WireStatus status;
        int r;

        status = load_shape(tensor, execution, &shape);
        if (status != STATUS_NRT_SUCCESS)
                return refuse(execution, status);

        r = memo_stationary(&shape, execution->in,
                            execution->window + (shape.keep ? execution->command->load.tags_offset : 0),
                            &stationary);
        if (r < 0)
                return r;

        (void) stationary_unref(tensor->stationary);
        tensor->stationary = stationary;
        selectors_gather(&tensor->selectors, execution);
        selectors_load(&tensor->selectors, stationary, 0);
        execution->completion->device_nsec = cycles_to_nsec(START_CYCLES + shape.rows);
        return 0;
}

/* ---- matmul ---- */

static int compare_defects(const void *a, const void *b) {
        return defect_compare(a, b);
}

/* What acts in this command. */
static Spoil spoil_gather(Tensor *tensor, const Execution *execution) {
        Spoil spoil = { .defects = tensor->defects, .selectors = &tensor->selectors };

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (fault_is_active(tensor->faults[i], execution) &&
                    tensor_fault_defect(tensor->faults[i], &tensor->defects[spoil.n_defects]))
                        spoil.n_defects++;

        if (spoil.n_defects > 1)
                qsort(tensor->defects, spoil.n_defects, sizeof(Defect), compare_defects);
        selectors_gather(&tensor->selectors, execution);
        return spoil;
}

/* The product of what is loaded and MOVING: shared where nothing is stuck, else the core's own. */
static int multiply(Tensor *tensor, const Execution *execution, Moving *moving, Product **ret) {
        Product *healthy, *own;
        Spoil spoil;
        int r;

        r = memo_product(tensor->stationary, moving, &healthy);
        if (r < 0)
                return r;

        spoil = spoil_gather(tensor, execution);
        if (spoil.n_defects == 0 && !selectors_may_err(&tensor->selectors, tensor->stationary, 0)) {
                *ret = healthy;
                return 0;
        }

        r = product_new(healthy->columns, healthy->moving, &own);
        if (r >= 0) {
                memcpy(own->bits, healthy->bits, (size_t) own->columns * own->moving * sizeof(uint32_t));
                r = array_spoil(tensor->stationary, moving, &spoil, own);
        }
        (void) product_unref(healthy);
        if (r < 0)
                return r;

        *ret = own;
        return 0;
}

static WireStatus matmul_admit(const Tensor *tensor, const Execution *execution) {
        const WireCommand *command = execution->command;
        const WireMatmul *matmul = &command->matmul;

        if (matmul->moving < 1 || matmul->moving > MOVING_MAX || matmul->bank >= PSUM_BANKS ||
            matmul->flags & ~(MATMUL_OVERWRITE | MATMUL_TRANSPOSE) || !tensor->stationary)
                return STATUS_NRT_INVALID;
        if (matmul->flags & MATMUL_TRANSPOSE)
                return STATUS_NRT_UNSUPPORTED;
        if (command->in_bytes !=
                            stationary_moving_rows(tensor->stationary) * matmul->moving * sizeof(uint16_t) ||
            (command->out_bytes > 0 && command->out_bytes < tensor->stationary->columns * matmul->moving * sizeof(uint32_t)) ||
            matmul->offset + matmul->moving > PSUM_ELEMENTS || matmul->first_column + tensor->stationary->columns > PE_COLUMNS)
                return STATUS_NRT_INVALID;

        return STATUS_NRT_SUCCESS;
}

static int matmul_run(void *state, Execution *execution) {
        const WireMatmul *matmul = &execution->command->matmul;
        Tensor *tensor = state;
        Moving *moving, shape = {};
        Product *product;
        WireStatus status;
        int r;

        status = matmul_admit(tensor, execution);
        if (status != STATUS_NRT_SUCCESS)
                return refuse(execution, status);

        shape.rows = (uint16_t) stationary_moving_rows(tensor->stationary);
        shape.columns = matmul->moving;
        shape.format = FORMAT_BF16;
        shape.n_bytes = execution->command->in_bytes;
        r = memo_moving(&shape, execution->in, &moving);
        if (r < 0)
                return r;

        if (tensor->sags)
                execution->sag = tensor_sag(tensor->stationary, moving);

        r = multiply(tensor, execution, moving, &product);
        (void) moving_unref(moving);
        if (r < 0)
                return r;

        r = psum_run(&tensor->psum, execution, product, false);
        if (r < 0)
                return r;

        execution->completion->device_nsec = cycles_to_nsec(START_CYCLES + matmul->moving);
        return 0;
}

/* ---- life ---- */

static void tensor_reset(void *state) {
        Tensor *tensor = state;

        tensor->stationary = stationary_unref(tensor->stationary);
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

static int read_ftz(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "0");
        return 0;
}

/* ---- faults ---- */

static int selectors_put(Tensor *tensor, const Fault *fault) {
        int r;

        r = selectors_inject(&tensor->selectors, fault);
        if (r > 0 && tensor->stationary)
                selectors_load(&tensor->selectors, tensor->stationary, 0);
        return r < 0 ? r : 0;
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
        .done       = tensor_done,
        .commands   = {
                [COMMAND_LOAD_STATIONARY] = load_stationary,
                [COMMAND_MATMUL]          = matmul_run,
        },
        .attributes = (const Attribute[]) {
                { "assay/tensor/ftz", read_ftz, NULL },
                {}
        },
        .faults     = (const FaultKind *const[]) { tensor_faults, tensor_sparse_faults, psum_fault_kinds, NULL },
        .inject     = tensor_inject,
        .heal       = tensor_heal,
        .reset      = tensor_reset,
};
