/* SPDX-License-Identifier: Apache-2.0 */

/* Unit: see unit.h. This part keeps the child process. */

#include "checks/worker/unit.h"

#include <assert.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "checks/step/monotonic.h"
#include "checks/worker/child.h"

void unit_init(Unit *unit, Scan *scan, size_t server, int chip) {
        const Plan *plan = scan->request->plan;

        *unit = (Unit) { .scan = scan, .server = server, .chip = chip, .fd = -EBADF };
        memcpy(unit->where.server, scan->servers[server].target->name, LOCATION_SERVER_NAME_MAX);
        if (chip >= 0)
                (void) location_append(&unit->where, LOCATION_CHIP, (unsigned) chip);
        (void) location_format(&unit->where, unit->name);

        for (size_t i = 0; i < plan->n_steps; i++) {
                const Check *check = check_find(plan->steps[i].check->name);

                /* A word without its judge is reported by the chips, as an error. */
                unit->done[i] = (check ? check->unit : LOCATION_CHIP) != location_kind(&unit->where);
        }
}

const PlanStep *unit_step(const Unit *unit) {
        return &unit->scan->request->plan->steps[unit->current];
}

const Check *unit_check(const Unit *unit) {
        return check_find(unit_step(unit)->check->name);
}

/* ---- the child's life ---- */

static void close_devices(Unit *unit) {
        for (size_t i = 0; i < unit->scan->n_servers; i++)
                unit->servers[i].device = device_free(unit->servers[i].device);
}

static void describe_server(const Unit *unit, size_t index, StepServer *ret) {
        const ScanServer *server = &unit->scan->servers[index];

        *ret = (StepServer) {};
        memcpy(ret->name, server->target->name, sizeof(ret->name));
        ret->unasked = (uint16_t) ~server->target->chips;
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                const ChipFacts *facts = &server->inventory.chips[chip];
                bool asked = server->target->chips & (1u << chip);

                memcpy(ret->trays[chip], facts->tray, sizeof(ret->trays[chip]));
                ret->absent |= (uint16_t) ((unsigned) (asked && facts->absent) << chip);
                ret->at_rest |= (uint16_t) ((unsigned) (asked && !facts->occupied && !isnan(facts->temperature)) << chip);
                ret->temperatures[chip] = facts->temperature;
        }
}

/* Whether a chip of SERVER carries SERIAL: its number, or -1. *ret_all: all its chips have told theirs. */
static int find_serial(const ScanServer *server, const char *serial, bool *ret_all) {
        int found = -1;

        *ret_all = true;
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                const char *other = server->inventory.chips[chip].serial;

                *ret_all = *ret_all && other[0];
                if (found < 0 && strcmp(other, serial) == 0)
                        found = (int) chip;
        }
        return found;
}

/* Chips of one server see each other's serial numbers, those of several do not. */
static void find_twin(Unit *unit) {
        const char *serial = unit->scan->servers[unit->server].inventory.chips[unit->chip].serial;
        bool all_told = serial[0];

        unit->twin = (Location) {};
        for (size_t s = 0; s < unit->scan->n_servers && serial[0]; s++) {
                const ScanServer *server = &unit->scan->servers[s];
                bool all;
                int chip;

                if (s == unit->server)
                        continue;
                chip = find_serial(server, serial, &all);
                all_told = all_told && all;
                if (chip < 0 || unit->twin.server[0])
                        continue;
                memcpy(unit->twin.server, server->target->name, sizeof(unit->twin.server));
                (void) location_append(&unit->twin, LOCATION_CHIP, (unsigned) chip);
        }
        unit->n_twin_servers = all_told ? (unsigned) unit->scan->n_servers - 1 : 0;
}

/* The unit's own server comes first; a chip knows no other. */
static int open_devices(Unit *unit) {
        size_t n = unit->chip >= 0 ? 1 : unit->scan->n_servers;
        int r;

        if (unit->chip >= 0)
                find_twin(unit);
        for (size_t i = 0; i < n; i++) {
                size_t index = (unit->server + i) % unit->scan->n_servers;

                describe_server(unit, index, &unit->servers[i]);
                if (unit->scan->servers[index].error < 0)
                        continue;

                r = scan_open(unit->scan, index, unit->chip >= 0 ? (unsigned) unit->chip : WIRE_CHIP_ALL,
                              SCAN_WINDOW_BYTES, &unit->servers[i].device);
                if (r < 0 && i == 0)
                        return r;
        }

        return 0;
}

