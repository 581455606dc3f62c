/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/planted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* The errors counted since the announcement that stands, up to the number that it announces. */
static uint64_t moved(const Planted *planted, const uint64_t now[static STACKS], unsigned word) {
        if (!planted->client || now[word] <= planted->base[word])
                return 0;
        return MIN(now[word] - planted->base[word], planted->most);
}

static void settle(Planted *planted, const uint64_t now[static STACKS]) {
        for (unsigned word = 0; word < STACKS; word++)
                planted->n[word] += moved(planted, now, word);
        planted->client = NULL;
}

int planted_announce(Planted *planted, const uint64_t now[static STACKS], const void *client, const char *text) {
        unsigned long most;
        char *end;

        if (text[0] < '0' || text[0] > '9')
                return -EINVAL;
        errno = 0;
        most = strtoul(text, &end, 10);
        if (errno != 0 || *end || most > PLANTED_MAX)
                return -EINVAL;
        if (planted->client && planted->client != client)
                return -EBUSY;

        settle(planted, now);
        if (most == 0)
                return 0;
        planted->client = client;
        planted->most = most;
        memcpy(planted->base, now, sizeof(planted->base));
        return 0;
}

void planted_release(Planted *planted, const uint64_t now[static STACKS], const void *client) {
        if (planted->client && planted->client == client)
                settle(planted, now);
}

void planted_clear(Planted *planted, const uint64_t now[static STACKS]) {
        memset(planted->n, 0, sizeof(planted->n));
        memcpy(planted->base, now, sizeof(planted->base));
}

void planted_format(const Planted *planted, const uint64_t now[static STACKS], unsigned n_words, char *text, size_t size) {
        size_t n = 0;

        for (unsigned word = 0; word < n_words; word++)
                n += (size_t) snprintf(text + n, size - n, "%s%" PRIu64, word > 0 ? " " : "",
                                       MIN(planted->n[word] + moved(planted, now, word), now[word]));
        if (planted->client)
                (void) snprintf(text + n, size - n, " open");
}
