/* SPDX-License-Identifier: Apache-2.0 */

/* Stream: particulars, as a line of a step and back. What the worker has taken from devices is clean; a line that is not comes from no worker. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/stream/stream-state.h"
#include "checks/text/cleanup.h"
#include "checks/text/json-text.h"

/* ---- writer ---- */

static void put(JsonText *json, const char *name, const char *text) {
        json_put_string_if(json, name, text, PARTICULARS_TEXT_MAX);
}

static void put_where(JsonText *json, const Location *where) {
        char path[LOCATION_STRING_MAX];

        json_put_string(json, "location", location_format(where, path), LOCATION_STRING_MAX);
}

static void open_list(JsonText *json, const char *name) {
        json_put_name(json, name);
        json_put(json, "[");
}

static void put_assembly(JsonText *json, const Assembly *assembly) {
        put(json, "name", assembly->word);
        put_where(json, &assembly->where);
        put(json, "serialNumber", assembly->serial);
        put(json, "partNumber", assembly->part_number);
        put(json, "version", assembly->version);
}

static void put_lists(JsonText *json, const Particulars *particulars) {
        open_list(json, "assemblies");
        for (size_t i = 0; i < particulars->n_assemblies; i++) {
                json_put(json, i > 0 ? ",{" : "{");
                put_assembly(json, &particulars->assemblies[i]);
                json_put(json, "}");
        }
        json_put(json, "]");
        open_list(json, "softwareInfos");
        for (size_t i = 0; i < particulars->n_softwares; i++) {
                json_put(json, i > 0 ? ",{" : "{");
                put(json, "name", particulars->softwares[i].word);
                put(json, "version", particulars->softwares[i].version);
                json_put(json, "}");
        }
        json_put(json, "]");
        open_list(json, "readings");
        for (size_t i = 0; i < particulars->n_readings; i++) {
                json_put(json, i > 0 ? ",{" : "{");
                put(json, "name", particulars->readings[i].word);
                json_put_double(json, "value", particulars->readings[i].value);
                put(json, "unit", particulars->readings[i].unit);
                json_put(json, "}");
        }
        json_put(json, "]");
}

char *stream_particulars(const char *step_id, const Particulars *particulars) {
        JsonText json = {};

        json_put(&json, "{\"testStepArtifact\":{");
        json_put_string(&json, "testStepId", step_id, STREAM_STEP_ID_MAX);
        json_put(&json, ",\"extension\":{\"name\":\"assay-particulars\",\"content\":{");
        put_where(&json, &particulars->where);
        put_lists(&json, particulars);
        json_put(&json, "}}}}\n");
        return json_text_done(&json);
}

/* ---- reader ---- */

static bool take_word(const json_t *object, const char *name, char ret[static PARTICULARS_WORD_MAX]) {
        const char *word = stream_text(object, name);

        if (!particulars_word_is_valid(word))
                return false;
        (void) strcpy(ret, word);
        return true;
}

/* A text that is not there is "". */
static bool take_text(const json_t *object, const char *name, char ret[static PARTICULARS_TEXT_MAX]) {
        const char *text = stream_text_if(object, name);

        if (text && !particulars_text_is_valid(text))
                return false;
        particulars_take_text(ret, text ? text : "");
        return true;
}

static const char *read_assembly(const Location *of, const json_t *object, Assembly *ret) {
        if (!take_word(object, "name", ret->word))
                return "an assembly without a word";
        if (location_parse(stream_text(object, "location"), &ret->where, NULL, NULL) < 0 || !location_contains(of, &ret->where))
                return "an assembly that is elsewhere";
        if (!take_text(object, "serialNumber", ret->serial) || !take_text(object, "partNumber", ret->part_number) ||
            !take_text(object, "version", ret->version))
                return "an assembly with a text that is none";
        return NULL;
}

static const char *read_software(const Location *of, const json_t *object, Software *ret) {
        return take_word(object, "name", ret->word) && take_text(object, "version", ret->version) && ret->version[0] ? NULL : "software without a version";
}

static const char *read_reading(const Location *of, const json_t *object, SensorReading *ret) {
        const char *unit = stream_text(object, "unit");

        ret->value = json_number_value(json_object_get(object, "value"));
        if (!take_word(object, "name", ret->word) || !isfinite(ret->value) || !particulars_text_is_valid(unit) || strlen(unit) >= sizeof(ret->unit))
                return "a reading that is none";
        (void) strcpy(ret->unit, unit);
        return NULL;
}

/* READ of each, into RET[MAX]. */
#define READ_LIST(content, key, max, read, of, ret, ret_n)                                                   \
        ({                                                                                                   \
                const json_t *list_ = json_object_get(content, key);                                         \
                const char *wrong_ = json_array_size(list_) > (max) ? "more particulars than anything has" : NULL; \
                size_t i_;                                                                                   \
                json_t *item_;                                                                               \
                json_array_foreach(list_, i_, item_) {                                                       \
                        if (wrong_)                                                                          \
                                break;                                                                       \
                        wrong_ = read(of, item_, &(ret)[i_]);                                                \
                }                                                                                            \
                *(ret_n) = json_array_size(list_);                                                           \
                wrong_;                                                                                      \
        })

int stream_on_particulars(StreamReader *reader, const StreamStep *step, const json_t *content) {
        Particulars told = {};
        Event event = { .type = EVENT_PARTICULARS, .particulars = &told };
        const char *wrong;

        if (location_parse(stream_text(content, "location"), &told.where, NULL, NULL) < 0 || told.where.n_parts > 1 ||
            !location_contains(&told.where, &step->unit))
                return stream_refuse(reader, "particulars of neither the unit nor its server");

        wrong = READ_LIST(content, "assemblies", ASSEMBLIES_MAX, read_assembly, &told.where, told.assemblies, &told.n_assemblies);
        if (!wrong)
                wrong = READ_LIST(content, "softwareInfos", SOFTWARES_MAX, read_software, &told.where, told.softwares, &told.n_softwares);
        if (!wrong)
                wrong = READ_LIST(content, "readings", READINGS_MAX, read_reading, &told.where, told.readings, &told.n_readings);
        return wrong ? stream_refuse(reader, "%s", wrong) : stream_emit(reader, step, &event);
}
