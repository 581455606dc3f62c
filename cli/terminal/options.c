/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/terminal/help.h"
#include "cli/terminal/nearest.h"
#include "cli/terminal/say.h"

Options options = { .bus = "system", .max_age_usec = UINT64_MAX, .timeout_sec = 2 };

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

#define SEC_MAX     1e6 /* of a limit to wait for */
#define AGE_SEC_MAX 1e11 /* three thousand years, and far from what 64 bits of microseconds hold */

/* "90", "90s", "15min", "12h", "7d": for --max-age. */
static int take_age(const char *text, void *target) {
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
                        uint64_t *usec = target;

                        *usec = (uint64_t) (value * units[i].sec * 1e6);
                        return *usec > 0 ? 0 : -EINVAL; /* 0 is `any age` on the bus */
                }

        return -EINVAL;
}

static int take_seconds(const char *text, void *target) {
        double value;
        char *end;

        errno = 0;
        value = strtod(text, &end);
        if (end == text || *end || errno != 0 || !(value > 0) || value > SEC_MAX)
                return -EINVAL;
        *(double *) target = value;
        return 0;
}

static int take_text(const char *text, void *target) {
        *(const char **) target = text;
        return 0;
}

static int take_seed(const char *text, void *target) {
        options.has_seed = true;
        return parse_u64(text, target);
}

static int take_pass_or_fail(const char *text, void *target) {
        return strcmp(text, "pass") == 0 || strcmp(text, "fail") == 0 ? take_text(text, target) : -EINVAL;
}

#define FORM_SECONDS "seconds, such as 2 or 0.5"

/* Each option, where its value goes, and how that is read. What help.c says of it stands there, and which verbs take it, in these. */
static const struct {
        const char *name;
        void *target; /* in `options`: a bool without TAKE */
        int (*take)(const char *text, void *target); /* -EINVAL: TEXT is not of the FORM */
        const char *form;
        bool is_global; /* each verb takes it */
} rows[] = {
        { "help",       NULL,                  NULL,              NULL,          true },
        { "version",    NULL,                  NULL,              NULL,          true },
        { "host",       &options.host,         take_text,         NULL,          true },
        { "bus",        &options.bus,          take_text,         NULL,          true },
        { "json",       &options.json,         NULL,              NULL,          true },
        { "no-pager",   &options.no_pager,     NULL,              NULL,          true },
        { "quiet",      &options.quiet,        NULL,              NULL,          true },
        { "strict",     &options.strict,       NULL,              NULL,          true },
        { "chips",      &options.chips                                                },
        { "no-wait",    &options.no_wait                                              },
        { "npd",        &options.npd                                                  },
        { "payload",    &options.payload                                              },
        { "plan",       &options.plan,         take_text                              },
        { "key",        &options.key,          take_text                              },
        { "output",     &options.output,       take_text                              },
        { "format",     &options.format,       take_text                              },
        { "checkpoint", &options.checkpoint,   take_text                              },
        { "archive",    &options.archive,      take_text                              },
        { "challenge",  &options.challenge,    take_text                              },
        { "note",       &options.note,         take_text                              },
        { "unknown",    &options.unknown,      take_pass_or_fail, "pass or fail"      },
        { "seed",       &options.seed,         take_seed,         "a whole number from 0 to 18446744073709551615" },
        { "budget",     &options.budget_sec,   take_seconds,      FORM_SECONDS        },
        { "max-age",    &options.max_age_usec, take_age,          "an age, such as 90s, 15min, 12h or 7d" },
        { "keyring",    &options.key,          take_text                              },
        { "root",       &options.root,         take_text                              },
        { "state",      &options.state,        take_text                              },
        { "subject",    &options.subject,      take_text                              },
        { "proof",      &options.proof,        take_text                              },
        { "algorithm",  &options.algorithm,    take_text                              },
        { "origin",     &options.origin,       take_text                              },
        { "to",         &options.to,           take_text                              },
        { "finish",     &options.finish,       take_text                              },
        { "timeout",    &options.timeout_sec,  take_seconds,      FORM_SECONDS        },
};

static_assert(ELEMENTS(rows) <= 64, "options given are bits of 64");

enum { ROW_HELP, ROW_VERSION, FIRST_VALUE = 0x100 }; /* getopt returns FIRST_VALUE and the row */

/* getopt has said which. ARGUMENT: "--plna=x", or what stood behind an option that lacks its value. */
static int refuse_unknown(const char *argument) {
        char question[NEAREST_MAX + 32] = "", name[NEAREST_MAX];
        Nearest nearest;

        (void) snprintf(name, sizeof(name), "%.*s", (int) strcspn(argument, "="), argument);
        nearest = nearest_to(name);
        for (size_t i = 0; strncmp(name, "--", 2) == 0 && i < ELEMENTS(rows); i++) {
                char whole[NEAREST_MAX];

                (void) snprintf(whole, sizeof(whole), "--%s", rows[i].name);
                nearest_offer(&nearest, whole);
        }
        if (nearest.distance > 0)
                (void) nearest_question(&nearest, question, sizeof(question));
        return complain(STATUS_USAGE, "assayctl --help lists options, assayctl VERB --help those of a verb%s", question);
}

int options_parse(int argc, char **argv, uint64_t *ret_given, bool *ret_help) {
        struct option long_options[ELEMENTS(rows) + 1] = {};
        int option;

        for (size_t i = 0; i < ELEMENTS(rows); i++)
                long_options[i] = (struct option) { rows[i].name, rows[i].take ? required_argument : no_argument, NULL, FIRST_VALUE + (int) i };

        while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
                size_t row = option == 'h' ? ROW_HELP : (size_t) (option - FIRST_VALUE);

                if (option == '?')
                        return refuse_unknown(argv[optind - 1]);
                if (row == ROW_VERSION) {
                        puts("assayctl " ASSAY_VERSION);
                        return STATUS_PASSED;
                }
                if (row == ROW_HELP)
                        *ret_help = true;
                else if (!rows[row].take)
                        *(bool *) rows[row].target = true;
                else if (rows[row].take(optarg, rows[row].target) < 0)
                        return complain(STATUS_USAGE, "--%s does not take '%s', but %s", rows[row].name, optarg, rows[row].form);
                *ret_given |= UINT64_C(1) << row;
        }

        return -1;
}

int options_refuse(const Verb *verb, uint64_t given) {
        for (size_t i = 0; i < ELEMENTS(rows); i++)
                if ((given & UINT64_C(1) << i) && !rows[i].is_global && !help_takes(verb, rows[i].name))
                        return complain(STATUS_USAGE, "%s takes no --%s; assayctl %s --help lists what it takes", verb->name, rows[i].name, verb->name);

        return 0;
}
