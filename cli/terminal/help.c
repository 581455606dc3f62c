/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/terminal/wrap.h"

#define OPTION_COLUMN 21
#define VERB_COLUMN   28
#define OF_A_PLAN     "scan, verdict, gate, coverage, verify"
#define OF_A_KEYRING  "scan, show, verdict, gate, verify, audit, explain"

/* One thing that an option means; the rows of an option follow each other. */
typedef struct OptionHelp {
        const char *verbs; /* to these, "scan, gate"; "": to those that no other row of the option names */
        const char *parts; /* and of such a verb in these forms alone, "ring, sign"; "": in all */
        const char *name;
        const char *argument;
        const char *text;
} OptionHelp;

static const OptionHelp of_every_verb[] = {
        { "", "", "json",     "",            "machine-readable output" },
        { "", "", "host",     "[USER@]HOST", "talk to the daemon of another machine over ssh" },
        { "", "", "bus",      "ADDRESS",     "a bus other than the system's" },
        { "", "", "no-pager", "",            "do not pipe long output into a pager" },
        { "", "", "quiet",    "",            "say only what cannot be left out" },
        { "", "", "strict",   "",            "WARNED counts as failed" },
        { "", "", "help",     "",            "this; of a verb alone, where one is named" },
        { "", "", "version",  "",            "of this program" },
        {},
};

static const OptionHelp of_some_verbs[] = {
        { OF_A_PLAN,               "",               "plan",       "NAME",     "the plan (scan: preflight, coverage: infleet by default)" },
        { "scan",                  "",               "seed",       "N",        "repeat the random choices of an earlier scan" },
        { "scan",                  "",               "note",       "TEXT",     "a line, such as a work order, to be signed into the records of its servers" },
        { "scan",                  "",               "challenge",  "BASE64",   "4 to 128 characters of base64 to be signed into the records, at best 16 random bytes" },
        { "verify",                "",               "challenge",  "BASE64",   "the one that must be in them" },
        { "scan",                  "",               "budget",     "SEC",      "less device time than the plan allows" },
        { "scan",                  "",               "no-wait",    "",         "print the scan's number and leave" },
        { "targets",               "",               "chips",      "",         "list chips too" },
        { "audit",                 "",               "chips",      "",         "how often each was scanned, and with what result" },
        { "audit",                 "",               "checkpoint", "FILE",     "what the log has signed of itself" },
        { "audit",                 "",               "archive",    "FOLDER",   "archives, with the records that the log has no more" },
        { "verdict, gate, verify", "",               "max-age",    "AGE",      "older is unknown, unless FAILED (90s, 15min, 12h, 7d)" },
        { "gate",                  "",               "timeout",    "SEC",      "how long an answer may take, 2 by default, and then it is 69" },
        { "gate",                  "",               "unknown",    "WORD",     "what unknown means to this hook, pass or fail" },
        { "gate",                  "",               "npd",        "",         "for node-problem-detector, codes 0 1 2, at most 80 bytes" },
        { OF_A_KEYRING,            "",               "keyring",    "FILE",     "whose word counts, as `keys show` prints it (--key says the same)" },
        { "cosign",                "",               "keyring",    "FILE",     "the witnesses to ask, default /etc/assay/witnesses" },
        { "keys",                  "rotate",         "key",        "FILE",     "the daemon's own, default /etc/assay/keys/record.pem" },
        { "keys",                  "ring, sign",     "key",        "FILE",     "of a root" },
        { "",                      "",               "key",        "FILE",     "another word for --keyring" },
        { OF_A_KEYRING,            "",               "root",       "FILE",     "the root keys that vouch for a signed keyring" },
        { "verify, audit",         "",               "state",      "DIR",      "remember what was seen here, and refuse what is older" },
        { "verify",                "",               "subject",    "WHAT",     "it must be about this: a serial, or an identity document (./FILE) or its SHA-256" },
        { "verify",                "",               "proof",      "FILE",     "that the record is in its log (tlog-proof)" },
        { "verify",                "",               "payload",    "",         "print the signed statement after it has verified" },
        { "keys",                  "create, rotate", "algorithm",  "WORD",     "ed25519 (default, but rotate: as before) or ecdsa-p256" },
        { "keys",                  "create, show",   "origin",     "NAME",     "of a log, whose verifier key is told too" },
        { "keys",                  "rotate",         "to",         "FILE|URI", "to this key, and change no file" },
        { "keys",                  "rotate",         "finish",     "KEYID",    "this change is in the log, as assayd said when it would not start" },
        { "export",                "",               "format",     "WORD",     "jsonl (default), cloudevents, proof, bundle, identity, trusted-root, tiles" },
        { "watch",                 "",               "format",     "WORD",     "cloudevents" },
        { "export",                "",               "output",     "FILE",     "instead of stdout, for tiles a folder" },
        { "keys",                  "ring, sign",     "output",     "FILE",     "instead of stdout" },
        {},
};

