/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/outcome.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/verify/verify-policy.h"
#include "daemon/names.h"

#define RECORDS_MAX 32768u /* all are held at once; of 1,024 servers there are 17,408 */

Outcome *outcome_free(Outcome *outcome) {
        if (!outcome)
                return NULL;

        for (size_t i = 0; i < outcome->n; i++)
                (void) view_free(outcome->views[i]);
        for (size_t i = 0; i < ELEMENTS(outcome->doubts); i++)
                free(outcome->doubts[i].reason);
        free(outcome->views);
        free(outcome->entries);
        free(outcome);
        return NULL;
}

/* ---- what the daemon says of the scan ---- */

static int get(sd_bus *bus, const char *path, const char *name, const char *type, sd_bus_message **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = reply_property(bus, path, ASSAY_SCAN_INTERFACE, name, &error, type, ret);
        return r < 0 ? complain_bus(&error, r, "could not read the scan") : 0;
}

static int read_indices(sd_bus *bus, const char *path, uint64_t **ret, size_t *ret_n) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const void *array = NULL;
        size_t bytes = 0;
        int r;

        r = get(bus, path, "Records", "at", &reply);
        if (r != 0)
                return r;
        if (sd_bus_message_read_array(reply, 't', &array, &bytes) < 0)
                return complain(STATUS_CANNOT_TELL, "could not list the records of the scan");
        if (bytes / sizeof(uint64_t) > RECORDS_MAX)
                return complain(STATUS_CANNOT_TELL, "assayd lists %zu records, and no scan has more than %u", bytes / sizeof(uint64_t), RECORDS_MAX);

        *ret = malloc(bytes + 1);
        if (!*ret)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        if (bytes > 0)
                memcpy(*ret, array, bytes);
        *ret_n = bytes / sizeof(uint64_t);
        return 0;
}

static int read_said(sd_bus *bus, const char *path, Result *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *word;
        int r;

        r = get(bus, path, "Result", "s", &reply);
        if (r == 0)
                *ret = sd_bus_message_read(reply, "s", &word) < 0 ? _RESULT_INVALID : result_from_string(word);
        return r;
}

/* ---- its records ---- */

static int keep_doubt(Outcome *outcome, RecordTrust trust, uint64_t index, const char *reason, RecordLack lack) {
        OutcomeDoubt *doubt = &outcome->doubts[trust];

        if (doubt->n++ > 0)
                return 0;
        doubt->first = index;
        doubt->lack = lack;
        doubt->reason = reason ? strdup(reason) : NULL;
        return reason && !doubt->reason ? complain(STATUS_CANNOT_TELL, "out of memory") : 0;
}

static bool is_there(const Outcome *outcome, uint64_t index) {
        for (size_t i = 0; i < outcome->n; i++)
                if (outcome->entries[i].index == index)
                        return true;
        return false;
}

static int take_record(Outcome *outcome, const VerifyPolicy *policy, uint64_t index) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        RecordTrust trust;
        int r;

        if (is_there(outcome, index))
                return 0;
        r = verify_policy_fetch_verdict(policy, index, &trust, &verified);
        if (r == STATUS_USAGE) /* the number was the daemon's and no slip of who asks */
                return keep_doubt(outcome, RECORD_CANNOT_TELL, index, "it is not there", RECORD_LACKS_NOTHING);
        if (r != 0)
                return r;
        if (trust != RECORD_VERIFIED)
                return keep_doubt(outcome, trust, index, verified.reason, verified.lack);
        r = view_new(verified.payload, verified.n_payload, &outcome->views[outcome->n]);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "record %" PRIu64 " cannot be read: %s", index, strerror(-r));
        outcome->entries[outcome->n++] = verified.entry;
        return 0;
}

static int take_records(Outcome *outcome, sd_bus *bus, const OutcomeAsked *asked) {
        _cleanup_(verify_policy_done) VerifyPolicy policy = {};
        _cleanup_free_ uint64_t *indices = NULL;
        size_t n = 0;
        int r;

        r = read_indices(bus, asked->path, &indices, &n);
        if (r == 0)
                r = verify_policy_init(&policy, bus, false);
        if (r != 0)
                return r;
        policy.policy.plan = asked->plan;
        outcome->entries = calloc(n + 1, sizeof(*outcome->entries));
        outcome->views = calloc(n + 1, sizeof(*outcome->views));
        if (!outcome->entries || !outcome->views)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        for (size_t i = 0; i < n && r == 0; i++)
                r = take_record(outcome, &policy, indices[i]);
        return r;
}

static void set_servers(Outcome *outcome) {
        for (size_t i = 0; i < outcome->n; i++)
                for (size_t k = 0; k < outcome->n && !view_is_health(outcome->views[i]); k++)
                        view_set_server(outcome->views[k], outcome->views[i]);
}

/* ---- whether they are all ---- */

static void miss(Outcome *outcome, const char *what) {
        if (outcome->n_missing++ == 0)
                (void) snprintf(outcome->missing, sizeof(outcome->missing), "%s", what);
}

/* Which servers an UltraServer has is the daemon's to say: here one of them is enough, and those that it names are looked for, too. */
static bool is_told(const Outcome *outcome, const char *target) {
        Location where;

        if (location_parse(target, &where, NULL, NULL) < 0)
                return false;
        for (size_t i = 0; i < outcome->n; i++) {
                const Location *subject = &outcome->entries[i].subject;

                if (record_is_verdict(&outcome->entries[i]) &&
                    (location_equal(subject, &where) || (subject->n_parts == 0 && call_is_server_of(subject->server, target))))
                        return true;
        }
        return false;
}

