/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Observation
 *
 * The final word of a worker's stream: for each server and chip in its list of hardware the result of its steps
 * (sheet.h) and its findings, each once however often it was reproduced.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/location.h"

typedef struct ObservedFinding {
        const char *code; /* of the catalogue */
        Location at;
        bool expected;
} ObservedFinding;

typedef struct ObservedUnit {
        Location at; /* a server or a chip */
        Result result;
        uint64_t device_nsec; /* of its own steps */
        size_t n_findings;
        ObservedFinding *findings;
} ObservedUnit;

/* A measurement that ends in _false_alarms: how many sound parts of this kind the check expects to call broken. */
typedef struct ObservedAlarms {
        char name[64];
        double expected; /* of all units together */
} ObservedAlarms;

/* A statement of the plan on faults of a kind or a family: at most always + (1 - always) (1 - p)^commands of them escape (checks/plan/plan.h). */
typedef struct ObservedEscape {
        char fault[64];
        double always, commands;
} ObservedEscape;

typedef struct Observation {
        size_t n_units;
        ObservedUnit *units;
        size_t n_alarms;
        ObservedAlarms *alarms;
        size_t n_escapes;
        ObservedEscape *escapes;
        struct Sheet *sheet;
        bool broken; /* the worker itself could not go on */
} Observation;

/* Reads FILE to its end: the stream of a worker, or those of several one after the other. -EPROTO where one of them is not
 * whole, which is said on OUT. */
int observation_read(FILE *file, Observation **ret, FILE *out);
Observation *observation_free(Observation *observation);
DEFINE_CLEANUP(Observation *, observation_free);

ObservedUnit *observation_find(const Observation *observation, const Location *at);
