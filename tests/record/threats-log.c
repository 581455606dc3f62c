/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The threats of assay-records(7) that take more than the record to stop: what a reader remembers, witnesses, a keyring, the anchor beside a
 * database. As in threats.c, each attack is shown to work where its defence is missing.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sqlite3.h>

#include "checks/text/whole-file.h"
#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"
#include "tests/record/audited.h"
#include "tests/record/logged.h"
#include "tests/record/published.h"

#define HOUR_USEC UINT64_C(3600000000)

static Logged logged;
static char folder[128]; /* of one test */

static int setup(void **state) {
        int r = audited_setup(state);

        logged_init(&logged, &payloads);
        return r;
}

static int teardown(void **state) {
        logged_done(&logged);
        return audited_teardown(state);
}

static int new_folder(void **state) {
        (void) snprintf(folder, sizeof(folder), "%s/threat-XXXXXX", payloads.place.folder);
        return mkdtemp(folder) ? 0 : -1;
}

static RecordTrust read_with(const RecordPolicy *policy, const char *envelope) {
        RecordVerified verified;
        RecordTrust trust;

        assert_int_equal(record_verify_with_policy(policy, envelope, strlen(envelope), &trust, &verified), 0);
        record_verified_done(&verified);
        return trust;
}

/* With the proof that INDEX is in the log of all its records, seen by WITNESSES. */
static RecordTrust read_proven(const RecordPolicy *policy, const Ledger *ledger, uint64_t index, unsigned witnesses) {
        _cleanup_printer_ Printer proof = {};
        RecordPolicy with = *policy;

        memcpy(logged.leaves, ledger->leaves, sizeof(logged.leaves));
        proof = logged_proof(&logged, index, ledger->size, witnesses);
        with.proof = proof.text;
        with.n_proof = proof.n;
        with.needs_proof = true;
        return read_with(&with, ledger->lines[index]);
}

/* A history of two scans, with more of them where it went on. The second chip is index 2 and 6. */
static void make_history(Ledger *ledger, bool first_passed, unsigned n_scans) {
        ledger_init(ledger, &payloads);
        for (unsigned i = 0; i < n_scans; i++)
                ledger_scan(ledger, i > 0 || first_passed);
}

/* What an attacker can show of his log: the best there is. */
static int show_growth(void *userdata, const char *origin, uint64_t old, uint64_t size, char **ret, size_t *ret_n) {
        const Ledger *ledger = userdata;
        Printer text = {};
        TreePath path = {};

        plain_subproof(ledger->leaves, old, size, true, &path);
        lines_print_path(&text, &path);
        printer_text(&text, "\n");
        *ret = text.text;
        *ret_n = text.n;
        return text.error;
}

static RecordState *open_state(const char *name) {
        RecordState *state;
        char path[160];

        (void) snprintf(path, sizeof(path), "%s/%s", folder, name);
        assert_int_equal(record_state_open(path, &state), 0);
        return state;
}

static void test_6(void **state) {
        RecordPolicy policy = { .keyring = payloads.keyring };
        Ledger ledger;

        make_history(&ledger, true, 2);
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_VERIFIED);
        /* Whoever asked for the second scan gets no answer from the first. */
        policy.challenge = "Y2hhbGxlbmdl0001";
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_REFUSED);
        assert_int_equal(read_with(&policy, ledger.lines[5]), RECORD_VERIFIED);
        /* Nor is it young enough for long: it ended at 00:00:10. */
        policy = (RecordPolicy) { .keyring = payloads.keyring, .max_age_usec = HOUR_USEC, .now_usec = UINT64_C(1795219210000000) + HOUR_USEC };
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_VERIFIED);
        policy.now_usec++;
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_CANNOT_TELL);
        /* And who has accepted the second takes the first no more. */
        policy = (RecordPolicy) { .keyring = payloads.keyring, .state = open_state("state") };
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_VERIFIED);
        assert_int_equal(read_with(&policy, ledger.lines[5]), RECORD_VERIFIED);
        assert_int_equal(record_state_accept(policy.state), 0);
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_REFUSED);
        (void) record_state_free(policy.state);
        ledger_done(&ledger);
}

