/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hbm
 *
 * An HBM stack after JESD238: channels, pseudo-channels, stack IDs, bank groups, banks, rows of 32 accesses of 32 bytes;
 * 24 GiB, read and written at 725 GB/s. Marches and copies are those of any memory (sim/memory/); here are what
 * else a stack does, its attributes, and its life; on-die ECC stands in ecc.c, repair in repair.c.
 *
 * A command with ECC on that meets an uncorrectable error ends with STATUS_NRT_HBM_UE, or STATUS_NRT_REPAIRABLE_HBM_UE where a
 * spare row is left for each; its results are there all the same.
 */

#include "sim/hbm/hbm.h"
#include "sim/hbm/live.h"
#include "sim/hbm/part.h"
#include "sim/hbm/repair.h"
#include "sim/hbm/trespass.h"
#include "sim/hbm/under-test.h"
#include "sim/memory/cells/faults.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"

/*
 * The content of a stack when a scenario begins: own-address data, as a scan of all of it leaves (of a seed whose lower half is
 * zero). A chip in service has been tested before its job came, and only rows that tell whose they are can be tested beside it.
 */
static uint64_t power_up_seed(const Chip *chip, unsigned index) {
        uint64_t place = chip_index(chip) * STACKS + index;

        return memory_splitmix64(chip_seed(chip) ^ memory_splitmix64(0x68626d00u + place)) & ~(uint64_t) UINT32_MAX;
}

static const MemoryRules rules = {
        .bytes_per_nsec = HBM_BYTES_PER_NSEC,
        .decode         = hbm_decode,
        .box_of         = hbm_box_of,
        .corrected      = COUNTER_MEM_ECC_CORRECTED,
        .uncorrected    = COUNTER_MEM_ECC_UNCORRECTED,
        .uncorrected_status = STATUS_NRT_HBM_UE,
        .repairs        = true,
        .repairable     = COUNTER_MEM_ECC_REPAIRABLE_UNCORRECTED,
        .repairable_status = STATUS_NRT_REPAIRABLE_HBM_UE,
};

static int lay_marks(Memory *memory) {
        const MemoryShape *shape = &memory->shape;
        int r;

        r = memory_content_reserve(&memory->content, 2);
        for (unsigned data = 0; r >= 0 && data < 2 && shape->size[HBM_COLUMN] > 2; data++) {
                MemoryPattern pattern = { .background = MEMORY_BACKGROUND_SOLID, .data = (uint8_t) data };
                WireBox box = memory_box_whole(shape);
                MemorySlice column;

                box.first[HBM_COLUMN] = box.last[HBM_COLUMN] = (uint16_t) (shape->size[HBM_COLUMN] - 2u + data);
                column = memory_slice_of(&box);
                memory_content_write(&memory->content, &column, &pattern);
        }
        return r;
}

static int hbm_power_up(Hbm *hbm, Chip *chip, unsigned index, const char *geometry) {
        MemoryShape *shape = &hbm->memory.shape;
        int r;

        r = memory_init(&hbm->memory, &rules, chip, index, geometry, power_up_seed(chip, index));
        if (r >= 0)
                r = lay_marks(&hbm->memory);
        if (r < 0)
                return r;

        hbm->under_test.n = 0;
        hbm->memory.watch = (MemoryWatch) { hbm_trespass_flip, hbm };
        hbm_map_init(&hbm->map, shape);
        shape->subarray_rows = MIN(shape->size[HBM_ROW], hbm_parts[chip_hbm_part(chip)].subarray_rows);
        return 0;
}

static int hbm_init(void *state, Chip *chip, unsigned index) {
        return hbm_power_up(state, chip, index, hbm_parts[chip_hbm_part(chip)].geometry);
}

static void hbm_done(void *state) {
        Hbm *hbm = state;

        memory_done(&hbm->memory);
        hbm_disturb_done(hbm);
        free(hbm->repairs);
        hbm->repairs = NULL;
        hbm->n_repairs = hbm->repairs_allocated = 0;
        free(hbm->failing);
        hbm->failing = NULL;
        hbm->n_failing = hbm->failing_allocated = 0;
}

