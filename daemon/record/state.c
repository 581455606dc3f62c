/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/state.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "daemon/record/digest.h"
#include "daemon/record/keyring.h"
#include "daemon/record/lines.h"

#define KEYRING_NAME "keyring.json"
#define NAME_MAX_    (DIGEST_HEX + 16)

typedef struct Accepted {
        char name[NAME_MAX_]; /* of its file */
        uint64_t index;
} Accepted;

struct RecordState {
        int fd; /* of the folder, locked */
        size_t n_accepted;
        Accepted *accepted;
};

/* ---- files ---- */

/* Origins and producers have any length and character: their digest names the file, with what it is about inside. */
static int file_name(char name[static NAME_MAX_], const char *about, const char *kind) {
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];
        int r;

        r = digest_sha256(about, strlen(about), digest);
        if (r < 0)
                return r;
        (void) snprintf(name, NAME_MAX_, "%s.%s", digest_to_hex(digest, hex), kind);
        return 0;
}

static int read_file(const RecordState *state, const char *name, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = openat(state->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size < 0 || (size_t) st.st_size > max)
                return -EBADMSG;
        text = malloc((size_t) st.st_size + 1);
        if (!text)
                return -ENOMEM;
        while (n < (size_t) st.st_size) {
                ssize_t k = read(fd, text + n, (size_t) st.st_size - n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        return -EBADMSG;
                n += (size_t) k;
        }
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

static int write_all(int fd, const char *text, size_t n) {
        while (n > 0) {
                ssize_t k = write(fd, text, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                text += k;
                n -= (size_t) k;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

/* The old file or the new one, whatever happens. */
static int write_file(const RecordState *state, const char *name, const char *text, size_t n) {
        char new[NAME_MAX_ + 8];
        int fd, r;

        (void) snprintf(new, sizeof(new), "%s.new", name);
        fd = openat(state->fd, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        r = write_all(fd, text, n);
        if (close(fd) < 0 && r == 0)
                r = -errno;
        if (r == 0 && (renameat(state->fd, new, state->fd, name) < 0 || fsync(state->fd) < 0))
                r = -errno;
        if (r < 0)
                (void) unlinkat(state->fd, new, 0);
        return r;
}

/* ---- what is remembered ---- */

int state_read_checkpoint(const RecordState *state, const char *origin, char **ret, size_t *ret_n) {
        char name[NAME_MAX_];
        int r;

        r = file_name(name, origin, "checkpoint");
        return r < 0 ? r : read_file(state, name, NOTE_MAX, ret, ret_n);
}

int state_write_checkpoint(RecordState *state, const char *origin, const char *note, size_t n) {
        char name[NAME_MAX_];
        int r;

        r = file_name(name, origin, "checkpoint");
        return r < 0 ? r : write_file(state, name, note, n);
}

int state_read_keyring(const RecordState *state, char **ret, size_t *ret_n) {
        return read_file(state, KEYRING_NAME, KEYRING_FILE_MAX, ret, ret_n);
}

int state_write_keyring(RecordState *state, const char *envelope, size_t n) {
        return write_file(state, KEYRING_NAME, envelope, n);
}

/* An origin has no line feed, a producer could. */
static int accepted_name(char name[static NAME_MAX_], const char *producer, const char *origin) {
        _cleanup_free_ char *about = NULL;

        if (asprintf(&about, "%s\n%s", origin, producer) < 0)
                return -ENOMEM;
        return file_name(name, about, "accepted");
}

int state_read_accepted(const RecordState *state, const char *producer, const char *origin, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;
        char name[NAME_MAX_];
        Lines lines = {};
        Line line;
        int r;

        r = accepted_name(name, producer, origin);
        if (r == 0)
                r = read_file(state, name, 64, &text, &lines.n);
        if (r < 0)
                return r;
        lines.text = text;
        if (line_take(&lines, &line) < 0 || lines.n > 0)
                return -EBADMSG;
        return line_number(&line, ret);
}

int state_note_accepted(RecordState *state, const char *producer, const char *origin, uint64_t index) {
        Accepted found = { .index = index }, *larger;
        int r;

        r = accepted_name(found.name, producer, origin);
        if (r < 0)
                return r;
        for (size_t i = 0; i < state->n_accepted; i++)
                if (strcmp(state->accepted[i].name, found.name) == 0) {
                        if (state->accepted[i].index < index)
                                state->accepted[i].index = index;
                        return 0;
                }
        if (state->n_accepted == STATE_ACCEPTED_MAX)
                return -E2BIG;
        larger = realloc(state->accepted, (state->n_accepted + 1) * sizeof(*larger));
        if (!larger)
                return -ENOMEM;
        larger[state->n_accepted++] = found;
        state->accepted = larger;
        return 0;
}

int record_state_accept(RecordState *state) {
        int r = 0;

        for (size_t i = 0; i < state->n_accepted && r == 0; i++) {
                char text[32];
                int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long) state->accepted[i].index);

                r = write_file(state, state->accepted[i].name, text, (size_t) n);
        }
        return r;
}

/* ---- the folder ---- */

int record_state_open(const char *path, RecordState **ret) {
        _cleanup_(record_state_freep) RecordState *state = NULL;

        assert(path && ret);

        state = calloc(1, sizeof(*state));
        if (!state)
                return -ENOMEM;
        state->fd = -EBADF;
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return -errno;
        state->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (state->fd < 0 || flock(state->fd, LOCK_EX) < 0)
                return -errno;
        *ret = TAKE_PTR(state);
        return 0;
}

RecordState *record_state_free(RecordState *state) {
        if (!state)
                return NULL;
        (void) close_fd(state->fd);
        free(state->accepted);
        free(state);
        return NULL;
}
