/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a server's scans, one after the other, come to: a table of sequences with the answer that a technician would give, and random ones
 * against a model that keeps all looks and asks of each failure whether anybody has looked there since.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/manager.h"
#include "daemon/record/log/log.h"
#include "daemon/standing.h"
#include "daemon/tally-parts.h"
#include "daemon/unrecorded.h"
#include "tests/draw.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define SEQUENCES 20 /* STANDING_SEQUENCES for more */
#define LOOKS_MAX 7

static Place place;
static Manager manager; /* which has a log and no more */
static Server server;
static RecordDiagnosis diagnoses[SERVER_CHIPS];
static RecordStep own[1];
static RecordStep steps[SERVER_CHIPS][SERVER_STEPS];

/* What a scan finds of a chip, or of what lies in none. */
typedef enum Found {
        NOTHING, /* it was not scanned */
        PASS,
        WARN,
        CELL,    /* fails in its memory */
        LINK,    /* fails at a link */
        LONE,    /* passes, and nobody asked for its links */
        SICK,    /* the same, and its memory fails */
        HANG,    /* could not be judged */
        _FOUND_MAX,
        BOTH = _FOUND_MAX, /* in the table alone, as what follows: fails in its memory and at a link that it left out as well */
        GAP,     /* passes, and left out that link */
        PAIR,    /* passes, but for packets that want more adapters than were asked for */
        FEW,     /* passes, but for packets, and nobody says why */
} Found;

typedef enum ScanPlan { PREFLIGHT, PRODUCTION, INFLEET, _PLAN_MAX } ScanPlan;

static const struct {
        const char *name;
        Stage stage;
} plans[_PLAN_MAX] = { { "preflight", STAGE_PREFLIGHT }, { "production", STAGE_PRODUCTION }, { "infleet", STAGE_INFLEET } };

/* The contents of the plan at that time: files are changed and keep their name. */
typedef enum Cut {
        FULL,
        NO_MEMORY, /* its first step, the memory's, is not there */
        NO_LINKS,  /* nor is the links' */
        NO_EFA,    /* nor the one that sees the fabric */
        RENAMED,   /* the memory's is called otherwise */
        SHORT,     /* the memory's tests half as much */
        SLICED,    /* and one region of what it tests, which is not where anything fails */
        _CUT_MAX,
} Cut;

/* Of what a plan says, whatever it is called. */
static const char *const digests[_CUT_MAX] = {
        [FULL] = "0011223344556677889900112233445566778899001122334455667788990011",
        [NO_MEMORY] = "1011223344556677889900112233445566778899001122334455667788990011",
        [NO_LINKS] = "2011223344556677889900112233445566778899001122334455667788990011",
        [NO_EFA] = "3011223344556677889900112233445566778899001122334455667788990011",
        [RENAMED] = "4011223344556677889900112233445566778899001122334455667788990011",
        [SHORT] = "5011223344556677889900112233445566778899001122334455667788990011",
        [SLICED] = "6011223344556677889900112233445566778899001122334455667788990011",
};

typedef struct Look {
        ScanPlan plan;
        Cut cut;
        Found chips[SERVER_CHIPS];
        bool fabric_fails; /* with all chips alone */
} Look;

static bool is_whole(const Look *look) {
        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                if (look->chips[c] == NOTHING)
                        return false;
        return true;
}

static Result result_of(Found found) {
        return found == PASS || found == GAP ? RESULT_PASSED : found == WARN ? RESULT_WARNED : found == LONE || found == HANG || found == PAIR || found == FEW ? RESULT_INCONCLUSIVE : RESULT_FAILED;
}

/* ---- as the daemon signs it ---- */

static const char *const counts[] = { "hbm_bytes_tested", NULL };
static Measurement bytes[SERVER_CHIPS][2];
static RecordRegions sliced;
static RecordRegionTest slice;

/* The measurement that counts comes with the step; what the plan no longer has is taken out of the chip's record. */
static void cut_chip(unsigned c, Cut cut) {
        RecordStep *memory = &server.steps[c][0];
        size_t n = 0;

        bytes[c][0] = server.measurements[c][0];
        bytes[c][1] = (Measurement) { "hbm_bytes_tested", cut == SHORT ? 5e10 : 1e11, "By", LIMIT_NONE, 0, server.chips[c].subject.where };
        memory->counts = counts;
        memory->n_measurements = 2;
        memory->measurements = bytes[c];
        if (cut == RENAMED)
                memory->name = "memory";
        if (cut == SLICED) {
                slice = (RecordRegionTest) { server.scan.run.id, server.scan.run.finished_usec, "7" };
                sliced = (RecordRegions) { .partition = "sid 3 row 16384/32", .total = 96, .position = 8, .since_usec = slice.usec, .occupied = "",
                                           .failed = "", .n_tests = 1, .tests = &slice };
                memory->regions = &sliced;
        }
        for (unsigned k = 0; k < SERVER_STEPS; k++)
                if ((cut != NO_MEMORY || k != 0) && (cut != NO_LINKS || k != 2) && (cut != NO_EFA || k != 3))
                        steps[c][n++] = server.steps[c][k];
        server.chips[c].steps = steps[c];
        server.chips[c].n_steps = n;
}

