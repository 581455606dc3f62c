/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/state.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/text/whole-file.h"
#include "daemon/record/encode/digest.h"
#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"

#define KEYRING_NAME "keyring.json"
#define LOCK_NAME    "lock"
#define NAME_BYTES   (DIGEST_HEX + 16)
#define NUMBER_BYTES 32

typedef struct Accepted {
        char name[NAME_BYTES]; /* of its file */
        uint64_t index;
} Accepted;

struct RecordState {
        int fd; /* of the folder */
        int lock_fd;
        size_t n_accepted;
        Accepted *accepted;
};

/* ---- files ---- */

/* Origins and producers have any length and character: their digest names the file, with what it is about inside. */
static int file_name(char name[static NAME_BYTES], const char *about, const char *kind) {
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];
        int r;

        r = digest_sha256(about, strlen(about), digest);
        if (r < 0)
                return r;
        (void) snprintf(name, NAME_BYTES, "%s.%s", digest_to_hex(digest, hex), kind);
        return 0;
}

/* ---- what is remembered ---- */

static const char *const checkpoint_kinds[_STATE_SEEN_MAX] = {
        [STATE_PROVEN] = "checkpoint",
        [STATE_AUDITED] = "audited",
};

int state_read_checkpoint(const RecordState *state, StateSeen seen, const char *origin, char **ret, size_t *ret_n) {
        char name[NAME_BYTES];
        int r;

        r = file_name(name, origin, checkpoint_kinds[seen]);
        return r < 0 ? r : whole_file_read(state->fd, name, NOTE_MAX, ret, ret_n);
}

int state_write_checkpoint(RecordState *state, StateSeen seen, const char *origin, const char *note, size_t n) {
        char name[NAME_BYTES];
        int r;

        r = file_name(name, origin, checkpoint_kinds[seen]);
        return r < 0 ? r : whole_file_replace(state->fd, name, 0644, note, n);
}

int state_read_keyring(const RecordState *state, char **ret, size_t *ret_n) {
        return whole_file_read(state->fd, KEYRING_NAME, KEYRING_FILE_MAX, ret, ret_n);
}

int state_write_keyring(RecordState *state, const char *envelope, size_t n) {
        return whole_file_replace(state->fd, KEYRING_NAME, 0644, envelope, n);
}

/* An origin has no line feed, a producer could. */
static int accepted_name(char name[static NAME_BYTES], const char *producer, const char *origin) {
        _cleanup_free_ char *about = NULL;

        if (asprintf(&about, "%s\n%s", origin, producer) < 0)
                return -ENOMEM;
        return file_name(name, about, "accepted");
}

int state_read_accepted(const RecordState *state, const char *producer, const char *origin, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;
        char name[NAME_BYTES];
        Lines lines = {};
        Line line;
        int r;

        r = accepted_name(name, producer, origin);
        if (r == 0)
                r = whole_file_read(state->fd, name, NUMBER_BYTES, &text, &lines.n);
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
                char text[NUMBER_BYTES];
                int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long) state->accepted[i].index);

                r = whole_file_replace(state->fd, state->accepted[i].name, 0644, text, (size_t) n);
        }
        return r;
}

/* ---- the folder ---- */

/* What lies there is believed, a keyring even before roots that are given. */
static int check_owner(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        return (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH) ? 0 : -EPERM;
}

/* Not the folder itself: whoever may look into it could lock it for good. */
static int lock(RecordState *state) {
        state->lock_fd = openat(state->fd, LOCK_NAME, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
        return state->lock_fd < 0 || flock(state->lock_fd, LOCK_EX) < 0 ? -errno : 0;
}

int record_state_open(const char *path, RecordState **ret) {
        _cleanup_(record_state_freep) RecordState *state = NULL;
        int r;

        assert(path && ret);

        state = calloc(1, sizeof(*state));
        if (!state)
                return -ENOMEM;
        state->fd = state->lock_fd = -EBADF;
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                return -errno;
        state->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (state->fd < 0)
                return -errno;
        r = check_owner(state->fd);
        if (r == 0)
                r = lock(state);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(state);
        return 0;
}

RecordState *record_state_free(RecordState *state) {
        if (!state)
                return NULL;
        (void) close_fd(state->lock_fd);
        (void) close_fd(state->fd);
        free(state->accepted);
        free(state);
        return NULL;
}
