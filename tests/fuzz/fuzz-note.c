/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same bytes as a note, which no forger can sign, as a text that a log and a witness sign, and as a vkey. What is read back is what was
 * signed; what is printed again is what was read.
 */

#include <stdint.h>

#include "daemon/record/keys/checkpoint.h"
#include "tests/fuzz/known-key.h"
#include "tests/record/note-key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEEN UINT64_C(1795252442000000)

static RecordKey *key;
static CheckpointPolicy policy;

static int verify(const char *note, size_t n, Checkpoint *ret, CheckpointSeen *ret_seen) {
        const char *wrong = NULL;
        int r = checkpoint_verify(note, n, &policy, ret, ret_seen, &wrong);

        HOLDS(r == 0 || (r == -EBADMSG && wrong));
        return r;
}

static void read_note(const char *text, size_t n) {
        Note *note = malloc(sizeof(*note));
        Checkpoint checkpoint;
        CheckpointSeen seen;

        HOLDS(note);
        if (note_parse(text, n, note) == 0) {
                HOLDS(note->n_signatures > 0 && note->text == text && note->n < n && text[note->n - 1] == '\n' && text[note->n] == '\n');
                for (size_t i = 0; i < note->n_signatures; i++)
                        HOLDS(note->signatures[i].line > text + note->n &&
                              note->signatures[i].line + note->signatures[i].n_line < text + n && note->signatures[i].n <= 128);
        }
        HOLDS(verify(text, n, &checkpoint, &seen) < 0);
        free(note);
}

/* A key signs anything; only what is a checkpoint of its own log is believed. */
static void sign_text(const char *text, size_t n) {
        _cleanup_printer_ Printer note = {}, again = {};
        Checkpoint plain, checkpoint;
        CheckpointSeen seen;
        bool is_ours = checkpoint_parse(text, n, &plain) == 0 && strcmp(plain.origin, policy.log.name) == 0;

        printer_raw(&note, text, n);
        printer_text(&note, "\n");
        note_sign(&note, text, n, &policy.log, key, 0);
        note_sign(&note, text, n, &policy.witnesses[0], key, SEEN);
        HOLDS(note.error == 0);
        if (verify(note.text, note.n, &checkpoint, &seen) < 0)
                return;
        HOLDS(is_ours && checkpoint.size == plain.size && memcmp(&checkpoint.root, &plain.root, sizeof(TreeHash)) == 0);
        HOLDS(seen.n_witnesses == 1 && seen.witnesses == 1 && seen.usec == SEEN);
        checkpoint_print(&again, &checkpoint);
        HOLDS(again.error == 0 && again.n <= n && memcmp(again.text, text, again.n) == 0);
}

static void read_vkey(const char *text, size_t n) {
        _cleanup_free_ char *vkey = strndup(text, n);
        _cleanup_printer_ Printer again = {};
        NoteKey found;

        HOLDS(vkey);
        if (note_key_parse(&found, vkey) < 0)
                return;
        note_key_print(&again, &found);
        HOLDS(again.n == strlen(vkey) && memcmp(again.text, vkey, again.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *) data;

        if (!key) {
                key = known_key();
                policy.log = note_key_of("fleet.example/st-017", NOTE_LOG, key);
                policy.n_witnesses = 1;
                policy.witnesses[0] = note_key_of("w1", NOTE_WITNESS, key);
        }
        read_note(text, size);
        sign_text(text, size);
        read_vkey(text, size);
        return 0;
}
