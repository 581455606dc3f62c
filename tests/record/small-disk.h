/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The folder of a Place as a small file system of its own, which nobody else sees, and how to fill it. Needs cmocka.h before it. */

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "tests/record/place.h"

/* SIZE as mount(8) takes it. The test is skipped where nothing can be mounted; else small_disk_done() is called with the folder. */
static inline void small_disk_init(const Place *place, const char *size) {
        char options[32];

        (void) snprintf(options, sizeof(options), "size=%s,mode=0700", size);
        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", place->folder, "tmpfs", 0, options) < 0) {
                print_message("# cannot mount a small file system here\n");
                skip();
        }
        assert_int_equal(record_key_generate(place->key, RECORD_ED25519), 0);
}

static inline void small_disk_done(const Place *place) {
        (void) umount2(place->folder, MNT_DETACH);
}

/* What is left of it; unlinked by small_disk_empty(). */
static inline void small_disk_fill(const Place *place) {
        static const char zeros[4096];
        char path[128];
        int fd;

        (void) snprintf(path, sizeof(path), "%.63s/filler", place->folder);
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        while (write(fd, zeros, sizeof(zeros)) > 0)
                ;
        (void) close(fd);
}

static inline void small_disk_empty(const Place *place) {
        char path[128];

        (void) snprintf(path, sizeof(path), "%.63s/filler", place->folder);
        assert_int_equal(unlink(path), 0);
}
