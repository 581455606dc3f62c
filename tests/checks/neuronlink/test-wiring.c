/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Wrong wiring from end to end: plugs are moved in the simulator, the check says what is wrong and what to do, the moves are read
 * out of its words and made in the simulator, and the check has nothing to say any more.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/neuronlink/fabric.h"
#include "sim/links/link.h"
#include "tests/checks/rehearsal.h"
#include "tests/draw.h"

#define ULTRA  "scenario: test\nseed: 11\ntopology: {ultraservers: 1}\n"
#define SINGLE "scenario: test\nseed: 12\ntopology: {servers: 1}\n"

#define PLUGS_MAX (RING * CHIPS * PORTS)

/* ---- plugs, by hand ---- */

typedef struct Plug {
        Link *home, *seat; /* seat NULL: loose */
        Location to;       /* parameters of its fault */
        int ends;
        Fault fault;
} Plug;

typedef struct Plugs {
        Step *step;
        unsigned n;
        Plug plugs[PLUGS_MAX];
} Plugs;

static const FaultKind *kind_named(const char *name) {
        for (const FaultKind *kind = cable_kinds; kind->name; kind++)
                if (strcmp(kind->name, name) == 0)
                        return kind;

        return NULL;
}

/* Those that may be moved, or with TRACES all of them. */
static void plugs_init(Plugs *plugs, Step *step, bool traces) {
        *plugs = (Plugs) { .step = step };
        for (unsigned s = 0; s < step->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (LinkPort p = 0; p < _LINK_PORT_MAX; p++) {
                                Link *link = chip_part(server_chip(step->servers[s].server, c), &model_link, (unsigned) p);

                                if (link_designed(link) && (traces || !cable_is_trace(c, p)))
                                        plugs->plugs[plugs->n++] = (Plug) { .home = link, .seat = link };
                        }
}

static Plug *plug_in(Plugs *plugs, const Link *seat) {
        for (unsigned i = 0; i < plugs->n; i++)
                if (plugs->plugs[i].seat == seat)
                        return &plugs->plugs[i];

        return NULL;
}

static Plug *plug_of(Plugs *plugs, const Link *home) {
        for (unsigned i = 0; i < plugs->n; i++)
                if (plugs->plugs[i].home == home)
                        return &plugs->plugs[i];

        fail();
        return NULL;
}

/* Makes the simulator as the plugs are; BACK: as it was built. */
static void impose(Plugs *plugs, bool back) {
        for (unsigned i = 0; i < plugs->n; i++) {
                Plug *plug = &plugs->plugs[i];

                if (back && plug->fault.kind)
                        cable_heal(plug->home, &plug->fault);
                plug->fault.kind = NULL;
                if (back || plug->seat == plug->home)
                        continue;
                plug->fault = (Fault) { .kind = kind_named(plug->seat ? "cable-moved" : "cable-unplugged"), .parameters = &plug->to };
                plug->to = plug->seat ? link_location(plug->seat) : (Location) {}; /* zero: one end */
                assert_int_equal(cable_inject(plug->home, &plug->fault), 0);
        }
}

static void swap_seats(Plug *a, Plug *b) {
        Link *seat = a->seat;

        a->seat = b->seat;
        b->seat = seat;
}

/* ---- moves, read out of the words ---- */

/* The next "us0-1 tray 3 chip 10 port z+" or "tray 3 chip 10 port y+" in *TEXT. */
static Link *read_end(Plugs *plugs, const char **text) {
        const char *tray = strstr(*text, "tray "), *server = plugs->step->servers[plugs->step->own].server->name;
        char name[32] = "", port[3];
        unsigned tray_number, chip;

        assert_non_null(tray);
        assert_int_equal(sscanf(tray, "tray %u chip %u port %2s", &tray_number, &chip, port), 3);
        assert_int_equal(tray_number, torus_tray(chip));
        if (port[0] == 'z') {
                assert_true(tray - *text >= 6);
                assert_int_equal(sscanf(tray - 6, "%31s", name), 1);
                server = name;
        }
        *text = tray + strlen("tray ");
        for (LinkPort p = 0; p < _LINK_PORT_MAX; p++)
                if (strcmp(link_port_to_string(p), port) == 0)
                        return chip_part(server_chip(hall_server(plugs->step->scenario->hall, server), chip), &model_link, (unsigned) p);

        fail();
        return NULL;
}

static void make_move(Plugs *plugs, const char *text) {
        const char *at = text;
        Link *a = read_end(plugs, &at), *b = read_end(plugs, &at);
        Plug *plug_a = plug_in(plugs, a), *plug_b = plug_in(plugs, b);

        if (strncmp(text, "swap", 4) == 0) {
                assert_true(plug_a && plug_b);
                swap_seats(plug_a, plug_b);
        } else if (strncmp(text, "move", 4) == 0) {
                assert_true(plug_a && !plug_b);
                plug_a->seat = b;
        } else if (strncmp(text, "put", 3) == 0) {
                plug_a = plug_of(plugs, link_designed(plug_a->home));
                assert_true(!plug_a->seat && !plug_b);
                plug_a->seat = b;
        } else {
                assert_int_equal(strncmp(text, "connect", 7), 0);
                assert_true(!plug_a && !plug_b);
                plug_a = plug_in(plugs, NULL); /* the cable that lies on the floor: both its plugs */
                plug_b = plug_of(plugs, link_designed(plug_a->home));
                assert_null(plug_b->seat);
                plug_a->seat = plug_a->home == b || plug_b->home == a ? b : a;
                plug_b->seat = plug_a->seat == a ? b : a;
        }
}

static const Said *cabling_of(const Step *step) {
        for (size_t i = 0; i < step->n_said; i++)
                if (strcmp(step->said[i].code, "link-cabling") == 0)
                        return &step->said[i];

        return NULL;
}

/* Makes all moves that link-cabling says. Returns how many. */
static unsigned make_moves(Plugs *plugs, const char *message) {
        unsigned n = 0;

        for (const char *at = strstr(message, ": "); at; at = strstr(at + 1, "; then ")) {
                make_move(plugs, at + (at[0] == ':' ? 2 : 7));
                n++;
        }
        return n;
}

static size_t count_said(const Step *step, const char *code) {
        size_t n = 0;

        for (size_t i = 0; i < step->n_said; i++)
                n += strcmp(step->said[i].code, code) == 0;
        return n;
}

static void scan(Step *step, Verdict expected) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        if (verdict != expected)
                rehearsal_print(step);
        assert_int_equal(verdict, expected);
}

