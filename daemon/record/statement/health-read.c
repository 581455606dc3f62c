/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/health-read.h"

#include <assert.h>
#include <stdio.h>
#include <sys/param.h>

#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/identity.h"
#include "daemon/record/statement/reading.h"
#include "daemon/record/statement/statement-read.h"
#include "daemon/record/statement/statement.h"

static const char *sha256_of(const json_t *descriptor) {
        return json_string_value(json_object_get(json_object_get(descriptor, "digest"), "sha256"));
}

/* ---- what every verdict has ---- */

void run_read(const json_t *predicate, RecordRun *ret) {
        const json_t *run = json_object_get(predicate, "run"), *configuration = json_object_get(predicate, "configuration");
        const json_t *servers = json_object_get(run, "servers"), *operator = json_object_get(run, "operator");

        *ret = (RecordRun) {
                .id = text_of(run, "id"),
                .stage = stage_from_string(text_of(run, "stage")),
                .challenge = json_string_value(json_object_get(run, "challenge")),
                .note = json_string_value(json_object_get(run, "note")),
                .operator = json_string_value(json_object_get(operator, "name")),
                .has_operator = operator != NULL,
                .operator_uid = (uint32_t) reading_count(operator, "uid"),
                .seed = reading_count(run, "seed"),
                .plan = text_of(json_array_get(configuration, 0), "name"),
                .plan_sha256 = sha256_of(json_array_get(configuration, 0)),
                .limits_sha256 = sha256_of(json_array_get(configuration, 1)),
                .worker_sha256 = sha256_of(json_object_get(run, "worker")),
                .n_servers = MIN(json_array_size(servers), (size_t) RECORD_RUN_SERVERS_MAX),
        };
        (void) timestamp_parse(text_of(run, "startedOn"), &ret->started_usec);
        (void) timestamp_parse(text_of(run, "finishedOn"), &ret->finished_usec);
        for (size_t i = 0; i < ret->n_servers; i++)
                ret->servers[i] = json_string_value(json_array_get(servers, i)) ?: "";
        for (size_t i = 0; i < json_array_size(json_object_get(run, "chips")); i++)
                ret->chips |= UINT32_C(1) << (json_integer_value(json_array_get(json_object_get(run, "chips"), i)) & (RECORD_RUN_CHIPS_MAX - 1));
}

/* Readers match hardware by digests, and people by what the URI spells. */
static void check_identity(Reading *reading, const char *kind, const json_t *descriptor, const json_t *server, const json_t *predicate, const Location *where) {
        const char *uri = text_of(descriptor, "uri"), *origin = text_of(json_object_get(predicate, "log"), "origin");
        int r = identity_fits(kind, uri, text_of(server, "uri"), sha256_of(descriptor), origin, where);

        if (r < 0 && reading->error == 0)
                reading->error = r;
        else if (r == 0)
                (void) REFUSE(reading, "the digest is not that of %.100s, or it is elsewhere", uri);
}

static void read_subject(Reading *reading, const json_t *predicate, RecordSubject *ret) {
        const json_t *subject = json_array_get(json_object_get(reading->health->statement, "subject"), 0);
        const json_t *host = json_object_get(predicate, "host");
        const char *path = text_of(json_object_get(predicate, "location"), "path");
        char *product = reading_take(reading, 1, RECORD_PRODUCT_BYTES), *serial = reading_take(reading, 1, RECORD_SERIAL_BYTES);
        Location server;

        if (*path && location_parse(path, &reading->subject, NULL, NULL) < 0)
                (void) REFUSE(reading, "%.80s is no location", path);
        server = reading->subject;
        server.n_parts = 0;
        check_identity(reading, reading->health->is_rollup ? "server" : "accelerator", subject, host, predicate, &reading->subject);
        check_identity(reading, "server", host, NULL, predicate, &server);
        if (serial)
                identity_read(text_of(subject, "uri"), product, serial);
        *ret = (RecordSubject) { .where = reading->subject, .serial = serial, .product = product };
}

