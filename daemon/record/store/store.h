/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Store
 *
 * The records in SQLite: WAL, synchronous=FULL, so that a COMMIT that returned is on disk. The table `record` is the truth: the parts of each
 * envelope, which are its payload as it was signed, the signature and the key's ID. (What was written before version 6 of the tables has the
 * envelope's text instead; what was dropped has neither, nor a key's ID; an empty one says that it was pruned before there were archives, and proves nothing.) Beside it stand, written in the same transaction and rebuildable from it, what a record
 * says about itself, with the nodes of the tree that its leaf makes whole (`entry`), which record is the newest of a part and plan (`newest`),
 * run-starts without an end (`unfinished`), and the identity documents whose digests the subjects are.
 */

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <sys/types.h>

#include "daemon/record/keys/envelope.h"
#include "daemon/record/record.h"
#include "daemon/record/statement/archive.h"
#include "daemon/record/statement/identity.h"
#include "daemon/record/statement/places.h"
#include "daemon/record/tree/tree.h"

#define STORE_BUSY_MSEC 10000 /* so long others may be at it */

/* Of a row of `record`: it has no whole envelope. */
#define STORE_IS_HOLE "envelope IS NULL AND (payload IS NULL OR signature IS NULL OR keyid IS NULL)"

/* A statement of each text in store.c, prepared once. */
typedef enum StoreStatement {
        STORE_BEGIN,
        STORE_COMMIT,
        STORE_ROLLBACK,
        STORE_INSERT_RECORD,
        STORE_INSERT_ENTRY,
        STORE_UPDATE_ENTRY,
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
        STORE_DROPPABLE,
        STORE_DROP,
        STORE_NEXT_HOLE,
        STORE_HEARTBEATS,
        STORE_ID,
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
        STORE_NEXT_ROLLUP,
        STORE_NEXT_START,
        STORE_NEXT_VERDICT,
        STORE_IDENTITY,
        STORE_ROTATION,
        STORE_ARCHIVE,
        STORE_DECISION,
        STORE_ALL_NEWEST,
        STORE_ALL_UNFINISHED,
        STORE_NEXT_CHECKPOINT,
        STORE_PRUNED_BEHIND,
        _STORE_STATEMENT_MAX,
} StoreStatement;

typedef struct StoreFile {
        dev_t device;
        ino_t inode;
        off_t size; /* when a commit of ours was behind it */
} StoreFile;

/* A connection. Any thread may ask it, one at a time; one that writes does so from one thread. */
typedef struct Store {
        sqlite3 *db;
        pthread_mutex_t mutex; /* recursive: held while a statement is in use */
        StoreFile files[2]; /* the database and its write-ahead log, as they were opened */
        sqlite3_stmt *statements[_STORE_STATEMENT_MAX];
        int64_t changes;  /* by others, as they were when somebody last asked; negative: nobody has */
} Store;

/*
 * Opens or makes the database and reads back that it will not lose a commit. -EBADMSG: no log, or that of
 * another origin, and *ret_wrong (malloc'd) says which. 0, and *ret_wrong may hold a remark.
 */
int store_open(const char *path, const char *origin, Store **ret, char **ret_wrong);
Store *store_new(void); /* not opened yet; NULL: -ENOMEM */
Store *store_close(Store *store);
DEFINE_CLEANUP(Store *, store_close);

/* What a store of the right tables is asked; store_open() does it. */
int store_prepare(Store *store);
/* store-tables.c: makes the tables of an empty store, within a transaction; and brings those of an older assayd to these. *ret_wrong: as of store_open(). */
int store_make_tables(Store *store);
int store_raise_tables(Store *store, char **ret_wrong);
/* Whether each index has the rows of its table, and pages belong together: it reads all of them. -EBADMSG, and *ret_wrong (malloc'd) says what is wrong. */
int store_check_pages(Store *store, char **ret_wrong);

/*
 * store-files.c: whether nobody else may write the database at PATH or put another in its place. -EPERM: somebody may, and *ret_wrong (malloc'd) says
 * where; -errno of stat(2).
 */
int store_check_place(const char *path, char **ret_wrong);
/* Whether nothing of that is what an opening would wait at, whosever it is: root, who decides for another user, asks before becoming that user. -EPERM */
int store_check_files(const char *path, char **ret_wrong);
/* store-files.c: notes what is open. */
int store_note_files(Store *store);
/* Behind a commit: whether that still is what is there. */
bool store_has_its_files(Store *store);
/* Before one: whether all of the write-ahead log is. */
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
        const Archive *archive; /* what goes with it; NULL: nothing */
} StoreRow;

