/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The threats that records are made against, one test each, by the number that assay-records(7) gives them. Every test shows the attack work
 * where its defence is not asked for, or the same thing untouched being taken, and then the attack refused.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <signal.h>
#include <sys/wait.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/keys/keyring.h"
#include "daemon/record/keys/proof.h"
#include "daemon/record/statement/schema.h"
#include "tests/record/audited.h"

static RecordTrust read_with(const RecordPolicy *policy, const char *envelope, size_t n) {
        RecordVerified verified;
        RecordTrust trust;

        assert_int_equal(record_verify_with_policy(policy, envelope, n, &trust, &verified), 0);
        record_verified_done(&verified);
        return trust;
}

static RecordTrust reads(const char *envelope) {
        return read_with(&(RecordPolicy) { .keyring = payloads.keyring }, envelope, strlen(envelope));
}

/* PAYLOAD with SIGNATURE, whatever it is of. MORE: what else stands in the list of signatures. */
static char *wrap(const void *payload, size_t n, const char *type, const void *signature, size_t n_signature, const char *more) {
        char *bytes = calloc(1, BASE64_SIZE(n) + 1), *sig = calloc(1, BASE64_SIZE(n_signature) + 1), *text;

        (void) base64_encode(payload, n, bytes);
        (void) base64_encode(signature, n_signature, sig);
        if (asprintf(&text, "{\"payload\":\"%s\",\"payloadType\":\"%s\",\"signatures\":[{\"keyid\":\"%s\",\"sig\":\"%s\"}%s]}", bytes, type,
                     record_key_id(payloads.key), sig, more) < 0)
                abort();
        free(bytes);
        free(sig);
        return text;
}

static void sign_as(const char *type, const char *payload, uint8_t signature[static KEY_SIGNATURE_MAX], size_t *ret_n) {
        _cleanup_printer_ Printer pae = {};

        pae_print(&pae, type, payload, strlen(payload));
        assert_int_equal(key_sign(payloads.key, pae.text, pae.n, signature, ret_n), 0);
}

