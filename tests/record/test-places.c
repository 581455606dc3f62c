/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Facts that were handed over for signing are read again out of what was signed. Both must come to the same text and the same places, or a log would not be
 * believed that nobody has touched.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/health-v2.h"
#include "daemon/record/statement/statement-judge.h"
#include "daemon/record/statement/statement-read.h"
#include "daemon/record/statement/statement.h"
#include "tests/draw.h"
#include "tests/record/server.h"

#define SCANS 400

static Server server;
static Measurement measurements[SERVER_STEPS][3];
static RecordDiagnosis diagnoses[SERVER_STEPS][2];
static RecordStep own[SERVER_STEPS];
static size_t n_in_part; /* chips */
static size_t n_counts;  /* of steps of chips and servers */

static uint32_t below(uint32_t n) {
        return draw() % n;
}

/* A step of what is at WHERE: it ends anyhow, finds this and that, and leaves out parts, so many or what is no number. */
static void draw_step(RecordStep *step, size_t k, const char *where) {
        static const double values[] = { 0, 1, 0.5, 12, NAN, INFINITY, -1 };
        static const char *const names[] = { "efa_untested_other_servers", "efa_packets", "collective_untested_together", "collective_found_together" };
        static const char *const parts[] = { "", "/link-z+", "/link-x-/lane3", "/nic4" };
        bool is_server = !strchr(where, '/');

        static const char *const counts[] = { "efa_packets", NULL };

        step->counts = counts;
        step->n_measurements = below(4);
        step->measurements = measurements[k];
        for (size_t i = 0; i < step->n_measurements; i++) {
                char path[64];

                (void) snprintf(path, sizeof(path), "%s%s%s", where, is_server ? "/chip1" : "", parts[is_server ? 1 + below(3) : below(4)]);
                measurements[k][i] = (Measurement) { names[below(ELEMENTS(names))], values[below(ELEMENTS(values))], "1", LIMIT_NONE, 0,
                                                           server_location(below(3) > 0 ? path : where) };
                if (below(5) == 0) {
                        measurements[k][i].limit_type = LIMIT_LESS_THAN_OR_EQUAL;
                        measurements[k][i].limit = below(2) ? INFINITY : 100;
                }
        }
        step->n_diagnoses = below(3);
        step->diagnoses = diagnoses[k];
        for (size_t i = 0; i < step->n_diagnoses; i++) {
                diagnoses[k][i] = server.diagnosis;
                diagnoses[k][i].severity = (Severity) below(_SEVERITY_MAX);
                diagnoses[k][i].code = diagnoses[k][i].severity == SEVERITY_FAIL ? "systolic-pe" : "something-else";
                diagnoses[k][i].where = server_location(where);
        }
        step->verdict = below(2) ? VERDICT_FAILED : VERDICT_ERROR;
        step->reason = step->verdict == VERDICT_ERROR ? REASON_WORKER_CRASHED : REASON_NONE;
        step->message = step->verdict == VERDICT_ERROR ? "gone" : NULL;
        for (size_t i = 0; i < step->n_diagnoses; i++) /* what was found is not undone */
                if (step->diagnoses[i].severity != SEVERITY_INFO) {
                        step->verdict = VERDICT_FAILED;
                        step->reason = REASON_NONE;
                        step->message = NULL;
                }
}

/* A chip of which steps were left out: by who asked, or one of them for another reason, and with promises that these could have kept, or not. */
static void draw_lone_chip(RecordHealth *chip) {
        static const char *const links[] = { "link-bytes-tested", NULL };
        static Measurement unasked[2];
        static RecordStep steps[SERVER_STEPS];
        static RecordPromise promises[2];
        size_t n_open = 0;

        memcpy(steps, server.steps[2], sizeof(steps));
        promises[0] = server.promise;
        promises[1] = (RecordPromise) { below(4) ? "link-bytes-tested" : "chip-bytes-tested", 0, below(2) };
        unasked[0] = steps[3].measurements[0];
        unasked[1] = (Measurement) { "efa_chips_not_requested", below(3), "{chip}", LIMIT_NONE, 0, server.chips[2].subject.where };
        if (below(2)) {
                steps[3].n_measurements = ELEMENTS(unasked);
                steps[3].measurements = unasked;
                promises[1] = (RecordPromise) { below(4) ? unasked[0].name : "chip-bytes-tested", 0, 1000 };
        }
        for (size_t k = 0; k < SERVER_STEPS - 1; k++) {
                if (below(3))
                        continue;
                steps[k].verdict = below(8) ? VERDICT_SKIPPED : VERDICT_ERROR;
                steps[k].reason = steps[k].verdict == VERDICT_ERROR ? REASON_DEVICE_TIMEOUT : below(8) ? REASON_NOT_REQUESTED : REASON_OCCUPIED;
                steps[k].message = "left out";
                steps[k].counts = below(4) ? links : NULL;
                n_open++;
        }
        chip->steps = steps;
        chip->n_promises = ELEMENTS(promises);
        chip->promises = promises;
        chip->result = n_open > 0 || promises[1].promised > 0 ? RESULT_INCONCLUSIVE : RESULT_PASSED;
}