/* A server's record names those of its chips: which of them are kept back. */
static void miss_chips(Outcome *outcome, const View *view) {
        json_t *predicate = json_object_get(view->statement, "predicate"), *component;
        size_t i;

        json_array_foreach(json_object_get(predicate, "components"), i, component) {
                json_t *notes = json_object_get(component, "annotations");
                const char *id = json_string_value(json_object_get(notes, "recordSha256"));
                bool found = false;

                for (size_t k = 0; k < outcome->n && id && !found; k++)
                        found = strcmp(outcome->entries[k].id, id) == 0;
                if (!found)
                        miss(outcome, json_string_value(json_object_get(notes, "slot")) ?: view->where);
        }
}

/* ---- what that comes to ---- */

/* A scan of some chips has the result of these chips: their server's record then says of the server that nobody can tell. */
static bool counts(const RecordEntry *entry, char *const *targets) {
        size_t n = strlen(entry->subject.server);

        if (!record_is_verdict(entry))
                return false;
        if (entry->subject.n_parts > 0 || entry->result != RESULT_INCONCLUSIVE)
                return true;
        for (; *targets; targets++)
                if (strncmp(*targets, entry->subject.server, n) == 0 && (*targets)[n] == '/')
                        return false;
        return true;
}

static Result fold(const Outcome *outcome, char *const *targets) {
        Result result = RESULT_PASSED;
        bool any = false;

        for (size_t i = 0; i < outcome->n; i++)
                if (counts(&outcome->entries[i], targets)) {
                        result = result_worst(result, outcome->entries[i].result);
                        any = true;
                }
        return any ? result : RESULT_INCONCLUSIVE;
}

static bool is_among(char *const *targets, const char *target) {
        while (*targets && strcmp(*targets, target) != 0)
                targets++;
        return *targets;
}

static int judge(Outcome *outcome, sd_bus *bus, const OutcomeAsked *asked) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(call_strv_drop) char **named = NULL;
        int r;

        r = get(bus, asked->path, "Targets", "as", &reply);
        if (r != 0)
                return r;
        if (sd_bus_message_read_strv(reply, &named) < 0)
                return complain(STATUS_CANNOT_TELL, "could not read what was scanned");

        for (char *const *target = asked->targets; *target; target++)
                if (!is_told(outcome, *target))
                        miss(outcome, *target);
        for (char *const *target = named; target && *target; target++)
                if (!is_told(outcome, *target) && !is_among(asked->targets, *target))
                        miss(outcome, *target);
        for (size_t i = 0; i < outcome->n; i++)
                miss_chips(outcome, outcome->views[i]);
        outcome->proven = fold(outcome, *asked->targets ? asked->targets : named ?: asked->targets);
        return 0;
}

static bool is_in_doubt(const Outcome *outcome) {
        for (size_t i = 0; i < ELEMENTS(outcome->doubts); i++)
                if (outcome->doubts[i].n > 0)
                        return true;
        return outcome->n_missing > 0;
}

int outcome_read(sd_bus *bus, const OutcomeAsked *asked, Outcome **ret) {
        _cleanup_(outcome_freep) Outcome *outcome = calloc(1, sizeof(*outcome));
        int r;

        if (!outcome)
                return complain(STATUS_CANNOT_TELL, "out of memory");

        outcome->id = asked->id;
        r = read_said(bus, asked->path, &outcome->said);
        if (r == 0)
                r = take_records(outcome, bus, asked);
        if (r == 0) {
                set_servers(outcome);
                r = judge(outcome, bus, asked);
        }
        if (r != 0)
                return r;
        /* Who says worse than the records has not shown all of them. */
        outcome->result = outcome->proven;
        if (is_in_doubt(outcome) || result_worst(outcome->said, outcome->proven) != outcome->proven)
                outcome->result = result_worst(outcome->proven, RESULT_INCONCLUSIVE);
        *ret = TAKE_PTR(outcome);
        return 0;
}

static void tell_doubt(const Outcome *outcome, RecordTrust trust) {
        const OutcomeDoubt *doubt = &outcome->doubts[trust];
        bool has_reason = doubt->reason && trust != RECORD_UNKNOWN_KEY;
        char more[48] = "", next[128] = "";

        if (doubt->n > 1)
                (void) snprintf(more, sizeof(more), ", and %zu more like it", doubt->n - 1);
        if (trust == RECORD_UNKNOWN_KEY)
                (void) snprintf(next, sizeof(next), "; `assayctl keys show` on its station prints a keyring that has it");
        else if (doubt->lack == RECORD_LACKS_WITNESSES)
                (void) snprintf(next, sizeof(next), ". Next: assayctl cosign, then assayctl show %" PRIu64 " by the same keyring", outcome->id);
        (void) complain(0, "record %" PRIu64 "%s%s%s%s%s", doubt->first, verify_policy_distrust(trust), has_reason ? ": " : "",
                        has_reason ? doubt->reason : "", more, next);
}

int outcome_conclude(const Outcome *outcome) {
        for (RecordTrust trust = 0; trust < _RECORD_TRUST_MAX; trust++)
                if (outcome->doubts[trust].n > 0)
                        tell_doubt(outcome, trust);
        if (outcome->n_missing > 0)
                (void) complain(0, outcome->n_missing > 1 ? "no record that verifies tells of %s and %zu more" : "no record that verifies tells of %s", outcome->missing,
                                outcome->n_missing - 1);
        if (!is_in_doubt(outcome) && outcome->said != outcome->proven)
                (void) complain(0, "assayd calls this scan %s, and its records say %s", result_to_string(outcome->said) ?: "nothing",
                                result_to_string(outcome->proven));
        return outcome->doubts[RECORD_REFUSED].n > 0 ? STATUS_REFUSED : result_to_status(outcome->result, options.strict);
}
