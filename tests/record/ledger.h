/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log written by hand: scans of two chips, each record signed by the right key, and any of them changed before that. */

#include <stdarg.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/statement/key-rotation.h"
#include "tests/record/note-key.h"
#include "tests/record/payload.h"
#include "tests/record/plain-tree.h"

#define LEDGER_MAX   320
#define LEDGER_CHIPS 2 /* of a scan; the second is that which may fail */
#define LEDGER_SCAN  (LEDGER_CHIPS + 2)
#define LEDGER_SECOND "\"3333333333333333333333333333333333333333333333333333333333333333\""

#define LEDGER_SERVER        "urn:dev:ops:32473-Small-SRV00017" /* a Trn2 has more chips */
#define LEDGER_SERVER_SHA256 "4c0d6a5439bdfb0cd6ce79c9d4ed69f657d220333cfc257d2f4db89ae6d27c67"

typedef struct Ledger {
        const Payloads *source;
        const RecordKey *key; /* that signs what is added */
        uint64_t size;
        char *lines[LEDGER_MAX];
        char ids[LEDGER_MAX][RECORD_ID_HEX];
        TreeHash leaves[LEDGER_MAX];
        Result results[LEDGER_MAX];
        unsigned hour; /* of the next scan */
        const char *challenge, *stage; /* JSON; NULL: one for each hour, and as the payloads have it */
} Ledger;

static inline void ledger_init(Ledger *ledger, const Payloads *source) {
        *ledger = (Ledger) { .source = source, .key = source->key };
}

static inline void ledger_done(Ledger *ledger) {
        for (uint64_t i = 0; i < ledger->size; i++)
                free(ledger->lines[i]);
}

