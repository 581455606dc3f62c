/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/wrap.h"

#define OPTION_COLUMN 21
#define VERB_COLUMN   28

typedef struct OptionHelp {
        const char *name;
        const char *argument;
        const char *text; /* VERBS: what */
} OptionHelp;

static const OptionHelp of_every_verb[] = {
        { "json",    "",            "machine-readable output"                          },
        { "host",    "[USER@]HOST", "talk to the daemon of another machine over ssh"    },
        { "bus",     "ADDRESS",     "a bus other than the system's"                    },
        { "no-pager", "",           "do not pipe long output into a pager"             },
        { "quiet",   "",            "say only what cannot be left out"                 },
        { "strict",  "",            "WARNED counts as failed"                          },
        { "help",    "",            "this; of a verb alone, where one is named"        },
        { "version", "",            "of this program"                                  },
        {},
};

static const OptionHelp of_some_verbs[] = {
        { "plan",       "NAME",     "scan, verdict, gate, coverage, verify: the plan (scan: preflight, coverage: infleet by default)"          },
        { "seed",       "N",        "scan: repeat the random choices of an earlier scan"                                                       },
        { "note",       "TEXT",     "scan: a line, such as a work order, to be signed into the records of its servers"                             },
        { "challenge",  "BASE64",   "scan: 4 to 128 characters of base64 to be signed into the records, at best 16 random bytes; verify: the one that must be in them"               },
        { "budget",     "SEC",      "scan: less device time than the plan allows"                                                              },
        { "no-wait",    "",         "scan: print the scan's number and leave"                                                                  },
        { "chips",      "",         "targets: list chips too; audit: how often each was scanned, and with what result"                         },
        { "checkpoint", "FILE",     "audit: what the log has signed of itself"                                                                 },
        { "archive",    "FOLDER",   "audit: archives, with the records that the log has no more"                                               },
        { "max-age",    "AGE",      "verdict, gate, verify: older is unknown, unless FAILED (90s, 15min, 12h, 7d)"                             },
        { "timeout",    "SEC",      "gate: how long an answer may take, 2 by default, and then it is 69"                                           },
        { "unknown",    "WORD",     "gate: what unknown means to this hook, pass or fail"                                                      },
        { "npd",        "",         "gate: for node-problem-detector, codes 0 1 2, at most 80 bytes"                                               },
        { "keyring",    "FILE",     "scan, show, verdict, gate, verify, audit, explain: whose word counts, as `keys show` prints it (--key says the same); "
                                    "cosign: the witnesses to ask, default /etc/assay/witnesses"                                               },
        { "key",        "FILE",     "keys rotate: the daemon's own, default /etc/assay/keys/record.pem; keys ring, sign: of a root; "
                                    "another word for --keyring"                                                                     },
        { "root",       "FILE",     "scan, show, verdict, gate, verify, audit, explain: the root keys that vouch for a signed keyring"                             },
        { "state",      "DIR",      "verify, audit: remember what was seen here, and refuse what is older"                                     },
        { "subject",    "WHAT",     "verify: it must be about this: a serial, or an identity document (./FILE) or its SHA-256"                 },
        { "proof",      "FILE",     "verify: that the record is in its log (tlog-proof)"                                                       },
        { "payload",    "",         "verify: print the signed statement after it has verified"                                                 },
        { "algorithm",  "WORD",     "keys create, rotate: ed25519 (default, but rotate: as before) or ecdsa-p256"                                  },
        { "origin",     "NAME",     "keys create, show: of a log, whose verifier key is told too"                                              },
        { "to",         "FILE|URI", "keys rotate: to this key, and change no file"                                                             },
        { "finish",     "KEYID",    "keys rotate: this change is in the log, as assayd said when it would not start"                           },
        { "format",     "WORD",     "export: jsonl (default), cloudevents, proof, bundle, identity, trusted-root, tiles; watch: cloudevents" },
        { "output",     "FILE",     "export, keys ring, keys sign: instead of stdout, for tiles a folder"                                      },
        {},
};

