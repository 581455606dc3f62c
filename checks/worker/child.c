/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The child of a unit: sequential code, one step after the other, on connections it inherited. It dies with
 * the worker, holds no descriptor but its own, and leaves as soon as its connection is of no more use.
 */

#include "checks/worker/child.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "checks/port/device-control.h"
#include "checks/port/occupancy.h"

#define BUFFER_BYTES   (16u << 10)
#define MEMORY_MAX     (UINT64_C(1) << 30) /* bytes of data; a check allocates next to nothing */
#define DESCRIPTOR_MAX 64
#define PROGRESS_USEC  100000

#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_IS_BOUNDED 0 /* the shadow alone is larger than any bound */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_IS_BOUNDED 0
#endif
#endif
#ifndef MEMORY_IS_BOUNDED
#define MEMORY_IS_BOUNDED 1
#endif

typedef struct Child {
        Unit *unit;
        int fd;
        size_t n_buffer;
        char buffer[BUFFER_BYTES];
} Child;

/* ---- what it says ---- */

static void write_all(int fd, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t written = write(fd, bytes, n);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        _exit(EXIT_FAILURE); /* nobody listens */

                bytes += written;
                n -= (size_t) written;
        }
}

static void child_flush(void *userdata) {
        Child *child = userdata;

        write_all(child->fd, child->buffer, child->n_buffer);
        child->n_buffer = 0;
}

static int child_write(void *userdata, const char *lines) {
        Child *child = userdata;
        size_t n = strlen(lines);

        if (n > sizeof(child->buffer) - child->n_buffer)
                child_flush(child);
        if (n > sizeof(child->buffer)) {
                write_all(child->fd, lines, n);
                return 0;
        }

        memcpy(child->buffer + child->n_buffer, lines, n);
        child->n_buffer += n;
        return 0;
}

static void say(Child *child, char *lines) {
        if (!lines)
                _exit(EXIT_FAILURE); /* no memory: the step it had open is lost with it */
        (void) child_write(child, lines);
        free(lines);
}

/* ---- steps ---- */

static double budget_left(const Unit *unit) {
        return unit->scan->request->budget_sec - (double) unit->used_nsec / 1e9;
}

/* The seconds that the steps which this unit still has to run need at the least. */
static double kept_for_later(const Unit *unit) {
        const Plan *plan = unit->scan->request->plan;
        double sec = 0;

        for (size_t i = unit->current + 1; i < plan->n_steps; i++)
                if (!unit->done[i])
                        sec += check_least_sec(check_find(plan->steps[i].check->name), plan->steps[i].parameters);

        return sec;
}

/* Later steps keep their share, but not at the cost of what a first run of this one cannot do without: whoever comes first has that. */
static double budget_of_step(const Unit *unit, const PlanStep *planned, const Check *check) {
        double left = budget_left(unit), own = unit->runs == 0 ? check_least_sec(check, planned->parameters) : 0;

        return fmax(left - kept_for_later(unit), fmin(left, own));
}

static void describe_step(Child *child, const PlanStep *planned, const Check *check, const char *id, StepSettings *ret) {
        Unit *unit = child->unit;
        const ChipFacts *facts = unit->chip < 0 ? NULL :
                        &unit->scan->servers[unit->server].inventory.chips[unit->chip];
        size_t n = unit->chip >= 0 ? 1 : unit->scan->n_servers;

        for (size_t i = 0; i < n; i++) {
                size_t index = (unit->server + i) % unit->scan->n_servers;

                unit->servers[i].included = scan_included(unit->scan, index, check_disturbs(check, planned->parameters));
                unit->servers[i].silent = unit->silent[index] | unit->scan->servers[index].doubtful;
        }

        *ret = (StepSettings) {
                .unit = unit->where,
                .name = planned->name,
                .n_servers = n,
                .servers = unit->servers,
                .twin = unit->twin.server[0] ? &unit->twin : NULL,
                .n_twin_servers = unit->n_twin_servers,
                .topology = unit->scan->request->topology,
                .parameters = planned->parameters,
                .seed = request_step_seed(unit->scan->request, planned->name),
                .budget_sec = budget_of_step(unit, planned, check),
                .rotation = request_rotation(unit->scan->request, id, facts ? facts->serial : ""),
                .position = unit->scan->request->position,
                .rotation_sec = unit->scan->request->plan->rotation_sec,
                .required = planned->required,
                .progress_usec = PROGRESS_USEC,
                .write = child_write,
                .flush = child_flush,
                .userdata = child,
        };
}

