/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Handlers of org.assay.Assay1.Manager that tell how parts stand. Their userdata is the Manager. */

#include <systemd/sd-bus.h>

int method_get_verdict(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_get_parts(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_find_record(sd_bus_message *message, void *userdata, sd_bus_error *error);
