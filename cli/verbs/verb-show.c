/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/reply.h"
#include "cli/bus/scan-path.h"
#include "cli/results/verdicts.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

/* What has not ended cannot be told. */
static int print_state(uint64_t id, const char *state, const char *plan, const char *message, uint32_t percent) {
        if (options.json) {
                _cleanup_(json_decrefp) json_t *object = json_pack("{s:I, s:s, s:s, s:i}", "scan", (json_int_t) id, "state", state, "plan", plan,
                                                                   "progress", (int) percent);

                (void) json_dumpf(object, stdout, 0);
                putchar('\n');
        } else
                say(stdout, "Scan %" PRIu64 " (%s): %s, %" PRIu32 " %%\n", id, plan, state, percent);
        return *message ? complain(STATUS_CANNOT_TELL, "%s. It is tried again", message) : STATUS_CANNOT_TELL;
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *path = NULL, *state = NULL, *plan = NULL, *message = NULL;
        uint32_t percent = 0;
        uint64_t id = 0;
        int r;

        r = call_connect(&bus);
        if (r != 0)
                return r;
        r = scan_path(bus, argv[0], &id, &path);
        if (r != 0)
                return r;

        r = reply_property_string(bus, path, ASSAY_SCAN_INTERFACE, "State", &error, &state);
        if (r >= 0)
                r = reply_property_string(bus, path, ASSAY_SCAN_INTERFACE, "Plan", &error, &plan);
        if (r >= 0)
                r = reply_property_string(bus, path, ASSAY_SCAN_INTERFACE, "Message", &error, &message);
        if (r >= 0)
                r = reply_property_trivial(bus, path, ASSAY_SCAN_INTERFACE, "Progress", &error, 'u', &percent);
        if (r < 0)
                return complain_bus(&error, r, "could not read the scan");
        if (strcmp(state, ASSAY_STATE_FINISHED) != 0)
                return print_state(id, state, plan, message, percent);

        pager_open();
        return verdicts_print(bus, &(OutcomeAsked) { .id = id, .path = path, .plan = plan, .targets = &argv[1] }, true);
}

const Verb verb_show = {
        .name = "show",
        .min = 1,
        .max = 1,
        .arguments = "SCAN|ID",
        .summary = "Show a scan and its verdicts",
        .options = "key keyring root",
        .run = run,
};