/* Two chips and the server are drawn, the others as they are. */
static void draw_scan(void) {
        static const char *const counts[] = { "mismatched_outputs", NULL };
        RecordHealth *chip = &server.chips[1];
        Result result = RESULT_INCONCLUSIVE;

        server_init(&server);
        for (unsigned c = 0; c < SERVER_CHIPS; c++) {
                server.steps[c][3].counts = counts;
                server.measurements[c][3].value = below(1000);
                server.measurements[c][3].limit_type = LIMIT_NONE;
        }
        server.scan.result = RESULT_FAILED;
        server.scan.n_chips = below(3) ? SERVER_CHIPS : 4;
        server.scan.n_steps = below(3);
        server.scan.steps = own;
        if (below(2)) {
                static RecordStep steps[SERVER_STEPS];

                memcpy(steps, server.steps[1], sizeof(steps));
                chip->steps = steps;
                chip->n_promises = 0;
                for (size_t k = 0; k < SERVER_STEPS; k++) {
                        draw_step(&steps[k], k, "us0-2/chip1");
                        result = steps[k].verdict == VERDICT_FAILED ? RESULT_FAILED : result;
                }
                chip->result = result;
                server.scan.n_steps = 0;
        }
        draw_lone_chip(&server.chips[2]);
        for (size_t k = 0; k < server.scan.n_steps; k++) {
                own[k] = (RecordStep) { .name = k ? "efa" : "neuronlink", .check = "efa" };
                draw_step(&own[k], k, "us0-2");
        }
}

