/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Verdicts on ports and lanes by a script: the answers of a sound server, and one broken piece on the way of a lane. What passes it
 * suffers, by the words of wire-link.h alone: transmitter PCS and PMA, line, receiver PMA and PCS of each direction.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/neuronlink/fabric.h"
#include "checks/neuronlink/prbs.h"
#include "tests/checks/rehearsal.h"

#define ULTRA "scenario: test\nseed: 11\ntopology: {ultraservers: 1}\n"

typedef enum Site { /* on the way into a port */
        TRANSMITTER_PCS,
        TRANSMITTER_PMA,
        LINE,
        RECEIVER_PMA,
        RECEIVER_PCS,
        _SITE_MAX,
} Site;

typedef struct Piece {
        unsigned server, chip, port; /* the receiving one */
} Piece;

/* What is broken, and what it does to a lane that passes. */
static struct Script {
        Piece at;
        Site site;
        uint32_t lanes;
        void (*hurt)(WireLane *lane, const WireLinkPrbs *prbs, unsigned l);
        void (*status)(WireLinkStatus *status);
        void (*transfer)(WireCompletion *completion);
        uint32_t aggressor; /* only while one of these lanes sends */
        uint64_t counted[RING][CHIPS][PORTS];
        uint64_t replays;
        bool blind; /* errors are not counted */
        unsigned n_runs;
        double rest;    /* of an error, kept for the next run: however many runs the bits come in, they have as many */
        double closing; /* of the eye, in its 64ths; sound lanes have 0 */
} script;

/* The torus by walking, not by arithmetic on the port. */
static Piece far_of(Piece at) {
        static const int8_t steps[PORTS][3] = { { 0, 0, 1 }, { 0, 0, -1 }, { 0, 1, 0 }, { 0, -1, 0 }, { 1, 0, 0 }, { -1, 0, 0 } };
        unsigned row = at.chip / 4, column = at.chip % 4;

        return (Piece) {
                (at.server + 4 + (unsigned) steps[at.port][0]) % 4,
                (row + 4 + (unsigned) steps[at.port][1]) % 4 * 4 + (column + 4 + (unsigned) steps[at.port][2]) % 4, at.port ^ 1,
        };
}

static bool is_same(Piece a, Piece b) {
        return a.server == b.server && a.chip == b.chip && a.port == b.port;
}

/* Whether what travels FROM … TO (both Sites) of the way into PORT passes the broken piece. */
static bool way_passes(Piece port, Site from, Site to) {
        return is_same(port, script.at) && from <= script.site && script.site <= to;
}

/* A port's own transmitter belongs to the way into its far end. */
static bool passes(Piece port, const WireCommand *command) {
        Piece far = far_of(port);

        if (command->type == COMMAND_LINK_PRBS)
                return way_passes(port, TRANSMITTER_PCS, RECEIVER_PCS);

        switch ((WireLoopback) command->loopback.stage) {
        case LOOPBACK_NEAR_PCS:
                return way_passes(far, TRANSMITTER_PCS, TRANSMITTER_PCS) || way_passes(port, RECEIVER_PCS, RECEIVER_PCS);
        case LOOPBACK_NEAR_PMA:
                return way_passes(far, TRANSMITTER_PCS, TRANSMITTER_PMA) || way_passes(port, RECEIVER_PMA, RECEIVER_PCS);
        case LOOPBACK_FAR_PMA:
                return way_passes(far, TRANSMITTER_PCS, RECEIVER_PMA) || way_passes(port, TRANSMITTER_PMA, RECEIVER_PCS);
        case LOOPBACK_FAR_PCS:
                return way_passes(far, TRANSMITTER_PCS, RECEIVER_PCS) || way_passes(port, TRANSMITTER_PCS, RECEIVER_PCS);
        case _LOOPBACK_MAX:
                break;
        }
        abort();
}

static void make_errors(WireLane *lane, uint64_t errors, uint64_t blocks) {
        lane->errors += errors;
        lane->errored_blocks += blocks;
}

/* ---- what may be broken ---- */

static void hurt_1e9(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        make_errors(lane, prbs->bits / 1000000000 + (prbs->bits % 1000000000 > 400000000), prbs->bits / 1000000000 +
                    (prbs->bits % 1000000000 > 400000000));
}

