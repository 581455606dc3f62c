/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/reply.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "cli/bus/deadline.h"
#include "cli/bus/liveness.h"
#include "daemon/names.h"

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        sd_bus_message **ret = userdata;

        *ret = sd_bus_message_ref(reply);
        return 0;
}

/* Messages that have come are dispatched first, and only then is anything waited for. */
static int wait_for(sd_bus *bus, sd_bus_message *const *reply) {
        _cleanup_(liveness_done) Liveness liveness = { .bus = bus };

        while (!*reply) {
                int r = sd_bus_process(bus, NULL);

                if (r == 0)
                        r = liveness_wait(&liveness, -1);
                if (r < 0)
                        return r;
                if (liveness_silent_sec(&liveness) >= LIVENESS_SEC && !deadline_is_set())
                        return -ETIMEDOUT;
        }
        return 0;
}

int reply_await(sd_bus *bus, sd_bus_message *call, sd_bus_error *error, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        int r;

        r = sd_bus_call_async(bus, &slot, call, on_reply, &reply, 0);
        if (r >= 0)
                r = wait_for(bus, &reply);
        if (r < 0) {
                if (sd_bus_is_ready(bus) <= 0)
                        sd_bus_close(bus); /* there is nobody to flush it to */
                return r;
        }
        if (sd_bus_message_is_method_error(reply, NULL)) {
                r = -sd_bus_message_get_errno(reply);
                if (error)
                        (void) sd_bus_error_copy(error, sd_bus_message_get_error(reply));
                return r < 0 ? r : -EIO;
        }
        if (ret)
                *ret = TAKE_PTR(reply);
        return 0;
}

int reply_property(sd_bus *bus, const char *path, const char *interface, const char *name, sd_bus_error *error, const char *type, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, ASSAY_BUS_NAME, path, "org.freedesktop.DBus.Properties", "Get");
        if (r >= 0)
                r = sd_bus_message_append(call, "ss", interface, name);
        if (r >= 0)
                r = reply_await(bus, call, error, &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'v', type);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(reply);
        return 0;
}

int reply_property_string(sd_bus *bus, const char *path, const char *interface, const char *name, sd_bus_error *error, char **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = reply_property(bus, path, interface, name, error, "s", &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "s", &text);
        if (r < 0)
                return r;
        *ret = strdup(text);
        return *ret ? 0 : -ENOMEM;
}

int reply_property_trivial(sd_bus *bus, const char *path, const char *interface, const char *name, sd_bus_error *error, char type, void *ret) {
        const char signature[] = { type, '\0' };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = reply_property(bus, path, interface, name, error, signature, &reply);
        return r < 0 ? r : sd_bus_message_read_basic(reply, type, ret);
}
