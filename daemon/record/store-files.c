/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The files that a store has open, and their names. Who takes a file away or puts another in its place takes nothing from who has it open: it is
 * written on, and all of that is gone when it is closed.
 */

#include <errno.h>
#include <sys/stat.h>

#include "daemon/record/store.h"

static const char *name_of(const Store *store, size_t i) {
        const char *database = sqlite3_db_filename(store->db, "main");

        return i == 0 ? database : sqlite3_filename_wal(database);
}

int store_note_files(Store *store) {
        for (size_t i = 0; i < ELEMENTS(store->files); i++) {
                struct stat st;

                if (stat(name_of(store, i), &st) < 0)
                        return -errno;
                store->files[i] = (StoreFile) { st.st_dev, st.st_ino };
        }
        return 0;
}

bool store_has_its_files(const Store *store) {
        for (size_t i = 0; i < ELEMENTS(store->files); i++) {
                struct stat st;

                if (stat(name_of(store, i), &st) < 0) {
                        if (errno == ENOENT || errno == ENOTDIR)
                                return false;
                } else if (st.st_dev != store->files[i].device || st.st_ino != store->files[i].inode)
                        return false;
        }
        return true;
}
