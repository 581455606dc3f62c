/* SPDX-License-Identifier: Apache-2.0 */

/* Closing: see closing.h. */

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/clock.h"
#include "daemon/closing.h"
#include "daemon/journal.h"

#define AT_ONCE 32 /* half a millisecond each, to read the run-start and verify it */

struct Closing {
        Manager *manager;
        RecordEntry *entries; /* the server of those that are closed is "" */
        size_t n, next, n_closed;
        uint64_t ticket; /* of the group's first, the others follow */
        size_t n_group, n_open;
};

/* As a tally tells chips that nobody came to: where they sit is all that is known. */
static size_t list_chips(const RecordStarted *started, RecordHealth chips[static TARGET_CHIPS]) {
        size_t n = 0;

        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                RecordHealth *chip = &chips[n];

                if (started->run.chips != 0 && !((started->run.chips >> c) & 1))
                        continue;
                *chip = (RecordHealth) {
                        .subject = { .where = started->server.where, .serial = "", .product = TARGET_CHIP_MODEL, .part_number = "", .firmware = "",
                                     .firmware_build = "", .tray = "", .pci_address = "" },
                        .host = started->server,
                        .result = RESULT_INCONCLUSIVE,
                };
                n += location_append(&chip->subject.where, LOCATION_CHIP, c) >= 0;
        }
        return n;
}

/*
 * A run that nothing is known of but how it was begun, which its own record says: what that does not say is not made up. 1: it is queued; 0: it
 * cannot be closed; -EAGAIN, -ENOMEM: there is no room now.
 */
static int close_run(Manager *manager, const RecordEntry *entry, uint64_t ticket) {
        _cleanup_(record_started_done) RecordStarted started = {};
        RecordHealth chips[TARGET_CHIPS];
        RecordScan scan;
        int r;

        r = record_log_started(manager->log, entry, &started);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_error_errno(r, "Failed to read how the run %s of %s was begun, leaving it unfinished: %m", entry->run, entry->subject.server);
                return 0;
        }

        scan = (RecordScan) { .run = started.run, .server = started.server, .result = RESULT_INCONCLUSIVE, .n_chips_of_server = TARGET_CHIPS, .chips = chips };
        scan.n_chips = list_chips(&started, chips);
        scan.run.finished_usec = MAX(clock_usec(CLOCK_REALTIME), scan.run.started_usec); /* the clock may have been set back */
        r = record_log_scan_kept(manager->log, &scan, ticket);
        if (r == -EAGAIN || r == -ENOMEM)
                return r;
        if (r < 0) {
                log_error_errno(r, "Failed to close the run %s of %s: %m", entry->run, entry->subject.server);
                return 0;
        }
        log_warning("Closed the run %s of %s that was interrupted as INCONCLUSIVE", entry->run, entry->subject.server);
        return 1;
}

void closing_go_on(Closing *closing) {
        Manager *manager;

        if (!closing || closing->n_open > 0)
                return;

        manager = closing->manager;
        closing->n_group = 0;
        while (closing->next < closing->n && closing->n_open < AT_ONCE) {
                uint64_t ticket = manager_next_ticket(manager);
                int r;

                if (closing->n_group == 0)
                        closing->ticket = ticket;
                r = close_run(manager, &closing->entries[closing->next], ticket);
                if (r < 0)
                        break; /* goes on with the next outcome, of a heartbeat at the latest */
                closing->next++;
                closing->n_open += (size_t) r;
                closing->n_group++;
        }
        if (closing->n_closed == closing->n)
                manager->closing = closing_free(closing);
}

bool closing_take_outcome(Closing *closing, const RecordOutcome *outcome) {
        RecordEntry *entry;

        if (!closing || closing->n_open == 0 || outcome->ticket < closing->ticket || outcome->ticket - closing->ticket >= closing->n_group)
                return false;

        entry = &closing->entries[closing->next - closing->n_group + (outcome->ticket - closing->ticket)];
        if (outcome->error < 0)
                log_error_errno(outcome->error, "Failed to commit the end of a run that was interrupted%s: %m",
                                outcome->is_kept ? "" : ", leaving it to the next start");
        else {
                entry->subject = (Location) {};
                closing->n_closed++;
        }
        closing->n_open -= !outcome->is_kept;
        return true;
}

/* As what is lost hides older passes: until its plan has looked again, and came to a verdict. */
static bool has_looked_again(RecordLog *log, const RecordEntry *start, const Location *subject) {
        RecordEntry entry = { .index = UINT64_MAX };
        bool has_looked = false;

        while (!has_looked && record_log_whole_before(log, subject, start->plan, entry.index, &entry) >= 0 && entry.index > start->index) {
                _cleanup_(record_verified_done) RecordVerified verified = {};
                _cleanup_(record_stand_done) RecordStand stand = {};

                has_looked = record_log_verified(log, subject, &entry, &verified) >= 0 && record_stand_of(&verified, &stand) >= 0 &&
                             stand.result != RESULT_INCONCLUSIVE && !stand.in_part;
        }
        return has_looked;
}

bool closing_has(const Closing *closing, const Location *subject) {
        for (size_t i = 0; closing && i < closing->n; i++)
                if (strcmp(closing->entries[i].subject.server, subject->server) == 0 &&
                    !has_looked_again(closing->manager->log, &closing->entries[i], subject))
                        return true;
        return false;
}

void manager_close_runs(Manager *manager, RecordEntry *entries, size_t n) {
        Closing *closing = calloc(1, sizeof(*closing));

        if (!closing) {
                log_error("No memory to close %zu runs that were interrupted, leaving them to the next start", n);
                manager->runs_unknown = true;
                free(entries);
                return;
        }
        *closing = (Closing) { .manager = manager, .entries = entries, .n = n };
        manager->closing = closing;
        closing_go_on(closing);
}

Closing *closing_free(Closing *closing) {
        if (!closing)
                return NULL;

        free(closing->entries);
        free(closing);
        return NULL;
}
