/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Record
 *
 * Signed health records: in-toto Statement v1 in a DSSE 1.0.2 envelope, in a SQLite log. Acknowledged means
 * committed: nothing about a record leaves the process before its COMMIT returned. One writer thread owns the log and
 * the key and signs only what was measured; there is no call that signs given bytes.
 *
 * Record ID = SHA-256(PAE). Each record carries its index and the ID of the record before it.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/measurements.h"
#include "checks/vocabulary/particulars.h"
#include "checks/vocabulary/regions.h"
#include "checks/vocabulary/verdict.h"
#include "daemon/record/record-key.h"

#define RECORD_ID_HEX         65 /* with the final zero */
#define RECORD_ENVELOPE_MAX   (1u << 20)
#define RECORD_ORIGIN_MAX     128 /* of a log, with the final zero */
#define RECORD_NOTE_MAX       (1u << 16) /* bytes of a note: no checkpoint with 16 witnesses has a tenth of it */
#define RECORD_PATH_MAX       63  /* hashes in a proof */
#define RECORD_HASH_TEXT      45  /* base64, with the final zero */
#define RECORD_WITNESSES_MAX  16
#define RECORD_PRODUCT_BYTES  33 /* as those of a serial, with the final zero */
#define RECORD_SERIAL_BYTES   65
#define RECORD_PRUNED         "{\"pruned\":" /* how the line begins that stands in an export for an envelope that was pruned */
#define RECORD_PAYLOAD_TYPE   "application/vnd.in-toto+json"
#define RECORD_TYPE_HEALTH    "urn:assay:attestation:health:v1"
#define RECORD_TYPE_HEALTH_V2 "urn:assay:attestation:health:v2" /* what is written; see record_statement_read() */
#define RECORD_TYPE_SUMMARY   "urn:assay:attestation:health-summary:v1"
#define RECORD_TYPE_RUN_START "urn:assay:attestation:run-start:v1"
#define RECORD_TYPE_HEARTBEAT "urn:assay:attestation:heartbeat:v1"
#define RECORD_TYPE_ROTATION  "urn:assay:attestation:key-rotation:v1"
#define RECORD_TYPE_ARCHIVE   "urn:assay:attestation:archive:v1"

/* ---- what the daemon hands over: plain facts, borrowed until the call returns ---- */

typedef struct RecordDiagnosis {
        const char *code;
        Severity severity;
        Location where;
        const char *message;
        const char *action; /* a word of the catalogue; NULL: none was decided */
        const char *address, *expected, *actual, *far_end, *replaceable; /* NULL: not known */
        double count, confidence;                                        /* negative: not known */
        unsigned reproduced, runs;
} RecordDiagnosis;

/* Regions of a memory that were last tested in one scan. */
typedef struct RecordRegionTest {
        const char *run; /* of the scan: UUID */
        uint64_t usec;   /* when it ended */
        const char *regions; /* "0-12,40", each region in no other test */
} RecordRegionTest;

/* What a step that tests its memory region by region knows of all regions, from this and earlier scans of the same part. */
typedef struct RecordRegions {
        const char *partition; /* what the regions are: "sid 3 row 16384/32" */
        unsigned total, position; /* how many there are; where the next scan begins */
        uint64_t since_usec;   /* the first scan of them */
        const char *occupied;  /* left alone in this scan: they carried live data */
        const char *unproven, *because; /* "", or left alone when it was their turn: reads did not tell them from live data, and why */
        const char *altered, *suspicious; /* "", or a part of them had lost what a test left, or a row of them; not tested since */
        const char *joined, *together; /* "", or tested in one pass that failed; or failed in one pass, and not by themselves since */
        const char *failed;    /* when they were last tested */
        size_t n_tests;
        const RecordRegionTest *tests;
} RecordRegions;

