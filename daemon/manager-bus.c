/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Manager: see manager.h. Its face on the bus. The order in every handler is law, since authorising runs it
 * a second time: read, validate, authorise, act, reply.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "daemon/authorize.h"
#include "daemon/bus-errors.h"
#include "daemon/keys-bus.h"
#include "daemon/log-bus.h"
#include "daemon/manager.h"
#include "daemon/names.h"
#include "daemon/scan-request.h"
#include "daemon/standing.h"
#include "daemon/verdict-bus.h"

#define OPEN_RECORDS_BYTES (4u << 20) /* of one call: others wait while it is copied */
#define OPEN_RECORDS_SLICE 16

static int start_scan(Manager *manager, ScanRequest *request, uid_t uid, sd_bus_message *message,
                      sd_bus_error *error) {
        Scan *scan;
        int r;

        r = scan_new(manager, uid, request->plan, request->selected, request->n_selected, &request->options,
                     message, &scan);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to start the scan: %s", strerror(-r));

        request->plan = NULL;
        request->selected = NULL;
        manager_add_scan(manager, scan);
        scan_start(scan);
        return 1; /* the answer comes when the run-start records are committed */
}

static int method_start_scan(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(scan_request_done) ScanRequest request = {};
        Manager *manager = userdata;
        uid_t uid;
        int r;

        manager_evict(manager);

        r = scan_request_read(message, &request, error);
        if (r < 0)
                return r;
        r = authorize_sender_uid(manager->authority, message, &uid);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to learn who asks: %s", strerror(-r));
        r = scan_request_validate(manager, &request, uid, error);
        if (r < 0)
                return r;

        r = log_bus_check_sound(manager, error);
        if (r == 0)
                r = keys_check_scan(manager->keys, error);
        if (r < 0)
                return r;

        const char *const details[] = { "targets", request.targets[0], "plan", request.plan_name, NULL };
        r = authorize(manager->authority, message, ASSAY_ACTION_SCAN, details, error);
        if (r < 0)
                return r;
        if (r == 0)
                return 1; /* polkit is being asked; this handler runs again with the answer */

        return start_scan(manager, &request, uid, message, error);
}

static const char *target_state(Manager *manager, Target *target) {
        if (target->job)
                return target->job->state == JOB_SIGNING ? ASSAY_STATE_SIGNING : ASSAY_STATE_RUNNING;

        if (target->n_waiting > 0)
                return ASSAY_STATE_QUEUED;
        return standing_is_unreachable(manager, target) ? ASSAY_TARGET_UNREACHABLE : ASSAY_TARGET_IDLE;
}

static int append_target(Manager *manager, sd_bus_message *reply, Target *target, const Location *where) {
        char name[LOCATION_STRING_MAX];
        Result result = standing_result(manager, target, where);
        bool is_chip = location_kind(where) == LOCATION_CHIP;

        return sd_bus_message_append(reply, "(ssss)", location_format(where, name),
                                     is_chip ? TARGET_CHIP_MODEL : target->config->model,
                                     target_state(manager, target),
                                     result == _RESULT_INVALID ? "" : result_to_string(result));
}

static int append_targets(Manager *manager, sd_bus_message *reply, bool with_chips) {
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ssss)");
        for (size_t i = 0; r >= 0 && i < manager->targets.n_items; i++) {
                Target *target = &manager->targets.items[i];
                Location where = {};

                (void) snprintf(where.server, sizeof(where.server), "%s", target->config->name);
                r = append_target(manager, reply, target, &where);
                for (unsigned c = 0; r >= 0 && with_chips && c < TARGET_CHIPS; c++) {
                        Location chip = where;

                        r = location_append(&chip, LOCATION_CHIP, c);
                        if (r >= 0)
                                r = append_target(manager, reply, target, &chip);
                }
        }
        if (r < 0)
                return r;

        return sd_bus_message_close_container(reply);
}

static int method_list_targets(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        sd_bus_message *reply = NULL;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "t", &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, ASSAY_TARGETS_CHIPS, error);
        if (r < 0)
                return r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = append_targets(manager, reply, flags & ASSAY_TARGETS_CHIPS);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);

        sd_bus_message_unref(reply);
        return r;
}

