/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The present work of the daemon, in a line for `systemctl status` (sd_notify, STATUS=). */

#include <stddef.h>

#include "daemon/manager.h"

/* "Idle: 4 servers, 19 records; all read again at 2026-11-23T12:00Z", "Scanning 2 of 4 servers (1 scan)", or why nothing is signed any more. */
void status_text(Manager *manager, char *ret, size_t size);
/* Tells it where it is another than was told last. */
void status_tell(Manager *manager);
