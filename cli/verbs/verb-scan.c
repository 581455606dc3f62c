/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/plan-names.h"
#include "cli/bus/scan-watch.h"
#include "cli/results/verdicts.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

static int append_options(sd_bus_message *message) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r >= 0 && options.has_seed)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_SEED, "t", options.seed);
        if (r >= 0 && options.challenge)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_CHALLENGE, "s", options.challenge);
        if (r >= 0 && options.note)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_NOTE, "s", options.note);
        if (r >= 0 && options.budget_sec > 0)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_BUDGET, "d", options.budget_sec);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int request_scan(sd_bus *bus, char **targets, sd_bus_message **ret) {
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
        if (r >= 0)
                *ret = TAKE_PTR(message);
        return r < 0 ? r : 0;
}

/* A slip is told with what may have been meant. */
static int refuse_start(sd_bus *bus, char **targets, const sd_bus_error *error, int r) {
        char text[512], question[NEAREST_MAX + 32];

        if (sd_bus_error_has_name(error, ASSAY_ERROR_NO_SUCH_PLAN))
                return complain(STATUS_USAGE, "could not start the scan: %s%s", error->message,
                                plan_names_question(options.plan ?: "preflight", question, sizeof(question)));
        for (; sd_bus_error_has_name(error, ASSAY_ERROR_NO_SUCH_TARGET) && *targets; targets++)
                if (strstr(error->message, *targets) && !call_is_target(bus, *targets)) {
                        call_tell_target(bus, *targets, text, sizeof(text));
                        return complain(STATUS_USAGE, "could not start the scan: %s", text);
                }
        return complain_bus(error, r, "could not start the scan");
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *request = NULL;
        _cleanup_(scan_watch_done) ScanWatch watch = SCAN_WATCH_NONE;
        int r;

        if (options.no_wait && options.key)
                return complain(STATUS_USAGE, "--no-wait verifies nothing: give the keyring to assayctl show");
        r = call_connect(&bus);
        if (r != 0)
                return r;

        r = request_scan(bus, argv, &request);
        if (r >= 0)
                r = scan_watch_start(&watch, bus, argv[0], request);
        if (r == -EINTR)
                return STATUS_INTERRUPTED;
        if (r < 0)
                return refuse_start(bus, argv, &watch.error, r);
        if (options.no_wait) {
                printf(options.json ? "{\"scan\": %" PRIu64 "}\n" : "%" PRIu64 "\n", watch.id);
                return STATUS_PASSED;
        }

        r = scan_watch_wait(&watch);
        if (r == -EINTR)
                return STATUS_INTERRUPTED;
        if (r == -ETIMEDOUT)
                return STATUS_UNREACHABLE;
        if (r < 0) {
                char what[128];

                (void) snprintf(what, sizeof(what), "lost scan %" PRIu64 ", which goes on when assayd does (assayctl show %" PRIu64 ")", watch.id, watch.id);
                return complain_bus(&watch.error, r, what);
        }
        if (*watch.refusal)
                return complain(STATUS_CANNOT_TELL, "%s. It is tried again: assayctl show %" PRIu64, watch.refusal, watch.id);
        return verdicts_print(bus, &(OutcomeAsked) { .id = watch.id, .path = watch.path, .plan = options.plan ?: "preflight", .targets = argv }, false);
}

const Verb verb_scan = {
        .name = "scan",
        .min = 1,
        .max = -1,
        .arguments = "TARGET...",
        .summary = "Scan servers, chips or an UltraServer and show the verdicts",
        .options = "plan seed challenge note budget no-wait key keyring root",
        .run = run,
};