static inline void ledger_set(json_t *root, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline void ledger_set(json_t *root, const char *path, const char *format, ...) {
        va_list arguments;
        char *text;

        va_start(arguments, format);
        if (vasprintf(&text, format, arguments) < 0)
                abort();
        va_end(arguments);
        payload_set(root, path, text);
        free(text);
}

/* Signs what is there as it is and appends it. */
static inline void ledger_sign(Ledger *ledger, json_t *root) {
        char *text = json_dumps(root, JSON_COMPACT);
        SignedLine record;

        if (ledger->size == LEDGER_MAX || sign_line(ledger->key, text, strlen(text), &record) < 0)
                abort();
        ledger->lines[ledger->size] = strndup(record.envelope.text, record.envelope.n);
        ledger->leaves[ledger->size] = record.leaf;
        ledger->results[ledger->size] = result_from_string(text_of(json_object_get(root, "predicate"), "result"));
        (void) digest_to_hex(record.id, ledger->ids[ledger->size++]);
        signed_line_done(&record);
        json_decref(root);
        free(text);
}

/* The same at the end of the log, with one change: path and JSON, or NULL. */
static inline void ledger_add(Ledger *ledger, json_t *root, const char *path, const char *json) {
        ledger_set(root, "predicate.log.index", "%llu", (unsigned long long) ledger->size);
        if (ledger->size > 0)
                ledger_set(root, "predicate.previous", "{\"sha256\":\"%s\"}", ledger->ids[ledger->size - 1]);
        else
                (void) json_object_del(json_object_get(root, "predicate"), "previous");
        if (path)
                payload_set(root, path, json);
        ledger_sign(ledger, root);
}

/* One of the payloads, as of the ledger's current run. */
static inline json_t *ledger_statement(Ledger *ledger, const char *payload) {
        json_t *root = json_loads(payload, 0, NULL), *run = json_object_get(json_object_get(root, "predicate"), "run");

        ledger_set(root, "predicate.run.id", "\"01934a6e-5e00-7000-8000-%012u\"", ledger->hour);
        ledger_set(root, "predicate.run.startedOn", "\"2026-11-%02uT%02u:00:00.000Z\"", 21 + ledger->hour / 24, ledger->hour % 24);
        ledger_set(root, "predicate.run.challenge", "\"Y2hhbGxlbmdl%04u\"", ledger->hour);
        if (ledger->challenge)
                payload_set(root, "predicate.run.challenge", ledger->challenge);
        if (ledger->stage)
                payload_set(root, "predicate.run.stage", ledger->stage);
        if (json_object_get(json_object_get(root, "predicate"), "host")) {
                ledger_set(root, "predicate.host.uri", "\"" LEDGER_SERVER "\"");
                ledger_set(root, "predicate.host.digest", "{\"sha256\":\"" LEDGER_SERVER_SHA256 "\"}");
        }
        ledger_set(root, "predicate.producer.bootId", "\"00000000-0000-0000-0000-000000000001\"");
        if (json_object_get(run, "finishedOn")) {
                ledger_set(root, "predicate.run.finishedOn", "\"2026-11-%02uT%02u:00:10.000Z\"", 21 + ledger->hour / 24, ledger->hour % 24);
                ledger_set(root, "predicate.run.clock", "{\"source\":\"ntp\",\"synchronized\":true,\"maxErrorSeconds\":0.5,\"monotonicNs\":\"%u000000000\"}",
                           1000 + ledger->hour);
        }
        return root;
}

/* The second chip passed: the record of a sound one, with its name. */
static inline json_t *ledger_second(Ledger *ledger, bool passed) {
        json_t *root = ledger_statement(ledger, passed ? ledger->source->health : ledger->source->bad);

        payload_set(root, "predicate.location.path", "\"us0-2/chip3\"");
        payload_set(root, "subject.0.digest.sha256", LEDGER_SECOND);
        payload_set(root, "subject.0.uri", NULL); /* it spells another */
        return root;
}

static inline json_t *ledger_roll_up(Ledger *ledger) {
        json_t *root = ledger_statement(ledger, ledger->source->summary), *component;
        Result worst = RESULT_PASSED;

        component = json_incref(json_array_get(json_object_get(json_object_get(root, "predicate"), "components"), 0));
        payload_set(root, "predicate.components", "[]");
        payload_set(root, "predicate.chipCount", "2");
        payload_set(root, "subject.0.uri", "\"" LEDGER_SERVER "\"");
        payload_set(root, "subject.0.digest.sha256", "\"" LEDGER_SERVER_SHA256 "\"");
        for (unsigned i = 0; i < LEDGER_CHIPS; i++) {
                uint64_t index = ledger->size - LEDGER_CHIPS + i;
                json_t *one = json_deep_copy(component);

                payload_set(one, "annotations.slot", i == 0 ? "\"us0-2/chip0\"" : "\"us0-2/chip3\"");
                if (i > 0) {
                        payload_set(one, "digest.sha256", LEDGER_SECOND);
                        payload_set(one, "uri", NULL);
                }
                ledger_set(one, "annotations.result", "\"%s\"", result_to_string(ledger->results[index]));
                ledger_set(one, "annotations.logIndex", "%llu", (unsigned long long) index);
                ledger_set(one, "annotations.recordSha256", "\"%s\"", ledger->ids[index]);
                (void) json_array_append_new(json_object_get(json_object_get(root, "predicate"), "components"), one);
                worst = result_worst(worst, ledger->results[index]);
        }
        json_decref(component);
        ledger_set(root, "predicate.result", "\"%s\"", result_to_string(worst));
        return root;
}

/* A scan an hour: LEDGER_SCAN records. */
static inline void ledger_scan(Ledger *ledger, bool passed) {
        ledger_add(ledger, ledger_statement(ledger, ledger->source->start), NULL, NULL);
        ledger_add(ledger, ledger_statement(ledger, ledger->source->health), NULL, NULL);
        ledger_add(ledger, ledger_second(ledger, passed), NULL, NULL);
        ledger_add(ledger, ledger_roll_up(ledger), NULL, NULL);
        ledger->hour++;
}

/* OLD says that NEW signs from here on; whoever signs the ledger signs that too. */
static inline void ledger_rotate(Ledger *ledger, const PublicKey *old, const PublicKey *new) {
        json_t *start = ledger_statement(ledger, ledger->source->start), *root, *predicate;
        _cleanup_printer_ Printer keys = {};
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];

        if (digest_sha256(new->spki, new->n_spki, digest) < 0)
                abort();
        printer_open(&keys, '{');
        key_rotation_print(&keys, old, new);
        printer_close(&keys, '}');
        predicate = json_loadb(keys.text, keys.n, 0, NULL);
        (void) json_object_set(predicate, "producer", json_object_get(json_object_get(start, "predicate"), "producer"));
        (void) json_object_set(predicate, "log", json_object_get(json_object_get(start, "predicate"), "log"));
        ledger_set(predicate, "sentOn", "\"2026-11-%02uT%02u:00:00.000Z\"", 21 + ledger->hour / 24, ledger->hour % 24);
        ledger->hour++;
        root = json_pack("{s:s, s:[{s:{s:s}}], s:s, s:o}", "_type", "https://in-toto.io/Statement/v1", "subject", "digest", "sha256",
                         digest_to_hex(digest, hex), "predicateType", RECORD_TYPE_ROTATION, "predicate", predicate);
        ledger_add(ledger, root, NULL, NULL);
        json_decref(start);
}

/* What the log says of itself as it is now. */
static inline void ledger_checkpoint(const Ledger *ledger, const NoteKey *log, const RecordKey *signer, Printer *note) {
        Checkpoint checkpoint = { .size = ledger->size, .root = plain_root(ledger->leaves, ledger->size) };

        (void) snprintf(checkpoint.origin, sizeof(checkpoint.origin), "%s", log->name);
        (void) note_of(note, &checkpoint, log, signer);
}
