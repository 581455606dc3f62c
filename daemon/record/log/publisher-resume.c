/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whether a log that is opened is the one that published what was published. A log that goes on from an old copy, or beside another one
 * that went on from the same state, would sign a second history; so it signs nothing at all, and an operator is told.
 */

#include "daemon/record/log/publisher.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "checks/text/whole-file.h"

__attribute__((format(printf, 2, 3))) static int refuse(char **ret_wrong, const char *format, ...) {
        va_list arguments;
        int n;

        free(*ret_wrong); /* what is in doubt beside it */
        va_start(arguments, format);
        n = vasprintf(ret_wrong, format, arguments);
        va_end(arguments);
        if (n < 0)
                *ret_wrong = NULL;
        return n < 0 ? -ENOMEM : -EBADMSG;
}

int publisher_compare(Store *store, const Checkpoint *checkpoint, bool *ret_equal) {
        TreeSource source = { store_hash, store };
        Frontier tree;
        TreeHash root;
        int r;

        r = tree_frontier(&source, checkpoint->size, &tree);
        if (r == 0)
                r = frontier_root(&tree, &root);
        if (r == 0)
                *ret_equal = memcmp(root.bytes, checkpoint->root.bytes, DIGEST_BYTES) == 0;
        return r;
}

static int check_newest(const Publisher *publisher, Store *store, uint64_t size, uint64_t *ret_covered, char **ret_wrong) {
        _cleanup_free_ char *note = NULL;
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong;
        uint64_t covered;
        bool equal;
        size_t n;
        int r;

        r = store_newest_checkpoint(store, INT64_MAX, &covered, &note, &n);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = checkpoint_verify(note, n, &publisher->policy, &checkpoint, &seen, &wrong);
        if (r == -EBADMSG)
                return refuse(ret_wrong,
                              "its newest checkpoint is not believed: %s. Start with the log key that it was made with; a new log key needs"
                              " a new log, with another `origin` and store",
                              wrong);
        if (r == 0 && checkpoint.size > size)
                return refuse(ret_wrong, "it has %llu records, and a checkpoint of %llu: records were taken away. Put the newest backup back",
                              (unsigned long long) size, (unsigned long long) checkpoint.size);
        if (r == 0)
                r = publisher_compare(store, &checkpoint, &equal);
        if (r == 0 && (!equal || checkpoint.size != covered))
                return refuse(ret_wrong,
                              "its first %llu records are not those of its checkpoint: records were exchanged. Put the newest backup back",
                              (unsigned long long) covered);
        if (r == 0)
                *ret_covered = covered;
        return r;
}

static const char damaged[] = "anchor-damaged";

/* The first one counts; a file that has rotted, or is gone, says less than any other. What is wrong is kept in *RET_WRONG, with what to DO where nobody has decided yet. */
__attribute__((format(printf, 6, 7))) static int doubt(Publisher *publisher, const char *cause, const Checkpoint *checkpoint, char **ret_wrong, const char *todo,
                                                       const char *format, ...) {
        _cleanup_free_ char *why = NULL;
        va_list arguments;
        int n;

        if (publisher->doubt.cause && (publisher->doubt.cause != damaged || cause == damaged))
                return 0;
        publisher->doubt.cause = cause;
        publisher->doubt.size = checkpoint ? checkpoint->size : 0;
        publisher->doubt.root = checkpoint ? checkpoint->root : (TreeHash) {};
        va_start(arguments, format);
        n = vasprintf(&why, format, arguments);
        va_end(arguments);
        if (n < 0) {
                why = NULL;
                return -ENOMEM;
        }
        if (publisher->decides)
                todo = "";
        return refuse(ret_wrong, "%s%s%s", why, todo, *todo ? " Whoever answers for it may go on with what is here: assayd --continue-log NOTE, see DECISIONS in assayd(8)" : "") == -ENOMEM ?
                               -ENOMEM : 0;
}

/* But for one character of the base64, six bits, at the most: of an ID of another key that is one in ten million. */
static bool is_nearly(const uint8_t a[static NOTE_ID_BYTES], const uint8_t b[static NOTE_ID_BYTES]) {
        uint64_t differs = 0;
        unsigned n = 0;

        for (size_t i = 0; i < NOTE_ID_BYTES; i++)
                differs = differs << 8 | (a[i] ^ b[i]);
        for (differs <<= 4; differs > 0; differs >>= 6)
                n += (differs & 63) != 0;
        return n <= 1;
}

