/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/encode/words.h"
#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"

/* PEM blocks, and lines of words among them. Lines that begin with none of these words are a remark, as OpenSSL has it. */

#define GROUP_WORDS_MAX (3 + CHECKPOINT_WITNESSES_MAX + QUORUM_GROUPS_MAX)
#define NONE            "none"
#define BEGIN           "-----BEGIN "
#define END             "-----END "

static_assert(GROUP_WORDS_MAX <= WORDS_MAX, "every group fits");

/* ---- words ---- */

/* The bit of a witness or group, 0 where none is called so. */
static uint64_t bit_of(const RecordKeyring *keyring, const char *name) {
        for (size_t i = 0; i < keyring->n_witnesses; i++)
                if (strcmp(keyring->witnesses[i].name, name) == 0)
                        return UINT64_C(1) << i;
        for (size_t i = 0; i < keyring->quorum.n_groups; i++)
                if (strcmp(keyring->quorum.groups[i].name, name) == 0)
                        return UINT64_C(1) << (CHECKPOINT_WITNESSES_MAX + i);
        return 0;
}

/* 1 … 99, nothing else. */
static bool parse_count(const char *text, unsigned *ret) {
        size_t n = strspn(text, "0123456789");

        if (n == 0 || n > 2 || text[n] || *text == '0')
                return false;
        *ret = (unsigned) strtoul(text, NULL, 10);
        return true;
}

/* An index or a version. */
static bool parse_number(const char *text, uint64_t *ret) {
        return line_number(&(Line) { text, strlen(text) }, ret) == 0 && *ret < TREE_SIZE_MAX;
}

/* yyyy-mm-ddThh:mm:ss[.fff…]Z */
static bool parse_time(const char *text, uint64_t *ret) {
        const char *rest = strlen(text) > 19 ? text + 19 : "";

        if (*rest == '.' && strspn(rest + 1, "0123456789") > 0)
                rest += 1 + strspn(rest + 1, "0123456789");
        return strcmp(rest, "Z") == 0 && timestamp_parse(text, ret) == 0;
}

/* The SubjectPublicKeyInfo, as it stands in PEM but in one word. */
static int parse_key(const char *text, PublicKey *ret) {
        uint8_t spki[BASE64_SIZE(KEY_SPKI_MAX)];
        size_t n = strlen(text);

        if (n > sizeof(spki) || base64_decode_standard(text, n, spki, &n) < 0)
                return -EBADMSG;
        return public_key_from_spki(ret, spki, n);
}

/* Names are shown to people, and what looks alike must be alike: those beyond ASCII, which the standard allows, are none of ours. */
static bool copy_name(const char *text, char *ret, size_t size) {
        for (const char *c = text; *c; c++)
                if (*c < 0x21 || *c > 0x7e)
                        return false;
        if (strlen(text) >= size)
                return false;
        (void) strcpy(ret, text);
        return true;
}

static bool name_is_free(const RecordKeyring *keyring, const char *name) {
        return strcmp(name, NONE) != 0 && bit_of(keyring, name) == 0;
}

/* ---- lines ---- */

static int read_log(RecordKeyring *keyring, char *const *words, size_t n) {
        KeyringLog log = {};

        if (note_key_parse(&log.key, words[1]) < 0 || log.key.type != NOTE_LOG)
                return -EBADMSG;
        return keyring_add_log(keyring, &log);
}

static int read_min(RecordKeyring *keyring, char *const *words, size_t n) {
        for (size_t i = 0; i < keyring->n_logs; i++)
                if (strcmp(keyring->logs[i].key.name, words[1]) == 0 && keyring->logs[i].min_index == 0)
                        return parse_number(words[2], &keyring->logs[i].min_index) ? 0 : -EBADMSG;
        return -EBADMSG;
}

static int read_witness(RecordKeyring *keyring, char *const *words, size_t n) {
        KeyringWitness witness = {};

        if (!copy_name(words[1], witness.name, sizeof(witness.name)) || !name_is_free(keyring, witness.name) ||
            (note_key_parse(&witness.key, words[2]) < 0 && !note_vkey_is_other(words[2])))
                return -EBADMSG;
        if (n > 3 && strlen(words[3]) >= sizeof(witness.url))
                return -EBADMSG;
        (void) strcpy(witness.url, n > 3 ? words[3] : "");
        return keyring_add_witness(keyring, &witness);
}

static int read_group(RecordKeyring *keyring, char *const *words, size_t n_words) {
        Quorum *quorum = &keyring->quorum;
        QuorumGroup group = {};
        unsigned n = (unsigned) n_words - 3;

        if (quorum->n_groups == QUORUM_GROUPS_MAX || !copy_name(words[1], group.name, sizeof(group.name)) || !name_is_free(keyring, group.name))
                return -EBADMSG;
        if (strcmp(words[2], "all") == 0)
                group.threshold = n;
        else if (strcmp(words[2], "any") == 0)
                group.threshold = 1;
        else if (!parse_count(words[2], &group.threshold) || group.threshold > n)
                return -EBADMSG;
        for (size_t i = 3; i < n_words; i++) {
                uint64_t bit = bit_of(keyring, words[i]);

                /* Nobody counts twice, not by way of two groups either. */
                for (size_t j = 0; j < quorum->n_groups; j++)
                        if (quorum->groups[j].members & bit)
                                return -EBADMSG;
                if (bit == 0 || group.members & bit)
                        return -EBADMSG;
                group.members |= bit;
        }
        quorum->groups[quorum->n_groups++] = group;
        return 0;
}

