/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why something of a record's subject was not tested, in words: of steps, of what they left out within, and of promises that were not kept. */

#include "cli/results/view.h"

/* Fills VIEW->untested out of PREDICATE, whose other members VIEW has. Returns 0 or -ENOMEM. */
int view_read_untested(View *view, json_t *predicate);
