/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/draft-check.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/statement/schema.h"

#define NAME_BYTES_MAX      63  /* of plans, steps and promises, which a plan bounds */
#define WORD_BYTES_MAX      255 /* of measurements and codes, which a worker says */
#define STEPS_MAX           1024
#define CHIPS_MAX           1024
#define TIME_USEC_MAX       253402300799999999u
#define CHALLENGE_MAX_BYTES 128

/* Plain text only: names are compared, and repairing bad UTF-8 could make two of them one. */
static bool is_name(const char *text, size_t max) {
        if (!text || !*text || strlen(text) > max)
                return false;
        for (; *text; text++)
                if ((unsigned char) *text < 0x20 || (unsigned char) *text > 0x7e)
                        return false;
        return true;
}

static bool is_amount(double value) {
        return isfinite(value) && value >= 0;
}

static bool is_set(const char *text) {
        return text && form_is_regions(text);
}

static bool is_set_or_none(const char *text) {
        return !text || form_is_regions(text);
}

static bool is_challenge(const char *text) {
        uint8_t challenge[CHALLENGE_MAX_BYTES];
        size_t n;

        return strlen(text) <= CHALLENGE_MAX_BYTES && base64_decode(text, strlen(text), challenge, &n) == 0;
}

bool draft_check_run(const RecordRun *run, Judgement *ret) {
        if (!run->id || !form_is_uuid(run->id))
                return judge_wrong(ret, "the run's ID is not a UUID");
        if (run->stage < 0 || run->stage >= _STAGE_MAX)
                return judge_wrong(ret, "the stage is unknown");
        if (!is_name(run->plan, NAME_BYTES_MAX))
                return judge_wrong(ret, "the plan has no name, or a too long one");
        if (!run->plan_sha256 || !form_is_sha256(run->plan_sha256))
                return judge_wrong(ret, "the plan has no digest");
        if ((run->limits_sha256 && !form_is_sha256(run->limits_sha256)) || (run->worker_sha256 && !form_is_sha256(run->worker_sha256)))
                return judge_wrong(ret, "the limits' digest or the worker's is none");
        for (size_t i = 0; i < run->n_servers; i++)
                if (!location_server_name_is_valid(run->servers[i]))
                        return judge_wrong(ret, "a server of the run has no name");
        if (run->evidence_name && (!run->evidence_sha256 || !form_is_sha256(run->evidence_sha256)))
                return judge_wrong(ret, "the evidence has no digest");
        if (run->finished_usec > TIME_USEC_MAX || run->started_usec > TIME_USEC_MAX)
                return judge_wrong(ret, "the run's times are beyond the year 9999");
        if (run->note && !note_text_is_valid(run->note))
                return judge_wrong(ret, "the note is no line of printable text");
        if (run->challenge && !is_challenge(run->challenge))
                return judge_wrong(ret, "the challenge is not base64 of at most %i characters", CHALLENGE_MAX_BYTES);
        return true;
}

static bool check_regions(const RecordRegions *regions, Judgement *ret) {
        if (!is_name(regions->partition, NAME_BYTES_MAX) || regions->total == 0 || regions->total > REGIONS_MAX ||
            regions->position >= regions->total || regions->n_tests > regions->total)
                return judge_wrong(ret, "a memory is not cut into regions as it must be");
        if (!is_set(regions->occupied) || !is_set(regions->failed) || !is_set_or_none(regions->unproven) || !is_set_or_none(regions->altered) ||
            !is_set_or_none(regions->suspicious) || !is_set_or_none(regions->joined) || !is_set_or_none(regions->together))
                return judge_wrong(ret, "a set of regions is none");
        if (regions->since_usec > TIME_USEC_MAX)
                return judge_wrong(ret, "the regions' times are beyond the year 9999");
        for (size_t i = 0; i < regions->n_tests; i++)
                if (!regions->tests[i].run || !form_is_uuid(regions->tests[i].run) || !is_set(regions->tests[i].regions) ||
                    regions->tests[i].usec > TIME_USEC_MAX)
                        return judge_wrong(ret, "a test of regions has no run, time or regions");
        return true;
}

