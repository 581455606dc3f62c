/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/scan-path.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

static int run(int argc, char **argv) {
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

const Verb verb_cancel = {
        .name = "cancel",
        .min = 1,
        .max = 1,
        .arguments = "SCAN",
        .summary = "Cancel a scan",
        .options = "",
        .run = run,
};
