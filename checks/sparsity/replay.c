/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/replay.h"

#include <string.h>

#include "checks/sparsity/bank.h"
#include "checks/sparsity/control.h"

#define AGAIN 4u /* times that a column is wrong in one bank, and in as many rounds of each other not: (1/8)^4 for what is the same in all */

typedef struct Replay {
        Engine *engine;
        unsigned core;
        uint8_t n_wrong[PSUM_BANKS][PE_COLUMNS]; /* by the bank that a load has of its own: rounds */
        bool *again;
} Replay;

/* BANK: as of bank.h. Sets *wrong of columns that differ from GOLDEN. */
static int run_job(Replay *replay, const EngineJob *job, const uint32_t *golden, bool wrong[static PE_COLUMNS]) {
        unsigned unsupported = 0, moving = job->matmul.moving;
        int r;

        r = engine_run(replay->engine, job, 1u << replay->core, &unsupported);
        for (unsigned column = 0; r >= 0 && !unsupported && column < PE_COLUMNS; column++)
                if (memcmp(replay->engine->out[replay->core] + (size_t) column * moving, golden + (size_t) column * moving,
                           moving * sizeof(uint32_t)) != 0)
                        wrong[column] = true;
        return r < 0 ? r : 0;
}

static int run_round(Replay *replay, unsigned bank, bool all_paths, bool wrong[static PSUM_BANKS][PE_COLUMNS]) {
        memset(wrong, false, PSUM_BANKS * sizeof(wrong[0]));
        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                const SparseLoad *load;
                EngineJob job;
                int r;

                if (!all_paths && !sparse_load_is_for_bits(i))
                        continue;
                load = sparse_load_at(i);
                job = load_job(load, bank);
                r = run_job(replay, &job, load->golden, wrong[bank_of(BANK_ANY, load)]);
                if (r >= 0 && load->then_dense) {
                        job = dense_job(bank);
                        r = run_job(replay, &job, dense_probe()->golden, wrong[bank_of(BANK_ANY, NULL)]);
                }
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether something was wrong, and all that was often enough. */
static bool is_settled(const Replay *replay) {
        bool any = false;

        for (unsigned bank = 0; bank < PSUM_BANKS; bank++)
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        any = any || replay->n_wrong[bank][column] > 0;
                        if (replay->n_wrong[bank][column] > 0 && replay->n_wrong[bank][column] < AGAIN)
                                return false;
                }
        return any;
}

/* Banks of which a column was wrong often enough. */
static unsigned banks_left(const Replay *replay) {
        unsigned banks = 0;

        for (unsigned bank = 0; bank < PSUM_BANKS; bank++)
                for (unsigned column = 0; column < PE_COLUMNS; column++)
                        banks |= (unsigned) (replay->n_wrong[bank][column] >= AGAIN) << bank;
        return banks;
}

static int find_banks(Replay *replay, bool all_paths, unsigned *ret) {
        bool wrong[PSUM_BANKS][PE_COLUMNS];
        unsigned rounds = 0;
        int r;

        memset(replay->n_wrong, 0, sizeof(replay->n_wrong));
        for (; rounds < REPLAY_ROUNDS && !is_settled(replay); rounds++) {
                r = run_round(replay, BANK_ANY, all_paths, wrong);
                if (r < 0)
                        return r;
                for (unsigned bank = 0; bank < PSUM_BANKS; bank++)
                        for (unsigned column = 0; column < PE_COLUMNS; column++)
                                if (wrong[bank][column]) {
                                        replay->again[column] = true;
                                        replay->n_wrong[bank][column]++;
                                }
        }

        for (unsigned i = 0; i < rounds * (PSUM_BANKS - 1) && banks_left(replay); i++) {
                r = run_round(replay, BANK_ANY + 1 + i % (PSUM_BANKS - 1), all_paths, wrong);
                if (r < 0)
                        return r;
                for (unsigned bank = 0; bank < PSUM_BANKS; bank++)
                        for (unsigned column = 0; column < PE_COLUMNS; column++)
                                if (wrong[bank][column])
                                        replay->n_wrong[bank][column] = 0;
        }

        *ret |= banks_left(replay);
        return 0;
}

int replay_find_banks(Engine *engine, unsigned core, bool all_paths, bool again[static PE_COLUMNS], unsigned *ret) {
        Replay replay = { .engine = engine, .core = core, .again = again };
        int r = 0;

        *ret = 0;
        if (!all_paths)
                r = find_banks(&replay, false, ret);
        return r < 0 ? r : find_banks(&replay, true, ret);
}
