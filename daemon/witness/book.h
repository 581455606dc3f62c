/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Book
 *
 * What a witness has vouched for: the newest checkpoint of each log, in SQLite (WAL, synchronous=FULL), so that what was kept is on
 * the disk before anything is signed. One process has it open; one thread calls. Changes are committed in groups, for a disk takes as long
 * over one as over hundreds.
 *
 * A book that was restored from a copy would vouch again for what the copy does not know of. Every change has a number, and the
 * newest one stands in a file beside the book, the anchor: a book behind its anchor is an old copy and is not opened. That
 * tells a restored database. It cannot tell a folder, or a machine, that was restored with the anchor in it; for that the anchor
 * lies on another disk. Where power was lost the anchor may be behind the book, never ahead.
 */

#include "daemon/record/keys/checkpoint.h"

typedef struct Book Book;

/* The newest checkpoint of a log that was vouched for. */
typedef struct Held {
        uint64_t size;
        TreeHash root;
        uint64_t usec; /* CLOCK_REALTIME, when; 0: never */
} Held;

/*
 * Opens or makes FOLDER/witness.db; ANCHOR NULL: FOLDER/anchor. IS_NEWEST: somebody knows that no newer copy was ever used, and the anchor is
 * made again. -EBADMSG: an old copy, a foreign or damaged database, and *ret_wrong (malloc'd) says so; -EBUSY: another witness
 * has it open; or why it cannot be opened.
 */
int book_open(const char *folder, const char *anchor, bool is_newest, Book **ret, char **ret_wrong);
Book *book_close(Book *book);
DEFINE_CLEANUP(Book *, book_close);

/* Size 0, and its root, for a log that was never vouched for. */
int book_read(Book *book, const char *origin, Held *ret);
/* The checkpoint itself as well, as it came (*ret_note: malloc'd, N bytes). -ENOENT: none was ever vouched for. */
int book_read_note(Book *book, const char *origin, Held *ret, char **ret_note, size_t *ret_n);
/*
 * Both of one group: what was written is read back at once, and on disk when book_commit() returns 0. -ENOSPC, -EIO …: from either, and
 * book_commit() says it again: nothing of the group was written, or all of it and that is not told: book_read() knows. -ESTALE: the
 * book holds as many records or more, and goes on as if it had not been called.
 */
int book_write(Book *book, const char *origin, const Held *held, const char *note, size_t n);
int book_commit(Book *book);
