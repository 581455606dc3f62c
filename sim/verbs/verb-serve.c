/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim serve: plays the servers of a scenario until SIGTERM or SIGINT.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/fleet/scenario.h"
#include "sim/port/port.h"
#include "sim/verbs/options.h"
#include "sim/verbs/verbs.h"

/* Before any thread exists, so that none of them takes the signal. */
static int catch_signals(void) {
        sigset_t mask;
        int fd;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGINT);
        if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

/* A connection is one descriptor, and there can be more of them than the soft limit allows. */
static void raise_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
}

int verb_serve(int argc, char *argv[]) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_(port_freep) Port *port = NULL;
        _cleanup_close_ int signals = -EBADF;
        _cleanup_free_ char *error = NULL;
        Options options;
        int first, r;

        first = options_parse(argc, argv, OPTION_SOCKET | OPTION_MODE | OPTION_THREADS, 1, 1, &options);
        if (first < 0)
                return STATUS_USAGE;
        if (scenario_load(argv[first], &scenario, &error) < 0) {
                fprintf(stderr, "%s\n", error ? error : "out of memory");
                return STATUS_USAGE;
        }
        raise_limit();
        signals = catch_signals();
        r = signals < 0 ? signals : port_new(scenario, options.socket, (unsigned) options.mode, (unsigned) options.threads, &port);
        if (r < 0) {
                fprintf(stderr, "assay-sim serve: %s: %s\n", options.socket, strerror(-r));
                return EXIT_FAILURE;
        }

        printf("ready: %s, %zu servers, %zu chips, %zu faults\n", options.socket, hall_servers(scenario->hall),
               hall_servers(scenario->hall) * CHIPS, scenario->n_faults);
        (void) fflush(stdout);
        (void) sd_notify(0, "READY=1");

        r = port_run(port, signals);
        (void) sd_notify(0, "STOPPING=1");
        if (r < 0)
                fprintf(stderr, "assay-sim serve: %s\n", strerror(-r));
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
