/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a person wants to see of a record: read from a statement that has been verified, never before.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/verdict.h"

typedef struct ViewFinding {
        const char *step;
        const char *code;
        const char *where;       /* full location */
        const char *message;
        const char *replaceable; /* "tray 3"; NULL */
        Action action;           /* as the record has it; negative: none, or one of a later version */
        const char *shared;      /* of a server: the code that STEP found at each of its chips, so that the server is to blame and none of them; NULL */
} ViewFinding;

typedef struct ViewUntested {
        const char *name; /* a step, or a measurement whose promise was not kept */
        char *reason;     /* released with the view */
        bool is_promise;  /* a measurement; else a step */
        bool is_implied;  /* a measurement of a step that was not run, which says it already */
        bool needs_others; /* left out by a step that ran, because parts were not in the scan: by itself no reason not to pass */
        Reason why;       /* negative: none was given */
} ViewUntested;

/* Strings live as long as the view. */
typedef struct View {
        json_t *statement;
        const struct View *server; /* of a chip: the server's of the same scan, where that is known; borrowed */
        uint64_t index;
        const char *type;  /* predicate type */
        const char *where; /* "us0-2/chip3", or the server */
        char tray[16];     /* "tray 3"; "" for a server */
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

/* Where SERVER is what the chips of VIEW's server came to in the same scan, remembers it; it must live as long as VIEW. */
void view_set_server(View *view, const View *server);

/* The sum, and the most, of a measurement over the steps of the record; 0 where there is none. Returns whether there is one. */
bool view_measured(const View *view, const char *name, double *ret_sum, double *ret_most);

/* Whether it is of a chip, and not what a server's chips came to. */
bool view_is_health(const View *view);

/* Where finding I is, for somebody who stands before the server: its place below that of the view, behind the tray where what is to be done names none:
 * "core5/pe17.93", "tray 7: nic9", "tray 1", "-" for the view's own place. BUFFER is filled and returned. */
const char *view_place(const View *view, size_t i, char *buffer, size_t size);
/* The message of finding I, without the finding's place where it begins with that. */
const char *view_message(const View *view, size_t i);
/* The finding whose remedy is that of finding I, too: the nearest to the cause at its part, or one that has the tray of its chip replaced. */
const ViewFinding *view_cause(const View *view, size_t i);
/* What the server has in its place: the finding that all of its chips have what finding I is; NULL: there is none. */
const ViewFinding *view_shared(const View *view, size_t i);
/* Whether the repair that finding I needs has been asked for, so that a reset makes it. */
bool view_is_asked_for(const View *view, size_t i);
/* What to do about finding I in words, "replace tray 3". BUFFER is filled and returned. */
const char *view_action(const View *view, size_t i, char *buffer, size_t size);
