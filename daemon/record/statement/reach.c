/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/reach.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/record/statement/statement.h"

#define REGIONS_WORD   "regions"
#define TOGETHER_WORD  "together"
#define SERVERS_WORD   "servers"
#define WITH_WORD      "with:" /* before the name of a server */

/*
 * So end the measurements by which a check tells of a chip that what it found there is seen only together with other servers; that of the next one this is so
 * of those at the far ends of what it found, and that it was tested with all that it could be tested with.
 */
#define FOUND_TOGETHER      "_found_together"
#define FOUND_WITH_SERVERS  "_found_with_servers"
#define TESTED_WITH_SERVERS "_tested_with_servers"

void reach_init(const char *step, const char *check, const char *plan_sha256, Reach *ret) {
        *ret = (Reach) {};
        memcpy(ret->step, step, strnlen(step, sizeof(ret->step) - 1));
        memcpy(ret->check, check, strnlen(check, sizeof(ret->check) - 1));
        if (plan_sha256)
                memcpy(ret->plan, plan_sha256, strnlen(plan_sha256, sizeof(ret->plan) - 1));
}

static ReachCount *find(Reach *reach, const char *name) {
        for (size_t i = 0; i < reach->n_counts; i++)
                if (strcmp(reach->counts[i].name, name) == 0)
                        return &reach->counts[i];
        return NULL;
}

ReachCount *reach_count(Reach *reach, const char *name, double reached) {
        ReachCount *found = find(reach, name);

        if (!(reached >= 0) || !isfinite(reached) || strlen(name) >= sizeof(found->name))
                return NULL;
        if (!found && reach->n_counts < REACH_COUNTS_MAX) {
                found = &reach->counts[reach->n_counts++];
                (void) strcpy(found->name, name);
        }
        if (found)
                found->reached = MAX(found->reached, reached);
        return found;
}

bool reach_name_ends_with(const char *name, const char *end) {
        size_t n = strlen(name), n_end = strlen(end);

        return n > n_end && strcmp(name + n - n_end, end) == 0;
}

static void add_server(const char *name, char (*names)[LOCATION_SERVER_NAME_MAX], size_t max) {
        size_t i = 0;

        while (i < max && names[i][0] && strcmp(names[i], name) != 0)
                i++;
        if (i < max && location_server_name_is_valid(name))
                (void) strcpy(names[i], name); /* a valid one fits */
}

static bool has_server(const Reach *reach, const char *name) {
        for (size_t i = 0; i < RECORD_RUN_SERVERS_MAX; i++)
                if (strcmp(reach->servers[i], name) == 0)
                        return true;
        return false;
}

/* The server of FAR_END, at which a failure of the step was seen, where that is not the chip's. NULL: there is none. */
static void take_far_end(const char *far_end, const char *own, Reach *reach) {
        Location where;

        if (far_end && location_parse(far_end, &where, NULL, NULL) == 0 && strcmp(where.server, own) != 0)
                add_server(where.server, reach->needed, REACH_NEEDED_MAX);
}

static void take_others(const char *name, double value, Reach *reach) {
        if (reach_name_ends_with(name, FOUND_TOGETHER) && value > 0)
                reach->is_together = true;
        if (reach_name_ends_with(name, FOUND_WITH_SERVERS) && value > 0)
                reach->needs_servers = true;
        if (reach_name_ends_with(name, TESTED_WITH_SERVERS) && value > 0)
                reach->is_with_servers = true;
}

/* ---- out of facts ---- */

static bool is_among(const char *const *names, const char *name) {
        for (; names && *names; names++)
                if (strcmp(*names, name) == 0)
                        return true;
        return false;
}

bool step_counts(const RecordStep *step, const char *name) {
        return is_among(step->counts, name);
}

bool reach_is_count(const RecordStep *step, const Measurement *measurement, const Location *unit) {
        if (!measurement_is_printable(measurement) || !location_equal(&measurement->where, unit))
                return false;
        /* A part of a memory may have more samples than all of it at once. */
        if (step->regions && is_among(step->samples, measurement->name))
                return false;
        return step_counts(step, measurement->name);
}

static double promised_of(const RecordHealth *health, const char *name) {
        for (size_t i = 0; i < health->n_promises; i++)
                if (strcmp(health->promises[i].measurement, name) == 0)
                        return health->promises[i].promised;
        return 0;
}

