/* SPDX-License-Identifier: Apache-2.0 */

/* One collective: what goes in is made, all ranks are posted, then waited for. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/collective/collective.h"

#define TIMEOUT_NSEC UINT64_C(1000000000) /* a hundred times what any takes on sound links */

int recital_new(Ensemble *ensemble, const Recipe *recipe, unsigned n_ranks, Recital **ret) {
        _cleanup_(recital_freep) Recital *recital = NULL;

        recital = calloc(1, sizeof(*recital));
        if (!recital)
                return -ENOMEM;

        recital->ranks = calloc(n_ranks, sizeof(*recital->ranks));
        recital->from = calloc(n_ranks, sizeof(*recital->from));
        if (!recital->ranks || !recital->from)
                return -ENOMEM;

        recital->ensemble = ensemble;
        recital->post = (WireCollectivePost) {
                .operation = (uint8_t) recipe->operation, .format = (uint8_t) recipe->format, .elements = recipe->elements,
                .repeat = MAX(recipe->repeat / ensemble->shorter, 1u), .ranks = (uint8_t) n_ranks,
        };
        recital->seed = step_seed(ensemble->step) * UINT64_C(0x9e3779b97f4a7c15) + ++ensemble->n_groups;
        *ret = TAKE_PTR(recital);
        return 0;
}

Recital *recital_free(Recital *recital) {
        if (!recital)
                return NULL;

        free(recital->ranks);
        free(recital->from);
        free(recital->inputs);
        free(recital);
        return NULL;
}

static void fill_rank(Recital *recital, unsigned r) {
        unsigned bytes = format_bytes(recital->post.format), n = recital->post.ranks, own = r % n;
        CollectiveRank *rank = &recital->ranks[r];
        size_t first = 0;

        recital_vector(recital, r, recital->inputs + r * recital->stride);
        if (recital->post.operation == COLLECTIVE_ALL_GATHER)
                first = (size_t) part_begin(recital->post.elements, n, own) * bytes;
        rank->chip = recital->members[r].chip;
        rank->post = recital->post;
        rank->post.rank = (uint8_t) own;
        rank->post.group = recital->seed + (recital->paired ? r / 2 : 0);
        rank->input = recital->inputs + r * recital->stride + first;
        rank->n_input = recital_input_elements(recital, r) * bytes;
        rank->output = recital->outputs + r * recital->stride;
        rank->n_output = recital_output_elements(recital, r) * bytes;
        rank->error = 0;
}

static void cut_parts(Recital *recital) {
        bool shards = recital->post.operation != COLLECTIVE_SEND_RECEIVE;

        for (unsigned k = 0; k < (shards ? recital->post.ranks : 1u); k++) {
                uint32_t size = part_begin(recital->post.elements, shards ? recital->post.ranks : 1, k + 1) -
                                part_begin(recital->post.elements, shards ? recital->post.ranks : 1, k);

                for (unsigned c = 0; c < recital->post.rings; c++)
                        recital->part_bytes[c][k] = (uint64_t) (part_begin(size, recital->post.rings, c + 1) -
                                                            part_begin(size, recital->post.rings, c)) *
                                                format_bytes(recital->post.format) * recital->post.repeat;
        }
}

/* Server by server: ranks of one stand together. */
static int for_servers(Recital *recital, int (*call)(Device *device, CollectiveRank *ranks, size_t n)) {
        for (unsigned first = 0; first < recital->n;) {
                unsigned n = 1;
                int r;

                while (first + n < recital->n && recital->members[first + n].server == recital->members[first].server)
                        n++;
                r = call(recital->ensemble->servers[recital->members[first].server].device, &recital->ranks[first], n);
                if (r < 0)
                        return r;
                first += n;
        }

        return 0;
}

static int wait_for(Device *device, CollectiveRank *ranks, size_t n) {
        return device_collective_wait(device, ranks, n, TIMEOUT_NSEC);
}

int recital_play(Recital *recital) {
        int r;

        /* Shards of all-to-all are rounded up where those of the vector are not. */
        recital->stride = ((size_t) recital->post.elements + recital->post.ranks) * format_bytes(recital->post.format);
        recital->inputs = malloc(2 * recital->n * recital->stride);
        if (!recital->inputs)
                return -ENOMEM;

        recital->outputs = recital->inputs + recital->n * recital->stride;
        cut_parts(recital);
        for (unsigned i = 0; i < recital->n; i++)
                fill_rank(recital, i);
        r = for_servers(recital, device_collective_post);
        if (r >= 0)
                r = for_servers(recital, wait_for);
        for (unsigned i = 0; i < recital->n; i++)
                if (recital->ranks[i].status.nsec > recital->nsec)
                        recital->nsec = recital->ranks[i].status.nsec;
        return r;
}
