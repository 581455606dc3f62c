/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim heal: takes faults out of a running simulator, by id, by place, or all of them.
 */

#include "sim/verbs/verbs.h"

int verb_heal(int argc, char *argv[]) {
        return verb_ask_each(argc, argv, CONTROL_HEAL, 1);
}
