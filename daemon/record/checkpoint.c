/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/base64.h"

#define ROOT_TEXT BASE64_SIZE(DIGEST_BYTES)

/* The next line of N bytes of TEXT, without its end; NULL: none. */
static const char *take_line(const char **text, size_t *n, size_t *ret_n) {
        const char *line = *text, *end = *n > 0 ? memchr(line, '\n', *n) : NULL;

        if (!end)
                return NULL;
        *ret_n = (size_t) (end - line);
        *n -= *ret_n + 1;
        *text = end + 1;
        return line;
}

/* Decimal, one way only: no sign, no zero in front. */
static int parse_size(const char *text, size_t n, uint64_t *ret) {
        uint64_t size = 0;

        if (n == 0 || n > 16 || (n > 1 && text[0] == '0'))
                return -EBADMSG;
        for (size_t i = 0; i < n; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return -EBADMSG;
                size = size * 10 + (uint64_t) (text[i] - '0');
        }
        if (size > TREE_SIZE_MAX)
                return -EBADMSG;
        *ret = size;
        return 0;
}

static int parse_root(const char *text, size_t n, TreeHash *ret) {
        uint8_t data[ROOT_TEXT];
        size_t n_data;

        if (n != ROOT_TEXT || base64_decode_standard(text, n, data, &n_data) < 0 || n_data != DIGEST_BYTES)
                return -EBADMSG;
        memcpy(ret->bytes, data, DIGEST_BYTES);
        return 0;
}

int checkpoint_parse(const char *text, size_t n, Checkpoint *ret) {
        size_t n_origin = 0, n_size = 0, n_root = 0, n_line;
        const char *origin = take_line(&text, &n, &n_origin), *size = take_line(&text, &n, &n_size),
                   *root = take_line(&text, &n, &n_root);
        Checkpoint found = {};
        int r;

        if (!root || n_origin == 0 || n_origin >= sizeof(found.origin) || memchr(origin, '\0', n_origin))
                return -EBADMSG;
        memcpy(found.origin, origin, n_origin);
        r = parse_size(size, n_size, &found.size);
        if (r == 0)
                r = parse_root(root, n_root, &found.root);
        if (r < 0)
                return r;
        while (n > 0)
                if (!take_line(&text, &n, &n_line) || n_line == 0)
                        return -EBADMSG;
        *ret = found;
        return 0;
}

void checkpoint_print(Printer *printer, const Checkpoint *checkpoint) {
        char text[32 + ROOT_TEXT], *end;

        printer_text(printer, checkpoint->origin);
        end = text + snprintf(text, sizeof(text), "\n%llu\n", (unsigned long long) checkpoint->size);
        end = base64_encode(checkpoint->root.bytes, DIGEST_BYTES, end);
        printer_raw(printer, text, (size_t) (end - text));
        printer_text(printer, "\n");
}

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

static int verify_witnesses(const Note *note, const CheckpointPolicy *policy, CheckpointSeen *ret, const char **ret_wrong) {
        CheckpointSeen seen = {};

        for (size_t i = 0; i < policy->n_witnesses; i++) {
                uint64_t usec = 0;
                int r = note_verify(note, &policy->witnesses[i], &usec);

                if (r == -EBADMSG)
                        return wrong(ret_wrong, "a witness's signature does not fit");
                if (r < 0)
                        return r;
                seen.n_witnesses += (unsigned) r;
                if (usec > seen.usec)
                        seen.usec = usec;
        }
        *ret = seen;
        return 0;
}

static int verify_note(const Note *note, const CheckpointPolicy *policy, Checkpoint *ret, CheckpointSeen *ret_seen, const char **ret_wrong) {
        Checkpoint found;
        uint64_t usec;
        int r;

        r = note_verify(note, &policy->log, &usec);
        if (r == 0)
                return wrong(ret_wrong, "it is not signed by the log");
        if (r == -EBADMSG)
                return wrong(ret_wrong, "the log's signature does not fit");
        if (r < 0)
                return r;
        if (checkpoint_parse(note->text, note->n, &found) < 0)
                return wrong(ret_wrong, "what is signed is no checkpoint");
        if (strcmp(found.origin, policy->log.name) != 0)
                return wrong(ret_wrong, "it is of another log");
        r = verify_witnesses(note, policy, ret_seen, ret_wrong);
        if (r < 0)
                return r;
        *ret = found;
        return 0;
}

int checkpoint_verify(const char *data, size_t n, const CheckpointPolicy *policy, Checkpoint *ret, CheckpointSeen *ret_seen,
                      const char **ret_wrong) {
        Note *note;
        int r;

        note = malloc(sizeof(*note));
        if (!note)
                return -ENOMEM;
        r = note_parse(data, n, note);
        r = r < 0 ? wrong(ret_wrong, "it is no signed note") : verify_note(note, policy, ret, ret_seen, ret_wrong);
        free(note);
        return r;
}
