/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-memory.h"

#include <assert.h>
#include <string.h>

struct MemoryBatch {
        Device *device;
        WireCommand *commands;
        WireCompletion *completions;
        const void **pieces; /* where each answer comes in the window */
        size_t *offsets;     /* and where it is kept in data */
        size_t n, allocated;
        uint8_t *data;
        size_t n_data, data_allocated;
        bool confined;
        MemoryGeometry geometry;
};

/* ---- parts ---- */

MemoryPart memory_part_stack(unsigned stack) {
        return (MemoryPart) {
                .march    = COMMAND_HBM_MARCH,
                .copy_in  = COMMAND_HBM_COPY_IN,
                .copy_out = COMMAND_HBM_COPY_OUT,
                .pause    = COMMAND_HBM_PAUSE,
                .unit     = (uint8_t) stack,
        };
}

MemoryPart memory_part_array(unsigned core, WireArray array) {
        return (MemoryPart) {
                .march    = COMMAND_SRAM_MARCH,
                .copy_in  = COMMAND_SRAM_COPY_IN,
                .copy_out = COMMAND_SRAM_COPY_OUT,
                .unit     = (uint8_t) core,
                .array    = (uint8_t) array,
        };
}

/* ---- geometry ---- */

int memory_geometry_parse(const char *text, MemoryGeometry *ret) {
        MemoryGeometry geometry = { .accesses = 1 };

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                unsigned long value = 0;

                if (axis > 0 && *text++ != ' ')
                        return -EINVAL;
                if (*text < '1' || *text > '9')
                        return -EINVAL;
                for (; *text >= '0' && *text <= '9' && value <= UINT16_MAX; text++)
                        value = value * 10 + (unsigned) (*text - '0');
                if (value > UINT16_MAX ||
                    __builtin_mul_overflow(geometry.accesses, value, &geometry.accesses))
                        return -EINVAL;
                geometry.size[axis] = geometry.whole[axis] = (uint16_t) value;
        }

        if (*text)
                return -EINVAL;

        *ret = geometry;
        return 0;
}

int device_hbm_geometry(Device *device, unsigned chip, MemoryGeometry *ret) {
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        r = device_attribute(device, chip, "assay/hbm/geometry", text);
        if (r < 0)
                return r;

        return memory_geometry_parse(text, ret) < 0 ? -EPROTO : 0;
}

WireBox memory_geometry_box(const MemoryGeometry *geometry) {
        WireBox box = {};

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                box.last[axis] = (uint16_t) (geometry->size[axis] - 1);
        return box;
}

MemoryGeometry memory_geometry_narrow(const MemoryGeometry *geometry, const WireBox *box) {
        MemoryGeometry narrow = { .accesses = (uint32_t) memory_box_accesses(box) };

        memcpy(narrow.whole, geometry->whole, sizeof(narrow.whole));
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                assert(box->first[axis] <= box->last[axis] && box->last[axis] < geometry->size[axis]);
                narrow.origin[axis] = (uint16_t) (geometry->origin[axis] + box->first[axis]);
                narrow.size[axis] = (uint16_t) (box->last[axis] - box->first[axis] + 1);
        }

        return narrow;
}

unsigned memory_geometry_absolute(const MemoryGeometry *geometry, MemoryAxis axis, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        return (unsigned) geometry->origin[axis] + at[axis];
}

uint32_t memory_geometry_place(const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint32_t linear = 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                linear = linear * geometry->whole[axis] + memory_geometry_absolute(geometry, (MemoryAxis) axis, at);
        return linear;
}

WireBox memory_access_box(const uint16_t at[static _MEMORY_AXIS_MAX]) {
        WireBox box;

        memcpy(box.first, at, sizeof(box.first));
        memcpy(box.last, at, sizeof(box.last));
        return box;
}

uint32_t memory_geometry_linear(const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint32_t linear = 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                linear = linear * geometry->size[axis] + at[axis];
        return linear;
}

void memory_geometry_at(const MemoryGeometry *geometry, uint32_t linear, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = _MEMORY_AXIS_MAX; axis-- > 0;) {
                ret[axis] = (uint16_t) (linear % geometry->size[axis]);
                linear /= geometry->size[axis];
        }
}

bool memory_geometry_has(const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (at[axis] >= geometry->size[axis])
                        return false;
        return true;
}

bool memory_box_includes(const WireBox *box, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (at[axis] < box->first[axis] || at[axis] > box->last[axis])
                        return false;
        return true;
}

