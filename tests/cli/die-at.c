/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Preloaded: kills the program, as a power cut would, at the step whose number DIE_AT is. Steps are before each fsync() and rename(), and
 * before and after each call over the bus.
 */

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static void step(void) {
        const char *at = getenv("DIE_AT");
        static int n;

        if (at && ++n == atoi(at))
                (void) raise(SIGKILL);
}

#define NEXT(name) *(void **) &next = dlsym(RTLD_NEXT, name)

int fsync(int fd) {
        int (*next)(int);

        NEXT("fsync");
        step();
        return next(fd);
}

int rename(const char *from, const char *to) {
        int (*next)(const char *, const char *);

        NEXT("rename");
        step();
        return next(from, to);
}

int sd_bus_call_methodv(sd_bus *bus, const char *destination, const char *path, const char *interface, const char *member, sd_bus_error *error,
                        sd_bus_message **reply, const char *types, va_list arguments) {
        int (*next)(sd_bus *, const char *, const char *, const char *, const char *, sd_bus_error *, sd_bus_message **, const char *, va_list);
        int r;

        NEXT("sd_bus_call_methodv");
        step();
        r = next(bus, destination, path, interface, member, error, reply, types, arguments);
        step();
        return r;
}
