/* SPDX-License-Identifier: Apache-2.0 */

/* Program: see program.h. */

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/program.h"
#include "daemon/record/record.h"

static bool is_same(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

const char *program_sha256(Program *program, const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat status;
        void *bytes;

        if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0)
                return NULL;
        if (program->sha256[0] != '\0' && is_same(&program->status, &status))
                return program->sha256;

        *program = (Program) {};
        bytes = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return NULL;
        if (record_digest(bytes, (size_t) status.st_size, program->sha256) < 0)
                program->sha256[0] = '\0';
        (void) munmap(bytes, (size_t) status.st_size);
        program->status = status;
        return program->sha256[0] ? program->sha256 : NULL;
}
