/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Stream: the reader
 *
 * The peer is a worker that may have been taken over by what it tests: everything is counted, bounded and held
 * against the tables of stream-schema.c before it becomes an event, and nothing it wrote stands in an error. A stream
 * that contradicts itself (a finding that says fail in a step that says passed) is broken, not believed.
 */

#include "checks/stream.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "checks/stream-schema.h"

#define STEP_NAME_MAX    64 /* with the final zero */
#define STEP_ID_MAX      (LOCATION_STRING_MAX + STEP_NAME_MAX)
#define HARDWARE_MAX     512
#define REPETITIONS_MAX  1000000

typedef struct StreamStep {
        char *id;
        Location unit;
        size_t n_unit; /* bytes of the unit in id; ':' and the step's name follow */
        bool ended;
        bool errored;    /* an error artifact was seen */
        bool beyond;     /* a measurement was beyond its limit */
        Verdict found;   /* what its findings say */
        json_t *pending; /* a diagnosis that waits for its evidence */
        json_t *facts;   /* of assay-step: only the end may follow */
        unsigned n_findings;
        unsigned n_measurements;
} StreamStep;

typedef char ServerName[LOCATION_SERVER_NAME_MAX];

struct StreamReader {
        bool numbered;
        uint64_t first;
        StreamHandler handler;
        void *userdata;

        int failed; /* 0, or what every call returns from now on */
        char error[SCHEMA_WRONG_MAX + 64];

        uint64_t n_lines; /* that were good */
        uint64_t n_bytes;
        size_t n_partial;
        char partial[STREAM_LINE_MAX];

        bool versioned, started, ended;
        bool errored;  /* an error of the run */
        bool warned, step_failed;
        size_t n_steps, size_steps, n_open;
        StreamStep *steps;
        size_t n_servers;
        ServerName *servers;

        char unit[STEP_ID_MAX], step[STEP_NAME_MAX]; /* of the event at hand */
};

int stream_reader_new(bool numbered, uint64_t first, StreamHandler handler, void *userdata, StreamReader **ret) {
        StreamReader *reader;

        assert(handler);
        assert(ret);

        reader = calloc(1, sizeof(*reader));
        if (!reader)
                return -ENOMEM;

        reader->numbered = numbered;
        reader->first = first;
        reader->handler = handler;
        reader->userdata = userdata;
        *ret = reader;
        return 0;
}

static void step_forget(StreamStep *step) {
        json_decref(step->pending);
        step->pending = NULL;
        json_decref(step->facts);
        step->facts = NULL;
}

StreamReader *stream_reader_free(StreamReader *reader) {
        if (!reader)
                return NULL;

        for (size_t i = 0; i < reader->n_steps; i++) {
                step_forget(&reader->steps[i]);
                free(reader->steps[i].id);
        }

        free(reader->steps);
        free(reader->servers);
        free(reader);
        return NULL;
}

