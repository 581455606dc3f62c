/* SPDX-License-Identifier: Apache-2.0 */

/* Tally: see tally.h. This part reads what records know of memories that scans test by and by, and tells it to workers. */

#include <stdio.h>

#include "daemon/journal.h"
#include "daemon/tally-parts.h"

/* What stands there of STEP is over where a newer record tells of a test of all. */
static void forget_cleared(const TallyUnit *chip, const RecordVerified *regions, RecordLog *log, const char *step, RecordKnownRegions *known) {
        bool cleared = false;
        RecordEntry entry = { .index = UINT64_MAX };

        if (region_set_count(&known->failed) + region_set_count(&known->altered) + region_set_count(&known->suspicious) + region_set_count(&known->together) == 0)
                return;
        while (!cleared && record_log_whole_before(log, &chip->where, NULL, entry.index, &entry) >= 0 && entry.index > regions->entry.index) {
                RecordVerified later = {};

                cleared = record_log_verified(log, &chip->where, &entry, &later) >= 0 && record_tests_all_regions(&later, regions, step) > 0;
                record_verified_done(&later);
        }
        if (cleared)
                known->failed = known->altered = known->suspicious = known->joined = known->together = (RegionSet) {};
}

static void read_chip(TallyUnit *chip, const Plan *plan, RecordLog *log) {
        RecordVerified verified = {};
        char where[LOCATION_STRING_MAX];
        uint64_t cut;
        int r;

        (void) record_log_cut(log, &cut);
        r = record_log_regions_verified(log, &chip->where, plan->name, &verified);
        for (size_t i = 0; r >= 0 && i < plan->n_steps; i++) {
                r = rotation_read(verified.payload, verified.n_payload, plan->steps[i].name, &chip->steps[i].before);
                if (r >= 0)
                        forget_cleared(chip, &verified, log, plan->steps[i].name, chip->steps[i].before);
                if (r >= 0 && verified.entry.index < cut)
                        rotation_forget_passes(chip->steps[i].before);
                if (r == -ENOENT)
                        r = 0;
        }
        if (r < 0 && r != -ENOENT)
                log_warning_errno(r, "Failed to read which regions of %s were tested, beginning anew: %m",
                                  location_format(&chip->where, where));
        record_verified_done(&verified);
}

void tally_read_rotations(Tally *tally, RecordLog *log) {
        if (tally->plan->rotation_sec == 0 || tally->rotations_read)
                return;

        tally->rotations_read = true;
        for (size_t s = 0; s < tally->n_servers; s++)
                for (unsigned c = 0; c < TARGET_CHIPS; c++)
                        if (tally->servers[s].chips[c].wanted)
                                read_chip(&tally->servers[s].chips[c], tally->plan, log);
}

static int add_chip(const TallyUnit *chip, const Plan *plan, uint64_t now_usec, json_t *list) {
        char where[LOCATION_STRING_MAX], id[LOCATION_STRING_MAX + PLAN_NAME_MAX];

        for (size_t i = 0; i < plan->n_steps; i++) {
                if (!chip->steps[i].before)
                        continue;
                (void) snprintf(id, sizeof(id), "%s:%s", location_format(&chip->where, where), plan->steps[i].name);
                if (json_array_append_new(list, rotation_to_request(chip->steps[i].before, id, now_usec)) < 0)
                        return -ENOMEM;
        }

        return 0;
}

json_t *tally_rotations(const Tally *tally, uint64_t now_usec) {
        json_t *list = json_array();

        for (size_t s = 0; s < tally->n_servers; s++)
                for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                        const TallyUnit *chip = &tally->servers[s].chips[c];

                        if (chip->wanted && add_chip(chip, tally->plan, now_usec, list) < 0) {
                                json_decref(list);
                                return NULL;
                        }
                }

        return list;
}
