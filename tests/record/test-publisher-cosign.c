/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/keys/proof.h"
#include "tests/record/faults.h"
#include "tests/record/published.h"

static Published published;
static RecordLog *record_log;

static int setup(void **state) {
        published_init(&published);
        return published_open(&published, &record_log, NULL);
}

static int teardown(void **state) {
        faults_set(0, 0, false, false);
        record_log = record_log_free(record_log);
        published_done(&published);
        return 0;
}

/* The newest checkpoint as it is now, and who has signed it. */
static char *newest(CheckpointSeen *ret_seen, uint64_t *ret_size) {
        Checkpoint checkpoint;
        const char *wrong;
        char *note;
        size_t n;

        assert_int_equal(record_log_checkpoint(record_log, &note, &n), 0);
        assert_int_equal(strlen(note), n);
        if (checkpoint_verify(note, n, &published.policy, &checkpoint, ret_seen, &wrong) < 0)
                fail_msg("%s: %s", wrong, note);
        *ret_size = checkpoint.size;
        return note;
}

/* The text of a note, and signatures of SIGNERS (a bit each) at SEC. */
static Printer signed_by(const char *note, unsigned signers, uint64_t sec) {
        size_t n = (size_t) (strstr(note, "\n\n") - note) + 1;
        Printer printer = {};

        printer_raw(&printer, note, n + 1);
        for (unsigned i = 0; i < PUBLISHED_WITNESSES; i++)
                if (signers & 1u << i)
                        note_sign(&printer, note, n, &published.policy.witnesses[i], published.signers[i], sec * 1000000);
        assert_int_equal(printer.error, 0);
        return printer;
}

static int bring(const char *note, size_t n, const char **ret_wrong) {
        RecordOutcome outcome;
        int r;

        assert_int_equal(record_log_cosign(record_log, note, n, 77), 0);
        place_wait(record_log, &outcome);
        assert_int_equal(outcome.ticket, 77);
        assert_int_equal(outcome.n_entries, 0);
        *ret_wrong = outcome.wrong;
        r = outcome.error;
        record_outcome_done(&outcome);
        return r;
}

static void cosign(const char *note, unsigned signers, uint64_t sec) {
        Printer brought = signed_by(note, signers, sec);
        const char *wrong;

        assert_int_equal(bring(brought.text, brought.n, &wrong), 0);
        assert_null(wrong);
        printer_done(&brought);
}

static void refuse(const Printer *brought, int error, const char *says) {
        const char *wrong;

        assert_int_equal(bring(brought->text, brought->n, &wrong), error);
        assert_non_null(wrong);
        if (!strstr(wrong, says))
                fail_msg("\"%s\" does not say \"%s\"", wrong, says);
}

static void test_witnesses_sign_one_after_the_other(void **state) {
        CheckpointSeen seen;
        uint64_t size;
        char *note;

        published_append(&published, record_log, 3);
        published_wait(record_log, 3);
        note = newest(&seen, &size);
        assert_int_equal(seen.n_witnesses, 0);
        cosign(note, 2, 1800000000);
        free(note);
        note = newest(&seen, &size);
        assert_int_equal(seen.n_witnesses, 1);
        cosign(note, 1, 1800000100);
        free(note);
        note = newest(&seen, &size);
        assert_int_equal(seen.n_witnesses, 2);
        assert_int_equal(seen.usec, 1800000100000000);

        /* Later it was seen again, which an older signature does not undo. */
        cosign(note, 3, 1800000200);
        cosign(note, 3, 1800000000);
        free(note);
        record_log = record_log_free(record_log);
        assert_int_equal(published_open(&published, &record_log, NULL), 0);
        note = newest(&seen, &size);
        assert_int_equal(seen.n_witnesses, 2);
        assert_int_equal(seen.usec, 1800000200000000);
        assert_int_equal(size, 3);
        free(note);
}

static void check_proof(uint64_t index, uint64_t size, unsigned n_witnesses) {
        _cleanup_free_ char *text = NULL;
        FILE *file = tmpfile();
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong;
        TreeHash leaf;
        Proof proof;
        size_t n;

        assert_int_equal(record_log_leaves(record_log, index, 1, fileno(file)), 1);
        rewind(file);
        assert_int_equal(fread(&leaf, sizeof(leaf), 1, file), 1);
        (void) fclose(file);
        assert_int_equal(record_log_proof(record_log, index, &text, &n), 0);
        assert_int_equal(proof_parse(text, n, &proof), 0);
        assert_int_equal(proof_verify(&proof, &leaf, &published.policy, &checkpoint, &seen, &wrong), 0);
        assert_int_equal(checkpoint.size, size);
        assert_int_equal(seen.n_witnesses, n_witnesses);
}

