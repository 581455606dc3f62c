/* SPDX-License-Identifier: Apache-2.0 */

/*
 * status
 *
 * How the log is, by the daemon's own account: whether it signs, up to where the log is published and by whom it was seen, and when all of it was last
 * read again. Whoever must not believe the daemon asks `audit`.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/reply.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

typedef struct LogStatus {
        char *origin, *wrong;
        char *lost; /* as `LogLost` tells it */
        uint64_t size;
        uint64_t n_published;   /* records under the newest checkpoint; 0: there is none */
        unsigned n_signatures;  /* of it, the log's own among them */
        uint64_t n_checked, whole_usec, n_pruned, n_unruled; /* as `Scrub` tells it */
        char scrub_error[128];
} LogStatus;

static void log_status_done(LogStatus *status) {
        free(status->origin);
        free(status->wrong);
        free(status->lost);
}

static int read_scrub(sd_bus *bus, sd_bus_error *error, LogStatus *status) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const char *text;
        int r;

        r = reply_property(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "Scrub", error, "(tttts)", &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "(tttts)", &status->n_checked, &status->whole_usec, &status->n_pruned, &status->n_unruled, &text);
        if (r >= 0)
                (void) snprintf(status->scrub_error, sizeof(status->scrub_error), "%s", text);
        return r;
}

/* An assayd that is older than the property NAME tells nothing of it. */
static int read_newer(sd_bus *bus, const char *name, sd_bus_error *error, char **ret) {
        int r;

        r = reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, name, error, ret);
        if (!sd_bus_error_has_name(error, SD_BUS_ERROR_UNKNOWN_PROPERTY))
                return r;
        sd_bus_error_free(error);
        *ret = strdup("");
        return *ret ? 0 : -ENOMEM;
}

/* Its second line is the size, and each signature is a line that begins with a dash. */
static void read_note(const char *note, LogStatus *status) {
        const char *size = strchr(note, '\n');

        status->n_published = size ? strtoull(size + 1, NULL, 10) : 0;
        for (const char *at = note; (at = strstr(at, "\n\xe2\x80\x94 ")); at++)
                status->n_signatures++;
}

static int read_status(sd_bus *bus, LogStatus *status) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_free_ char *note = NULL;
        size_t n;
        int r;

        r = reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "Origin", &error, &status->origin);
        if (r >= 0)
                r = reply_property_string(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogWrong", &error, &status->wrong);
        if (r >= 0 && !*status->wrong) {
                free(status->wrong);
                status->wrong = NULL;
                r = read_newer(bus, "KeyChanged", &error, &status->wrong);
        }
        if (r >= 0)
                r = read_newer(bus, "LogLost", &error, &status->lost);
        if (r >= 0)
                r = reply_property_trivial(bus, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "LogSize", &error, 't', &status->size);
        if (r >= 0)
                r = read_scrub(bus, &error, status);
        if (r < 0)
                return complain_bus(&error, r, "status");
        r = call_checkpoint(bus, &note, &n);
        if (r == 0 && note)
                read_note(note, status);
        return r;
}

static void print_scrub(const LogStatus *status) {
        time_t sec = (time_t) (status->whole_usec / 1000000);
        char when[32] = "";
        struct tm tm;

        if (sec > 0 && gmtime_r(&sec, &tm))
                (void) strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
        say(stdout, "read again  %s%s", *when ? "all, " : "not all of it since assayd started", when);
        if (status->n_checked > 0)
                say(stdout, "; now at %" PRIu64, status->n_checked);
        if (status->n_pruned > 0)
                say(stdout, "; %" PRIu64 " without an envelope by then", status->n_pruned);
        if (status->n_unruled > 0)
                say(stdout, "; %" PRIu64 " under older rules", status->n_unruled);
        if (*status->scrub_error)
                say(stdout, "; could not be read: %s", status->scrub_error);
        say(stdout, "\n");
}

static void print_published(uint64_t n_records, unsigned n_witnesses) {
        say(stdout, "published   %" PRIu64 " record%s, %u witness%s\n", n_records, n_records == 1 ? "" : "s", n_witnesses, n_witnesses == 1 ? "" : "es");
}

static void print_text(const LogStatus *status) {
        say(stdout, "log         %s\n", status->origin);
        say(stdout, "records     %" PRIu64 "\n", status->size);
        if (status->n_published > 0)
                print_published(status->n_published, status->n_signatures > 0 ? status->n_signatures - 1 : 0);
        else
                say(stdout, "published   nothing\n");
        print_scrub(status);
        if (*status->lost)
                say(stdout, "lost        %s\n", status->lost);
        say(stdout, "signing     %s%s\n", *status->wrong ? "nothing: " : "yes", status->wrong);
}

static int print_json(const LogStatus *status) {
        json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:s}", "origin", status->origin, "records", (json_int_t) status->size, "published",
                                                  (json_int_t) status->n_published, "witnesses", (json_int_t) (status->n_signatures > 0 ? status->n_signatures - 1 : 0),
                                                  "checked", (json_int_t) status->n_checked, "readAgainUsec", (json_int_t) status->whole_usec, "pruned",
                                                  (json_int_t) status->n_pruned, "underOlderRules", (json_int_t) status->n_unruled, "readError", status->scrub_error, "lost", status->lost,
                                                  "wrong", status->wrong);
        _cleanup_free_ char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

        json_decref(object);
        if (!text)
                return complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(ENOMEM));
        say(stdout, "%s\n", text);
        return 0;
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(log_status_done) LogStatus status = {};
        int r;

        r = call_connect(&bus);
        if (r == 0)
                r = read_status(bus, &status);
        if (r != 0)
                return r;
        if (options.json) {
                r = print_json(&status);
                if (r != 0)
                        return r;
        } else
                print_text(&status);
        return *status.wrong ? STATUS_REFUSED : STATUS_PASSED;
}

const Verb verb_status = {
        .name = "status",
        .min = 0,
        .max = 0,
        .arguments = "",
        .summary = "Show how the log is: signing, published, read again",
        .options = "",
        .run = run,
};