/* An unfinished record is no verdict but INCONCLUSIVE. */
static Result read_result(Reading *reading, const json_t *predicate) {
        Result result = result_from_string(text_of(predicate, "result"));

        if (!reading_says(predicate, "status", "COMPLETE") && result != RESULT_INCONCLUSIVE)
                (void) REFUSE(reading, "status %s with result %s", text_of(predicate, "status"), text_of(predicate, "result"));
        return result;
}

/* ---- a chip ---- */

static const json_t *find_untested(const json_t *untested, const char *name) {
        for (size_t i = 0; i < json_array_size(untested); i++)
                if (reading_says(json_array_get(untested, i), "name", name))
                        return json_array_get(untested, i);
        return NULL;
}

/* A step that did not test leaves open what it could have counted. */
static void read_left_open(Reading *reading, const json_t *untested, RecordStep *step) {
        const json_t *names = json_object_get(find_untested(untested, step->name), "coverage");
        const char **counts = names ? reading_take(reading, json_array_size(names) + 1, sizeof(*counts)) : NULL;

        for (size_t i = 0; i < json_array_size(names) && counts; i++)
                counts[i] = json_string_value(json_array_get(names, i)) ?: "";
        if (counts)
                step->counts = counts;
}

static void read_promises(Reading *reading, const json_t *coverage) {
        RecordHealth *chip = &reading->health->chip;
        RecordPromise *promises = reading_take(reading, json_array_size(coverage), sizeof(*promises));

        for (; chip->n_promises < json_array_size(coverage) && reading->error == 0; chip->n_promises++) {
                const json_t *promise = json_array_get(coverage, chip->n_promises);
                const json_t *reached = json_object_get(promise, "reached"), *promised = json_object_get(promise, "promised");

                promises[chip->n_promises] = (RecordPromise) { text_of(promise, "name"), json_number_value(reached), json_number_value(promised) };
                if (!reading_is_double(reached) || !reading_is_double(promised))
                        (void) REFUSE(reading, "%.60s is no number that all readers know", text_of(promise, "name"));
        }
        chip->promises = promises;
}

/* A record cannot refer to what comes behind it. */
static RecordEarlier read_earlier(Reading *reading, const json_t *predicate, const char *key) {
        RecordEarlier earlier = { json_object_get(predicate, key) != NULL, reading_count(predicate, key) };

        if (earlier.is_told && earlier.index >= reading_count(json_object_get(predicate, "log"), "index"))
                (void) REFUSE(reading, "%s names no record before this one", key);
        return earlier;
}

static void read_chip(Reading *reading, const json_t *predicate) {
        RecordHealth *chip = &reading->health->chip;

        chip->earlier = read_earlier(reading, predicate, "earlier");
        chip->standing = read_earlier(reading, predicate, "standing");
        if (chip->earlier.is_told && chip->standing.is_told && chip->standing.index > chip->earlier.index)
                (void) REFUSE(reading, "its standing failure is behind the newest record before it");
        read_subject(reading, predicate, &chip->subject);
        chip->result = read_result(reading, predicate);
        read_steps(reading, json_object_get(predicate, "steps"));
        read_promises(reading, json_object_get(predicate, "coverage"));
        for (size_t i = 0; i < chip->n_steps && reading->error == 0; i++)
                if (!verdict_is_judged(chip->steps[i].verdict))
                        read_left_open(reading, json_object_get(predicate, "untestedTests"), &reading->health->steps[i]);
}

/* ---- a roll-up ---- */

/* The records of the chips stand before this one, the last of which is the previous. */
static void read_named(Reading *reading, const json_t *predicate, size_t i, RecordNamed *all) {
        const json_t *notes = json_object_get(json_array_get(json_object_get(predicate, "components"), i), "annotations");
        const char *slot = text_of(notes, "slot"), *id = text_of(notes, "recordSha256");
        uint64_t own = reading_count(json_object_get(predicate, "log"), "index");
        RecordNamed *named = &all[i];

        named->index = reading_count(notes, "logIndex");
        named->result = result_from_string(text_of(notes, "result"));
        (void) snprintf(named->id, sizeof(named->id), "%s", id);
        if (location_parse(slot, &named->where, NULL, NULL) < 0)
                (void) REFUSE(reading, "%.60s is no location", slot);
        if (named->index >= own || (named->index == own - 1 && !reading_says(json_object_get(predicate, "previous"), "sha256", id)))
                (void) REFUSE(reading, "the record of %.60s is none before this one", slot);
        for (size_t k = 0; k < i; k++)
                if (all[k].index == named->index || strcmp(all[k].id, named->id) == 0)
                        (void) REFUSE(reading, "%.60s or its record is named twice", slot);
}

