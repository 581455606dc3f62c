/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"
#include "daemon/witness/exchange.h"
#include "daemon/witness/submit.h"
#include "tests/witness/ask.h"

/* One witness over real HTTP, in a thread: the true one, or one that says what it was told to say. */

typedef struct Said {
        unsigned status;
        const char *body; /* NULL: what the true witness says */
} Said;

static Ask one;
static struct MHD_Daemon *http;
static RecordKeyring *keyring;
static Printer vkey; /* of the log, ended by a zero */
static Said said, said_held;
static uint64_t signing_usec;
static unsigned n_asked;
static char last[REQUEST_MAX];

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *text, size_t n) {
        struct MHD_Response *response = MHD_create_response_from_buffer(n, (void *) (uintptr_t) text, MHD_RESPMEM_MUST_COPY);
        enum MHD_Result r;

        (void) MHD_add_response_header(response, "Location", "http://127.0.0.1:1/elsewhere");
        r = MHD_queue_response(connection, status, response);
        MHD_destroy_response(response);
        return r;
}

static enum MHD_Result reply_held(struct MHD_Connection *connection, const char *path) {
        _cleanup_printer_ Printer body = {};
        char hash[DIGEST_HEX] = "";
        unsigned status;

        if (said_held.body)
                return reply(connection, said_held.status, said_held.body, strlen(said_held.body));
        assert_int_equal(sscanf(path, "/prefix/%64[0-9a-f]/checkpoint", hash), 1);
        status = witness_checkpoint(&one.witness, hash, &body);
        return reply(connection, status, body.text, body.n);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection, const char *path, const char *method, const char *version,
                                  const char *data, size_t *n_data, void **state) {
        Printer *body = *state;
        enum MHD_Result r;
        WitnessReply answer;

        if (strcmp(method, "GET") == 0)
                return reply_held(connection, path);
        if (!body) {
                *state = calloc(1, sizeof(Printer));
                return strcmp(path, "/prefix/add-checkpoint") == 0 && strcmp(method, "POST") == 0 ? MHD_YES : MHD_NO;
        }
        if (*n_data > 0) {
                printer_raw(body, data, *n_data);
                *n_data = 0;
                return MHD_YES;
        }
        n_asked++;
        (void) snprintf(last, sizeof(last), "%.*s", (int) body->n, body->text);
        if (said.status > 0 && said.body)
                return reply(connection, said.status, said.body, strlen(said.body));
        witness_add_checkpoint(&one.witness, body->text, body->n, signing_usec, &answer);
        r = reply(connection, said.status ?: witness_answer_to_status(answer.answer), answer.body.text, answer.body.n);
        witness_reply_done(&answer);
        return r;
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code) {
        Printer *body = *state;

        if (body)
                printer_done(body);
        free(body);
}

static RecordKeyring *keyring_of(const NoteKey *key, const char *url) {
        _cleanup_printer_ Printer text = {};
        RecordKeyring *made;

        printer_text(&text, "witness w1 ");
        note_key_print(&text, key);
        printer_text(&text, " ");
        printer_text(&text, url);
        printer_text(&text, "\nquorum w1\n");
        assert_int_equal(record_keyring_parse(text.text, text.n, &made), 0);
        return made;
}

static int setup(void **state) {
        char url[64];

        ask_init(&one);
        for (unsigned i = 0; i < 20; i++)
                ask_grow(&one, 0);
        http = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
                                MHD_OPTION_END);
        assert_non_null(http);
        (void) snprintf(url, sizeof(url), "http://127.0.0.1:%u/prefix/", MHD_get_daemon_info(http, MHD_DAEMON_INFO_BIND_PORT)->port);
        keyring = keyring_of(&one.witness.key, url);
        vkey = (Printer) {};
        note_key_print(&vkey, &one.key);
        printer_raw(&vkey, "", 1);
        said = said_held = (Said) {};
        signing_usec = (uint64_t) time(NULL) * 1000000;
        n_asked = 0;
        return 0;
}

