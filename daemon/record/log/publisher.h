/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Publisher
 *
 * What the log says of itself. A checkpoint over the committed size is signed with the log's own key, committed, written to the anchor, and
 * only then told to anyone; so a checkpoint that anyone may have seen is never forgotten by a crash.
 */

#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/statement/statement.h"
#include "daemon/record/store/store.h"

typedef struct Publisher {
        RecordKey *key; /* NULL: nothing is published */
        CheckpointPolicy policy;
        Printer vkey; /* ended by a zero */
        char *anchor; /* NULL: none */
        char *elsewhere; /* another one, in a folder that is not the log's; NULL: none */
        int (*has_left)(void *userdata, const Checkpoint *checkpoint); /* as log_has_left(); NULL: nobody ever decided */
        void *userdata;
        bool decides; /* whatever is in doubt, somebody has decided to go on */
        uint64_t interval_usec;

        /* the writer's own */
        uint64_t covered;  /* records under the newest checkpoint */
        uint64_t due_usec; /* the next one not before, CLOCK_MONOTONIC */
        uint64_t n_elsewhere; /* records under the one that this process wrote elsewhere; 0: it has written none */
        LogDoubt doubt; /* of what was found when the log was opened; its holes are there before publisher_resume() */
} Publisher;

/* Takes over the options' log key in any case. -EINVAL, and *ret_wrong (malloc'd): it is none, or a witness is none. */
int publisher_init(Publisher *publisher, const RecordLogOptions *options, char **ret_wrong);
void publisher_done(Publisher *publisher);

/*
 * Whether STORE, whose tree is whole, goes on from what was published: from its newest checkpoint and from the anchor. *ret_size: of how
 * many records the newest checkpoint is. -EBADMSG: nothing may be signed, and *ret_wrong (malloc'd) says why and what to do; -ENOTRECOVERABLE: the same
 * where somebody may decide, and it is in `doubt`. -EALREADY: somebody wants to decide, and nothing is in doubt.
 */
int publisher_resume(Publisher *publisher, Store *store, uint64_t size, uint64_t *ret_size, char **ret_wrong);
/*
 * Puts NOTE into the anchor, where there is one: a file outside of the database, so that a database that is put back from an old copy does not
 * take it along, and is found out.
 */
int publisher_anchor(const Publisher *publisher, const char *note, size_t n);
/* The same of a checkpoint over TREE, which is in no database. */
int publisher_anchor_tree(const Publisher *publisher, const Frontier *tree);
/* Whether CHECKPOINT, of no more records than STORE has, is of this tree. */
int publisher_compare(Store *store, const Checkpoint *checkpoint, bool *ret_equal);
/*
 * Puts signatures of witnesses, in a note (N bytes of DATA), to the checkpoint that they are for; the log ends with HEAD. Errors
 * as of record_log_cosign(), with *ret_wrong (a static sentence); but -EBADMSG without one: what is kept is damaged. *ret_unknown: as of store_append().
 */
int publisher_cosign(const Publisher *publisher, Store *store, const Head *head, const char *data, size_t n, bool *ret_unknown,
                     const char **ret_wrong);
/* When a checkpoint over SIZE records is to be signed, CLOCK_MONOTONIC; UINT64_MAX: there is nothing new to say. */
uint64_t publisher_due(const Publisher *publisher, uint64_t size);
/* Signs, commits and anchors a checkpoint that ends with HEAD, which is all that is committed. *ret_unknown: as of store_append(). */
int publisher_sign(Publisher *publisher, Store *store, const Head *head, bool *ret_unknown);

uint64_t monotonic_usec(void);