/* That a chip hangs the port has found out from its neighbours. Of an answer that makes no sense the worker asks them. */
static void suspect_device(Step *step, const Unit *unit, int error) {
        Verdict verdict = VERDICT_PASSED;
        const Request *request = unit->scan->request;

        if (unit->chip < 0)
                return;
        if (device_silence(step_device(step)) == -ETIMEDOUT)
                (void) step_finding(step, &verdict, "device-hang", NULL,
                                    &(Evidence) { .decided = { "device_answers_of_others", CONTROL_ANSWERS, CONTROL_ANSWERS - 1 } },
                                    "no answer in %g s, in which other chips of the server answered %u times",
                                    request->plan->deadline_sec * request->deadline_scale, CONTROL_ANSWERS);
        if (error == -EPROTO)
                (void) step_finding(step, &verdict, "device-garbled", NULL, &(Evidence) { .decided = { "device_answers_garbled", 1, 0 } },
                                    "an answer that no device may give");
}

/* What a step on a server could not count for want of chips that were not asked for is nobody's doubt: each chip's record says so. */
static void tell_unasked(Step *step, const Unit *unit, const Check *check, const StepEnd *end) {
        char name[64];

        (void) snprintf(name, sizeof(name), "%s_chips_not_requested", check->name);
        for (unsigned chip = 0; chip < CHIPS && unit->chip < 0 && step_unasked(step) > 0 && verdict_is_judged(end->verdict); chip++) {
                Location where = unit->where;

                (void) location_append(&where, LOCATION_CHIP, chip);
                if (unit->servers[0].included & (1u << chip))
                        (void) step_note(step, name, step_unasked(step), "{chip}", &where);
        }
}

static void leave_out(Child *child, const char *id, unsigned chip) {
        Location where = child->unit->where;

        (void) location_append(&where, LOCATION_CHIP, chip);
        say(child, stream_part_done(id, &where, VERDICT_SKIPPED, REASON_OCCUPIED));
}

/*
 * Of the chips that a step on a server includes those are left out on which a job began during the scan, and those of the unit's own server
 * told. Returns whether any were. A chip that does not answer here will not answer the step either, which says so.
 */
static bool leave_taken(Child *child, const char *id, size_t n_servers) {
        Unit *unit = child->unit;
        bool any = false;

        for (size_t i = 0; i < n_servers; i++)
                for (unsigned chip = 0; chip < CHIPS && unit->servers[i].device; chip++) {
                        StepServer *server = &unit->servers[i];

                        if (!(server->included & (1u << chip)) || occupancy_ask(server->device, chip) <= 0)
                                continue;
                        server->included &= (uint16_t) ~(1u << chip);
                        any = true;
                        if (i == 0)
                                leave_out(child, id, chip);
                }
        return any;
}

/* Whether a job began during the scan on what the step would disturb: 1, 0 or the errors of the device. */
static int is_taken(Child *child, const Check *check, const PlanStep *planned, const char *id, size_t n_servers) {
        Unit *unit = child->unit;

        if (check_disturbs(check, planned->parameters) == DISTURBS_NOTHING)
                return 0;
        if (unit->chip >= 0)
                return occupancy_ask(unit->servers[0].device, (unsigned) unit->chip);
        return leave_taken(child, id, n_servers) && (unit->servers[0].included == 0 || check->disturbs == DISTURBS_SERVER);
}

/* Whether a job has begun since the run did, on what it was testing: 1, 0 or the error of a device that does not tell. A pass needs no question, nor
 * does a run that says so itself. */
static int is_disturbed(const Unit *unit, const Check *check, const PlanStep *planned, const StepEnd *end) {
        OccupancyQuestion questions[TARGET_SERVERS_MAX];
        size_t n = 0;

        if (end->verdict == VERDICT_PASSED || (end->verdict == VERDICT_SKIPPED && end->reason == REASON_OCCUPIED) ||
            check_disturbs(check, planned->parameters) == DISTURBS_NOTHING)
                return 0;
        for (size_t i = 0; i < unit->scan->n_servers; i++)
                if (unit->servers[i].device)
                        questions[n++] = (OccupancyQuestion) { unit->servers[i].device,
                                                               unit->chip >= 0 ? (uint16_t) (1u << unit->chip) : unit->servers[i].included };
        return occupancy_ask_any(questions, n);
}

/* Of a step that must not run: TAKEN as is_taken() says. Returns TAKEN where that is an error, else 0. */
static int end_taken(const StepSettings *settings, int taken, StepEnd *ret) {
        *ret = (StepEnd) {
                .verdict = taken < 0 ? VERDICT_ERROR : VERDICT_SKIPPED,
                .reason = taken < 0 ? step_reason(taken) : REASON_OCCUPIED,
                .message = taken == -ENODEV ? STEP_SERVER_GONE :
                           taken < 0        ? STEP_OCCUPANCY_UNTOLD :
                                              "a job began during the scan",
                .required = settings->required,
                .seed = settings->seed,
                .runs = 1,
        };
        return taken < 0 ? taken : 0;
}

