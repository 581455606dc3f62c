/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The n-th allocation of the process fails, for every n: in this program, in OpenSSL, in jansson and in SQLite, on either
 * thread. Nothing is verified that was not, nothing is half committed, and the next try works.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>

#include "tests/record/audited.h"
#include "tests/record/logged.h"

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

/* Seen by the libraries too, which ask the program first. */
#define FOR_ALL __attribute__((visibility("default")))
FOR_ALL void *malloc(size_t n);
FOR_ALL void *calloc(size_t n, size_t size);
FOR_ALL void *realloc(void *p, size_t n);

static atomic_int countdown; /* allocations until one fails; 0: none does */
static atomic_bool hit;

static bool refuses(void) {
        int before = atomic_load(&countdown);

        while (before > 0 && !atomic_compare_exchange_weak(&countdown, &before, before - 1))
                ;
        if (before != 1)
                return false;
        atomic_store(&hit, true);
        errno = ENOMEM;
        return true;
}

void *malloc(size_t n) {
        return refuses() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
        return refuses() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
        return refuses() ? NULL : __libc_realloc(p, n);
}

static void arm(int n) {
        atomic_store(&hit, false);
        atomic_store(&countdown, n);
}

/* Whether the armed allocation was reached. */
static bool disarm(void) {
        atomic_store(&countdown, 0);
        return atomic_load(&hit);
}

static void test_nothing_is_verified_for_want_of_memory(void **state) {
        size_t n_envelope = strlen(payloads.envelope_start);
        unsigned n_failed = 0, n_refused = 0;

        for (int n = 1;; n += 1 + n / 100) {
                RecordVerified verified = {};
                RecordTrust trust = RECORD_REFUSED;
                bool was_hit;
                int r;

                arm(n);
                r = record_verify(payloads.keyring, payloads.envelope_start, n_envelope, &trust, &verified);
                was_hit = disarm();
                if (r < 0) {
                        assert_int_equal(r, -ENOMEM);
                        assert_null(verified.payload);
                        assert_null(verified.reason);
                        n_failed++;
                } else if (trust == RECORD_VERIFIED)
                        assert_string_equal(verified.payload, payloads.start);
                else {
                        /* jansson and OpenSSL do not always tell want of memory from bad data: refused then, never verified. */
                        assert_null(verified.payload);
                        n_refused++;
                }
                record_verified_done(&verified);
                if (!was_hit) {
                        assert_int_equal(r, 0);
                        assert_int_equal(trust, RECORD_VERIFIED);
                        break;
                }
        }
        print_message("# %u times out of memory, %u times refused\n", n_failed, n_refused);
        assert_true(n_failed + n_refused > 50);
}

/* A bundle, by a keyring that asks for a proof. */
static void test_nothing_is_proven_for_want_of_memory(void **state) {
        Logged logged;

        logged_init(&logged, &payloads);
        {
                _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "w1");
                _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 11, 1), vkey = {};
                RecordPolicy policy = { .keyring = keyring, .needs_proof = true };
                _cleanup_free_ char *bundle = NULL;
                const char *wrong;
                size_t n_bundle;

                note_key_print(&vkey, &logged.log_key);
                printer_raw(&vkey, "", 1);
                assert_int_equal(record_bundle(keyring, vkey.text, payloads.envelope, strlen(payloads.envelope), proof.text, proof.n, &bundle,
                                               &n_bundle, &wrong), 0);
                for (int n = 1;; n += 1 + n / 100) {
                        RecordVerified verified = {};
                        RecordTrust trust = RECORD_REFUSED;
                        bool was_hit;
                        int r;

                        arm(n);
                        r = record_verify_with_policy(&policy, bundle, n_bundle, &trust, &verified);
                        was_hit = disarm();
                        if (r == 0 && trust == RECORD_VERIFIED) {
                                assert_int_equal(verified.log_size, 11);
                                assert_string_equal(verified.witnesses, "w1");
                        } else
                                assert_null(verified.payload);
                        record_verified_done(&verified);
                        if (!was_hit) {
                                assert_int_equal(r, 0);
                                assert_int_equal(trust, RECORD_VERIFIED);
                                break;
                        }
                }
        }
        logged_done(&logged);
}

/* One root makes a keyring, writes it down and believes it. */
static int make_and_open(const char *draft, const RecordKey *root, const char *roots, RecordKeyring **ret) {
        _cleanup_free_ char *text = NULL, *why = NULL;
        RecordRing ring;
        char path[128];
        FILE *file;
        int r;

        r = record_ring_sign(draft, strlen(draft), false, root, &ring, &why);
        if (r < 0)
                return r;
        text = ring.text;
        (void) snprintf(path, sizeof(path), "%s/ring.json", payloads.place.folder);
        file = fopen(path, "we");
        if (!file)
                return -ENOMEM;
        r = fwrite(text, 1, ring.n, file) == ring.n ? 0 : -ENOMEM;
        if (fclose(file) != 0 || r < 0)
                return -ENOMEM;
        free(TAKE_PTR(why));
        return record_keyring_open(path, roots, NULL, ret, &why);
}

