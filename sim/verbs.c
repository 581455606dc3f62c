/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/verbs.h"

#include <limits.h>
#include <stdio.h>

#include "checks/catalogue.h"
#include "sim/options.h"

int verb_ask_each(int argc, char *argv[], ControlVerb verb) {
        Options options;
        int first, status = STATUS_PASSED;

        first = options_parse(argc, argv, OPTION_SOCKET, 1, INT_MAX, &options);
        if (first < 0)
                return STATUS_USAGE;
        for (int i = first; i < argc && status == STATUS_PASSED; i++)
                status = control_ask(options.socket, verb, argv[i], stdout);
        return status;
}