uint64_t memory_box_accesses(const WireBox *box) {
        uint64_t n = 1;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                n *= (uint64_t) box->last[axis] - box->first[axis] + 1;
        return n;
}

/* ---- batches ---- */

int memory_batch_new(Device *device, MemoryBatch **ret) {
        MemoryBatch *batch;

        assert(device);
        assert(ret);

        batch = calloc(1, sizeof(*batch));
        if (!batch)
                return -ENOMEM;

        batch->device = device;
        memory_batch_reset(batch);
        *ret = batch;
        return 0;
}

MemoryBatch *memory_batch_free(MemoryBatch *batch) {
        if (!batch)
                return NULL;

        device_window_reset(batch->device);
        free(batch->commands);
        free(batch->completions);
        free(batch->pieces);
        free(batch->offsets);
        free(batch->data);
        free(batch);
        return NULL;
}

void memory_batch_reset(MemoryBatch *batch) {
        batch->n = 0;
        device_window_reset(batch->device);
}

size_t memory_batch_room(const MemoryBatch *batch) {
        return device_window_free(batch->device);
}

static int grow(void **array, size_t n, size_t element_bytes) {
        void *grown = reallocarray(*array, n, element_bytes);

        if (!grown)
                return -ENOMEM;
        *array = grown;
        return 0;
}

static int batch_grow(MemoryBatch *batch) {
        size_t n = batch->allocated > 0 ? 2 * batch->allocated : 64;

        if (batch->n < batch->allocated)
                return 0;

        if (grow((void **) &batch->commands, n, sizeof(WireCommand)) < 0 ||
            grow((void **) &batch->completions, n, sizeof(WireCompletion)) < 0 ||
            grow((void **) &batch->pieces, n, sizeof(void *)) < 0 ||
            grow((void **) &batch->offsets, n, sizeof(size_t)) < 0)
                return -ENOMEM;

        batch->allocated = n;
        return 0;
}

void memory_batch_confine(MemoryBatch *batch, const MemoryGeometry *geometry) {
        batch->confined = true;
        batch->geometry = *geometry;
}

/* From coordinates of the geometry to those of the part. -ERANGE: not in it. */
static int shift_box(const MemoryGeometry *geometry, WireBox *box) {
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                if (box->first[axis] > box->last[axis] || box->last[axis] >= geometry->size[axis])
                        return -ERANGE;
                box->first[axis] = (uint16_t) (box->first[axis] + geometry->origin[axis]);
                box->last[axis] = (uint16_t) (box->last[axis] + geometry->origin[axis]);
        }
        return 0;
}

static bool is_whole(const MemoryGeometry *geometry) {
        return memcmp(geometry->size, geometry->whole, sizeof(geometry->size)) == 0;
}

/* Rows between the victims and the ends of the geometry: the aggressors' other neighbours must be in it too. */
static bool hammer_stays_inside(const MemoryGeometry *geometry, const WireBox *box) {
        return is_whole(geometry) ||
               (box->first[HBM_ROW] >= 2 && box->last[HBM_ROW] + 2u < geometry->size[HBM_ROW]);
}

static int confine(const MemoryBatch *batch, WireCommand *command) {
        if (!batch->confined)
                return 0;

        switch (command->type) {
        case COMMAND_HBM_MARCH:
        case COMMAND_SRAM_MARCH:
                return shift_box(&batch->geometry, &command->march.box);
        case COMMAND_HBM_COPY_IN:
        case COMMAND_HBM_COPY_OUT:
        case COMMAND_SRAM_COPY_IN:
        case COMMAND_SRAM_COPY_OUT:
                return shift_box(&batch->geometry, &command->copy.box);
        case COMMAND_HBM_HAMMER:
                if (!hammer_stays_inside(&batch->geometry, &command->hammer.box))
                        return -EPERM;
                return shift_box(&batch->geometry, &command->hammer.box);
        case COMMAND_HBM_SPARES: /* only asks */
                return shift_box(&batch->geometry, &command->repair.box);
        default:
                return is_whole(&batch->geometry) ? 0 : -EPERM;
        }
}

