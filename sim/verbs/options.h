/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Options of the verbs, in one table: each verb says which it takes, every other is refused.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKET_DEFAULT "assay-sim.sock"
#define KINDS_MAX      64u /* that one command line names */

enum {
        OPTION_SOCKET         = 1 << 0,
        OPTION_JSON           = 1 << 1,
        OPTION_STREAM         = 1 << 2,
        OPTION_MODE           = 1 << 3,
        OPTION_THREADS        = 1 << 4,
        OPTION_PLAN           = 1 << 5,
        OPTION_KIND           = 1 << 6,
        OPTION_FAMILY         = 1 << 7,
        OPTION_SAMPLES        = 1 << 8,
        OPTION_SEED           = 1 << 9,
        OPTION_HEALTHY        = 1 << 10,
        OPTION_JOBS           = 1 << 11,
        OPTION_ASSAY_RUN      = 1 << 12,
        OPTION_DEADLINE_SCALE = 1 << 13,
        OPTION_TIMEOUT        = 1 << 14,
        OPTION_KEEP           = 1 << 17,
        OPTION_STRICT         = 1 << 15,
        OPTION_MATRIX         = 1 << 16,
        OPTION_PROBABILITY    = 1 << 18,
        OPTION_STALLS         = 1 << 19,
};

typedef struct Options {
        const char *socket; /* always set: --socket, $ASSAY_SIM_SOCKET, or the default */
        const char *stream, *plan, *family, *assay_run, *deadline_scale, *keep, *probability;
        bool json, strict, matrix, stalls;
        uint64_t mode, threads, samples, seed, healthy, jobs, timeout;
        unsigned given; /* OPTION_… that were there */
        size_t n_kinds;
        const char *kinds[KINDS_MAX];
} Options;

/* Returns the index of the first argument that is no option; -EINVAL, said on stderr, for what is not in ALLOWED or
 * where fewer than MIN or more than MAX arguments are left. Arguments are moved behind the options. */
int options_parse(int argc, char *argv[], unsigned allowed, int min, int max, Options *ret);
