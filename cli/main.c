/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assayctl
 *
 * One verb table; every verb is a file of its own.
 */

#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/assayctl.h"
#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/pager.h"
#include "cli/wrap.h"

Options options = { .bus = "system", .max_age_usec = UINT64_MAX, .timeout_sec = 2 };

static const Verb verbs[] = {
        { "targets",   0, 0,  "",             "List servers (and chips) with state and newest verdict",  "chips",                             verb_targets   },
        { "scan",      1, -1, "TARGET...",      "Scan servers, chips or an UltraServer and show the verdicts", "plan seed challenge note budget no-wait key keyring root", verb_scan      },
        { "scans",     0, 0,  "",             "List the last scans",                                     "",                                  verb_scans     },
        { "watch",     0, 0,  "",             "Print every record as it is signed",                      "format",                            verb_watch     },
        { "show",      1, 1,  "SCAN|ID",      "Show a scan and its verdicts",                            "key keyring root",                  verb_show      },
        { "cancel",    1, 1,  "SCAN",         "Cancel a scan",                                           "",                                  verb_cancel    },
        { "verdict",   1, 1,  "TARGET",       "Show the newest verdict on a server or chip",             "plan max-age key keyring root",      verb_verdict   },
        { "gate",      1, 1,  "TARGET",       "For hooks: 0 fit, 1 not fit, 2 unknown, one line of reason", "plan max-age timeout key keyring root npd unknown", verb_gate      },
        { "coverage",  1, 1,  "TARGET",       "Show which regions of memory were tested, and when",      "plan",                              verb_coverage  },
        { "records",   0, 2,  "[FIRST [COUNT]]", "List signed records",                                  "",                                  verb_records   },
        { "verify",    1, -1, "INDEX|ID|FILE...",  "Verify records, from the daemon or offline from files",
          "key keyring root state subject proof challenge plan max-age payload", verb_verify    },
        { "export",    0, 2,  "[FIRST [COUNT]]", "Write records, or the log, in forms that others read", "format key output",                 verb_export    },
        { "audit",     0, 1,  "[FILE|FOLDER]", "Check a whole log: the daemon's, or one in files",        "key keyring root state checkpoint archive chips", verb_audit     },
        { "cosign",    0, -1, "[WITNESS...]",  "Have the log's newest checkpoint cosigned by witnesses",  "key keyring",                       verb_cosign    },
        { "plans",     0, 1,  "[PLAN]",       "List plans, or show one",                                 "",                                  verb_plans     },
        { "explain",   0, 1,  "[CODE|INDEX|ID]", "List finding codes, explain one, or the findings of a record", "key keyring root",                  verb_explain   },
        { "keys",      1, 2,  "create FILE | show [FILE|URI] | rotate | ring TEXT | sign KEYRING", "Make keys, show them, change the daemon's; make keyrings", "algorithm origin key to finish output", verb_keys      },
        { "status",    0, 0,  "",             "Show how the log is: signing, published, read again",     "",                                  verb_status    },
        { "log-level", 0, 1,  "[LEVEL]",      "Show or set the daemon's log level",                      "",                                  verb_log_level },
        {},
};

enum {
        OPTION_HELP = 0x100,
        OPTION_VERSION,
        OPTION_HOST,
        OPTION_BUS,
        OPTION_JSON,
        OPTION_NO_PAGER,
        OPTION_QUIET,
        OPTION_STRICT,
        _OPTION_GLOBAL_END,
        OPTION_CHIPS,
        OPTION_NO_WAIT,
        OPTION_NPD,
        OPTION_PAYLOAD,
        OPTION_PLAN,
        OPTION_KEY,
        OPTION_OUTPUT,
        OPTION_FORMAT,
        OPTION_CHECKPOINT,
        OPTION_ARCHIVE,
        OPTION_CHALLENGE,
        OPTION_NOTE,
        OPTION_UNKNOWN,
        OPTION_SEED,
        OPTION_BUDGET,
        OPTION_MAX_AGE,
        OPTION_KEYRING,
        OPTION_ROOT,
        OPTION_STATE,
        OPTION_SUBJECT,
        OPTION_PROOF,
        OPTION_ALGORITHM,
        OPTION_ORIGIN,
        OPTION_TO,
        OPTION_FINISH,
        OPTION_TIMEOUT,
};

