/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/keys/state.h"
#include "tests/record/audited.h"

static void test_a_sound_log_holds(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_REFUSED, 0, 0);
        assert_int_equal(trial.report->size, 2 * LEDGER_SCAN);
        assert_int_equal(trial.report->n_verified, 2 * LEDGER_SCAN);
        assert_int_equal(trial.report->n_starts, 2);
        assert_int_equal(trial.report->n_boots, 1);
        assert_int_equal(trial.report->checkpoint_size, 2 * LEDGER_SCAN);
        assert_string_equal(trial.report->origin, PLACE_ORIGIN);
        assert_int_equal(trial.report->last_usec - trial.report->first_usec, UINT64_C(3610) * 1000000);
        assert_int_equal(trial.report->n_chips, 2);
        assert_string_equal(trial.report->chips[0].where, "us0-2/chip0");
        assert_int_equal(trial.report->chips[0].n_results[RESULT_PASSED], 2);
        assert_string_equal(trial.report->chips[1].where, "us0-2/chip3");
        assert_string_equal(trial.report->chips[1].plan, "preflight");
        assert_int_equal(trial.report->chips[1].n_results[RESULT_FAILED], 2);
        assert_int_equal(trial.report->chips[1].newest, 6);

        trial_done(&trial);
}

/* Who has the record key alone can write any records behind those that the log has signed, of which there may be none. */
static void test_what_no_checkpoint_covers_is_open(void **state) {
        Trial trial;

        trial_init(&trial);
        for (uint64_t signed_size = 0; signed_size <= LEDGER_SCAN; signed_size += LEDGER_SCAN) {
                trial_sign(&trial);
                ledger_scan(&trial.ledger, true);
                assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
                found_only(&trial, RECORD_AUDIT_UNSIGNED, 1, signed_size);
                assert_int_equal(finding(&trial, RECORD_AUDIT_UNSIGNED)->last, signed_size + LEDGER_SCAN - 1);
                assert_true(trial.report->has_checkpoint);
                assert_int_equal(trial.report->checkpoint_size, signed_size);
                assert_int_equal(record_audit_covered(trial.audit), signed_size);
        }
        trial_done(&trial);
}

/* What a keyring takes nothing from for its age is in the log all the same, and must be. */
static void test_what_is_too_old_to_count_is_not_missing(void **state) {
        Trial trial;

        trial_init(&trial);
        trial.keyring->logs[0].min_index = LEDGER_SCAN;
        ledger_scan(&trial.ledger, false);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_REFUSED, 0, 0);
        assert_int_equal(trial.report->n_verified, 2 * LEDGER_SCAN);
        trial.hides[1] = true;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_MISSING], 1);
        trial_done(&trial);
}

static void test_nothing_checked_is_nothing_told(void **state) {
        static const RecordAuditKind expected[] = { RECORD_AUDIT_NO_CHECKPOINT, RECORD_AUDIT_NOTHING };
        Trial trial;

        trial_init(&trial);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        for (size_t i = 0; i < ELEMENTS(expected); i++)
                assert_int_equal(trial.report->n_of_kind[expected[i]], 1);
        trial_sign(&trial); /* of an empty log */
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_NOTHING, 1, RECORD_AUDIT_NO_RECORD);
        trial_done(&trial);
}

static void test_without_a_checkpoint_the_end_is_not_known(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_NO_CHECKPOINT, 1, RECORD_AUDIT_NO_RECORD);
        trial_done(&trial);
}

/* Each is told for what it is. */
static void test_what_is_no_checkpoint_proves_nothing(void **state) {
        static const struct {
                const char *text, *told;
        } cases[] = {
                { "", "the checkpoint is empty" },
                { "{\"payloadType\":\"application/vnd.in-toto+json\"}\n", "what was given as the checkpoint is none" },
                { "log.example/other\n1\nAAAA\n\n\xe2\x80\x94 log.example/other AAAAAAAA\n", "the checkpoint is of a log whose key is not known" },
        };
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                trial.checkpoint = (Printer) { .text = (char *) cases[i].text, .n = strlen(cases[i].text) };
                assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
                found_only(&trial, RECORD_AUDIT_NO_CHECKPOINT, 1, RECORD_AUDIT_NO_RECORD);
                assert_true(strncmp(finding(&trial, RECORD_AUDIT_NO_CHECKPOINT)->text, cases[i].told, strlen(cases[i].told)) == 0);
        }
        trial.checkpoint = (Printer) {};
        trial_done(&trial);
}

static void test_each_record_left_out_is_missed(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        for (uint64_t i = 0; i < 2 * LEDGER_SCAN; i++) {
                trial.hides[i] = true;
                assert_int_equal(trial_run(&trial), RESULT_FAILED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_MISSING], 1);
                assert_int_equal(finding(&trial, RECORD_AUDIT_MISSING)->first, i);
                assert_int_equal(finding(&trial, RECORD_AUDIT_MISSING)->last, i);
                trial.hides[i] = false;
        }
        /* Or the whole end. */
        trial.end = LEDGER_SCAN;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_MISSING, 1, LEDGER_SCAN);
        trial_done(&trial);
}

/* Whichever they are: who keeps back what is old is told as well. */
static void test_records_that_are_not_here_may_be_withheld(void **state) {
        Trial trial;

        trial_init(&trial);
        trial.tells_leaves = true;
        ledger_scan(&trial.ledger, false);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 0, 0);
        for (unsigned i = 0; i < LEDGER_SCAN; i++)
                trial.hides[i] = true;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_WITHHELD, 1, 0);
        assert_int_equal(finding(&trial, RECORD_AUDIT_WITHHELD)->last, LEDGER_SCAN - 1);
        assert_int_equal(trial.report->n_withheld, LEDGER_SCAN);
        assert_int_equal(trial.report->n_verified, LEDGER_SCAN);

        /* Each hole by itself, the last one too. */
        trial.hides[2] = false;
        trial.hides[2 * LEDGER_SCAN - 1] = true;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_WITHHELD], 3);
        assert_int_equal(trial.report->n_withheld, LEDGER_SCAN);
        /* A hash that is not that of the record is told at the record, and the tree is another one. */
        memset(trial.hides, 0, sizeof(trial.hides));
        trial.ledger.leaves[5].bytes[7] ^= 1;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_LEAF, 1, 5);
        trial.hides[5] = true;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROOT], 1);
        trial_done(&trial);
}

