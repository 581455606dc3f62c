/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/scan-watch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/options.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/say.h"
#include "daemon/names.h"

#define LEAVE_SEC 60 /* after that long the scan is left to itself: it may take hours, and its daemon be stopped for a minute */
#define ROUNDS    6  /* of liveness_wait(), for the answer to a cancellation: leaving the bus before takes it back */

static void stop_hearing(ScanWatch *watch) {
        sigset_t interrupt;

        if (watch->interrupts < 0)
                return;
        (void) sigemptyset(&interrupt);
        (void) sigaddset(&interrupt, SIGINT);
        watch->interrupts = close_fd(watch->interrupts);
        (void) sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

void scan_watch_done(ScanWatch *watch) {
        stop_hearing(watch);
        progress_clear();
        liveness_done(&watch->liveness);
        sd_bus_message_unref(watch->accepted);
        sd_bus_error_free(&watch->error);
        for (size_t i = 0; i < watch->n_told; i++)
                free(watch->told[i]);
}

/* Steps of a plan that test the same thing find the same: each is told once, as far as there is room to remember. */
static bool is_news(ScanWatch *watch, const char *line) {
        for (size_t i = 0; i < watch->n_told; i++)
                if (strcmp(watch->told[i], line) == 0)
                        return false;
        if (watch->n_told < SCAN_WATCH_TOLD_MAX && (watch->told[watch->n_told] = strdup(line)))
                watch->n_told++;
        return true;
}

static bool is_of_scan(const ScanWatch *watch, sd_bus_message *message) {
        return watch->path && sd_bus_message_get_path(message) && strcmp(sd_bus_message_get_path(message), watch->path) == 0;
}

static int on_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;

        watch->changed = watch->changed || is_of_scan(watch, message);
        return 0;
}

static int on_finding(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;
        const char *severity, *code, *where, *text;
        _cleanup_free_ char *line = NULL;

        if (options.json || options.quiet || !is_of_scan(watch, message))
                return 0;
        if (sd_bus_message_read(message, "ssss", &severity, &code, &where, &text) < 0)
                return 0;

        if (asprintf(&line, "%s: %s at %s", severity, code, where) < 0) {
                line = NULL;
                return -ENOMEM;
        }
        if (is_news(watch, line)) {
                progress_clear();
                say(stderr, "%s\n", line);
        }
        return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;
        const char *name, *old_owner, *new_owner;

        if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 && *old_owner && !*new_owner)
                watch->lost = true;
        return 0;
}

/* Before the scan starts, or its first signals are missed. */
static int subscribe(ScanWatch *watch) {
        int r;

        r = sd_bus_match_signal_async(watch->bus, NULL, ASSAY_BUS_NAME, NULL, "org.freedesktop.DBus.Properties",
                                      "PropertiesChanged", on_changed, NULL, watch);
        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(watch->bus, NULL, ASSAY_BUS_NAME, NULL, ASSAY_SCAN_INTERFACE, "Finding", on_finding, NULL, watch);
        if (r < 0)
                return r;
        return sd_bus_add_match_async(watch->bus, NULL,
                                      "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" ASSAY_BUS_NAME "'",
                                      on_owner, NULL, watch);
}

/* Whether REPLY is one; else the watch ends with what it says. */
static bool is_answer(ScanWatch *watch, sd_bus_message *reply) {
        if (!sd_bus_message_is_method_error(reply, NULL))
                return true;
        if (watch->result == 0) {
                watch->result = -sd_bus_message_get_errno(reply) ?: -EIO;
                (void) sd_bus_error_copy(&watch->error, sd_bus_message_get_error(reply));
        }
        return false;
}

/* ---- its state ---- */

static int on_state(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;
        const char *state;

        watch->n_open--;
        if (is_answer(watch, reply) && sd_bus_message_read(reply, "v", "s", &state) >= 0) {
                (void) snprintf(watch->state, sizeof(watch->state), "%s", state);
                watch->finished = strcmp(state, ASSAY_STATE_FINISHED) == 0;
        }
        return 0;
}

