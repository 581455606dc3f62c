/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reader: what arrives on a line, from its first bit on, each bit once: read, or passed over where the caller knows what it is.
 * Bit i is bit i - late of the pattern, inverted or not, wrong where an event or a draw says so.
 */

#include "sim/links/line.h"

typedef struct Pattern { /* a generator that is asked for any bit, and quick for the next */
        WirePrbs polynomial;
        uint32_t start; /* state before bit 0 */
        int64_t index;  /* state: after bit index - 1 */
        uint32_t state;
} Pattern;

Pattern pattern_begin(WirePrbs polynomial, uint32_t start);
unsigned pattern_bit(Pattern *pattern, int64_t index);
/* The last k bits up to INDEX. */
uint32_t pattern_state(Pattern *pattern, int64_t index);

typedef struct Noise { /* single wrong bits of one probability */
        double rate;
        uint64_t next;               /* the next one, drawn already */
        const LineTrouble *crosstalk; /* wrong only where the other lane toggles, or NULL */
        Pattern other;
} Noise;

typedef struct Reader {
        const Line *line;
        const LineEvent *events; /* those that are left */
        size_t n_events;
        uint64_t next_break; /* the next event that is a slip or a silence, UINT64_MAX for none */
        uint64_t next;       /* the next bit at which anything happens */
        uint64_t at;         /* the next bit to be read */
        uint64_t silent;     /* the line is idle up to here */
        int64_t late;
        Pattern pattern;
        Dice dice;
        double rate; /* of all noises together */
        unsigned n_noises;
        Noise noises[LINE_TROUBLES_MAX + 1];
} Reader;

Reader reader_begin(const Line *line, const LineRun *run, const LineEvent *events, size_t n_events, uint64_t first, Dice dice);

unsigned reader_next(Reader *reader);
/* How many of the bits up to END are wrong. Only where reader->next_break and reader->silent do not lie before it. */
uint64_t reader_count(Reader *reader, uint64_t end);
/* The same of whole blocks up to END, before which no event lies. */
uint64_t reader_count_blocks(Reader *reader, uint64_t end, uint64_t *ret_errored);
/* Goes to AT, which lies before the next event, as if no bit before it had been wrong. */
void reader_pass(Reader *reader, uint64_t at);