/* From wrong wiring to none. What is left may be labels, where as few moves as can be leave whole cables exchanged. */
static unsigned put_right(Plugs *plugs, bool labels_right) {
        Step *step = plugs->step;
        Verdict verdict = _VERDICT_INVALID;
        unsigned n = 0;

        do { /* a message has room for seven moves or so; then one scans again */
                impose(plugs, false);
                scan(step, VERDICT_FAILED);
                impose(plugs, true);
                assert_non_null(cabling_of(step));
                n += make_moves(plugs, cabling_of(step)->message);
        } while (strstr(cabling_of(step)->message, "; the others stand at their ports"));

        impose(plugs, false);
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        if (step->n_said > (labels_right ? 0 : count_said(step, "link-label")))
                rehearsal_print(step);
        assert_int_equal(step->n_said, labels_right ? 0 : count_said(step, "link-label"));
        assert_int_equal(verdict, step->n_said > 0 ? VERDICT_WARNED : VERDICT_PASSED);
        impose(plugs, true);
        return n;
}

/* ---- two cables ---- */

/* PLUGS[a] and PLUGS[b] in each other's place: all four ports of the two cables hear what they should not. */
static void check_swap(Plugs *plugs, unsigned a, unsigned b) {
        Plug *plug_a = &plugs->plugs[a], *plug_b = &plugs->plugs[b];
        Link *ends[4] = { plug_a->home, plug_b->home, link_designed(plug_a->home), link_designed(plug_b->home) };
        Step *step = plugs->step;
        unsigned n_own = 0;
        bool traces = false;

        swap_seats(plug_a, plug_b);
        impose(plugs, false);
        scan(step, VERDICT_FAILED);
        impose(plugs, true);
        for (unsigned i = 0; i < 4; i++) { /* a's end hears b's far end, and so on */
                char at[LOCATION_STRING_MAX], hears[LOCATION_STRING_MAX];
                Location place = link_location(ends[i]), other = link_location(ends[3 - i]);
                bool found = strcmp(chip_server_name(ends[i]->chip), step->servers[step->own].server->name) != 0;

                n_own += !found;
                location_format(&place, at);
                location_format(&other, hears);
                for (size_t k = 0; k < step->n_said; k++)
                        found |= strcmp(step->said[k].at, at) == 0 && strcmp(step->said[k].actual, hears) == 0 &&
                                 strcmp(step->said[k].code, "link-miscabled") == 0 &&
                                 strstr(step->said[k].message, "two cables are swapped). One move puts it right: swap the cables in ");
                if (!found)
                        rehearsal_print(step);
                assert_true(found);
        }
        assert_int_equal(step->n_said, n_own + 1);
        assert_non_null(cabling_of(step));
        assert_int_equal(make_moves(plugs, cabling_of(step)->message), 1);
        for (unsigned i = 0; i < 4; i++) /* traces have no labels that tell which of two ways back is the better one */
                traces |= cable_is_trace(chip_index(ends[i]->chip), ends[i]->port);
        assert_true(traces || (plug_a->seat == plug_a->home && plug_b->seat == plug_b->home));
        for (unsigned i = 0; i < 2; i++) {
                Plug *plug = i == 0 ? plug_a : plug_b, *far = plug_of(plugs, link_designed(plug->home));

                assert_ptr_equal(link_designed(plug->seat), far->seat);
        }
        for (unsigned i = 0; i < plugs->n; i++)
                plugs->plugs[i].seat = plugs->plugs[i].home;
}

