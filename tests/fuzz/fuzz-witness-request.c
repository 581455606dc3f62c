/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The body of add-checkpoint, which anyone may send to a witness: what is taken for a request is printed as the same bytes again, so that
 * no two texts mean one thing, and all that it says lies within bounds.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/witness/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                    \
        do {                                                                                                \
                if (!(condition))                                                                           \
                        abort();                                                                            \
        } while (0)

static Request request;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *body = (const char *) data, *wrong = NULL;
        _cleanup_printer_ Printer again = {};
        int r;

        r = request_parse(body, size, &request, &wrong);
        if (r < 0) {
                HOLDS(r == -EBADMSG && wrong && *wrong);
                return 0;
        }
        HOLDS(!wrong && request.old <= TREE_SIZE_MAX && request.checkpoint.size <= TREE_SIZE_MAX && request.path.n <= TREE_PATH_MAX);
        HOLDS(request.note.text > body && request.note.text + request.n_note == body + size);
        HOLDS(memchr(request.checkpoint.origin, '\0', sizeof(request.checkpoint.origin)) && request.checkpoint.origin[0]);
        request_print(&again, request.old, &request.path, request.note.text, request.n_note);
        HOLDS(again.error == 0 && again.n == size && memcmp(again.text, body, size) == 0);
        return 0;
}