/* In place of record INDEX, as the daemon tells of it. */
static void prune(Trial *trial, uint64_t index, const char *id) {
        free(trial->ledger.lines[index]);
        if (asprintf(&trial->ledger.lines[index], "{\"pruned\":{\"index\":%llu,\"sha256\":\"%s\"}}", (unsigned long long) index, id) < 0)
                abort();
}

static void test_what_is_said_of_pruned_records_must_fit(void **state) {
        Trial trial;

        for (unsigned i = 0; i < 3; i++) {
                trial_init(&trial);
                trial.tells_leaves = i != 1;
                ledger_scan(&trial.ledger, true);
                ledger_scan(&trial.ledger, true);
                trial_sign(&trial);
                for (unsigned k = 0; k < LEDGER_SCAN; k++)
                        prune(&trial, k, trial.ledger.ids[i == 2 ? 0 : k]);
                assert_int_equal(trial_run(&trial), i == 2 ? RESULT_FAILED : RESULT_INCONCLUSIVE);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_WITHHELD], 1);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_NO_CHECKPOINT], i == 1);
                assert_true(i != 1 || finding(&trial, RECORD_AUDIT_NO_CHECKPOINT)->last == LEDGER_SCAN - 1);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_PREVIOUS], i == 2);
                assert_int_equal(trial.report->n_withheld, LEDGER_SCAN);
                assert_int_equal(trial.report->n_verified, LEDGER_SCAN);
                trial_done(&trial);
        }
        /* One that was told of twice, and one that is far away. */
        trial_init(&trial);
        trial.tells_leaves = true;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        prune(&trial, 1, trial.ledger.ids[1]);
        trial.ledger.lines[1][strlen("{\"pruned\":{\"index\":")] = '0';
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_MISPLACED], 1);
        trial.ledger.lines[1][strlen("{\"pruned\":{\"index\":")] = '9';
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_MISSING], 1);
        trial_done(&trial);
}

/* A daemon that makes up leaves without an end. */
static int tell_any_hash(void *userdata, unsigned level, uint64_t index, uint8_t ret[static 32]) {
        if (++*(unsigned *) userdata > 2 * (RECORD_AUDIT_UNSIGNED_BYTES >> 10))
                fail_msg("it is fed for ever");
        memset(ret, (int) index, DIGEST_BYTES);
        return 0;
}

static void test_nobody_is_fed_for_ever(void **state) {
        static const char mark[] = "{\"pruned\":{\"index\":4503599627370496,\"sha256\":"
                                   "\"0000000000000000000000000000000000000000000000000000000000000000\"}}";
        _cleanup_free_ char *garbage = calloc(1, RECORD_ENVELOPE_MAX);
        unsigned n_leaves = 0;
        Trial trial;

        assert_non_null(garbage);
        for (unsigned i = 0; i < 2; i++) {
                RecordAuditOptions options = { .hash = tell_any_hash, .userdata = &n_leaves };
                unsigned n = 0;
                int r;

                trial_init(&trial);
                ledger_scan(&trial.ledger, true);
                trial_sign(&trial);
                options.keyring = trial.keyring;
                options.checkpoint = trial.checkpoint.text;
                options.n_checkpoint = trial.checkpoint.n;
                assert_int_equal(record_audit_new(&options, &trial.audit), 0);
                if (i == 0)
                        assert_int_equal(record_audit_take(trial.audit, mark, strlen(mark)), -E2BIG);
                else {
                        while ((r = record_audit_take(trial.audit, garbage, RECORD_ENVELOPE_MAX)) == 0)
                                assert_true(++n <= LEDGER_SCAN + 1024);
                        assert_int_equal(r, -E2BIG);
                        assert_int_equal(n, LEDGER_SCAN + 1024); /* what the log has signed is read whatever it is */
                }
                trial_done(&trial);
        }
}

static void test_records_in_another_order_are_told(void **state) {
        Trial trial;
        char *line;

        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        line = trial.ledger.lines[1];
        trial.ledger.lines[1] = trial.ledger.lines[2];
        trial.ledger.lines[2] = line;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_MISPLACED], 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_MISPLACED)->first, 1);
        /* And one that stands twice. */
        free(trial.ledger.lines[1]);
        trial.ledger.lines[1] = line;
        trial.ledger.lines[2] = strdup(line);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(finding(&trial, RECORD_AUDIT_MISPLACED)->first, 1);
        trial_done(&trial);
}

