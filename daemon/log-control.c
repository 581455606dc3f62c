/* SPDX-License-Identifier: Apache-2.0 */

/* LogControl: see log-control.h. */

#include <stdlib.h>
#include <string.h>

#include "daemon/bus-errors.h"
#include "daemon/journal.h"
#include "daemon/log-control.h"
#include "daemon/names.h"

#define LOG_CONTROL_PATH      "/org/freedesktop/LogControl1"
#define LOG_CONTROL_INTERFACE "org.freedesktop.LogControl1"

static int property_get_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                              sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", journal_level_to_string(journal_level()));
}

static int property_set_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                              sd_bus_message *value, void *userdata, sd_bus_error *error) {
        const char *word;
        int r;

        r = sd_bus_message_read(value, "s", &word);
        if (r < 0)
                return r;
        r = journal_level_from_string(word);
        if (r < 0)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                     "Unknown log level '%.32s', expected emerg to debug", word);

        journal_set_level(r);
        return 0;
}

/*
 * sd-bus answers for the setter of a property when that returns, so it cannot wait for polkit. This looks at
 * each Set before the setter does, and lets it through when it is allowed.
 */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Authority *authority = userdata;
        const char *path = sd_bus_message_get_path(message), *interface, *property, *word;
        int r;

        if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Set") <= 0 || !path ||
            strcmp(path, LOG_CONTROL_PATH) != 0)
                return 0;

        r = sd_bus_message_read(message, "ssv", &interface, &property, "s", &word);
        if (r < 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Expected a log level");
        /* Nobody is asked about what cannot be set; and names of megabytes would be kept until he answers. */
        if (strcmp(interface, LOG_CONTROL_INTERFACE) != 0 || strcmp(property, "LogLevel") != 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Nothing but LogLevel can be set here");
        if (journal_level_from_string(word) < 0)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                     "Unknown log level '%.32s', expected emerg to debug", word);

        r = authorize(authority, message, ASSAY_ACTION_LOG_LEVEL, NULL, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1;

        r = sd_bus_message_rewind(message, true);
        return r < 0 ? r : 0;
}

/* Lines go to stderr, which is the journal where that is connected to it. */
static int property_get_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                               sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", getenv("JOURNAL_STREAM") ? "journal" : "console");
}

static int property_get_identifier(sd_bus *bus, const char *path, const char *interface,
                                   const char *property, sd_bus_message *reply, void *userdata,
                                   sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", "assayd");
}

static const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", property_get_level, property_set_level, 0,
                                 SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_PROPERTY("LogTarget", "s", property_get_target, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", property_get_identifier, 0, 0),
        SD_BUS_VTABLE_END
};

int log_control_attach(Authority *authority, sd_bus *bus) {
        int r;

        r = sd_bus_add_filter(bus, NULL, on_message, authority);
        if (r < 0)
                return r;

        return sd_bus_add_object_vtable(bus, NULL, LOG_CONTROL_PATH, LOG_CONTROL_INTERFACE,
                                        log_control_vtable, authority);
}