static void hurt_1e4(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        make_errors(lane, prbs->bits / 10000, prbs->bits / 10000);
}

static void hurt_low(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        *lane = (WireLane) {};
}

static void hurt_high(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        *lane = (WireLane) { .state = UINT32_MAX };
}

static void hurt_unlocked(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        *lane = (WireLane) { .transitions = LINK_TRANSITIONS_MAX };
}

static void hurt_late(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->bits /= 3;
}

static void hurt_inverted(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->inverted = 1;
}

static void hurt_crossed(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->state = prbs_seed((WirePrbs) prbs->polynomial, prbs->seed, l ^ 5);
}

static void hurt_skewed(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->state = prbs_jump((WirePrbs) prbs->polynomial, lane->state, (UINT64_C(1) << 31) - 1 - 321);
}

static void hurt_slipping(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->resyncs += 3;
        lane->slipped -= 3;
        lane->bits -= 900;
        make_errors(lane, 400, 6);
}

/* … more on each further lane. */
static void hurt_slipping_on(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        hurt_slipping(lane, prbs, l);
        lane->slipped = -1 - (int32_t) l;
}

static void hurt_in_bursts(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        uint64_t bursts = prbs->bits / 100000000;

        make_errors(lane, 60 * bursts, 2 * bursts);
}

static void hurt_in_long_bursts(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        uint64_t bursts = prbs->bits / 2000000000;

        make_errors(lane, 400 * bursts, 4 * bursts);
}

/* One discharge, in the longest run: a good lane's affair. */
static void hurt_by_one_burst(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        if (prbs->bits > 10000000000 && script.n_runs++ == 0)
                make_errors(lane, 300, 4);
}

static double beyond(double offset, double closing) {
        return 0.25 * erfc((32 - closing - offset) / (32 / 7.941345326170997) / sqrt(2));
}

static void hurt_eye(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        double expected = (double) prbs->bits * (beyond(prbs->offset, script.closing) + beyond(-prbs->offset, script.closing)) + script.rest;
        uint64_t errors = (uint64_t) expected;

        script.rest = expected - (double) errors;
        make_errors(lane, errors, errors);
}

/* Only while it is screened. */
static void hurt_near_the_middle(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        if (prbs->offset == 6 || prbs->offset == -6)
                make_errors(lane, prbs->bits / 1000000, prbs->bits / 1000000);
}

static void status_narrow(WireLinkStatus *status) {
        status->width = 8;
}

static void status_slow(WireLinkStatus *status) {
        status->lane_gbps = 16;
}

/* Lane 9 is dead whenever the width is read, and alive whenever payload is moved. */
static void status_lane_away(WireLinkStatus *status) {
        status->width = 31;
}

static void status_flap(WireLinkStatus *status) {
        status->retrains = script.n_runs++;
}

static void status_odd_speed(WireLinkStatus *status) {
        status->lane_gbps = 31;
}

static void status_up_without_lanes(WireLinkStatus *status) {
        status->width = 0;
}

static void status_backwards(WireLinkStatus *status) {
        status->frames_sent = 1000000 - script.n_runs++;
}

/* The counter of 32 bits goes over its end in the middle of the scan. */
static void status_wraps(WireLinkStatus *status) {
        status->errors = script.n_runs == 0 ? UINT32_MAX - 2 : status->errors + 5;
        status->frames_sent = script.n_runs == 0 ? UINT32_MAX : 3;
        script.n_runs++;
}

static void transfer_quarter(WireCompletion *completion) {
        completion->device_nsec *= 4;
}

static void transfer_half(WireCompletion *completion) {
        completion->device_nsec *= 2;
}

static void transfer_slow(WireCompletion *completion) {
        completion->device_nsec = completion->device_nsec * 10 / 7;
}

static void transfer_replays(WireCompletion *completion) {
        completion->result[1] = 500;
        script.replays += 500;
        completion->device_nsec += completion->device_nsec / 40;
}

static void transfer_slow_once(WireCompletion *completion) {
        completion->device_nsec *= script.n_runs++ == 6 ? 2 : 1;
}