/*
 * Whether it is a checkpoint that another log or key has signed, as far as can be told without that key: a log signs in its own name. Where one
 * character of a line of ours has rotted, the name or the ID is no other log's.
 */
static bool is_of_another(const char *text, size_t n, const NoteKey *ours) {
        _cleanup_free_ Note *note = malloc(sizeof(*note));
        Checkpoint checkpoint;

        if (!note)
                return true;
        if (note_parse(text, n, note) < 0 || checkpoint_parse(note->text, note->n, &checkpoint) < 0)
                return false;
        for (size_t i = 0; i < note->n_signatures; i++) {
                const NoteSignature *line = &note->signatures[i];

                if (strcmp(line->name, checkpoint.origin) == 0 && !(strcmp(line->name, ours->name) == 0 && is_nearly(line->id, ours->id)))
                        return true;
        }
        return false;
}

/* TEXT NULL: it cannot be read. */
static int refuse_file(Publisher *publisher, const char *path, const char *text, size_t n, const char *wrong, char **ret_wrong) {
        if (text && is_of_another(text, n, &publisher->policy.log))
                return refuse(ret_wrong, "%s holds no checkpoint of this log: %s. Use the log and key it belongs to; move it away only where a new"
                                         " log begins",
                              path, wrong);
        return doubt(publisher, damaged, NULL, ret_wrong, ".",
                     "%s holds no checkpoint of this log: %s. The file is damaged, so it does not tell whether this is an old copy",
                     path, text ? wrong : "it cannot be read");
}

/*
 * PATH holds a checkpoint that this key has signed, outside of the database: nothing else tells what was published and is not in the database any more.
 * *RET_SIZE: of how many records it is; -1: there is none.
 */
static int check_file(Publisher *publisher, const char *path, Store *store, uint64_t size, int64_t *ret_size, char **ret_wrong) {
        _cleanup_free_ char *note = NULL;
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong = NULL;
        bool equal;
        size_t n = 0;
        int r;

        *ret_size = -1;
        if (!path)
                return 0;
        r = whole_file_read(AT_FDCWD, path, NOTE_MAX, &note, &n);
        if (r == -ENOENT)
                return 0;
        r = r < 0 ? r : checkpoint_verify(note, n, &publisher->policy, &checkpoint, &seen, &wrong);
        if (r == -EBADMSG || (!note && (r == -EFBIG || r == -EIO)))
                return refuse_file(publisher, path, note, n, wrong, ret_wrong);
        if (r < 0)
                return r;
        *ret_size = (int64_t) checkpoint.size;
        if (checkpoint.size > size && size == 0)
                return doubt(publisher, "records-lost", &checkpoint, ret_wrong,
                             ". Put the newest backup back, or begin a new log with another `origin` and log key.",
                             "its key has signed %llu records of this log (%s), and there is none: its state was taken away",
                             (unsigned long long) checkpoint.size, path);
        if (checkpoint.size > size)
                return doubt(publisher, "records-lost", &checkpoint, ret_wrong,
                             ". Put the newest one back, or begin a new log with another `origin` and store.",
                             "it has %llu records, and a checkpoint of %llu was published (%s): this is an old copy",
                             (unsigned long long) size, (unsigned long long) checkpoint.size, path);
        r = publisher_compare(store, &checkpoint, &equal);
        if (r == 0 && !equal)
                return doubt(publisher, "forked", &checkpoint, ret_wrong,
                             ". Keep the one that witnesses hold, or else the one with more records.",
                             "its first %llu records are not those that were published (%s): two copies went on from the same state",
                             (unsigned long long) checkpoint.size, path);
        return r;
}

/*
 * COVERED: by the newest checkpoint of the database, 0: it has none. What has begun has an anchor from its first moment on, of no record: whoever puts
 * an old copy back could take the anchor away as well.
 */
