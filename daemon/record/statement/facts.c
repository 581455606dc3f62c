/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/facts.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/catalogue.h"
#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/digest.h"

#define NAME_BYTES_MAX      63  /* of plans, steps and promises, which a plan bounds */
#define WORD_BYTES_MAX      255 /* of measurements and codes, which a worker says */
#define STEPS_MAX           1024
#define CHIPS_MAX           1024
#define TIME_USEC_MAX       253402300799999999u
#define CHALLENGE_MAX_BYTES 128

static bool is_sha256(const char *text) {
        uint8_t digest[DIGEST_BYTES];

        return text && digest_from_hex(text, digest) == 0;
}

static bool is_uuid(const char *text) {
        if (strlen(text) != 36)
                return false;
        for (size_t i = 0; i < 36; i++)
                if (i == 8 || i == 13 || i == 18 || i == 23
                                    ? text[i] != '-'
                                    : !isxdigit((unsigned char) text[i]) || isupper((unsigned char) text[i]))
                        return false;
        return true;
}

/* Plain text only: names are compared, and repairing bad UTF-8 could make two of them one. */
static bool is_name(const char *text, size_t max) {
        if (!text || !*text || strlen(text) > max)
                return false;
        for (; *text; text++)
                if ((unsigned char) *text < 0x20 || (unsigned char) *text > 0x7e)
                        return false;
        return true;
}

/* a-b-c of lower-case letters and digits */
static bool is_code(const char *text) {
        char before = '-';

        if (!is_name(text, WORD_BYTES_MAX))
                return false;
        for (; *text; before = *text++)
                if (!((*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9') ||
                      (*text == '-' && before != '-')))
                        return false;
        return before != '-';
}

const char *facts_wrong_with_run(const RecordRun *run) {
        uint8_t challenge[CHALLENGE_MAX_BYTES];
        size_t n;

        if (!run->id || !is_uuid(run->id))
                return "the run's ID is not a UUID";
        if (run->stage < 0 || run->stage >= _STAGE_MAX)
                return "the stage is unknown";
        if (!is_name(run->plan, NAME_BYTES_MAX))
                return "the plan has no name, or a too long one";
        if (!is_sha256(run->plan_sha256))
                return "the plan has no digest";
        if ((run->limits_sha256 && !is_sha256(run->limits_sha256)) || (run->worker_sha256 && !is_sha256(run->worker_sha256)))
                return "the limits' digest or the worker's is none";
        for (size_t i = 0; i < run->n_servers; i++)
                if (!location_server_name_is_valid(run->servers[i]))
                        return "a server of the run has no name";
        if (run->evidence_name && !is_sha256(run->evidence_sha256))
                return "the evidence has no digest";
        if (run->finished_usec > TIME_USEC_MAX || run->started_usec > TIME_USEC_MAX)
                return "the run's times are beyond the year 9999";
        if (run->challenge && (strlen(run->challenge) > CHALLENGE_MAX_BYTES ||
                               base64_decode(run->challenge, strlen(run->challenge), challenge, &n) < 0))
                return "the challenge is not base64 of at most 128 characters";
        return NULL;
}

static bool is_amount(double value) {
        return isfinite(value) && value >= 0;
}

/* What the code means, or worse. */
static Severity diagnosis_severity(const RecordDiagnosis *diagnosis) {
        const CatalogueEntry *entry = catalogue_find(diagnosis->code);

        return entry && entry->severity > diagnosis->severity ? entry->severity : diagnosis->severity;
}

/* The best that can be said of a step in the face of its evidence. */
static Verdict step_evidence(const RecordStep *step) {
        Verdict verdict = VERDICT_PASSED;

        for (size_t i = 0; i < step->n_measurements; i++) {
                const RecordMeasurement *m = &step->measurements[i];

                if (!limit_holds(m->limit_type, m->value, m->limit_type == LIMIT_NONE ? 0 : m->limit))
                        verdict_raise(&verdict, SEVERITY_WARN);
        }
        for (size_t i = 0; i < step->n_diagnoses; i++)
                verdict_raise(&verdict, diagnosis_severity(&step->diagnoses[i]));
        return verdict;
}

/* A failure that was found is not undone by what kept the step from its end. */
bool facts_verdict_stands(Verdict verdict, Verdict evidence) {
        return verdict == VERDICT_FAILED || evidence == VERDICT_PASSED || (evidence == VERDICT_WARNED && verdict != VERDICT_PASSED);
}

/* What is said of a product may be more than what is known of it, and never less. */
size_t facts_chips_of(const char *product, size_t n, size_t stated) {
        static const struct {
                const char *product;
                size_t chips;
        } servers[] = { { "Trn2", 16 } };

        for (size_t i = 0; i < ELEMENTS(servers); i++)
                if (strlen(servers[i].product) == n && memcmp(servers[i].product, product, n) == 0)
                        return stated > servers[i].chips ? stated : servers[i].chips;
        return stated;
}

static bool is_set(const char *text) {
        return text && strlen(text) < REGIONS_TEXT_MAX && text[strspn(text, "0123456789,-")] == '\0';
}

static const char *wrong_with_regions(const RecordRegions *regions, Verdict verdict) {
        if (!is_name(regions->partition, NAME_BYTES_MAX) || regions->total == 0 || regions->total > REGIONS_MAX ||
            regions->position >= regions->total || regions->n_tests > regions->total)
                return "a memory is not cut into regions as it must be";
        if (!is_set(regions->occupied) || !is_set(regions->failed) || (regions->unproven && !is_set(regions->unproven)) ||
            (regions->altered && !is_set(regions->altered)) || (regions->suspicious && !is_set(regions->suspicious)) ||
            (regions->joined && !is_set(regions->joined)) || (regions->together && !is_set(regions->together)))
                return "a set of regions is none";
        if (regions->since_usec > TIME_USEC_MAX)
                return "the regions' times are beyond the year 9999";
        for (size_t i = 0; i < regions->n_tests; i++)
                if (!regions->tests[i].run || !is_uuid(regions->tests[i].run) || !is_set(regions->tests[i].regions) ||
                    regions->tests[i].usec > TIME_USEC_MAX)
                        return "a test of regions has no run, time or regions";
        if (*regions->failed && (verdict == VERDICT_PASSED || verdict == VERDICT_WARNED))
                return "a step did not fail although regions of it have";
        return NULL;
}

static bool are_diagnoses(const RecordDiagnosis *diagnoses, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!is_code(diagnoses[i].code) || diagnoses[i].severity < 0 || diagnoses[i].severity >= _SEVERITY_MAX ||
                    diagnoses[i].reproduced > diagnoses[i].runs)
                        return false;
        return true;
}

