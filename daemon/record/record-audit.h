/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Audit: a whole log, record by record; needs no log of ours. A part of record.h. */

#include "daemon/record/record.h"

typedef struct RecordAudit RecordAudit;

typedef struct RecordAuditOptions {
        const RecordKeyring *keyring; /* where it does not name the log, a checkpoint proves nothing */
        const char *checkpoint;       /* a signed note; NULL: none */
        size_t n_checkpoint;
        /*
         * The leaf hash of record INDEX, as whoever holds the log tells it: it stands for an envelope that was pruned, and must be that of
         * one that was not. -ENOENT: there is none. NULL: none are known.
         */
        int (*leaf)(void *userdata, uint64_t index, uint8_t ret[static 32]);
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
        RECORD_AUDIT_ROOT,               /* the tree is not that of the checkpoint */
        RECORD_AUDIT_ROLLED_BACK,        /* the log had more records when it was last seen */
        RECORD_AUDIT_REWRITTEN,          /* it had others */
        RECORD_AUDIT_ROLL_UP,            /* a roll-up does not tell what the records of its chips tell */
        RECORD_AUDIT_RUN,                /* a result tells otherwise than its run began, or the run begins twice */
        RECORD_AUDIT_KEY,                /* another key signs, and no rotation says so */
        /* cannot tell */
        RECORD_AUDIT_UNKNOWN,            /* a record of a key that is not known, or that a keyring cannot tell of */
        RECORD_AUDIT_NO_CHECKPOINT,      /* none was given, or whose signature counts is not known */
        RECORD_AUDIT_NO_WITNESS,         /* fewer witnesses than the keyring asks for */
        RECORD_AUDIT_WITHHELD,           /* of records no more is here than leaf hashes, or IDs that nobody has signed */
        RECORD_AUDIT_NOTHING,            /* there is nothing to check */
        /* odd */
        RECORD_AUDIT_UNFINISHED,         /* a run has begun and no result follows */
        RECORD_AUDIT_UNSTARTED,          /* a result of a run that never began */
        RECORD_AUDIT_RERUN,              /* a chip failed, and then passed the same plan without a repair */
        RECORD_AUDIT_PLAN,               /* two plans of one name */
        RECORD_AUDIT_CHALLENGE,          /* a challenge was answered twice */
        RECORD_AUDIT_SILENCE,            /* more than two hours without a record */
        RECORD_AUDIT_CLOCK,              /* the clock went backwards in a boot */
        RECORD_AUDIT_DECISION,           /* somebody decided to go on with what was left of it */
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
        uint64_t size; /* records and pruned ones */
        uint64_t n_verified, n_unknown, n_refused, n_pruned;
        uint64_t n_starts, n_boots, n_heartbeats, n_rotations;
        uint64_t first_usec, last_usec; /* of the log's own clock; 0: no record */
        uint64_t checkpoint_size;       /* 0: none that verifies */
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
/* There are no more. The report is the audit's. 0, or -ENOMEM, or -E2BIG as above, or what a file of the state failed with. */
int record_audit_end(RecordAudit *audit, const RecordAuditReport **ret);