/* At the first link of chip C. */
static void leave_out_link(unsigned c) {
        Measurement *measurement = &server.measurements[c][2];

        *measurement = (Measurement) { "neuronlink_untested_out_of_scan", 1, "{port}", LIMIT_NONE, 0, server.chips[c].subject.where };
        (void) location_append(&measurement->where, LOCATION_LINK, 0);
}

static void set_link_failed(unsigned c) {
        static RecordDiagnosis diagnosis;
        RecordStep *link = &server.steps[c][2];

        diagnosis = diagnoses[c];
        diagnosis.code = "link-errors";
        diagnosis.where = server.chips[c].subject.where;
        (void) location_append(&diagnosis.where, LOCATION_LINK, 0);
        link->n_diagnoses = 1;
        link->diagnoses = &diagnosis;
        link->verdict = VERDICT_FAILED;
}

/* Fewer packets were sent than the plan promises. */
static void set_few_packets(unsigned c, bool is_unasked) {
        static const char *const packets[] = { "efa_packets_accounted", NULL };
        static RecordPromise promises[2];
        static Measurement sent[2];
        RecordStep *efa = &server.steps[c][3];

        promises[0] = server.promise;
        promises[1] = (RecordPromise) { packets[0], 526, 1000 };
        sent[0] = (Measurement) { packets[0], 526, "{packet}", LIMIT_NONE, 0, server.chips[c].subject.where };
        sent[1] = (Measurement) { "efa_chips_not_requested", is_unasked ? 14 : 0, "{chip}", LIMIT_NONE, 0, server.chips[c].subject.where };
        efa->counts = packets;
        efa->n_measurements = 2;
        efa->measurements = sent;
        server.chips[c].n_promises = 2;
        server.chips[c].promises = promises;
}

static void set_chip(unsigned c, Found found) {
        RecordStep *memory = &server.steps[c][0], *link = &server.steps[c][2], *bad = found == LINK ? link : memory;

        server.steps[c][0].regions = NULL;
        server.measurements[c][1].value = 0;
        server.steps[c][1].n_diagnoses = 0;
        server.steps[c][1].verdict = VERDICT_PASSED;
        server.chips[c].result = result_of(found);
        if (found == CELL || found == SICK || found == LINK || found == WARN || found == BOTH) {
                diagnoses[c] = server.diagnosis;
                diagnoses[c].code = found == LINK ? "link-errors" : found == WARN ? "link-margin" : "hbm-cell";
                diagnoses[c].severity = found == WARN ? SEVERITY_WARN : SEVERITY_FAIL;
                diagnoses[c].where = server.chips[c].subject.where;
                (void) location_append(&diagnoses[c].where, found == LINK ? LOCATION_LINK : LOCATION_HBM, 0);
                bad->n_diagnoses = 1;
                bad->diagnoses = &diagnoses[c];
                bad->verdict = found == WARN ? VERDICT_WARNED : VERDICT_FAILED;
        }
        if (found == BOTH)
                set_link_failed(c);
        if (found == BOTH || found == GAP)
                leave_out_link(c);
        if (found == PAIR || found == FEW)
                set_few_packets(c, found == PAIR);
        if (found == LONE || found == SICK || found == HANG) {
                link->verdict = found == HANG ? VERDICT_ERROR : VERDICT_SKIPPED;
                link->reason = found == HANG ? REASON_DEVICE_TIMEOUT : REASON_NOT_REQUESTED;
                link->message = "no link has both its ends in this scan";
                link->n_measurements = 0;
        }
}

static void set_fabric(bool fails, Cut cut) {
        static RecordDiagnosis diagnosis;

        diagnosis = server.diagnosis;
        diagnosis.code = "efa-plane";
        diagnosis.where = server.scan.server.where;
        own[0] = server.own;
        if (cut == NO_EFA)
                own[0].name = own[0].check = "identity";
        own[0].verdict = fails ? VERDICT_FAILED : VERDICT_PASSED;
        own[0].n_diagnoses = fails;
        own[0].diagnoses = &diagnosis;
        server.scan.steps = own;
        server.scan.n_steps = 1;
}

