/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"
#include "checks/vocabulary/verdict.h"
#include "cli/terminal/say.h"

/* A new name would take the place of a device or a link for everybody. */
static bool is_replaced(const char *path) {
        struct stat st;

        return lstat(path, &st) < 0 || S_ISREG(st.st_mode);
}

static int open_temporary(Output *output) {
        _cleanup_close_ int fd = -EBADF;

        if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
                output->temporary = NULL;
                return -ENOMEM;
        }
        fd = mkostemp(output->temporary, O_CLOEXEC);
        if (fd < 0) {
                int r = -errno;

                free(output->temporary); /* it is nobody's file */
                output->temporary = NULL;
                return r;
        }
        output->file = fdopen(fd, "we");
        if (!output->file)
                return -errno;
        (void) TAKE_FD(fd);
        return 0;
}

int output_open(Output *output, const char *path) {
        int r = 0;

        output->path = path;
        if (!path)
                output->file = stdout;
        else if (is_replaced(path))
                r = open_temporary(output);
        else
                r = (output->file = fopen(path, "we")) ? 0 : -errno;
        return r < 0 ? complain(STATUS_USAGE, "%s: %s", path, strerror(-r)) : 0;
}

static int finish_temporary(Output *output) {
        int fd = fileno(output->file);

        if (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(output->temporary, output->path) < 0)
                return -errno;
        free(output->temporary);
        output->temporary = NULL;
        return whole_file_settle(AT_FDCWD, output->path);
}

int output_finish(Output *output) {
        int r = fflush(output->file) != 0 || ferror(output->file) ? -errno : 0;

        if (r == 0 && output->temporary)
                r = finish_temporary(output);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "%s: %s", output->path ?: "could not write", strerror(-r)) : 0;
}

void output_done(Output *output) {
        if (output->file && output->file != stdout)
                (void) fclose(output->file);
        if (output->temporary)
                (void) unlink(output->temporary);
        free(output->temporary);
}