static int refuse(StreamReader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(StreamReader *reader, const char *format, ...) {
        va_list arguments;
        int n;

        n = snprintf(reader->error, sizeof(reader->error), "line %llu: ",
                     (unsigned long long) (reader->first + reader->n_lines + 1));
        va_start(arguments, format);
        (void) vsnprintf(reader->error + n, sizeof(reader->error) - (size_t) n, format, arguments);
        va_end(arguments);
        return reader->failed = -EPROTO;
}

static int no_memory(StreamReader *reader) {
        (void) snprintf(reader->error, sizeof(reader->error), "out of memory");
        return reader->failed = -ENOMEM;
}

/* STEP is NULL for events of the run. */
static int emit(StreamReader *reader, const StreamStep *step, Event *event) {
        int r;

        event->sequence = reader->first + reader->n_lines;
        event->unit = event->step = "";
        if (step) {
                (void) snprintf(reader->unit, sizeof(reader->unit), "%.*s", (int) step->n_unit, step->id);
                (void) snprintf(reader->step, sizeof(reader->step), "%s", step->id + step->n_unit + 1);
                event->unit = reader->unit;
                event->step = reader->step;
        }

        r = reader->handler(event, reader->userdata);
        if (r >= 0)
                return 0;

        (void) snprintf(reader->error, sizeof(reader->error), "line %llu: the handler refused it",
                        (unsigned long long) (reader->first + reader->n_lines + 1));
        return reader->failed = r;
}

/* The text of a member that the schema has seen to be a string; "" without. */
static const char *text_of(const json_t *object, const char *name) {
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : "";
}

/* The same, NULL without. */
static const char *text_if(const json_t *object, const char *name) {
        return json_string_value(json_object_get(object, name));
}

/* ---- where ---- */

static bool is_declared(const StreamReader *reader, const char *server) {
        for (size_t i = 0; i < reader->n_servers; i++)
                if (strcmp(reader->servers[i], server) == 0)
                        return true;

        return reader->n_servers == 0; /* a child's stream, or one that goes on, declares none */
}

/* Reads hardwareInfoId and subcomponent. What has neither is the unit of its step. */
static int read_where(StreamReader *reader, const StreamStep *step, const json_t *object, Location *ret) {
        const char *id = text_if(object, "hardwareInfoId");
        const json_t *subcomponent = json_object_get(object, "subcomponent");
        Location where = step->unit, part;

        if (id && location_parse(id, &where, NULL, NULL) < 0)
                return refuse(reader, "'hardwareInfoId' is no location");
        if (where.n_parts > 1)
                return refuse(reader, "'hardwareInfoId' is neither a server nor a chip");

        if (subcomponent) {
                if (location_parse(text_of(subcomponent, "location"), &part, NULL, NULL) < 0)
                        return refuse(reader, "the location of 'subcomponent' is none");
                if (!location_contains(&where, &part))
                        return refuse(reader, "'subcomponent' is not within its hardware");
                where = part;
        }

        if (!is_declared(reader, where.server))
                return refuse(reader, "a server that testRunStart did not declare");
        if (location_kind(&step->unit) == LOCATION_CHIP && !location_contains(&step->unit, &where))
                return refuse(reader, "a location outside of the chip of its step");

        *ret = where;
        return 0;
}

/* ---- findings ---- */

static const Severity severities[] = { SEVERITY_INFO, SEVERITY_WARN, SEVERITY_FAIL };

static int read_diagnosis(StreamReader *reader, const StreamStep *step, const json_t *diagnosis, Finding *ret) {
        *ret = (Finding) {
                .code = text_of(diagnosis, "verdict"),
                .message = text_of(diagnosis, "message"),
                .severity = _SEVERITY_INVALID,
                .reproduced = 1,
                .runs = 1,
        };

        for (size_t i = 0; i < ELEMENTS(severities); i++)
                if (strcmp(severity_to_ocp(severities[i]), text_of(diagnosis, "type")) == 0)
                        ret->severity = severities[i];

        if (ret->severity < 0 || ret->code[0] == '\0')
                return refuse(reader, "a diagnosis without a code");

        return read_where(reader, step, diagnosis, &ret->where);
}

static int read_repetition(StreamReader *reader, const json_t *object, unsigned *ret_reproduced, unsigned *ret_runs) {
        json_int_t reproduced = json_integer_value(json_object_get(object, "reproduced"));
        json_int_t runs = json_integer_value(json_object_get(object, "runs"));

        if (runs > REPETITIONS_MAX || reproduced > runs)
                return refuse(reader, "reproduced more often than run");

        *ret_reproduced = (unsigned) reproduced;
        *ret_runs = (unsigned) runs;
        return 0;
}

static int read_evidence(StreamReader *reader, const json_t *content, Finding *finding) {
        const json_t *count = json_object_get(content, "count"), *confidence = json_object_get(content, "confidence");
        Location far_end;

        finding->evidence = (Evidence) {
                .address = text_if(content, "address"),
                .expected = text_if(content, "expected"),
                .actual = text_if(content, "actual"),
                .far_end = text_if(content, "far_end"),
                .replaceable = text_if(content, "replaceable"),
                .has_count = count,
                .has_confidence = confidence,
                .count = json_number_value(count),
                .confidence = json_number_value(confidence),
        };

        if (finding->evidence.count < 0 || finding->evidence.confidence < 0 || finding->evidence.confidence > 1)
                return refuse(reader, "evidence out of range");
        if (finding->evidence.far_end && location_parse(finding->evidence.far_end, &far_end, NULL, NULL) < 0)
                return refuse(reader, "'far_end' is no location");

        return read_repetition(reader, content, &finding->reproduced, &finding->runs);
}

/* Hands out the finding that waits. CONTENT is its evidence, NULL where none came. */
static int emit_pending(StreamReader *reader, StreamStep *step, const json_t *content) {
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

        return emit(reader, step, &event);
}

static int on_diagnosis(StreamReader *reader, StreamStep *step, json_t *diagnosis) {
        Finding finding;
        int r;

        if (++step->n_findings > STREAM_FINDINGS_MAX)
                return refuse(reader, "more than %d findings in one step", STREAM_FINDINGS_MAX);

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
                return refuse(reader, "evidence without a finding");

        r = read_diagnosis(reader, step, step->pending, &finding);
        if (r < 0)
                return r;
        if (strcmp(finding.code, text_of(content, "code")) != 0 ||
            strcmp(location_format(&finding.where, text), text_of(content, "location")) != 0)
                return refuse(reader, "evidence of another finding");

        return emit_pending(reader, step, content);
}

/* ---- measurements ---- */

static int read_limit(StreamReader *reader, const json_t *validators, Measurement *measurement) {
        const json_t *validator = json_array_get(validators, 0);

        if (json_array_size(validators) > 1)
                return refuse(reader, "more than one validator");
        if (!validator)
                return 0;

        measurement->limit_type = limit_type_from_string(text_of(validator, "type"));
        if (measurement->limit_type < 0 || !json_is_number(json_object_get(validator, "value")))
                return refuse(reader, "a validator that is no limit of a number");

        measurement->limit = json_number_value(json_object_get(validator, "value"));
        return 0;
}

static int on_measurement(StreamReader *reader, StreamStep *step, json_t *object) {
        Event event = { .type = EVENT_MEASUREMENT };
        Measurement *measurement = &event.measurement;
        int r;

        if (++step->n_measurements > STREAM_MEASUREMENTS_MAX)
                return refuse(reader, "more than %d measurements in one step", STREAM_MEASUREMENTS_MAX);
        if (!json_is_number(json_object_get(object, "value")) || text_of(object, "name")[0] == '\0')
                return refuse(reader, "a measurement that is no named number");

        measurement->name = text_of(object, "name");
        measurement->unit = text_of(object, "unit");
        measurement->value = json_number_value(json_object_get(object, "value"));
        r = read_limit(reader, json_object_get(object, "validators"), measurement);
        if (r < 0)
                return r;

        r = read_where(reader, step, object, &measurement->where);
        if (r < 0)
                return r;

        if (!limit_holds(measurement->limit_type, measurement->value, measurement->limit))
                step->beyond = true;

        return emit(reader, step, &event);
}

/* Valid, but nothing we have a use for; it counts all the same. */
static int on_series(StreamReader *reader, StreamStep *step, json_t *object) {
        if (++step->n_measurements > STREAM_MEASUREMENTS_MAX)
                return refuse(reader, "more than %d measurements in one step", STREAM_MEASUREMENTS_MAX);

        return 0;
}

static int on_file(StreamReader *reader, StreamStep *step, json_t *object) {
        return 0;
}

/* ---- extensions ---- */

static int on_part(StreamReader *reader, StreamStep *step, const json_t *content) {
        Event event = { .type = EVENT_PART_DONE, .verdict = verdict_from_string(text_of(content, "verdict")) };

        if (event.verdict < 0)
                return refuse(reader, "'verdict' is none of its words");
        if (location_kind(&step->unit) != LOCATION_SERVER)
                return refuse(reader, "a part is done in a step that is not of a server");
        if (location_parse(text_of(content, "part"), &event.part, NULL, NULL) < 0 ||
            location_kind(&event.part) != LOCATION_CHIP || !is_declared(reader, event.part.server))
                return refuse(reader, "'part' is no chip of this run");

        return emit(reader, step, &event);
}

static int on_progress(StreamReader *reader, StreamStep *step, const json_t *content) {
        json_int_t percent = json_integer_value(json_object_get(content, "percent"));
        Event event = { .type = EVENT_PROGRESS, .percent = (unsigned) percent };

        return percent <= 100 ? emit(reader, step, &event) : refuse(reader, "more than 100 percent");
}

static int on_extension(StreamReader *reader, StreamStep *step, json_t *extension) {
        const char *name = text_of(extension, "name");
        json_t *content = json_object_get(extension, "content");
        char wrong[SCHEMA_WRONG_MAX];

        if (stream_schema_judge_extension(name, content, wrong) < 0)
                return refuse(reader, "%s", wrong);

        if (strcmp(name, "assay-evidence") == 0)
                return on_evidence(reader, step, content);
        if (strcmp(name, "assay-part") == 0)
                return on_part(reader, step, content);
        if (strcmp(name, "assay-progress") == 0)
                return on_progress(reader, step, content);
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

        return n > 0 && n < STEP_NAME_MAX && name[n] == '\0';
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
                return refuse(reader, "'testStepId' is not UNIT:STEP");

        step->n_unit = (size_t) (colon - id);
        memcpy(unit, id, step->n_unit);
        unit[step->n_unit] = '\0';
        if (location_parse(unit, &step->unit, NULL, NULL) < 0 || step->unit.n_parts > 1)
                return refuse(reader, "the unit in 'testStepId' is neither a server nor a chip");
        if (!is_declared(reader, step->unit.server))
                return refuse(reader, "a step on a server that testRunStart did not declare");

        return 0;
}

static int on_step_start(StreamReader *reader, const char *id) {
        StreamStep step = { .found = VERDICT_PASSED };
        Event event = { .type = EVENT_STEP_START };
        int r;

        if (reader->n_steps >= STREAM_STEPS_MAX)
                return refuse(reader, "more than %d steps", STREAM_STEPS_MAX);
        if (find_step(reader, id))
                return refuse(reader, "a step that started before");

        r = read_step_id(reader, id, &step);
        if (r < 0)
                return r;
        if (grow_steps(reader) < 0)
                return no_memory(reader);

        step.id = strdup(id);
        if (!step.id)
                return no_memory(reader);

        reader->steps[reader->n_steps++] = step;
        reader->n_open++;
        return emit(reader, &reader->steps[reader->n_steps - 1], &event);
}

static int read_seed(StreamReader *reader, const char *text, uint64_t *ret) {
        uint64_t value = 0;

        if (*text == '\0')
                return refuse(reader, "'seed' is no number");

        for (; *text; text++)
                if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, UINT64_C(10), &value) ||
                    __builtin_add_overflow(value, (uint64_t) (*text - '0'), &value))
                        return refuse(reader, "'seed' is no number");

        *ret = value;
        return 0;
}

