/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * JobFile
 *
 * What a job was asked for, beside its evidence: <run>.job.json, from before its run-start records until its
 * records are signed. With the evidence it is all that a daemon needs to go on where another ended.
 *
 * Its first member, `seal`, is of a fixed length and written in place, without need of room on the disk: how far the evidence goes, its digest, and record_log_mac() of
 * these, of the run, of all other members and of whether the log has refused what was found. What was changed since by somebody who has not the key
 * is no job file, and evidence that is not as the seal says is none.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "checks/plan/plan.h"
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
        EvidenceMark found;
        JobSeal seal;
} JobFile;

/* Before anything is found. */
int job_file_write(Job *job);
/* Seals what the evidence has now: behind what was appended, so that a death between the two costs no more than that. */
void job_file_seal(const Job *job);
/* Says that the log has refused what was found, so that no restart forgets it. */
void job_file_mark(Job *job);
void job_file_remove(const Job *job);

/* Reads FOLDER/NAME, which an assayd of LOG has written. -EBADMSG: it is none, or not as that left it; record_log_mac(). */
int job_file_read(RecordLog *log, const char *folder, const char *name, JobFile *ret);
void job_file_forget(const char *folder, const char *name);
void job_file_done(JobFile *file);
