/* SPDX-License-Identifier: Apache-2.0 */

/* Database: see database.h. */

#include "daemon/record/store/database.h"

#include <errno.h>

int database_error(sqlite3 *db, int error) {
        int os = db ? sqlite3_system_errno(db) : 0;

        switch (error & 0xff) {
        case SQLITE_OK:
        case SQLITE_ROW:
        case SQLITE_DONE:
                return 0;
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_PERM:
        case SQLITE_CANTOPEN:
                return os > 0 ? -os : -EACCES;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_ERROR:      /* tables that our statements do not fit: they are not ours */
        case SQLITE_TOOBIG:     /* longer than anything that we write */
        case SQLITE_CONSTRAINT: /* a key that is there already: someone else wrote */
        case SQLITE_MISMATCH:
        case SQLITE_SCHEMA:
                return -EBADMSG;
        case SQLITE_IOERR:
                return os == ENOSPC || os == EDQUOT || os == EFBIG ? -ENOSPC : -EIO;
        default:
                return -EIO;
        }
}