static void test_proofs_are_against_what_most_witnesses_have_signed(void **state) {
        static const unsigned signers[] = { 3, 1, 0 };
        CheckpointSeen seen;
        uint64_t size;

        for (unsigned i = 0; i < ELEMENTS(signers); i++) {
                char *note;

                published_append(&published, record_log, 2);
                published_wait(record_log, 2 * (i + 1));
                note = newest(&seen, &size);
                if (signers[i])
                        cosign(note, signers[i], 1800000000);
                free(note);
        }
        check_proof(0, 2, 2);
        check_proof(1, 2, 2);
        check_proof(2, 4, 1);
        check_proof(3, 4, 1);
        check_proof(4, 6, 0);
        free(newest(&seen, &size));
        assert_int_equal(size, 6);
}

static void test_what_no_witness_has_signed_is_not_kept(void **state) {
        Printer brought, text = {};
        CheckpointSeen seen;
        uint64_t size;
        char *note, *other, *digit;
        Printer empty = {};

        published_append(&published, record_log, 2);
        published_wait(record_log, 2);
        note = newest(&seen, &size);

        printer_text(&text, note);
        refuse(&text, -EBADMSG, "no witness");
        printer_done(&text);
        printer_text(&empty, "nonsense");
        refuse(&empty, -EBADMSG, "no signed note");
        printer_done(&empty);

        brought = signed_by(note, 3, 1800000000);
        digit = &brought.text[brought.n - 20];
        *digit = *digit == 'A' ? 'B' : 'A'; /* still base64, whatever the signature is */
        refuse(&brought, -EBADMSG, "witness does not fit");
        printer_done(&brought);

        /* The same signatures under a text that is not ours. */
        brought = signed_by(note, 3, 1800000000);
        *strchr(brought.text, '\n') = '\n';
        brought.text[0] ^= 1;
        refuse(&brought, -EBADMSG, "no checkpoint of this log");
        printer_done(&brought);

        other = strdup(note);
        other[strchr(other, '\n') - other + 1] = '9'; /* nine records */
        brought = signed_by(other, 3, 1800000000);
        refuse(&brought, -ENOENT, "no such checkpoint");
        printer_done(&brought);
        free(other);

        free(note);
        note = newest(&seen, &size);
        assert_int_equal(seen.n_witnesses, 0);
        free(note);
        assert_int_equal(record_log_cosign(record_log, "", NOTE_MAX + 1, 1), -E2BIG);
}

/* Whoever writes the database can take the log's own signature away; what is merged with the rest is no checkpoint any more. */
static void test_a_kept_checkpoint_that_was_changed_is_not_cosigned(void **state) {
        Printer kept, brought;
        CheckpointSeen seen;
        uint64_t size;
        sqlite3 *db;
        char *note, *sql;

        published_append(&published, record_log, 2);
        published_wait(record_log, 2);
        note = newest(&seen, &size);
        kept = signed_by(note, 1, 1800000000);
        brought = signed_by(note, 2, 1800000000);
        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        sql = sqlite3_mprintf("UPDATE checkpoint SET note = CAST(%.*Q AS BLOB)", (int) kept.n, kept.text);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_free(sql);
        (void) sqlite3_close(db);
        refuse(&brought, -EUCLEAN, "what is kept of it");
        assert_true(record_log_has_failed(record_log));
        printer_done(&kept);
        printer_done(&brought);
        free(note);
}

/* A checkpoint of SIZE records with another root, signed by the log's own key. */
static Printer another(uint64_t size) {
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = size, .root = { { 1, 2, 3 } } };
        Printer note = {};
        RecordKey *key;

        assert_int_equal(record_key_load(published.log_key, &key), 0);
        (void) note_of(&note, &checkpoint, &published.policy.log, key);
        (void) record_key_free(key);
        return note;
}

static void check_stops(uint64_t size, const char *says) {
        _cleanup_free_ char *error = NULL;
        Printer note = another(size);

        published_append(&published, record_log, 2);
        published_wait(record_log, 2);
        refuse(&note, -ENOTUNIQ, "Nothing is signed any more");
        printer_done(&note);
        assert_int_equal(record_log_start(record_log, &published.server.scan.run, &published.server.scan.server, 1), -EIO);
        assert_int_equal(record_log_size(record_log), 2);

        /* Nor after a start. */
        record_log = record_log_free(record_log);
        assert_int_equal(published_open(&published, &record_log, &error), -ENOTRECOVERABLE);
        if (!strstr(error, says))
                fail_msg("%s", error);
}

static void test_a_log_that_signs_elsewhere_too_stops(void **state) {
        check_stops(2, "two copies went on");
}

static void test_a_log_that_is_an_old_copy_stops(void **state) {
        check_stops(5, "this is an old copy");
}

