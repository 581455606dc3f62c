/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/probe.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#define BATCH_BANKS 192u /* reads in one batch */

uint32_t hbm_bank_accesses(const MemoryGeometry *geometry) {
        return (uint32_t) geometry->size[HBM_ROW] * geometry->size[HBM_COLUMN];
}

uint32_t hbm_bank_count(const MemoryGeometry *geometry) {
        return geometry->accesses / hbm_bank_accesses(geometry);
}

uint32_t hbm_banks_of_pseudo_channel(const MemoryGeometry *geometry) {
        return (uint32_t) geometry->size[HBM_SID] * geometry->size[HBM_BANK_GROUP] *
               geometry->size[HBM_BANK];
}

WireBox hbm_bank_box(const MemoryGeometry *geometry, uint32_t first, uint32_t n) {
        uint32_t accesses = hbm_bank_accesses(geometry);
        WireBox box;

        memory_geometry_at(geometry, first * accesses, box.first);
        memory_geometry_at(geometry, (first + n) * accesses - 1, box.last);
        return box;
}

static WireMarch probe_march(const HbmProbePattern *pattern, WireBox box, bool write, uint32_t list_max) {
        return (WireMarch) {
                .box            = box,
                .background     = (uint8_t) pattern->field.background,
                .parameter      = pattern->field.parameter,
                .seed           = pattern->field.seed,
                .n_ops          = 1,
                .ops            = { (uint8_t) ((write ? MARCH_WRITE : 0) | (pattern->data ? MARCH_DATA : 0)) },
                .mismatches_max = write ? 0 : list_max,
        };
}

static int keep_answer(const HbmProbe *probe, const HbmProbePattern *pattern, const MemoryAnswer *answer,
                       const WireBox *box, HbmBankTally *tally) {
        HbmSighting sighting = { .phase = HBM_PHASE_PROBE, .pass = HBM_PASSES_MAX };
        uint32_t lanes = answer->n > 0 && 2 * answer->total >= memory_box_accesses(box) ? UINT32_MAX : 0;
        int r;

        tally->count = MAX(tally->count, MIN(answer->total, memory_box_accesses(box)));

        for (size_t i = 0; i < answer->n; i++) {
                const WireMismatch *mismatch = &answer->mismatches[i];
                MemoryData expected, actual, bits;

                /* A place outside of what was asked for is no evidence of anything here. */
                if (!memory_box_includes(box, mismatch->at))
                        continue;

                expected = memory_field_data(&pattern->field, probe->geometry, mismatch->at, pattern->data);
                memcpy(actual.bytes, mismatch->actual, sizeof(actual.bytes));
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                        bits.bytes[k] = expected.bytes[k] ^ actual.bytes[k];

                lanes &= hbm_data_lanes(&bits);

                r = hbm_failures_add(probe->failures, probe->stack,
                                     memory_geometry_linear(probe->geometry, mismatch->at), &sighting, &expected, &actual);
                if (r < 0)
                        return r;
        }

        /* A lane that is stuck at 0 shows with other data than one that is stuck at 1. */
        tally->lanes |= lanes;
        return 0;
}

/* Reads as many banks as go into one batch, from *at on. */
static int read_some(const HbmProbe *probe, const HbmProbePattern *pattern, uint32_t first, uint32_t n,
                     const bool *skip, HbmBankTally *tallies, uint32_t *at) {
        MemoryPart part = memory_part_stack(probe->stack);
        int numbers[BATCH_BANKS];
        uint32_t banks[BATCH_BANKS];
        unsigned n_reads = 0;
        int r;

        memory_batch_reset(probe->batch);
        for (; *at < n && n_reads < BATCH_BANKS; (*at)++) {
                WireMarch march = probe_march(pattern, hbm_bank_box(probe->geometry, first + *at, 1), false, probe->list_max);

                if (skip && skip[first + *at])
                        continue;
                r = memory_batch_march(probe->batch, &part, &march);
                if (r == -ENOSPC && n_reads > 0)
                        break;
                if (r < 0)
                        return r;
                numbers[n_reads] = r;
                banks[n_reads++] = *at;
        }

        if (n_reads == 0)
                return 0;
        r = memory_batch_run(probe->batch);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < n_reads; i++) {
                MemoryAnswer answer = memory_batch_answer(probe->batch, numbers[i]);
                WireBox box = hbm_bank_box(probe->geometry, first + banks[i], 1);

                r = keep_answer(probe, pattern, &answer, &box, &tallies[banks[i]]);
                if (r < 0)
                        return r;
        }

        return 0;
}

int hbm_probe_banks(const HbmProbe *probe, uint32_t first, uint32_t n, const HbmProbePattern *patterns,
                    size_t n_patterns, const bool *skip, HbmBankTally *tallies) {
        MemoryPart part = memory_part_stack(probe->stack);
        WireBox box = hbm_bank_box(probe->geometry, first, n);
        int r;

        memset(tallies, 0, n * sizeof(*tallies));

        for (size_t i = 0; i < n_patterns; i++) {
                WireMarch march = probe_march(&patterns[i], box, true, 0);

                memory_batch_reset(probe->batch);
                r = memory_batch_march(probe->batch, &part, &march);
                if (r < 0)
                        return r;
                r = memory_batch_run(probe->batch);
                if (r < 0)
                        return r;

                for (uint32_t at = 0; at < n;) {
                        r = read_some(probe, &patterns[i], first, n, skip, tallies, &at);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}
