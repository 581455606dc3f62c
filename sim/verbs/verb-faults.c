/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim faults: lists what is broken in a running simulator.
 */

#include <stdio.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/port/control.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

int verb_faults(int argc, char *argv[]) {
        Options options;

        if (options_parse(argc, argv, OPTION_SOCKET | OPTION_JSON, 0, 0, &options) < 0)
                return STATUS_USAGE;
        return control_ask(options.socket, CONTROL_FAULTS, options.json ? "json" : "", stdout);
}
