/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/event.h"

#include <inttypes.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/terminal/say.h"


int event_print(FILE *file, const char *origin, const RecordVerified *verified, const char *envelope, size_t n) {
        _cleanup_free_ char *event = NULL;
        int r;

        r = record_cloudevent(origin, verified, envelope, n, &event, &n);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "record %" PRIu64 ": %s", verified->entry.index, strerror(-r));
        if (n > RECORD_CLOUDEVENT_PORTABLE)
                (void) complain(0, "the event of record %" PRIu64 " has %zu bytes, and not every transport takes more than %d", verified->entry.index,
                                n, RECORD_CLOUDEVENT_PORTABLE);
        return fwrite(event, 1, n, file) == n && fputc('\n', file) != EOF ? 0 : complain(STATUS_CANNOT_TELL, "could not write: %m");
}