static void sign(const char *name, const Look *look) {
        static uint64_t finished = 1795252449500000;
        RecordHealth chips[SERVER_CHIPS];
        Result worst;

        server_init(&server);
        server.scan.server.where = server_location(name);
        server.scan.run.plan = plans[look->plan].name;
        server.scan.run.stage = plans[look->plan].stage;
        server.scan.run.plan_sha256 = digests[look->cut];
        server.scan.run.finished_usec = finished += 1000000;
        server.scan.n_chips = 0;
        worst = is_whole(look) ? RESULT_PASSED : RESULT_INCONCLUSIVE;
        for (unsigned c = 0; c < SERVER_CHIPS; c++) {
                server.chips[c].subject.where = server.scan.server.where;
                (void) location_append(&server.chips[c].subject.where, LOCATION_CHIP, c);
                server.chips[c].host = server.scan.server;
                for (unsigned k = 0; k < SERVER_STEPS + 1; k++)
                        server.measurements[c][k].where = server.chips[c].subject.where;
                set_chip(c, look->chips[c]);
                cut_chip(c, look->cut);
                if (look->chips[c] == NOTHING)
                        continue;
                worst = result_worst(worst, server.chips[c].result);
                chips[server.scan.n_chips++] = server.chips[c];
        }
        server.scan.chips = chips;
        set_fabric(look->fabric_fails, look->cut);
        server.scan.result = look->fabric_fails ? RESULT_FAILED : worst;
        (void) server_scan(&server, manager.log);
}

/* ---- as anybody would work it out ---- */

static bool fails(Found found) {
        return found == CELL || found == LINK || found == SICK;
}

static bool is_in_part(Found found) {
        return found == LONE || found == SICK;
}

static unsigned depth_of(ScanPlan plan) {
        static const unsigned depths[_PLAN_MAX] = { [INFLEET] = 0, [PREFLIGHT] = 1, [PRODUCTION] = 2 };

        return depths[plan];
}

static bool looks_deep_enough(ScanPlan later, ScanPlan before) {
        return depth_of(later) > 0 && depth_of(later) >= depth_of(before);
}

/* Whether the plan of LATER still had what failed BEFORE in it, and no less of it. A memory fails in the second stack, of which no slice is all. */
static bool has_step(const Look *later, const Look *before, Found failed) {
        if (failed == LINK)
                return later->cut != NO_LINKS;
        if (later->cut == SLICED)
                return before->cut == SLICED && later->plan == before->plan; /* it remembers its own regions */
        if (before->cut == RENAMED || later->cut == RENAMED)
                return before->cut == later->cut;
        return later->cut != NO_MEMORY && (later->cut != SHORT || before->cut == SHORT);
}

/* Whether LATER has looked at where the chip failed BEFORE. */
static bool clears(const Look *later, const Look *before, unsigned c) {
        Found now = later->chips[c], failed = before->chips[c];
        bool passed = now == PASS || now == WARN;

        if (now == NOTHING || (later->plan != before->plan && !(passed && looks_deep_enough(later->plan, before->plan))))
                return false;
        return has_step(later, before, failed) && (failed != LINK || !(is_in_part(now) || now == HANG));
}

static bool has_standing_failure(const Look *looks, size_t n, unsigned c) {
        for (size_t i = 0; i < n; i++) {
                bool stands = fails(looks[i].chips[c]);

                for (size_t k = i + 1; k < n; k++)
                        stands = stands && !clears(&looks[k], &looks[i], c);
                if (stands)
                        return true;
        }
        return false;
}

static const Look *newest_of(const Look *looks, size_t n, ScanPlan plan, unsigned c) {
        const Look *newest = NULL;

        for (size_t i = 0; i < n; i++)
                if (looks[i].plan == plan && looks[i].chips[c] != NOTHING)
                        newest = &looks[i];
        return newest;
}

/*
 * The last word of a plan is a failure until its own next word, or until the last word of another is a newer pass that looks at as much. A pass that
 * has had its own plan's doubt after it says nothing any more: then the failure is told rather than the doubt.
 */
static bool ends_in_failure(const Look *looks, size_t n, unsigned c) {
        for (ScanPlan plan = 0; plan < _PLAN_MAX; plan++) {
                const Look *failed = newest_of(looks, n, plan, c);
                bool stands = failed && fails(failed->chips[c]);

                for (ScanPlan other = 0; other < _PLAN_MAX && stands; other++) {
                        const Look *later = newest_of(looks, n, other, c);

                        stands = !(later > failed && (later->chips[c] == PASS || later->chips[c] == WARN) && looks_deep_enough(other, plan) &&
                                   has_step(later, failed, failed->chips[c]));
                }
                if (stands)
                        return true;
        }
        return false;
}

/* PLAN negative: any. */
static bool is_of(const Look *look, int plan) {
        return plan < 0 || look->plan == (ScanPlan) plan;
}

/* Asked for no plan, a pass of a part says nothing. */
static bool is_lesser(const Look *look, int plan, Result result) {
        return plan < 0 && depth_of(look->plan) == 0 && (result == RESULT_PASSED || result == RESULT_WARNED);
}

/* A later look of the same plan hides this one; and a pass of a part says nothing. */
static bool is_hidden(const Look *looks, size_t n, size_t i, int plan, unsigned c) {
        return is_lesser(&looks[i], plan, result_of(looks[i].chips[c])) || newest_of(looks, n, looks[i].plan, c) != &looks[i];
}

