/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A server or UltraServer: the worst of its chips and of what lies in none of them. A roll-up names its chips' records by their digests, so one
 * that is verified tells of all chips that were not scanned since.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/verify/answer.h"
#include "daemon/names.h"

#define HINTS_MAX 4096u

typedef struct PartHint {
        Location where;
        Hint hint; /* borrowed from the reply */
} PartHint;

typedef struct Parts {
        sd_bus *bus;
        const VerifyPolicy *policy;
        const char *target;
        size_t n_hints, n;
        PartHint *hints;
        RecordPart *parts; /* what was found of each, as many as HINTS_MAX at most */
        Answer *answers;   /* of each */
} Parts;

static void parts_done(Parts *parts) {
        free(parts->hints);
        free(parts->parts);
        free(parts->answers);
}

static bool is_of_target(const Location *where, const char *target) {
        return strcmp(where->server, target) == 0 || call_is_server_of(where->server, target);
}

static int read_hints(sd_bus_message *reply, Parts *parts) {
        const char *where, *verdict;
        uint64_t age;
        int r;

        parts->hints = calloc(HINTS_MAX, sizeof(*parts->hints));
        if (!parts->hints)
                return -ENOMEM;
        r = sd_bus_message_enter_container(reply, 'a', "(ssstt)");
        while (r >= 0 && parts->n_hints < HINTS_MAX) {
                PartHint *part = &parts->hints[parts->n_hints];

                r = sd_bus_message_read(reply, "(ssstt)", &where, &verdict, &part->hint.reason, &part->hint.record, &age);
                if (r <= 0)
                        return r;
                part->hint.said = result_from_string(verdict);
                if (location_parse(where, &part->where, NULL, NULL) >= 0 && is_of_target(&part->where, parts->target))
                        parts->n_hints++;
        }
        return r < 0 ? r : -E2BIG;
}

/* The part at N, which is being added. */
static void put_first(Parts *parts) {
        RecordPart part = parts->parts[0];
        Answer answer = parts->answers[0];

        parts->parts[0] = parts->parts[parts->n];
        parts->answers[0] = parts->answers[parts->n];
        parts->parts[parts->n] = part;
        parts->answers[parts->n] = answer;
}

static int add(Parts *parts, const Location *where, const Answer *answer) {
        RecordPart *grown = reallocarray(parts->parts, parts->n + 1, sizeof(*grown));
        Answer *answers;

        if (!grown)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        parts->parts = grown;
        answers = reallocarray(parts->answers, parts->n + 1, sizeof(*answers));
        if (!answers)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        parts->answers = answers;
        answers[parts->n] = *answer;
        grown[parts->n] = (RecordPart) { .where = *where, .result = answer->result, .index = answer->record, .age_usec = answer->age_usec };
        (void) snprintf(grown[parts->n].reason, sizeof(grown[parts->n].reason), "%s", answer->reason);
        if (answer->status == STATUS_REFUSED) /* what cannot be told never hides what is refused */
                put_first(parts);
        parts->n++;
        return 0;
}

/* What nobody tells. */
static int add_missing(Parts *parts, const Location *where) {
        Answer answer = { .record = UINT64_MAX };

        answer_refuse(&answer, STATUS_CANNOT_TELL, "assayd tells nothing of it");
        return add(parts, where, &answer);
}

/*
 * The roll-up OWN of the server counts and names the chip's record as one that passed: then that is proven with it, and is not read. What a rule that came
 * later has against that record does not show by it, therefore: who signed both judged both, and asking for the chip, or the next scan, tells.
 */
static bool is_told(const Answer *own, const RecordStand *rollup, const PartHint *chip) {
        const RecordNamed *named = record_stand_find(rollup, &chip->where);

        return own->counts && own->result == RESULT_PASSED && named && named->result == RESULT_PASSED && chip->hint.said == RESULT_PASSED && chip->hint.record == named->index;
}

/* Whether the record that the roll-up names was asked for a part of its plan, which takes nothing away. It is read, for only it tells. */
static bool is_in_part(const Parts *parts, const Answer *own, const RecordNamed *named, const PartHint *chip) {
        Hint hint = chip->hint;
        RecordStand stand = {};
        Answer answer = *own;
        bool in_part;

        hint.record = named->index;
        hint.said = named->result;
        in_part = answer_part(parts->policy, &chip->where, &hint, &stand, &answer) == 0 && stand.in_part;
        record_stand_done(&stand);
        return in_part;
}

/* Whoever points at a record before the one that the roll-up names keeps that one back. */
static bool is_kept_back(const Parts *parts, const Answer *own, const RecordStand *rollup, const PartHint *chip) {
        const RecordNamed *named = record_stand_find(rollup, &chip->where);

        return own->counts && own->result != RESULT_FAILED && named && chip->hint.record < named->index &&
               (named->result != RESULT_INCONCLUSIVE || !is_in_part(parts, own, named, chip));
}

