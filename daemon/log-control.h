/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* LogControl: org.freedesktop.LogControl1, so that `systemctl log-level` and `assayctl log-level` work. */

#include <systemd/sd-bus.h>

#include "daemon/authorize.h"

int log_control_attach(Authority *authority, sd_bus *bus);
