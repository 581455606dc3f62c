/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/record/audited.h"

#define SCANS  (RECORD_ARCHIVE_RECORDS / LEDGER_SCAN)
#define FAILED (RECORD_ARCHIVE_RECORDS - 2) /* of the last scan, its second chip; and so its roll-up */

/* ---- a record that says what an archive has ---- */

/* As it is signed, with one change. */
static void add_archive(Ledger *ledger, const char *dropped, const char *path, const char *json) {
        json_t *start = ledger_statement(ledger, ledger->source->start), *from = json_object_get(start, "predicate"), *root;

        root = json_pack("{s:s, s:[{s:s, s:{s:s}}], s:s, s:{s:O, s:O, s:s, s:{s:i, s:i}, s:i, s:s}}", "_type", "https://in-toto.io/Statement/v1", "subject",
                         "name", "records-000000000000.intoto.jsonl", "digest", "sha256", "1111111111111111111111111111111111111111111111111111111111111111",
                         "predicateType", RECORD_TYPE_ARCHIVE, "predicate", "producer", json_object_get(from, "producer"), "log", json_object_get(from, "log"),
                         "sentOn", "2026-11-23T16:00:00Z", "range", "first", 0, "end", RECORD_ARCHIVE_RECORDS, "size", 1000000, "dropped", dropped);
        assert_non_null(root);
        ledger_add(ledger, root, path, json);
        json_decref(start);
}

/* A ledger of a whole archive's records, the last scan of which failed. */
static void begin(Trial *trial) {
        trial_init(trial);
        trial->tells_leaves = true;
        for (unsigned i = 0; i < SCANS; i++)
                ledger_scan(&trial->ledger, i + 1 < SCANS);
}

static void hide(Trial *trial, uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++)
                trial->hides[i] = true;
}

static void expect(Trial *trial, Result verdict, uint64_t n_pruned, uint64_t n_withheld) {
        assert_int_equal(trial_run(trial), verdict);
        assert_int_equal(trial->report->n_pruned, n_pruned);
        assert_int_equal(trial->report->n_withheld, n_withheld);
        assert_int_equal(trial->report->n_verified, trial->ledger.size - n_pruned - n_withheld);
        assert_int_equal(trial->report->n_of_kind[RECORD_AUDIT_WITHHELD] > 0, n_withheld > 0);
}

static void test_what_a_record_calls_archived_is_no_hole(void **state) {
        Trial trial;

        begin(&trial);
        add_archive(&trial.ledger, "0-1,4-127", NULL, NULL);
        trial_sign(&trial);
        expect(&trial, RESULT_PASSED, 0, 0);
        hide(&trial, 0, 2);
        hide(&trial, 4, 20);
        expect(&trial, RESULT_PASSED, 18, 0);
        assert_int_equal(trial.report->n_findings, 0); /* nothing odd either: it holds under --strict */

        /* What it does not call so is withheld, with its numbers. */
        hide(&trial, 124, 132);
        expect(&trial, RESULT_INCONCLUSIVE, 22, 4);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 1, 128);
        assert_int_equal(finding(&trial, RECORD_AUDIT_WITHHELD)->last, 131);

        /* As is all of it without that record. */
        trial.ledger.size--;
        trial.checkpoint.n = 0;
        trial_sign(&trial);
        expect(&trial, RESULT_INCONCLUSIVE, 0, 26);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_WITHHELD], 3);
        free(trial.ledger.lines[trial.ledger.size]);
        trial_done(&trial);
}

/* A heartbeat that tells no boot is no start of the machine, and a hole before it is none either. */
static void test_a_hole_is_no_boot(void **state) {
        json_t *chip;
        Trial trial;

        trial_init(&trial);
        trial.tells_leaves = true;
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        chip = ledger_statement(&trial.ledger, payloads.health);
        payload_set(chip, "predicate.producer.bootId", NULL);
        ledger_add(&trial.ledger, chip, NULL, NULL);
        ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), NULL, NULL);
        trial_sign(&trial);
        hide(&trial, 0, 1);
        expect(&trial, RESULT_INCONCLUSIVE, 0, 1);
        assert_int_equal(trial.report->n_boots, 1);
        trial_done(&trial);
}