/* Whether LIST, of words that commas or blanks part, has WORD. */
static bool has_word(const char *list, const char *word) {
        size_t n = strlen(word);

        for (const char *p = list; *p; p += strcspn(p, ", "), p += strspn(p, ", "))
                if (strcspn(p, ", ") == n && strncmp(p, word, n) == 0)
                        return true;
        return false;
}

bool help_takes(const Verb *verb, const char *name) {
        return has_word(verb->options, name);
}

/* How many rows, from the first on, are of the same option. */
static size_t rows_of(const OptionHelp *rows) {
        size_t n = 1;

        while (rows[n].name && strcmp(rows[n].name, rows->name) == 0)
                n++;
        return n;
}

/* Whether one of N rows names VERB. */
static bool is_named(const OptionHelp *rows, size_t n, const Verb *verb) {
        for (size_t i = 0; i < n; i++)
                if (has_word(rows[i].verbs, verb->name))
                        return true;
        return false;
}

/* VERB NULL: of all. */
static void print_option(const OptionHelp *rows, size_t n, const Verb *verb) {
        char term[OPTION_COLUMN + 16], text[512] = "";
        bool named = verb && is_named(rows, n, verb);

        for (size_t i = 0; i < n; i++) {
                const OptionHelp *row = &rows[i];
                bool tells_verb = *row->parts || (!verb && *row->verbs);
                size_t used = strlen(text);

                if (!verb || (named ? has_word(row->verbs, verb->name) : !*row->verbs))
                        (void) snprintf(text + used, sizeof(text) - used, "%s%s%s%s%s%s", used > 0 ? "; " : "", tells_verb ? row->verbs : "",
                                        *row->parts ? " " : "", row->parts, tells_verb ? ": " : "", row->text);
        }
        (void) snprintf(term, sizeof(term), "  --%s%s%s", rows->name, *rows->argument ? " " : "", rows->argument);
        wrap_term(OPTION_COLUMN, term, text);
}

/* VERB NULL: those of all. */
static void print_options(const Verb *verb) {
        bool is_first = true;
        size_t n;

        for (const OptionHelp *rows = of_some_verbs; rows->name; rows += n) {
                n = rows_of(rows);
                if (verb && !help_takes(verb, rows->name))
                        continue;
                if (is_first)
                        puts(verb ? "\nIts options:" : "\nOptions of some verbs:");
                print_option(rows, n, verb);
                is_first = false;
        }
        puts("\nOptions of every verb:");
        for (const OptionHelp *row = of_every_verb; row->name; row++)
                print_option(row, 1, NULL);
}

static void print_verb(const Verb *verb) {
        char term[64];

        (void) snprintf(term, sizeof(term), "  %-9s %s", verb->name, verb->arguments);
        wrap_term(VERB_COLUMN, term, verb->summary);
}

void help_print(const Verb *verb) {
        if (verb) {
                printf("assayctl [OPTIONS] %s%s%s\n\n", verb->name, *verb->arguments ? " " : "", verb->arguments);
                wrap_print(0, verb->summary);
        } else {
                puts("assayctl [OPTIONS] VERB …\n");
                wrap_print(0, "Asks assayd: may this server carry work, and can you prove it?");
                puts("\nVerbs:");
                for (size_t i = 0; verb_at(i); i++)
                        print_verb(verb_at(i));
        }
        print_options(verb);
        putchar('\n');
        wrap_print(0, "Exit status: 0 PASSED or WARNED, 1 FAILED, 2 cannot tell, 3 refused (does not verify), 64 usage or bad input, "
                      "69 daemon not reachable, 77 not permitted, 130 a scan left by a second Ctrl-C. More: assayctl(1), and assay-records(7) for what is signed.");
}
