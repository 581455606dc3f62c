/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/assayctl.h"
#include "cli/call.h"
#include "cli/scan-path.h"
#include "daemon/names.h"

int verb_cancel(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *path = NULL;
        uint64_t id;
        int r;

        r = call_connect(&bus);
        if (r != 0)
                return r;
        r = scan_path(bus, argv[0], &id, &path);
        if (r != 0)
                return r;

        r = call_object(bus, path, ASSAY_SCAN_INTERFACE, "Cancel", &error, NULL, "t", (uint64_t) 0);
        return r < 0 ? complain_bus(&error, r, "could not cancel the scan") : STATUS_PASSED;
}
