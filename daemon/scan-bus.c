/* SPDX-License-Identifier: Apache-2.0 */

/* Scan: see scan.h. Its face on the bus: one fallback vtable for all scans. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/authorize.h"
#include "daemon/bus-errors.h"
#include "daemon/history.h"
#include "daemon/log-bus.h"
#include "daemon/manager.h"
#include "daemon/names.h"
#include "daemon/unrecorded.h"

#define CHANGED_MAX       8
#define OPEN_STREAM_BYTES STREAM_BYTES_MAX /* of all jobs: it is memory of ours, and others wait meanwhile */

static Scan *find_by_path(Manager *manager, const char *path) {
        static const char prefix[] = ASSAY_SCAN_PATH_PREFIX "/_";
        Scan *scan;

        if (strncmp(path, prefix, strlen(prefix)) != 0)
                return NULL;

        /* One object, one path: "/_042" is none. */
        scan = manager_find_scan(manager, strtoull(path + strlen(prefix), NULL, 10));
        return scan && strcmp(scan->path, path) == 0 ? scan : NULL;
}

static int find_scan(sd_bus *bus, const char *path, const char *interface, void *userdata, void **ret_found,
                     sd_bus_error *error) {
        Scan *scan = find_by_path(userdata, path);

        if (!scan)
                return 0;

        *ret_found = scan;
        return 1;
}

static int enumerate_scans(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
                           sd_bus_error *error) {
        Manager *manager = userdata;
        size_t n = 0, count = 0;
        char **nodes;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                count++;
        nodes = calloc(count + 1, sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;

        TAILQ_FOREACH(scan, &manager->scans, entry) {
                if (!manager_find_scan(manager, scan->id))
                        continue;
                nodes[n] = strdup(scan->path);
                if (!nodes[n++]) {
                        while (n-- > 0)
                                free(nodes[n]);
                        free(nodes);
                        return -ENOMEM;
                }
        }

        *ret_nodes = nodes;
        return 1;
}

/* Whoever started a scan may cancel it; others ask polkit. */
static int method_cancel(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Scan *scan = userdata;
        const char *const details[] = { "plan", scan_plan_name(scan), NULL };
        uint64_t flags;
        uid_t uid;
        int r;

        r = sd_bus_message_read(message, "t", &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;
        if (scan->state == SCAN_SIGNING || scan_is_finished(scan))
                return bus_error_set(error, ASSAY_ERROR_SCAN_FINISHED, "Scan %" PRIu64 " has ended",
                                     scan->id);

        r = authorize_sender_uid(scan->manager->authority, message, &uid);
        if (r < 0)
                return sd_bus_error_set_errnof(error, r, "Failed to learn who asks: %s", strerror(-r));
        if (uid != scan->uid) {
                r = authorize(scan->manager->authority, message, ASSAY_ACTION_CANCEL_ANY, details, error);
                if (r < 0)
                        return r;
                if (r == 0)
                        return 1;
        }

        r = sd_bus_reply_method_return(message, NULL);
        scan_cancel(scan);
        return r < 0 ? r : 1;
}

/* -EFBIG: with what is there already it is more than OPEN_STREAM_BYTES. */
static int copy_stream(const Scan *scan, const char *run, int fd) {
        char name[RUN_ID_BYTES + sizeof(EVIDENCE_SUFFIX)];
        int r;

        (void) snprintf(name, sizeof(name), "%s" EVIDENCE_SUFFIX, run);
        r = evidence_copy(scan->manager->config->evidence, name, fd);
        if (r < 0 && r != -ENOENT) /* a job that has not begun has said nothing */
                return r;
        return lseek(fd, 0, SEEK_CUR) > (off_t) OPEN_STREAM_BYTES ? -EFBIG : 0;
}

static int copy_streams(const Scan *scan, int fd) {
        int r = 0;

        for (size_t i = 0; i < scan->n_jobs && r >= 0; i++)
                r = copy_stream(scan, scan->jobs[i]->servers[0].run, fd);
        for (size_t i = 0; scan->past && i < scan->past->n_runs && r >= 0; i++)
                r = copy_stream(scan, scan->past->runs[i], fd);
        return r;
}

static int fill_stream(const void *what, int fd, sd_bus_error *error) {
        const Scan *scan = what;
        int r;

        r = copy_streams(scan, fd);
        if (r == -EFBIG)
                return bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                     "The streams of scan %" PRIu64 " have more than %u MiB together",
                                     scan->id, OPEN_STREAM_BYTES >> 20);
        return r < 0 ? sd_bus_error_set_errnof(error, r, "Failed to copy the stream: %s", strerror(-r)) : 0;
}

static int method_open_stream(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Scan *scan = userdata;
        uint64_t flags;
        int r;

        r = sd_bus_message_read(message, "t", &flags);
        if (r < 0)
                return r;
        r = bus_check_flags(flags, 0, error);
        if (r < 0)
                return r;

        return loans_reply(scan->manager->loans, scan->manager->authority, message, "assay-stream", fill_stream, scan, error);
}

static int property_get_state(sd_bus *bus, const char *path, const char *interface, const char *property,
                              sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Scan *scan = userdata;

        return sd_bus_message_append(reply, "s", scan_state_to_string(scan->state));
}

static int property_get_plan(sd_bus *bus, const char *path, const char *interface, const char *property,
                             sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Scan *scan = userdata;

        return sd_bus_message_append(reply, "s", scan_plan_name(scan));
}

static int append_selected(sd_bus_message *reply, const Selected *selected) {
        const char *server = selected->target->config->name;
        char name[LOCATION_STRING_MAX];
        int r = 0;

        if (selected->chips == TARGET_CHIPS_ALL)
                return sd_bus_message_append(reply, "s", server);

        for (unsigned c = 0; r >= 0 && c < TARGET_CHIPS; c++)
                if ((selected->chips >> c) & 1) {
                        (void) snprintf(name, sizeof(name), "%s/chip%u", server, c);
                        r = sd_bus_message_append(reply, "s", name);
                }

        return r;
}

static int property_get_targets(sd_bus *bus, const char *path, const char *interface, const char *property,
                                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Scan *scan = userdata;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "s");
        for (size_t i = 0; r >= 0 && i < scan->n_selected; i++)
                r = append_selected(reply, &scan->selected[i]);
        for (size_t i = 0; r >= 0 && scan->past && i < scan->past->n_targets; i++)
                r = sd_bus_message_append(reply, "s", scan->past->targets[i]);
        if (r < 0)
                return r;

        return sd_bus_message_close_container(reply);
}

