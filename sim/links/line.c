/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/line.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/*
 * The eye is 64 parts wide where nothing closes it; its edges jitter by a normal distribution whose sigma makes one bit in 1e15 wrong in
 * the middle: Q(32 / SIGMA) = 1e-15. At each edge every other bit changes and can be wrong.
 */
#define EYE_HALF 32.0
#define SIGMA    (EYE_HALF / 7.941345326170997)

void line_send(Line *lines, unsigned n, uint32_t quiet) {
        for (unsigned l = 0; l < n; l++) {
                lines[l].carries = !(quiet >> l & 1);
                lines[l].high = lines[l].inverted = false;
                lines[l].source = (uint8_t) l;
                lines[l].late = 0;
                lines[l].rate = lines[l].closing = 0;
                lines[l].n_troubles = 0;
        }
}

void line_silence(Line *line, bool high) {
        line_send(line, 1, 1);
        line->high = high;
}

void line_add_trouble(Line *line, LineTrouble trouble) {
        assert(line->n_troubles < LINE_TROUBLES_MAX);
        line->troubles[line->n_troubles++] = trouble;
}

void line_add_rate(Line *line, double rate) {
        line->rate = line->rate * (1 - rate) + rate * (1 - line->rate);
}

double line_error_ratio(const Line *line) {
        double ratio = line->rate;

        for (unsigned i = 0; i < line->n_troubles; i++) {
                const LineTrouble *trouble = &line->troubles[i];

                if (trouble->kind == LINE_BURSTS)
                        ratio += trouble->density * fmin(trouble->rate * trouble->length, 1);
                else if (trouble->kind == LINE_SLIPS)
                        ratio += trouble->rate; /* what it is in loses its frame */
                else
                        ratio += trouble->rate / 2;
        }
        return fmin(ratio, 0.5);
}

static double beyond(double sigmas) {
        return 0.5 * erfc(sigmas / sqrt(2));
}

static double eye_rate(double closing, int offset) {
        double half = EYE_HALF - closing;

        return (beyond((half - offset) / SIGMA) + beyond((half + offset) / SIGMA)) / 2;
}

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static double open_rates[LINK_OFFSET_MAX + 1]; /* of an eye that nothing closes: most, and most often */

static void work_out_open(void) {
        for (int offset = 0; offset <= LINK_OFFSET_MAX; offset++)
                open_rates[offset] = eye_rate(0, offset);
}

double line_eye_rate(double closing, int offset) {
        if (closing != 0 || abs(offset) > LINK_OFFSET_MAX)
                return eye_rate(closing, offset);

        (void) pthread_once(&open_once, work_out_open);
        return open_rates[abs(offset)];
}
