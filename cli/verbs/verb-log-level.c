/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

#define LOG_CONTROL_PATH      "/org/freedesktop/LogControl1"
#define LOG_CONTROL_INTERFACE "org.freedesktop.LogControl1"

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *level = NULL;
        int r;

        r = call_connect(&bus);
        if (r != 0)
                return r;

        if (argc > 0)
                r = call_object(bus, LOG_CONTROL_PATH, "org.freedesktop.DBus.Properties", "Set", &error, NULL, "ssv", LOG_CONTROL_INTERFACE, "LogLevel", "s",
                                argv[0]);
        else
                r = reply_property_string(bus, LOG_CONTROL_PATH, LOG_CONTROL_INTERFACE, "LogLevel", &error, &level);
        if (r < 0)
                return complain_bus(&error, r, "log level");

        if (level)
                say(stdout, options.json ? "{\"level\": \"%s\"}\n" : "%s\n", level);
        return STATUS_PASSED;
}

const Verb verb_log_level = {
        .name = "log-level",
        .min = 0,
        .max = 1,
        .arguments = "[LEVEL]",
        .summary = "Show or set the daemon's log level",
        .options = "",
        .run = run,
};
