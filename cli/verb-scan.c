/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/assayctl.h"
#include "cli/call.h"
#include "cli/plan-names.h"
#include "cli/progress.h"
#include "cli/verdicts.h"
#include "daemon/names.h"

#define TOLD_MAX  4096
#define WAIT_MSEC 1000 /* what the bus library waits for itself is no sooner */

typedef struct Watch {
        sd_bus *bus;
        const char *path; /* NULL until StartScan has answered */
        const char *what;
        bool changed;
        bool lost; /* the daemon has left the bus */
        uint64_t id;
        int interrupts;      /* a signalfd, or -EBADF */
        unsigned n_interrupts;
        size_t n_told;
        char *told[TOLD_MAX]; /* findings, as they were printed */
} Watch;

static void stop_hearing(Watch *watch) {
        sigset_t interrupt;

        (void) sigemptyset(&interrupt);
        (void) sigaddset(&interrupt, SIGINT);
        watch->interrupts = close_fd(watch->interrupts);
        (void) sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

static void watch_done(Watch *watch) {
        if (watch->interrupts >= 0)
                stop_hearing(watch);
        for (size_t i = 0; i < watch->n_told; i++)
                free(watch->told[i]);
}

/* Steps of a plan that test the same thing find the same: each is told once, as far as there is room to remember. */
static bool is_news(Watch *watch, const char *line) {
        for (size_t i = 0; i < watch->n_told; i++)
                if (strcmp(watch->told[i], line) == 0)
                        return false;
        if (watch->n_told < TOLD_MAX && (watch->told[watch->n_told] = strdup(line)))
                watch->n_told++;
        return true;
}

static int on_changed(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Watch *watch = userdata;

        if (watch->path && sd_bus_message_get_path(message) && strcmp(sd_bus_message_get_path(message), watch->path) == 0)
                watch->changed = true;
        return 0;
}

static int on_finding(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Watch *watch = userdata;
        const char *severity, *code, *where, *text;
        _cleanup_free_ char *line = NULL;

        if (options.json || options.quiet || !watch->path || strcmp(sd_bus_message_get_path(message), watch->path) != 0)
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
        Watch *watch = userdata;
        const char *name, *old_owner, *new_owner;

        if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 && *old_owner && !*new_owner)
                watch->lost = true;
        return 0;
}

/* Before the scan starts, or its first signals are missed. */
static int subscribe(Watch *watch) {
        int r;

        r = sd_bus_match_signal(watch->bus, NULL, ASSAY_BUS_NAME, NULL, "org.freedesktop.DBus.Properties",
                                "PropertiesChanged", on_changed, watch);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(watch->bus, NULL, ASSAY_BUS_NAME, NULL, ASSAY_SCAN_INTERFACE, "Finding", on_finding, watch);
        if (r < 0)
                return r;
        return sd_bus_add_match(watch->bus, NULL,
                                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" ASSAY_BUS_NAME "'",
                                on_owner, watch);
}

static int append_options(sd_bus_message *message) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r >= 0 && options.has_seed)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_SEED, "t", options.seed);
        if (r >= 0 && options.challenge)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_CHALLENGE, "s", options.challenge);
        if (r >= 0 && options.budget_sec > 0)
                r = sd_bus_message_append(message, "{sv}", ASSAY_OPTION_BUDGET, "d", options.budget_sec);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int start(sd_bus *bus, char **targets, sd_bus_error *error, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, ASSAY_MANAGER_INTERFACE, "StartScan");
        if (r >= 0)
                r = sd_bus_message_append_strv(message, targets);
        if (r >= 0)
                r = sd_bus_message_append(message, "s", options.plan ?: "preflight");
        if (r >= 0)
                r = append_options(message);
        if (r >= 0)
                r = sd_bus_message_append(message, "t", (uint64_t) 0);
        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(message, true);
        return r < 0 ? r : sd_bus_call(bus, message, 0, error, ret);
}

/* 1 finished, 0 not yet, negative: could not ask. */
static int poll_state(Watch *watch, sd_bus_error *error) {
        _cleanup_free_ char *state = NULL;
        uint32_t percent = 0;
        int r;

        watch->changed = false;
        r = sd_bus_get_property_string(watch->bus, ASSAY_BUS_NAME, watch->path, ASSAY_SCAN_INTERFACE, "State", error, &state);
        if (r < 0)
                return r;
        if (strcmp(state, ASSAY_STATE_FINISHED) == 0)
                return 1;

        r = sd_bus_get_property_trivial(watch->bus, ASSAY_BUS_NAME, watch->path, ASSAY_SCAN_INTERFACE, "Progress", error, 'u',
                                        &percent);
        if (r < 0)
                return r;
        progress_draw(watch->what, state, percent);
        return 0;
}

/* ---- Ctrl-C ---- */

