/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/store/store-vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GATHERED_MAX (128 * 1024 - 1) /* SQLite's own write takes no more at once */
#define REAL_BYTES   1024             /* SQLite's own file takes 120, and tests put a VFS or two before it */

typedef struct GatheredFile {
        sqlite3_file file;
        alignas(int64_t) uint8_t real[REAL_BYTES]; /* the file of the VFS beneath */
        uint8_t *bytes; /* what was written and not passed on: N bytes at AT */
        sqlite3_int64 at;
        int n;
        sqlite3_int64 reach; /* the end of what was passed on, and of what was there before */
} GatheredFile;

int64_t store_vfs_reach(const sqlite3_file *file) {
        return ((const GatheredFile *) file)->reach;
}

void store_vfs_begin_anew(sqlite3_file *file) {
        ((GatheredFile *) file)->reach = 0;
}

#define REAL(f) ((sqlite3_file *) ((GatheredFile *) (f))->real)
#define CALL(f, method, ...) (REAL(f)->pMethods->method(REAL(f), ##__VA_ARGS__))
/* Nothing overtakes what was written before it. */
#define AFTER_WRITES(f, call)                                                                                \
        ({                                                                                                   \
                int _r = pass_on(f);                                                                         \
                _r == SQLITE_OK ? (call) : _r;                                                               \
        })

static int write_through(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
        GatheredFile *file = (GatheredFile *) f;
        int r = CALL(f, xWrite, data, n, at);

        if (r == SQLITE_OK && at + n > file->reach)
                file->reach = at + n;
        return r;
}

/*
 * What fails is forgotten: whoever asked is told, and SQLite ends the transaction that it was of, and writes the next one over it. SQLite heeds
 * whatever it is answered of a write-ahead log but at its xClose, when all that was committed has been synced.
 */
static int pass_on(sqlite3_file *f) {
        GatheredFile *file = (GatheredFile *) f;
        int n = file->n;

        file->n = 0;
        return n > 0 ? write_through(f, file->bytes, n, file->at) : SQLITE_OK;
}

static int file_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
        GatheredFile *file = (GatheredFile *) f;

        if (file->n > 0 && (at != file->at + file->n || n > GATHERED_MAX - file->n)) {
                int r = pass_on(f);

                if (r != SQLITE_OK)
                        return r;
        }
        if (!file->bytes)
                file->bytes = malloc(GATHERED_MAX);
        if (!file->bytes || n > GATHERED_MAX)
                return write_through(f, data, n, at);
        if (file->n == 0)
                file->at = at;
        memcpy(file->bytes + file->n, data, (size_t) n);
        file->n += n;
        return SQLITE_OK;
}

static int file_close(sqlite3_file *f) {
        GatheredFile *file = (GatheredFile *) f;
        int r = pass_on(f), closed = CALL(f, xClose);

        free(file->bytes);
        return r != SQLITE_OK ? r : closed;
}

static int file_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at) { return AFTER_WRITES(f, CALL(f, xRead, data, n, at)); }
static int file_truncate(sqlite3_file *f, sqlite3_int64 size) {
        GatheredFile *file = (GatheredFile *) f;
        int r = AFTER_WRITES(f, CALL(f, xTruncate, size));

        if (r == SQLITE_OK && size < file->reach)
                file->reach = size;
        return r;
}
static int file_sync(sqlite3_file *f, int flags) { return AFTER_WRITES(f, CALL(f, xSync, flags)); }
static int file_size(sqlite3_file *f, sqlite3_int64 *size) { return AFTER_WRITES(f, CALL(f, xFileSize, size)); }
/* A write-ahead log is never locked, its database is. */
static int file_lock(sqlite3_file *f, int lock) { return CALL(f, xLock, lock); }
static int file_unlock(sqlite3_file *f, int lock) { return CALL(f, xUnlock, lock); }
static int file_reserved(sqlite3_file *f, int *out) { return CALL(f, xCheckReservedLock, out); }
static int file_control(sqlite3_file *f, int op, void *arg) { return AFTER_WRITES(f, CALL(f, xFileControl, op, arg)); }
static int file_sector(sqlite3_file *f) { return CALL(f, xSectorSize); }
static int file_traits(sqlite3_file *f) { return CALL(f, xDeviceCharacteristics); }

static const sqlite3_io_methods methods = {
        .iVersion = 1, /* shared memory and memory maps are the database's */
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_reserved,
        .xFileControl = file_control,
        .xSectorSize = file_sector,
        .xDeviceCharacteristics = file_traits,
};

/* The file beneath is of what is the default now; a database or a journal is opened as nothing else. */
static int file_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags) {
        sqlite3_vfs *under = sqlite3_vfs_find(NULL);
        GatheredFile *file = (GatheredFile *) f;
        int r;

        f->pMethods = NULL;
        if (under->szOsFile > REAL_BYTES)
                return SQLITE_CANTOPEN;
        if (!(flags & SQLITE_OPEN_WAL))
                return under->xOpen(under, name, f, flags, ret_flags);
        *file = (GatheredFile) {};
        r = under->xOpen(under, name, REAL(f), flags, ret_flags);
        if (r == SQLITE_OK) {
                file->file.pMethods = &methods;
                return CALL(f, xFileSize, &file->reach);
        }
        if (REAL(f)->pMethods)
                (void) CALL(f, xClose);
        return r;
}

static sqlite3_vfs store_vfs;
static pthread_once_t registered = PTHREAD_ONCE_INIT;
static int registration;

/* How much memory SQLite has allocated nobody asks, and a lock for each piece would count it. Refused where SQLite is in use already. */
static void vfs_register(void) {
        (void) sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        registration = sqlite3_initialize();
        if (registration != SQLITE_OK)
                return;
        store_vfs = *sqlite3_vfs_find(NULL);
        store_vfs.zName = STORE_VFS;
        store_vfs.szOsFile = (int) sizeof(GatheredFile);
        store_vfs.xOpen = file_open;
        registration = sqlite3_vfs_register(&store_vfs, 0);
}

int store_vfs_register(void) {
        (void) pthread_once(&registered, vfs_register);
        return registration == SQLITE_OK ? 0 : -ENOMEM;
}
