/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What each step of a plan costs on a healthy chip: CPU time of check and model together, and of the model alone, in one process
 * and so without sockets, windows that are new and forks. One line per figure: NAME VALUE UNIT. The plan is the argument, or
 * preflight in $ASSAY_PLANS.
 */

#include <math.h>
#include <time.h>

#include "checks/plan.h"
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

static Device *open_chip(void) {
        HallDevice *hall = calloc(1, sizeof(*hall));
        char *error = NULL;
        Device *device;
        void *window;

        if (!hall || scenario_parse("bench", HEALTHY, strlen(HEALTHY), &hall->scenario, &error) < 0)
                return NULL;
        window = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        hall->reach = (Reach) { hall_server(hall->scenario->hall, "us0-0"), 0, window, WINDOW };
        return device_new(&timed_transport, hall, "us0-0", 0, window, WINDOW, &device) < 0 ? NULL : device;
}

static int drop_lines(void *userdata, const char *lines) {
        return 0;
}

static int run_once(Device *device, const PlanStep *planned, const Check *check) {
        StepServer servers[1] = { { .name = "us0-0", .device = device, .included = 0xffff } };
        StepSettings settings = {
                .name = planned->name, .n_servers = 1, .servers = servers, .parameters = planned->parameters, .seed = 1, .budget_sec = 600,
                .required = true, .write = drop_lines,
        };
        StepEnd end = { .verdict = _VERDICT_INVALID };
        Step *step = NULL;
        int r;

        (void) snprintf(settings.unit.server, sizeof(settings.unit.server), "us0-0");
        (void) location_append(&settings.unit, LOCATION_CHIP, 0);
        r = step_new(&settings, &step);
        if (r >= 0)
                step_run(step, check, &end);
        (void) step_free(step);
        return r < 0 || end.verdict != VERDICT_PASSED ? -EIO : 0;
}

/* The best of many, as a busy machine only ever adds. */
static int bench_step(Device *device, const PlanStep *planned, const Check *check) {
        double best = INFINITY, best_model = INFINITY, begin = cpu_now();

        if (check->prepare || check->prepare_for) {
                if (check->prepare)
                        check->prepare();
                if (check->prepare_for)
                        check->prepare_for(planned->parameters);
                printf("%s_prepare %.3f ms\n", planned->name, (cpu_now() - begin) * 1e3);
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
                model_sec = 0;
                begin = cpu_now();
                if (run_once(device, planned, check) < 0)
                        return -EIO;
                best = fmin(best, cpu_now() - begin);
                best_model = fmin(best_model, model_sec);
        }
        printf("%s_step %.3f ms\n%s_step_model %.3f ms\n", planned->name, best * 1e3, planned->name, best_model * 1e3);
        return 0;
}

int main(int argc, char **argv) {
        _cleanup_(device_freep) Device *device = open_chip();
        _cleanup_free_ char *error = NULL;
        Plan *plan;
        int r;

        r = argc > 1 ? plan_load(argv[1], &plan, &error) : plan_find(plan_folders(), "preflight", &plan, &error);
        if (!device || r < 0) {
                fprintf(stderr, "bench-steps: %s\n", error ? error : "no chip");
                return EXIT_FAILURE;
        }
        for (size_t i = 0; i < plan->n_steps && r >= 0; i++) {
                const Check *check = check_find(plan->steps[i].check->name);

                if (check && check->unit == LOCATION_CHIP)
                        r = bench_step(device, &plan->steps[i], check);
                if (r < 0)
                        fprintf(stderr, "bench-steps: %s did not pass\n", plan->steps[i].name);
        }
        plan_free(plan);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