/* The thief holds every key of the station, and makes a log in which the chip passed. */
static void test_8(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        RecordPolicy policy = { .keyring = keyring, .consistency = show_growth };
        Ledger sound, forged;
        Trial trial;

        make_history(&sound, false, 2);
        make_history(&forged, true, 3);
        /* Nobody who has not seen the first can tell. */
        policy.userdata = &forged;
        assert_int_equal(read_proven(&policy, &forged, 2, 0), RECORD_VERIFIED);

        policy.userdata = &sound;
        policy.state = open_state("state");
        assert_int_equal(read_proven(&policy, &sound, 2, 0), RECORD_VERIFIED);
        policy.userdata = &forged;
        assert_int_equal(read_proven(&policy, &forged, 2, 0), RECORD_REFUSED);
        /* The log that went on is told from it. */
        ledger_scan(&sound, true);
        policy.userdata = &sound;
        assert_int_equal(read_proven(&policy, &sound, 2, 0), RECORD_VERIFIED);
        (void) record_state_free(policy.state);

        /* An auditor with the old checkpoint sees it as well. */
        trial_init(&trial);
        trial.ledger = sound;
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        trial.ledger = forged;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_ROOT], 1);
        trial_done(&trial); /* and the forged ledger */
        ledger_done(&sound);
}

/* Each of two readers is shown a log of its own. A witness signs one of them. */
static void test_9(void **state) {
        static const struct {
                const char *quorum;
                RecordTrust other;
        } asked[] = { { "none", RECORD_VERIFIED }, { "w1", RECORD_CANNOT_TELL } };
        Ledger one, other;

        make_history(&one, false, 2);
        make_history(&other, true, 2);
        for (size_t i = 0; i < ELEMENTS(asked); i++) {
                _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, asked[i].quorum);
                RecordPolicy policy = { .keyring = keyring };

                assert_int_equal(read_proven(&policy, &one, 2, 1), RECORD_VERIFIED);
                assert_int_equal(read_proven(&policy, &other, 2, 0), asked[i].other);
        }
        ledger_done(&one);
        ledger_done(&other);
}

static void copy_file(const char *from, const char *to) {
        FILE *in = fopen(from, "re"), *out = fopen(to, "we");
        char buffer[4096];
        size_t n;

        assert_true(in && out);
        while ((n = fread(buffer, 1, sizeof(buffer), in)) > 0)
                assert_int_equal(fwrite(buffer, 1, n, out), n);
        (void) fclose(in);
        assert_int_equal(fclose(out), 0);
}

static void test_10(void **state) {
        _cleanup_free_ char *why = NULL;
        Published published;
        char old[160];
        RecordLog *log;

        published_init(&published);
        (void) snprintf(old, sizeof(old), "%s/old.db", folder);
        for (unsigned i = 1; i <= 2; i++) {
                assert_int_equal(published_open(&published, &log, NULL), 0);
                published_append(&published, log, 2);
                published_wait(log, 2 * i);
                (void) record_log_free(log);
                if (i == 1)
                        copy_file(published.place.log, old);
        }
        /* The backup is whole and of this log, but what was signed since must not be signed again. */
        copy_file(old, published.place.log);
        assert_int_equal(published_open(&published, &log, &why), -ENOTRECOVERABLE);
        assert_non_null(why);
        assert_int_equal(published_open_with(&published, published.log_key, NULL, &log, NULL), 0);
        assert_int_equal(record_log_size(log), 2);
        (void) record_log_free(log);
        published_done(&published);
}

/* Whose key it was is known from index 4 on: a keyring ends it there. */
static void test_11(void **state) {
        KeyringKey entry = { .from_index = 0, .until_index = UINT64_MAX };
        const char *pem = record_key_public_pem(payloads.key);
        RecordKeyring *keyring;
        Ledger ledger;

        make_history(&ledger, true, 2);
        for (unsigned i = 0; i < 2; i++) {
                RecordPolicy policy = {};

                keyring = keyring_new();
                entry.until_index = i == 0 ? UINT64_MAX : 3;
                assert_int_equal(public_key_from_pem(&entry.key, pem, strlen(pem)), 0);
                assert_int_equal(keyring_add_key(keyring, &entry), 0);
                policy.keyring = keyring;
                assert_int_equal(read_with(&policy, ledger.lines[3]), RECORD_VERIFIED);
                assert_int_equal(read_with(&policy, ledger.lines[5]), i == 0 ? RECORD_VERIFIED : RECORD_REFUSED);
                (void) record_keyring_free(keyring);
        }
        ledger_done(&ledger);
}