/* What the run says, and whether that may be a job's. The question itself may be what shows that the device is broken. */
static int run_and_ask(Step *step, const Unit *unit, const Check *check, const PlanStep *planned, const StepSettings *settings, StepEnd *ret) {
        int r = step_run(step, check, ret), taken = is_disturbed(unit, check, planned, ret);
        uint64_t nsec = ret->device_nsec;

        if (taken < 0 && ret->verdict != VERDICT_FAILED && ret->verdict != VERDICT_ERROR) {
                r = end_taken(settings, taken, ret);
                ret->device_nsec = nsec;
        }
        ret->occupancy = taken > 0 ? RUN_TAKEN : taken < 0 ? RUN_UNTOLD : RUN_FREE;
        return r < 0 ? r : MIN(taken, 0);
}

/* Returns the errno that kept the check from judging, or 0. */
static int run_once(Child *child, const PlanStep *planned, const Check *check, const char *id,
                    StepEnd *ret) {
        _cleanup_(step_freep) Step *step = NULL;
        StepSettings settings;
        int taken, r;

        describe_step(child, planned, check, id, &settings);
        r = step_new(&settings, &step);
        if (r < 0)
                _exit(EXIT_FAILURE);

        say(child, stream_step_start(id, check->name));
        child_flush(child); /* whoever is lost from here on is lost with this step */

        taken = child->unit->withdrawn < UNIT_WITHDRAWN_MAX ? is_taken(child, check, planned, id, settings.n_servers) : 1;
        r = taken != 0 ? end_taken(&settings, taken, ret) : run_and_ask(step, child->unit, check, planned, &settings, ret);
        suspect_device(step, child->unit, r);
        if (child->unit->chip < 0 && taken == 0 && unit_judge_silence(child->unit, step, ret) < 0)
                r = -ETIMEDOUT;
        if (taken == 0 && r >= 0)
                tell_unasked(step, child->unit, check, ret);
        child->unit->used_nsec += ret->device_nsec;
        say(child, stream_step_end(id, ret));
        ret->message = NULL;
        return r;
}

static void skip_for_budget(Child *child, const PlanStep *planned, const Check *check, const char *id) {
        StepEnd end = {
                .verdict = VERDICT_SKIPPED,
                .reason = REASON_BUDGET,
                .message = "the device time of the plan is used up",
                .required = planned->required,
                .seed = request_step_seed(child->unit->scan->request, planned->name),
                .runs = 1,
        };

        say(child, stream_step_start(id, check->name));
        say(child, stream_step_end(id, &end));
}

/* A first failure is run once more with the same seed, and so is what a job that began meanwhile may have been. Returns whether the
 * connection is still good. */
static bool run_step(Child *child) {
        Unit *unit = child->unit;
        const PlanStep *planned = unit_step(unit);
        const Check *check = unit_check(unit);
        char id[LOCATION_STRING_MAX + PLAN_NAME_MAX];

        (void) snprintf(id, sizeof(id), "%s:%s", unit->name, planned->name);
        if (unit->runs == 0 && budget_left(unit) <= 0) {
                skip_for_budget(child, planned, check, id);
                return true;
        }

        while (unit->runs < 2) {
                StepEnd end;
                int r = run_once(child, planned, check, id, &end);

                if (r == -ETIMEDOUT || r == -EHOSTDOWN || r == -EPROTO || end.occupancy == RUN_UNTOLD)
                        return false; /* the worker asks, and decides */
                if (end.occupancy == RUN_TAKEN) {
                        unit->withdrawn++;
                        continue;
                }
                if (end.verdict != VERDICT_FAILED)
                        break;
                unit->runs++;
        }

        unit_forget_runs(unit);
        return true;
}

/* ---- the process ---- */

static void close_others(const Unit *unit) {
        const Scan *scan = unit->scan;

        (void) dup2(scan->null_fd, STDIN_FILENO);
        (void) dup2(scan->null_fd, STDOUT_FILENO);
        (void) close(scan->null_fd);
        if (scan->input_fd > STDERR_FILENO)
                (void) close(scan->input_fd);
        if (scan->outlet.fd > STDERR_FILENO && scan->outlet.fd != scan->input_fd)
                (void) close(scan->outlet.fd);

        for (size_t i = 0; i < scan->n_units; i++)
                if (scan->units[i].fd >= 0)
                        (void) close(scan->units[i].fd);
}

static void confine(void) {
        const struct rlimit no_core = {}, descriptors = { DESCRIPTOR_MAX, DESCRIPTOR_MAX };
        const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };

        (void) setrlimit(RLIMIT_CORE, &no_core);
        (void) setrlimit(RLIMIT_NOFILE, &descriptors);
        if (MEMORY_IS_BOUNDED)
                (void) setrlimit(RLIMIT_DATA, &memory);
}

noreturn void child_run(Unit *unit, int fd) {
        const Plan *plan = unit->scan->request->plan;
        static Child child; /* zeroed pages that fork need not copy */

        /* The worker may have died before this took effect. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != unit->scan->pid)
                _exit(EXIT_FAILURE);

        close_others(unit);
        confine();
        child.unit = unit;
        child.fd = fd;

        for (; unit->current < plan->n_steps; unit->current++)
                if (!unit->done[unit->current] && !run_step(&child))
                        break;

        child_flush(&child);
        _exit(EXIT_SUCCESS);
}
