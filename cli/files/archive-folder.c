/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/files/archive-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/whole-file.h"

#define BYTES_MAX (RECORD_ARCHIVE_RECORDS * ((size_t) RECORD_ENVELOPE_MAX + 1))

int archive_folder_open(ArchiveFolder *folder, const char *path) {
        folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return folder->fd < 0 ? -errno : 0;
}

void archive_folder_done(ArchiveFolder *folder) {
        folder->fd = close_fd(folder->fd);
        free(folder->text);
}

/* Of a file with a line too few or too many all lines behind it are those of other records. */
static unsigned count_lines(const char *text, size_t n) {
        unsigned n_lines = 0;

        for (const char *end; (end = memchr(text, '\n', n)); text = end + 1) {
                n -= (size_t) (end + 1 - text);
                n_lines++;
        }
        return n_lines;
}

static int read_file(ArchiveFolder *folder, uint64_t index) {
        char name[RECORD_ARCHIVE_NAME_MAX];
        int r;

        if (folder->fd < 0)
                return -ENOENT;
        if (strcmp(record_archive_name(index, name), folder->name) != 0) {
                free(folder->text);
                folder->text = NULL;
                (void) strcpy(folder->name, name);
                r = whole_file_read(folder->fd, name, BYTES_MAX, &folder->text, &folder->n);
                if (r < 0)
                        return r;
                folder->n_lines = count_lines(folder->text, folder->n);
        }
        return folder->text ? 0 : -ENOENT;
}

int archive_folder_line(ArchiveFolder *folder, uint64_t index, const char **ret, size_t *ret_n) {
        const char *line, *end;
        int r;

        r = read_file(folder, index);
        if (r < 0 || folder->n_lines != RECORD_ARCHIVE_RECORDS)
                return r < 0 ? r : -ENOENT;
        line = folder->text;
        for (uint64_t i = 0; (end = memchr(line, '\n', folder->n - (size_t) (line - folder->text))); i++, line = end + 1)
                if (i == index % RECORD_ARCHIVE_RECORDS) {
                        *ret = line;
                        *ret_n = (size_t) (end - line);
                        return 0;
                }
        return -ENOENT;
}

int archive_folder_digest(ArchiveFolder *folder, uint64_t index, char ret[static RECORD_ID_HEX], uint64_t *ret_size) {
        int r = read_file(folder, index);

        if (r < 0)
                return r;
        *ret_size = folder->n;
        return record_digest(folder->text, folder->n, ret);
}
