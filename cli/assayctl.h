/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What every verb of assayctl has: its options, a way to the daemon, and one way to print.
 *
 * A verb returns an exit status of checks/vocabulary/verdict.h. It prints its result on stdout and says on stderr what kept it from
 * one.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-bus.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"

#define FILE_BYTES_MAX    ((size_t) 1 << 20) /* of a file that somebody names and that is no log */
#define RECORDS_BYTES_MAX ((size_t) 1 << 30)

#define STATUS_INTERRUPTED 130 /* of a verb that was left by Ctrl-C, as shells say it; others stand in checks/vocabulary/verdict.h */

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

typedef struct Verb {
        const char *name;
        int min, max; /* arguments after the verb; max -1: any number */
        const char *arguments;
        const char *summary;
        const char *options; /* names of the long options it takes beside the global ones, space-separated */
        int (*run)(int argc, char **argv);
} Verb;

int verb_targets(int argc, char **argv);
int verb_scan(int argc, char **argv);
int verb_scans(int argc, char **argv);
int verb_watch(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_cancel(int argc, char **argv);
int verb_verdict(int argc, char **argv);
int verb_gate(int argc, char **argv);
int verb_records(int argc, char **argv);
int verb_verify(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_audit(int argc, char **argv);
int verb_plans(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_coverage(int argc, char **argv);
int verb_cosign(int argc, char **argv);
int verb_keys(int argc, char **argv);
int verb_log_level(int argc, char **argv);
int verb_status(int argc, char **argv);

/* Prints what may quote a stranger: what would be a command to a terminal becomes a question mark. */
void say(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same on stdout and with a newline, broken as wrap_print() does. */
void say_words(size_t indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What say() does to TEXT, which it has made by FORMAT. */
void make_plain(char *text, const char *format);
/* The same on stderr, as "assayctl: …". Returns STATUS. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What a bus call's failure means: 64 for what was asked, 69 for no daemon, 77 for not allowed, else 2. */
int complain_bus(const sd_bus_error *error, int r, const char *what);

/* A number without sign or trailing text. -EINVAL. */
int parse_u64(const char *text, uint64_t *ret);