static const struct option long_options[] = {
        { "help",      no_argument,       NULL, OPTION_HELP      },
        { "version",   no_argument,       NULL, OPTION_VERSION   },
        { "host",      required_argument, NULL, OPTION_HOST      },
        { "bus",       required_argument, NULL, OPTION_BUS       },
        { "json",      no_argument,       NULL, OPTION_JSON      },
        { "no-pager",  no_argument,       NULL, OPTION_NO_PAGER  },
        { "quiet",     no_argument,       NULL, OPTION_QUIET     },
        { "strict",    no_argument,       NULL, OPTION_STRICT    },
        { "chips",     no_argument,       NULL, OPTION_CHIPS     },
        { "no-wait",   no_argument,       NULL, OPTION_NO_WAIT   },
        { "npd",       no_argument,       NULL, OPTION_NPD       },
        { "payload",   no_argument,       NULL, OPTION_PAYLOAD   },
        { "plan",      required_argument, NULL, OPTION_PLAN      },
        { "key",       required_argument, NULL, OPTION_KEY       },
        { "output",    required_argument, NULL, OPTION_OUTPUT    },
        { "format",    required_argument, NULL, OPTION_FORMAT    },
        { "checkpoint", required_argument, NULL, OPTION_CHECKPOINT },
        { "archive",   required_argument, NULL, OPTION_ARCHIVE   },
        { "challenge", required_argument, NULL, OPTION_CHALLENGE },
        { "note",      required_argument, NULL, OPTION_NOTE      },
        { "unknown",   required_argument, NULL, OPTION_UNKNOWN   },
        { "seed",      required_argument, NULL, OPTION_SEED      },
        { "budget",    required_argument, NULL, OPTION_BUDGET    },
        { "max-age",   required_argument, NULL, OPTION_MAX_AGE   },
        { "keyring",   required_argument, NULL, OPTION_KEYRING   },
        { "root",      required_argument, NULL, OPTION_ROOT      },
        { "state",     required_argument, NULL, OPTION_STATE     },
        { "subject",   required_argument, NULL, OPTION_SUBJECT   },
        { "proof",     required_argument, NULL, OPTION_PROOF     },
        { "algorithm", required_argument, NULL, OPTION_ALGORITHM },
        { "origin",    required_argument, NULL, OPTION_ORIGIN    },
        { "to",        required_argument, NULL, OPTION_TO        },
        { "finish",    required_argument, NULL, OPTION_FINISH    },
        { "timeout",   required_argument, NULL, OPTION_TIMEOUT   },
        {},
};

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; (text = strchr(text, '\n')); text++)
                n++;
        return n;
}

/*
 * Control characters, also those that UTF-8 writes as two bytes, would be commands to a terminal. And a line that FORMAT does not have is what a
 * stranger wants to be read as ours: then all of it is one.
 */
void make_plain(char *text, const char *format) {
        bool is_ours = count_lines(text) == count_lines(format);

        for (unsigned char *c = (unsigned char *) text; *c; c++)
                if ((*c < 0x20 && *c != '\n') || *c == 0x7f || (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) ||
                    (*c == '\n' && !is_ours && c[1]))
                        *c = '?';
}

__attribute__((format(printf, 2, 0))) static void vsay(FILE *file, const char *format, va_list arguments) {
        char *text = NULL;

        if (vasprintf(&text, format, arguments) < 0)
                return;
        make_plain(text, format);
        fputs(text, file);
        free(text);
}

void say(FILE *file, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        vsay(file, format, arguments);
        va_end(arguments);
}

void say_words(size_t indent, const char *format, ...) {
        va_list arguments;
        char *text = NULL;
        int r;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0)
                return;
        make_plain(text, format);
        wrap_print(indent, text);
        free(text);
}

int complain(int status, const char *format, ...) {
        va_list arguments;

        fputs("assayctl: ", stderr);
        va_start(arguments, format);
        vsay(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        return status;
}

int parse_u64(const char *text, uint64_t *ret) {
        unsigned long long value;
        char *end;

        if (text[0] < '0' || text[0] > '9')
                return -EINVAL;

        errno = 0;
        value = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10); /* 010 is ten */
        if (errno != 0 || *end)
                return -EINVAL;

        *ret = value;
        return 0;
}

