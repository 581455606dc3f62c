/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/retest.h"

#include <math.h>

#include "checks/statistics/sprt.h"
#include "checks/statistics/tails.h"

#define BLOCK      SCRATCH_COUNT
#define FRESH_SEED 0x5bd1e995u

/* All lanes are given the same; one is looked at. */
static Element prepare(Session *session, unsigned place) {
        Element e = element_between(FORMAT_BF16, golden_nearest(FORMAT_BF16, 1), place % 2 ? 3 : 1, place >= 2);

        for (unsigned i = 0; i < ENGINE_LANES * BLOCK; i++)
                session->scratch_in[i] = e.bits;
        return e;
}

int retest_lane(Session *session, unsigned core, WireEngine engine, unsigned lane, unsigned place, unsigned ups, Retest *ret) {
        const Script *script = session->scripts[engine];
        const Budget *budget = &script->budget;
        uint32_t seed = (uint32_t) script->parameters->seed ^ FRESH_SEED, up;
        double sound = place % 2 ? 0.75 : 0.25, bias = script->parameters->bias;
        Element e = prepare(session, place);
        Sprt sprt;
        int r = 0;

        *ret = (Retest) {};
        up = golden_image(FORMAT_BF16, element_signed(FORMAT_BF16, &e, e.low + 1));
        sprt_start(&sprt, sound, ups > sound * budget->each ? sound + bias : sound - bias, budget->alpha_stage / 2 * (1 - BUDGET_MISSED), BUDGET_MISSED);
        while (sprt.answer == SPRT_UNDECIDED && ret->n < budget->each && r >= 0) {
                r = session_convert(session, core, engine, FORMAT_BF16, ret->n == 0 ? &seed : NULL, BLOCK);
                for (unsigned i = 0; i < BLOCK && r >= 0 && sprt.answer == SPRT_UNDECIDED && ret->n < budget->each; i++) {
                        bool is_up = golden_load(FORMAT_BF16, session->scratch_out, lane * BLOCK + i) == up;

                        ret->n++;
                        ret->ups += is_up;
                        (void) sprt_add(&sprt, is_up);
                }
        }
        if (r < 0)
                return r;

        ret->p_value = binomial_p_value(ret->ups, ret->n, sound);
        ret->biased = sprt.answer == SPRT_BIASED || (ret->n >= budget->each && ret->p_value <= budget->alpha_stage / 2);
        /* A value that equals a bound is beyond it. */
        ret->decided = sprt.answer == SPRT_BIASED ? (Decided) { "rounding_retest_ratio", sprt.sum, nextafter(sprt.high, 0) } :
                                                    (Decided) { "rounding_retest_p_value", ret->p_value, nextafter(budget->alpha_stage / 2, 1) };
        return 0;
}
