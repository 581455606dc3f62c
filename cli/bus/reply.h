/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Replies of the daemon: the one way to wait for them. A daemon that runs may take the time of the bus library for its answer; one that does not say
 * a word for LIVENESS_SEC is given up, as -ETIMEDOUT. A deadline of the program's own (deadline.h) stands in place of that.
 */

#include <systemd/sd-bus.h>

/* Sends CALL and waits. RET may be NULL. Negative errno with ERROR, which may be NULL, filled in as by sd_bus_call(). */
int reply_await(sd_bus *bus, sd_bus_message *call, sd_bus_error *error, sd_bus_message **ret);

/* The value of a property of assayd's object PATH, of D-Bus type TYPE, in *RET. */
int reply_property(sd_bus *bus, const char *path, const char *interface, const char *name, sd_bus_error *error, const char *type, sd_bus_message **ret);
/* The same for a string, malloc'd, and for a basic type of fixed size. */
int reply_property_string(sd_bus *bus, const char *path, const char *interface, const char *name, sd_bus_error *error, char **ret);
int reply_property_trivial(sd_bus *bus, const char *path, const char *interface, const char *name, sd_bus_error *error, char type, void *ret);