/* Only while it is signed: then the log does not take its records, and nobody knows for how long. */
static int on_message(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;
        const char *message;

        watch->n_open--;
        if (is_answer(watch, reply) && sd_bus_message_read(reply, "v", "s", &message) >= 0 && *message && !watch->finished) {
                (void) snprintf(watch->refusal, sizeof(watch->refusal), "%s", message);
                watch->finished = true;
        }
        return 0;
}

static int on_progress(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;

        watch->n_open--;
        if (is_answer(watch, reply) && sd_bus_message_read(reply, "v", "u", &watch->percent) >= 0 && !watch->finished)
                progress_draw(watch->what, watch->state, watch->percent);
        return 0;
}

static int ask(ScanWatch *watch, const char *property, sd_bus_message_handler_t take) {
        int r;

        r = sd_bus_call_method_async(watch->bus, NULL, ASSAY_BUS_NAME, watch->path, "org.freedesktop.DBus.Properties", "Get", take, watch, "ss",
                                     ASSAY_SCAN_INTERFACE, property);
        watch->n_open += r >= 0;
        return r;
}

/* Without waiting for the answer, so that Ctrl-C is heard whatever the daemon does. */
static int ask_state(ScanWatch *watch) {
        int r;

        watch->changed = false;
        r = ask(watch, "State", on_state);
        if (r >= 0)
                r = ask(watch, "Message", on_message);
        return r < 0 ? r : ask(watch, "Progress", on_progress);
}

/* ---- Ctrl-C ---- */

/* From here on it is read and not died of. Whoever ignores it, as a shell makes what it starts with `&` do, goes on to. */
static int hear_interrupts(ScanWatch *watch) {
        struct sigaction action;
        sigset_t interrupt;

        (void) sigemptyset(&interrupt);
        (void) sigaddset(&interrupt, SIGINT);
        if (sigaction(SIGINT, NULL, &action) < 0 || action.sa_handler == SIG_IGN)
                return 0;
        if (sigprocmask(SIG_BLOCK, &interrupt, NULL) < 0)
                return -errno;
        watch->interrupts = signalfd(-1, &interrupt, SFD_CLOEXEC | SFD_NONBLOCK);
        return watch->interrupts < 0 ? -errno : 0;
}

static int on_cancelled(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *why = sd_bus_message_get_error(reply);
        ScanWatch *watch = userdata;

        watch->is_cancelled = !why || sd_bus_error_has_name(why, ASSAY_ERROR_SCAN_FINISHED);
        if (!watch->is_cancelled)
                (void) complain(0, "could not cancel the scan: %s", why->message ?: why->name);
        return 0;
}

static int cancel(ScanWatch *watch) {
        watch->cancels_later = liveness_silent_sec(&watch->liveness) >= LIVENESS_TELL_SEC;
        if (watch->cancels_later)
                return complain(0, "scan %" PRIu64 " is cancelled when assayd answers again, if somebody still waits for it; Ctrl-C again does not wait", watch->id);
        (void) complain(0, "cancelling scan %" PRIu64 ", waiting for its records; Ctrl-C again does not wait", watch->id);
        return sd_bus_call_method_async(watch->bus, NULL, ASSAY_BUS_NAME, watch->path, ASSAY_SCAN_INTERFACE, "Cancel", on_cancelled, watch, "t",
                                        (uint64_t) 0);
}

/* The daemon cancels for nobody who has left the bus: it could not tell who that was. */
static int leave(ScanWatch *watch) {
        for (unsigned left = ROUNDS; left > 0 && !watch->is_cancelled; left--) {
                int r = 0;

                while ((r = sd_bus_process(watch->bus, NULL)) > 0)
                        continue;
                if (r < 0 || (!watch->is_cancelled && liveness_wait(&watch->liveness, -1) < 0))
                        break;
        }
        if (watch->is_cancelled)
                (void) complain(0, "left scan %" PRIu64 " to assayd, which cancels it: assayctl show %" PRIu64, watch->id, watch->id);
        else
                (void) complain(0, "left scan %" PRIu64 ", which is not cancelled: assayd does not answer (stopped?). It goes on when assayd does: assayctl cancel %" PRIu64,
                                watch->id, watch->id);
        return -EINTR;
}

