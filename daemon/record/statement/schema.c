/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/schema.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/digest.h"
#include "daemon/record/record.h"

#define LIST_MAX  1024 /* of whatever is compared each with each */
#define INDEX_MAX 9007199254740991.0 /* 2^53 - 1 */

typedef enum FieldType {
        FIELD_TEXT,
        FIELD_NUMBER,
        FIELD_INTEGER,
        FIELD_BOOL,
        FIELD_SCALAR, /* text, number or bool */
        FIELD_COUNT,  /* a non-negative integer, as text where it is beyond 2^53 */
        FIELD_OBJECT,
        FIELD_OBJECTS, /* a list of them */
        FIELD_NAMES,   /* a list of texts, each once */
} FieldType;

typedef struct Shape Shape;

typedef struct Field {
        const char *name;
        FieldType type;
        bool optional;
        bool (*is_valid)(const char *text); /* of a text, or each of a list; NULL: not empty */
        const char *const *words;           /* or one of these */
        double min, max;                    /* of a number, or of the length of a list; max 0: no bound */
        const Shape *of;
} Field;

struct Shape {
        const Field *fields; /* up to one without a name */
        bool is_descriptor;  /* needs at least one of uri, digest, content */
};

/* ---- texts ---- */

static bool is_hex_digit(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool form_is_sha256(const char *text) {
        uint8_t digest[DIGEST_BYTES];

        return digest_from_hex(text, digest) == 0;
}

bool form_is_uuid(const char *text) {
        static const char form[] = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";

        if (strlen(text) != sizeof(form) - 1)
                return false;
        for (size_t i = 0; form[i]; i++)
                if (form[i] == 'h' ? !is_hex_digit(text[i]) : text[i] != form[i])
                        return false;
        return true;
}

/* yyyy-mm-ddThh:mm:ss[.fff]Z */
static bool is_time(const char *text) {
        static const char form[] = "dddd-dd-ddTdd:dd:dd";
        size_t i;

        for (i = 0; form[i]; i++)
                if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
                        return false;
        if (text[i] == '.') {
                size_t n = strspn(text + i + 1, "0123456789");

                if (n == 0)
                        return false;
                i += n + 1;
        }
        return strcmp(text + i, "Z") == 0;
}

static bool is_origin(const char *text) {
        return *text && !strpbrk(text, " +");
}

static bool is_digits(const char *text) {
        return *text && text[strspn(text, "0123456789")] == '\0';
}

bool form_is_regions(const char *text) {
        return strlen(text) < REGIONS_TEXT_MAX && text[strspn(text, "0123456789,-")] == '\0';
}

bool form_is_code(const char *text) {
        for (;;) {
                size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");

                if (n == 0)
                        return false;
                text += n;
                if (*text == '\0')
                        return true;
                if (*text++ != '-')
                        return false;
        }
}

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

#define WORDS_STAGE     WORDS("PREFLIGHT", "INFLEET", "PRODUCTION", "BURNIN", "REPAIR", "RMA")
#define WORDS_STATUS    WORDS("COMPLETE", "ERROR", "SKIP")
#define WORDS_RESULT    WORDS("PASSED", "WARNED", "FAILED", "INCONCLUSIVE")
#define WORDS_SOURCE    WORDS("ntp", "ptp", "rtc", "none")
#define WORDS_STATISTIC WORDS("min", "max", "mean", "sum", "p50", "p99", "last")
#define WORDS_LIMIT                                                                                         \
        WORDS("EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN",                      \
              "GREATER_THAN_OR_EQUAL", "REGEX_MATCH", "REGEX_NO_MATCH")
#define WORDS_COMPONENT WORDS("UNSPECIFIED", "ASIC", "ASIC-SUBSYSTEM", "BUS", "FUNCTION", "CONNECTOR")

/* ---- shapes, the innermost first ---- */

#define FIELDS(...) ((const Field[]) { __VA_ARGS__, {} })

static const Shape shape_digest = { FIELDS({ "sha256", FIELD_TEXT, .is_valid = form_is_sha256 }) };

#define DESCRIPTOR_FIELDS                                                                                   \
        { "name", FIELD_TEXT, .optional = true }, { "uri", FIELD_TEXT, .optional = true },                  \
                        { "digest", FIELD_OBJECT, .optional = true, .of = &shape_digest },                  \
                        { "content", FIELD_TEXT, .optional = true }, {                                      \
                "mediaType", FIELD_TEXT, .optional = true                                                   \
        }

static const Shape shape_descriptor = { FIELDS(DESCRIPTOR_FIELDS), .is_descriptor = true };

/* Whatever it holds. */
static const Shape shape_any = { (const Field[]) { {} } };

static const Shape shape_digested = {
        FIELDS({ "name", FIELD_TEXT, .optional = true }, { "uri", FIELD_TEXT, .optional = true },
               { "mediaType", FIELD_TEXT, .optional = true },
               { "digest", FIELD_OBJECT, .of = &shape_digest }),
};

static const Shape shape_named_plan = {
        FIELDS({ "name", FIELD_TEXT }, { "uri", FIELD_TEXT, .optional = true },
               { "digest", FIELD_OBJECT, .of = &shape_digest }),
};

static const Shape shape_producer = {
        FIELDS({ "id", FIELD_TEXT }, { "scanner", FIELD_OBJECT, .of = &shape_descriptor },
               { "bootId", FIELD_TEXT, .optional = true, .is_valid = form_is_uuid }),
};

static const Shape shape_log = {
        FIELDS({ "origin", FIELD_TEXT, .is_valid = is_origin },
               { "index", FIELD_INTEGER, .max = INDEX_MAX }),
};

static const Shape shape_clock = {
        FIELDS({ "source", FIELD_TEXT, .words = WORDS_SOURCE }, { "synchronized", FIELD_BOOL },
               { "maxErrorSeconds", FIELD_NUMBER, .optional = true },
               { "monotonicNs", FIELD_TEXT, .optional = true, .is_valid = is_digits }),
};

static const Shape shape_operator = {
        FIELDS({ "uid", FIELD_INTEGER, .max = UINT32_MAX }, { "name", FIELD_TEXT, .optional = true }),
};

#define RUN_FIELDS                                                                                          \
        { "id", FIELD_TEXT, .is_valid = form_is_uuid }, { "stage", FIELD_TEXT, .words = WORDS_STAGE },           \
                        { "challenge", FIELD_TEXT, .optional = true },                                      \
                        { "note", FIELD_TEXT, .optional = true, .is_valid = note_text_is_valid },           \
                        { "operator", FIELD_OBJECT, .optional = true, .of = &shape_operator },              \
                        { "startedOn", FIELD_TEXT, .is_valid = is_time }, {                                 \
                "seed", FIELD_COUNT, .optional = true                                                       \
        },                                                                                                  \
                        { "worker", FIELD_OBJECT, .optional = true, .of = &shape_digested }

static const Shape shape_run_start = { FIELDS(RUN_FIELDS) };

static const Shape shape_run = {
        FIELDS(RUN_FIELDS, { "finishedOn", FIELD_TEXT, .is_valid = is_time },
               { "servers", FIELD_NAMES, .optional = true, .is_valid = location_server_name_is_valid },
               { "clock", FIELD_OBJECT, .of = &shape_clock }),
};

static const Shape shape_location = {
        FIELDS({ "path", FIELD_TEXT, .optional = true }, { "pciAddress", FIELD_TEXT, .optional = true },
               { "tray", FIELD_TEXT, .optional = true }, { "reportedSerial", FIELD_TEXT, .optional = true }),
};

static const Shape shape_version = {
        FIELDS({ "name", FIELD_TEXT }, { "version", FIELD_TEXT, .optional = true }, { "build", FIELD_TEXT, .optional = true }),
};

static const Shape shape_component = {
        FIELDS({ "name", FIELD_TEXT }, { "type", FIELD_TEXT, .optional = true, .words = WORDS_COMPONENT },
               { "location", FIELD_TEXT, .optional = true }),
};

static const Shape shape_limit = {
        FIELDS({ "type", FIELD_TEXT, .words = WORDS_LIMIT }, { "value", FIELD_SCALAR },
               { "name", FIELD_TEXT, .optional = true }),
};

static const Shape shape_measurement = {
        FIELDS({ "name", FIELD_TEXT }, { "value", FIELD_SCALAR }, { "unit", FIELD_TEXT },
               { "limits", FIELD_OBJECTS, .optional = true, .of = &shape_limit },
               { "result", FIELD_TEXT, .optional = true, .words = WORDS("PASSED", "FAILED") },
               { "component", FIELD_OBJECT, .optional = true, .of = &shape_component },
               { "annotations", FIELD_OBJECT, .optional = true, .of = &shape_any },
               { "statistic", FIELD_TEXT, .optional = true, .words = WORDS_STATISTIC },
               { "count", FIELD_COUNT, .optional = true },
               { "isCoverage", FIELD_BOOL, .optional = true }),
};

static const Shape shape_diagnosis = {
        FIELDS({ "verdict", FIELD_TEXT, .is_valid = form_is_code },
               { "type", FIELD_TEXT, .words = WORDS("PASS", "FAIL", "UNKNOWN") },
               { "message", FIELD_TEXT, .optional = true },
               { "component", FIELD_OBJECT, .optional = true, .of = &shape_component },
               { "annotations", FIELD_OBJECT, .optional = true, .of = &shape_any },
               { "reproduced", FIELD_COUNT, .optional = true }, { "runs", FIELD_COUNT, .optional = true },
               { "step", FIELD_TEXT, .optional = true }),
};

static const Shape shape_error = {
        FIELDS({ "symptom", FIELD_TEXT }, { "message", FIELD_TEXT, .optional = true }),
};

static const Shape shape_region_test = {
        FIELDS({ "on", FIELD_TEXT, .is_valid = is_time }, { "run", FIELD_TEXT, .is_valid = form_is_uuid },
               { "regions", FIELD_TEXT, .is_valid = form_is_regions }),
};

static const Shape shape_regions = {
        FIELDS({ "partition", FIELD_TEXT }, { "total", FIELD_INTEGER, .min = 1, .max = REGIONS_MAX },
               { "position", FIELD_INTEGER, .max = REGIONS_MAX - 1 },
               { "since", FIELD_TEXT, .is_valid = is_time },
               { "occupied", FIELD_TEXT, .is_valid = form_is_regions },
               { "unproven", FIELD_TEXT, .optional = true, .is_valid = form_is_regions },
               { "because", FIELD_TEXT, .optional = true },
               { "altered", FIELD_TEXT, .optional = true, .is_valid = form_is_regions },
               { "suspicious", FIELD_TEXT, .optional = true, .is_valid = form_is_regions },
               { "joined", FIELD_TEXT, .optional = true, .is_valid = form_is_regions },
               { "together", FIELD_TEXT, .optional = true, .is_valid = form_is_regions },
               { "failed", FIELD_TEXT, .is_valid = form_is_regions },
               { "tested", FIELD_OBJECTS, .max = REGIONS_MAX, .of = &shape_region_test }),
};

static const Shape shape_step = {
        FIELDS({ "id", FIELD_TEXT }, { "name", FIELD_TEXT }, { "check", FIELD_TEXT, .optional = true },
               { "status", FIELD_TEXT, .words = WORDS_STATUS },
               { "result", FIELD_TEXT, .words = WORDS_RESULT }, { "required", FIELD_BOOL },
               { "reason", FIELD_TEXT, .optional = true, .is_valid = form_is_code },
               { "message", FIELD_TEXT, .optional = true }, { "seed", FIELD_COUNT, .optional = true },
               { "deviceNanoseconds", FIELD_COUNT, .optional = true },
               { "startedOn", FIELD_TEXT, .optional = true, .is_valid = is_time },
               { "finishedOn", FIELD_TEXT, .optional = true, .is_valid = is_time },
               { "regions", FIELD_OBJECT, .optional = true, .of = &shape_regions },
               { "measurements", FIELD_OBJECTS, .optional = true, .of = &shape_measurement },
               { "diagnoses", FIELD_OBJECTS, .optional = true, .of = &shape_diagnosis },
               { "errors", FIELD_OBJECTS, .optional = true, .of = &shape_error }),
};

static const Shape shape_untested = {
        FIELDS({ "name", FIELD_TEXT }, { "reason", FIELD_TEXT, .is_valid = form_is_code },
               { "coverage", FIELD_NAMES, .optional = true }),
};

static const Shape shape_coverage = {
        FIELDS({ "name", FIELD_TEXT }, { "reached", FIELD_NUMBER }, { "promised", FIELD_NUMBER }),
};

static const Shape shape_annotations = {
        FIELDS({ "slot", FIELD_TEXT }, { "result", FIELD_TEXT, .words = WORDS_RESULT },
               { "logIndex", FIELD_INTEGER, .max = INDEX_MAX },
               { "recordSha256", FIELD_TEXT, .is_valid = form_is_sha256 }),
};

static const Shape shape_chip = {
        FIELDS(DESCRIPTOR_FIELDS, { "annotations", FIELD_OBJECT, .of = &shape_annotations }),
        .is_descriptor = true,
};

/* What every predicate has. */
#define LOGGED_FIELDS                                                                                       \
        { "producer", FIELD_OBJECT, .of = &shape_producer }, { "log", FIELD_OBJECT, .of = &shape_log },     \
                        { "previous", FIELD_OBJECT, .optional = true, .of = &shape_digest }

/* What those of a run have as well. */
#define CONTEXT_FIELDS                                                                                      \
        { "configuration", FIELD_OBJECTS, .min = 1, .of = &shape_named_plan },                              \
                        { "location", FIELD_OBJECT, .optional = true, .of = &shape_location },              \
                        { "environment", FIELD_OBJECTS, .optional = true, .of = &shape_version }, {         \
                "evidence", FIELD_OBJECTS, .optional = true, .of = &shape_digested                          \
        }

#define RESULT_FIELDS                                                                                       \
        { "status", FIELD_TEXT, .words = WORDS_STATUS }, { "result", FIELD_TEXT, .words = WORDS_RESULT }, { \
                "run", FIELD_OBJECT, .of = &shape_run                                                       \
        }

/* A chip's record of version 2 leaves scanner and clock to its server's. */
static const Shape shape_producer_v2 = { FIELDS({ "id", FIELD_TEXT }) };
static const Shape shape_run_v2 = { FIELDS(RUN_FIELDS, { "finishedOn", FIELD_TEXT, .is_valid = is_time }) };

#define HEALTH_FIELDS                                                                                       \
        { "host", FIELD_OBJECT, .optional = true, .of = &shape_descriptor },                                \
                        { "deviceIdentity", FIELD_OBJECT, .optional = true, .of = &shape_any },             \
                        { "steps", FIELD_OBJECTS, .max = LIST_MAX, .of = &shape_step },                     \
                        { "passedTests", FIELD_NAMES }, { "warnedTests", FIELD_NAMES }, { "failedTests", FIELD_NAMES }, \
                        { "untestedTests", FIELD_OBJECTS, .optional = true, .max = LIST_MAX, .of = &shape_untested }, { \
                "coverage", FIELD_OBJECTS, .optional = true, .max = RECORD_PROMISES_MAX, .of = &shape_coverage \
        }

static const Shape shape_health = { FIELDS(LOGGED_FIELDS, CONTEXT_FIELDS, RESULT_FIELDS, HEALTH_FIELDS) };

/* With steps and lists as statement_spell_out() makes them. */
static const Shape shape_health_v2 = {
        FIELDS({ "producer", FIELD_OBJECT, .of = &shape_producer_v2 }, { "log", FIELD_OBJECT, .of = &shape_log },
               { "previous", FIELD_OBJECT, .optional = true, .of = &shape_digest }, CONTEXT_FIELDS,
               { "status", FIELD_TEXT, .words = WORDS_STATUS }, { "result", FIELD_TEXT, .words = WORDS_RESULT },
               { "run", FIELD_OBJECT, .of = &shape_run_v2 }, { "earlier", FIELD_INTEGER, .optional = true, .max = INDEX_MAX },
               { "standing", FIELD_INTEGER, .optional = true, .max = INDEX_MAX }, HEALTH_FIELDS),
};

static const Shape shape_left_out = {
        FIELDS({ "step", FIELD_TEXT }, { "component", FIELD_OBJECT, .of = &shape_component }),
};

/* A step of the plan, how often it left something out, and the least that it counted of the chips. */
static const Shape shape_test = {
        FIELDS({ "name", FIELD_TEXT }, { "check", FIELD_TEXT }, { "leftOut", FIELD_INTEGER, .optional = true, .min = 1, .max = INDEX_MAX },
               { "coverage", FIELD_OBJECTS, .optional = true, .max = RECORD_PROMISES_MAX, .of = &shape_coverage }),
};

static const Shape shape_summary = {
        FIELDS(LOGGED_FIELDS, CONTEXT_FIELDS, RESULT_FIELDS,
               { "measurements", FIELD_OBJECTS, .optional = true, .of = &shape_measurement },
               { "diagnoses", FIELD_OBJECTS, .optional = true, .of = &shape_diagnosis },
               { "untested", FIELD_OBJECTS, .optional = true, .of = &shape_left_out },
               { "tests", FIELD_OBJECTS, .optional = true, .max = LIST_MAX, .of = &shape_test },
               { "components", FIELD_OBJECTS, .max = LIST_MAX, .of = &shape_chip },
               { "chipCount", FIELD_INTEGER, .optional = true, .min = 1, .max = LIST_MAX }),
};

static const Shape shape_start = {
        FIELDS(LOGGED_FIELDS, CONTEXT_FIELDS, { "run", FIELD_OBJECT, .of = &shape_run_start }),
};

/* As much of a log as a checkpoint tells: its records, and the root of their tree; in older heartbeats, what its tables came to. */
static const Shape shape_history = {
        FIELDS({ "size", FIELD_INTEGER, .max = INDEX_MAX }, { "sha256", FIELD_TEXT, .is_valid = form_is_sha256 }),
};

static const Shape shape_heartbeat = {
        FIELDS(LOGGED_FIELDS, { "sentOn", FIELD_TEXT, .is_valid = is_time },
               { "cause", FIELD_TEXT, .optional = true, .words = WORDS("start", "interval") },
               { "clock", FIELD_OBJECT, .optional = true, .of = &shape_clock },
               { "tables", FIELD_OBJECT, .optional = true, .of = &shape_history }),
};

#define KEY_FIELDS { "keyid", FIELD_TEXT }, { "algorithm", FIELD_TEXT }, { "spki", FIELD_TEXT }

static const Shape shape_key = { FIELDS(KEY_FIELDS) };

static const Shape shape_rotation = {
        FIELDS(LOGGED_FIELDS, KEY_FIELDS, { "sentOn", FIELD_TEXT, .is_valid = is_time },
               { "replaces", FIELD_OBJECT, .of = &shape_key }),
};

static const Shape shape_decision = {
        FIELDS(LOGGED_FIELDS, { "sentOn", FIELD_TEXT, .is_valid = is_time },
               { "cause", FIELD_TEXT, .words = WORDS("checkpoints-lost", "records-lost", "forked") },
               { "note", FIELD_TEXT, .is_valid = note_text_is_valid }, { "operator", FIELD_OBJECT, .of = &shape_operator },
               { "kept", FIELD_OBJECT, .of = &shape_history }, { "signed", FIELD_OBJECT, .optional = true, .of = &shape_history }),
};

static const Shape shape_range = {
        FIELDS({ "first", FIELD_INTEGER, .max = INDEX_MAX }, { "end", FIELD_INTEGER, .min = 1, .max = INDEX_MAX }),
};

static const Shape shape_archive = {
        FIELDS(LOGGED_FIELDS, { "sentOn", FIELD_TEXT, .is_valid = is_time },
               { "range", FIELD_OBJECT, .of = &shape_range },
               { "size", FIELD_INTEGER, .min = 1, .max = INDEX_MAX },
               { "dropped", FIELD_TEXT, .is_valid = form_is_regions }),
};

#define STATEMENT(shape)                                                                                    \
        {                                                                                                   \
                FIELDS({ "subject", FIELD_OBJECTS, .min = 1, .max = 1, .of = &shape_digested },             \
                       { "predicateType", FIELD_TEXT }, { "predicate", FIELD_OBJECT, .of = (shape) })       \
        }

static const struct {
        const char *predicate_type;
        Shape shape;
} statements[] = {
        { RECORD_TYPE_HEALTH,    STATEMENT(&shape_health)  },
        { RECORD_TYPE_HEALTH_V2, STATEMENT(&shape_health_v2) },
        { RECORD_TYPE_SUMMARY,   STATEMENT(&shape_summary) },
        { RECORD_TYPE_RUN_START, STATEMENT(&shape_start)   },
        { RECORD_TYPE_HEARTBEAT, STATEMENT(&shape_heartbeat) },
        { RECORD_TYPE_ROTATION,  STATEMENT(&shape_rotation) },
        { RECORD_TYPE_DECISION,  STATEMENT(&shape_decision) },
        { RECORD_TYPE_ARCHIVE,   STATEMENT(&shape_archive) },
};

/* ---- looking ---- */

/* The path grows from the inside out while the recursion returns. */
static bool wrong_value(SchemaWrong *wrong, const char *what) {
        (void) snprintf(wrong->text, sizeof(wrong->text), ": %s", what);
        return false;
}

static bool wrong_within(SchemaWrong *wrong, const char *name, size_t index, bool is_list) {
        SchemaWrong inner = *wrong;

        if (is_list)
                (void) snprintf(wrong->text, sizeof(wrong->text), "%s[%zu]%s%.128s", name, index,
                                inner.text[0] == ':' ? "" : ".", inner.text);
        else
                (void) snprintf(wrong->text, sizeof(wrong->text), "%s%s%.128s", name,
                                inner.text[0] == ':' ? "" : ".", inner.text);
        return false;
}

static bool text_fits(const json_t *value, const Field *field) {
        const char *text = json_string_value(value);

        if (!text || (field->is_valid ? !field->is_valid(text) : !field->words && !*text))
                return false;
        if (!field->words)
                return true;
        for (const char *const *word = field->words; *word; word++)
                if (strcmp(*word, text) == 0)
                        return true;
        return false;
}

static bool number_fits(const json_t *value, const Field *field) {
        double number = json_number_value(value);

        return json_is_number(value) && number >= field->min && (field->max == 0 || number <= field->max);
}

static bool count_fits(const json_t *value) {
        return json_is_string(value) ? is_digits(json_string_value(value))
                                     : json_is_integer(value) && json_integer_value(value) >= 0 && json_number_value(value) <= INDEX_MAX;
}

static bool names_fit(const json_t *list, const Field *field) {
        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *name = json_string_value(json_array_get(list, i));

                if (!name || !*name || i >= LIST_MAX || (field->is_valid && !field->is_valid(name)))
                        return false;
                for (size_t k = 0; k < i; k++)
                        if (strcmp(json_string_value(json_array_get(list, k)), name) == 0)
                                return false;
        }
        return json_is_array(list);
}

