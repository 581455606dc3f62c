/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/failures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANE_BYTES 4u /* of 32 lanes; the next 4 bytes are the next beat */

const char *hbm_pass_word(HbmPhase phase) {
        static const char *const words[_HBM_PHASE_MAX] = {
                [HBM_PHASE_MARCH]     = "march",
                [HBM_PHASE_ADDRESS]   = "address",
                [HBM_PHASE_WALKING]   = "walking",
                [HBM_PHASE_HAMMER]    = "hammer",
                [HBM_PHASE_RETENTION] = "retention",
                [HBM_PHASE_ECC]       = "ecc",
                [HBM_PHASE_PROBE]     = "diagnosis",
        };

        return words[phase];
}

void hbm_failures_done(HbmFailures *failures) {
        free(failures->failures);
        *failures = (HbmFailures) {};
}

/* By place; of one place the earlier stays before the later. */
static int compare_failures(const void *a, const void *b) {
        const HbmFailure *x = a, *y = b;

        if (x->stack != y->stack)
                return x->stack < y->stack ? -1 : 1;
        return (x->linear > y->linear) - (x->linear < y->linear);
}

void hbm_failures_merge(HbmFailures *failures) {
        HbmFailure *list = failures->failures;
        size_t n = 0;

        if (failures->n < 2)
                return;

        qsort(list, failures->n, sizeof(HbmFailure), compare_failures);
        for (size_t i = 1; i < failures->n; i++) {
                if (compare_failures(&list[n], &list[i]) != 0) {
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

static int make_room(HbmFailures *failures) {
        size_t n = failures->allocated > 0 ? 2 * failures->allocated : 256;
        HbmFailure *grown;

        if (failures->n < failures->allocated || failures->full)
                return 0;

        /* The same places fail again and again: most often this is room enough. */
        hbm_failures_merge(failures);
        if (failures->n < failures->allocated / 2)
                return 0;
        if (n > HBM_FAILURES_MAX) {
                /* No more room to come: what is left of it is filled, and never sorted again for each that is added. */
                failures->full = true;
                return 0;
        }

        grown = reallocarray(failures->failures, n, sizeof(HbmFailure));
        if (!grown)
                return -ENOMEM;
        failures->failures = grown;
        failures->allocated = n;
        return 0;
}

int hbm_failures_add(HbmFailures *failures, unsigned stack, uint32_t linear, const HbmSighting *sighting,
                     const MemoryData *expected, const MemoryData *actual) {
        HbmFailure *failure;
        int r;

        r = make_room(failures);
        if (r < 0)
                return r;
        if (failures->n >= failures->allocated) {
                failures->full = true;
                return 0;
        }

        failure = &failures->failures[failures->n++];
        *failure = (HbmFailure) {
                .stack    = stack,
                .linear   = linear,
                .count    = 1,
                .phases   = UINT32_C(1) << sighting->phase,
                .passes   = sighting->pass < HBM_PASSES_MAX ? UINT64_C(1) << sighting->pass : 0,
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

HbmFailure *hbm_failures_of(const HbmFailures *failures, unsigned stack, size_t *ret_n) {
        size_t first = 0, end;

        while (first < failures->n && failures->failures[first].stack != stack)
                first++;
        for (end = first; end < failures->n && failures->failures[end].stack == stack; end++)
                ;

        *ret_n = end - first;
        return failures->failures ? failures->failures + first : NULL;
}

unsigned hbm_data_count(const MemoryData *bits) {
        unsigned n = 0;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                n += (unsigned) __builtin_popcount(bits->bytes[i]);
        return n;
}

int hbm_data_first(const MemoryData *bits) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                if (bits->bytes[i])
                        return (int) (8 * i) + __builtin_ctz(bits->bytes[i]);
        return -1;
}

uint32_t hbm_data_lanes(const MemoryData *bits) {
        uint32_t lanes = 0;

        for (unsigned i = 0; i < LANE_BYTES; i++) {
                uint8_t all = 0xff;

                for (unsigned beat = 0; beat < MEMORY_ACCESS_BYTES / LANE_BYTES; beat++)
                        all &= bits->bytes[beat * LANE_BYTES + i];
                lanes |= (uint32_t) all << (8 * i);
        }
        return lanes;
}

MemoryData hbm_data_without(MemoryData bits, uint32_t lanes) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                bits.bytes[i] &= (uint8_t) ~(lanes >> (8 * (i % LANE_BYTES)));
        return bits;
}
