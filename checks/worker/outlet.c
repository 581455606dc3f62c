/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/outlet.h"

#include <assert.h>
#include <string.h>

#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"

static int write_all(int fd, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t written = write(fd, bytes, n);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return -errno;

                bytes += written;
                n -= (size_t) written;
        }

        return 0;
}

int outlet_flush(Outlet *outlet) {
        if (outlet->n_buffer == 0 || outlet->failure < 0)
                return outlet->failure;

        outlet->failure = write_all(outlet->fd, outlet->buffer, outlet->n_buffer);
        outlet->n_buffer = 0;
        return outlet->failure;
}

static void append(Outlet *outlet, const char *bytes, size_t n) {
        if (n > sizeof(outlet->buffer)) {
                outlet->failure = -EPROTO;
                return;
        }

        if (n > sizeof(outlet->buffer) - outlet->n_buffer)
                (void) outlet_flush(outlet);
        if (outlet->failure < 0)
                return;

        memcpy(outlet->buffer + outlet->n_buffer, bytes, n);
        outlet->n_buffer += n;
        outlet->n_bytes += n;
}

void outlet_forward(Outlet *outlet, char *line, size_t n) {
        _cleanup_free_ char *numbered = NULL;
        char kept;

        assert(n > 0 && line[n - 1] == '\n');

        if (outlet->failure < 0)
                return;

        kept = line[n];
        line[n] = '\0';
        numbered = stream_number(line, outlet->sequence);
        line[n] = kept;
        if (!numbered) {
                outlet->failure = -ENOMEM;
                return;
        }

        outlet->sequence++;
        append(outlet, numbered, strlen(numbered));
}

void outlet_write(Outlet *outlet, char *lines) {
        if (!lines && outlet->failure == 0)
                outlet->failure = -ENOMEM;

        for (char *line = lines; line && *line;) {
                char *end = strchr(line, '\n');

                assert(end);
                outlet_forward(outlet, line, (size_t) (end - line) + 1);
                line = end + 1;
        }

        free(lines);
}
