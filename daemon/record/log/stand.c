/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the verdict of a record on its own subject; for a roll-up, on the places that lie in none of its chips: see record-stand.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/statement/reason.h"

void record_stand_done(RecordStand *stand) {
        free(stand->reason);
        free(stand->named);
        *stand = (RecordStand) {};
}

/* The result of the roll-up follows from its chips too; its own measurements and findings tell of the rest. */
static int take_rollup(const Health *health, RecordStand *stand) {
        stand->n_chips = judge_chips_of(&health->scan.server, health->scan.n_chips_of_server);
        stand->named = calloc(health->n_named + 1, sizeof(*stand->named));
        if (!stand->named)
                return -ENOMEM;
        for (; stand->n_named < health->n_named; stand->n_named++)
                stand->named[stand->n_named] = health->named[stand->n_named];
        stand->result = judge_own(&health->scan);
        return reason_of_server(health, stand->result, &stand->reason);
}

static void take_left_out(const Places *places, RecordStand *stand) {
        for (size_t i = 0; i < places->n_reaches && stand->n_left_out < RECORD_LEFT_OUT_MAX; i++) {
                const Reach *reach = &places->reaches[i];
                RecordLeftOut *left_out = &stand->left_out[stand->n_left_out];

                if (reach->n_left_out == 0)
                        continue;
                (void) snprintf(left_out->step, sizeof(left_out->step), "%s", reach->step);
                left_out->n = reach->n_left_out;
                stand->n_left_out++;
        }
}

static bool is_away(const RecordHealth *chip) {
        for (size_t i = 0; i < chip->n_steps; i++)
                if (chip->steps[i].reason != REASON_DEVICE_UNREACHABLE)
                        return false;
        return chip->n_steps > 0;
}

/* Each test is a step, so a record without any tells of a result that was lost. */
static bool is_lost(const Health *health) {
        if (!health->is_rollup)
                return health->chip.n_steps == 0;
        return health->scan.result == RESULT_INCONCLUSIVE && health->n_named > 0 && health->tells_reaches && health->n_reaches == 0;
}

static int take_lost(const RecordVerified *verified, RecordStand *stand) {
        char name[LOCATION_STRING_MAX], line[LOCATION_STRING_MAX + 64];

        (void) snprintf(line, sizeof(line), "%s: a scan was interrupted, and what it had found is lost", location_format(&verified->entry.subject, name));
        stand->is_lost = true;
        stand->result = RESULT_INCONCLUSIVE;
        free(stand->reason);
        stand->reason = strdup(line);
        return stand->reason ? 0 : -ENOMEM;
}

static int take_chip(const RecordVerified *verified, RecordStand *stand) {
        stand->result = verified->entry.result;
        stand->reason = strdup(verified->reason ?: "");
        return stand->reason ? 0 : -ENOMEM;
}

/* Of what rules of today refuse no pass comes, and a failure stays one, also where nothing else of it can be read. */
static int take_older(const RecordVerified *verified, RecordStand *stand) {
        stand->result = verified->entry.result == RESULT_FAILED ? RESULT_FAILED : RESULT_INCONCLUSIVE;
        stand->reason = strdup(verified->reason ?: "");
        return stand->reason ? 0 : -ENOMEM;
}

static int take(const Health *health, const RecordVerified *verified, RecordStand *stand) {
        int r;

        stand->is_away = !health->is_rollup && is_away(&health->chip);
        if (verified->is_older)
                return take_older(verified, stand);
        r = health->is_rollup ? take_rollup(health, stand) : take_chip(verified, stand);
        return r == 0 && is_lost(health) ? take_lost(verified, stand) : r;
}

int record_stand_of(const RecordVerified *verified, RecordStand *ret) {
        _cleanup_health_ Health health = {};
        RecordStand stand = {};
        Places places = {};
        int r;

        r = places_of_verified(verified, &health, &places);
        if (r == -EBADMSG && verified->is_older) {
                r = take_older(verified, &stand);
                if (r == 0)
                        *ret = stand;
                return r;
        }
        if (r < 0)
                return r;
        stand.in_part = places.in_part;
        take_left_out(&places, &stand);
        if (places.n_failed > 0)
                (void) snprintf(stand.failed_step, sizeof(stand.failed_step), "%s", places.failed[0].step);
        places_done(&places);
        r = take(&health, verified, &stand);
        if (r < 0) {
                record_stand_done(&stand);
                return r;
        }
        *ret = stand;
        return 0;
}

void record_lesser_line(const RecordVerified *verified, char *ret, size_t size) {
        (void) snprintf(ret, size, "no whole scan: '%s' looks at a part alone. Next: assayctl scan %s", verified->entry.plan, verified->entry.subject.server);
}

const RecordNamed *record_stand_find(const RecordStand *stand, const Location *where) {
        for (size_t i = 0; i < stand->n_named; i++)
                if (location_equal(&stand->named[i].where, where))
                        return &stand->named[i];
        return NULL;
}
