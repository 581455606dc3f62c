/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/encode/words.h"
#include "daemon/record/keys/keyring-document.h"

/*
 * A keyring as people write it, to be signed by roots. Lines of words, also such as end in CR LF; a word's '#' begins a remark:
 *
 *     version N
 *     expires 2027-11-20T00:00:00Z
 *     root FILE                        a public key in PEM form
 *     threshold N                      of the roots
 *     record FILE PRODUCER ORIGIN [FROM [UNTIL [REASON]]]    a key, and the indices it may sign in that log
 *     log VKEY
 *     min ORIGIN N                     nothing before this index of the log counts
 *     witness NAME VKEY
 *     quorum N|none                    of the witnesses
 *
 * They may stand in any order: what is wrong with the whole its reader tells, before it is signed.
 */

#define WHAT_MAX 200 /* a word may be a whole file of another form */

typedef struct KeyringDraft {
        json_t *document;
        unsigned line; /* 0: it is none of its lines */
        char why[512];
} KeyringDraft;

static int wrong(KeyringDraft *draft, const char *what, const char *why) {
        char line[32] = "";

        if (draft->line > 0)
                (void) snprintf(line, sizeof(line), "line %u, ", draft->line);
        (void) snprintf(draft->why, sizeof(draft->why), "%s%.*s: %s", line, WHAT_MAX, what, why);
        return -EBADMSG;
}

/* Each setter takes its value over. The object at KEY of PARENT is made where it is not there. */
static int set(json_t *object, const char *key, json_t *value) {
        return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

static json_t *child(json_t *parent, const char *key, json_t *(*make)(void)) {
        if (!json_object_get(parent, key))
                (void) json_object_set_new(parent, key, make());
        return json_object_get(parent, key);
}

static int set_number(KeyringDraft *draft, json_t *object, const char *key, const char *text) {
        size_t n = strspn(text, "0123456789");

        if (n == 0 || n > 16 || text[n] || (*text == '0' && n > 1))
                return wrong(draft, text, "no number");
        return set(object, key, json_integer((json_int_t) strtoll(text, NULL, 10)));
}

/* The one public key of a file. */
static int add_key(KeyringDraft *draft, json_t *keys, const char *path, json_t **ret) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        char spki[BASE64_SIZE(KEY_SPKI_MAX) + 1];
        const PublicKey *key;
        int r;

        r = record_keyring_load(path, &keyring);
        if (r < 0 && r != -EBADMSG)
                return r == -ENOMEM ? r : wrong(draft, path, strerror(-r));
        if (r < 0 || keyring->n_keys != 1)
                return wrong(draft, path, "not one public key in PEM form");
        key = &keyring->keys[0].key;
        if (json_object_get(keys, key->id))
                return wrong(draft, path, "this key is named twice");
        *base64_encode(key->spki, key->n_spki, spki) = '\0';
        *ret = json_pack("{s:s, s:s}", "algorithm", record_algorithm_to_string(key->algorithm), "spki", spki);
        return set(keys, key->id, *ret);
}

/* ---- the lines ---- */

typedef char *const *Arguments; /* what follows the first word, up to a NULL */

static int take_version(KeyringDraft *draft, Arguments words) {
        return set_number(draft, draft->document, "version", words[0]);
}

static int take_expires(KeyringDraft *draft, Arguments words) {
        return set(draft->document, "expires", json_string(words[0]));
}

static int take_root(KeyringDraft *draft, Arguments words) {
        json_t *entry;

        return add_key(draft, child(child(draft->document, "root", json_object), "keys", json_object), words[0], &entry);
}

static int take_threshold(KeyringDraft *draft, Arguments words) {
        return set_number(draft, child(draft->document, "root", json_object), "threshold", words[0]);
}