typedef struct RecordStep {
        const char *name, *check; /* in the plan; the word */
        Verdict verdict;
        Reason reason;
        const char *message; /* NULL: none */
        bool required;
        uint64_t seed;
        uint64_t device_nsec;
        uint64_t began_usec, ended_usec; /* CLOCK_REALTIME; 0: not known */
        const char *const *counts; /* the promises it can keep, with a final NULL; NULL: none */
        const char *const *samples; /* those of them of which each piece that is tested by itself has its own, likewise */
        const RecordRegions *regions; /* NULL: it tests all at once */
        size_t n_measurements;
        const Measurement *measurements;
        size_t n_diagnoses;
        const RecordDiagnosis *diagnoses;
} RecordStep;

#define RECORD_RUN_SERVERS_MAX 4 /* of an UltraServer */
#define RECORD_RUN_CHIPS_MAX   32 /* of a server */
/* What is the same for all records of one run. */
typedef struct RecordRun {
        const char *id;        /* UUID version 7 */
        Stage stage;
        const char *challenge; /* base64, NULL: none */
        uint64_t started_usec, finished_usec; /* CLOCK_REALTIME */
        uint64_t seed;
        const char *plan, *plan_sha256; /* its name; hex */
        const char *limits_sha256;   /* of what the plan judges by, see plan_limits(); NULL: not known, as the next */
        const char *worker_sha256;   /* of the program that measured */
        const char *evidence_name, *evidence_sha256; /* file name of the OCP stream, NULL: none; hex, of the plain bytes */
        uint64_t evidence_bytes;
        const char *note;     /* as note_text_is_valid(); NULL: none */
        const char *operator; /* who asked for it, by name; NULL: not known */
        bool has_operator; /* by UID, where anybody knows */
        uint32_t operator_uid;
        size_t n_servers; /* that were scanned together, its own among them; fewer than two are not told */
        const char *servers[RECORD_RUN_SERVERS_MAX];
        uint32_t chips; /* of a run-start: which of its server, a bit each; 0: all, or nobody says */
} RecordRun;

typedef struct RecordSubject {
        Location where;          /* a chip or a server */
        const char *serial;      /* "" unknown: then the subject is the slot of its server */
        const char *product;     /* Trainium2, Trn2 */
        const char *part_number; /* mutable facts from here on: they go into the predicate */
        const char *firmware;
        const char *firmware_build;
        const char *tray;
        const char *pci_address;
        const Particulars *particulars; /* NULL: not told */
} RecordSubject;

typedef struct RecordPromise {
        const char *measurement;
        double reached, promised;
} RecordPromise;

/* A record of the same part in the same log, before this one. */
typedef struct RecordEarlier {
        bool is_told;
        uint64_t index;
} RecordEarlier;

typedef struct RecordHealth { /* one chip */
        RecordSubject subject;
        RecordSubject host;
        Result result;
        size_t n_steps;
        const RecordStep *steps;
        size_t n_promises;
        const RecordPromise *promises;
        RecordEarlier earlier;  /* the newest one */
        RecordEarlier standing; /* the one that FAILED and that no later one had cleared */
} RecordHealth;

typedef struct RecordScan { /* one server at its end: a health record per chip and the roll-up, one transaction */
        RecordRun run;
        RecordSubject server;
        Result result;
        size_t n_chips;
        const RecordHealth *chips;
        size_t n_chips_of_server; /* how many it has, scanned or not; 0: not known, then what is known of its product counts */
        size_t n_steps;
        const RecordStep *steps; /* what they measured and found that lies in none of the chips; how they ended tells where they looked */
} RecordScan;

/*
 * What is signed agrees with itself: names, digests and reasons are there, a step is not called better than its
 * measurements and diagnoses and has those of its check, a chip's result is the fold of its steps and promises, a server's is no better than that of
 * a chip and than its own diagnoses. -EINVAL and, where wanted, a sentence (malloc'd) where it does not. record_log_scan() refuses the same.
 */
int record_scan_check(const RecordScan *scan, char **ret_why);
/* The same of one step of CHIP. */
bool record_step_agrees(const RecordStep *step, const Location *chip);
/* The best that a roll-up may be called by what SCAN has that lies in none of its chips. */
Result record_own_result(const RecordScan *scan);

/* ---- the log ---- */

typedef struct RecordLog RecordLog;
struct RecordVerified;

