/* SPDX-License-Identifier: Apache-2.0 */

/*
 * watch
 *
 * Every record as it is signed; with --json or --format cloudevents as an event on a line.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/liveness.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "cli/verify/event.h"
#include "daemon/names.h"

typedef struct Watch {
        sd_bus *bus;
        RecordKeyring *keyring;
        char *origin;
        uint64_t next;   /* the first index not yet printed */
        uint64_t signed_; /* the log's size as told */
        bool lost;
        Liveness liveness;
        bool told_silence;
} Watch;

static void watch_done(Watch *watch) {
        liveness_done(&watch->liveness);
        (void) record_keyring_free(watch->keyring);
        free(watch->origin);
        sd_bus_flush_close_unref(watch->bus);
}

static int on_record(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *id, *subject, *result;
        Watch *watch = userdata;
        uint64_t index;

        if (sd_bus_message_read(message, "tsss", &index, &id, &subject, &result) >= 0 && index + 1 > watch->signed_)
                watch->signed_ = index + 1;
        return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name, *old_owner, *new_owner;
        Watch *watch = userdata;

        if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 && !*new_owner)
                watch->lost = true;
        return 0;
}

static int print_one(const Watch *watch, const char *line, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        char subject[LOCATION_STRING_MAX];
        RecordTrust trust;
        int r;

        r = record_verify(watch->keyring, line, n, &trust, &verified);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s", strerror(-r));
        if (trust != RECORD_VERIFIED)
                return complain(call_trust_status(trust), "record %" PRIu64 " does not verify",
                                watch->next);

        if (options.json || options.format) {
                r = event_print(stdout, watch->origin, &verified, line, n);
                if (r != 0)
                        return r;
        } else {
                location_format(&verified.entry.subject, subject);
                printf("%" PRIu64 "  %-14s %-14s %s\n", verified.entry.index, subject,
                       record_word(&verified.entry), verified.reason ?: "");
        }
        return fflush(stdout) == 0 ? 0 : complain(STATUS_CANNOT_TELL, "could not write: %m");
}

/* Everything the log has beyond what was printed: a lost signal loses no record. */
static int catch_up(Watch *watch) {
        while (watch->next < watch->signed_) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_free_ char *line = NULL;
                size_t n = 0;
                int r;

                r = call_records(watch->bus, watch->next, 1, &error, &line, &n);
                if (r < 0)
                        return complain_bus(&error, r, "could not read the record");
                r = print_one(watch, line, n > 0 && line[n - 1] == '\n' ? n - 1 : n);
                if (r != 0)
                        return r;
                watch->next++;
        }

        return 0;
}

static int prepare(Watch *watch) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = sd_bus_match_signal(watch->bus, NULL, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "RecordSigned", on_record, watch);
        if (r >= 0)
                r = sd_bus_add_match(watch->bus, NULL,
                                     "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" ASSAY_BUS_NAME "'",
                                     on_owner, watch);
        if (r >= 0)
                r = reply_property_string(watch->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "Origin", &error,
                                               &watch->origin);
        if (r >= 0)
                r = reply_property_trivial(watch->bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogSize", &error, 't',
                                                &watch->next);
        if (r < 0)
                return complain_bus(&error, r, "could not watch");

        watch->signed_ = watch->next;
        watch->liveness.bus = watch->bus;
        return call_keyring(watch->bus, &watch->keyring);
}

/* However long the daemon is stopped: its records are fetched when it goes on. */
static int wait_for_news(Watch *watch) {
        bool is_silent = liveness_silent_sec(&watch->liveness) >= LIVENESS_TELL_SEC;

        if (is_silent != watch->told_silence)
                (void) complain(0, is_silent ? "assayd does not answer (stopped?): waiting for it" : "assayd answers again");
        watch->told_silence = is_silent;
        return liveness_wait(&watch->liveness, -1);
}

static int run(int argc, char **argv) {
        _cleanup_(watch_done) Watch watch = {};
        int r;

        if (options.format && strcmp(options.format, "cloudevents") != 0)
                return complain(STATUS_USAGE, "--format is cloudevents");
        r = call_connect(&watch.bus);
        if (r == 0)
                r = prepare(&watch);
        if (r != 0)
                return r;

        for (;;) {
                r = catch_up(&watch);
                if (r != 0)
                        return r;
                if (watch.lost)
                        return complain(STATUS_UNREACHABLE, "assayd has left the bus");

                r = sd_bus_process(watch.bus, NULL);
                if (r == 0)
                        r = wait_for_news(&watch);
                if (r < 0)
                        return complain_bus(NULL, r, "watch");
        }
}

const Verb verb_watch = {
        .name = "watch",
        .min = 0,
        .max = 0,
        .arguments = "",
        .summary = "Print every record as it is signed",
        .options = "format",
        .run = run,
};