static void test_1(void **state) {
        _cleanup_free_ char *forged = NULL, *again = NULL;
        Envelope envelope;
        const char *wrong;
        RecordVerified verified;

        /* What failed is made to be what passed; it is a record like any other, and only its signature is of another. */
        assert_int_equal(payload_verify(&payloads, payloads.health, strlen(payloads.health), &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        assert_int_equal(envelope_parse(payloads.envelope, strlen(payloads.envelope), &envelope, &wrong), 0);
        again = wrap(payloads.signed_bad, strlen(payloads.signed_bad), RECORD_PAYLOAD_TYPE, envelope.signatures[0].bytes, envelope.signatures[0].n, "");
        forged = wrap(payloads.health, strlen(payloads.health), RECORD_PAYLOAD_TYPE, envelope.signatures[0].bytes, envelope.signatures[0].n, "");
        assert_int_equal(reads(again), RECORD_VERIFIED);
        assert_int_equal(reads(forged), RECORD_REFUSED);
        envelope_done(&envelope);
}

static void test_2(void **state) {
        static const char other[] = "application/vnd.assay.keyring";
        uint8_t signature[KEY_SIGNATURE_MAX];
        const char *to[] = { "predicateType", "\"" RECORD_TYPE_SUMMARY "\"", NULL };
        RecordVerified verified;
        char *text;
        size_t n;

        sign_as(RECORD_PAYLOAD_TYPE, payloads.health, signature, &n);
        text = wrap(payloads.health, strlen(payloads.health), RECORD_PAYLOAD_TYPE, signature, n, "");
        assert_int_equal(reads(text), RECORD_VERIFIED);
        free(text);
        text = wrap(payloads.health, strlen(payloads.health), other, signature, n, "");
        assert_int_equal(reads(text), RECORD_REFUSED);
        free(text);
        /* The same bytes signed as something else are no record either, under neither name. */
        sign_as(other, payloads.health, signature, &n);
        text = wrap(payloads.health, strlen(payloads.health), RECORD_PAYLOAD_TYPE, signature, n, "");
        assert_int_equal(reads(text), RECORD_REFUSED);
        free(text);
        /* Nor may one predicate be read as another. */
        assert_int_equal(payload_verify_changed(&payloads, payloads.health, to, &verified), RECORD_REFUSED);
        record_verified_done(&verified);
}

/* The record's ID, "" where it is refused. */
static void id_of(const char *envelope, char id[static RECORD_ID_HEX]) {
        RecordVerified verified;
        RecordTrust trust;

        assert_int_equal(record_verify(payloads.keyring, envelope, strlen(envelope), &trust, &verified), 0);
        (void) strcpy(id, trust == RECORD_VERIFIED ? verified.entry.id : "");
        record_verified_done(&verified);
}

/* Another text for the same record: spaces, another order, other fields, no key ID, base64 for URLs. */
static char *respell(const char *envelope) {
        json_t *object = json_loads(envelope, 0, NULL), *signature = json_array_get(json_object_get(object, "signatures"), 0);
        char *payload = strdup(text_of(object, "payload")), *text;

        for (char *p = payload; *p; p++)
                *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
        (void) json_object_del(signature, "keyid");
        (void) json_object_set_new(object, "payload", json_string(payload));
        (void) json_object_set_new(object, "comment", json_string("the same"));
        text = json_dumps(object, JSON_SORT_KEYS | JSON_INDENT(1));
        for (char *p = text; *p; p++)
                *p = *p == '\n' ? ' ' : *p;
        free(payload);
        json_decref(object);
        return text;
}

static void test_3(void **state) {
        char id[RECORD_ID_HEX], other_id[RECORD_ID_HEX];
        _cleanup_free_ char *two = NULL;
        uint8_t signature[KEY_SIGNATURE_MAX];
        char *other;
        Trial trial;
        size_t n;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        other = respell(trial.ledger.lines[1]);
        assert_string_not_equal(other, trial.ledger.lines[1]);
        id_of(trial.ledger.lines[1], id);
        id_of(other, other_id);
        assert_string_equal(id, other_id);
        assert_true(id[0]);
        /* Counted once, however it is written. */
        free(trial.ledger.lines[2]);
        trial.ledger.lines[2] = other;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_MISPLACED], 1);
        trial_done(&trial);

        sign_as(RECORD_PAYLOAD_TYPE, payloads.health, signature, &n);
        two = wrap(payloads.health, strlen(payloads.health), RECORD_PAYLOAD_TYPE, signature, n, ",{\"sig\":\"AAAA\"}");
        assert_int_equal(reads(two), RECORD_REFUSED);
}

/* The failed chip is index 2. */
static void test_4(void **state) {
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, false);
        ledger_scan(&trial.ledger, true);
        trial_sign(&trial);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        /* Each of the others verifies, missing or not. */
        for (unsigned i = 0; i < 2 * LEDGER_SCAN; i++)
                assert_int_equal(reads(trial.ledger.lines[i]), RECORD_VERIFIED);
        trial.hides[2] = true;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(finding(&trial, RECORD_AUDIT_MISSING)->first, 2);
        /* All from there on: the checkpoint knows how many there were. */
        trial.end = 2;
        assert_int_equal(trial_run(&trial), RESULT_FAILED);
        assert_int_equal(finding(&trial, RECORD_AUDIT_MISSING)->last, 2 * LEDGER_SCAN - 1);
        /* Called pruned, it may be withheld all the same. */
        trial.end = UINT64_MAX;
        trial.tells_leaves = true;
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        assert_int_equal(finding(&trial, RECORD_AUDIT_WITHHELD)->first, 2);
        trial_done(&trial);
}

static void test_5(void **state) {
        Trial trial;

        trial_init(&trial);
        for (unsigned i = 0; i < 3; i++)
                ledger_scan(&trial.ledger, i == 2);
        trial_sign(&trial);
        /* The last record alone is as good as any. */
        assert_int_equal(reads(trial.ledger.lines[2 * LEDGER_SCAN + 2]), RECORD_VERIFIED);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        found_only(&trial, RECORD_AUDIT_RERUN, 1, LEDGER_SCAN + 2);
        assert_int_equal(trial.report->n_starts, 3);
        assert_int_equal(trial.report->chips[1].n_results[RESULT_FAILED], 2);
        assert_int_equal(trial.report->chips[1].n_results[RESULT_PASSED], 1);
        trial_done(&trial);
}

