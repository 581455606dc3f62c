/* SPDX-License-Identifier: Apache-2.0 */

/* ScanRequest: see scan-request.h. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/bus-errors.h"
#include "daemon/names.h"
#include "daemon/scan-request.h"

#define TARGETS_ASKED_MAX 4096

void scan_request_done(ScanRequest *request) {
        for (char **target = request->targets; target && *target; target++)
                free(*target);

        free(request->targets);
        free(request->selected);
        plan_free(request->plan);
}

#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* Bits that no byte comes out of are zero: records and their readers take nothing else. */
static bool is_base64(const char *text) {
        static const char *const last[] = { BASE64, "AEIMQUYcgkosw048", "AQgw" }; /* letters before so much padding */
        size_t n = strspn(text, BASE64), padding = strspn(text + n, "=");

        return n > 0 && padding < ELEMENTS(last) && text[n + padding] == '\0' && (n + padding) % 4 == 0 && strchr(last[padding], text[n - 1]);
}

static int read_challenge(sd_bus_message *message, ScanOptions *options, sd_bus_error *error) {
        const char *challenge;
        int r;

        r = sd_bus_message_read(message, "v", "s", &challenge);
        if (r < 0)
                return r;
        if (strlen(challenge) > SCAN_CHALLENGE_MAX || !is_base64(challenge))
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                     "%s is not 4 to %d characters of base64", ASSAY_OPTION_CHALLENGE,
                                     SCAN_CHALLENGE_MAX);

        (void) snprintf(options->challenge, sizeof(options->challenge), "%s", challenge);
        return 0;
}

static int read_note(sd_bus_message *message, ScanOptions *options, sd_bus_error *error) {
        const char *note;
        int r;

        r = sd_bus_message_read(message, "v", "s", &note);
        if (r < 0)
                return r;
        if (!note_text_is_valid(note))
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "%s is no line of 1 to %d bytes of printable text", ASSAY_OPTION_NOTE,
                                     NOTE_TEXT_MAX - 1);

        (void) snprintf(options->note, sizeof(options->note), "%s", note);
        return 0;
}

static int read_seed(sd_bus_message *message, ScanOptions *options, sd_bus_error *error) {
        int r;

        r = sd_bus_message_read(message, "v", "t", &options->seed);
        if (r < 0)
                return r;
        if (options->seed > SCAN_SEED_MAX)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "%s is larger than %" PRIu64,
                                     ASSAY_OPTION_SEED, SCAN_SEED_MAX);

        options->has_seed = true;
        return 0;
}

static int read_budget(sd_bus_message *message, ScanOptions *options, sd_bus_error *error) {
        int r;

        r = sd_bus_message_read(message, "v", "d", &options->budget_sec);
        if (r < 0)
                return r;
        if (!isfinite(options->budget_sec) || options->budget_sec <= 0)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "%s is no positive number",
                                     ASSAY_OPTION_BUDGET);
        return 0;
}

static const struct {
        const char *name;
        int (*read)(sd_bus_message *message, ScanOptions *options, sd_bus_error *error);
} scan_options[] = {
        { ASSAY_OPTION_SEED,      read_seed      },
        { ASSAY_OPTION_CHALLENGE, read_challenge },
        { ASSAY_OPTION_NOTE,      read_note      },
        { ASSAY_OPTION_BUDGET,    read_budget    },
};

/* A wrong type comes as -ENXIO from the reader. */
static int read_option(sd_bus_message *message, ScanOptions *options, unsigned *seen, sd_bus_error *error) {
        const char *name;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTS(scan_options); i++) {
                if (strcmp(name, scan_options[i].name) != 0)
                        continue;
                if (*seen & (1u << i))
                        return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                             "Option '%s' is given twice", name);
                *seen |= 1u << i;
                r = scan_options[i].read(message, options, error);
                if (r == -ENXIO && !sd_bus_error_is_set(error))
                        return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                             "Option '%s' has another type", name);
                return r;
        }

        return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Unknown option '%.64s'", name);
}

