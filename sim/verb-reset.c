/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim reset: resets chips of a running simulator, as their driver would: what waits for a reset happens.
 */

#include <limits.h>
#include <stdio.h>

#include "checks/catalogue.h"
#include "sim/control.h"
#include "sim/options.h"
#include "sim/verbs.h"

int verb_reset(int argc, char *argv[]) {
        Options options;
        int first, status = STATUS_PASSED;

        first = options_parse(argc, argv, OPTION_SOCKET, 1, INT_MAX, &options);
        if (first < 0)
                return STATUS_USAGE;
        for (int i = first; i < argc && status == STATUS_PASSED; i++)
                status = control_ask(options.socket, CONTROL_RESET, argv[i], stdout);
        return status;
}
