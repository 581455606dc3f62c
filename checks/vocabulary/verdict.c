/* SPDX-License-Identifier: Apache-2.0 */

/* Verdict: the tables of words, and the fold. */

#include "checks/vocabulary/verdict.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "checks/text/cleanup.h"

static const char *const verdict_words[_VERDICT_MAX] = {
        [VERDICT_PASSED]  = "passed",  [VERDICT_WARNED] = "warned", [VERDICT_FAILED] = "failed",
        [VERDICT_SKIPPED] = "skipped", [VERDICT_ERROR]  = "error",
};

static const char *const reason_words[_REASON_MAX] = {
        [REASON_NONE]           = "",
        [REASON_NOT_APPLICABLE] = "not-applicable",
        [REASON_OCCUPIED]       = "occupied",
        [REASON_CLAIMED]        = "claimed",
        [REASON_BUDGET]         = "budget",
        [REASON_NOT_REQUESTED]  = "not-requested",
        [REASON_PREREQUISITE]   = "prerequisite",
        [REASON_DEVICE_UNREACHABLE] = "device-unreachable",
        [REASON_DEVICE_TIMEOUT] = "device-timeout",
        [REASON_DEVICE_ERROR]   = "device-error",
        [REASON_WORKER_CRASHED] = "worker-crashed",
        [REASON_WORKER_TIMEOUT] = "worker-timeout",
        [REASON_PROTOCOL]       = "protocol",
        [REASON_RESOURCE]       = "resource",
        [REASON_CANCELLED]      = "cancelled",
        [REASON_AMBIGUOUS]      = "ambiguous",
};

/* The sentences for steps that gave none of their own. */
static const char *const reason_sentences[_REASON_MAX] = {
        [REASON_NONE]           = "no reason was given",
        [REASON_NOT_APPLICABLE] = "the part has nothing that this could test",
        [REASON_OCCUPIED]       = "carries work that this would disturb",
        [REASON_CLAIMED]        = "another scan has this server",
        [REASON_BUDGET]         = "the plan's device time was used up",
        [REASON_NOT_REQUESTED]  = "not asked for in this scan",
        [REASON_PREREQUISITE]   = "something that it needs had failed before",
        [REASON_DEVICE_UNREACHABLE] = "its server cannot be reached",
        [REASON_DEVICE_TIMEOUT] = "no device of the server answered",
        [REASON_DEVICE_ERROR]   = "the device could not be reached, or broke off",
        [REASON_WORKER_CRASHED] = "the scan broke off while this was at work",
        [REASON_WORKER_TIMEOUT] = "the scan took longer than its plan may",
        [REASON_PROTOCOL]       = "what came back was not what was agreed",
        [REASON_RESOURCE]       = "the machine that scans had no memory, descriptors or disk left",
        [REASON_CANCELLED]      = "cancelled",
        [REASON_AMBIGUOUS]      = "what it did cannot be told from what others did",
};

static const char *const run_occupancy_words[_RUN_OCCUPANCY_MAX] = {
        [RUN_FREE] = "", [RUN_TAKEN] = "taken", [RUN_UNTOLD] = "untold", [RUN_SILENT] = "silent",
};

static const char *const severity_words[_SEVERITY_MAX] = {
        [SEVERITY_INFO] = "info", [SEVERITY_WARN] = "warn", [SEVERITY_FAIL] = "fail",
};

static const char *const severity_ocp_words[_SEVERITY_MAX] = {
        [SEVERITY_INFO] = "PASS", [SEVERITY_WARN] = "UNKNOWN", [SEVERITY_FAIL] = "FAIL",
};

static const char *const result_words[_RESULT_MAX] = {
        [RESULT_PASSED]       = "PASSED",
        [RESULT_WARNED]       = "WARNED",
        [RESULT_FAILED]       = "FAILED",
        [RESULT_INCONCLUSIVE] = "INCONCLUSIVE",
};

static const char *const disturbs_words[_DISTURBS_MAX] = {
        [DISTURBS_NOTHING] = "nothing", [DISTURBS_CORE]   = "core",   [DISTURBS_CHIP] = "chip",
        [DISTURBS_LINKS]   = "links",   [DISTURBS_SERVER] = "server",
};

static const char *const stage_words[_STAGE_MAX] = {
        [STAGE_PREFLIGHT] = "PREFLIGHT", [STAGE_INFLEET] = "INFLEET", [STAGE_PRODUCTION] = "PRODUCTION",
        [STAGE_BURNIN]    = "BURNIN",    [STAGE_REPAIR]  = "REPAIR",  [STAGE_RMA]        = "RMA",
};

