/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stream: what the reader makes of the lines of a step
 *
 * A diagnosis waits until its evidence has come or another line of the same step shows that none will.
 */

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/stream/stream-state.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/measurements.h"

#define REPETITIONS_MAX 1000000

/* ---- where ---- */

/* Reads hardwareInfoId and subcomponent. What has neither is the unit of its step. */
static int read_where(StreamReader *reader, const StreamStep *step, const json_t *object, Location *ret) {
        const char *id = stream_text_if(object, "hardwareInfoId");
        const json_t *subcomponent = json_object_get(object, "subcomponent");
        Location where = step->unit, part;

        if (id && location_parse(id, &where, NULL, NULL) < 0)
                return stream_refuse(reader, "'hardwareInfoId' is no location");
        if (where.n_parts > 1)
                return stream_refuse(reader, "'hardwareInfoId' is neither a server nor a chip");

        if (subcomponent) {
                if (location_parse(stream_text(subcomponent, "location"), &part, NULL, NULL) < 0)
                        return stream_refuse(reader, "the location of 'subcomponent' is none");
                if (!location_contains(&where, &part))
                        return stream_refuse(reader, "'subcomponent' is not within its hardware");
                where = part;
        }

        if (!stream_is_declared(reader, where.server))
                return stream_refuse(reader, "a server that testRunStart did not declare");
        if (location_kind(&step->unit) == LOCATION_CHIP && !location_contains(&step->unit, &where))
                return stream_refuse(reader, "a location outside of the chip of its step");

        *ret = where;
        return 0;
}

/* ---- findings ---- */

static const Severity severities[] = { SEVERITY_INFO, SEVERITY_WARN, SEVERITY_FAIL };

static int read_diagnosis(StreamReader *reader, const StreamStep *step, const json_t *diagnosis, Finding *ret) {
        *ret = (Finding) {
                .code = stream_text(diagnosis, "verdict"),
                .message = stream_text(diagnosis, "message"),
                .severity = _SEVERITY_INVALID,
                .reproduced = 1,
                .runs = 1,
        };

        for (size_t i = 0; i < ELEMENTS(severities); i++)
                if (strcmp(severity_to_ocp(severities[i]), stream_text(diagnosis, "type")) == 0)
                        ret->severity = severities[i];

        if (ret->severity < 0 || ret->code[0] == '\0')
                return stream_refuse(reader, "a diagnosis without a code");

        return read_where(reader, step, diagnosis, &ret->where);
}

static int read_repetition(StreamReader *reader, const json_t *object, unsigned *ret_reproduced, unsigned *ret_runs) {
        json_int_t reproduced = json_integer_value(json_object_get(object, "reproduced"));
        json_int_t runs = json_integer_value(json_object_get(object, "runs"));

        if (runs > REPETITIONS_MAX || reproduced > runs)
                return stream_refuse(reader, "reproduced more often than run");

        *ret_reproduced = (unsigned) reproduced;
        *ret_runs = (unsigned) runs;
        return 0;
}

/* The name is that of the table, which outlives the line. */
static int read_decided(StreamReader *reader, const json_t *content, Decided *ret) {
        const json_t *value = json_object_get(content, "value"), *limit = json_object_get(content, "limit");
        const char *name = stream_text_if(content, "decided");
        const MeasurementRow *row = name ? measurement_named(name) : NULL;

        if (!name)
                return 0;
        if (!row || row->limit_type == LIMIT_NONE || !value || !limit)
                return stream_refuse(reader, "a finding that follows from no value with a limit");

        *ret = (Decided) { row->name, json_number_value(value), json_number_value(limit) };
        return 0;
}

static int read_evidence(StreamReader *reader, const json_t *content, Finding *finding) {
        const json_t *count = json_object_get(content, "count"), *confidence = json_object_get(content, "confidence");
        Location far_end;

        finding->evidence = (Evidence) {
                .address = stream_text_if(content, "address"),
                .expected = stream_text_if(content, "expected"),
                .actual = stream_text_if(content, "actual"),
                .far_end = stream_text_if(content, "far_end"),
                .replaceable = stream_text_if(content, "replaceable"),
                .has_count = count,
                .has_confidence = confidence,
                .count = json_number_value(count),
                .confidence = json_number_value(confidence),
        };

        if (finding->evidence.count < 0 || finding->evidence.confidence < 0 || finding->evidence.confidence > 1)
                return stream_refuse(reader, "evidence out of range");
        if (finding->evidence.far_end && location_parse(finding->evidence.far_end, &far_end, NULL, NULL) < 0)
                return stream_refuse(reader, "'far_end' is no location");

        return read_decided(reader, content, &finding->evidence.decided) ?:
               read_repetition(reader, content, &finding->reproduced, &finding->runs);
}