static int compare(const void *a, const void *b) {
        return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static char *print_places(const RecordPlace *places, size_t n) {
        char **lines = calloc(n + 1, sizeof(*lines)), *text = NULL, *before;
        char where[LOCATION_STRING_MAX];

        for (size_t i = 0; i < n; i++)
                if (asprintf(&lines[i], "%s at %s; ", places[i].step, location_format(&places[i].where, where)) < 0)
                        abort();
        qsort(lines, n, sizeof(*lines), compare);
        text = strdup("");
        for (size_t i = 0; i < n; i++) {
                before = text;
                if (asprintf(&text, "%s%s", before, lines[i]) < 0)
                        abort();
                free(before);
                free(lines[i]);
        }
        free(lines);
        return text;
}

static void assert_same(const RecordPlace *given, size_t n_given, const RecordPlace *told, size_t n_told) {
        char *a = print_places(given, n_given), *b = print_places(told, n_told);

        assert_string_equal(a, b);
        free(a);
        free(b);
}

/* Whatever was read is printed as it stands in PAYLOAD. */
static void assert_same_text(const Health *health, const Printer *payload) {
        _cleanup_printer_ Printer text = {};

        if (health->is_rollup) {
                print_measurements(&text, health->scan.steps, health->scan.n_steps, &health->scan.server.where);
                print_diagnoses(&text, health->scan.steps, health->scan.n_steps, true);
        } else
                health_v2_print(&text, &health->scan.run, &health->chip);
        assert_int_equal(text.error, 0);
        if (text.n > 0 && !memmem(payload->text, payload->n, text.text, text.n))
                fail_msg("%.*s\nis not in\n%.*s", (int) text.n, text.text, (int) payload->n, payload->text);
}

static void assert_draft(const DraftGroup *group, size_t k) {
        Signed none[SERVER_CHIPS] = {};
        const Draft *draft = &group->drafts[k];
        _cleanup_json_ json_t *statement = NULL;
        _cleanup_printer_ Printer payload = {};
        _cleanup_health_ Health health = {};
        SchemaWrong wrong;
        Judgement judgement;
        Places places;

        for (size_t i = 0; i < SERVER_CHIPS; i++)
                none[i].envelope.id[0] = (uint8_t) i;
        statement_print(&payload, group, k, k + 1, none[k > 0 ? k - 1 : 0].envelope.id, none);
        assert_int_equal(payload.error, 0);
        statement = json_loadb(payload.text, payload.n, 0, NULL);
        if (statement_fit(&statement, &wrong) < 0)
                fail_msg("%s: %.*s", wrong.text, (int) payload.n, payload.text);
        assert_int_equal(statement_judge(statement, draft->entry.type, &health, &judgement), 0);
        if (judgement.wrong[0])
                fail_msg("%s: %.*s", judgement.wrong, (int) payload.n, payload.text);
        assert_same_text(&health, &payload);
        assert_int_equal(places_of(&health, &places), 0);
        assert_int_equal(places.stage, draft->places.stage);
        assert_int_equal(places.in_part, draft->places.in_part);
        n_in_part += places.in_part && location_kind(&draft->entry.subject) == LOCATION_CHIP;
        assert_same(draft->places.failed, draft->places.n_failed, places.failed, places.n_failed);
        assert_same(draft->places.untested, draft->places.n_untested, places.untested, places.n_untested);
        assert_true(places.tells_reaches);
        assert_int_equal(places.n_reaches, draft->places.n_reaches);
        for (size_t i = 0; i < places.n_reaches; i++) {
                assert_memory_equal(&places.reaches[i], &draft->places.reaches[i], sizeof(Reach));
                n_counts += places.reaches[i].n_counts;
        }
        places_done(&places);
}

static void test_what_was_signed_tells_the_same_places(void **state) {
        RecordLogOptions options = { .origin = PLACE_ORIGIN, .producer = PLACE_PRODUCER, .version = "0.1.0" };
        size_t n_failed = 0, n_untested = 0;
        Station station;
        Place place;

        place_init(&place);
        options = place_options(&place, place.key);
        assert_int_equal(station_init(&station, &options), 0);
        for (unsigned i = 0; i < SCANS; i++) {
                _cleanup_(draft_group_freep) DraftGroup *group = NULL;
                char *why = NULL;

                draw_scan();
                (void) record_scan_check(&server.scan, &why);
                if (draft_scan(&station, &server.scan, &group) < 0)
                        fail_msg("scan %u: %s", i, why);
                for (size_t k = 0; k < group->n_drafts; k++) {
                        assert_draft(group, k);
                        n_failed += group->drafts[k].places.n_failed;
                        n_untested += group->drafts[k].places.n_untested;
                }
        }
        assert_true(n_failed > SCANS && n_untested > SCANS); /* what was drawn is not nothing */
        assert_in_range(n_in_part, SCANS / 20, SCANS / 2);
        assert_true(n_counts > SCANS);
        station_done(&station);
        (void) record_key_free(options.key);
        place_done(&place);
}

static void test_a_place_that_is_none_is_not_read(void **state) {
        static const char *const texts[] = {
                "'diagnoses':[{'type':'FAIL','component':{'location':'?'}}]",
                "'measurements':[{'name':'efa_untested_x','value':1,'component':{'location':''}}]",
        };
        for (size_t i = 0; i < ELEMENTS(texts); i++) {
                _cleanup_json_ json_t *statement = NULL;
                _cleanup_health_ Health health = {};
                char text[512];
                Places places;

                (void) snprintf(text, sizeof(text), "{'predicate':{'status':'COMPLETE','run':{'stage':'PREFLIGHT'},'location':{'path':'us0-2/chip1'},"
                                "'failedTests':['efa'],'steps':[{'name':'efa','status':'COMPLETE','result':'FAILED',%s}]}}", texts[i]);
                for (char *at = text; (at = strchr(at, '\''));)
                        *at = '"';
                statement = json_loads(text, 0, NULL);
                assert_non_null(statement);
                assert_int_equal(health_read(statement, RECORD_TYPE_HEALTH, &health), 0);
                assert_int_equal(places_of(&health, &places), -EBADMSG);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_was_signed_tells_the_same_places),
                cmocka_unit_test(test_a_place_that_is_none_is_not_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
