/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/submit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"
#include "daemon/witness/exchange.h"
#include "daemon/witness/request.h"

#define TRIES 3 /* others may move a witness meanwhile */

static_assert(SUBMIT_WITNESSES_MAX == CHECKPOINT_WITNESSES_MAX, "");

/* What all witnesses are shown. */
typedef struct Submission {
        CURL *curl;
        const SubmitLog *log;
        NoteKey key;
        Note note;
        Checkpoint checkpoint;
        Printer lines; /* of new cosignatures */
} Submission;

static const char *const words[_SUBMIT_OUTCOME_MAX] = {
        [SUBMIT_COSIGNED] = "cosigned", [SUBMIT_UNREACHABLE] = "unreachable", [SUBMIT_UNABLE] = "unable", [SUBMIT_UNKNOWN] = "unknown",
        [SUBMIT_ODD] = "odd",           [SUBMIT_ROLLED_BACK] = "rolled-back", [SUBMIT_REWRITTEN] = "rewritten",
};

const char *submit_outcome_to_string(SubmitOutcome outcome) {
        return outcome >= 0 && outcome < _SUBMIT_OUTCOME_MAX ? words[outcome] : NULL;
}

/* What strangers wrote goes on to terminals: only plain characters do. */
__attribute__((format(printf, 3, 4))) static SubmitOutcome end(SubmitResult *result, SubmitOutcome outcome, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(result->reason, sizeof(result->reason), format, arguments);
        va_end(arguments);
        for (char *p = result->reason; *p; p++)
                if (*p == '\n' && !p[1])
                        *p = '\0';
                else if (*p < ' ' || *p > '~')
                        *p = '?';
        return outcome;
}

static uint64_t now_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* ---- a cosignature ---- */

/* The answer's lines stand under our checkpoint: the first that is of KEY, where all that are of it verify. */
static int take_line(const Submission *submission, const Answer *answer, const NoteKey *key, Printer *line, uint64_t *ret_usec) {
        _cleanup_free_ Note *note = malloc(sizeof(*note));
        _cleanup_printer_ Printer text = {};
        int r;

        printer_raw(&text, submission->note.text, submission->note.n);
        printer_text(&text, "\n");
        printer_raw(&text, answer->body.text, answer->body.n);
        r = !note ? -ENOMEM : text.error ?: note_parse(text.text, text.n, note);
        /* An empty line in the answer would make the lines before it a part of what is signed. */
        if (r == 0)
                r = note->n == submission->note.n ? note_verify(note, key, ret_usec) : -EBADMSG;
        if (r <= 0)
                return r;
        note_print_line(line, note, key);
        return 1;
}

static SubmitOutcome read_cosignature(Submission *submission, const KeyringWitness *witness, const Answer *answer, SubmitResult *result) {
        _cleanup_printer_ Printer line = {};
        uint64_t usec;
        int r = take_line(submission, answer, &witness->key, &line, &usec);

        if (r <= 0 || line.error < 0)
                return end(result, SUBMIT_ODD, "%s", r == 0 ? "it answers with no signature of its key" : "its signature does not fit the checkpoint");
        if (usec > now_usec() + RECORD_AHEAD_USEC)
                return end(result, SUBMIT_ODD, "its clock is ahead of this one");
        printer_raw(&submission->lines, line.text, line.n);
        result->usec = usec;
        result->held = submission->checkpoint.size;
        return SUBMIT_COSIGNED;
}

/* ---- another size ---- */

/* It has signed this very checkpoint before. */
static bool has_cosigned(const Submission *submission, const KeyringWitness *witness) {
        uint64_t usec;

        return note_verify(&submission->note, &witness->key, &usec) > 0;
}

/* _SUBMIT_OUTCOME_INVALID: ask again, from the size that it holds. */
static SubmitOutcome read_size(const Submission *submission, const KeyringWitness *witness, uint64_t old, const Answer *answer, SubmitResult *result) {
        uint64_t size = submission->checkpoint.size;
        Lines lines = { answer->body.text, answer->body.n };
        Line line;

        if (line_take(&lines, &line) < 0 || lines.n > 0 || line_number(&line, &result->held) < 0)
                return end(result, SUBMIT_ODD, "it answers with no size");
        if (result->held > size)
                return end(result, SUBMIT_ROLLED_BACK, "it holds %" PRIu64 " records, the log has %" PRIu64, result->held, size);
        if (result->held < size && has_cosigned(submission, witness))
                return end(result, SUBMIT_ODD, "it holds %" PRIu64 " records and has cosigned %" PRIu64 ": its state was lost or restored", result->held, size);
        if (result->held != old)
                return _SUBMIT_OUTCOME_INVALID;
        if (old == size)
                return end(result, SUBMIT_REWRITTEN, "it holds another log of %" PRIu64 " records", size);
        return end(result, SUBMIT_ODD, "it holds %" PRIu64 " records, and is not content with that", old);
}