static void test_what_the_signer_says_wrongly_is_told(void **state) {
        static const Change changes[] = {
                { 2, "predicate.previous.sha256", zeros, RECORD_AUDIT_PREVIOUS },
                { 2, "predicate.log.origin", "\"fleet.example/stations/st-018\"", RECORD_AUDIT_ORIGIN },
                { 3, "predicate.components.0.annotations.recordSha256", zeros, RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.1.annotations.result", "\"WARNED\"", RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.1", NULL, RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.run.clock.monotonicNs", "\"1000000000\"", RECORD_AUDIT_CLOCK },
                { 3, "predicate.run.finishedOn", "\"2026-11-21T01:00:07.900Z\"", RECORD_AUDIT_CLOCK },
                { 3, "predicate.components.0.annotations.slot", "\"us0-2/chip9\"", RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.1.digest.sha256", zeros, RECORD_AUDIT_ROLL_UP },
                { 1, "predicate.run.challenge", "\"Y2hhbGxlbmdl0009\"", RECORD_AUDIT_RUN },
                { 2, "predicate.run.challenge", NULL, RECORD_AUDIT_RUN },
                { 3, "predicate.run.challenge", "\"Y2hhbGxlbmdl0009\"", RECORD_AUDIT_RUN },
                { 1, "predicate.run.stage", "\"REPAIR\"", RECORD_AUDIT_RUN },
                { 1, "predicate.run.startedOn", "\"2026-11-21T01:00:01.000Z\"", RECORD_AUDIT_BEGIN },
                { 3, "predicate.run.startedOn", "\"2026-11-21T00:59:59.000Z\"", RECORD_AUDIT_BEGIN },
                { 1, "predicate.run.seed", "8", RECORD_AUDIT_BEGIN },
                { 3, "predicate.run.seed", "8", RECORD_AUDIT_BEGIN },
        };

        for (size_t i = 0; i < ELEMENTS(changes); i++) {
                RecordAuditWeight weight = record_audit_kind_weight(changes[i].kind);
                Trial trial;

                trial_init(&trial);
                ledger_scan(&trial.ledger, false);
                changed_scan(&trial.ledger, &changes[i], false);
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), weight == RECORD_AUDIT_BROKEN ? RESULT_FAILED : RESULT_PASSED);
                found_only(&trial, changes[i].kind, 1, LEDGER_SCAN + changes[i].at);
                trial_done(&trial);
        }
}

/* Nothing is here of its start, and still a roll-up answers no other challenge than its chips, nor is it of another stage. */
static void test_a_run_without_its_start_is_one_run(void **state) {
        static const Change changes[] = {
                { 2, "predicate.run.challenge", "\"Y2hhbGxlbmdl0009\"", RECORD_AUDIT_RUN },
                { 2, "predicate.run.stage", "\"INFLEET\"", RECORD_AUDIT_RUN },
                { 2, "predicate.run.startedOn", "\"2026-11-21T00:00:01.000Z\"", RECORD_AUDIT_BEGIN },
                { 3, "predicate.run.challenge", NULL, RECORD_AUDIT_RUN },
                { 3, "predicate.run.stage", "\"INFLEET\"", RECORD_AUDIT_RUN },
                { 3, "predicate.run.seed", "8", RECORD_AUDIT_BEGIN },
        };

        for (size_t i = 0; i < ELEMENTS(changes); i++) {
                Trial trial;

                trial_init(&trial);
                changed_records(&trial.ledger, &changes[i], true, 1);
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), changes[i].kind == RECORD_AUDIT_RUN ? RESULT_FAILED : RESULT_PASSED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_UNSTARTED], 1);
                assert_int_equal(trial.report->n_of_kind[changes[i].kind], 1);
                assert_int_equal(finding(&trial, changes[i].kind)->first, changes[i].at - 1);
                trial_done(&trial);
        }
}

/* The roll-up says of which server and in which place which chip is, and its record agrees. */
static void test_a_roll_up_is_of_the_server_of_its_chips(void **state) {
        static const Change changes[] = {
                { 2, "predicate.host", "{\"uri\":\"urn:dev:ops:32473-Small-SRV00018\"}", RECORD_AUDIT_ROLL_UP },
                { 2, "predicate.host", "{\"name\":\"server\",\"digest\":{\"sha256\":\"0000000000000000000000000000000000000000000000000000000000000000\"}}", RECORD_AUDIT_ROLL_UP },
                { 2, "predicate.host", NULL, RECORD_AUDIT_ROLL_UP },
                { 2, "predicate.location", NULL, RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.0.digest", NULL, RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.0.uri", NULL, RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.1.uri", "\"https://chips.example/4\"", RECORD_AUDIT_ROLL_UP },
        };

        for (size_t i = 0; i < ELEMENTS(changes); i++) {
                Trial trial;

                trial_init(&trial);
                changed_scan(&trial.ledger, &changes[i], true);
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), RESULT_FAILED);
                found_only(&trial, changes[i].kind, 1, LEDGER_SCAN - 1);
                trial_done(&trial);
        }
}

/* It may be broken, and was not asked for its identity; or somebody scanned it twice. */
static void test_one_chip_in_two_places_is_shown(void **state) {
        json_t *second, *roll_up, *subject, *twin;
        Trial trial;

        trial_init(&trial);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.health), NULL, NULL);
        second = ledger_statement(&trial.ledger, payloads.health);
        subject = json_incref(json_array_get(json_object_get(second, "subject"), 0));
        ledger_set(second, "predicate.location.path", "\"us0-2/chip3\"");
        ledger_add(&trial.ledger, second, NULL, NULL);
        roll_up = ledger_roll_up(&trial.ledger);
        twin = json_array_get(json_object_get(json_object_get(roll_up, "predicate"), "components"), 1);
        (void) json_object_update(twin, subject);
        json_decref(subject);
        ledger_add(&trial.ledger, roll_up, NULL, NULL);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_TWINS, 1, LEDGER_SCAN - 1);
        trial_done(&trial);
}

static void test_a_challenge_is_answered_once(void **state) {
        Trial trial;

        trial_init(&trial);
        trial.ledger.challenge = "\"Y2hhbGxlbmdl\"";
        ledger_scan(&trial.ledger, false);
        ledger_scan(&trial.ledger, false);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_CHALLENGE, 1, 0);
        trial_done(&trial);
}