static int read_facts(StreamReader *reader, const json_t *facts, StepEnd *ret) {
        int r;

        *ret = (StepEnd) {
                .verdict = verdict_from_string(text_of(facts, "verdict")),
                .reason = reason_from_string(text_of(facts, "reason")),
                .message = text_if(facts, "message"),
                .required = json_is_true(json_object_get(facts, "required")),
                .device_nsec = (uint64_t) json_integer_value(json_object_get(facts, "device_nsec")),
        };

        if (ret->verdict < 0 || ret->reason < 0 || !reason_fits(ret->reason, ret->verdict))
                return refuse(reader, "verdict and reason do not go together");

        r = read_seed(reader, text_of(facts, "seed"), &ret->seed);
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
                return refuse(reader, "a step ends without its verdict");

        r = read_facts(reader, facts, &event.end);
        if (r < 0)
                return r;

        wrong = contradiction(step, event.end.verdict, text_of(object, "status"));
        if (wrong)
                return refuse(reader, "%s", wrong);

        reader->warned = reader->warned || event.end.verdict == VERDICT_WARNED;
        reader->step_failed = reader->step_failed || event.end.verdict == VERDICT_FAILED;
        step->ended = true;
        reader->n_open--;
        return emit(reader, step, &event);
}

static int on_step_error(StreamReader *reader, StreamStep *step, json_t *object) {
        step->errored = true; /* its words come again with the verdict */
        return 0;
}

