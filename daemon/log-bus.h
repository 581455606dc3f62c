/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Log bus: what the manager's interface tells of the log as a whole. Handlers of its vtable, which is in manager-bus.c. */

#include "daemon/manager.h"

int method_get_checkpoint(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_get_proof(sd_bus_message *message, void *userdata, sd_bus_error *error);
/* NotSupported of D-Bus: what it once gave is not signed any more. */
int method_get_companion(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_get_identity(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_get_consistency(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_add_cosignatures(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_open_leaves(sd_bus_message *message, void *userdata, sd_bus_error *error);
int property_get_log_key(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                         void *userdata, sd_bus_error *error);

/* Whether the log still takes records; negative with ERROR filled in. */
int log_bus_check_sound(Manager *manager, sd_bus_error *error);

/* The log has something to tell: a newer checkpoint, which is signalled, or why there is none, which is logged once. */
void log_bus_tell(Manager *manager);
/* Whether a call waits for OUTCOME, and now has its answer. */
bool log_bus_take_outcome(Manager *manager, const RecordOutcome *outcome);
void log_bus_done(Manager *manager);

/* Properties of the manager: what the scrub is at, why nothing is signed any more, and what somebody has decided to go on without. */
int property_get_scrub(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error);
int property_get_log_wrong(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error);
int property_get_log_lost(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata, sd_bus_error *error);
