/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/whole-file.h"
#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/words.h"

static const char *take_text(char **to, const Words *words) {
        if (*to)
                return "says again what was said before";
        *to = strdup(words->words[1]);
        return *to ? NULL : "does not fit into memory";
}

static const char *take_name(Settings *settings, const Words *words) {
        uint8_t none[NOTE_PUBLIC_BYTES] = {};
        NoteKey key;

        if (note_key_init(&key, words->words[1], NOTE_WITNESS, none) < 0)
                return "has no name that a key may bear";
        return take_text(&settings->name, words);
}

static const char *take_listen(Settings *settings, const Words *words) {
        return take_text(&settings->listen, words);
}

static const char *take_key(Settings *settings, const Words *words) {
        return take_text(&settings->key, words);
}

static const char *take_state(Settings *settings, const Words *words) {
        return take_text(&settings->state, words);
}

static const char *take_anchor(Settings *settings, const Words *words) {
        return take_text(&settings->anchor, words);
}

static const char *take_log(Settings *settings, const Words *words) {
        size_t n = settings->n_logs;
        SettingsLog *logs;
        NoteKey key;

        if (n == SETTINGS_LOGS_MAX)
                return "is one log too many";
        /* Room for a power of two. */
        if ((n & (n - 1)) == 0) {
                logs = reallocarray(settings->logs, n ? 2 * n : 1, sizeof(*logs));
                if (!logs)
                        return "does not fit into memory";
                settings->logs = logs;
        }
        if (note_key_parse(&key, words->words[1]) < 0 || key.type != NOTE_LOG)
                return "has no vkey of a log: NAME+ID+KEY, of type 1";
        settings->logs[n].name = strdup(key.name);
        if (!settings->logs[n].name)
                return "does not fit into memory";
        memcpy(settings->logs[n].public, key.public, sizeof(key.public));
        settings->n_logs++;
        return NULL;
}

static const struct {
        const char *word;
        size_t max; /* words; two at the least */
        const char *(*take)(Settings *settings, const Words *words);
} kinds[] = {
        { "log",    3, take_log    },
        { "name",   2, take_name   },
        { "listen", 2, take_listen },
        { "key",    2, take_key    },
        { "state",  2, take_state  },
        { "anchor", 2, take_anchor },
};

static const char *take_line(Settings *settings, const char *line, size_t n) {
        const char *wrong;
        Words words;

        wrong = words_split(&words, line, n);
        if (wrong || words.n == 0)
                return wrong;
        for (size_t i = 0; i < ELEMENTS(kinds); i++)
                if (strcmp(words.words[0], kinds[i].word) == 0)
                        return words.n < 2 ? "lacks a word" : words.n > kinds[i].max ? "has too many words: they end at blanks, so a file or folder has none in its name" : kinds[i].take(settings, &words);
        return "begins with none of log, name, listen, key, state, anchor";
}

static int compare_public(const void *a, const void *b) {
        return memcmp(((const SettingsLog *) a)->public, ((const SettingsLog *) b)->public, NOTE_PUBLIC_BYTES);
}

static int compare_name(const void *a, const void *b) {
        return strcmp(((const SettingsLog *) a)->name, ((const SettingsLog *) b)->name);
}

static int refuse(char **ret_wrong, unsigned number, const char *wrong) {
        return asprintf(ret_wrong, "line %u %s", number, wrong) < 0 ? -ENOMEM : -EINVAL;
}

/* One public key under two names would let one log speak for another. */
static int sort_logs(Settings *settings, char **ret_wrong) {
        if (settings->n_logs == 0)
                return 0;
        qsort(settings->logs, settings->n_logs, sizeof(SettingsLog), compare_public);
        for (size_t i = 1; i < settings->n_logs; i++)
                if (compare_public(&settings->logs[i - 1], &settings->logs[i]) == 0)
                        return asprintf(ret_wrong, "the key of log %s is there twice", settings->logs[i].name) < 0 ? -ENOMEM : -EINVAL;
        qsort(settings->logs, settings->n_logs, sizeof(SettingsLog), compare_name);
        return 0;
}

static uint64_t begin_of(const uint8_t hash[static DIGEST_BYTES]) {
        uint64_t begin;

        memcpy(&begin, hash, sizeof(begin));
        return begin;
}

static int compare_hash(const void *a, const void *b) {
        uint64_t x = ((const SettingsHash *) a)->begin, y = ((const SettingsHash *) b)->begin;

        return x < y ? -1 : x > y;
}

/* Whoever reads asks for a log by the hash of its origin, and none of them may cost a look at all logs. */
static int hash_logs(Settings *settings) {
        uint8_t hash[DIGEST_BYTES];

        settings->hashes = calloc(settings->n_logs + 1, sizeof(SettingsHash));
        if (!settings->hashes)
                return -ENOMEM;
        for (size_t i = 0; i < settings->n_logs; i++) {
                const char *name = settings->logs[i].name;
                int r;

                if (i > 0 && strcmp(name, settings->logs[i - 1].name) == 0)
                        continue;
                r = digest_sha256(name, strlen(name), hash);
                if (r < 0)
                        return r;
                settings->hashes[settings->n_hashes++] = (SettingsHash) { begin_of(hash), (uint32_t) i };
        }
        qsort(settings->hashes, settings->n_hashes, sizeof(SettingsHash), compare_hash);
        return 0;
}

int settings_parse(const char *text, size_t n, Settings **ret, char **ret_wrong) {
        _cleanup_(settings_freep) Settings *settings = NULL;
        unsigned number = 0;
        int r;

        settings = calloc(1, sizeof(*settings));
        if (!settings)
                return -ENOMEM;
        for (const char *line = text, *end; line < text + n; line = end + 1) {
                const char *wrong;

                end = memchr(line, '\n', n - (size_t) (line - text)) ?: text + n;
                number++;
                wrong = take_line(settings, line, (size_t) (end - line));
                if (wrong)
                        return refuse(ret_wrong, number, wrong);
        }
        r = sort_logs(settings, ret_wrong);
        if (r == 0)
                r = hash_logs(settings);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(settings);
        return 0;
}

int settings_load(const char *path, Settings **ret, char **ret_wrong) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = whole_file_read(AT_FDCWD, path, SETTINGS_FILE_MAX, &text, &n);
        return r < 0 ? r : settings_parse(text, n, ret, ret_wrong);
}

Settings *settings_free(Settings *settings) {
        if (!settings)
                return NULL;
        free(settings->name);
        free(settings->listen);
        free(settings->key);
        free(settings->state);
        free(settings->anchor);
        for (size_t i = 0; i < settings->n_logs; i++)
                free(settings->logs[i].name);
        free(settings->logs);
        free(settings->hashes);
        free(settings);
        return NULL;
}

const SettingsLog *settings_find_log(const Settings *settings, const char *origin) {
        size_t low = 0, high = settings->n_logs;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (strcmp(settings->logs[middle].name, origin) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < settings->n_logs && strcmp(settings->logs[low].name, origin) == 0 ? &settings->logs[low] : NULL;
}

const SettingsLog *settings_find_hash(const Settings *settings, const uint8_t hash[static DIGEST_BYTES]) {
        SettingsHash wanted = { .begin = begin_of(hash) };
        const SettingsHash *found = bsearch(&wanted, settings->hashes, settings->n_hashes, sizeof(wanted), compare_hash);
        const char *name = found ? settings->logs[found->log].name : "";
        uint8_t whole[DIGEST_BYTES];

        return found && digest_sha256(name, strlen(name), whole) == 0 && memcmp(whole, hash, DIGEST_BYTES) == 0 ? &settings->logs[found->log] : NULL;
}