static int teardown(void **state) {
        MHD_stop_daemon(http);
        (void) record_keyring_free(keyring);
        printer_done(&vkey);
        ask_done(&one);
        return 0;
}

static int prove(void *userdata, uint64_t old, uint64_t size, char **ret) {
        const TreeSource source = { ask_read, userdata };
        _cleanup_printer_ Printer text = {};
        TreePath path;

        assert_int_equal(tree_consistency(&source, old, size, &path), 0);
        lines_print_path(&text, &path);
        *ret = strndup(text.text, text.n);
        return 0;
}

/* Shows the checkpoint of SIZE, with MORE lines below, and checks that what is told hangs together. */
static SubmitOutcome outcome_with(uint64_t size, const char *more, SubmitReport *ret) {
        _cleanup_printer_ Printer note = {};
        SubmitLog log = { .vkey = vkey.text, .prove = prove, .userdata = &one };

        ask_note(&one, size, &note);
        printer_text(&note, more);
        log.note = note.text;
        log.n_note = note.n;
        assert_int_equal(submit(keyring, &log, NULL, 0, ret), 0);
        assert_int_equal(ret->n_results, 1);
        assert_string_equal(ret->results[0].name, "w1");
        assert_string_equal(ret->origin, PLACE_ORIGIN);
        assert_int_equal(ret->size, size);
        assert_int_equal(strncmp(ret->note, note.text, note.n), 0);
        assert_true(ret->has_quorum == (ret->results[0].outcome == SUBMIT_COSIGNED));
        assert_true(ret->has_quorum == (strlen(ret->note) > note.n));
        assert_true(ret->has_quorum == !ret->results[0].reason[0]);
        for (const char *p = ret->results[0].reason; *p; p++)
                assert_in_range(*p, ' ', '~');
        return ret->results[0].outcome;
}

static SubmitOutcome outcome(uint64_t size) {
        SubmitReport report;
        SubmitOutcome found = outcome_with(size, "", &report);

        submit_report_done(&report);
        return found;
}

static void test_a_log_that_grows_is_cosigned(void **state) {
        Note *note = calloc(1, sizeof(*note));
        SubmitReport report;
        uint64_t usec;

        assert_int_equal(outcome(0), SUBMIT_COSIGNED);
        assert_int_equal(outcome(5), SUBMIT_COSIGNED);
        assert_int_equal(n_asked, 2); /* from nothing */
        assert_int_equal(outcome(5), SUBMIT_COSIGNED);
        assert_int_equal(outcome_with(20, "", &report), SUBMIT_COSIGNED);
        assert_int_equal(n_asked, 6); /* asked, and told the size, twice */
        assert_int_equal(report.results[0].usec, signing_usec);
        assert_int_equal(report.results[0].held, 20);
        assert_int_equal(note_parse(report.note, strlen(report.note), note), 0);
        assert_int_equal(note_verify(note, &one.key, &usec), 1);
        assert_int_equal(note_verify(note, &one.witness.key, &usec), 1);
        submit_report_done(&report);
        free(note);
}

static void test_what_was_cosigned_is_asked_once(void **state) {
        SubmitReport report, again;

        assert_int_equal(outcome_with(9, "", &report), SUBMIT_COSIGNED);
        n_asked = 0;
        assert_int_equal(outcome_with(9, strstr(strstr(report.note, "\xe2\x80\x94") + 1, "\xe2\x80\x94"), &again), SUBMIT_COSIGNED);
        assert_int_equal(n_asked, 1);
        assert_int_equal(strncmp(last, "old 9\n\n", 7), 0);
        submit_report_done(&report);
        submit_report_done(&again);
}

