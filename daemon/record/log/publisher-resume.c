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

#include "checks/whole-file.h"

__attribute__((format(printf, 2, 3))) static int refuse(char **ret_wrong, const char *format, ...) {
        va_list arguments;
        int n;

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

/* Nothing but the file tells what was published and is not in the database any more. */
static int check_anchor(const Publisher *publisher, Store *store, uint64_t size, uint64_t *ret_anchored, char **ret_wrong) {
        const char *path = publisher->anchor, *wrong;
        _cleanup_free_ char *note = NULL;
        Checkpoint checkpoint;
        CheckpointSeen seen;
        bool equal;
        size_t n;
        int r;

        r = whole_file_read(AT_FDCWD, path, NOTE_MAX, &note, &n);
        if (r == -ENOENT) {
                if (size > 0 && refuse(ret_wrong, "there is no %s, so nothing would tell if this were an old copy of the log; it is written anew", path) == -ENOMEM)
                        return -ENOMEM;
                return 0;
        }
        r = r < 0 ? r : checkpoint_verify(note, n, &publisher->policy, &checkpoint, &seen, &wrong);
        if (r == -EBADMSG || r == -EFBIG)
                return refuse(ret_wrong, "%s holds no checkpoint of this log: %s. Use the log and key it belongs to; move it away only where a new"
                                         " log begins",
                              path, note ? wrong : "it cannot be read");
        if (r < 0)
                return r;
        if (checkpoint.size > size)
                return refuse(ret_wrong,
                              "it has %llu records, and a checkpoint of %llu was published (%s): this is an old copy. Put the newest one back,"
                              " or begin a new log with another `origin` and store",
                              (unsigned long long) size, (unsigned long long) checkpoint.size, path);
        r = publisher_compare(store, &checkpoint, &equal);
        if (r == 0 && !equal)
                return refuse(ret_wrong,
                              "its first %llu records are not those that were published (%s): two copies went on from the same state. Keep"
                              " the one that was published, or begin a new log with another `origin` and store",
                              (unsigned long long) checkpoint.size, path);
        if (r == 0)
                *ret_anchored = checkpoint.size;
        return r;
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

/* What is committed and not anchored, since a crash came between or the anchor is lost, is published once more. */
int publisher_resume(Publisher *publisher, Store *store, uint64_t size, uint64_t *ret_size, char **ret_wrong) {
        uint64_t covered = 0, anchored = 0;
        int r;

        if (!publisher->key) {
                *ret_size = 0;
                return check_unpublished(publisher, store, ret_wrong);
        }
        r = check_newest(publisher, store, size, &covered, ret_wrong);
        if (r == 0 && publisher->anchor)
                r = check_anchor(publisher, store, size, &anchored, ret_wrong);
        if (r < 0)
                return r;
        publisher->covered = *ret_size = publisher->anchor && anchored < covered ? anchored : covered;
        return 0;
}