static void set_deadline(Unit *unit) {
        double usec = unit_check(unit)->deadline_sec * 1e6 * unit->scan->request->deadline_scale;

        unit->deadline_usec = monotonic_usec() + (uint64_t) usec;
}

static int fork_child(Unit *unit) {
        _cleanup_close_ int reading = -EBADF, writing = -EBADF;
        int fds[2];
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        reading = fds[0];
        writing = fds[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0) {
                (void) close(reading);
                child_run(unit, writing);
        }

        unit->pid = pid;
        unit->fd = TAKE_FD(reading);
        unit->progressed = unit->expired = false;
        unit->n_buffer = unit->n_bytes = 0;
        set_deadline(unit);
        return 0;
}

static int new_reader(Unit *unit) {
        unit->reader = stream_reader_free(unit->reader);
        return stream_reader_new(false, 0, unit_on_event, unit, &unit->reader);
}

/* The child has its connections by inheritance; what we opened for it is closed here again, so that no other
 * child gets it too and the device notices when this one dies. */
static int start_child(Unit *unit) {
        int r;

        if (!unit->buffer)
                unit->buffer = malloc(STREAM_LINE_MAX + 1);
        r = unit->buffer ? new_reader(unit) : -ENOMEM;
        if (r >= 0)
                r = open_devices(unit);
        if (r >= 0)
                r = fork_child(unit);
        close_devices(unit);
        return r;
}

/* The server was there when the scan began. ERROR is of a connection to it. */
static bool is_gone(int error) {
        return error == -ECONNREFUSED || error == -ENOENT || error == -ENODEV;
}

/* Starts a child for the steps that are left, if any. A step whose child cannot be had is an error. */
static void go_on(Unit *unit) {
        for (;;) {
                int r;

                unit_skip(unit);
                if (unit->current >= unit->scan->request->plan->n_steps)
                        return;

                r = start_child(unit);
                if (r >= 0)
                        return;
                unit_refuse(unit, is_gone(r) ? -ENODEV : r, is_gone(r) ? STEP_SERVER_GONE : "no connection to the device, or no process for it");
                if (r == -EHOSTDOWN)
                        unit_give_up(unit,
                                     "the device does not answer"); /* each try would cost a whole patience */
        }
}

/* Returns how the child ended; it does end. */
static int reap(Unit *unit) {
        int status = 0;

        (void) kill(unit->pid, SIGKILL);
        while (waitpid(unit->pid, &status, 0) < 0 && errno == EINTR)
                ;
        unit->pid = 0;
        unit->fd = close_fd(unit->fd);
        return status;
}

/* The sentence for all steps of a part that gave no account of itself. */
static const char *sentence_of(int error) {
        return error == -EPROTO ? "the device gives answers that no device may give" :
               error == -ENODEV ? STEP_SERVER_GONE :
                                  "the part did not tell what it is";
}

void unit_start(Unit *unit) {
        const ScanServer *server = &unit->scan->servers[unit->server];
        int error = unit->chip >= 0 ? server->inventory.chips[unit->chip].error : server->error;

        if (server->error < 0)
                error = server->error;
        if (error == 0 || server->error == -EBUSY) {
                go_on(unit);
                return;
        }

        unit_skip(unit);
        if (unit->current < unit->scan->request->plan->n_steps)
                unit_refuse(unit, error, sentence_of(error));
        unit_give_up(unit, sentence_of(error));
}

void unit_done(Unit *unit) {
        if (unit_is_running(unit))
                (void) reap(unit);
        unit->reader = stream_reader_free(unit->reader);
        findings_clear(&unit->findings);
        outcome_clear(&unit->outcome);
        free(unit->buffer);
        unit->buffer = NULL;
}

/* ---- what it writes ---- */

/* The child is lost: by a fault of its own, or because we killed it. */
static void lose_child(Unit *unit, Reason reason, const char *message) {
        (void) reap(unit);
        unit_lose(unit, reason, message);
        go_on(unit);
}

