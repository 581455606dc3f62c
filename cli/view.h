/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a person wants to see of a record: read from a statement that has been verified, never before.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/cleanup.h"
#include "checks/verdict.h"

typedef struct ViewFinding {
        const char *step;        /* "" in what is told of a server */
        const char *code;
        const char *where;       /* full location */
        const char *message;
        const char *replaceable; /* "tray 3"; NULL */
} ViewFinding;

typedef struct ViewUntested {
        const char *name; /* a step, or a measurement whose promise was not kept */
        char *reason;     /* released with the view */
        bool is_promise;  /* a measurement; else a step */
        bool is_occupied; /* the part carried work */
} ViewUntested;

/* Strings live as long as the view. */
typedef struct View {
        json_t *statement;
        uint64_t index;
        const char *type;  /* predicate type */
        const char *where; /* "us0-2/chip3", or the server */
        const char *plan;
        const char *run;
        Result result;
        double device_sec; /* longest unit known: the sum over this record's steps */
        size_t n_findings;
        ViewFinding *findings;
        size_t n_untested;
        ViewUntested *untested;
        json_t *coverage; /* borrowed: [{name, reached, promised}] */
} View;

/* Returns -EBADMSG where the payload is none of our statements. */
int view_new(const char *payload, size_t n, View **ret);
View *view_free(View *view);
DEFINE_CLEANUP(View *, view_free);

/* What to do about finding I in words, "replace tray 3". BUFFER is filled and returned. */
const char *view_action(const View *view, size_t i, char *buffer, size_t size);
