/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Config
 *
 * What /etc/assay/assayd.yaml says. Strict: unknown keys, wrong types and values out of range are refused
 * with file:line:column.
 *
 *     origin: us0.example/assayd              # optional, of the log; stays for ever. See log-name.h
 *     producer: https://example.com/us0       # optional, URI of this station
 *     key: /etc/assay/record-key.pem          # optional, and so on with what has a default
 *     log_key: /etc/assay/log-key.pem         # signs checkpoints
 *     store: /var/lib/assay/records.db
 *     anchor: /var/lib/assay/records.db.anchor # tells an old copy of the store
 *     checkpoint_sec: 1
 *     witnesses: [fleet.example/w1+7b8fc2b0+BKf…] # vkeys
 *     keep_days: 0                            # of envelopes; 0: for ever
 *     archive: /var/lib/assay/archive         # where they go then
 *     evidence: /var/lib/assay/evidence
 *     plans: /etc/assay/plans:/usr/share/assay/plans
 *     topology: /etc/assay/topology.yaml      # see topology.h; without it names tell which servers are a ring
 *     heartbeat_sec: 3600
 *     clock_source: ntp                       # or ptp
 *     limits: {scans: 64, scans_per_uid: 16, workers: 2}
 *     targets:
 *       - device: sim:/run/assay/us0.sock
 *         servers: [us0-0, us0-1, us0-2, us0-3]
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/topology.h"

#define CONFIG_SERVERS_MAX 1024 /* in all targets */

typedef struct ConfigServer {
        char name[LOCATION_SERVER_NAME_MAX];
        const char *device; /* borrowed from its target */
        const char *model;
} ConfigServer;

typedef struct ConfigTarget {
        char *device; /* "sim:SOCKET" */
        char *model;  /* "Trn2" */
        size_t first_server, n_servers;
} ConfigTarget;

typedef struct ConfigLimits {
        uint64_t scans;         /* not yet finished, in total */
        uint64_t scans_per_uid; /* not yet finished, of one requester */
        uint64_t workers;       /* at once; 0: one per core */
        uint64_t reconnects;    /* of one scan of a server, after its worker was lost */
        double step_sec;        /* wall time a worker has for each step of the plan, before deadline_scale */
        double silence_sec;     /* wall time a worker may say nothing, before deadline_scale */
        double deadline_scale;  /* for sanitizers and slow machines; the worker's commands use it too */
} ConfigLimits;

typedef struct Config {
        char *origin;
        char *producer;
        char *key;
        char *log_key; /* NULL: none */
        char *store;
        char *signed_in; /* folder, not of the state: that the log key has signed; not in the file */
        char *anchor;
        char *evidence;
        char *plans;
        char *topology_file;
        Topology *topology; /* read by config_load(); NULL: servers are named by their place */
        char *run_socket; /* of socket-activated workers */
        ConfigLimits limits;
        int clock_source;     /* of config_clock_sources: who keeps the clock where the kernel says that it is kept */
        double checkpoint_sec;
        uint64_t keep_days; /* 0: for ever */
        char *archive;
        size_t n_witnesses;
        char **witnesses; /* vkeys */
        double heartbeat_sec; /* a record at least so often, whatever else there is to say */
        size_t n_targets;
        ConfigTarget *targets;
        size_t n_servers;
        ConfigServer *servers;
} Config;

extern const char *const config_clock_sources[]; /* up to a NULL */

/* Return 0, or a negative errno with *ret_error set to a malloc'd "FILE:LINE:COLUMN: …", which the caller
 * frees. */
int config_parse(const char *name, const char *text, size_t n, Config **ret, char **ret_error);
/* Reads the topology file as well, which must name each server of the targets. */
int config_load(const char *path, Config **ret, char **ret_error);
/* The folders of plans. */
const char *config_plans(const Config *config);
Config *config_free(Config *config);
DEFINE_CLEANUP(Config *, config_free);
