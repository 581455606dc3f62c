/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/chip/chip.h"
#include "sim/chip/topology.h"

/* The driver's table and the arithmetic of the torus are two ways to one truth. */
static void the_table_of_neighbours_is_a_torus(void **state) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                uint16_t table = 0, torus = 0;

                for (unsigned i = 0; i < 4; i++)
                        table |= (uint16_t) (1u << torus_connected(chip)[i]);
                for (LinkPort port = LINK_X_PLUS; port <= LINK_Y_MINUS; port++) {
                        unsigned other = torus_neighbour(chip, port);

                        torus |= (uint16_t) (1u << other);
                        assert_int_equal(torus_neighbour(other, link_port_opposite(port)), chip);
                }
                assert_int_equal(table, torus);
        }
}

static void trays_hold_pairs_of_neighbours_on_adjacent_buses(void **state) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                unsigned n = 0;

                for (unsigned other = 0; other < CHIPS; other++)
                        if (other != chip && torus_tray(other) == torus_tray(chip)) {
                                int apart = (int) torus_pci_bus(chip) - (int) torus_pci_bus(other);
                                bool linked = false;

                                for (LinkPort port = LINK_X_PLUS; port <= LINK_Y_MINUS; port++)
                                        linked |= torus_neighbour(chip, port) == other;
                                assert_true(linked);
                                assert_true(apart == 1 || apart == -1);
                                n++;
                        }
                assert_int_equal(n, 1);
        }
}

static void z_links_make_a_ring_of_four(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;
        Chip *chip, *start;

        assert_int_equal(hall_new(1, 60, true, 2, &hall), 0);
        start = chip = server_chip(hall_server(hall, "us1-0"), 7);
        for (unsigned i = 0; i < 4; i++) {
                Chip *next = chip_neighbour(chip, LINK_Z_PLUS);

                assert_int_equal(chip_index(next), 7);
                assert_ptr_equal(chip_neighbour(next, LINK_Z_MINUS), chip);
                chip = next;
                assert_true((chip == start) == (i == 3));
        }
        assert_ptr_equal(chip_find(start, "us0-0", 7), server_chip(hall_server(hall, "us0-0"), 7)); /* adapters reach further than links */
        assert_ptr_equal(chip_find(start, "us1-0", 7), start);
}

static void single_servers_have_no_z_links(void **state) {
        _cleanup_(hall_freep) Hall *hall = NULL;

        assert_int_equal(hall_new(1, 60, false, 3, &hall), 0);
        assert_null(chip_neighbour(server_chip(hall_server(hall, "trn-2"), 0), LINK_Z_PLUS));
        assert_int_equal(chip_index(chip_neighbour(server_chip(hall_server(hall, "trn-2"), 0), LINK_X_MINUS)), 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_table_of_neighbours_is_a_torus),
                cmocka_unit_test(trays_hold_pairs_of_neighbours_on_adjacent_buses),
                cmocka_unit_test(z_links_make_a_ring_of_four),
                cmocka_unit_test(single_servers_have_no_z_links),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