/* Takes the command in, with room for what goes in and comes out. */
static int batch_add(MemoryBatch *batch, WireCommand command, const void *in, size_t in_bytes,
                     size_t out_bytes) {
        size_t n_before = device_window_free(batch->device);
        void *piece = NULL;
        int r;

        r = confine(batch, &command);
        if (r < 0)
                return r;
        r = batch_grow(batch);
        if (r < 0)
                return r;

        /* Both or none: a piece cannot be given back. */
        if (in_bytes + out_bytes + 2 * WIRE_ALIGNMENT > n_before)
                return -ENOSPC;

        if (in_bytes > 0) {
                piece = device_window_take(batch->device, in_bytes);
                if (!piece)
                        return -ENOSPC;
                memcpy(piece, in, in_bytes);
                command.in_offset = device_window_offset(batch->device, piece);
                command.in_bytes = (uint32_t) in_bytes;
        }
        if (out_bytes > 0) {
                piece = device_window_take(batch->device, out_bytes);
                if (!piece)
                        return -ENOSPC;
                command.out_offset = device_window_offset(batch->device, piece);
                command.out_bytes = (uint32_t) out_bytes;
        }

        batch->commands[batch->n] = command;
        batch->pieces[batch->n] = out_bytes > 0 ? piece : NULL;
        return (int) batch->n++;
}

int memory_batch_march(MemoryBatch *batch, const MemoryPart *part, const WireMarch *march) {
        WireCommand command = { .type = (uint16_t) part->march, .unit = part->unit, .march = *march };

        command.march.array = part->array;
        return batch_add(batch, command, NULL, 0, march->mismatches_max * sizeof(WireMismatch));
}

int memory_batch_copy_in(MemoryBatch *batch, const MemoryPart *part, const WireBox *box, bool ecc, const void *data,
                         size_t n_bytes) {
        WireCommand command = {
                .type = (uint16_t) part->copy_in,
                .unit = part->unit,
                .copy = { .box = *box, .ecc = ecc, .array = part->array },
        };

        assert(n_bytes == memory_box_accesses(box) * MEMORY_ACCESS_BYTES);
        return batch_add(batch, command, data, n_bytes, 0);
}

int memory_batch_plant(MemoryBatch *batch, const MemoryPart *part, const WireBox *box, const void *data, size_t n_bytes) {
        WireCommand command = {
                .type = (uint16_t) part->copy_in,
                .unit = part->unit,
                .copy = { .box = *box, .array = part->array, .plant = 1 },
        };

        assert(n_bytes == memory_box_accesses(box) * MEMORY_ACCESS_BYTES);
        return batch_add(batch, command, data, n_bytes, 0);
}

int memory_batch_copy_out(MemoryBatch *batch, const MemoryPart *part, const WireBox *box, bool ecc) {
        WireCommand command = {
                .type = (uint16_t) part->copy_out,
                .unit = part->unit,
                .copy = { .box = *box, .ecc = ecc, .array = part->array },
        };

        return batch_add(batch, command, NULL, 0, memory_box_accesses(box) * MEMORY_ACCESS_BYTES);
}

int memory_batch_pause(MemoryBatch *batch, const MemoryPart *part, uint64_t nsec) {
        WireCommand command = { .type = (uint16_t) part->pause, .unit = part->unit, .pause = { .nsec = nsec } };

        if (part->pause == 0)
                return -EOPNOTSUPP;
        return batch_add(batch, command, NULL, 0, 0);
}

int memory_batch_hammer(MemoryBatch *batch, unsigned stack, const WireHammer *hammer) {
        WireCommand command = { .type = COMMAND_HBM_HAMMER, .unit = (uint8_t) stack, .hammer = *hammer };

        return batch_add(batch, command, NULL, 0, 0);
}

int memory_batch_read_address(MemoryBatch *batch, unsigned stack, uint64_t address) {
        WireCommand command = { .type = COMMAND_HBM_READ_ADDRESS, .unit = (uint8_t) stack,
                                .read_address = { .address = address, .accesses = 1 } };

        return batch_add(batch, command, NULL, 0, MEMORY_ACCESS_BYTES);
}

static int batch_row(MemoryBatch *batch, WireCommandType type, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        WireCommand command = { .type = (uint16_t) type, .unit = (uint8_t) stack, .repair = { .box = memory_access_box(at) } };

        return batch_add(batch, command, NULL, 0, 0);
}

int memory_batch_spares(MemoryBatch *batch, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        return batch_row(batch, COMMAND_HBM_SPARES, stack, at);
}

int memory_batch_repair(MemoryBatch *batch, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        return batch_row(batch, COMMAND_HBM_REPAIR, stack, at);
}

