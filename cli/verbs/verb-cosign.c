/* SPDX-License-Identifier: Apache-2.0 */

/*
 * cosign
 *
 * Shows the log's newest checkpoint to its witnesses and hands what they sign to the daemon, which reaches no network. A witness that
 * holds more than the log, or another one, is the alarm that witnesses are there for: status 3, whatever the others say.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-journal.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"
#include "daemon/witness/submit.h"

#define WITNESSES "/etc/assay/witnesses"
#define ROUNDS    3 /* the log may have grown while it was asked for */

#define CHECKPOINT_TRIES     25
#define CHECKPOINT_WAIT_USEC 200000

/* ---- asking ---- */

static int load_witnesses(RecordKeyring **ret) {
        const char *path = options.key ?: WITNESSES;
        _cleanup_free_ char *why = NULL;
        int r;

        r = record_keyring_open(path, NULL, NULL, ret, &why);
        if (r == -ENOENT && !options.key)
                return complain(STATUS_USAGE, "%s is not there; assay-witness(8) shows what stands in it", path);
        return r < 0 ? complain(STATUS_USAGE, "%s: %s", path, why ?: strerror(-r)) : 0;
}

typedef struct Proofs {
        sd_bus *bus;
        int status; /* what the daemon refused a proof with, after complaining */
} Proofs;

static int prove(void *userdata, uint64_t old, uint64_t size, char **ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_free_ char *lines = NULL;
        Proofs *proofs = userdata;
        size_t n = 0;
        FILE *text;
        char *hash;
        int r;

        r = call_manager(proofs->bus, "GetConsistency", &error, &reply, "ttt", old, size, (uint64_t) 0);
        if (r < 0) {
                proofs->status = complain_bus(&error, r, "could not have it proven that the log grew");
                return r;
        }
        text = open_memstream(&lines, &n);
        if (!text)
                return -errno;
        r = sd_bus_message_enter_container(reply, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &hash)) > 0)
                fprintf(text, "%s\n", hash);
        if (fclose(text) != 0 && r >= 0)
                r = -ENOMEM;
        if (r >= 0)
                *ret = TAKE_PTR(lines);
        return r;
}

/* The first one of a log comes a moment after its first record. */
static int await_checkpoint(sd_bus *bus, char **ret, size_t *ret_n) {
        int r;

        for (unsigned i = 0; (r = call_checkpoint(bus, ret, ret_n)) == 0 && !*ret && i < CHECKPOINT_TRIES; i++)
                (void) usleep(CHECKPOINT_WAIT_USEC);
        return r == 0 && !*ret ? complain(STATUS_CANNOT_TELL, "the log has no checkpoint") : r;
}

/* One round over all witnesses. Returns 0 or an exit status. */
static int ask_once(sd_bus *bus, const RecordKeyring *keyring, int argc, char **argv, SubmitReport *ret) {
        _cleanup_free_ char *note = NULL, *origin = NULL, *vkey = NULL;
        Proofs proofs = { .bus = bus };
        SubmitLog log = { .prove = prove, .userdata = &proofs };
        int r;

        r = await_checkpoint(bus, &note, &log.n_note);
        if (r == 0)
                r = call_log(bus, &origin, &vkey);
        if (r != 0)
                return r;
        log.vkey = vkey;
        log.note = note;
        r = submit(keyring, &log, (const char *const *) argv, (size_t) argc, ret);
        if (r == -ENOENT)
                return complain(STATUS_USAGE, "no such witness with a URL in %s", options.key ?: WITNESSES);
        return r < 0 ? proofs.status ?: complain(STATUS_CANNOT_TELL, "could not ask: %s", strerror(-r)) : 0;
}

static const SubmitResult *find(const SubmitReport *report, SubmitOutcome outcome) {
        for (size_t i = 0; i < report->n_results; i++)
                if (report->results[i].outcome == outcome)
                        return &report->results[i];
        return NULL;
}

/* A witness that holds more may have been shown a newer checkpoint by somebody else. Then the log has one too. */
static int ask(sd_bus *bus, const RecordKeyring *keyring, int argc, char **argv, SubmitReport *ret) {
        uint64_t size = 0;
        int r;

        for (unsigned i = 0;; i++) {
                r = ask_once(bus, keyring, argc, argv, ret);
                if (r != 0 || !find(ret, SUBMIT_ROLLED_BACK) || i == ROUNDS || (i > 0 && ret->size <= size))
                        return r;
                size = ret->size;
                submit_report_done(ret);
        }
}

/* ---- telling ---- */