static void act(Unit *unit) {
        UnitNext next = unit->next;

        unit->next = UNIT_GO_ON;
        switch (next) {
        case UNIT_GO_ON:
                if (unit->current >= unit->scan->request->plan->n_steps)
                        (void) reap(unit);
                else if (!unit->open)
                        set_deadline(unit);
                return;
        case UNIT_RETEST:
                if (new_reader(unit) < 0)
                        lose_child(unit, REASON_RESOURCE, "no memory to read the retest");
                else
                        set_deadline(unit);
                return;
        case UNIT_GIVE_UP:
                (void) reap(unit);
                unit_give_up(unit, "the device stopped answering in an earlier step");
                return;
        case UNIT_RETEST_FRESH:
        case UNIT_FRESH:
                (void) reap(unit);
                go_on(unit);
                return;
        }
}

/* Takes one whole line. Returns whether this child goes on. */
static bool take_line(Unit *unit, char *line, size_t n) {
        pid_t pid = unit->pid;
        bool was_open = unit->open;
        int r;

        unit->line = line;
        unit->n_line = n;
        unit->n_bytes += n;
        unit->message[0] = '\0';

        r = unit->n_bytes > UNIT_STEP_BYTES_MAX ? -EPROTO : stream_reader_feed(unit->reader, line, n);
        if (r < 0) {
                const char *why = unit->message[0] != '\0' ? unit->message :
                                  unit->n_bytes > UNIT_STEP_BYTES_MAX ? "more output than a step may have" :
                                  stream_reader_error(unit->reader);
                char message[STREAM_MESSAGE_MAX];

                (void) snprintf(message, sizeof(message), "%s",
                                why && why[0] ? why : "its output cannot be read");
                lose_child(unit, r == -ENOMEM ? REASON_RESOURCE : REASON_PROTOCOL, message);
                return false;
        }

        if (unit->open && !was_open)
                set_deadline(unit);
        else if (unit->next != UNIT_GO_ON || unit->open != was_open)
                act(unit);
        return unit->pid == pid;
}

static void take_lines(Unit *unit) {
        char *start = unit->buffer, *end;
        size_t left = unit->n_buffer;

        while ((end = memchr(start, '\n', left)) != NULL) {
                size_t n = (size_t) (end - start) + 1;

                if (!take_line(unit, start, n))
                        return;
                start += n;
                left -= n;
        }

        if (left >= STREAM_LINE_MAX) {
                lose_child(unit, REASON_PROTOCOL, "a line longer than allowed");
                return;
        }

        memmove(unit->buffer, start, left);
        unit->n_buffer = left;
}

/* It closed its end: by crashing, or because it could not go on. */
static void take_end(Unit *unit) {
        char message[128];
        int status = reap(unit);

        if (unit->expired)
                (void) snprintf(message, sizeof(message), "no end within %u s, times %g",
                                unit_check(unit)->deadline_sec, unit->scan->request->deadline_scale);
        else if (WIFSIGNALED(status))
                (void) snprintf(message, sizeof(message), "the child died of SIG%s",
                                sigabbrev_np(WTERMSIG(status)));
        else
                (void) snprintf(message, sizeof(message), "the child left with status %d",
                                WEXITSTATUS(status));

        if (unit->open)
                (void) stream_reader_end(unit->reader); /* a finding may still wait for its evidence */
        if (unit->open || !unit->progressed)
                unit_lose(unit, unit->expired ? REASON_WORKER_TIMEOUT : REASON_WORKER_CRASHED, message);
        go_on(unit);
}

void unit_read(Unit *unit) {
        ssize_t n;

        assert(unit_is_running(unit));

        n = read(unit->fd, unit->buffer + unit->n_buffer, STREAM_LINE_MAX - unit->n_buffer);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return;
        if (n <= 0) {
                take_end(unit);
                return;
        }

        unit->n_buffer += (size_t) n;
        take_lines(unit);
}

/* What it wrote until now still counts: its end is read like any other. */
void unit_expire(Unit *unit, uint64_t now_usec) {
        if (!unit_is_running(unit) || unit->expired || now_usec < unit->deadline_usec)
                return;

        unit->expired = true;
        (void) kill(unit->pid, SIGKILL);
}
