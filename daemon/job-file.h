/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobFile
 *
 * What a job was asked for, beside its evidence: <run>.job.json, from before its run-start records until its
 * records are signed. With the evidence it is all that a daemon needs to go on where another ended.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "checks/plan.h"
#include "daemon/job.h"
#include "daemon/scan.h"

#define JOB_FILE_SUFFIX ".job.json"
#define JOB_FILE_UNRECORDED ".due.json" /* in its place, once the log has refused its records: as long, so that a full disk has room for it */

typedef struct JobFileServer {
        char name[LOCATION_SERVER_NAME_MAX];
        char run[RUN_ID_BYTES];
        uint32_t chips;
} JobFileServer;

typedef struct JobFile {
        uid_t uid;
        uint64_t started_usec;
        ScanOptions options; /* with the seed that was drawn */
        Plan *plan;
        size_t n_servers;
        JobFileServer servers[JOB_SERVERS_MAX];
} JobFile;

int job_file_write(const Job *job);
/* Says by its name that the log has refused what was found, so that no restart forgets it. */
void job_file_mark(const Job *job);
void job_file_remove(const Job *job);

/* Reads FOLDER/NAME. -EBADMSG: it is none. */
int job_file_read(const char *folder, const char *name, JobFile *ret);
void job_file_forget(const char *folder, const char *name);
void job_file_done(JobFile *file);
