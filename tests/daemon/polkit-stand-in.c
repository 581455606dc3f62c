/* SPDX-License-Identifier: Apache-2.0 */

/*
 * polkit-stand-in BUS-ADDRESS allow|deny
 *
 * On a private bus, where there is no polkit: owns its name and answers every question alike.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "checks/text/cleanup.h"

/* (sa{sv})sa{ss}us → (bba{ss}): whether it is authorised, whether a challenge would help, details. */
static int check_authorization(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const bool *allow = userdata;

        return sd_bus_reply_method_return(message, "(bba{ss})", (int) *allow, 0, 0);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", check_authorization, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END
};

static int serve(const char *address, bool *allow) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_address(bus, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(bus, true);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r >= 0)
                r = sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority",
                                             vtable, allow);
        if (r >= 0)
                r = sd_bus_request_name(bus, "org.freedesktop.PolicyKit1", 0);
        if (r < 0)
                return r;

        puts("ready");
        fflush(stdout);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }
        return r;
}

int main(int argc, char **argv) {
        bool allow;
        int r;

        if (argc != 3 || (strcmp(argv[2], "allow") != 0 && strcmp(argv[2], "deny") != 0)) {
                fprintf(stderr, "usage: polkit-stand-in BUS-ADDRESS allow|deny\n");
                return 64;
        }

        allow = strcmp(argv[2], "allow") == 0;
        r = serve(argv[1], &allow);
        fprintf(stderr, "polkit-stand-in: %s\n", strerror(-r));
        return 1;
}