/* It signs any history of the log, and no record of it. */
static void test_12(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none"), *careless = NULL;
        RecordPolicy policy = { .keyring = keyring };
        Ledger ledger;

        ledger_init(&ledger, &payloads);
        ledger.key = logged.log;
        ledger_scan(&ledger, true);
        assert_int_not_equal(read_proven(&policy, &ledger, 1, 0), RECORD_VERIFIED);
        /* One key for both would be that of a station. */
        assert_int_equal(record_keyring_parse(record_key_public_pem(logged.log), strlen(record_key_public_pem(logged.log)), &careless), 0);
        policy.keyring = careless;
        assert_int_equal(read_with(&policy, ledger.lines[1]), RECORD_VERIFIED);
        ledger_done(&ledger);
}

/* The station's clock is eleven hours ahead, so that what it signs looks fresh for as long. */
static void test_13(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "w1");
        RecordPolicy policy = { .keyring = keyring, .max_age_usec = HOUR_USEC, .now_usec = LOGGED_SEEN + 11 * HOUR_USEC };
        Trial trial;

        trial_init(&trial);
        trial.ledger.hour = 20;
        ledger_scan(&trial.ledger, true);
        assert_int_equal(read_with(&policy, trial.ledger.lines[1]), RECORD_VERIFIED);
        assert_int_equal(read_proven(&policy, &trial.ledger, 1, 1), RECORD_CANNOT_TELL);
        /* And a clock that is put right is seen to go back. */
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_CLOCK, 0, 0);
        trial.ledger.hour = 9;
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        assert_true(trial.report->n_of_kind[RECORD_AUDIT_CLOCK] > 0);
        trial_done(&trial);
}

/* ---- keyrings that roots have signed ---- */

static RecordKey *roots[3];

static void write_file(const char *name, const char *text, size_t n, char path[static 160]) {
        (void) snprintf(path, 160, "%s/%s", folder, name);
        assert_int_equal(whole_file_replace(AT_FDCWD, path, 0644, text, n), 0);
}

static int make_roots(void **state) {
        for (unsigned i = 0; i < 3; i++) {
                char name[8];

                (void) snprintf(name, sizeof(name), "root%u", i);
                roots[i] = place_key(&payloads.place, name, RECORD_ED25519);
        }
        return new_folder(state);
}

static int drop_roots(void **state) {
        for (unsigned i = 0; i < 3; i++)
                (void) record_key_free(roots[i]);
        return 0;
}

/* A keyring of three roots, two of which must sign; the first N do. */
static void make_ring(unsigned version, const char *expires, unsigned n, char path[static 160]) {
        char keys[4][KEY_WORD_MAX];
        _cleanup_free_ char *draft = NULL, *why = NULL;
        RecordRing ring;

        if (asprintf(&draft, "version %u\nexpires %s\nroot %s\nroot %s\nroot %s\nthreshold 2\nrecord %s " PLACE_PRODUCER " " PLACE_ORIGIN "\n", version,
                     expires, key_word(roots[0], keys[0]), key_word(roots[1], keys[1]), key_word(roots[2], keys[2]), key_word(payloads.key, keys[3])) < 0)
                abort();
        assert_int_equal(record_ring_sign(draft, strlen(draft), false, roots[0], &ring, &why), 0);
        for (unsigned i = 1; i < n; i++) {
                _cleanup_free_ char *before = TAKE_PTR(ring.text);

                assert_int_equal(record_ring_sign(before, ring.n, true, roots[i], &ring, &why), 0);
        }
        write_file("ring", ring.text, ring.n, path);
        free(ring.text);
}

static int open_ring(const char *path, RecordState *state, RecordTrust *ret_trust) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_free_ char *pins = NULL, *why = NULL;
        char pinned[160];
        int r;

        if (asprintf(&pins, "%s%s%sthreshold 2\n", record_key_public_pem(roots[0]), record_key_public_pem(roots[1]), record_key_public_pem(roots[2])) < 0)
                abort();
        write_file("roots.pem", pins, strlen(pins), pinned);
        r = record_keyring_open(path, pinned, state, &keyring, &why);
        if (r == 0)
                *ret_trust = read_with(&(RecordPolicy) { .keyring = keyring }, payloads.envelope);
        return r;
}

