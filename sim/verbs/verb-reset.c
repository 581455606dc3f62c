/* SPDX-License-Identifier: Apache-2.0 */

/*
 * assay-sim reset: resets chips of a running simulator, as their driver would: what waits for a reset happens.
 */

#include "sim/verbs/verbs.h"

int verb_reset(int argc, char *argv[]) {
        return verb_ask_each(argc, argv, CONTROL_RESET, 1);
}