static int on_step_log(StreamReader *reader, StreamStep *step, json_t *object) {
        Event event = { .type = EVENT_LOG, .message = text_of(object, "message") };

        return emit(reader, step, &event);
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
        return strcmp(text_of(json_object_get(artifact, "extension"), "name"), "assay-evidence") == 0;
}

static int on_step_artifact(StreamReader *reader, const json_t *artifact) {
        const char *id = text_of(artifact, "testStepId");
        StreamStep *step;
        int r;

        if (reader->numbered && !reader->started && reader->first == 0)
                return refuse(reader, "a step before testRunStart");
        if (json_object_get(artifact, "testStepStart"))
                return on_step_start(reader, id);

        step = find_step(reader, id);
        if (!step || step->ended)
                return refuse(reader, "a line of a step that is not open");
        if (step->facts && !json_object_get(artifact, "testStepEnd"))
                return refuse(reader, "a step goes on after its verdict");

        if (!is_evidence(artifact)) {
                r = emit_pending(reader, step, NULL);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < ELEMENTS(step_artifacts); i++) {
                json_t *object = json_object_get(artifact, step_artifacts[i].name);

                if (object)
                        return step_artifacts[i].handle(reader, step, object);
        }

        return refuse(reader, "an artifact that is not known");
}

/* ---- the run ---- */