static bool is_first_of_its_kind(const Plugs *plugs, unsigned a, unsigned b) {
        Link *far_a = link_designed(plugs->plugs[a].home), *far_b = link_designed(plugs->plugs[b].home);
        unsigned i = 0;

        if (far_a == plugs->plugs[b].home)
                return false;
        while (plugs->plugs[i].home != far_a && plugs->plugs[i].home != far_b)
                i++;
        /* Their far ends in each other's place are another wrong wiring only by the labels. */
        return i > a;
}

/* Every pair of the 32 links of a torus, both ways of exchanging their ends; traces too, which nobody could. */
static void test_every_swap_of_two_cables_is_named_and_undone(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
        unsigned n = 0;
        Plugs plugs;

        plugs_init(&plugs, step, true);
        for (unsigned a = 0; a < plugs.n; a++)
                for (unsigned b = a + 1; b < plugs.n; b++)
                        if (is_first_of_its_kind(&plugs, a, b)) {
                                check_swap(&plugs, a, b);
                                n++;
                        }

        assert_int_equal(n, 992);
        scan(step, VERDICT_PASSED); /* all is as it was */
        assert_int_equal(step->n_said, 0);
}

/* Cables between servers: every server that one of them ends at says the same. WIRING_EVERY=1 tries all 8,064 swaps, in two minutes. */
static void test_swaps_between_servers_are_told_alike_at_each_of_them(void **state) {
        unsigned every = getenv("WIRING_EVERY") ? (unsigned) atoi(getenv("WIRING_EVERY")) : 421, n = 0, k = 0;
        Step *steps[RING];
        Plugs plugs[RING];

        assert_true(every > 0);
        for (unsigned s = 0; s < RING; s++) {
                char server[16];

                (void) snprintf(server, sizeof(server), "us0-%u", s);
                steps[s] = rehearsal_new(ULTRA, "neuronlink", server);
        }
        plugs_init(&plugs[0], steps[0], false);
        for (unsigned a = 0; a < plugs[0].n; a++)
                for (unsigned b = a + 1; b < plugs[0].n; b++) {
                        char words[STREAM_MESSAGE_MAX] = "";

                        if (plugs[0].plugs[a].home->port < LINK_Z_PLUS || plugs[0].plugs[b].home->port < LINK_Z_PLUS ||
                            link_designed(plugs[0].plugs[a].home) == plugs[0].plugs[b].home || ++k % every != 0)
                                continue;
                        n++;
                        for (unsigned s = 0; s < RING; s++) {
                                const char *servers[4] = {
                                        chip_server_name(plugs[0].plugs[a].home->chip), chip_server_name(plugs[0].plugs[b].home->chip),
                                        chip_server_name(link_designed(plugs[0].plugs[a].home)->chip),
                                        chip_server_name(link_designed(plugs[0].plugs[b].home)->chip),
                                };
                                bool concerned = false;

                                plugs_init(&plugs[s], steps[s], false); /* each has a hall of its own */
                                for (unsigned i = 0; i < 4; i++)
                                        concerned |= strcmp(servers[i], steps[s]->servers[s].server->name) == 0;
                                if (!concerned) {
                                        swap_seats(&plugs[s].plugs[a], &plugs[s].plugs[b]);
                                        impose(&plugs[s], false);
                                        scan(steps[s], VERDICT_PASSED);
                                        impose(&plugs[s], true);
                                        continue;
                                }
                                check_swap(&plugs[s], a, b);
                                if (words[0])
                                        assert_string_equal(words, cabling_of(steps[s])->message);
                                (void) snprintf(words, sizeof(words), "%s", cabling_of(steps[s])->message);
                        }
                }

        print_message("# %u swaps\n", n);
        for (unsigned s = 0; s < RING; s++)
                (void) rehearsal_free(steps[s]);
}