int hbm_reshape(Hbm *hbm, const char *geometry) {
        Memory *memory = &hbm->memory;
        MemoryShape shape;

        if (!memory_is_sound(memory) || hbm->map_fault || hbm->disturb.n_victims > 0)
                return -EBUSY;
        if (memory_shape_parse(geometry, &shape) < 0)
                return -EINVAL;

        hbm_done(hbm);
        return hbm_power_up(hbm, memory->chip, memory->index, geometry);
}

static void hbm_reset(void *state) {
        Hbm *hbm = state;

        hbm_repair_reset(hbm, power_up_seed(hbm->memory.chip, hbm->memory.index));
}

static int read_geometry(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        Hbm *hbm = state;
        char buffer[MEMORY_SHAPE_TEXT_MAX];

        (void) snprintf(text, size, "%s", memory_shape_format(&hbm->memory.shape, buffer));
        return 0;
}

static int read_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%s", hbm_parts[chip_hbm_part(chip)].text);
        return 0;
}

static int read_subarray(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%u", ((Hbm *) state)->memory.shape.subarray_rows);
        return 0;
}

static const Attribute attributes[] = {
        { "assay/hbm/geometry", read_geometry, NULL },
        { "assay/hbm/part", read_part, NULL },
        { "assay/hbm/spares", hbm_repair_read_spares, NULL },
        { "mailbox/hbm_repair", hbm_repair_read_word, NULL },
        { "assay/hbm/subarray", read_subarray, NULL },
        { "assay/hbm/map", hbm_read_map, NULL },
        { "assay/hbm/in-use", hbm_live_read, NULL },
        { "assay/hbm/under-test", hbm_under_test_read, hbm_under_test_write },
        { "assay/hbm/trespasses", hbm_live_read_trespasses, NULL },
        {},
};

static bool march_writes(const WireMarch *march) {
        for (unsigned i = 0; i < march->n_ops && i < MARCH_OPS_MAX; i++)
                if (march->ops[i] & MARCH_WRITE)
                        return true;
        return false;
}

/* Which cells were written depends on the faults that acted in the command. */
static int note_write(Hbm *hbm, const Execution *execution, const WireBox *box) {
        return execution->completion->status == STATUS_NRT_INVALID ? 0 : hbm_trespass_write(hbm, box);
}

static int hbm_march(void *state, Execution *execution) {
        const WireMarch *march = &execution->command->march;
        Hbm *hbm = state;
        int r;

        r = hbm_disturb_before(hbm, execution);
        if (r >= 0)
                r = memory_march(&hbm->memory, execution);
        return r < 0 || !march_writes(march) ? r : note_write(hbm, execution, &march->box);
}

static int hbm_copy_in(void *state, Execution *execution) {
        Hbm *hbm = state;
        int r;

        r = hbm_disturb_before(hbm, execution);
        if (r >= 0)
                r = memory_copy_in(&hbm->memory, execution);
        return r < 0 ? r : note_write(hbm, execution, &execution->command->copy.box);
}

int hbm_copy_out(void *state, Execution *execution) {
        int r = hbm_disturb_before(state, execution);

        return r < 0 ? r : memory_copy_out(&((Hbm *) state)->memory, execution);
}

const Model model_hbm = {
        .name       = "hbm",
        .part       = LOCATION_HBM,
        .state_size = sizeof(Hbm),
        .init       = hbm_init,
        .done       = hbm_done,
        .commands   = {
                [COMMAND_HBM_MARCH]        = hbm_march,
                [COMMAND_HBM_COPY_IN]      = hbm_copy_in,
                [COMMAND_HBM_COPY_OUT]     = hbm_copy_out,
                [COMMAND_HBM_PAUSE]        = hbm_pause,
                [COMMAND_HBM_HAMMER]       = hbm_hammer,
                [COMMAND_HBM_REPAIR]       = hbm_repair,
                [COMMAND_HBM_READ_ADDRESS] = hbm_read_address,
                [COMMAND_HBM_SPARES]       = hbm_spares,
        },
        .attributes = attributes,
        .faults     = (const FaultKind *const[]) { memory_fault_kinds, hbm_fault_kinds, hbm_disturb_kinds, hbm_address_kinds, NULL },
        .inject     = hbm_inject,
        .heal       = hbm_heal,
        .reset      = hbm_reset,
        .has_replaced = hbm_repair_has_replaced,
};
