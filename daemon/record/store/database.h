/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What SQLite says, as errno: one meaning for all databases that signatures rest on. */

#include <sqlite3.h>

/*
 * Of ERROR, the result of the last call on DB (NULL: there is none). 0: all is well; -ENOSPC: the disk, a quota or a limit of the process; -EBUSY:
 * somebody else has it; -EROFS; -EACCES …: what opening said; -ENOMEM; -EBADMSG: what is in it is not what we write; else -EIO.
 */
int database_error(sqlite3 *db, int error);
