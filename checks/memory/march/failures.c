/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/failures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *march_phase_word(MarchPhase phase) {
        static const char *const words[_MARCH_PHASE_MAX] = {
                [MARCH_PHASE_MARCH]     = "march",
                [MARCH_PHASE_ADDRESS]   = "address",
                [MARCH_PHASE_WALKING]   = "walking",
                [MARCH_PHASE_HAMMER]    = "hammer",
                [MARCH_PHASE_RETENTION] = "retention",
                [MARCH_PHASE_ECC]       = "ecc",
                [MARCH_PHASE_PROBE]     = "diagnosis",
        };

        return words[phase];
}

void march_failures_done(MarchFailures *failures) {
        free(failures->failures);
        *failures = (MarchFailures) {};
}

static bool is_same_access(const MarchFailure *x, const MarchFailure *y) {
        return x->part == y->part && x->linear == y->linear;
}

/* By place, and of one place as they were read: qsort() keeps no order of its own. */
static int compare_failures(const void *a, const void *b) {
        const MarchFailure *x = a, *y = b;

        if (x->part != y->part)
                return x->part < y->part ? -1 : 1;
        if (x->linear != y->linear)
                return x->linear < y->linear ? -1 : 1;
        if (x->first.pass != y->first.pass)
                return x->first.pass - y->first.pass;
        if (x->first.element != y->first.element)
                return x->first.element - y->first.element;
        return x->first.op - y->first.op;
}

void march_failures_merge(MarchFailures *failures) {
        MarchFailure *list = failures->failures;
        size_t n = 0;

        if (failures->n < 2)
                return;

        qsort(list, failures->n, sizeof(MarchFailure), compare_failures);
        for (size_t i = 1; i < failures->n; i++) {
                if (!is_same_access(&list[n], &list[i])) {
                        list[++n] = list[i];
                        continue;
                }
                list[n].count += list[i].count;
                list[n].phases |= list[i].phases;
                list[n].passes |= list[i].passes;
                list[n].elements |= list[i].elements;
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++) {
                        list[n].bits.bytes[k] |= list[i].bits.bytes[k];
                        list[n].ones.bytes[k] |= list[i].ones.bytes[k];
                }
        }
        failures->n = n + 1;
}

static int make_room(MarchFailures *failures) {
        size_t n = failures->allocated > 0 ? 2 * failures->allocated : 256;
        MarchFailure *grown;

        if (failures->n < failures->allocated || failures->full)
                return 0;

        /* The same places fail again and again: most often this is room enough. */
        march_failures_merge(failures);
        if (failures->n < failures->allocated / 2)
                return 0;
        if (n > MARCH_FAILURES_MAX) {
                /* No more room to come: what is left of it is filled, and never sorted again for each that is added. */
                failures->full = true;
                return 0;
        }

        grown = reallocarray(failures->failures, n, sizeof(MarchFailure));
        if (!grown)
                return -ENOMEM;
        failures->failures = grown;
        failures->allocated = n;
        return 0;
}

int march_failures_add(MarchFailures *failures, unsigned part, uint32_t linear, const MarchSighting *sighting,
                       const MemoryData *expected, const MemoryData *actual) {
        MarchFailure *failure;
        int r;

        r = make_room(failures);
        if (r < 0)
                return r;
        if (failures->n >= failures->allocated) {
                failures->full = true;
                return 0;
        }

        failure = &failures->failures[failures->n++];
        *failure = (MarchFailure) {
                .part     = part,
                .linear   = linear,
                .count    = 1,
                .phases   = UINT32_C(1) << sighting->phase,
                .passes   = sighting->pass < MARCH_STEP_PASSES_MAX ? UINT64_C(1) << sighting->pass : 0,
                .elements = UINT32_C(1) << sighting->element % 32,
                .first    = *sighting,
                .expected = *expected,
                .actual   = *actual,
        };
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++) {
                failure->bits.bytes[i] = expected->bytes[i] ^ actual->bytes[i];
                failure->ones.bytes[i] = failure->bits.bytes[i] & actual->bytes[i];
        }
        return 0;
}

MarchFailure *march_failures_of(const MarchFailures *failures, unsigned part, size_t *ret_n) {
        size_t first = 0, end;

        while (first < failures->n && failures->failures[first].part != part)
                first++;
        for (end = first; end < failures->n && failures->failures[end].part == part; end++)
                ;

        *ret_n = end - first;
        return failures->failures ? failures->failures + first : NULL;
}
