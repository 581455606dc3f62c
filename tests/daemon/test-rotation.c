/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/rotation.h"

#define HOUR UINT64_C(3600000000)
#define URI  "urn:dev:ops:32473-Trainium2-SER-7.b"

static void time_text(uint64_t usec, char text[static 32]) {
        time_t sec = (time_t) (usec / 1000000);
        struct tm tm;

        (void) gmtime_r(&sec, &tm);
        (void) strftime(text, 20, "%Y-%m-%dT%H:%M:%S", &tm);
        (void) sprintf(text + 19, ".%03uZ", (unsigned) (usec / 1000 % 1000));
}

/* What a record would hold of the facts, around them what it holds besides. */
static char *payload_of(const RecordRegions *facts, const char *uri) {
        char since[32], on[32];
        json_t *tested = json_array(), *statement;
        char *text;

        time_text(facts->since_usec, since);
        for (size_t i = 0; i < facts->n_tests; i++) {
                time_text(facts->tests[i].usec, on);
                (void) json_array_append_new(tested, json_pack("{s:s, s:s, s:s}", "on", on, "run", facts->tests[i].run, "regions",
                                                               facts->tests[i].regions));
        }
        statement = json_pack("{s:[{s:s}], s:{s:[{s:s}, {s:s, s:{s:s, s:i, s:i, s:s, s:s, s:s, s:o}}]}}", "subject", "uri", uri,
                              "predicate", "steps", "name", "identity", "name", "hbm", "regions", "partition",
                              facts->partition, "total", (int) facts->total, "position", (int) facts->position, "since", since,
                              "occupied", facts->occupied, "failed", facts->failed, "tested", tested);
        assert_non_null(statement);
        text = json_dumps(statement, 0);
        json_decref(statement);
        return text;
}

/* What is known of each region, one by one. */
typedef struct Known {
        uint64_t usec;
        char run[RECORD_RUN_BYTES];
        bool failed;
} Known;

static void assert_known(const Known known[static REGIONS_MAX], const RecordKnownRegions *rotation) {
        unsigned n = 0;

        for (unsigned region = 0; region < REGIONS_MAX; region++) {
                const RecordKnownTest *found = NULL;

                for (size_t i = 0; i < rotation->n_tests; i++)
                        if (region_set_has(&rotation->tests[i].regions, region)) {
                                assert_null(found);
                                found = &rotation->tests[i];
                        }
                assert_int_equal(found ? found->usec : 0, known[region].usec);
                assert_string_equal(found ? found->run : "", known[region].run);
                assert_int_equal(region_set_has(&rotation->failed, region), known[region].failed);
                n += found != NULL;
        }
        assert_true(n <= partition_regions(&rotation->partition));
}

static void many_scans_add_up(void **state) {
        RecordKnownRegions *before = NULL;
        Known known[REGIONS_MAX] = {};
        Partition partition;

        srandom(3);
        assert_int_equal(partition_parse("sid 3 row 16384/32", &partition), 0);
        for (unsigned n = 1; n < 300; n++) {
                Regions now = { .partition = partition, .position = (unsigned) random() % 96 };
                char run[RECORD_RUN_BYTES];
                RecordRun facts = { .id = run, .finished_usec = n * HOUR + n % 1000 * 1000 };
                _cleanup_free_ char *payload = NULL;
                RecordRegions *regions;
                unsigned density = 1 + (unsigned) random() % 8;

                (void) snprintf(run, sizeof(run), "01934a6e-5e00-7000-8000-%012u", n);
                for (unsigned region = 0; region < 96; region++) {
                        if (random() % density != 0)
                                continue;
                        if (random() % 4 == 0) {
                                region_set_add(&now.occupied, region);
                                continue;
                        }
                        region_set_add(&now.tested, region);
                        known[region] = (Known) { .usec = facts.finished_usec, .failed = random() % 16 == 0 };
                        memcpy(known[region].run, run, sizeof(run));
                        if (known[region].failed)
                                region_set_add(&now.failed, region);
                }

                assert_int_equal(rotation_facts(before, &now, "SER-7.b", &facts, &regions), 0);
                assert_non_null(regions);
                assert_int_equal(regions->total, 96);
                assert_true(regions->n_tests <= 96);
                payload = payload_of(regions, URI);
                rotation_facts_free(regions);
                free(before);
                assert_int_equal(rotation_read(payload, strlen(payload), "hbm", &before), 0);
                assert_int_equal(before->position, now.position);
                assert_int_equal(before->since_usec, HOUR + 1000);
                assert_string_equal(before->serial, "SER-7.b");
                assert_known(known, before);
        }
        free(before);
}

