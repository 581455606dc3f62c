/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/checks/worker/selftest-scan.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "checks/step/monotonic.h"

#define ARGUMENTS_MAX 24

const char *selftest_worker(void) {
        const char *path = getenv("ASSAY_RUN_SELFTEST");

        return path ? path : "tests/checks/selftest/assay-run-selftest";
}

static char folder[] = "/tmp/assay-selftest-XXXXXX";

static void remove_folder(void) {
        static const char *const files[] = { "socket", "selftest.yaml" };

        for (size_t i = 0; i < ELEMENTS(files); i++) {
                char path[sizeof(folder) + 32];

                (void) snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
                (void) unlink(path);
        }
        (void) rmdir(folder);
}

const char *selftest_folder(void) {
        static bool is_made; /* which its name does not tell: it may end in an X as well */

        if (!is_made) {
                if (!mkdtemp(folder))
                        abort();
                (void) atexit(remove_folder);
                is_made = true;
        }

        return folder;
}

void selftest_write_plan(const char *path, const char *const *steps, const char *more) {
        FILE *file = fopen(path, "we");

        if (!file)
                abort();
        fputs("plan: selftest\nsummary: checks that misbehave\nstage: PREFLIGHT\nbudget: 10\nsteps:\n",
              file);
        for (; *steps; steps++)
                fprintf(file, "  - check: %s\n", *steps);
        fputs(more, file);
        fclose(file);
}

/* ---- the stream ---- */

static void take_finding(SelftestScan *scan, const Event *event) {
        const Finding *finding = &event->finding;
        ScanFinding *ret = &scan->findings[scan->n_findings];

        if (scan->n_findings++ >= SCAN_FINDINGS_MAX - 1)
                abort();
        (void) snprintf(ret->unit, sizeof(ret->unit), "%s", event->unit);
        (void) snprintf(ret->step, sizeof(ret->step), "%s", event->step);
        (void) snprintf(ret->code, sizeof(ret->code), "%s", finding->code);
        (void) snprintf(ret->message, sizeof(ret->message), "%s", finding->message);
        (void) snprintf(ret->actual, sizeof(ret->actual), "%s", finding->evidence.actual ? finding->evidence.actual : "");
        (void) snprintf(ret->replaceable, sizeof(ret->replaceable), "%s",
                        finding->evidence.replaceable ? finding->evidence.replaceable : "");
        (void) location_format(&finding->where, ret->where);
        ret->reproduced = finding->reproduced;
        ret->runs = finding->runs;
}

static ScanStep *find_step(SelftestScan *scan, const char *unit, const char *step) {
        for (size_t i = 0; i < scan->n_steps; i++)
                if (strcmp(scan->steps[i].unit, unit) == 0 && strcmp(scan->steps[i].step, step) == 0)
                        return &scan->steps[i];

        return NULL;
}

static void take_part(SelftestScan *scan, const Event *event) {
        ScanPart *part = &scan->parts[scan->n_parts++];

        (void) snprintf(part->step, sizeof(part->step), "%s", event->step);
        (void) location_format(&event->part, part->where);
        part->verdict = event->verdict;
}

static int take_event(const Event *event, void *userdata) {
        SelftestScan *scan = userdata;
        ScanStep *step = find_step(scan, event->unit, event->step);

        if (event->type == EVENT_STEP_START) {
                step = &scan->steps[scan->n_steps++];
                (void) snprintf(step->unit, sizeof(step->unit), "%s", event->unit);
                (void) snprintf(step->step, sizeof(step->step), "%s", event->step);
        }
        if (event->type == EVENT_STEP_END) {
                step->ended = true;
                step->end = event->end;
                (void) snprintf(step->message, sizeof(step->message), "%s",
                                event->end.message ? event->end.message : "");
        }
        if (event->type == EVENT_FINDING)
                take_finding(scan, event);
        if (event->type == EVENT_PART_DONE)
                take_part(scan, event);
        if (event->type == EVENT_RUN_END) {
                scan->ended = true;
                scan->result = event->result;
        }
        scan->n_errors += event->type == EVENT_ERROR;
        scan->n_hardware += event->type == EVENT_HARDWARE;
        scan->n_particulars += event->type == EVENT_PARTICULARS;
        scan->n_run_starts += event->type == EVENT_RUN_START;
        scan->n_measurements += event->type == EVENT_MEASUREMENT;
        return 0;
}

void selftest_read(SelftestScan *scan, int fd, uint64_t first) {
        _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
        char bytes[4096];
        ssize_t n;

        if (stream_reader_new(true, first, take_event, scan, &reader) < 0)
                abort();
        while ((n = read(fd, bytes, sizeof(bytes))) > 0 && scan->read >= 0)
                scan->read = stream_reader_feed(reader, bytes, (size_t) n);
        if (scan->read >= 0)
                scan->read = stream_reader_end(reader);
        if (scan->read < 0)
                fprintf(stderr, "the stream: %s\n", stream_reader_error(reader));
}

/* ---- the worker ---- */

static void exec_worker(const char *device, const char *plan, const char *const *arguments, int fd) {
        const char *argv[ARGUMENTS_MAX] = { selftest_worker(), "--device", device, "--plan", plan };

        for (size_t i = 0; arguments && arguments[i]; i++)
                argv[5 + i] = arguments[i];
        (void) dup2(fd, STDOUT_FILENO);
        (void) execv(argv[0], (char *const *) argv);
        _exit(126);
}

SelftestScan *selftest_scan(const FakeOptions *options, const char *parts, const char *const *steps,
                            const char *const *arguments) {
        SelftestScan *scan = calloc(1, sizeof(*scan));
        char plan[128], socket[128], device[256];
        FakeOptions with_path = *options;
        uint64_t start = monotonic_usec();
        pid_t server, worker;
        int fds[2];

        (void) snprintf(plan, sizeof(plan), "%s/selftest.yaml", selftest_folder());
        (void) snprintf(socket, sizeof(socket), "%s/socket", selftest_folder());
        (void) snprintf(device, sizeof(device), "sim:%s#%s", socket, parts);
        selftest_write_plan(plan, steps, "");
        with_path.path = socket;
        server = fake_server_start(&with_path);
        if (!scan || pipe2(fds, O_CLOEXEC) < 0)
                abort();

        worker = fork();
        if (worker == 0)
                exec_worker(device, plan, arguments, fds[1]);

        close(fds[1]);
        selftest_read(scan, fds[0], 0);
        close(fds[0]);
        (void) waitpid(worker, &scan->status, 0);
        scan->status = WIFEXITED(scan->status) ? WEXITSTATUS(scan->status) : -1;
        scan->seconds = (double) (monotonic_usec() - start) / 1e6;
        fake_server_stop(server);
        return scan;
}

SelftestScan *selftest_scan_free(SelftestScan *scan) {
        free(scan);
        return NULL;
}

const ScanStep *selftest_step(const SelftestScan *scan, const char *unit, const char *step) {
        return find_step((SelftestScan *) scan, unit, step);
}

const ScanFinding *selftest_finding(const SelftestScan *scan, const char *where, const char *code) {
        for (size_t i = 0; i < scan->n_findings; i++)
                if (strcmp(scan->findings[i].where, where) == 0 && strcmp(scan->findings[i].code, code) == 0)
                        return &scan->findings[i];

        return NULL;
}
