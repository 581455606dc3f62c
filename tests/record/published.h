/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log that publishes checkpoints: a place with a log key, an anchor and witnesses. */

#include <time.h>

#include "daemon/record/keys/checkpoint.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define PUBLISHED_WITNESSES 2

typedef struct Published {
        Place place;
        Server server;
        char log_key[96], anchor[96];
        char elsewhere[96]; /* folder for what the log key has signed; "": none */
        double checkpoint_sec;
        CheckpointPolicy policy; /* the log's key and the witnesses, as a reader has them */
        RecordKey *signers[PUBLISHED_WITNESSES];
        char *vkeys[PUBLISHED_WITNESSES];
} Published;

static inline void published_init(Published *p) {
        RecordKey *key;

        *p = (Published) { .checkpoint_sec = 0.001 };
        place_init(&p->place);
        server_init(&p->server);
        (void) snprintf(p->anchor, sizeof(p->anchor), "%s/records.anchor", p->place.folder);
        (void) snprintf(p->log_key, sizeof(p->log_key), "%s/log.key", p->place.folder);
        key = place_key(&p->place, "log.key", RECORD_ED25519);
        p->policy.log = note_key_of(PLACE_ORIGIN, NOTE_LOG, key);
        (void) record_key_free(key);
        for (unsigned i = 0; i < PUBLISHED_WITNESSES; i++) {
                char name[32];
                Printer vkey = {};

                (void) snprintf(name, sizeof(name), "fleet.example/w%u", i + 1);
                p->signers[i] = place_key(&p->place, name + strlen("fleet.example/"), RECORD_ED25519);
                p->policy.witnesses[i] = note_key_of(name, NOTE_WITNESS, p->signers[i]);
                p->policy.n_witnesses++;
                note_key_print(&vkey, &p->policy.witnesses[i]);
                printer_raw(&vkey, "", 1);
                p->vkeys[i] = vkey.text;
        }
}

static inline void published_done(Published *p) {
        for (unsigned i = 0; i < PUBLISHED_WITNESSES; i++) {
                (void) record_key_free(p->signers[i]);
                free(p->vkeys[i]);
        }
        place_done(&p->place);
}

/* NULL: without a log key, or without an anchor. */
static inline RecordLogOptions published_options(const Published *p, const char *log_key, const char *anchor) {
        RecordLogOptions options = place_options(&p->place, p->place.key);

        options.anchor = anchor;
        options.signed_in = *p->elsewhere ? p->elsewhere : NULL;
        options.checkpoint_sec = p->checkpoint_sec;
        options.n_witnesses = PUBLISHED_WITNESSES;
        options.witnesses = (const char *const *) p->vkeys;
        if (log_key && record_key_load(log_key, &options.log_key) < 0)
                abort();
        return options;
}

static inline int published_open_with(const Published *p, const char *log_key, const char *anchor, RecordLog **ret, char **ret_error) {
        RecordLogOptions options = published_options(p, log_key, anchor);

        return record_log_open(&options, ret, ret_error);
}

static inline int published_open(const Published *p, RecordLog **ret, char **ret_error) {
        return published_open_with(p, p->log_key, p->anchor, ret, ret_error);
}

/* N records more, committed: run-starts, one after the other. */
static inline void published_append(Published *p, RecordLog *log, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                (void) server_start(&p->server, log);
}

/* Until a checkpoint of SIZE records is there. */
static inline void published_wait(RecordLog *log, uint64_t size) {
        const struct timespec moment = { .tv_nsec = 1000000 };
        uint64_t found;

        for (unsigned i = 0; i < 20000; i++) {
                if (record_log_checkpointed(log, &found) == 0 && found >= size)
                        return;
                (void) nanosleep(&moment, NULL);
        }
        abort();
}