/* OCP's names where it has one. */
static const char *const limit_type_words[_LIMIT_TYPE_MAX] = {
        [LIMIT_NONE]                  = "NONE",
        [LIMIT_EQUAL]                 = "EQUAL",
        [LIMIT_LESS_THAN_OR_EQUAL]    = "LESS_THAN_OR_EQUAL",
        [LIMIT_GREATER_THAN_OR_EQUAL] = "GREATER_THAN_OR_EQUAL",
};

static const char *const statistic_words[_STATISTIC_MAX] = {
        [STATISTIC_NONE] = "",    [STATISTIC_MIN] = "min", [STATISTIC_MAX] = "max", [STATISTIC_MEAN] = "mean",
        [STATISTIC_SUM]  = "sum", [STATISTIC_P50] = "p50", [STATISTIC_P99] = "p99", [STATISTIC_LAST] = "last",
};

static const char *word_at(const char *const *words, size_t n, int index) {
        return index >= 0 && (size_t) index < n ? words[index] : NULL;
}

static int word_find(const char *const *words, size_t n, const char *word) {
        for (size_t i = 0; word && i < n; i++)
                if (strcmp(words[i], word) == 0)
                        return (int) i;

        return -EINVAL;
}

#define DEFINE_WORDS(type, name)                                                                             \
        const char *name##_to_string(type value) {                                                           \
                return word_at(name##_words, ELEMENTS(name##_words), (int) value);                           \
        }                                                                                                    \
        type name##_from_string(const char *word) {                                                          \
                return (type) word_find(name##_words, ELEMENTS(name##_words), word);                         \
        }

DEFINE_WORDS(Verdict, verdict)
DEFINE_WORDS(Reason, reason)
DEFINE_WORDS(RunOccupancy, run_occupancy)
DEFINE_WORDS(Severity, severity)
DEFINE_WORDS(Result, result)
DEFINE_WORDS(Disturbs, disturbs)
DEFINE_WORDS(Stage, stage)

static const unsigned stage_depths[_STAGE_MAX] = {
        [STAGE_INFLEET]    = 0,
        [STAGE_REPAIR]     = 0,
        [STAGE_PREFLIGHT]  = 1,
        [STAGE_PRODUCTION] = 2,
        [STAGE_RMA]        = 2,
        [STAGE_BURNIN]     = 3,
};

static bool is_stage(Stage stage) {
        return stage >= 0 && stage < _STAGE_MAX;
}

unsigned stage_depth(Stage stage) {
        return is_stage(stage) ? stage_depths[stage] : 0;
}

bool stage_clears(Stage by, Stage what) {
        return is_stage(what) && stage_depth(by) > 0 && stage_depth(by) >= stage_depth(what);
}
DEFINE_WORDS(LimitType, limit_type)
DEFINE_WORDS(Statistic, statistic)

const char *severity_to_ocp(Severity severity) {
        return word_at(severity_ocp_words, ELEMENTS(severity_ocp_words), (int) severity);
}

bool reason_fits(Reason reason, Verdict verdict) {
        switch (verdict) {
        case VERDICT_PASSED:
        case VERDICT_WARNED:
        case VERDICT_FAILED:
                return reason == REASON_NONE;
        case VERDICT_SKIPPED:
                return reason >= REASON_NOT_APPLICABLE && reason <= REASON_DEVICE_UNREACHABLE;
        case VERDICT_ERROR:
                return reason >= REASON_DEVICE_UNREACHABLE && reason < _REASON_MAX;
        case _VERDICT_MAX:
        case _VERDICT_INVALID:
                break;
        }

        return false;
}

bool limit_holds(LimitType type, double value, double limit) {
        if (!isfinite(value))
                return false;
        if (type == LIMIT_NONE)
                return true;
        if (!isfinite(limit))
                return false;

        switch (type) {
        case LIMIT_EQUAL:
                return value == limit;
        case LIMIT_LESS_THAN_OR_EQUAL:
                return value <= limit;
        case LIMIT_GREATER_THAN_OR_EQUAL:
                return value >= limit;
        case LIMIT_NONE:
        case _LIMIT_TYPE_MAX:
        case _LIMIT_TYPE_INVALID:
                break;
        }

        return false;
}

/* How far a verdict is from passed. What is no verdict counts as an error: a slip must not become a pass. */
static unsigned verdict_rank(Verdict verdict) {
        static const unsigned ranks[_VERDICT_MAX] = {
                [VERDICT_PASSED] = 0, [VERDICT_WARNED] = 1, [VERDICT_SKIPPED] = 2,
                [VERDICT_ERROR]  = 3, [VERDICT_FAILED] = 4,
        };

        return verdict >= 0 && verdict < _VERDICT_MAX ? ranks[verdict] : ranks[VERDICT_ERROR];
}

