/* SPDX-License-Identifier: Apache-2.0 */

/*
 * make-log FOLDER SCANS: a log of so many scans of a server, 18 records each, an hour apart, as an export in tiles: records.intoto.jsonl,
 * checkpoint, tile/0/… and tile/entries/…, and beside it `keyring` and the two private keys, record.key and log.key. Keys that are there already are taken.
 */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/keys/leaf.h"
#include "daemon/record/statement/statement.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"
#include "tests/record/server.h"
#include "tests/record/sign-line.h"

#define HOUR UINT64_C(3600000000)

typedef struct Making {
        const char *folder;
        RecordKey *key, *log_key;
        NoteKey log;
        Station station;
        Server server;
        FILE *lines;
        Frontier tree;
        uint8_t id[DIGEST_BYTES];
        TreeHash tile[256];
        RecordKeyring *keyring;
        Printer entries; /* of the same records */
} Making;

static FILE *open_file(const Making *making, const char *name) {
        char path[256];
        FILE *file;

        (void) snprintf(path, sizeof(path), "%.100s/%s", making->folder, name);
        for (char *slash = path + strlen(making->folder) + 1; (slash = strchr(slash, '/')); slash++) {
                *slash = '\0';
                (void) mkdir(path, 0755);
                *slash = '/';
        }
        file = fopen(path, "wxe");
        if (!file)
                abort();
        return file;
}

static RecordKey *make_key(const Making *making, const char *name) {
        RecordKey *key;
        char path[256];

        (void) snprintf(path, sizeof(path), "%.100s/%s", making->folder, name);
        if ((access(path, F_OK) < 0 && record_key_generate(path, RECORD_ED25519) < 0) || record_key_load(path, &key) < 0)
                abort();
        return key;
}

static void write_part(const Making *making, const char *level, uint64_t size, const void *data, size_t n) {
        uint64_t tile = (size - 1) / 256, thousands = tile / 1000;
        unsigned width = (unsigned) ((size - 1) % 256) + 1;
        char name[64], part[16] = "", group[16] = "";
        FILE *file;

        if (width < 256)
                (void) snprintf(part, sizeof(part), ".p/%u", width);
        if (thousands > 0)
                (void) snprintf(group, sizeof(group), "x%03u/", (unsigned) thousands);
        (void) snprintf(name, sizeof(name), "tile/%s/%s%03u%s", level, group, (unsigned) (tile % 1000), part);
        file = open_file(making, name);
        if (fwrite(data, 1, n, file) != n || fclose(file) != 0)
                abort();
}

static void write_tile(Making *making, uint64_t size) {
        write_part(making, "0", size, making->tile, ((size - 1) % 256 + 1) * sizeof(TreeHash));
        write_part(making, "entries", size, making->entries.text, making->entries.n);
        making->entries.n = 0;
}

static void add_entry(Making *making, const Printer *line) {
        _cleanup_(leaf_done) Leaf leaf = {};
        const char *wrong;

        if (leaf_make(making->keyring, line->text, line->n, &leaf, &wrong) < 0)
                abort();
        printer_raw(&making->entries, (const uint8_t[]) { (uint8_t) (leaf.body.n >> 8), (uint8_t) leaf.body.n }, 2);
        printer_raw(&making->entries, leaf.body.text, leaf.body.n);
}

static void add_group(Making *making, DraftGroup *group) {
        Signed records[SERVER_CHIPS + 1] = {};
        TreeHash whole[TREE_LEVELS];

        for (size_t k = 0; k < group->n_drafts; k++) {
                _cleanup_printer_ Printer payload = {}, line = {};

                statement_print(&payload, group, k, making->tree.size, making->id, records);
                if (payload.error < 0 || envelope_sign(making->key, payload.text, payload.n, &records[k]) < 0)
                        abort();
                memcpy(making->id, records[k].envelope.id, DIGEST_BYTES);
                making->tile[making->tree.size % 256] = records[k].leaf;
                if (frontier_append(&making->tree, &records[k].leaf, whole) < 0)
                        abort();
                signed_print(&line, &records[k]);
                (void) fprintf(making->lines, "%.*s\n", (int) line.n, line.text);
                add_entry(making, &line);
                if (making->tree.size % 256 == 0)
                        write_tile(making, making->tree.size);
        }
        for (size_t k = 0; k < group->n_drafts; k++)
                signed_done(&records[k]);
        (void) draft_group_free(group);
}

static void add_scan(Making *making, unsigned i) {
        RecordRun *run = &making->server.scan.run;
        DraftGroup *group;
        char challenge[16];

        (void) snprintf(making->server.run, sizeof(making->server.run), "01934a6e-5e00-7000-8000-%012u", i);
        (void) snprintf(challenge, sizeof(challenge), "%08u", i);
        run->challenge = challenge;
        run->started_usec += i > 0 ? HOUR : 0;
        run->finished_usec += i > 0 ? HOUR : 0;
        if (draft_start(&making->station, run, &making->server.scan.server, &group) < 0)
                abort();
        add_group(making, group);
        if (draft_scan(&making->station, &making->server.scan, &group) < 0)
                abort();
        add_group(making, group);
}

static void write_checkpoint(const Making *making) {
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = making->tree.size };
        _cleanup_printer_ Printer note = {};
        FILE *file = open_file(making, "checkpoint");

        if (frontier_root(&making->tree, &checkpoint.root) < 0)
                abort();
        (void) note_of(&note, &checkpoint, &making->log, making->log_key);
        if (fwrite(note.text, 1, note.n, file) != note.n || fclose(file) != 0)
                abort();
}

static void write_keyring(const Making *making) {
        FILE *file = open_file(making, "keyring");
        _cleanup_printer_ Printer vkey = {};

        note_key_print(&vkey, &making->log);
        (void) fprintf(file, "%slog %.*s\nquorum none\n", record_key_public_pem(making->key), (int) vkey.n, vkey.text);
        if (fclose(file) != 0)
                abort();
}

int main(int argc, char *argv[]) {
        Making making = { .folder = argv[1] };
        RecordLogOptions options = { .origin = PLACE_ORIGIN, .producer = PLACE_PRODUCER, .version = "0.1.0" };

        if (argc != 3)
                return 64;
        making.key = options.key = make_key(&making, "record.key");
        making.log_key = make_key(&making, "log.key");
        if (record_keyring_parse(record_key_public_pem(making.key), strlen(record_key_public_pem(making.key)), &making.keyring) < 0)
                return 1;
        making.log = note_key_of(PLACE_ORIGIN, NOTE_LOG, making.log_key);
        server_init(&making.server);
        making.server.scan.run.id = making.server.run;
        if (station_init(&making.station, &options) < 0)
                return 1;
        making.lines = open_file(&making, "records.intoto.jsonl");
        for (unsigned i = 0; i < (unsigned) atoi(argv[2]); i++)
                add_scan(&making, i);
        if (fclose(making.lines) != 0)
                return 1;
        if (making.tree.size % 256 != 0)
                write_tile(&making, making.tree.size);
        write_checkpoint(&making);
        write_keyring(&making);
        station_done(&making.station);
        (void) record_key_free(making.key);
        (void) record_key_free(making.log_key);
        (void) record_keyring_free(making.keyring);
        printer_done(&making.entries);
        return 0;
}
