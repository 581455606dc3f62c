/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The files that a store has open, and their names. Who takes a file away or puts another in its place takes nothing from who has it open: it is
 * written on, and all of that is gone when it is closed. A write-ahead log that was cut is written on behind a hole, before which the next start
 * finds an end.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/record/store/store.h"

static const char *name_of(const Store *store, size_t i) {
        const char *database = sqlite3_db_filename(store->db, "main");

        return i == 0 ? database : sqlite3_filename_wal(database);
}

static int refuse_place(const char *path, const struct stat *st, const char *wrong, char **ret_wrong) {
        return asprintf(ret_wrong, "%s %s (owner %u, mode %04o): who writes it writes history", path, wrong, (unsigned) st->st_uid, (unsigned) st->st_mode & 07777) < 0 ?
                       -ENOMEM : -EPERM;
}

/* ANY_OWNER: whose it is does not count. */
static int check_place(const char *path, bool is_folder, bool any_owner, char **ret_wrong) {
        struct stat st;

        if ((is_folder ? stat : lstat)(path, &st) < 0)
                return -errno;
        if (!is_folder && !S_ISREG(st.st_mode))
                return refuse_place(path, &st, "is no file of its own", ret_wrong);
        if (any_owner)
                return 0;
        if (st.st_uid != 0 && st.st_uid != geteuid())
                return refuse_place(path, &st, "is another user's", ret_wrong);
        return st.st_mode & (S_IWGRP | S_IWOTH) ? refuse_place(path, &st, "may be written by others", ret_wrong) : 0;
}

/* SQLite opens what stands beside the database as well, and believes it; it would wait for a pipe. */
static int check_beside(const char *path, bool any_owner, char **ret_wrong) {
        static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

        for (size_t i = 0; i < ELEMENTS(suffixes); i++) {
                char name[PATH_MAX];
                int r;

                if (snprintf(name, sizeof(name), "%s%s", path, suffixes[i]) >= (int) sizeof(name))
                        return -ENAMETOOLONG;
                r = check_place(name, false, any_owner, ret_wrong);
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        return 0;
}

int store_check_place(const char *path, char **ret_wrong) {
        const char *slash = strrchr(path, '/');
        char folder[PATH_MAX];
        int r;

        if (snprintf(folder, sizeof(folder), "%.*s", slash ? (int) MAX(slash - path, 1) : 1, slash ? path : ".") >= (int) sizeof(folder))
                return -ENAMETOOLONG;
        r = check_place(folder, true, false, ret_wrong);
        if (r == 0)
                r = check_beside(path, false, ret_wrong);
        return r == -ENOENT ? 0 : r; /* SQLite says so, or makes it */
}

int store_check_files(const char *path, char **ret_wrong) {
        return check_beside(path, true, ret_wrong);
}

int store_note_files(Store *store) {
        for (size_t i = 0; i < ELEMENTS(store->files); i++) {
                struct stat st;

                if (stat(name_of(store, i), &st) < 0)
                        return -errno;
                store->files[i] = (StoreFile) { st.st_dev, st.st_ino, st.st_size };
        }
        return 0;
}

bool store_has_its_files(Store *store) {
        for (size_t i = 0; i < ELEMENTS(store->files); i++) {
                StoreFile *file = &store->files[i];
                struct stat st;

                if (stat(name_of(store, i), &st) < 0) {
                        if (errno == ENOENT || errno == ENOTDIR)
                                return false;
                        continue;
                }
                if (st.st_dev != file->device || st.st_ino != file->inode)
                        return false;
                file->size = st.st_size;
        }
        return true;
}

/*
 * Another connection may have cut it when all of it stood in the database. Of one that somebody else has cut SQLite holds that frames are there.
 * While the other one is at it SQLite tells nothing, and does not wait for it by itself.
 */
static bool is_begun_anew(const Store *store) {
        int n_frames = 0, n_moved, r;

        for (unsigned i = 0; i < STORE_BUSY_MSEC; i++) {
                r = sqlite3_wal_checkpoint_v2(store->db, "main", SQLITE_CHECKPOINT_PASSIVE, &n_frames, &n_moved);
                if ((r & 0xff) != SQLITE_BUSY)
                        return r == SQLITE_OK && n_frames == 0;
                (void) sqlite3_sleep(1);
        }
        return false;
}

bool store_has_its_wal(const Store *store) {
        struct stat st;

        /* Whether it is there store_has_its_files() says. */
        return stat(name_of(store, 1), &st) < 0 || st.st_size >= store->files[1].size || is_begun_anew(store);
}