static int declare_server(StreamReader *reader, const char *server) {
        ServerName *larger;

        if (reader->n_servers > 0 && is_declared(reader, server))
                return 0;

        larger = reallocarray(reader->servers, reader->n_servers + 1, sizeof(*larger));
        if (!larger)
                return no_memory(reader);

        reader->servers = larger;
        (void) snprintf(larger[reader->n_servers++], sizeof(*larger), "%s", server);
        return 0;
}

static const char *firmware_of(const json_t *dut, const char *id) {
        size_t i;
        json_t *info;

        json_array_foreach(json_object_get(dut, "softwareInfos"), i, info)
                if (strcmp(text_of(info, "computerSystem"), id) == 0 && strcmp(text_of(info, "softwareType"), "FIRMWARE") == 0)
                        return text_of(info, "version");

        return "";
}

/* Metadata holds what it likes: the schema has not looked into it. */
static const char *pci_address_of(const json_t *dut, const char *id) {
        const json_t *addresses = json_object_get(json_object_get(dut, "metadata"), "pciAddresses");
        const char *text = text_of(addresses, id);

        return strlen(text) == strspn(text, "0123456789abcdefABCDEF:.") ? text : "";
}

static int on_hardware(StreamReader *reader, const json_t *dut, const json_t *info) {
        const char *id = text_of(info, "hardwareInfoId");
        Event event = { .type = EVENT_HARDWARE };
        int r;

        if (location_parse(id, &event.hardware.where, NULL, NULL) < 0 || event.hardware.where.n_parts > 1)
                return refuse(reader, "'hardwareInfoId' is neither a server nor a chip");

        r = declare_server(reader, event.hardware.where.server);
        if (r < 0)
                return r;

        event.hardware.name = text_of(info, "name");
        event.hardware.serial = text_of(info, "serialNumber");
        event.hardware.part_number = text_of(info, "partNumber");
        event.hardware.tray = text_of(info, "location");
        event.hardware.firmware = firmware_of(dut, id);
        event.hardware.pci_address = pci_address_of(dut, id);
        return emit(reader, NULL, &event);
}

static const char *clean_text(const json_t *parameters, const char *name) {
        const char *text = text_of(parameters, name);

        return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(text) && strlen(text) < STEP_NAME_MAX ? text : "";
}