static int take_record(KeyringDraft *draft, Arguments words) {
        json_t *entry;
        int r;

        r = add_key(draft, child(draft->document, "recordKeys", json_object), words[0], &entry);
        if (r == 0)
                r = set(entry, "producer", json_string(words[1]));
        if (r == 0)
                r = set(entry, "log", json_string(words[2]));
        if (r == 0)
                r = set_number(draft, entry, "fromIndex", words[3] ?: "0");
        if (r == 0 && words[3] && words[4])
                r = set_number(draft, entry, "untilIndex", words[4]);
        if (r == 0 && words[3] && words[4] && words[5])
                r = set(entry, "reason", json_string(words[5]));
        return r;
}

static int take_log(KeyringDraft *draft, Arguments words) {
        return json_array_append_new(child(draft->document, "logs", json_array), json_pack("{s:s}", "vkey", words[0])) < 0 ? -ENOMEM : 0;
}

static int take_min(KeyringDraft *draft, Arguments words) {
        return set_number(draft, child(draft->document, "minIndex", json_object), words[0], words[1]);
}

static int take_witness(KeyringDraft *draft, Arguments words) {
        return json_array_append_new(child(draft->document, "witnesses", json_array),
                                     json_pack("{s:s, s:s}", "name", words[0], "vkey", words[1])) < 0 ? -ENOMEM : 0;
}

/* A policy of witnesses says none for 0, and so does what a station prints. */
static int take_quorum(KeyringDraft *draft, Arguments words) {
        if (strcmp(words[0], "none") == 0)
                return set(draft->document, "quorum", json_integer(0));
        return set_number(draft, draft->document, "quorum", words[0]);
}

static const struct {
        const char *word;
        size_t min, max; /* arguments */
        int (*take)(KeyringDraft *draft, Arguments words);
        bool has_file; /* the first argument is one, and may be called anything */
} kinds[] = {
        { "version",   1, 1, take_version,   false },
        { "expires",   1, 1, take_expires,   false },
        { "root",      1, 1, take_root,      true  },
        { "threshold", 1, 1, take_threshold, false },
        { "record",    3, 6, take_record,    true  },
        { "log",       1, 1, take_log,       false },
        { "min",       2, 2, take_min,       false },
        { "witness",   2, 2, take_witness,   false },
        { "quorum",    1, 1, take_quorum,    false },
};

/* JSON would not hold bytes that are no text, and what looks alike must be alike. */
static bool are_plain(Arguments words) {
        for (; *words; words++)
                for (const char *c = *words; *c; c++)
                        if (*c < 0x20 || *c > 0x7e)
                                return false;
        return true;
}

static int take_kind(KeyringDraft *draft, size_t kind, Arguments words, size_t n) {
        if (n < kinds[kind].min || n > kinds[kind].max)
                return wrong(draft, kinds[kind].word, "too few words, or too many");
        if (!are_plain(words + kinds[kind].has_file))
                return wrong(draft, kinds[kind].word, "a word beyond ASCII");
        return kinds[kind].take(draft, words);
}

static int take_words(KeyringDraft *draft, Words *words) {
        size_t n = 0;

        while (words->words[n] && *words->words[n] != '#')
                n++;
        if (n == 0)
                return 0;
        words->words[n] = NULL;
        for (size_t i = 0; i < ELEMENTS(kinds); i++)
                if (strcmp(kinds[i].word, words->words[0]) == 0)
                        return take_kind(draft, i, words->words + 1, n - 1);
        return wrong(draft, words->words[0], "no line begins so");
}

static int take_lines(KeyringDraft *draft, const char *text, size_t n) {
        Words words;
        int r = 0;

        for (const char *line = text, *end; line < text + n && r == 0; line = end + 1) {
                const char *why;

                draft->line++;
                end = memchr(line, '\n', n - (size_t) (line - text)) ?: text + n;
                why = words_split(&words, line, (size_t) (end - line) - (end > line && end[-1] == '\r'));
                if (why) {
                        (void) snprintf(draft->why, sizeof(draft->why), "line %u %s", draft->line, why);
                        return -EBADMSG;
                }
                r = take_words(draft, &words);
        }
        if (r == 0)
                draft->line = 0;
        return r;
}

