/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Findings
 *
 * What the runs of one step found, merged: the same code at the same place is one finding that was
 * reproduced, one that only the retest saw is added. The evidence is that of the first run that saw it; how often a check
 * tried it again by itself adds up, and a run that did not see it counts once.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/stream/stream.h"
#include "checks/worker/outlet.h"

typedef struct FindingSeen {
        Finding finding;  /* with strings of its own */
        unsigned last_run; /* from 1 */
        unsigned n_runs;   /* that saw it */
} FindingSeen;

typedef struct Findings {
        size_t n;
        FindingSeen *items;
} Findings;

/* RUN counts from 1. -ENOBUFS past STREAM_FINDINGS_MAX, -ENOMEM. */
int findings_add(Findings *findings, const Finding *finding, unsigned run);
const Finding *findings_find(const Findings *findings, const char *code);
void findings_remove(Findings *findings, const char *code);
/* Drops all others. */
void findings_keep(Findings *findings, bool (*is_kept)(const Finding *finding));
/* Drops what names two parts of which one is to blame, where a run has found a failure at one of the two: that explains it. */
void findings_settle(Findings *findings);
/* The worst severity of all. */
Verdict findings_verdict(const Findings *findings);
/* With what it follows from, as a measurement before it. */
void finding_write(const Finding *finding, const char *step_id, Outlet *outlet);
/* Each as k of RUNS. ONCE: of those that follow from values of one name the first alone says its own, for all are of one chip. */
void findings_write(const Findings *findings, const char *step_id, unsigned runs, bool once, Outlet *outlet);
void findings_clear(Findings *findings);
