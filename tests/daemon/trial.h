/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Trial
 *
 * A whole daemon in a test: a folder of its own with key, log, plans and evidence, and fake workers.
 */

#include <systemd/sd-event.h>

#include "daemon/manager.h"

typedef struct Trial {
        char folder[64];
        sd_event *event;
        Manager *manager;
        uint64_t cut; /* for the next start: somebody has decided to go on without records that stood there and behind it; 0: nobody has */
} Trial;

/* TARGETS and LIMITS are YAML flow values: "[{device: sim:pass, servers: [us0-0]}]", "{workers: 1}". */
int trial_new(const char *targets, const char *limits, Trial *ret);
/* Ends the daemon as a crash would, and starts another in the same place. */
int trial_restart(Trial *trial, const char *targets, const char *limits);
void trial_done(Trial *trial);

/* Starts a scan without a bus, of the plan "quick" or another one in the folder. */
Scan *trial_scan(Trial *trial, uid_t uid, const char *target);
Scan *trial_scan_by(Trial *trial, uid_t uid, const char *target, const char *plan_name);
/* Runs the event loop until SCAN is finished; false after SEC. */
bool trial_wait(Trial *trial, const Scan *scan, unsigned sec);
/* Runs the event loop until DONE says so. */
bool trial_run(Trial *trial, bool (*done)(void *userdata), void *userdata, unsigned sec);

uint64_t trial_rss_kib(void);
