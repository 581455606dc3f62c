/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The log's own records say of each envelope that it has no more which archive has it, or who answers for it. */

#include "daemon/record/log/log.h"

typedef struct Archives {
        size_t n;
        Archive *items; /* by their first records */
} Archives;

/* -EBADMSG, or -ENOMEM: *ret_wrong (malloc'd) says that record INDEX has no envelope. */
int holes_lack(uint64_t index, char **ret_wrong);

/* All that the records tell, each of which is verified. -EBADMSG and *ret_wrong (malloc'd): one is not ours. */
int archives_read(RecordLog *log, Store *store, Archives *ret, char **ret_wrong);
void archives_done(Archives *archives);
/* The one for which the envelope of record INDEX may be missing, or NULL. */
const Archive *archives_find(const Archives *archives, uint64_t index);
/* Holds what the tables say of each record that ARCHIVE drops against what they said then. -EBADMSG and *ret_wrong (malloc'd): it is something else. */
int archive_check(const Archive *archive, Store *store, char **ret_wrong);

/*
 * Looks for an archive for each record that has no whole envelope, as far as the index of these tells. What is in none goes into the holes of LOG, and into its
 * doubt where no decision tells of just these. -EBADMSG and *ret_wrong (malloc'd): one of its records is not ours, or a record has half an envelope.
 */
int log_check_holes(RecordLog *log, Store *store, char **ret_wrong);
