/* SPDX-License-Identifier: Apache-2.0 */

/*
 * watch
 *
 * Every record as it is signed; with --json as a CloudEvent 1.0 line. The attributes of an event are hints: what is
 * signed is in data, a DSSE envelope.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/assayctl.h"
#include "cli/call.h"
#include "daemon/names.h"

typedef struct Watch {
        sd_bus *bus;
        RecordKeyring *keyring;
        char *origin;
        uint64_t next;   /* the first index not yet printed */
        uint64_t signed_; /* the log's size as told */
        bool lost;
} Watch;

static void watch_done(Watch *watch) {
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

static json_t *cloud_event(const Watch *watch, const RecordVerified *verified, const char *line, size_t n) {
        json_t *statement = json_loadb(verified->payload, verified->n_payload, JSON_REJECT_DUPLICATES, NULL);
        json_t *subject = json_array_get(json_object_get(statement, "subject"), 0);
        json_t *envelope = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
        char sequence[24], when[40] = "";
        time_t seconds = (time_t) (verified->entry.finished_usec / 1000000);
        json_t *event;
        struct tm tm;

        if (gmtime_r(&seconds, &tm))
                strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        snprintf(sequence, sizeof(sequence), "%020" PRIu64, verified->entry.index);
        event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "specversion", "1.0", "id", verified->entry.id,
                          "source", watch->origin, "type", verified->entry.type, "subject",
                          json_string_value(json_object_get(subject, "uri")) ?: "unknown", "time", when, "sequence", sequence,
                          "datacontenttype", "application/vnd.dsse.envelope.v1+json", "data", envelope);
        json_decref(statement);
        return event;
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

        if (options.json) {
                _cleanup_(json_decrefp) json_t *event = cloud_event(watch, &verified, line, n);

                if (!event || json_dumpf(event, stdout, JSON_COMPACT) < 0)
                        return complain(STATUS_CANNOT_TELL, "could not write");
                putchar('\n');
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
                r = sd_bus_get_property_string(watch->bus, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "Origin", &error,
                                               &watch->origin);
        if (r >= 0)
                r = sd_bus_get_property_trivial(watch->bus, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogSize", &error, 't',
                                                &watch->next);
        if (r < 0)
                return complain_bus(&error, r, "could not watch");

        watch->signed_ = watch->next;
        return call_keyring(watch->bus, &watch->keyring);
}

int verb_watch(int argc, char **argv) {
        _cleanup_(watch_done) Watch watch = {};
        int r;

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
                        r = sd_bus_wait(watch.bus, UINT64_MAX);
                if (r < 0 && r != -EINTR)
                        return complain_bus(NULL, r, "watch");
        }
}
