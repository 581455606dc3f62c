/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Audit: a whole log, record by record; needs no log of ours. A part of record.h. */

#include "daemon/record/record.h"

/*
 * Archives: files of RECORD_ARCHIVE_RECORDS lines each, as `export` writes them, of records of which some are nowhere else any more. A record of the
 * log says which these are, and tells the file's digest.
 */
#define RECORD_ARCHIVE_RECORDS  256
#define RECORD_ARCHIVE_NAME_MAX 48

/* "records-000000000256.intoto.jsonl": the file that record INDEX is in. */
char *record_archive_name(uint64_t index, char name[static RECORD_ARCHIVE_NAME_MAX]);

/*
 * Moves the envelopes into archives in FOLDER of records that ended before BEFORE_USEC and since which the log has gone on for LIVED_USEC, as its heartbeats tell: the time
 * from one to the next, at most a day of it, and in one boot of the machine no more than it was up by, so that a clock that is ahead makes nothing
 * old. An archive at a time, between other records; none that FAILED, nor the newest of a part and plan nor what failures, regions and unfinished runs refer to, what tells
 * of keys and archives, what came after the newest heartbeat, or the last record. IDs, hashes and entries stay: what was dropped is still proven to
 * have been there. The outcome's error, and then nothing is dropped whose archive is not durable: -EEXIST: another file stands in its place; -ENOSPC …
 */
int record_log_prune(RecordLog *log, const char *folder, uint64_t before_usec, uint64_t lived_usec, uint64_t ticket);

#define RECORD_TILE_PATH 64
/* "tile/0/x001/x234/067.p/17": LEVEL is a number or "entries", WIDTH 256 of a tile that is full. */
char *record_tile_path(const char *level, uint64_t index, unsigned width, char path[static RECORD_TILE_PATH]);

typedef struct RecordAudit RecordAudit;

typedef struct RecordAuditOptions {
        const RecordKeyring *keyring; /* where it does not name the log, a checkpoint proves nothing */
        const char *checkpoint;       /* a signed note; NULL: none */
        size_t n_checkpoint;
        /*
         * Answers of whoever holds the log, of which nothing is believed. Each: -ENOENT where there is no such thing, NULL where nothing of
         * the kind is known; what is handed out is looked at before the next call.
         */
        int (*hash)(void *userdata, unsigned level, uint64_t index, uint8_t ret[static 32]); /* node INDEX of LEVEL of the tree; 0: a leaf, which stands for an envelope that is not here */
        int (*entry)(void *userdata, uint64_t index, const void **ret, size_t *ret_n);       /* the body of leaf INDEX, among tiles */
        int (*line)(void *userdata, uint64_t index, const char **ret, size_t *ret_n);        /* the line of record INDEX in an archive */
        int (*archive)(void *userdata, uint64_t index, char ret_digest[static RECORD_ID_HEX], uint64_t *ret_size); /* the SHA-256, hex, and the bytes of the archive that has record INDEX */
        void *userdata;
        RecordState *state; /* NULL: nothing is remembered; else the log must begin with what was seen of it before, and a log that holds is remembered */
} RecordAuditOptions;

typedef enum RecordAuditWeight {
        RECORD_AUDIT_ODD,    /* to be looked at */
        RECORD_AUDIT_OPEN,   /* cannot tell: exit 2 */
        RECORD_AUDIT_BROKEN, /* the log does not hold: exit 3 */
} RecordAuditWeight;

typedef enum RecordAuditKind {
        /* broken */
        RECORD_AUDIT_REFUSED,            /* a record does not verify */
        RECORD_AUDIT_MISSING,            /* records are not there, nor their leaf hashes */
        RECORD_AUDIT_MISPLACED,          /* a record stands where another belongs */
        RECORD_AUDIT_PREVIOUS,           /* a record does not follow the one before it */
        RECORD_AUDIT_ORIGIN,             /* a record is of another log */
        RECORD_AUDIT_LEAF,               /* a record is not the one the tree was made of */
        RECORD_AUDIT_CHECKPOINT,         /* what the log says of itself does not verify */
        RECORD_AUDIT_ROOT,               /* the tree is not that of the checkpoint, or not what a decision to go on says */
        RECORD_AUDIT_ROLLED_BACK,        /* the log had more records when it was last seen */
        RECORD_AUDIT_REWRITTEN,          /* it had others */
        RECORD_AUDIT_ROLL_UP,            /* a roll-up does not tell what the records of its chips tell */
        RECORD_AUDIT_RUN,                /* a result tells otherwise than its run began, or the run begins twice */
        RECORD_AUDIT_KEY,                /* another key signs, and no rotation says so */
        RECORD_AUDIT_TILE,               /* a tile has another entry or hash than the records make */
        RECORD_AUDIT_ARCHIVE,            /* an archive is not the one that its record tells of */
        RECORD_AUDIT_EARLIER,            /* a record says of earlier ones of its chip what these are not */
        RECORD_AUDIT_VERSION,            /* a chip's record is of an older version than one before it */
        /* cannot tell */
        RECORD_AUDIT_UNKNOWN,            /* a record of a key that is not known, or that a keyring cannot tell of */
        RECORD_AUDIT_NO_CHECKPOINT,      /* none was given, or whose signature counts is not known */
        RECORD_AUDIT_UNSIGNED,           /* records behind what the checkpoint covers: nothing shows that the log has them */
        RECORD_AUDIT_NO_WITNESS,         /* fewer witnesses than the keyring asks for */
        RECORD_AUDIT_WITHHELD,           /* records are not here, and no record says which archive has them */
        RECORD_AUDIT_TILE_MISSING,       /* entries are missing among the tiles, whose records are here */
        RECORD_AUDIT_NOTHING,            /* there is nothing to check */
        /* odd */
        RECORD_AUDIT_UNFINISHED,         /* a run has begun and no result follows */
        RECORD_AUDIT_UNSTARTED,          /* a result of a run that never began */
        RECORD_AUDIT_RERUN,              /* a chip failed, and then passed the same plan without a repair */
        RECORD_AUDIT_PLAN,               /* two plans of one name */
        RECORD_AUDIT_BEGIN,              /* a result tells of another begin or seed than the start of its run */
        RECORD_AUDIT_CHALLENGE,          /* a challenge was answered twice */
        RECORD_AUDIT_SILENCE,            /* more than two hours without a record */
        RECORD_AUDIT_CLOCK,              /* the clock went backwards in a boot */
        RECORD_AUDIT_DECISION,           /* somebody decided to go on with what was left of it */
        RECORD_AUDIT_TWINS,              /* a roll-up has two chips of one identity */
        _RECORD_AUDIT_KIND_MAX,
        _RECORD_AUDIT_KIND_INVALID = -EINVAL,
} RecordAuditKind;

