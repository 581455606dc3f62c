/* SPDX-License-Identifier: Apache-2.0 */

/* Heartbeat: see heartbeat.h. */

#include <time.h>

#include "daemon/heartbeat.h"
#include "daemon/journal.h"

#define RETRY_SEC     60.0 /* after one that the log did not take */
#define ACCURACY_USEC 1000

struct Heartbeat {
        Manager *manager;
        sd_event_source *timer;
        uint64_t ticket;  /* of the one whose outcome is open; 0: none */
        bool has_started; /* the first is committed */
};

static int set_timer(Heartbeat *heartbeat, double sec) {
        int r;

        r = sd_event_source_set_time_relative(heartbeat->timer, (uint64_t) (sec * 1e6));
        return r < 0 ? r : sd_event_source_set_enabled(heartbeat->timer, SD_EVENT_ONESHOT);
}

static int beat(Heartbeat *heartbeat) {
        Manager *manager = heartbeat->manager;
        int r;

        heartbeat->ticket = manager_next_ticket(manager);
        r = record_log_heartbeat(manager->log, heartbeat->has_started ? RECORD_HEARTBEAT_INTERVAL : RECORD_HEARTBEAT_START,
                                 heartbeat->ticket);
        if (r < 0)
                heartbeat->ticket = 0;
        return r;
}

static double next_sec(const Heartbeat *heartbeat, int r) {
        double sec = heartbeat->manager->config->heartbeat_sec;

        return r < 0 && sec > RETRY_SEC ? RETRY_SEC : sec;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Heartbeat *heartbeat = userdata;
        int r = 0;

        if (heartbeat->ticket == 0) /* else the disk is slower than we are */
                r = beat(heartbeat);
        if (r < 0)
                log_warning_errno(r, "Failed to record a heartbeat, trying again: %m");
        return set_timer(heartbeat, next_sec(heartbeat, r));
}

bool heartbeat_take_outcome(Heartbeat *heartbeat, const RecordOutcome *outcome) {
        if (!heartbeat || heartbeat->ticket == 0 || outcome->ticket != heartbeat->ticket)
                return false;

        heartbeat->ticket = 0;
        if (outcome->error == 0)
                heartbeat->has_started = true;
        else {
                log_error_errno(outcome->error, "Failed to commit a heartbeat, trying again: %m");
                (void) set_timer(heartbeat, next_sec(heartbeat, outcome->error));
        }
        return true;
}

int manager_start_heartbeat(Manager *manager) {
        Heartbeat *heartbeat = calloc(1, sizeof(*heartbeat));
        int r;

        if (!heartbeat)
                return -ENOMEM;

        manager->heartbeat = heartbeat;
        heartbeat->manager = manager;
        r = sd_event_add_time_relative(manager->event, &heartbeat->timer, CLOCK_BOOTTIME, 0, ACCURACY_USEC, on_time, heartbeat);
        if (r >= 0)
                r = beat(heartbeat);
        return r < 0 ? r : set_timer(heartbeat, manager->config->heartbeat_sec);
}

Heartbeat *heartbeat_free(Heartbeat *heartbeat) {
        if (!heartbeat)
                return NULL;

        sd_event_source_disable_unref(heartbeat->timer);
        free(heartbeat);
        return NULL;
}
