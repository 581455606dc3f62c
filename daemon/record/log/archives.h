/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Archives: what the log's own records say of envelopes that it has no more. */

#include "daemon/record/log/log.h"

typedef struct Archives {
        size_t n;
        Archive *items; /* by their first records */
} Archives;

/*
 * Makes an archive in the folder PATH of the records from FIRST on of which some ended before BEFORE_USEC and may go, and commits the record that
 * tells of it and drops them; 0 also where none may. *RET_N grows by how many were dropped. -EEXIST: the file is there and is not of these records;
 * or what the disk failed with, then all of them stay. In the writer's thread, as an errand's last look at its store.
 */
int log_archive(RecordLog *log, const char *path, uint64_t first, uint64_t before_usec, uint64_t *ret_n);

/* All that the records tell, each of which is verified. -EBADMSG and *ret_wrong (malloc'd): one is not ours. */
int archives_read(RecordLog *log, Store *store, Archives *ret, char **ret_wrong);
void archives_done(Archives *archives);
/* Whether the envelope of record INDEX may be missing. */
bool archives_have(const Archives *archives, uint64_t index);

/*
 * Whether there is an archive for each record that has no whole envelope, as far as the index of these tells. -EBADMSG and *ret_wrong (malloc'd): there
 * is none for one of them, which is named.
 */
int log_check_holes(RecordLog *log, Store *store, char **ret_wrong);
