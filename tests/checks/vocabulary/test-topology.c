/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "checks/vocabulary/topology.h"

#define HEAD "topology: row 7\nrings:\n  - [a-0, b-0, c-0, d-0]\nservers: [alone]\n"

static Topology *read_file(const char *text) {
        Topology *topology = NULL;
        char *error = NULL;

        if (topology_parse("t", text, strlen(text), &topology, &error) < 0)
                fail_msg("%s", error);
        return topology;
}

static void test_rings_begin_with_who_asks(void **state) {
        _cleanup_(topology_freep) Topology *topology = read_file(HEAD);
        TopologyRing ring;

        assert_int_equal(topology_ring(topology, "c-0", &ring), 0);
        assert_int_equal(ring.n, 4);
        assert_string_equal(ring.servers[0], "c-0");
        assert_string_equal(ring.servers[1], "d-0");
        assert_string_equal(ring.servers[2], "a-0");
        assert_string_equal(ring.servers[3], "b-0");
        assert_int_equal(topology_ring(topology, "alone", &ring), 0);
        assert_int_equal(ring.n, 1);
        assert_int_equal(topology_ring(topology, "us0-0", &ring), -ENOENT);
}

static void test_without_a_file_names_tell(void **state) {
        static const struct {
                const char *name;
                size_t n;
                const char *next;
        } cases[] = {
                { "us0-0", 4, "us0-1" }, { "us12-3", 4, "us12-0" }, { "us0-4", 1, NULL }, { "us0-12", 1, NULL }, { "trn-0", 1, NULL },
                { "us0", 1, NULL }, { "us0-", 1, NULL },
        };
        TopologyRing ring;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                assert_int_equal(topology_ring(NULL, cases[i].name, &ring), 0);
                assert_int_equal(ring.n, cases[i].n);
                assert_string_equal(ring.servers[0], cases[i].name);
                if (cases[i].next)
                        assert_string_equal(ring.servers[1], cases[i].next);
        }
}

static void test_cables_are_found_from_both_ends(void **state) {
        _cleanup_(topology_freep) Topology *topology = read_file(HEAD
                "cables:\n"
                "  - {from: a-0/chip5/link-y+, to: a-0/chip9/link-y-, serial: NLC7, labels: [A1, B1]}\n"
                "  - {from: a-0/chip5/link-z-, to: d-0/chip5/link-z+}\n"
                "  - {from: alone/chip13/link-y+, to: alone/chip1/link-y-, serial: \"12\"}\n");
        const TopologyCable *cable;
        Location port;
        unsigned end;

        assert_int_equal(location_parse("a-0/chip9/link-y-", &port, NULL, NULL), 0);
        cable = topology_cable(topology, &port, &end);
        assert_non_null(cable);
        assert_int_equal(end, 1);
        assert_string_equal(cable->serial, "NLC7");
        assert_string_equal(cable->labels[end], "B1");
        assert_int_equal(location_parse("a-0/chip9/link-y+", &port, NULL, NULL), 0);
        assert_null(topology_cable(topology, &port, &end));
}

static void test_an_extract_says_the_same_of_its_servers(void **state) {
        _cleanup_(topology_freep) Topology *topology = read_file(
                "topology: x\nrings: [[a, b, c, d], [e, f, g, h]]\nservers: [i, k]\ncables:\n"
                "  - {from: e/chip0/link-z+, to: f/chip0/link-z-, serial: \"0 1\", labels: [\"A.1\", \"B/1\"]}\n"
                "  - {from: a/chip0/link-z+, to: b/chip0/link-z-, serial: S}\n"
                "  - {from: k/chip0/link-x+, to: k/chip1/link-x-}\n");
        static const char *const asked[] = { "g", "k" };
        _cleanup_free_ char *text = topology_text(topology, asked, 2), *again = NULL;
        _cleanup_(topology_freep) Topology *extract = read_file(text);
        TopologyRing ring;

        assert_int_equal(extract->n_rings, 2);
        assert_int_equal(extract->n_cables, 2);
        assert_string_equal(extract->cables[0].serial, "0 1");
        assert_string_equal(extract->cables[0].labels[1], "B/1");
        assert_int_equal(topology_ring(extract, "g", &ring), 0);
        assert_string_equal(ring.servers[1], "h");
        assert_int_equal(topology_ring(extract, "a", &ring), -ENOENT);
        again = topology_text(extract, asked, 2);
        assert_string_equal(text, again);
}