/* A second name for a key that counts already, or one for the log's own. */
static void test_one_key_is_no_two_witnesses(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_free_ char *error = NULL;
                const NoteKey *of = i == 0 ? &published.policy.witnesses[0] : &published.policy.log;
                NoteKey key;
                Printer vkey = {};
                char *before = published.vkeys[1];

                record_log = record_log_free(record_log);
                assert_int_equal(note_key_init(&key, "fleet.example/w9", NOTE_WITNESS, of->public), 0);
                note_key_print(&vkey, &key);
                printer_raw(&vkey, "", 1);
                published.vkeys[1] = vkey.text;
                assert_int_equal(published_open(&published, &record_log, &error), -EINVAL);
                assert_non_null(strstr(error, i == 0 ? "named twice" : "vouch for itself"));
                published.vkeys[1] = before;
                printer_done(&vkey);
        }
}

/* A change that the log did not make, by whoever may write its file. */
static void tamper(const char *sql) {
        sqlite3 *db;

        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* What is kept is wrong and not what was brought: nobody is told that a signature does not fit, and the log stops. */
static void test_a_damaged_checkpoint_is_the_fault_of_nobody_who_signs(void **state) {
        static const char *const damages[] = {
                "UPDATE checkpoint SET note = CAST('nonsense' AS BLOB)",
                /* the signature of a witness */
                "UPDATE checkpoint SET note = CAST(substr(CAST(note AS TEXT), 1, length(CAST(note AS TEXT)) - 9) || 'AAAAAAA=' || char(10) AS BLOB)",
        };
        CheckpointSeen seen;
        uint64_t size;

        for (size_t i = 0; i < ELEMENTS(damages); i++) {
                _cleanup_free_ char *note = NULL;
                Printer brought;

                published_append(&published, record_log, 2);
                published_wait(record_log, 2);
                note = newest(&seen, &size);
                brought = signed_by(note, 3, 1800000000);
                cosign(note, 1, 1800000000);
                tamper(damages[i]);
                refuse(&brought, -EUCLEAN, "somebody else wrote");
                assert_true(record_log_has_failed(record_log));
                assert_int_equal(record_log_cosign(record_log, brought.text, brought.n, 78), -EIO);
                printer_done(&brought);
                (void) teardown(state);
                assert_int_equal(setup(state), 0);
        }
}

/* Where the evidence cannot be kept, who stops the log must know. */
static void test_evidence_that_cannot_be_kept_is_said(void **state) {
        Printer note = another(5);

        published_append(&published, record_log, 2);
        published_wait(record_log, 2);
        assert_int_equal(unlink(published.anchor), 0);
        assert_int_equal(mkdir(published.anchor, 0700), 0);
        refuse(&note, -ENOTUNIQ, "do not start this log again");
        assert_true(record_log_has_failed(record_log));
        assert_int_equal(rmdir(published.anchor), 0);
        printer_done(&note);
}

static void test_a_failing_disk_keeps_what_was_there(void **state) {
        static const int errors[] = { SQLITE_FULL, SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC };
        unsigned n_failed = 0;
        CheckpointSeen seen;
        uint64_t size;
        char *note;

        published_append(&published, record_log, 2);
        published_wait(record_log, 2);
        note = newest(&seen, &size);
        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (int i = 1; i < 100; i++) {
                        Printer brought = signed_by(note, 3, 1800000000 + 100 * e + (unsigned) i);
                        const char *wrong;
                        int r;

                        faults_set(i, errors[e], true, false);
                        r = bring(brought.text, brought.n, &wrong);
                        faults_set(0, 0, false, false);
                        printer_done(&brought);
                        free(newest(&seen, &size)); /* whole, whichever it is */
                        assert_int_equal(size, 2);
                        if (r == 0)
                                break;
                        n_failed++;
                }
        assert_in_range(n_failed, 3, 200);
        cosign(note, 3, 1900000000);
        free(newest(&seen, &size));
        assert_int_equal(seen.usec, 1900000000000000);
        free(note);
}

int main(void) {
        faults_install();

        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_witnesses_sign_one_after_the_other, setup, teardown),
                cmocka_unit_test_setup_teardown(test_proofs_are_against_what_most_witnesses_have_signed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_no_witness_has_signed_is_not_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_kept_checkpoint_that_was_changed_is_not_cosigned, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_signs_elsewhere_too_stops, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_that_is_an_old_copy_stops, setup, teardown),
                cmocka_unit_test_setup_teardown(test_one_key_is_no_two_witnesses, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_damaged_checkpoint_is_the_fault_of_nobody_who_signs, setup, teardown),
                cmocka_unit_test_setup_teardown(test_evidence_that_cannot_be_kept_is_said, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failing_disk_keeps_what_was_there, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