static bool has_newer_whole(const Look *looks, size_t n, size_t i, unsigned c) {
        for (size_t k = i + 1; k < n; k++)
                if (looks[k].plan == looks[i].plan && looks[k].chips[c] != NOTHING && !is_in_part(looks[k].chips[c]))
                        return true;
        return false;
}

static Result model_chip(const Look *looks, size_t n, int plan, unsigned c) {
        const Look *newest = NULL, *whole = NULL;
        bool is_superseded = false;

        for (size_t i = 0; i < n; i++) {
                Found found = looks[i].chips[c];

                if (found == NOTHING || !is_of(&looks[i], plan) || is_hidden(looks, n, i, plan, c))
                        continue;
                newest = &looks[i];
        }
        for (size_t i = 0; i < n; i++) {
                Found found = looks[i].chips[c];

                if (found == NOTHING || !newest || !is_of(&looks[i], plan) || is_lesser(&looks[i], plan, result_of(found)) || has_newer_whole(looks, n, i, c))
                        continue;
                if (!is_in_part(found) && depth_of(looks[i].plan) >= depth_of(newest->plan)) {
                        whole = &looks[i];
                        is_superseded = false;
                } else if (whole && whole->plan == looks[i].plan)
                        is_superseded = true;
        }
        if (has_standing_failure(looks, n, c) || ends_in_failure(looks, n, c))
                return RESULT_FAILED;
        if (!newest)
                return RESULT_INCONCLUSIVE;
        return result_of(!whole || (fails(whole->chips[c]) && is_superseded) ? newest->chips[c] : whole->chips[c]);
}

static bool all_pass(const Look *look) {
        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                if (look->chips[c] != PASS && look->chips[c] != WARN)
                        return false;
        return !look->fabric_fails;
}

/* Only scans of all chips look there. */
static Result model_own(const Look *looks, size_t n, int plan) {
        const Look *newest = NULL;

        for (size_t i = 0; i < n; i++)
                if (is_of(&looks[i], plan))
                        newest = is_whole(&looks[i]) && !is_lesser(&looks[i], plan, looks[i].fabric_fails ? RESULT_FAILED : RESULT_PASSED) ? &looks[i] : newest;
        for (size_t i = 0; i < n; i++) {
                bool stands = looks[i].fabric_fails;

                for (size_t k = i + 1; k < n; k++)
                        if (is_whole(&looks[k]) && looks[k].cut != NO_EFA && (looks[k].plan == looks[i].plan || (all_pass(&looks[k]) && looks_deep_enough(looks[k].plan, looks[i].plan))))
                                stands = false;
                if (stands)
                        return RESULT_FAILED;
        }
        return !newest ? RESULT_INCONCLUSIVE : newest->fabric_fails ? RESULT_FAILED : RESULT_PASSED;
}

/* ---- both ---- */

static RecordPart parts[STANDING_PARTS];

static void describe(const Look *looks, size_t n) {
        static const char words[_FOUND_MAX + 1] = "-.wClLSh";

        for (size_t i = 0; i < n; i++) {
                char text[SERVER_CHIPS + 1] = "";

                for (unsigned c = 0; c < SERVER_CHIPS; c++)
                        text[c] = words[looks[i].chips[c]];
                print_message("# %s %s%s, cut %d\n", plans[looks[i].plan].name, text, looks[i].fabric_fails ? " and its fabric" : "", looks[i].cut);
        }
}

static void assert_part(const char *name, const Look *looks, size_t n, int plan, size_t i, Result expected) {
        if (parts[i].result == expected)
                return;
        describe(looks, n);
        fail_msg("%s, plan %s, part %zu: %s (%s), not %s", name, plan < 0 ? "any" : plans[plan].name, i, result_to_string(parts[i].result), parts[i].reason,
                 result_to_string(expected));
}

static void assert_as_modelled(const char *name, const Look *looks, size_t n, int plan) {
        Location where = server_location(name);
        Result worst = model_own(looks, n, plan);
        RecordPart standing;

        (void) standing_parts(&manager, &where, plan < 0 ? NULL : plans[plan].name, 0, parts);
        assert_part(name, looks, n, plan, 0, worst);
        for (unsigned c = 0; c < SERVER_CHIPS; c++) {
                Result chip = model_chip(looks, n, plan, c);

                assert_part(name, looks, n, plan, c + 1, chip);
                worst = result_worst(worst, chip);
        }
        (void) standing_read(&manager, &where, plan < 0 ? NULL : plans[plan].name, 0, &standing);
        assert_int_equal(standing.result, worst);
}

/* Nothing is found, nor left out, by a step that is not there. */
static bool cut_has(Cut cut, Found found) {
        if (cut == NO_MEMORY)
                return found != CELL && found != SICK && found != WARN;
        return cut != NO_LINKS || (found != LINK && found != LONE && found != SICK && found != HANG);
}