static void transfer_fails_twice(WireCompletion *completion) {
        if (script.n_runs++ % 10 < 2)
                *completion = (WireCompletion) { .status = STATUS_NRT_HW_ERROR, .device_nsec = 1000 };
}

static void transfer_fails(WireCompletion *completion) {
        *completion = (WireCompletion) { .status = STATUS_NRT_HW_ERROR, .device_nsec = 1000 };
}

static void transfer_short(WireCompletion *completion) {
        completion->result[0]--;
}

static void transfer_at_once(WireCompletion *completion) {
        completion->device_nsec = 9;
}

static void lie_more_errors_than_bits(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->errors = lane->bits + 1;
}

static void lie_more_bits_than_asked(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->bits++;
}

static void lie_no_blocks(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->errors = 1;
}

static void lie_too_many_blocks(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        make_errors(lane, lane->bits / 200, lane->bits / 200);
}

/* Out of lock nearly all the time, and never by an error. */
static void lie_lock_lost_for_nothing(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->resyncs = 3;
        lane->bits = 0;
}

static void lie_no_bits(WireLane *lane, const WireLinkPrbs *prbs, unsigned l) {
        lane->bits = 0;
}

/* ---- the script ---- */

static void rewrite_lanes(Piece port, const WireCommand *command, WireLane *lanes) {
        const WireLinkPrbs *prbs = &command->prbs; /* where loopback has it, too */

        for (unsigned l = 0; l < link_port_width(port.port); l++)
                if (script.hurt && script.lanes >> l & 1 && passes(port, command) && (script.aggressor == 0 || script.aggressor & ~prbs->quiet))
                        script.hurt(&lanes[l], prbs, l);
        for (unsigned l = 0; l < link_port_width(port.port); l++)
                script.counted[port.server][port.chip][port.port] += lanes[l].errors;
}

static void rewrite(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        Piece port = { server, command->chip, command->unit };

        if (completion->status != STATUS_NRT_SUCCESS || port.chip >= CHIPS || port.port >= PORTS)
                return;
        if (command->type == COMMAND_LINK_PRBS || command->type == COMMAND_LINK_LOOPBACK)
                rewrite_lanes(port, command, (WireLane *) out);
        if (command->type == COMMAND_LINK_TRANSFER && script.transfer && is_same(port, script.at))
                script.transfer(completion);
        if (command->type == COMMAND_LINK_STATUS) {
                WireLinkStatus *status = (WireLinkStatus *) out;

                status->errors = script.blind && is_same(port, script.at) ? 0 : script.counted[server][port.chip][port.port];
                if (is_same(port, far_of(script.at)))
                        status->replays = script.replays;
                if (script.status && is_same(port, script.at))
                        script.status(status);
        }
}

static Step *scripted(void) {
        Step *step = rehearsal_new(ULTRA, "neuronlink", "us0-1");

        step->rewrite = rewrite;
        memset(script.counted, 0, sizeof(script.counted));
        script.n_runs = script.replays = 0;
        return step;
}

static const char *port_text(Piece port, char text[static LOCATION_STRING_MAX]) {
        (void) snprintf(text, LOCATION_STRING_MAX, "us0-%u/chip%u/link-%s", port.server, port.chip, link_port_to_string((LinkPort) port.port));
        return text;
}

/* ---- verdicts ---- */

#define AT(p) .at = { 1, 6, p }, .lanes = 1u << 9