/* One scan of regions 0 … 9, of which 3 failed. */
static RecordKnownRegions *first_scan(const char *serial) {
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000001", .finished_usec = HOUR };
        char uri[128];
        Regions now = { .position = 10 };
        RecordKnownRegions *rotation = NULL;
        RecordRegions *facts;
        char *payload;

        assert_int_equal(partition_parse("sid 3 row 16384/32", &now.partition), 0);
        assert_int_equal(region_set_parse("0-9", 96, &now.tested), 0);
        assert_int_equal(region_set_parse("3", 96, &now.failed), 0);
        assert_int_equal(rotation_facts(NULL, &now, serial, &run, &facts), 0);
        (void) snprintf(uri, sizeof(uri), *serial ? "urn:dev:ops:32473-Trainium2-%s" : "urn:dev:ops:32473-Trn2-SRV%s_chip3", serial);
        payload = payload_of(facts, uri);
        rotation_facts_free(facts);
        assert_int_equal(rotation_read(payload, strlen(payload), "hbm", &rotation), 0);
        free(payload);
        return rotation;
}

static void another_chip_begins_anew(void **state) {
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000002", .finished_usec = 2 * HOUR };
        static const struct {
                const char *before, *now;
                bool same;
        } cases[] = { { "A1", "A1", true }, { "A1", "A2", false }, { "A-1", "1", false }, { "A1", NULL, false }, { "", NULL, true }, { "", "A1", false } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordKnownRegions *before = first_scan(cases[i].before);
                Regions now = { .partition = before->partition, .position = 20 };
                RecordRegions *facts;

                assert_int_equal(region_set_parse("10-19", 96, &now.tested), 0);
                assert_int_equal(rotation_facts(before, &now, cases[i].now, &run, &facts), 0);
                assert_int_equal(facts->n_tests, cases[i].same ? 2 : 1);
                assert_string_equal(facts->failed, cases[i].same ? "3" : "");
                assert_int_equal(facts->since_usec, cases[i].same ? HOUR : 2 * HOUR);
                rotation_facts_free(facts);
                free(before);
        }
}

static void what_failed_outlives_the_passes_beside_it(void **state) {
        RecordKnownRegions *known = first_scan("A1");
        char text[REGIONS_TEXT_MAX];

        rotation_forget_passes(known);
        assert_int_equal(known->n_tests, 1);
        assert_string_equal(region_set_format(&known->tests[0].regions, text), "3");
        assert_string_equal(region_set_format(&known->tested, text), "3");
        assert_string_equal(region_set_format(&known->failed, text), "3");
        known->failed = (RegionSet) {};
        rotation_forget_passes(known);
        assert_int_equal(known->n_tests, 0);
        assert_int_equal(region_set_count(&known->tested), 0);
        free(known);
}

static void regions_cut_otherwise_keep_what_failed(void **state) {
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000002", .finished_usec = 2 * HOUR };
        RecordKnownRegions *before = first_scan("A1");
        Regions now = { .position = 1 };
        RecordRegions *facts;

        /* Region 3 is rows 1536 … 2047 of SID 0: the second of sixteen slices. */
        assert_int_equal(partition_parse("sid 3 row 16384/16", &now.partition), 0);
        assert_int_equal(region_set_parse("0", 48, &now.tested), 0);
        assert_int_equal(rotation_facts(before, &now, "A1", &run, &facts), 0);
        assert_string_equal(facts->failed, "1");
        assert_int_equal(facts->n_tests, 2);
        assert_string_equal(facts->tests[0].regions, "1");
        assert_int_equal(facts->tests[0].usec, HOUR);
        assert_string_equal(facts->tests[1].regions, "0");
        assert_int_equal(facts->since_usec, 2 * HOUR);
        rotation_facts_free(facts);

        assert_int_equal(region_set_parse("0-1", 48, &now.tested), 0);
        assert_int_equal(rotation_facts(before, &now, "A1", &run, &facts), 0);
        assert_string_equal(facts->failed, "");
        rotation_facts_free(facts);
        free(before);
}