static void draw_look(Look *look) {
        bool whole = draw() % 3 == 0;

        *look = (Look) { .plan = draw() % 5 ? draw() % 2 : INFLEET, .cut = draw() % 2 ? FULL : draw() % _CUT_MAX };
        look->fabric_fails = whole && look->cut != NO_EFA && draw() % 5 == 0;
        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                if (whole)
                        look->chips[c] = draw() % 12 ? PASS : PASS + draw() % (_FOUND_MAX - PASS);
        if (!whole)
                look->chips[draw() % 3] = PASS + draw() % (_FOUND_MAX - PASS);
        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                if (!cut_has(look->cut, look->chips[c]))
                        look->chips[c] = PASS;
}

static Look (*sequences)[LOOKS_MAX];
static unsigned n_sequences = SEQUENCES;

static void assert_sequences(void) {
        for (unsigned s = 0; s < n_sequences; s++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "trn-%u", s);
                for (int plan = -1; plan < INFLEET; plan++)
                        assert_as_modelled(name, sequences[s], LOOKS_MAX, plan);
        }
}

static void test_any_sequence_stands_as_the_model_says(void **state) {
        const char *more = getenv("STANDING_SEQUENCES");

        n_sequences = more ? (unsigned) atoi(more) : SEQUENCES;
        sequences = calloc(n_sequences, sizeof(*sequences));
        for (unsigned s = 0; s < n_sequences; s++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "trn-%u", s);
                for (size_t i = 0; i < LOOKS_MAX; i++) {
                        draw_look(&sequences[s][i]);
                        sign(name, &sequences[s][i]);
                        for (int plan = -1; plan < INFLEET; plan++)
                                assert_as_modelled(name, sequences[s], i + 1, plan);
                }
        }
        /* What comes back with the next start is worked out from the records. */
        (void) record_log_free(manager.log);
        assert_int_equal(place_open(&place, &manager.log, NULL), 0);
        assert_sequences();
        free(sequences);
}

/* One letter a chip, as describe() has them: all sixteen alike, or chip 2 alone. */
typedef struct Step {
        ScanPlan plan;
        Found all, lone; /* ALL NOTHING: chip 2 alone; else chip 2 is LONE where that is not NOTHING */
        bool fabric_fails;
        Cut cut;
} Step;