/* ---- more than two ---- */

static unsigned cycle_moves(const unsigned *order, unsigned n) {
        unsigned moves = n, seen = 0;

        for (unsigned i = 0; i < n; i++) {
                if (seen >> i & 1)
                        continue;
                moves--;
                for (unsigned k = i; !(seen >> k & 1); k = order[k])
                        seen |= 1u << k;
        }
        return moves;
}

static void test_any_order_of_up_to_eight_plugs_is_put_right(void **state) {
        unsigned every = getenv("WIRING_EVERY") ? 1 : 25;
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");

        for (unsigned i = 0; i < 2000 / every; i++) {
                unsigned n = 2 + i % 7, order[8], moves;
                Plug *chosen[8] = {};
                Link *seats[8];
                Plugs plugs;

                plugs_init(&plugs, step, false);
                for (unsigned k = 0; k < n;) {
                        Plug *plug = &plugs.plugs[draw() % plugs.n];
                        bool taken = false;

                        for (unsigned m = 0; m < k; m++) /* one end of a cable: then labels and moves agree */
                                taken |= chosen[m] == plug || link_designed(chosen[m]->home) == plug->home;
                        if (!taken) {
                                order[k] = k;
                                seats[k] = plug->home;
                                chosen[k++] = plug;
                        }
                }
                for (unsigned k = n; k > 1; k--) {
                        unsigned other = draw() % k, kept = order[k - 1];

                        order[k - 1] = order[other];
                        order[other] = kept;
                }
                for (unsigned k = 0; k < n; k++)
                        chosen[k]->seat = seats[order[k]];
                moves = cycle_moves(order, n);
                if (moves > 0)
                        assert_int_equal(put_right(&plugs, true), moves);
        }
}

/* Any ends, whole cables among them; at times one plug, or both of a cable, pulled out. */
static void test_any_mess_is_put_right(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "neuronlink", "trn-0");
        unsigned n_moves = 0;

        for (unsigned i = 0; i < 60; i++) {
                Plug *pulled;
                Plugs plugs;
                bool same = true;

                plugs_init(&plugs, step, false);
                pulled = &plugs.plugs[draw() % plugs.n];
                for (unsigned k = 0; k < 2 + i % 8; k++)
                        swap_seats(&plugs.plugs[draw() % plugs.n], &plugs.plugs[draw() % plugs.n]);
                if (i % 3 > 0)
                        pulled->seat = NULL;
                if (i % 3 > 1)
                        plug_of(&plugs, link_designed(pulled->home))->seat = NULL;
                for (unsigned k = 0; k < plugs.n; k++) {
                        Plug *far = plug_of(&plugs, link_designed(plugs.plugs[k].home));

                        same = same && plugs.plugs[k].seat && far->seat && link_designed(plugs.plugs[k].seat) == far->seat;
                }
                if (!same)
                        n_moves += put_right(&plugs, false);
        }
        print_message("# %u moves\n", n_moves);
}

