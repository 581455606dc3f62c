/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <systemd/sd-bus.h>

#include "daemon/record/record.h"

/* Writes the daemon's log up to its newest checkpoint into a folder of tiles, or what is new into one that is there. An exit status. */
int export_tiles(sd_bus *bus, const RecordKeyring *keyring, const char *vkey, const char *folder);
