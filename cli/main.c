/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assayctl
 *
 * One verb after the options; every verb is a file of its own.
 */

#include <getopt.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "checks/vocabulary/verdict.h"
#include "cli/terminal/help.h"
#include "cli/terminal/nearest.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"

static int refuse_verb(const char *name) {
        Nearest nearest = nearest_to(name);
        char question[NEAREST_MAX + 32];

        for (size_t i = 0; verb_at(i); i++)
                nearest_offer(&nearest, verb_at(i)->name);
        return complain(STATUS_USAGE, "no verb is called '%s'; assayctl --help lists them%s", name, nearest_question(&nearest, question, sizeof(question)));
}

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; verb_at(i); i++)
                if (strcmp(verb_at(i)->name, name) == 0)
                        return verb_at(i);

        return NULL;
}

static int run(const Verb *verb, uint64_t given, int argc, char **argv) {
        int status;

        if (argc < verb->min || (verb->max >= 0 && argc > verb->max))
                return complain(STATUS_USAGE, "usage: assayctl %s%s%s", verb->name, *verb->arguments ? " " : "", verb->arguments);
        if (options_refuse(verb, given) != 0)
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
        status = options_parse(argc, argv, &given, &wants_help);
        if (status >= 0)
                return status;
        if (optind < argc) {
                verb = find_verb(argv[optind]);
                if (!verb)
                        return refuse_verb(argv[optind]);
        }

        if (wants_help || !verb) {
                help_print(verb);
                status = wants_help ? STATUS_PASSED : STATUS_USAGE;
        } else
                status = run(verb, given, argc - optind - 1, argv + optind + 1);
        return fflush(stdout) != 0 || ferror(stdout) ? complain(STATUS_CANNOT_TELL, "could not write: %m") : status;
}
