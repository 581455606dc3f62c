/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/hbm/address.h"
#include "tests/hall-device.h"

#define HEAD "scenario: t\nseed: %u\ntopology: {servers: 1, hbm: %s}\nfaults:\n"

static const struct {
        const char *word;
        unsigned row_bits;
} parts[] = { { "12-high-16gb", 14 }, { "8-high-24gb", 15 } };

/* The addresses of one stack, of a chip with FAULTS. */
static HbmAddresses addresses(const char *part, const char *faults, unsigned stack, uint64_t seed) {
        static char text[1 << 17];
        MemoryGeometry geometry;
        HbmAddresses came;
        MemoryBatch *batch;
        MemoryMap map;
        Device *device;
        WireBox box;

        (void) snprintf(text, sizeof(text), HEAD "%s", (unsigned) seed, part, faults);
        device = hall_device(text, "trn-0", 0, 1 << 18);
        assert_non_null(device);
        assert_int_equal(device_hbm_geometry(device, 0, &geometry), 0);
        assert_int_equal(device_hbm_map(device, 0, &geometry, &map), 0);
        assert_int_equal(memory_batch_new(device, &batch), 0);
        box = memory_geometry_box(&geometry);
        assert_int_equal(hbm_addresses_run(&map, &box, stack, seed, batch, &came), 0);
        memory_batch_free(batch);
        (void) device_free(device);
        return came;
}

#define CELL "  - {at: trn-0/chip0/hbm1/ch0/pc0/sid0/bg0/ba0/row3/col0/bit0, kind: stuck-at, value: 0}\n"

static void a_map_that_holds_is_found_to_hold(void **state) {
        for (size_t p = 0; p < ELEMENTS(parts); p++) {
                HbmAddresses came = addresses(parts[p].word, CELL, 1, 7);

                assert_int_equal(came.n_compared, parts[p].row_bits + 1);
                assert_int_equal(came.n_wrong, 0);
        }
}

static void each_wrong_bit_is_named(void **state) {
        static const struct {
                const char *word;
                int axis;
                unsigned bit;
        } hashes[] = {
                { "channel0", HBM_CHANNEL, 0 }, { "channel1", HBM_CHANNEL, 1 }, { "channel2", HBM_CHANNEL, 2 },
                { "channel3", HBM_CHANNEL, 3 }, { "group0", HBM_BANK_GROUP, 0 }, { "group1", HBM_BANK_GROUP, 1 },
        };

        for (size_t p = 0; p < ELEMENTS(parts); p++)
                for (size_t h = 0; h < ELEMENTS(hashes); h++)
                        for (unsigned row_bit = 0; row_bit < parts[p].row_bits; row_bit++) {
                                HbmAddresses came;
                                char fault[128];

                                (void) snprintf(fault, sizeof(fault), "  - {at: trn-0/chip0/hbm2, kind: map-wrong, hash: %s, row-bit: %u}\n",
                                                hashes[h].word, row_bit);
                                came = addresses(parts[p].word, fault, 2, row_bit);
                                assert_int_equal(came.n_wrong, 1);
                                assert_int_equal(came.first.axis, hashes[h].axis);
                                assert_int_equal(came.first.bit, hashes[h].bit);
                                assert_int_equal(came.first.row_bit, row_bit);
                                assert_int_equal(came.first.at[HBM_ROW], 1u << row_bit);
                        }
}

/* Every stack ID of every pseudo-channel of the stack has FAULT. */
static void all_over(const char *fault, char *ret, size_t size) {
        size_t n = 0;

        ret[0] = '\0';
        for (unsigned i = 0; i < 96; i++)
                n += (size_t) snprintf(ret + n, size - n, "  - {at: trn-0/chip0/hbm0/ch%u/pc%u/sid%u%s}\n", i % 16, i / 16 % 2, i / 32, fault);
        assert_true(n < size);
}

/* Memory that comes and goes is not a wrong map, though single reads of it look the same. */
static void memory_that_fails_now_and_then_is_no_wrong_map(void **state) {
        static const char *const faults[] = {
                ", kind: address-tsv, line: bg0, value: 0, persistence: intermittent, probability: 0.5",
                ", kind: address-tsv, line: bg1, value: 1, persistence: intermittent, probability: 0.3",
                "/bg0/ba0, kind: bank-dead, persistence: intermittent, probability: 0.5",
        };
        static char all[1 << 16];

        for (size_t f = 0; f < ELEMENTS(faults); f++) {
                all_over(faults[f], all, sizeof(all));
                for (unsigned seed = 0; seed < 10; seed++)
                        assert_int_equal(addresses("12-high-16gb", all, 0, seed).n_wrong, 0);
        }
}

static void dead_memory_leaves_nothing_to_compare(void **state) {
        HbmAddresses came = addresses("12-high-16gb", "  - {at: trn-0/chip0/hbm3, kind: stack-dead}\n", 3, 7);

        assert_int_equal(came.n_compared, 0);
        assert_int_equal(came.n_wrong, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_map_that_holds_is_found_to_hold),
                cmocka_unit_test(each_wrong_bit_is_named),
                cmocka_unit_test(memory_that_fails_now_and_then_is_no_wrong_map),
                cmocka_unit_test(dead_memory_leaves_nothing_to_compare),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