static const struct {
        const char *name;
        struct Script script;
        const char *code; /* NULL: a pass */
        bool at_port;     /* else at its lane 9 */
        Verdict verdict;
        const char *says;
} verdicts[] = {
        { "1e-9", { AT(0), .site = LINE, .hurt = hurt_1e9 }, "link-errors", false, VERDICT_FAILED, "and no sound lane has more than 2" },
        { "1e-4", { AT(1), .site = LINE, .hurt = hurt_1e4 }, "link-errors", false, VERDICT_FAILED, "lane 9: error ratio 0.0001" },
        { "1e-4, all lanes", { .at = { 1, 6, 2 }, .lanes = UINT32_MAX, .site = LINE, .hurt = hurt_1e4 }, "link-errors", true, VERDICT_FAILED,
          "32 of 32 lanes" },
        { "1e-4, twelve lanes", { .at = { 1, 6, 2 }, .lanes = 0x3aff, .site = LINE, .hurt = hurt_1e4 }, "link-errors", true, VERDICT_FAILED,
          "12 of 32 lanes (0-7, 9, 11-13)" },
        { "bursts", { AT(0), .site = LINE, .hurt = hurt_in_bursts }, "link-errors", false, VERDICT_FAILED, "in bursts" },
        { "one burst", { AT(3), .site = LINE, .hurt = hurt_by_one_burst }, NULL, false, VERDICT_PASSED, NULL },
        { "low", { AT(2), .site = LINE, .hurt = hurt_low }, "link-lane", false, VERDICT_FAILED, "stands at 0" },
        { "high", { AT(4), .site = LINE, .hurt = hurt_high }, "link-lane", false, VERDICT_FAILED, "stands at 1" },
        { "never locks", { AT(0), .site = LINE, .hurt = hurt_unlocked }, "link-lane", false, VERDICT_FAILED, "never locks" },
        { "locks late", { AT(0), .site = LINE, .hurt = hurt_late }, "link-lane", false, VERDICT_FAILED, "long after" },
        { "compares nothing", { AT(0), .site = LINE, .hurt = lie_no_bits }, "link-lane", false, VERDICT_FAILED, "long after" },
        { "inverted", { AT(0), .site = LINE, .hurt = hurt_inverted }, "link-lane", false, VERDICT_FAILED, "inverted" },
        { "crossed", { AT(5), .site = LINE, .hurt = hurt_crossed }, "link-lane", false, VERDICT_FAILED, "carries the stream of lane 12" },
        { "reversed", { .at = { 1, 6, 2 }, .lanes = UINT32_MAX, .site = LINE, .hurt = hurt_crossed }, "link-lane", true, VERDICT_FAILED,
          "32 of 32 lanes: each that of another; the first carries the stream of lane 5" },
        { "all slip", { .at = { 1, 6, 2 }, .lanes = UINT32_MAX, .site = LINE, .hurt = hurt_slipping_on }, "link-clock", true, VERDICT_FAILED,
          "up to 32 bits lost" },
        { "skewed", { AT(0), .site = LINE, .hurt = hurt_skewed }, "link-lane", false, VERDICT_FAILED, "321 bits late" },
        { "slipping", { AT(0), .site = LINE, .hurt = hurt_slipping }, "link-clock", false, VERDICT_FAILED, "clock slips" },
        { "crosstalk", { AT(0), .site = LINE, .hurt = hurt_1e9, .aggressor = 1u << 10 }, "link-crosstalk", false, VERDICT_FAILED,
          "none while lane 10 is quiet" },
        { "crosstalk from afar", { AT(4), .site = LINE, .hurt = hurt_1e9, .aggressor = 1u << 0 }, "link-crosstalk", false, VERDICT_FAILED,
          "none while lane 0 is quiet" },
        { "crosstalk of two", { AT(0), .site = LINE, .hurt = hurt_1e9, .aggressor = 3u << 10 }, "link-errors", false, VERDICT_FAILED, NULL },
        { "eye 1e-12", { AT(0), .site = LINE, .hurt = hurt_eye, .closing = 4 }, "link-margin", false, VERDICT_WARNED, "degrees Celsius" },
        { "eye open", { AT(0), .site = LINE, .hurt = hurt_eye, .closing = 0 }, NULL, false, VERDICT_PASSED, NULL },
        { "eye nearly open", { AT(0), .site = LINE, .hurt = hurt_eye, .closing = 2 }, NULL, false, VERDICT_PASSED, NULL },
        { "eye at times", { AT(0), .site = LINE, .hurt = hurt_near_the_middle }, "link-errors", false, VERDICT_FAILED,
          "error ratio 1e-06 when sampled 6/64 off the middle" },
        { "narrow", { AT(0), .status = status_narrow, .transfer = transfer_quarter }, "link-degraded", true, VERDICT_FAILED, "8 lanes of 32 Gb/s" },
        { "a lane comes and goes", { AT(0), .site = RECEIVER_PCS, .hurt = hurt_low, .status = status_lane_away }, "link-lane", false,
          VERDICT_FAILED, "stands at 0" },
        { "slow lanes", { AT(0), .status = status_slow, .transfer = transfer_half }, "link-degraded", true, VERDICT_FAILED, "32 lanes of 16 Gb/s" },
        { "flap", { AT(0), .status = status_flap }, "link-flap", true, VERDICT_FAILED, "1 times" },
        { "slow payload", { AT(0), .transfer = transfer_slow }, "link-bandwidth", true, VERDICT_FAILED, "89.6 GB/s" },
        { "replays for nothing", { AT(0), .transfer = transfer_replays }, "link-bandwidth", true, VERDICT_FAILED, "5000 frames" },
        { "slow payload once", { AT(0), .transfer = transfer_slow_once }, "link-bandwidth", true, VERDICT_FAILED, "in 1 moves of 10" },
        { "no payload twice", { AT(0), .transfer = transfer_fails_twice }, "link-down", true, VERDICT_FAILED, "in 2 moves of payload of 10" },
        { "no payload", { AT(0), .transfer = transfer_fails }, "link-bandwidth", true, VERDICT_FAILED, "no payload" },
        { "too fast", { AT(0), .transfer = transfer_at_once }, "link-counter", true, VERDICT_FAILED, "figures are wrong" },
        { "counter blind", { AT(0), .site = LINE, .hurt = hurt_1e4, .blind = true }, "link-counter", true, VERDICT_FAILED, "stands still" },
        { "counter backwards", { AT(0), .status = status_backwards }, "link-counter", true, VERDICT_FAILED, "runs backwards" },
        { "counters wrap", { AT(0), .status = status_wraps }, NULL, true, VERDICT_PASSED, NULL },
        { "odd speed", { AT(0), .status = status_odd_speed }, "link-counter", true, VERDICT_FAILED, "no port can have" },
        { "up without lanes", { AT(0), .status = status_up_without_lanes }, "link-counter", true, VERDICT_FAILED, "no port can have" },
        { "errors > bits", { AT(0), .site = LINE, .hurt = lie_more_errors_than_bits }, "link-counter", true, VERDICT_FAILED, "no port can have" },
        { "bits > asked", { AT(0), .site = LINE, .hurt = lie_more_bits_than_asked }, "link-counter", true, VERDICT_FAILED, "no port can have" },
        { "errors, no blocks", { AT(0), .site = LINE, .hurt = lie_no_blocks }, "link-counter", true, VERDICT_FAILED, "no port can have" },
        { "lock lost for nothing", { AT(0), .site = LINE, .hurt = lie_lock_lost_for_nothing }, "link-counter", true, VERDICT_FAILED, "no port can have" },
        { "blocks > bits", { AT(0), .site = LINE, .hurt = lie_too_many_blocks }, "link-counter", true, VERDICT_FAILED, "no port can have" },
};