/* Whoever takes the results of one server for those of another, or one end for two beginnings. */
static void test_a_run_ends_as_it_began(void **state) {
        static const Change elsewhere = { 0, "predicate.location.path", "\"us0-3\"", RECORD_AUDIT_RUN };
        static const Change one_chip = { 0, "predicate.run.chips", "[0]", RECORD_AUDIT_RUN };
        Trial trial;

        trial_init(&trial);
        changed_scan(&trial.ledger, &one_chip, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_RUN, 1, 2);
        trial_done(&trial);

        trial_init(&trial);
        changed_scan(&trial.ledger, &elsewhere, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_RUN, LEDGER_CHIPS + 1, 1);
        trial_done(&trial);

        trial_init(&trial);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_RUN, 1, 1);
        trial_done(&trial);
}

/* Also where no roll-up follows, which would name one of them alone; the newest would count. */
static void test_a_chip_is_told_once_in_a_run(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        ledger_add(&trial.ledger, ledger_second(&trial.ledger, false), NULL, NULL);
        ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), NULL, NULL);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_RUN], 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_RUN)->first, 2);
        trial_done(&trial);
}

/* What a scan passed together with others says nothing of one that it was not scanned with. */
static void test_the_servers_of_a_run_are_the_same_in_all_of_it(void **state) {
        Trial trial;

        for (int same = 0; same <= 1; same++) {
                trial_init(&trial);
                ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), "predicate.run.servers", "[\"us0-2\",\"us0-3\"]");
                ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), "predicate.run.servers", same ? "[\"us0-2\",\"us0-3\"]" : "[\"us0-2\"]");
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), same ? RESULT_PASSED : RESULT_FAILED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_RUN], same ? 0 : 1);
                trial_done(&trial);
        }
}

/* Behind a roll-up that passed nobody looks for a failure, nor at a beginning behind what it should have said first. */
static void test_nothing_of_a_run_follows_its_roll_up(void **state) {
        enum { START, CHIP, ROLL_UP } behind;
        Trial trial;

        for (behind = START; behind <= ROLL_UP; behind++) {
                trial_init(&trial);
                ledger_scan(&trial.ledger, true);
                trial.ledger.hour--;
                ledger_add(&trial.ledger, behind == START ? ledger_statement(&trial.ledger, payloads.start) : ledger_second(&trial.ledger, false), NULL, NULL);
                if (behind == ROLL_UP)
                        ledger_add(&trial.ledger, ledger_roll_up(&trial.ledger), NULL, NULL);
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), RESULT_FAILED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_RUN], behind == ROLL_UP ? 2 : 1);
                assert_int_equal(finding(&trial, RECORD_AUDIT_RUN)->first, LEDGER_SCAN);
                trial_done(&trial);
        }
        trial_init(&trial);
        ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), NULL, NULL);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), "predicate.location.path", "\"us0-3\"");
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(finding(&trial, RECORD_AUDIT_RUN)->first, 1);
        trial_done(&trial);
}

/* A chip leaves the seed of its run to its server. */
static void test_who_says_no_seed_says_no_other_one(void **state) {
        static const Change silent = { 1, "predicate.run.seed", NULL, RECORD_AUDIT_BEGIN };
        Trial trial;

        trial_init(&trial);
        changed_scan(&trial.ledger, &silent, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_BEGIN, 0, 0);
        trial_done(&trial);
}

/* Somebody goes on with SIZE records, of which ROOT is the tree's. */
static void add_decision(Ledger *ledger, uint64_t size, const TreeHash *root) {
        json_t *start = ledger_statement(ledger, ledger->source->start), *from = json_object_get(start, "predicate");
        char hex[DIGEST_HEX];

        ledger_add(ledger,
                   json_pack("{s:s, s:[{s:{s:s}}], s:s, s:{s:O, s:O, s:s, s:s, s:s, s:{s:i}, s:{s:I, s:s}}}", "_type", "https://in-toto.io/Statement/v1", "subject",
                             "digest", "sha256", "1111111111111111111111111111111111111111111111111111111111111111", "predicateType", RECORD_TYPE_DECISION,
                             "predicate", "producer", json_object_get(from, "producer"), "log", json_object_get(from, "log"), "sentOn",
                             "2026-11-21T01:00:00Z", "cause", "checkpoints-lost", "note", "the disk was lost", "operator", "uid", 0, "kept", "size", (json_int_t) size,
                             "sha256", digest_to_hex(root->bytes, hex)),
                   NULL, NULL);
        json_decref(start);
}

static void test_a_decision_is_about_the_records_before_it(void **state) {
        static const struct {
                uint64_t size, root; /* as many records as it says, and as many as its root is of */
                bool holds;
        } cases[] = {
                { LEDGER_SCAN, LEDGER_SCAN, true },
                { LEDGER_SCAN, LEDGER_SCAN - 1, false },
                { LEDGER_SCAN - 1, LEDGER_SCAN - 1, false },
                { LEDGER_SCAN + 1, LEDGER_SCAN, false },
                { 0, 0, false },
        };
        Trial trial;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                TreeHash root;

                trial_init(&trial);
                ledger_scan(&trial.ledger, true);
                root = plain_root(trial.ledger.leaves, cases[i].root);
                add_decision(&trial.ledger, cases[i].size, &root);
                ledger_scan(&trial.ledger, true);
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), cases[i].holds ? RESULT_PASSED : RESULT_FAILED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_DECISION], 1);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROOT], !cases[i].holds);
                if (!cases[i].holds)
                        assert_int_equal(finding(&trial, RECORD_AUDIT_ROOT)->first, LEDGER_SCAN);

                /* Where nobody tells the hash of a record before it, how many there are is known. */
                prune(&trial, 0, trial.ledger.ids[0]);
                assert_int_equal(trial_run(&trial), cases[i].size == LEDGER_SCAN ? RESULT_INCONCLUSIVE : RESULT_FAILED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROOT], cases[i].size != LEDGER_SCAN);
                trial_done(&trial);
        }
}

