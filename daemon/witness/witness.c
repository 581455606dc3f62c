/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/witness.h"

#include <string.h>

#include "daemon/record/tree/lines.h"
#include "daemon/witness/request.h"

static const struct {
        unsigned status;
        int level;
        const char *wrong;
} answers[_WITNESS_ANSWER_MAX] = {
        [WITNESS_COSIGNED] = { 200, -1, NULL },
        [WITNESS_MALFORMED] = { 400, -1, "malformed" },
        [WITNESS_UNKNOWN_LOG] = { 404, -1, "no log of this origin is known here" },
        [WITNESS_NEVER] = { 404, -1, "no checkpoint of this log was ever cosigned here" },
        [WITNESS_NOT_SIGNED] = { 403, -1, "no key that is known of this log has signed the checkpoint" },
        [WITNESS_BACKWARDS] = { 400, -1, "the old size is larger than the checkpoint's" },
        [WITNESS_OTHER_SIZE] = { 409, -1, "another size is held" },
        [WITNESS_OTHER_TREE] = { 409, LOG_ALERT, "a tree of the same size with another root is held" },
        [WITNESS_NOT_CONSISTENT] = { 422, LOG_WARNING, "the proof does not show that the tree has grown out of the one that is held" },
        [WITNESS_FORGOT] = { 503, LOG_ALERT, "the checkpoint bears a signature of this witness that it knows nothing of: its state is an old copy" },
        [WITNESS_CLOCK] = { 503, LOG_ALERT, "the clock of this witness is behind what it has signed" },
        [WITNESS_DAMAGED] = { 503, LOG_ALERT, "what is held of this log is not what its own checkpoint says: the state of this witness is damaged" },
        [WITNESS_FAILED] = { 503, LOG_ERR, "what is asked for cannot be checked or kept" },
};

unsigned witness_answer_to_status(WitnessAnswer answer) {
        return answers[answer].status;
}

int witness_answer_to_level(WitnessAnswer answer) {
        return answers[answer].level;
}

/* ---- what is asked ---- */

/* Any key of the log will do, and a line of a known key that does not fit is no signature. */
static WitnessAnswer check_signature(const Witness *witness, const Request *request, int *ret_error) {
        const SettingsLog *log = settings_find_log(witness->settings, request->checkpoint.origin),
                          *end = witness->settings->logs + witness->settings->n_logs;

        if (!log)
                return WITNESS_UNKNOWN_LOG;
        for (; log < end && strcmp(log->name, request->checkpoint.origin) == 0; log++) {
                uint64_t usec;
                NoteKey key;
                int r = note_key_init(&key, log->name, NOTE_LOG, log->public);

                if (r == 0)
                        r = note_verify(&request->note, &key, &usec);

                if (r > 0)
                        return WITNESS_COSIGNED;
                if (r < 0 && r != -EBADMSG) {
                        *ret_error = r;
                        return WITNESS_FAILED;
                }
        }
        return WITNESS_NOT_SIGNED;
}

/* A size or root that has rotted would prove a sound log to be another one. */
static int check_row(const Held *held, const char *origin, const char *text, size_t n, Note *parsed) {
        Checkpoint checkpoint;

        if (note_parse(text, n, parsed) < 0 || checkpoint_parse(parsed->text, parsed->n, &checkpoint) < 0)
                return -EBADMSG;
        return strcmp(checkpoint.origin, origin) == 0 && checkpoint.size == held->size &&
                               memcmp(checkpoint.root.bytes, held->root.bytes, DIGEST_BYTES) == 0 ? 0 : -EBADMSG;
}

static int read_held(const Witness *witness, const char *origin, Held *ret) {
        _cleanup_free_ Note *parsed = malloc(sizeof(*parsed));
        _cleanup_free_ char *note = NULL;
        size_t n;
        int r;

        r = parsed ? book_read_note(witness->book, origin, ret, &note, &n) : -ENOMEM;
        if (r == -ENOENT)
                return book_read(witness->book, origin, ret);
        return r < 0 ? r : check_row(ret, origin, note, n, parsed);
}

static bool same_root(const Checkpoint *checkpoint, const Held *held) {
        return memcmp(checkpoint->root.bytes, held->root.bytes, DIGEST_BYTES) == 0;
}

