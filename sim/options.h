/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of the verbs, in one table: each verb says which it takes, every other is refused.
 */

#include <stdbool.h>

#define SOCKET_DEFAULT "assay-sim.sock"

enum {
        OPTION_SOCKET  = 1 << 0,
        OPTION_JSON    = 1 << 1,
        OPTION_STREAM  = 1 << 2,
        OPTION_MODE    = 1 << 3,
        OPTION_THREADS = 1 << 4,
        OPTION_STRICT  = 1 << 5,
        OPTION_MATRIX  = 1 << 6,
};

typedef struct Options {
        const char *socket; /* always set: --socket, $ASSAY_SIM_SOCKET, or the default */
        const char *stream;
        bool json;
        bool strict;
        bool matrix;
        unsigned mode;
        unsigned threads;
} Options;

/* Returns the index of the first argument that is no option; -EINVAL, said on stderr, for what is not in ALLOWED or
 * where fewer than MIN or more than MAX arguments are left. Arguments are moved behind the options. */
int options_parse(int argc, char *argv[], unsigned allowed, int min, int max, Options *ret);