/* A pruned record tells nothing of a chip in a run that began later, nor does it hide what is here: a roll-up that has no record of a chip cannot name an old one. */
static void test_a_roll_up_names_no_record_from_before_its_run(void **state) {
        static const struct {
                bool hides[LEDGER_SCAN + 2];
                unsigned named;
                bool is_told;
        } cases[] = {
                { { true, true, true, true, false, true }, 1, true },
                { { true, true, true, true, false, true }, LEDGER_SCAN + 1, false },
                { { false, false, false, false, true, true }, 1, true }, /* the start is not here either */
                { { false, false, false, false, true, true }, 2, true }, /* another chip, which failed */
                { { false, true, false, false, true, true }, 2, true },
                { { false, true, false, false, true, true }, 1, false },
        };
        json_t *roll_up;
        Trial trial;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                const unsigned named = cases[i].named;

                trial_init(&trial);
                ledger_scan(&trial.ledger, false);
                ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
                ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.health), NULL, NULL);
                ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), NULL, NULL);
                roll_up = ledger_roll_up(&trial.ledger);
                ledger_set(roll_up, "predicate.components.0.annotations.logIndex", "%u", named);
                ledger_set(roll_up, "predicate.components.0.annotations.recordSha256", "\"%s\"", trial.ledger.ids[named]);
                ledger_add(&trial.ledger, roll_up, NULL, NULL);
                trial_sign(&trial);
                trial.tells_leaves = true;
                memcpy(trial.hides, cases[i].hides, sizeof(cases[i].hides));
                assert_int_equal(trial_run(&trial), cases[i].is_told ? RESULT_FAILED : RESULT_INCONCLUSIVE);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROLL_UP], cases[i].is_told);
                trial_done(&trial);
        }
}

/* Of two scans: chip 0 passed in 1, its neighbour failed in 2, and AT is the record of one of them in the second. */
static void test_what_a_record_says_of_earlier_ones_is_held_against_them(void **state) {
        enum { FIRST = LEDGER_SCAN + 1, SECOND, NONE = -1 };
        static const struct {
                unsigned at;
                int earlier, standing;
                int hidden;
                Result verdict;
                RecordAuditKind kind;
        } cases[] = {
                { FIRST, 1, NONE, NONE, RESULT_PASSED },
                { SECOND, 2, 2, NONE, RESULT_PASSED },
                { SECOND, NONE, 2, NONE, RESULT_PASSED }, /* another chip may have been in its place since */
                { FIRST, 2, NONE, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER },
                { FIRST, 3, NONE, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER },
                { FIRST, 0, NONE, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER },
                { FIRST, 1, 1, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER }, /* it passed */
                { FIRST, 1, 0, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER },
                { FIRST, NONE, 2, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER }, /* that is another chip */
                { SECOND, NONE, 3, NONE, RESULT_FAILED, RECORD_AUDIT_EARLIER }, /* the server */
                { FIRST, 3, NONE, 3, RESULT_INCONCLUSIVE, RECORD_AUDIT_WITHHELD }, /* that might be it */
                { FIRST, 0, NONE, 0, RESULT_FAILED, RECORD_AUDIT_EARLIER }, /* a newer one is here */
                { SECOND, 2, 2, 2, RESULT_INCONCLUSIVE, RECORD_AUDIT_WITHHELD },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Trial trial;

                trial_init(&trial);
                trial.tells_leaves = true;
                ledger_scan(&trial.ledger, false);
                for (unsigned at = LEDGER_SCAN; at < 2 * LEDGER_SCAN; at++) {
                        json_t *root = at == LEDGER_SCAN ? ledger_statement(&trial.ledger, payloads.start) : at == FIRST ? ledger_statement(&trial.ledger, payloads.health) :
                                       at == SECOND ? ledger_second(&trial.ledger, true) : ledger_roll_up(&trial.ledger);

                        if (at == cases[i].at && cases[i].earlier != NONE)
                                ledger_set(root, "predicate.earlier", "%d", cases[i].earlier);
                        if (at == cases[i].at && cases[i].standing != NONE)
                                ledger_set(root, "predicate.standing", "%d", cases[i].standing);
                        ledger_add(&trial.ledger, root, NULL, NULL);
                }
                trial_sign(&trial);
                if (cases[i].hidden != NONE)
                        trial.hides[cases[i].hidden] = true;
                if (trial_run(&trial) != cases[i].verdict || (cases[i].verdict != RESULT_PASSED && trial.report->n_of_kind[cases[i].kind] != 1))
                        fail_msg("case %zu: %s", i, result_to_string(trial.report->verdict));
                trial_done(&trial);
        }
}

/* Its rules are others: what was not measured may pass. */
static void test_a_log_does_not_go_back_to_version_1(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                json_t *newer;
                Trial trial;

                trial_init(&trial);
                ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
                newer = ledger_statement(&trial.ledger, payloads.signed_health);
                if (i == 0)
                        ledger_add(&trial.ledger, newer, NULL, NULL);
                ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), NULL, NULL);
                if (i == 1)
                        ledger_add(&trial.ledger, newer, NULL, NULL);
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), i == 0 ? RESULT_FAILED : RESULT_PASSED);
                assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_VERSION], i == 0);
                trial_done(&trial);
        }
}

static void test_a_refused_record_spoils_the_log(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        trial.ledger.lines[2][20] ^= 1; /* a payload: another one */
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_refused, 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_REFUSED)->first, 2);
        trial_done(&trial);
}

static void test_an_unknown_key_leaves_it_open(void **state) {
        RecordKey *other = other_key();
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial.ledger.key = other;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_UNKNOWN, LEDGER_SCAN, LEDGER_SCAN);
        assert_int_equal(trial.report->n_unknown, LEDGER_SCAN);
        assert_int_equal(trial.report->size, 2 * LEDGER_SCAN);
        trial_done(&trial);
        (void) record_key_free(other);
}

