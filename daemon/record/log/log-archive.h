/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "daemon/record/log/log.h"

/*
 * Makes an archive in the folder PATH of the records from FIRST on of which some ended before BEFORE_USEC and may go, and commits the record that
 * tells of it and drops them; 0 also where none may. *RET_N grows by how many were dropped. -EEXIST: the file is there and is not of these records;
 * or what the disk failed with, then all of them stay. In the writer's thread, as an errand's last look at its store.
 */
int log_archive(RecordLog *log, const char *path, uint64_t first, uint64_t before_usec, uint64_t *ret_n);
