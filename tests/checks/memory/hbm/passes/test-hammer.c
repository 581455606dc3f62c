/* SPDX-License-Identifier: Apache-2.0 */

/* Aims of any size, and every activation counted: a device that does nothing but note what it is asked. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/memory/hbm/passes/hammer.h"

#define ROWS_MAX 256

typedef struct Noted {
        _Alignas(64) uint8_t window[WIRE_WINDOW_MIN];
        unsigned size;
        unsigned opened[ROWS_MAX]; /* activations, in units of those of one turn */
        bool reached[ROWS_MAX];         /* opened, or within two rows of one that was */
        unsigned n_commands;
} Noted;

/* As wire.h says of COMMAND_HBM_HAMMER. */
static void hammer(Noted *noted, const WireHammer *hammer) {
        for (unsigned v = hammer->box.first[HBM_ROW]; v <= hammer->box.last[HBM_ROW]; v += hammer->step)
                for (int side = -1; side <= 1; side += 2) {
                        int row = (int) v + side;

                        if (row < 0 || row >= (int) noted->size)
                                continue;
                        noted->opened[row]++;
                        for (int near = row - 2; near <= row + 2; near++)
                                if (near >= 0 && near < (int) noted->size)
                                        noted->reached[near] = true;
                }

        noted->n_commands++;
}

static int execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        memset(completions, 0, n * sizeof(*completions));
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(commands[i].type, COMMAND_HBM_HAMMER);
                assert_true(commands[i].hammer.box.last[HBM_ROW] < ((Noted *) userdata)->size);
                if (commands[i].unit == 0)
                        hammer(userdata, &commands[i].hammer);
        }
        return 0;
}

static void noted_close(void *userdata) {
}

static const DeviceTransport transport = { execute, noted_close };

static void try(unsigned size, unsigned first, unsigned last, uint64_t rows, uint64_t activations) {
        static Noted noted;

        noted = (Noted) { .size = size };
        for (unsigned parity = 0; parity < 2; parity++) {
                HbmPass pass = { .parity = parity, .activations = activations };
                WireBox box = { .first[HBM_ROW] = (uint16_t) first, .last[HBM_ROW] = (uint16_t) last };
                Device *device;
                MemoryBatch *batch;
                unsigned n = 0;

                memset(noted.opened, 0, sizeof(noted.opened));
                hbm_hammer_aim(&pass, &box, size, rows, 7 * size + first + last);
                assert_int_equal(device_new(&transport, &noted, "s", 0, noted.window, sizeof(noted.window), &device), 0);
                assert_int_equal(memory_batch_new(device, &batch), 0);
                assert_int_equal(hbm_hammer_sweep(&pass, batch), 0);
                memory_batch_free(batch);
                device_free(device);

                for (unsigned row = pass.victims.first[HBM_ROW]; row <= pass.victims.last[HBM_ROW]; row += 2, n++) {
                        unsigned below = row > 0 ? noted.opened[row - 1] : 1, above = row + 1 < size ? noted.opened[row + 1] : 1;

                        if (below != 1 || above != 1 || noted.opened[row] != 0 || (row & 1) != parity)
                                fail_msg("size %u, box %u-%u, rows %u, parity %u: row %u of victims %u-%u: %u, %u", size, first,
                                         last, (unsigned) rows, parity, row, pass.victims.first[HBM_ROW],
                                         pass.victims.last[HBM_ROW], below, above);
                }
                assert_int_equal(n, hbm_hammer_rows(&pass));
                if (rows == 0 && first == 0 && last + 1 == size && size % 2 == 0)
                        assert_int_equal(n, size / 2);
                if (rows == 0 && first == 0 && last + 1 == size && size % 2 == 1 && size > 3)
                        assert_true(n + 1 >= (size + 1 - parity) / 2);
                for (unsigned row = 0; row < size; row++)
                        assert_true(noted.opened[row] <= 1);
        }

        /* Live data beside the box are left alone. */
        for (unsigned row = 0; row < size; row++)
                assert_true(!noted.reached[row] || (row >= first && row <= last));
}

static void every_victim_has_two_aggressors_and_no_more(void **state) {
        for (unsigned size = 1; size < 36; size++) {
                for (unsigned first = 0; first < size; first++)
                        for (unsigned last = first; last < size; last++)
                                for (uint64_t rows = 0; rows < 20; rows += 1 + rows / 3)
                                        try(size, first, last, rows, 12000);
        }
        try(256, 0, 255, 0, 12000);
        try(256, 64, 127, 0, 12000);
}

/* Commands are short, and at their seams rows still have both. */
static void long_sweeps_are_cut_without_a_gap(void **state) {
        try(256, 0, 255, 0, 1000000);
        try(255, 0, 254, 0, 400000);
}

/* By hand: 4096 turns of 2 × 6000 activations, of 60 ns where sixteen banks wait for tFAW, one stack ID after the other. */
static void a_sweep_takes_what_its_forecast_says(void **state) {
        HbmPass pass = { .parity = 1, .activations = 6000 };
        WireBox box = { .last = { [HBM_SID] = 2, [HBM_BANK_GROUP] = 3, [HBM_BANK] = 3, [HBM_ROW] = 16383 } };

        hbm_hammer_aim(&pass, &box, 16384, 0, 1);
        assert_int_equal(hbm_hammer_rows(&pass), 8192);
        assert_true(hbm_hammer_sec(&pass) > 8.847 && hbm_hammer_sec(&pass) < 8.848);
        pass.open_nsec = 55;
        assert_true(hbm_hammer_sec(&pass) > 14.745 && hbm_hammer_sec(&pass) < 14.746);

        /* 3.9 µs longer is as bad as twenty. */
        assert_true(hbm_hammer_openings(12000, 0) == 12000);
        assert_true(hbm_hammer_openings(12000, 3900) == 600);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_victim_has_two_aggressors_and_no_more),
                cmocka_unit_test(long_sweeps_are_cut_without_a_gap),
                cmocka_unit_test(a_sweep_takes_what_its_forecast_says),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
