/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answer
 *
 * How a chip answers at the port: the faults of the port itself, which no part has. The batch asks here before and after
 * each command.
 */

#include <stdbool.h>

#include "sim/chip/chip.h"

typedef enum Garble {
        GARBLE_STATUS,   /* a status that no document knows */
        GARBLE_VOID,     /* success, and nothing was done */
        GARBLE_OVERSIZE, /* more bytes written than there was room */
        GARBLE_SHORT,    /* half a packet */
        GARBLE_SEQUENCE, /* the answer to something else */
        GARBLE_COUNT,    /* more completions announced than come */
        GARBLE_MAGIC,
        GARBLE_NONE,
} Garble;

/* Whether this very command is never answered. */
bool answer_hangs(Chip *chip, const WireCommand *command);
/* What becomes of this command's answer. */
Garble answer_garbles(Chip *chip, const WireCommand *command);
/* Whether the chip is not there for its driver: then the completion is set. */
bool answer_refuses(Chip *chip, Execution *execution);
bool answer_missing(Chip *chip);
