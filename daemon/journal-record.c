/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Journal record
 *
 * A committed record as one entry of the journal. What is told of a verdict beyond its entry is read from the signed record itself. A lost
 * entry never fails a scan: the record is in the log.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include <systemd/sd-journal.h>

#include "daemon/journal.h"
#include "daemon/names.h"

#define FINDINGS_MAX 64 /* one that has more has ASSAY_FINDINGS= to tell so */
#define FIELDS_MAX   (24 + 2 * FINDINGS_MAX)

typedef struct Fields {
        size_t n;
        struct iovec items[FIELDS_MAX];
} Fields;

static void fields_done(Fields *fields) {
        for (size_t i = 0; i < fields->n; i++)
                free(fields->items[i].iov_base);
}

__attribute__((format(printf, 2, 3))) static void add(Fields *fields, const char *format, ...) {
        va_list arguments;
        char *text;
        int n;

        if (fields->n == FIELDS_MAX)
                return;
        va_start(arguments, format);
        n = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (n >= 0)
                fields->items[fields->n++] = (struct iovec) { text, (size_t) n };
}

static void add_text(Fields *fields, const char *name, const char *text) {
        if (text && *text)
                add(fields, "%s=%s", name, text);
}

/* What the entry is an instance of: explained by the catalog, units/assay.catalog. */
static const char *message_id(const RecordEntry *entry) {
        static const char *const verdicts[_RESULT_MAX] = {
                [RESULT_PASSED]       = ASSAY_MESSAGE_PASSED,
                [RESULT_WARNED]       = ASSAY_MESSAGE_WARNED,
                [RESULT_FAILED]       = ASSAY_MESSAGE_FAILED,
                [RESULT_INCONCLUSIVE] = ASSAY_MESSAGE_INCONCLUSIVE,
        };
        static const char *const others[][2] = {
                { RECORD_TYPE_RUN_START, ASSAY_MESSAGE_RUN_STARTED },
                { RECORD_TYPE_HEARTBEAT, ASSAY_MESSAGE_HEARTBEAT   },
                { RECORD_TYPE_ROTATION,  ASSAY_MESSAGE_KEY_ROTATED },
        };

        if (record_is_verdict(entry))
                return verdicts[entry->result];
        for (size_t i = 0; i < ELEMENTS(others); i++)
                if (strcmp(entry->type, others[i][0]) == 0)
                        return others[i][1];
        return NULL;
}

static const char *member(const json_t *object, const char *key) {
        return json_string_value(json_object_get(object, key));
}

static size_t add_findings(Fields *fields, const json_t *diagnoses, const char *subject, size_t n) {
        const json_t *diagnosis;
        size_t i;

        json_array_foreach(diagnoses, i, diagnosis) {
                const char *code = member(diagnosis, "verdict"), *where = member(json_object_get(diagnosis, "component"), "location");

                if (!code || strcmp(member(diagnosis, "type") ?: "", "PASS") == 0)
                        continue;
                if (n++ >= FINDINGS_MAX)
                        continue;
                add(fields, "ASSAY_FINDING=%s %s", code, where ?: subject);
                add_text(fields, "ASSAY_CODE", code);
        }
        return n;
}

/* "urn:dev:ops:PEN-PRODUCT-SERIAL" of what has a serial number; else it is a slot. */
static void add_serial(Fields *fields, const json_t *subject) {
        const char *uri = member(subject, "uri"), *serial = uri ? strchr(uri, '-') : NULL;

        serial = serial ? strchr(serial + 1, '-') : NULL;
        if (serial && strcmp(member(subject, "name") ?: "", "slot") != 0)
                add_text(fields, "ASSAY_SERIAL", serial + 1);
}

static void add_signed(Fields *fields, const RecordTold *told, const char *subject) {
        const json_t *predicate = json_object_get(told->statement, "predicate"), *step;
        const json_t *part = json_array_get(json_object_get(told->statement, "subject"), 0);
        size_t i, n;

        add_text(fields, "ASSAY_SUBJECT", member(part, "uri"));
        add_serial(fields, part);
        add_text(fields, "ASSAY_REASON", told->reason);
        n = add_findings(fields, json_object_get(predicate, "diagnoses"), subject, 0);
        json_array_foreach(json_object_get(predicate, "steps"), i, step)
                n = add_findings(fields, json_object_get(step, "diagnoses"), subject, n);
        add(fields, "ASSAY_FINDINGS=%zu", n);
}

void journal_record(uint64_t scan, const RecordEntry *entry, const RecordTold *told) {
        _cleanup_(fields_done) Fields fields = {};
        char subject[LOCATION_STRING_MAX];
        const char *word = record_word(entry);

        location_format(&entry->subject, subject);
        add(&fields, "MESSAGE=Record %" PRIu64 ": %s%s%s%s%s", entry->index, subject, *subject ? " " : "", word, *entry->plan ? ", plan " : "",
            entry->plan);
        add_text(&fields, "MESSAGE_ID", message_id(entry));
        add(&fields, "PRIORITY=%i", entry->result == RESULT_FAILED ? LOG_WARNING : LOG_INFO);
        add(&fields, ASSAY_JOURNAL_SCAN "=%" PRIu64, scan);
        add(&fields, ASSAY_JOURNAL_RECORD "=%" PRIu64, entry->index);
        add_text(&fields, ASSAY_JOURNAL_TARGET, subject);
        add_text(&fields, "ASSAY_RECORD_ID", entry->id);
        add_text(&fields, "ASSAY_TYPE", entry->type);
        add_text(&fields, "ASSAY_RESULT", word);
        add_text(&fields, "ASSAY_PLAN", entry->plan);
        add_text(&fields, "ASSAY_RUN", entry->run);
        if (told)
                add_signed(&fields, told, subject);
        (void) sd_journal_sendv(fields.items, (int) fields.n);
}