/* A region that was not proven stays so until it is tested or a job takes it, and what was said of it with it. */
static void what_is_not_proven_is_carried_on(void **state) {
        static const struct {
                const char *tested, *occupied, *unproven, *because, *left, *why;
        } scans[] = {
                { "10-19", "", "20-23", "row 9", "20-23", "row 9" },  { "24-30", "", "", "", "20-23", "row 9" },
                { "20", "21", "40", "zeros", "22-23,40", "row 9; zeros" }, { "22-23,40", "", "", "", "", "" },
        };
        RecordKnownRegions before = { .serial = "A1", .step = "hbm", .since_usec = HOUR };
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000002", .finished_usec = 2 * HOUR };

        assert_int_equal(partition_parse("sid 3 row 16384/32", &before.partition), 0);
        for (size_t i = 0; i < ELEMENTS(scans); i++) {
                Regions now = { .partition = before.partition };
                RecordRegions *facts;

                assert_int_equal(region_set_parse(scans[i].tested, 96, &now.tested), 0);
                assert_int_equal(region_set_parse(scans[i].occupied, 96, &now.occupied), 0);
                assert_int_equal(region_set_parse(scans[i].unproven, 96, &now.unproven), 0);
                regions_add_reason(&now, scans[i].because);
                assert_int_equal(rotation_facts(&before, &now, "A1", &run, &facts), 0);
                assert_string_equal(facts->unproven, scans[i].left);
                assert_string_equal(facts->because, scans[i].why);
                assert_int_equal(region_set_parse(facts->unproven, 96, &before.unproven), 0);
                (void) snprintf(before.because, sizeof(before.because), "%s", facts->because);
                rotation_facts_free(facts);
        }
}

/* A finding at a region that was not tested stands until it is: not even a job that takes it clears it. */
static void what_was_found_untested_is_carried_on(void **state) {
        static const struct {
                const char *tested, *occupied, *unproven, *altered, *suspicious, *altered_left, *suspicious_left;
        } scans[] = {
                { "10-19", "", "20-24", "20-22", "24", "20-22", "24" }, { "25-30", "", "", "", "", "20-22", "24" },
                { "20", "21,24", "40", "", "40", "21-22", "24,40" },     { "21-22,24,40", "", "", "", "", "", "" },
        };
        RecordKnownRegions before = { .serial = "A1", .step = "hbm", .since_usec = HOUR };
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000002", .finished_usec = 2 * HOUR };

        assert_int_equal(partition_parse("sid 3 row 16384/32", &before.partition), 0);
        for (size_t i = 0; i < ELEMENTS(scans); i++) {
                Regions now = { .partition = before.partition };
                RecordRegions *facts;

                assert_int_equal(region_set_parse(scans[i].tested, 96, &now.tested), 0);
                assert_int_equal(region_set_parse(scans[i].occupied, 96, &now.occupied), 0);
                assert_int_equal(region_set_parse(scans[i].unproven, 96, &now.unproven), 0);
                assert_int_equal(region_set_parse(scans[i].altered, 96, &now.altered), 0);
                assert_int_equal(region_set_parse(scans[i].suspicious, 96, &now.suspicious), 0);
                assert_int_equal(rotation_facts(&before, &now, "A1", &run, &facts), 0);
                assert_string_equal(facts->altered, scans[i].altered_left);
                assert_string_equal(facts->failed, "");
                assert_string_equal(facts->suspicious, scans[i].suspicious_left);
                assert_int_equal(region_set_parse(facts->altered, 96, &before.altered), 0);
                assert_int_equal(region_set_parse(facts->suspicious, 96, &before.suspicious), 0);
                rotation_facts_free(facts);
                if (i == 1) {
                        json_auto_t *told = rotation_to_request(&before, "us0-1/chip3:hbm", 3 * HOUR);

                        assert_string_equal(json_string_value(json_object_get(told, "altered")), "20-22");
                        assert_string_equal(json_string_value(json_object_get(told, "suspicious")), "24");
                }
        }
}

/* Only the scan knows which regions it tested in one pass: what it says of those that failed together is what is known. */
static void what_failed_together_is_as_the_newest_scan_says(void **state) {
        static const struct {
                const char *tested, *joined, *together;
        } scans[] = { { "0-21", "0-21", "" }, { "5,22-42", "", "0-21" }, { NULL, "", "0-21" }, { "0-21", "30-31", "" }, { NULL, "30-31", "" } };
        RecordKnownRegions before = { .serial = "A1", .step = "hbm", .since_usec = HOUR };
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000002", .finished_usec = 2 * HOUR };

        assert_int_equal(partition_parse("sid 3 row 16384/32", &before.partition), 0);
        for (size_t i = 0; i < ELEMENTS(scans); i++) {
                Regions now = { .partition = before.partition };
                json_auto_t *told = NULL;
                RecordRegions *facts;

                if (scans[i].tested) {
                        assert_int_equal(region_set_parse(scans[i].tested, 96, &now.tested), 0);
                        assert_int_equal(region_set_parse(scans[i].joined, 96, &now.joined), 0);
                        assert_int_equal(region_set_parse(scans[i].together, 96, &now.together), 0);
                }
                assert_int_equal(rotation_facts(&before, scans[i].tested ? &now : NULL, "A1", &run, &facts), 0);
                assert_string_equal(facts->joined, scans[i].joined);
                assert_string_equal(facts->together, scans[i].together);
                assert_int_equal(region_set_parse(facts->joined, 96, &before.joined), 0);
                assert_int_equal(region_set_parse(facts->together, 96, &before.together), 0);
                rotation_facts_free(facts);
                told = rotation_to_request(&before, "us0-1/chip3:hbm", 3 * HOUR);
                assert_string_equal(json_string_value(json_object_get(told, "joined")), scans[i].joined);
                assert_string_equal(json_string_value(json_object_get(told, "together")), scans[i].together);
        }
}

