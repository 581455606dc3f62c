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
#include "sim/tensor-memo.h"

#define PSUM_BANKS     8u
#define START_CYCLES   64u
#define CYCLES_PER_5NS 12u /* 2.4 GHz */

typedef struct Tensor {
        Stationary *stationary;     /* NULL: nothing loaded */
        Product *banks[PSUM_BANKS]; /* NULL: zero; elements outside are zero */
        const Fault **faults;       /* by column */
        size_t n_faults;
        Stuck *stuck; /* room for those of the command at work */
} Tensor;

/* Parameters of all kinds of this model. */
typedef struct TensorFault {
        uint64_t bit, value; /* of the register */
        uint64_t row, column;
        uint64_t position; /* input of a selector */
        int mode;
} TensorFault;

typedef struct SparseMode {
        uint8_t keep, group;
} SparseMode;

static const SparseMode sparse_modes[] = {
        {4,  16},
        { 4, 12},
        { 4, 8 },
        { 2, 8 },
        { 2, 4 },
        { 1, 4 },
        { 1, 2 }
};
static const char *const sparse_mode_words[] = { "4:16", "4:12", "4:8", "2:8", "2:4", "1:4", "1:2", NULL };

static_assert(ELEMENTS(sparse_mode_words) == ELEMENTS(sparse_modes) + 1, "modes and their words");

/* Which register a kind is stuck in; the others are special. */
typedef enum TensorKind {
        KIND_WEIGHT,
        KIND_ACTIVATION,
        KIND_PRODUCT,
        KIND_PSUM,
        KIND_TAG,
        KIND_SELECT,
        KIND_ROW,
        KIND_COLUMN,
        KIND_MODE,
        _KIND_MAX,
} TensorKind;

static const FaultKind tensor_faults[_KIND_MAX + 1];

static TensorKind fault_kind(const Fault *fault) {
        return (TensorKind) (fault->kind - tensor_faults);
}

static const LocationPart *fault_part(const Fault *fault) {
        return &fault->at.parts[fault->at.n_parts - 1];
}

static uint64_t cycles_to_nsec(uint64_t cycles) {
        return (cycles * 5 + CYCLES_PER_5NS - 1) / CYCLES_PER_5NS;
}

static int refuse(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        return 0;
}

/* ---- load ---- */

/* The index of the mode, or -ENOENT. */
static int sparse_mode_find(unsigned keep, unsigned group) {
        for (size_t i = 0; i < ELEMENTS(sparse_modes); i++)
                if (sparse_modes[i].keep == keep && sparse_modes[i].group == group)
                        return (int) i;

        return -ENOENT;
}

