/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Payloads of real records, changed at one place and signed again by the right key: what only a judge can
 * refuse. */

#include <jansson.h>

#include "tests/record/place.h"
#include "tests/record/server.h"
#include "tests/record/sign-line.h"

typedef struct Payloads {
        Place place;
        Server server;
        RecordKey *key;
        RecordKeyring *keyring;
        char *start, *health, *bad, *summary; /* index 0, 1, 1 + SERVER_BAD, the last */
        char *signed_health, *signed_bad;     /* as they were signed: `health` and `bad` are in version 1 */
        char *envelope, *envelope_start;      /* of `signed_bad` and of `start` */
} Payloads;

/* As it was signed. */
static inline char *payload_signed(Payloads *p, RecordLog *log, uint64_t index) {
        RecordVerified verified;
        char *payload;

        place_verify(log, p->keyring, index, &verified);
        payload = strdup(verified.payload);
        record_verified_done(&verified);
        return payload;
}

#define PAYLOAD_DIGEST "{'sha256':'00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'}"

/* A chip's record as assayd wrote it when there was version 1 alone: with what stands in the roll-up since. */
static inline void payload_make_v1(json_t *statement) {
        static const char *const members[][3] = {
                { "producer", "scanner", "{'name':'assayd','uri':'pkg:generic/assayd@0.1.0'}" },
                { "run", "clock", "{'source':'none','synchronized':false,'monotonicNs':'1'}" },
                { "run", "seed", "7" },
                { "run", "worker", "{'name':'assay-run','digest':" PAYLOAD_DIGEST "}" },
                { "host", "name", "'server'" },
                { "host", "digest", "{'sha256':'ffc716206b799058c6bb3179e0b55289326b25df7364c165a4d929fd2763d0db'}" }, /* of the identity document of SRV00017 */
                { NULL, "evidence", "[{'name':'us0-2.ocp.jsonl','digest':" PAYLOAD_DIGEST ",'mediaType':'application/jsonl','annotations':{'size':4816}}]" },
        };
        json_t *predicate = json_object_get(statement, "predicate"), *step;
        size_t i;

        (void) json_object_set_new(statement, "predicateType", json_string(RECORD_TYPE_HEALTH));
        for (i = 0; i < ELEMENTS(members); i++) {
                char text[512];

                (void) snprintf(text, sizeof(text), "%s", members[i][2]);
                for (char *at = text; (at = strchr(at, '\''));)
                        *at = '"';
                if (json_object_set_new(members[i][0] ? json_object_get(predicate, members[i][0]) : predicate, members[i][1], json_loads(text, JSON_DECODE_ANY, NULL)) < 0)
                        abort();
        }
        json_array_append_new(json_object_get(predicate, "configuration"),
                              json_pack("{s:s, s:O}", "name", "preflight/limits", "digest",
                                        json_object_get(json_array_get(json_object_get(predicate, "configuration"), 0), "digest")));
        json_array_foreach(json_object_get(predicate, "steps"), i, step) {
                (void) json_object_set_new(step, "seed", json_integer(7));
                (void) json_object_set_new(step, "deviceNanoseconds", json_integer(123456789));
        }
}

/* In version 1, where it is of a chip. */
static inline char *payload_of(Payloads *p, RecordLog *log, uint64_t index) {
        char *payload = payload_signed(p, log, index), *text;
        json_t *statement = NULL;

        if (record_statement_read(payload, strlen(payload), &statement) < 0)
                abort();
        if (strcmp(json_string_value(json_object_get(statement, "predicateType")), RECORD_TYPE_HEALTH_V2) == 0)
                payload_make_v1(statement);
        text = json_dumps(statement, JSON_COMPACT);
        json_decref(statement);
        free(payload);
        return text;
}

static inline void payloads_init(Payloads *p) {
        RecordLog *log;

        place_init(&p->place);
        server_init(&p->server);
        p->keyring = place_keyring(&p->place);
        if (record_key_load(p->place.key, &p->key) < 0 || place_open(&p->place, &log, NULL) < 0)
                abort();
        (void) server_start(&p->server, log);
        (void) server_scan(&p->server, log);
        p->start = payload_of(p, log, 0);
        p->health = payload_of(p, log, 1);
        p->bad = payload_of(p, log, 1 + SERVER_BAD);
        p->signed_health = payload_signed(p, log, 1);
        p->signed_bad = payload_signed(p, log, 1 + SERVER_BAD);
        p->summary = payload_of(p, log, 1 + SERVER_CHIPS);
        p->envelope = place_envelope(log, 1 + SERVER_BAD);
        p->envelope_start = place_envelope(log, 0);
        (void) record_log_free(log);
}

static inline void payloads_done(Payloads *p) {
        (void) record_key_free(p->key);
        (void) record_keyring_free(p->keyring);
        free(p->start);
        free(p->health);
        free(p->bad);
        free(p->signed_health);
        free(p->signed_bad);
        free(p->summary);
        free(p->envelope);
        free(p->envelope_start);
        place_done(&p->place);
}

/* The member of the object, or element of the list, that the first part of PATH names. */
static inline json_t *payload_child(json_t *value, const char *part) {
        return json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
                                    : json_object_get(value, part);
}

/* Sets what stands at PATH ("predicate.steps.0.result") to the JSON in TEXT; NULL removes it. A list grows
 * by its end. */
static inline void payload_set(json_t *root, const char *path, const char *text) {
        json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL, *parent = root;
        char parts[256], *part, *next, *saved;
        int r;

        if (text && !value)
                abort();
        (void) snprintf(parts, sizeof(parts), "%s", path);
        part = strtok_r(parts, ".", &saved);
        for (; (next = strtok_r(NULL, ".", &saved)); part = next) {
                parent = payload_child(parent, part);
                if (!parent)
                        abort();
        }
        if (json_is_array(parent)) {
                size_t i = strtoul(part, NULL, 10);

                if (!value)
                        r = json_array_remove(parent, i);
                else
                        r = i == json_array_size(parent) ? json_array_append_new(parent, value)
                                                         : json_array_set_new(parent, i, value);
        } else
                r = value ? json_object_set_new(parent, part, value) : json_object_del(parent, part);
        if (r < 0)
                abort();
}

/* Signs N bytes as they are and verifies them. */
static inline RecordTrust payload_verify(Payloads *p, const char *payload, size_t n, RecordVerified *ret) {
        RecordTrust trust;
        SignedLine record;

        if (sign_line(p->key, payload, n, &record) < 0 ||
            record_verify(p->keyring, record.envelope.text, record.envelope.n, &trust, ret) < 0)
                abort();
        signed_line_done(&record);
        return trust;
}

/* PAYLOAD with up to three changes: path and JSON in turn, up to a NULL path. */
static inline RecordTrust payload_verify_changed(Payloads *p, const char *payload,
                                                 const char *const *changes, RecordVerified *ret) {
        json_t *root = json_loads(payload, 0, NULL);
        RecordTrust trust;
        char *text;

        for (; changes[0]; changes += 2)
                payload_set(root, changes[0], changes[1]);
        text = json_dumps(root, JSON_COMPACT);
        trust = payload_verify(p, text, strlen(text), ret);
        free(text);
        json_decref(root);
        return trust;
}

/* For a group of tests. */
static Payloads payloads;

static inline int payloads_setup(void **state) {
        payloads_init(&payloads);
        return 0;
}

static inline int payloads_teardown(void **state) {
        payloads_done(&payloads);
        return 0;
}
