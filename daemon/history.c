/* SPDX-License-Identifier: Apache-2.0 */

/* History: see history.h. */

#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/history.h"
#include "daemon/names.h"

#define STAMP_CHARACTERS 13 /* of a UUID version 7: 48 bits of milliseconds, and a hyphen */

/* One server of a scan. */
typedef struct PastServer {
        RecordEntry start;
        bool has_ended;
        uint32_t chips; /* of which there are records */
        Result worst, summary;
        uint64_t finished_usec;
} PastServer;

typedef struct PastScan {
        uint64_t number;
        size_t n_servers, n_records;
        PastServer *servers;
        uint64_t *records;
} PastScan;

struct History {
        uint64_t n;                        /* scans in the log */
        PastScan scans[ASSAY_SCANS_KEPT];  /* number N at N modulo that */
};

Past *past_free(Past *past) {
        if (!past)
                return NULL;
        for (size_t i = 0; i < past->n_targets; i++)
                free(past->targets[i]);
        free(past->targets);
        free(past->runs);
        free(past);
        return NULL;
}

static void past_scan_done(PastScan *scan) {
        free(scan->servers);
        free(scan->records);
        *scan = (PastScan) {};
}

History *history_free(History *history) {
        for (size_t i = 0; history && i < ELEMENTS(history->scans); i++)
                past_scan_done(&history->scans[i]);
        free(history);
        return NULL;
}

/* ---- run-starts ---- */

static bool goes_on(const PastScan *scan, const RecordEntry *start) {
        const RecordEntry *last = scan->n_servers > 0 ? &scan->servers[scan->n_servers - 1].start : NULL;

        return last && start->index == last->index + 1 && strcmp(start->plan, last->plan) == 0 && strncmp(start->run, last->run, STAMP_CHARACTERS) == 0;
}

static int add_record(PastScan *scan, uint64_t index) {
        uint64_t *records = reallocarray(scan->records, scan->n_records + 1, sizeof(*records));

        if (!records)
                return -ENOMEM;
        scan->records = records;
        records[scan->n_records++] = index;
        return 0;
}

static int add_start(History *history, const RecordEntry *start) {
        PastScan *scan = &history->scans[history->n % ASSAY_SCANS_KEPT];
        PastServer *servers;

        if (!goes_on(scan, start)) {
                history->n++;
                scan = &history->scans[history->n % ASSAY_SCANS_KEPT];
                past_scan_done(scan);
                scan->number = history->n;
        }
        servers = reallocarray(scan->servers, scan->n_servers + 1, sizeof(*servers));
        if (!servers)
                return -ENOMEM;
        scan->servers = servers;
        servers[scan->n_servers++] = (PastServer) { .start = *start, .summary = RESULT_INCONCLUSIVE };
        return add_record(scan, start->index);
}

/* ---- what they ended with ---- */

static PastServer *find_run(const History *history, const char *run, PastScan **ret) {
        for (size_t i = 0; i < ELEMENTS(history->scans); i++) {
                const PastScan *scan = &history->scans[i];

                if (scan->n_servers == 0 || strncmp(scan->servers[0].start.run, run, STAMP_CHARACTERS) != 0)
                        continue;
                for (size_t k = 0; k < scan->n_servers; k++)
                        if (strcmp(scan->servers[k].start.run, run) == 0) {
                                *ret = (PastScan *) scan;
                                return &scan->servers[k];
                        }
        }
        return NULL;
}

static int add_verdict(History *history, const RecordEntry *verdict) {
        int chip = location_index(&verdict->subject, LOCATION_CHIP);
        PastServer *server;
        PastScan *scan;

        server = find_run(history, verdict->run, &scan);
        if (!server)
                return 0;
        if (strcmp(verdict->type, RECORD_TYPE_SUMMARY) == 0) {
                server->has_ended = true;
                server->summary = verdict->result;
                server->finished_usec = verdict->finished_usec;
        } else if (chip >= 0 && (unsigned) chip < TARGET_CHIPS) {
                server->worst = server->chips == 0 ? verdict->result : result_worst(server->worst, verdict->result);
                server->chips |= UINT32_C(1) << chip;
        }
        return add_record(scan, verdict->index);
}

static uint64_t oldest(const History *history) {
        uint64_t first = UINT64_MAX;

        for (size_t i = 0; i < ELEMENTS(history->scans); i++)
                if (history->scans[i].n_records > 0)
                        first = MIN(first, history->scans[i].records[0]);
        return first;
}

