/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"

#define SILENCE_USEC (UINT64_C(2) * 3600 * 1000000) /* a heartbeat comes every hour */
#define SLACK_USEC   (UINT64_C(1) * 1000000)        /* between reading the clock and taking a place in the log */

/* How far the clock may have been off by its own account. */
static uint64_t clock_error_usec(const json_t *clock) {
        double sec = json_number_value(json_object_get(clock, "maxErrorSeconds"));

        return sec > 0 && sec < 1e6 ? (uint64_t) (sec * 1e6) : 0;
}

/* What one clock says never decreases while the machine is up. */
static void check_order(RecordAudit *audit, const AuditRecord *record) {
        const json_t *run = json_object_get(record->predicate, "run"), *clock = json_object_get(run ?: record->predicate, "clock");
        uint64_t error = clock_error_usec(clock), index = record->entry->index, usec = record->entry->finished_usec;
        uint64_t monotonic = strtoull(text_of(clock, "monotonicNs"), NULL, 10);

        if (usec + error + audit->error_usec + SLACK_USEC < audit->usec)
                audit_find(audit, RECORD_AUDIT_CLOCK, index, index, "the clock went back by %" PRIu64 " s", (audit->usec - usec) / 1000000);
        else if (monotonic > 0 && monotonic < audit->monotonic_nsec)
                audit_find(audit, RECORD_AUDIT_CLOCK, index, index, "the time since the start of the machine went back by %" PRIu64 " s",
                           (audit->monotonic_nsec - monotonic) / 1000000000);
        if (usec > audit->usec) {
                audit->usec = usec;
                audit->error_usec = clock ? error : audit->error_usec;
        }
        if (monotonic > audit->monotonic_nsec)
                audit->monotonic_nsec = monotonic;
}

void audit_times_take(RecordAudit *audit, const AuditRecord *record) {
        RecordAuditReport *report = &audit->report;
        uint64_t index = record->entry->index, usec = record->entry->finished_usec;
        const char *boot = text_of(json_object_get(record->predicate, "producer"), "bootId");
        bool is_booted = *boot && strcmp(boot, audit->boot) != 0; /* a chip leaves it to its server */

        report->n_heartbeats += strcmp(record->entry->type, RECORD_TYPE_HEARTBEAT) == 0;
        if (is_booted) {
                report->n_boots++;
                (void) strcpy(audit->boot, boot);
                audit->usec = audit->error_usec = audit->monotonic_nsec = 0;
        }
        /* Between two records that are both here: what was pruned may have spoken. */
        if (report->last_usec > 0 && audit->unseen != index && usec > report->last_usec && usec - report->last_usec > SILENCE_USEC)
                audit_find(audit, RECORD_AUDIT_SILENCE, index, index, "nothing was recorded for %" PRIu64 " min%s",
                           (usec - report->last_usec) / 60000000, is_booted ? ", then the machine was started" : "");
        check_order(audit, record);
        if (report->first_usec == 0)
                report->first_usec = usec;
        report->last_usec = usec;
}