static void test_14(void **state) {
        RecordState *remembered = open_state("state");
        RecordTrust trust;
        char path[160];

        make_ring(1, "2036-01-01T00:00:00Z", 2, path);
        assert_int_equal(open_ring(path, remembered, &trust), 0);
        assert_int_equal(trust, RECORD_VERIFIED);
        make_ring(2, "2036-01-01T00:00:00Z", 2, path);
        assert_int_equal(open_ring(path, remembered, &trust), 0);
        /* The first one again: for who has not seen the second it is as good as ever. */
        make_ring(1, "2036-01-01T00:00:00Z", 2, path);
        assert_int_equal(open_ring(path, NULL, &trust), 0);
        assert_true(open_ring(path, remembered, &trust) < 0);
        (void) record_state_free(remembered);
        /* One that is never replaced ends by itself. */
        make_ring(3, "2020-01-01T00:00:00Z", 2, path);
        assert_int_equal(open_ring(path, NULL, &trust), 0);
        assert_int_equal(trust, RECORD_CANNOT_TELL);
}

static void test_15(void **state) {
        RecordTrust trust;
        char path[160];

        make_ring(1, "2036-01-01T00:00:00Z", 2, path);
        assert_int_equal(open_ring(path, NULL, &trust), 0);
        assert_int_equal(trust, RECORD_VERIFIED);
        make_ring(1, "2036-01-01T00:00:00Z", 1, path);
        assert_true(open_ring(path, NULL, &trust) < 0);
}

/* The chip has passed and then failed; who can write the database has the pass named again. All records are whole, and an audit has nothing to say. */
static void test_28(void **state) {
        static const char *const plans[] = { "preflight", "production" };
        Location chip = server_location("us0-2/chip3");
        _cleanup_free_ char *why = NULL;
        Published published;
        RecordEntry entry;
        RecordLog *log;
        sqlite3 *db;

        published_init(&published);
        assert_int_equal(published_open(&published, &log, NULL), 0);
        for (unsigned i = 0; i < 2; i++) {
                server_init(&published.server);
                published.server.scan.run.plan = plans[i];
                if (i == 0) { /* the plan is not told from the other by who asks for any */
                        published.server.steps[SERVER_BAD][1].n_diagnoses = 0;
                        published.server.steps[SERVER_BAD][1].verdict = VERDICT_PASSED;
                        published.server.measurements[SERVER_BAD][1].value = 0;
                        published.server.chips[SERVER_BAD].result = published.server.scan.result = RESULT_PASSED;
                }
                (void) server_scan(&published.server, log);
        }
        assert_int_equal(record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 1), 0);
        (void) place_take(log);
        published_wait(log, 2 * (SERVER_CHIPS + 1) + 1);
        (void) record_log_free(log);

        assert_int_equal(sqlite3_open(published.place.log, &db), SQLITE_OK);
        /* Under a log it works, until all of that is read again. */
        assert_int_equal(published_open(&published, &log, NULL), 0);
        assert_int_equal(record_log_newest(log, &chip, NULL, &entry), 0);
        assert_int_equal(entry.result, RESULT_FAILED);
        assert_int_equal(sqlite3_exec(db, "DELETE FROM newest WHERE plan LIKE 'production%'", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(record_log_newest(log, &chip, NULL, &entry), 0);
        assert_int_equal(entry.result, RESULT_PASSED);
        (void) sqlite3_close(db);
        assert_int_equal(record_log_scrub(log), 0);
        while (!record_log_has_failed(log))
                (void) poll(NULL, 0, 1);
        assert_non_null(strstr(record_log_wrong(log), "they were changed"));
        (void) record_log_free(log);
        assert_int_equal(published_open(&published, &log, &why), -EBADMSG);
        assert_non_null(strstr(why, "they were changed"));
        published_done(&published);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                { "row 6: an old pass is shown again", test_6, new_folder, NULL, NULL },
                { "row 8: history is rewritten with stolen keys", test_8, new_folder, NULL, NULL },
                { "row 9: two logs for two readers", test_9, NULL, NULL, NULL },
                { "row 10: an old copy of the database is put back", test_10, new_folder, NULL, NULL },
                { "row 11: a stolen record key", test_11, NULL, NULL, NULL },
                { "row 12: a stolen log key", test_12, NULL, NULL, NULL },
                { "row 13: a wrong clock", test_13, NULL, NULL, NULL },
                { "row 14: an old keyring, or one that is kept from being replaced", test_14, make_roots, drop_roots, NULL },
                { "row 15: an insider with one root key", test_15, make_roots, drop_roots, NULL },
                { "row 28: the database leads to an older pass", test_28, NULL, NULL, NULL },
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
