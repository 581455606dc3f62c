/* SPDX-License-Identifier: Apache-2.0 */

/* A file becomes an archive: its lines are durable before a record says so. */

#include "daemon/record/log/log-archive.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checks/text/whole-file.h"

#define FILE_MAX     (RECORD_ARCHIVE_RECORDS * ((size_t) RECORD_ENVELOPE_MAX + 1))
#define LINES_AT_ONCE 16 /* others read the log in between */

static int write_lines(RecordLog *log, uint64_t first, int fd) {
        int r = 0;

        for (uint64_t i = 0; i < RECORD_ARCHIVE_RECORDS && r >= 0; i += LINES_AT_ONCE)
                r = store_export(log->reader, first + i, first + i + LINES_AT_ONCE, fd);
        return r < 0 ? r : fsync(fd) < 0 ? -errno : 0;
}

/* A file of that name was made before a death, of the same lines, or it is another log's. */
static int name_it(int folder, const char *fresh, const char *name, const char *text, size_t n) {
        _cleanup_free_ char *found = NULL;
        size_t n_found = 0;
        int r;

        if (renameat2(folder, fresh, folder, name, RENAME_NOREPLACE) == 0)
                return whole_file_settle(folder, name);
        if (errno != EEXIST)
                return -errno;
        r = whole_file_read(folder, name, FILE_MAX, &found, &n_found);
        if (r == -EFBIG || r == -EBADMSG || (r == 0 && (n_found != n || memcmp(found, text, n) != 0)))
                r = -EEXIST;
        (void) unlinkat(folder, fresh, 0);
        return r < 0 ? r : whole_file_settle(folder, name);
}

/* The lines of ARCHIVE, durable under its name; its size and digest. */
static int write_archive(RecordLog *log, int folder, Archive *archive, uint8_t ret_digest[static DIGEST_BYTES]) {
        char name[RECORD_ARCHIVE_NAME_MAX], fresh[RECORD_ARCHIVE_NAME_MAX + sizeof(".new")];
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n = 0;
        int r;

        (void) snprintf(fresh, sizeof(fresh), "%s.new", record_archive_name(archive->first, name));
        (void) unlinkat(folder, fresh, 0); /* of a writer that died */
        fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (fd < 0)
                return -errno;
        r = write_lines(log, archive->first, fd);
        if (r == 0)
                r = whole_file_read(folder, fresh, FILE_MAX, &text, &n);
        if (r == 0)
                r = digest_sha256(text, n, ret_digest);
        if (r == 0)
                r = name_it(folder, fresh, name, text, n);
        if (r < 0)
                (void) unlinkat(folder, fresh, 0);
        archive->size = n;
        return r;
}

/* Tables told that record INDEX may go, and nobody has signed those: what they say of it is signed with what goes. */
static int take_entry(RecordLog *log, uint64_t index, Holes *pruned, char **ret_wrong) {
        _cleanup_(log_record_done) LogRecord record = {};
        RecordEntry entry;
        int r;

        r = log_check_record(log, log->reader, index, &record, ret_wrong);
        if (r == 0)
                r = store_entry(log->reader, index, &entry);
        if (r < 0)
                return r;
        if (store_entry_is_of(&entry, &record.verified.entry))
                return holes_take(pruned, &entry);
        return asprintf(ret_wrong, "record %" PRIu64 " is to be dropped, and what the table tells of it is not what it says: put the newest backup back", index) < 0 ?
                               -ENOMEM : -EBADMSG;
}

/* -EBADMSG: nothing is signed any more. */
static int take_dropped(RecordLog *log, Archive *archive) {
        _cleanup_free_ char *wrong = NULL;
        int r = 0;

        for (unsigned i = 0; i < RECORD_ARCHIVE_RECORDS && r == 0; i++)
                if (region_set_has(&archive->dropped, i))
                        r = take_entry(log, archive->first + i, &archive->pruned, &wrong);
        if (r == -EBADMSG)
                log_fail(log, wrong);
        return r;
}

int log_archive(RecordLog *log, const char *path, uint64_t first, uint64_t before_usec, uint64_t *ret_n) {
        Archive archive = { .first = first };
        _cleanup_close_ int folder = -EBADF;
        DraftGroup *group = NULL;
        uint8_t digest[DIGEST_BYTES];
        int r;

        r = store_droppable(log->store, first, before_usec, &archive.dropped);
        if (r < 0 || region_set_count(&archive.dropped) == 0)
                return r;
        folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = folder < 0 ? -errno : take_dropped(log, &archive);
        if (r == 0)
                r = write_archive(log, folder, &archive, digest);
        if (r == 0)
                r = draft_archive(&log->station, &archive, digest, &group);
        if (r < 0)
                return r;
        writer_write(log, group, group->n_drafts);
        r = group->error;
        if (r == 0)
                *ret_n += region_set_count(&archive.dropped);
        (void) draft_group_free(group);
        return r;
}