/* ---- kinds ---- */

typedef struct FaultCase {
        const char *faults;
        const char *findings[9][3]; /* code, location, part of the message */
} FaultCase;

static const FaultCase fault_cases[] = {
        { "{at: us0-1/chip9/link-y+, kind: cable-unplugged}",
          { { "link-cabling", "us0-1", "1 move puts the cables right: put the other end of the cable in tray 6 chip 13 port y- (NLC" },
            { "link-unplugged", "us0-1/chip9/link-y+", "the cable from us0-1/chip13/link-y- belongs here" } } },
        { "{at: us0-1/chip9/link-y+, kind: cable-unplugged, ends: both}",
          { { "link-cabling", "us0-1", "connect tray 7 chip 9 port y+ and tray 6 chip 13 port y- with a cable" },
            { "link-unplugged", "us0-1/chip9/link-y+", "" }, { "link-unplugged", "us0-1/chip13/link-y-", "" } } },
        { "{at: us0-1/chip9/link-z-, kind: cable-unplugged}",
          { { "link-cabling", "us0-1", "put the other end of the cable in us0-0 tray 7 chip 9 port z+" },
            { "link-unplugged", "us0-1/chip9/link-z-", "the cable from us0-0/chip9/link-z+" } } },
        { "{at: us0-0/chip9/link-z+, kind: cable-unplugged}",
          { { "link-cabling", "us0-1", "into us0-0 tray 7 chip 9 port z+" } } },
        { "{at: us0-1/chip9/link-y+, kind: loopback-plug}",
          { { "link-cabling", "us0-1", "in place of the loopback plug" },
            { "link-miscabled", "us0-1/chip9/link-y+", "hears itself: a loopback plug" } } },
        { "{at: us0-1/chip9/link-y+, kind: loopback-plug}, {at: us0-1/chip13/link-y-, kind: loopback-plug}",
          { { "link-cabling", "us0-1", "connect tray 7 chip 9 port y+ and tray 6 chip 13 port y- with a cable, in place of loopback plugs" },
            { "link-miscabled", "us0-1/chip9/link-y+", "hears itself" }, { "link-miscabled", "us0-1/chip13/link-y-", "hears itself" } } },
        { "{at: us0-1/chip2/link-y+, kind: ring-reversed}",
          { { "link-cabling", "us0-1", "2 moves put the cables right" },
            { "link-miscabled", "us0-1/chip2/link-y+", "the ring is the wrong way round" }, { "link-miscabled", "us0-1/chip2/link-y-", "One move " },
            { "link-miscabled", "us0-1/chip6/link-y+", "" }, { "link-miscabled", "us0-1/chip6/link-y-", "" },
            { "link-miscabled", "us0-1/chip10/link-y+", "" }, { "link-miscabled", "us0-1/chip10/link-y-", "" },
            { "link-miscabled", "us0-1/chip14/link-y+", "" }, { "link-miscabled", "us0-1/chip14/link-y-", "" } } },
        { "{at: us0-1/chip2/link-z+, kind: ring-reversed}",
          { { "link-cabling", "us0-1", "2 moves put the cables right" },
            { "link-miscabled", "us0-1/chip2/link-z+", "the ring is the wrong way round" }, { "link-miscabled", "us0-1/chip2/link-z-", "" } } },
        /* x+ and y+ of one chip exchanged: both wrong from the axis on */
        { "{at: us0-1/chip5/link-x-, kind: cable-moved, to: us0-1/chip5/link-y+}, {at: us0-1/chip5/link-y+, kind: cable-moved, to: us0-1/chip5/link-x-}",
          { { "link-cabling", "us0-1", "1 move puts the cables right: swap the cables in tray 5 chip 5 port " },
            { "link-miscabled", "us0-1/chip5/link-x-", "another axis" }, { "link-miscabled", "us0-1/chip5/link-y+", "another axis" },
            { "link-miscabled", "us0-1/chip4/link-x+", "the right chip, but from its wrong port" },
            { "link-miscabled", "us0-1/chip9/link-y-", "the right chip, but from its wrong port" } } },
        { "{at: us0-1/chip5/link-y+, kind: cable-moved, to: us0-1/chip11/link-y+}",
          { { "link-cabling", "us0-1", "2 moves put" }, { "link-unplugged", "us0-1/chip5/link-y+", "" },
            { "link-miscabled", "us0-1/chip11/link-y+", "wrong chip" }, { "link-miscabled", "us0-1/chip9/link-y-", "wrong chip" } } },
        { "{at: us0-1/chip5/link-y+, kind: cable-moved, to: us0-1/chip11/link-y+}, {at: us0-1/chip11/link-y+, kind: cable-moved, to: us0-1/chip5/link-y+}, "
          "{at: us0-1/chip9/link-y-, kind: cable-moved, to: us0-1/chip15/link-y-}, {at: us0-1/chip15/link-y-, kind: cable-moved, to: us0-1/chip9/link-y-}",
          { { "link-label", "us0-1/chip5/link-y+", "the label on the plug says us0-1/chip11/link-y+" }, { "link-label", "us0-1/chip11/link-y+", "" },
            { "link-label", "us0-1/chip9/link-y-", "" }, { "link-label", "us0-1/chip15/link-y-", "" } } },
        { "{at: us0-1/chip5/link-y+, kind: cable-label, of: us0-1/chip9/link-y+}",
          { { "link-label", "us0-1/chip5/link-y+", "the label on the plug says us0-1/chip9/link-y+" } } },
        { "{at: us0-1/chip5/link-y+, kind: cable-serial, of: us0-1/chip10/link-y+}",
          { { "link-serial", "us0-1/chip5/link-y+", "two ends of this cable" }, { "link-serial", "us0-1/chip9/link-y-", "two ends of this cable" },
            { "link-serial", "us0-1/chip10/link-y+", "another cable" }, { "link-serial", "us0-1/chip14/link-y-", "another cable" } } },
        { "{at: us0-1/chip5/link-y+, kind: frames-false, mode: strange}", { { "link-frames", "us0-1/chip5/link-y+", "no port of this scan sent" } } },
        { "{at: us0-1/chip5/link-x+, kind: frames-false, mode: stale}", { { "link-frames", "us0-1/chip5/link-x+", "of an earlier exchange" } } },
        { "{at: us0-1/chip5/link-z-, kind: frames-false, mode: echo}", { { "link-frames", "us0-1/chip5/link-z-", "its own frames" } } },
        { "{at: us0-1/chip5/link-y-, kind: frames-false, mode: endless}", { { "link-frames", "us0-1/chip5/link-y-", "without end" } } },
        { "{at: us0-1/chip5/link-x+, kind: frames-false, mode: after}",
          { { "link-frames", "us0-1/chip5/link-x+", "after the one that was sent" } } },
        { "{at: us0-1/chip5/link-y+, kind: frames-false, mode: none}", { { "link-frames", "us0-1/chip5/link-y+", "counts the 2 frames that us0-1/chip9/link-y- sent" } } },
        { "{at: us0-1/chip5/link-z+, kind: frames-false, mode: none}", { { "link-frames", "us0-1/chip5/link-z+", "counts the 2 frames that us0-2/chip5/link-z- sent" } } },
        { "{at: us0-0/chip5/link-z+, kind: frames-false, mode: endless}", { } }, /* told where it is */
        { "{at: us0-1/chip5/link-z+, kind: cable-serial, of: us0-3/chip10/link-z+}",
          { { "link-serial", "us0-1/chip5/link-z+", "two ends of this cable" } } },
};

