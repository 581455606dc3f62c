/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim check: is a scenario valid, and did a scan say what it expects?
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/fleet/comparison.h"
#include "sim/fleet/scenario.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

static int compare(const Scenario *scenario, const char *path) {
        FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
        int n;

        if (!file) {
                fprintf(stderr, "assay-sim check: %s: %s\n", path, strerror(errno));
                return STATUS_USAGE;
        }
        n = expectations_compare(scenario, file, stdout);
        if (file != stdin)
                (void) fclose(file);
        return n == 0 ? STATUS_PASSED : STATUS_FAILED;
}

int verb_check(int argc, char *argv[]) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_free_ char *error = NULL;
        Options options;
        int first;

        first = options_parse(argc, argv, OPTION_STREAM, 1, 1, &options);
        if (first < 0)
                return STATUS_USAGE;
        if (scenario_load(argv[first], &scenario, &error) < 0) {
                fprintf(stderr, "%s\n", error ? error : "out of memory");
                return STATUS_USAGE;
        }
        return options.stream ? compare(scenario, options.stream) : STATUS_PASSED;
}