static const char *wrong_with_step(const RecordStep *step) {
        Verdict evidence;

        if (!is_name(step->name, NAME_BYTES_MAX) || !is_name(step->check, NAME_BYTES_MAX))
                return "a step has no name, or a too long one";
        if (step->verdict < 0 || step->verdict >= _VERDICT_MAX || !reason_fits(step->reason, step->verdict))
                return "a step's reason does not fit its verdict";
        for (size_t i = 0; i < step->n_measurements; i++)
                if (!is_name(step->measurements[i].name, WORD_BYTES_MAX) ||
                    step->measurements[i].limit_type < 0 ||
                    step->measurements[i].limit_type >= _LIMIT_TYPE_MAX || step->measurements[i].series.statistic < 0 ||
                    step->measurements[i].series.statistic >= _STATISTIC_MAX)
                        return "a measurement has no name, or an unknown limit or statistic";
        if (!are_diagnoses(step->diagnoses, step->n_diagnoses))
                return "a diagnosis has no code or an unknown severity";
        if (step->regions && wrong_with_regions(step->regions, step->verdict))
                return wrong_with_regions(step->regions, step->verdict);

        evidence = step_evidence(step);
        if (!facts_verdict_stands(step->verdict, evidence))
                return "a step is called better than its own evidence";
        return NULL;
}

/* The most that a step which ran to its end measured of the chip itself. */
static double measured(const RecordHealth *health, const char *name) {
        double most = 0;

        for (size_t i = 0; i < health->n_steps; i++) {
                const RecordStep *step = &health->steps[i];

                if (step->verdict == VERDICT_SKIPPED || step->verdict == VERDICT_ERROR)
                        continue;
                for (size_t k = 0; k < step->n_measurements; k++) {
                        const RecordMeasurement *m = &step->measurements[k];

                        if (m->value > most && isfinite(m->value) && (m->limit_type == LIMIT_NONE || isfinite(m->limit)) && strcmp(m->name, name) == 0 &&
                            location_equal(&m->where, &health->subject.where))
                                most = m->value;
                }
        }
        return most;
}

