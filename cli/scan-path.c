/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/scan-path.h"

#include <string.h>

#include "cli/assayctl.h"
#include "cli/call.h"

int scan_path(sd_bus *bus, const char *id, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *path;
        uint64_t number;
        int r;

        if (parse_u64(id, &number) < 0)
                return complain(STATUS_USAGE, "'%s' is no scan number; assayctl scans lists them", id);

        r = call_manager(bus, "GetScan", &error, &reply, "t", number);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return complain_bus(&error, r, "could not find the scan");

        *ret = strdup(path);
        return *ret ? 0 : complain(STATUS_CANNOT_TELL, "out of memory");
}