/* Shows the checkpoint of 11 records; that of SIZE, which the log's own key has signed, is what the witness hands out. */
static void assert_proven(uint64_t size, SubmitOutcome expected) {
        _cleanup_free_ Note *note = calloc(1, sizeof(*note));
        Checkpoint checkpoint;
        SubmitReport report;
        uint64_t usec;

        assert_int_equal(outcome_with(11, "", &report), expected);
        assert_non_null(report.results[0].proof);
        assert_int_equal(report.results[0].proven, size);
        assert_int_equal(note_parse(report.results[0].proof, strlen(report.results[0].proof), note), 0);
        assert_int_equal(note_verify(note, &one.key, &usec), 1);
        assert_int_equal(note_verify(note, &one.witness.key, &usec), 1);
        assert_int_equal(usec, signing_usec);
        assert_int_equal(checkpoint_parse(note->text, note->n, &checkpoint), 0);
        assert_int_equal(checkpoint.size, size);
        submit_report_done(&report);
}

static void assert_unproven(Said instead) {
        SubmitReport report;

        said_held = instead;
        assert_int_equal(outcome_with(11, "", &report), SUBMIT_ROLLED_BACK);
        assert_null(report.results[0].proof);
        submit_report_done(&report);
        said_held = (Said) {};
}

static void test_an_alarm_comes_with_its_proof(void **state) {
        SubmitReport report;

        assert_int_equal(outcome_with(9, "", &report), SUBMIT_COSIGNED);
        assert_null(report.results[0].proof);
        submit_report_done(&report);
        one.n_nodes = one.size = 0;
        one.tree = (Frontier) {};
        for (unsigned i = 0; i < 20; i++)
                ask_grow(&one, 1);
        assert_proven(9, SUBMIT_REWRITTEN);
}

static void test_a_witness_may_keep_the_proof_back(void **state) {
        static char much[EXCHANGE_ANSWER_MAX + 2], another[1024];
        _cleanup_printer_ Printer note = {};

        (void) memset(much, 'x', sizeof(much) - 1);
        ask_note(&one, 15, &note); /* which it does not hold, with a signature that does not fit */
        (void) snprintf(another, sizeof(another), "%.*s", (int) note.n, note.text);
        another[strlen(another) - 10] ^= 1;
        assert_int_equal(outcome(12), SUBMIT_COSIGNED);
        assert_proven(12, SUBMIT_ROLLED_BACK);
        assert_unproven((Said) { 404, "there is only POST add-checkpoint\n" });
        assert_unproven((Said) { 200, "" });
        assert_unproven((Said) { 200, much });
        assert_unproven((Said) { 200, another });
}

static void test_a_log_that_was_rolled_back_is_an_alarm(void **state) {
        assert_int_equal(outcome(12), SUBMIT_COSIGNED);
        assert_int_equal(outcome(11), SUBMIT_ROLLED_BACK);
        assert_int_equal(outcome(0), SUBMIT_ROLLED_BACK);
        assert_int_equal(outcome(12), SUBMIT_COSIGNED);
}

static void test_a_log_that_was_rewritten_is_an_alarm(void **state) {
        assert_int_equal(outcome(8), SUBMIT_COSIGNED);
        one.n_nodes = one.size = 0;
        one.tree = (Frontier) {};
        for (unsigned i = 0; i < 20; i++)
                ask_grow(&one, 1);
        assert_int_equal(outcome(8), SUBMIT_REWRITTEN);
        assert_int_equal(outcome(9), SUBMIT_REWRITTEN);
        assert_int_equal(outcome(16), SUBMIT_REWRITTEN);
}

static void test_a_witness_that_forgot_is_told(void **state) {
        SubmitReport report, again;

        assert_int_equal(outcome_with(9, "", &report), SUBMIT_COSIGNED);
        said = (Said) { 409, "5\n" };
        assert_int_equal(outcome_with(9, strstr(strstr(report.note, "\xe2\x80\x94") + 1, "\xe2\x80\x94"), &again), SUBMIT_ODD);
        assert_non_null(strstr(again.results[0].reason, "lost or restored"));
        submit_report_done(&report);
        submit_report_done(&again);
}

