/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store
 *
 * The records in SQLite: WAL, synchronous=FULL, so that a COMMIT that returned is on disk. The table `record` is the truth: the parts of each
 * envelope, which are its payload as it was signed, the signature and the key's ID. (What was written before version 6 of the tables has the
 * envelope's text instead; what was pruned has neither.) Beside it stand, written in the same transaction and rebuildable from it, what a record
 * says about itself, with the nodes of the tree that its leaf makes whole (`entry`), which record is the newest of a part and plan (`newest`),
 * run-starts without an end (`unfinished`), and the identity documents whose digests the subjects are. `held_newest` and `held_unfinished` are
 * as these two were when a heartbeat last signed what they say: see store-tables.c.
 */

#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

#include "daemon/record/keys/envelope.h"
#include "daemon/record/record.h"
#include "daemon/record/statement/identity.h"
#include "daemon/record/statement/places.h"
#include "daemon/record/store/known.h"
#include "daemon/record/tree/tree.h"

#define STORE_BUSY_MSEC 10000 /* so long others may be at it */

/*
 * By which rules the tables were written, since logs have been signed by older ones: those of STORE_WHOLE came after logs had been signed without; and
 * rows of failures say what must be reached to clear them since there is daemon/record/statement/reach.h. First they asked for every count, also for one of which nothing
 * was needed: a digest tells these from later ones by no more than that the records come to it by one of the two rules.
 */
typedef enum StoreForm {
        STORE_FORM_WITHOUT_WHOLE,
        STORE_FORM_ALL,
        STORE_FORM_EVERY_COUNT,
        STORE_FORM_REACHED,
        _STORE_FORM_MAX,
} StoreForm;

#define STORE_FORM_NOW (_STORE_FORM_MAX - 1)

/* A statement of each text in store.c, prepared once. */
typedef enum StoreStatement {
        STORE_BEGIN,
        STORE_COMMIT,
        STORE_ROLLBACK,
        STORE_INSERT_RECORD,
        STORE_INSERT_ENTRY,
        STORE_INSERT_NEWEST,
        STORE_INSERT_IDENTITY,
        STORE_INSERT_UNFINISHED,
        STORE_DELETE_UNFINISHED,
        STORE_DELETE_NEWEST,
        STORE_INSERT_CHECKPOINT,
        STORE_UPDATE_CHECKPOINT,
        STORE_DELETE_CHECKPOINTS,
        STORE_NEWEST_CHECKPOINT,
        STORE_BEST_CHECKPOINT,
        STORE_PRUNE,
        STORE_HEARTBEATS,
        STORE_SIZE,
        STORE_LAST,
        STORE_NODES,
        STORE_ALL_NODES,
        STORE_ENTRY,
        STORE_ENVELOPE,
        STORE_EXPORT,
        STORE_NEWEST,
        STORE_NEWEST_OF_PLAN,
        STORE_NEWEST_BEFORE,
        STORE_WHOLE_BEFORE,
        STORE_FAILURES,
        STORE_UNFINISHED,
        STORE_NEXT_START,
        STORE_NEXT_VERDICT,
        STORE_IDENTITY,
        STORE_ROTATION,
        STORE_TABLE_NEWEST,
        STORE_TABLE_UNFINISHED,
        STORE_CLEAR_NEWEST,
        STORE_CLEAR_UNFINISHED,
        STORE_CLEAR_HELD_NEWEST,
        STORE_CLEAR_HELD_UNFINISHED,
        STORE_HOLD_NEWEST,
        STORE_HOLD_UNFINISHED,
        STORE_BRING_NEWEST,
        STORE_BRING_UNFINISHED,
        STORE_CHANGES,
        _STORE_STATEMENT_MAX,
} StoreStatement;

typedef struct StoreFile {
        dev_t device;
        ino_t inode;
} StoreFile;

typedef struct Store {
        sqlite3 *db;
        StoreFile files[2]; /* the database and its write-ahead log, as they were opened */
        sqlite3_stmt *statements[_STORE_STATEMENT_MAX];
        StoreForm form;   /* by which records change them: that of the newest heartbeat */
        Known identities; /* that are in the table of that name */
        Known sound;      /* subjects of which no failure stands: see failures.c */
        int64_t changes;  /* by others, as they were when the tables were last held against the records; negative: they never were */
} Store;

/*
 * Opens or makes the database and reads back that it will not lose a commit. -EBADMSG: no log, or that of
 * another origin, and *ret_wrong (malloc'd) says which.
 */
int store_open(const char *path, const char *origin, Store **ret, char **ret_wrong);
Store *store_close(Store *store);
DEFINE_CLEANUP(Store *, store_close);

/* What a store of the right tables is asked; store_open() does it. */
int store_prepare(Store *store);

/*
 * store-files.c: whether nobody else may write the database at PATH or put another in its place. -EPERM: somebody may, and *ret_wrong (malloc'd) says
 * where; -errno of stat(2).
 */
int store_check_place(const char *path, char **ret_wrong);
/* store-files.c: what is open now, whether that still is what is there, and whether all of the write-ahead log is. */
int store_note_files(Store *store);
bool store_has_its_files(const Store *store);
bool store_has_its_wal(const Store *store);

/* errno for the last error on the connection, as database_error() */
int store_error(Store *store, int sqlite_error);