void reach_of_step(const RecordRun *run, const RecordHealth *health, const RecordStep *step, Reach *ret) {
        reach_init(step->name, step->check, run->plan_sha256, ret);
        for (size_t i = 0; i < step->n_measurements; i++) {
                const Measurement *measurement = &step->measurements[i];

                if (reach_is_count(step, measurement, &health->subject.where))
                        (void) reach_count(ret, measurement->name, measurement->value);
                if (measurement_is_printable(measurement))
                        take_others(measurement->name, measurement->value, ret);
        }
        for (size_t i = 0; i < step->n_diagnoses; i++)
                take_far_end(step->diagnoses[i].severity == SEVERITY_FAIL ? step->diagnoses[i].far_end : NULL, health->subject.where.server, ret);
        for (size_t i = 0; i < run->n_servers; i++)
                add_server(run->servers[i], ret->servers, RECORD_RUN_SERVERS_MAX);
        for (size_t i = 0; i < ret->n_counts; i++)
                ret->counts[i].promised = promised_of(health, ret->counts[i].name);
        if (!step->regions || partition_parse(step->regions->partition, &ret->partition) < 0)
                return;
        ret->has_regions = true;
        for (size_t i = 0; i < step->regions->n_tests; i++)
                if (strcmp(step->regions->tests[i].run, run->id) == 0)
                        (void) region_set_parse(step->regions->tests[i].regions, partition_regions(&ret->partition), &ret->tested);
}

/* A count that one of the chips lacks is not of all of them. */
static void take_least(const Reach *chip, bool is_first, Reach *ret) {
        size_t n = 0;

        if (is_first) {
                ret->n_counts = chip->n_counts;
                memcpy(ret->counts, chip->counts, sizeof(ret->counts));
                return;
        }
        for (size_t i = 0; i < ret->n_counts; i++) {
                const ReachCount *other = find((Reach *) chip, ret->counts[i].name);

                if (!other)
                        continue;
                ret->counts[n] = ret->counts[i];
                ret->counts[n].reached = MIN(ret->counts[n].reached, other->reached);
                n++;
        }
        ret->n_counts = n;
}

/* Why MEASUREMENT leaves something out, as its name ends; NULL: it does not. */
static const char *why_left_out(const Measurement *measurement) {
        return measurement->value > 0 ? strstr(measurement->name, REACH_UNTESTED) : NULL;
}

size_t reach_left_out(const RecordStep *step) {
        size_t n = 0;

        for (size_t i = 0; i < step->n_measurements; i++)
                n += why_left_out(&step->measurements[i]) != NULL;
        return n;
}

static bool leaves_out(const RecordStep *step, const char *why) {
        for (size_t i = 0; i < step->n_measurements; i++)
                if (why_left_out(&step->measurements[i]) && strcmp(why_left_out(&step->measurements[i]), why) == 0)
                        return true;
        return false;
}

/* Whether a chip leaves out for itself what its server says of all. */
static bool chips_leave_out(const RecordScan *scan, const char *step, const char *why) {
        for (size_t c = 0; c < scan->n_chips; c++)
                for (size_t i = 0; i < scan->chips[c].n_steps; i++)
                        if (strcmp(scan->chips[c].steps[i].name, step) == 0 && leaves_out(&scan->chips[c].steps[i], why))
                                return true;
        return false;
}

static size_t count_own_left_out(const RecordScan *scan, const RecordStep *step) {
        size_t n = 0;

        for (size_t i = 0; i < step->n_measurements; i++) {
                const char *why = why_left_out(&step->measurements[i]);
                bool is_sum = why && location_equal(&step->measurements[i].where, &scan->server.where) && chips_leave_out(scan, step->name, why);

                n += why && !is_sum;
        }
        return n;
}

void reach_of_server_step(const RecordScan *scan, size_t index, Reach *ret) {
        const RecordStep *step = &scan->steps[index];
        bool is_first = true;

        reach_init(step->name, step->check, scan->run.plan_sha256, ret);
        ret->n_left_out = count_own_left_out(scan, step);
        for (size_t c = 0; c < scan->n_chips; c++)
                for (size_t i = 0; i < scan->chips[c].n_steps; i++) {
                        const RecordStep *part = &scan->chips[c].steps[i];
                        Reach chip;

                        if (strcmp(part->name, step->name) != 0 || !verdict_is_judged(part->verdict))
                                continue;
                        ret->n_left_out += reach_left_out(part);
                        reach_of_step(&scan->run, &scan->chips[c], part, &chip);
                        take_least(&chip, is_first, ret);
                        is_first = false;
                }
}

/* ---- what must be reached ---- */

/* The promised count; a failing step may have gone on for longer than that. */
static double needed(const ReachCount *count) {
        return count->promised > 0 ? count->promised : count->reached;
}

