/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Settings
 *
 * What a witness is told about itself: lines of words, as c2sp.org/tlog-policy has them. `log` is a line of that format, so a
 * file of logs can be handed from one witness to another.
 *
 *     name witness.example/w1        of its key: no schema, no '+'
 *     log VKEY [URL]                 a log that may ask
 *     listen 127.0.0.1:8447          or [ADDRESS]:PORT, or unix:/PATH
 *     key FILE                       Ed25519, PEM
 *     state FOLDER
 *     anchor FILE
 */

#include "daemon/record/keys/note.h"

#define SETTINGS_FILE_MAX (64u << 20)
#define SETTINGS_LOGS_MAX 262144

/* A key of a log, of type NOTE_LOG: little of it is kept, for there are many. */
typedef struct SettingsLog {
        char *name;
        uint8_t public[NOTE_PUBLIC_BYTES];
} SettingsLog;

/* The SHA-256 of an origin begins with these eight bytes. */
typedef struct SettingsHash {
        uint64_t begin;
        uint32_t log; /* the first of its name */
} SettingsHash;

typedef struct Settings {
        char *name, *listen, *key, *state, *anchor; /* NULL: not said */
        size_t n_logs;
        SettingsLog *logs; /* by name; a log may have several keys */
        size_t n_hashes;
        SettingsHash *hashes; /* one of each name, ascending */
} Settings;

/* -EINVAL, and *ret_wrong (malloc'd) says which line is none; or the errno of reading. */
int settings_load(const char *path, Settings **ret, char **ret_wrong);
int settings_parse(const char *text, size_t n, Settings **ret, char **ret_wrong);
Settings *settings_free(Settings *settings);
DEFINE_CLEANUP(Settings *, settings_free);

/* The first key of a log, or NULL; others follow it as long as their name is the same. */
const SettingsLog *settings_find_log(const Settings *settings, const char *origin);
/* The same by the SHA-256 of the origin. */
const SettingsLog *settings_find_hash(const Settings *settings, const uint8_t hash[static DIGEST_BYTES]);