static int read_quorum(RecordKeyring *keyring, char *const *words, size_t n) {
        unsigned threshold;

        if (strcmp(words[1], NONE) == 0)
                return 0;
        keyring->quorum.wanted = bit_of(keyring, words[1]);
        if (keyring->quorum.wanted)
                return 0;
        return parse_count(words[1], &threshold) ? keyring_set_quorum(keyring, threshold) : -EBADMSG;
}

static int read_record(RecordKeyring *keyring, char *const *words, size_t n) {
        KeyringKey entry = { .until_index = UINT64_MAX };
        int r;

        if (!copy_name(words[2], entry.producer, sizeof(entry.producer)) || !copy_name(words[3], entry.origin, sizeof(entry.origin)) ||
            (n > 4 && !parse_number(words[4], &entry.from_index)) || (n > 5 && !parse_number(words[5], &entry.until_index)) ||
            entry.from_index > entry.until_index)
                return -EBADMSG;
        r = parse_key(words[1], &entry.key);
        return r < 0 ? r : keyring_add_key(keyring, &entry);
}

static int read_root(RecordKeyring *keyring, char *const *words, size_t n) {
        PublicKey key;
        int r = parse_key(words[1], &key);

        return r < 0 ? r : keyring_add_root(keyring, &key);
}

static int read_threshold(RecordKeyring *keyring, char *const *words, size_t n) {
        return parse_count(words[1], &keyring->threshold) ? 0 : -EBADMSG;
}

static int read_version(RecordKeyring *keyring, char *const *words, size_t n) {
        return parse_number(words[1], &keyring->version) && keyring->version > 0 ? 0 : -EBADMSG;
}

static int read_expires(RecordKeyring *keyring, char *const *words, size_t n) {
        return parse_time(words[1], &keyring->expires_usec) ? 0 : -EBADMSG;
}

typedef enum LineKind {
        LINE_LOG,
        LINE_MIN,
        LINE_WITNESS,
        LINE_GROUP,
        LINE_QUORUM,
        LINE_RECORD,
        LINE_ROOT,
        LINE_THRESHOLD,
        LINE_VERSION,
        LINE_EXPIRES,
        _LINE_MAX,
} LineKind;

#define AGAIN(word) "is a second `" word "`: a keyring has one, also one made of several: leave all but one out"

static const struct {
        const char *word, *form;
        size_t min, max; /* words */
        int (*read)(RecordKeyring *keyring, char *const *words, size_t n);
        bool is_before_quorum; /* what follows the quorum would not be in it */
        const char *again;     /* what is wrong with a second one; NULL: nothing */
} kinds[] = {
        [LINE_LOG] = { "log", "log VKEY [URL]", 2, 3, read_log, false, NULL }, /* and its URL, which is for others */
        [LINE_MIN] = { "min", "min ORIGIN INDEX", 3, 3, read_min, false, NULL },
        [LINE_WITNESS] = { "witness", "witness NAME VKEY [URL]", 3, 4, read_witness, true, NULL },
        [LINE_GROUP] = { "group", "group NAME all|any|K NAME...", 4, GROUP_WORDS_MAX, read_group, true, NULL },
        [LINE_QUORUM] = { "quorum", "quorum NAME|none|K", 2, 2, read_quorum, false, AGAIN("quorum") },
        [LINE_RECORD] = { "record", "record KEY PRODUCER ORIGIN [FROM [UNTIL [REASON]]]", 4, 7, read_record, false, NULL },
        [LINE_ROOT] = { "root", "root KEY", 2, 2, read_root, false, NULL },
        [LINE_THRESHOLD] = { "threshold", "threshold K", 2, 2, read_threshold, false, AGAIN("threshold") },
        [LINE_VERSION] = { "version", "version N", 2, 2, read_version, false, AGAIN("version") },
        [LINE_EXPIRES] = { "expires", "expires yyyy-mm-ddThh:mm:ssZ", 2, 2, read_expires, false, AGAIN("expires") },
};

typedef struct Reading {
        RecordKeyring *keyring;
        unsigned seen[_LINE_MAX];
        const char *block; /* where one begins that has not ended; NULL: none has */
        char *wrong;       /* KEYRING_WRONG_MAX bytes */
} Reading;

