/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Repair of a stack: a row that was asked for is remapped at the next reset. Every bank has a few spare rows and the stack
 * a limit over all; what is asked for takes one, whether it works or not. The spare lies beside the row that it replaces: it has
 * other cells and another wordline, but the same bit lines, columns and bank. What sat in the old row is gone with it, the
 * new one holds what it powered up with, and may fail and be repaired again.
 *
 * Where `repair-fails` sits, a spare is used up and the row stays as it is. The firmware's mailbox says for each stack whether
 * repairs are pending (1) or one has failed (2).
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/hbm/live.h"
#include "sim/hbm/repair.h"
#include "sim/memory/cells/faults.h"
#include "sim/memory/structures/grow.h"

static bool one_row(const Hbm *hbm, const WireBox *box) {
        for (unsigned axis = 0; axis <= HBM_ROW; axis++)
                if (box->first[axis] != box->last[axis])
                        return false;
        return memory_box_is_valid(&hbm->memory.shape, box);
}

static bool same_place(const WireBox *a, const WireBox *b, MemoryAxis last) {
        return memcmp(a->first, b->first, (size_t) (last + 1) * sizeof(a->first[0])) == 0;
}

static unsigned spares_left(const Hbm *hbm, const WireBox *row) {
        size_t used = 0, of_stack = HBM_REPAIRS_MAX - hbm->n_repairs;

        for (size_t i = 0; i < hbm->n_repairs; i++)
                used += same_place(&hbm->repairs[i].box, row, HBM_BANK);
        if (used >= HBM_SPARES_PER_BANK)
                return 0;
        return (unsigned) (HBM_SPARES_PER_BANK - used < of_stack ? HBM_SPARES_PER_BANK - used : of_stack);
}

/* The newest of the row; NULL where nobody has asked for it. */
static const HbmRepair *find_repair(const Hbm *hbm, const WireBox *row) {
        for (size_t i = hbm->n_repairs; i-- > 0;)
                if (same_place(&hbm->repairs[i].box, row, HBM_ROW))
                        return &hbm->repairs[i];
        return NULL;
}

/* Errors of a bank without spare rows, or of a stack that has used up all, are no longer repairable. */
static int mark_spent(Hbm *hbm, const WireBox *row) {
        const MemoryShape *shape = &hbm->memory.shape;
        MemoryLine line = { .box = memory_box_whole(shape), .effects.spent = true };
        int r;

        memcpy(line.tile, shape->size, sizeof(line.tile));
        for (unsigned axis = 0; axis <= HBM_BANK && hbm->n_repairs < HBM_REPAIRS_MAX; axis++) {
                line.box.first[axis] = line.box.last[axis] = row->first[axis];
                line.tile[axis] = 1;
        }

        line.linear = memory_shape_linear(shape, line.box.first);
        r = memory_units_add_line(&hbm->memory.units, &line);
        return r == -EEXIST ? 0 : r;
}

int hbm_repair(void *state, Execution *execution) {
        Hbm *hbm = state;
        WireBox box = execution->command->repair.box;
        const HbmRepair *before;
        int r;

        execution->completion->status = STATUS_NRT_INVALID;
        if (!one_row(hbm, &box))
                return 0;
        hbm_live_touch(hbm, &box); /* a spare row does not hold what the old one did */
        box.first[HBM_COLUMN] = 0;
        box.last[HBM_COLUMN] = (uint16_t) (hbm->memory.shape.size[HBM_COLUMN] - 1);

        execution->completion->status = STATUS_NRT_SUCCESS;
        before = find_repair(hbm, &box);
        if (before && before->state == REPAIR_PENDING)
                return 0;
        if (spares_left(hbm, &box) == 0) {
                execution->completion->status = STATUS_NRT_RESOURCE;
                return 0;
        }

        r = MEMORY_GROW(hbm, repairs, hbm->n_repairs + 1);
        if (r < 0)
                return r;
        hbm->repairs[hbm->n_repairs++] = (HbmRepair) { .box = box, .state = REPAIR_PENDING };
        if (spares_left(hbm, &box) > 0)
                return 0;

        r = mark_spent(hbm, &box);
        if (r < 0)
                hbm->n_repairs--;
        return r;
}

