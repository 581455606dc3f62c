/* SPDX-License-Identifier: Apache-2.0 */

/* Plugs that faults move, against a list of what sits where: any faults, in any order, healed in any other order. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/chip/chip.h"
#include "sim/chip/topology.h"
#include "sim/links/link.h"
#include "tests/draw.h"

#define PLUGS  (RING * CHIPS * 6u)
#define FAULTS 12u

typedef struct Row { /* of the list: one socket, one plug */
        Link *link;
        int seat; /* of the plug that belongs here; -1: loose */
        bool moved, loopback;
} Row;

static Row rows[PLUGS];

static const FaultKind *kind_named(const char *name) {
        for (const FaultKind *kind = cable_kinds; kind->name; kind++)
                if (strcmp(kind->name, name) == 0)
                        return kind;

        return NULL;
}

static void list_all(Hall *hall) {
        for (unsigned i = 0; i < PLUGS; i++)
                rows[i] = (Row) { chip_part(server_chip(hall_server_at(hall, i / 96), i / 6 % CHIPS), &model_link, i % 6), (int) i, false, false };
}

static int row_of(const Link *link) {
        for (unsigned i = 0; i < PLUGS; i++)
                if (rows[i].link == link)
                        return (int) i;

        fail();
        return -1;
}

/* What sits in socket S: a plug that was moved there, else its own; -1: none. */
static int content(int s) {
        for (unsigned i = 0; i < PLUGS; i++)
                if (rows[i].moved && rows[i].seat == s)
                        return (int) i;

        return rows[s].moved || rows[s].loopback ? -1 : s;
}

static void check_all(void) {
        for (int s = 0; s < (int) PLUGS; s++) {
                int plug = content(s), other, there = -1;
                char label[64], own[LOCATION_STRING_MAX];
                Location at;

                assert_int_equal(cable_is_present(rows[s].link), plug >= 0 || rows[s].loopback);
                if (rows[s].loopback) {
                        assert_ptr_equal(link_far(rows[s].link), rows[s].link);
                        assert_false(cable_is_broken(rows[s].link));
                        continue;
                }
                if (plug >= 0) {
                        other = row_of(link_designed(rows[plug].link));
                        for (int k = 0; k < (int) PLUGS; k++)
                                if (content(k) == other)
                                        there = k;
                }
                assert_int_equal(cable_is_broken(rows[s].link), there < 0);
                if (there >= 0)
                        assert_ptr_equal(link_far(rows[s].link), rows[there].link);
                if (plug < 0) {
                        assert_int_equal(cable_label(rows[s].link->chip, rows[s].link->port, label, sizeof(label)), -ENOENT);
                        continue;
                }
                at = link_location(rows[plug].link);
                assert_int_equal(cable_label(rows[s].link->chip, rows[s].link->port, label, sizeof(label)), 0);
                assert_string_equal(label, cable_is_trace(chip_index(rows[plug].link->chip), rows[plug].link->port) ? "" : location_format(&at, own));
        }
}

/* One more fault in the list and in the simulator; they agree on whether it can be. */
static bool add_fault(Fault *fault, Location *to, unsigned round) {
        int a = (int) (draw() % PLUGS), b = (int) (draw() % PLUGS), far = row_of(link_designed(rows[a].link)), far_b = row_of(link_designed(rows[b].link));
        bool possible;

        *to = link_location(rows[b].link);
        *fault = (Fault) { .parameters = to, .at = link_location(rows[a].link) };
        if (round % 4 == 0) {
                fault->kind = kind_named("loopback-plug");
                possible = !rows[a].loopback && (content(a) == a || content(a) < 0);
                if (possible)
                        rows[a].loopback = true;
        } else if (round % 4 == 1) {
                static const Location one_end = {};

                fault->kind = kind_named("cable-unplugged");
                *to = one_end; /* ENDS_ONE */
                possible = !rows[a].moved;
                if (possible)
                        rows[a] = (Row) { rows[a].link, -1, true, rows[a].loopback };
        } else if (round % 4 == 2) {
                fault->kind = kind_named("cable-moved");
                possible = !rows[a].moved && !rows[b].loopback && (content(b) == b || content(b) < 0) && a != b;
                if (a == b)
                        return false;
                if (possible)
                        rows[a] = (Row) { rows[a].link, b, true, rows[a].loopback };
        } else {
                fault->kind = kind_named("cable-swapped");
                if (a == b || far == b)
                        return false;
                possible = !rows[far].moved && !rows[far_b].moved && !rows[far].loopback && !rows[far_b].loopback &&
                           content(far) == far && content(far_b) == far_b;
                if (possible) {
                        rows[far] = (Row) { rows[far].link, far_b, true, false };
                        rows[far_b] = (Row) { rows[far_b].link, far, true, false };
                }
        }
        assert_int_equal(cable_inject(rows[a].link, fault), possible ? 0 : -EEXIST);
        return possible;
}

static void test_plugs_are_where_a_list_says_and_come_home_in_any_order(void **state) {
        Hall *hall = NULL;
        unsigned n_all = 0;

        assert_int_equal(hall_new(7, 60, true, 1, &hall), 0);
        for (unsigned i = 0; i < 15; i++) {
                Fault faults[FAULTS];
                Location to[FAULTS];
                Link *at[FAULTS];
                unsigned n = 0;

                list_all(hall);
                for (unsigned k = 0; k < FAULTS; k++)
                        if (add_fault(&faults[n], &to[n], draw())) {
                                Chip *chip = server_chip(hall_server(hall, faults[n].at.server), (unsigned) location_index(&faults[n].at, LOCATION_CHIP));

                                at[n] = chip_part(chip, &model_link, link_fault_port(&faults[n].at));
                                faults[n].parameters = &to[n];
                                n++;
                        }
                check_all();
                n_all += n;
                while (n > 0) {
                        unsigned k = draw() % n;

                        cable_heal(at[k], &faults[k]);
                        at[k] = at[--n];
                        to[k] = to[n];
                        faults[k] = faults[n];
                        faults[k].parameters = &to[k];
                }
                list_all(hall);
                check_all();
        }
        assert_true(n_all > 75);
        (void) hall_free(hall);
}

static void test_a_reversed_ring_is_one_whole(void **state) {
        Fault fault = { .kind = kind_named("ring-reversed") };
        Hall *hall = NULL;

        assert_int_equal(hall_new(7, 60, true, 1, &hall), 0);
        list_all(hall);
        for (unsigned p = LINK_Y_PLUS; p <= LINK_Z_MINUS; p++) {
                Link *link = chip_part(server_chip(hall_server(hall, "us0-2"), 9), &model_link, p), *at = link;
                Link *back = chip_part(link->chip, &model_link, link_port_opposite((LinkPort) p));

                assert_int_equal(cable_inject(link, &fault), 0);
                for (unsigned i = 0; i < 4; i++) { /* by the plus ports the other way round */
                        assert_ptr_equal(link_far(link_far(at)), at);
                        assert_ptr_equal(link_far(at)->chip, link_designed(chip_part(at->chip, &model_link, link_port_opposite(at->port)))->chip);
                        at = chip_part(link_far(at)->chip, &model_link, p);
                }
                assert_ptr_equal(at, link);
                assert_int_equal(cable_inject(back, &fault), -EEXIST);
                cable_heal(link, &fault);
        }
        check_all();
        (void) hall_free(hall);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plugs_are_where_a_list_says_and_come_home_in_any_order),
                cmocka_unit_test(test_a_reversed_ring_is_one_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
