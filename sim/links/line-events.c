/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/line-events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"

typedef struct Drawing {
        Dice *dice;
        uint64_t bits;
        size_t n;
        LineEvent *events; /* LINE_EVENTS_MAX more than the port's */
} Drawing;

/* One burst: how long it lasts, and which of its bits are wrong, up to END events. Returns the bit behind what is drawn of it. */
static uint64_t draw_burst(Drawing *drawing, const LineTrouble *trouble, uint64_t at, size_t end) {
        uint64_t behind = at + 1 + dice_gap(drawing->dice, 1 / trouble->length), wrong = at;

        while (drawing->n < end) {
                uint64_t gap = dice_gap(drawing->dice, trouble->density);

                if (gap >= behind - wrong)
                        return behind;
                wrong += gap;
                drawing->events[drawing->n++] = (LineEvent) { .at = wrong++ };
        }
        return wrong;
}

/* Up to END events of TROUBLE. Returns how many bits that covers. */
static uint64_t draw_trouble(Drawing *drawing, const LineTrouble *trouble, size_t end) {
        uint64_t at = 0;

        while (drawing->n < end) {
                uint64_t gap = dice_gap(drawing->dice, trouble->rate);

                if (gap >= drawing->bits - at)
                        return drawing->bits;
                at += gap;
                if (trouble->kind == LINE_BURSTS)
                        at = draw_burst(drawing, trouble, at, end);
                else
                        drawing->events[drawing->n++] = (LineEvent) { .at = at++, .slip = trouble->slip };
                if (at >= drawing->bits)
                        return drawing->bits;
        }
        return at;
}

static int by_bit(const void *a, const void *b) {
        const LineEvent *left = a, *right = b;

        return left->at < right->at ? -1 : left->at > right->at;
}

static unsigned drawn_troubles(const Line *line) {
        unsigned n = 0;

        for (unsigned i = 0; i < line->n_troubles; i++)
                n += line->troubles[i].kind != LINE_CROSSTALK;
        return n;
}

int line_events_draw(const Line *line, const LineRun *run, Dice *dice, LineEvent **ret, size_t *ret_n, uint64_t *ret_bits) {
        unsigned n_troubles = drawn_troubles(line);
        _cleanup_free_ LineEvent *events = NULL;
        uint64_t bits = run->bits;

        *ret = NULL;
        *ret_n = 0;
        *ret_bits = run->bits;
        if (n_troubles == 0 && run->n_events == 0)
                return 0;

        events = malloc((LINE_EVENTS_MAX + run->n_events) * sizeof(*events));
        if (!events)
                return -ENOMEM;

        Drawing drawing = { .dice = dice, .bits = run->bits, .events = events };

        for (unsigned i = 0; i < line->n_troubles; i++)
                if (line->troubles[i].kind != LINE_CROSSTALK) {
                        uint64_t covered = draw_trouble(&drawing, &line->troubles[i], drawing.n + LINE_EVENTS_MAX / n_troubles);

                        bits = MIN(bits, covered);
                }
        if (run->n_events > 0)
                memcpy(&events[drawing.n], run->events, run->n_events * sizeof(*events));
        drawing.n += run->n_events;
        qsort(events, drawing.n, sizeof(*events), by_bit);

        *ret = TAKE_PTR(events);
        *ret_n = drawing.n;
        *ret_bits = bits;
        return 0;
}
