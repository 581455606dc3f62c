/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Drive: the runs, as many side by side as there are jobs. This process has one thread and believes nobody: a run that does not
 * end in time is ended, and whatever a worker says is read by the reader that the daemon uses.
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

#include "checks/vocabulary/catalogue.h"
#include "sim/qualify/disturbance.h"
#include "sim/qualify/player.h"
#include "sim/qualify/qualify.h"

#define MESSAGE_MAX 200u
#define TELL_MSEC   60000

typedef struct Slot {
        Player player;
        size_t run;
        int64_t deadline_msec;
        Disturbance disturbance;
        char *socket;
} Slot;

typedef struct Drive {
        Qualification *qualification;
        const char *folder;
        unsigned n_slots;
        Slot *slots;
        struct pollfd *watched; /* of the slots, then of the signals */
        size_t next, n_done;
        int64_t begun_msec, told_msec;
} Drive;

static int64_t now_msec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A hang is told by a deadline in wall time: where none is to be told, a busy machine must not look like one. */
static const char *deadline_scale(const Qualification *qualification, const Run *run) {
        if (qualification->order->deadline_scale)
                return qualification->order->deadline_scale;
        if (qualification->order->stalls)
                return NULL; /* as in service */
        return run->shared ? "2" : "20";
}

static int start(Drive *drive, Slot *slot) {
        const Qualification *qualification = drive->qualification;
        const Run *run = &qualification->runs[drive->next];
        _cleanup_free_ char *scenario = qualify_scenario(qualification, run);
        int r;

        slot->run = drive->next++;
        if (!scenario || asprintf(&slot->socket, "%s/%zu", drive->folder, slot->run) < 0) {
                slot->socket = NULL;
                return -ENOMEM;
        }
        PlayerOrder order = {
                .scenario = scenario,
                .socket   = slot->socket,
                .parts    = run->ring ? "us0-0,us0-1,us0-2,us0-3" : "trn-0",
                .worker   = qualification->order->worker,
                .plan     = qualification->order->plan,
                .seed     = run->worker_seed,
                .deadline_scale = deadline_scale(qualification, run),
        };

        slot->deadline_msec = now_msec() + (int64_t) qualification->order->timeout_sec * 1000;
        slot->disturbance = qualification->order->stalls ? disturbance_draw(run->seed, now_msec()) : (Disturbance) {};
        r = player_start(&order, &slot->player);
        if (r < 0)
                fprintf(stderr, "assay-sim qualify: a run could not be started: %s\n", strerror(-r));
        return r;
}

static void slot_clear(Slot *slot) {
        player_done(&slot->player);
        if (slot->socket)
                (void) unlink(slot->socket);
        free(TAKE_PTR(slot->socket));
}

/* The first line of what was complained about, as part of a sentence. */
static void explain(Slot *slot, int status, bool late, char text[static MESSAGE_MAX]) {
        char line[MESSAGE_MAX / 2] = "";
        int n;

        if (late) {
                (void) snprintf(text, MESSAGE_MAX, "it did not end in time");
                return;
        }
        if (slot->player.messages && fgets(line, sizeof(line), slot->player.messages))
                line[strcspn(line, "\n")] = '\0';
        n = status == PLAYER_KILLED ? snprintf(text, MESSAGE_MAX, "the worker was killed") :
            status == PLAYER_LOST   ? snprintf(text, MESSAGE_MAX, "the simulator broke off") :
                                      snprintf(text, MESSAGE_MAX, "the worker ended with status %d", status);
        if (line[0] != '\0' && n > 0)
                (void) snprintf(text + n, MESSAGE_MAX - (size_t) n, ": %s", line);
}

static bool is_judgement(int status) {
        return status == STATUS_PASSED || status == STATUS_FAILED || status == STATUS_CANNOT_TELL;
}

static bool is_as_it_should(const Qualification *qualification, const Run *run, size_t n_notes) {
        for (size_t i = 0; i < run->n; i++) {
                const Injected *injected = qualify_fault(qualification, run, i);

                if (!injected->fault.undetectable && injected->outcome != OUTCOME_LOCATED)
                        return false;
        }
        return qualification->n_notes == n_notes;
}

