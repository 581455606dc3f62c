/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/record-name.h"
#include "cli/results/repairs.h"
#include "cli/results/untested.h"
#include "cli/results/view.h"
#include "cli/terminal/nearest.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "cli/terminal/verb.h"
#include "cli/terminal/wrap.h"

#define SERVER_CHIPS 16

static json_t *code_json(const CatalogueEntry *entry, Remedy remedy) {
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "code", entry->code, "check", entry->check, "severity",
                         severity_to_string(entry->severity), "action", action_to_string(remedy.action), "summary", entry->summary,
                         "explanation", entry->explanation, "remedy", remedy.text);
}

/* With both of its remedies. */
static json_t *entry_json(const CatalogueEntry *entry) {
        json_t *json = code_json(entry, (Remedy) { entry->action, entry->remedy });

        if (entry->without_cable.text)
                (void) json_object_set_new(json, "without_cable", json_pack("{s:s, s:s}", "action", action_to_string(entry->without_cable.action),
                                                                            "remedy", entry->without_cable.text));
        return json;
}

/* The code, and what the record and the table say is to be done: the one of this finding alone, the other of all at its part. */
static json_t *finding_json(const View *view, size_t i) {
        const ViewFinding *finding = &view->findings[i];
        const CatalogueEntry *entry = catalogue_find(finding->code);
        json_t *json = entry ? code_json(entry, catalogue_remedy_of(entry, finding->action)) : json_pack("{s:s}", "code", finding->code);
        char text[128];

        if (action_to_string(finding->action))
                (void) json_object_set_new(json, "action", json_string(action_to_string(finding->action)));
        (void) json_object_set_new(json, "do", json_string(view_action(view, i, text, sizeof(text))));
        (void) json_object_set_new(json, "where", json_string(finding->where));
        (void) json_object_set_new(json, "message", json_string(finding->message));
        (void) json_object_set_new(json, "replaceable", finding->replaceable ? json_string(finding->replaceable) : json_null());
        return json;
}

static int print_json(json_t *object) {
        int r = object ? json_dumpf(object, stdout, JSON_INDENT(2)) : -1;

        json_decref(object);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "could not print");
        putchar('\n');
        return STATUS_PASSED;
}

/* ACTION is to be done, as REMEDY, BEFORE it said, has it. */
static void print_remedy(const char *action, const char *before, const char *remedy) {
        char text[1280];

        (void) snprintf(text, sizeof(text), "To do (%s): %s%s", action, before, remedy);
        wrap_print(0, text);
}

static void explain_code(const CatalogueEntry *entry, Severity severity, const char *action, const char *before, const char *remedy) {
        printf("%s: %s (%s, found by %s)\n\n", entry->code, entry->summary, severity_to_string(severity), entry->check);
        wrap_print(0, entry->explanation);
        putchar('\n');
        print_remedy(action, before, remedy);
}

static int refuse_code(const char *code) {
        Nearest nearest = nearest_to(code);
        char question[NEAREST_MAX + 32];
        const CatalogueEntry *entry;
        Location where;

        /* Every word could be a server's name. */
        if (strpbrk(code, "0123456789") && location_parse(code, &where, NULL, NULL) >= 0)
                return complain(STATUS_USAGE, "no finding code is called '%s'; of a target assayctl verdict %s names the record, which explain takes", code, code);
        for (size_t i = 0; (entry = catalogue_at(i)); i++)
                nearest_offer(&nearest, entry->code);
        return complain(STATUS_USAGE, "no finding code is called '%s'; assayctl explain lists them%s", code,
                        nearest_question(&nearest, question, sizeof(question)));
}

