/* SPDX-License-Identifier: Apache-2.0 */

/*
 * coverage
 *
 * Which regions of the memories of a chip were tested, when, and what came of it: from its newest record that tells, which
 * is verified here. Of a server or an UltraServer one line per chip.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/plan-names.h"
#include "cli/results/coverage.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "cli/terminal/verb.h"
#include "daemon/names.h"

#define CHIPS_MAX 64 /* of an UltraServer */

typedef struct Chip {
        char name[LOCATION_STRING_MAX];
        size_t n_told; /* steps */
        bool failed;
} Chip;

typedef struct Listing {
        const char *plan;
        uint64_t now_usec;
        size_t n_chips;
        Chip chips[CHIPS_MAX];
        Chip *chip;      /* at hand */
        bool detailed;   /* one chip alone */
        Table *table;
        json_t *json;
        sd_bus *bus;
        const RecordKeyring *keyring;
        const RecordVerified *regions; /* the record at hand */
        char cleared[PLAN_NAME_MAX + 128];           /* by which record what had failed was, in words */
} Listing;

static uint64_t now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* Whether the chip NAME is, or is part of, TARGET: a chip, a server, or an UltraServer us0. */
static bool is_part(const char *name, const char *target) {
        size_t n = strlen(target);

        return strncmp(name, target, n) == 0 && (name[n] == '\0' || name[n] == '/' || (name[n] == '-' && !strchr(target, '-')));
}

static int list_chips(sd_bus *bus, const char *target, Listing *listing) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        char why[512];
        const char *name, *model, *state, *verdict;
        int r;

        r = call_manager(bus, "ListTargets", &error, &reply, "t", (uint64_t) ASSAY_TARGETS_CHIPS);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssss)");
        while (r >= 0 && (r = sd_bus_message_read(reply, "(ssss)", &name, &model, &state, &verdict)) > 0)
                if (strchr(name, '/') && is_part(name, target) && listing->n_chips < CHIPS_MAX &&
                    strlen(name) < sizeof(listing->chips[0].name))
                        (void) strcpy(listing->chips[listing->n_chips++].name, name);
        if (r < 0)
                return complain_bus(&error, r, "could not list targets");

        listing->detailed = listing->n_chips == 1;
        if (listing->n_chips > 0)
                return 0;
        call_tell_target(bus, target, why, sizeof(why));
        return complain(STATUS_USAGE, "%s", why);
}

/* ---- one chip ---- */

static bool alike(const Coverage *coverage, unsigned a, unsigned b) {
        const RecordKnownRegions *known = coverage->known;
        RegionSet failed = coverage_failed(coverage);

        return coverage->usec[a] == coverage->usec[b] && a / known->partition.n_slices == b / known->partition.n_slices &&
               region_set_has(&failed, a) == region_set_has(&failed, b) &&
               region_set_has(&known->occupied, a) == region_set_has(&known->occupied, b) &&
               region_set_has(&known->unproven, a) == region_set_has(&known->unproven, b);
}

static int add_run(const Coverage *coverage, unsigned first, unsigned last, Listing *listing) {
        const RecordKnownRegions *known = coverage->known;
        char regions[32], where[REGIONS_WHERE_MAX + 16], when[32] = "-", age[24];
        uint32_t outer, begin, end, ignored;
        time_t sec = (time_t) (coverage->usec[first] / 1000000);
        RegionSet failed = coverage_failed(coverage);
        struct tm tm;

        partition_region(&known->partition, first, &outer, &begin, &ignored);
        partition_region(&known->partition, last, &outer, &ignored, &end);
        (void) snprintf(regions, sizeof(regions), first == last ? "%u" : "%u-%u", first, last);
        (void) snprintf(where, sizeof(where), "%s%u %s%u-%u", known->partition.outer, outer, known->partition.inner, begin, end);
        if (sec > 0 && localtime_r(&sec, &tm))
                (void) strftime(when, sizeof(when), "%F %T", &tm);

        return table_row(listing->table,
                         (const char *[]) { known->step, regions, where, when,
                                            coverage_age(coverage->usec[first], listing->now_usec, age),
                                            region_set_has(&failed, first) ? "FAILED" : sec == 0 ? "UNTESTED" : "PASSED",
                                            region_set_has(&known->occupied, first) ? "yes" : "no",
                                            region_set_has(&known->unproven, first) ? known->because : "" });
}

static int add_regions(const Coverage *coverage, Listing *listing) {
        const RecordKnownRegions *known = coverage->known;
        unsigned total = partition_regions(&known->partition);
        int r = 0;

        for (unsigned first = 0, last; first < total && r >= 0; first = last + 1) {
                for (last = first; last + 1 < total && alike(coverage, first, last + 1); last++)
                        ;
                r = add_run(coverage, first, last, listing);
        }
        return r;
}

/* ---- many ---- */

