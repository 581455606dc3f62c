/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Verbs of assay-sim, one file each. argv[0] is the verb itself; each returns the exit status.
 */

#include "sim/port/control.h"

int verb_serve(int argc, char *argv[]);
int verb_check(int argc, char *argv[]);
int verb_inject(int argc, char *argv[]);
int verb_heal(int argc, char *argv[]);
int verb_reset(int argc, char *argv[]);
int verb_faults(int argc, char *argv[]);
int verb_kinds(int argc, char *argv[]);
int verb_use(int argc, char *argv[]);
int verb_coverage(int argc, char *argv[]);
int verb_qualify(int argc, char *argv[]);

/* Verbs whose arguments, at least MIN, each are a request to a running simulator: asks until one is refused; "" where there are
 * none. */
int verb_ask_each(int argc, char *argv[], ControlVerb verb, int min);
