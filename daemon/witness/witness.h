/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Witness
 *
 * c2sp.org/tlog-witness: vouches that a log only ever grew. It signs the newest checkpoint of a log it knows, with the time, when
 * that one is proven to hold all of what it vouched for before, and never two that contradict each other. Whoever asks gets the same
 * answer: what counts is the log's signature. One thread calls; so what is checked is still true when it is written, and of what is written
 * nothing is told before it is on the disk.
 */

#include <syslog.h>

#include "daemon/witness/book.h"
#include "daemon/witness/settings.h"

typedef struct Witness {
        NoteKey key; /* of type NOTE_WITNESS */
        const RecordKey *signer;
        const Settings *settings;
        Book *book;
} Witness;

typedef enum WitnessAnswer {
        WITNESS_COSIGNED,
        WITNESS_MALFORMED,
        WITNESS_UNKNOWN_LOG,
        WITNESS_NEVER,          /* it has cosigned nothing of that log, which somebody asks for */
        WITNESS_NOT_SIGNED,
        WITNESS_BACKWARDS,      /* the old size is above the new one */
        WITNESS_OTHER_SIZE,     /* than the one it holds, which it tells */
        WITNESS_OTHER_TREE,     /* of the same size */
        WITNESS_NOT_CONSISTENT, /* the proof does not hold */
        WITNESS_FORGOT,         /* the checkpoint bears a cosignature of its own that it knows nothing of */
        WITNESS_CLOCK,          /* it has signed at a time that has yet to come */
        WITNESS_DAMAGED,        /* the book contradicts itself */
        WITNESS_FAILED,
        _WITNESS_ANSWER_MAX,
} WitnessAnswer;

typedef struct WitnessReply {
        WitnessAnswer answer;
        const char *wrong; /* a sentence; NULL: cosigned */
        Printer body;      /* what the protocol sends: signature lines, a size, or the sentence; empty until it is due */
        bool is_due;
        const char *text;  /* of the checkpoint that is to be signed, within the request; N bytes, at USEC */
        size_t n;
        uint64_t usec;
        char origin[RECORD_ORIGIN_MAX]; /* "" before the log's signature held */
        uint64_t size, held;            /* of the checkpoint, and of what it holds now */
        int error;                      /* WITNESS_FAILED: why */
} WitnessReply;

/*
 * An answer takes two steps, so that one sync of the disk may do for many: each request is judged, and written into the book; then that is
 * committed, and each reply concluded with what came of it, by which it is signed or not. Neither ever fails: not being able to is an answer. BODY must live
 * until then. A reply that `is_due` is whole without a commit. It is done with witness_reply_done().
 */
void witness_judge(Witness *witness, const char *body, size_t n, uint64_t now_usec, WitnessReply *ret);
void witness_conclude(const Witness *witness, WitnessReply *reply, int committed);
/* Both, for one request alone. */
void witness_add_checkpoint(Witness *witness, const char *body, size_t n, uint64_t now_usec, WitnessReply *ret);
void witness_reply_done(WitnessReply *reply);

/*
 * The newest checkpoint of a log that was cosigned, with the log's signatures and the cosignature as it was given, for whoever compares what a log shows them.
 * HASH: the SHA-256 of its origin in lower-case hex. Returns the status of HTTP: 200, or 404 or 503 with a sentence in BODY; no group of the book may be open,
 * but for one that it does not know.
 */
unsigned witness_checkpoint(const Witness *witness, const char *hash, Printer *body);

bool witness_knows(const Witness *witness, const char *hash);

unsigned witness_answer_to_status(WitnessAnswer answer); /* of HTTP */
/*
 * How urgently somebody must be told, LOG_… of syslog, or -1: a log that has signed two trees, a witness that is not itself. A proof that does
 * not hold may be anyone's, since the checkpoint is not secret; strangers' mistakes are not told, they could fill a journal.
 */
int witness_answer_to_level(WitnessAnswer answer);