typedef struct RecordLogOptions {
        const char *path;    /* records.db */
        const char *origin;  /* of the log, C2SP: no spaces, no '+'; must be the one the log was made with */
        const char *producer; /* URI of this station */
        const char *version; /* of the scanner */
        const char *scanner_sha256; /* of its binary, hex; NULL: not known, as its commit */
        const char *scanner_commit;
        const char *clock_source; /* who keeps the clock where the kernel says that it is kept: "ntp" (NULL) or "ptp" */
        RecordKey *key;      /* the log takes it over, also when it cannot be opened */
        RecordKey *log_key;  /* Ed25519, another one; taken over likewise. It signs checkpoints; NULL: there are none */
        const char *anchor;  /* file that holds the newest published checkpoint; NULL: nothing tells an old copy of the log */
        const char *signed_in; /* folder elsewhere that holds one of each log key; NULL: nothing tells that it has signed where all else is gone */
        double checkpoint_sec; /* a checkpoint follows a record after so long at most, and comes so often at most; 0: 1 */
        size_t n_witnesses;
        const char *const *witnesses; /* vkeys whose cosignatures are kept */
        size_t queue_max;    /* groups waiting (a run-start, or a server with its chips), default 256 */
        unsigned pen;        /* private enterprise number in device URNs; 0: 32473, that of documentation */
} RecordLogOptions;

/* One record that was committed. */
typedef struct RecordEntry {
        uint64_t index;
        char id[RECORD_ID_HEX];
        char type[64];    /* predicate type */
        Location subject; /* all zero where it names no part of a server */
        Result result;    /* RESULT_INCONCLUSIVE where it is no verdict */
        char plan[64];    /* "" where it is of no run */
        char run[37];
        uint64_t finished_usec; /* or when it was made */
} RecordEntry;

bool record_is_verdict(const RecordEntry *entry); /* whether it says how a part stands; others tell of runs and of the log itself */
/* What it is in a word or two: PASSED …, "run started", "heartbeat". */
const char *record_word(const RecordEntry *entry);

/*
 * Opens or makes the log and starts its writer thread. Checks it: no gap, the last envelope fits its ID, index, origin
 * and signature, every hash of the tree follows from the leaves, and the newest checkpoint and the anchor are of this tree. All else is the scrub's:
 * see record_log_scrub(). Where that has found something before, all of it is looked at now.
 * -EBADMSG: it is damaged, foreign, an old copy, or one of two that went on from the same state, and ret_error (malloc'd)
 * says how and what to do: then nothing must be signed. -ENOTRECOVERABLE: the same, and record_log_decide() goes on with it. -EBUSY: another process writes
 * it; -EINVAL: an origin, producer, digest, log key or witness that may not be. Where the log was opened ret_error may hold a remark:
 * an older assayd wrote it last, whose tables were derived anew, or what was damaged has been mended.
 */
int record_log_open(const RecordLogOptions *options, RecordLog **ret, char **ret_error);
/*
 * The origin (malloc'd) of the log at PATH, for those who have none of their own; whether it is true record_log_open() finds out. -ENOENT:
 * there is no log; -EBADMSG: the file is no log; -EPERM, and *ret_wrong (malloc'd) says so: what stands there is not assayd's alone.
 */
int record_log_read_origin(const char *path, char **ret, char **ret_wrong);
/* Waits for what is queued, then closes. */
RecordLog *record_log_free(RecordLog *log);
DEFINE_CLEANUP(RecordLog *, record_log_free);

/*
 * Queue a run-start or a whole server's records. The facts are copied before the call returns. TICKET comes back with the outcome. -EAGAIN: the queue is
 * full; -EIO: the log has failed and takes nothing more; -EINVAL: the facts contradict each other (see record_scan_check()); -E2BIG: no envelope holds them.
 */
int record_log_start(RecordLog *log, const RecordRun *run, const RecordSubject *server, uint64_t ticket);
int record_log_scan(RecordLog *log, const RecordScan *scan, uint64_t ticket);
/* The same, but what cannot be committed is kept and tried again until the log closes, once at most: see RecordOutcome. Meanwhile it has its place in the queue. */
int record_log_scan_kept(RecordLog *log, const RecordScan *scan, uint64_t ticket);