static bool mode_is_refused(const Tensor *tensor, int mode, const Execution *execution) {
        for (size_t i = 0; i < tensor->n_faults; i++) {
                const TensorFault *parameters = tensor->faults[i]->parameters;

                if (fault_kind(tensor->faults[i]) == KIND_MODE && parameters->mode == mode &&
                    fault_is_active(tensor->faults[i], execution))
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
                .n_weights = (size_t) load->rows * load->columns,
                .n_tags = n_tags,
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
        execution->completion->device_nsec = cycles_to_nsec(START_CYCLES + shape.rows);
        return 0;
}

/* ---- matmul ---- */

static uint32_t bit_if(const TensorFault *parameters, bool value) {
        return (parameters->value != 0) == value ? 1u << parameters->bit : 0;
}

/* What FAULT holds in the array as it is loaded. Returns false where it cannot act. */
static bool fault_to_stuck(const Fault *fault, const Stationary *stationary, Stuck *ret) {
        static const Register registers[] = {
                [KIND_WEIGHT] = REGISTER_WEIGHT,   [KIND_ACTIVATION] = REGISTER_ACTIVATION,
                [KIND_PRODUCT] = REGISTER_PRODUCT, [KIND_PSUM] = REGISTER_PSUM,
                [KIND_TAG] = REGISTER_TAG,
        };
        const TensorFault *parameters = fault->parameters;
        const LocationPart *part = fault_part(fault);

        switch (fault_kind(fault)) {

        case KIND_WEIGHT:
        case KIND_ACTIVATION:
        case KIND_PRODUCT:
        case KIND_PSUM:
                *ret = (Stuck){ .at = registers[fault_kind(fault)],
                                .row = (uint8_t) part->index,
                                .column = (uint8_t) part->column,
                                .clear = bit_if(parameters, false),
                                .set = bit_if(parameters, true) };
                return true;

        case KIND_TAG:
                *ret = (Stuck){ .at = REGISTER_TAG,
                                .row = (uint8_t) part[-1].index,
                                .column = (uint8_t) part->index,
                                .clear = bit_if(parameters, false),
                                .set = bit_if(parameters, true) };
                return stationary->keep > 0;

        case KIND_SELECT:
                *ret = (Stuck){ .at = REGISTER_SELECT,
                                .row = (uint8_t) part->index,
                                .set = 1u << parameters->position };
                return stationary->keep > 0;

        case KIND_ROW:
                *ret = (Stuck){ .at = REGISTER_ACTIVATION,
                                .row = (uint8_t) parameters->row,
                                .clear = 0xffff };
                return true;

        case KIND_COLUMN:
                *ret = (Stuck){ .at = REGISTER_PSUM,
                                .row = (uint8_t) (stationary->rows - 1),
                                .column = (uint8_t) parameters->column,
                                .clear = UINT32_MAX };
                return true;

        case KIND_MODE:
        case _KIND_MAX:
                break;
        }

        return false;
}

static size_t stuck_gather(Tensor *tensor, const Execution *execution) {
        size_t n = 0;

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (fault_is_active(tensor->faults[i], execution) &&
                    fault_to_stuck(tensor->faults[i], tensor->stationary, &tensor->stuck[n]))
                        n++;

        return n;
}

/* The product of what is loaded and MOVING: shared where nothing is stuck, else the core's own. */
static int multiply(Tensor *tensor, const Execution *execution, Moving *moving, Product **ret) {
        Product *healthy, *own;
        size_t n_stuck;
        int r;

        r = memo_product(tensor->stationary, moving, &healthy);
        if (r < 0)
                return r;

        n_stuck = stuck_gather(tensor, execution);
        if (n_stuck == 0) {
                *ret = healthy;
                return 0;
        }

        r = product_new(healthy->columns, healthy->moving, &own);
        if (r >= 0) {
                memcpy(own->bits, healthy->bits, (size_t) own->columns * own->moving * sizeof(uint32_t));
                r = array_spoil(tensor->stationary, moving, tensor->stuck, n_stuck, own);
        }
        (void) product_unref(healthy);
        if (r < 0)
                return r;

        *ret = own;
        return 0;
}

static unsigned larger(unsigned a, unsigned b) {
        return a > b ? a : b;
}

/* Puts PRODUCT into BANK, element by element. */
static int bank_merge(Product **bank, const Product *product, bool overwrite) {
        const Product *old = *bank;
        Product *merged;
        int r;

        r = product_new(larger(old ? old->columns : 0, product->columns),
                        larger(old ? old->moving : 0, product->moving), &merged);
        if (r < 0)
                return r;

        memset(merged->bits, 0, (size_t) merged->columns * merged->moving * sizeof(uint32_t));
        for (size_t m = 0; old && m < old->columns; m++)
                memcpy(merged->bits + m * merged->moving, old->bits + m * old->moving,
                       old->moving * sizeof(uint32_t));

        for (size_t m = 0; m < product->columns; m++)
                for (size_t n = 0; n < product->moving; n++) {
                        uint32_t *sum = &merged->bits[m * merged->moving + n];
                        uint32_t value = product->bits[m * product->moving + n];

                        *sum = overwrite ? value : float_add(*sum, value);
                }

        (void) product_unref(*bank);
        *bank = merged;
        return 0;
}

/* Takes the reference to PRODUCT. Where nothing of the old content remains, it is the new content. */
static int bank_store(Product **bank, Product *product, bool overwrite) {
        const Product *old = *bank;
        int r;

        if (overwrite && (!old || (old->columns <= product->columns && old->moving <= product->moving))) {
                (void) product_unref(*bank);
                *bank = product;
                return 0;
        }

        r = bank_merge(bank, product, overwrite);
        (void) product_unref(product);
        return r;
}

static void bank_read(const Product *bank, unsigned columns, unsigned moving, uint8_t *out) {
        size_t n_bytes = moving * sizeof(uint32_t);

        if (bank->moving == moving) {
                memcpy(out, bank->bits, columns * n_bytes);
                return;
        }

        for (size_t m = 0; m < columns; m++)
                memcpy(out + m * n_bytes, bank->bits + m * bank->moving, n_bytes);
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
            command->out_bytes < tensor->stationary->columns * matmul->moving * sizeof(uint32_t))
                return STATUS_NRT_INVALID;

        return STATUS_NRT_SUCCESS;
}

