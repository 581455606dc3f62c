/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A ledger, whole or in part, and what an audit says of it. Needs cmocka. */

#include "tests/record/ledger.h"

static RecordKey *log_signer;
static NoteKey log_name;
static char log_line[256]; /* of the keyring */

/* The record keys of A and B, the log, and what is asked of witnesses. */
static inline RecordKeyring *make_keyring(const RecordKey *a, const RecordKey *b, const char *lines) {
        _cleanup_free_ char *text = NULL;
        RecordKeyring *keyring;

        if (asprintf(&text, "%s%s%s%s", record_key_public_pem(a), b ? record_key_public_pem(b) : "", log_line, lines) < 0 ||
            record_keyring_parse(text, strlen(text), &keyring) < 0)
                abort();
        return keyring;
}

static inline int audited_setup(void **state) {
        _cleanup_printer_ Printer vkey = {};

        payloads_init(&payloads);
        log_signer = place_key(&payloads.place, "log.key", RECORD_ED25519);
        log_name = note_key_of(PLACE_ORIGIN, NOTE_LOG, log_signer);
        note_key_print(&vkey, &log_name);
        (void) snprintf(log_line, sizeof(log_line), "log %.*s\n", (int) vkey.n, vkey.text);
        return vkey.error;
}

static inline int audited_teardown(void **state) {
        (void) record_key_free(log_signer);
        payloads_done(&payloads);
        return 0;
}

/* What is handed to an audit: the ledger, its checkpoint, and which of its records are left out. */
typedef struct Trial {
        Ledger ledger;
        RecordKeyring *keyring;
        Printer checkpoint;
        bool tells_leaves;
        bool hides[LEDGER_MAX];
        uint64_t end; /* records up to there */
        const char *remembers; /* a folder */
        RecordAuditOptions asks; /* of others than tell_hash() */
        RecordAudit *audit;
        const RecordAuditReport *report;
} Trial;

static inline void trial_init(Trial *trial) {
        *trial = (Trial) { .end = UINT64_MAX, .keyring = make_keyring(payloads.key, NULL, "quorum none\n") };
        ledger_init(&trial->ledger, &payloads);
}

static inline void trial_done(Trial *trial) {
        trial->audit = record_audit_free(trial->audit);
        trial->keyring = record_keyring_free(trial->keyring);
        printer_done(&trial->checkpoint);
        ledger_done(&trial->ledger);
}

static inline int tell_hash(void *userdata, unsigned level, uint64_t index, uint8_t ret[static 32]) {
        const Trial *trial = userdata;

        if (!trial->tells_leaves || level > 0 || index >= trial->ledger.size)
                return -ENOENT;
        memcpy(ret, trial->ledger.leaves[index].bytes, DIGEST_BYTES);
        return 0;
}

static inline void trial_sign(Trial *trial) {
        printer_done(&trial->checkpoint);
        trial->checkpoint = (Printer) {};
        ledger_checkpoint(&trial->ledger, &log_name, log_signer, &trial->checkpoint);
}

static inline Result trial_run(Trial *trial) {
        _cleanup_(record_state_freep) RecordState *state = NULL;
        RecordAuditOptions options = trial->asks;

        if (trial->remembers)
                assert_int_equal(record_state_open(trial->remembers, &state), 0);
        options.keyring = trial->keyring;
        options.checkpoint = trial->checkpoint.text;
        options.n_checkpoint = trial->checkpoint.n;
        options.hash = options.hash ?: tell_hash;
        options.userdata = trial;
        options.state = state;
        trial->audit = record_audit_free(trial->audit);
        assert_int_equal(record_audit_new(&options, &trial->audit), 0);
        for (uint64_t i = 0; i < trial->ledger.size && i < trial->end; i++)
                if (!trial->hides[i])
                        assert_int_equal(record_audit_take(trial->audit, trial->ledger.lines[i], strlen(trial->ledger.lines[i])), 0);
        assert_int_equal(record_audit_end(trial->audit, &trial->report), 0);
        return trial->report->verdict;
}

static inline const RecordAuditFinding *finding(const Trial *trial, RecordAuditKind kind) {
        for (size_t i = 0; i < trial->report->n_findings; i++)
                if (trial->report->findings[i].kind == kind)
                        return &trial->report->findings[i];
        return NULL;
}

/* Nothing but what is expected was found. */
static inline void found_only(const Trial *trial, RecordAuditKind kind, uint64_t n, uint64_t first) {
        for (RecordAuditKind k = 0; k < _RECORD_AUDIT_KIND_MAX; k++)
                if (trial->report->n_of_kind[k] != (k == kind ? n : 0))
                        fail_msg("%s: %llu times", record_audit_kind_to_string(k), (unsigned long long) trial->report->n_of_kind[k]);
        if (n > 0)
                assert_int_equal(finding(trial, kind)->first, first);
}

static inline RecordKey *other_key(void) {
        return place_key(&payloads.place, "other.key", RECORD_ED25519);
}

/* One change to the record at INDEX of a scan, signed by the right key. */
typedef struct Change {
        unsigned at;
        const char *path, *json;
        RecordAuditKind kind;
} Change;

/* Its records from FIRST on. */
static inline void changed_records(Ledger *ledger, const Change *change, bool passed, unsigned first) {
        for (unsigned i = first; i < LEDGER_SCAN; i++) {
                json_t *root = i == 0 ? ledger_statement(ledger, payloads.start) : i == 1 ? ledger_statement(ledger, payloads.health) :
                               i == 2 ? ledger_second(ledger, passed) : ledger_roll_up(ledger);

                ledger_add(ledger, root, i == change->at ? change->path : NULL, change->json);
        }
        ledger->hour++;
}

static inline void changed_scan(Ledger *ledger, const Change *change, bool passed) {
        changed_records(ledger, change, passed, 0);
}

static const char zeros[] = "\"0000000000000000000000000000000000000000000000000000000000000000\"";