typedef enum RecordHeartbeat {
        RECORD_HEARTBEAT_START,    /* this process begins to sign */
        RECORD_HEARTBEAT_INTERVAL, /* it is still there, whether or not it had anything else to say */
        _RECORD_HEARTBEAT_MAX,
        _RECORD_HEARTBEAT_INVALID = -EINVAL,
} RecordHeartbeat;

/* A sign of life, queued likewise: a log that falls silent, or whose end was cut off, shows it. */
int record_log_heartbeat(RecordLog *log, RecordHeartbeat cause, uint64_t ticket);
/*
 * A record by which the key of the log names the one that signs after it, PEM of which is given. Once it is committed the log takes nothing
 * more (outcomes of -EKEYEXPIRED) until it is opened with that key, and no other. -EINVAL: no public key; -EEXIST: it has signed here before,
 * records or checkpoints.
 */
int record_log_rotate(RecordLog *log, const char *public_pem, uint64_t ticket);

/*
 * Keeps what witnesses of the options have signed: NOTE is a checkpoint of this log with their signature lines, and whatever others. The
 * outcome's error, with a sentence: -EBADMSG: a signature of theirs does not fit, or there is none; -ENOENT: there is no such checkpoint (any
 * more); -ENOTUNIQ: the log's own key has signed it, and it is of another tree. Then the log takes nothing more, now and after a restart. -EUCLEAN:
 * what is kept was changed by somebody else, and the log takes nothing more. -E2BIG: it is longer than any note.
 */
int record_log_cosign(RecordLog *log, const char *note, size_t n, uint64_t ticket);

/* Readable (an eventfd) while outcomes wait. */
int record_log_fd(const RecordLog *log);

typedef struct RecordOutcome {
        uint64_t ticket;
        /* 0: committed; -ENOSPC, -EIO …: not, and nothing of it was, unless the process dies while the disk still fails; the next try may work again */
        int error;
        bool is_kept; /* ERROR is for now: it is tried again, at the interval of checkpoints, and there will be another outcome of the ticket */
        size_t n_entries;
        RecordEntry *entries; /* in index order; free with record_outcome_done() */
        const char *wrong;    /* a sentence where ERROR is of a cosignature, else NULL */
        uint64_t n_pruned;
} RecordOutcome;

/* The next outcome in the order they were queued; -EAGAIN if none waits. */
int record_log_next(RecordLog *log, RecordOutcome *ret);
void record_outcome_done(RecordOutcome *outcome);

/* ---- reading, from any thread; each call is one snapshot ---- */

uint64_t record_log_size(RecordLog *log);
/* Whether what is on disk is not what was written: then nothing is signed any more. record_log_fd() is readable when that is found out. */
bool record_log_has_failed(RecordLog *log);
/*
 * HMAC-SHA-256 of N bytes, in hex, by a secret that follows from the log key or, where there is none, from the record key: so an assayd knows again what this
 * log's assayd has left beside it. From any thread. -EOPNOTSUPP: neither gives one (key_secret()); what a token said.
 */
int record_log_mac(const RecordLog *log, const void *data, size_t n, char ret[static RECORD_ID_HEX]);
const char *record_log_key_id(const RecordLog *log);
/* PEM (malloc'd) of all keys that signed in this log when it was opened, the newest first. */
int record_log_public_keys(const RecordLog *log, char **ret);
bool record_vkey_is_witness(const char *vkey); /* well-formed, of type 0x04 */
const char *record_log_vkey(const RecordLog *log); /* of the log key, C2SP signed-note; "" without one */

/*
 * The newest checkpoint that was published, with all that have cosigned it: a signed note, malloc'd. -ENOENT: there is none yet. record_log_fd() is
 * readable when there is a newer one; record_log_checkpointed() tells of how many records it is, and returns what the last attempt came to: 0, -ENOSPC …
 */
