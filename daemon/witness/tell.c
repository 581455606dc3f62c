/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/witness/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tell(int level, const char *format, ...) {
        char line[1024];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(line, sizeof(line), format, arguments);
        va_end(arguments);
        /* systemd sets this where stderr is the journal: then a line starts with its priority. */
        if (getenv("JOURNAL_STREAM"))
                fprintf(stderr, "<%d>%s\n", level, line);
        else
                fprintf(stderr, "assay-witness: %s\n", line);
}
