/* SPDX-License-Identifier: Apache-2.0 */

/* Parts: how often each chip was tried, and what its records say of those before them. */

#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"

/* Of the report; NULL: no memory. */
static RecordAuditChip *chip_of(RecordAudit *audit, const char *key) {
        RecordAuditReport *report = &audit->report;
        const json_t *place = memory_find(audit, "chips", key);

        if (place)
                return &report->chips[json_integer_value(place)];
        if (audit_grow((void **) &report->chips, report->n_chips, sizeof(*report->chips)) < 0) {
                audit->error = -ENOMEM;
                return NULL;
        }
        memory_keep(audit, "chips", key, json_integer((json_int_t) report->n_chips));
        report->chips[report->n_chips] = (RecordAuditChip) {};
        return &report->chips[report->n_chips++];
}

/* A failure that a pass follows is what somebody who wants a pass makes. */
static void check_rerun(RecordAudit *audit, const AuditRecord *record, const char *key, const char *where) {
        const json_t *failed = memory_find(audit, "failures", key), *repaired = memory_find(audit, "repairs", record->subject);
        const char *note = text_of(json_object_get(memory_find(audit, "runs", record->entry->run), "begin"), "note");
        uint64_t first = (uint64_t) json_integer_value(failed);
        const RecordEntry *entry = record->entry;

        if (entry->result == RESULT_FAILED)
                memory_keep(audit, "failures", key, audit_index_json(record));
        if (entry->result == RESULT_FAILED || entry->result == RESULT_INCONCLUSIVE || !failed)
                return;
        if (!repaired || (uint64_t) json_integer_value(repaired) <= first)
                audit_find(audit, RECORD_AUDIT_RERUN, first, entry->index, "%s failed %s in record %" PRIu64 " and %s it in record %" PRIu64 ", with no repair of memory between%s%s", where,
                           entry->plan, first, entry->result == RESULT_PASSED ? "passed" : "passed with a warning", entry->index, *note ? "; its scan was asked for with: " : "", note);
        memory_forget(audit, "failures", key);
}

static void count_result(RecordAudit *audit, const AuditRecord *record, const char *where) {
        char key[RECORD_ID_HEX + sizeof(record->entry->plan)];
        const RecordEntry *entry = record->entry;
        RecordAuditChip *chip;

        (void) snprintf(key, sizeof(key), "%s%s", record->subject, entry->plan);
        chip = chip_of(audit, key);
        if (!chip)
                return;
        (void) snprintf(chip->subject, sizeof(chip->subject), "%s", record->subject);
        (void) snprintf(chip->where, sizeof(chip->where), "%s", where);
        (void) snprintf(chip->plan, sizeof(chip->plan), "%s", entry->plan);
        (void) audit_plain(chip->plan);
        chip->n_results[entry->result]++;
        chip->newest = entry->index;
        check_rerun(audit, record, key, chip->where);
}

/* ---- what a record says of those before it ---- */

/* The newest of its place, which is of the same chip. One that is not here cannot contradict it, but what is newer than that can. */
static void check_earlier(RecordAudit *audit, const AuditRecord *record, const char *where) {
        const json_t *told = json_object_get(record->predicate, "earlier"), *newest = memory_find(audit, "places", where);
        uint64_t earlier = (uint64_t) json_integer_value(told), index = memory_index(newest, "index"), own = record->entry->index;
        bool is_newest = newest && earlier == index;

        if (!told)
                return;
        if (is_newest ? strcmp(text_of(newest, "subject"), record->subject) != 0 : (newest && earlier < index) || !audit_is_unread(audit, earlier))
                audit_find(audit, RECORD_AUDIT_EARLIER, own, own, "the newest record before it of its chip in %s is not %" PRIu64, where, earlier);
}

/* INDICES come in their order. */
static bool has_index(const json_t *indices, uint64_t index) {
        size_t from = 0, to = json_array_size(indices);

        while (from < to) {
                size_t middle = from + (to - from) / 2;

                if ((uint64_t) json_integer_value(json_array_get(indices, middle)) <= index)
                        from = middle + 1;
                else
                        to = middle;
        }
        return from > 0 && (uint64_t) json_integer_value(json_array_get(indices, from - 1)) == index;
}

/* A failure of the same chip in the same place, which no archive may have alone. Whether it had been cleared takes what no record tells of itself. */
static void check_standing(RecordAudit *audit, const AuditRecord *record, const char *where, const json_t *failed) {
        const json_t *told = json_object_get(record->predicate, "standing");
        uint64_t standing = (uint64_t) json_integer_value(told), own = record->entry->index;

        if (!told)
                return;
        audit_need(audit, standing, own);
        if (!audit_is_unread(audit, standing) && !has_index(failed, standing))
                audit_find(audit, RECORD_AUDIT_EARLIER, own, own, "record %" PRIu64 ", whose failure stood until then as it says, is none in which its chip failed in %s", standing,
                           where);
}

static void keep_part(RecordAudit *audit, const AuditRecord *record, const char *where, const char *key) {
        memory_keep(audit, "places", where, json_pack("{s:o, s:s}", "index", audit_index_json(record), "subject", record->subject));
        if (record->entry->result != RESULT_FAILED)
                return;
        if (!memory_find(audit, "failed", key))
                memory_keep(audit, "failed", key, json_array());
        if (json_array_append_new(memory_find(audit, "failed", key), audit_index_json(record)) < 0)
                audit->error = -ENOMEM;
}

/* An assayd that signs version 1 opens no log that one of version 2 has written. */
static void check_version(RecordAudit *audit, const AuditRecord *record) {
        uint64_t own = record->entry->index;

        if (strcmp(record->entry->type, RECORD_TYPE_HEALTH_V2) == 0)
                audit->newer = own + 1;
        else if (audit->newer > 0)
                audit_find(audit, RECORD_AUDIT_VERSION, own, own, "version 1, which need not say what was measured, behind version 2 in record %" PRIu64, audit->newer - 1);
}

void audit_part_take(RecordAudit *audit, const AuditRecord *record) {
        char where[LOCATION_STRING_MAX], key[RECORD_ID_HEX + LOCATION_STRING_MAX];
        const char *place = audit_place_text(record, where);

        if (record->verified->stage == STAGE_REPAIR)
                memory_keep(audit, "repairs", record->subject, audit_index_json(record));
        count_result(audit, record, place);
        (void) snprintf(key, sizeof(key), "%s %s", record->subject, place);
        check_version(audit, record);
        check_earlier(audit, record, place);
        check_standing(audit, record, place, memory_find(audit, "failed", key));
        keep_part(audit, record, place, key);
}

/* ---- the end ---- */

static int compare_chips(const void *a, const void *b) {
        const RecordAuditChip *x = a, *y = b;
        int r = strverscmp(x->where, y->where);

        if (r == 0)
                r = strcmp(x->plan, y->plan);
        return r != 0 ? r : strcmp(x->subject, y->subject);
}

void audit_parts_end(RecordAudit *audit) {
        RecordAuditReport *report = &audit->report;

        if (report->n_chips > 0)
                qsort(report->chips, report->n_chips, sizeof(*report->chips), compare_chips);
}