static void test_each_ailment_has_its_verdict(void **state) {
        for (size_t i = 0; i < ELEMENTS(verdicts); i++) {
                char at[LOCATION_STRING_MAX + 8];
                Verdict verdict = _VERDICT_INVALID;
                bool found = false;

                script = verdicts[i].script;
                _cleanup_rehearsal_ Step *step = scripted();

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                port_text(script.at, at);
                if (!verdicts[i].at_port)
                        (void) strcat(at, "/lane9");
                for (size_t k = 0; k < step->n_said; k++)
                        found |= verdicts[i].code && strcmp(step->said[k].code, verdicts[i].code) == 0 && strcmp(step->said[k].at, at) == 0 &&
                                 (!verdicts[i].says || strstr(step->said[k].message, verdicts[i].says));
                if (found != (verdicts[i].code != NULL) || verdict != verdicts[i].verdict ||
                    (step->n_said > (verdicts[i].code ? 1u : 0u) && !script.blind)) {
                        rehearsal_print(step);
                        fail_msg("%s: wrong verdict %d or finding", verdicts[i].name, (int) verdict);
                }
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], c == script.at.chip ? verdict : VERDICT_PASSED);
        }
}

/* A completion that says that less came through is no answer: the chip is not judged, least of all passed. */
static void test_payload_that_is_short_is_no_pass(void **state) {
        Verdict verdict = _VERDICT_INVALID;

        script = (struct Script) { AT(0), .transfer = transfer_short };
        _cleanup_rehearsal_ Step *step = scripted();

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(step->parts[6], VERDICT_ERROR);
}