bool help_takes(const Verb *verb, const char *name) {
        size_t n = strlen(name);

        for (const char *p = verb->options; (p = strstr(p, name)); p += n)
                if ((p == verb->options || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
                        return true;

        return false;
}

/* How much of CLAUSE, N bytes, says which verbs it is of ("keys ring, sign: "); 0: nothing does. */
static size_t verbs_of(const char *clause, size_t n) {
        const char *colon = memmem(clause, n, ": ", 2);

        for (const char *c = clause; colon && c < colon; c++)
                if (!strchr("abcdefghijklmnopqrstuvwxyz, ", *c))
                        return 0;
        return colon ? (size_t) (colon - clause) + 2 : 0;
}

static bool has_word(const char *text, size_t n, const char *word) {
        size_t k = strlen(word);

        for (const char *p = text; (p = memmem(p, n - (size_t) (p - text), word, k)); p += k)
                if ((p == text || p[-1] == ' ') && (p[k] == ',' || p[k] == ':' || p[k] == ' '))
                        return true;
        return false;
}

/* As "keys ring". */
static bool has_parts(const char *clause, const Verb *verb) {
        size_t n = strlen(verb->name);

        return strncmp(clause, verb->name, n) == 0 && clause[n] == ' ';
}

/* Of the clauses of TEXT, which "; " parts, those of VERB, without its name; or, where none is, those of no verb. */
static void write_text_of(const Verb *verb, const char *text, char *ret, size_t size) {
        for (int pass = 0; pass < 2 && !*ret; pass++)
                for (const char *clause = text, *next; *clause; clause = next) {
                        const char *end = strstr(clause, "; ");
                        size_t n = end ? (size_t) (end - clause) : strlen(clause), head = verbs_of(clause, n), used = strlen(ret);

                        next = end ? end + 2 : clause + n;
                        if (pass == 0 ? head == 0 || !has_word(clause, head, verb->name) : head > 0)
                                continue;
                        if (has_parts(clause, verb)) /* which must be told apart */
                                head = 0;
                        (void) snprintf(ret + used, size - used, "%s%.*s", used > 0 ? "; " : "", (int) (n - head), clause + head);
                }
}

/* VERB NULL: of all. */
static void print_option(const OptionHelp *option, const Verb *verb) {
        char term[OPTION_COLUMN + 16], text[256] = "";

        (void) snprintf(term, sizeof(term), "  --%s%s%s", option->name, *option->argument ? " " : "", option->argument);
        if (verb)
                write_text_of(verb, option->text, text, sizeof(text));
        wrap_term(OPTION_COLUMN, term, *text ? text : option->text);
}

/* VERB NULL: those of all. */
static void print_options(const Verb *verb) {
        bool is_first = true;

        for (const OptionHelp *option = of_some_verbs; option->name; option++) {
                if (verb && !help_takes(verb, option->name))
                        continue;
                if (is_first)
                        puts(verb ? "\nIts options:" : "\nOptions of some verbs:");
                print_option(option, verb);
                is_first = false;
        }
        puts("\nOptions of every verb:");
        for (const OptionHelp *option = of_every_verb; option->name; option++)
                print_option(option, NULL);
}

static void print_verb(const Verb *verb) {
        char term[64];

        (void) snprintf(term, sizeof(term), "  %-9s %s", verb->name, verb->arguments);
        wrap_term(VERB_COLUMN, term, verb->summary);
}

void help_print(const Verb verbs[], const Verb *verb) {
        if (verb) {
                printf("assayctl [OPTIONS] %s%s%s\n\n", verb->name, *verb->arguments ? " " : "", verb->arguments);
                wrap_print(0, verb->summary);
        } else {
                puts("assayctl [OPTIONS] VERB …\n");
                wrap_print(0, "Asks assayd: may this server carry work, and can you prove it?");
                puts("\nVerbs:");
                for (const Verb *each = verbs; each->name; each++)
                        print_verb(each);
        }
        print_options(verb);
        putchar('\n');
        wrap_print(0, "Exit status: 0 PASSED or WARNED, 1 FAILED, 2 cannot tell, 3 refused (does not verify), 64 usage or bad input, "
                      "69 daemon not reachable, 77 not permitted, 130 a scan left by a second Ctrl-C. More: assayctl(1), and assay-records(7) for what is signed.");
}
