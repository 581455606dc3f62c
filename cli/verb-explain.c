/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "checks/catalogue.h"
#include "cli/assayctl.h"
#include "cli/call.h"
#include "cli/pager.h"
#include "cli/view.h"

static void explain_code(const CatalogueEntry *entry) {
        if (options.json) {
                _cleanup_(json_decrefp) json_t *object =
                                json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "code", entry->code, "check", entry->check, "severity",
                                          severity_to_string(entry->severity), "action", action_to_string(entry->action), "summary",
                                          entry->summary, "explanation", entry->explanation, "remedy", entry->remedy);

                (void) json_dumpf(object, stdout, JSON_INDENT(2));
                putchar('\n');
                return;
        }

        printf("%s: %s (%s, found by %s)\n\n%s\n\nTo do (%s): %s\n", entry->code, entry->summary, severity_to_string(entry->severity),
               entry->check, entry->explanation, action_to_string(entry->action), entry->remedy);
}

static void explain_finding(const ViewFinding *finding) {
        const CatalogueEntry *entry = catalogue_find(finding->code);

        if (!options.json)
                printf("%s\n  %s%s%s%s\n\n", finding->where, finding->message, finding->replaceable ? " [" : "", finding->replaceable ?: "",
                       finding->replaceable ? "]" : "");
        if (entry)
                explain_code(entry);
        else
                printf("%s: this assayctl does not know the code\n", finding->code);
        if (!options.json)
                putchar('\n');
}

static int explain_record(uint64_t index) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_(view_freep) View *view = NULL;
        RecordTrust trust;
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = call_keyring(bus, &keyring);
        if (r == 0)
                r = call_verified(bus, keyring, index, &trust, &verified);
        if (r != 0)
                return r;
        if (trust != RECORD_VERIFIED)
                return complain(trust == RECORD_UNKNOWN_KEY ? STATUS_CANNOT_TELL : STATUS_REFUSED, "record %" PRIu64 " does not verify", index);

        r = view_new(verified.payload, verified.n_payload, &view);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "record %" PRIu64 ": %s", index, strerror(-r));

        pager_open();
        if (!options.json)
                printf("%s  %s  plan %s, record %" PRIu64 "\n\n", view->where, result_to_string(view->result), view->plan, index);
        for (size_t i = 0; i < view->n_findings; i++)
                explain_finding(&view->findings[i]);
        if (view->n_findings == 0)
                puts("No findings.");
        return STATUS_PASSED;
}

int verb_explain(int argc, char **argv) {
        const CatalogueEntry *entry = catalogue_find(argv[0]);
        uint64_t index;

        if (parse_u64(argv[0], &index) >= 0)
                return explain_record(index);
        if (!entry) {
                fprintf(stderr, "Known codes:");
                for (size_t i = 0; (entry = catalogue_at(i)); i++)
                        fprintf(stderr, " %s", entry->code);
                fputc('\n', stderr);
                return complain(STATUS_USAGE, "no finding code is called '%s'", argv[0]);
        }

        explain_code(entry);
        return STATUS_PASSED;
}
