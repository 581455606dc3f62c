/* SPDX-License-Identifier: Apache-2.0 */

/* Stream-schema: tables of members, and the one function that holds a value against them. */

#include "checks/stream/stream-schema.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"

typedef enum MemberType {
        MEMBER_STRING,
        MEMBER_WORD, /* a string out of words[] */
        MEMBER_TIME, /* RFC 3339 with its zone */
        MEMBER_NUMBER,
        MEMBER_INTEGER, /* not negative */
        MEMBER_BOOLEAN,
        MEMBER_SCALAR,  /* a string, boolean or number */
        MEMBER_OBJECT,  /* of members[] */
        MEMBER_OBJECTS, /* a list of them */
        MEMBER_STRINGS,
        MEMBER_FREE, /* an object that may hold anything */
        MEMBER_ANY,
} MemberType;

typedef struct Member Member;

struct Member {
        const char *name; /* NULL ends the table */
        MemberType type;
        bool required;
        bool alternative; /* of all alternatives in a table exactly one is there */
        const Member *members;
        const char *const *words;
};

#define REQUIRED(n, t, ...)    { .name = n, .type = MEMBER_##t, .required = true, __VA_ARGS__ }
#define OPTIONAL(n, t, ...)    { .name = n, .type = MEMBER_##t, __VA_ARGS__ }
#define ALTERNATIVE(n, table)  { .name = n, .type = MEMBER_OBJECT, .alternative = true, .members = table }
#define WORDS(...)             .words = (const char *const[]) { __VA_ARGS__, NULL }

/* ---- pieces ---- */

static const Member source_location[] = {
        REQUIRED("file", STRING),
        REQUIRED("line", INTEGER),
        {},
};

static const Member subcomponent[] = {
        REQUIRED("name", STRING),
        OPTIONAL("type", WORD, WORDS("UNSPECIFIED", "ASIC", "ASIC-SUBSYSTEM", "BUS", "FUNCTION", "CONNECTOR")),
        OPTIONAL("location", STRING),
        OPTIONAL("version", STRING),
        OPTIONAL("revision", STRING),
        {},
};

