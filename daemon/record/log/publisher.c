/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/log/publisher.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/text/whole-file.h"

#define INTERVAL_DEFAULT_SEC 1.0

uint64_t monotonic_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static int wrong(char **ret_wrong, const char *sentence) {
        *ret_wrong = strdup(sentence);
        return -EINVAL;
}

/* One key does not sign two kinds of things: what is a record must never be taken for a checkpoint. */
static int take_key(Publisher *publisher, const RecordLogOptions *options, char **ret_wrong) {
        if (strcmp(record_key_id(publisher->key), record_key_id(options->key)) == 0)
                return wrong(ret_wrong, "the log key is the key of the records: make another one");
        if (record_key_algorithm(publisher->key) != RECORD_ED25519)
                return wrong(ret_wrong, "the log key is no Ed25519 key");
        if (note_key_own(&publisher->policy.log, options->origin, NOTE_LOG, publisher->key) < 0)
                return wrong(ret_wrong, "the origin is no name of a log");
        note_key_print(&publisher->vkey, &publisher->policy.log);
        printer_raw(&publisher->vkey, "", 1);
        return publisher->vkey.error;
}

static int take_witnesses(CheckpointPolicy *policy, const RecordLogOptions *options, char **ret_wrong) {
        if (options->n_witnesses > RECORD_WITNESSES_MAX)
                return wrong(ret_wrong, "there are too many witnesses");
        for (size_t i = 0; i < options->n_witnesses; i++) {
                NoteKey *witness = &policy->witnesses[i];

                if (note_key_parse(witness, options->witnesses[i]) < 0 || witness->type != NOTE_WITNESS)
                        return wrong(ret_wrong, "a witness is no vkey of type 0x04");
                for (size_t k = 0; k < i; k++)
                        if (strcmp(witness->name, policy->witnesses[k].name) == 0 ||
                            memcmp(witness->public, policy->witnesses[k].public, NOTE_PUBLIC_BYTES) == 0)
                                return wrong(ret_wrong, "a witness is named twice");
                if (memcmp(witness->public, policy->log.public, NOTE_PUBLIC_BYTES) == 0)
                        return wrong(ret_wrong, "a witness has the key of the log, which would vouch for itself");
                policy->n_witnesses++;
        }
        return 0;
}

/* One file for each name and key: a log of another origin is another log. */
static int name_elsewhere(Publisher *publisher, const char *folder) {
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];
        int r;

        if (!folder)
                return 0;
        r = note_key_digest(&publisher->policy.log, digest);
        if (r < 0)
                return r;
        return asprintf(&publisher->elsewhere, "%s/%.32s.checkpoint", folder, digest_to_hex(digest, hex)) < 0 ? -ENOMEM : 0;
}

int publisher_init(Publisher *publisher, const RecordLogOptions *options, char **ret_wrong) {
        double sec = options->checkpoint_sec > 0 ? options->checkpoint_sec : INTERVAL_DEFAULT_SEC;
        int r;

        *publisher = (Publisher) { .key = options->log_key, .interval_usec = (uint64_t) (sec * 1e6) };
        publisher->anchor = options->anchor ? strdup(options->anchor) : NULL;
        if (options->anchor && !publisher->anchor)
                return -ENOMEM;
        if (!publisher->key)
                return 0;
        r = take_key(publisher, options, ret_wrong);
        if (r == 0)
                r = name_elsewhere(publisher, options->signed_in);
        return r < 0 ? r : take_witnesses(&publisher->policy, options, ret_wrong);
}

void publisher_done(Publisher *publisher) {
        (void) record_key_free(publisher->key);
        printer_done(&publisher->vkey);
        free(publisher->anchor);
        free(publisher->elsewhere);
}

uint64_t publisher_due(const Publisher *publisher, uint64_t size) {
        return publisher->key && publisher->covered < size ? publisher->due_usec : UINT64_MAX;
}

int publisher_anchor(const Publisher *publisher, const char *note, size_t n) {
        return publisher->anchor ? whole_file_replace(AT_FDCWD, publisher->anchor, 0640, note, n) : 0;
}

static int print_note(Printer *note, const Publisher *publisher, const Frontier *tree) {
        Checkpoint checkpoint = { .size = tree->size };
        size_t n;
        int r;

        (void) strcpy(checkpoint.origin, publisher->policy.log.name);
        r = frontier_root(tree, &checkpoint.root);
        if (r < 0)
                return r;
        checkpoint_print(note, &checkpoint);
        n = note->n;
        printer_text(note, "\n");
        if (note->error == 0)
                note_sign(note, note->text, n, &publisher->policy.log, publisher->key, 0);
        return note->error;
}

int publisher_anchor_tree(const Publisher *publisher, const Frontier *tree) {
        _cleanup_printer_ Printer note = {};
        int r;

        r = print_note(&note, publisher, tree);
        return r < 0 ? r : publisher_anchor(publisher, note.text, note.n);
}

/* Once for each process, and when the log has doubled: what is written there must be much less than what is lost. The next one tries again what failed. */
static int keep_elsewhere(Publisher *publisher, uint64_t size, const char *note, size_t n) {
        int r;

        if (!publisher->elsewhere || size / 2 < publisher->n_elsewhere)
                return 0;
        r = whole_file_replace(AT_FDCWD, publisher->elsewhere, 0640, note, n);
        if (r == 0)
                publisher->n_elsewhere = size;
        return r;
}

/* Even after a failure the next attempt waits: nothing is gained by asking a full disk again and again. */
int publisher_sign(Publisher *publisher, Store *store, const Head *head, bool *ret_unknown) {
        _cleanup_printer_ Printer note = {};
        int r;

        *ret_unknown = false;
        publisher->due_usec = monotonic_usec() + publisher->interval_usec;
        r = print_note(&note, publisher, &head->tree);
        if (r == 0)
                r = store_insert_checkpoint(store, head, note.text, note.n, ret_unknown);
        if (r == 0)
                r = publisher_anchor(publisher, note.text, note.n);
        if (r < 0)
                return r;
        r = keep_elsewhere(publisher, head->tree.size, note.text, note.n);
        if (r < 0 && publisher->decides) /* which is told there, or not at all */
                return r;
        publisher->covered = head->tree.size;
        return 0;
}