int hbm_spares(void *state, Execution *execution) {
        const Hbm *hbm = state;
        const WireBox *row = &execution->command->repair.box;
        const HbmRepair *repair;

        if (!one_row(hbm, row)) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        repair = find_repair(hbm, row);
        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->result[0] = spares_left(hbm, row);
        execution->completion->result[1] = repair ? repair->state : REPAIR_NONE;
        return 0;
}

/* ---- at the reset ---- */

static bool repair_fails(const Hbm *hbm, const WireBox *row) {
        for (size_t i = 0; i < hbm->n_failing; i++) {
                WireBox box;

                if (hbm_box_of(&hbm->memory.shape, &hbm->failing[i]->at, &box) >= 0 && memory_box_contains(&box, row))
                        return true;
        }
        return false;
}

void hbm_repair_reset(Hbm *hbm, uint64_t seed) {
        MemoryContent *content = &hbm->memory.content;

        for (size_t i = 0; i < hbm->n_repairs; i++) {
                HbmRepair *repair = &hbm->repairs[i];
                MemorySlice row = memory_slice_of(&repair->box);
                MemoryPattern fresh = { .background = MEMORY_PATTERN_POWER_UP, .seed = seed ^ (i + 1) << 40 };

                if (repair->state != REPAIR_PENDING || memory_content_reserve(content, 1) < 0)
                        continue;
                repair->state = repair_fails(hbm, &repair->box) ? REPAIR_FAILED : REPAIR_DONE;
                if (repair->state == REPAIR_FAILED)
                        continue;
                if (memory_past_write(&hbm->memory, &row, &fresh) < 0) {
                        repair->state = REPAIR_PENDING;
                        continue;
                }
                repair->newest_fault = chip_newest_fault(hbm->memory.chip);
                memory_faults_leave(&hbm->memory, &repair->box);
                hbm_disturb_leave(hbm, &repair->box);
                memory_content_write(content, &row, &fresh);
        }
}

bool hbm_repair_has_replaced(void *state, const Fault *fault) {
        const Hbm *hbm = state;
        WireBox box;

        if (hbm_box_of(&hbm->memory.shape, &fault->at, &box) < 0)
                return false;
        for (size_t i = 0; i < hbm->n_repairs; i++)
                if (hbm->repairs[i].state == REPAIR_DONE && fault->id <= hbm->repairs[i].newest_fault && memory_box_contains(&hbm->repairs[i].box, &box))
                        return true;
        return false;
}

int hbm_repair_inject(Hbm *hbm, const Fault *fault) {
        WireBox box;
        int r;

        r = hbm_box_of(&hbm->memory.shape, &fault->at, &box);
        if (r < 0)
                return r;
        r = MEMORY_GROW(hbm, failing, hbm->n_failing + 1);
        if (r < 0)
                return r;

        hbm->failing[hbm->n_failing++] = fault;
        return 0;
}

void hbm_repair_heal(Hbm *hbm, const Fault *fault) {
        size_t n = 0;

        for (size_t i = 0; i < hbm->n_failing; i++)
                if (hbm->failing[i] != fault)
                        hbm->failing[n++] = hbm->failing[i];
        hbm->n_failing = n;
}

/* ---- what is said of it ---- */

static void count_states(const Hbm *hbm, unsigned counts[static _REPAIR_STATE_MAX]) {
        for (size_t i = 0; hbm && i < hbm->n_repairs; i++)
                counts[hbm->repairs[i].state]++;
}

int hbm_repair_read_spares(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        unsigned counts[_REPAIR_STATE_MAX] = {};

        for (unsigned stack = 0; stack < STACKS; stack++)
                count_states(chip_part(chip, &model_hbm, stack), counts);

        (void) snprintf(text, size, "%u %u %u %u", HBM_SPARES_PER_BANK, counts[REPAIR_DONE], counts[REPAIR_PENDING],
                        counts[REPAIR_FAILED]);
        return 0;
}

/* Two bits for each stack: what failed before what is pending. */
int hbm_repair_read_word(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        unsigned word = 0;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                unsigned counts[_REPAIR_STATE_MAX] = {};

                count_states(chip_part(chip, &model_hbm, stack), counts);
                word |= (counts[REPAIR_FAILED] > 0 ? 2u : counts[REPAIR_PENDING] > 0 ? 1u : 0u) << (2 * stack);
        }

        (void) snprintf(text, size, "0x%08x", word);
        return 0;
}
