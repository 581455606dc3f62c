/* SPDX-License-Identifier: Apache-2.0 */

/* Cores that selected wrongly are asked again, and more, before anything is told of them. */

#include <string.h>

#include "checks/sparsity/replay.h"
#include "checks/sparsity/work.h"

#define FOLLOW_ROUNDS 6u /* of all loads, on a core that selected wrongly in the small set */
#define ONCE_COLUMNS  4u /* that cells of PSUM may have spoilt: what is wrong in more is none of theirs */
#define FOLLOW_ALIKE  3u /* that are wrong in the same loads: what is always there needs no more */

/* Where PSUM spoils what is kept in one bank and not in another, as in those of AVOIDED, nothing counts that came before but which modes were refused. */
static int choose_bank(Sparsity *sparsity, unsigned index, unsigned avoided) {
        Core *core = &sparsity->cores[index];
        unsigned bank, refused = core->record.refused;
        int r;

        r = bank_choose(&sparsity->engine, index, avoided, &bank);
        if (r < 0 || bank == BANK_ANY)
                return r;

        (void) record_done(&core->record);
        *core = (Core){ .record.refused = refused, .bank = bank, .has_cells = avoided != 0 };
        return 0;
}

/* Each of the last rounds was wrong where the others were, and somewhere. */
static bool rounds_are_alike(const Record *record, size_t n_steps) {
        bool any = false;

        if (record->n_steps < FOLLOW_ALIKE * n_steps)
                return false;

        for (size_t i = record->n_steps - (FOLLOW_ALIKE - 1) * n_steps; i < record->n_steps; i++) {
                if (!record->steps[i].known || !record->steps[i].out != !record->steps[i - n_steps].out)
                        return false;
                any = any || record->steps[i].out;
        }

        return any;
}

/* All loads on cores of MASK, until each of them has shown whether it is always wrong. */
static int follow_loads(Sparsity *sparsity, unsigned mask, unsigned bank) {
        bool all_alike = mask == 0;

        for (unsigned round = 0; round < FOLLOW_ROUNDS && !all_alike; round++) {
                size_t before[CORES];
                int r;

                for (unsigned core = 0; core < CORES; core++)
                        before[core] = sparsity->cores[core].record.n_steps;
                r = sparsity_run_loads(sparsity, mask, bank, true);
                if (r < 0)
                        return r;

                all_alike = round + 1 >= FOLLOW_ALIKE;
                for (unsigned core = 0; core < CORES; core++) {
                        const Record *record = &sparsity->cores[core].record;

                        if (mask >> core & 1 && !rounds_are_alike(record, record->n_steps - before[core]))
                                all_alike = false;
                }
        }

        return 0;
}

static int follow_banks(Sparsity *sparsity, const unsigned masks[static BANK_ANY + 1]) {
        int r = 0;

        for (unsigned bank = 0; bank <= BANK_ANY && r >= 0; bank++) {
                r = follow_loads(sparsity, masks[bank], bank);
                if (r >= 0 && bank != BANK_ANY && masks[bank] != 0 && sparsity->all_paths)
                        r = sparsity_run_tiles(sparsity, masks[bank], bank);
        }

        return r;
}

/* Marks the few columns of CORE that were wrong and are so no more; where there are many it is no cell of PSUM. */
static void mark_once(Core *core, const bool again[static PE_COLUMNS]) {
        unsigned n = 0;

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (size_t i = 0; i < core->record.n_steps && !core->once[column]; i++)
                        core->once[column] = !again[column] && core->record.steps[i].out && record_column_is_wrong(&core->record.steps[i], column);
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                n += core->once[column];
        if (n > ONCE_COLUMNS)
                memset(core->once, false, sizeof(core->once));
}

/* A cell that gives way to what is written to another one shows itself in the loads alone, as something of a selector in some of them. */
static int leave_cells(Sparsity *sparsity) {
        unsigned masks[BANK_ANY + 1] = {}, banks;

        for (unsigned i = 0; i < CORES; i++) {
                Core *core = &sparsity->cores[i];
                bool again[PE_COLUMNS] = {};
                int r;

                if (!core->wrong || core->bank != BANK_ANY)
                        continue;
                r = replay_find_banks(&sparsity->engine, i, sparsity->all_paths, again, &banks);
                if (r >= 0)
                        mark_once(core, again);
                if (r >= 0 && banks != 0)
                        r = choose_bank(sparsity, i, banks);
                if (r < 0)
                        return r;
                if (core->bank != BANK_ANY)
                        masks[core->bank] |= 1u << i;
        }

        return follow_banks(sparsity, masks);
}

int sparsity_follow(Sparsity *sparsity) {
        unsigned masks[BANK_ANY + 1] = {};
        int r = 0;

        for (unsigned i = 0; i < CORES && r >= 0; i++) {
                Core *core = &sparsity->cores[i];

                if (!core_is_suspect(core))
                        continue;
                r = choose_bank(sparsity, i, 0);
                if (core->bank != BANK_ANY || (core->wrong && (!sparsity->all_paths || sparsity->rounds < FOLLOW_ALIKE)))
                        masks[core->bank] |= 1u << i;
        }

        if (r >= 0)
                r = follow_banks(sparsity, masks);
        return r < 0 ? r : leave_cells(sparsity);
}
