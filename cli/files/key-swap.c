/* SPDX-License-Identifier: Apache-2.0 */

/* Key swap: see key-swap.h. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/whole-file.h"
#include "cli/files/key-swap.h"

typedef struct Paths {
        char *public, *next, *next_public;
} Paths;

static void paths_done(Paths *paths) {
        free(paths->public);
        free(paths->next);
        free(paths->next_public);
}

static int paths_init(Paths *paths, const char *file) {
        *paths = (Paths) {};
        if (asprintf(&paths->public, "%s.pub", file) < 0)
                paths->public = NULL;
        if (asprintf(&paths->next, "%s.new", file) < 0)
                paths->next = NULL;
        if (asprintf(&paths->next_public, "%s.new.pub", file) < 0)
                paths->next_public = NULL;
        if (paths->public && paths->next && paths->next_public)
                return 0;
        paths_done(paths);
        return -ENOMEM;
}

static bool is_same(const RecordKey *a, const RecordKey *b) {
        return strcmp(record_key_id(a), record_key_id(b)) == 0;
}

/* Whether the next pair is whole. One that is not was never shown to anyone, since that comes after it is on disk. */
static int load_next(const Paths *paths, RecordKey **ret) {
        _cleanup_(record_key_freep) RecordKey *key = NULL, *public = NULL;
        int r;

        r = record_key_load(paths->next, &key);
        if (r == 0)
                r = record_key_load_public(paths->next_public, &public);
        if (r < 0)
                return r;
        if (!is_same(key, public))
                return -EBADMSG;
        *ret = TAKE_PTR(key);
        return 0;
}

static int remove_file(const char *path) {
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int make_next(const Paths *paths, RecordAlgorithm algorithm, RecordKey **ret) {
        int r;

        r = remove_file(paths->next);
        if (r == 0)
                r = remove_file(paths->next_public);
        if (r == 0)
                r = record_key_generate(paths->next, algorithm);
        return r < 0 ? r : record_key_load(paths->next, ret);
}

/* Only the private key was renamed: then the public one belongs to FILE. */
static int finish_public(const char *file, const Paths *paths) {
        _cleanup_(record_key_freep) RecordKey *key = NULL, *public = NULL;
        int r;

        r = record_key_load(file, &key);
        if (r == 0)
                r = record_key_load_public(paths->next_public, &public);
        if (r < 0)
                return r;
        if (!is_same(key, public))
                return -ESTALE;
        if (rename(paths->next_public, paths->public) < 0)
                return -errno;
        r = whole_file_settle(AT_FDCWD, file);
        return r < 0 ? r : 1;
}

int key_swap_resume(const char *file) {
        _cleanup_(paths_done) Paths paths = {};
        int r;

        r = paths_init(&paths, file);
        if (r < 0 || access(paths.next, F_OK) == 0 || access(paths.next_public, F_OK) < 0)
                return r;
        return finish_public(file, &paths);
}

int key_swap_load(const char *file, RecordKey **ret_next) {
        _cleanup_(paths_done) Paths paths = {};
        int r;

        r = paths_init(&paths, file);
        return r < 0 ? r : load_next(&paths, ret_next);
}

int key_swap_prepare(const char *file, RecordAlgorithm algorithm, RecordKey **ret_next) {
        _cleanup_(paths_done) Paths paths = {};
        int r;

        r = paths_init(&paths, file);
        if (r == 0)
                r = whole_file_settle(AT_FDCWD, file); /* a pair that is whole may be of an attempt that did not come to it */
        if (r == 0)
                r = load_next(&paths, ret_next);
        return r == -EBADMSG || r == -ENOENT ? make_next(&paths, algorithm, ret_next) : r;
}

/* What the old key signed is verified with it for as long as anybody asks. */
static int keep_old(const char *file) {
        _cleanup_(record_key_freep) RecordKey *key = NULL;
        _cleanup_free_ char *path = NULL;
        const char *pem;
        char id[64];
        int r;

        r = record_key_load(file, &key);
        if (r < 0)
                return r;
        (void) snprintf(id, sizeof(id), "%s", strchr(record_key_id(key), ':') + 1);
        for (char *p = id; *p; p++)
                if (*p == '/' || *p == '+')
                        *p = *p == '/' ? '_' : '-'; /* as the alphabet of base64 for file names has it */
        if (asprintf(&path, "%s.%s.pub", file, id) < 0)
                return -ENOMEM;
        pem = record_key_public_pem(key);
        return whole_file_replace(AT_FDCWD, path, 0644, pem, strlen(pem));
}

int key_swap_finish(const char *file) {
        _cleanup_(paths_done) Paths paths = {};
        int r;

        r = paths_init(&paths, file);
        if (r == 0)
                r = keep_old(file);
        if (r < 0)
                return r;
        if (rename(paths.next, file) < 0)
                return -errno;
        r = finish_public(file, &paths);
        return r < 0 ? r : 0;
}