/* Each kind of hole is one: with the mark of the daemon, or with nothing. */
static void test_a_mark_is_as_good_as_nothing(void **state) {
        Trial trial;

        begin(&trial);
        add_archive(&trial.ledger, "0-1,4-127", NULL, NULL);
        trial_sign(&trial);
        for (uint64_t i = 100; i < 130; i++) {
                free(trial.ledger.lines[i]);
                if (asprintf(&trial.ledger.lines[i], "{\"pruned\":{\"index\":%u,\"sha256\":\"%s\",\"archive\":\"records-000000000000.intoto.jsonl\"}}", (unsigned) i,
                             trial.ledger.ids[i]) < 0)
                        abort();
        }
        expect(&trial, RESULT_INCONCLUSIVE, 28, 2);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 1, 128);
        trial_done(&trial);
}

/* Whoever has the record key may call anything archived; what its own roll-up calls FAILED he cannot. */
static void test_a_failure_is_in_no_archive(void **state) {
        Trial trial;

        begin(&trial);
        add_archive(&trial.ledger, "0-254", NULL, NULL); /* its roll-up is here, and FAILED too */
        trial_sign(&trial);
        trial.hides[FAILED] = true;
        expect(&trial, RESULT_INCONCLUSIVE, 0, 1);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 1, FAILED);
        assert_non_null(strstr(finding(&trial, RECORD_AUDIT_WITHHELD)->text, "it FAILED, as record 255 says"));
        trial_done(&trial);
}

/* Nor where its roll-up comes later than the record that calls it archived. */
static void test_a_failure_is_in_no_archive_before_its_roll_up(void **state) {
        json_t *roll_up;
        Trial trial;

        trial_init(&trial);
        trial.tells_leaves = true;
        for (unsigned i = 0; i + 1 < SCANS; i++)
                ledger_scan(&trial.ledger, true);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.health), NULL, NULL);
        ledger_add(&trial.ledger, ledger_second(&trial.ledger, false), NULL, NULL);
        roll_up = ledger_roll_up(&trial.ledger);
        trial.ledger.hour++;
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        add_archive(&trial.ledger, "254", NULL, NULL);
        ledger_add(&trial.ledger, roll_up, NULL, NULL);
        trial_sign(&trial);
        trial.hides[FAILED] = true;
        expect(&trial, RESULT_INCONCLUSIVE, 0, 1);
        trial_done(&trial);
}

/* Nor what a later record calls a failure that stood, though no roll-up of it is here either. */
static void test_a_failure_that_stood_is_in_no_archive(void **state) {
        json_t *second;
        Trial trial;

        begin(&trial);
        add_archive(&trial.ledger, "254-255", NULL, NULL);
        second = ledger_second(&trial.ledger, true);
        ledger_set(second, "predicate.standing", "%u", FAILED);
        ledger_add(&trial.ledger, second, NULL, NULL);
        trial_sign(&trial);
        hide(&trial, FAILED, FAILED + 2);
        expect(&trial, RESULT_INCONCLUSIVE, 1, 1);
        assert_non_null(strstr(finding(&trial, RECORD_AUDIT_WITHHELD)->text, "it FAILED, as record 257 says"));
        trial_done(&trial);
}

/* The key changes behind HIDDEN records that an archive has, or that nobody knows of: these may be a rotation. */
static void test_a_key_does_not_change_in_an_archive(void **state) {
        static const struct {
                unsigned hidden, n;
                bool changes;
                Result verdict;
        } cases[] = {
                { 20, 4, true, RESULT_FAILED },
                { 20, 4, false, RESULT_PASSED },
                { 19, 5, true, RESULT_INCONCLUSIVE }, /* 19 is in none */
                { 20, 1, true, RESULT_FAILED },       /* 23 is here, and signed with the other one */
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordKey *other = other_key();
                Trial trial;

                trial_init(&trial);
                trial.tells_leaves = true;
                for (unsigned scan = 0; scan < SCANS; scan++) {
                        if (scan == 6 && cases[i].changes)
                                trial.ledger.key = other;
                        ledger_scan(&trial.ledger, true);
                }
                add_archive(&trial.ledger, "20-23", NULL, NULL);
                (void) record_keyring_free(trial.keyring);
                trial.keyring = make_keyring(payloads.key, other, "quorum none\n");
                trial_sign(&trial);
                hide(&trial, cases[i].hidden, cases[i].hidden + cases[i].n);
                if (trial_run(&trial) != cases[i].verdict || trial.report->n_of_kind[RECORD_AUDIT_KEY] != (cases[i].verdict == RESULT_FAILED))
                        fail_msg("case %zu: %s", i, result_to_string(trial.report->verdict));
                if (cases[i].verdict == RESULT_FAILED)
                        assert_int_equal(finding(&trial, RECORD_AUDIT_KEY)->first, 24);
                trial_done(&trial);
                (void) record_key_free(other);
        }
}