/* ---- the ladder ---- */

static const char *const stages[_SITE_MAX] = {
        [TRANSMITTER_PCS] = "this transmitter's PCS", [TRANSMITTER_PMA] = "this transmitter's PMA", [LINE] = "the line",
        [RECEIVER_PMA] = "this receiver's PMA", [RECEIVER_PCS] = "this receiver's PCS",
};

/* Each piece on the way into each kind of port: the first stage that fails names it, and a transmitter is found where it stands. */
static void test_the_ladder_names_the_piece_that_is_broken(void **state) {
        static void (*const hurts[])(WireLane *, const WireLinkPrbs *, unsigned) = { hurt_1e9, hurt_low, hurt_crossed };

        for (size_t h = 0; h < ELEMENTS(hurts); h++)
                for (unsigned port = 0; port < PORTS; port++)
                        for (unsigned site = 0; site < _SITE_MAX; site++) {
                                char at[LOCATION_STRING_MAX + 8];
                                Verdict verdict = _VERDICT_INVALID;
                                bool at_far = site == TRANSMITTER_PCS || site == TRANSMITTER_PMA;
                                Piece blamed;

                                script = (struct Script) { AT(port), .site = (Site) site, .hurt = hurts[h] };
                                blamed = at_far ? far_of(script.at) : script.at;
                                _cleanup_rehearsal_ Step *step = scripted();

                                assert_int_equal(rehearsal_run(step, &verdict), 0);
                                port_text(blamed, at);
                                (void) strcat(at, "/lane9");
                                if (step->n_said != 1 || strcmp(step->said[0].at, at) != 0 || !strstr(step->said[0].message, stages[site])) {
                                        rehearsal_print(step);
                                        fail_msg("port %u, site %u: not at %s", port, site, at);
                                }
                                assert_int_equal(verdict, VERDICT_FAILED);
                                for (unsigned c = 0; c < CHIPS; c++) {
                                        bool blame = blamed.server == 1 && c == blamed.chip;

                                        assert_int_equal(step->parts[c], blame ? VERDICT_FAILED : VERDICT_PASSED);
                                        assert_true(step->ports_tested[c] == 6);
                                }
                        }
}

/* The same of an eye that is close to failing, as far as signals go. */
static void test_loops_off_the_middle_name_the_piece_that_closes_the_eye(void **state) {
        for (unsigned port = 0; port < PORTS; port++)
                for (unsigned site = TRANSMITTER_PMA; site <= RECEIVER_PMA; site++) {
                        char at[LOCATION_STRING_MAX + 8];
                        Verdict verdict = _VERDICT_INVALID;

                        script = (struct Script) { AT(port), .site = (Site) site, .hurt = hurt_eye, .closing = 4 };
                        port_text(site == TRANSMITTER_PMA ? far_of(script.at) : script.at, at);
                        (void) strcat(at, "/lane9");
                        _cleanup_rehearsal_ Step *step = scripted();

                        assert_int_equal(rehearsal_run(step, &verdict), 0);
                        assert_int_equal(step->n_said, 1);
                        assert_string_equal(step->said[0].code, "link-margin");
                        assert_string_equal(step->said[0].at, at);
                        assert_non_null(strstr(step->said[0].message, stages[site]));
                        assert_int_equal(verdict, VERDICT_WARNED);
                }
}

/* An eye so narrow that a lane fails, with errors too rare to come back in every loop: its edges tell. On the line nothing does. */
static void test_lanes_that_fail_rarely_are_placed_by_their_edges(void **state) {
        for (unsigned port = 0; port < PORTS; port++)
                for (unsigned site = TRANSMITTER_PMA; site <= RECEIVER_PMA; site++) {
                        char at[LOCATION_STRING_MAX + 8];
                        Verdict verdict = _VERDICT_INVALID;

                        script = (struct Script) { AT(port), .site = (Site) site, .hurt = hurt_eye, .closing = 5.65 };
                        port_text(site == TRANSMITTER_PMA ? far_of(script.at) : script.at, at);
                        (void) strcat(at, "/lane9");
                        _cleanup_rehearsal_ Step *step = scripted();

                        assert_int_equal(rehearsal_run(step, &verdict), 0);
                        assert_int_equal(step->n_said, 1);
                        assert_string_equal(step->said[0].code, "link-errors");
                        assert_string_equal(step->said[0].at, at);
                        assert_true(site == LINE ? !strstr(step->said[0].message, "PMA") : !!strstr(step->said[0].message, stages[site]));
                        assert_int_equal(verdict, VERDICT_FAILED);
                }
}

