/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/account.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "checks/wire/wire.h"

#define CODES_MAX 8 /* of one step on one chip: for suspects, which have few */

typedef struct Entry {
        bool left_out;
        StepSaid said;
        size_t n_codes;
        const CatalogueEntry *codes[CODES_MAX]; /* the failing ones */
        double *reached;                        /* of each promise; NULL: nothing */
} Entry;

/* The last of a server's units is the server itself. */
#define UNITS  (CHIPS + 1u)
#define SERVER CHIPS

struct Account {
        const Plan *plan;
        const Target *target;
        Entry *entries; /* [server][unit][step] */
};

int account_new(const Plan *plan, const Target *target, Account **ret) {
        _cleanup_(account_freep) Account *account = calloc(1, sizeof(*account));

        if (!account)
                return -ENOMEM;

        account->plan = plan;
        account->target = target;
        account->entries = calloc(target->n_servers * UNITS * plan->n_steps, sizeof(*account->entries));
        if (!account->entries)
                return -ENOMEM;

        *ret = TAKE_PTR(account);
        return 0;
}

Account *account_free(Account *account) {
        if (!account)
                return NULL;

        for (size_t i = 0;
             account->entries && i < account->target->n_servers * UNITS * account->plan->n_steps; i++)
                free(account->entries[i].reached);
        free(account->entries);
        free(account);
        return NULL;
}

static Entry *entry_at(const Account *account, size_t server, size_t unit, size_t step) {
        return &account->entries[(server * UNITS + unit) * account->plan->n_steps + step];
}

/* The entry of the chip WHERE lies in, or of its server; NULL: it is no part of the scan. */
static Entry *entry_find(const Account *account, const Location *where, size_t step) {
        int chip = location_index(where, LOCATION_CHIP);

        assert(step < account->plan->n_steps);

        for (size_t i = 0; i < account->target->n_servers; i++)
                if (strcmp(account->target->servers[i].name, where->server) == 0)
                        return chip >= (int) CHIPS ? NULL
                                                   : entry_at(account, i, chip < 0 ? SERVER : (size_t) chip,
                                                              step);

        return NULL;
}

/* What a chip's step says of elsewhere stays with the chip. */
static Entry *entry_holding(const Account *account, const Location *unit, const Location *where,
                            size_t step) {
        Entry *entry = location_kind(unit) == LOCATION_CHIP ? NULL : entry_find(account, where, step);

        return entry ? entry : entry_find(account, unit, step);
}

void account_leave_out(Account *account, const Location *unit, size_t step) {
        Entry *entry = entry_find(account, unit, step);

        if (entry)
                entry->left_out = true;
}

/* Promises are kept by measurements of the chip itself, not of its parts. */
void account_measurement(Account *account, const Location *unit, size_t step,
                         const Measurement *measurement) {
        const Plan *plan = account->plan;
        Entry *entry = entry_holding(account, unit, &measurement->where, step);

        if (entry && measurement->limit_type != LIMIT_NONE &&
            !limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                entry->said.beyond = true;
        for (size_t i = 0; entry && i < plan->n_promises; i++) {
                if (strcmp(plan->promises[i].measurement, measurement->name) != 0 ||
                    location_kind(&measurement->where) != LOCATION_CHIP)
                        continue;

                if (!entry->reached)
                        entry->reached = calloc(plan->n_promises, sizeof(*entry->reached));
                if (entry->reached) /* else the promise counts as broken, which is the safe side */
                        entry->reached[i] = fmax(entry->reached[i], measurement->value);
        }
}

void account_finding(Account *account, const Location *unit, size_t step, const Finding *finding) {
        Entry *entry = entry_holding(account, unit, &finding->where, step), *own = entry_find(account, unit, step);
        const CatalogueEntry *code = catalogue_find(finding->code);

        if (!entry)
                return;

        verdict_raise(&entry->said.found, finding->severity);
        if (own && finding->severity == SEVERITY_FAIL && location_kind(unit) == LOCATION_SERVER && strcmp(unit->server, finding->where.server) != 0)
                own->said.failed_elsewhere = true;
        if (finding->severity != SEVERITY_FAIL || !code)
                return;

        for (size_t i = 0; i < entry->n_codes; i++)
                if (entry->codes[i] == code)
                        return;
        if (entry->n_codes < CODES_MAX)
                entry->codes[entry->n_codes++] = code;
}

void account_part(Account *account, const Location *chip, size_t step, Verdict verdict) {
        Entry *entry = entry_find(account, chip, step);

        if (!entry)
                return;

        entry->said.has_part = true;
        entry->said.part = verdict;
}

void account_end(Account *account, const Location *unit, size_t step, Verdict verdict) {
        Entry *entry = entry_find(account, unit, step);

        if (!entry)
                return;

        entry->said.begun = entry->said.ended = true;
        entry->said.verdict = verdict;
}

static bool has_code(const Entry *entry, const CatalogueEntry *code) {
        for (size_t i = 0; i < entry->n_codes; i++)
                if (entry->codes[i] == code)
                        return true;

        return false;
}

static unsigned count_chips(const Account *account, size_t server, size_t step, const CatalogueEntry *code) {
        unsigned n = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                if (!(account->target->servers[server].chips & (1u << chip)))
                        continue;
                if (!has_code(entry_at(account, server, chip, step), code))
                        return 0;
                n++;
        }

        return n;
}