static void read_components(Reading *reading, const json_t *predicate) {
        Health *health = reading->health;
        size_t n = json_array_size(json_object_get(predicate, "components"));
        RecordHealth *chips = reading_take(reading, n, sizeof(*chips));

        health->named = reading_take(reading, n, sizeof(*health->named));
        health->scan.chips = chips;
        for (; health->n_named < n && reading->error == 0; health->n_named++) {
                read_named(reading, predicate, health->n_named, health->named);
                check_identity(reading, "accelerator", json_array_get(json_object_get(predicate, "components"), health->n_named),
                               json_array_get(json_object_get(health->statement, "subject"), 0), predicate, &health->named[health->n_named].where);
                chips[health->n_named].subject.where = health->named[health->n_named].where;
                chips[health->n_named].result = health->named[health->n_named].result;
        }
        health->scan.n_chips = health->n_named;
}

/* It does not tell which of its steps measured what; each of its diagnoses tells its own. */
static void read_own(Reading *reading, const json_t *predicate) {
        const json_t *diagnoses = json_object_get(predicate, "diagnoses");
        size_t n = json_array_size(diagnoses);
        RecordStep *steps = reading_take(reading, n + 1, sizeof(*steps)), found = {};

        reading->health->steps = steps;
        reading->health->scan.steps = steps;
        if (!steps)
                return;
        read_measurements(reading, predicate, "the server", "", steps);
        steps[0].name = "";
        read_diagnoses(reading, diagnoses, &found);
        for (size_t i = 0; i < found.n_diagnoses; i++)
                steps[i + 1] = (RecordStep) { .name = text_of(json_array_get(diagnoses, i), "step"), .n_diagnoses = 1, .diagnoses = &found.diagnoses[i] };
        reading->health->scan.n_steps = found.n_diagnoses + 1;
}

static void read_left_out(Reading *reading, const json_t *untested) {
        Health *health = reading->health;
        RecordPlace *places = reading_take(reading, json_array_size(untested), sizeof(*places));

        for (; health->n_untested < json_array_size(untested) && reading->error == 0; health->n_untested++) {
                const json_t *place = json_array_get(untested, health->n_untested);

                places[health->n_untested].where = reading_where(reading, place);
                (void) snprintf(places[health->n_untested].step, PLACE_STEP_MAX, "%s", text_of(place, "step"));
        }
        health->untested = places;
}

static void read_tests(Reading *reading, const json_t *tests) {
        Health *health = reading->health;
        Reach *reaches = reading_take(reading, json_array_size(tests), sizeof(*reaches));

        health->tells_reaches = tests != NULL;
        for (; health->n_reaches < json_array_size(tests) && reading->error == 0; health->n_reaches++) {
                const json_t *test = json_array_get(tests, health->n_reaches), *coverage = json_object_get(test, "coverage");
                Reach *reach = &reaches[health->n_reaches];

                reach_init(text_of(test, "name"), text_of(test, "check"), health->scan.run.plan_sha256, reach);
                reach->n_left_out = (size_t) reading_count(test, "leftOut");
                for (size_t k = 0; k < json_array_size(coverage); k++) {
                        const json_t *item = json_array_get(coverage, k);
                        ReachCount *count = reach_count(reach, text_of(item, "name"), json_number_value(json_object_get(item, "reached")));

                        if (count)
                                count->promised = json_number_value(json_object_get(item, "promised"));
                }
        }
        health->reaches = reaches;
}

static void read_rollup(Reading *reading, const json_t *predicate) {
        RecordScan *scan = &reading->health->scan;

        reading->health->is_rollup = true;
        read_subject(reading, predicate, &scan->server);
        scan->result = read_result(reading, predicate);
        scan->n_chips_of_server = (size_t) reading_count(predicate, "chipCount");
        read_own(reading, predicate);
        read_components(reading, predicate);
        read_left_out(reading, json_object_get(predicate, "untested"));
        read_tests(reading, json_object_get(predicate, "tests"));
}

