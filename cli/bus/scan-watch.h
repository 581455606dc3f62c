/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A scan that is being watched: from the request to its end, with its findings as they come, Ctrl-C, and a daemon that says nothing any more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "cli/bus/liveness.h"

#define SCAN_WATCH_TOLD_MAX 4096

typedef struct ScanWatch {
        sd_bus *bus;
        const char *what;         /* the first target */
        bool is_accepted;         /* StartScan has answered */
        sd_bus_message *accepted; /* that answer; NULL: it is to come */
        const char *path;         /* of the scan's object, in that answer */
        uint64_t id;
        bool changed;    /* its state is to be asked again */
        unsigned n_open; /* questions for it without an answer */
        char state[32];
        unsigned percent;
        bool finished;
        char refusal[192]; /* why the log does not take its records, so that it may not finish for long; else "" */
        bool lost;             /* the daemon has left the bus */
        int result;            /* of a call that came to nothing: a negative errno, with ERROR */
        sd_bus_error error;
        Liveness liveness;
        bool told_silence;
        int interrupts;        /* a signalfd, or -EBADF */
        bool cancels_later;    /* once the daemon answers: what is sent to one that is stopped it does, also for who has left */
        unsigned n_interrupts;
        bool is_cancelled;     /* the daemon has said that it cancels it */
        size_t n_told;
        char *told[SCAN_WATCH_TOLD_MAX]; /* findings, as they were printed */
} ScanWatch;

#define SCAN_WATCH_NONE { .interrupts = -1 }

/*
 * Sends REQUEST, a call of StartScan, and waits until the scan is accepted; WHAT, which stays the caller's, is what a progress bar shows. From here on
 * Ctrl-C is heard: -EINTR, having complained. Other negative errno with ERROR of the watch filled in; -ETIMEDOUT: the daemon does not say a word.
 */
int scan_watch_start(ScanWatch *watch, sd_bus *bus, const char *what, sd_bus_message *request);

/* Waits for its end, or until the log has refused its records: see refusal. -EINTR (a second Ctrl-C) and -ETIMEDOUT: it was left alone, having complained. Other negative errno with ERROR filled in. */
int scan_watch_wait(ScanWatch *watch);

void scan_watch_done(ScanWatch *watch);