/* ---- forged ---- */

static void test_a_forged_archive_covers_nothing(void **state) {
        static const struct {
                const char *dropped, *path, *json;
                Result verdict;
                RecordAuditKind kind;
        } cases[] = {
                { "0-127", "predicate.range.end", "257", RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "0-127", "predicate.range", "{\"first\":1,\"end\":257}", RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "0-127", "predicate.range", "{\"first\":256,\"end\":512}", RESULT_FAILED, RECORD_AUDIT_REFUSED }, /* which come after it */
                { "0-127", "predicate.range", "{\"first\":0,\"end\":128}", RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "0-256", NULL, NULL, RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "", NULL, NULL, RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "0-127", "subject.0.name", "\"records-000000000256.intoto.jsonl\"", RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "5-4", NULL, NULL, RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "0-127", "predicate.log.origin", "\"log.example/other\"", RESULT_FAILED, RECORD_AUDIT_ORIGIN },
                { "0-127", "predicate.log.index", "200", RESULT_FAILED, RECORD_AUDIT_REFUSED },
                { "0-127", "predicateType", "\"urn:assay:attestation:archive:v2\"", RESULT_FAILED, RECORD_AUDIT_REFUSED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Trial trial;

                begin(&trial);
                add_archive(&trial.ledger, cases[i].dropped, cases[i].path, cases[i].json);
                trial_sign(&trial);
                hide(&trial, 40, 50);
                if (trial_run(&trial) != cases[i].verdict || trial.report->n_of_kind[cases[i].kind] != 1 || trial.report->n_pruned != 0 ||
                    trial.report->n_withheld != 10)
                        fail_msg("case %zu: %llu pruned, %llu withheld", i, (unsigned long long) trial.report->n_pruned,
                                 (unsigned long long) trial.report->n_withheld);
                trial_done(&trial);
        }
}

/* Signed by a key that is not the log's: one that nobody knows, and one that is known and never took over. */
static void test_an_archive_of_another_key_covers_nothing(void **state) {
        for (unsigned is_known = 0; is_known < 2; is_known++) {
                RecordKey *other = other_key();
                Trial trial;

                begin(&trial);
                if (is_known) {
                        (void) record_keyring_free(trial.keyring);
                        trial.keyring = make_keyring(payloads.key, other, "quorum none\n");
                }
                trial.ledger.key = other;
                add_archive(&trial.ledger, "0-127", NULL, NULL);
                trial_sign(&trial);
                hide(&trial, 40, 50);
                assert_int_equal(trial_run(&trial), is_known ? RESULT_FAILED : RESULT_INCONCLUSIVE);
                assert_int_equal(trial.report->n_of_kind[is_known ? RECORD_AUDIT_KEY : RECORD_AUDIT_UNKNOWN], 1);
                if (!is_known)
                        assert_int_equal(trial.report->n_withheld, 10);
                trial_done(&trial);
                (void) record_key_free(other);
        }
}

/* ---- with the archive ---- */

static const char *digest = "1111111111111111111111111111111111111111111111111111111111111111";
static uint64_t size = 1000000;
static char *instead[LEDGER_MAX]; /* of the line that the archive should have; "": none */

static int tell_line(void *userdata, uint64_t index, const char **ret, size_t *ret_n) {
        const Trial *trial = userdata;

        if (index >= RECORD_ARCHIVE_RECORDS || (instead[index] && !*instead[index]))
                return -ENOENT;
        *ret = instead[index] ?: trial->ledger.lines[index];
        *ret_n = strlen(*ret);
        return 0;
}

static int tell_archive(void *userdata, uint64_t index, char ret_digest[static RECORD_ID_HEX], uint64_t *ret_size) {
        if (index >= RECORD_ARCHIVE_RECORDS)
                return -ENOENT;
        (void) strcpy(ret_digest, digest);
        *ret_size = size;
        return 0;
}

static Result run_with_archive(Trial *trial) {
        trial->asks = (RecordAuditOptions) { .line = tell_line, .archive = tell_archive };
        return trial_run(trial);
}

static void test_an_archive_has_what_is_not_here(void **state) {
        Trial trial;

        begin(&trial);
        add_archive(&trial.ledger, "0-1,4-127", NULL, NULL);
        trial_sign(&trial);
        hide(&trial, 0, 100);
        assert_int_equal(run_with_archive(&trial), RESULT_PASSED);
        assert_int_equal(trial.report->n_verified, trial.ledger.size);
        assert_int_equal(trial.report->n_pruned + trial.report->n_withheld, 0);
        assert_int_equal(trial.report->n_starts, SCANS); /* each is judged in its place like any other */
        assert_int_equal(trial.report->chips[1].n_results[RESULT_FAILED], 1);

        /* The tree follows from it: no leaf hash has to be believed, nor any mark. */
        trial.tells_leaves = false;
        assert_int_equal(run_with_archive(&trial), RESULT_PASSED);

        /* A record that it lacks is nowhere, whatever is said of it. */
        trial.tells_leaves = true;
        instead[60] = strdup("");
        assert_int_equal(run_with_archive(&trial), RESULT_INCONCLUSIVE);
        assert_int_equal(trial.report->n_pruned, 0);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 1, 60);
        free(TAKE_PTR(instead[60]));

        /* Another file is refused, though all that it has verifies. */
        digest = "2222222222222222222222222222222222222222222222222222222222222222";
        assert_int_equal(run_with_archive(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_ARCHIVE, 1, RECORD_ARCHIVE_RECORDS);
        digest = "1111111111111111111111111111111111111111111111111111111111111111";

        /* As is one of another size, whose digest would be another one too, if nobody had lied. What it lacks is as if it was not given. */
        size--;
        instead[60] = strdup("");
        assert_int_equal(run_with_archive(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_ARCHIVE, 1, RECORD_ARCHIVE_RECORDS);
        assert_int_equal(trial.report->n_pruned, 1);
        free(TAKE_PTR(instead[60]));
        size++;
        trial_done(&trial);
}

/* Whether it is here, or in the archive that was given. */
static void test_what_failed_is_not_dropped(void **state) {
        static const char *const dropped[] = { "254", "255", "0-1,252-255" };

        for (unsigned i = 0; i < 2 * ELEMENTS(dropped); i++) {
                Trial trial;

                begin(&trial);
                add_archive(&trial.ledger, dropped[i / 2], NULL, NULL);
                trial_sign(&trial);
                if (i % 2 == 0)
                        expect(&trial, RESULT_FAILED, 0, 0);
                else {
                        hide(&trial, FAILED, FAILED + 2);
                        assert_int_equal(run_with_archive(&trial), RESULT_FAILED);
                }
                found_only(&trial, RECORD_AUDIT_ARCHIVE, 1, RECORD_ARCHIVE_RECORDS);
                trial_done(&trial);
        }
}

/* Lines of an archive are believed no more than any. */
static void test_what_an_archive_has_instead_is_told(void **state) {
        static const struct {
                const char *line; /* NULL: that of record 3 */
                RecordAuditKind kind;
        } cases[] = {
                { "{}", RECORD_AUDIT_REFUSED },
                { NULL, RECORD_AUDIT_MISPLACED },
                { "{\"pruned\":{\"index\":50,\"sha256\":\"1111111111111111111111111111111111111111111111111111111111111111\"}}", RECORD_AUDIT_PREVIOUS },
                { "{\"pruned\":{\"index\":70,\"sha256\":\"1111111111111111111111111111111111111111111111111111111111111111\"}}", RECORD_AUDIT_MISPLACED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Trial trial;

                begin(&trial);
                add_archive(&trial.ledger, "0-1,4-127", NULL, NULL);
                trial_sign(&trial);
                trial.hides[50] = true;
                instead[50] = strdup(cases[i].line ?: trial.ledger.lines[3]);
                assert_int_equal(run_with_archive(&trial), RESULT_FAILED);
                if (trial.report->n_of_kind[cases[i].kind] == 0)
                        fail_msg("case %zu", i);
                free(TAKE_PTR(instead[50]));
                trial_done(&trial);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_a_record_calls_archived_is_no_hole),
                cmocka_unit_test(test_a_hole_is_no_boot),
                cmocka_unit_test(test_a_mark_is_as_good_as_nothing),
                cmocka_unit_test(test_a_failure_is_in_no_archive),
                cmocka_unit_test(test_a_failure_is_in_no_archive_before_its_roll_up),
                cmocka_unit_test(test_a_failure_that_stood_is_in_no_archive),
                cmocka_unit_test(test_a_key_does_not_change_in_an_archive),
                cmocka_unit_test(test_a_forged_archive_covers_nothing),
                cmocka_unit_test(test_an_archive_of_another_key_covers_nothing),
                cmocka_unit_test(test_an_archive_has_what_is_not_here),
                cmocka_unit_test(test_what_failed_is_not_dropped),
                cmocka_unit_test(test_what_an_archive_has_instead_is_told),
        };

        return cmocka_run_group_tests(tests, audited_setup, audited_teardown);
}
