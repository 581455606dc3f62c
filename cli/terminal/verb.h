/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a verb of assayctl is. `const Verb verb_<name>` stands in cli/verbs/verb-<name>.c; a list that is generated from cli/meson.build has all of them.
 */

#include <stddef.h>

#define STATUS_INTERRUPTED 130 /* of a verb that was left by Ctrl-C, as shells say it; others stand in checks/vocabulary/verdict.h */

typedef struct Verb {
        const char *name;
        int min, max; /* arguments after the verb; max -1: any number */
        const char *arguments;
        const char *summary;
        const char *options; /* names of the long options it takes beside the global ones, space-separated */
        /*
         * Returns an exit status of checks/vocabulary/verdict.h. It prints its result on stdout and says on stderr what kept it from one. ARGV begins with
         * the first argument after the verb.
         */
        int (*run)(int argc, char **argv);
} Verb;

/* In the order in which help lists them; NULL behind the last one. */
const Verb *verb_at(size_t index);