void verdict_raise(Verdict *verdict, Severity severity) {
        static const Verdict says[_SEVERITY_MAX] = {
                [SEVERITY_INFO] = VERDICT_PASSED, [SEVERITY_WARN] = VERDICT_WARNED, [SEVERITY_FAIL] = VERDICT_FAILED,
        };

        assert(verdict);
        assert(severity >= 0 && severity < _SEVERITY_MAX);

        if (verdict_rank(says[severity]) > verdict_rank(*verdict))
                *verdict = says[severity];
}

/* It failed, and that is said of another server alone. */
static bool failed_only_elsewhere(const StepSaid *server) {
        return server->ended && server->verdict == VERDICT_FAILED && server->failed_elsewhere && server->found != VERDICT_FAILED;
}

Verdict verdict_of_step(const StepSaid *unit, const StepSaid *server) {
        Verdict verdict = VERDICT_ERROR;

        assert(unit);
        assert(server);

        if (unit->ended)
                verdict = unit->verdict;
        else if (!unit->begun && unit->has_part)
                verdict = unit->part;
        else if (!unit->begun && server->ended && !failed_only_elsewhere(server))
                verdict = server->verdict;

        if (unit->found == VERDICT_FAILED || (unit->found == VERDICT_WARNED && verdict == VERDICT_PASSED))
                return unit->found;
        return verdict == VERDICT_PASSED && unit->beyond ? VERDICT_ERROR : verdict;
}

Result result_of_server_step(const StepSaid *server) {
        assert(server);

        if (server->found == VERDICT_FAILED || (server->ended && server->verdict == VERDICT_FAILED && !failed_only_elsewhere(server)))
                return RESULT_FAILED;
        return server->found == VERDICT_WARNED || server->beyond ? RESULT_WARNED : RESULT_PASSED;
}

bool verdict_is_judged(Verdict verdict) {
        return verdict == VERDICT_PASSED || verdict == VERDICT_WARNED || verdict == VERDICT_FAILED;
}

void fold_step(Fold *fold, Verdict verdict, bool required) {
        assert(fold);

        switch (verdict) {
        case VERDICT_FAILED:
                fold->failed = true;
                break;
        case VERDICT_WARNED:
                fold->warned = true;
                break;
        case VERDICT_PASSED:
                break;
        case VERDICT_SKIPPED:
        case VERDICT_ERROR:
        case _VERDICT_MAX:
        case _VERDICT_INVALID:
        default: /* a number that is no verdict may come from outside */
                fold->incomplete = fold->incomplete || required;
                return;
        }

        fold->n_steps++;
}

void fold_coverage(Fold *fold, double reached, double promised) {
        assert(fold);

        if (!limit_holds(LIMIT_GREATER_THAN_OR_EQUAL, reached, promised))
                fold->incomplete = true;
}

Result fold_result(const Fold *fold) {
        assert(fold);

        if (fold->failed)
                return RESULT_FAILED;
        if (fold->incomplete || fold->n_steps == 0)
                return RESULT_INCONCLUSIVE;

        return fold->warned ? RESULT_WARNED : RESULT_PASSED;
}

Result result_worst(Result a, Result b) {
        static const unsigned ranks[_RESULT_MAX] = {
                [RESULT_PASSED] = 0, [RESULT_WARNED] = 1, [RESULT_INCONCLUSIVE] = 2, [RESULT_FAILED] = 3,
        };

        if (!result_to_string(a))
                a = RESULT_INCONCLUSIVE;
        if (!result_to_string(b))
                b = RESULT_INCONCLUSIVE;

        return ranks[a] >= ranks[b] ? a : b;
}

Result result_of_severity(Severity severity) {
        static const Result says[_SEVERITY_MAX] = {
                [SEVERITY_INFO] = RESULT_PASSED, [SEVERITY_WARN] = RESULT_WARNED, [SEVERITY_FAIL] = RESULT_FAILED,
        };

        assert(severity >= 0 && severity < _SEVERITY_MAX);
        return says[severity];
}

int result_to_status(Result result, bool strict) {
        switch (result) {
        case RESULT_PASSED:
                return STATUS_PASSED;
        case RESULT_WARNED:
                return strict ? STATUS_FAILED : STATUS_PASSED;
        case RESULT_FAILED:
                return STATUS_FAILED;
        case RESULT_INCONCLUSIVE:
        case _RESULT_MAX:
        case _RESULT_INVALID:
                break;
        }

        return STATUS_CANNOT_TELL;
}

const char *reason_to_words(Reason reason) {
        return reason >= 0 && reason < _REASON_MAX ? reason_sentences[reason] : NULL;
}
