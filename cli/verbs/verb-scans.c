/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

/* One of them and how many more; programs get them all. NULL where they cannot be told, as of a scan that was forgotten since it was listed. */
static char *targets_of(sd_bus *bus, const char *path) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        char *text = NULL;
        const char *name;
        size_t n_text, n = 0;
        FILE *file;

        if (reply_property(bus, path, ASSAY_SCAN_INTERFACE, "Targets", NULL, "as", &reply) < 0 ||
            sd_bus_message_enter_container(reply, 'a', "s") < 0)
                return NULL;
        file = open_memstream(&text, &n_text);
        if (!file)
                return NULL;
        for (; sd_bus_message_read(reply, "s", &name) > 0; n++)
                if (n == 0 || options.json)
                        fprintf(file, "%s%s", n > 0 ? " " : "", name);
        if (n > 1 && !options.json)
                fprintf(file, " and %zu more", n - 1);
        if (fclose(file) == 0)
                return text;
        free(text);
        return NULL;
}

/* By this daemon: of an earlier one's scans only the records tell. */
static bool is_cancelled(sd_bus *bus, const char *path) {
        int cancelled;

        return reply_property_trivial(bus, path, ASSAY_SCAN_INTERFACE, "Cancelled", NULL, 'b', &cancelled) >= 0 && cancelled;
}

static int run(int argc, char **argv) {
        static const TableColumn columns[] = {
                { "SCAN",    "scan",    true,  false },
                { "TARGETS", "targets", false, false },
                { "PLAN",    "plan",    false, false },
                { "STATE",   "state",   false, false },
                { "RESULT",  "result",  false, false },
                {},
        };
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(table_freep) Table *table = NULL;
        const char *plan, *state, *result, *path;
        uint64_t id;
        int r;

        r = call_connect(&bus);
        if (r != 0)
                return r;
        r = call_manager(bus, "ListScans", &error, &reply, "t", (uint64_t) 0);
        if (r < 0)
                return complain_bus(&error, r, "could not list scans");

        r = table_new(columns, &table);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(tssso)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(tssso)", &id, &plan, &state, &result, &path)) > 0) {
                _cleanup_free_ char *targets = targets_of(bus, path);
                char number[24];

                snprintf(number, sizeof(number), "%" PRIu64, id);
                if (!options.json && strcmp(state, ASSAY_STATE_FINISHED) == 0 && is_cancelled(bus, path))
                        state = "cancelled";
                r = table_row(table, (const char *[]) { number, targets, plan, state, result });
        }
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "could not list scans: %s", strerror(-r));

        pager_open();
        r = table_print(table);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : STATUS_PASSED;
}

const Verb verb_scans = {
        .name = "scans",
        .min = 0,
        .max = 0,
        .arguments = "",
        .summary = "List the last scans",
        .options = "",
        .run = run,
};
