#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# rules-of-schemas.py DOCUMENT…: prints the documents of JSON Schema as the C of schema.h's rules. A keyword or a pattern that is not named here ends it,
# wherever it stands, and so does one that schema.c would not judge as JSON Schema does.
import json
import sys

# What these say of several members at once the judge works out from the facts.
FOR_OTHER_READERS = {"$comment", "allOf", "if", "then", "else"}
TYPES = {"object": "JSON_OBJECT", "array": "JSON_ARRAY", "string": "JSON_STRING", "integer": "JSON_INTEGER", "number": "JSON_INTEGER JSON_REAL", "boolean": "JSON_TRUE JSON_FALSE"}
FORMS = {
    "^[0-9a-f]{64}$": "form_is_sha256",
    "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$": "form_is_uuid",
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?Z$": "form_is_time",
    "^[^ +]+$": "form_is_origin",
    "^[0-9]+$": "form_is_digits",
    "^[0-9,-]*$": "form_is_regions",
    "^[a-z0-9]+(-[a-z0-9]+)*$": "form_is_code",
    "^[a-z][a-z0-9-]*$": "location_server_name_is_valid",
    "^[^\\u0000-\\u001f\\u007f-\\u009f]{1,256}$": "note_text_is_valid",
}
ASCII = {"^[0-9,-]*$", "^[a-z][a-z0-9-]*$"}  # forms in which a character is a byte
BOUNDS = {"minLength": "least", "minItems": "least", "minProperties": "least", "maxLength": "most", "maxItems": "most", "maxProperties": "most"}
INNER = {"items": "elements", "additionalProperties": "other_members", "propertyNames": "names", "not": "no"}
SEVERAL = {"prefixItems": "first_elements", "anyOf": "any"}
rules = {}


def types_of(words):
    return " | ".join(f"1u << {word}" for each in ([words] if isinstance(words, str) else words) for word in TYPES[each].split())


def members_of(schema, defs):
    members = {name: rule_of(inner, defs) for name, inner in schema.get("properties", {}).items()}
    required = schema.get("required", [])
    members |= {name: "NULL" for name in required if name not in members}
    return "".join(f"{{ {json.dumps(name)}, {int(name in required)}, {rule} }}, " for name, rule in members.items())


def field_of(word, value, defs):
    if word == "type":
        return f".types = {types_of(value)}"
    if word in ("enum", "const"):
        return f".words = (const char *const[]) {{ {', '.join(map(json.dumps, value if word == 'enum' else [value]))}, NULL }}"
    if word == "pattern":
        return f".is_valid = {FORMS[value]}"
    if word in ("minimum", "maximum"):
        return f".has_{word} = true, .{word} = {value}"
    if word == "uniqueItems":
        return f".is_unique = {int(value)}"
    if word in SEVERAL:
        return f".{SEVERAL[word]} = (const Rule *const[]) {{ {', '.join(rule_of(inner, defs) for inner in value)}, NULL }}"
    return f".{INNER[word]} = {rule_of(value, defs)}" if word in INNER else f".{BOUNDS[word]} = {value}"


def check(schema):
    """Ends the build at what the C would judge otherwise: a $ref that is not alone, lengths of texts that are not ASCII, fewer items than are told."""
    words = schema.keys()
    if "$ref" in words and words - {"$ref", "$comment"} or any("if" not in each for each in schema.get("allOf", [])) or {"then", "else"} & words and "if" not in words:
        raise ValueError(f"nobody judges that: {schema}")
    if "maxLength" in words and schema.get("pattern") not in ASCII:
        raise ValueError(f"schema.c judges that otherwise: {schema}")
    if schema.get("items") is False and schema.get("maxItems", len(schema["prefixItems"])) < len(schema["prefixItems"]):
        raise ValueError(f"fewer items than are told: {schema}")


# Each is printed once, after those within it.
def rule_of(schema, defs):
    if isinstance(schema, dict):
        check(schema)
    if "$ref" in (schema or {}):
        return rule_of(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if schema is False:
        return "&rule_nothing"
    if schema.get("items") is False:  # none behind the first ones: told by the length, so that most lists need not be looked into
        schema = {word: value for word, value in schema.items() if word != "items"} | {"maxItems": len(schema["prefixItems"])}
    words = [word for word in schema if word not in FOR_OTHER_READERS | {"properties", "required", "$schema", "$id", "title", "$defs"}]
    fields = [field_of(word, schema[word], defs) for word in words]
    if members := members_of(schema, defs):
        fields.append(f".members = (const RuleMember[]) {{ {members}{{}} }}")
    text = f"{{ {', '.join(fields)} }}"
    if text not in rules:
        rules[text] = f"rule_{len(rules)}"
        print(f"static const Rule {rules[text]} = {text};")
    return f"&{rules[text]}"


print('#include "daemon/record/record.h"\n#include "daemon/record/statement/schema.h"\n\nstatic const Rule rule_nothing = { .types = 1u << 31 };')
statements = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    statements.append((document["properties"]["predicateType"]["const"], rule_of(document, document["$defs"])))
print("\nconst SchemaOf schemas[] = {", *(f'        {{ "{name}", {rule} }},' for name, rule in statements), "        {},\n};", sep="\n")
