/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Audit
 *
 * A whole log, judged record by record in the order of their indices. What is kept of a record is what later ones are held
 * against: the frontier of the tree, the ID before, runs without an end, what each chip came to under each plan, challenges. So memory
 * grows with runs and chips, not with records.
 *
 * Three weights: what is broken means that the log does not hold, what is open that it cannot be told, and what is odd is shown to
 * whoever reads the report and changes neither.
 */

#include <jansson.h>

#include "checks/regions.h"
#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/keys/state.h"
#include "daemon/record/record.h"

/* Those of one archive's records that are not here. */
typedef struct AuditHoles {
        uint64_t first;
        RegionSet records;
} AuditHoles;

/* The bundle of entries that the next leaf belongs to. */
typedef struct AuditBundle {
        bool has_hole; /* a record of it is not here, or was not there when it was exported */
        unsigned n_missing;
        uint64_t first_missing, last_missing;
} AuditBundle;

/* A record whose signature held. */
typedef struct AuditRecord {
        const RecordVerified *verified;
        const json_t *predicate;
        const char *subject; /* its digest */
} AuditRecord;

/* Things found by a text. Its key is an item's first member. */
typedef struct AuditSet {
        void *root; /* of tsearch(3) */
} AuditSet;

/* The item of KEY, or a new one of SIZE bytes, all zero but the key. NULL: no memory. */
void *audit_set_add(AuditSet *set, const char *key, size_t size);
void *audit_set_find(const AuditSet *set, const char *key);
void audit_set_remove(AuditSet *set, void *item); /* frees it */
void audit_set_each(const AuditSet *set, void (*each)(void *item, void *userdata), void *userdata);
void audit_set_done(AuditSet *set);

struct RecordAudit {
        RecordAuditOptions options;
        RecordAuditReport report;
        int error; /* -ENOMEM sticks */

        /* lines */
        char id[RECORD_ID_HEX];    /* of the record before; "": not known */
        char key_id[64], successor[64]; /* who signs, and who shall from the next record on */
        uint64_t unseen;           /* records before this one are not all known */

        /* what is not here, by the first of them */
        size_t n_holes;
        AuditHoles *holes;
        bool is_filling; /* one of them, from an archive */

        /* the tree */
        Frontier tree;
        bool is_torn; /* a leaf is not known */
        AuditBundle bundle;
        uint64_t unsigned_bytes; /* see RECORD_AUDIT_UNSIGNED_BYTES */
        Checkpoint checkpoint;
        bool has_checkpoint; /* and who signed it is known */
        bool is_compared;
        Checkpoint seen[_STATE_SEEN_MAX]; /* of this log, before; none of no records */

        /* runs */
        AuditSet runs, challenges, plans, chips, repairs;

        /* times */
        char boot[RECORD_RUN_BYTES];
        uint64_t usec, error_usec; /* the latest time in this boot, and how far its clock may have been off */
        uint64_t monotonic_nsec;
};

/* A list's room doubles when its length N is a power of two; -ENOMEM. */
int audit_grow(void **list, size_t n, size_t size);

/* Texts of records go on to terminals: only plain characters are kept. Returns TEXT. */
char *audit_plain(char *text);

/* FIRST … LAST: the records it is about. */
void audit_find(RecordAudit *audit, RecordAuditKind kind, uint64_t first, uint64_t last, const char *format, ...)
        __attribute__((format(printf, 5, 6)));

/* audit-tree.c: what the log has signed of itself; 0, or a negative errno, like all of these. */
int audit_checkpoint(RecordAudit *audit);
/* Of the next leaf nothing is known but N bytes that nobody has signed. -E2BIG: they are too many by now. */
int audit_spend(RecordAudit *audit, size_t n);
/* The record at the end of the tree, whose leaf hash follows from it, or does not (NULL). */
int audit_place(RecordAudit *audit, const TreeHash *leaf);
/* Record INDEX stands here: 1, and what is missing before it is told; 0, told too: it does not belong here. */
int audit_reach(RecordAudit *audit, uint64_t index);
/* Goes on to record END as far as archives and leaf hashes do. */
int audit_skip(RecordAudit *audit, uint64_t end);

/* audit-holes.c: record INDEX is not here. */
void audit_hole(RecordAudit *audit, uint64_t index);
/* 1: an archive has the record at the end of the tree, which was taken; 0: none has. */
int audit_fill(RecordAudit *audit);
/* Record INDEX must be here, as the one of BY says. */
void audit_need(RecordAudit *audit, uint64_t index, uint64_t by);
/* Takes from RECORD which archive it tells of, if it does, and checks that this is it. */
int audit_archive_take(RecordAudit *audit, const AuditRecord *record);
void audit_holes_tell(RecordAudit *audit);

/* audit-tiles.c: whether the entry of record INDEX is that of LEAF, and a bundle of them whole; and the N nodes that LEAF made whole. */
int audit_entry_check(RecordAudit *audit, uint64_t index, const TreeHash *leaf);
void audit_bundle_end(RecordAudit *audit);
int audit_nodes_check(RecordAudit *audit, uint64_t leaf, const TreeHash *whole, unsigned n);

/* audit-state.c: what was seen of the log of ORIGIN before is known from now on. */
int audit_recall(RecordAudit *audit, const char *origin);
/* Whenever the tree has as many leaves as it had then. */
int audit_compare_seen(RecordAudit *audit);
/* At the end: it has fewer, or says so. */
void audit_find_rollback(RecordAudit *audit);
/* A log that holds is remembered. */
int audit_remember(RecordAudit *audit);

/* audit-runs.c: run-starts, what they came to, and how often each chip was tried. */
void audit_runs_take(RecordAudit *audit, const AuditRecord *record);
void audit_runs_end(RecordAudit *audit);
void audit_runs_done(RecordAudit *audit);

/* audit-times.c: clocks, boots and silences. */
void audit_times_take(RecordAudit *audit, const AuditRecord *record);
