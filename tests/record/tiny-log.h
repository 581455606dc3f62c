/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log in memory: envelopes of any payloads, their tree, and what it proves and signs of itself. */

#include <stdio.h>
#include <string.h>

#include "daemon/record/envelope.h"
#include "daemon/record/keyring.h"
#include "daemon/record/proof.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"

#define TINY_LOG_MAX 1024

typedef struct TinyLog {
        Place place;
        RecordKey *key, *log_key;
        RecordKeyring *keyring;
        CheckpointPolicy policy;
        Printer vkey; /* ended by a zero */
        uint64_t n;
        Signed records[TINY_LOG_MAX];
        TreeHash leaves[TINY_LOG_MAX], nodes[2 * TINY_LOG_MAX];
        Frontier tree;
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
                signed_done(&tiny->records[i]);
        printer_done(&tiny->vkey);
        (void) record_keyring_free(tiny->keyring);
        (void) record_key_free(tiny->key);
        (void) record_key_free(tiny->log_key);
        place_done(&tiny->place);
}

/* Grows the log to N records; SALT makes one with other records. */
static inline void tiny_log_grow(TinyLog *tiny, uint64_t n, const char *salt) {
        TreeHash whole[TREE_LEVELS];
        char payload[96];
        int k;

        for (; tiny->n < n; tiny->n++) {
                Signed *record = &tiny->records[tiny->n];

                (void) snprintf(payload, sizeof(payload), "{\"index\":%u,\"salt\":\"%.32s\"}", (unsigned) tiny->n, salt);
                if (envelope_sign(tiny->key, payload, strlen(payload), record) < 0)
                        abort();
                tiny->leaves[tiny->n] = record->leaf;
                k = frontier_append(&tiny->tree, &record->leaf, whole);
                if (k < 0)
                        abort();
                memcpy(&tiny->nodes[tree_position(0, tiny->n)], whole, (size_t) k * sizeof(TreeHash));
        }
}

/* The signed checkpoint over what a tree of LEAVES has. */
static inline void tiny_log_sign(const TinyLog *tiny, const TreeHash *leaves, uint64_t n, Printer *note) {
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = n };
        _cleanup_printer_ Printer text = {};
        TreeHash whole[TREE_LEVELS];
        Frontier tree = {};

        while (tree.size < n)
                if (frontier_append(&tree, &leaves[tree.size], whole) < 0)
                        abort();
        if (frontier_root(&tree, &checkpoint.root) < 0)
                abort();
        checkpoint_print(&text, &checkpoint);
        printer_raw(note, text.text, text.n);
        printer_text(note, "\n");
        note_sign(note, text.text, text.n, &tiny->policy.log, tiny->log_key, 0);
        if (note->error < 0)
                abort();
}

static inline int tiny_log_read(void *tiny, uint64_t position, TreeHash *ret) {
        *ret = ((TinyLog *) tiny)->nodes[position];
        return 0;
}

static inline void tiny_log_prove(TinyLog *tiny, uint64_t index, Printer *proof) {
        const TreeSource source = { tiny_log_read, tiny };
        _cleanup_printer_ Printer note = {};
        TreePath path;

        tiny_log_sign(tiny, tiny->leaves, tiny->n, &note);
        if (tree_inclusion(&source, index, tiny->n, &path) < 0)
                abort();
        proof_print(proof, index, &path, note.text, note.n);
}
