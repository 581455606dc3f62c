/* SPDX-License-Identifier: Apache-2.0 */

/* Pruning: see pruning.h. */

#include <inttypes.h>
#include <time.h>

#include "daemon/clock.h"
#include "daemon/journal.h"
#include "daemon/pruning.h"

#define DAY_USEC      (UINT64_C(86400) * 1000000)
#define ACCURACY_USEC (UINT64_C(60) * 1000000)

struct Pruning {
        Manager *manager;
        sd_event_source *timer;
        uint64_t ticket; /* of the errand whose outcome is open; 0: none */
};

static int prune(Pruning *pruning) {
        Manager *manager = pruning->manager;
        uint64_t now = clock_usec(CLOCK_REALTIME), keep = manager->config->keep_days * DAY_USEC;
        int r;

        pruning->ticket = manager_next_ticket(manager);
        r = record_log_prune(manager->log, manager->config->archive, now > keep ? now - keep : 0, keep, pruning->ticket);
        if (r < 0)
                pruning->ticket = 0;
        return r;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        Pruning *pruning = userdata;
        int r;

        r = prune(pruning);
        if (r < 0)
                log_warning_errno(r, "Failed to move old envelopes into %s, trying again tomorrow: %m", pruning->manager->config->archive);
        r = sd_event_source_set_time_relative(source, DAY_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

bool pruning_take_outcome(Pruning *pruning, const RecordOutcome *outcome) {
        if (!pruning || pruning->ticket == 0 || outcome->ticket != pruning->ticket)
                return false;

        pruning->ticket = 0;
        if (outcome->error < 0)
                log_warning_errno(outcome->error, "Failed to move old envelopes into %s, trying again tomorrow: %m",
                                  pruning->manager->config->archive);
        if (outcome->n_pruned > 0)
                log_info("Moved the envelopes of %" PRIu64 " records older than %" PRIu64 " day%s into %s; their hashes stay", outcome->n_pruned,
                         pruning->manager->config->keep_days, pruning->manager->config->keep_days == 1 ? "" : "s", pruning->manager->config->archive);
        return true;
}

int manager_start_pruning(Manager *manager) {
        Pruning *pruning;
        int r;

        if (manager->config->keep_days == 0)
                return 0;
        pruning = calloc(1, sizeof(*pruning));
        if (!pruning)
                return -ENOMEM;

        manager->pruning = pruning;
        pruning->manager = manager;
        r = sd_event_add_time_relative(manager->event, &pruning->timer, CLOCK_BOOTTIME, DAY_USEC, ACCURACY_USEC, on_time, pruning);
        return r < 0 ? r : prune(pruning);
}

Pruning *pruning_free(Pruning *pruning) {
        if (!pruning)
                return NULL;

        sd_event_source_disable_unref(pruning->timer);
        free(pruning);
        return NULL;
}
