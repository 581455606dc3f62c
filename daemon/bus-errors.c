/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

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

int bus_check_flags(uint64_t flags, uint64_t known, sd_bus_error *error) {
        if ((flags & ~known) != 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "Unknown flags 0x%" PRIx64,
                                         flags & ~known);
        return 0;
}