/* What stands behind a plan in `newest` for records that tell regions: no plan is called so. */
#define STORE_REGIONS "/regions"
/* The same for the newest record that was asked to look at all that its plan promises: see Places. In older logs a plan may have none. */
#define STORE_WHOLE "/whole"
/* In derived tables alone, in place of a plan: by the rules of now no facts can be read from a record of that part. */
#define STORE_UNREAD "/unread"
#define STORE_PLAN_MAX 80 /* a plan with either */

/* The end of the log: what the next record follows, and the tree that it goes into. */
typedef struct Head {
        Frontier tree;            /* tree.size records */
        uint8_t id[DIGEST_BYTES]; /* of the last one */
        bool is_handed_over;      /* the writer's: the last one names the key that signs after ours */
} Head;

/* All rows behind HEAD in one transaction, or none. -EBADMSG: as of store_begin(). *ret_unknown where COMMIT failed in a way that does not tell which. */
int store_append(Store *store, const Head *head, const StoreRow *rows, size_t n, bool *ret_unknown);

/* SQL that is run once, with what it gives thrown away; and one that gives a row of one number, -ENOENT where it gives none. */
int store_execute(Store *store, const char *sql);
int store_number(Store *store, const char *sql, int64_t *ret);
/* And of one text, malloc'd; -EBADMSG where it gives none. */
int store_text(Store *store, const char *sql, char **ret);
/* Ends a transaction in which R was the outcome: all or nothing, whatever dies on the way. */
int store_finish(Store *store, int r);

/* A value that goes into a statement: ?1, ?2 …. */
typedef struct StoreValue {
        enum { STORE_NUMBER, STORE_TEXT, STORE_BLOB } type;
        int64_t number;
        const void *bytes; /* which stay as they are until the statement was answered; NULL: it is NULL */
        size_t n;
} StoreValue;

/* What is behind all records is as far as SQL counts. */
static inline StoreValue sql_number(uint64_t number) {
        return (StoreValue) { STORE_NUMBER, .number = number > INT64_MAX ? INT64_MAX : (int64_t) number };
}

static inline StoreValue sql_text(const char *text) {
        return (StoreValue) { STORE_TEXT, .bytes = text };
}

static inline StoreValue sql_blob(const void *bytes, size_t n) {
        return (StoreValue) { STORE_BLOB, .bytes = bytes, .n = n };
}

/* The values of a statement, as two arguments. */
#define SQL(...) (const StoreValue[]) { __VA_ARGS__ }, sizeof((const StoreValue[]) { __VA_ARGS__ }) / sizeof(StoreValue)

/* Asks WHICH, with all its values. Nobody else asks STORE until it was answered, in which R was the outcome: that is returned. */
sqlite3_stmt *store_ask(Store *store, StoreStatement which, const StoreValue *values, size_t n);
int store_answered(Store *store, sqlite3_stmt *statement, int r);
/* The next row; -ENOENT: there is none. */
int store_step(Store *store, sqlite3_stmt *statement);
/* A statement that gives no rows. */
int store_run(Store *store, StoreStatement which, const StoreValue *values, size_t n);
/* One that gives an index, and the entry of that record. -ENOENT: there is none. */
int store_index(Store *store, StoreStatement which, const StoreValue *values, size_t n, uint64_t *ret);
int store_find(Store *store, StoreStatement which, const StoreValue *values, size_t n, RecordEntry *ret);

/* ---- store-read.c ---- */

/* The envelope of INDEX, malloc'd, and the ID it is stored under; -ENOENT; -ENODATA: it was pruned. */
int store_envelope(Store *store, uint64_t index, char **ret, size_t *ret_n, uint8_t ret_id[static DIGEST_BYTES]);
/* The same, taken apart. */
int store_parsed(Store *store, uint64_t index, Envelope *ret, uint8_t ret_id[static DIGEST_BYTES]);
/* What the tables say of record INDEX; -ENOENT. */
int store_entry(Store *store, uint64_t index, RecordEntry *ret);
/* The document a subject's digest is of, malloc'd; -ENOENT. */
int store_identity(Store *store, const uint8_t digest[static DIGEST_BYTES], char **ret);
/* How many envelopes of FIRST … LAST-1 went to FD, one line each. */
int store_export(Store *store, uint64_t first, uint64_t last, int fd);
/* Leaf hashes FIRST … LAST-1 go to FD, one after the other. */
int store_leaves(Store *store, uint64_t first, uint64_t last, int fd);

/* ---- writing ---- */

/*
 * Begins a transaction. -EBADMSG: the write-ahead log was cut, or what the disk has does not end with HEAD, which was committed. *ret_unknown: as of
 * store_append().
 */
int store_begin(Store *store, const Head *head, bool *ret_unknown);
/* Ends a transaction in which R was the outcome. *ret_unknown: as of store_append(). */
int store_end(Store *store, int r, bool *ret_unknown);

/*
 * What a record changes in `newest` and `unfinished`; within a transaction. PLACES: of a health record or roll-up, else NULL. HAS_REGIONS: as of
 * StoreRow.
 */
