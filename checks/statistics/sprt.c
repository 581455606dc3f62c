/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/statistics/sprt.h"

#include <math.h>

void sprt_start(Sprt *sprt, double sound, double biased, double alarm, double missed) {
        *sprt = (Sprt) {
                .up = log(biased / sound), .down = log1p(-biased) - log1p(-sound),
                .low = log(missed / (1 - alarm)), .high = log((1 - missed) / alarm),
        };
}

SprtAnswer sprt_add(Sprt *sprt, int up) {
        if (sprt->answer != SPRT_UNDECIDED)
                return sprt->answer;

        sprt->n++;
        sprt->sum += up ? sprt->up : sprt->down;
        if (sprt->sum >= sprt->high)
                sprt->answer = SPRT_BIASED;
        else if (sprt->sum <= sprt->low)
                sprt->answer = SPRT_SOUND;
        return sprt->answer;
}
