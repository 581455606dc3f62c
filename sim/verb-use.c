/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim use: says which rows of a running simulator carry live data; without arguments, lists them and how often
 * commands trespassed on them.
 */

#include <limits.h>
#include <stdio.h>

#include "checks/catalogue.h"
#include "sim/control.h"
#include "sim/options.h"
#include "sim/verbs.h"

int verb_use(int argc, char *argv[]) {
        int first, status = STATUS_PASSED;
        Options options;

        first = options_parse(argc, argv, OPTION_SOCKET, 0, INT_MAX, &options);
        if (first < 0)
                return STATUS_USAGE;
        if (first == argc)
                return control_ask(options.socket, CONTROL_USE, "", stdout);
        for (int i = first; i < argc && status == STATUS_PASSED; i++)
                status = control_ask(options.socket, CONTROL_USE, argv[i], stdout);
        return status;
}