static int walk(RecordLog *log, History *history) {
        RecordEntry entry;
        uint64_t cursor = 0;
        int r;

        while ((r = record_log_next_start(log, &cursor, &entry)) >= 0) {
                r = add_start(history, &entry);
                if (r < 0)
                        return r;
        }
        if (r != -ENOENT)
                return r;
        cursor = oldest(history);
        if (cursor == UINT64_MAX)
                return 0;
        while ((r = record_log_next_verdict(log, &cursor, &entry)) >= 0) {
                r = add_verdict(history, &entry);
                if (r < 0)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}

/* ---- as scans of the manager ---- */

/* As tally_asked(): a scan of some chips has the result of these chips. */
static Result result_of(const PastServer *server) {
        Result result = server->chips == 0 ? RESULT_INCONCLUSIVE : server->worst;

        return server->summary == RESULT_INCONCLUSIVE ? result : result_worst(result, server->summary);
}

static int add_target(Past *past, const char *server, int chip) {
        char **targets = reallocarray(past->targets, past->n_targets + 1, sizeof(*targets)), *name = NULL;

        if (!targets)
                return -ENOMEM;
        past->targets = targets;
        if (chip < 0)
                name = strdup(server);
        else if (asprintf(&name, "%s/chip%d", server, chip) < 0)
                name = NULL;
        if (!name)
                return -ENOMEM;
        targets[past->n_targets++] = name;
        return 0;
}

static int take_server(Past *past, const PastServer *server) {
        const char *name = server->start.subject.server;
        int r = 0;

        memcpy(past->runs[past->n_runs++], server->start.run, RUN_ID_BYTES);
        if (server->chips == 0 || server->chips == TARGET_CHIPS_ALL)
                return add_target(past, name, -1);
        for (int c = 0; c < (int) TARGET_CHIPS && r == 0; c++)
                if ((server->chips >> c) & 1)
                        r = add_target(past, name, c);
        return r;
}

static int fill(const PastScan *from, Scan *scan) {
        int r = 0;

        scan->past = calloc(1, sizeof(*scan->past));
        scan->records = calloc(from->n_records, sizeof(*scan->records));
        if (!scan->past || !scan->records)
                return -ENOMEM;
        scan->past->runs = calloc(from->n_servers, sizeof(*scan->past->runs));
        if (!scan->past->runs)
                return -ENOMEM;
        (void) snprintf(scan->past->plan, sizeof(scan->past->plan), "%s", from->servers[0].start.plan);
        memcpy(scan->records, from->records, from->n_records * sizeof(*scan->records));
        scan->n_records = from->n_records;
        scan->started_usec = from->servers[0].start.finished_usec;
        scan->result = result_of(&from->servers[0]);
        for (size_t i = 0; i < from->n_servers && r == 0; i++) {
                r = take_server(scan->past, &from->servers[i]);
                scan->finished_usec = MAX(scan->finished_usec, from->servers[i].finished_usec);
                scan->result = result_worst(scan->result, result_of(&from->servers[i]));
        }
        return r;
}

static int add_scan(Manager *manager, const PastScan *from) {
        Scan *scan;
        int r;

        for (size_t i = 0; i < from->n_servers; i++)
                if (!from->servers[i].has_ended)
                        return 0; /* it is gone on with, or closed */
        scan = calloc(1, sizeof(*scan));
        if (!scan)
                return -ENOMEM;
        *scan = (Scan) { .manager = manager, .uid = (uid_t) -1, .state = SCAN_FINISHED, .progress = 100 };
        r = fill(from, scan);
        if (r < 0) {
                scan_free(scan);
                return r;
        }
        manager_add_scan_as(manager, scan, from->number);
        return 0;
}

int history_read(Manager *manager, History **ret) {
        _cleanup_(history_freep) History *history = calloc(1, sizeof(*history));
        int r;

        if (!history)
                return -ENOMEM;
        r = walk(manager->log, history);
        if (r < 0)
                return r;
        for (uint64_t number = history->n - MIN(history->n, ASSAY_SCANS_KEPT - 1); number <= history->n && r == 0; number++)
                if (history->scans[number % ASSAY_SCANS_KEPT].n_servers > 0)
                        r = add_scan(manager, &history->scans[number % ASSAY_SCANS_KEPT]);
        if (r < 0)
                return r;
        manager->last_scan = history->n;
        *ret = TAKE_PTR(history);
        return 0;
}

uint64_t history_number(const History *history, const char *run) {
        PastScan *scan;

        return history && find_run(history, run, &scan) ? scan->number : 0;
}
