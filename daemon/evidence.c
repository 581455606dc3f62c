/* SPDX-License-Identifier: Apache-2.0 */

/* Evidence: see evidence.h. The file while it grows. */

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>

#include "daemon/evidence.h"

#define SLICE_BYTES (64u << 10)

struct EvidenceFile {
        int fd;
        uint64_t size;
        EVP_MD_CTX *digest;
        const char *name; /* in path */
        char path[];
};

static int file_new(const char *folder, const char *run, EvidenceFile **ret) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        size_t n = strlen(folder) + strlen(run) + sizeof("/" EVIDENCE_SUFFIX);

        file = calloc(1, sizeof(*file) + n);
        if (!file)
                return -ENOMEM;

        file->fd = -EBADF;
        (void) snprintf(file->path, n, "%s/%s" EVIDENCE_SUFFIX, folder, run);
        file->name = file->path + strlen(folder) + 1;
        file->digest = EVP_MD_CTX_new();
        if (!file->digest || EVP_DigestInit_ex(file->digest, EVP_sha256(), NULL) != 1)
                return -ENOMEM;

        *ret = TAKE_PTR(file);
        return 0;
}

EvidenceFile *evidence_free(EvidenceFile *file) {
        if (!file)
                return NULL;

        close_fd(file->fd);
        EVP_MD_CTX_free(file->digest);
        free(file);
        return NULL;
}

int evidence_create(const char *folder, const char *run, EvidenceFile **ret) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        int r;

        r = file_new(folder, run, &file);
        if (r < 0)
                return r;

        file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (file->fd < 0)
                return -errno;

        *ret = TAKE_PTR(file);
        return 0;
}

/* Reads what MARK tells of from the start, whole lines at a time, and leaves FILE behind them. EACH may be NULL. -EBADMSG: these were other bytes. */
static int reread(EvidenceFile *file, const EvidenceMark *mark, int (*each)(const char *bytes, size_t n, void *userdata), void *userdata) {
        _cleanup_free_ char *buffer = malloc(SLICE_BYTES);
        char digest[EVIDENCE_DIGEST_HEX];
        int r = 0;

        if (!buffer || EVP_DigestInit_ex(file->digest, EVP_sha256(), NULL) != 1)
                return -ENOMEM;

        for (file->size = 0; file->size < mark->bytes;) {
                ssize_t got = pread(file->fd, buffer, MIN(mark->bytes - file->size, SLICE_BYTES), (off_t) file->size);
                const char *end = got > 0 ? memrchr(buffer, '\n', (size_t) got) : NULL;
                size_t n_lines = end ? (size_t) (end + 1 - buffer) : 0;

                if (!end)
                        return got < 0 ? -errno : -EBADMSG;
                if (each)
                        r = each(buffer, n_lines, userdata);
                if (r < 0)
                        return r;
                if (EVP_DigestUpdate(file->digest, buffer, n_lines) != 1)
                        return -EIO;
                file->size += n_lines;
        }
        r = evidence_digest(file, digest);
        return r < 0 ? r : strcmp(digest, mark->sha256) == 0 ? 0 : -EBADMSG;
}

static int file_open(const char *folder, const char *run, EvidenceFile **ret) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        int r;

        r = file_new(folder, run, &file);
        if (r < 0)
                return r;
        file->fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file->fd < 0)
                return -errno;

        *ret = TAKE_PTR(file);
        return 0;
}

int evidence_check(const char *folder, const char *run, const EvidenceMark *mark) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        int r;

        r = file_open(folder, run, &file);
        if (r == -ENOENT)
                return mark->bytes > 0 ? -EBADMSG : 0;
        return r < 0 ? r : reread(file, mark, NULL, NULL);
}

int evidence_reopen(const char *folder, const char *run, const EvidenceMark *mark,
                    int (*each)(const char *bytes, size_t n, void *userdata), void *userdata,
                    EvidenceFile **ret) {
        _cleanup_(evidence_freep) EvidenceFile *file = NULL;
        int r;

        r = file_open(folder, run, &file);
        if (r >= 0)
                r = reread(file, mark, each, userdata);
        if (r < 0)
                return r;
        if (ftruncate(file->fd, (off_t) file->size) < 0 || lseek(file->fd, 0, SEEK_END) < 0)
                return -errno;

        *ret = TAKE_PTR(file);
        return 0;
}

int evidence_append(EvidenceFile *file, const void *bytes, size_t n) {
        const char *rest = bytes;
        size_t left = n;

        while (left > 0) {
                ssize_t written = write(file->fd, rest, left);

                if (written < 0) {
                        int error = -errno;

                        if (error == -EINTR)
                                continue;
                        if (ftruncate(file->fd, (off_t) file->size) >= 0)
                                (void) lseek(file->fd, 0, SEEK_END);
                        return error;
                }
                rest += written;
                left -= (size_t) written;
        }

        if (EVP_DigestUpdate(file->digest, bytes, n) != 1)
                return -EIO;
        file->size += n;
        return 0;
}

int evidence_clear(EvidenceFile *file) {
        if (ftruncate(file->fd, 0) < 0 || lseek(file->fd, 0, SEEK_SET) < 0)
                return -errno;

        file->size = 0;
        return EVP_DigestInit_ex(file->digest, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

int evidence_digest(const EvidenceFile *file, char ret[static EVIDENCE_DIGEST_HEX]) {
        unsigned char bytes[EVP_MAX_MD_SIZE];
        EVP_MD_CTX *copy;
        int r = -EIO;

        copy = EVP_MD_CTX_new();
        if (!copy)
                return -ENOMEM;

        if (EVP_MD_CTX_copy_ex(copy, file->digest) == 1 && EVP_DigestFinal_ex(copy, bytes, NULL) == 1) {
                for (size_t i = 0; i < (EVIDENCE_DIGEST_HEX - 1) / 2; i++)
                        (void) snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
                r = 0;
        }

        EVP_MD_CTX_free(copy);
        return r;
}

int evidence_mark(const EvidenceFile *file, EvidenceMark *ret) {
        ret->bytes = file->size;
        return evidence_digest(file, ret->sha256);
}

uint64_t evidence_size(const EvidenceFile *file) {
        return file->size;
}

const char *evidence_name(const EvidenceFile *file) {
        return file->name;
}
