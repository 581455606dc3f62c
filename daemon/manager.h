/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Manager
 *
 * The daemon as one object: configuration, targets, scans, the log and the bus.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "daemon/config.h"
#include "daemon/loan.h"
#include "daemon/program.h"
#include "daemon/record/record.h"
#include "daemon/scan.h"
#include "daemon/target.h"

typedef struct Authority Authority;
typedef struct Closing Closing;
typedef struct Heartbeat Heartbeat;
typedef struct Keys Keys;
typedef struct LogCall LogCall;
typedef struct LostStart LostStart;
typedef struct Pruning Pruning;
typedef struct Turns Turns;

struct Manager {
        sd_event *event;
        sd_bus *bus;
        Config *config;
        WorkerPlace worker;
        Program worker_program;
        Targets targets;
        Authority *authority;
        Turns *turns;         /* NULL: not on a bus */
        EvidencePacker *packer;
        Loans *loans;

        RecordLog *log;
        char *public_key;
        sd_event_source *log_source;
        uint64_t checkpointed; /* the checkpoint that was told last */
        bool is_log_alarmed;   /* that it has failed was told */
        int checkpoint_error;  /* why there is no newer one; 0: there is nothing wrong */
        Heartbeat *heartbeat; /* NULL: not begun */
        Keys *keys;
        Pruning *pruning;     /* NULL: all is kept */
        Closing *closing;     /* NULL: no run is left to close */
        LostStart *lost_starts; /* results that wait, of runs whose beginning the log has lost: unrecorded.c */
        bool runs_unknown;    /* which runs were interrupted could not be found out, so no pass of before counts */
        LogCall *log_calls;   /* that wait for an outcome */

        TAILQ_HEAD(, Scan) scans; /* oldest first */
        uint64_t last_scan, last_ticket, turn;
        uint64_t last_start_usec; /* CLOCK_REALTIME */
        size_t n_running; /* workers */
        size_t n_workers; /* at most */
        bool is_scheduling;
        char status[320]; /* as it was told last: see status.h */
};

/* Takes over CONFIG, LOG and PUBLIC_KEY (PEM) on success. The log must be open: nothing is signed by one
 * that is damaged. */
int manager_new(sd_event *event, Config *config, const WorkerPlace *worker, RecordLog *log, char *public_key,
                Manager **ret);
Manager *manager_free(Manager *manager);
DEFINE_CLEANUP(Manager *, manager_free);

/* Registers all objects. The caller acquires the name. */
int manager_attach(Manager *manager, sd_bus *bus);

void manager_add_scan(Manager *manager, Scan *scan); /* takes it over */
/* The same with a number that it had before. */
void manager_add_scan_as(Manager *manager, Scan *scan, uint64_t id);
/* When a scan begins that is begun now: no two begin in the same millisecond, so that run IDs tell them apart. */
uint64_t manager_next_start(Manager *manager);
Scan *manager_find_scan(Manager *manager, uint64_t id);
/* Forgets the oldest finished scans beyond ASSAY_SCANS_KEPT. */
void manager_evict(Manager *manager);
uint64_t manager_next_ticket(Manager *manager);
/* Scans that are not finished: of UID, or of all. */
size_t manager_count_scans(const Manager *manager, uid_t uid, size_t *ret_total);

/* ---- schedule.c ---- */

/* Starts jobs while workers are free, fairly among requesters. */
void manager_schedule(Manager *manager);

/* ---- manager-bus.c ---- */

int manager_bus_attach(Manager *manager, sd_bus *bus);
void manager_bus_scan_new(Manager *manager, const Scan *scan);
void manager_bus_scan_removed(Manager *manager, const Scan *scan);
void manager_bus_record_signed(Manager *manager, const RecordEntry *entry);
