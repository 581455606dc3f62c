/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where --output says: a file, in whose place a new one is put when it is whole; or what is no plain file (a pipe, a device, a link, such as
 * /dev/stdout), which stays what it is and is written to. Without it, stdout.
 */

#include <stdio.h>

typedef struct Output {
        FILE *file;
        const char *path; /* the caller's; NULL: stdout */
        char *temporary;  /* NULL: written to directly */
} Output;

/* An exit status, complained about; 0: FILE is open. */
int output_open(Output *output, const char *path);

/* All of it is there, for whoever reads PATH from now on. An exit status, as above. */
int output_finish(Output *output);

/* What was not finished was never there. */
void output_done(Output *output);