/* 0, or -EINTR: the scan is left alone. */
static int take_interrupts(ScanWatch *watch) {
        struct signalfd_siginfo info;
        int r = 0;

        while (r >= 0 && watch->interrupts >= 0 && read(watch->interrupts, &info, sizeof(info)) == (ssize_t) sizeof(info)) {
                progress_clear();
                if (!watch->path) {
                        (void) complain(0, "left before assayd has answered: no scan was begun, as far as is known; assayctl scans lists them");
                        return -EINTR;
                }
                r = watch->n_interrupts++ > 0 ? leave(watch) : cancel(watch);
        }
        return r < 0 ? r : 0;
}

/* ---- waiting ---- */

/* 0, or -ETIMEDOUT. */
static int mind_silence(ScanWatch *watch) {
        unsigned silent = liveness_silent_sec(&watch->liveness);

        if (!watch->path)
                return silent >= LIVENESS_SEC ? -ETIMEDOUT : 0;
        if (silent >= LEAVE_SEC) {
                progress_clear();
                return complain(-ETIMEDOUT, "left scan %" PRIu64 ": assayd has not answered for %u s. It goes on when assayd does: assayctl show %" PRIu64, watch->id,
                                silent, watch->id);
        }
        if (watch->told_silence != (silent >= LIVENESS_TELL_SEC)) {
                progress_clear();
                watch->told_silence = !watch->told_silence;
                (void) complain(0, watch->told_silence ? "assayd does not answer (stopped?): waiting for it with scan %" PRIu64 : "assayd answers again: scan %" PRIu64 " goes on",
                                watch->id);
        }
        return watch->cancels_later && !watch->told_silence ? cancel(watch) : 0;
}

static int wait_for_news(ScanWatch *watch) {
        int r;

        r = liveness_wait(&watch->liveness, watch->interrupts);
        if (r >= 0)
                r = mind_silence(watch);
        return r < 0 ? r : take_interrupts(watch);
}

static int wait_until(ScanWatch *watch, const bool *is_over) {
        int r = 0;

        while (r >= 0 && !*is_over) {
                if (watch->path && watch->lost)
                        return -ECONNRESET;
                if (watch->result < 0)
                        return watch->result;
                if (watch->path && watch->changed && watch->n_open == 0) {
                        r = ask_state(watch);
                        continue;
                }
                r = sd_bus_process(watch->bus, NULL);
                if (r == 0)
                        r = wait_for_news(watch);
        }
        return r < 0 ? r : 0;
}

static int on_accepted(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        ScanWatch *watch = userdata;

        if (!is_answer(watch, reply))
                return 0;
        watch->accepted = sd_bus_message_ref(reply);
        watch->result = sd_bus_message_read(reply, "to", &watch->id, &watch->path);
        if (watch->result > 0)
                watch->result = 0;
        watch->changed = watch->is_accepted = watch->result == 0;
        return 0;
}

int scan_watch_start(ScanWatch *watch, sd_bus *bus, const char *what, sd_bus_message *request) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        int r;

        watch->bus = watch->liveness.bus = bus;
        watch->what = what;
        r = hear_interrupts(watch);
        if (r >= 0)
                r = subscribe(watch);
        if (r >= 0)
                r = sd_bus_call_async(bus, &slot, request, on_accepted, watch, 0);
        return r < 0 ? r : wait_until(watch, &watch->is_accepted);
}

int scan_watch_wait(ScanWatch *watch) {
        int r;

        r = wait_until(watch, &watch->finished);
        stop_hearing(watch);
        progress_clear();
        return watch->n_interrupts > 1 ? -EINTR : r;
}
