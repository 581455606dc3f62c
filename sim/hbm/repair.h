/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What repair of a stack is made of (sim/hbm/repair.c): commands, the reset, attributes, the kind `repair-fails`. */

#include "sim/hbm/hbm.h"

int hbm_repair(void *state, Execution *execution); /* COMMAND_HBM_REPAIR */
int hbm_spares(void *state, Execution *execution); /* COMMAND_HBM_SPARES */

/* Remaps what is pending. SEED: of what fresh rows hold. */
void hbm_repair_reset(Hbm *hbm, uint64_t seed);

/* Whether FAULT sat in a row, and in no other, that a spare has replaced since. */
bool hbm_repair_has_replaced(void *state, const Fault *fault);

int hbm_repair_inject(Hbm *hbm, const Fault *fault); /* -EINVAL, -ENOMEM */
void hbm_repair_heal(Hbm *hbm, const Fault *fault);

/* "spare rows of a bank, remapped, pending, failed": of all stacks of the chip. */
int hbm_repair_read_spares(void *state, Chip *chip, unsigned index, char *text, size_t size);
/* The firmware's word: 2 bits for each stack, 0 none, 1 pending, 2 failed. */
int hbm_repair_read_word(void *state, Chip *chip, unsigned index, char *text, size_t size);