static int add_line(const char *chip, const Coverage *coverage, Listing *listing) {
        const RecordKnownRegions *known;
        char numbers[6][16], age[24];
        RegionSet failed;

        if (!coverage)
                return table_row(listing->table, (const char *[]) { chip, "-", "0", "-", "-", "-", "-", "-", "-" });

        known = coverage->known;
        failed = coverage_failed(coverage);
        (void) snprintf(numbers[0], sizeof(numbers[0]), "%u", region_set_count(&known->tested));
        (void) snprintf(numbers[1], sizeof(numbers[1]), "%u", partition_regions(&known->partition));
        (void) snprintf(numbers[2], sizeof(numbers[2]), "%u", region_set_count(&known->occupied));
        (void) snprintf(numbers[3], sizeof(numbers[3]), "%u", region_set_count(&failed));
        (void) snprintf(numbers[4], sizeof(numbers[4]), "%u", known->position);
        (void) snprintf(numbers[5], sizeof(numbers[5]), "%u", region_set_count(&known->unproven));
        return table_row(listing->table, (const char *[]) { chip, known->step, numbers[0], numbers[1], numbers[2], numbers[5], numbers[3],
                                                            coverage_age(coverage_oldest(coverage), listing->now_usec, age),
                                                            numbers[4] });
}

/* Whether the newest record of PLAN ("": of any) is behind that of the regions, verifies, and has tested all that its STEP tests region by region. */
static bool is_cleared_by(const Listing *listing, const char *plan, const char *step, RecordVerified *ret) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        RecordTrust trust;
        uint64_t found;

        if (call_manager(listing->bus, "FindRecord", &error, &reply, "sst", listing->chip->name, plan, (uint64_t) 0) < 0 ||
            sd_bus_message_read(reply, "t", &found) < 0 || found <= listing->regions->entry.index)
                return false;
        return call_verified(listing->bus, listing->keyring, found, &trust, ret) == 0 && trust == RECORD_VERIFIED && ret->entry.index == found &&
               location_equal(&ret->entry.subject, &listing->regions->entry.subject) && record_tests_all_regions(ret, listing->regions, step) > 0;
}

/* A test of all memory at once ends what stands of single regions, for `gate` and for the next scan, which forgets it then. */
static void look_for_clearing(Listing *listing, Coverage *coverage) {
        _cleanup_free_ char (*plans)[PLAN_NAME_MAX] = calloc(PLAN_NAMES_MAX + 2, sizeof(*plans));
        RegionSet failed = coverage_failed(coverage);
        size_t n = 1; /* the first is empty: of any plan */

        if (!plans || region_set_count(&failed) == 0)
                return;
        n += options.host ? 0 : plan_names(plans + 1);
        for (size_t i = 0; i < n && !coverage->is_cleared; i++) {
                RecordVerified later = {};

                coverage->is_cleared = is_cleared_by(listing, plans[i], coverage->known->step, &later);
                coverage->cleared_by = later.entry.index;
                if (coverage->is_cleared)
                        (void) snprintf(listing->cleared, sizeof(listing->cleared), "What had failed in regions is cleared by record %" PRIu64 " of plan %s, which tested all of the memory.",
                                        later.entry.index, later.entry.plan);
                record_verified_done(&later);
        }
}

static int take(const Coverage *coverage, void *userdata) {
        Listing *listing = userdata;
        Coverage now = *coverage;
        RegionSet failed;

        if (strcmp(coverage->where, listing->chip->name) != 0)
                return -EBADMSG;
        look_for_clearing(listing, &now);
        failed = coverage_failed(&now);
        listing->chip->n_told++;
        listing->chip->failed = listing->chip->failed || region_set_count(&failed) > 0;
        if (options.json)
                return json_array_append_new(listing->json, coverage_json(&now, listing->now_usec)) < 0 ? -ENOMEM : 0;
        return listing->detailed ? add_regions(&now, listing) : add_line(listing->chip->name, &now, listing);
}

/* Returns 0, or an exit status, having complained. */
static int read_chip(sd_bus *bus, const RecordKeyring *keyring, Listing *listing) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(record_verified_done) RecordVerified verified = {};
        const char *name = listing->chip->name;
        char where[LOCATION_STRING_MAX];
        json_t *statement;
        RecordTrust trust;
        uint64_t record;
        int r;

        r = call_manager(bus, "FindRecord", &error, &reply, "sst", name, listing->plan, (uint64_t) ASSAY_RECORD_REGIONS);
        if (sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_RECORD))
                return 0;
        if (r >= 0)
                r = sd_bus_message_read(reply, "t", &record);
        if (r < 0)
                return complain_bus(&error, r, "coverage");

        r = call_verified(bus, keyring, record, &trust, &verified);
        if (r != 0)
                return r;
        if (trust != RECORD_VERIFIED || strcmp(verified.entry.plan, listing->plan) != 0)
                return complain(trust == RECORD_VERIFIED ? STATUS_REFUSED : call_trust_status(trust),
                                "%s: record %" PRIu64 " does not verify", name, record);

        (void) record_statement_read(verified.payload, verified.n_payload, &statement);
        (void) location_format(&verified.entry.subject, where);
        listing->bus = bus;
        listing->keyring = keyring;
        listing->regions = &verified;
        r = statement ? coverage_read(statement, where, record, take, listing) : -ENOMEM;
        json_decref(statement);
        return r < 0 ? complain(STATUS_REFUSED, "%s: what record %" PRIu64 " tells of regions cannot be", name, record) : 0;
}