static int copy(FILE *from, const Drive *drive, const Slot *slot, const char *ending) {
        _cleanup_free_ char *path = NULL;
        char buffer[4096];
        bool wrong;
        FILE *to;
        size_t n;

        if (asprintf(&path, "%s/%zu.%s", drive->qualification->order->keep, slot->run, ending) < 0)
                return -ENOMEM;
        to = fopen(path, "we");
        if (!to)
                return -errno;
        rewind(from);
        while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
                (void) fwrite(buffer, 1, n, to);
        wrong = ferror(from) || ferror(to);
        return fclose(to) != 0 || wrong ? -EIO : 0;
}

/* The scenario and the stream of a run, by its number, so that it can be played again and looked at. */
static int keep(const Drive *drive, const Slot *slot) {
        _cleanup_free_ char *text = qualify_scenario(drive->qualification, &drive->qualification->runs[slot->run]);
        _cleanup_(fclosep) FILE *scenario = text ? fmemopen(text, strlen(text), "r") : NULL;
        int r;

        if (!scenario)
                return -ENOMEM;
        r = copy(scenario, drive, slot, "yaml");
        return r < 0 ? r : copy(slot->player.stream, drive, slot, "json");
}

/* A run is over, or too LATE. */
static int finish(Drive *drive, Slot *slot, bool late) {
        Qualification *qualification = drive->qualification;
        const Run *run = &qualification->runs[slot->run];
        size_t n_notes = qualification->n_notes;
        _cleanup_(observation_freep) Observation *observation = NULL;
        char why[MESSAGE_MAX] = "";
        int status, r;

        status = late ? PLAYER_LOST : player_end(&slot->player);
        if (!late && is_judgement(status)) {
                _cleanup_free_ char *said = NULL;
                size_t n_said;
                FILE *out = open_memstream(&said, &n_said);

                if (!out)
                        return -ENOMEM;
                r = observation_read(slot->player.stream, &observation, out);
                if (fclose(out) != 0 || r == -ENOMEM)
                        return -ENOMEM;
                (void) snprintf(why, sizeof(why), "%.*s", said ? (int) strcspn(said, "\n") : 0, said ? said : "");
        } else
                explain(slot, status, late, why);

        if (status == STATUS_USAGE) {
                fprintf(stderr, "assay-sim qualify: %s\n", why);
                qualification->refused = true;
                return -EINVAL;
        }
        r = qualify_score(qualification, run, observation, why[0] ? why : NULL);
        if (r >= 0 && qualification->order->keep && !is_as_it_should(qualification, run, n_notes))
                r = keep(drive, slot);
        slot_clear(slot);
        drive->n_done++;
        return r;
}

static int wait_for_any(Drive *drive) {
        int64_t first = INT64_MAX, left;
        struct signalfd_siginfo taken;

        for (unsigned i = 0; i < drive->n_slots; i++) {
                const Slot *slot = &drive->slots[i];

                drive->watched[i] = (struct pollfd) { .fd = slot->player.pidfd, .events = POLLIN };
                if (slot->player.pidfd >= 0)
                        first = MIN(first, MIN(slot->deadline_msec, disturbance_next(&slot->disturbance)));
        }
        left = first - now_msec();
        if (poll(drive->watched, drive->n_slots + 1, left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int) left) < 0 && errno != EINTR)
                return -errno;
        if (!drive->watched[drive->n_slots].revents)
                return 0;
        /* Taken, so that it does not end us once it is let through again. */
        return read(drive->watched[drive->n_slots].fd, &taken, sizeof(taken)) < 0 ? -errno : -EINTR;
}

/*
 * Runs of chips come first, those with faults of a link or a hang, which wait, after them: that is not foreseen. A terminal sees it go on;
 * whoever reads a file is told once, by the first scans, and only of what takes long.
 */
