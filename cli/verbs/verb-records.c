/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

#define LAST_DEFAULT 50 /* without arguments: the newest */
#define AT_ONCE      256

static int add(Table *table, uint64_t index, RecordTrust trust, const RecordVerified *verified) {
        char number[24], id[RECORD_ID_HEX], subject[LOCATION_STRING_MAX] = "", when[32] = "";
        time_t seconds = (time_t) (verified->entry.finished_usec / 1000000);
        struct tm tm;

        snprintf(number, sizeof(number), "%" PRIu64, index);
        if (trust != RECORD_VERIFIED)
                return table_row(table, (const char *[]) { number, "", trust == RECORD_REFUSED ? "does not verify" : "unknown key", "", "", "", "" });

        location_format(&verified->entry.subject, subject);
        if (gmtime_r(&seconds, &tm))
                strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        /* Sixteen digits tell records apart for a person; programs get all. */
        snprintf(id, sizeof(id), "%.*s", options.json ? RECORD_ID_HEX - 1 : 16, verified->entry.id);
        return table_row(table, (const char *[]) { number, id,
                                                   verified->entry.type + strlen("urn:assay:attestation:"), subject,
                                                   verified->entry.plan,
                                                   record_is_verdict(&verified->entry) ? result_to_string(verified->entry.result) : "",
                                                   when });
}

/* One fetch, split at its newlines. *INDEX moves past what came. Of what was pruned the daemon tells only that. */
static int add_some(sd_bus *bus, const RecordKeyring *keyring, Table *table, uint64_t *index, uint64_t count, uint64_t *n_pruned) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *lines = NULL;
        size_t n;
        int r;

        r = call_records(bus, *index, count, &error, &lines, &n);
        if (r < 0)
                return complain_bus(&error, r, "could not read records");

        for (char *line = lines, *end; (end = memchr(line, '\n', n - (size_t) (line - lines))); line = end + 1) {
                _cleanup_(record_verified_done) RecordVerified verified = {};
                RecordTrust trust;

                if (call_is_pruned(line)) {
                        *n_pruned += 1;
                        *index += 1;
                        continue;
                }
                r = record_verify(keyring, line, (size_t) (end - line), &trust, &verified);
                if (r >= 0)
                        r = add(table, (*index)++, trust, &verified);
                if (r < 0)
                        return complain(STATUS_CANNOT_TELL, "could not list records: %s", strerror(-r));
        }
        return 0;
}

static int range(sd_bus *bus, int argc, char **argv, uint64_t *ret_first, uint64_t *ret_end) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        uint64_t size, first, count = LAST_DEFAULT;
        int r;

        r = reply_property_trivial(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogSize", &error, 't', &size);
        if (r < 0)
                return complain_bus(&error, r, "could not read the size of the log");

        first = size > LAST_DEFAULT ? size - LAST_DEFAULT : 0;
        if ((argc > 0 && parse_u64(argv[0], &first) < 0) || (argc > 1 && parse_u64(argv[1], &count) < 0))
                return complain(STATUS_USAGE, "FIRST and COUNT are numbers");
        if (argc > 0 && first >= size)
                return complain(STATUS_USAGE, "the log has %" PRIu64 " records, numbered from 0", size);

        *ret_first = first;
        *ret_end = count > size - first ? size : first + count;
        return 0;
}

static int run(int argc, char **argv) {
        static const TableColumn columns[] = {
                { "INDEX",    "index",    true,  false },
                { "RECORD",   "id",       false, false, true },
                { "TYPE",     "type",     false, false },
                { "SUBJECT",  "subject",  false, false },
                { "PLAN",     "plan",     false, false },
                { "RESULT",   "result",   false, false },
                { "FINISHED", "finished", false, false, true },
                {},
        };
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(table_freep) Table *table = NULL;
        uint64_t index = 0, end = 0, n_pruned = 0;
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = range(bus, argc, argv, &index, &end);
        if (r == 0)
                r = call_keyring(bus, &keyring);
        if (r != 0)
                return r;

        r = table_new(columns, &table);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s", strerror(-r));
        while (index < end) {
                uint64_t before = index;

                r = add_some(bus, keyring, table, &index, end - index < AT_ONCE ? end - index : AT_ONCE, &n_pruned);
                if (r != 0)
                        return r;
                if (index == before)
                        return complain(STATUS_CANNOT_TELL, "the daemon sent no record %" PRIu64, index);
        }

        if (n_pruned > 0)
                (void) complain(0, "%" PRIu64 " %s pruned and left out", n_pruned, n_pruned == 1 ? "record is" : "records are");
        pager_open();
        r = table_print(table);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : STATUS_PASSED;
}

const Verb verb_records = {
        .name = "records",
        .min = 0,
        .max = 2,
        .arguments = "[FIRST [COUNT]]",
        .summary = "List signed records",
        .options = "",
        .run = run,
};
