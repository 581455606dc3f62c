/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/checkpoint.h"

#include <string.h>

#include "daemon/record/tree/lines.h"

int checkpoint_parse(const char *text, size_t n, Checkpoint *ret) {
        Lines lines = { text, n };
        Checkpoint found = {};
        Line line;
        int r;

        r = line_take(&lines, &line);
        if (r < 0)
                return r;
        if (line.n == 0 || line.n >= sizeof(found.origin) || memchr(line.text, '\0', line.n))
                return -EBADMSG;
        memcpy(found.origin, line.text, line.n);
        r = line_take(&lines, &line);
        if (r == 0)
                r = line_number(&line, &found.size);
        if (r == 0)
                r = line_take(&lines, &line);
        if (r == 0)
                r = line_hash(&line, &found.root);
        while (r == 0 && lines.n > 0) {
                r = line_take(&lines, &line);
                if (r == 0 && line.n == 0)
                        r = -EBADMSG;
        }
        if (r < 0)
                return r;
        *ret = found;
        return 0;
}

void checkpoint_print(Printer *printer, const Checkpoint *checkpoint) {
        printer_text(printer, checkpoint->origin);
        printer_text(printer, "\n");
        line_print_number(printer, checkpoint->size);
        line_print_hash(printer, &checkpoint->root);
}

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

static int verify_witnesses(const Note *note, const CheckpointPolicy *policy, CheckpointSeen *ret, const char **ret_wrong) {
        CheckpointSeen seen = {};

        for (size_t i = 0; i < policy->n_witnesses; i++) {
                uint64_t usec = 0;
                int r = policy->witnesses[i].type == NOTE_WITNESS ? note_verify(note, &policy->witnesses[i], &usec) : 0;

                if (r == -EBADMSG)
                        return wrong(ret_wrong, "a witness's signature does not fit");
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                seen.n_witnesses++;
                seen.witnesses |= UINT32_C(1) << i;
                if (seen.first_usec == 0 || usec < seen.first_usec)
                        seen.first_usec = usec;
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