static void show_progress(Drive *drive) {
        size_t n = drive->qualification->n_runs;
        int64_t now = now_msec(), left = (now - drive->begun_msec) * (int64_t) (n - drive->n_done) / (int64_t) drive->n_done;

        if (isatty(STDERR_FILENO)) {
                fprintf(stderr, "\r%zu of %zu scans", drive->n_done, n);
                if (drive->n_done < n)
                        fprintf(stderr, ", about %" PRId64 ":%02" PRId64 " min left ", left / 60000, left / 1000 % 60);
                else
                        fprintf(stderr, ", %" PRId64 " s%20s\n", (now - drive->begun_msec) / 1000, "");
        } else if (drive->told_msec == 0 && drive->n_done >= MIN(drive->n_slots * 2, n)) {
                drive->told_msec = now;
                if (left > TELL_MSEC)
                        fprintf(stderr, "assay-sim qualify: %zu scans, about %" PRId64 " min by the first %zu of them\n", n,
                                (left + 59999) / 60000, drive->n_done);
        }
}

static int play_all(Drive *drive) {
        int r = 0;

        while (drive->n_done < drive->qualification->n_runs) {
                for (unsigned i = 0; i < drive->n_slots && drive->next < drive->qualification->n_runs && r >= 0; i++)
                        if (drive->slots[i].player.pidfd < 0)
                                r = start(drive, &drive->slots[i]);
                if (r >= 0)
                        r = wait_for_any(drive);
                for (unsigned i = 0; i < drive->n_slots && r >= 0; i++) {
                        Slot *slot = &drive->slots[i];

                        if (slot->player.pidfd >= 0)
                                disturbance_act(&slot->disturbance, slot->player.pid, now_msec());
                        if (slot->player.pidfd >= 0 && (drive->watched[i].revents || now_msec() >= slot->deadline_msec))
                                r = finish(drive, slot, !drive->watched[i].revents);
                }
                if (r < 0)
                        return r;
                if (drive->n_done > 0)
                        show_progress(drive);
        }
        return 0;
}

/* From here on these signals only make the poll return: what is running must be ended, and the folder removed. */
static int catch_signals(sigset_t *ret_before) {
        sigset_t mask;
        int fd;

        sigemptyset(&mask);
        sigaddset(&mask, SIGINT);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGHUP);
        if (sigprocmask(SIG_BLOCK, &mask, ret_before) < 0)
                return -errno;
        fd = signalfd(-1, &mask, SFD_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static unsigned jobs_wanted(const Qualification *qualification) {
        long n = qualification->order->jobs > 0 ? (long) qualification->order->jobs : sysconf(_SC_NPROCESSORS_ONLN);

        if (n < 1)
                n = 1;
        return (size_t) n > qualification->n_runs ? (unsigned) qualification->n_runs : (unsigned) n;
}

int qualify_drive(Qualification *qualification) {
        const char *folder = getenv("TMPDIR");
        _cleanup_free_ char *path = NULL;
        _cleanup_free_ struct pollfd *watched = NULL;
        _cleanup_free_ Slot *slots = NULL;
        _cleanup_close_ int signals = -EBADF;
        Drive drive = { .qualification = qualification, .n_slots = jobs_wanted(qualification) };
        sigset_t before;
        int r;

        if (qualification->n_runs == 0)
                return 0;
        slots = drive.slots = calloc(drive.n_slots, sizeof(*slots));
        watched = drive.watched = calloc(drive.n_slots + 1, sizeof(*watched));
        if (!slots || !watched || asprintf(&path, "%s/assay-qualify.XXXXXX", folder && folder[0] == '/' ? folder : "/tmp") < 0)
                return -ENOMEM;
        for (unsigned i = 0; i < drive.n_slots; i++)
                slots[i].player = PLAYER_NONE;
        drive.begun_msec = now_msec();
        drive.folder = mkdtemp(path);
        if (!drive.folder)
                return -errno;
        r = signals = catch_signals(&before);
        if (r >= 0) {
                watched[drive.n_slots] = (struct pollfd) { .fd = signals, .events = POLLIN };
                r = play_all(&drive);
                for (unsigned i = 0; i < drive.n_slots; i++)
                        slot_clear(&slots[i]);
                /* Who is stopped is often told so twice, as timeout(1) and a terminal tell process and group: then what was judged is
                 * still to be said. */
                if (r != -EINTR)
                        (void) sigprocmask(SIG_SETMASK, &before, NULL);
        }
        (void) rmdir(path);
        return r;
}