int record_log_checkpoint(RecordLog *log, char **ret, size_t *ret_n);
int record_log_checkpointed(RecordLog *log, uint64_t *ret_size);
/* The proof (tlog-proof@v1, malloc'd) that record INDEX is in the log: against the newest of those checkpoints that cover it and that most
 * witnesses have cosigned. -ERANGE: there is no such record; -ENOENT: no checkpoint covers it yet. */
int record_log_proof(RecordLog *log, uint64_t index, char **ret, size_t *ret_n);

/* Hashes of a proof, base64, in the order of RFC 6962. */
typedef struct RecordPath {
        size_t n;
        char hashes[RECORD_PATH_MAX][RECORD_HASH_TEXT];
} RecordPath;

/* That the log of SIZE records begins with the one of OLD. -ERANGE: OLD > SIZE, or SIZE is more than there are. */
int record_log_consistency(RecordLog *log, uint64_t old, uint64_t size, RecordPath *ret);
/* Writes the leaf hashes of records FIRST … FIRST+COUNT-1 (fewer at the end), 32 bytes each, to FD. Returns how many; -ERANGE: FIRST ≥ size. */
int record_log_leaves(RecordLog *log, uint64_t first, uint64_t count, int fd);

/* The newest health (chip) or summary (server) record of a location, of PLAN or of any plan (NULL). -ENOENT: none. */
int record_log_newest(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret);
/* Of the newest records under each plan the newest that is older than record BEFORE. -ENOENT: none. */
int record_log_newest_before(RecordLog *log, const Location *subject, uint64_t before, RecordEntry *ret);
/*
 * Of the newest records of PLAN (NULL: of each plan), and of the newest that were asked to look at all that it promises, the newest that is older than
 * record BEFORE (UINT64_MAX: any). Which of them was asked for all the record itself tells: record_stand_of(). -ENOENT: none.
 */
int record_log_whole_before(RecordLog *log, const Location *subject, const char *plan, uint64_t before, RecordEntry *ret);
/* The newest record that found something broken of a chip where no record has looked since: one of the same plan, or a pass of a plan
 * whose stage looks at as much. -ENOENT: none. */
int record_log_failure(RecordLog *log, const Location *chip, RecordEntry *ret);
/*
 * ENTRY, which one of the above told, of SUBJECT, with the proof: the envelope is read, its signature checked against the log's own key and its
 * verdict recomputed. -EBADMSG where that fails: then nothing may be concluded. -ENODATA: its envelope was pruned.
 */
int record_log_verified(RecordLog *log, const Location *subject, const RecordEntry *entry, struct RecordVerified *ret);
/* The same of the newest health record of a chip under PLAN that tells regions: others in between tell nothing new of them. */
int record_log_regions_verified(RecordLog *log, const Location *subject, const char *plan, struct RecordVerified *ret);
/* Whether record INDEX is of CHIP itself, by its identity, and not of another one that sat in its place; nothing is verified. 1, 0, -EBADMSG: it is not there. */
int record_log_is_of(RecordLog *log, uint64_t index, const RecordSubject *chip, const RecordSubject *host);
/* The identity document (malloc'd) that a subject's digest, in hex, is the SHA-256 of. -ENOENT: none in this log. */
int record_log_identity(RecordLog *log, const char *sha256, char **ret);
/*
 * Writes envelopes FIRST … FIRST+COUNT-1 (fewer at the end) to FD, one JSON line each. Returns how many; -ERANGE: FIRST ≥ size. In place of
 * one that was dropped stands {"pruned":{"index":INDEX,"sha256":"ID","archive":"NAME"}}, which is no envelope; without `archive` where none has it.
 */
int record_log_export(RecordLog *log, uint64_t first, uint64_t count, int fd);
/* Runs without an end: run-starts that no summary follows, which is read and verified, for a daemon that comes back. -ENOENT past the last. */
int record_log_unfinished(RecordLog *log, uint64_t *cursor, RecordEntry *ret);
/* All run-starts, and all verdicts, from record *CURSOR on, likewise. */
int record_log_next_start(RecordLog *log, uint64_t *cursor, RecordEntry *ret);
int record_log_next_verdict(RecordLog *log, uint64_t *cursor, RecordEntry *ret);