static int append_scans(Manager *manager, sd_bus_message *reply) {
        Scan *scan;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(tssso)");
        TAILQ_FOREACH(scan, &manager->scans, entry) {
                if (r < 0)
                        return r;
                if (scan->is_hidden || scan->state == SCAN_STARTING)
                        continue;
                r = sd_bus_message_append(reply, "(tssso)", scan->id, scan_plan_name(scan),
                                          scan_state_to_string(scan->state),
                                          scan_is_finished(scan) ? result_to_string(scan->result) : "",
                                          scan->path);
        }
        if (r < 0)
                return r;

        return sd_bus_message_close_container(reply);
}

static int method_list_scans(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        sd_bus_message *reply = NULL;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "t", &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = append_scans(manager, reply);
        if (r >= 0)
                r = sd_bus_send(NULL, reply, NULL);

        sd_bus_message_unref(reply);
        return r;
}

static int method_get_scan(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Scan *scan;
        uint64_t id;
        int r;

        r = sd_bus_message_read(message, "t", &id);
        if (r < 0)
                return r;
        scan = manager_find_scan(userdata, id);
        if (!scan)
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_SCAN, "No scan %" PRIu64, id);

        return sd_bus_reply_method_return(message, "o", scan->path);
}

typedef struct Range {
        RecordLog *log;
        uint64_t first, count;
} Range;

/* Slices, so that what one call may take is bounded by bytes and not by what records weigh. */
static int export_records(RecordLog *log, uint64_t first, uint64_t count, int fd) {
        while (count > 0) {
                uint64_t slice = count < OPEN_RECORDS_SLICE ? count : OPEN_RECORDS_SLICE;
                int n;

                n = record_log_export(log, first, slice, fd);
                if (n < 0)
                        return n;
                if ((uint64_t) n < slice || lseek(fd, 0, SEEK_CUR) >= (off_t) OPEN_RECORDS_BYTES)
                        return 0;
                first += (uint64_t) n;
                count -= (uint64_t) n;
                if (first >= record_log_size(log))
                        return 0;
        }

        return 0;
}

static int fill_records(const void *what, int fd, sd_bus_error *error) {
        const Range *range = what;
        int r;

        r = export_records(range->log, range->first, range->count, fd);
        return r < 0 ? bus_error_set(error, ASSAY_ERROR_STORE, "Failed to export records: %s", strerror(-r)) : 0;
}

static int method_open_records(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        Range range = { .log = manager->log };
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "ttt", &range.first, &range.count, &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        if (range.first >= record_log_size(manager->log))
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_RECORD,
                                     "No record %" PRIu64 ", the log has %" PRIu64, range.first,
                                     record_log_size(manager->log));
        if (range.count == 0)
                range.count = UINT64_MAX;

        return loans_reply(manager->loans, manager->authority, message, "assay-records", fill_records, &range, error);
}

static int property_get_version(sd_bus *bus, const char *path, const char *interface, const char *property,
                                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", ASSAY_VERSION);
}

static int property_get_origin(sd_bus *bus, const char *path, const char *interface, const char *property,
                               sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Manager *manager = userdata;

        return sd_bus_message_append(reply, "s", manager->config->origin);
}

static int property_get_log_size(sd_bus *bus, const char *path, const char *interface, const char *property,
                                 sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;

        return sd_bus_message_append(reply, "t", record_log_size(manager->log));
}

static int property_get_key_id(sd_bus *bus, const char *path, const char *interface, const char *property,
                               sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Manager *manager = userdata;

        return sd_bus_message_append(reply, "s", record_log_key_id(manager->log));
}

static int property_get_public_key(sd_bus *bus, const char *path, const char *interface,
                                   const char *property, sd_bus_message *reply, void *userdata,
                                   sd_bus_error *error) {
        const Manager *manager = userdata;

        return sd_bus_message_append(reply, "s", manager->public_key);
}