/* The only attribute that is read in so few bytes is the temperature. */
static void heat_far_chip(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        Piece far = far_of(script.at);

        if (command->type == COMMAND_ATTRIBUTE && server == far.server && command->chip == far.chip && completion->out_bytes < 8) {
                memcpy(out, "99\n", 3);
                completion->out_bytes = 3;
        }
        rewrite(step, server, command, out, completion);
}

/* … and the temperature that is told is that of the chip it is in. */
static void test_a_narrow_eye_is_told_with_the_temperature_of_its_chip(void **state) {
        for (unsigned site = TRANSMITTER_PMA; site <= RECEIVER_PMA; site++) {
                script = (struct Script) { AT(LINK_Z_PLUS), .site = (Site) site, .hurt = hurt_eye, .closing = 4 };
                _cleanup_rehearsal_ Step *step = scripted();
                Verdict verdict = _VERDICT_INVALID;

                step->rewrite = heat_far_chip;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                assert_int_equal(step->n_said, 1);
                assert_non_null(strstr(step->said[0].message, "degrees Celsius"));
                assert_int_equal(strstr(step->said[0].message, "at 99 degrees Celsius") != NULL, site == TRANSMITTER_PMA);
        }
}

/* A port is down, and its far end is up and takes no loopback: two that say of themselves that nothing is wrong with them cannot both pass. */
static void refuse_loopback(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        Piece port = { server, command->chip, command->unit };
        WireLinkStatus *status = (WireLinkStatus *) out;

        if (command->type == COMMAND_LINK_STATUS && is_same(port, script.at)) {
                status->up = status->width = 0;
                status->lane_gbps = 0;
        } else if (command->type == COMMAND_LINK_LOOPBACK && is_same(port, far_of(script.at)))
                *completion = (WireCompletion) { .status = STATUS_NRT_UNSUPPORTED };
        else if (command->type <= COMMAND_LINK_TRANSFER && command->type >= COMMAND_LINK_RECEIVE && is_same(port, script.at) &&
                 command->type != COMMAND_LINK_LOOPBACK)
                *completion = (WireCompletion) { .status = STATUS_NRT_HW_ERROR };
}

static void test_a_port_that_is_down_is_no_pass_where_its_far_end_refuses(void **state) {
        for (unsigned port = 0; port < PORTS; port++) {
                Verdict verdict = _VERDICT_INVALID;
                char at[LOCATION_STRING_MAX];

                script = (struct Script) { AT(port) };
                _cleanup_rehearsal_ Step *step = scripted();

                step->rewrite = refuse_loopback;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                if (!rehearsal_said(step, "link-down", port_text(far_of(script.at), at))) {
                        rehearsal_print(step);
                        fail_msg("port %u: %s is not blamed", port, at);
                }
                assert_int_equal(verdict, VERDICT_FAILED);
                assert_int_equal(step->parts[6], VERDICT_PASSED);
        }
}

/* How many bits a port was asked to compare by PRBS without offset. */
static uint64_t bits_asked[CHIPS][PORTS];

static void count_bits(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        if (server == 1 && command->type == COMMAND_LINK_PRBS && command->prbs.offset == 0)
                bits_asked[command->chip][command->unit] += command->prbs.bits;
        rewrite(step, server, command, out, completion);
}