/* ---- asking ---- */

static int print_request(const Submission *submission, uint64_t old, Printer *body) {
        uint64_t size = submission->checkpoint.size;
        const SubmitLog *log = submission->log;
        _cleanup_printer_ Printer text = {};
        _cleanup_free_ char *proof = NULL;
        TreePath path = {};
        Lines lines;
        int r = 0;

        if (old > 0 && old < size) {
                r = log->prove(log->userdata, old, size, &proof);
                if (r < 0)
                        return r;
                printer_text(&text, proof);
                printer_text(&text, "\n");
                lines = (Lines) { text.text, text.n };
                r = text.error ?: lines_take_path(&lines, &path);
        }
        if (r == 0)
                request_print(body, old, &path, log->note, log->n_note);
        return r < 0 ? r : body->error;
}

static SubmitOutcome read_answer(Submission *submission, const KeyringWitness *witness, uint64_t old, const Answer *answer, SubmitResult *result) {
        int n = (int) answer->body.n;

        switch (answer->status) {
        case 200:
                return read_cosignature(submission, witness, answer, result);
        case 409:
                return read_size(submission, witness, old, answer, result);
        case 422:
                if (old == 0)
                        return end(result, SUBMIT_ODD, "it wants a proof from nothing");
                return end(result, SUBMIT_REWRITTEN, "the log has not grown out of the %" PRIu64 " records it holds", old);
        case 403:
        case 404:
                return end(result, SUBMIT_UNKNOWN, "%ld: %.*s", answer->status, n, answer->body.text ?: "");
        default:
                return end(result, answer->status >= 500 || answer->status == 429 ? SUBMIT_UNABLE : SUBMIT_ODD, "%ld: %.*s", answer->status, n,
                           answer->body.text ?: "");
        }
}

/* What it holds is not known at first, unless it has signed this checkpoint: from nothing, it says it. */
static int ask(Submission *submission, const KeyringWitness *witness, SubmitResult *result) {
        uint64_t old = has_cosigned(submission, witness) ? submission->checkpoint.size : 0;

        for (unsigned i = 0; i < TRIES; i++, old = result->held) {
                _cleanup_(answer_done) Answer answer = {};
                _cleanup_printer_ Printer body = {};
                char wrong[CURL_ERROR_SIZE];
                int r;

                r = print_request(submission, old, &body);
                if (r < 0)
                        return r;
                if (exchange(submission->curl, witness->url, "add-checkpoint", &body, &answer, wrong) < 0) {
                        result->outcome = end(result, SUBMIT_UNREACHABLE, "%s", wrong);
                        return 0;
                }
                result->outcome = read_answer(submission, witness, old, &answer, result);
                if (result->outcome != _SUBMIT_OUTCOME_INVALID)
                        return 0;
        }
        result->outcome = end(result, SUBMIT_ODD, "the size it holds is another each time");
        return 0;
}

/* ---- an alarm ---- */

/* What the log's own key has not signed is no proof, whatever the witness says of it. 1: it is one, of *RET_SIZE records. */
static int is_proof(const Submission *submission, const Printer *body, uint64_t *ret_size) {
        _cleanup_free_ Note *note = malloc(sizeof(*note));
        Checkpoint checkpoint;
        uint64_t usec;
        int r;

        if (!note)
                return -ENOMEM;
        if (note_parse(body->text ?: "", body->n, note) < 0 || checkpoint_parse(note->text, note->n, &checkpoint) < 0 ||
            strcmp(checkpoint.origin, submission->checkpoint.origin) != 0)
                return 0;
        r = note_verify(note, &submission->key, &usec);
        *ret_size = checkpoint.size;
        return r == -EBADMSG ? 0 : r;
}