static const struct {
        const char *sentence;
        Step steps[4];
        size_t n;
        const char *plan; /* NULL: any */
        Result result;
        const char *line;
} cases[] = {
        { "a scan of one chip takes no pass away", { { PRODUCTION, PASS }, { PREFLIGHT, NOTHING, LONE } }, 2, NULL, RESULT_PASSED, "16 chips passed" },
        { "nor under the same plan", { { PREFLIGHT, PASS }, { PREFLIGHT, NOTHING, LONE } }, 2, "preflight", RESULT_PASSED, "16 chips passed" },
        { "nor one of two, whose adapters want more of them", { { PREFLIGHT, PASS }, { PREFLIGHT, NOTHING, PAIR } }, 2, NULL, RESULT_PASSED, "16 chips passed" },
        { "but where nobody says why, a promise that was not kept does", { { PREFLIGHT, PASS }, { PREFLIGHT, NOTHING, FEW } }, 2, NULL, RESULT_INCONCLUSIVE,
          "chip2: efa_packets_accounted reached 526 of 1000" },
        { "and clears no server", { { PREFLIGHT, NOTHING, PASS } }, 1, NULL, RESULT_INCONCLUSIVE, "no scan of all its chips tells of what lies between them; 15 more unknown" },
        { "nor what another plan never saw", { { PRODUCTION, PASS }, { PREFLIGHT, NOTHING, LONE } }, 2, "preflight", RESULT_INCONCLUSIVE, "no scan of all its chips" },
        { "but what it finds counts", { { PRODUCTION, PASS }, { PREFLIGHT, NOTHING, SICK } }, 2, "production", RESULT_FAILED, "chip2 hbm: hbm-cell at hbm0" },
        { "until it has passed there", { { PRODUCTION, PASS }, { PREFLIGHT, NOTHING, SICK }, { PREFLIGHT, NOTHING, LONE } }, 3, NULL, RESULT_PASSED, "16 chips passed" },
        { "who looks at less passes nothing in place of a part",
          { { PREFLIGHT, PASS, CELL }, { INFLEET, NOTHING, PASS }, { PREFLIGHT, NOTHING, LONE } }, 3, NULL, RESULT_INCONCLUSIVE,
          "chip2: not tested: neuronlink (no link has both its ends in this scan)" },
        { "a link is not cleared by who did not look", { { PREFLIGHT, PASS, LINK }, { PREFLIGHT, NOTHING, LONE } }, 2, NULL, RESULT_FAILED, "chip2 neuronlink: link-errors at link-" },
        { "nor by who left it out, where it had been left out before as well", { { PREFLIGHT, PASS, BOTH }, { PREFLIGHT, PASS, GAP } }, 2, NULL, RESULT_FAILED,
          "chip2 neuronlink: link-errors at link-x+, neuronlink: left out since" },
        { "but by who looked", { { PREFLIGHT, PASS, BOTH }, { PREFLIGHT, PASS, GAP }, { PREFLIGHT, PASS } }, 3, NULL, RESULT_PASSED, "16 chips passed" },
        { "one chip's scan hides no other's failure", { { PREFLIGHT, CELL }, { PREFLIGHT, NOTHING, PASS } }, 2, NULL, RESULT_FAILED, "chip0 hbm: hbm-cell at hbm0; 14 more failed" },
        { "what hangs is not known", { { PREFLIGHT, PASS }, { PREFLIGHT, NOTHING, HANG } }, 2, NULL, RESULT_INCONCLUSIVE, "chip2: not tested: neuronlink (no link has both its ends in this scan)" },
        { "what lies between chips fails the server", { { PREFLIGHT, PASS, NOTHING, true }, { PREFLIGHT, NOTHING, PASS } }, 2, NULL, RESULT_FAILED, "efa: efa-plane" },
        { "until all were looked at", { { PREFLIGHT, PASS, NOTHING, true }, { PREFLIGHT, PASS } }, 2, NULL, RESULT_PASSED, "16 chips passed" },
        { "a plan that lost the step clears nothing of it", { { PREFLIGHT, PASS, CELL }, { PREFLIGHT, PASS, .cut = NO_MEMORY } }, 2, NULL, RESULT_FAILED,
          "chip2 hbm: hbm-cell at hbm0" },
        { "nor under its own name", { { PREFLIGHT, PASS, CELL }, { PREFLIGHT, PASS, .cut = NO_MEMORY } }, 2, "preflight", RESULT_FAILED, "chip2 hbm: hbm-cell at hbm0" },
        { "nor does one that looks at more elsewhere", { { PREFLIGHT, PASS, CELL }, { PRODUCTION, NOTHING, PASS, .cut = NO_MEMORY } }, 2, NULL, RESULT_FAILED,
          "chip2 hbm: hbm-cell at hbm0" },
        { "nor one whose step is called otherwise", { { PREFLIGHT, PASS, CELL }, { PRODUCTION, PASS, .cut = RENAMED } }, 2, NULL, RESULT_FAILED, "chip2 hbm: hbm-cell" },
        { "nor one that tests less of it", { { PREFLIGHT, PASS, CELL }, { PREFLIGHT, PASS, .cut = SHORT } }, 2, NULL, RESULT_FAILED, "chip2 hbm: hbm-cell" },
        { "nor one of its regions", { { PREFLIGHT, PASS, CELL }, { PREFLIGHT, PASS, .cut = SLICED } }, 2, NULL, RESULT_FAILED, "chip2 hbm: hbm-cell" },
        { "until one that has it all", { { PREFLIGHT, PASS, CELL }, { PREFLIGHT, PASS, .cut = NO_MEMORY }, { PRODUCTION, PASS, .cut = NO_LINKS } }, 3, NULL, RESULT_PASSED,
          "16 chips passed" },
        { "a fabric is cleared by who looks at it", { { PREFLIGHT, PASS, NOTHING, true }, { PREFLIGHT, PASS, .cut = NO_EFA } }, 2, NULL, RESULT_FAILED, "efa: efa-plane" },
        { "what looks at a part passes nothing by itself", { { INFLEET, PASS } }, 1, NULL, RESULT_INCONCLUSIVE, "no whole scan: 'infleet' looks at a part alone. Next: assayctl scan us" },
        { "but says what it was asked for", { { INFLEET, PASS } }, 1, "infleet", RESULT_PASSED, "16 chips passed" },
        { "nor for one chip", { { PREFLIGHT, NOTHING, HANG }, { INFLEET, PASS } }, 2, NULL, RESULT_INCONCLUSIVE, "no scan of all its chips" },
        { "and takes no pass away", { { PREFLIGHT, PASS }, { INFLEET, PASS } }, 2, NULL, RESULT_PASSED, "16 chips passed" },
        { "chips are counted, and what lies between them is none", { { PREFLIGHT, NOTHING, CELL } }, 1, NULL, RESULT_FAILED,
          "chip2 hbm: hbm-cell at hbm0; 15 unknown; between chips: 1 unknown" },
        { "a warning is named", { { PREFLIGHT, PASS, WARN } }, 1, NULL, RESULT_WARNED, "chip2 hbm: link-margin at hbm0" },
        { "what is worst is named, and the others are counted", { { PREFLIGHT, WARN, CELL }, { PREFLIGHT, NOTHING, CELL } }, 2, NULL, RESULT_FAILED,
          "chip2 hbm: hbm-cell at hbm0; 15 warned" },
};