/* Lanes that are grossly wrong are known after the first look: a link of which all are gets no long one, and the others do. */
static void test_gross_faults_need_no_long_look(void **state) {
        static void (*const hurts[])(WireLane *, const WireLinkPrbs *, unsigned) = { hurt_1e4, hurt_low, hurt_inverted, hurt_slipping };

        for (size_t h = 0; h < ELEMENTS(hurts); h++) {
                Verdict verdict = _VERDICT_INVALID;

                script = (struct Script) { .at = { 1, 6, LINK_Y_PLUS }, .lanes = UINT32_MAX, .site = LINE, .hurt = hurts[h] };
                _cleanup_rehearsal_ Step *step = scripted();

                step->rewrite = count_bits;
                memset(bits_asked, 0, sizeof(bits_asked));
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                assert_int_equal(verdict, VERDICT_FAILED);
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS; p++)
                                assert_in_range(bits_asked[c][p], c == 6 && p == LINK_Y_PLUS ? 1 : 95000000000,
                                                c == 6 && p == LINK_Y_PLUS ? 1000000000 : UINT64_MAX);
        }
}

static void count_loops(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        if (command->type == COMMAND_LINK_LOOPBACK)
                bits_asked[command->chip][command->unit] = command->loopback.prbs.bits;
        rewrite(step, server, command, out, completion);
}

/* A burst spoils several blocks at a time and comes once: a loop is as long as ten of them take. */
static void test_loops_wait_for_bursts_and_not_for_their_blocks(void **state) {
        Verdict verdict = _VERDICT_INVALID;

        script = (struct Script) { AT(LINK_Y_PLUS), .site = LINE, .hurt = hurt_in_long_bursts };
        _cleanup_rehearsal_ Step *step = scripted();

        step->rewrite = count_loops;
        memset(bits_asked, 0, sizeof(bits_asked));
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_true(rehearsal_said(step, "link-errors", "us0-1/chip6/link-y+/lane9"));
        assert_in_range(bits_asked[6][LINK_Y_PLUS], 18000000000, 30000000000);
}

/* ---- lies without a plan ---- */

static uint64_t noise;
static unsigned lie_every;

static void lie_at_random(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        if (server != 1 || command->chip != 6 || command->type < COMMAND_LINK_STATUS || command->type > COMMAND_LINK_TRANSFER)
                return;
        for (uint32_t i = 0; i < completion->out_bytes; i++) {
                noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407;
                if (noise >> 33 & 1 && (noise >> 40) % lie_every == 0)
                        out[i] ^= (uint8_t) (noise >> 56);
        }
        if ((noise >> 24) % lie_every == 0)
                completion->result[0] ^= noise;
}

/* A chip whose ports say anything at all: the check ends, soon, no other chip has to answer for it, and it does not pass. */
static void test_ports_that_say_anything_end_and_do_not_pass(void **state) {
        script = (struct Script) { AT(0) };
        for (lie_every = 1; lie_every < 100; lie_every *= 3)
                for (unsigned seed = 0; seed < 6; seed++) {
                        Verdict verdict = _VERDICT_INVALID;
                        _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "neuronlink", "us0-1");

                        step->rewrite = lie_at_random;
                        noise = seed * 7919 + lie_every;
                        assert_int_equal(rehearsal_run(step, &verdict), 0);
                        assert_true(step->n_batches < 1000);
                        for (unsigned c = 0; c < CHIPS; c++) {
                                if ((step->parts[c] == VERDICT_PASSED) != (c != 6))
                                        rehearsal_print(step);
                                assert_int_equal(step->parts[c] == VERDICT_PASSED, c != 6);
                        }
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_ailment_has_its_verdict),
                cmocka_unit_test(test_payload_that_is_short_is_no_pass),
                cmocka_unit_test(test_the_ladder_names_the_piece_that_is_broken),
                cmocka_unit_test(test_a_port_that_is_down_is_no_pass_where_its_far_end_refuses),
                cmocka_unit_test(test_loops_off_the_middle_name_the_piece_that_closes_the_eye),
                cmocka_unit_test(test_a_narrow_eye_is_told_with_the_temperature_of_its_chip),
                cmocka_unit_test(test_lanes_that_fail_rarely_are_placed_by_their_edges),
                cmocka_unit_test(test_loops_wait_for_bursts_and_not_for_their_blocks),
                cmocka_unit_test(test_gross_faults_need_no_long_look),
                cmocka_unit_test(test_ports_that_say_anything_end_and_do_not_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
