/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Target
 *
 * What a worker scans and where it finds it: `sim:SOCKET#PARTS`, PARTS being servers and chips,
 * comma-separated. A server means all its chips. Several servers are those of one UltraServer, so that the
 * ring between them can be tested.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/vocabulary/location.h"

#define TARGET_SERVERS_MAX 4
#define TARGET_SOCKET_MAX  108 /* sun_path */
#define TARGET_CHIPS_ALL   0xffffu

typedef struct TargetServer {
        char name[LOCATION_SERVER_NAME_MAX];
        uint16_t chips; /* bit per chip */
} TargetServer;

typedef struct Target {
        char socket[TARGET_SOCKET_MAX];
        size_t n_servers;
        TargetServer servers[TARGET_SERVERS_MAX];
} Target;

/* Returns 0, or -EINVAL and what is wrong as a static sentence. */
int target_parse(const char *text, Target *ret, const char **ret_wrong);
