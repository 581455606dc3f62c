/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verdict
 *
 * The words of judgement, the limits of measurements, and the one fold from steps to the result of a chip or a
 * server. Worker, daemon, records and command line all use these and no others.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* How one step (a check on one unit) ended. A broken device is `failed`; `error` is: could not judge. */
typedef enum Verdict {
        VERDICT_PASSED,
        VERDICT_WARNED,
        VERDICT_FAILED,
        VERDICT_SKIPPED,
        VERDICT_ERROR,
        _VERDICT_MAX,
        _VERDICT_INVALID = -EINVAL,
} Verdict;

/* Why a step was skipped or could not be judged. */
typedef enum Reason {
        REASON_NONE,
        /* skipped */
        REASON_NOT_APPLICABLE, /* the unit has no such part */
        REASON_OCCUPIED,       /* the part carries work and the check would disturb it */
        REASON_CLAIMED,        /* another scan has its server: to drain the part would be of no use */
        REASON_BUDGET,         /* the plan's device time was used up */
        REASON_NOT_REQUESTED,  /* left out by the caller */
        REASON_PREREQUISITE,   /* something it needs failed before */
        /* either */
        REASON_DEVICE_UNREACHABLE, /* nobody answers where its server is to be, or not any more */
        /* error */
        REASON_DEVICE_TIMEOUT, /* no device of the server answered */
        REASON_DEVICE_ERROR,   /* the device or its port refused or broke off */
        REASON_WORKER_CRASHED,
        REASON_WORKER_TIMEOUT,
        REASON_PROTOCOL, /* what came back was not what was agreed, or more than was allowed */
        REASON_RESOURCE, /* out of memory, descriptors, disk */
        REASON_CANCELLED,
        REASON_AMBIGUOUS, /* it was tested, and what came of it may as well be of another part */
        _REASON_MAX,
        _REASON_INVALID = -EINVAL,
} Reason;

/* Whether a run stands: not if what it met may be a job's, or the doing of a chip that did not answer. */
typedef enum RunOccupancy {
        RUN_FREE,  /* none has begun, or the run blames nothing that a job could have made */
        RUN_TAKEN, /* one has: the run is withdrawn */
        RUN_UNTOLD, /* nobody knows: who asked had no answer */
        RUN_SILENT, /* a chip owed it an answer: the run is withdrawn, whatever there is of jobs */
        _RUN_OCCUPANCY_MAX,
        _RUN_OCCUPANCY_INVALID = -EINVAL,
} RunOccupancy;

/* One finding. OCP: FAIL, UNKNOWN, PASS. */
typedef enum Severity {
        SEVERITY_INFO,
        SEVERITY_WARN,
        SEVERITY_FAIL,
        _SEVERITY_MAX,
        _SEVERITY_INVALID = -EINVAL,
} Severity;

/* Of a chip, a server, a scan. */
typedef enum Result {
        RESULT_PASSED,
        RESULT_WARNED,
        RESULT_FAILED,
        RESULT_INCONCLUSIVE,
        _RESULT_MAX,
        _RESULT_INVALID = -EINVAL,
} Result;

/* What a check disturbs; an occupied part admits only DISTURBS_NOTHING. */
typedef enum Disturbs {
        DISTURBS_NOTHING,
        DISTURBS_CORE,
        DISTURBS_CHIP,
        DISTURBS_LINKS,
        DISTURBS_SERVER,
        _DISTURBS_MAX,
        _DISTURBS_INVALID = -EINVAL,
} Disturbs;

/* When in its life a server is scanned. */
typedef enum Stage {
        STAGE_PREFLIGHT,
        STAGE_INFLEET,
        STAGE_PRODUCTION,
        STAGE_BURNIN,
        STAGE_REPAIR,
        STAGE_RMA,
        _STAGE_MAX,
        _STAGE_INVALID = -EINVAL,
} Stage;

/* How a measured value relates to its limit: the validator types of OCP Test & Validation 2.0 that we use. */
typedef enum LimitType {
        LIMIT_NONE,
        LIMIT_EQUAL,
        LIMIT_LESS_THAN_OR_EQUAL,
        LIMIT_GREATER_THAN_OR_EQUAL,
        _LIMIT_TYPE_MAX,
        _LIMIT_TYPE_INVALID = -EINVAL,
} LimitType;

/* What a value is of the many that were measured. */
typedef enum Statistic {
        STATISTIC_NONE, /* it is the only one */
        STATISTIC_MIN,
        STATISTIC_MAX,
        STATISTIC_MEAN,
        STATISTIC_SUM,
        STATISTIC_P50,
        STATISTIC_P99,
        STATISTIC_LAST,
        _STATISTIC_MAX,
        _STATISTIC_INVALID = -EINVAL,
} Statistic;

typedef struct Series {
        Statistic statistic;
        uint64_t count; /* of the values it was made from; said only with a statistic */
} Series;