static void test_keyrings_are_made_and_believed_whole_or_not_at_all(void **state) {
        char draft[1024], public[128], key[KEY_WORD_MAX];

        (void) snprintf(public, sizeof(public), "%s.pub", payloads.place.key);
        (void) snprintf(draft, sizeof(draft), "version 1\nexpires 2126-01-01T00:00:00Z\nthreshold 1\nroot %s\nrecord %s p " PLACE_ORIGIN " 0 9 x\nquorum none\n",
                        key_word(payloads.key, key), key);
        for (int n = 1;; n += 1 + n / 50) {
                RecordKeyring *keyring = NULL;
                bool was_hit;
                int r;

                arm(n);
                r = make_and_open(draft, payloads.key, public, &keyring);
                was_hit = disarm();
                assert_true((r == 0) == (keyring != NULL));
                (void) record_keyring_free(keyring);
                if (!was_hit) {
                        assert_int_equal(r, 0);
                        break;
                }
        }
}

static void test_keys_are_loaded_whole_or_not_at_all(void **state) {
        for (int n = 1;; n += 1 + n / 100) {
                RecordKeyring *keyring = NULL;
                RecordKey *key = NULL;
                bool was_hit;
                int r, q;

                arm(n);
                r = record_key_load(payloads.place.key, &key);
                q = r < 0 ? r : record_keyring_parse(record_key_public_pem(key), strlen(record_key_public_pem(key)), &keyring);
                was_hit = disarm();
                assert_true((r == 0) == (key != NULL));
                assert_true((q == 0) == (keyring != NULL));
                if (key)
                        assert_string_equal(record_key_id(key), record_key_id(payloads.key));
                (void) record_keyring_free(keyring);
                (void) record_key_free(key);
                if (!was_hit) {
                        assert_int_equal(q, 0);
                        break;
                }
        }
}

static void test_a_scan_is_committed_whole_or_not_at_all(void **state) {
        Server *server = &payloads.server;
        unsigned n_failed = 0;
        RecordLog *log;
        uint64_t size;

        server->scan.n_chips = 1;
        server->scan.result = RESULT_INCONCLUSIVE;
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        size = record_log_size(log);
        for (int n = 1;; n += 1 + n / 100) {
                RecordOutcome outcome = {};
                bool was_hit;
                int r;

                arm(n);
                r = record_log_scan(log, &server->scan, 1);
                if (r == 0) {
                        place_wait(log, &outcome);
                        r = outcome.error;
                }
                was_hit = disarm();
                if (r == 0)
                        size += 2;
                else
                        n_failed++;
                record_outcome_done(&outcome);
                assert_int_equal(record_log_size(log), size);
                if (!was_hit) {
                        assert_int_equal(r, 0);
                        break;
                }
        }
        (void) record_log_free(log);
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_size(log), size);
        (void) record_log_free(log);
        print_message("# %u allocations failed\n", n_failed);
        assert_true(n_failed > 20);
}

static void test_a_log_is_opened_whole_or_not_at_all(void **state) {
        for (int n = 1;; n += 1 + n / 100) {
                RecordLogOptions options = place_options(&payloads.place, payloads.place.key);
                _cleanup_free_ char *error = NULL;
                RecordLog *log = NULL;
                bool was_hit;
                int r;

                arm(n);
                r = record_log_open(&options, &log, &error);
                was_hit = disarm();
                assert_true((r == 0) == (log != NULL));
                (void) record_log_free(log);
                if (!was_hit) {
                        assert_int_equal(r, 0);
                        break;
                }
        }
}

/* *RET: what the audit came to, where it was not given up. */
static int audit_ledger(const Trial *trial, RecordAuditReport *ret) {
        const RecordAuditOptions options = { .keyring = trial->keyring, .checkpoint = trial->checkpoint.text, .n_checkpoint = trial->checkpoint.n };
        _cleanup_(record_audit_freep) RecordAudit *audit = NULL;
        const RecordAuditReport *report;
        int r;

        r = record_audit_new(&options, &audit);
        for (uint64_t i = 0; r == 0 && i < trial->ledger.size; i++)
                r = record_audit_take(audit, trial->ledger.lines[i], strlen(trial->ledger.lines[i]));
        if (r == 0)
                r = record_audit_end(audit, &report);
        if (r == 0)
                *ret = *report;
        return r;
}

/* A sound one may break: jansson and OpenSSL do not always tell want of memory from what is forged. */
static void test_no_broken_log_holds_for_want_of_memory(void **state) {
        static const Change changes[] = {
                { 1, "predicate.run.stage", "\"REPAIR\"", RECORD_AUDIT_RUN },
                { 3, "predicate.components.1.annotations.result", "\"WARNED\"", RECORD_AUDIT_ROLL_UP },
                { 3, "predicate.components.1", NULL, RECORD_AUDIT_ROLL_UP },
        };

        for (size_t i = 0; i < ELEMENTS(changes); i++) {
                bool was_hit = true;
                Trial trial;

                trial_init(&trial);
                changed_scan(&trial.ledger, &changes[i], false);
                trial_sign(&trial);
                for (int n = 1; was_hit; n += 1 + n / 50) {
                        RecordAuditReport report = {};
                        int r;

                        arm(n);
                        r = audit_ledger(&trial, &report);
                        was_hit = disarm();
                        assert_true(r == 0 || was_hit);
                        if (r == 0 && report.verdict != RESULT_FAILED)
                                fail_msg("change %zu, allocation %d: %s", i, n, result_to_string(report.verdict));
                }
                trial_done(&trial);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_nothing_is_verified_for_want_of_memory, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_nothing_is_proven_for_want_of_memory, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_keyrings_are_made_and_believed_whole_or_not_at_all, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_keys_are_loaded_whole_or_not_at_all, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_scan_is_committed_whole_or_not_at_all, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_a_log_is_opened_whole_or_not_at_all, payloads_setup, payloads_teardown),
                cmocka_unit_test_setup_teardown(test_no_broken_log_holds_for_want_of_memory, audited_setup, audited_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
