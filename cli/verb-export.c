/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/assayctl.h"
#include "cli/call.h"
#include "daemon/names.h"

static int write_all(int fd, const char *text, size_t n) {
        while (n > 0) {
                ssize_t k = write(fd, text, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                text += k;
                n -= (size_t) k;
        }
        return 0;
}

static uint64_t count_lines(const char *text, size_t n) {
        uint64_t lines = 0;

        for (const char *end = text + n; (text = memchr(text, '\n', (size_t) (end - text))); text++)
                lines++;
        return lines;
}

/* One call gives only so much: goes on until COUNT records or the end of the log. Returns an exit status. */
static int copy_records(sd_bus *bus, uint64_t first, uint64_t count, int fd) {
        for (bool begun = false; count > 0; begun = true) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_free_ char *lines = NULL;
                uint64_t n_lines;
                size_t n = 0;
                int r;

                r = call_records(bus, first, count, &error, &lines, &n);
                if (begun && sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_RECORD))
                        break;
                if (r < 0)
                        return complain_bus(&error, r, "could not read records");

                n_lines = count_lines(lines, n);
                if (n_lines == 0 || n_lines > count || lines[n - 1] != '\n')
                        return complain(STATUS_CANNOT_TELL, "the daemon sent something else than record %" PRIu64, first);
                r = write_all(fd, lines, n);
                if (r < 0)
                        return complain(STATUS_CANNOT_TELL, "could not write: %s", strerror(-r));
                first += n_lines;
                count -= n_lines;
        }
        return STATUS_PASSED;
}

/* A temporary name first: a reader never sees half an export. */
static int write_file(sd_bus *bus, uint64_t first, uint64_t count, const char *path) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        fd = mkostemp(temporary, O_CLOEXEC);
        if (fd < 0)
                return complain(STATUS_CANNOT_TELL, "%s: %m", path);

        r = copy_records(bus, first, count, fd);
        if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || rename(temporary, path) < 0))
                r = complain(STATUS_CANNOT_TELL, "%s: %m", path);
        if (r != 0)
                (void) unlink(temporary);
        return r;
}

int verb_export(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        uint64_t first, count = 1;
        int r;

        if (parse_u64(argv[0], &first) < 0 || (argc > 1 && (parse_u64(argv[1], &count) < 0 || count == 0)))
                return complain(STATUS_USAGE, "FIRST and COUNT are numbers");

        r = call_connect(&bus);
        if (r != 0)
                return r;

        return options.output ? write_file(bus, first, count, options.output) : copy_records(bus, first, count, STDOUT_FILENO);
}