static void test_odd_answers_are_no_cosignatures(void **state) {
        static char large[2 * EXCHANGE_ANSWER_MAX];
        static const struct {
                Said said;
                SubmitOutcome outcome;
        } cases[] = {
                { { 200, "" }, SUBMIT_ODD },
                { { 200, "ok\n" }, SUBMIT_ODD },
                { { 200, "\xe2\x80\x94 some.example/w CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==\n" },
                  SUBMIT_ODD },
                { { 409, "" }, SUBMIT_ODD },
                { { 409, "5" }, SUBMIT_ODD },
                { { 409, "05\n" }, SUBMIT_ODD },
                { { 409, "-1\n" }, SUBMIT_ODD },
                { { 409, "0\n" }, SUBMIT_ODD },       /* it was asked from there */
                { { 409, "5\n6\n" }, SUBMIT_ODD },
                { { 409, "5\n" }, SUBMIT_ODD },       /* again and again */
                { { 409, "7\n" }, SUBMIT_REWRITTEN },
                { { 409, "8\n" }, SUBMIT_ROLLED_BACK },
                { { 409, "9007199254740993\n" }, SUBMIT_ODD }, /* no log is so large */
                { { 422, "" }, SUBMIT_ODD },          /* without a proof */
                { { 400, "malformed \x1b[31m\xff\n" }, SUBMIT_ODD },
                { { 403, "" }, SUBMIT_UNKNOWN },
                { { 404, "no log of this origin\n" }, SUBMIT_UNKNOWN },
                { { 301, "" }, SUBMIT_ODD },          /* nothing is followed */
                { { 201, "" }, SUBMIT_ODD },
                { { 429, "" }, SUBMIT_UNABLE },
                { { 503, "what would be signed cannot be kept\n" }, SUBMIT_UNABLE },
                { { 200, large }, SUBMIT_UNREACHABLE },
        };

        memset(large, 'x', sizeof(large) - 1);
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                said = cases[i].said;
                assert_int_equal(outcome(7), cases[i].outcome);
        }
}

static void test_a_cosignature_of_another_checkpoint_or_key_or_time_is_none(void **state) {
        SubmitReport report;
        NoteKey other = one.witness.key;

        assert_int_equal(outcome_with(9, "", &report), SUBMIT_COSIGNED);
        said = (Said) { 200, strstr(strstr(report.note, "\xe2\x80\x94") + 1, "\xe2\x80\x94") };
        assert_int_equal(outcome(9), SUBMIT_COSIGNED);
        assert_int_equal(outcome(10), SUBMIT_ODD);
        submit_report_done(&report);

        said = (Said) {};
        signing_usec += 2 * RECORD_AHEAD_USEC;
        assert_int_equal(outcome(9), SUBMIT_ODD);
        signing_usec -= 2 * RECORD_AHEAD_USEC;
        other.public[0] ^= 1;
        assert_int_equal(note_key_init(&keyring->witnesses[0].key, other.name, NOTE_WITNESS, other.public), 0);
        assert_int_equal(outcome(9), SUBMIT_ODD);
}

/* Its own signature, but of a text with more in it than it was shown: it would spoil what is handed over, and what others signed with it. */
static void test_a_cosignature_of_more_than_was_shown_is_none(void **state) {
        _cleanup_printer_ Printer note = {}, text = {}, body = {};
        Note *shown = calloc(1, sizeof(*shown));

        ask_note(&one, 9, &note);
        assert_int_equal(note_parse(note.text, note.n, shown), 0);
        printer_raw(&text, shown->text, shown->n);
        printer_text(&text, "\nmore\n");
        printer_text(&body, "more\n\n");
        note_sign(&body, text.text, text.n, &one.witness.key, one.witness.signer, signing_usec);
        printer_raw(&body, "", 1);
        assert_int_equal(body.error, 0);
        said = (Said) { 200, body.text };
        assert_int_equal(outcome(9), SUBMIT_ODD);
        free(shown);
}

