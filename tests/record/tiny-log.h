/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log in memory: envelopes of any payloads, their tree, and what it proves and signs of itself. */

#include <stdio.h>
#include <string.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/keys/proof.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"
#include "tests/record/plain-tree.h"
#include "tests/record/sign-line.h"

#define TINY_LOG_MAX 1024

typedef struct TinyLog {
        Place place;
        RecordKey *key, *log_key;
        RecordKeyring *keyring;
        CheckpointPolicy policy;
        Printer vkey; /* ended by a zero */
        uint64_t n;
        SignedLine records[TINY_LOG_MAX];
        TreeHash leaves[TINY_LOG_MAX];
} TinyLog;

static inline void tiny_log_init(TinyLog *tiny, RecordAlgorithm algorithm) {
        const char *pem;

        *tiny = (TinyLog) {};
        place_init(&tiny->place);
        tiny->log_key = place_key(&tiny->place, "log.key", RECORD_ED25519);
        tiny->policy.log = note_key_of(PLACE_ORIGIN, NOTE_LOG, tiny->log_key);
        note_key_print(&tiny->vkey, &tiny->policy.log);
        printer_raw(&tiny->vkey, "", 1);
        tiny->key = place_key(&tiny->place, "a.key", algorithm);
        pem = record_key_public_pem(tiny->key);
        if (record_keyring_parse(pem, strlen(pem), &tiny->keyring) < 0)
                abort();
}

static inline void tiny_log_done(TinyLog *tiny) {
        for (uint64_t i = 0; i < tiny->n; i++)
                signed_line_done(&tiny->records[i]);
        printer_done(&tiny->vkey);
        (void) record_keyring_free(tiny->keyring);
        (void) record_key_free(tiny->key);
        (void) record_key_free(tiny->log_key);
        place_done(&tiny->place);
}

/* Grows the log to N records; SALT makes one with other records. */
static inline void tiny_log_grow(TinyLog *tiny, uint64_t n, const char *salt) {
        char payload[96];

        for (; tiny->n < n; tiny->n++) {
                SignedLine *record = &tiny->records[tiny->n];

                (void) snprintf(payload, sizeof(payload), "{\"index\":%u,\"salt\":\"%.32s\"}", (unsigned) tiny->n, salt);
                if (sign_line(tiny->key, payload, strlen(payload), record) < 0)
                        abort();
                tiny->leaves[tiny->n] = record->leaf;
        }
}

/* The signed checkpoint over what a tree of LEAVES has. */
static inline void tiny_log_sign(const TinyLog *tiny, const TreeHash *leaves, uint64_t n, Printer *note) {
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = n, .root = plain_root(leaves, n) };

        (void) note_of(note, &checkpoint, &tiny->policy.log, tiny->log_key);
}

static inline void tiny_log_prove(TinyLog *tiny, uint64_t index, Printer *proof) {
        _cleanup_printer_ Printer note = {};
        TreePath path = {};

        tiny_log_sign(tiny, tiny->leaves, tiny->n, &note);
        plain_path(tiny->leaves, index, tiny->n, &path);
        proof_print(proof, index, &path, note.text, note.n);
}
