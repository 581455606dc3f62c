/* SPDX-License-Identifier: Apache-2.0 */

/* Evidence: see evidence.h. Packing files that no longer grow, and reading either kind. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <zstd.h>

#include "daemon/evidence.h"
#include "daemon/journal.h"

#define SLICE_BYTES   (64u << 10)
#define PACKED_SUFFIX ".zst"
#define PACKING_LEVEL 3

typedef struct Packing {
        STAILQ_ENTRY(Packing) entry;
        char name[];
} Packing;

struct EvidencePacker {
        sd_event_source *source;
        int folder_fd;
        ZSTD_CCtx *context;
        int from, to; /* of the file that is being packed */
        STAILQ_HEAD(, Packing) waiting;
        char in[SLICE_BYTES], out[SLICE_BYTES];
};

static int write_all(int fd, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t written = write(fd, bytes, n);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return -errno;
                bytes += written;
                n -= (size_t) written;
        }

        return 0;
}

static void packed_name(const char *name, char ret[static 256]) {
        (void) snprintf(ret, 256, "%s" PACKED_SUFFIX, name);
}

/* Something else than a file of assayd's may stand there: a pipe would be waited for by whoever opens or reads it, and by all of assayd with it. */
static int open_file(int folder_fd, const char *name, int flags) {
        _cleanup_close_ int fd = openat(folder_fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0640);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EBADMSG;
}

static int packing_begin(EvidencePacker *packer, const char *name) {
        char packed[256];

        packed_name(name, packed);
        packer->from = open_file(packer->folder_fd, name, O_RDONLY);
        if (packer->from < 0)
                return packer->from;
        packer->to = open_file(packer->folder_fd, packed, O_WRONLY | O_CREAT | O_TRUNC);
        if (packer->to < 0)
                return packer->to;

        (void) ZSTD_CCtx_reset(packer->context, ZSTD_reset_session_only);
        return 0;
}

/* Packs one slice. Returns 1 when that was the last. */
static int packing_step(EvidencePacker *packer) {
        ZSTD_EndDirective mode;
        ZSTD_inBuffer in = { packer->in, 0, 0 };
        ssize_t n;
        size_t left;
        int r;

        n = read(packer->from, packer->in, SLICE_BYTES);
        if (n < 0)
                return -errno;

        in.size = (size_t) n;
        mode = n == 0 ? ZSTD_e_end : ZSTD_e_continue;
        do {
                ZSTD_outBuffer out = { packer->out, SLICE_BYTES, 0 };

                left = ZSTD_compressStream2(packer->context, &out, &in, mode);
                if (ZSTD_isError(left))
                        return -EIO;
                r = write_all(packer->to, packer->out, out.pos);
                if (r < 0)
                        return r;
        } while (mode == ZSTD_e_end ? left > 0 : in.pos < in.size);

        return mode == ZSTD_e_end;
}

/* The plain file goes only when the packed one is whole. */
static void packing_finish(EvidencePacker *packer, Packing *packing, int r) {
        char packed[256];

        packed_name(packing->name, packed);
        if (r < 0) {
                log_warning_errno(r, "Failed to pack evidence %s, keeping it plain: %m", packing->name);
                (void) unlinkat(packer->folder_fd, packed, 0);
        } else
                (void) unlinkat(packer->folder_fd, packing->name, 0);

        packer->from = close_fd(packer->from);
        packer->to = close_fd(packer->to);
        STAILQ_REMOVE_HEAD(&packer->waiting, entry);
        free(packing);
}

static int on_idle(sd_event_source *source, void *userdata) {
        EvidencePacker *packer = userdata;
        Packing *packing = STAILQ_FIRST(&packer->waiting);
        int r = 0;

        if (!packing)
                return sd_event_source_set_enabled(source, SD_EVENT_OFF);

        if (packer->from < 0)
                r = packing_begin(packer, packing->name);
        if (r >= 0)
                r = packing_step(packer);
        if (r != 0)
                packing_finish(packer, packing, r);

        return 0;
}

int evidence_packer_new(sd_event *event, const char *folder, EvidencePacker **ret) {
        _cleanup_(evidence_packer_freep) EvidencePacker *packer = NULL;
        int r;

        packer = calloc(1, sizeof(*packer));
        if (!packer)
                return -ENOMEM;

        STAILQ_INIT(&packer->waiting);
        packer->from = packer->to = -EBADF;
        packer->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (packer->folder_fd < 0)
                return -errno;

        packer->context = ZSTD_createCCtx();
        if (!packer->context ||
            ZSTD_isError(ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, PACKING_LEVEL)))
                return -ENOMEM;

        r = sd_event_add_defer(event, &packer->source, on_idle, packer);
        if (r >= 0)
                r = sd_event_source_set_priority(packer->source, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = sd_event_source_set_enabled(packer->source, SD_EVENT_OFF);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(packer);
        return 0;
}

EvidencePacker *evidence_packer_free(EvidencePacker *packer) {
        Packing *packing;

        if (!packer)
                return NULL;

        while ((packing = STAILQ_FIRST(&packer->waiting))) {
                STAILQ_REMOVE_HEAD(&packer->waiting, entry);
                free(packing);
        }
        sd_event_source_disable_unref(packer->source);
        ZSTD_freeCCtx(packer->context);
        close_fd(packer->from);
        close_fd(packer->to);
        close_fd(packer->folder_fd);
        free(packer);
        return NULL;
}

int evidence_packer_add(EvidencePacker *packer, const char *name) {
        Packing *packing;

        packing = calloc(1, sizeof(*packing) + strlen(name) + 1);
        if (!packing)
                return -ENOMEM;

        memcpy(packing->name, name, strlen(name) + 1);
        STAILQ_INSERT_TAIL(&packer->waiting, packing, entry);
        return sd_event_source_set_enabled(packer->source, SD_EVENT_ON);
}

static int copy_plain(int from, int fd) {
        char slice[16 << 10];

        for (;;) {
                ssize_t n = read(from, slice, sizeof(slice));
                int r;

                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 0;
                r = write_all(fd, slice, (size_t) n);
                if (r < 0)
                        return r;
        }
}

static int copy_packed(int from, int fd) {
        ZSTD_DCtx *context = ZSTD_createDCtx();
        char packed[16 << 10], plain[16 << 10];
        size_t left = 0;
        ssize_t n = 0;
        int r = context ? 0 : -ENOMEM;

        while (r >= 0 && (n = read(from, packed, sizeof(packed))) > 0) {
                ZSTD_inBuffer in = { packed, (size_t) n, 0 };

                while (r >= 0 && in.pos < in.size) {
                        ZSTD_outBuffer out = { plain, sizeof(plain), 0 };

                        left = ZSTD_decompressStream(context, &out, &in);
                        r = ZSTD_isError(left) ? -EBADMSG : write_all(fd, plain, out.pos);
                }
        }

        ZSTD_freeDCtx(context);
        return r < 0 ? r : n < 0 ? -EIO : left > 0 ? -EBADMSG : 0;
}

int evidence_copy(const char *folder, const char *name, int fd) {
        _cleanup_close_ int folder_fd = -EBADF, plain = -EBADF, packed = -EBADF;
        char packed_file[256];

        folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder_fd < 0)
                return -errno;

        plain = open_file(folder_fd, name, O_RDONLY);
        if (plain >= 0)
                return copy_plain(plain, fd);
        if (plain == -EBADMSG)
                return plain;

        packed_name(name, packed_file);
        packed = open_file(folder_fd, packed_file, O_RDONLY);
        if (packed < 0)
                return packed;
        return copy_packed(packed, fd);
}