/* Nobody else can have made such a line, and it was only given for what was kept before. */
static bool has_forgotten(const Witness *witness, const Request *request, const Held *held) {
        const Checkpoint *checkpoint = &request->checkpoint;
        uint64_t usec;

        if (checkpoint->size < held->size || (checkpoint->size == held->size && same_root(checkpoint, held)))
                return false;
        return note_verify(&request->note, &witness->key, &usec) > 0;
}

/* The order of the standard; but two trees of one size are what they are from whatever size they are said to have grown. */
static WitnessAnswer check_growth(const Request *request, const Held *held, int *ret_error) {
        const Checkpoint *checkpoint = &request->checkpoint;
        int r;

        if (request->old > checkpoint->size)
                return WITNESS_BACKWARDS;
        if (checkpoint->size == held->size && !same_root(checkpoint, held))
                return WITNESS_OTHER_TREE;
        if (request->old != held->size)
                return WITNESS_OTHER_SIZE;
        r = tree_consistency_verify(&request->path, held->size, &held->root, checkpoint->size, &checkpoint->root);
        if (r < 0)
                *ret_error = r;
        return r < 0 ? WITNESS_FAILED : r == 0 ? WITNESS_NOT_CONSISTENT : WITNESS_COSIGNED;
}

/* ---- what is answered ---- */

/* Kept first, and signed when that is on disk. The same tree again asks for nothing to be kept. */
static WitnessAnswer keep(Witness *witness, const Request *request, Held *held, uint64_t now_usec, WitnessReply *reply) {
        const Note *note = &request->note;
        Held grown = { request->checkpoint.size, request->checkpoint.root, now_usec };

        if (now_usec < 1000000 || now_usec + RECORD_AHEAD_USEC < held->usec)
                return WITNESS_CLOCK;
        if (grown.size > held->size) {
                reply->error = book_write(witness->book, request->checkpoint.origin, &grown, note->text, request->n_note);
                if (reply->error < 0)
                        return WITNESS_FAILED;
                *held = grown;
        }
        reply->text = note->text;
        reply->n = note->n;
        reply->usec = now_usec;
        return WITNESS_COSIGNED;
}

static WitnessAnswer answer(Witness *witness, const Request *request, uint64_t now_usec, WitnessReply *reply) {
        Held held = {};
        WitnessAnswer found;
        int r;

        found = check_signature(witness, request, &reply->error);
        if (found != WITNESS_COSIGNED)
                return found;
        memcpy(reply->origin, request->checkpoint.origin, sizeof(reply->origin));
        reply->size = request->checkpoint.size;

        r = read_held(witness, reply->origin, &held);
        if (r < 0) {
                reply->error = r;
                return r == -EBADMSG ? WITNESS_DAMAGED : WITNESS_FAILED;
        }
        found = has_forgotten(witness, request, &held) ? WITNESS_FORGOT : check_growth(request, &held, &reply->error);
        if (found == WITNESS_COSIGNED)
                found = keep(witness, request, &held, now_usec, reply);
        reply->held = held.size;
        return found;
}

static void print_body(WitnessReply *reply) {
        switch (reply->answer) {
        case WITNESS_COSIGNED:
                return;
        case WITNESS_OTHER_SIZE:
        case WITNESS_OTHER_TREE:
                line_print_number(&reply->body, reply->held);
                return;
        case WITNESS_MALFORMED:
        case WITNESS_UNKNOWN_LOG:
        case WITNESS_NEVER:
        case WITNESS_NOT_SIGNED:
        case WITNESS_BACKWARDS:
        case WITNESS_NOT_CONSISTENT:
        case WITNESS_FORGOT:
        case WITNESS_CLOCK:
        case WITNESS_DAMAGED:
        case WITNESS_FAILED:
        case _WITNESS_ANSWER_MAX:
                printer_done(&reply->body); /* of what was signed in vain */
                printer_text(&reply->body, reply->wrong);
                printer_text(&reply->body, "\n");
        }
}