static void test_what_is_no_torus_is_refused_where_it_stands(void **state) {
        static const char *const cases[][2] = {
                { "", "t:1:1: empty" },
                { "topology: x\n", "t:1:1: neither rings nor servers" },
                { "topology: x\nrings: [[a, b, c]]\n", "t:2:9: a ring of 3 servers" },
                { "topology: x\nrings: [[a, b, c, d, e]]\n", "t:2:22: more than 4" },
                { "topology: x\nrings: [[a, b, c, a]]\n", "t:2:19: server 'a' is named twice" },
                { "topology: x\nrings: [[a, b, c, d]]\nservers: [d]\n", "t:3:11: server 'd' is named twice" },
                { "topology: x\nrings: [[a, B, c, d]]\n", "t:2:13: 'B' is no name" },
                { "topology: x\nrongs: []\n", "t:2:1:" },
                { HEAD "cables: [{from: a-0/chip5/link-y+}]\n", "t:5:10: 'to' is missing" },
                { HEAD "cables: [{from: a-0/chip5/link-y+, to: a-0/chip13/link-y-}]\n", "t:5:40: not a torus: a-0/chip5/link-y+ leads to a-0/chip9/link-y-" },
                { HEAD "cables: [{from: a-0/chip3/link-x+, to: a-0/chip0/link-x-}]\n", "t:5:17: a-0/chip3/link-x+ is a trace of its tray's board, no cable" },
                { HEAD "cables: [{from: a-0/chip6/link-x-, to: a-0/chip5/link-x+}]\n", "t:5:17: a-0/chip6/link-x- is a trace" },
                { HEAD "cables: [{from: a-0/chip5/link-z+, to: c-0/chip5/link-z-}]\n", "leads to b-0/chip5/link-z-" },
                { HEAD "cables: [{from: e-0/chip5/link-y+, to: e-0/chip9/link-y-}]\n", "t:5:17: no ring and no server of this file is called e-0" },
                { HEAD "cables: [{from: alone/chip5/link-z+, to: alone/chip5/link-z-}]\n", "t:5:17: alone stands alone" },
                { HEAD "cables: [{from: a-0/chip5, to: a-0/chip9/link-y-}]\n", "is no link port" },
                { HEAD "cables: [{from: a-0/chip55/link-y+, to: a-0/chip9/link-y-}]\n", "t:5:" },
                { HEAD "cables: [{from: a-0/chip5/link-y+, to: a-0/chip9/link-y-}, {from: a-0/chip9/link-y-, to: a-0/chip5/link-y+}]\n", "t:5:67: port a-0/chip9/link-y- has two cables" },
                { HEAD "cables: [{from: a-0/chip5/link-y+, to: a-0/chip9/link-y-, serial: S}, {from: a-0/chip0/link-y+, to: a-0/chip4/link-y-, serial: S}]\n",
                  "t:5:128: two cables have the serial number S" },
                { HEAD "cables: [{from: a-0/chip5/link-y+, to: a-0/chip9/link-y-, serial: 'a\"b'}]\n", "t:5:67: expected" },
                { HEAD "cables: [{from: a-0/chip5/link-y+, to: a-0/chip9/link-y-, labels: [A]}]\n", "t:5:67: 1 labels" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_free_ char *error = NULL;
                Topology *topology = NULL;

                assert_true(topology_parse("t", cases[i][0], strlen(cases[i][0]), &topology, &error) < 0);
                assert_null(topology);
                if (!strstr(error, cases[i][1]))
                        fail_msg("%s\nis refused with %s\nnot %s", cases[i][0], error, cases[i][1]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rings_begin_with_who_asks),
                cmocka_unit_test(test_without_a_file_names_tell),
                cmocka_unit_test(test_cables_are_found_from_both_ends),
                cmocka_unit_test(test_an_extract_says_the_same_of_its_servers),
                cmocka_unit_test(test_what_is_no_torus_is_refused_where_it_stands),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
