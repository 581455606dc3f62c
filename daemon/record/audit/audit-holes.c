/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Records that are not here. Nobody who keeps a record back has to give it a name, so a hole is withheld unless a record that verified says which archive has
 * what stood there. What an archive that was given has is taken like any other line.
 */

#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/archive.h"

static int compare_first(const void *key, const void *item) {
        uint64_t x = *(const uint64_t *) key, y = ((const AuditHoles *) item)->first;

        return (x > y) - (x < y);
}

static AuditHoles *find_holes(const RecordAudit *audit, uint64_t index) {
        const uint64_t first = index - index % RECORD_ARCHIVE_RECORDS;

        return audit->n_holes > 0 ? bsearch(&first, audit->holes, audit->n_holes, sizeof(*audit->holes), compare_first) : NULL;
}

/* Holes come in the order of their indices. */
static AuditHoles *add_holes(RecordAudit *audit, uint64_t index) {
        AuditHoles *holes = find_holes(audit, index);

        if (holes)
                return holes;
        if (audit_grow((void **) &audit->holes, audit->n_holes, sizeof(*audit->holes)) < 0) {
                audit->error = -ENOMEM;
                return NULL;
        }
        holes = &audit->holes[audit->n_holes++];
        *holes = (AuditHoles) { .first = index - index % RECORD_ARCHIVE_RECORDS };
        return holes;
}

void audit_unread(RecordAudit *audit, uint64_t index) {
        AuditHoles *holes = add_holes(audit, index);

        if (holes)
                region_set_add(&holes->unread, (unsigned) (index - holes->first));
        audit_lose(audit, index + 1);
}

bool audit_is_unread(const RecordAudit *audit, uint64_t index) {
        const AuditHoles *holes = find_holes(audit, index);

        return index < audit->missed || (holes && region_set_has(&holes->unread, (unsigned) (index - holes->first)));
}

void audit_hole(RecordAudit *audit, uint64_t index) {
        AuditHoles *holes;

        audit_unread(audit, index);
        holes = find_holes(audit, index);
        if (holes)
                region_set_add(&holes->records, (unsigned) (index - holes->first));
        audit->bundle.has_hole = true;
}

void audit_changed(RecordAudit *audit, uint64_t index) {
        AuditHoles *holes = find_holes(audit, index);

        if (holes)
                region_set_add(&holes->changed, (unsigned) (index - holes->first));
}

void audit_failed(RecordAudit *audit, uint64_t index) {
        AuditHoles *holes = add_holes(audit, index);

        if (holes)
                region_set_add(&holes->failed, (unsigned) (index - holes->first));
}

int audit_fill(RecordAudit *audit) {
        uint64_t index = audit->tree.size;
        const char *line;
        size_t n;
        int r;

        if (audit->is_filling || !audit->options.line)
                return 0;
        r = audit->options.line(audit->options.userdata, index, &line, &n);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        audit->is_filling = true;
        r = record_audit_take(audit, line, n);
        audit->is_filling = false;
        audit->bundle.has_hole = true; /* an export had no entry of it */
        return r < 0 ? r : audit->tree.size > index;
}

void audit_need(RecordAudit *audit, uint64_t index, uint64_t by) {
        AuditHoles *holes = find_holes(audit, index);
        RegionSet one;

        if (!holes || !region_set_has(&holes->records, (unsigned) (index - holes->first)))
                return;
        one = region_set_range((unsigned) (index - holes->first), 1);
        region_set_remove(&holes->records, &one);
        audit->report.n_withheld++;
        audit_find(audit, RECORD_AUDIT_WITHHELD, index, index, "not here, and it FAILED, as record %" PRIu64 " says: such a record leaves no log", by);
}

int audit_archive_take(RecordAudit *audit, const AuditRecord *record) {
        uint64_t index = record->entry->index, size = 0;
        char digest[RECORD_ID_HEX], name[RECORD_ARCHIVE_NAME_MAX];
        bool is_it = false;
        AuditHoles *holes;
        Archive archive;
        int r = -ENOENT;

        if (strcmp(record->verified->origin, audit->report.origin) != 0)
                return 0;
        if (archive_parse(record->predicate, &archive) < 0)
                return 0; /* which the judge has refused */
        holes = find_holes(audit, archive.first);
        if (holes && region_set_meets(&holes->failed, &archive.dropped))
                audit_find(audit, RECORD_AUDIT_ARCHIVE, index, index, "it drops a record that FAILED: such a record leaves no log");
        if (audit->options.archive)
                r = audit->options.archive(audit->options.userdata, archive.first, digest, &size);
        if (r == 0) {
                is_it = strcmp(digest, record->subject) == 0 && size == archive.size;
                if (!is_it)
                        audit_find(audit, RECORD_AUDIT_ARCHIVE, index, index, "%s is not the archive that it tells of: it has %" PRIu64 " bytes, and its SHA-256 is %s",
                                   record_archive_name(archive.first, name), size, digest);
        }
        /* A record that the given archive has is no hole any more: one that still is a hole is not in it either. */
        if (!is_it && holes)
                region_set_unite(&holes->dropped, &archive.dropped);
        return r == -ENOENT ? 0 : r;
}

static void tell(RecordAudit *audit, uint64_t first, uint64_t end) {
        uint64_t n = end - first;

        if (n == 0)
                return;
        audit->report.n_withheld += n;
        audit_find(audit, RECORD_AUDIT_WITHHELD, first, end - 1, "not here, %" PRIu64 " in all, and no record says which archive has %s", n,
                   n == 1 ? "it" : "them");
}

/* Only now: a roll-up behind the record of an archive may have called FAILED what that dropped. */
static void prune(RecordAudit *audit, AuditHoles *holes) {
        region_set_keep(&holes->dropped, &holes->records);
        region_set_remove(&holes->records, &holes->dropped);
        audit->report.n_pruned += region_set_count(&holes->dropped);
}

/* No archive has a rotation alone, nor what follows one: where all between two records was pruned, one key has signed both. */
static void check_keys(RecordAudit *audit, const AuditHoles *holes, unsigned i, uint64_t *end, bool *is_pruned) {
        uint64_t index = holes->first + i;

        if (!region_set_has(&holes->unread, i))
                return;
        *is_pruned = region_set_has(&holes->dropped, i) && (index != *end || *is_pruned);
        *end = index + 1;
        if (*is_pruned && region_set_has(&holes->changed, i))
                audit_find(audit, RECORD_AUDIT_KEY, *end, *end, "signed with another key than the last record before it that is here, and what was pruned between them is no rotation");
}

void audit_holes_tell(RecordAudit *audit) {
        uint64_t first = 0, end = 0, unread_end = 0;
        bool is_pruned = true;

        for (size_t k = 0; k < audit->n_holes; k++) {
                prune(audit, &audit->holes[k]);
                for (unsigned i = 0; i < RECORD_ARCHIVE_RECORDS; i++) {
                        uint64_t index = audit->holes[k].first + i;

                        check_keys(audit, &audit->holes[k], i, &unread_end, &is_pruned);
                        if (!region_set_has(&audit->holes[k].records, i))
                                continue;
                        if (index != end) {
                                tell(audit, first, end);
                                first = index;
                        }
                        end = index + 1;
                }
        }
        tell(audit, first, end);
}