/* The checkpoint that the witness holds, as proof. One that keeps it back has raised an alarm without one. */
static int fetch_held(const Submission *submission, const KeyringWitness *witness, SubmitResult *result) {
        const char *origin = submission->checkpoint.origin;
        _cleanup_(answer_done) Answer answer = {};
        char wrong[CURL_ERROR_SIZE], hex[DIGEST_HEX];
        _cleanup_free_ char *path = NULL;
        uint8_t hash[DIGEST_BYTES];
        int r;

        if (result->outcome != SUBMIT_ROLLED_BACK && result->outcome != SUBMIT_REWRITTEN)
                return 0;
        r = digest_sha256(origin, strlen(origin), hash);
        if (r < 0)
                return r;
        if (asprintf(&path, "%s/checkpoint", digest_to_hex(hash, hex)) < 0)
                return -ENOMEM;
        if (exchange(submission->curl, witness->url, path, NULL, &answer, wrong) < 0 || answer.status != 200)
                return 0;
        r = is_proof(submission, &answer.body, &result->proven);
        if (r <= 0)
                return r;
        result->proof = strndup(answer.body.text, answer.body.n);
        return result->proof ? 0 : -ENOMEM;
}

/* ---- all of them ---- */

static bool is_wanted(const KeyringWitness *witness, const char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(witness->name, names[i]) == 0 || (witness->url[0] && strcmp(witness->url, names[i]) == 0))
                        return true;
        return n == 0 && witness->url[0];
}

static int check_names(const RecordKeyring *keyring, const char *const *names, size_t n) {
        unsigned n_wanted = 0;

        for (size_t i = 0; i < keyring->n_witnesses; i++)
                n_wanted += is_wanted(&keyring->witnesses[i], names, n);
        for (size_t i = 0; i < n; i++) {
                bool found = false;

                for (size_t j = 0; j < keyring->n_witnesses; j++)
                        found = found || (is_wanted(&keyring->witnesses[j], &names[i], 1) && keyring->witnesses[j].url[0]);
                if (!found)
                        return -ENOENT;
        }
        return n_wanted > 0 ? 0 : -ENOENT;
}

static int ask_all(Submission *submission, const RecordKeyring *keyring, const char *const *names, size_t n_names, SubmitReport *report) {
        uint32_t seen = 0;
        int r;

        for (size_t i = 0; i < keyring->n_witnesses; i++) {
                SubmitResult *result = &report->results[report->n_results];

                if (!is_wanted(&keyring->witnesses[i], names, n_names))
                        continue;
                (void) strcpy(result->name, keyring->witnesses[i].name);
                if (keyring->witnesses[i].key.type == NOTE_OTHER)
                        result->outcome = end(result, SUBMIT_ODD, "its key is of a type that is not known here: what it signs cannot be verified");
                else {
                        r = ask(submission, &keyring->witnesses[i], result);
                        if (r == 0)
                                r = fetch_held(submission, &keyring->witnesses[i], result);
                        if (r < 0)
                                return r;
                }
                report->n_results++;
                seen |= result->outcome == SUBMIT_COSIGNED ? UINT32_C(1) << i : 0;
        }
        report->has_quorum = seen && quorum_is_met(&keyring->quorum, seen);
        return submission->lines.error;
}

/* The whole note, and what is new below. */
static int write_note(const Submission *submission, SubmitReport *report) {
        if (asprintf(&report->note, "%.*s%.*s", (int) submission->log->n_note, submission->log->note, (int) submission->lines.n,
                     submission->lines.text ?: "") < 0) {
                report->note = NULL;
                return -ENOMEM;
        }
        return 0;
}

int submit(const RecordKeyring *keyring, const SubmitLog *log, const char *const *names, size_t n_names, SubmitReport *ret) {
        _cleanup_free_ Submission *submission = calloc(1, sizeof(*submission));
        SubmitReport report = {};
        int r;

        if (!submission)
                return -ENOMEM;
        submission->log = log;
        r = check_names(keyring, names, n_names);
        if (r == 0)
                r = note_key_parse(&submission->key, log->vkey) < 0 ? -EBADMSG : note_parse(log->note, log->n_note, &submission->note);
        if (r == 0)
                r = checkpoint_parse(submission->note.text, submission->note.n, &submission->checkpoint);
        if (r < 0)
                return r;
        memcpy(report.origin, submission->checkpoint.origin, sizeof(report.origin));
        report.size = submission->checkpoint.size;

        submission->curl = curl_easy_init();
        r = submission->curl ? ask_all(submission, keyring, names, n_names, &report) : -ENOMEM;
        if (r == 0)
                r = write_note(submission, &report);
        curl_easy_cleanup(submission->curl);
        printer_done(&submission->lines);
        if (r < 0)
                submit_report_done(&report);
        else
                *ret = report;
        return r;
}

void submit_report_done(SubmitReport *report) {
        for (size_t i = 0; i < report->n_results; i++)
                free(report->results[i].proof);
        free(report->note);
        *report = (SubmitReport) {};
}