static int property_get_result(sd_bus *bus, const char *path, const char *interface, const char *property,
                               sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Scan *scan = userdata;

        return sd_bus_message_append(reply, "s",
                                     scan_is_finished(scan) ? result_to_string(scan->result) : "");
}

static int property_get_message(sd_bus *bus, const char *path, const char *interface, const char *property,
                                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        char reason[UNRECORDED_REASON_MAX] = "";
        const Scan *scan = userdata;

        if (scan->state == SCAN_SIGNING || scan_is_finished(scan))
                unrecorded_scan(scan, reason);
        return sd_bus_message_append(reply, "s", reason);
}

static int property_get_cancelled(sd_bus *bus, const char *path, const char *interface, const char *property,
                                  sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Scan *scan = userdata;

        return sd_bus_message_append(reply, "b", (int) scan->is_cancelled);
}

static int property_get_records(sd_bus *bus, const char *path, const char *interface, const char *property,
                                sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Scan *scan = userdata;

        return sd_bus_message_append_array(reply, 't', scan->records,
                                           scan->n_records * sizeof(*scan->records));
}

static const sd_bus_vtable scan_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Id", "t", NULL, offsetof(Scan, id), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("State", "s", property_get_state, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Plan", "s", property_get_plan, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Targets", "as", property_get_targets, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Progress", "u", NULL, offsetof(Scan, progress),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Result", "s", property_get_result, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Message", "s", property_get_message, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Records", "at", property_get_records, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Cancelled", "b", property_get_cancelled, 0, 0),
        SD_BUS_PROPERTY("RequesterUID", "u", NULL, offsetof(Scan, uid), SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("StartedUSec", "t", NULL, offsetof(Scan, started_usec),
                        SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("FinishedUSec", "t", NULL, offsetof(Scan, finished_usec),
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_METHOD_WITH_ARGS("Cancel", SD_BUS_ARGS("t", flags), SD_BUS_NO_RESULT, method_cancel,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("OpenStream", SD_BUS_ARGS("t", flags), SD_BUS_RESULT("h", stream),
                                method_open_stream, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_SIGNAL_WITH_ARGS("Finding",
                                SD_BUS_ARGS("s", severity, "s", code, "s", location, "s", message), 0),
        SD_BUS_VTABLE_END
};

int scan_bus_attach(Manager *manager, sd_bus *bus) {
        int r;

        r = sd_bus_add_fallback_vtable(bus, NULL, ASSAY_SCAN_PATH_PREFIX, ASSAY_SCAN_INTERFACE, scan_vtable,
                                       find_scan, manager);
        if (r < 0)
                return r;

        return sd_bus_add_node_enumerator(bus, NULL, ASSAY_SCAN_PATH_PREFIX, enumerate_scans, manager);
}

static bool is_known(const Scan *scan) {
        return scan->manager->bus && !scan->is_hidden && scan->state != SCAN_STARTING;
}

void scan_bus_finding(Scan *scan, const Finding *finding) {
        char where[LOCATION_STRING_MAX];

        if (is_known(scan))
                (void) sd_bus_emit_signal(scan->manager->bus, scan->path, ASSAY_SCAN_INTERFACE, "Finding",
                                          "ssss", severity_to_string(finding->severity), finding->code,
                                          location_format(&finding->where, where),
                                          finding->message ? finding->message : "");
}

void scan_bus_changed(Scan *scan, const char *property, ...) {
        char *names[CHANGED_MAX + 1] = {};
        va_list arguments;
        size_t n = 0;

        if (!is_known(scan))
                return;

        va_start(arguments, property);
        for (const char *name = property; name && n < CHANGED_MAX; name = va_arg(arguments, const char *))
                names[n++] = (char *) name;
        va_end(arguments);

        (void) sd_bus_emit_properties_changed_strv(scan->manager->bus, scan->path, ASSAY_SCAN_INTERFACE,
                                                   names);
}

/* Answers StartScan, and tells everybody. */
void scan_bus_answer(Scan *scan) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        if (scan->request && scan->start_error < 0 && log_bus_check_sound(scan->manager, &error) < 0)
                (void) sd_bus_reply_method_error(scan->request, &error);
        else if (scan->request && scan->start_error < 0)
                (void) sd_bus_reply_method_errorf(scan->request,
                                                  scan->start_error == -EINVAL ? SD_BUS_ERROR_INVALID_ARGS :
                                                                                 ASSAY_ERROR_STORE,
                                                  "The run-start record could not be committed: %s",
                                                  strerror(-scan->start_error));
        else if (scan->request)
                (void) sd_bus_reply_method_return(scan->request, "to", scan->id, scan->path);

        scan->request = sd_bus_message_unref(scan->request);
        if (scan->start_error >= 0)
                manager_bus_scan_new(scan->manager, scan);
}