/* What rests on the book may rest on what is not committed yet. */
void witness_judge(Witness *witness, const char *body, size_t n, uint64_t now_usec, WitnessReply *ret) {
        _cleanup_free_ Request *request = malloc(sizeof(*request));
        const char *wrong = NULL;

        *ret = (WitnessReply) { .answer = WITNESS_FAILED };
        if (!request)
                ret->error = -ENOMEM;
        else if (request_parse(body, n, request, &wrong) < 0)
                ret->answer = WITNESS_MALFORMED;
        else
                ret->answer = answer(witness, request, now_usec, ret);
        ret->wrong = wrong;
        if (!ret->origin[0])
                witness_conclude(witness, ret, 0);
}

void witness_conclude(const Witness *witness, WitnessReply *reply, int committed) {
        /* The others are what they are, whatever was kept: a log has signed two trees, or this witness has forgotten one. */
        if (committed < 0 && (reply->answer == WITNESS_COSIGNED || reply->answer == WITNESS_OTHER_SIZE)) {
                reply->answer = WITNESS_FAILED;
                reply->error = committed;
        }
        if (reply->answer == WITNESS_COSIGNED) {
                note_sign(&reply->body, reply->text, reply->n, &witness->key, witness->signer, reply->usec);
                reply->error = reply->body.error;
                if (reply->error < 0)
                        reply->answer = WITNESS_FAILED;
        }
        reply->wrong = reply->wrong ?: answers[reply->answer].wrong;
        print_body(reply);
        reply->is_due = true;
}

void witness_add_checkpoint(Witness *witness, const char *body, size_t n, uint64_t now_usec, WitnessReply *ret) {
        witness_judge(witness, body, n, now_usec, ret);
        if (!ret->is_due)
                witness_conclude(witness, ret, book_commit(witness->book));
}

void witness_reply_done(WitnessReply *reply) {
        printer_done(&reply->body);
}

/* ---- what is held ---- */

static unsigned say(Printer *body, WitnessAnswer answer) {
        printer_done(body);
        printer_text(body, answers[answer].wrong);
        printer_text(body, "\n");
        return answers[answer].status;
}

/* Lines of others came with the request as well, as many as a note may have: whoever reads it has room for these, and for no more. */
static int print_signatures(const Note *note, const SettingsLog *log, const Settings *settings, Printer *body) {
        for (const SettingsLog *key = log; key < settings->logs + settings->n_logs && strcmp(key->name, log->name) == 0; key++) {
                NoteKey known;
                uint64_t usec;
                int r = note_key_init(&known, key->name, NOTE_LOG, key->public);

                if (r == 0)
                        r = note_verify(note, &known, &usec);
                if (r > 0)
                        note_print_line(body, note, &known);
                else if (r < 0 && r != -EBADMSG)
                        return r;
        }
        return 0;
}

static const SettingsLog *find_log(const Witness *witness, const char *hash) {
        uint8_t digest[DIGEST_BYTES];

        return digest_from_hex(hash, digest) == 0 ? settings_find_hash(witness->settings, digest) : NULL;
}

bool witness_knows(const Witness *witness, const char *hash) {
        return find_log(witness, hash);
}

/* The same second signs the same bytes again: Ed25519 has no chance in it. */
unsigned witness_checkpoint(const Witness *witness, const char *hash, Printer *body) {
        _cleanup_free_ Note *parsed = malloc(sizeof(*parsed));
        _cleanup_free_ char *note = NULL;
        const SettingsLog *log = find_log(witness, hash);
        Held held;
        size_t n;
        int r;

        if (!log)
                return say(body, WITNESS_UNKNOWN_LOG);
        r = parsed ? book_read_note(witness->book, log->name, &held, &note, &n) : -ENOMEM;
        if (r == -ENOENT)
                return say(body, WITNESS_NEVER);
        if (r == 0)
                r = check_row(&held, log->name, note, n, parsed);
        if (r < 0)
                return say(body, r == -EBADMSG ? WITNESS_DAMAGED : WITNESS_FAILED);
        printer_raw(body, parsed->text, parsed->n);
        printer_text(body, "\n");
        if (print_signatures(parsed, log, witness->settings, body) < 0)
                return say(body, WITNESS_FAILED);
        note_sign(body, parsed->text, parsed->n, &witness->key, witness->signer, held.usec);
        return body->error < 0 ? say(body, WITNESS_FAILED) : answers[WITNESS_COSIGNED].status;
}