void account_suspects(const Account *account, void (*each)(const Suspect *suspect, void *userdata),
                      void *userdata) {
        for (size_t server = 0; server < account->target->n_servers; server++)
                for (size_t step = 0; step < account->plan->n_steps; step++) {
                        int first = __builtin_ffs(account->target->servers[server].chips) - 1;
                        const Entry *entry = entry_at(account, server, (size_t) first, step);

                        for (size_t i = 0; i < entry->n_codes; i++) {
                                Suspect suspect = { server, step, entry->codes[i],
                                                    count_chips(account, server, step, entry->codes[i]) };

                                if (suspect.n_chips >= SUSPECT_CHIPS_MIN)
                                        each(&suspect, userdata);
                        }
                }
}

/* How a step counts for a chip; _VERDICT_INVALID where it is not this account's business. */
static Verdict judge(const Entry *own, const Entry *server) {
        if (!own->said.ended && !own->said.has_part && own->said.found != VERDICT_FAILED && (own->left_out || server->left_out))
                return _VERDICT_INVALID;
        return verdict_of_step(&own->said, &server->said);
}

/* Returns how many steps were this account's business. */
static unsigned fold_chip(const Account *account, size_t server, size_t chip, bool whole, Fold *fold) {
        const Plan *plan = account->plan;
        double reached[PLAN_PROMISES_MAX] = {};
        unsigned n = 0;

        for (size_t step = 0; step < plan->n_steps; step++) {
                const Entry *own = entry_at(account, server, chip, step);
                Verdict verdict = judge(own, entry_at(account, server, SERVER, step));

                if (verdict == _VERDICT_INVALID)
                        continue;

                n++;
                fold_step(fold, verdict, plan->steps[step].required);
                for (size_t i = 0; own->reached && verdict_is_judged(verdict) && i < plan->n_promises; i++)
                        reached[i] = fmax(reached[i], own->reached[i]);
        }

        for (size_t i = 0; whole && i < plan->n_promises; i++)
                fold_coverage(fold, reached[i], plan->promises[i].value);

        return n;
}

static Result judge_server(const Account *account, size_t server, bool whole) {
        Result result = RESULT_PASSED;

        for (size_t step = 0; step < account->plan->n_steps; step++) {
                const Entry *self = entry_at(account, server, SERVER, step);

                result = result_worst(result, result_of_server_step(&self->said));
        }

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Fold fold = {};

                /* Where all that was to be done was done before us, what became of it is not ours to tell.
                 */
                if ((account->target->servers[server].chips & (1u << chip)) &&
                    (fold_chip(account, server, chip, whole, &fold) > 0 || whole))
                        result = result_worst(result, fold_result(&fold));
        }

        return result;
}

Result account_result(const Account *account, bool whole) {
        Result result = RESULT_PASSED;

        for (size_t i = 0; i < account->target->n_servers; i++)
                result = result_worst(result, judge_server(account, i, whole));
        return result;
}