static bool are_measurements(const Measurement *measurements, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!is_name(measurements[i].name, WORD_BYTES_MAX) || measurements[i].limit_type < 0 || measurements[i].limit_type >= _LIMIT_TYPE_MAX ||
                    measurements[i].series.statistic < 0 || measurements[i].series.statistic >= _STATISTIC_MAX)
                        return false;
        return true;
}

static bool are_diagnoses(const RecordDiagnosis *diagnoses, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!is_name(diagnoses[i].code, WORD_BYTES_MAX) || !form_is_code(diagnoses[i].code) || diagnoses[i].severity < 0 ||
                    diagnoses[i].severity >= _SEVERITY_MAX)
                        return false;
        return true;
}

static bool check_step(const RecordStep *step, Judgement *ret) {
        if (!is_name(step->name, NAME_BYTES_MAX) || !is_name(step->check, NAME_BYTES_MAX))
                return judge_wrong(ret, "a step has no name, or a too long one");
        if (step->verdict < 0 || step->verdict >= _VERDICT_MAX || step->reason < 0 || step->reason >= _REASON_MAX)
                return judge_wrong(ret, "%s: its verdict or the reason for it is unknown", step->name);
        if (!are_measurements(step->measurements, step->n_measurements))
                return judge_wrong(ret, "%s: a measurement has no name, or an unknown limit or statistic", step->name);
        if (!are_diagnoses(step->diagnoses, step->n_diagnoses))
                return judge_wrong(ret, "%s: a diagnosis has no code or an unknown severity", step->name);
        return !step->regions || check_regions(step->regions, ret);
}

static bool check_steps(const RecordStep *steps, size_t n, Judgement *ret) {
        if (n > STEPS_MAX)
                return judge_wrong(ret, "there are too many steps");
        for (size_t i = 0; i < n; i++)
                if (!check_step(&steps[i], ret))
                        return false;
        return true;
}

static bool check_chip(const RecordHealth *chip, Judgement *ret) {
        if (!check_steps(chip->steps, chip->n_steps, ret))
                return false;
        if (chip->n_promises > RECORD_PROMISES_MAX)
                return judge_wrong(ret, "a chip has too many promises of coverage");
        for (size_t i = 0; i < chip->n_promises; i++)
                if (!is_name(chip->promises[i].measurement, NAME_BYTES_MAX) || !is_amount(chip->promises[i].reached) ||
                    !is_amount(chip->promises[i].promised))
                        return judge_wrong(ret, "a promise of coverage has no name or no number");
        return judge_chip(chip, ret) && judge_chip_values(chip, ret);
}

bool draft_check_scan(const RecordScan *scan, Judgement *ret) {
        if (!draft_check_run(&scan->run, ret) || !judge_run(&scan->run, ret) || !check_steps(scan->steps, scan->n_steps, ret))
                return false;
        if (scan->result < 0 || scan->result >= _RESULT_MAX)
                return judge_wrong(ret, "the server's result is unknown");
        if (scan->n_chips > CHIPS_MAX || scan->n_chips_of_server > CHIPS_MAX)
                return judge_wrong(ret, "the server has too many chips");
        for (size_t i = 0; i < scan->n_steps; i++) /* a roll-up does not tell how they ended */
                if (!judge_step(&scan->steps[i], true, ret))
                        return false;
        for (size_t i = 0; i < scan->n_chips; i++)
                if (!check_chip(&scan->chips[i], ret))
                        return false;
        return judge_server(scan, ret);
}

bool record_step_agrees(const RecordStep *step, const Location *chip) {
        Judgement judgement;

        assert(step && chip);
        return judge_step(step, false, &judgement) && judge_values(step, chip, &judgement);
}

Result record_own_result(const RecordScan *scan) {
        assert(scan);
        return judge_own(scan);
}

int record_scan_check(const RecordScan *scan, char **ret_why) {
        Judgement judgement;

        assert(scan);

        if (draft_check_scan(scan, &judgement))
                return 0;
        if (ret_why) {
                *ret_why = strdup(judgement.wrong);
                if (!*ret_why)
                        return -ENOMEM;
        }
        return -EINVAL;
}