const char *record_audit_kind_to_string(RecordAuditKind kind); /* "record-refused" … */
RecordAuditWeight record_audit_kind_weight(RecordAuditKind kind);

#define RECORD_AUDIT_NO_RECORD UINT64_MAX

typedef struct RecordAuditFinding {
        RecordAuditKind kind;
        uint64_t first, last; /* records it is about; both RECORD_AUDIT_NO_RECORD: none, but the log */
        char text[256];
} RecordAuditFinding;

typedef struct RecordAuditChip { /* under one plan */
        char subject[RECORD_ID_HEX]; /* digest of its identity */
        char where[LOCATION_STRING_MAX]; /* in its newest record */
        char plan[64];
        uint64_t n_results[_RESULT_MAX];
        uint64_t newest;
} RecordAuditChip;

typedef struct RecordAuditReport {
        char origin[RECORD_ORIGIN_MAX];
        uint64_t size; /* records, and those that are not here */
        uint64_t n_verified, n_unknown, n_refused;
        uint64_t n_pruned, n_withheld; /* not here: in archives, as records say, or nobody knows where */
        uint64_t n_starts, n_boots, n_heartbeats, n_rotations;
        uint64_t first_usec, last_usec; /* of the log's own clock; 0: no record */
        bool has_checkpoint;            /* one that verifies */
        uint64_t checkpoint_size;
        unsigned n_witnesses;
        uint64_t witnessed_usec;
        uint64_t seen_size;             /* it begins with the records it had when it was last seen, so many; 0: nothing is known of that */
        Result verdict;                 /* PASSED: it holds; INCONCLUSIVE: cannot tell; FAILED: it does not hold */
        size_t n_findings;              /* those kept, in the order they were met: the first RECORD_AUDIT_KEPT of each kind; runs without an end in that of their records */
        RecordAuditFinding *findings;
        uint64_t n_of_kind[_RECORD_AUDIT_KIND_MAX]; /* kept or not */
        size_t n_chips;
        RecordAuditChip *chips;         /* by place and plan */
} RecordAuditReport;

#define RECORD_AUDIT_KEPT 100

int record_audit_new(const RecordAuditOptions *options, RecordAudit **ret);
RecordAudit *record_audit_free(RecordAudit *audit);
DEFINE_CLEANUP(RecordAudit *, record_audit_free);

/*
 * What nobody has signed anybody can make, and without an end: lines that do not verify, and leaves alone. Up to where a checkpoint says that the
 * log has records they are read whatever they are, and behind it no more than so many bytes, each of them counted as a KiB at least.
 */
#define RECORD_AUDIT_UNSIGNED_BYTES (UINT64_C(1) << 30)
#define RECORD_AUDIT_SIGNED_MAX     (UINT64_C(1) << 32) /* records: no station has more in its life, whatever its checkpoint says */

/*
 * The next record, an envelope as record_verify() takes it, in the order of their indices. 0, or as the end; -E2BIG: this and what was taken before
 * is more than RECORD_AUDIT_UNSIGNED_BYTES, so the audit is to be given up.
 */
int record_audit_take(RecordAudit *audit, const char *envelope, size_t n);
/* The index that the next one is expected to have. */
uint64_t record_audit_size(const RecordAudit *audit);
/* The records that the checkpoint covers; UINT64_MAX: none verifies. */
uint64_t record_audit_covered(const RecordAudit *audit);
/* There are no more. The report is the audit's. 0, or -ENOMEM, or -E2BIG as above, or what a file of the state failed with. */
int record_audit_end(RecordAudit *audit, const RecordAuditReport **ret);