static void test_a_key_that_no_rotation_names_is_told(void **state) {
        RecordKey *other = other_key();
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial.ledger.key = other;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        (void) record_keyring_free(trial.keyring);
        trial.keyring = make_keyring(payloads.key, other, "quorum none\n");
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_KEY, 1, LEDGER_SCAN);
        trial_done(&trial);
        (void) record_key_free(other);
}

/* A scan, a rotation and a scan: which keys sign the last two, and whom the rotation names. */
static void rotate(Trial *trial, const RecordKey *signer, const RecordKey *old, const RecordKey *new, const RecordKey *after) {
        RecordKey *other = other_key();

        trial_init(trial);
        (void) record_keyring_free(trial->keyring);
        trial->keyring = make_keyring(payloads.key, other, "quorum none\n");
        ledger_scan(&trial->ledger, true);
        trial->ledger.key = signer;
        ledger_rotate(&trial->ledger, key_public(old), key_public(new));
        trial->ledger.key = after;
        ledger_scan(&trial->ledger, true);
        trial_sign(trial);
        (void) record_key_free(other);
}

static void test_a_rotation_names_who_signs_next(void **state) {
        RecordKey *first = payloads.key, *other = other_key();
        Trial trial;

        rotate(&trial, first, first, other, other);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_KEY, 0, 0);
        assert_int_equal(trial.report->n_rotations, 1);
        trial_done(&trial);

        /* The old key goes on. */
        rotate(&trial, first, first, other, first);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_KEY, 1, LEDGER_SCAN + 1);
        trial_done(&trial);

        /* The new key names itself. */
        rotate(&trial, other, first, other, other);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(finding(&trial, RECORD_AUDIT_KEY)->first, LEDGER_SCAN);
        trial_done(&trial);

        /* The key that signs ends another one. */
        rotate(&trial, first, other, first, first);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_KEY, 1, LEDGER_SCAN);
        trial_done(&trial);
        (void) record_key_free(other);
}

static void test_a_checkpoint_counts_only_as_the_log_signed_it(void **state) {
        RecordKey *other = other_key();
        Printer sound;
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        sound = trial.checkpoint;
        assert_int_equal(trial_run(&trial), RESULT_PASSED);

        /* By another key under the log's name. */
        trial.checkpoint = (Printer) {};
        ledger_checkpoint(&trial.ledger, &log_name, other, &trial.checkpoint);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_CHECKPOINT, 1, RECORD_AUDIT_NO_RECORD);

        /* Of a tree with one other leaf, by the right key. */
        printer_done(&trial.checkpoint);
        trial.ledger.leaves[0].bytes[0] ^= 1;
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        found_only(&trial, RECORD_AUDIT_ROOT, 1, 0);
        printer_done(&sound);
        trial_done(&trial);
        (void) record_key_free(other);
}

static void test_witnesses_are_asked_for(void **state) {
        RecordKey *witness = other_key();
        NoteKey note_key = note_key_of("w.example/1", NOTE_WITNESS, witness);
        _cleanup_printer_ Printer vkey = {}, text = {};
        char lines[256];
        const char *end;
        Trial trial;

        note_key_print(&vkey, &note_key);
        (void) snprintf(lines, sizeof(lines), "witness w1 %.*s\nquorum w1\n", (int) vkey.n, vkey.text);
        trial_init(&trial);
        (void) record_keyring_free(trial.keyring);
        trial.keyring = make_keyring(payloads.key, NULL, lines);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_NO_WITNESS, 1, RECORD_AUDIT_NO_RECORD);

        end = memmem(trial.checkpoint.text, trial.checkpoint.n, "\n\n", 2);
        printer_raw(&text, trial.checkpoint.text, (size_t) (end + 1 - trial.checkpoint.text));
        note_sign(&trial.checkpoint, text.text, text.n, &note_key, witness, 1795252442000000);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        assert_int_equal(trial.report->n_witnesses, 1);
        assert_int_equal(trial.report->witnessed_usec, 1795252442000000);
        trial_done(&trial);
        (void) record_key_free(witness);
}

static void test_a_checkpoint_of_a_log_nobody_knows_proves_nothing(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        (void) record_keyring_free(trial.keyring);
        trial.keyring = place_keyring(&payloads.place);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        found_only(&trial, RECORD_AUDIT_NO_CHECKPOINT, 1, RECORD_AUDIT_NO_RECORD);
        trial_done(&trial);
}

static void test_a_pass_after_a_failure_is_shown(void **state) {
        static const Change none = { .at = LEDGER_SCAN }, note = { 0, "predicate.run.note", "\"tray 0 replaced\"", RECORD_AUDIT_RUN };
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        changed_scan(&trial.ledger, &none, false);
        changed_scan(&trial.ledger, &note, true);
        changed_scan(&trial.ledger, &none, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_RERUN, 1, LEDGER_SCAN + 2);
        assert_int_equal(finding(&trial, RECORD_AUDIT_RERUN)->last, 2 * LEDGER_SCAN + 2);
        assert_non_null(strstr(finding(&trial, RECORD_AUDIT_RERUN)->text, "in record 10, with no repair of memory between; its scan was asked for with: tray 0 replaced"));
        assert_int_equal(trial.report->chips[1].n_results[RESULT_FAILED], 2);
        assert_int_equal(trial.report->chips[1].n_results[RESULT_PASSED], 2);
        trial_done(&trial);

        /* Repaired between. */
        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        trial.ledger.stage = "\"REPAIR\"";
        changed_scan(&trial.ledger, &none, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_RERUN, 0, 0);
        trial_done(&trial);
}

static void test_a_run_without_an_end_or_a_beginning_is_shown(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), NULL, NULL);
        trial.ledger.hour++;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_UNFINISHED, 1, LEDGER_SCAN);
        assert_int_equal(trial.report->n_starts, 3);
        trial_done(&trial);

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.health), NULL, NULL);
        ledger_add(&trial.ledger, ledger_second(&trial.ledger, true), NULL, NULL);
        ledger_add(&trial.ledger, ledger_roll_up(&trial.ledger), NULL, NULL);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_UNSTARTED, 1, LEDGER_SCAN);
        trial_done(&trial);
}