static int list_codes(void) {
        static const TableColumn columns[] = {
                { "CODE",     "code",     false, false },
                { "CHECK",    "check",    false, false },
                { "SEVERITY", "severity", false, false },
                { "DO",       "action",   false, false },
                { "SUMMARY",  "summary",  false, true  },
                {},
        };
        _cleanup_(table_freep) Table *table = NULL;
        const CatalogueEntry *entry;
        int r;

        r = table_new(columns, &table);
        for (size_t i = 0; r >= 0 && (entry = catalogue_at(i)); i++)
                r = table_row(table, (const char *[]) { entry->code, entry->check, severity_to_string(entry->severity),
                                                        action_to_string(entry->action), entry->summary });
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "out of memory");

        pager_open();
        r = table_print(table);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : STATUS_PASSED;
}

/* What a server has in place of its chips fails it like what they have. */
static Severity severity_of(const ViewFinding *finding, const CatalogueEntry *entry) {
        const CatalogueEntry *shared = finding->shared ? catalogue_find(finding->shared) : NULL;

        return shared ? shared->severity : entry->severity;
}

/* With what the table of a scan says is to be done about it, which may be that of its cause. */
static void explain_remedy(const View *view, size_t i, const CatalogueEntry *entry) {
        const ViewFinding *cause = view_cause(view, i);
        const CatalogueEntry *due = catalogue_find(cause->code) ?: entry;
        Remedy remedy = catalogue_remedy_of(due, cause->action);
        char action[128], before[128] = "";

        if (cause != &view->findings[i])
                (void) snprintf(before, sizeof(before), "as for %s, which is found %s. ", due->code, view_shared(view, i) ? "on its server" : "here too");
        else if (view_is_asked_for(view, i))
                (void) snprintf(before, sizeof(before), "the repair is asked for; go on with the reset. ");
        explain_code(entry, severity_of(&view->findings[i], entry), view_action(view, i, action, sizeof(action)), before, remedy.text);
}

static void explain_finding(const View *view, size_t i) {
        const ViewFinding *finding = &view->findings[i];
        const CatalogueEntry *entry = catalogue_find(finding->code);
        const char *part = finding->replaceable;

        say_words(0, "%s", finding->where);
        say_words(2, "%s", finding->message);
        if (part)
                say(stdout, "  replaceable part: %s\n", part);
        putchar('\n');
        if (entry)
                explain_remedy(view, i, entry);
        else
                say(stdout, "%s: this assayctl does not know the code\n", finding->code);
        putchar('\n');
}

static json_t *view_json(const View *view) {
        json_t *findings = json_array(), *untested = json_array();

        for (size_t i = 0; i < view->n_findings; i++)
                (void) json_array_append_new(findings, finding_json(view, i));
        for (size_t i = 0; i < view->n_untested; i++)
                (void) json_array_append_new(untested, json_pack("{s:s, s:s}", "name", view->untested[i].name, "reason",
                                                                 view->untested[i].reason));
        return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o}", "record", (json_int_t) view->index, "target", view->where, "plan", view->plan,
                         "result", result_to_string(view->result) ?: "", "findings", findings, "untested", untested);
}

/* A server's record sums up those of its chips: there is what was found. */
static size_t point_at_chips(const View *view) {
        json_t *predicate = json_object_get(view->statement, "predicate"), *component;
        size_t i, n = 0;

        json_array_foreach(json_object_get(predicate, "components"), i, component) {
                json_t *notes = json_object_get(component, "annotations");
                const char *result = json_string_value(json_object_get(notes, "result"));
                json_t *index = json_object_get(notes, "logIndex");

                if (!result || result_from_string(result) == RESULT_PASSED || !json_is_integer(index))
                        continue;
                say(stdout, "%s  %s: assayctl explain %" JSON_INTEGER_FORMAT "\n",
                       json_string_value(json_object_get(notes, "slot")) ?: "?", result, json_integer_value(index));
                n++;
        }

        return n;
}

