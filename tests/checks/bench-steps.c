/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What each step of a plan costs on a healthy chip: CPU time of check and model together, and of the model alone, in one process
 * and so without sockets, windows that are new and forks. Steps on servers are those of a whole UltraServer, one after the other, and
 * divided by its chips. One line per figure: NAME VALUE UNIT. The plan is the argument, or preflight in $ASSAY_PLANS.
 */

#include <math.h>
#include <time.h>

#include "checks/plan/plan.h"
#include "tests/hall-device.h"

#define HEALTHY "scenario: one healthy UltraServer\nseed: 1\ntopology: {ultraservers: 1}\n"
#define WINDOW  (16u << 20)
#define ROUNDS  40u

static double model_sec;

static double cpu_now(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static int timed_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        double begin = cpu_now();
        int r;

        r = hall_execute(userdata, commands, n, completions, deadline_usec);
        model_sec += cpu_now() - begin;
        return r;
}

static const DeviceTransport timed_transport = { .execute = timed_execute, .close = hall_close };

/* A part of the hall as the worker sees it; the hall stays the caller's. */
static Device *open_part(Scenario *scenario, const char *server, unsigned chip) {
        HallDevice *hall = calloc(1, sizeof(*hall));
        Device *device;
        void *window;

        if (!hall)
                return NULL;
        window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        hall->reach = (Reach) { hall_server(scenario->hall, server), chip, window, WINDOW };
        return device_new(&timed_transport, hall, server, chip, window, WINDOW, &device) < 0 ? NULL : device;
}

typedef struct Bench {
        Scenario *scenario;
        Device *chip;
        StepServer servers[RING];
} Bench;

static int bench_open(Bench *bench) {
        _cleanup_free_ char *error = NULL;
        int r;

        r = scenario_parse("bench", HEALTHY, strlen(HEALTHY), &bench->scenario, &error);
        if (r < 0)
                return r;
        bench->chip = open_part(bench->scenario, "us0-0", 0);
        for (unsigned s = 0; s < RING; s++) {
                StepServer *server = &bench->servers[s];

                (void) snprintf(server->name, sizeof(server->name), "us0-%u", s);
                server->device = open_part(bench->scenario, server->name, WIRE_CHIP_ALL);
                server->included = 0xffff;
                if (!bench->chip || !server->device)
                        return -ENOMEM;
        }
        return 0;
}

static void bench_close(Bench *bench) {
        (void) device_free(bench->chip);
        for (unsigned s = 0; s < RING; s++)
                (void) device_free(bench->servers[s].device);
        (void) scenario_free(bench->scenario);
}

static int drop_lines(void *userdata, const char *lines) {
        return 0;
}

/* On chip 0, or on the server that is FIRST of the ring. */
static int run_on(const Bench *bench, const PlanStep *planned, const Check *check, unsigned first) {
        bool whole = check->unit == LOCATION_SERVER;
        StepServer servers[RING] = { { .name = "us0-0", .device = bench->chip, .included = 0xffff } };
        StepSettings settings = {
                .name = planned->name, .n_servers = whole ? RING : 1, .servers = servers,
                .parameters = planned->parameters, .seed = 1, .budget_sec = 600, .required = true, .write = drop_lines,
        };
        StepEnd end = { .verdict = _VERDICT_INVALID };
        Step *step = NULL;
        int r;

        for (unsigned s = 0; s < settings.n_servers && whole; s++)
                servers[s] = bench->servers[(first + s) % RING];
        (void) snprintf(settings.unit.server, sizeof(settings.unit.server), "us0-%u", first);
        if (!whole)
                (void) location_append(&settings.unit, LOCATION_CHIP, 0);
        r = step_new(&settings, &step);
        if (r >= 0)
                step_run(step, check, &end);
        (void) step_free(step);
        return r < 0 || end.verdict != VERDICT_PASSED ? -EIO : 0;
}

static int run_once(const Bench *bench, const PlanStep *planned, const Check *check) {
        unsigned n = check->unit == LOCATION_SERVER ? RING : 1;
        int r = 0;

        for (unsigned s = 0; s < n && r >= 0; s++)
                r = run_on(bench, planned, check, s);
        return r;
}

/* The best of many, as a busy machine only ever adds. */
static int bench_step(const Bench *bench, const PlanStep *planned, const Check *check) {
        double chips = check->unit == LOCATION_SERVER ? RING * CHIPS : 1;
        double best = INFINITY, best_model = INFINITY, begin = cpu_now();

        if (check->prepare || check->prepare_for) {
                if (check->prepare)
                        check->prepare();
                if (check->prepare_for)
                        check->prepare_for(planned->parameters, 1);
                printf("%s_prepare %.3f ms\n", planned->name, (cpu_now() - begin) * 1e3);
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
                model_sec = 0;
                begin = cpu_now();
                if (run_once(bench, planned, check) < 0)
                        return -EIO;
                best = fmin(best, cpu_now() - begin);
                best_model = fmin(best_model, model_sec);
        }
        printf("%s_step %.3f ms\n%s_step_model %.3f ms\n", planned->name, best / chips * 1e3, planned->name, best_model / chips * 1e3);
        return 0;
}

int main(int argc, char **argv) {
        _cleanup_(bench_close) Bench bench = {};
        _cleanup_free_ char *error = NULL;
        Plan *plan;
        int r;

        r = argc > 1 ? plan_load(argv[1], &plan, &error) : plan_find(plan_folders(), "preflight", &plan, &error);
        if (r < 0 || bench_open(&bench) < 0) {
                fprintf(stderr, "bench-steps: %s\n", error ? error : "no chip");
                return EXIT_FAILURE;
        }
        for (size_t i = 0; i < plan->n_steps && r >= 0; i++) {
                const Check *check = check_find(plan->steps[i].check->name);

                if (check)
                        r = bench_step(&bench, &plan->steps[i], check);
                if (r < 0)
                        fprintf(stderr, "bench-steps: %s did not pass\n", plan->steps[i].name);
        }
        plan_free(plan);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
