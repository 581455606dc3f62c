/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdbool.h>

#include <systemd/sd-bus.h>

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
        SD_BUS_ERROR_MAP(ASSAY_ERROR_STORE, EIO),
        SD_BUS_ERROR_MAP_END
};

int bus_errors_add(void) {
        return sd_bus_error_add_map(errors);
}
