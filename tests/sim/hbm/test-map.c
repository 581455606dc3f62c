/* SPDX-License-Identifier: Apache-2.0 */

/* The address map, the simulator's and the scanner's: each against values worked out from the words of wire.h with bit
 * operations on paper, and one against the other. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/map.h"
#include "sim/hbm/map.h"
#include "sim/hbm/part.h"
#include "sim/memory/structures/content.h"

typedef struct Twins {
        MemoryShape shape;
        HbmMap theirs;
        MemoryMap ours;
} Twins;

static Twins twins_of(const char *geometry) {
        char text[HBM_MAP_TEXT_MAX];
        MemoryGeometry told;
        Twins twins;

        assert_int_equal(memory_shape_parse(geometry, &twins.shape), 0);
        hbm_map_init(&twins.theirs, &twins.shape);
        assert_int_equal(memory_geometry_parse(geometry, &told), 0);
        assert_int_equal(memory_map_parse(hbm_map_format(&twins.theirs, text), &told, &twins.ours), 0);
        return twins;
}

/* One access on both ways, there and back. Returns its address. */
static uint64_t round_trip(const Twins *twins, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint64_t address = hbm_map_address(&twins->theirs, &twins->shape, stack, at);
        uint16_t back[_MEMORY_AXIS_MAX];

        assert_true(address == memory_map_address(&twins->ours, stack, at));
        assert_int_equal(hbm_map_locate(&twins->theirs, &twins->shape, stack, address, back), 0);
        assert_memory_equal(back, at, sizeof(back));
        assert_int_equal(memory_map_at(&twins->ours, stack, address + MEMORY_ACCESS_BYTES - 1, back), 0);
        assert_memory_equal(back, at, sizeof(back));
        return address;
}

static void addresses_are_those_worked_out_on_paper(void **state) {
        static const struct {
                unsigned part, stack;
                uint16_t at[_MEMORY_AXIS_MAX]; /* channel, pseudo-channel, SID, bank group, bank, row, column */
                uint64_t address;
        } known[] = {
                { HBM_PART_12_HIGH_16GB, 0, { 0 }, 0 },
                { HBM_PART_12_HIGH_16GB, 1, { 3, 1, 0, 2, 1, 4711, 12 }, 0x40933b1220 },
                { HBM_PART_12_HIGH_16GB, 3, { 15, 1, 2, 3, 3, 16383, 31 }, 0x8045fffff260 },
                { HBM_PART_8_HIGH_24GB, 2, { 9, 0, 1, 1, 2, 24575, 31 }, 0x8005ffffe060 },
                { HBM_PART_8_HIGH_24GB, 0, { 5, 1, 1, 0, 3, 16384, 7 }, 0x50001f220 },
        };

        for (size_t i = 0; i < ELEMENTS(known); i++) {
                Twins twins = twins_of(hbm_parts[known[i].part].geometry);

                assert_true(round_trip(&twins, known[i].stack, known[i].at) == known[i].address);
        }
}

static void the_text_is_that_of_the_documentation(void **state) {
        Twins twins = twins_of(hbm_parts[0].geometry);
        char text[HBM_MAP_TEXT_MAX];

        assert_string_equal(hbm_map_format(&twins.theirs, text), "channel 1111 2222 4444 0888 group 1249 2492");
}

/* Every access of a small stack has an address of its own, and every address below its size an access. */
static void a_small_stack_is_mapped_one_to_one(void **state) {
        static const char *const geometries[] = { "4 2 3 4 2 24 4", "16 2 1 4 1 40 1", "3 2 2 5 1 7 3", "1 1 1 1 1 9 1" };

        for (size_t g = 0; g < ELEMENTS(geometries); g++) {
                Twins twins = twins_of(geometries[g]);
                uint8_t *seen = calloc(twins.shape.accesses, 1);
                WireBox box = memory_box_whole(&twins.shape);
                uint16_t at[_MEMORY_AXIS_MAX];

                memory_walk_first(&box, false, at);
                do {
                        uint64_t address = round_trip(&twins, 0, at);

                        assert_true(address % MEMORY_ACCESS_BYTES == 0 && address / MEMORY_ACCESS_BYTES < twins.shape.accesses);
                        assert_int_equal(seen[address / MEMORY_ACCESS_BYTES]++, 0);
                } while (memory_walk_next(&box, MEMORY_ORDER_COLUMN_FAST, false, at));
                free(seen);
        }
}