static int property_get_witnesses(sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply,
                                  void *userdata, sd_bus_error *error) {
        const Manager *manager = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; i < manager->config->n_witnesses && r >= 0; i++)
                r = sd_bus_message_append(reply, "s", manager->config->witnesses[i]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Version", "s", property_get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Origin", "s", property_get_origin, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("LogSize", "t", property_get_log_size, 0, 0),
        SD_BUS_PROPERTY("Scrub", "(tttts)", property_get_scrub, 0, 0),
        SD_BUS_PROPERTY("LogLost", "s", property_get_log_lost, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("LogWrong", "s", property_get_log_wrong, 0, 0),
        SD_BUS_PROPERTY("KeyId", "s", property_get_key_id, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("PublicKey", "s", property_get_public_key, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("LogKey", "s", property_get_log_key, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Witnesses", "as", property_get_witnesses, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_METHOD_WITH_ARGS("ListTargets",
                                SD_BUS_ARGS("t", flags),
                                SD_BUS_RESULT("a(ssss)", targets),
                                method_list_targets,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("StartScan",
                                SD_BUS_ARGS("as", targets, "s", plan, "a{sv}", options, "t", flags),
                                SD_BUS_RESULT("t", id, "o", scan),
                                method_start_scan,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("ListScans",
                                SD_BUS_ARGS("t", flags),
                                SD_BUS_RESULT("a(tssso)", scans),
                                method_list_scans,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetScan",
                                SD_BUS_ARGS("t", id),
                                SD_BUS_RESULT("o", scan),
                                method_get_scan,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetVerdict",
                                SD_BUS_ARGS("s", target, "s", plan, "t", max_age_usec, "t", flags),
                                SD_BUS_RESULT("s", verdict, "s", reason, "t", index, "t", age_usec),
                                method_get_verdict,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetParts",
                                SD_BUS_ARGS("s", target, "s", plan, "t", max_age_usec, "t", flags),
                                SD_BUS_RESULT("a(ssstt)", parts),
                                method_get_parts,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("FindRecord",
                                SD_BUS_ARGS("s", target, "s", plan, "t", flags),
                                SD_BUS_RESULT("t", index),
                                method_find_record,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenRecords",
                                SD_BUS_ARGS("t", first, "t", count, "t", flags),
                                SD_BUS_RESULT("h", records),
                                method_open_records,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetCheckpoint",
                                SD_BUS_ARGS("t", flags),
                                SD_BUS_RESULT("s", note),
                                method_get_checkpoint,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetProof",
                                SD_BUS_ARGS("t", index, "t", flags),
                                SD_BUS_RESULT("s", proof),
                                method_get_proof,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetCompanion",
                                SD_BUS_ARGS("t", index, "t", flags),
                                SD_BUS_RESULT("s", envelope),
                                method_get_companion,
                                SD_BUS_VTABLE_UNPRIVILEGED | SD_BUS_VTABLE_DEPRECATED),
        SD_BUS_METHOD_WITH_ARGS("GetIdentity",
                                SD_BUS_ARGS("s", sha256, "t", flags),
                                SD_BUS_RESULT("s", document),
                                method_get_identity,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("GetConsistency",
                                SD_BUS_ARGS("t", old, "t", size, "t", flags),
                                SD_BUS_RESULT("as", hashes),
                                method_get_consistency,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("AddCosignatures",
                                SD_BUS_ARGS("s", note, "t", flags),
                                SD_BUS_NO_RESULT,
                                method_add_cosignatures,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenLeaves",
                                SD_BUS_ARGS("t", first, "t", count, "t", flags),
                                SD_BUS_RESULT("h", leaves),
                                method_open_leaves,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("ScanNew", SD_BUS_ARGS("t", id, "o", scan), 0),
        SD_BUS_SIGNAL_WITH_ARGS("ScanRemoved", SD_BUS_ARGS("t", id, "o", scan, "s", result), 0),
        SD_BUS_SIGNAL_WITH_ARGS("RecordSigned",
                                SD_BUS_ARGS("t", index, "s", id, "s", subject, "s", result),
                                0),
        SD_BUS_SIGNAL_WITH_ARGS("Checkpointed", SD_BUS_ARGS("t", size), 0),
        SD_BUS_VTABLE_END
};

int manager_bus_attach(Manager *manager, sd_bus *bus) {
        int r;

        r = bus_errors_add();
        if (r < 0)
                return r;

        return sd_bus_add_object_vtable(bus, NULL, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE,
                                        manager_vtable, manager);
}

/* A lost signal never fails a scan. */
void manager_bus_scan_new(Manager *manager, const Scan *scan) {
        if (manager->bus)
                (void) sd_bus_emit_signal(manager->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE,
                                          "ScanNew", "to", scan->id, scan->path);
}

void manager_bus_scan_removed(Manager *manager, const Scan *scan) {
        if (manager->bus)
                (void) sd_bus_emit_signal(manager->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE,
                                          "ScanRemoved", "tos", scan->id, scan->path,
                                          result_to_string(scan->result));
}

void manager_bus_record_signed(Manager *manager, const RecordEntry *entry) {
        char subject[LOCATION_STRING_MAX];

        if (manager->bus)
                (void) sd_bus_emit_signal(manager->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE,
                                          "RecordSigned", "tsss", entry->index, entry->id,
                                          location_format(&entry->subject, subject),
                                          record_is_verdict(entry) ? result_to_string(entry->result) : "");
}
