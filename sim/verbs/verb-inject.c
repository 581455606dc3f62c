/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim inject: puts faults into a running simulator and prints their ids; in a terminal with what they are.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

/* "fault 7: {at: …}. assay-sim faults lists what is broken" */
static int inject_told(const char *socket, const char *fault) {
        char *id = NULL;
        size_t n;
        int status;
        FILE *file = open_memstream(&id, &n);

        if (!file)
                return control_ask(socket, CONTROL_INJECT, fault, stdout);
        status = control_ask(socket, CONTROL_INJECT, fault, file);
        if (fclose(file) == 0 && status == STATUS_PASSED)
                printf("fault %.*s: %s. assay-sim faults lists what is broken, heal mends it\n", (int) strcspn(id, "\n"), id, fault);
        free(id);
        return status;
}

int verb_inject(int argc, char *argv[]) {
        Options options;
        int first, status = STATUS_PASSED;

        if (!isatty(STDOUT_FILENO))
                return verb_ask_each(argc, argv, CONTROL_INJECT, 1);
        first = options_parse(argc, argv, OPTION_SOCKET, 1, INT_MAX, &options);
        if (first < 0)
                return STATUS_USAGE;
        for (int i = first; i < argc && status == STATUS_PASSED; i++)
                status = inject_told(options.socket, argv[i]);
        return status;
}