#define AGE_SEC_MAX 1e11 /* three thousand years, and far from what 64 bits of microseconds hold */

/* "90", "90s", "15min", "12h", "7d": for --max-age. */
static int parse_age(const char *text, uint64_t *ret_usec) {
        static const struct {
                const char *suffix;
                double sec;
        } units[] = { { "", 1 }, { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
        double value;
        char *end;

        errno = 0;
        value = strtod(text, &end);
        if (end == text || errno != 0 || !(value >= 0))
                return -EINVAL;

        for (size_t i = 0; i < ELEMENTS(units); i++)
                if (strcmp(end, units[i].suffix) == 0 && value * units[i].sec <= AGE_SEC_MAX) {
                        *ret_usec = (uint64_t) (value * units[i].sec * 1e6);
                        return *ret_usec > 0 ? 0 : -EINVAL; /* 0 is `any age` on the bus */
                }

        return -EINVAL;
}

static int parse_seconds(const char *text, double *ret) {
        char *end;

        errno = 0;
        *ret = strtod(text, &end);
        return end == text || *end || errno != 0 || !(*ret > 0) || *ret > 1e6 ? -EINVAL : 0;
}

static int apply(int option, const char *value) {
        switch (option) {
        case OPTION_HOST: options.host = value; return 0;
        case OPTION_BUS: options.bus = value; return 0;
        case OPTION_JSON: options.json = true; return 0;
        case OPTION_NO_PAGER: options.no_pager = true; return 0;
        case OPTION_QUIET: options.quiet = true; return 0;
        case OPTION_STRICT: options.strict = true; return 0;
        case OPTION_CHIPS: options.chips = true; return 0;
        case OPTION_NO_WAIT: options.no_wait = true; return 0;
        case OPTION_NPD: options.npd = true; return 0;
        case OPTION_PAYLOAD: options.payload = true; return 0;
        case OPTION_PLAN: options.plan = value; return 0;
        case OPTION_KEY:
        case OPTION_KEYRING: options.key = value; return 0;
        case OPTION_ROOT: options.root = value; return 0;
        case OPTION_STATE: options.state = value; return 0;
        case OPTION_SUBJECT: options.subject = value; return 0;
        case OPTION_PROOF: options.proof = value; return 0;
        case OPTION_ALGORITHM: options.algorithm = value; return 0;
        case OPTION_ORIGIN: options.origin = value; return 0;
        case OPTION_TO: options.to = value; return 0;
        case OPTION_FINISH: options.finish = value; return 0;
        case OPTION_OUTPUT: options.output = value; return 0;
        case OPTION_FORMAT: options.format = value; return 0;
        case OPTION_CHECKPOINT: options.checkpoint = value; return 0;
        case OPTION_ARCHIVE: options.archive = value; return 0;
        case OPTION_CHALLENGE: options.challenge = value; return 0;
        case OPTION_NOTE: options.note = value; return 0;
        case OPTION_UNKNOWN: options.unknown = value; return strcmp(value, "pass") == 0 || strcmp(value, "fail") == 0 ? 0 : -EINVAL;
        case OPTION_SEED: options.has_seed = true; return parse_u64(value, &options.seed);
        case OPTION_BUDGET: return parse_seconds(value, &options.budget_sec);
        case OPTION_TIMEOUT: return parse_seconds(value, &options.timeout_sec);
        case OPTION_MAX_AGE: return parse_age(value, &options.max_age_usec);
        default: return -EINVAL;
        }
}

/* The forms of a value that apply() may refuse. */
static const char *option_form(int option) {
        switch (option) {
        case OPTION_UNKNOWN: return "pass or fail";
        case OPTION_SEED: return "a whole number from 0 to 18446744073709551615";
        case OPTION_BUDGET:
        case OPTION_TIMEOUT: return "seconds, such as 2 or 0.5";
        case OPTION_MAX_AGE: return "an age, such as 90s, 15min, 12h or 7d";
        default: return "another value";
        }
}

static const char *option_name(int option) {
        for (const struct option *o = long_options; o->name; o++)
                if (o->val == option)
                        return o->name;

        return "?";
}

/* getopt has said which. ARGUMENT: "--plna=x", or what stood behind an option that lacks its value. */
static int refuse_option(const char *argument) {
        char question[NEAREST_MAX + 32] = "", name[NEAREST_MAX];
        Nearest nearest;

        (void) snprintf(name, sizeof(name), "%.*s", (int) strcspn(argument, "="), argument);
        nearest = nearest_to(name);
        for (const struct option *o = long_options; strncmp(name, "--", 2) == 0 && o->name; o++) {
                char whole[NEAREST_MAX];

                (void) snprintf(whole, sizeof(whole), "--%s", o->name);
                nearest_offer(&nearest, whole);
        }
        if (nearest.distance > 0)
                (void) nearest_question(&nearest, question, sizeof(question));
        return complain(STATUS_USAGE, "assayctl --help lists options, assayctl VERB --help those of a verb%s", question);
}

/* Returns -1 to go on, or an exit status. */
static int parse_options(int argc, char **argv, uint64_t *ret_given, bool *ret_help) {
        int option;

        while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
                if (option == 'h' || option == OPTION_HELP) {
                        *ret_help = true;
                        continue;
                }
                if (option == OPTION_VERSION) {
                        puts("assayctl " ASSAY_VERSION);
                        return STATUS_PASSED;
                }
                if (option == '?')
                        return refuse_option(argv[optind - 1]);
                if (apply(option, optarg) < 0)
                        return complain(STATUS_USAGE, "--%s does not take '%s', but %s", option_name(option), optarg, option_form(option));
                if (option > _OPTION_GLOBAL_END)
                        *ret_given |= UINT64_C(1) << (option - _OPTION_GLOBAL_END);
        }

        return -1;
}

static int refuse_options(const Verb *verb, uint64_t given) {
        for (const struct option *o = long_options; o->name; o++)
                if (o->val > _OPTION_GLOBAL_END && (given & UINT64_C(1) << (o->val - _OPTION_GLOBAL_END)) &&
                    !help_takes(verb, o->name))
                        return complain(STATUS_USAGE, "%s takes no --%s; assayctl %s --help lists what it takes", verb->name, o->name, verb->name);

        return 0;
}

static int refuse_verb(const char *name) {
        Nearest nearest = nearest_to(name);
        char question[NEAREST_MAX + 32];

        for (const Verb *verb = verbs; verb->name; verb++)
                nearest_offer(&nearest, verb->name);
        return complain(STATUS_USAGE, "no verb is called '%s'; assayctl --help lists them%s", name, nearest_question(&nearest, question, sizeof(question)));
}

static const Verb *find_verb(const char *name) {
        for (const Verb *verb = verbs; verb->name; verb++)
                if (strcmp(verb->name, name) == 0)
                        return verb;

        return NULL;
}

static int run(const Verb *verb, uint64_t given, int argc, char **argv) {
        int status;

        if (argc < verb->min || (verb->max >= 0 && argc > verb->max))
                return complain(STATUS_USAGE, "usage: assayctl %s%s%s", verb->name, *verb->arguments ? " " : "", verb->arguments);
        if (refuse_options(verb, given) != 0)
                return STATUS_USAGE;

        status = verb->run(argc, argv);
        pager_close();
        return status;
}

int main(int argc, char **argv) {
        const Verb *verb = NULL;
        bool wants_help = false;
        uint64_t given = 0;
        int status;

        /* The names and sentences that are printed are UTF-8 in any locale; without this tables would escape them. Of a locale nothing else is wanted. */
        (void) setlocale(LC_CTYPE, "C.UTF-8");
        argv[0] = (char *) "assayctl"; /* as getopt complains, too */
        status = parse_options(argc, argv, &given, &wants_help);
        if (status >= 0)
                return status;
        if (optind < argc) {
                verb = find_verb(argv[optind]);
                if (!verb)
                        return refuse_verb(argv[optind]);
        }

        if (wants_help || !verb) {
                help_print(verbs, verb);
                status = wants_help ? STATUS_PASSED : STATUS_USAGE;
        } else
                status = run(verb, given, argc - optind - 1, argv + optind + 1);
        return fflush(stdout) != 0 || ferror(stdout) ? complain(STATUS_CANNOT_TELL, "could not write: %m") : status;
}
