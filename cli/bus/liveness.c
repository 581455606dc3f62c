/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/liveness.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <time.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/options.h"
#include "daemon/names.h"

#define ROUND_MSEC 250
#define ASK_MSEC   1000 /* most answers come sooner, and nobody asks */

void liveness_done(Liveness *liveness) {
        liveness->question = sd_bus_slot_unref(liveness->question);
}

static int on_sign_of_life(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Liveness *liveness = userdata;

        liveness_done(liveness);
        liveness->waited_msec = 0;
        return 0;
}

static int ask(Liveness *liveness) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(liveness->bus, &message, ASSAY_BUS_NAME, ASSAY_OBJECT_PATH, "org.freedesktop.DBus.Peer", "Ping");
        if (r >= 0)
                r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0)
                r = sd_bus_call_async(liveness->bus, &liveness->question, message, on_sign_of_life, liveness, UINT64_MAX);
        return r < 0 ? r : 0;
}

static unsigned now_msec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (unsigned) now.tv_sec * 1000u + (unsigned) (now.tv_nsec / 1000000);
}

static int wait_a_round(sd_bus *bus, int fd) {
        struct pollfd polled[2] = { { .fd = sd_bus_get_fd(bus) }, { .fd = fd, .events = POLLIN } };
        int events = sd_bus_get_events(bus);

        if (polled[0].fd < 0 || events < 0)
                return polled[0].fd < 0 ? polled[0].fd : events;
        polled[0].events = (short) events;
        return poll(polled, 2, ROUND_MSEC) < 0 && errno != EINTR ? -errno : 0;
}

int liveness_wait(Liveness *liveness, int fd) {
        unsigned begun = now_msec(), waited;
        int r;

        r = wait_a_round(liveness->bus, fd);
        /* Until ssh has come through somebody may be typing a password. */
        if (r < 0 || (options.host && sd_bus_is_ready(liveness->bus) <= 0))
                return r;
        waited = now_msec() - begun;
        liveness->waited_msec += waited > ROUND_MSEC ? ROUND_MSEC : waited;
        return !liveness->question && liveness->waited_msec >= ASK_MSEC ? ask(liveness) : 0;
}

unsigned liveness_silent_sec(const Liveness *liveness) {
        return liveness->waited_msec / 1000;
}