static int matmul_run(void *state, Execution *execution) {
        const WireMatmul *matmul = &execution->command->matmul;
        Tensor *tensor = state;
        Product *product;
        WireStatus status;
        Moving *moving;
        unsigned columns;
        int r;

        status = matmul_admit(tensor, execution);
        if (status != STATUS_NRT_SUCCESS)
                return refuse(execution, status);

        r = memo_moving(stationary_moving_rows(tensor->stationary), matmul->moving, execution->in, &moving);
        if (r < 0)
                return r;

        r = multiply(tensor, execution, moving, &product);
        (void) moving_unref(moving);
        if (r < 0)
                return r;

        columns = product->columns;
        r = bank_store(&tensor->banks[matmul->bank], product, matmul->flags & MATMUL_OVERWRITE);
        if (r < 0)
                return r;

        bank_read(tensor->banks[matmul->bank], columns, matmul->moving, execution->out);
        execution->completion->out_bytes = (uint32_t) (columns * matmul->moving * sizeof(uint32_t));
        execution->completion->device_nsec = cycles_to_nsec(START_CYCLES + matmul->moving);
        return 0;
}

/* ---- life ---- */

static void tensor_reset(void *state) {
        Tensor *tensor = state;

        tensor->stationary = stationary_unref(tensor->stationary);
        for (size_t i = 0; i < PSUM_BANKS; i++)
                tensor->banks[i] = product_unref(tensor->banks[i]);
}

static void tensor_done(void *state) {
        Tensor *tensor = state;

        tensor_reset(tensor);
        free(tensor->faults);
        free(tensor->stuck);
}

static int read_ftz(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "0");
        return 0;
}

/* ---- faults ---- */

static unsigned fault_column(const Fault *fault) {
        const TensorFault *parameters = fault->parameters;

        switch (fault_kind(fault)) {

        case KIND_WEIGHT:
        case KIND_ACTIVATION:
        case KIND_PRODUCT:
        case KIND_PSUM:
                return fault_part(fault)->column;

        case KIND_TAG:
                return fault_part(fault)->index;

        case KIND_COLUMN:
                return (unsigned) parameters->column;

        case KIND_SELECT:
        case KIND_ROW:
        case KIND_MODE:
        case _KIND_MAX:
                break;
        }

        return 0;
}

/* Two kinds of stuck in the same bit of the same register, or the same thing twice. */
static bool faults_collide(const Fault *a, const Fault *b) {
        const TensorFault *p = a->parameters, *q = b->parameters;

        return a->kind == b->kind && location_equal(&a->at, &b->at) && p->bit == q->bit &&
               p->row == q->row && p->column == q->column && p->position == q->position &&
               p->mode == q->mode;
}

static int tensor_inject(void *state, const Fault *fault) {
        Tensor *tensor = state;
        const Fault **faults;
        Stuck *stuck;
        size_t at;

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (faults_collide(tensor->faults[i], fault))
                        return -EEXIST;

        faults = realloc(tensor->faults, (tensor->n_faults + 1) * sizeof(*faults));
        if (!faults)
                return -ENOMEM;
        tensor->faults = faults;

        stuck = realloc(tensor->stuck, (tensor->n_faults + 1) * sizeof(*stuck));
        if (!stuck)
                return -ENOMEM;
        tensor->stuck = stuck;

        for (at = tensor->n_faults; at > 0 && fault_column(faults[at - 1]) > fault_column(fault); at--)
                faults[at] = faults[at - 1];
        faults[at] = fault;
        tensor->n_faults++;
        return 0;
}

static void tensor_heal(void *state, const Fault *fault) {
        Tensor *tensor = state;
        size_t n = 0;

        for (size_t i = 0; i < tensor->n_faults; i++)
                if (tensor->faults[i] != fault)
                        tensor->faults[n++] = tensor->faults[i];

        tensor->n_faults = n;
}

