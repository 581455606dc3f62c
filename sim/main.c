/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim: plays Trainium2 servers, healthy and broken.
 */

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/verbs/verbs.h"

typedef struct Verb {
        const char *name;
        int (*run)(int argc, char *argv[]);
        const char *arguments;
        const char *summary;
} Verb;

static const Verb verbs[] = {
        { "serve",  verb_serve,  "SCENARIO.yaml [--socket PATH] [--mode OCTAL] [--threads N]", "play the servers of a scenario" },
        { "check",  verb_check,  "SCENARIO.yaml [--stream FILE|-]",  "validate a scenario; compare a scan with what it expects" },
        { "inject", verb_inject, "FAULT... [--socket PATH]",         "break something in a running simulator" },
        { "heal",   verb_heal,   "ID|LOCATION|all [--socket PATH]",  "take faults out again" },
        { "faults", verb_faults, "[--json] [--socket PATH]",         "list what is broken now" },
        { "use",    verb_use,    "[IN-USE...] [--socket PATH]",      "say which rows carry live data; list them, and who wrote there" },
        { "reset",  verb_reset,  "SERVER[/CHIP]... [--socket PATH]", "reset chips: repairs, latches and generators take effect" },
        { "kinds",  verb_kinds,  "[--json] [KIND|FAMILY...]",               "list what can break, where, and how" },
        { "coverage", verb_coverage, "[--json|--matrix] [--strict] [TEST|NOTATION...]", "count which faults march tests find" },
        { "qualify", verb_qualify, "--plan PLAN [--kind KIND]... [--family FAMILY] [--samples N]\n            [--seed N] [--healthy N] [--probability P] [--jobs N]\n            [--stalls] [--json]",
          "inject random faults, scan, and say what the plan finds" },
};

/* Of one verb, or of all. */
static int help(FILE *out, const Verb *verb, int status) {
        fputs("assay-sim VERB …\n\n", out);
        for (size_t i = 0; i < ELEMENTS(verbs); i++)
                if (!verb || verb == &verbs[i])
                        fprintf(out, "  %-8s  %s\n            %s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary);
        fputs("\nThe socket is assay-sim.sock unless --socket or $ASSAY_SIM_SOCKET says\n"
              "otherwise.\n"
              "Exit status: 0 done, 1 a scan differs from what was expected, 2 could not be\n"
              "judged, 64 bad input, 69 no simulator there, 77 not permitted.\n"
              "More: assay-sim(1), and assay-coverage(7) for march tests.\n",
              out);
        return status;
}

int main(int argc, char *argv[]) {
        if (argc < 2)
                return help(stderr, NULL, STATUS_USAGE);
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
                return help(stdout, NULL, STATUS_PASSED);
        if (strcmp(argv[1], "--version") == 0)
                return printf("assay-sim %s\n", ASSAY_VERSION) < 0;

        for (size_t i = 0; i < ELEMENTS(verbs); i++)
                if (strcmp(argv[1], verbs[i].name) == 0)
                        return argc == 3 && strcmp(argv[2], "--help") == 0 ? help(stdout, &verbs[i], STATUS_PASSED) :
                                                                             verbs[i].run(argc - 1, argv + 1);

        fprintf(stderr, "assay-sim: no verb is called \"%s\"; see assay-sim --help\n", argv[1]);
        return STATUS_USAGE;
}
