/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A folder of the test's own, with a key and room for a log; removed with all in it. */

#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/record.h"

#define PLACE_ORIGIN   "fleet.example/stations/st-017"
#define PLACE_PRODUCER "https://" PLACE_ORIGIN

typedef struct Place {
        char folder[64];
        char key[96], log[96];
} Place;

static inline int place_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        return remove(path);
}

static inline void place_init(Place *place) {
        const char *tmp = getenv("TMPDIR");

        (void) snprintf(place->folder, sizeof(place->folder), "%.40s/record-XXXXXX", tmp ? tmp : "/tmp");
        if (!mkdtemp(place->folder))
                abort();
        (void) snprintf(place->key, sizeof(place->key), "%.63s/record.key", place->folder);
        (void) snprintf(place->log, sizeof(place->log), "%.63s/records.db", place->folder);
        if (record_key_generate(place->key, RECORD_ED25519) < 0)
                abort();
}

static inline void place_done(Place *place) {
        (void) nftw(place->folder, place_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The key NAME of the folder, made where it is not there yet. */
static inline RecordKey *place_key(const Place *place, const char *name, RecordAlgorithm algorithm) {
        RecordKey *key;
        char path[128];

        (void) snprintf(path, sizeof(path), "%.63s/%.40s", place->folder, name);
        if ((access(path, F_OK) < 0 && record_key_generate(path, algorithm) < 0) || record_key_load(path, &key) < 0)
                abort();
        return key;
}

/* What opens the log, whose the key then is. */
static inline RecordLogOptions place_options(const Place *place, const char *key_path) {
        RecordLogOptions options = { .path = place->log, .origin = PLACE_ORIGIN, .producer = PLACE_PRODUCER, .version = "0.1.0" };

        if (record_key_load(key_path, &options.key) < 0)
                abort();
        return options;
}

static inline int place_open_as(const Place *place, const char *origin, const char *key_path,
                                RecordLog **ret, char **ret_error) {
        RecordLogOptions options = place_options(place, key_path);

        options.origin = origin;
        return record_log_open(&options, ret, ret_error);
}

static inline int place_open(const Place *place, RecordLog **ret, char **ret_error) {
        return place_open_as(place, PLACE_ORIGIN, place->key, ret, ret_error);
}

static inline RecordKeyring *place_keyring(const Place *place) {
        RecordKeyring *keyring;
        char path[128];

        (void) snprintf(path, sizeof(path), "%s.pub", place->key);
        if (record_keyring_load(path, &keyring) < 0)
                abort();
        return keyring;
}

/* The newest record of SUBJECT under PLAN (NULL: any), and whether it is what the log says. */
static inline int place_newest_verified(RecordLog *log, const Location *subject, const char *plan, RecordVerified *ret) {
        RecordEntry entry;
        int r = record_log_newest(log, subject, plan, &entry);

        return r < 0 ? r : record_log_verified(log, subject, &entry, ret);
}

/* Waits for the next outcome. */
static inline void place_wait(RecordLog *log, RecordOutcome *ret) {
        struct pollfd pollfd = { .fd = record_log_fd(log), .events = POLLIN };

        while (record_log_next(log, ret) == -EAGAIN)
                if (poll(&pollfd, 1, 30000) == 0)
                        abort();
}

/* The same, where it has to be a success: the index of its first record. */
static inline uint64_t place_take(RecordLog *log) {
        RecordOutcome outcome;
        uint64_t first;

        place_wait(log, &outcome);
        if (outcome.error < 0 || outcome.n_entries == 0)
                abort();
        first = outcome.entries[0].index;
        record_outcome_done(&outcome);
        return first;
}

/* The envelope of INDEX as it is exported, malloc'd, without the line's end. */
static inline char *place_envelope(RecordLog *log, uint64_t index) {
        char *text = calloc(1, RECORD_ENVELOPE_MAX + 2);
        FILE *file = tmpfile();

        if (!text || !file || record_log_export(log, index, 1, fileno(file)) != 1)
                abort();
        rewind(file);
        if (!fgets(text, RECORD_ENVELOPE_MAX + 2, file))
                abort();
        (void) fclose(file);
        text[strcspn(text, "\n")] = '\0';
        return text;
}

/* The record of INDEX, which verifies. */
static inline void place_verify(RecordLog *log, const RecordKeyring *keyring, uint64_t index, RecordVerified *ret) {
        char *envelope = place_envelope(log, index);
        RecordTrust trust;

        if (record_verify(keyring, envelope, strlen(envelope), &trust, ret) < 0)
                abort();
        if (trust != RECORD_VERIFIED) {
                (void) fprintf(stderr, "record %llu: %s\n", (unsigned long long) index, ret->reason);
                abort();
        }
        free(envelope);
}