/* Those who leave it out mean what the code and the part say. */
static int read_action(StreamReader *reader, const json_t *content, Finding *finding) {
        const char *word = content ? stream_text_if(content, "action") : NULL;
        const CatalogueEntry *entry = catalogue_find(finding->code);

        if (!word) {
                finding->action = entry ? catalogue_remedy(entry, finding->evidence.replaceable).action : ACTION_NONE;
                return 0;
        }
        finding->action = action_from_string(word);
        return finding->action > ACTION_NONE ? 0 : stream_refuse(reader, "no action is called so");
}

int stream_emit_pending(StreamReader *reader, StreamStep *step, const json_t *content) {
        json_auto_t *diagnosis = TAKE_PTR(step->pending);
        Event event = { .type = EVENT_FINDING };
        int r;

        if (!diagnosis)
                return 0;

        r = read_diagnosis(reader, step, diagnosis, &event.finding);
        if (r < 0)
                return r;
        if (content) {
                r = read_evidence(reader, content, &event.finding);
                if (r < 0)
                        return r;
        }
        r = read_action(reader, content, &event.finding);
        if (r < 0)
                return r;

        return stream_emit(reader, step, &event);
}

static int on_diagnosis(StreamReader *reader, StreamStep *step, json_t *diagnosis) {
        Finding finding;
        int r;

        if (++step->n_findings > STREAM_FINDINGS_MAX)
                return stream_refuse(reader, "more than %d findings in one step", STREAM_FINDINGS_MAX);

        r = read_diagnosis(reader, step, diagnosis, &finding);
        if (r < 0)
                return r;

        verdict_raise(&step->found, finding.severity);
        step->pending = json_incref(diagnosis);
        return 0;
}

static int on_evidence(StreamReader *reader, StreamStep *step, const json_t *content) {
        char text[LOCATION_STRING_MAX];
        Finding finding;
        int r;

        if (!step->pending)
                return stream_refuse(reader, "evidence without a finding");

        r = read_diagnosis(reader, step, step->pending, &finding);
        if (r < 0)
                return r;
        if (strcmp(finding.code, stream_text(content, "code")) != 0 ||
            strcmp(location_format(&finding.where, text), stream_text(content, "location")) != 0)
                return stream_refuse(reader, "evidence of another finding");

        return stream_emit_pending(reader, step, content);
}

/* ---- measurements ---- */

static int read_limit(StreamReader *reader, const json_t *validators, Measurement *measurement) {
        const json_t *validator = json_array_get(validators, 0);

        if (json_array_size(validators) > 1)
                return stream_refuse(reader, "more than one validator");
        if (!validator)
                return 0;

        measurement->limit_type = limit_type_from_string(stream_text(validator, "type"));
        if (measurement->limit_type < 0 || !json_is_number(json_object_get(validator, "value")))
                return stream_refuse(reader, "a validator that is no limit of a number");

        measurement->limit = json_number_value(json_object_get(validator, "value"));
        return 0;
}

/* Other metadata means nothing to us. */
static int read_series(StreamReader *reader, const json_t *metadata, Series *ret) {
        const json_t *word = json_object_get(metadata, "statistic"), *count = json_object_get(metadata, "count");

        if (!word)
                return 0;

        ret->statistic = statistic_from_string(json_string_value(word));
        if (ret->statistic <= STATISTIC_NONE || !json_is_integer(count) || json_integer_value(count) < 0)
                return stream_refuse(reader, "a statistic that is none, or of nobody knows how many values");

        ret->count = (uint64_t) json_integer_value(count);
        return 0;
}