static void alarm_of(const SubmitReport *report, const SubmitResult *result) {
        (void) sd_journal_send("MESSAGE=ALARM: log %s of %" PRIu64 " records, witness %s: %s", report->origin, report->size, result->name,
                               result->reason, "PRIORITY=%i", LOG_ALERT, "ASSAY_LOG=%s", report->origin, "ASSAY_LOG_SIZE=%" PRIu64, report->size,
                               "ASSAY_WITNESS=%s", result->name, "ASSAY_WITNESSED_SIZE=%" PRIu64, result->held, "ASSAY_CHECKPOINT=%s", report->note,
                               NULL);
        (void) complain(STATUS_REFUSED, "ALARM: the log was %s: witness %s: %s. Next: assayctl status, and DECISIONS in assayd(8)", result->outcome == SUBMIT_ROLLED_BACK ? "rolled back" : "rewritten",
                        result->name, result->reason);
}

static int print(const SubmitReport *report) {
        static const TableColumn columns[] = {
                { "WITNESS", "witness", false, false }, { "OUTCOME", "outcome", false, false }, { "RECORDS", "records", true, false },
                { "AT", "at", false, false },           { "REASON", "reason", false, true },    {},
        };
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        r = table_new(columns, &table);
        for (size_t i = 0; i < report->n_results && r >= 0; i++) {
                const SubmitResult *result = &report->results[i];
                time_t sec = (time_t) (result->usec / 1000000);
                char when[32] = "", held[24];
                struct tm tm;

                if (sec > 0 && gmtime_r(&sec, &tm))
                        (void) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
                (void) snprintf(held, sizeof(held), "%" PRIu64, result->held);
                r = table_row(table, (const char *[]) { result->name, submit_outcome_to_string(result->outcome), result->held > 0 ? held : NULL, *when ? when : NULL,
                                                        *result->reason ? result->reason : NULL });
        }
        if (r >= 0)
                r = table_print(table);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : 0;
}

static int hand_over(sd_bus *bus, const SubmitReport *report) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        if (!find(report, SUBMIT_COSIGNED))
                return 0;
        r = call_manager(bus, "AddCosignatures", &error, NULL, "st", report->note, (uint64_t) 0);
        if (sd_bus_error_has_name(&error, SD_BUS_ERROR_INVALID_ARGS))
                return complain_bus(&error, r, "could not hand over the cosignatures; assayd keeps those of `witnesses` in its configuration");
        return r < 0 ? complain_bus(&error, r, "could not hand over the cosignatures") : 0;
}

/* Of those whose proof was not handed over yet the one of most records. */
static const SubmitResult *longest(const SubmitReport *report, const bool *is_done) {
        const SubmitResult *found = NULL;

        for (size_t i = 0; i < report->n_results; i++)
                if (report->results[i].proof && !is_done[i] && (!found || report->results[i].proven > found->proven))
                        found = &report->results[i];
        return found;
}

/*
 * The daemon judges by its own tree whether there are two logs, and signs nothing any more if so. A proof that it finds in order says nothing against
 * the next one: a witness may raise an alarm to hide another's.
 */
static void hand_over_proofs(sd_bus *bus, const SubmitReport *report) {
        bool is_done[SUBMIT_WITNESSES_MAX] = {};
        const SubmitResult *result;

        while ((result = longest(report, is_done))) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                int r = call_manager(bus, "AddCosignatures", &error, NULL, "st", result->proof, (uint64_t) 0);

                is_done[result - report->results] = true;
                if (r >= 0)
                        continue;
                (void) complain(STATUS_REFUSED, "assayd was handed the checkpoint that witness %s holds: %s", result->name, error.message ?: strerror(-r));
                if (sd_bus_error_has_name(&error, ASSAY_ERROR_STORE))
                        return;
        }
}

static int judge(sd_bus *bus, const SubmitReport *report) {
        bool is_alarm = false;

        for (size_t i = 0; i < report->n_results; i++) {
                const SubmitResult *result = &report->results[i];

                if (result->outcome != SUBMIT_ROLLED_BACK && result->outcome != SUBMIT_REWRITTEN)
                        continue;
                alarm_of(report, result);
                is_alarm = true;
        }
        hand_over_proofs(bus, report);
        if (is_alarm)
                return STATUS_REFUSED;
        if (report->has_quorum)
                return STATUS_PASSED;
        return complain(STATUS_CANNOT_TELL, "%s cosigned the %" PRIu64 " record%s: no quorum; mend what REASON says and run it again",
                        find(report, SUBMIT_COSIGNED) ? "too few witnesses have" : "no witness has", report->size, report->size == 1 ? "" : "s");
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(submit_report_done) SubmitReport report = {};
        int r, handed;

        r = load_witnesses(&keyring);
        if (r == 0)
                r = call_connect(&bus);
        if (r == 0)
                r = ask(bus, keyring, argc, argv, &report);
        if (r != 0)
                return r;

        handed = hand_over(bus, &report);
        r = options.quiet ? 0 : print(&report);
        if (r != 0)
                return r;
        r = judge(bus, &report);
        return r == STATUS_REFUSED || handed == 0 ? r : handed;
}

const Verb verb_cosign = {
        .name = "cosign",
        .min = 0,
        .max = -1,
        .arguments = "[WITNESS...]",
        .summary = "Have the log's newest checkpoint cosigned by witnesses",
        .options = "key keyring",
        .run = run,
};
