/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Plan
 *
 * What a scan does: steps with their parameters, which of them must run, the coverage the plan promises, and a
 * budget of device time. A strict YAML file named after its plan:
 *
 *     plan: preflight
 *     summary: whole structure of every chip, before a job
 *     stage: PREFLIGHT
 *     budget: 30                  # device seconds of one unit
 *     rotation: 86400             # seconds after which a region must have been tested again: scans of this plan go
 *                                 # on where the one before stopped; without it each begins at the first region
 *     steps:
 *       - check: hbm              # a word of the checks list
 *         name: hbm-solid         # optional, unique; the check's word by default
 *         required: true          # default
 *         parameters: {march: March C-}
 *     coverage:                   # what a step counts of a chip ≥ value, else the chip is INCONCLUSIVE
 *       hbm_bytes_tested: 103079215104
 *     escapes:                    # how many faults of a kind this plan misses, at the most
 *       - faults: [row-dead, bank-dead]
 *         commands: 20            # n: what acts in a share p of the commands to its part is missed with (1 - p)^n
 *         by: campaign
 *       - faults: [hammer]
 *         always: 1               # the share of those that are always there, and so of all
 *         because: no row is opened often enough
 *         by: design
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/text/yaml.h"
#include "checks/vocabulary/verdict.h"

#define PLAN_BYTES_MAX    (64u << 10)
#define PLAN_STEPS_MAX    64
#define PLAN_PROMISES_MAX 32
#define PLAN_ESCAPES_MAX  64
#define PLAN_NAME_MAX     64 /* with the final zero, for plans, steps and promises */

/*
 * What the vocabulary knows of a check without linking its judge. A check with parameters lists them in its own
 * parameters.c as `const YamlField parameters_<name>[]` with `const size_t parameters_<name>_bytes` and
 * `const void *const parameters_<name>_defaults`; meson generates the table. Parameters that are right one by one and not together
 * are what `const char *parameters_<name>_refuse(const void *parameters)` is for: it says why, or NULL.
 */
typedef struct CheckWord {
        const char *name;
        const YamlField *parameters; /* NULL: takes none */
        const size_t *parameters_bytes;
        const void *const *parameters_defaults;
        const char *(*refuse)(const void *parameters); /* NULL: all that the table takes go together */
        const char *const *counts; /* measurements of a chip that plans may promise, with a final NULL; NULL: none */
        /* Those of them of which each piece of a memory that is tested by itself has its own, so that a part may have more than the whole. NULL: none */
        const char *const *samples;
} CheckWord;

const CheckWord *check_word_find(const char *name); /* NULL if no check is called so */
const CheckWord *check_word_at(size_t index);       /* NULL past the end */

typedef struct PlanStep {
        const CheckWord *check;
        char name[PLAN_NAME_MAX];
        bool required;
        void *parameters; /* the check's own struct, NULL without */
} PlanStep;

typedef struct PlanPromise {
        char measurement[PLAN_NAME_MAX];
        double value;
} PlanPromise;

/* Where a statement comes from: worked out, measured with `assay-sim qualify`, or from what the plan does not do at all. */
typedef enum EscapeBy {
        ESCAPE_BY_COMPUTATION,
        ESCAPE_BY_CAMPAIGN,
        ESCAPE_BY_DESIGN,
} EscapeBy;

const char *escape_by_to_string(EscapeBy by);

/*
 * A statement of what escapes. Of faults that act in a share p of the commands to their part (1: always) at most
 * always + (1 - always) (1 - p)^commands are missed, where 0^0 is 0: `commands: 0` says nothing of what comes and goes.
 */
typedef struct PlanEscape {
        size_t n_faults;
        const char **faults; /* words of fault-words.h; a family stands for all its kinds that stand nowhere by themselves */
        double always;       /* 0 … 1 */
        double commands;     /* n ≥ 0 */
        int by;              /* EscapeBy */
        char *because;       /* why what is always there escapes; NULL: nothing of it does, or nobody said */
} PlanEscape;

typedef struct Plan {
        char name[PLAN_NAME_MAX];
        char *summary;
        Stage stage;
        double budget_sec;   /* device time of one unit */
        double deadline_sec; /* wall time of one device command, default 2 */
        double rotation_sec; /* how old the test of a region may become (regions.h); 0: any age */
        size_t n_steps;
        PlanStep steps[PLAN_STEPS_MAX];
        size_t n_promises;
        PlanPromise promises[PLAN_PROMISES_MAX];
        size_t n_escapes;
        PlanEscape escapes[PLAN_ESCAPES_MAX];
        char *text; /* the bytes it was read from: they go to the worker and into the digest */
        size_t n_text;
} Plan;

/*
 * Read a plan. Return 0; -EINVAL (or the errno of opening) with *ret_error set to a malloc'd
 * "FILE:LINE:COLUMN: …", which the caller frees.
 */
int plan_parse(const char *filename, const char *text, size_t n_text, Plan **ret, char **ret_error);
int plan_load(const char *path, Plan **ret, char **ret_error);

/*
 * Finds plan NAME as NAME.yaml in the colon-separated FOLDERS, the first that has it; NAME must be a plain word
 * (letters, digits, '-'). -ENOENT where none has it.
 */
int plan_find(const char *folders, const char *name, Plan **ret, char **ret_error);

/*
 * The limits profile of PLAN, malloc'd: its steps with what it gives them, its coverage, and the version of the checks, whose own limits
 * fill the rest. Two plans that differ in name, words or layout alone have the same; its SHA-256 stands in records beside that of
 * the plan. -ENOMEM, or -EINVAL for a plan that plan_parse() would not have read.
 *
 *     assay-limits/v1
 *     checks 0.1.0
 *     step hbm hbm required {"march":"March C-"}
 *     coverage hbm_bytes_tested 103079215104
 */
int plan_limits(const Plan *plan, char **ret);

/* In a checkout $ASSAY_PLANS says where; else /etc/assay/plans before PREFIX/share/assay/plans. */
const char *plan_folders(void);

Plan *plan_free(Plan *plan);
DEFINE_CLEANUP(Plan *, plan_free);