static int validate_place(const Fault *fault, const char **ret_wrong) {
        for (unsigned i = 0; i < fault->at.n_parts; i++) {
                const LocationPart *part = &fault->at.parts[i];
                bool inside = part->kind == LOCATION_PE ? part->index < PE_ROWS && part->column < PE_COLUMNS
                              : part->kind == LOCATION_SPARSE_ROW  ? part->index < PE_ROWS
                              : part->kind == LOCATION_SPARSE_SLOT ? part->index < PE_COLUMNS
                                                                   : true;

                if (!inside) {
                        *ret_wrong = "the array has 128 rows and 128 columns, numbered from 0";
                        return -EINVAL;
                }
        }

        return 0;
}

static const LocationKind at_pe[] = { LOCATION_PE, _LOCATION_KIND_INVALID };
static const LocationKind at_slot[] = { LOCATION_SPARSE_SLOT, _LOCATION_KIND_INVALID };
static const LocationKind at_sparse_row[] = { LOCATION_SPARSE_ROW, _LOCATION_KIND_INVALID };
static const LocationKind at_sparse[] = { LOCATION_SPARSE, _LOCATION_KIND_INVALID };
static const LocationKind at_core[] = { LOCATION_CORE, _LOCATION_KIND_INVALID };

#define STUCK_FIELDS(highest)                                                                               \
        (const YamlField[]) {                                                                               \
                YAML_UNSIGNED("bit", TensorFault, bit, 0, highest, .required = true,                        \
                              .summary = "which one"),                                                      \
                                YAML_UNSIGNED("value", TensorFault, value, 0, 1, .required = true,          \
                                              .summary = "what it holds"),                                  \
                {                                                                                           \
                }                                                                                           \
        }

#define TENSOR_FAULT(index, word, places, fields, text)                                                     \
        [index] = {                                                                                         \
                .name = word,                                                                               \
                .summary = text,                                                                            \
                .family = FAMILY_COMPUTE,                                                                   \
                .at = places,                                                                               \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                            \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,                                         \
                .parameters_bytes = sizeof(TensorFault),                                                    \
                .parameters = fields,                                                                       \
                .validate = validate_place,                                                                 \
        }

static const YamlField row_fields[] = {
        YAML_UNSIGNED("row", TensorFault, row, 0, PE_ROWS - 1, .required = true, .summary = "which one"), {}
};
static const YamlField column_fields[] = { YAML_UNSIGNED("column", TensorFault, column, 0, PE_COLUMNS - 1,
                                                         .required = true, .summary = "which one"),
                                           {} };
static const YamlField select_fields[] = { YAML_UNSIGNED("position", TensorFault, position, 0,
                                                         SPARSE_GROUP_MAX - 1, .required = true,
                                                         .summary = "the input, counted in the group"),
                                           {} };
static const YamlField mode_fields[] = {
        YAML_WORD("mode", TensorFault, mode, sparse_mode_words, .required = true, .summary = "M:N"), {}
};

static const FaultKind tensor_faults[_KIND_MAX + 1] = {
        TENSOR_FAULT(KIND_WEIGHT, "weight-stuck", at_pe, STUCK_FIELDS(15), "a bit of the weight register"),
        TENSOR_FAULT(KIND_ACTIVATION, "activation-stuck", at_pe, STUCK_FIELDS(15),
                     "a bit of the activation register; its column and all further ones see it"),
        TENSOR_FAULT(KIND_PRODUCT, "product-stuck", at_pe, STUCK_FIELDS(31),
                     "a bit of the product, as binary32"),
        TENSOR_FAULT(KIND_PSUM, "psum-stuck", at_pe, STUCK_FIELDS(31),
                     "a bit of the partial sum, as binary32"),
        TENSOR_FAULT(KIND_TAG, "tag-stuck", at_slot, STUCK_FIELDS(3),
                     "a bit of the tag of one sparse element"),
        TENSOR_FAULT(KIND_SELECT, "select-dead", at_sparse_row, select_fields,
                     "an input of the selectors of a row of the sparse path reads zero"),
        TENSOR_FAULT(KIND_ROW, "pe-row-dead", at_core, row_fields,
                     "no activation enters a row of the array"),
        TENSOR_FAULT(KIND_COLUMN, "pe-column-dead", at_core, column_fields,
                     "a column of the array gives zero"),
        TENSOR_FAULT(KIND_MODE, "mode-refused", at_sparse, mode_fields,
                     "the core refuses a mode of sparsity"),
        {}
};

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
        .faults     = tensor_faults,
        .inject     = tensor_inject,
        .heal       = tensor_heal,
        .reset      = tensor_reset,
};