static void test_7(void **state) {
        static const char three[] = "3333333333333333333333333333333333333333333333333333333333333333";
        json_t *root = json_loads(payloads.health, 0, NULL);
        const char *mine = text_of(json_object_get(json_array_get(json_object_get(root, "subject"), 0), "digest"), "sha256");
        RecordPolicy policy = { .keyring = payloads.keyring };
        Trial trial;

        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        assert_int_equal(read_with(&policy, trial.ledger.lines[1], strlen(trial.ledger.lines[1])), RECORD_VERIFIED);
        policy.subject = mine;
        assert_int_equal(read_with(&policy, trial.ledger.lines[1], strlen(trial.ledger.lines[1])), RECORD_VERIFIED);
        policy.subject = three;
        assert_int_equal(read_with(&policy, trial.ledger.lines[1], strlen(trial.ledger.lines[1])), RECORD_REFUSED);
        assert_int_equal(read_with(&policy, trial.ledger.lines[2], strlen(trial.ledger.lines[2])), RECORD_VERIFIED);
        trial_done(&trial);
        json_decref(root);
}

static void test_16(void **state) {
        const char *relaxed = "[{\"type\":\"LESS_THAN_OR_EQUAL\",\"value\":1000}]";
        Change change = { 1, "predicate.configuration.0.digest.sha256", zeros, 0 };
        json_t *root = json_loads(payloads.start, 0, NULL), *plan;
        _cleanup_free_ char *approved = NULL;
        RecordPolicy policy = { .keyring = payloads.keyring, .plan = "preflight" };
        RecordVerified verified;
        Trial trial;

        plan = json_array_get(json_object_get(json_object_get(root, "predicate"), "configuration"), 0);
        approved = strdup(text_of(json_object_get(plan, "digest"), "sha256"));
        trial_init(&trial);
        ledger_scan(&trial.ledger, true);
        changed_scan(&trial.ledger, &change, true);
        trial_sign(&trial);
        /* By its name it is the same plan. */
        assert_int_equal(read_with(&policy, trial.ledger.lines[LEDGER_SCAN + 1], strlen(trial.ledger.lines[LEDGER_SCAN + 1])), RECORD_VERIFIED);
        policy.plan = approved;
        assert_int_equal(read_with(&policy, trial.ledger.lines[LEDGER_SCAN + 1], strlen(trial.ledger.lines[LEDGER_SCAN + 1])), RECORD_REFUSED);
        assert_int_equal(read_with(&policy, trial.ledger.lines[1], strlen(trial.ledger.lines[1])), RECORD_VERIFIED);
        assert_int_equal(trial_run(&trial), RESULT_PASSED);
        assert_int_equal(trial.report->n_of_kind[RECORD_AUDIT_PLAN], 1);
        trial_done(&trial);

        /* A limit cannot be changed behind a reader's back: it stands in the record. */
        assert_int_equal(payload_verify_changed(&payloads, payloads.health, (const char *[]) { "predicate.steps.1.measurements.0.limits", relaxed, NULL }, &verified),
                         RECORD_VERIFIED);
        assert_non_null(strstr(verified.payload, "\"value\":1000"));
        record_verified_done(&verified);
        json_decref(root);
}