/* In the order of the log, whatever they are called. */
static void test_runs_without_an_end_are_shown_in_order(void **state) {
        static const char *const ids[] = { "\"01934a6e-5e00-7000-8000-000000000009\"", "\"01934a6e-5e00-7000-8000-000000000001\"",
                                           "\"01934a6e-5e00-7000-8000-000000000005\"" };
        uint64_t next = 0;
        Trial trial;

        trial_init(&trial);
        for (size_t i = 0; i < ELEMENTS(ids); i++)
                ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), "predicate.run.id", ids[i]);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_UNFINISHED, ELEMENTS(ids), 0);
        for (size_t i = 0; i < trial.report->n_findings; i++)
                assert_int_equal(trial.report->findings[i].first, next++);
        trial_done(&trial);
}

static void test_a_plan_that_changes_is_shown(void **state) {
        Trial trial;
        json_t *root;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        root = ledger_statement(&trial.ledger, payloads.start);
        ledger_add(&trial.ledger, root, "predicate.configuration.0.digest.sha256", zeros);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_PLAN], 1);
        trial_done(&trial);
}

static void test_what_is_told_is_plain(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.start), "predicate.configuration.0.name", "\"\\u001b[2J\\u009b\"");
        ledger_add(&trial.ledger, ledger_statement(&trial.ledger, payloads.health), "predicate.configuration.0.name", "\"\\u001b[2J\\u009b\"");
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        assert_non_null(strstr(finding(&trial, RECORD_AUDIT_UNFINISHED)->text, "?[2J??"));
        assert_string_equal(trial.report->chips[0].plan, "?[2J??");
        trial_done(&trial);
}

static void test_silence_is_shown(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial.ledger.hour = 2;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_SILENCE, 0, 0);
        trial.ledger.hour = 5;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_SILENCE, 1, 2 * LEDGER_SCAN);
        trial_done(&trial);
}

/* More of a kind than is kept: counted, and the report stays small. */
static void test_the_report_is_bounded(void **state) {
        Trial trial;
        const RecordAuditOptions options = { .keyring = payloads.keyring };

        trial_init(&trial);
        assert_int_equal(record_audit_new(&options, &trial.audit), 0);
        for (unsigned i = 0; i < 3 * RECORD_AUDIT_KEPT; i++)
                assert_int_equal(record_audit_take(trial.audit, "{", 1), 0);
        assert_int_equal(record_audit_end(trial.audit, &trial.report), 0);
        assert_int_equal(trial.report->verdict, RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_REFUSED], 3 * RECORD_AUDIT_KEPT);
        assert_true(trial.report->n_findings < RECORD_AUDIT_KEPT + 10);
        trial_done(&trial);
}

/* ---- an auditor who comes back ---- */

static void make_folder(char path[static 128]) {
        (void) snprintf(path, 128, "%s/state-XXXXXX", payloads.place.folder);
        assert_non_null(mkdtemp(path));
}

/* A log of so many scans; bit i of PASSED: the second chip of scan i is sound. */
static void show(const char *remembers, unsigned n_scans, unsigned passed, RecordAuditKind kind, uint64_t n, uint64_t first) {
        Trial trial;

        trial_init(&trial);
        trial.remembers = remembers;
        for (unsigned i = 0; i < n_scans; i++)
                ledger_scan(&trial.ledger, passed & 1u << i);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), n > 0 ? RESULT_FAILED : RESULT_PASSED);
        found_only(&trial, kind, n, first);
        trial_done(&trial);
}

static void holds(const char *remembers, unsigned n_scans, unsigned passed) {
        show(remembers, n_scans, passed, RECORD_AUDIT_REFUSED, 0, 0);
}

static void test_a_log_is_what_it_was_and_more(void **state) {
        char folder[128];

        make_folder(folder);
        holds(folder, 2, 15);
        holds(folder, 2, 15);
        holds(folder, 3, 15);
        /* Each of these holds by itself. */
        holds(NULL, 2, 15);
        show(folder, 2, 15, RECORD_AUDIT_ROLLED_BACK, 1, 2 * LEDGER_SCAN);
        holds(NULL, 3, 0);
        show(folder, 3, 0, RECORD_AUDIT_REWRITTEN, 1, 0);
        show(folder, 4, 0, RECORD_AUDIT_REWRITTEN, 1, 0);
        /* None of which is remembered. */
        holds(folder, 4, 15);
}

static void test_what_was_seen_is_told(void **state) {
        char folder[128];
        Trial trial;

        make_folder(folder);
        trial_init(&trial);
        trial.remembers = folder;
        for (unsigned i = 0; i < 3; i++) {
                ledger_scan(&trial.ledger, true);
                trial.checkpoint.n = 0;
                trial_sign(&trial);
                assert_int_equal(trial_run(&trial), RESULT_PASSED);
                assert_int_equal(trial.report->seen_size, i * LEDGER_SCAN);
        }
        trial_done(&trial);
}

/* Somebody shows an old checkpoint with all the records, or none and fewer records. */
static void test_an_end_that_is_kept_back_is_missed(void **state) {
        char folder[128];
        Trial trial;

        make_folder(folder);
        trial_init(&trial);
        trial.remembers = folder;
        ledger_scan(&trial.ledger, true);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);

        printer_done(&trial.checkpoint);
        trial.end = LEDGER_SCAN + 1;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROLLED_BACK], 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_ROLLED_BACK)->first, LEDGER_SCAN + 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_ROLLED_BACK)->last, 2 * LEDGER_SCAN - 1);
        trial_done(&trial);

        trial_init(&trial);
        trial.remembers = folder;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        ledger_scan(&trial.ledger, true);
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROLLED_BACK], 1);
        assert_int_equal(finding(&trial, RECORD_AUDIT_ROLLED_BACK)->first, LEDGER_SCAN);
        trial_done(&trial);
}

