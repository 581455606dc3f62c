/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/assayctl.h"
#include "cli/call.h"

/* A temporary name first: a reader never sees half an export. */
static int write_file(const char *path, const char *text, size_t n) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = 0;

        if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
                return -ENOMEM;
        fd = mkstemp(temporary);
        if (fd < 0)
                return -errno;

        while (n > 0 && r == 0) {
                ssize_t k = write(fd, text, n);

                if (k < 0 && errno != EINTR)
                        r = -errno;
                else if (k > 0) {
                        text += k;
                        n -= (size_t) k;
                }
        }
        if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(temporary, path) < 0))
                r = -errno;
        if (r < 0)
                (void) unlink(temporary);
        return r;
}

int verb_export(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *lines = NULL;
        uint64_t first, count = 1;
        size_t n = 0;
        int r;

        if (parse_u64(argv[0], &first) < 0 || (argc > 1 && (parse_u64(argv[1], &count) < 0 || count == 0)))
                return complain(STATUS_USAGE, "FIRST and COUNT are numbers");

        r = call_connect(&bus);
        if (r != 0)
                return r;
        r = call_records(bus, first, count, &error, &lines, &n);
        if (r < 0)
                return complain_bus(&error, r, "could not read records");

        if (options.output) {
                r = write_file(options.output, lines, n);
                if (r < 0)
                        return complain(STATUS_CANNOT_TELL, "%s: %s", options.output, strerror(-r));
        } else if (fwrite(lines, 1, n, stdout) != n)
                return complain(STATUS_CANNOT_TELL, "could not write: %m");
        return STATUS_PASSED;
}