static void test_each_sequence_has_its_answer(void **state) {
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char name[32], line[512];
                RecordPart standing;
                Location where;

                (void) snprintf(name, sizeof(name), "us%zu-1", i);
                where = server_location(name);
                for (size_t k = 0; k < cases[i].n; k++) {
                        const Step *step = &cases[i].steps[k];
                        Look look = { .plan = step->plan, .cut = step->cut, .fabric_fails = step->fabric_fails };

                        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                                look.chips[c] = c == 2 && step->lone != NOTHING ? step->lone : step->all;
                        sign(name, &look);
                }
                (void) standing_read(&manager, &where, cases[i].plan, 0, &standing);
                (void) snprintf(line, sizeof(line), "%s: %s", name, cases[i].line);
                if (standing.result != cases[i].result || strncmp(standing.reason, line, strlen(line)) != 0)
                        fail_msg("%s: %s, %s", cases[i].sentence, result_to_string(standing.result), standing.reason);
        }
}

/* The parts are of different age, and each must be young enough. */
static void test_each_chip_has_its_own_age(void **state) {
        Location where = server_location("us9-9");
        Look look = { .plan = PREFLIGHT };
        uint64_t hour;
        RecordPart standing;

        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                look.chips[c] = PASS;
        sign("us9-9", &look);
        look = (Look) { .plan = PREFLIGHT, .chips[5] = PASS };
        sign("us9-9", &look);
        (void) standing_parts(&manager, &where, NULL, 0, parts);
        /* A second apart; ages are told as of when each part was read, on a machine that may be slow. */
        assert_true(parts[6].age_usec + 800000 <= parts[1].age_usec && parts[1].age_usec == parts[0].age_usec);
        hour = parts[6].age_usec + 500000;
        (void) standing_parts(&manager, &where, NULL, hour, parts);
        assert_int_equal(parts[6].result, RESULT_PASSED);
        assert_int_equal(parts[0].result, RESULT_INCONCLUSIVE);
        assert_int_equal(parts[1].result, RESULT_INCONCLUSIVE);
        (void) standing_read(&manager, &where, NULL, hour, &standing);
        assert_non_null(strstr(standing.reason, "stale"));
        assert_non_null(strstr(standing.reason, "15 more unknown"));
}

/* How a part stands, by every way to ask for it. */
static void assert_stands(Target *target, int chip, Result expected, const char *reason) {
        Location whole = server_location(target->config->name), where = whole;
        RecordPart one;

        if (chip >= 0)
                assert_int_equal(location_append(&where, LOCATION_CHIP, (uint32_t) chip), 0);
        assert_true(standing_read(&manager, &where, NULL, 0, &one));
        assert_true(standing_parts(&manager, &whole, "preflight", 0, parts));
        assert_int_equal(one.result, expected);
        if (chip >= 0)
                assert_int_equal(parts[chip + 1].result, expected);
        assert_int_equal(standing_result(&manager, target, &where), expected);
        assert_int_equal(one.index == UINT64_MAX, *reason != '\0');
        assert_int_equal(one.age_usec == UINT64_MAX, *reason != '\0');
        if (*reason)
                assert_string_equal(one.reason, reason);
}

/* A scan of chips 1 and 2 that the log has not taken: what passed there before says nothing, what failed stands, and once it is recorded all is as it was. */
static void test_what_is_not_recorded_leaves_no_pass(void **state) {
        static const char why[] = "the newest scan could not be recorded: No space left on device. It is tried again";
        ConfigServer config = { .name = "us8-8" };
        Target target = { .config = &config };
        Job job = { .n_servers = 1, .servers = { { .target = &target, .chips = 6, .is_unrecorded = true, .refusal = -ENOSPC, .result = RESULT_INCONCLUSIVE } } };
        Job *jobs[] = { &job };
        Scan scan = { .n_jobs = 1, .jobs = jobs };
        Look look = { .plan = PREFLIGHT };

        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                look.chips[c] = PASS;
        sign("us8-8", &look);
        for (int chip = -1; chip < 4; chip++)
                assert_stands(&target, chip, RESULT_PASSED, "");

        TAILQ_INSERT_TAIL(&manager.scans, &scan, entry);
        assert_stands(&target, -1, RESULT_INCONCLUSIVE, why);
        assert_stands(&target, 0, RESULT_PASSED, "");
        assert_stands(&target, 1, RESULT_INCONCLUSIVE, why);
        assert_stands(&target, 2, RESULT_INCONCLUSIVE, why);
        assert_stands(&target, 3, RESULT_PASSED, "");
        job.servers[0].is_unrecorded = false;
        job.servers[0].refusal = 0;
        for (int chip = -1; chip < 4; chip++)
                assert_stands(&target, chip, RESULT_PASSED, "");

        /* A commit that does not come back: what failed is waited for, and what a scan in service could not judge is not. */
        job.state = JOB_SIGNING;
        job.servers[0].result = RESULT_FAILED;
        assert_stands(&target, 1, RESULT_INCONCLUSIVE, "the newest scan is not recorded yet: it is being signed");
        assert_stands(&target, 3, RESULT_PASSED, "");
        job.servers[0].result = RESULT_INCONCLUSIVE;
        assert_stands(&target, 1, RESULT_PASSED, "");
        job.servers[0].result = RESULT_FAILED;
        job.servers[0].is_settled = true;
        assert_stands(&target, 1, RESULT_PASSED, "");
        job.servers[0].is_settled = false;
        job.servers[0].result = RESULT_INCONCLUSIVE;

        look.chips[1] = CELL;
        sign("us8-8", &look);
        target = (Target) { .config = &config };
        job.servers[0].is_unrecorded = true;
        job.servers[0].refusal = -ENOSPC;
        assert_stands(&target, -1, RESULT_FAILED, "");
        assert_stands(&target, 1, RESULT_FAILED, "");
        assert_stands(&target, 2, RESULT_INCONCLUSIVE, why);
}

