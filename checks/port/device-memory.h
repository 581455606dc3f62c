/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands of a chip's memories (see wire.h), gathered into batches. A batch owns no window: it takes all of the device's
 * for the time of one run, and copies what came back before anybody judges it.
 */

#include <stdbool.h>

#include "checks/port/device.h"

/* One memory of a chip, and how it is asked. */
typedef struct MemoryPart {
        WireCommandType march, copy_in, copy_out;
        WireCommandType pause; /* 0: it cannot */
        uint8_t unit;  /* the stack or core */
        uint8_t array; /* WireArray of a core, else 0 */
} MemoryPart;

MemoryPart memory_part_stack(unsigned stack);
MemoryPart memory_part_array(unsigned core, WireArray array);

/*
 * A whole part, or a box of one that is treated as a part of its own: coordinates count from its first access on, and a
 * batch that was confined to it reaches nothing else.
 */
typedef struct MemoryGeometry {
        uint16_t size[_MEMORY_AXIS_MAX];
        uint32_t accesses;                 /* of one part */
        uint16_t origin[_MEMORY_AXIS_MAX]; /* in the whole part */
        uint16_t whole[_MEMORY_AXIS_MAX];  /* size of that */
} MemoryGeometry;

/* What the chip says; -EPROTO where that is no geometry, -ENOENT where it says nothing. */
int device_hbm_geometry(Device *device, unsigned chip, MemoryGeometry *ret);
int memory_geometry_parse(const char *text, MemoryGeometry *ret); /* -EINVAL */

/* BOX of GEOMETRY, which is a whole part. */
MemoryGeometry memory_geometry_narrow(const MemoryGeometry *geometry, const WireBox *box);
/* The coordinate on the whole part's AXIS, and the linear index there: for addresses, and data that tell them apart. */
unsigned memory_geometry_absolute(const MemoryGeometry *geometry, MemoryAxis axis, const uint16_t at[static _MEMORY_AXIS_MAX]);
uint32_t memory_geometry_place(const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX]);

WireBox memory_geometry_box(const MemoryGeometry *geometry); /* a whole part */
WireBox memory_access_box(const uint16_t at[static _MEMORY_AXIS_MAX]);
/* Accesses count in the order of MemoryAxis, column fastest. */
uint32_t memory_geometry_linear(const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX]);
void memory_geometry_at(const MemoryGeometry *geometry, uint32_t linear, uint16_t ret[static _MEMORY_AXIS_MAX]);
bool memory_geometry_has(const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX]);
bool memory_box_includes(const WireBox *box, const uint16_t at[static _MEMORY_AXIS_MAX]);
uint64_t memory_box_accesses(const WireBox *box);

typedef struct MemoryAnswer {
        const WireMismatch *mismatches; /* march: the first, n of them; valid until the next run or reset */
        size_t n;
        uint64_t total;                 /* march: mismatches in all, as the device says */
        uint64_t accesses;              /* march: as the device says */
        const uint8_t *data;            /* copy out: as many bytes as were asked for */
        uint64_t device_nsec;
        WireStatus status;              /* STATUS_NRT_SUCCESS, or how ECC fared */
        uint64_t spares;                /* spares: rows that the bank has left, as the device says */
        uint64_t repair;                /* spares: WireRepairState of the row, as the device says */
} MemoryAnswer;

typedef struct MemoryBatch MemoryBatch;

int memory_batch_new(Device *device, MemoryBatch **ret);
MemoryBatch *memory_batch_free(MemoryBatch *batch);
DEFINE_CLEANUP(MemoryBatch *, memory_batch_free);

/*
 * From now on boxes and answers of the batch are in GEOMETRY. What does not lie in it is -ERANGE when it is added; and where
 * it is not the whole part, what reaches beyond it is -EPERM: a pause without refresh, a hammer within two rows of its ends.
 */
void memory_batch_confine(MemoryBatch *batch, const MemoryGeometry *geometry);

/* Forgets commands and answers. */
void memory_batch_reset(MemoryBatch *batch);
/* Bytes of the window that are left for data of further commands. */
size_t memory_batch_room(const MemoryBatch *batch);

/*
 * Add a command and return its number in the batch. -ENOSPC: no room in the window; run what there is and add it to the
 * next.
 */
int memory_batch_march(MemoryBatch *batch, const MemoryPart *part, const WireMarch *march);
/* ECC: through the memory's own correction; else raw. */
int memory_batch_copy_in(MemoryBatch *batch, const MemoryPart *part, const WireBox *box, bool ecc, const void *data,
                         size_t n_bytes);
/* The same, but the check bits stay what they were: errors that the memory's correction must find. */
int memory_batch_plant(MemoryBatch *batch, const MemoryPart *part, const WireBox *box, const void *data, size_t n_bytes);
int memory_batch_copy_out(MemoryBatch *batch, const MemoryPart *part, const WireBox *box, bool ecc);
int memory_batch_pause(MemoryBatch *batch, const MemoryPart *part, uint64_t nsec); /* -EOPNOTSUPP */
/* Of HBM stacks alone. */
int memory_batch_hammer(MemoryBatch *batch, unsigned stack, const WireHammer *hammer);
/* One access by its device physical address, raw. */
int memory_batch_read_address(MemoryBatch *batch, unsigned stack, uint64_t address);

/* Of the row of AT: MemoryAnswer.spares and .repair. */
int memory_batch_spares(MemoryBatch *batch, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]);
/* Asks for it to be remapped at the next reset; its data will be gone. STATUS_NRT_RESOURCE: no spare row is left. */
int memory_batch_repair(MemoryBatch *batch, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]);

/* The errors of device_execute(). What was read through ECC may say that it met errors (…_UE): an answer, and none of them. */
int memory_batch_run(MemoryBatch *batch);
MemoryAnswer memory_batch_answer(const MemoryBatch *batch, int number);
/* As it was sent; NULL past the last. */
const WireCommand *memory_batch_command(const MemoryBatch *batch, int number);
