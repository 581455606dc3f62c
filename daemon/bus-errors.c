/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/bus-errors.h"
#include "daemon/names.h"

static const sd_bus_error_map errors[] = {
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_TARGET, ENOENT),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_PLAN, ENOENT),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_BAD_PLAN, EBADMSG),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_SCAN, ESRCH),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_SCAN_FINISHED, ESTALE),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_TOO_MANY_SCANS, EDQUOT),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_OCCUPIED, EBUSY),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_SUCH_RECORD, ERANGE),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_NO_CHECKPOINT, ENODATA),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_STORE, EIO),
        SD_BUS_ERROR_MAP(ASSAY_ERROR_KEY_CHANGED, EKEYEXPIRED),
        SD_BUS_ERROR_MAP_END
};

int bus_errors_add(void) {
        return sd_bus_error_add_map(errors);
}

/* How many bytes of TEXT are one character; 0: it begins none (RFC 3629). */
static size_t character_bytes(const unsigned char *text) {
        size_t n = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : text[0] >= 0xe0 && text[0] < 0xf0 ? 3 : text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : 0;

        for (size_t i = 1; i < n; i++)
                if ((text[i] & 0xc0) != 0x80)
                        return 0;
        /* Too long for what they say, surrogates, and beyond the last code point. */
        if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf0 && text[1] < 0x90) ||
            (text[0] == 0xf4 && text[1] >= 0x90))
                return 0;
        return n;
}

void bus_text_mend(char *text) {
        while (*text) {
                size_t n = character_bytes((const unsigned char *) text);

                if (n == 0)
                        *text = '?';
                text += n == 0 ? 1 : n;
        }
}

int bus_error_set(sd_bus_error *error, const char *name, const char *format, ...) {
        char *text = NULL;
        va_list arguments;
        int r;

        va_start(arguments, format);
        r = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (r < 0)
                return sd_bus_error_set_errno(error, -ENOMEM);
        bus_text_mend(text);
        r = sd_bus_error_set(error, name, text);
        free(text);
        return r;
}

int bus_check_flags(uint64_t flags, uint64_t known, sd_bus_error *error) {
        if ((flags & ~known) != 0)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Unknown flags 0x%" PRIx64,
                                     flags & ~known);
        return 0;
}