/* ---- what is signed ---- */

static int set_issued(KeyringDraft *draft) {
        time_t now = time(NULL);
        char text[32];
        struct tm tm;

        if (!gmtime_r(&now, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                return -EINVAL;
        return set(draft->document, "issuedOn", json_string(text));
}

static int read_lines(KeyringDraft *draft, const char *text, size_t n) {
        int r;

        r = set(draft->document, "_type", json_string(KEYRING_TYPE));
        if (r == 0)
                r = set_issued(draft);
        if (r == 0 && !child(draft->document, "recordKeys", json_object))
                r = -ENOMEM;
        return r < 0 ? r : take_lines(draft, text, n);
}

/* Signs what a reader takes, and nothing else. */
static int sign(Ring *ring, const RecordKey *root, char **ret, size_t *ret_n, KeyringDraft *draft) {
        _cleanup_(keyring_document_done) KeyringDocument document = {};
        _cleanup_printer_ Printer text = {};
        const char *why = "";
        int r;

        r = keyring_document_read(ring, &document, &why);
        if (r < 0)
                return r == -EBADMSG ? wrong(draft, "no keyring", why) : r;
        r = ring_sign(ring, root);
        if (r < 0)
                return r == -E2BIG ? wrong(draft, "no keyring", "too many have signed it") : r;
        ring_print(&text, ring);
        if (text.error < 0)
                return text.error;
        *ret = TAKE_PTR(text.text);
        *ret_n = text.n;
        return 0;
}

static int told(int r, const KeyringDraft *draft, char **ret_why) {
        if (r >= 0)
                return r;
        *ret_why = strdup(draft->why[0] ? draft->why : strerror(-r));
        return *ret_why ? r : -ENOMEM;
}

int record_ring_make(const char *text, size_t n, const RecordKey *root, char **ret, size_t *ret_n, char **ret_why) {
        _cleanup_json_ json_t *document = json_object();
        _cleanup_free_ char *payload = NULL;
        _cleanup_(ring_done) Ring ring = {};
        KeyringDraft draft = { .document = document };
        int r;

        assert(text && root && ret && ret_n && ret_why);

        r = document ? read_lines(&draft, text, n) : -ENOMEM;
        if (r == 0) {
                payload = json_dumps(document, JSON_COMPACT);
                r = payload ? ring_init(&ring, payload, strlen(payload)) : -ENOMEM;
        }
        if (r == 0)
                r = sign(&ring, root, ret, ret_n, &draft);
        return told(r, &draft, ret_why);
}

int record_ring_sign(const char *text, size_t n, const RecordKey *root, char **ret, size_t *ret_n, char **ret_why) {
        _cleanup_(ring_done) Ring ring = {};
        KeyringDraft draft = {};
        const char *why;
        int r;

        assert(text && root && ret && ret_n && ret_why);

        r = ring_parse(text, n, &ring, &why);
        if (r == -EBADMSG)
                (void) wrong(&draft, "no keyring", why);
        if (r == 0)
                r = sign(&ring, root, ret, ret_n, &draft);
        return told(r, &draft, ret_why);
}

int record_ring_signed(const char *text, size_t n, const RecordKey *root, RecordRingSigned *ret) {
        _cleanup_(keyring_document_done) KeyringDocument document = {};
        _cleanup_(ring_done) Ring ring = {};
        RecordRingSigned found = {};
        const char *why;
        int r;

        assert(text && root && ret);

        r = ring_parse(text, n, &ring, &why);
        if (r == 0)
                r = keyring_document_read(&ring, &document, &why);
        if (r == 0)
                r = roots_count_signed(&document.roots, &ring);
        if (r < 0)
                return r;
        found.n = (unsigned) r;
        found.threshold = document.roots.threshold;
        for (size_t i = 0; i < document.roots.n; i++)
                found.has_root = found.has_root || strcmp(document.roots.keys[i].id, record_key_id(root)) == 0;
        *ret = found;
        return 0;
}
