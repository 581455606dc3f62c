/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim inject: puts faults into a running simulator and prints their ids.
 */

#include "sim/verbs.h"

int verb_inject(int argc, char *argv[]) {
        return verb_ask_each(argc, argv, CONTROL_INJECT, 1);
}
