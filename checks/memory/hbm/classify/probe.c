/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/classify/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define BATCH_READS 192u /* in one batch */
#define LANE_BITS   5u   /* of a lane's number */

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

size_t hbm_probe_patterns(uint32_t lanes, uint32_t values, HbmProbePattern ret[static HBM_PROBE_PATTERNS_MAX]) {
        size_t n = 0;

        for (unsigned p = lanes ? 0 : LANE_BITS; p <= LANE_BITS; p++) {
                uint32_t field = 0;

                /* p == LANE_BITS stands for solid. */
                for (unsigned lane = 0; p < LANE_BITS && lane < 32; lane++)
                        field |= (uint32_t) (lane >> p & 1) << lane;

                for (unsigned data = 0; data < 2; data++) {
                        uint32_t shown = data ? ~field : field;

                        if ((shown ^ values) & lanes)
                                continue;
                        ret[n++] = (HbmProbePattern) {
                                .field = { .background = p < LANE_BITS ? MEMORY_BACKGROUND_BIT_STRIPE : MEMORY_BACKGROUND_SOLID,
                                           .parameter  = p < LANE_BITS ? (uint8_t) p : 0 },
                                .data = data,
                        };
                }
        }

        return n;
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
        MarchSighting sighting = { .phase = MARCH_PHASE_PROBE, .pass = MARCH_STEP_PASSES_MAX };
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

                lanes &= memory_data_lanes(&bits);

                r = march_failures_add(probe->failures, probe->stack,
                                       memory_geometry_linear(probe->geometry, mismatch->at), &sighting, &expected, &actual);
                if (r < 0)
                        return r;
        }

        /* A lane that is stuck at 0 shows with other data than one that is stuck at 1. */
        tally->lanes |= lanes;
        return 0;
}

/* One read of a box, and where it is counted. */
typedef struct Reading {
        WireBox box;
        HbmBankTally *tally;
} Reading;

/* As many readings as go into one batch, from *at on. */
static int read_some(const HbmProbe *probe, const HbmProbePattern *pattern, const Reading *readings, size_t n, size_t *at) {
        MemoryPart part = memory_part_stack(probe->stack);
        size_t first = *at;
        int numbers[BATCH_READS], r;

        memory_batch_reset(probe->batch);
        for (; *at < n && *at - first < BATCH_READS; (*at)++) {
                WireMarch march = probe_march(pattern, readings[*at].box, false, probe->list_max);

                r = memory_batch_march(probe->batch, &part, &march);
                if (r == -ENOSPC && *at > first)
                        break;
                if (r < 0)
                        return r;
                numbers[*at - first] = r;
        }

        r = memory_batch_run(probe->batch);
        if (r < 0)
                return r;

        for (size_t i = first; i < *at; i++) {
                MemoryAnswer answer = memory_batch_answer(probe->batch, numbers[i - first]);

                r = keep_answer(probe, pattern, &answer, &readings[i].box, readings[i].tally);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int probe_readings(const HbmProbe *probe, const WireBox *box, const HbmProbePattern *patterns, size_t n_patterns,
                          const Reading *readings, size_t n) {
        MemoryPart part = memory_part_stack(probe->stack);
        int r;

        for (size_t i = 0; i < n_patterns; i++) {
                WireMarch march = probe_march(&patterns[i], *box, true, 0);

                memory_batch_reset(probe->batch);
                r = memory_batch_march(probe->batch, &part, &march);
                if (r < 0)
                        return r;
                r = memory_batch_run(probe->batch);
                if (r < 0)
                        return r;

                for (size_t at = 0; at < n;) {
                        r = read_some(probe, &patterns[i], readings, n, &at);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

bool hbm_probe_box(const HbmProbe *probe, uint32_t first, uint32_t n, WireBox *ret) {
        WireBox box = hbm_bank_box(probe->geometry, first, n);

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                box.first[axis] = MAX(box.first[axis], probe->box->first[axis]);
                box.last[axis] = MIN(box.last[axis], probe->box->last[axis]);
                if (box.first[axis] > box.last[axis])
                        return false;
        }

        *ret = box;
        return true;
}

int hbm_probe_banks(const HbmProbe *probe, uint32_t first, uint32_t n, const HbmProbePattern *patterns,
                    size_t n_patterns, const bool *skip, HbmBankTally *tallies) {
        Reading *readings;
        size_t n_readings = 0;
        WireBox box;
        int r;

        memset(tallies, 0, n * sizeof(*tallies));
        if (!hbm_probe_box(probe, first, n, &box))
                return 0;

        readings = calloc(n, sizeof(Reading));
        if (!readings)
                return -ENOMEM;
        for (uint32_t i = 0; i < n; i++)
                if ((!skip || !skip[first + i]) && hbm_probe_box(probe, first + i, 1, &readings[n_readings].box))
                        readings[n_readings++].tally = &tallies[i];

        r = probe_readings(probe, &box, patterns, n_patterns, readings, n_readings);
        free(readings);
        return r;
}

int hbm_probe_pieces(const HbmProbe *probe, uint32_t bank, unsigned rows, const HbmProbePattern *patterns, size_t n_patterns) {
        HbmBankTally tally = {};
        size_t n = 0;
        Reading *readings;
        WireBox box;
        int r;

        if (!hbm_probe_box(probe, bank, 1, &box))
                return 0;

        readings = calloc((box.last[HBM_ROW] - box.first[HBM_ROW]) / rows + 2u, sizeof(Reading));
        if (!readings)
                return -ENOMEM;
        for (unsigned row = box.first[HBM_ROW]; row <= box.last[HBM_ROW]; row = (row / rows + 1) * rows, n++) {
                readings[n] = (Reading) { .box = box, .tally = &tally };
                readings[n].box.first[HBM_ROW] = (uint16_t) row;
                readings[n].box.last[HBM_ROW] = (uint16_t) MIN((row / rows + 1) * rows - 1, box.last[HBM_ROW]);
        }

        r = probe_readings(probe, &box, patterns, n_patterns, readings, n);
        free(readings);
        return r;
}
