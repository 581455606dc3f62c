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

#include "checks/vocabulary/regions.h"
#include "daemon/record/keys/checkpoint.h"
#include "daemon/record/keys/state.h"
#include "daemon/record/record.h"

/* Of one archive's records those of which nothing is known, for there may be a line that does not verify; and those that no archive may have alone. */
typedef struct AuditHoles {
        uint64_t first;
        RegionSet records; /* which are not here */
        RegionSet unread;  /* those, and what does not verify */
        RegionSet failed;  /* as their lines say */
        RegionSet dropped; /* as records say of archives that were not given */
        RegionSet changed; /* what stands behind them is signed with another key than what stands before */
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
        const RecordEntry *entry; /* of that */
        const json_t *predicate;
        const char *subject; /* its digest */
        const char *uri;     /* "": it has none */
} AuditRecord;

/* Checkpoints of this log: those that were seen before, and the one that was given. */
typedef enum AuditSigned {
        AUDIT_GIVEN = _STATE_SEEN_MAX,
        _AUDIT_SIGNED_MAX,
} AuditSigned;

struct RecordAudit {
        RecordAuditOptions options;
        RecordAuditReport report;
        int error; /* -ENOMEM sticks */

        /* lines */
        char id[RECORD_ID_HEX];    /* of the record before; "": not known */
        char key_id[64], successor[64]; /* who signed the newest record that verified, and who shall from the next one on */
        uint64_t unseen;           /* records before this one are not all known */
        uint64_t missed;           /* nor are those told that were missing before this one */

        /* what is not here, by the first of them */
        size_t n_holes;
        AuditHoles *holes;
        bool is_filling; /* one of them, from an archive */

        /* the tree */
        Frontier tree;
        bool is_torn; /* a leaf is not known */
        uint64_t n_untold, first_untold, last_untold; /* marks whose leaf is not */
        AuditBundle bundle;
        uint64_t unsigned_bytes; /* see RECORD_AUDIT_UNSIGNED_BYTES */
        bool has_signed[_AUDIT_SIGNED_MAX]; /* one that verifies */
        Checkpoint signed_as[_AUDIT_SIGNED_MAX];

        json_t *memory; /* audit-memory.c */
        uint64_t newer; /* behind the newest record of version 2; 0: there is none */

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

/* Nothing is known any more of the record at END - 1. */
void audit_lose(RecordAudit *audit, uint64_t end);

/* audit-tree.c: what the log has signed of itself; 0, or a negative errno, like all of these. */
int audit_checkpoint(RecordAudit *audit);
/* What was seen of the log of ORIGIN before is known from now on. */
int audit_recall(RecordAudit *audit, const char *origin);
/* Of the next leaf nothing is known but N bytes that nobody has signed. -E2BIG: they are too many by now. */
int audit_spend(RecordAudit *audit, size_t n);
/* The record at the end of the tree, whose leaf hash follows from it, or does not (NULL). 1: then nobody tells it. */
int audit_place(RecordAudit *audit, const TreeHash *leaf);
/* Record INDEX stands here: 1, and what is missing before it is told; 0, told too: it does not belong here. */
int audit_reach(RecordAudit *audit, uint64_t index);
/* RECORD is a decision to go on with the records before it. */
int audit_decision_take(RecordAudit *audit, const AuditRecord *record);
/* There are no more records: what else is signed, or was seen, is missing. */
int audit_tree_end(RecordAudit *audit);
/* A log that holds is remembered. */
int audit_remember(RecordAudit *audit);

/* audit-holes.c: nothing is known of what record INDEX, the newest, says. */
void audit_unread(RecordAudit *audit, uint64_t index);
bool audit_is_unread(const RecordAudit *audit, uint64_t index);
/* And it is not here. */
void audit_hole(RecordAudit *audit, uint64_t index);
/* It is here, and FAILED. */
void audit_failed(RecordAudit *audit, uint64_t index);
/* The record behind it is signed with another key. */
void audit_changed(RecordAudit *audit, uint64_t index);
/* 1: an archive has the record at the end of the tree, which was taken; 0: none has. */
int audit_fill(RecordAudit *audit);
/* Record INDEX must be here, as the one of BY says. */
void audit_need(RecordAudit *audit, uint64_t index, uint64_t by);
/* RECORD tells of an archive: that this is it, where it was given. */
int audit_archive_take(RecordAudit *audit, const AuditRecord *record);
void audit_holes_tell(RecordAudit *audit);

/* audit-tiles.c: whether the entry of record INDEX is that of LEAF, and a bundle of them whole; and the N nodes that LEAF made whole. */
int audit_entry_check(RecordAudit *audit, uint64_t index, const TreeHash *leaf);
void audit_bundle_end(RecordAudit *audit);
int audit_nodes_check(RecordAudit *audit, uint64_t leaf, const TreeHash *whole, unsigned n);

/* audit-memory.c: lists of what is known by a key. NULL: no memory, or what is not there. */
json_t *audit_memory_new(void);
json_t *memory_find(const RecordAudit *audit, const char *list, const char *key);
void memory_forget(RecordAudit *audit, const char *list, const char *key);
/* VALUE is taken over; where it is NULL there was no memory for it. */
void memory_set(RecordAudit *audit, json_t *object, const char *key, json_t *value);
void memory_keep(RecordAudit *audit, const char *list, const char *key, json_t *value);
uint64_t memory_index(const json_t *object, const char *key);
json_t *audit_index_json(const AuditRecord *record);
/* Its location, or the digest of its subject where it tells none. */
const char *audit_place_text(const AuditRecord *record, char text[static LOCATION_STRING_MAX]);

/* audit-runs.c: run-starts, and what they came to. */
int audit_start_take(RecordAudit *audit, const AuditRecord *record);
int audit_chip_take(RecordAudit *audit, const AuditRecord *record);
int audit_roll_up_take(RecordAudit *audit, const AuditRecord *record);
void audit_runs_end(RecordAudit *audit);

/* audit-parts.c: how often each chip was tried, and what its records say of earlier ones. */
void audit_part_take(RecordAudit *audit, const AuditRecord *record);
void audit_parts_end(RecordAudit *audit);

/* audit-times.c: clocks, boots and silences. */
void audit_times_take(RecordAudit *audit, const AuditRecord *record);