static void a_worker_is_told_ages(void **state) {
        RecordKnownRegions *before = first_scan("A1");
        json_auto_t *told = rotation_to_request(before, "us0-1/chip3:hbm", 3 * HOUR);
        json_auto_t *early = rotation_to_request(before, "us0-1/chip3:hbm", HOUR / 2); /* the clock was set back */

        assert_non_null(told);
        assert_string_equal(json_string_value(json_object_get(told, "serial")), "A1");
        assert_int_equal(json_integer_value(json_object_get(told, "age")), 7200);
        assert_int_equal(json_integer_value(json_object_get(told, "position")), 10);
        assert_string_equal(json_string_value(json_object_get(told, "failed")), "3");
        assert_string_equal(json_string_value(json_array_get(json_array_get(json_object_get(told, "tested"), 0), 0)), "0-9");
        assert_int_equal(json_integer_value(json_array_get(json_array_get(json_object_get(told, "tested"), 0), 1)), 7200);
        assert_int_equal(json_integer_value(json_object_get(early, "age")), 0);
        free(before);
}

static void what_cannot_be_read_begins_anew(void **state) {
        static const char *const changes[] = {
                "\"partition\": \"sid 3 row 16384/32\"", "\"partition\": \"sid 3\"",
                "\"position\": 10", "\"position\": 96",
                "\"failed\": \"3\"", "\"failed\": \"10\"",
                "\"failed\": \"3\"", "\"failed\": 3",
                "\"regions\": \"0-9\"", "\"regions\": \"9-0\"",
                "\"regions\": \"0-9\"", "\"regions\": \"0-96\"",
                "\"on\": \"1970", "\"on\": \"then",
                "\"name\": \"hbm\"", "\"name\": \"hbm2\"",
        };
        RecordRun run = { .id = "01934a6e-5e00-7000-8000-000000000001", .finished_usec = HOUR };
        RecordKnownRegions *before = first_scan("A1"), *rotation;
        RecordRegions *facts;
        char *payload;

        assert_int_equal(rotation_facts(before, NULL, "A1", &run, &facts), 0); /* nobody came to it */
        payload = payload_of(facts, URI);
        rotation_facts_free(facts);
        assert_int_equal(rotation_read(payload, strlen(payload), "identity", &rotation), -ENOENT);
        assert_int_equal(rotation_read("{", 1, "hbm", &rotation), -ENOENT);

        for (size_t i = 0; i < ELEMENTS(changes); i += 2) {
                char *at = strstr(payload, changes[i]), *text;
                size_t head;

                assert_non_null(at);
                head = (size_t) (at - payload);
                assert_true(asprintf(&text, "%.*s%s%s", (int) head, payload, changes[i + 1], at + strlen(changes[i])) > 0);
                if (rotation_read(text, strlen(text), "hbm", &rotation) != -ENOENT)
                        fail_msg("%s was taken", changes[i + 1]);
                free(text);
        }

        assert_int_equal(rotation_facts(NULL, NULL, "A1", &run, &facts), 0);
        assert_null(facts);
        free(payload);
        free(before);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(many_scans_add_up),
                cmocka_unit_test(another_chip_begins_anew),
                cmocka_unit_test(what_failed_outlives_the_passes_beside_it),
                cmocka_unit_test(regions_cut_otherwise_keep_what_failed),
                cmocka_unit_test(what_is_not_proven_is_carried_on),
                cmocka_unit_test(what_was_found_untested_is_carried_on),
                cmocka_unit_test(what_failed_together_is_as_the_newest_scan_says),
                cmocka_unit_test(a_worker_is_told_ages),
                cmocka_unit_test(what_cannot_be_read_begins_anew),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
