/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/address.h"
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
        HbmAddresses came[STACKS];
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
        assert_int_equal(hbm_addresses_run(&map, &box, seed, batch, came), 0);
        memory_batch_free(batch);
        (void) device_free(device);
        return came[stack];
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
                ", kind: address-tsv, line: bg0, value: 1, persistence: intermittent, probability: 0.05",
                ", kind: address-tsv, line: bg1, value: 0, persistence: intermittent, probability: 0.02",
                "/bg0/ba0, kind: bank-dead, persistence: intermittent, probability: 0.5",
        };
        static char all[1 << 16];

        for (size_t f = 0; f < ELEMENTS(faults); f++) {
                all_over(faults[f], all, sizeof(all));
                for (unsigned seed = 0; seed < 10; seed++) {
                        HbmAddresses came = addresses("12-high-16gb", all, 0, seed);

                        assert_int_equal(came.n_wrong, 0);
                        assert_int_equal(came.n_again_wrong, 0);
                }
        }
}

/* One read of a row in each that the bit stands for would find 1 in 20. */
static void a_map_that_is_wrong_now_and_then_is_found(void **state) {
        for (size_t p = 0; p < ELEMENTS(parts); p++) {
                unsigned n = 0, n_found = 0, n_bits = 0;

                for (; n < 3 * parts[p].row_bits; n++) {
                        char fault[160];
                        HbmAddresses came;

                        (void) snprintf(fault, sizeof(fault), "  - {at: trn-0/chip0/hbm2, kind: map-wrong, hash: group%u, row-bit: %u, "
                                        "persistence: intermittent, probability: 0.05}\n", n % 2, n % parts[p].row_bits);
                        came = addresses(parts[p].word, fault, 2, n);
                        if (came.n_wrong == 0 && came.n_again_wrong == 0)
                                continue;
                        n_found++;
                        n_bits += came.first.row_bit >= 0;
                        assert_int_equal(came.first.axis, HBM_BANK_GROUP);
                        assert_int_equal(came.first.bit, n % 2);
                        if (came.first.row_bit >= 0)
                                assert_int_equal(came.first.row_bit, n % parts[p].row_bits);
                }
                print_message("# %u of %u found, %u with the bit of the row\n", n_found, n, n_bits);
                assert_true(10 * n_found >= 9 * n && 10 * n_bits >= 9 * n_found);
        }
}

/* A stuck lane in each of the first N pseudo-channels, another one of the 32 in each. */
static void stick_lanes(unsigned n, unsigned seed, char *ret, size_t size) {
        for (unsigned i = 0, at = 0; i < n; i++, at = (unsigned) strlen(ret))
                (void) snprintf(ret + at, size - at, "  - {at: trn-0/chip0/hbm2/ch%u/pc%u/dq%u, kind: lane-stuck, value: %u}\n", i / 2, i % 2,
                                (7 * i + seed) % 32, (seed + i) & 1);
}

static void a_wrong_bit_is_named_beside_stuck_lanes(void **state) {
        static char all[1 << 14];

        for (unsigned seed = 0; seed < 320; seed++) {
                static const char *const hashes[] = { "channel0", "channel1", "channel2", "channel3", "group0", "group1" };
                unsigned row_bit = seed % 14, hash = seed / 14 % 6, n_lanes = seed % 2 ? 32 : 8;
                HbmAddresses came;
                size_t n;

                n = (size_t) snprintf(all, sizeof(all), "  - {at: trn-0/chip0/hbm2, kind: map-wrong, hash: %s, row-bit: %u}\n", hashes[hash],
                                      row_bit);
                stick_lanes(n_lanes, seed, all + n, sizeof(all) - n);
                came = addresses("12-high-16gb", all, 2, seed);
                assert_int_equal(came.n_compared, 15);
                assert_int_equal(came.n_wrong, 1);
                assert_int_equal(came.first.axis, hash < 4 ? HBM_CHANNEL : HBM_BANK_GROUP);
                assert_int_equal(came.first.bit, hash < 4 ? hash : hash - 4);
                assert_int_equal(came.first.row_bit, row_bit);
        }
}

static void stuck_lanes_alone_are_no_wrong_map(void **state) {
        static char all[1 << 14];

        for (unsigned seed = 0; seed < 64; seed++) {
                HbmAddresses came;

                all[0] = '\0';
                stick_lanes(32, seed, all, sizeof(all));
                came = addresses("12-high-16gb", all, 2, seed);
                assert_int_equal(came.n_compared, 15);
                assert_int_equal(came.n_wrong, 0);
        }
}

/* Half of the stack does not answer: the other half tells. */
static void a_wrong_bit_is_named_beside_dead_parts(void **state) {
        static const char *const reads[] = { "zeros", "ones", "inverted" };
        static char all[1 << 14];

        for (unsigned seed = 0; seed < 168; seed++) {
                unsigned row_bit = seed % 14;
                HbmAddresses came;
                size_t n;

                n = (size_t) snprintf(all, sizeof(all), "  - {at: trn-0/chip0/hbm2, kind: map-wrong, hash: channel1, row-bit: %u}\n", row_bit);
                for (unsigned channel = 0; channel < 16; channel++)
                        n += (size_t) snprintf(all + n, sizeof(all) - n, "  - {at: trn-0/chip0/hbm2/ch%u/pc%u, kind: pseudo-channel-dead, reads: %s}\n",
                                               channel, seed % 2, reads[seed % ELEMENTS(reads)]);
                came = addresses("12-high-16gb", all, 2, seed);
                assert_int_equal(came.n_wrong, 1);
                assert_int_equal(came.first.axis, HBM_CHANNEL);
                assert_int_equal(came.first.bit, 1);
                assert_int_equal(came.first.row_bit, row_bit);
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
                cmocka_unit_test(a_map_that_is_wrong_now_and_then_is_found),
                cmocka_unit_test(a_wrong_bit_is_named_beside_stuck_lanes),
                cmocka_unit_test(stuck_lanes_alone_are_no_wrong_map),
                cmocka_unit_test(a_wrong_bit_is_named_beside_dead_parts),
                cmocka_unit_test(dead_memory_leaves_nothing_to_compare),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