static const Member validator[] = {
        REQUIRED("type", WORD, WORDS("EQUAL", "NOT_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN",
                                     "GREATER_THAN_OR_EQUAL", "REGEX_MATCH", "REGEX_NO_MATCH", "IN_SET", "NOT_IN_SET")),
        REQUIRED("value", SCALAR),
        OPTIONAL("name", STRING),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member error[] = {
        REQUIRED("symptom", STRING),
        OPTIONAL("message", STRING),
        OPTIONAL("softwareInfoIds", STRINGS),
        OPTIONAL("sourceLocation", OBJECT, .members = source_location),
        {},
};

static const Member log_line[] = {
        REQUIRED("severity", WORD, WORDS("INFO", "DEBUG", "WARNING", "ERROR", "FATAL")),
        REQUIRED("message", STRING),
        OPTIONAL("sourceLocation", OBJECT, .members = source_location),
        {},
};

/* ---- the run ---- */

static const Member software_info[] = {
        REQUIRED("softwareInfoId", STRING),
        REQUIRED("name", STRING),
        OPTIONAL("version", STRING),
        OPTIONAL("revision", STRING),
        OPTIONAL("softwareType", WORD, WORDS("UNSPECIFIED", "FIRMWARE", "SYSTEM", "APPLICATION")),
        OPTIONAL("computerSystem", STRING),
        {},
};

static const Member hardware_info[] = {
        REQUIRED("hardwareInfoId", STRING),
        REQUIRED("name", STRING),
        OPTIONAL("version", STRING),
        OPTIONAL("revision", STRING),
        OPTIONAL("location", STRING),
        OPTIONAL("serialNumber", STRING),
        OPTIONAL("manufacturer", STRING),
        OPTIONAL("manufacturerPartNumber", STRING),
        OPTIONAL("partNumber", STRING),
        OPTIONAL("odataId", STRING),
        OPTIONAL("computerSystem", STRING),
        OPTIONAL("manager", STRING),
        {},
};

static const Member platform_info[] = {
        REQUIRED("info", STRING),
        {},
};

static const Member dut_info[] = {
        REQUIRED("dutInfoId", STRING),
        OPTIONAL("name", STRING),
        OPTIONAL("platformInfos", OBJECTS, .members = platform_info),
        OPTIONAL("softwareInfos", OBJECTS, .members = software_info),
        OPTIONAL("hardwareInfos", OBJECTS, .members = hardware_info),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member run_start[] = {
        REQUIRED("name", STRING),
        REQUIRED("version", STRING),
        REQUIRED("commandLine", STRING),
        REQUIRED("parameters", FREE),
        REQUIRED("dutInfo", OBJECT, .members = dut_info),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member run_end[] = {
        REQUIRED("status", WORD, WORDS("COMPLETE", "ERROR", "SKIP")),
        REQUIRED("result", WORD, WORDS("NOT_APPLICABLE", "PASS", "FAIL")),
        {},
};

static const Member run_artifact[] = {
        ALTERNATIVE("testRunStart", run_start),
        ALTERNATIVE("testRunEnd", run_end),
        ALTERNATIVE("log", log_line),
        ALTERNATIVE("error", error),
        {},
};

/* ---- the steps ---- */

static const Member step_start[] = {
        REQUIRED("name", STRING),
        {},
};

static const Member step_end[] = {
        REQUIRED("status", WORD, WORDS("COMPLETE", "ERROR", "SKIP")),
        {},
};

static const Member measurement[] = {
        REQUIRED("name", STRING),
        REQUIRED("value", SCALAR),
        OPTIONAL("unit", STRING),
        OPTIONAL("validators", OBJECTS, .members = validator),
        OPTIONAL("hardwareInfoId", STRING),
        OPTIONAL("subcomponent", OBJECT, .members = subcomponent),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member series_start[] = {
        REQUIRED("name", STRING),
        REQUIRED("measurementSeriesId", STRING),
        OPTIONAL("unit", STRING),
        OPTIONAL("validators", OBJECTS, .members = validator),
        OPTIONAL("hardwareInfoId", STRING),
        OPTIONAL("subcomponent", OBJECT, .members = subcomponent),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member series_element[] = {
        REQUIRED("index", INTEGER),
        REQUIRED("measurementSeriesId", STRING),
        REQUIRED("value", SCALAR),
        REQUIRED("timestamp", TIME),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member series_end[] = {
        REQUIRED("measurementSeriesId", STRING),
        REQUIRED("totalCount", INTEGER),
        {},
};

static const Member diagnosis[] = {
        REQUIRED("verdict", STRING),
        REQUIRED("type", WORD, WORDS("PASS", "FAIL", "UNKNOWN")),
        OPTIONAL("message", STRING),
        OPTIONAL("hardwareInfoId", STRING),
        OPTIONAL("subcomponent", OBJECT, .members = subcomponent),
        OPTIONAL("sourceLocation", OBJECT, .members = source_location),
        {},
};

static const Member file[] = {
        REQUIRED("displayName", STRING),
        REQUIRED("uri", STRING),
        REQUIRED("isSnapshot", BOOLEAN),
        OPTIONAL("description", STRING),
        OPTIONAL("contentType", STRING),
        OPTIONAL("metadata", FREE),
        {},
};

static const Member extension[] = {
        REQUIRED("name", STRING),
        REQUIRED("content", ANY),
        {},
};

static const Member step_artifact[] = {
        REQUIRED("testStepId", STRING),
        ALTERNATIVE("testStepStart", step_start),
        ALTERNATIVE("testStepEnd", step_end),
        ALTERNATIVE("measurement", measurement),
        ALTERNATIVE("measurementSeriesStart", series_start),
        ALTERNATIVE("measurementSeriesElement", series_element),
        ALTERNATIVE("measurementSeriesEnd", series_end),
        ALTERNATIVE("diagnosis", diagnosis),
        ALTERNATIVE("error", error),
        ALTERNATIVE("file", file),
        ALTERNATIVE("log", log_line),
        ALTERNATIVE("extension", extension),
        {},
};

/* ---- the line ---- */

static const Member schema_version[] = {
        REQUIRED("major", INTEGER),
        REQUIRED("minor", INTEGER),
        {},
};

#define ARTIFACTS                                                                                            \
        ALTERNATIVE("schemaVersion", schema_version), ALTERNATIVE("testRunArtifact", run_artifact),          \
                        ALTERNATIVE("testStepArtifact", step_artifact)

static const Member bare_line[] = { ARTIFACTS, {} };

static const Member numbered_line[] = {
        REQUIRED("sequenceNumber", INTEGER),
        REQUIRED("timestamp", TIME),
        ARTIFACTS,
        {},
};

/* ---- our extensions, see stream.h ---- */

static const Member evidence[] = {
        REQUIRED("code", STRING),
        REQUIRED("location", STRING),
        OPTIONAL("action", STRING),
        OPTIONAL("address", STRING),
        OPTIONAL("expected", STRING),
        OPTIONAL("actual", STRING),
        OPTIONAL("far_end", STRING),
        OPTIONAL("replaceable", STRING),
        OPTIONAL("count", NUMBER),
        OPTIONAL("confidence", NUMBER),
        OPTIONAL("decided", STRING),
        OPTIONAL("value", NUMBER),
        OPTIONAL("limit", NUMBER),
        REQUIRED("reproduced", INTEGER),
        REQUIRED("runs", INTEGER),
        {},
};

static const Member part[] = {
        REQUIRED("part", STRING),
        REQUIRED("verdict", STRING),
        OPTIONAL("reason", STRING),
        {},
};

static const Member progress[] = {
        REQUIRED("percent", INTEGER),
        {},
};

static const Member regions[] = {
        REQUIRED("partition", STRING),
        REQUIRED("position", INTEGER),
        REQUIRED("tested", STRING),
        REQUIRED("failed", STRING),
        REQUIRED("occupied", STRING),
        OPTIONAL("unproven", STRING),
        OPTIONAL("altered", STRING),
        OPTIONAL("suspicious", STRING),
        OPTIONAL("joined", STRING),
        OPTIONAL("together", STRING),
        OPTIONAL("because", STRING),
        {},
};

static const Member assembly[] = {
        REQUIRED("name", STRING),
        REQUIRED("location", STRING),
        OPTIONAL("serialNumber", STRING),
        OPTIONAL("partNumber", STRING),
        OPTIONAL("version", STRING),
        {},
};

static const Member software[] = {
        REQUIRED("name", STRING),
        REQUIRED("version", STRING),
        {},
};

static const Member reading[] = {
        REQUIRED("name", STRING),
        REQUIRED("value", NUMBER),
        REQUIRED("unit", STRING),
        {},
};

static const Member particulars[] = {
        REQUIRED("location", STRING),
        REQUIRED("assemblies", OBJECTS, .members = assembly),
        REQUIRED("softwareInfos", OBJECTS, .members = software),
        REQUIRED("readings", OBJECTS, .members = reading),
        {},
};

static const Member step_facts[] = {
        REQUIRED("verdict", STRING),
        OPTIONAL("reason", STRING),
        OPTIONAL("message", STRING),
        REQUIRED("required", BOOLEAN),
        REQUIRED("seed", STRING),
        REQUIRED("device_nsec", INTEGER),
        REQUIRED("reproduced", INTEGER),
        REQUIRED("runs", INTEGER),
        OPTIONAL("occupancy", STRING),
        {},
};

static const Member extensions[] = {
        { .name = "assay-evidence", .members = evidence },
        { .name = "assay-part", .members = part },
        { .name = "assay-particulars", .members = particulars },
        { .name = "assay-progress", .members = progress },
        { .name = "assay-regions", .members = regions },
        { .name = "assay-step", .members = step_facts },
        {},
};

/* ---- the judge ---- */

static int __attribute__((format(printf, 2, 3))) refuse(char wrong[static SCHEMA_WRONG_MAX], const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(wrong, SCHEMA_WRONG_MAX, format, arguments);
        va_end(arguments);
        return -EPROTO;
}

/* Terminals and log lines get these texts in the end. jansson has seen that they are UTF-8. */
static bool is_clean(const char *text) {
        const unsigned char *at = (const unsigned char *) text;

        for (; *at; at++)
                if ((*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
                        return false;

        return true;
}

static bool matches(const char *text, const char *form) {
        for (; *form; form++, text++)
                if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
                        return false;

        return true;
}

static bool is_time(const char *text) {
        if (!matches(text, "0000-00-00T00:00:00"))
                return false;

        text += 19;
        if (*text == '.') {
                size_t n = strspn(++text, "0123456789");

                if (n == 0)
                        return false;
                text += n;
        }

        return strcmp(text, "Z") == 0 || ((*text == '+' || *text == '-') && matches(text + 1, "00:00") && text[6] == '\0');
}

static bool is_among(const char *text, const char *const *words) {
        for (; *words; words++)
                if (strcmp(text, *words) == 0)
                        return true;

        return false;
}

static int judge_text(const json_t *value, const Member *member, char wrong[static SCHEMA_WRONG_MAX]) {
        const char *text = json_string_value(value);

        if (!text)
                return refuse(wrong, "'%s' is no string", member->name);
        if (json_string_length(value) >= STREAM_MESSAGE_MAX)
                return refuse(wrong, "'%s' is longer than %u bytes", member->name, STREAM_MESSAGE_MAX - 1);
        if (!is_clean(text))
                return refuse(wrong, "a control character is in '%s'", member->name);
        if (member->type == MEMBER_WORD && !is_among(text, member->words))
                return refuse(wrong, "'%s' is none of its words", member->name);
        if (member->type == MEMBER_TIME && !is_time(text))
                return refuse(wrong, "'%s' is no time of RFC 3339", member->name);

        return 0;
}

static int judge_object(const json_t *object, const Member *of, char wrong[static SCHEMA_WRONG_MAX]);

static int judge_list(const json_t *list, const Member *member, char wrong[static SCHEMA_WRONG_MAX]) {
        const Member text = { .name = member->name, .type = MEMBER_STRING };
        size_t i;
        const json_t *item;

        if (!json_is_array(list))
                return refuse(wrong, "'%s' is no list", member->name);

        json_array_foreach(list, i, item) {
                int r = member->type == MEMBER_STRINGS ? judge_text(item, &text, wrong) : judge_object(item, member, wrong);

                if (r < 0)
                        return r;
        }

        return 0;
}

static int judge_value(const json_t *value, const Member *member, char wrong[static SCHEMA_WRONG_MAX]) {
        switch (member->type) {
        case MEMBER_STRING:
        case MEMBER_WORD:
        case MEMBER_TIME:
                return judge_text(value, member, wrong);
        case MEMBER_NUMBER:
                return json_is_number(value) ? 0 : refuse(wrong, "'%s' is no number", member->name);
        case MEMBER_INTEGER:
                return json_is_integer(value) && json_integer_value(value) >= 0
                                       ? 0
                                       : refuse(wrong, "'%s' is no whole number from 0 on", member->name);
        case MEMBER_BOOLEAN:
                return json_is_boolean(value) ? 0 : refuse(wrong, "'%s' is no boolean", member->name);
        case MEMBER_SCALAR:
                if (json_is_string(value))
                        return judge_text(value, member, wrong);
                return json_is_number(value) || json_is_boolean(value)
                                       ? 0
                                       : refuse(wrong, "'%s' is no string, boolean or number", member->name);
        case MEMBER_OBJECT:
                return judge_object(value, member, wrong);
        case MEMBER_OBJECTS:
        case MEMBER_STRINGS:
                return judge_list(value, member, wrong);
        case MEMBER_FREE:
                return json_is_object(value) ? 0 : refuse(wrong, "'%s' is no object", member->name);
        case MEMBER_ANY:
                return 0;
        }

        return refuse(wrong, "'%s' is of no known type", member->name);
}

static const Member *find_member(const Member *members, const char *name) {
        for (; members->name; members++)
                if (strcmp(members->name, name) == 0)
                        return members;

        return NULL;
}

/* What must be there, once SEEN has a bit for each member that is. */
static int judge_presence(const Member *of, uint32_t seen, char wrong[static SCHEMA_WRONG_MAX]) {
        unsigned n_alternatives = 0;
        bool alternatives = false;

        for (const Member *member = of->members; member->name; member++) {
                bool is_there = (seen & (UINT32_C(1) << (member - of->members))) != 0;

                if (member->required && !is_there)
                        return refuse(wrong, "'%s' is missing in '%s'", member->name, of->name);

                alternatives = alternatives || member->alternative;
                n_alternatives += member->alternative && is_there;
        }

        if (alternatives && n_alternatives != 1)
                return refuse(wrong, "'%s' has %u artifacts, expected one", of->name, n_alternatives);

        return 0;
}

/* Goes by what the object has, which is little, and not by what it might have. */
static int judge_object(const json_t *object, const Member *of, char wrong[static SCHEMA_WRONG_MAX]) {
        json_t *members = (json_t *) object; /* jansson's iterators want it so, and change nothing */
        uint32_t seen = 0;

        if (!json_is_object(object))
                return refuse(wrong, "'%s' is no object", of->name);

        for (void *at = json_object_iter(members); at; at = json_object_iter_next(members, at)) {
                const Member *member = find_member(of->members, json_object_iter_key(at));
                int r;

                if (!member)
                        return refuse(wrong, "'%s' has a member that the standard does not know", of->name);

                r = judge_value(json_object_iter_value(at), member, wrong);
                if (r < 0)
                        return r;

                seen |= UINT32_C(1) << (member - of->members);
        }

        return judge_presence(of, seen, wrong);
}

int stream_schema_judge(const json_t *line, bool numbered, char wrong[static SCHEMA_WRONG_MAX]) {
        const Member root = { .name = "line", .members = numbered ? numbered_line : bare_line };

        return judge_object(line, &root, wrong);
}

int stream_schema_judge_extension(const char *name, const json_t *content, char wrong[static SCHEMA_WRONG_MAX]) {
        for (const Member *member = extensions; member->name; member++)
                if (strcmp(member->name, name) == 0)
                        return judge_object(content, member, wrong);

        if (strncmp(name, "assay-", strlen("assay-")) == 0)
                return refuse(wrong, "an extension of ours that does not exist");

        return 0;
}
