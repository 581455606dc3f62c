/* SPDX-License-Identifier: Apache-2.0 */

/* Manager: see manager.h. Its face on the bus, of how parts stand. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "daemon/bus-errors.h"
#include "daemon/manager.h"
#include "daemon/names.h"
#include "daemon/standing.h"
#include "daemon/verdict-bus.h"

/* A slip of whoever asked looks like a part that was never scanned, and is told before all else. A plan that is no more may still have records. */
static void tell_plan(const Manager *manager, const char *name, RecordPart *parts, size_t n) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *wrong = NULL;
        bool is_slip = plan_find(config_plans(manager->config), name, &plan, &wrong) == -ENOENT;

        for (size_t i = 0; i < n; i++) {
                if (is_slip)
                        (void) snprintf(parts[i].reason, sizeof(parts[i].reason), "no record, and no plan is called '%.64s'", name);
                bus_text_mend(parts[i].reason);
        }
}

int method_get_verdict(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        RecordPart part = { .result = RESULT_INCONCLUSIVE, .index = UINT64_MAX, .age_usec = UINT64_MAX, .reason = "no record" };
        Manager *manager = userdata;
        const char *target, *plan;
        uint64_t max_age_usec, flags;
        Location where;
        bool has_record;
        int r;

        r = sd_bus_message_read(message, "sstt", &target, &plan, &max_age_usec, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;

        has_record = location_parse(target, &where, NULL, NULL) >= 0 && standing_read(manager, &where, plan[0] ? plan : NULL, max_age_usec, &part);
        if (!has_record && plan[0])
                tell_plan(manager, plan, &part, 1);

        return sd_bus_reply_method_return(message, "sstt", result_to_string(part.result), part.reason, part.index, part.age_usec);
}

typedef struct PartsCall {
        Manager *manager;
        const char *plan; /* NULL: any */
        uint64_t max_age_usec;
        sd_bus_message *reply;
} PartsCall;

static int append_part(const PartsCall *call, const RecordPart *part) {
        char name[LOCATION_STRING_MAX];

        return sd_bus_message_append(call->reply, "(ssstt)", location_format(&part->where, name), result_to_string(part->result), part->reason,
                                     part->index, part->age_usec);
}

static int append_server(const PartsCall *call, const Location *server) {
        RecordPart *parts = calloc(STANDING_PARTS, sizeof(*parts));
        int r = 0;

        if (!parts)
                return -ENOMEM;
        if (!standing_parts(call->manager, server, call->plan, call->max_age_usec, parts) && call->plan)
                tell_plan(call->manager, call->plan, parts, STANDING_PARTS);
        for (size_t i = 0; i < STANDING_PARTS && r >= 0; i++)
                r = append_part(call, &parts[i]);
        free(parts);
        return r;
}

static int append_chip(const PartsCall *call, const Location *chip) {
        RecordPart part;

        (void) standing_read(call->manager, chip, call->plan, call->max_age_usec, &part);
        return append_part(call, &part);
}

/* All servers that are called so, as those of an UltraServer are; else what TARGET itself is, if it is known or has records. -ENOENT */
static int append_parts(const PartsCall *call, const char *target) {
        Targets *targets = &call->manager->targets;
        Location where;
        RecordEntry entry;
        size_t n = 0;
        int r = 0;

        if (location_parse(target, &where, NULL, NULL) < 0)
                return -ENOENT;
        if (location_kind(&where) != LOCATION_SERVER)
                return targets_find(targets, where.server) ? append_chip(call, &where) : -ENOENT;
        if (targets_find(targets, target) || record_log_newest(call->manager->log, &where, NULL, &entry) >= 0)
                return append_server(call, &where);
        for (size_t i = 0; i < targets->n_items && r >= 0; i++) {
                Location server = {};

                if (strcmp(targets->items[i].ultraserver, target) != 0)
                        continue;
                (void) snprintf(server.server, sizeof(server.server), "%s", targets->items[i].config->name);
                r = append_server(call, &server);
                n++;
        }
        return r < 0 ? r : n > 0 ? 0 : -ENOENT;
}

int method_get_parts(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        sd_bus_message *reply = NULL;
        PartsCall call = { .manager = userdata };
        const char *target;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "sstt", &target, &call.plan, &call.max_age_usec, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        if (!call.plan[0])
                call.plan = NULL;

        r = sd_bus_message_new_method_return(message, &reply);
        call.reply = reply;
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(ssstt)");
        if (r >= 0)
                r = append_parts(&call, target);
        if (r == -ENOENT)
                r = bus_error_set(error, ASSAY_ERROR_NO_SUCH_TARGET, "Target '%.160s': no such target in the configuration", target);
        else if (r >= 0)
                r = sd_bus_message_close_container(reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);
        sd_bus_message_unref(reply);
        return r;
}

static int find_record(RecordLog *log, const Location *where, const char *plan, bool regions, uint64_t *ret) {
        RecordVerified verified = {};
        RecordEntry entry;
        int r;

        if (!regions) {
                r = record_log_newest(log, where, plan[0] ? plan : NULL, &entry);
                if (r >= 0)
                        *ret = entry.index;
                return r;
        }

        r = record_log_regions_verified(log, where, plan, &verified);
        if (r >= 0)
                *ret = verified.entry.index;
        record_verified_done(&verified);
        return r;
}

int method_find_record(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        const char *target, *plan;
        uint64_t flags, index;
        Location where;
        int r;

        r = sd_bus_message_read(message, "sst", &target, &plan, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, ASSAY_RECORD_REGIONS, error);
        if (r < 0)
                return r;

        r = location_parse(target, &where, NULL, NULL) < 0 ? -ENOENT :
                        find_record(manager->log, &where, plan, flags & ASSAY_RECORD_REGIONS, &index);
        if (r == -ENOENT)
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_RECORD, "No record of '%.160s'%s", target,
                                     flags & ASSAY_RECORD_REGIONS ? " tells regions" : "");
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_STORE, "The record of '%.160s' cannot be read: %s", target,
                                     strerror(-r));

        return sd_bus_reply_method_return(message, "t", index);
}