static void test_nobody_there_is_unreachable(void **state) {
        (void) strcpy(keyring->witnesses[0].url, "http://127.0.0.1:1/");
        assert_int_equal(outcome(9), SUBMIT_UNREACHABLE);
        (void) strcpy(keyring->witnesses[0].url, "unix:/nowhere/at/all");
        assert_int_equal(outcome(9), SUBMIT_UNREACHABLE);
        (void) strcpy(keyring->witnesses[0].url, "file:///etc/passwd");
        assert_int_equal(outcome(9), SUBMIT_UNREACHABLE);
}

static void test_only_witnesses_that_are_there_are_asked(void **state) {
        static const char *const names[] = { "w2", "w1" };
        _cleanup_printer_ Printer note = {};
        SubmitLog log = { .vkey = vkey.text, .prove = prove, .userdata = &one };
        SubmitReport report;

        ask_note(&one, 3, &note);
        log.note = note.text;
        log.n_note = note.n - 1;
        assert_int_equal(submit(keyring, &log, NULL, 0, &report), -EBADMSG);
        log.n_note = note.n;
        assert_int_equal(submit(keyring, &log, names, 2, &report), -ENOENT);
        assert_int_equal(submit(keyring, &log, names + 1, 1, &report), 0);
        submit_report_done(&report);
        keyring->witnesses[0].url[0] = '\0';
        assert_int_equal(submit(keyring, &log, names + 1, 1, &report), -ENOENT);
        assert_int_equal(submit(keyring, &log, NULL, 0, &report), -ENOENT);
}

/* As many as a keyring holds: more than a log keeps cosignatures of. */
static void test_every_witness_of_a_keyring_has_its_result(void **state) {
        SubmitLog log = { .vkey = vkey.text, .prove = prove, .userdata = &one };
        _cleanup_printer_ Printer note = {};
        SubmitReport report;

        for (unsigned i = 1; i < CHECKPOINT_WITNESSES_MAX; i++) {
                KeyringWitness witness = { .url = "http://127.0.0.1:1/" };

                (void) snprintf(witness.name, sizeof(witness.name), "w%u", i + 1);
                assert_int_equal(note_key_init(&witness.key, witness.name, NOTE_WITNESS, (const uint8_t[NOTE_PUBLIC_BYTES]) { (uint8_t) i }), 0);
                assert_int_equal(keyring_add_witness(keyring, &witness), 0);
        }
        ask_note(&one, 3, &note);
        log.note = note.text;
        log.n_note = note.n;
        assert_int_equal(submit(keyring, &log, NULL, 0, &report), 0);
        assert_int_equal(report.n_results, CHECKPOINT_WITNESSES_MAX);
        for (size_t i = 0; i < report.n_results; i++) {
                assert_string_equal(report.results[i].name, keyring->witnesses[i].name);
                assert_int_equal(report.results[i].outcome, i == 0 ? SUBMIT_COSIGNED : SUBMIT_UNREACHABLE);
        }
        submit_report_done(&report);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_a_log_that_grows_is_cosigned),
                TEST(test_what_was_cosigned_is_asked_once),
                TEST(test_an_alarm_comes_with_its_proof),
                TEST(test_a_witness_may_keep_the_proof_back),
                TEST(test_a_log_that_was_rolled_back_is_an_alarm),
                TEST(test_a_log_that_was_rewritten_is_an_alarm),
                TEST(test_a_witness_that_forgot_is_told),
                TEST(test_odd_answers_are_no_cosignatures),
                TEST(test_a_cosignature_of_another_checkpoint_or_key_or_time_is_none),
                TEST(test_a_cosignature_of_more_than_was_shown_is_none),
                TEST(test_nobody_there_is_unreachable),
                TEST(test_only_witnesses_that_are_there_are_asked),
                TEST(test_every_witness_of_a_keyring_has_its_result),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
