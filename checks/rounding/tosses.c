/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/tosses.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEED_STEP 0x85ebca6bu /* a stream that no pass draws from */

int tosses_draw(Session *session, unsigned core, WireEngine engine, Tosses *ret) {
        uint32_t seed = (uint32_t) session->scripts[engine]->parameters->seed ^ SEED_STEP, up;
        Element half = element_between(FORMAT_BF16, golden_nearest(FORMAT_BF16, 1), 2, false);
        int r;

        *ret = (Tosses) {};
        up = golden_image(FORMAT_BF16, half.low + 1);
        for (unsigned i = 0; i < ENGINE_LANES * SCRATCH_COUNT; i++)
                session->scratch_in[i] = half.bits;
        for (unsigned at = 0; at < TOSSES; at += SCRATCH_COUNT) {
                r = session_convert(session, core, engine, FORMAT_BF16, at == 0 ? &seed : NULL, SCRATCH_COUNT);
                if (r < 0)
                        return r;
                for (unsigned i = 0; i < ENGINE_LANES * SCRATCH_COUNT; i++) {
                        unsigned bit = at + i % SCRATCH_COUNT;

                        ret->bits[i / SCRATCH_COUNT][bit / 64] |= (uint64_t) (golden_load(FORMAT_BF16, session->scratch_out, i) == up) << (bit % 64);
                }
        }

        return 0;
}

/* The lane that goes with this one most. */
static double find_other(const Tosses *tosses, unsigned lane, unsigned *ret_other, unsigned *ret_lag, uint64_t *ret_agreements) {
        double least = 1;

        for (unsigned other = 0; other < ENGINE_LANES; other++)
                for (unsigned lag = 0; lag < TOSS_SHIFTS && other != lane; lag++) {
                        uint64_t agreements = serial_agreements(tosses->bits[lane], tosses->bits[other], TOSSES, lag);
                        uint64_t half = (TOSSES - lag) / 2, off = agreements > half ? agreements - half : half - agreements;
                        double p = off > 200 ? serial_p_value(agreements, TOSSES - lag) : 1; /* six deviations: nearer is nothing to tell */

                        if (p < least) {
                                least = p;
                                *ret_other = other;
                                *ret_lag = lag;
                                *ret_agreements = agreements;
                        }
                }

        return least;
}

static void tell_serial(const Serial *serial, char *text, size_t size) {
        switch (serial->test) {
        case SERIAL_AUTOCORRELATION:
                (void) snprintf(text, size, "%" PRIu64 " of %" PRIu64 " at 1/2 are as the one %u earlier, probability %.2g", serial->value, serial->n,
                                serial->lag, serial->p_value);
                break;
        case SERIAL_ONES:
                (void) snprintf(text, size, "%" PRIu64 " of %" PRIu64 " at 1/2 go up, probability %.2g", serial->value, serial->n, serial->p_value);
                break;
        case SERIAL_RUNS:
                (void) snprintf(text, size, "%" PRIu64 " of %" PRIu64 " at 1/2 differ from the one before, probability %.2g", serial->value, serial->n,
                                serial->p_value);
                break;
        case SERIAL_COMPLEXITY:
                (void) snprintf(text, size, "a linear register of %" PRIu64 " bits gives %" PRIu64 " of them, probability %.2g", serial->value,
                                serial->n, serial->p_value);
                break;
        case _SERIAL_TEST_MAX:
                break;
        }
}

bool tosses_explain(const Tosses *tosses, unsigned lane, char *text, size_t size, unsigned *ret_other) {
        Serial serial = serial_test(tosses->bits[lane], TOSSES);
        unsigned other = ENGINE_LANES, lag = 0;
        uint64_t agreements = 0;

        *ret_other = ENGINE_LANES;
        /* A lane that is no coin goes with any other that is none. */
        if (serial.p_value > TOSS_ALPHA) {
                if (find_other(tosses, lane, &other, &lag, &agreements) > TOSS_ALPHA)
                        return false;
                *ret_other = other;
                (void) snprintf(text, size, "%" PRIu64 " of %u at 1/2 are as those of lane %u, %u ahead", agreements, TOSSES - lag, other, lag);
                return true;
        }
        tell_serial(&serial, text, size);
        return true;
}
