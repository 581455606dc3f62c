/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lines of a log: payloads, which the right key signs, so that the audit of what they say is reached; a line that begins with '!' is an envelope
 * as it is. The first byte says whether leaf hashes are known. Whatever was there, the report is bounded, counts what it was given, and a log
 * holds only where nothing breaks it.
 */

#include <stdint.h>

#include "tests/fuzz/known-key.h"
#include "tests/record/sign-line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LEAVES 64

static RecordKey *key;
static RecordKeyring *keyring;

static int tell_hash(void *userdata, unsigned level, uint64_t index, uint8_t ret[static 32]) {
        if (index >= LEAVES)
                return -ENOENT;
        memset(ret, (int) index, 32);
        return 0;
}

static void take(RecordAudit *audit, const char *line, size_t n) {
        SignedLine record;

        if (n > 0 && *line == '!') {
                HOLDS(record_audit_take(audit, line + 1, n - 1) == 0);
                return;
        }
        HOLDS(sign_line(key, line, n, &record) == 0);
        HOLDS(record_audit_take(audit, record.envelope.text, record.envelope.n) == 0);
        signed_line_done(&record);
}

static void look_at(const RecordAuditReport *report, uint64_t n_lines) {
        uint64_t n = report->n_verified + report->n_unknown + report->n_refused; /* other lines told of what was pruned */
        uint64_t n_broken = 0, n_chips = 0;

        HOLDS(n <= n_lines && (n == n_lines || report->n_withheld + report->n_of_kind[RECORD_AUDIT_MISPLACED] > 0));
        HOLDS(report->n_findings <= (size_t) RECORD_AUDIT_KEPT * _RECORD_AUDIT_KIND_MAX);
        for (size_t i = 0; i < report->n_findings; i++) {
                const RecordAuditFinding *finding = &report->findings[i];

                HOLDS(record_audit_kind_to_string(finding->kind) && finding->first <= finding->last && finding->text[0]);
                for (const char *p = finding->text; *p; p++)
                        HOLDS(*p >= 0x20 && *p < 0x7f);
                n_broken += record_audit_kind_weight(finding->kind) == RECORD_AUDIT_BROKEN;
        }
        for (size_t i = 0; i < report->n_chips; i++)
                for (Result result = 0; result < _RESULT_MAX; result++)
                        n_chips += report->chips[i].n_results[result];
        HOLDS(n_chips <= n_lines);
        HOLDS((report->verdict == RESULT_FAILED) == (n_broken > 0) && report->verdict != RESULT_PASSED); /* there is no checkpoint */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(record_audit_freep) RecordAudit *audit = NULL;
        const char *line = (const char *) data + 1, *end;
        const RecordAuditReport *report;
        RecordAuditOptions options;
        uint64_t n_lines = 0;

        if (!key) {
                key = known_key();
                HOLDS(record_keyring_parse(record_key_public_pem(key), strlen(record_key_public_pem(key)), &keyring) == 0);
        }
        if (size == 0 || size > 65536)
                return 0;
        options = (RecordAuditOptions) { .keyring = keyring, .hash = data[0] & 1 ? tell_hash : NULL };
        HOLDS(record_audit_new(&options, &audit) == 0);
        for (size_t left = size - 1; left > 0; left -= (size_t) (end - line), line = end) {
                end = memchr(line, '\n', left);
                take(audit, line, end ? (size_t) (end - line) : left);
                end = end ? end + 1 : line + left;
                n_lines++;
        }
        HOLDS(record_audit_end(audit, &report) == 0);
        look_at(report, n_lines);
        return 0;
}
