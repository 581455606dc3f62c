/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/classify/larger.h"

#include <string.h>

#define LANES       32u /* bit b of an access goes over lane b % 32, see wire.h */
#define ACCESS_BITS (8u * MEMORY_ACCESS_BYTES)

static bool is_below(const HbmDefect *defect, MemoryAxis last, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        return memcmp(defect->at, at, ((size_t) last + 1) * sizeof(at[0])) == 0;
}

/* Whether DEFECT spoils BIT of the access AT: all bits of it, those of one lane, or one. */
static bool spoils(const HbmDefect *defect, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned bit) {
        switch (defect->kind) {

        case HBM_DEFECT_STACK:
                return true;

        case HBM_DEFECT_CHANNEL:
        case HBM_DEFECT_PSEUDO_CHANNEL:
        case HBM_DEFECT_BANK:
                return is_below(defect, defect->last, at);

        case HBM_DEFECT_DIE:
                return defect->at[HBM_SID] == at[HBM_SID] && defect->at[HBM_CHANNEL] / HBM_DIE_CHANNELS == at[HBM_CHANNEL] / HBM_DIE_CHANNELS;

        case HBM_DEFECT_LANE:
        case HBM_DEFECT_DATA_TSV:
                return is_below(defect, defect->last, at) && (unsigned) defect->bit == bit % LANES;

        case HBM_DEFECT_COLUMN:
        case HBM_DEFECT_BIT_LINE:
                return is_below(defect, HBM_BANK, at) && defect->at[HBM_COLUMN] == at[HBM_COLUMN] &&
                       (defect->bit < 0 || (unsigned) defect->bit == bit);

        case HBM_DEFECT_ADDRESS_TSV:
        case HBM_DEFECT_HAMMER:
        case HBM_DEFECT_RETENTION:
        case HBM_DEFECT_WORDLINE_SHORT:
        case HBM_DEFECT_DECODER:
        case HBM_DEFECT_SUB_WORDLINE:
        case HBM_DEFECT_ROW:
        case HBM_DEFECT_WORD:
        case HBM_DEFECT_CELL:
        case HBM_DEFECT_INTERMITTENT:
        case HBM_DEFECT_SOFT_ERROR:
        case HBM_DEFECT_SCATTERED:
        case _HBM_DEFECT_KIND_MAX:
                break;
        }

        return false;
}

bool hbm_larger_explains(const HbmDefects *defects, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], const MemoryData *expected,
                         const MemoryData *actual) {
        for (unsigned bit = 0; bit < ACCESS_BITS; bit++) {
                bool explained = false;

                if (!((expected->bytes[bit / 8] ^ actual->bytes[bit / 8]) >> bit % 8 & 1))
                        continue;
                for (size_t i = 0; i < defects->n && !explained; i++)
                        explained = defects->defects[i].stack == stack && spoils(&defects->defects[i], at, bit);
                if (!explained)
                        return false;
        }
        return true;
}
