/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/schema.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/digest.h"
#include "daemon/record/record.h"

/* ---- forms of texts ---- */

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

bool form_is_time(const char *text) {
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

bool form_is_origin(const char *text) {
        return *text && !strpbrk(text, " +");
}

bool form_is_digits(const char *text) {
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

/* ---- looking: WRONG is NULL where nobody asks why ---- */

static bool wrong_value(SchemaWrong *wrong, const char *what) {
        if (wrong)
                (void) snprintf(wrong->text, sizeof(wrong->text), ": %s", what);
        return false;
}

/* The path grows from the inside out while the recursion returns. INDEX: "" or "[3]". */
static bool wrong_within(SchemaWrong *wrong, const char *name, const char *index) {
        SchemaWrong inner;

        if (!wrong)
                return false;
        inner = *wrong;
        (void) snprintf(wrong->text, sizeof(wrong->text), "%s%s%s%.128s", name, index, strchr(":[", inner.text[0]) ? "" : ".", inner.text);
        return false;
}

static bool wrong_element(SchemaWrong *wrong, size_t index) {
        char text[24];

        (void) snprintf(text, sizeof(text), "[%zu]", index);
        return wrong_within(wrong, "", text);
}

static bool has_length(const Rule *rule, size_t n) {
        return n >= rule->least && (rule->most == 0 || n <= rule->most);
}

static bool text_fits(const Rule *rule, const char *text) {
        if (!has_length(rule, strlen(text)) || (rule->is_valid && !rule->is_valid(text)))
                return false;
        for (const char *const *word = rule->words; word && *word; word++)
                if (strcmp(*word, text) == 0)
                        return true;
        return !rule->words;
}

static bool number_fits(const Rule *rule, double number) {
        return (!rule->has_minimum || number >= rule->minimum) && (!rule->has_maximum || number <= rule->maximum);
}

static bool rule_fits(const Rule *rule, const json_t *value, SchemaWrong *wrong);

static bool stands_before(const json_t *list, size_t index) {
        for (size_t i = 0; i < index; i++)
                if (json_equal(json_array_get(list, i), json_array_get(list, index)))
                        return true;
        return false;
}

static bool list_fits(const Rule *rule, const json_t *list, SchemaWrong *wrong) {
        const Rule *const *first = rule->first_elements;

        if (!has_length(rule, json_array_size(list)))
                return wrong_value(wrong, "is no list of the right length");
        for (size_t i = 0; i < json_array_size(list); i++) {
                const Rule *element = first && *first ? *first++ : rule->elements;

                if (element && !rule_fits(element, json_array_get(list, i), wrong))
                        return wrong_element(wrong, i);
                if (rule->is_unique && stands_before(list, i))
                        return wrong_value(wrong, "is not what it must be");
        }
        return true;
}

static bool is_named(const RuleMember *member, const char *name) {
        for (; member && member->name; member++)
                if (strcmp(member->name, name) == 0)
                        return true;
        return false;
}

static bool others_fit(const Rule *rule, const json_t *object, SchemaWrong *wrong) {
        const char *name;
        json_t *value;

        json_object_foreach((json_t *) (uintptr_t) object, name, value) {
                if (rule->names && !text_fits(rule->names, name))
                        return wrong_value(wrong, "has a member without a name");
                if (rule->other_members && !is_named(rule->members, name) && !rule_fits(rule->other_members, value, wrong))
                        return wrong_within(wrong, name, "");
        }
        return true;
}

static bool object_fits(const Rule *rule, const json_t *object, SchemaWrong *wrong) {
        if (!has_length(rule, json_object_size(object)))
                return wrong_value(wrong, "has not the right number of members");
        for (const RuleMember *member = rule->members; member && member->name; member++) {
                const json_t *value = json_object_get(object, member->name);

                if (!value && member->is_required)
                        return wrong_value(wrong, "is missing") || wrong_within(wrong, member->name, "");
                if (value && member->rule && !rule_fits(member->rule, value, wrong))
                        return wrong_within(wrong, member->name, "");
        }
        return (!rule->names && !rule->other_members) || others_fit(rule, object, wrong);
}

static bool fits_any(const Rule *const *rules, const json_t *value, SchemaWrong *wrong) {
        char text[SCHEMA_WRONG_MAX] = "has neither";

        for (const Rule *const *rule = rules; *rule; rule++)
                if (rule_fits(*rule, value, NULL))
                        return true;
        for (const Rule *const *rule = rules; wrong && *rule; rule++)
                if ((*rule)->members && !(*rule)->types)
                        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %s", rule == rules ? "" : " nor", (*rule)->members->name);
        return wrong_value(wrong, rules[0]->members && !rules[0]->types ? text : "is not what it must be");
}

static bool has_type(const Rule *rule, const json_t *value, SchemaWrong *wrong) {
        if (rule->types == 0 || (rule->types >> json_typeof(value) & 1))
                return true;
        return wrong_value(wrong, rule->types == 1u << JSON_OBJECT  ? "is not an object"
                                  : rule->types == 1u << JSON_ARRAY ? "is no list of the right length"
                                                                    : "is not what it must be");
}

static bool rule_fits(const Rule *rule, const json_t *value, SchemaWrong *wrong) {
        if (!has_type(rule, value, wrong))
                return false;
        if (json_is_object(value) && !object_fits(rule, value, wrong))
                return false;
        if (json_is_array(value) && !list_fits(rule, value, wrong))
                return false;
        if ((json_is_string(value) ? !text_fits(rule, json_string_value(value)) : rule->words != NULL) || (json_is_number(value) && !number_fits(rule, json_number_value(value))) ||
            (rule->no && rule_fits(rule->no, value, NULL)))
                return wrong_value(wrong, "is not what it must be");
        return !rule->any || fits_any(rule->any, value, wrong);
}

bool schema_fits(const json_t *statement, const char *predicate_type, SchemaWrong *wrong) {
        for (const SchemaOf *schema = schemas; schema->predicate_type; schema++)
                if (strcmp(schema->predicate_type, predicate_type) == 0)
                        return rule_fits(schema->statement, statement, wrong);
        (void) snprintf(wrong->text, sizeof(wrong->text), "predicateType: is none of ours");
        return false;
}