/* From here on it is read and not died of. Whoever ignores it, as a shell makes what it starts with `&` do, goes on to. */
static int hear_interrupts(Watch *watch) {
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

/* That it has been asked is enough: where the scan has ended meanwhile its records come, and where nobody answers there is a second Ctrl-C. */
static int on_cancelled(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *why = sd_bus_message_get_error(reply);

        if (why && !sd_bus_error_has_name(why, ASSAY_ERROR_SCAN_FINISHED))
                (void) complain(0, "could not cancel the scan: %s", why->message ?: why->name);
        return 0;
}

/* 0, or -EINTR: the scan is left alone. */
static int take_interrupts(Watch *watch) {
        struct signalfd_siginfo info;
        int r = 0;

        while (watch->interrupts >= 0 && read(watch->interrupts, &info, sizeof(info)) == (ssize_t) sizeof(info)) {
                progress_clear();
                if (watch->n_interrupts++ > 0) {
                        (void) complain(0, "left scan %" PRIu64 " to assayd, which was asked to cancel it: assayctl show %" PRIu64, watch->id, watch->id);
                        return -EINTR;
                }
                (void) complain(0, "cancelling scan %" PRIu64 ", waiting for its records; Ctrl-C again does not wait", watch->id);
                r = sd_bus_call_method_async(watch->bus, NULL, ASSAY_BUS_NAME, watch->path, ASSAY_SCAN_INTERFACE, "Cancel", on_cancelled, watch, "t",
                                             (uint64_t) 0);
        }
        return r < 0 ? r : 0;
}

/* For the bus, or Ctrl-C. */
static int wait_for_news(Watch *watch) {
        struct pollfd polled[2] = { { .fd = sd_bus_get_fd(watch->bus) }, { .fd = watch->interrupts, .events = POLLIN } };
        int events = sd_bus_get_events(watch->bus);

        if (polled[0].fd < 0 || events < 0)
                return polled[0].fd < 0 ? polled[0].fd : events;
        polled[0].events = (short) events;
        if (poll(polled, 2, WAIT_MSEC) < 0 && errno != EINTR)
                return -errno;
        return take_interrupts(watch);
}

static int wait_for_end(Watch *watch, sd_bus_error *error) {
        int r;

        watch->changed = true;
        for (;;) {
                if (watch->lost)
                        return -ECONNRESET;
                if (watch->changed) {
                        r = poll_state(watch, error);
                        if (r != 0)
                                return r;
                }

                r = sd_bus_process(watch->bus, NULL);
                if (r < 0)
                        return r;
                if (r == 0 && (r = wait_for_news(watch)) < 0)
                        return r;
        }
}

/* A slip is told with what may have been meant. */
static int refuse_start(sd_bus *bus, char **targets, const sd_bus_error *error, int r) {
        char text[512], question[NEAREST_MAX + 32];

        if (sd_bus_error_has_name(error, ASSAY_ERROR_NO_SUCH_PLAN))
                return complain(STATUS_USAGE, "could not start the scan: %s%s", error->message,
                                plan_names_question(options.plan ?: "preflight", question, sizeof(question)));
        for (; sd_bus_error_has_name(error, ASSAY_ERROR_NO_SUCH_TARGET) && *targets; targets++)
                if (strstr(error->message, *targets) && !call_is_target(bus, *targets)) {
                        call_tell_target(bus, *targets, text, sizeof(text));
                        return complain(STATUS_USAGE, "could not start the scan: %s", text);
                }
        return complain_bus(error, r, "could not start the scan");
}

int verb_scan(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(watch_done) Watch watch = { .what = argv[0], .interrupts = -EBADF };
        int r;

        if (options.no_wait && options.key)
                return complain(STATUS_USAGE, "--no-wait verifies nothing: give the keyring to assayctl show");
        r = call_connect(&bus);
        if (r != 0)
                return r;

        watch.bus = bus;
        r = subscribe(&watch);
        if (r >= 0)
                r = start(bus, argv, &error, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "to", &watch.id, &watch.path);
        if (r < 0)
                return refuse_start(bus, argv, &error, r);
        if (options.no_wait) {
                printf(options.json ? "{\"scan\": %" PRIu64 "}\n" : "%" PRIu64 "\n", watch.id);
                return STATUS_PASSED;
        }

        r = hear_interrupts(&watch);
        if (r >= 0)
                r = wait_for_end(&watch, &error);
        stop_hearing(&watch);
        progress_clear();
        if (watch.n_interrupts > 1)
                return STATUS_INTERRUPTED;
        if (r < 0)
                return complain_bus(&error, r, "lost the scan");
        return verdicts_print(bus, &(OutcomeAsked) { .id = watch.id, .path = watch.path, .plan = options.plan ?: "preflight", .targets = argv }, false);
}
