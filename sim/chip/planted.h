/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Planted
 *
 * How many of the errors that one counter counts were planted by a client that had announced it: attribute
 * assay/planted/COUNTER of wire.h. Each word of the counter, a stack or the SRAM of the chip, has its own account.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

typedef struct Planted {
        const void *client;    /* whose announcement stands; NULL: nobody's */
        uint64_t most;         /* of each word */
        uint64_t base[STACKS]; /* what each had counted when it was made */
        uint64_t n[STACKS];    /* by announcements that have ended */
} Planted;

/* NOW, everywhere: what the words count. TEXT as it is written to the attribute. -EBUSY: another client's stands; -EINVAL. */
int planted_announce(Planted *planted, const uint64_t now[static STACKS], const void *client, const char *text);
/* CLIENT has gone. */
void planted_release(Planted *planted, const uint64_t now[static STACKS], const void *client);
/* The counter was cleared and counts from NOW on. */
void planted_clear(Planted *planted, const uint64_t now[static STACKS]);
/* As it is read from the attribute. */
void planted_format(const Planted *planted, const uint64_t now[static STACKS], unsigned n_words, char *text, size_t size);