static int add_chip(Parts *parts, const Answer *own, const RecordStand *rollup, const PartHint *chip) {
        RecordStand stand = {};
        Answer answer = *own;
        int r = 0;

        if (is_told(own, rollup, chip))
                answer.record = chip->hint.record;
        else {
                r = answer_part(parts->policy, &chip->where, &chip->hint, &stand, &answer);
                if (r == 0 && answer.counts && answer.result != RESULT_FAILED && is_kept_back(parts, own, rollup, chip)) {
                        answer.counts = false;
                        answer_refuse(&answer, STATUS_CANNOT_TELL, "record %" PRIu64 " is not its newest", chip->hint.record);
                }
        }
        record_stand_done(&stand);
        return r != 0 ? r : add(parts, &chip->where, &answer);
}

static const PartHint *find_hint(const Parts *parts, const Location *where) {
        for (size_t i = 0; i < parts->n_hints; i++)
                if (location_equal(&parts->hints[i].where, where))
                        return &parts->hints[i];
        return NULL;
}

/* Of each chip once, in the order of the daemon; and of those that it keeps back. */
static int add_chips(Parts *parts, const Location *server, const Answer *own, const RecordStand *rollup) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < parts->n_hints && r == 0; i++) {
                const PartHint *chip = &parts->hints[i];

                if (location_kind(&chip->where) != LOCATION_CHIP || strcmp(chip->where.server, server->server) != 0 ||
                    find_hint(parts, &chip->where) != chip)
                        continue;
                r = add_chip(parts, own, rollup, chip);
                n++;
        }
        for (size_t i = 0; i < rollup->n_named && r == 0; i++)
                if (!find_hint(parts, &rollup->named[i].where)) {
                        r = add_missing(parts, &rollup->named[i].where);
                        n++;
                }
        return r == 0 && (n == 0 || n < rollup->n_chips) ? add_missing(parts, server) : r;
}

static int add_server(Parts *parts, const PartHint *own) {
        RecordStand rollup = {};
        Answer answer;
        int r;

        r = answer_part(parts->policy, &own->where, &own->hint, &rollup, &answer);
        if (r == 0)
                r = add(parts, &own->where, &answer);
        if (r == 0 && answer.counts)
                record_part_leaves_out(&parts->parts[parts->n - 1], &rollup);
        if (r == 0)
                r = add_chips(parts, &own->where, &answer, &rollup);
        record_stand_done(&rollup);
        return r;
}

/* Every server that is told of, also where what is between its chips is kept back. */
static int add_servers(Parts *parts) {
        int r = 0;

        for (size_t i = 0; i < parts->n_hints && r == 0; i++) {
                Location server = {};
                const PartHint *own;
                bool is_first = true;

                (void) strcpy(server.server, parts->hints[i].where.server);
                for (size_t k = 0; k < i; k++)
                        is_first = is_first && strcmp(parts->hints[k].where.server, server.server) != 0;
                own = find_hint(parts, &server);
                if (is_first)
                        r = own ? add_server(parts, own) : add_missing(parts, &server);
        }
        return r;
}

static void conclude(const Parts *parts, Answer *ret) {
        const RecordPart *worst = record_parts_worst(parts->parts, parts->n);

        *ret = parts->answers[worst - parts->parts];
        for (size_t i = 0; i < parts->n; i++) {
                ret->n_parts[parts->answers[i].result]++;
                ret->n_chips[parts->answers[i].result] += location_kind(&parts->parts[i].where) == LOCATION_CHIP;
                if (parts->answers[i].status == STATUS_REFUSED)
                        ret->status = STATUS_REFUSED;
        }
        record_parts_line(parts->target, parts->parts, parts->n, ret->reason, sizeof(ret->reason));
}

int answer_parts(sd_bus *bus, const VerifyPolicy *policy, const char *target, Answer *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(parts_done) Parts parts = { .bus = bus, .policy = policy, .target = target };
        int r;

        r = call_manager(bus, "GetParts", &error, &reply, "sstt", target, options.plan ?: "", options.max_age_usec, (uint64_t) 0);
        if (sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_TARGET)) {
                *ret = (Answer) { .status = STATUS_USAGE, .result = RESULT_INCONCLUSIVE, .record = UINT64_MAX };
                call_tell_target(bus, target, ret->reason, sizeof(ret->reason));
                return 0;
        }
        if (r >= 0)
                r = read_hints(reply, &parts);
        if (r < 0)
                return complain_bus(&error, r, "could not ask for the verdict");
        if (parts.n_hints == 0)
                return complain(STATUS_CANNOT_TELL, "assayd tells nothing of %s", target);
        r = add_servers(&parts);
        if (r != 0)
                return r;
        conclude(&parts, ret);
        return 0;
}
