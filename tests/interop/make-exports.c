/* SPDX-License-Identifier: Apache-2.0 */

/*
 * make-exports FOLDER ALGORITHM: signs a log of more than a tile, its records with a key of ALGORITHM, and leaves there what assay hands to
 * others:
 *
 *     record.key.pub log.vkey checkpoint records.intoto.jsonl bundles.jsonl events.jsonl trusted_root.json
 *     INDEX.tlog-proof … tiles/
 */

#include <stdio.h>
#include <string.h>

#include "tests/record/place.h"
#include "tests/record/server.h"

#define SCANS   16 /* of 18 records */
#define RECORDS (SCANS * (SERVER_CHIPS + 2))
#define EARLIER 100 /* records of the tiles that are extended to all */

static Place place;
static RecordLog *record_log;
static RecordKeyring *keyring;
static char *envelopes[RECORDS];

static void must(int r) {
        if (r < 0) {
                fprintf(stderr, "make-exports: %s\n", strerror(-r));
                exit(1);
        }
}

static void put(const char *name, const char *mode, const char *text, size_t n) {
        char path[256];
        FILE *file;

        (void) snprintf(path, sizeof(path), "%s/%s", place.folder, name);
        file = fopen(path, mode);
        if (!file || fwrite(text, 1, n, file) != n || fclose(file) != 0)
                must(-EIO);
}

static void put_line(const char *name, const char *text, size_t n) {
        put(name, "ae", text, n);
        put(name, "ae", "\n", 1);
}

static void open_log(RecordAlgorithm algorithm) {
        RecordLogOptions options;

        must(record_key_generate(place.key, algorithm));
        options = place_options(&place, place.key);
        options.log_key = place_key(&place, "log.key", RECORD_ED25519);
        options.checkpoint_sec = 0.01;
        keyring = place_keyring(&place);
        must(record_log_open(&options, &record_log, NULL));
}

/* Each scan is a run of its own, for nothing of a run follows its roll-up. */
static void scan(void) {
        static unsigned n_scans;
        Server server;

        server_init(&server);
        (void) snprintf(server.run, sizeof(server.run), "01934a6e-5e00-7000-8000-%012u", ++n_scans);
        (void) server_start(&server, record_log);
        (void) server_scan(&server, record_log);
}

/* A checkpoint over all that was signed; malloc'd. */
static char *checkpoint(size_t *ret_n) {
        uint64_t size = 0;
        char *note;

        for (unsigned i = 0; i < 1000 && size < record_log_size(record_log); i++) {
                (void) usleep(10000);
                must(record_log_checkpointed(record_log, &size));
        }
        must(record_log_checkpoint(record_log, &note, ret_n));
        return note;
}

static void put_tiles(const char *note, size_t n) {
        static char leaves[RECORDS * 32];
        char path[256];
        RecordTiles *tiles;
        const char *wrong;
        FILE *file = tmpfile();
        size_t n_leaves;

        (void) snprintf(path, sizeof(path), "%s/tiles", place.folder);
        must(record_log_leaves(record_log, 0, RECORDS, fileno(file)));
        rewind(file);
        n_leaves = fread(leaves, 1, sizeof(leaves), file);
        (void) fclose(file);
        must(record_tiles_open(path, record_log_vkey(record_log), note, n, keyring, &tiles, &wrong));
        must(record_tiles_tree(tiles, leaves, n_leaves, &wrong));
        for (uint64_t i; (i = record_tiles_next(tiles)) < record_tiles_size(tiles);) {
                free(envelopes[i]);
                envelopes[i] = place_envelope(record_log, i);
                must(record_tiles_add(tiles, envelopes[i], strlen(envelopes[i]), &wrong));
        }
        must(record_tiles_publish(tiles, &wrong));
        (void) record_tiles_free(tiles);
}

static void put_record(uint64_t index) {
        size_t n_proof, n = strlen(envelopes[index]), n_text;
        RecordVerified verified;
        RecordTrust trust;
        char *proof, *text, name[32];
        const char *wrong;

        must(record_log_proof(record_log, index, &proof, &n_proof));
        (void) snprintf(name, sizeof(name), "%u.tlog-proof", (unsigned) index);
        put(name, "we", proof, n_proof);
        must(record_bundle(keyring, record_log_vkey(record_log), envelopes[index], n, proof, n_proof, &text, &n_text, &wrong));
        put_line("bundles.jsonl", text, n_text);
        free(text);
        free(proof);
        must(record_verify(keyring, envelopes[index], n, &trust, &verified));
        must(trust == RECORD_VERIFIED ? 0 : -EBADMSG);
        must(record_cloudevent(PLACE_ORIGIN, &verified, envelopes[index], n, &text, &n_text));
        put_line("events.jsonl", text, n_text);
        free(text);
        record_verified_done(&verified);
}

int main(int argc, char *argv[]) {
        char *note, *root;
        size_t n;

        if (argc != 3)
                return 64;
        (void) snprintf(place.folder, sizeof(place.folder), "%.60s", argv[1]);
        (void) snprintf(place.key, sizeof(place.key), "%s/record.key", place.folder);
        (void) snprintf(place.log, sizeof(place.log), "%s/records.db", place.folder);
        open_log(record_algorithm_from_string(argv[2]));

        for (uint64_t ticket = 0; ticket < SCANS; ticket++) {
                scan();
                if (record_log_size(record_log) < EARLIER || record_log_size(record_log) >= EARLIER + SERVER_CHIPS + 2)
                        continue;
                note = checkpoint(&n);
                put_tiles(note, n);
                put("earlier-checkpoint", "we", note, n);
                free(note);
        }
        note = checkpoint(&n);
        put_tiles(note, n);
        put("checkpoint", "we", note, n);
        put_line("log.vkey", record_log_vkey(record_log), strlen(record_log_vkey(record_log)));
        must(record_trusted_root(record_log_vkey(record_log), 1795252442000000, &root, &n));
        put("trusted_root.json", "we", root, n);
        for (uint64_t i = 0; i < RECORDS; i++)
                put_line("records.intoto.jsonl", envelopes[i] ?: "", envelopes[i] ? strlen(envelopes[i]) : 0);
        for (uint64_t i = 0; i < RECORDS; i++)
                put_record(i);

        free(root);
        free(note);
        for (uint64_t i = 0; i < RECORDS; i++)
                free(envelopes[i]);
        (void) record_keyring_free(keyring);
        (void) record_log_free(record_log);
        return 0;
}
