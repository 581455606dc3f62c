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
        { "challenge",  "BASE64",   "scan: 4 to 128 characters of base64 to be signed into the records, at best 16 random bytes; verify: which must be in them"               },
        { "budget",     "SEC",      "scan: less device time than the plan allows"                                                              },
        { "no-wait",    "",         "scan: print the scan's number and leave"                                                                  },
        { "chips",      "",         "targets: list chips too; audit: how often each was scanned, and with what result"                         },
        { "checkpoint", "FILE",     "audit: what the log has signed of itself"                                                                 },
        { "archive",    "FOLDER",   "audit: archives, with the records that the log has no more"                                               },
        { "max-age",    "AGE",      "verdict, gate, verify: older is unknown, unless FAILED (90s, 15min, 12h, 7d)"                             },
        { "timeout",    "SEC",      "gate: how long an answer may take, 2 by default; then it is 69"                                           },
        { "unknown",    "WORD",     "gate: what unknown means to this hook, pass or fail"                                                      },
        { "npd",        "",         "gate: node-problem-detector: codes 0 1 2, at most 80 bytes"                                               },
        { "keyring",    "FILE",     "scan, show, verdict, gate, verify, audit, explain: whose word counts, as `keys show` prints it (--key says the same); "
                                    "cosign: the witnesses to ask, default /etc/assay/witnesses"                                               },
        { "key",        "FILE",     "keys rotate: the daemon's own, default /etc/assay/keys/record.pem; keys ring, sign: of a root; "
                                    "elsewhere another word for --keyring"                                                                     },
        { "root",       "FILE",     "scan, show, verdict, gate, verify, audit, explain: the root keys that vouch for a signed keyring"                             },
        { "state",      "DIR",      "verify, audit: remember what was seen here, and refuse what is older"                                     },
        { "subject",    "WHAT",     "verify: it must be about this: a serial, or an identity document (./FILE) or its SHA-256"                 },
        { "proof",      "FILE",     "verify: that the record is in its log (tlog-proof)"                                                       },
        { "payload",    "",         "verify: print the signed statement after it has verified"                                                 },
        { "algorithm",  "WORD",     "keys create, rotate: ed25519 (default; rotate: as before) or ecdsa-p256"                                  },
        { "origin",     "NAME",     "keys create, show: of a log, whose verifier key is told too"                                              },
        { "to",         "FILE|URI", "keys rotate: to this key, and change no file"                                                             },
        { "finish",     "KEYID",    "keys rotate: this change is in the log, as assayd said when it would not start"                           },
        { "format",     "WORD",     "export: jsonl (default), cloudevents, proof, bundle, identity, trusted-root, tiles; watch: cloudevents" },
        { "output",     "FILE",     "export, keys ring, keys sign: instead of stdout; a folder for tiles"                                      },
        {},
};

bool help_takes(const Verb *verb, const char *name) {
        size_t n = strlen(name);

        for (const char *p = verb->options; (p = strstr(p, name)); p += n)
                if ((p == verb->options || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
                        return true;

        return false;
}

static void print_option(const OptionHelp *option) {
        char term[OPTION_COLUMN + 16];

        (void) snprintf(term, sizeof(term), "  --%s%s%s", option->name, *option->argument ? " " : "", option->argument);
        wrap_term(OPTION_COLUMN, term, option->text);
}

/* VERB NULL: those of all. */
static void print_options(const Verb *verb) {
        bool is_first = true;

        for (const OptionHelp *option = of_some_verbs; option->name; option++) {
                if (verb && !help_takes(verb, option->name))
                        continue;
                if (is_first)
                        puts(verb ? "\nIts options:" : "\nOptions of some verbs:");
                print_option(option);
                is_first = false;
        }
        puts("\nOptions of every verb:");
        for (const OptionHelp *option = of_every_verb; option->name; option++)
                print_option(option);
}

static void print_verb(const Verb *verb) {
        char term[64];

        (void) snprintf(term, sizeof(term), "  %-9s %s", verb->name, verb->arguments);
        wrap_term(VERB_COLUMN, term, verb->summary);
}

void help_print(const Verb verbs[], const Verb *verb) {
        if (verb) {
                printf("assayctl [OPTIONS] %s %s\n\n", verb->name, verb->arguments);
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