/* A roll-up of fewer chips than its server has knows nothing of the others. */
static void print_no_findings(const View *view) {
        json_t *predicate = json_object_get(view->statement, "predicate");
        json_int_t n_chips = json_integer_value(json_object_get(predicate, "chipCount"));
        size_t n = json_array_size(json_object_get(predicate, "components"));

        if (view->result != RESULT_INCONCLUSIVE)
                puts("No findings.");
        else if (!view_is_health(view) && (json_int_t) n < n_chips)
                say_words(0, "No findings, but it tells of %zu of the %" JSON_INTEGER_FORMAT " chips: the others were not asked for. To do: assayctl scan %s --plan %s", n, n_chips,
                          view->where, view->plan);
        else
                puts("No findings, but not everything was tested.");
}

static int explain_view(const View *view) {
        if (options.json)
                return print_json(view_json(view));

        pager_open();
        say(stdout, "%s  %s  plan %s, record %" PRIu64 "\n\n", view->where, result_to_string(view->result), view->plan,
               view->index);
        for (size_t i = 0; i < view->n_findings; i++)
                explain_finding(view, i);
        if (point_at_chips(view) == 0 && view->n_findings == 0)
                print_no_findings(view);
        for (size_t i = 0; i < view->n_untested; i++)
                say_words(0, "Not tested: %s (%s)", view->untested[i].name, view->untested[i].reason);
        repairs_print(view, true);
        untested_print_actions(view);
        return STATUS_PASSED;
}

/* What its server came to follows the chips of a scan in the log. Not found, or not verified: the chip is explained by itself. */
static View *server_of(sd_bus *bus, const RecordKeyring *keyring, View *chip) {
        for (uint64_t index = chip->index + 1; view_is_health(chip) && index <= chip->index + SERVER_CHIPS; index++) {
                _cleanup_(record_verified_done) RecordVerified verified = {};
                _cleanup_(view_freep) View *view = NULL;
                RecordTrust trust;

                if (call_verified(bus, keyring, index, &trust, &verified) != 0 || trust != RECORD_VERIFIED ||
                    view_new(verified.payload, verified.n_payload, &view) < 0)
                        return NULL;
                view_set_server(chip, view);
                if (chip->server)
                        return TAKE_PTR(view);
        }
        return NULL;
}

static int explain_record(const char *name) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_(view_freep) View *view = NULL, *server = NULL;
        RecordTrust trust;
        uint64_t index = 0;
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = record_name_find(bus, name, &index);
        if (r == 0)
                r = call_keyring(bus, &keyring);
        if (r == 0)
                r = call_verified(bus, keyring, index, &trust, &verified);
        if (r != 0)
                return r;
        if (trust != RECORD_VERIFIED)
                return trust == RECORD_CANNOT_TELL && verified.reason ? complain(STATUS_CANNOT_TELL, "record %" PRIu64 ": %s", index, verified.reason) :
                                                                 complain(call_trust_status(trust), "record %" PRIu64 " does not verify", index);

        if (!options.json && !record_is_verdict(&verified.entry)) {
                say_words(0, "%s", verified.reason);
                return STATUS_PASSED;
        }

        r = view_new(verified.payload, verified.n_payload, &view);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "record %" PRIu64 ": %s", index, strerror(-r));

        server = view->n_findings > 0 ? server_of(bus, keyring, view) : NULL;
        return explain_view(view);
}

static int run(int argc, char **argv) {
        const CatalogueEntry *entry;

        if (argc == 0)
                return list_codes();
        if (record_name_is(argv[0]))
                return explain_record(argv[0]);

        entry = catalogue_find(argv[0]);
        if (!entry)
                return refuse_code(argv[0]);
        if (options.json)
                return print_json(entry_json(entry));

        explain_code(entry, entry->severity, action_to_string(entry->action), "", entry->remedy);
        if (entry->without_cable.text)
                print_remedy(action_to_string(entry->without_cable.action), "where no cable is the part to be replaced. ", entry->without_cable.text);
        return STATUS_PASSED;
}

const Verb verb_explain = {
        .name = "explain",
        .min = 0,
        .max = 1,
        .arguments = "[CODE|INDEX|ID]",
        .summary = "List finding codes, explain one, or the findings of a record",
        .options = "key keyring root",
        .run = run,
};