static int check_lost(Publisher *publisher, uint64_t size, uint64_t covered, int64_t anchored, int64_t remembered, char **ret_wrong) {
        bool is_damaged = publisher->doubt.cause == damaged;
        Frontier empty = {};

        if ((publisher->doubt.cause && !is_damaged) || !publisher->anchor)
                return 0;
        if (covered > 0 && anchored < 0 && !is_damaged)
                return doubt(publisher, damaged, NULL, ret_wrong, ".", "there is no %s, so it is not told whether this is an old copy", publisher->anchor);
        if (covered > 0 || (anchored >= 0 && remembered <= 0) || anchored > 0)
                return 0;
        if (size == 0)
                return anchored < 0 && !is_damaged ? publisher_anchor_tree(publisher, &empty) : 0;
        return doubt(publisher, "checkpoints-lost", NULL, ret_wrong, ". Put the newest backup back.",
                     "it has %llu records and no checkpoint, neither in the database nor at %s: they were taken away, or its log key is new",
                     (unsigned long long) size, publisher->anchor);
}

/* A decision for another cause names them as well. */
static int check_holes(Publisher *publisher, char **ret_wrong) {
        const Holes *holes = &publisher->doubt.holes;

        if (holes->n == 0)
                return 0;
        return doubt(publisher, "records-pruned", NULL, ret_wrong, ". Put the newest backup back.",
                     "record %llu has no envelope, and no record says which archive has it. So it is with %llu, up to record %llu: an assayd"
                     " that made no archives has pruned them, or somebody took them away",
                     (unsigned long long) holes->first, (unsigned long long) holes->n, (unsigned long long) holes->end - 1);
}

/* Without the key nothing could be told of what was published with it. */
static int check_unpublished(const Publisher *publisher, Store *store, char **ret_wrong) {
        _cleanup_free_ char *note = NULL;
        uint64_t size;
        size_t n;
        int r;

        r = store_newest_checkpoint(store, INT64_MAX, &size, &note, &n);
        if (r == -ENOENT && (!publisher->anchor || access(publisher->anchor, F_OK) < 0))
                return 0;
        if (r < 0 && r != -ENOENT)
                return r;
        return refuse(ret_wrong, "it has published checkpoints, and there is no log key: start with the one that it was made with");
}

/* A decision that cannot be told to both files would be asked for again by the next start, and signed again. */
static int probe_files(const Publisher *publisher, char **ret_wrong) {
        const char *const paths[] = { publisher->anchor, publisher->elsewhere };

        for (size_t i = 0; i < ELEMENTS(paths); i++) {
                int r = paths[i] ? whole_file_probe(AT_FDCWD, paths[i]) : 0;

                if (r < 0) {
                        (void) refuse(ret_wrong, "%s cannot be written: %s. Nothing was signed", paths[i], strerror(-r));
                        return r;
                }
        }
        return 0;
}

/* What is committed and not anchored, since a crash came between, is published once more. */
static int settle(Publisher *publisher, uint64_t size, uint64_t covered, int64_t anchored, uint64_t *ret_size, char **ret_wrong) {
        if (publisher->doubt.cause) {
                publisher->covered = size; /* nothing is published before the decision, which makes it one more */
                *ret_size = 0;
                return publisher->decides ? probe_files(publisher, ret_wrong) : -ENOTRECOVERABLE;
        }
        if (publisher->decides)
                return -EALREADY;
        publisher->covered = *ret_size = publisher->anchor && anchored < (int64_t) covered ? (uint64_t) MAX(anchored, 0) : covered;
        return 0;
}

static int check_published(Publisher *publisher, Store *store, uint64_t size, uint64_t *ret_covered, int64_t *ret_anchored, char **ret_wrong) {
        int64_t remembered;
        int r;

        r = check_newest(publisher, store, size, ret_covered, ret_wrong);
        if (r == 0)
                r = check_file(publisher, publisher->anchor, store, size, ret_anchored, ret_wrong);
        if (r == 0)
                r = check_file(publisher, publisher->elsewhere, store, size, &remembered, ret_wrong);
        return r < 0 ? r : check_lost(publisher, size, *ret_covered, *ret_anchored, remembered, ret_wrong);
}

int publisher_resume(Publisher *publisher, Store *store, uint64_t size, uint64_t *ret_size, char **ret_wrong) {
        int64_t anchored = -1;
        uint64_t covered = 0;
        int r;

        *ret_size = 0;
        r = publisher->key ? check_published(publisher, store, size, &covered, &anchored, ret_wrong) : check_unpublished(publisher, store, ret_wrong);
        if (r == 0)
                r = check_holes(publisher, ret_wrong);
        return r < 0 ? r : settle(publisher, size, covered, anchored, ret_size, ret_wrong);
}