/* In the stacks as they are: all channels and bank groups of every row, which is what the hash moves, and random places. */
static void both_parts_are_mapped_one_to_one(void **state) {
        for (unsigned part = 0; part < _HBM_PART_MAX; part++) {
                Twins twins = twins_of(hbm_parts[part].geometry);
                uint64_t x = part;

                for (unsigned row = 0; row < twins.shape.size[HBM_ROW]; row++) {
                        uint64_t seen = 0, first = 0;

                        for (unsigned i = 0; i < 64; i++) {
                                uint16_t at[_MEMORY_AXIS_MAX] = { (uint16_t) (i % 16), 1, 1, (uint16_t) (i / 16), 2, (uint16_t) row, 9 };
                                uint64_t address = round_trip(&twins, 3, at);

                                /* They share all but bits 5 … 8 and 10 … 11. */
                                first = i == 0 ? address & ~UINT64_C(0xde0) : first;
                                assert_true((address & ~UINT64_C(0xde0)) == first);
                                seen |= UINT64_C(1) << ((address >> 5 & 15) | (address >> 10 & 3) << 4);
                        }
                        assert_true(seen == UINT64_MAX);
                }

                for (unsigned i = 0; i < 200000; i++) {
                        uint16_t at[_MEMORY_AXIS_MAX];

                        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                                at[axis] = (uint16_t) ((x = memory_splitmix64(x)) % twins.shape.size[axis]);
                        (void) round_trip(&twins, (unsigned) (x % STACKS), at);
                }
        }
}

static void what_lies_in_no_stack_has_no_place(void **state) {
        Twins twins = twins_of(hbm_parts[0].geometry);
        uint16_t at[_MEMORY_AXIS_MAX];

        assert_int_equal(memory_map_at(&twins.ours, 1, HBM_ADDRESS(1) - 1, at), -ERANGE);
        assert_int_equal(memory_map_at(&twins.ours, 1, HBM_ADDRESS(1) + (UINT64_C(24) << 30), at), -ERANGE);
        assert_int_equal(memory_map_at(&twins.ours, 1, UINT64_MAX, at), -ERANGE);
        assert_int_equal(hbm_map_locate(&twins.theirs, &twins.shape, 1, HBM_ADDRESS(1) - 1, at), -ERANGE);
        assert_int_equal(hbm_map_locate(&twins.theirs, &twins.shape, 1, HBM_ADDRESS(1) + (UINT64_C(24) << 30), at), -ERANGE);
        assert_int_equal(hbm_map_locate(&twins.theirs, &twins.shape, 3, 0, at), -ERANGE);
}

static void what_is_no_map_is_refused(void **state) {
        static const char *const wrong[] = {
                "", "channel", "channel 1111 2222 4444 0888", "channel 1111 2222 4444 0888 group 1249",
                "channel 1111 2222 4444 0888 group 1249 2492 ", "channel 1111 2222 4444 088 group 1249 2492",
                "channel 1111 2222 4444 0888 group 1249 249G", "channel  111 2222 4444 0888 group 1249 2492",
                "group 1249 2492 channel 1111 2222 4444 0888", "channel 1111 2222 4444 0888 1234 group 1249 2492",
        };
        Twins twins = twins_of(hbm_parts[0].geometry);
        MemoryMap map;

        for (size_t i = 0; i < ELEMENTS(wrong); i++)
                assert_int_equal(memory_map_parse(wrong[i], &twins.ours.geometry, &map), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_are_those_worked_out_on_paper),
                cmocka_unit_test(the_text_is_that_of_the_documentation),
                cmocka_unit_test(a_small_stack_is_mapped_one_to_one),
                cmocka_unit_test(both_parts_are_mapped_one_to_one),
                cmocka_unit_test(what_lies_in_no_stack_has_no_place),
                cmocka_unit_test(what_is_no_map_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
