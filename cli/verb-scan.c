/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/assayctl.h"
#include "cli/call.h"
#include "cli/progress.h"
#include "cli/verdicts.h"
#include "daemon/names.h"

#define TOLD_MAX 4096

typedef struct Watch {
        sd_bus *bus;
        const char *path; /* NULL until StartScan has answered */
        const char *what;
        bool changed;
        bool lost; /* the daemon has left the bus */
        size_t n_told;
        char *told[TOLD_MAX]; /* findings, as they were printed */
} Watch;

static void watch_done(Watch *watch) {
        for (size_t i = 0; i < watch->n_told; i++)
                free(watch->told[i]);
}

/* Steps of a plan that test the same thing find the same: each is told once, as far as there is room to remember. */
static bool is_news(Watch *watch, const char *line) {
        for (size_t i = 0; i < watch->n_told; i++)
                if (strcmp(watch->told[i], line) == 0)
                        return false;
        if (watch->n_told < TOLD_MAX && (watch->told[watch->n_told] = strdup(line)))
                watch->n_told++;
        return true;
}

static int on_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Watch *watch = userdata;

        if (watch->path && sd_bus_message_get_path(message) && strcmp(sd_bus_message_get_path(message), watch->path) == 0)
                watch->changed = true;
        return 0;
}

static int on_finding(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Watch *watch = userdata;
        const char *severity, *code, *where, *text;
        _cleanup_free_ char *line = NULL;

        if (options.json || options.quiet || !watch->path || strcmp(sd_bus_message_get_path(message), watch->path) != 0)
                return 0;
        if (sd_bus_message_read(message, "ssss", &severity, &code, &where, &text) < 0)
                return 0;

        if (asprintf(&line, "%s: %s at %s", severity, code, where) < 0) {
                line = NULL;
                return -ENOMEM;
        }
        if (is_news(watch, line)) {
                progress_clear();
                say(stderr, "%s\n", line);
        }
        return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Watch *watch = userdata;
        const char *name, *old_owner, *new_owner;

        if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 && *old_owner && !*new_owner)
                watch->lost = true;
        return 0;
}

/* Before the scan starts, or its first signals are missed. */
static int subscribe(Watch *watch) {
        int r;

        r = sd_bus_match_signal(watch->bus, NULL, ASSAY_BUS_NAME, NULL, "org.freedesktop.DBus.Properties",
                                "PropertiesChanged", on_changed, watch);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(watch->bus, NULL, ASSAY_BUS_NAME, NULL, ASSAY_SCAN_INTERFACE, "Finding", on_finding, watch);
        if (r < 0)
                return r;
        return sd_bus_add_match(watch->bus, NULL,
                                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" ASSAY_BUS_NAME "'",
                                on_owner, watch);
}

static int append_options(sd_bus_message *message) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r >= 0 && options.has_seed)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_SEED, "t", options.seed);
        if (r >= 0 && options.challenge)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_CHALLENGE, "s", options.challenge);
        if (r >= 0 && options.budget_sec > 0)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_BUDGET, "d", options.budget_sec);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int start(sd_bus *bus, char **targets, sd_bus_error *error, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "StartScan");
        if (r >= 0)
                r = sd_bus_message_append_strv(message, targets);
        if (r >= 0)
                r = sd_bus_message_append(message, "s", options.plan ?: "preflight");
        if (r >= 0)
                r = append_options(message);
        if (r >= 0)
                r = sd_bus_message_append(message, "t", (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(message, true);
        return r < 0 ? r : sd_bus_call(bus, message, 0, error, ret);
}

/* 1 finished, 0 not yet, negative: could not ask. */
static int poll_state(Watch *watch, sd_bus_error *error) {
        _cleanup_free_ char *state = NULL;
        uint32_t percent = 0;
        int r;

        watch->changed = false;
        r = sd_bus_get_property_string(watch->bus, ASSAY_BUS_NAME, watch->path, ASSAY_SCAN_INTERFACE, "State", error, &state);
        if (r < 0)
                return r;
        if (strcmp(state, ASSAY_STATE_FINISHED) == 0)
                return 1;

        r = sd_bus_get_property_trivial(watch->bus, ASSAY_BUS_NAME, watch->path, ASSAY_SCAN_INTERFACE, "Progress", error, 'u',
                                        &percent);
        if (r < 0)
                return r;
        progress_draw(watch->what, state, percent);
        return 0;
}

static int wait_for_end(Watch *watch, sd_bus_error *error) {
        int r;

        watch->changed = true;
        for (;;) {
                if (watch->lost)
                        return -ECONNRESET;
                if (watch->changed) {
                        r = poll_state(watch, error);
                        if (r != 0)
                                return r;
                }

                r = sd_bus_process(watch->bus, NULL);
                if (r < 0)
                        return r;
                if (r == 0 && (r = sd_bus_wait(watch->bus, UINT64_MAX)) < 0 && r != -EINTR)
                        return r;
        }
}

int verb_scan(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(watch_done) Watch watch = { .what = argv[0] };
        uint64_t id;
        int r;

        if (options.no_wait && options.key)
                return complain(STATUS_USAGE, "--no-wait verifies nothing: give the keyring to assayctl show");
        r = call_connect(&bus);
        if (r != 0)
                return r;

        watch.bus = bus;
        r = subscribe(&watch);
        if (r >= 0)
                r = start(bus, argv, &error, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "to", &id, &watch.path);
        if (r < 0)
                return complain_bus(&error, r, "could not start the scan");
        if (options.no_wait) {
                printf(options.json ? "{\"scan\": %" PRIu64 "}\n" : "%" PRIu64 "\n", id);
                return STATUS_PASSED;
        }

        r = wait_for_end(&watch, &error);
        progress_clear();
        if (r < 0)
                return complain_bus(&error, r, "lost the scan");
        return verdicts_print(bus, &(OutcomeAsked) { .id = id, .path = watch.path, .plan = options.plan ?: "preflight", .targets = argv }, false);
}
