/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <jansson.h>

#include "cli/assayctl.h"
#include "cli/call.h"

int verb_verdict(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *verdict, *reason;
        uint64_t record, age;
        Result result;
        int r;

        r = call_connect(&bus);
        if (r != 0)
                return r;

        r = call_manager(bus, "GetVerdict", &error, &reply, "sstt", argv[0], options.plan ?: "", options.max_age_usec, (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "sstt", &verdict, &reason, &record, &age);
        if (r < 0)
                return complain_bus(&error, r, "could not ask for the verdict");

        if (record == UINT64_MAX && !call_is_target(bus, argv[0])) {
                char why[512];

                call_tell_target(bus, argv[0], why, sizeof(why));
                return complain(STATUS_USAGE, "%s", why);
        }
        result = result_from_string(verdict);
        if (result < 0)
                return complain(STATUS_CANNOT_TELL, "the daemon says '%s', which is no verdict", verdict);

        if (options.json) {
                _cleanup_(json_decrefp) json_t *object = json_pack("{s:s, s:s, s:s}", "target", argv[0], "verdict", verdict, "reason", reason);

                if (record != UINT64_MAX && object) {
                        (void) json_object_set_new(object, "record", json_integer((json_int_t) record));
                        (void) json_object_set_new(object, "age_sec", json_real((double) age / 1e6));
                }
                (void) json_dumpf(object, stdout, JSON_INDENT(2));
                putchar('\n');
        } else if (record == UINT64_MAX)
                printf("%s  %s  %s\n", argv[0], verdict, reason);
        else
                printf("%s  %s  %s  record %" PRIu64 ", %.0f s ago\n", argv[0], verdict, reason, record, (double) age / 1e6);

        return result_to_status(result, options.strict);
}