static bool plain_fits(const json_t *value, const Field *field) {
        switch (field->type) {
        case FIELD_TEXT:
                return text_fits(value, field);
        case FIELD_NUMBER:
                return number_fits(value, field);
        case FIELD_INTEGER:
                return json_is_integer(value) && number_fits(value, field);
        case FIELD_BOOL:
                return json_is_boolean(value);
        case FIELD_SCALAR:
                return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
        case FIELD_COUNT:
                return count_fits(value);
        case FIELD_NAMES:
                return names_fit(value, field);
        case FIELD_OBJECT:
        case FIELD_OBJECTS:
                break;
        }
        return false;
}

static bool shape_fits(const json_t *object, const Shape *shape, SchemaWrong *wrong);

static bool list_fits(const json_t *list, const Field *field, SchemaWrong *wrong) {
        double n = (double) json_array_size(list);

        if (!json_is_array(list) || n < field->min || (field->max > 0 && n > field->max))
                return wrong_value(wrong, "is no list of the right length") ||
                       wrong_within(wrong, field->name, 0, false);
        for (size_t i = 0; i < json_array_size(list); i++)
                if (!shape_fits(json_array_get(list, i), field->of, wrong))
                        return wrong_within(wrong, field->name, i, true);
        return true;
}

static bool field_fits(const json_t *value, const Field *field, SchemaWrong *wrong) {
        if (!value) {
                if (field->optional)
                        return true;
                return wrong_value(wrong, "is missing") || wrong_within(wrong, field->name, 0, false);
        }
        if (field->type == FIELD_OBJECTS)
                return list_fits(value, field, wrong);
        if (field->type == FIELD_OBJECT)
                return shape_fits(value, field->of, wrong) || wrong_within(wrong, field->name, 0, false);
        return plain_fits(value, field) || wrong_value(wrong, "is not what it must be") ||
               wrong_within(wrong, field->name, 0, false);
}

static bool shape_fits(const json_t *object, const Shape *shape, SchemaWrong *wrong) {
        if (!json_is_object(object))
                return wrong_value(wrong, "is not an object");
        for (const Field *field = shape->fields; field->name; field++)
                if (!field_fits(json_object_get(object, field->name), field, wrong))
                        return false;
        if (shape->is_descriptor && !json_object_get(object, "uri") && !json_object_get(object, "digest") &&
            !json_object_get(object, "content"))
                return wrong_value(wrong, "has neither uri nor digest nor content");
        return true;
}

bool schema_fits(const json_t *statement, const char *predicate_type, SchemaWrong *wrong) {
        for (size_t i = 0; i < ELEMENTS(statements); i++)
                if (strcmp(statements[i].predicate_type, predicate_type) == 0)
                        return shape_fits(statement, &statements[i].shape, wrong);
        (void) snprintf(wrong->text, sizeof(wrong->text), "predicateType: is none of ours");
        return false;
}