/* What a run was begun with; when it ended is left open. It borrows from itself: not to be copied. */
typedef struct RecordStarted {
        RecordRun run;
        RecordSubject server; /* no more than who and where it is */
        char product[RECORD_PRODUCT_BYTES], serial[RECORD_SERIAL_BYTES];
        struct json_t *statement;
} RecordStarted;

/* Of ENTRY, as record_log_unfinished() told it: read and verified. -EBADMSG, -ENODATA: then nothing of it may be said. */
int record_log_started(RecordLog *log, const RecordEntry *entry, RecordStarted *ret);
void record_started_done(RecordStarted *started);

/* What a verdict says that was just committed: its statement, and the line of text that it comes down to. */
typedef struct RecordTold {
        struct json_t *statement;
        char *reason;
} RecordTold;

/*
 * Of ENTRY, as an outcome told it: found by its ID and not verified once more, so only for what this process has signed. -EBADMSG: another record stands
 * there; -ENODATA: it was pruned.
 */
int record_log_told(RecordLog *log, const RecordEntry *entry, RecordTold *ret);
void record_told_done(RecordTold *told);

/* ---- verification: needs no log ---- */

/*
 * A text says whose word counts: public keys in PEM form, of any producer, and beside them, if it likes, lines of c2sp.org/tlog-policy and a few more
 * (daemon/record/keys/keyring.h).
 */
typedef struct RecordKeyring RecordKeyring;

int record_keyring_load(const char *path, RecordKeyring **ret);
int record_keyring_parse(const char *pem, size_t n, RecordKeyring **ret);
RecordKeyring *record_keyring_free(RecordKeyring *keyring);
/* It says where records must be, or who must have seen them there. */
bool record_keyring_wants_proof(const RecordKeyring *keyring);
DEFINE_CLEANUP(RecordKeyring *, record_keyring_free);

/*
 * What a reader remembers, in a folder of its own that one process at a time has open. -EPERM: it is another user's, or anyone may write
 * there; -EACCES and the like.
 */
typedef struct RecordState RecordState;

int record_state_open(const char *path, RecordState **ret);
/* Remembers what was verified with it so far as accepted: no record of these producers up to there will be again. */
int record_state_accept(RecordState *state);
RecordState *record_state_free(RecordState *state);
DEFINE_CLEANUP(RecordState *, record_state_free);

/*
 * The same, where PATH may also hold a keyring that roots have signed (DSSE, application/vnd.assay.keyring). It is believed if enough of
 * ROOTS have signed it, a file of public keys with a line "threshold N" (without it: all of them) or an earlier keyring, and enough of the roots
 * that stand in it; once STATE remembers one, if enough of that one's have, and its version is no lower. -EKEYREJECTED: it is not to be believed;
 * -ENOKEY: nobody vouches for it; and *ret_why (malloc'd) says why, of any error.
 */
int record_keyring_open(const char *path, const char *roots, RecordState *state, RecordKeyring **ret, char **ret_why);

/* Such a keyring. Where its roots differ from those of the one before, readers of that one ask for its roots' signatures as well. */
typedef struct RecordRing {
        char *text; /* one line, malloc'd */
        size_t n;
        bool has_root;      /* the key that signed last is one of its roots */
        unsigned n_signed;  /* how many of its roots have */
        unsigned threshold; /* how many of them must */
} RecordRing;

/*
 * Adds the signature of ROOT to one that others have signed, or makes one of a keyring's text. Nothing else is ever signed. -EBADMSG:
 * what was given is no such thing, and *ret_why (malloc'd) says why.
 */
int record_ring_sign(const char *text, size_t n, bool is_signed, const RecordKey *root, RecordRing *ret, char **ret_why);

typedef enum RecordTrust {
        RECORD_VERIFIED,
        RECORD_UNKNOWN_KEY, /* cannot tell: exit 2 */
        RECORD_REFUSED,     /* exit 3 */
        RECORD_CANNOT_TELL, /* authentic, of which its entry and origin are told, but the policy is left in doubt: exit 2 */
        _RECORD_TRUST_MAX,
} RecordTrust;