int store_derive(Store *store, const RecordEntry *entry, const Places *places, bool has_regions);

/* ---- store-derive.c: the tables once more, out of what was signed ---- */

struct json_t;
/*
 * Makes the changes of ENTRY, of STATEMENT, in both tables; without a statement, which was pruned, as far as ENTRY tells. 1: as far as that alone, since no facts can be read
 * from the statement by the rules of now.
 */
int store_derive_signed(Store *store, const RecordEntry *entry, struct json_t *statement);
/* Tells DERIVED that a record of the part of ENTRY is unread, so that store_compare_derived() holds its facts against nothing. */
int store_note_unread(Store *derived, const RecordEntry *entry);
/*
 * Whether both tables are what DERIVED has. -EBADMSG, and *ret_wrong (malloc'd) says which part differs. A failure that a record may have cleared whose
 * envelope was pruned is taken as it stands, and so is, of a part of which a record is unread, what hangs on facts.
 */
int store_compare_derived(Store *store, Store *derived, char **ret_wrong);
/* Whether ENTRY is what RECORD says of itself; index and ID are not looked at. */
bool store_entry_is_of(const RecordEntry *entry, const RecordEntry *record);
int store_update_entry(Store *store, const RecordEntry *entry);
/* Writes both tables, and `entry`, anew: an older assayd may have had other rules. Within a transaction. */
int store_rebuild(Store *store);

/* A store in memory, of no log, into which tables are derived. */
int store_open_derived(Store **ret);

/* Whether another connection has written since this was last asked; at first it is true. */
int store_has_changed(Store *store, bool *ret);

/* How many records there are. -EBADMSG: their tables do not end alike. */
int store_size(Store *store, uint64_t *ret);
/* -EBADMSG where these or hashes have a gap. */
int store_head(Store *store, Head *ret);
/* Whether the last record is that of HEAD. -EBADMSG */
int store_check_head(Store *store, const Head *head);
/* Whether record INDEX has that ID, on the disk: SQLite keeps the pages that it has read until another connection has written. -EBADMSG */
int store_check_id(Store *store, uint64_t index, const uint8_t id[static DIGEST_BYTES]);

/* ---- checkpoints: see store-checkpoint.c ---- */

/* A transaction of its own, in which old ones are dropped. HEAD and *ret_unknown: as of store_append(). */
int store_insert_checkpoint(Store *store, const Head *head, const char *note, size_t n, bool *ret_unknown);
/* That of SIZE records with signatures of N_WITNESSES. HEAD and *ret_unknown: as of store_append(). */
int store_update_checkpoint(Store *store, const Head *head, uint64_t size, const char *note, size_t n, unsigned n_witnesses, bool *ret_unknown);
/* The one of the fewest records above SIZE, malloc'd, and of how many witnesses it bears signatures; -ENOENT. */
int store_next_checkpoint(Store *store, uint64_t size, uint64_t *ret_size, char **ret, size_t *ret_n, unsigned *ret_witnesses);
/* The newest of at most LAST records, malloc'd; -ENOENT. */
int store_newest_checkpoint(Store *store, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n);
/* Of those of FIRST … LAST records the newest among those that most witnesses have signed; -ENOENT. */
int store_best_checkpoint(Store *store, uint64_t first, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n);

/*
 * Tells which records of an archive from FIRST on may go: those that ended before BEFORE_USEC and that nothing refers to, none that FAILED and none that
 * tells of the log itself. It is none where some of these are gone already: what such an archive keeps it keeps for ever.
 */
int store_droppable(Store *store, uint64_t first, uint64_t before_usec, RegionSet *ret);
/* Drops what ARCHIVE says, within the transaction that has its record. */
int store_drop(Store *store, const Archive *archive);
/* The first record at or behind FIRST of which there is no whole envelope; -ENOENT. */
int store_next_hole(Store *store, uint64_t first, uint64_t *ret);

/*
 * Before which record the log has gone on for USEC, as its heartbeats tell: from one to the next is the time between them, at most a day, and in one
 * boot of the machine no more than it was up by, so that a clock that jumps makes nothing old. 0: before none.
 */
int store_lived(Store *store, uint64_t usec, uint64_t *ret_end);

/* Lets TREE grow to SIZE records by the leaves that stand there. -EBADMSG: the nodes beside them are not what follows, or there are fewer. */
int store_check_tree(Store *store, Frontier *tree, uint64_t size);

/* TreeSource.read for a store as its userdata. -EBADMSG: there is no such hash. */
int store_hash(void *store, uint64_t position, TreeHash *ret);

/*
 * Makes what COMMIT left uncertain certain: the WAL is copied into the database, both are synced, and what of the WAL was not committed is gone. -EBUSY:
 * somebody reads.
 */
int store_settle(Store *store);
