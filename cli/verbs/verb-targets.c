/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/topology.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

/* A chip's tray follows from its place in the server; a server has none. */
static int add_with_tray(Table *table, const char *const cells[static 4]) {
        char tray[16] = "";
        Location where;
        int chip = location_parse(cells[0], &where, NULL, NULL) < 0 ? -1 : location_index(&where, LOCATION_CHIP);

        if (chip >= 0)
                (void) snprintf(tray, sizeof(tray), "%u", topology_tray((unsigned) chip));
        return table_row(table, (const char *[]) { cells[0], cells[1], *tray ? tray : NULL, cells[2], cells[3] });
}

static int run(int argc, char **argv) {
        static const TableColumn columns[] = {
                { "TARGET",  "target",  false, false },
                { "MODEL",   "model",   false, false },
                { "STATE",   "state",   false, false },
                { "VERDICT", "verdict", false, false },
                {},
        };
        static const TableColumn of_chips[] = {
                { "TARGET",  "target",  false, false },
                { "MODEL",   "model",   false, false },
                { "TRAY",    "tray",    true,  false },
                { "STATE",   "state",   false, false },
                { "VERDICT", "verdict", false, false },
                {},
        };
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(table_freep) Table *table = NULL;
        const char *cells[4];
        int r;

        r = call_connect(&bus);
        if (r != 0)
                return r;

        r = call_manager(bus, "ListTargets", &error, &reply, "t", (uint64_t) (options.chips ? ASSAY_TARGETS_CHIPS : 0));
        if (r < 0)
                return complain_bus(&error, r, "could not list targets");

        r = table_new(options.chips ? of_chips : columns, &table);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssss)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(ssss)", &cells[0], &cells[1], &cells[2], &cells[3])) > 0)
                r = options.chips ? add_with_tray(table, cells) : table_row(table, cells);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "could not list targets: %s", strerror(-r));

        call_tell_unsound(bus);
        pager_open();
        r = table_print(table);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : STATUS_PASSED;
}

const Verb verb_targets = {
        .name = "targets",
        .min = 0,
        .max = 0,
        .arguments = "",
        .summary = "List servers (and chips) with state and newest verdict",
        .options = "chips",
        .run = run,
};