/* "line NUMBER ODD", and of what FORM. */
static int wrong(Reading *reading, unsigned number, const char *odd, const char *form) {
        (void) snprintf(reading->wrong, KEYRING_WRONG_MAX, "line %u %s%s%s%s", number, odd, form ? "`" : "", form ?: "", form ? "` that can stand there" : "");
        return -EBADMSG;
}

static int wrong_whole(Reading *reading, const char *sentence) {
        (void) snprintf(reading->wrong, KEYRING_WRONG_MAX, "%s", sentence);
        return -EBADMSG;
}

static bool begins(const char *line, size_t n, const char *word) {
        return n >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Which word is the first of the line; _LINE_MAX: none of ours. */
static LineKind kind_of(const char *line, size_t n) {
        while (n > 0 && (*line == ' ' || *line == '\t'))
                line++, n--;
        for (LineKind i = 0; i < _LINE_MAX; i++) {
                size_t length = strlen(kinds[i].word);

                if (begins(line, n, kinds[i].word) && (n == length || strchr(" \t\r", line[length])))
                        return i;
        }
        return _LINE_MAX;
}

/* Nobody can have meant something by it. */
static bool is_silent(const char *line, size_t n) {
        while (n > 0 && strchr(" \t\r", *line))
                line++, n--;
        return n == 0 || *line == '#';
}

static int read_words(Reading *reading, unsigned number, const char *line, size_t n) {
        LineKind kind = kind_of(line, n);
        const char *odd;
        Words words;
        int r = -EBADMSG;

        if (kind == _LINE_MAX) {
                if (reading->keyring->remark == 0 && !is_silent(line, n))
                        reading->keyring->remark = number;
                return 0;
        }
        odd = words_split(&words, line, n);
        if (odd)
                return wrong(reading, number, odd, NULL);
        if (kinds[kind].again && reading->seen[kind])
                return wrong(reading, number, kinds[kind].again, NULL);
        if (words.n >= kinds[kind].min && words.n <= kinds[kind].max && !(kinds[kind].is_before_quorum && reading->seen[LINE_QUORUM]))
                r = kinds[kind].read(reading->keyring, words.words, words.n);
        reading->seen[kind]++;
        if (r == -EBADMSG && kind == LINE_QUORUM)
                return wrong(reading, number, "is no `quorum NAME|none|K` that can stand there: the lines before it name no such group, or fewer witnesses", NULL);
        return r == -EBADMSG ? wrong(reading, number, "is no ", kinds[kind].form) : r;
}

/* A key in a block may sign anything. One that is none of ours spoils the file: a key skipped is trust lost unnoticed. */
static int read_block(Reading *reading, unsigned number, size_t n) {
        KeyringKey entry = { .until_index = UINT64_MAX };
        int r;

        r = public_key_from_pem(&entry.key, reading->block, n);
        reading->block = NULL;
        if (r == 0)
                r = keyring_add_key(reading->keyring, &entry);
        return r == -EBADMSG ? wrong(reading, number, "ends a PEM block that is no public key, Ed25519 or P-256, or one that a `record` names, too", NULL) : r;
}

static int read_line(Reading *reading, unsigned number, const char *line, size_t n) {
        if (begins(line, n, BEGIN)) {
                if (reading->block)
                        return wrong(reading, number, "is no ", "-----END of the block before");
                reading->block = line;
        } else if (!reading->block)
                return read_words(reading, number, line, n);
        else if (begins(line, n, END))
                return read_block(reading, number, (size_t) (line + n - reading->block));
        return 0;
}

/* Some lines must be there, and some may not stand together. */
static int check(Reading *reading) {
        const RecordKeyring *keyring = reading->keyring;

        if (reading->block)
                return wrong_whole(reading, "a PEM block has no end");
        /* Whoever names logs says what is asked of witnesses, if only that nothing is. */
        if (reading->seen[LINE_LOG] + reading->seen[LINE_WITNESS] + reading->seen[LINE_GROUP] > 0 && !reading->seen[LINE_QUORUM])
                return wrong_whole(reading, "no last line tells the quorum of witnesses, `quorum none` where none is asked for");
        if (keyring_check_witnesses(keyring) < 0)
                return wrong_whole(reading, "a witness has the key of a log, or of records: it would vouch for itself");
        if (keyring->n_keys + keyring->n_logs + keyring->n_witnesses + keyring->n_roots == 0)
                return wrong_whole(reading, "it holds no public keys in PEM form");
        return 0;
}

int keyring_read(const char *text, size_t n, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = keyring_new();
        Reading reading = { .keyring = keyring, .wrong = ret_wrong };
        unsigned number = 1;
        int r = 0;

        if (n > KEYRING_FILE_MAX)
                return -E2BIG;
        if (!keyring)
                return -ENOMEM;
        for (const char *line = text, *end; line < text + n && r == 0; line = end + 1, number++) {
                end = memchr(line, '\n', n - (size_t) (line - text)) ?: text + n;
                r = read_line(&reading, number, line, (size_t) (end - line));
        }
        if (r == 0)
                r = check(&reading);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(keyring);
        return 0;
}
