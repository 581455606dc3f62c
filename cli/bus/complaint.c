/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/complaint.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "daemon/names.h"

static const struct {
        const char *name;
        int status;
} statuses[] = {
        { ASSAY_ERROR_NO_SUCH_TARGET,                             STATUS_USAGE         },
        { ASSAY_ERROR_NO_SUCH_PLAN,                               STATUS_USAGE         },
        { ASSAY_ERROR_BAD_PLAN,                                   STATUS_USAGE         },
        { ASSAY_ERROR_NO_SUCH_SCAN,                               STATUS_USAGE         },
        { ASSAY_ERROR_SCAN_FINISHED,                              STATUS_USAGE         },
        { ASSAY_ERROR_NO_SUCH_RECORD,                             STATUS_USAGE         },
        { SD_BUS_ERROR_INVALID_ARGS,                              STATUS_USAGE         },
        { SD_BUS_ERROR_ACCESS_DENIED,                             STATUS_NOT_PERMITTED },
        { SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,        STATUS_NOT_PERMITTED },
        { SD_BUS_ERROR_SERVICE_UNKNOWN,                           STATUS_UNREACHABLE   },
        { SD_BUS_ERROR_NAME_HAS_NO_OWNER,                         STATUS_UNREACHABLE   },
        { SD_BUS_ERROR_NO_REPLY,                                  STATUS_UNREACHABLE   },
        { SD_BUS_ERROR_DISCONNECTED,                              STATUS_UNREACHABLE   },
        { SD_BUS_ERROR_TIMEOUT,                                   STATUS_UNREACHABLE   },
        { "org.freedesktop.DBus.Error.TimedOut",                  STATUS_UNREACHABLE   }, /* systemd could not start it */
        { "System.Error.ETIMEDOUT",                               STATUS_UNREACHABLE   },
        { "System.Error.ENOTCONN",                                STATUS_UNREACHABLE   }, /* ssh came to nothing */
        { "System.Error.ECONNRESET",                              STATUS_UNREACHABLE   },
        { "org.freedesktop.DBus.Error.Spawn.ChildExited",         STATUS_UNREACHABLE   },
        { "org.freedesktop.DBus.Error.Spawn.ExecFailed",          STATUS_UNREACHABLE   },
};

int complain_bus(const sd_bus_error *error, int r, const char *what) {
        int status = STATUS_CANNOT_TELL;

        for (size_t i = 0; i < ELEMENTS(statuses); i++)
                if (sd_bus_error_has_name(error, statuses[i].name))
                        status = statuses[i].status;
        if (!sd_bus_error_is_set(error) && (r == -ECONNRESET || r == -ENOTCONN || r == -ECONNREFUSED || r == -ETIMEDOUT))
                status = STATUS_UNREACHABLE;

        if (status == STATUS_UNREACHABLE)
                return complain(status, "%s: assayd does not answer on %s%s%s", what, options.host ?: "this bus", r == -ETIMEDOUT ? " (stopped?)" : "",
                                options.host || strcmp(options.bus, "system") != 0 ? "" : "; `systemctl status assayd` says why");
        return complain(status, "%s: %s", what, error && error->message ? error->message : strerror(-r));
}
