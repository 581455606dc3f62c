/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reader: questions to the store on a connection of its own, from any thread, one at a time. */

#include <pthread.h>

#include "daemon/record/store/store.h"

typedef struct Reader {
        Store *store;
        pthread_mutex_t mutex;
} Reader;

/* Takes over STORE. */
void reader_init(Reader *reader, Store *store);
void reader_done(Reader *reader);

/* The envelope of INDEX, malloc'd, and the ID it is stored under; -ENOENT; -ENODATA: it was pruned. */
int reader_envelope(Reader *reader, uint64_t index, char **ret, size_t *ret_n,
                    uint8_t ret_id[static DIGEST_BYTES]);
/* What the tables say of record INDEX; -ENOENT. */
int reader_entry(Reader *reader, uint64_t index, RecordEntry *ret);
int reader_newest(Reader *reader, const Location *subject, const char *plan, RecordEntry *ret);
/* The newest of all plans whose newest is older than record BEFORE. */
int reader_newest_before(Reader *reader, const Location *subject, uint64_t before, RecordEntry *ret);
/* The same of PLAN (NULL: all) and among the newest that were asked to look at all, so that these are among what is told. */
int reader_whole_before(Reader *reader, const Location *subject, const char *plan, uint64_t before, RecordEntry *ret);
/* The newest record that found of SUBJECT what none has looked at since. */
int reader_failure(Reader *reader, const Location *subject, RecordEntry *ret);
/* The first entry at or behind FIRST that WHICH asks for: STORE_UNFINISHED, STORE_NEXT_START or STORE_NEXT_VERDICT. -ENOENT */
int reader_entry_behind(Reader *reader, StoreStatement which, uint64_t first, RecordEntry *ret);
/* How many envelopes of FIRST … LAST-1 went to FD, one line each. */
int reader_export(Reader *reader, uint64_t first, uint64_t last, int fd);
/* As store_newest_checkpoint() and store_best_checkpoint(). */
int reader_newest_checkpoint(Reader *reader, uint64_t last, char **ret, size_t *ret_n);
int reader_best_checkpoint(Reader *reader, uint64_t first, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n);
/* As tree_inclusion() and tree_consistency(). */
int reader_inclusion(Reader *reader, uint64_t index, uint64_t size, TreePath *ret);
int reader_consistency(Reader *reader, uint64_t old, uint64_t size, TreePath *ret);
int reader_leaf(Reader *reader, uint64_t index, TreeHash *ret);
/* Leaf hashes FIRST … LAST-1 go to FD, one after the other. */
int reader_leaves(Reader *reader, uint64_t first, uint64_t last, int fd);
/* The document a subject's digest is of, malloc'd; -ENOENT. */
int reader_identity(Reader *reader, const uint8_t digest[static DIGEST_BYTES], char **ret);
/*
 * The first record at or behind FIRST by which a key named the next (STORE_ROTATION), that tells of an archive (STORE_ARCHIVE), or by which somebody
 * decided that the log goes on (STORE_DECISION); -ENOENT.
 */
int reader_index_behind(Reader *reader, StoreStatement which, uint64_t first, uint64_t *ret);