static void test_what_proofs_have_shown_counts_too(void **state) {
        RecordState *kept;
        char folder[128];
        Trial trial;

        make_folder(folder);
        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(record_state_open(folder, &kept), 0);
        assert_int_equal(state_write_checkpoint(kept, STATE_PROVEN, PLACE_ORIGIN, trial.checkpoint.text, trial.checkpoint.n), 0);
        (void) record_state_free(kept);
        trial_done(&trial);
        show(folder, 1, 15, RECORD_AUDIT_ROLLED_BACK, 1, LEDGER_SCAN);
        show(folder, 3, 0, RECORD_AUDIT_REWRITTEN, 1, 0);
        holds(folder, 3, 15);
}

/* Hashes alone: a log that cannot be told to hold is none to come back to. */
static void test_what_is_left_open_is_not_remembered(void **state) {
        char folder[128];
        Trial trial;

        make_folder(folder);
        trial_init(&trial);
        trial.remembers = folder;
        ledger_scan(&trial.ledger, true);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        for (unsigned i = 0; i < 2 * LEDGER_SCAN; i++)
                trial.hides[i] = trial.tells_leaves = true;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        trial_done(&trial);
        holds(folder, 1, 0);
}

/* Another key of the same log: what was believed before must not be forgotten silently. */
static void test_what_was_kept_must_hold_for_the_keyring(void **state) {
        RecordKey *other = other_key();
        NoteKey name = note_key_of(PLACE_ORIGIN, NOTE_LOG, other);
        _cleanup_printer_ Printer note = {};
        RecordState *kept;
        char folder[128];
        Trial trial;

        make_folder(folder);
        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        ledger_checkpoint(&trial.ledger, &name, other, &note);
        assert_int_equal(record_state_open(folder, &kept), 0);
        assert_int_equal(state_write_checkpoint(kept, STATE_AUDITED, PLACE_ORIGIN, note.text, note.n), 0);
        (void) record_state_free(kept);
        trial_done(&trial);
        show(folder, 2, 15, RECORD_AUDIT_CHECKPOINT, 1, RECORD_AUDIT_NO_RECORD);
        (void) record_key_free(other);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_sound_log_holds),
                cmocka_unit_test(test_what_no_checkpoint_covers_is_open),
                cmocka_unit_test(test_what_is_too_old_to_count_is_not_missing),
                cmocka_unit_test(test_nothing_checked_is_nothing_told),
                cmocka_unit_test(test_without_a_checkpoint_the_end_is_not_known),
                cmocka_unit_test(test_what_is_no_checkpoint_proves_nothing),
                cmocka_unit_test(test_each_record_left_out_is_missed),
                cmocka_unit_test(test_records_that_are_not_here_may_be_withheld),
                cmocka_unit_test(test_what_is_said_of_pruned_records_must_fit),
                cmocka_unit_test(test_nobody_is_fed_for_ever),
                cmocka_unit_test(test_records_in_another_order_are_told),
                cmocka_unit_test(test_what_the_signer_says_wrongly_is_told),
                cmocka_unit_test(test_a_run_without_its_start_is_one_run),
                cmocka_unit_test(test_a_roll_up_is_of_the_server_of_its_chips),
                cmocka_unit_test(test_one_chip_in_two_places_is_shown),
                cmocka_unit_test(test_a_challenge_is_answered_once),
                cmocka_unit_test(test_a_run_ends_as_it_began),
                cmocka_unit_test(test_a_chip_is_told_once_in_a_run),
                cmocka_unit_test(test_the_servers_of_a_run_are_the_same_in_all_of_it),
                cmocka_unit_test(test_nothing_of_a_run_follows_its_roll_up),
                cmocka_unit_test(test_who_says_no_seed_says_no_other_one),
                cmocka_unit_test(test_a_decision_is_about_the_records_before_it),
                cmocka_unit_test(test_a_roll_up_names_no_record_from_before_its_run),
                cmocka_unit_test(test_what_a_record_says_of_earlier_ones_is_held_against_them),
                cmocka_unit_test(test_a_log_does_not_go_back_to_version_1),
                cmocka_unit_test(test_a_refused_record_spoils_the_log),
                cmocka_unit_test(test_an_unknown_key_leaves_it_open),
                cmocka_unit_test(test_a_key_that_no_rotation_names_is_told),
                cmocka_unit_test(test_a_rotation_names_who_signs_next),
                cmocka_unit_test(test_a_checkpoint_counts_only_as_the_log_signed_it),
                cmocka_unit_test(test_witnesses_are_asked_for),
                cmocka_unit_test(test_a_checkpoint_of_a_log_nobody_knows_proves_nothing),
                cmocka_unit_test(test_a_pass_after_a_failure_is_shown),
                cmocka_unit_test(test_a_run_without_an_end_or_a_beginning_is_shown),
                cmocka_unit_test(test_runs_without_an_end_are_shown_in_order),
                cmocka_unit_test(test_a_plan_that_changes_is_shown),
                cmocka_unit_test(test_what_is_told_is_plain),
                cmocka_unit_test(test_silence_is_shown),
                cmocka_unit_test(test_the_report_is_bounded),
                cmocka_unit_test(test_a_log_is_what_it_was_and_more),
                cmocka_unit_test(test_what_was_seen_is_told),
                cmocka_unit_test(test_an_end_that_is_kept_back_is_missed),
                cmocka_unit_test(test_what_proofs_have_shown_counts_too),
                cmocka_unit_test(test_what_is_left_open_is_not_remembered),
                cmocka_unit_test(test_what_was_kept_must_hold_for_the_keyring),
        };

        return cmocka_run_group_tests(tests, audited_setup, audited_teardown);
}
