/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Faults of a disk: a VFS over SQLite's own, which fails the n-th write, sync or truncation, and tells whether all that
 * was written to the write-ahead log has been synced.
 */

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

typedef struct FaultFile {
        sqlite3_file file;
        sqlite3_file *real;
        bool is_wal;
} FaultFile;

static struct {
        atomic_int countdown; /* operations until the fault; 0: none */
        atomic_int error;     /* SQLITE_FULL, SQLITE_IOERR_FSYNC … */
        atomic_bool stays;    /* from the fault on everything fails, as on a full disk */
        atomic_bool after;    /* the operation is done and fails nevertheless */
        atomic_int torn;      /* eighths of a write that are done before it fails */
        atomic_int n_hits;
        atomic_int n_unsynced; /* writes to the WAL since it was synced */
} faults = { .torn = 4 };

static sqlite3_vfs *faults_real;

static inline bool fault_due(void) {
        int before = atomic_load(&faults.countdown);

        if (before == 0)
                return false;
        if (before > 1) {
                atomic_store(&faults.countdown, before - 1);
                return false;
        }
        if (!atomic_load(&faults.stays))
                atomic_store(&faults.countdown, 0);
        atomic_fetch_add(&faults.n_hits, 1);
        return true;
}

#define FAULT_REAL(f) (((FaultFile *) (f))->real)
#define FAULT_CALL(f, method, ...) (FAULT_REAL(f)->pMethods->method(FAULT_REAL(f), ##__VA_ARGS__))

static int fault_close(sqlite3_file *f) { return FAULT_REAL(f)->pMethods ? FAULT_CALL(f, xClose) : SQLITE_OK; }
static int fault_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at) { return FAULT_CALL(f, xRead, data, n, at); }

static int fault_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
        bool due = fault_due();
        int r = SQLITE_OK;

        if (((FaultFile *) f)->is_wal)
                atomic_fetch_add(&faults.n_unsynced, 1);
        if (!due || atomic_load(&faults.after))
                r = FAULT_CALL(f, xWrite, data, n, at);
        else if (n > 8)
                (void) FAULT_CALL(f, xWrite, data, n / 8 * atomic_load(&faults.torn), at);
        return due ? atomic_load(&faults.error) : r;
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 size) {
        return fault_due() ? atomic_load(&faults.error) : FAULT_CALL(f, xTruncate, size);
}

static int fault_sync(sqlite3_file *f, int flags) {
        bool due = fault_due();
        int r = SQLITE_OK;

        if (!due || atomic_load(&faults.after))
                r = FAULT_CALL(f, xSync, flags);
        if (!due && r == SQLITE_OK && ((FaultFile *) f)->is_wal)
                atomic_store(&faults.n_unsynced, 0);
        return due ? atomic_load(&faults.error) : r;
}

static int fault_size(sqlite3_file *f, sqlite3_int64 *size) { return FAULT_CALL(f, xFileSize, size); }
static int fault_lock(sqlite3_file *f, int lock) { return FAULT_CALL(f, xLock, lock); }
static int fault_unlock(sqlite3_file *f, int lock) { return FAULT_CALL(f, xUnlock, lock); }
static int fault_reserved(sqlite3_file *f, int *out) { return FAULT_CALL(f, xCheckReservedLock, out); }
static int fault_control(sqlite3_file *f, int op, void *arg) { return FAULT_CALL(f, xFileControl, op, arg); }
static int fault_sector(sqlite3_file *f) { return FAULT_CALL(f, xSectorSize); }
static int fault_traits(sqlite3_file *f) { return FAULT_CALL(f, xDeviceCharacteristics); }
static int fault_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
        return FAULT_CALL(f, xShmMap, page, size, extend, out);
}
static int fault_shm_lock(sqlite3_file *f, int at, int n, int flags) { return FAULT_CALL(f, xShmLock, at, n, flags); }
static void fault_shm_barrier(sqlite3_file *f) { FAULT_CALL(f, xShmBarrier); }
static int fault_shm_unmap(sqlite3_file *f, int remove_it) { return FAULT_CALL(f, xShmUnmap, remove_it); }

static const sqlite3_io_methods fault_methods = {
        2, fault_close, fault_read, fault_write, fault_truncate, fault_sync, fault_size, fault_lock, fault_unlock,
        fault_reserved, fault_control, fault_sector, fault_traits, fault_shm_map, fault_shm_lock, fault_shm_barrier,
        fault_shm_unmap, NULL, NULL,
};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
        FaultFile *file = (FaultFile *) f;
        int r;

        file->real = (sqlite3_file *) (file + 1);
        file->is_wal = flags & SQLITE_OPEN_WAL;
        r = faults_real->xOpen(faults_real, name, file->real, flags, out);
        file->file.pMethods = file->real->pMethods ? &fault_methods : NULL;
        return r;
}

static inline void faults_install(void) {
        static sqlite3_vfs vfs;

        faults_real = sqlite3_vfs_find(NULL);
        vfs = *faults_real;
        vfs.zName = "faults";
        vfs.szOsFile = (int) sizeof(FaultFile) + faults_real->szOsFile;
        vfs.xOpen = fault_open;
        (void) sqlite3_vfs_register(&vfs, 1);
}

static inline void faults_set(int countdown, int error, bool stays, bool after) {
        atomic_store(&faults.error, error);
        atomic_store(&faults.stays, stays);
        atomic_store(&faults.after, after);
        atomic_store(&faults.n_hits, 0);
        atomic_store(&faults.countdown, countdown);
}
