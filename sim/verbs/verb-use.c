/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim use: says which rows of a running simulator carry live data; without arguments, lists them and how many of their
 * accesses commands have overwritten.
 */

#include "sim/verbs/verbs.h"

int verb_use(int argc, char *argv[]) {
        return verb_ask_each(argc, argv, CONTROL_USE, 0);
}