/* That which a RECORD_CANNOT_TELL lacks; the reason says it in words. */
typedef enum RecordLack {
        RECORD_LACKS_NOTHING,
        RECORD_LACKS_ENVELOPE,  /* it was pruned, and only its entry is left */
        RECORD_LACKS_PROOF,     /* that it is in a log of the keyring */
        RECORD_LACKS_WITNESSES, /* enough of them, who have seen the log with it */
        RECORD_LACKS_GROWTH,    /* a proof that the log only grew since it was last seen */
        RECORD_LACKS_STATE,     /* what was kept of earlier records is damaged */
        RECORD_LACKS_AGE,       /* it is too old, or a clock is wrong */
        RECORD_LACKS_KEYRING,   /* of today: it has expired */
} RecordLack;

/* How far the clocks of who made a record and who asks for its age may be apart. */
#define RECORD_AHEAD_USEC (UINT64_C(300) * 1000000)

typedef struct RecordVerified {
        RecordEntry entry;
        char key_id[64];  /* the key that signed it, from the keyring */
        char origin[RECORD_ORIGIN_MAX]; /* of its log; what does not fit is refused */
        char *producer;   /* its URI, malloc'd */
        Stage stage;
        uint64_t log_size;       /* at which it was proven to be in its log; 0: it was not */
        size_t n_hashes;         /* by so many */
        char *witnesses;         /* who saw the log so, malloc'd: "w1, w2"; NULL where nothing was proven */
        uint64_t witnessed_usec; /* when the first of them did; 0: none has */
        char *payload; /* the signed bytes, malloc'd; only where trust is RECORD_VERIFIED */
        size_t n_payload;
        char *reason; /* the line of text a record's refusal or result comes with: "us0-2/chip3 hbm: hbm-cell at …" */
        RecordLack lack; /* only where trust is RECORD_CANNOT_TELL */
        bool is_older; /* it breaks a rule of today, see takes_older_rules; the reason tells which */
} RecordVerified;

/*
 * Judges one envelope (a JSON object, at most RECORD_ENVELOPE_MAX bytes): decoded once and strictly, the signature before
 * anything of the payload is parsed, then types, schema, and the verdict recomputed from values, limits and steps.
 * Returns 0 with *ret_trust, or -ENOMEM.
 */
int record_verify(const RecordKeyring *keyring, const char *envelope, size_t n, RecordTrust *ret_trust,
                  RecordVerified *ret);
void record_verified_done(RecordVerified *verified);
/* The ID of the record that ENVELOPE has, of which nothing is verified: SHA-256 of what is signed, in hex. -EBADMSG: it is no envelope; -ENOMEM. */
int record_id(const char *envelope, size_t n, char ret[static RECORD_ID_HEX]);

/* What a reader asks for. Another thing than that is refused; where it is left open the reader cannot tell. */
typedef struct RecordPolicy {
        const RecordKeyring *keyring;
        const char *subject;   /* SHA-256 of the identity document, hex, or the serial in it; NULL: any */
        const char *challenge; /* base64 of the bytes that the run must have signed; NULL: any or none */
        const char *plan;      /* a name, or its SHA-256 in hex; NULL: any */
        uint64_t max_age_usec; /* 0: any. A failure does not age. */
        uint64_t now_usec;     /* 0: what the clock says */
        bool takes_old;        /* also what stands before the keyring's least index of a log: it does not count, and is there */
        bool takes_older_rules; /* of one's own log, or where a station is asked for its own: also what is of another shape or contradicts itself by rules of today, since an older program may have signed it */
        bool needs_proof;      /* that the record is in a log of the keyring, seen by its quorum of witnesses */
        const char *proof;     /* c2sp.org/tlog-proof@v1; NULL: none */
        size_t n_proof;
        RecordState *state;    /* NULL: nothing is remembered */
        /*
         * How a log grew from OLD to SIZE records, where a state knows an older checkpoint: lines of hashes in base64 and an empty line, as
         * witnesses are told (malloc'd). NULL, or negative: nobody can tell; then only the same witnesses on both can.
         */
        int (*consistency)(void *userdata, const char *origin, uint64_t old, uint64_t size, char **ret, size_t *ret_n);
        void *userdata;
} RecordPolicy;

