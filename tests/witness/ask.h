/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log that grows, and what it asks of a witness that knows it. */

#include <stdlib.h>
#include <string.h>

#include "daemon/witness/request.h"
#include "daemon/witness/witness.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"

#define ASK_LEAVES_MAX 4096

typedef struct Ask {
        Place place;
        RecordKey *log, *signer;
        NoteKey key;
        SettingsLog known;
        SettingsHash hash;
        Settings settings;
        Witness witness;
        size_t n_nodes;
        uint64_t size;
        TreeHash nodes[2 * ASK_LEAVES_MAX];
        Frontier tree;
} Ask;

static inline int ask_read(void *userdata, uint64_t position, TreeHash *ret) {
        Ask *ask = userdata;

        if (position >= ask->n_nodes)
                return -EBADMSG;
        *ret = ask->nodes[position];
        return 0;
}

/* As the settings have it; its name is KEY's. */
static inline SettingsLog ask_known(NoteKey *key) {
        SettingsLog known = { .name = key->name };

        memcpy(known.public, key->public, sizeof(known.public));
        return known;
}

static inline void ask_init(Ask *ask) {
        uint8_t digest[DIGEST_BYTES];
        char *wrong = NULL;

        memset(ask, 0, sizeof(*ask));
        place_init(&ask->place);
        ask->signer = place_key(&ask->place, "witness.pem", RECORD_ED25519);
        ask->log = place_key(&ask->place, "record.key", RECORD_ED25519);
        ask->key = note_key_of(PLACE_ORIGIN, NOTE_LOG, ask->log);
        ask->known = ask_known(&ask->key);
        if (digest_sha256(ask->known.name, strlen(ask->known.name), digest) < 0)
                abort();
        memcpy(&ask->hash.begin, digest, sizeof(ask->hash.begin));
        ask->settings = (Settings) { .n_logs = 1, .logs = &ask->known, .n_hashes = 1, .hashes = &ask->hash };
        ask->witness = (Witness) { .signer = ask->signer, .settings = &ask->settings };
        if (note_key_own(&ask->witness.key, "fleet.example/witness/w1", NOTE_WITNESS, ask->signer) < 0 ||
            book_open(ask->place.folder, NULL, false, &ask->witness.book, &wrong) < 0)
                abort();
}

static inline void ask_done(Ask *ask) {
        (void) book_close(ask->witness.book);
        (void) record_key_free(ask->log);
        (void) record_key_free(ask->signer);
        place_done(&ask->place);
}

static inline void ask_grow(Ask *ask, uint8_t what) {
        TreeHash leaf = { { what, (uint8_t) ask->size, (uint8_t) (ask->size >> 8) } };
        int n = frontier_append(&ask->tree, &leaf, ask->nodes + ask->n_nodes);

        if (n < 0)
                abort();
        ask->n_nodes += (size_t) n;
        ask->size++;
}

static inline void ask_note(Ask *ask, uint64_t size, Printer *note) {
        const TreeSource source = { ask_read, ask };
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = size };
        Frontier tree;

        if (tree_frontier(&source, size, &tree) < 0 || frontier_root(&tree, &checkpoint.root) < 0)
                abort();
        (void) note_of(note, &checkpoint, &ask->key, ask->log);
}

static inline void ask_print(Ask *ask, uint64_t old, uint64_t size, Printer *body) {
        const TreeSource source = { ask_read, ask };
        _cleanup_printer_ Printer note = {};
        TreePath path = {};

        ask_note(ask, size, &note);
        if (old <= size && tree_consistency(&source, old, size, &path) < 0)
                abort();
        request_print(body, old, &path, note.text, note.n);
        if (body->error < 0 || note.error < 0)
                abort();
}

static inline WitnessAnswer ask(Ask *ask, uint64_t old, uint64_t size, uint64_t usec, WitnessReply *ret) {
        _cleanup_printer_ Printer body = {};

        ask_print(ask, old, size, &body);
        witness_add_checkpoint(&ask->witness, body.text, body.n, usec, ret);
        return ret->answer;
}