/* Somebody decides that the log goes on without two records. */
static void lose(void) {
        LogDoubt doubt = { "records-lost", .size = record_log_size(manager.log) + 2 };
        DraftGroup *group;

        assert_int_equal(draft_decision(&manager.log->station, &doubt, &manager.log->head.tree, &(RecordDecision) { "the disk was lost", 0, "root" }, &group), 0);
        assert_int_equal(queue_put(manager.log, group, 1), 0);
        (void) place_take(manager.log);
        manager.log = record_log_free(manager.log);
        assert_int_equal(place_open(&place, &manager.log, NULL), 0);
}

/* A record that is lost may have been a failure: no pass of before counts, until a newer look at the whole says something. A failure stands as it did. */
static void test_what_was_lost_leaves_no_pass(void **state) {
        ConfigServer config = { .name = "us7-7" };
        Target target = { .config = &config };
        Look look = { .plan = PREFLIGHT };
        char why[128];

        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                look.chips[c] = c == 3 ? CELL : PASS;
        sign("us7-7", &look);
        (void) snprintf(why, sizeof(why), "records %u-%u are lost, and may take back what passed before. Next: assayctl scan us7-7", SERVER_CHIPS + 1, SERVER_CHIPS + 2);
        lose();
        assert_stands(&target, -1, RESULT_FAILED, "");
        assert_stands(&target, 0, RESULT_INCONCLUSIVE, why);
        assert_stands(&target, 3, RESULT_FAILED, "");
        assert_stands(&target, 5, RESULT_INCONCLUSIVE, why);

        look = (Look) { .plan = PREFLIGHT, .chips[0] = LONE, .chips[5] = PASS };
        sign("us7-7", &look);
        target = (Target) { .config = &config };
        assert_stands(&target, 0, RESULT_INCONCLUSIVE, why);
        assert_stands(&target, 3, RESULT_FAILED, "");
        assert_stands(&target, 5, RESULT_PASSED, "");
        assert_stands(&target, 6, RESULT_INCONCLUSIVE, why);
        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                look.chips[c] = PASS;
        sign("us7-7", &look);
        target = (Target) { .config = &config };
        for (int chip = -1; chip < (int) SERVER_CHIPS; chip++)
                assert_stands(&target, chip, RESULT_PASSED, "");
}

/* Reads the regions of chip 0's memory that its next scan in service is told. */
static RecordKnownRegions *known_regions(void) {
        Plan plan = { .name = "infleet", .rotation_sec = 86400, .n_steps = 1, .steps = { { .name = "hbm" } } };
        TallyStep step = {};
        TallyServer one = { .chips = { { .wanted = true, .where = server_location("us6-6"), .steps = &step } } };
        Tally tally = { .plan = &plan, .n_servers = 1, .servers = &one };

        assert_int_equal(location_append(&one.chips[0].where, LOCATION_CHIP, 0), 0);
        tally_read_rotations(&tally, manager.log);
        assert_non_null(step.before);
        return step.before;
}

/* Nor does the pass of a region, which a scan in service would else not test again before its turn. */
static void test_what_was_lost_leaves_no_region_tested(void **state) {
        Look look = { .plan = INFLEET, .cut = SLICED };
        _cleanup_free_ RecordKnownRegions *before = NULL, *after = NULL;

        for (unsigned c = 0; c < SERVER_CHIPS; c++)
                look.chips[c] = PASS;
        sign("us6-6", &look);
        before = known_regions();
        assert_int_equal(before->n_tests, 1);
        assert_int_equal(region_set_count(&before->tested), 1);
        lose();
        after = known_regions();
        assert_int_equal(after->n_tests, 0);
        assert_int_equal(region_set_count(&after->tested), 0);
        assert_int_equal(after->position, before->position);
}

static int setup(void **state) {
        place_init(&place);
        manager = (Manager) {};
        TAILQ_INIT(&manager.scans);
        return place_open(&place, &manager.log, NULL);
}

static int teardown(void **state) {
        manager.log = record_log_free(manager.log);
        place_done(&place);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_each_sequence_has_its_answer, setup, teardown),
                cmocka_unit_test_setup_teardown(test_each_chip_has_its_own_age, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_is_not_recorded_leaves_no_pass, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_was_lost_leaves_no_pass, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_was_lost_leaves_no_region_tested, setup, teardown),
                cmocka_unit_test_setup_teardown(test_any_sequence_stands_as_the_model_says, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
