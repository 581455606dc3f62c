/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reader: questions to the store on a connection of its own, from any thread, one at a time. */

#include <pthread.h>

#include "daemon/record/store.h"

typedef struct Reader {
        Store *store;
        pthread_mutex_t mutex;
} Reader;

/* Takes over STORE. */
void reader_init(Reader *reader, Store *store);
void reader_done(Reader *reader);

/* The envelope of INDEX, malloc'd, and the ID it is stored under; -ENOENT. */
int reader_envelope(Reader *reader, uint64_t index, char **ret, size_t *ret_n,
                    uint8_t ret_id[static DIGEST_BYTES]);
int reader_newest(Reader *reader, const Location *subject, const char *plan, RecordEntry *ret);
/* The newest of all plans whose newest is older than record BEFORE. */
int reader_newest_before(Reader *reader, const Location *subject, uint64_t before, RecordEntry *ret);
/* The newest record that found of SUBJECT what none has looked at since. */
int reader_failure(Reader *reader, const Location *subject, RecordEntry *ret);
int reader_unfinished(Reader *reader, uint64_t first, RecordEntry *ret);
/* How many envelopes of FIRST … LAST-1 went to FD, one line each. */
int reader_export(Reader *reader, uint64_t first, uint64_t last, int fd);
/* The document a subject's digest is of, malloc'd; -ENOENT. */
int reader_identity(Reader *reader, const uint8_t digest[static DIGEST_BYTES], char **ret);