static void test_19(void **state) {
        const char *lie[] = { "predicate.steps.1.measurements.0.value", "3", NULL };
        json_t *root = json_loads(payloads.health, 0, NULL);
        RecordVerified verified;
        SchemaWrong wrong;

        assert_int_equal(payload_verify(&payloads, payloads.health, strlen(payloads.health), &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        /* Its shape is right and the station has signed it. */
        payload_set(root, lie[0], lie[1]);
        assert_true(schema_fits(root, RECORD_TYPE_HEALTH, &wrong));
        assert_int_equal(payload_verify_changed(&payloads, payloads.health, lie, &verified), RECORD_REFUSED);
        record_verified_done(&verified);
        json_decref(root);
}

static void test_20(void **state) {
        char text[NUMBER_TEXT_MAX];
        RecordScan scan = payloads.server.scan;
        Measurement *measurement = &payloads.server.measurements[0][1];
        double value = measurement->value;

        /* A locale with a comma, where there is one; and what has no exact double is text. */
        if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
                (void) snprintf(text, sizeof(text), "%.2f", 0.25);
                assert_string_equal(text, "0,25");
        }
        assert_int_equal(number_format(0.25, text), 4);
        assert_memory_equal(text, "0.25", 4);
        (void) setlocale(LC_NUMERIC, "C");
        for (uint64_t big = (UINT64_C(1) << 53) - 1; big <= (UINT64_C(1) << 53) + 1; big++) {
                _cleanup_printer_ Printer printer = {};
                bool is_exact = big < UINT64_C(1) << 53;

                printer_unsigned(&printer, big);
                assert_int_equal(printer.text[0] == '"', !is_exact);
        }
        /* What is no number is not signed. */
        assert_int_equal(record_scan_check(&scan, NULL), 0);
        measurement->value = __builtin_nan("");
        assert_int_equal(record_scan_check(&scan, NULL), -EINVAL);
        measurement->value = value;
}

static void test_21(void **state) {
        uint64_t cursor = 0;
        RecordEntry entry;
        RecordLog *log;
        Place place;
        int status;
        pid_t pid;

        place_init(&place);
        pid = fork();
        if (pid == 0) {
                RecordOutcome outcome;

                if (place_open(&place, &log, NULL) < 0 ||
                    record_log_start(log, &payloads.server.scan.run, &payloads.server.scan.server, 1) < 0)
                        _exit(1);
                place_wait(log, &outcome);
                (void) raise(SIGKILL); /* acknowledged, and the scan never ends */
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(place_open(&place, &log, NULL), 0);
        assert_int_equal(record_log_size(log), 1);
        assert_int_equal(record_log_unfinished(log, &cursor, &entry), 0);
        assert_string_equal(entry.run, payloads.server.run);
        assert_int_equal(record_log_newest(log, &payloads.server.scan.server.where, NULL, &entry), -ENOENT);
        (void) record_log_free(log);
        place_done(&place);
}

static void test_22(void **state) {
        _cleanup_free_ char *twice = NULL;
        RecordVerified verified;
        json_t *lenient;

        /* Two results: many readers take the last. */
        if (asprintf(&twice, "%.*s,\"result\":\"PASSED\"}}", (int) strlen(payloads.bad) - 2, payloads.bad) < 0)
                abort();
        lenient = json_loads(twice, 0, NULL);
        assert_string_equal(text_of(json_object_get(lenient, "predicate"), "result"), "PASSED");
        json_decref(lenient);
        assert_int_equal(payload_verify(&payloads, payloads.bad, strlen(payloads.bad), &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        assert_int_equal(payload_verify(&payloads, twice, strlen(twice), &verified), RECORD_REFUSED);
        assert_non_null(strstr(verified.reason, "twice"));
        record_verified_done(&verified);
        /* YAML, which has room for more meanings, is not read at all. */
        assert_int_equal(payload_verify(&payloads, "_type: https://in-toto.io/Statement/v1\n", 39, &verified), RECORD_REFUSED);
        record_verified_done(&verified);
}

/* A record with a member of DEPTH lists, signed rightly. */
static RecordTrust reads_deep(unsigned depth) {
        _cleanup_printer_ Printer text = {};
        RecordVerified verified;
        RecordTrust trust;

        printer_raw(&text, payloads.health, strlen(payloads.health) - 1);
        printer_text(&text, ",\"more\":");
        for (unsigned i = 0; i < depth; i++)
                printer_text(&text, "[");
        for (unsigned i = 0; i < depth; i++)
                printer_text(&text, "]");
        printer_text(&text, "}");
        trust = payload_verify(&payloads, text.text, text.n, &verified);
        record_verified_done(&verified);
        return trust;
}

static RecordTrust reads_padded(size_t n) {
        size_t n_envelope = strlen(payloads.envelope);
        char *text = malloc(n + 1);
        RecordTrust trust;

        memset(text, ' ', n);
        memcpy(text, payloads.envelope, n_envelope);
        trust = read_with(&(RecordPolicy) { .keyring = payloads.keyring }, text, n);
        free(text);
        return trust;
}

static int parse_proof(unsigned n) {
        _cleanup_printer_ Printer text = {};
        Proof proof;

        printer_text(&text, "c2sp.org/tlog-proof@v1\nindex 1\n");
        for (unsigned i = 0; i < n; i++)
                printer_text(&text, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
        printer_text(&text, "\n");
        return proof_parse(text.text, text.n, &proof);
}

static int parse_note(unsigned n) {
        _cleanup_printer_ Printer text = {};
        Note *note = malloc(sizeof(*note));
        int r;

        printer_text(&text, "o\n1\nAAAA\n\n");
        for (unsigned i = 0; i < n; i++)
                printer_text(&text, "\xe2\x80\x94 x AAAAAAAA\n");
        r = note_parse(text.text, text.n, note);
        free(note);
        return r;
}

static void test_23(void **state) {
        char *envelope = strdup(payloads.envelope), *at = strstr(envelope, "\"payload\":\"") + 40;
        RecordVerified verified;
        RecordTrust trust;

        assert_int_equal(reads_deep(JSON_DEPTH_MAX - 1), RECORD_VERIFIED);
        assert_int_equal(reads_deep(JSON_DEPTH_MAX), RECORD_REFUSED);
        assert_int_equal(reads_padded(RECORD_ENVELOPE_MAX), RECORD_VERIFIED);
        assert_int_equal(reads_padded(RECORD_ENVELOPE_MAX + 1), RECORD_REFUSED);
        assert_int_equal(parse_proof(TREE_PATH_MAX), 0);
        assert_int_equal(parse_proof(TREE_PATH_MAX + 1), -EBADMSG);
        assert_int_equal(parse_note(NOTE_SIGNATURES_MAX), 0);
        assert_int_equal(parse_note(NOTE_SIGNATURES_MAX + 1), -EBADMSG);
        /* And nothing is parsed before its signature: what no parser would take is refused for the signature. */
        memcpy(at, "W1tbW1tbW1tb", 12);
        assert_int_equal(record_verify(payloads.keyring, envelope, strlen(envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_REFUSED);
        assert_string_equal(verified.reason, "the signature does not fit");
        record_verified_done(&verified);
        free(envelope);
}

static void test_26(void **state) {
        RecordKey *other = other_key();
        RecordKeyring *strangers;
        Trial trial;

        assert_int_equal(reads(payloads.envelope), RECORD_VERIFIED);
        assert_int_not_equal(reads(""), RECORD_VERIFIED);
        assert_int_not_equal(reads("{}"), RECORD_VERIFIED);
        assert_int_equal(record_keyring_parse(record_key_public_pem(other), strlen(record_key_public_pem(other)), &strangers), 0);
        assert_int_equal(read_with(&(RecordPolicy) { .keyring = strangers }, payloads.envelope, strlen(payloads.envelope)), RECORD_UNKNOWN_KEY);
        (void) record_keyring_free(strangers);
        (void) record_key_free(other);
        /* No keys are no keyring, and no records no log. */
        assert_true(record_keyring_parse("", 0, &strangers) < 0);
        trial_init(&trial);
        assert_int_equal(trial_run(&trial), RESULT_INCONCLUSIVE);
        trial_done(&trial);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                { "row 1: a record is edited in transit or in the store", test_1, NULL, NULL, NULL },
                { "row 2: a payload is wrapped again under another type", test_2, NULL, NULL, NULL },
                { "row 3: an envelope is written in another way", test_3, NULL, NULL, NULL },
                { "row 4: a failure is deleted or kept back", test_4, NULL, NULL, NULL },
                { "row 5: a test is run again until it passes", test_5, NULL, NULL, NULL },
                { "row 7: one chip's pass is shown for another", test_7, NULL, NULL, NULL },
                { "row 16: a plan has relaxed limits", test_16, NULL, NULL, NULL },
                { "row 19: a verdict does not follow from its values", test_19, NULL, NULL, NULL },
                { "row 20: numbers are damaged", test_20, NULL, NULL, NULL },
                { "row 21: a crash in the middle of a scan", test_21, NULL, NULL, NULL },
                { "row 22: two parsers see two things", test_22, NULL, NULL, NULL },
                { "row 23: huge, deep and endless input", test_23, NULL, NULL, NULL },
                { "row 26: a verifier that has checked nothing", test_26, NULL, NULL, NULL },
        };

        return cmocka_run_group_tests(tests, audited_setup, audited_teardown);
}
