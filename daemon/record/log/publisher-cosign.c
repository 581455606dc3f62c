/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Signatures of witnesses, put to the checkpoint that they are for. Who brings them need not be trusted: nothing is kept that a configured key
 * has not signed. A checkpoint that our own key has signed and that is not of our tree tells that there are two logs; then this one must stop.
 */

#include "daemon/record/log/publisher.h"

#include <string.h>

static int wrong(const char **ret_wrong, int error, const char *sentence) {
        *ret_wrong = sentence;
        return error;
}

/* The newer of what is kept and what is brought. 1: something was brought. */
static int merge_witness(Printer *merged, const Note *kept, const Note *brought, const NoteKey *witness, unsigned *n_witnesses,
                         const char **ret_wrong) {
        uint64_t before = 0, now = 0;
        int has, is_brought;

        has = note_verify(kept, witness, &before);
        if (has < 0)
                return has;
        is_brought = note_verify(brought, witness, &now);
        if (is_brought < 0)
                return is_brought == -EBADMSG ? wrong(ret_wrong, is_brought, "the signature of a witness does not fit") : is_brought;
        if (!has && !is_brought)
                return 0;
        note_print_line(merged, has && before >= now ? kept : brought, witness);
        *n_witnesses += 1;
        return is_brought;
}

static int merge(const Publisher *publisher, Store *store, const Head *head, uint64_t size, const Note *kept, const Note *brought, bool *ret_unknown,
                 const char **ret_wrong) {
        _cleanup_printer_ Printer merged = {};
        unsigned n_witnesses = 0, n_brought = 0;

        printer_raw(&merged, kept->text, kept->n);
        printer_text(&merged, "\n");
        note_print_line(&merged, kept, &publisher->policy.log);
        for (size_t i = 0; i < publisher->policy.n_witnesses; i++) {
                int r = merge_witness(&merged, kept, brought, &publisher->policy.witnesses[i], &n_witnesses, ret_wrong);

                if (r < 0)
                        return r;
                n_brought += (unsigned) r;
        }
        if (merged.error < 0)
                return merged.error;
        if (n_brought == 0)
                return wrong(ret_wrong, -EBADMSG, "no witness of the configuration has signed it");
        return store_update_checkpoint(store, head, size, merged.text, merged.n, n_witnesses, ret_unknown);
}

/* One that is not kept: an older one of ours, or one of a log that our own key signs elsewhere, and that nobody has decided to leave. */
static int judge_stranger(const Publisher *publisher, Store *store, uint64_t size, const Note *note, const Checkpoint *checkpoint,
                          const char **ret_wrong) {
        bool is_equal = false;
        uint64_t usec;
        int r;

        r = note_verify(note, &publisher->policy.log, &usec);
        if (r == -EBADMSG)
                return wrong(ret_wrong, r, "the signature of the log does not fit");
        if (r == 0)
                return wrong(ret_wrong, -ENOENT, "no such checkpoint is kept");
        if (r > 0 && checkpoint->size <= size)
                r = publisher_compare(store, checkpoint, &is_equal);
        if (r < 0)
                return r;
        if (is_equal)
                return wrong(ret_wrong, -ENOENT, "this checkpoint is not kept any more");
        r = publisher->has_left ? publisher->has_left(publisher->userdata, checkpoint) : 0;
        if (r < 0)
                return r;
        if (r > 0)
                return wrong(ret_wrong, -ENOENT, "it is of another history of this log, which somebody has decided to leave. The witness signs nothing more of this name: give the log"
                                           " another `origin`, see CHANGING THE ORIGIN in assayd(8)");
        return wrong(ret_wrong, -ENOTUNIQ, "the key of this log has signed a checkpoint of another one: this is an old copy, or two went on from the"
                                           " same state. Nothing is signed any more");
}

/* So that no later start forgets it. */
static int remember(const Publisher *publisher, const Note *note) {
        _cleanup_printer_ Printer anchor = {};

        if (!publisher->anchor)
                return -ENOENT;
        printer_raw(&anchor, note->text, note->n);
        printer_text(&anchor, "\n");
        note_print_line(&anchor, note, &publisher->policy.log);
        return anchor.error ?: publisher_anchor(publisher, anchor.text, anchor.n);
}

/* Nothing was kept that our own key has not signed. */
static int check_kept(const Publisher *publisher, const char *data, size_t n, Note *ret, const char **ret_wrong) {
        uint64_t usec;
        int r;

        r = note_parse(data, n, ret);
        if (r == 0)
                r = note_verify(ret, &publisher->policy.log, &usec);
        if (r < 0 && r != -EBADMSG)
                return r;
        return r > 0 ? 0 : wrong(ret_wrong, -EUCLEAN, "what is kept of it is not what this log has signed: somebody else wrote. Nothing is signed any more");
}

static int cosign(const Publisher *publisher, Store *store, const Head *head, const Note *brought, Note *kept, bool *ret_unknown,
                  const char **ret_wrong) {
        _cleanup_free_ char *note = NULL;
        Checkpoint checkpoint;
        uint64_t found;
        size_t n;
        int r;

        if (checkpoint_parse(brought->text, brought->n, &checkpoint) < 0 || strcmp(checkpoint.origin, publisher->policy.log.name) != 0)
                return wrong(ret_wrong, -EBADMSG, "it is no checkpoint of this log");
        r = store_best_checkpoint(store, checkpoint.size, checkpoint.size, &found, &note, &n);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0) {
                r = check_kept(publisher, note, n, kept, ret_wrong);
                if (r < 0)
                        return r;
                if (kept->n == brought->n && memcmp(kept->text, brought->text, kept->n) == 0)
                        return merge(publisher, store, head, checkpoint.size, kept, brought, ret_unknown, ret_wrong);
        }
        r = judge_stranger(publisher, store, head->tree.size, brought, &checkpoint, ret_wrong);
        if (r == -ENOTUNIQ && remember(publisher, brought) < 0)
                *ret_wrong = "the key of this log has signed a checkpoint of another one: this is an old copy, or two went on from the same state. Nothing is"
                             " signed any more, but this could not be kept for the next start: do not start this log again";
        return r;
}

int publisher_cosign(const Publisher *publisher, Store *store, const Head *head, const char *data, size_t n, bool *ret_unknown,
                     const char **ret_wrong) {
        Note *notes;
        int r;

        *ret_unknown = false;
        if (!publisher->key)
                return wrong(ret_wrong, -ENOENT, "the log has no key, and no checkpoints");
        notes = calloc(2, sizeof(Note));
        if (!notes)
                return -ENOMEM;
        r = note_parse(data, n, &notes[0]);
        r = r < 0 ? wrong(ret_wrong, r, "it is no signed note")
                  : cosign(publisher, store, head, &notes[0], &notes[1], ret_unknown, ret_wrong);
        free(notes);
        return r;
}