/* The size of one answer must be what its command can give. */
static bool answer_fits(const WireCommand *command, const WireCompletion *completion) {
        switch (command->type) {
        case COMMAND_HBM_MARCH:
        case COMMAND_SRAM_MARCH:
                return completion->out_bytes % sizeof(WireMismatch) == 0 &&
                       completion->out_bytes <= command->out_bytes;
        case COMMAND_HBM_COPY_OUT:
        case COMMAND_SRAM_COPY_OUT:
        case COMMAND_HBM_READ_ADDRESS:
                return completion->out_bytes == command->out_bytes;
        default:
                return completion->out_bytes == 0;
        }
}

static bool is_march(const WireCommand *command) {
        return command->type == COMMAND_HBM_MARCH || command->type == COMMAND_SRAM_MARCH;
}

/* Back to coordinates of the geometry; what lies before its first comes out beyond its last, where no answer may be. */
static void shift_mismatches(const MemoryGeometry *geometry, WireMismatch *mismatches, size_t n) {
        for (size_t i = 0; i < n; i++)
                for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                        mismatches[i].at[axis] = (uint16_t) (mismatches[i].at[axis] - geometry->origin[axis]);
}

static int keep_answers(MemoryBatch *batch) {
        size_t n_data = 0;
        int r;

        for (size_t i = 0; i < batch->n; i++) {
                if (!answer_fits(&batch->commands[i], &batch->completions[i]))
                        return -EPROTO;
                batch->offsets[i] = n_data;
                n_data += batch->completions[i].out_bytes;
        }

        if (n_data > batch->data_allocated) {
                r = grow((void **) &batch->data, n_data, 1);
                if (r < 0)
                        return r;
                batch->data_allocated = n_data;
        }

        for (size_t i = 0; i < batch->n; i++) {
                uint32_t bytes = batch->completions[i].out_bytes;

                if (bytes > 0)
                        memcpy(batch->data + batch->offsets[i], batch->pieces[i], bytes);
                if (batch->confined && is_march(&batch->commands[i]))
                        shift_mismatches(&batch->geometry, (WireMismatch *) (batch->data + batch->offsets[i]),
                                         bytes / sizeof(WireMismatch));
        }
        return 0;
}

static bool reads_through_ecc(const WireCommand *command) {
        switch (command->type) {
        case COMMAND_HBM_MARCH:
        case COMMAND_SRAM_MARCH:
                return command->march.ecc;
        case COMMAND_HBM_COPY_OUT:
        case COMMAND_SRAM_COPY_OUT:
                return command->copy.ecc;
        default:
                return false;
        }
}

/* What was read through ECC and met an error that it could not correct says so, and has answered all the same. */
static bool all_answered(const MemoryBatch *batch) {
        for (size_t i = 0; i < batch->n; i++) {
                uint32_t status = batch->completions[i].status;
                bool uncorrected = status == STATUS_NRT_HBM_UE || status == STATUS_NRT_REPAIRABLE_HBM_UE ||
                                status == STATUS_NRT_NC_UE;

                if (status != STATUS_NRT_SUCCESS && !(uncorrected && reads_through_ecc(&batch->commands[i])))
                        return false;
        }
        return true;
}

int memory_batch_run(MemoryBatch *batch) {
        int r;

        r = device_execute(batch->device, batch->commands, batch->n, batch->completions);
        if (r < 0 && (r != -EREMOTEIO || !all_answered(batch)))
                return r;

        return keep_answers(batch);
}

const WireCommand *memory_batch_command(const MemoryBatch *batch, int number) {
        return number >= 0 && (size_t) number < batch->n ? &batch->commands[number] : NULL;
}

MemoryAnswer memory_batch_answer(const MemoryBatch *batch, int number) {
        const WireCompletion *completion;
        MemoryAnswer answer = {};
        bool march;

        assert(number >= 0 && (size_t) number < batch->n);

        completion = &batch->completions[number];
        march = is_march(&batch->commands[number]);
        answer.device_nsec = completion->device_nsec;
        answer.status = (WireStatus) completion->status;
        if (march) {
                answer.total = completion->result[0];
                answer.accesses = completion->result[1];
                answer.n = completion->out_bytes / sizeof(WireMismatch);
                answer.mismatches = (const WireMismatch *) (batch->data + batch->offsets[number]);
        } else if (batch->commands[number].type == COMMAND_HBM_SPARES) {
                answer.spares = completion->result[0];
                answer.repair = completion->result[1];
        } else if (completion->out_bytes > 0)
                answer.data = batch->data + batch->offsets[number];
        return answer;
}