/*
 * The same by a policy, of an envelope or of a Sigstore bundle v0.3, whose own proof counts where the policy has none. record_verify() asks for nothing but what the
 * keyring does.
 */
int record_verify_with_policy(const RecordPolicy *policy, const char *envelope, size_t n, RecordTrust *ret_trust, RecordVerified *ret);

/* Whether predicate TYPE is of a chip's record, in either of its versions, of which the second is a third as long and leaves out what follows from the rest. */
bool record_type_is_health(const char *type);
/*
 * The statement in PAYLOAD, of N bytes, with the members of version 1; what version 2 leaves to the record of the server (scanner, clock, seeds, the stream's
 * digest) is not there. *RET is a new reference. -EBADMSG: it is no statement of ours; -ENOMEM.
 */
int record_statement_read(const char *payload, size_t n, struct json_t **ret);

/* ---- for other readers: each text is malloc'd ---- */

/* A CloudEvent, 1.0.2, in JSON: ENVELOPE, which VERIFIED tells of, as data; without a line's end. SOURCE: the log's origin. -ENOMEM. */
int record_cloudevent(const char *source, const RecordVerified *verified, const char *envelope, size_t n, char **ret, size_t *ret_n);
/* What every transport of events must carry; larger ones are for some alone. */
#define RECORD_CLOUDEVENT_PORTABLE 65536

/*
 * A Sigstore bundle, v0.3, of an envelope and its tlog-proof, which is checked against the log's VKEY first. -EBADMSG, -ENOKEY, and
 * *ret_wrong (a static sentence); -ENOMEM, -EIO.
 */
int record_bundle(const RecordKeyring *keyring, const char *vkey, const char *envelope, size_t n, const char *proof, size_t n_proof,
                  char **ret, size_t *ret_n, const char **ret_wrong);
/* Sigstore's trusted root of the log of VKEY, good from SINCE_USEC on. -EINVAL: no vkey of a log. */
int record_trusted_root(const char *vkey, uint64_t since_usec, char **ret, size_t *ret_n);

/*
 * The log as tiles, c2sp.org/tlog-tiles, in a folder: opened with the signed checkpoint up to which it is told (NOTE), told all leaf
 * hashes, then the lines of record_log_export() from record_tiles_next() on, then published. A folder that holds an older state of the log is
 * extended. All: -EBADMSG or -ENOKEY, and *ret_wrong (a static sentence): what was handed over or what is there is not this log; or the
 * errno of a file. After any of these the folder holds what it published before. -EBUSY: another process is at it.
 */
typedef struct RecordTiles RecordTiles;
int record_tiles_open(const char *path, const char *vkey, const char *note, size_t n, const RecordKeyring *keyring, RecordTiles **ret,
                      const char **ret_wrong);
RecordTiles *record_tiles_free(RecordTiles *tiles);
DEFINE_CLEANUP(RecordTiles *, record_tiles_free);
uint64_t record_tiles_size(const RecordTiles *tiles); /* of the checkpoint */
int record_tiles_tree(RecordTiles *tiles, const void *leaves, size_t n, const char **ret_wrong); /* N bytes: 32 of each record */
uint64_t record_tiles_next(const RecordTiles *tiles);
int record_tiles_add(RecordTiles *tiles, const char *line, size_t n, const char **ret_wrong);
uint64_t record_tiles_pruned(const RecordTiles *tiles); /* how many of these were pruned: bundles of entries with such a gap are left out */
int record_tiles_publish(RecordTiles *tiles, const char **ret_wrong);

/* SHA-256 in hex: of an identity document it is what subjects are known by. -EIO */
int record_digest(const void *data, size_t n, char ret[static RECORD_ID_HEX]);

#include "daemon/record/record-audit.h"
#include "daemon/record/record-regions.h"
#include "daemon/record/record-scrub.h"
#include "daemon/record/record-stand.h"
