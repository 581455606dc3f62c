/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim qualify: what does a plan find? Random faults are injected, scanned with assay-run, and counted.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/chip/dispatch.h"
#include "sim/chip/fault.h"
#include "sim/qualify/qualify.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

#define SAMPLES_DEFAULT 16u
#define TIMEOUT_DEFAULT 600u /* s for one scan: hangs are told by deadlines of seconds, so this one is no judgement */

/* The plans beside a build folder, unless the environment says where the worker should look. */
static void find_plans(const char *build, int n_build) {
        _cleanup_free_ char *plans = NULL;

        if (!getenv("ASSAY_PLANS") && asprintf(&plans, "%.*s/../units/plans", n_build, build) > 0 && access(plans, X_OK) == 0)
                (void) setenv("ASSAY_PLANS", plans, 0);
}

/* Beside this program in a build tree, else where it is installed. malloc'd. */
static char *find_worker(const char *given) {
        char self[PATH_MAX], *worker;
        ssize_t n;

        if (given)
                return strdup(given);
        n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        for (unsigned i = 0; i < 2 && n > 0; i++) {
                self[n] = '\0';
                n = strrchr(self, '/') ? strrchr(self, '/') - self : 0;
        }
        if (n > 0 && asprintf(&worker, "%.*s/checks/assay-run", (int) n, self) > 0) {
                if (access(worker, X_OK) == 0) {
                        find_plans(self, (int) n);
                        return worker;
                }
                free(worker);
        }
        return strdup(ASSAY_RUN_PATH);
}

static int find_kinds(const Options *options, const FaultKind **kinds) {
        for (size_t i = 0; i < options->n_kinds; i++) {
                kinds[i] = fault_kind_find(options->kinds[i]);
                if (!kinds[i]) {
                        fprintf(stderr, "assay-sim qualify: no kind is called \"%.40s\"; assay-sim kinds lists them all\n", options->kinds[i]);
                        return -EINVAL;
                }
        }
        return 0;
}

static int find_family(const char *word, int *ret) {
        *ret = -1;
        for (int i = 0; word && fault_family_words[i]; i++)
                if (strcmp(word, fault_family_words[i]) == 0)
                        *ret = i;
        if (word && *ret < 0)
                fprintf(stderr, "assay-sim qualify: no family is called \"%.40s\", expected memory, compute, links or telemetry\n", word);
        return word && *ret < 0 ? -EINVAL : 0;
}

/* 0: drawn. */
static int find_probability(const char *text, double *ret) {
        char *end;

        *ret = text ? strtod(text, &end) : 0;
        if (!text || (*text && !*end && *ret > 0 && *ret <= 1))
                return 0;
        fprintf(stderr, "assay-sim qualify: --probability: \"%s\" is not above 0 and at most 1\n", text);
        return -EINVAL;
}

/* As many healthy chips as faults, unless somebody said how many. */
static unsigned count_healthy(const Options *options, const QualifyOrder *order) {
        const FaultKind *kind;
        uint64_t n = 0;

        if (options->given & OPTION_HEALTHY)
                return (unsigned) options->healthy;
        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++)
                n += order->family < 0 || (int) kind->family == order->family;
        n = (order->n_kinds > 0 ? order->n_kinds : n) * order->samples;
        return n > QUALIFY_HEALTHY_MAX ? QUALIFY_HEALTHY_MAX : (unsigned) n;
}

static int run(const QualifyOrder *order, bool json) {
        Qualification qualification;
        bool stopped = false;
        int r, status;

        r = qualify_prepare(order, &qualification);
        if (r >= 0)
                r = qualify_drive(&qualification);
        if (r == -EINTR) {
                /* What is there by then is worth as much as it would be; the rest could not be judged. */
                fprintf(stderr, "assay-sim qualify: stopped\n");
                stopped = true;
                r = 0;
        }
        if (r >= 0) {
                r = 0;
                if (json)
                        r = qualify_print_json(&qualification, stdout);
                else
                        qualify_print(&qualification, stdout);
        }
        status = qualification.refused ? STATUS_USAGE : r < 0 || stopped ? STATUS_CANNOT_TELL : qualify_status(&qualification);
        if (r < 0 && !qualification.refused)
                fprintf(stderr, "assay-sim qualify: %s\n", strerror(-r));
        qualify_done(&qualification);
        return status;
}

int verb_qualify(int argc, char *argv[]) {
        const FaultKind *kinds[KINDS_MAX];
        _cleanup_free_ char *worker = NULL;
        Options options;

        if (options_parse(argc, argv,
                          OPTION_PLAN | OPTION_KIND | OPTION_FAMILY | OPTION_SAMPLES | OPTION_SEED | OPTION_HEALTHY | OPTION_JOBS |
                          OPTION_ASSAY_RUN | OPTION_DEADLINE_SCALE | OPTION_TIMEOUT | OPTION_KEEP | OPTION_STALLS | OPTION_PROBABILITY |
                          OPTION_JSON, 0, 0, &options) < 0)
                return STATUS_USAGE;
        if (!options.plan) {
                fprintf(stderr, "assay-sim qualify: --plan is missing; see assay-sim --help\n");
                return STATUS_USAGE;
        }
        worker = find_worker(options.assay_run);
        if (!worker || access(worker, X_OK) < 0) {
                fprintf(stderr, "assay-sim qualify: %s: %s\n", worker ? worker : "assay-run", strerror(errno));
                return STATUS_USAGE;
        }

        QualifyOrder order = {
                .plan           = options.plan,
                .kinds          = kinds,
                .n_kinds        = options.n_kinds,
                .samples        = options.given & OPTION_SAMPLES ? (unsigned) options.samples : SAMPLES_DEFAULT,
                .jobs           = (unsigned) options.jobs,
                .timeout_sec    = options.given & OPTION_TIMEOUT ? (unsigned) options.timeout : TIMEOUT_DEFAULT,
                .seed           = options.seed,
                .worker         = worker,
                .deadline_scale = options.deadline_scale,
                .keep           = options.keep,
                .stalls         = options.stalls,
        };

        if (order.keep && access(order.keep, W_OK | X_OK) < 0) {
                fprintf(stderr, "assay-sim qualify: %s: %s\n", order.keep, strerror(errno));
                return STATUS_USAGE;
        }
        if (find_kinds(&options, kinds) < 0 || find_family(options.family, &order.family) < 0 ||
            find_probability(options.probability, &order.probability) < 0)
                return STATUS_USAGE;
        order.healthy = count_healthy(&options, &order);
        if (order.samples == 0 && order.healthy == 0) {
                fprintf(stderr, "assay-sim qualify: no faults and no healthy chips: nothing would be scanned\n");
                return STATUS_USAGE;
        }
        return run(&order, options.json);
}