static int on_measurement(StreamReader *reader, StreamStep *step, json_t *object) {
        Event event = { .type = EVENT_MEASUREMENT };
        Measurement *measurement = &event.measurement;
        int r;

        if (++step->n_measurements > STREAM_MEASUREMENTS_MAX)
                return stream_refuse(reader, "more than %d measurements in one step", STREAM_MEASUREMENTS_MAX);
        if (!json_is_number(json_object_get(object, "value")) || stream_text(object, "name")[0] == '\0')
                return stream_refuse(reader, "a measurement that is no named number");

        measurement->name = stream_text(object, "name");
        measurement->unit = stream_text(object, "unit");
        measurement->value = json_number_value(json_object_get(object, "value"));
        r = read_limit(reader, json_object_get(object, "validators"), measurement);
        if (r < 0)
                return r;
        r = read_series(reader, json_object_get(object, "metadata"), &measurement->series);
        if (r < 0)
                return r;

        r = read_where(reader, step, object, &measurement->where);
        if (r < 0)
                return r;

        if (!limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                step->beyond = true;

        return stream_emit(reader, step, &event);
}

/* Valid, but nothing we have a use for; it counts all the same. */
static int on_series(StreamReader *reader, StreamStep *step, json_t *object) {
        if (++step->n_measurements > STREAM_MEASUREMENTS_MAX)
                return stream_refuse(reader, "more than %d measurements in one step", STREAM_MEASUREMENTS_MAX);

        return 0;
}

static int on_file(StreamReader *reader, StreamStep *step, json_t *object) {
        return 0;
}

/* ---- extensions ---- */

static int on_part(StreamReader *reader, StreamStep *step, const json_t *content) {
        Event event = {
                .type = EVENT_PART_DONE, .verdict = verdict_from_string(stream_text(content, "verdict")),
                .reason = reason_from_string(stream_text(content, "reason")),
        };

        if (event.verdict < 0)
                return stream_refuse(reader, "'verdict' is none of its words");
        if (event.reason != REASON_NONE && (event.reason < 0 || !reason_fits(event.reason, event.verdict)))
                return stream_refuse(reader, "verdict and reason do not go together");
        if (location_kind(&step->unit) != LOCATION_SERVER)
                return stream_refuse(reader, "a part is done in a step that is not of a server");
        if (location_parse(stream_text(content, "part"), &event.part, NULL, NULL) < 0 ||
            location_kind(&event.part) != LOCATION_CHIP || !stream_is_declared(reader, event.part.server))
                return stream_refuse(reader, "'part' is no chip of this run");

        return stream_emit(reader, step, &event);
}

static int on_progress(StreamReader *reader, StreamStep *step, const json_t *content) {
        json_int_t percent = json_integer_value(json_object_get(content, "percent"));
        Event event = { .type = EVENT_PROGRESS, .percent = (unsigned) percent };

        return percent <= 100 ? stream_emit(reader, step, &event) : stream_refuse(reader, "more than 100 percent");
}

static int on_regions(StreamReader *reader, StreamStep *step, const json_t *content) {
        json_int_t position = json_integer_value(json_object_get(content, "position"));
        Regions regions = { .position = position < REGIONS_MAX ? (unsigned) position : REGIONS_MAX };
        Event event = { .type = EVENT_REGIONS, .regions = &regions };
        const char *wrong;
        unsigned total;

        if (step->has_regions || location_kind(&step->unit) != LOCATION_CHIP)
                return stream_refuse(reader, "regions told twice, or of what is no chip");
        if (partition_parse(stream_text(content, "partition"), &regions.partition) < 0)
                return stream_refuse(reader, "'partition' is none");

        total = partition_regions(&regions.partition);
        if (region_set_parse(stream_text(content, "tested"), total, &regions.tested) < 0 ||
            region_set_parse(stream_text(content, "failed"), total, &regions.failed) < 0 ||
            region_set_parse(stream_text(content, "occupied"), total, &regions.occupied) < 0 ||
            region_set_parse(stream_text(content, "unproven"), total, &regions.unproven) < 0 ||
            region_set_parse(stream_text(content, "altered"), total, &regions.altered) < 0 ||
            region_set_parse(stream_text(content, "suspicious"), total, &regions.suspicious) < 0 ||
            region_set_parse(stream_text(content, "joined"), total, &regions.joined) < 0 ||
            region_set_parse(stream_text(content, "together"), total, &regions.together) < 0)
                return stream_refuse(reader, "a set of regions that is none");
        if (strlen(stream_text(content, "because")) >= sizeof(regions.because))
                return stream_refuse(reader, "'because' is too long");
        (void) strcpy(regions.because, stream_text(content, "because"));
        wrong = regions_wrong(&regions);
        if (wrong)
                return stream_refuse(reader, "%s", wrong);

        step->has_regions = true;
        step->region_failed = region_set_count(&regions.failed) > 0;
        return stream_emit(reader, step, &event);
}

static int on_extension(StreamReader *reader, StreamStep *step, json_t *extension) {
        const char *name = stream_text(extension, "name");
        json_t *content = json_object_get(extension, "content");
        char wrong[SCHEMA_WRONG_MAX];

        if (stream_schema_judge_extension(name, content, wrong) < 0)
                return stream_refuse(reader, "%s", wrong);

        if (strcmp(name, "assay-evidence") == 0)
                return on_evidence(reader, step, content);
        if (strcmp(name, "assay-part") == 0)
                return on_part(reader, step, content);
        if (strcmp(name, "assay-progress") == 0)
                return on_progress(reader, step, content);
        if (strcmp(name, "assay-regions") == 0)
                return on_regions(reader, step, content);
        if (strcmp(name, "assay-particulars") == 0)
                return stream_on_particulars(reader, step, content);
        if (strcmp(name, "assay-step") == 0)
                step->facts = json_incref(content);

        return 0;
}

/* ---- steps ---- */

static StreamStep *find_step(StreamReader *reader, const char *id) {
        for (size_t i = reader->n_steps; i-- > 0;)
                if (strcmp(reader->steps[i].id, id) == 0)
                        return &reader->steps[i];

        return NULL;
}

static bool step_name_is_valid(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

        return n > 0 && n < STREAM_STEP_NAME_MAX && name[n] == '\0';
}

static int grow_steps(StreamReader *reader) {
        size_t size = reader->size_steps > 0 ? 2 * reader->size_steps : 64;
        StreamStep *larger;

        if (reader->n_steps < reader->size_steps)
                return 0;

        larger = reallocarray(reader->steps, size, sizeof(*larger));
        if (!larger)
                return -ENOMEM;

        reader->steps = larger;
        reader->size_steps = size;
        return 0;
}

/* Splits UNIT:STEP. */
static int read_step_id(StreamReader *reader, const char *id, StreamStep *step) {
        const char *colon = strchr(id, ':');
        char unit[LOCATION_STRING_MAX];

        if (!colon || (size_t) (colon - id) >= sizeof(unit) || !step_name_is_valid(colon + 1))
                return stream_refuse(reader, "'testStepId' is not UNIT:STEP");

        step->n_unit = (size_t) (colon - id);
        memcpy(unit, id, step->n_unit);
        unit[step->n_unit] = '\0';
        if (location_parse(unit, &step->unit, NULL, NULL) < 0 || step->unit.n_parts > 1)
                return stream_refuse(reader, "the unit in 'testStepId' is neither a server nor a chip");
        if (!stream_is_declared(reader, step->unit.server))
                return stream_refuse(reader, "a step on a server that testRunStart did not declare");

        return 0;
}

static int on_step_start(StreamReader *reader, const char *id) {
        StreamStep step = { .found = VERDICT_PASSED };
        Event event = { .type = EVENT_STEP_START };
        int r;

        if (reader->n_steps >= STREAM_STEPS_MAX)
                return stream_refuse(reader, "more than %d steps", STREAM_STEPS_MAX);
        if (find_step(reader, id))
                return stream_refuse(reader, "a step that started before");

        r = read_step_id(reader, id, &step);
        if (r < 0)
                return r;
        if (grow_steps(reader) < 0)
                return stream_no_memory(reader);

        step.id = strdup(id);
        if (!step.id)
                return stream_no_memory(reader);

        reader->steps[reader->n_steps++] = step;
        reader->n_open++;
        return stream_emit(reader, &reader->steps[reader->n_steps - 1], &event);
}

static int read_seed(StreamReader *reader, const char *text, uint64_t *ret) {
        uint64_t value = 0;

        if (*text == '\0')
                return stream_refuse(reader, "'seed' is no number");

        for (; *text; text++)
                if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
                    __builtin_add_overflow(value, (uint64_t) (*text - '0'), &value))
                        return stream_refuse(reader, "'seed' is no number");

        *ret = value;
        return 0;
}