static int on_run_start(StreamReader *reader, json_t *start) {
        const json_t *dut = json_object_get(start, "dutInfo"), *hardware = json_object_get(dut, "hardwareInfos");
        Event event = { .type = EVENT_RUN_START };
        size_t i;
        json_t *info;
        int r;

        if (!reader->numbered)
                return refuse(reader, "testRunStart in the lines of a child");
        if (reader->started || reader->n_steps > 0)
                return refuse(reader, "testRunStart comes twice or late");
        if (json_array_size(hardware) > HARDWARE_MAX)
                return refuse(reader, "more than %d parts", HARDWARE_MAX);

        reader->started = true;
        event.plan = clean_text(json_object_get(start, "parameters"), "plan");
        r = emit(reader, NULL, &event);
        if (r < 0)
                return r;

        json_array_foreach(hardware, i, info) {
                r = on_hardware(reader, dut, info);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The pairs that OCP allows, and what they are to us. */
static Result read_result(const json_t *end) {
        static const struct {
                const char *status, *result;
                Result means;
        } pairs[] = {
                { "COMPLETE", "PASS", RESULT_PASSED },
                { "COMPLETE", "FAIL", RESULT_FAILED },
                { "ERROR", "NOT_APPLICABLE", RESULT_INCONCLUSIVE },
                { "SKIP", "NOT_APPLICABLE", RESULT_INCONCLUSIVE },
        };

        for (size_t i = 0; i < ELEMENTS(pairs); i++)
                if (strcmp(text_of(end, "status"), pairs[i].status) == 0 && strcmp(text_of(end, "result"), pairs[i].result) == 0)
                        return pairs[i].means;

        return _RESULT_INVALID;
}

static int on_run_end(StreamReader *reader, json_t *end) {
        Event event = { .type = EVENT_RUN_END, .result = read_result(end) };

        if (!reader->numbered)
                return refuse(reader, "testRunEnd in the lines of a child");
        if (!reader->started && reader->first == 0 && event.result != RESULT_INCONCLUSIVE)
                return refuse(reader, "testRunEnd before testRunStart");
        if (reader->n_open > 0)
                return refuse(reader, "testRunEnd with %zu steps open", reader->n_open);
        if (event.result < 0)
                return refuse(reader, "status and result of the run do not go together");
        if (event.result == RESULT_PASSED && (reader->step_failed || reader->errored))
                return refuse(reader, "a run with a failed step or an error cannot have passed");

        if (event.result == RESULT_PASSED && reader->warned)
                event.result = RESULT_WARNED;

        reader->ended = true;
        return emit(reader, NULL, &event);
}

static int on_run_error(StreamReader *reader, json_t *error) {
        const char *message = text_if(error, "message");
        Event event = { .type = EVENT_ERROR, .message = message ? message : text_of(error, "symptom") };

        reader->errored = true;
        return emit(reader, NULL, &event);
}

static int on_run_log(StreamReader *reader, json_t *line) {
        Event event = { .type = EVENT_LOG, .message = text_of(line, "message") };

        return emit(reader, NULL, &event);
}

static const struct {
        const char *name;
        int (*handle)(StreamReader *reader, json_t *object);
} run_artifacts[] = {
        { "testRunStart", on_run_start },
        { "testRunEnd", on_run_end },
        { "error", on_run_error },
        { "log", on_run_log },
};

static int on_run_artifact(StreamReader *reader, const json_t *artifact) {
        for (size_t i = 0; i < ELEMENTS(run_artifacts); i++) {
                json_t *object = json_object_get(artifact, run_artifacts[i].name);

                if (object)
                        return run_artifacts[i].handle(reader, object);
        }

        return refuse(reader, "an artifact that is not known");
}

static int on_schema_version(StreamReader *reader, const json_t *version) {
        if (!reader->numbered || reader->versioned || reader->n_lines > 0)
                return refuse(reader, "'schemaVersion' is not the first line");
        if (json_integer_value(json_object_get(version, "major")) != 2 ||
            json_integer_value(json_object_get(version, "minor")) != 0)
                return refuse(reader, "a version that is not 2.0");

        reader->versioned = true;
        return 0;
}

/* ---- lines ---- */

/* Deeper than any line of ours? Known before jansson recurses. */
static bool is_too_deep(const char *line, size_t n) {
        unsigned depth = 0;
        bool quoted = false;

        for (size_t i = 0; i < n; i++)
                if (quoted) {
                        if (line[i] == '\\')
                                i++;
                        else if (line[i] == '"')
                                quoted = false;
                } else if (line[i] == '"')
                        quoted = true;
                else if (line[i] == '{' || line[i] == '[') {
                        if (++depth > STREAM_DEPTH_MAX)
                                return true;
                } else if ((line[i] == '}' || line[i] == ']') && depth > 0)
                        depth--;

        return false;
}

static int on_object(StreamReader *reader, const json_t *object) {
        const json_t *version = json_object_get(object, "schemaVersion");
        const json_t *run = json_object_get(object, "testRunArtifact");

        if (version)
                return on_schema_version(reader, version);
        if (reader->numbered && !reader->versioned && reader->first == 0)
                return refuse(reader, "'schemaVersion' is missing");

        return run ? on_run_artifact(reader, run)
                   : on_step_artifact(reader, json_object_get(object, "testStepArtifact"));
}

/* One line without its newline. */
static int on_line(StreamReader *reader, const char *line, size_t n) {
        json_auto_t *object = NULL;
        char wrong[SCHEMA_WRONG_MAX];
        json_error_t error;
        int r;

        reader->n_bytes += n + 1;
        if (reader->n_bytes > STREAM_BYTES_MAX)
                return refuse(reader, "more than %u bytes", STREAM_BYTES_MAX);
        if (reader->ended)
                return refuse(reader, "a line after testRunEnd");
        if (is_too_deep(line, n))
                return refuse(reader, "nested deeper than %d levels", STREAM_DEPTH_MAX);

        object = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
        if (!object)
                return json_error_code(&error) == json_error_out_of_memory
                                       ? no_memory(reader)
                                       : refuse(reader, "no JSON object, at byte %d", error.position);
        if (stream_schema_judge(object, reader->numbered, wrong) < 0)
                return refuse(reader, "%s", wrong);
        if (reader->numbered && (uint64_t) json_integer_value(json_object_get(object, "sequenceNumber")) !=
                                                reader->first + reader->n_lines)
                return refuse(reader, "'sequenceNumber' does not count up by one");

        r = on_object(reader, object);
        if (r < 0)
                return r;

        reader->n_lines++;
        return 0;
}

/* Keeps what has no newline yet. */
static int keep(StreamReader *reader, const char *bytes, size_t n) {
        if (n >= STREAM_LINE_MAX - reader->n_partial)
                return refuse(reader, "longer than %u bytes", STREAM_LINE_MAX);

        memcpy(reader->partial + reader->n_partial, bytes, n);
        reader->n_partial += n;
        return 0;
}

int stream_reader_feed(StreamReader *reader, const void *bytes, size_t n) {
        const char *at = bytes, *end = at + n;
        int r;

        assert(reader);
        assert(bytes || n == 0);

        if (reader->failed < 0)
                return reader->failed;

        while (at < end) {
                const char *newline = memchr(at, '\n', (size_t) (end - at));

                if (!newline)
                        return keep(reader, at, (size_t) (end - at));

                if (reader->n_partial == 0 && newline - at < (ptrdiff_t) STREAM_LINE_MAX)
                        r = on_line(reader, at, (size_t) (newline - at));
                else {
                        r = keep(reader, at, (size_t) (newline - at));
                        if (r >= 0)
                                r = on_line(reader, reader->partial, reader->n_partial);
                        reader->n_partial = 0;
                }

                if (r < 0)
                        return r;

                at = newline + 1;
        }

        return 0;
}

int stream_reader_end(StreamReader *reader) {
        assert(reader);

        /* No finding is lost with the evidence that did not come. */
        for (size_t i = 0; i < reader->n_steps && (reader->failed == 0 || reader->failed == -EPROTO); i++) {
                int failed = reader->failed, r = emit_pending(reader, &reader->steps[i], NULL);

                if (r >= 0)
                        reader->failed = failed;
        }

        if (reader->failed < 0)
                return reader->failed;

        if (reader->n_partial > 0)
                (void) refuse(reader, "cut off");
        else if (reader->n_open > 0)
                (void) refuse(reader, "the stream ends with %zu steps open", reader->n_open);
        else if (reader->numbered && !reader->ended)
                (void) refuse(reader, "the stream ends before testRunEnd");
        return reader->failed;
}

const char *stream_reader_error(const StreamReader *reader) {
        assert(reader);

        return reader->error;
}

uint64_t stream_reader_sequence(const StreamReader *reader) {
        assert(reader);

        return reader->first + reader->n_lines;
}