/* Exit status of every program and verb. */
enum {
        STATUS_PASSED        = 0, /* PASSED or WARNED; with --strict PASSED only */
        STATUS_FAILED        = 1,
        STATUS_CANNOT_TELL   = 2, /* INCONCLUSIVE, stale, nothing verified */
        STATUS_REFUSED       = 3, /* a record or log that does not verify */
        STATUS_USAGE         = 64,
        STATUS_UNREACHABLE   = 69,
        STATUS_NOT_PERMITTED = 77,
};

/* Each enum and its words; _from_string returns _X_INVALID for NULL and for unknown words. _to_string returns NULL
 * for values outside. `verdict severity reason disturbs statistic` are lower case, `result stage limit_type` upper case. */
const char *verdict_to_string(Verdict verdict);
Verdict verdict_from_string(const char *word);
const char *reason_to_string(Reason reason); /* "" for REASON_NONE */
const char *reason_to_words(Reason reason); /* the same for people; NULL where it is none */
Reason reason_from_string(const char *word);
const char *run_occupancy_to_string(RunOccupancy occupancy); /* "" for RUN_FREE */
RunOccupancy run_occupancy_from_string(const char *word);
const char *severity_to_string(Severity severity);
Severity severity_from_string(const char *word);
const char *severity_to_ocp(Severity severity);
const char *result_to_string(Result result);
Result result_from_string(const char *word);
const char *disturbs_to_string(Disturbs disturbs);
Disturbs disturbs_from_string(const char *word);
const char *stage_to_string(Stage stage);
/*
 * How much a plan of a stage looks at; 0: a part, the memory that no job uses or the rows that are to be repaired. A pass of a plan clears what
 * plans have found that look at no more; what looks at a part clears nothing. What is no stage, as a record of another version may say, looks at a part
 * and is cleared by none.
 */
unsigned stage_depth(Stage stage);
bool stage_clears(Stage by, Stage what);
Stage stage_from_string(const char *word);
const char *limit_type_to_string(LimitType type);
LimitType limit_type_from_string(const char *word);
const char *statistic_to_string(Statistic statistic); /* "" for STATISTIC_NONE */
Statistic statistic_from_string(const char *word);

/* Whether REASON goes with VERDICT: skipped and error need one of their own, the others have none. */
bool reason_fits(Reason reason, Verdict verdict);

/* False where VALUE or LIMIT is not finite: what cannot be compared is not within. */
bool limit_holds(LimitType type, double value, double limit);

/* Raises *verdict to what a finding of SEVERITY says; never lowers it. */
void verdict_raise(Verdict *verdict, Severity severity);

/*
 * The result of one step of the plan on one unit, a chip or its server, as a stream tells it. The worker, the daemon and the scorer of
 * the simulator fill it in, and come to a verdict by the functions below alone.
 */
typedef struct StepSaid {
        bool begun;      /* on this very unit */
        bool ended;      /* there, with this */
        Verdict verdict;
        bool has_part;   /* of a chip: the step on its server was done with it, and said this */
        Verdict part;
        Verdict found;   /* what findings in the unit say: passed, warned or failed */
        bool beyond;     /* a measurement in the unit lies beyond its limit */
        bool failed_elsewhere; /* of a server: it found something broken in another one that was scanned with it */
} StepSaid;

/*
 * How a step counts for UNIT, by what was said there and of the same step on its SERVER. What it concluded on the unit, else for
 * the unit as a part, else on the server; an error where nobody ended it, or where all that it concluded there is about another
 * server. Findings outweigh that, and a value beyond its limit is no pass.
 */
Verdict verdict_of_step(const StepSaid *unit, const StepSaid *server);
/*
 * The part of the server's result that a step on the server adds to that of its chips: its findings that lie in none of them. A step that failed for
 * what it found in another server fails only that one; one that failed and found nothing anywhere fails its own.
 */
Result result_of_server_step(const StepSaid *server);
/* Passed, warned or failed: the step came to its end, and what it covered is covered. */
bool verdict_is_judged(Verdict verdict);

/*
 * The fold. Start with {}, add every step that the plan asks for on a chip (one that never reported is added as
 * VERDICT_ERROR) and every promise of coverage. FAILED if any step failed; else INCONCLUSIVE if a required step
 * did not run to its end or a promise was not kept or there was no step at all; else WARNED or PASSED.
 */
typedef struct Fold {
        unsigned n_steps;
        bool failed;
        bool warned;
        bool incomplete;
} Fold;

void fold_step(Fold *fold, Verdict verdict, bool required);
void fold_coverage(Fold *fold, double reached, double promised);
Result fold_result(const Fold *fold);

/* Folds chips into a server and servers into a scan: FAILED over INCONCLUSIVE over WARNED over PASSED. */
Result result_worst(Result a, Result b);
/* The best that can be said of what has a finding of SEVERITY. */
Result result_of_severity(Severity severity);
int result_to_status(Result result, bool strict);