static int read_facts(StreamReader *reader, const json_t *facts, StepEnd *ret) {
        int r;

        *ret = (StepEnd) {
                .verdict = verdict_from_string(stream_text(facts, "verdict")),
                .reason = reason_from_string(stream_text(facts, "reason")),
                .message = stream_text_if(facts, "message"),
                .required = json_is_true(json_object_get(facts, "required")),
                .device_nsec = (uint64_t) json_integer_value(json_object_get(facts, "device_nsec")),
                .occupancy = run_occupancy_from_string(stream_text(facts, "occupancy")),
        };

        if (ret->verdict < 0 || ret->reason < 0 || !reason_fits(ret->reason, ret->verdict))
                return stream_refuse(reader, "verdict and reason do not go together");
        if (ret->occupancy < 0 || (reader->numbered && ret->occupancy != RUN_FREE))
                return stream_refuse(reader, "a run of no such occupancy");

        r = read_seed(reader, stream_text(facts, "seed"), &ret->seed);
        if (r < 0)
                return r;

        return read_repetition(reader, facts, &ret->reproduced, &ret->runs);
}

/* What a step says at its end must follow from what it said before. */
static const char *contradiction(const StreamStep *step, Verdict verdict, const char *status) {
        bool judged = verdict == VERDICT_PASSED || verdict == VERDICT_WARNED || verdict == VERDICT_FAILED;

        if (strcmp(status, judged ? "COMPLETE" : verdict == VERDICT_SKIPPED ? "SKIP" : "ERROR") != 0)
                return "status and verdict of a step do not go together";
        if (verdict == VERDICT_PASSED && (step->found != VERDICT_PASSED || step->beyond))
                return "a step with a finding or a value beyond its limit cannot have passed";
        if (verdict == VERDICT_WARNED && step->found == VERDICT_FAILED)
                return "a step with a finding that says fail has failed";
        if (step->region_failed && verdict != VERDICT_FAILED && verdict != VERDICT_ERROR)
                return "a step with a region that failed has failed";
        if (step->errored && verdict != VERDICT_ERROR && verdict != VERDICT_FAILED)
                return "a step with an error cannot have passed";

        return NULL;
}