static int read_chips(sd_bus *bus, Listing *listing) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        int r;

        r = call_keyring(bus, &keyring);
        for (size_t i = 0; i < listing->n_chips && r == 0; i++) {
                listing->chip = &listing->chips[i];
                r = read_chip(bus, keyring, listing);
                if (r == 0 && !options.json && !listing->detailed && listing->chip->n_told == 0 &&
                    add_line(listing->chip->name, NULL, listing) < 0)
                        r = complain(STATUS_CANNOT_TELL, "out of memory");
        }
        return r;
}

static int show(Listing *listing) {
        int r;

        pager_open();
        if (options.json) {
                r = json_dumpf(listing->json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) < 0 ? -EIO : 0;
                putchar('\n');
        } else
                r = table_print(listing->table);
        if (r >= 0 && !options.json && listing->detailed && *listing->cleared)
                say_words(0, "%s", listing->cleared);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : 0;
}

/* 1 where a region has failed, 2 where nothing is known of a chip. */
static int status_of(const Listing *listing) {
        int status = STATUS_PASSED;

        for (size_t i = 0; i < listing->n_chips; i++) {
                if (listing->chips[i].failed)
                        return STATUS_FAILED;
                if (listing->chips[i].n_told == 0)
                        status = STATUS_CANNOT_TELL;
        }
        return status;
}

/* Why rows are empty. */
static void tell_untold(const Listing *listing) {
        size_t n = 0;

        for (size_t i = 0; i < listing->n_chips; i++)
                n += listing->chips[i].n_told == 0;
        if (n > 0)
                (void) complain(0, "of %zu chip%s no record of plan %s tells regions, as those of scans in service (infleet) do", n, n == 1 ? "" : "s", listing->plan);
}

static int run(sd_bus *bus, const char *target, Listing *listing) {
        static const TableColumn columns[] = {
                { "STEP",    "step",     false, false },
                { "REGIONS", "regions",  false, false },
                { "WHERE",   "where",    false, false },
                { "TESTED",  "tested",   false, false },
                { "AGE",     "age",      false, false },
                { "VERDICT", "verdict",  false, false },
                { "IN USE",  "occupied", false, false },
                { "NOT PROVEN", "unproven", false, false },
                {},
        }, lines[] = {
                { "CHIP",    "target",   false, false },
                { "STEP",    "step",     false, false },
                { "TESTED",  "tested",   true,  false },
                { "OF",      "regions",  true,  false },
                { "IN USE",  "occupied", true,  false },
                { "NOT PROVEN", "unproven", true, false },
                { "FAILED",  "failed",   true,  false },
                { "OLDEST",  "oldest",   false, false },
                { "NEXT",    "position", true,  false },
                {},
        };
        int r;

        r = list_chips(bus, target, listing);
        if (r != 0)
                return r;
        listing->json = json_array();
        if (!listing->json || table_new(listing->detailed ? columns : lines, &listing->table) < 0)
                return complain(STATUS_CANNOT_TELL, "out of memory");

        r = read_chips(bus, listing);
        if (r != 0)
                return r;
        if (listing->detailed && listing->chips[0].n_told == 0 && !options.json)
                return complain(STATUS_CANNOT_TELL, "%s: no record of plan %s tells regions, as those of scans in service (infleet) do", target, listing->plan);
        r = show(listing);
        tell_untold(listing);
        return r != 0 ? r : status_of(listing);
}

/* A slip looks like a chip of which nothing was tested. A plan of which there is no file may have records, so only one that nearly has a file is a slip. */
static int refuse_plan(const char *name) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *wrong = NULL;
        char question[NEAREST_MAX + 32];

        if (options.host || plan_find(plan_folders(), name, &plan, &wrong) != -ENOENT || !*plan_names_question(name, question, sizeof(question)))
                return 0;
        return complain(STATUS_USAGE, "no plan is called '%s'%s", name, question);
}

static int run_verb(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_free_ Listing *listing = calloc(1, sizeof(*listing));
        int r;

        if (!listing)
                return complain(STATUS_CANNOT_TELL, "out of memory");

        r = options.plan ? refuse_plan(options.plan) : 0;
        if (r != 0)
                return r;
        listing->plan = options.plan ?: "infleet";
        listing->now_usec = now_usec();
        r = call_connect(&bus);
        if (r == 0)
                r = run(bus, argv[0], listing);

        json_decref(listing->json);
        table_freep(&listing->table);
        return r;
}

const Verb verb_coverage = {
        .name = "coverage",
        .min = 1,
        .max = 1,
        .arguments = "TARGET",
        .summary = "Show which regions of memory were tested, and when",
        .options = "plan",
        .run = run_verb,
};
