/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/quorum.h"

bool quorum_is_met(const Quorum *quorum, uint32_t witnesses) {
        uint64_t met = witnesses;

        for (size_t i = 0; i < quorum->n_groups; i++)
                if ((unsigned) __builtin_popcountll(met & quorum->groups[i].members) >= quorum->groups[i].threshold)
                        met |= UINT64_C(1) << (CHECKPOINT_WITNESSES_MAX + i);
        return (met & quorum->wanted) == quorum->wanted;
}