static void test_each_fault_is_found_at_its_port_and_nowhere_else(void **state) {
        for (size_t i = 0; i < ELEMENTS(fault_cases); i++) {
                const FaultCase *one = &fault_cases[i];
                char text[1024];
                size_t n = 0;

                (void) snprintf(text, sizeof(text), ULTRA "faults: [%s]\n", one->faults);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "neuronlink", "us0-1");
                Verdict verdict = _VERDICT_INVALID;

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (; n < ELEMENTS(one->findings) && one->findings[n][0]; n++) {
                        bool found = false;

                        for (size_t k = 0; k < step->n_said; k++)
                                found |= strcmp(step->said[k].code, one->findings[n][0]) == 0 && strcmp(step->said[k].at, one->findings[n][1]) == 0 &&
                                         strstr(step->said[k].message, one->findings[n][2]);
                        if (!found) {
                                rehearsal_print(step);
                                fail_msg("%s: %s at %s is missing", one->faults, one->findings[n][0], one->findings[n][1]);
                        }
                }
                if (step->n_said != n)
                        rehearsal_print(step);
                assert_int_equal(step->n_said, n);
        }
}

/* ---- what the operator says ---- */

static Topology *topology_of(const char *text) {
        Topology *topology = NULL;
        char *error = NULL;

        if (topology_parse("t", text, strlen(text), &topology, &error) < 0)
                fail_msg("%s", error);
        return topology;
}

