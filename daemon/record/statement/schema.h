/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schema
 *
 * The shape of the statements: what must be there, of which type, within which bounds. The rules are those that are published, *.schema.json beside this
 * file, as rules-of-schemas.py makes them C; an integer is a number without a point. What the documents say with `if` and `allOf` of several members at once
 * is for readers in other languages: judge.h works it out from the facts, and can tell an older record by it. Fields that are not named are let through:
 * `v1` may grow.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SCHEMA_WRONG_MAX 192
#define RECORD_PROMISES_MAX 256 /* of a chip: each is looked for in all measurements; a plan has fewer */

/* "steps[3].measurements: is missing" */
typedef struct SchemaWrong {
        char text[SCHEMA_WRONG_MAX];
} SchemaWrong;

/* STATEMENT, as it was signed. PREDICATE_TYPE must be one of those we know. */
bool schema_fits(const json_t *statement, const char *predicate_type, SchemaWrong *wrong);

/* Forms of texts: 64 hex digits; 8-4-4-4-12 of them; a-b-c of lower-case letters and digits; "0-12,40", or "" for none. */
bool form_is_sha256(const char *text);
bool form_is_uuid(const char *text);
bool form_is_code(const char *text);
bool form_is_regions(const char *text);
bool form_is_time(const char *text);   /* yyyy-mm-ddThh:mm:ss[.fff]Z */
bool form_is_origin(const char *text); /* neither space nor plus */
bool form_is_digits(const char *text);

/* ---- rules: of each keyword of a document that has a say ---- */

typedef struct Rule Rule;

typedef struct RuleMember {
        const char *name;
        bool is_required;
        const Rule *rule; /* NULL: whatever it is */
} RuleMember;

struct Rule {
        unsigned types;                     /* a bit of each json_type; 0: any */
        const char *const *words;           /* one of these, up to a NULL; NULL: any */
        bool (*is_valid)(const char *text); /* NULL: any */
        bool has_minimum, has_maximum;
        double minimum, maximum;
        size_t least, most;                 /* bytes of a text, elements, or members; most 0: no bound */
        bool is_unique;                     /* no text twice in the list */
        const RuleMember *members;          /* up to one without a name */
        const Rule *other_members, *names;  /* of members; NULL: any */
        const Rule *const *first_elements;  /* up to a NULL */
        const Rule *elements;               /* behind these; NULL: any */
        const Rule *const *any;             /* one of these at least, up to a NULL; NULL: none need be */
        const Rule *no;                     /* not this one */
};

/* Up to one without a type. */
typedef struct SchemaOf {
        const char *predicate_type;
        const Rule *statement;
} SchemaOf;
extern const SchemaOf schemas[];
