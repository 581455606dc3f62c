/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The write-ahead log of a store
 *
 * A VFS over SQLite's own, for the write-ahead log alone: the database is SQLite's own file. SQLite writes a page of its write-ahead log at a
 * time, and its header apart from it: two system calls per page, of which each costs more than what it copies. Here writes that follow each
 * other are gathered and passed on as one, before anything else is done with the file: before a sync above all, so that what was synced is on
 * disk as ever. Of what was not, nothing was ever promised.
 *
 * A write of the log that was taken and fails later fails the sync that its commit waits for. Writes of the database are not gathered: when SQLite
 * has copied a log of which somebody still reads an older state, it syncs nothing, takes the copy for whole, and never makes it again.
 */

#include <stdint.h>

struct sqlite3_file;

#define STORE_VFS "assay-store"

/* Once per process is enough. -ENOMEM. */
int store_vfs_register(void);
/* How far FILE, a write-ahead log of this VFS, reaches by what went through it: it is shorter only where somebody else has cut it. */
int64_t store_vfs_reach(const struct sqlite3_file *file);
/* Somebody else has cut it who may. */
void store_vfs_begin_anew(struct sqlite3_file *file);
