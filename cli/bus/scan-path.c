/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/scan-path.h"

#include <inttypes.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/record-name.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "daemon/names.h"

static bool has_record(sd_bus *bus, const char *path, uint64_t index) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const void *array = NULL;
        size_t n = 0;

        if (reply_property(bus, path, ASSAY_SCAN_INTERFACE, "Records", &error, "at", &reply) < 0 || sd_bus_message_read_array(reply, 't', &array, &n) < 0)
                return false;
        for (const uint64_t *at = array; n >= sizeof(*at); at++, n -= sizeof(*at))
                if (*at == index)
                        return true;
        return false;
}

/* The scan that a record is of, where it is among those that assayd lists. */
static int find_scan(sd_bus *bus, const char *name, uint64_t *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *plan, *state, *verdict, *path;
        uint64_t index = 0, id;
        int r;

        r = record_name_find(bus, name, &index);
        if (r != 0)
                return r;
        r = call_manager(bus, "ListScans", &error, &reply, "t", (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(tssso)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(tssso)", &id, &plan, &state, &verdict, &path)) > 0)
                if (has_record(bus, path, index)) {
                        *ret = id;
                        return 0;
                }
        if (r < 0)
                return complain_bus(&error, r, "could not list scans");
        return complain(STATUS_USAGE, "record %" PRIu64 " is of no scan that assayctl scans lists; assayctl explain %" PRIu64 " tells of it", index, index);
}

int scan_path(sd_bus *bus, const char *name, uint64_t *ret_id, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *path;
        uint64_t id = 0;
        int r = 0;

        if (record_name_is_id(name))
                r = find_scan(bus, name, &id);
        else if (parse_u64(name, &id) < 0)
                r = complain(STATUS_USAGE, "'%s' is no scan number; assayctl scans lists them", name);
        if (r != 0)
                return r;
        r = call_manager(bus, "GetScan", &error, &reply, "t", id);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return complain_bus(&error, r, "could not find the scan");

        *ret = strdup(path);
        if (!*ret)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        *ret_id = id;
        return 0;
}