char *reach_format(const Reach *reach, char text[static REACH_TEXT_MAX]) {
        int n = snprintf(text, REACH_TEXT_MAX, "%s,%s,%s%s%s%s", reach->step, reach->check, reach->plan, reach->has_regions ? "," REGIONS_WORD : "",
                         reach->is_together ? "," TOGETHER_WORD : "", reach->needs_servers ? "," SERVERS_WORD : "");

        for (size_t i = 0; i < REACH_NEEDED_MAX && reach->needs_servers && reach->needed[i][0]; i++)
                n += snprintf(text + n, (size_t) (REACH_TEXT_MAX - n), "," WITH_WORD "%s", reach->needed[i]);
        for (size_t i = 0; i < reach->n_counts && n < REACH_TEXT_MAX; i++)
                n += snprintf(text + n, (size_t) (REACH_TEXT_MAX - n), ",%s=%.17g", reach->counts[i].name, needed(&reach->counts[i]));
        return text;
}

/* Up to the next comma. */
static int take_word(const char **text, char *ret, size_t size) {
        size_t n = strcspn(*text, ",");

        if (n >= size)
                return -EBADMSG;
        memcpy(ret, *text, n);
        ret[n] = '\0';
        *text += n;
        *text += **text == ',';
        return 0;
}

static int parse_count(char *word, Reach *reach) {
        char *value = strchr(word, '='), *end;
        double reached;

        if (!value)
                return -EBADMSG;
        *value++ = '\0';
        reached = strtod(value, &end);
        return end == value || *end || !reach_count(reach, word, reached) ? -EBADMSG : 0;
}

int reach_parse(const char *text, Reach *ret) {
        Reach reach = {};
        char word[REACH_STEP_MAX + 32];
        int r;

        r = take_word(&text, reach.step, sizeof(reach.step));
        if (r == 0)
                r = take_word(&text, reach.check, sizeof(reach.check));
        if (r == 0)
                r = take_word(&text, reach.plan, sizeof(reach.plan));
        while (r == 0 && *text) {
                r = take_word(&text, word, sizeof(word));
                if (r == 0 && strcmp(word, REGIONS_WORD) == 0)
                        reach.has_regions = true;
                else if (r == 0 && strcmp(word, TOGETHER_WORD) == 0)
                        reach.is_together = true;
                else if (r == 0 && strcmp(word, SERVERS_WORD) == 0)
                        reach.needs_servers = true;
                else if (r == 0 && strncmp(word, WITH_WORD, strlen(WITH_WORD)) == 0)
                        add_server(word + strlen(WITH_WORD), reach.needed, REACH_NEEDED_MAX);
                else if (r == 0)
                        r = parse_count(word, &reach);
        }
        if (r < 0)
                return r;
        *ret = reach;
        return 0;
}

/* A place that lies in no single region is met where all were tested. */
static bool is_region_tested(const Reach *pass, const Location *where) {
        int outer = location_index(where, location_kind_from_string(pass->partition.outer));
        int inner = location_index(where, location_kind_from_string(pass->partition.inner));
        unsigned total = partition_regions(&pass->partition);

        if (outer < 0 || inner < 0)
                return region_set_count(&pass->tested) == total;
        for (unsigned r = 0; r < total; r++) {
                uint32_t in, first, last;

                partition_region(&pass->partition, r, &in, &first, &last);
                if (in == (uint32_t) outer && first <= (uint32_t) inner && (uint32_t) inner <= last)
                        return region_set_has(&pass->tested, r);
        }
        return false;
}

/* A step that tests all at once does not count regions, and need not; but one of the counts must be there. What nothing is needed of, as rows that a repair proves, need not. */
static bool has_counted_enough(const Reach *pass, const Reach *failed) {
        bool any = failed->n_counts == 0;

        for (size_t i = 0; i < failed->n_counts; i++) {
                const ReachCount *found = find((Reach *) pass, failed->counts[i].name);

                if (found ? found->reached < needed(&failed->counts[i]) : !failed->has_regions && needed(&failed->counts[i]) > 0)
                        return false;
                any = any || found;
        }
        return any;
}

bool reach_lacks_servers(const Reach *pass, const Reach *failed) {
        for (size_t i = 0; i < REACH_NEEDED_MAX && failed->needs_servers && failed->needed[i][0]; i++)
                if (!has_server(pass, failed->needed[i]))
                        return true;
        return failed->needs_servers && !pass->is_with_servers;
}

bool reach_covers(const Reach *pass, const Reach *failed, const Location *where, bool remembers) {
        if (strcmp(pass->step, failed->step) != 0 || (*failed->check && strcmp(pass->check, failed->check) != 0))
                return false;
        if (reach_lacks_servers(pass, failed))
                return false;
        if (pass->has_regions)
                return (remembers && failed->has_regions) || is_region_tested(pass, where);
        return (*failed->plan && strcmp(pass->plan, failed->plan) == 0) || has_counted_enough(pass, failed);
}