/* ---- what is said twice ---- */

static bool is_among(const json_t *names, const char *name) {
        for (size_t i = 0; i < json_array_size(names); i++)
                if (strcmp(json_string_value(json_array_get(names, i)) ?: "", name) == 0)
                        return true;
        return false;
}

/* Whether the list of KEY holds exactly the names of the steps that ended as VERDICT. */
static bool are_named(const RecordHealth *chip, const json_t *predicate, const char *key, Verdict verdict, Judgement *wrong) {
        const json_t *names = json_object_get(predicate, key);
        size_t n = 0;

        for (size_t i = 0; i < chip->n_steps; i++) {
                if (chip->steps[i].verdict != verdict)
                        continue;
                n++;
                if (!is_among(names, chip->steps[i].name))
                        return judge_wrong(wrong, "%s does not name %.60s", key, chip->steps[i].name);
        }
        return n == json_array_size(names) || judge_wrong(wrong, "%s names what is no such step", key);
}

static bool is_open(const RecordHealth *chip, const char *name) {
        for (size_t i = 0; i < chip->n_promises; i++)
                if (strcmp(chip->promises[i].measurement, name) == 0 && promise_is_open(&chip->promises[i]))
                        return true;
        return false;
}

static bool are_untested(const RecordHealth *chip, const json_t *predicate, Judgement *wrong) {
        const json_t *untested = json_object_get(predicate, "untestedTests"), *steps = json_object_get(predicate, "steps");
        size_t n = 0;

        for (size_t i = 0; i < chip->n_steps; i++) {
                const json_t *test = find_untested(untested, chip->steps[i].name), *names = json_object_get(test, "coverage");

                if (verdict_is_judged(chip->steps[i].verdict))
                        continue;
                n++;
                if (!test || !reading_says(json_array_get(steps, i), "reason", text_of(test, "reason")))
                        return judge_wrong(wrong, "untestedTests does not name %.60s", chip->steps[i].name);
                for (size_t k = 0; k < json_array_size(names); k++)
                        if (!is_open(chip, json_string_value(json_array_get(names, k)) ?: ""))
                                return judge_wrong(wrong, "%.60s is called open and is not", json_string_value(json_array_get(names, k)) ?: "");
        }
        return n == json_array_size(untested) || judge_wrong(wrong, "untestedTests names what is no such step");
}

bool health_agrees(const Health *health, Judgement *wrong) {
        const json_t *predicate = json_object_get(health->statement, "predicate");
        const RecordHealth *chip = &health->chip;

        return health->is_rollup || (are_named(chip, predicate, "passedTests", VERDICT_PASSED, wrong) &&
                                     are_named(chip, predicate, "warnedTests", VERDICT_WARNED, wrong) &&
                                     are_named(chip, predicate, "failedTests", VERDICT_FAILED, wrong) && are_untested(chip, predicate, wrong));
}

/* ---- all of it ---- */

int health_read(json_t *statement, const char *predicate_type, Health *ret) {
        Health health = { .statement = json_incref(statement) };
        Reading reading = { .health = &health };
        SchemaWrong misfit;
        const json_t *predicate;

        if (json_is_object(json_object_get(json_object_get(statement, "predicate"), "steps")))
                reading.error = statement_fit(&health.statement, &misfit);
        if (reading.error < 0) {
                health_done(&health);
                return reading.error;
        }
        predicate = json_object_get(health.statement, "predicate");
        run_read(predicate, &health.scan.run);
        (strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0 ? read_rollup : read_chip)(&reading, predicate);
        if (reading.error < 0) {
                health_done(&health);
                return reading.error;
        }
        *ret = health;
        return 0;
}

int health_read_verified(const RecordVerified *verified, Health *ret) {
        _cleanup_json_ json_t *statement = NULL;
        int r;

        if (!record_is_verdict(&verified->entry))
                return -EBADMSG;
        r = record_statement_read(verified->payload, verified->n_payload, &statement);
        return r < 0 ? r : health_read(statement, verified->entry.type, ret);
}

void health_done(Health *health) {
        arena_done(&health->arena);
        json_decref(health->statement);
        *health = (Health) {};
}
