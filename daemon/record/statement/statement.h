/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Statement
 *
 * in-toto Statement v1. A draft is a statement printed when its facts arrive, so that nothing borrowed is
 * kept; what only the log knows (index, previous record, and in the roll-up the IDs of the chips' records)
 * is put in when it is signed.
 */

#include "daemon/record/encode/printer.h"
#include "daemon/record/keys/envelope.h"
#include "daemon/record/record.h"
#include "daemon/record/statement/archive.h"
#include "daemon/record/statement/identity.h"
#include "daemon/record/statement/places.h"

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"

/* What is the same in all records of one process. */
typedef struct Station {
        IdentityIssuer issuer;
        char *origin;
        const char *clock_source, *clock_start; /* who keeps the clock, and where it is from if nobody does */
        Printer producer, whole_producer; /* the JSON object; and with all that is known of scanner and station */
        uint8_t key_digest[DIGEST_BYTES]; /* SHA-256 of the record key's SPKI */
} Station;

int station_init(Station *station, const RecordLogOptions *options);
void station_done(Station *station);

typedef struct Draft {
        RecordEntry entry; /* all but index and ID */
        Identity identity; /* without a document where the subject is no part */
        bool has_regions;  /* a step of it tells regions */
        bool has_places;   /* it is a health record, or a roll-up */
        Places places;
        bool has_archive;  /* it tells of an archive, and what that drops goes with its commit */
        Archive archive;
        Printer head;      /* up to the log's index */
        Printer tail;      /* what follows `previous`, without the last two braces */
        Printer component; /* of a chip: its descriptor in the roll-up up to the index */
} Draft;

/* Drafts that are committed together or not at all: a run-start, a heartbeat, or the chips of a server and its
 * roll-up, in order. */
typedef struct DraftGroup DraftGroup;
struct DraftGroup {
        DraftGroup *next;
        uint64_t ticket;
        int error;            /* what came of it */
        bool is_kept;         /* until it is committed, whatever its error: see writer-kept.c */
        bool is_doubted;      /* kept, and the commit in doubt may have taken it */
        bool is_remark;       /* that one is kept; then there are no drafts */
        int told;             /* by which remark, 0: by none */
        RecordEntry *entries; /* room for the outcome, so that telling it cannot fail */
        struct Errand *errand; /* something else to do; then there are no drafts */
        size_t n_drafts;
        Draft drafts[];
};

DraftGroup *draft_group_free(DraftGroup *group);
DEFINE_CLEANUP(DraftGroup *, draft_group_free);

int draft_nothing(DraftGroup **ret);
/* Parts of the others: room for N_DRAFTS, NULL: no memory; a statement up to the log's index; whether all of it was printed and fits into an envelope. */
DraftGroup *draft_group_new(size_t n_drafts);
void draft_print_head(Draft *draft, const Station *station);
int draft_check(const Draft *draft);
/* -EINVAL: the facts contradict themselves; -E2BIG: no envelope can hold them. */
int draft_start(const Station *station, const RecordRun *run, const RecordSubject *server, DraftGroup **ret);
int draft_scan(const Station *station, const RecordScan *scan, DraftGroup **ret);
int draft_rotation(const Station *station, const PublicKey *old, const PublicKey *new, DraftGroup **ret);
/* A doubt that somebody must settle: the log's own key has signed a checkpoint of another history, its checkpoints are gone or damaged, or envelopes are gone. */
typedef struct LogDoubt {
        const char *cause; /* "checkpoints-lost", "records-lost", "forked", "anchor-damaged" or "records-pruned"; NULL: there is none */
        uint64_t size;      /* of what was signed; 0: not known */
        TreeHash root;
        Holes holes; /* of which no record tells */
} LogDoubt;

int draft_decision(const Station *station, const LogDoubt *doubt, const Frontier *kept, const RecordDecision *decision, DraftGroup **ret);
int draft_heartbeat(const Station *station, RecordHeartbeat cause, DraftGroup **ret);
/* DIGEST: of the file. */
int draft_archive(const Station *station, const Archive *archive, const uint8_t digest[static DIGEST_BYTES], DraftGroup **ret);

/*
 * Prints the payload of draft K as record INDEX. PREVIOUS is the ID of the record before it (not looked at
 * for index 0); SIGNED are the K records of the group before it, the first of which is INDEX - K.
 */
void statement_print(Printer *payload, const DraftGroup *group, size_t k, uint64_t index,
                     const uint8_t previous[static DIGEST_BYTES], const Signed *records);

/* regions.c: what REGIONS say, all but whose they are and of which step. -EINVAL: they cannot be. */
int regions_known(const RecordRegions *regions, RecordKnownRegions *ret);

/* Parts of predicates. */
void print_operator(Printer *printer, uint32_t uid, const char *name); /* NAME may be NULL */
void print_clock(Printer *printer, const Station *station); /* how good the station's clock is now */
/* health.c: the lists of all STEPS together, where there are any. UNIT: the subject, of which it need not be said. NAMED: they tell of which step. */
void print_measurements(Printer *printer, const RecordStep *steps, size_t n, const Location *unit);
void print_diagnoses(Printer *printer, const RecordStep *steps, size_t n, bool named);
/* particulars.c: the parts of a chip itself; and, of a scan, all others with software and readings of the server. -ENOMEM. */
void print_chip_particulars(Printer *printer, const RecordSubject *chip);
int print_server_particulars(Printer *printer, const RecordScan *scan);
/* WHERE as TEXT, and where it begins below SUBJECT: "" of that itself; all of it elsewhere. */
const char *place_below(const Location *where, const Location *subject, char text[static LOCATION_STRING_MAX]);
void print_where(Printer *printer, const Location *where); /* `component`: of a part */
bool measurement_is_printable(const Measurement *measurement); /* else it stands among the step's errors */
const char *measurement_unit(const Measurement *measurement); /* "1" where none is told */
/* The step of that name; NULL: there is none. */
const RecordStep *health_find_step(const RecordHealth *health, const char *name);

static inline bool promise_is_open(const RecordPromise *promise) {
        return promise->reached < promise->promised;
}

void print_errors(Printer *printer, const RecordStep *step);     /* what kept it from judging, and values that are none */
void print_regions(Printer *printer, const RecordRegions *regions);
const char *health_status(const RecordHealth *health);           /* COMPLETE, ERROR, SKIP */
/* The end of a step in words: COMPLETE, ERROR, SKIP and PASSED …; "" of what is no verdict. */
const char *health_step_status(Verdict verdict);
const char *health_step_result(Verdict verdict);
#define ERROR_NOT_A_NUMBER "not-a-number" /* the symptom of a value that is none; the message is its name */