static int on_step_end(StreamReader *reader, StreamStep *step, json_t *object) {
        json_auto_t *facts = TAKE_PTR(step->facts);
        Event event = { .type = EVENT_STEP_END };
        const char *wrong;
        int r;

        if (!facts)
                return stream_refuse(reader, "a step ends without its verdict");

        r = read_facts(reader, facts, &event.end);
        if (r < 0)
                return r;

        wrong = contradiction(step, event.end.verdict, stream_text(object, "status"));
        if (wrong)
                return stream_refuse(reader, "%s", wrong);

        reader->warned = reader->warned || event.end.verdict == VERDICT_WARNED;
        reader->step_failed = reader->step_failed || event.end.verdict == VERDICT_FAILED;
        step->ended = true;
        reader->n_open--;
        return stream_emit(reader, step, &event);
}

static int on_step_error(StreamReader *reader, StreamStep *step, json_t *object) {
        step->errored = true; /* its words come again with the verdict */
        return 0;
}

static int on_step_log(StreamReader *reader, StreamStep *step, json_t *object) {
        Event event = { .type = EVENT_LOG, .message = stream_text(object, "message") };

        return stream_emit(reader, step, &event);
}

static const struct {
        const char *name;
        int (*handle)(StreamReader *reader, StreamStep *step, json_t *object);
} step_artifacts[] = {
        { "measurement", on_measurement },
        { "extension", on_extension },
        { "testStepEnd", on_step_end },
        { "diagnosis", on_diagnosis },
        { "error", on_step_error },
        { "log", on_step_log },
        { "file", on_file },
        { "measurementSeriesStart", on_series },
        { "measurementSeriesElement", on_series },
        { "measurementSeriesEnd", on_series },
};

static bool is_evidence(const json_t *artifact) {
        return strcmp(stream_text(json_object_get(artifact, "extension"), "name"), "assay-evidence") == 0;
}

int stream_on_step(StreamReader *reader, const json_t *artifact) {
        const char *id = stream_text(artifact, "testStepId");
        StreamStep *step;
        int r;

        if (reader->numbered && !reader->started && reader->first == 0)
                return stream_refuse(reader, "a step before testRunStart");
        if (json_object_get(artifact, "testStepStart"))
                return on_step_start(reader, id);

        step = find_step(reader, id);
        if (!step || step->ended)
                return stream_refuse(reader, "a line of a step that is not open");
        if (step->facts && !json_object_get(artifact, "testStepEnd"))
                return stream_refuse(reader, "a step goes on after its verdict");

        if (!is_evidence(artifact)) {
                r = stream_emit_pending(reader, step, NULL);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < ELEMENTS(step_artifacts); i++) {
                json_t *object = json_object_get(artifact, step_artifacts[i].name);

                if (object)
                        return step_artifacts[i].handle(reader, step, object);
        }

        return stream_refuse(reader, "an artifact that is not known");
}
