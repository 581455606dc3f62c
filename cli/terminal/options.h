/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of assayctl, in one table: each verb says which it takes, every other is refused. */

#include <stdbool.h>
#include <stdint.h>

#include "cli/terminal/verb.h"

typedef struct Options {
        const char *host; /* --host: another machine, over ssh */
        const char *bus;  /* --bus: "system" or an address */
        bool json;
        bool no_pager;
        bool quiet;
        bool strict;
        bool chips;
        bool no_wait;
        bool npd;
        bool payload;
        const char *plan;
        const char *key;
        const char *output;
        const char *format; /* --format: of export and watch */
        const char *checkpoint;
        const char *archive;
        const char *algorithm, *origin; /* of a key */
        const char *to, *finish;        /* keys rotate */
        const char *challenge;
        const char *note;
        const char *root;    /* who vouches for the keyring of --key */
        const char *state;   /* a folder */
        const char *subject; /* a digest or a serial; a file where it has a slash */
        const char *proof;
        const char *unknown; /* --unknown=pass|fail */
        bool has_seed;
        uint64_t seed;
        double budget_sec;     /* 0: the plan's */
        double timeout_sec;    /* of gate */
        uint64_t max_age_usec; /* UINT64_MAX: any */
} Options;

extern Options options;

/*
 * Reads the options of the command line into `options`. Returns -1 to go on, with a bit of *RET_GIVEN for each option that was there, and *RET_HELP set
 * where --help was; or an exit status, having complained.
 */
int options_parse(int argc, char **argv, uint64_t *ret_given, bool *ret_help);
/* Returns 0 where VERB takes all that were GIVEN, or an exit status, having complained. */
int options_refuse(const Verb *verb, uint64_t given);

/* A number without sign or trailing text. -EINVAL. */
int parse_u64(const char *text, uint64_t *ret);