typedef struct StoreRow {
        RecordEntry *entry;
        const Signed *record;
        const Identity *identity; /* NULL: of no part */
        const Places *places; /* of a health record or roll-up, else NULL */
        const TreeHash *nodes; /* that its leaf makes whole, the leaf first */
        unsigned n_nodes;
        bool has_regions; /* it is also the newest of its part and STORE_REGIONS of its plan */
} StoreRow;

bool store_row_is_heartbeat(const StoreRow *row);

/* What stands behind a plan in `newest` for records that tell regions: no plan is called so. */
#define STORE_REGIONS "/regions"
/* The same for the newest record that was asked to look at all that its plan promises: see Places. In older logs a plan may have none. */
#define STORE_WHOLE "/whole"
#define STORE_PLAN_MAX 80 /* a plan with either */

/* All rows in one transaction, or none. *ret_unknown where COMMIT failed in a way that does not tell which.
 */
int store_append(Store *store, const StoreRow *rows, size_t n, bool *ret_unknown);

/* A statement that gives no rows. */
int store_run(Store *store, StoreStatement which);
/* Begins a transaction. -EBADMSG: the write-ahead log was cut. */
int store_begin(Store *store);
/* Ends a transaction in which R was the outcome. *ret_unknown: as of store_append(). */
int store_end(Store *store, int r, bool *ret_unknown);

/* Makes record INDEX the one that `newest` names for SUBJECT and KEY, or takes the row away; within a transaction. */
int store_insert_newest(Store *store, uint64_t index, const char *subject, const char *key);
int store_delete_newest(Store *store, const char *subject, const char *key);

/*
 * What a record changes in `newest` and `unfinished`; within a transaction. PLACES: of a health record or roll-up, else NULL. HAS_REGIONS: as of
 * StoreRow.
 */
int store_derive(Store *store, const RecordEntry *entry, const Places *places, bool has_regions);

/* ---- whether these two still follow from the records: see store-tables.c ---- */


/* The digest of the tables in FORM, with the entries that they name: equal for equal tables, and different in each form. */
int store_tables_digest(Store *store, StoreForm form, uint8_t ret[static DIGEST_BYTES]);
/* Keeps them as they are, to be brought back by a trial; within a transaction. */
int store_hold_tables(Store *store);
/* A transaction of which nothing stays: it begins with what was held, or with nothing. */
int store_begin_trial(Store *store, bool with_held);
int store_end_trial(Store *store);
/* Whether another connection has written since store_note_changes(), or that never was. */
int store_has_changed(Store *store, bool *ret);
int store_note_changes(Store *store);
/* The newest heartbeat, as `entry` has it; -ENOENT. */
int store_newest_heartbeat(Store *store, uint64_t *ret);

/* The end of the log: what the next record follows, and the tree that it goes into. */
typedef struct Head {
        Frontier tree;            /* tree.size records */
        uint8_t id[DIGEST_BYTES]; /* of the last one */
        bool is_handed_over;      /* the writer's: the last one names the key that signs after ours */
} Head;

/* -EBADMSG where indices or hashes have a gap. */
int store_head(Store *store, Head *ret);

/* ---- checkpoints: see store-checkpoint.c ---- */

/* A transaction of its own, in which old ones are dropped. *ret_unknown: as of store_append(). */
int store_insert_checkpoint(Store *store, uint64_t size, const char *note, size_t n, bool *ret_unknown);
/* The same checkpoint with signatures of N_WITNESSES. *ret_unknown: as of store_append(). */
int store_update_checkpoint(Store *store, uint64_t size, const char *note, size_t n, unsigned n_witnesses, bool *ret_unknown);
/* The newest of at most LAST records, malloc'd; -ENOENT. */
int store_newest_checkpoint(Store *store, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n);
/* Of those of FIRST … LAST records the newest among those that most witnesses have signed; -ENOENT. */
int store_best_checkpoint(Store *store, uint64_t first, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n);

/* Drops envelopes of records FIRST … LAST-1 that ended before BEFORE_USEC and that nothing refers to. *ret_unknown: as of store_append(). */
int store_prune(Store *store, uint64_t first, uint64_t last, uint64_t before_usec, uint64_t *ret_n, bool *ret_unknown);

/*
 * Before which record the log has gone on for USEC, as its heartbeats tell: from one to the next is the time between them, at most a day, and in one
 * boot of the machine no more than it was up by, so that a clock that jumps makes nothing old. 0: before none.
 */
int store_lived(Store *store, uint64_t usec, uint64_t *ret_end);

/* Works out the tree of SIZE records anew from its leaves. -EBADMSG: what stands there is not that tree. */
int store_check_tree(Store *store, uint64_t size);

/* Node LEVEL of those that leaf LEAF made whole, of a row that STATEMENT has come to. -EBADMSG: there are not as many as it made. */
int store_take_node(sqlite3_stmt *statement, int column, uint64_t leaf, unsigned level, TreeHash *ret);
/* TreeSource.read for a store as its userdata. -EBADMSG: there is no such hash. */
int store_hash(void *store, uint64_t position, TreeHash *ret);

/*
 * Makes what COMMIT left uncertain certain: the WAL is copied into the database, both are synced, and what of the WAL was not committed is gone. -EBUSY:
 * somebody reads.
 */
int store_settle(Store *store);
