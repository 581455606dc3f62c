/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/verbs/verbs.h"

#include <limits.h>
#include <stdio.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/verbs/options.h"

int verb_ask_each(int argc, char *argv[], ControlVerb verb, int min) {
        Options options;
        int first, status = STATUS_PASSED;

        first = options_parse(argc, argv, OPTION_SOCKET, min, INT_MAX, &options);
        if (first < 0)
                return STATUS_USAGE;
        if (first == argc)
                return control_ask(options.socket, verb, "", stdout);
        for (int i = first; i < argc && status == STATUS_PASSED; i++) {
                status = control_ask(options.socket, verb, argv[i], stdout);
                if (status == STATUS_USAGE && argc - first > 1)
                        fprintf(stderr, "assay-sim %s: that was number %d of %d; those before it are done, those behind it were not tried\n",
                                argv[0], i - first + 1, argc - first);
        }
        return status;
}
