/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tiles, held against the leaves: who asks a log for proofs reads these and not the records. A bundle of entries of which a record was not there when it
 * was exported is not made, so one that is missing shows only where all its records are here.
 */

#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <string.h>

#define TILE_HEIGHT 8 /* levels of the tree in one of tiles */

static void find_missing(RecordAudit *audit, uint64_t index) {
        AuditBundle *bundle = &audit->bundle;

        if (index < audit->signed_as[AUDIT_GIVEN].size) {
                if (bundle->n_missing++ == 0)
                        bundle->first_missing = index;
                bundle->last_missing = index;
        }
}

int audit_entry_check(RecordAudit *audit, uint64_t index, const TreeHash *leaf) {
        const void *body;
        TreeHash hash;
        size_t n;
        int r;

        if (!audit->options.entry)
                return 0;
        if (index % RECORD_ARCHIVE_RECORDS == 0)
                audit_bundle_end(audit);
        r = audit->options.entry(audit->options.userdata, index, &body, &n);
        if (r == -ENOENT) {
                find_missing(audit, index);
                return 0;
        }
        if (r == 0)
                r = tree_leaf(body, n, &hash);
        if (r == 0 && memcmp(hash.bytes, leaf->bytes, DIGEST_BYTES) != 0)
                audit_find(audit, RECORD_AUDIT_TILE, index, index, "its entry among the tiles is another one");
        return r;
}

void audit_bundle_end(RecordAudit *audit) {
        const AuditBundle *bundle = &audit->bundle;

        if (bundle->n_missing > 0 && !bundle->has_hole)
                audit_find(audit, RECORD_AUDIT_TILE_MISSING, bundle->first_missing, bundle->last_missing,
                           "%u entries are missing among the tiles, and the records are here", bundle->n_missing);
        audit->bundle = (AuditBundle) {};
}

int audit_nodes_check(RecordAudit *audit, uint64_t leaf, const TreeHash *whole, unsigned n) {
        TreeHash told;
        int r = 0;

        for (unsigned level = TILE_HEIGHT; level < n && audit->options.hash && !audit->is_torn; level += TILE_HEIGHT) {
                r = audit->options.hash(audit->options.userdata, level, leaf >> level, told.bytes);
                if (r == 0 && memcmp(told.bytes, whole[level].bytes, DIGEST_BYTES) != 0)
                        audit_find(audit, RECORD_AUDIT_TILE, leaf - ((UINT64_C(1) << level) - 1), leaf, "hash %" PRIu64 " of tile/%u is not that of these records",
                                   leaf >> level, level / TILE_HEIGHT);
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        return 0;
}
