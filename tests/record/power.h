/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Loss of power: a VFS over SQLite's own which knows what has been written and not yet synced. At the n-th write, sync or truncation the
 * process dies, and of what was not synced all stays, all is gone, or some sectors are: whatever a disk may do that keeps its promise of fsync.
 */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POWER_SECTOR 512

typedef enum PowerLoss { POWER_KEEPS, POWER_LOSES, POWER_TEARS, _POWER_MAX } PowerLoss;

/* What stood there before a write or truncation that is not synced. */
typedef struct PowerUndo PowerUndo;
struct PowerUndo {
        PowerUndo *before;
        const char *path;
        int64_t at, size; /* of the file, then */
        int n, n_wanted;
        uint8_t old[];
};

typedef struct PowerFile {
        sqlite3_file file;
        sqlite3_file *real;
        const char *path; /* NULL: a temporary file, of which nothing is expected */
} PowerFile;

static struct {
        pthread_mutex_t mutex;
        sqlite3_vfs *real, vfs;
        PowerUndo *last;
        unsigned n_operations, dies_at; /* 0: never */
        unsigned seed;
        PowerLoss loss;
} power = { .mutex = PTHREAD_MUTEX_INITIALIZER };

#define POWER_REAL(f) (((PowerFile *) (f))->real)
#define POWER_CALL(f, method, ...) (POWER_REAL(f)->pMethods->method(POWER_REAL(f), ##__VA_ARGS__))

/* Sector by sector within what was written: a write never harms its neighbours. */
static void power_undo(const PowerUndo *undo) {
        int fd = open(undo->path, O_RDWR | O_CLOEXEC);

        for (int at = 0; fd >= 0 && at < undo->n; at += POWER_SECTOR) {
                int n = undo->n - at < POWER_SECTOR ? undo->n - at : POWER_SECTOR;

                if (power.loss == POWER_LOSES || rand_r(&power.seed) & 1)
                        (void) !pwrite(fd, undo->old + at, (size_t) n, undo->at + at);
        }
        if (fd >= 0 && (power.loss == POWER_LOSES || rand_r(&power.seed) & 1))
                (void) !ftruncate(fd, undo->size);
        (void) close(fd);
}

static void power_fails(void) {
        for (PowerUndo *undo = power.last; undo && power.loss != POWER_KEEPS; undo = undo->before)
                power_undo(undo);
        (void) kill(getpid(), SIGKILL);
}

/* Before an operation; what it will overwrite is kept. */
static void power_step(sqlite3_file *f, int64_t at, int64_t n) {
        PowerFile *file = (PowerFile *) f;
        sqlite3_int64 size = 0;
        PowerUndo *undo;

        (void) pthread_mutex_lock(&power.mutex);
        if (++power.n_operations == power.dies_at)
                power_fails();
        if (file->path && n >= 0) {
                if (POWER_CALL(f, xFileSize, &size) != SQLITE_OK || !(undo = calloc(1, sizeof(*undo) + (size_t) n)))
                        abort();
                *undo = (PowerUndo) { .before = power.last, .path = file->path, .at = at, .size = size };
                undo->n = at >= size ? 0 : (int) (n < size - at ? n : size - at);
                if (undo->n > 0 && POWER_CALL(f, xRead, undo->old, undo->n, at) != SQLITE_OK)
                        abort();
                power.last = undo;
        }
        (void) pthread_mutex_unlock(&power.mutex);
}

static int power_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at) {
        power_step(f, at, n);
        return POWER_CALL(f, xWrite, data, n, at);
}

static int power_truncate(sqlite3_file *f, sqlite3_int64 size) {
        sqlite3_int64 now = 0;

        (void) POWER_CALL(f, xFileSize, &now);
        power_step(f, size, now > size ? now - size : 0);
        return POWER_CALL(f, xTruncate, size);
}

static int power_sync(sqlite3_file *f, int flags) {
        PowerFile *file = (PowerFile *) f;
        int r;

        power_step(f, 0, -1);
        r = POWER_CALL(f, xSync, flags);
        (void) pthread_mutex_lock(&power.mutex);
        for (PowerUndo **undo = &power.last; *undo && r == SQLITE_OK;)
                if (file->path && strcmp((*undo)->path, file->path) == 0) {
                        PowerUndo *done = *undo;

                        *undo = done->before;
                        free(done);
                } else
                        undo = &(*undo)->before;
        (void) pthread_mutex_unlock(&power.mutex);
        return r;
}

static int power_close(sqlite3_file *f) { return POWER_REAL(f)->pMethods ? POWER_CALL(f, xClose) : SQLITE_OK; }
static int power_read(sqlite3_file *f, void *data, int n, sqlite3_int64 at) { return POWER_CALL(f, xRead, data, n, at); }
static int power_size(sqlite3_file *f, sqlite3_int64 *size) { return POWER_CALL(f, xFileSize, size); }
static int power_lock(sqlite3_file *f, int lock) { return POWER_CALL(f, xLock, lock); }
static int power_unlock(sqlite3_file *f, int lock) { return POWER_CALL(f, xUnlock, lock); }
static int power_reserved(sqlite3_file *f, int *out) { return POWER_CALL(f, xCheckReservedLock, out); }
static int power_control(sqlite3_file *f, int op, void *arg) { return POWER_CALL(f, xFileControl, op, arg); }
static int power_sector(sqlite3_file *f) { return POWER_CALL(f, xSectorSize); }
static int power_traits(sqlite3_file *f) { return POWER_CALL(f, xDeviceCharacteristics); }
static int power_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
        return POWER_CALL(f, xShmMap, page, size, extend, out);
}
static int power_shm_lock(sqlite3_file *f, int at, int n, int flags) { return POWER_CALL(f, xShmLock, at, n, flags); }
static void power_shm_barrier(sqlite3_file *f) { POWER_CALL(f, xShmBarrier); }
static int power_shm_unmap(sqlite3_file *f, int remove_it) { return POWER_CALL(f, xShmUnmap, remove_it); }

static const sqlite3_io_methods power_methods = {
        2, power_close, power_read, power_write, power_truncate, power_sync, power_size, power_lock, power_unlock,
        power_reserved, power_control, power_sector, power_traits, power_shm_map, power_shm_lock, power_shm_barrier,
        power_shm_unmap, NULL, NULL,
};

static int power_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
        PowerFile *file = (PowerFile *) f;
        int r;

        file->real = (sqlite3_file *) (file + 1);
        file->path = name ? strdup(name) : NULL; /* outlives the file: what is closed may still be lost */
        r = power.real->xOpen(power.real, name, file->real, flags, out);
        file->file.pMethods = file->real->pMethods ? &power_methods : NULL;
        return r;
}

/* Of this process, before it opens any database. */
static inline void power_install(unsigned dies_at, PowerLoss loss, unsigned seed) {
        power.real = sqlite3_vfs_find(NULL);
        power.vfs = *power.real;
        power.vfs.zName = "power";
        power.vfs.szOsFile = (int) sizeof(PowerFile) + power.real->szOsFile;
        power.vfs.xOpen = power_open;
        power.dies_at = dies_at;
        power.loss = loss;
        power.seed = seed;
        (void) sqlite3_vfs_register(&power.vfs, 1);
}