static void test_a_ring_is_what_the_topology_file_says(void **state) {
        _cleanup_(topology_freep) Topology *right = topology_of("topology: t\nrings: [[us0-0, us0-1, us0-2, us0-3]]\n");
        _cleanup_(topology_freep) Topology *other = topology_of("topology: t\nrings: [[us0-0, us0-1, us0-3, us0-2]]\n");
        _cleanup_(topology_freep) Topology *alone = topology_of("topology: t\nservers: [us0-1]\n");
        _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "neuronlink", "us0-1");

        step->topology = right;
        scan(step, VERDICT_PASSED);
        assert_true(step->ports_tested[3] == 6);
        step->topology = alone;
        scan(step, VERDICT_PASSED);
        assert_true(step->ports_tested[3] == 4);
        step->topology = other; /* z+ of us0-1 goes to us0-2, and should go to us0-3 */
        scan(step, VERDICT_FAILED);
        assert_int_equal(count_said(step, "link-miscabled"), CHIPS);
        assert_non_null(cabling_of(step));
}

static void test_another_cable_than_intended_is_told(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "neuronlink", "us0-1");
        Chip *chip = server_chip(step->servers[1].server, 5);
        char serial[64], text[1024];

        assert_int_equal(cable_serial(chip, LINK_Y_PLUS, serial, sizeof(serial)), 0);
        for (unsigned wrong = 0; wrong < 3; wrong++) {
                (void) snprintf(text, sizeof(text), "topology: t\nrings: [[us0-0, us0-1, us0-2, us0-3]]\ncables:\n"
                                "  - {from: us0-1/chip5/link-y+, to: us0-1/chip9/link-y-, serial: %s, labels: [%s, us0-1/chip9/link-y-]}\n",
                                wrong == 1 ? "NLC1" : serial, wrong == 2 ? "A17" : "us0-1/chip5/link-y+");
                _cleanup_(topology_freep) Topology *topology = topology_of(text);

                step->topology = topology;
                scan(step, wrong ? VERDICT_WARNED : VERDICT_PASSED);
                assert_int_equal(step->n_said, wrong == 0 ? 0 : wrong == 1 ? 2 : 1);
                assert_int_equal(count_said(step, "link-serial"), wrong == 1 ? 2 : 0);
                assert_int_equal(count_said(step, "link-label"), wrong == 2);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_swap_of_two_cables_is_named_and_undone),
                cmocka_unit_test(test_swaps_between_servers_are_told_alike_at_each_of_them),
                cmocka_unit_test(test_any_order_of_up_to_eight_plugs_is_put_right),
                cmocka_unit_test(test_any_mess_is_put_right),
                cmocka_unit_test(test_each_fault_is_found_at_its_port_and_nowhere_else),
                cmocka_unit_test(test_a_ring_is_what_the_topology_file_says),
                cmocka_unit_test(test_another_cable_than_intended_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