static int read_options(sd_bus_message *message, ScanOptions *options, sd_bus_error *error) {
        unsigned seen = 0;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = read_option(message, options, &seen, error);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }

        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int scan_request_read(sd_bus_message *message, ScanRequest *request, sd_bus_error *error) {
        int r;

        r = sd_bus_message_read_strv(message, &request->targets);
        if (r >= 0)
                r = sd_bus_message_read(message, "s", &request->plan_name);
        if (r >= 0)
                r = read_options(message, &request->options, error);
        if (r >= 0)
                r = sd_bus_message_read(message, "t", &request->flags);
        if (r < 0)
                return r;

        return bus_check_flags(request->flags, ASSAY_SCAN_NO_QUEUE, error);
}

static int validate_plan(Manager *manager, ScanRequest *request, sd_bus_error *error) {
        const char *folders = config_plans(manager->config);
        _cleanup_free_ char *text = NULL;
        int r;

        r = plan_find(folders, request->plan_name, &request->plan, &text);
        if (r == -ENOENT)
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_PLAN, "No plan '%.64s' in %s",
                                     request->plan_name, folders);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return bus_error_set(error, ASSAY_ERROR_BAD_PLAN, "%s", text ? text : strerror(-r));
        if (request->plan->n_steps == 0)
                return bus_error_set(error, ASSAY_ERROR_BAD_PLAN, "Plan '%s' has no steps",
                                     request->plan_name);
        if (request->options.budget_sec > request->plan->budget_sec)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "%s is more than the plan's %g s",
                                     ASSAY_OPTION_BUDGET, request->plan->budget_sec);
        return 0;
}

static int validate_targets(Manager *manager, ScanRequest *request, sd_bus_error *error) {
        SelectError wrong;
        size_t at, n = 0;
        int r;

        while (request->targets && request->targets[n])
                if (++n > TARGETS_ASKED_MAX)
                        return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "More than %d targets",
                                             TARGETS_ASKED_MAX);

        r = targets_select(&manager->targets, request->targets, &request->selected, &request->n_selected,
                           &wrong, &at);
        if (r < 0)
                return r;
        if (wrong == SELECT_NOTHING)
                return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "No targets");
        if (wrong == SELECT_TWICE || wrong == SELECT_DEPTH)
                return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "Target '%.160s': %s",
                                     request->targets[at], select_error_to_string(wrong));
        if (wrong != SELECT_OK)
                return bus_error_set(error, ASSAY_ERROR_NO_SUCH_TARGET, "Target '%.160s': %s",
                                     request->targets[at], select_error_to_string(wrong));
        return 0;
}

/* The worker would refuse them, in the record of each chip. */
static int validate_crowd(const Manager *manager, const ScanRequest *request, sd_bus_error *error) {
        const char *ultraserver = "";
        size_t n = scan_crowd(manager, request->plan, request->selected, request->n_selected, &ultraserver);

        if (n == 0)
                return 0;
        return bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                             "%s has %zu servers by their names, and an UltraServer has %d; `topology` in assayd.yaml can tell which belong together", ultraserver, n,
                             SCAN_RING_MAX);
}

/* What depends on the moment is checked after polkit has answered too: this runs both times. */
static int validate_load(Manager *manager, const ScanRequest *request, uid_t uid, sd_bus_error *error) {
        size_t n, total;

        n = manager_count_scans(manager, uid, &total);
        if (n >= manager->config->limits.scans_per_uid || total >= manager->config->limits.scans)
                return bus_error_set(error, ASSAY_ERROR_TOO_MANY_SCANS,
                                     "%zu scans of uid %u and %zu in all are not finished", n,
                                     (unsigned) uid, total);

        for (size_t i = 0; (request->flags & ASSAY_SCAN_NO_QUEUE) && i < request->n_selected; i++) {
                const Target *target = request->selected[i].target;

                if (target->job || target->n_waiting > 0)
                        return bus_error_set(error, ASSAY_ERROR_OCCUPIED, "%s is being scanned",
                                             target->config->name);
        }

        return 0;
}

int scan_request_validate(Manager *manager, ScanRequest *request, uid_t uid, sd_bus_error *error) {
        int r;

        r = validate_targets(manager, request, error);
        if (r < 0)
                return r;
        r = validate_plan(manager, request, error);
        if (r < 0)
                return r;
        r = validate_crowd(manager, request, error);
        if (r < 0)
                return r;

        return validate_load(manager, request, uid, error);
}
