/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Liveness
 *
 * Whether assayd still runs, while something of it is waited for: it is asked org.freedesktop.DBus.Peer.Ping, which costs it next to nothing. Only
 * the time that this program has waited counts, so a machine that stood still blames nobody. Where no assayd runs the bus says so, or starts one:
 * either is an answer here, for the call that is waited for has an error of its own.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#define LIVENESS_SEC      5 /* of silence, after which a call is given up */
#define LIVENESS_TELL_SEC 3 /* after which somebody who waits for something longer is told */

typedef struct Liveness {
        sd_bus *bus;
        sd_bus_slot *question;   /* a Ping without an answer; NULL: none is open */
        unsigned waited_msec;    /* since the last answer, or the beginning */
} Liveness;

/* Releases what is open, not the bus. */
void liveness_done(Liveness *liveness);

/*
 * Waits for the bus, or for FD to become readable (negative: there is none), for a quarter of a second at the most, and asks for a sign of life where
 * one is due. To be called when sd_bus_process() has nothing more to do. Negative errno.
 */
int liveness_wait(Liveness *liveness, int fd);

/* For how many seconds assayd has not said a word. */
unsigned liveness_silent_sec(const Liveness *liveness);