static const char *wrong_with_health(const RecordHealth *health) {
        Fold fold = {};

        if (health->n_steps > STEPS_MAX)
                return "a chip has too many steps";
        if (health->n_promises > FACTS_PROMISES_MAX)
                return "a chip has too many promises of coverage";
        for (size_t i = 0; i < health->n_steps; i++) {
                const RecordStep *step = &health->steps[i];
                const char *wrong = wrong_with_step(step);

                if (wrong)
                        return wrong;
                for (size_t k = 0; k < i; k++)
                        if (strcmp(health->steps[k].name, step->name) == 0)
                                return "two steps have the same name";
                fold_step(&fold, step->verdict, step->required);
        }
        for (size_t i = 0; i < health->n_promises; i++) {
                if (!is_name(health->promises[i].measurement, NAME_BYTES_MAX) ||
                    !is_amount(health->promises[i].reached) || !is_amount(health->promises[i].promised))
                        return "a promise of coverage has no name or no number";
                if (health->promises[i].reached > measured(health, health->promises[i].measurement))
                        return "a promise is called kept beyond what was measured";
                for (size_t k = 0; k < i; k++)
                        if (strcmp(health->promises[k].measurement, health->promises[i].measurement) == 0)
                                return "a coverage is promised twice";
                fold_coverage(&fold, health->promises[i].reached, health->promises[i].promised);
        }
        if (health->result != fold_result(&fold))
                return "a chip's result is not what its steps and its coverage come to";
        return NULL;
}

/* What lies in none of its chips. */
static const char *wrong_with_server(const RecordScan *scan) {
        static const Result results[] = { [VERDICT_PASSED] = RESULT_PASSED, [VERDICT_WARNED] = RESULT_WARNED,
                                          [VERDICT_FAILED] = RESULT_FAILED };

        if (scan->n_steps > STEPS_MAX)
                return "a server has too many steps";
        for (size_t i = 0; i < scan->n_steps; i++) {
                const char *wrong = wrong_with_step(&scan->steps[i]);

                if (wrong)
                        return wrong;
                if (result_worst(scan->result, results[step_evidence(&scan->steps[i])]) != scan->result)
                        return "the server's result is better than its own evidence";
        }
        return NULL;
}

const char *facts_wrong_with_scan(const RecordScan *scan) {
        const char *wrong = facts_wrong_with_run(&scan->run);
        const char *product = scan->server.product ? scan->server.product : "";
        size_t n_all = facts_chips_of(product, strlen(product), scan->n_chips_of_server);
        Result worst = scan->n_chips == 0 || scan->n_chips < n_all ? RESULT_INCONCLUSIVE : RESULT_PASSED;

        if (wrong)
                return wrong;
        if (location_kind(&scan->server.where) != LOCATION_SERVER)
                return "the server is none";
        if (scan->result < 0 || scan->result >= _RESULT_MAX)
                return "the server's result is unknown";
        if (scan->n_chips > CHIPS_MAX || scan->n_chips_of_server > CHIPS_MAX)
                return "the server has too many chips";
        for (size_t i = 0; i < scan->n_chips; i++) {
                if (location_kind(&scan->chips[i].subject.where) == LOCATION_SERVER ||
                    !location_contains(&scan->server.where, &scan->chips[i].subject.where))
                        return "a chip is not in the server";
                for (size_t k = 0; k < i; k++)
                        if (location_equal(&scan->chips[k].subject.where, &scan->chips[i].subject.where))
                                return "a chip is told twice";
                wrong = wrong_with_health(&scan->chips[i]);
                if (wrong)
                        return wrong;
                worst = result_worst(worst, scan->chips[i].result);
        }
        if (result_worst(scan->result, worst) != scan->result)
                return "the server's result is better than that of a chip, or leaves one out";
        return wrong_with_server(scan);
}

int record_scan_check(const RecordScan *scan, char **ret_why) {
        const char *wrong;

        assert(scan);

        wrong = facts_wrong_with_scan(scan);
        if (!wrong)
                return 0;
        if (ret_why) {
                *ret_why = strdup(wrong);
                if (!*ret_why)
                        return -ENOMEM;
        }
        return -EINVAL;
}
