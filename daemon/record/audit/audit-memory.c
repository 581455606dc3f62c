/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Later records are held against these objects of JSON, which have their members in the order in which they came:
 *
 *     runs         of which the roll-up is still to come, by ID: its first record and what that told of its begin, record and place of its start, and the chips met so far
 *     ended        the record of the roll-up of each of the others, by ID
 *     challenges   the first run-start that each is answered by
 *     plans        by name: the newest run-start of each, and the plan's digest
 *     chips        by identity and plan: the place among those of the report
 *     failures     likewise: the newest record that FAILED, where none has passed since
 *     repairs      by identity: the newest record
 *     places       of chips: the newest record of each, and the identity of the chip
 *     failed       by identity and place: all records of it that FAILED, oldest first
 */

#include "daemon/record/audit/audit.h"

static const char *const lists[] = { "runs", "ended", "challenges", "plans", "chips", "failures", "repairs", "places", "failed" };

json_t *audit_memory_new(void) {
        json_t *memory = json_object();

        for (size_t i = 0; i < ELEMENTS(lists); i++)
                if (json_object_set_new(memory, lists[i], json_object()) < 0) {
                        json_decref(memory);
                        return NULL;
                }
        return memory;
}

json_t *memory_find(const RecordAudit *audit, const char *list, const char *key) {
        return json_object_get(json_object_get(audit->memory, list), key);
}

void memory_forget(RecordAudit *audit, const char *list, const char *key) {
        (void) json_object_del(json_object_get(audit->memory, list), key);
}

void memory_set(RecordAudit *audit, json_t *object, const char *key, json_t *value) {
        if (json_object_set_new(object, key, value) < 0)
                audit->error = -ENOMEM;
}

void memory_keep(RecordAudit *audit, const char *list, const char *key, json_t *value) {
        memory_set(audit, json_object_get(audit->memory, list), key, value);
}

uint64_t memory_index(const json_t *object, const char *key) {
        return (uint64_t) json_integer_value(json_object_get(object, key));
}

json_t *audit_index_json(const AuditRecord *record) {
        return json_integer((json_int_t) record->entry->index);
}

const char *audit_place_text(const AuditRecord *record, char text[static LOCATION_STRING_MAX]) {
        return record->entry->subject.server[0] ? location_format(&record->entry->subject, text) : record->subject;
}
