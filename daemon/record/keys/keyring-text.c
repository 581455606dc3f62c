/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/words.h"
#include "daemon/record/keys/keyring.h"

/* The lines of c2sp.org/tlog-policy among PEM blocks. Words of other lines are a remark, as OpenSSL has it. */

#define GROUP_WORDS_MAX (3 + CHECKPOINT_WITNESSES_MAX + QUORUM_GROUPS_MAX)
#define NONE            "none"

static_assert(GROUP_WORDS_MAX <= WORDS_MAX, "every group fits");

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

/* Names are shown to people: those beyond ASCII, which the standard allows, are none of ours. */
static bool name_is_free(const RecordKeyring *keyring, const char *name) {
        for (const char *c = name; *c; c++)
                if (*c < 0x21 || *c > 0x7e)
                        return false;
        return strlen(name) < NOTE_NAME_MAX && strcmp(name, NONE) != 0 && bit_of(keyring, name) == 0;
}

static int read_log(RecordKeyring *keyring, const Words *words) {
        KeyringLog log = {};

        if (note_key_parse(&log.key, words->words[1]) < 0 || log.key.type != NOTE_LOG)
                return -EBADMSG;
        return keyring_add_log(keyring, &log);
}

static int read_witness(RecordKeyring *keyring, const Words *words) {
        KeyringWitness witness = {};

        if (!name_is_free(keyring, words->words[1]) || (note_key_parse(&witness.key, words->words[2]) < 0 && !note_vkey_is_other(words->words[2])))
                return -EBADMSG;
        if (words->n > 3 && strlen(words->words[3]) >= sizeof(witness.url))
                return -EBADMSG;
        (void) strcpy(witness.name, words->words[1]);
        (void) strcpy(witness.url, words->n > 3 ? words->words[3] : "");
        return keyring_add_witness(keyring, &witness);
}

static int read_group(RecordKeyring *keyring, const Words *words) {
        Quorum *quorum = &keyring->quorum;
        QuorumGroup group = {};
        unsigned n = (unsigned) words->n - 3;

        if (quorum->n_groups == QUORUM_GROUPS_MAX || !name_is_free(keyring, words->words[1]))
                return -EBADMSG;
        if (strcmp(words->words[2], "all") == 0)
                group.threshold = n;
        else if (strcmp(words->words[2], "any") == 0)
                group.threshold = 1;
        else if (!parse_count(words->words[2], &group.threshold) || group.threshold > n)
                return -EBADMSG;
        for (size_t i = 3; i < words->n; i++) {
                uint64_t bit = bit_of(keyring, words->words[i]);

                /* Nobody counts twice, not by way of two groups either. */
                for (size_t j = 0; j < quorum->n_groups; j++)
                        if (quorum->groups[j].members & bit)
                                return -EBADMSG;
                if (bit == 0 || group.members & bit)
                        return -EBADMSG;
                group.members |= bit;
        }
        (void) strcpy(group.name, words->words[1]);
        quorum->groups[quorum->n_groups++] = group;
        return 0;
}

static int read_quorum(RecordKeyring *keyring, const Words *words) {
        unsigned threshold;

        if (strcmp(words->words[1], NONE) == 0)
                return 0;
        keyring->quorum.wanted = bit_of(keyring, words->words[1]);
        if (keyring->quorum.wanted)
                return 0;
        return parse_count(words->words[1], &threshold) ? keyring_set_quorum(keyring, threshold) : -EBADMSG;
}

enum {
        LINE_LOG,
        LINE_WITNESS,
        LINE_GROUP,
        LINE_QUORUM,
        _LINE_MAX,
};

static const struct {
        const char *word, *form;
        size_t min, max; /* words */
        int (*read)(RecordKeyring *keyring, const Words *words);
} kinds[] = {
        [LINE_LOG] = { "log", "log VKEY [URL]", 2, 3, read_log }, /* and its URL, which is for others */
        [LINE_WITNESS] = { "witness", "witness NAME VKEY [URL]", 3, 4, read_witness },
        [LINE_GROUP] = { "group", "group NAME all|any|K NAME...", 4, GROUP_WORDS_MAX, read_group },
        [LINE_QUORUM] = { "quorum", "quorum NAME|none|K", 2, 2, read_quorum },
};

static bool begins(const char *line, size_t n, const char *word) {
        return n >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Whether WORD is the first of the line. */
static bool is_about(const char *line, size_t n, const char *word) {
        while (n > 0 && (*line == ' ' || *line == '\t'))
                line++, n--;
        return begins(line, n, word) && (n == strlen(word) || line[strlen(word)] == ' ' || line[strlen(word)] == '\t' || line[strlen(word)] == '\r');
}

/* *ret_form is what the line should have been, while it is one of ours; *ret_wrong what makes it none of words. */
static int read_line(RecordKeyring *keyring, const char *line, size_t n, unsigned seen[static _LINE_MAX], const char **ret_form,
                     const char **ret_wrong) {
        Words words;

        for (size_t i = 0; i < _LINE_MAX; i++) {
                if (!is_about(line, n, kinds[i].word))
                        continue;
                *ret_form = kinds[i].form;
                *ret_wrong = words_split(&words, line, n);
                if (*ret_wrong)
                        return -EBADMSG;
                if (i == LINE_QUORUM && seen[LINE_QUORUM]) {
                        *ret_wrong = "is a second `quorum`: a keyring has one, also one made of several: leave all but one out";
                        return -EBADMSG;
                }
                /* What follows the quorum would not be in it. */
                if (words.n < kinds[i].min || words.n > kinds[i].max || (i != LINE_LOG && seen[LINE_QUORUM]))
                        return -EBADMSG;
                seen[i]++;
                return kinds[i].read(keyring, &words);
        }
        return 0;
}

int keyring_read_lines(RecordKeyring *keyring, const char *text, size_t n, char wrong[static KEYRING_WRONG_MAX]) {
        unsigned seen[_LINE_MAX] = {}, number = 1;
        bool in_block = false;

        for (const char *line = text, *end; line < text + n; line = end + 1, number++) {
                const char *form = "-----END of the block before", *wrong_words = NULL;
                size_t left = n - (size_t) (line - text), n_line;
                int r = 0;

                end = memchr(line, '\n', left) ?: text + n;
                n_line = (size_t) (end - line);
                if (begins(line, n_line, "-----BEGIN "))
                        r = in_block ? -EBADMSG : 0, in_block = true;
                else if (in_block)
                        in_block = !begins(line, n_line, "-----END ");
                else
                        r = read_line(keyring, line, n_line, seen, &form, &wrong_words);
                if (r == 0)
                        continue;
                (void) (wrong_words ? snprintf(wrong, KEYRING_WRONG_MAX, "line %u %s", number, wrong_words)
                                    : snprintf(wrong, KEYRING_WRONG_MAX, "line %u is no `%s` that can stand there", number, form));
                return r;
        }
        (void) snprintf(wrong, KEYRING_WRONG_MAX, "a PEM block has no end");
        if (in_block)
                return -EBADMSG;
        /* Whoever names logs says what is asked of witnesses, if only that nothing is. */
        (void) snprintf(wrong, KEYRING_WRONG_MAX, "no last line tells the quorum of witnesses, `quorum none` where none is asked for");
        return seen[LINE_LOG] + seen[LINE_WITNESS] + seen[LINE_GROUP] > 0 && !seen[LINE_QUORUM] ? -EBADMSG : 0;
}
