/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log with one of the test's records in it, as others would show it. */

#include "daemon/record/keys/proof.h"
#include "daemon/record/keys/keyring.h"
#include "tests/record/note-key.h"
#include "tests/record/payload.h"
#include "tests/record/plain-tree.h"

#define LOGGED_INDEX 4 /* of `bad` */
#define LOGGED_MAX   40
#define LOGGED_SEEN  UINT64_C(1795252500000000) /* w1; each further witness a minute later */

typedef struct Logged {
        RecordKey *log, *witnesses[3];
        NoteKey log_key, witness_keys[3];
        TreeHash leaves[LOGGED_MAX];
} Logged;

static inline void logged_init(Logged *logged, const Payloads *p) {
        SignedLine record;

        *logged = (Logged) { .log = place_key(&p->place, "log", RECORD_ED25519) };
        logged->log_key = note_key_of(PLACE_ORIGIN, NOTE_LOG, logged->log);
        for (unsigned i = 0; i < 3; i++) {
                char name[8];

                (void) snprintf(name, sizeof(name), "w%u", i + 1);
                logged->witnesses[i] = place_key(&p->place, name, RECORD_ED25519);
                logged->witness_keys[i] = note_key_of(name, NOTE_WITNESS, logged->witnesses[i]);
        }
        for (unsigned i = 0; i < LOGGED_MAX; i++)
                logged->leaves[i].bytes[0] = (uint8_t) i;
        if (sign_line(p->key, p->signed_bad, strlen(p->signed_bad), &record) < 0)
                abort();
        logged->leaves[LOGGED_INDEX] = record.leaf;
        signed_line_done(&record);
}

static inline void logged_done(Logged *logged) {
        (void) record_key_free(logged->log);
        for (unsigned i = 0; i < 3; i++)
                (void) record_key_free(logged->witnesses[i]);
}

/* The checkpoint of SIZE; bit i of WITNESSES: w(i+1) has seen it. */
static inline Printer logged_note(const Logged *logged, size_t size, unsigned witnesses) {
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = size, .root = plain_root(logged->leaves, size) };
        Printer note = {};
        size_t n = note_of(&note, &checkpoint, &logged->log_key, logged->log);

        for (unsigned i = 0; i < 3; i++)
                if (witnesses & 1u << i)
                        note_sign(&note, note.text, n, &logged->witness_keys[i], logged->witnesses[i], LOGGED_SEEN + i * UINT64_C(60000000));
        if (note.error < 0)
                abort();
        return note;
}

/* A zero stands behind it. */
static inline Printer logged_proof(const Logged *logged, size_t index, size_t size, unsigned witnesses) {
        Printer note = logged_note(logged, size, witnesses), proof = {};
        TreePath path = {};

        plain_path(logged->leaves, index, size, &path);
        proof_print(&proof, index, &path, note.text, note.n);
        printer_done(&note);
        printer_raw(&proof, "", 1);
        if (proof.error < 0)
                abort();
        proof.n--;
        return proof;
}

/* The keyring of the record's key, and of who keeps the log and has seen it. */
static inline RecordKeyring *logged_keyring(const Logged *logged, const Payloads *p, const char *quorum) {
        _cleanup_printer_ Printer text = {};
        RecordKeyring *keyring;

        printer_text(&text, record_key_public_pem(p->key));
        printer_text(&text, "log ");
        note_key_print(&text, &logged->log_key);
        for (unsigned i = 0; i < 3; i++) {
                printer_text(&text, "\nwitness ");
                printer_text(&text, logged->witness_keys[i].name);
                printer_text(&text, " ");
                note_key_print(&text, &logged->witness_keys[i]);
        }
        printer_text(&text, "\nquorum ");
        printer_text(&text, quorum);
        printer_text(&text, "\n");
        if (record_keyring_parse(text.text, text.n, &keyring) < 0)
                abort();
        return keyring;
}
