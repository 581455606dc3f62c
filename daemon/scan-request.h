/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * ScanRequest
 *
 * The arguments of StartScan, from the message to what a scan is made of. Nothing is changed here: it may
 * run twice.
 */

#include <systemd/sd-bus.h>

#include "daemon/manager.h"

typedef struct ScanRequest {
        char **targets;
        const char *plan_name;
        uint64_t flags;
        ScanOptions options;
        Plan *plan;
        Selected *selected;
        size_t n_selected;
} ScanRequest;

/* Both fill in ERROR themselves, or leave a negative errno to sd-bus. */
int scan_request_read(sd_bus_message *message, ScanRequest *request, sd_bus_error *error);
int scan_request_validate(Manager *manager, ScanRequest *request, uid_t uid, sd_bus_error *error);
void scan_request_done(ScanRequest *request);
