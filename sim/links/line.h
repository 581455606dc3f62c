/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Line
 *
 * One lane on its way: whose pattern it carries and what has happened to it so far. link-path.c lets it pass one segment after another;
 * at the end line_check() says what the checker of wire-link.h makes of it.
 *
 * No bit is generated but where it matters: what disturbs is drawn as events, a list of single wrong bits, slips and silences;
 * wrong bits of one probability are drawn as counts wherever the checker is in step. Around slips, silences and at the begin, where it
 * looks for the pattern, the bits are those of the generator.
 *
 *     line-prbs     the generators
 *     line-events   draws what disturbs
 *     line-reader   what arrives, bit by bit
 *     line-check    the checker
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"
#include "sim/chip/dice.h"

#define LINE_TROUBLES_MAX 16u
#define LINE_RATE_MAX     0.1 /* of wrong bits: beyond it no clock is recovered and the checker never locks */

typedef enum LineTroubleKind {
        LINE_BURSTS,    /* Gilbert and Elliott: begin with `rate` at each bit, end with 1 / length, are wrong with `density` */
        LINE_SLIPS,     /* with `rate` at each bit the clock slips by `slip` */
        LINE_CROSSTALK, /* with `rate` at each bit at which the other lane toggles */
} LineTroubleKind;

typedef struct LineTrouble {
        LineTroubleKind kind;
        double rate, length, density;
        int slip;
        uint8_t from;      /* the other lane's source, and how late that is */
        int64_t from_late;
} LineTrouble;

typedef struct Line {
        bool carries; /* a pattern; else it is idle, at */
        bool high;
        bool inverted;
        uint8_t source; /* lane of the transmitter that sends it */
        int64_t late;   /* bits */
        double rate;    /* of bits that are wrong, each on its own */
        double closing; /* of the eye, see line_eye_rate() */
        unsigned n_troubles;
        LineTrouble troubles[LINE_TROUBLES_MAX];
} Line;

typedef struct LineEvent { /* at bit `at`: wrong, unless it slips or falls silent */
        uint64_t at;
        uint64_t silent; /* bits of idle line */
        int slip;        /* bits later */
} LineEvent;

/* What all lanes of a port have in common. */
typedef struct LineRun {
        WirePrbs polynomial;
        uint64_t seed, bits;
        size_t n_events; /* silences, in their order */
        const LineEvent *events;
} LineRun;

/* All lines as a transmitter sends them; bit l of QUIET: idle. */
void line_send(Line *lines, unsigned n, uint32_t quiet);

/* Nothing of what came before is left: idle at that level. */
void line_silence(Line *line, bool high);
/* At most LINE_TROUBLES_MAX: link_inject() sees to that. */
void line_add_trouble(Line *line, LineTrouble trouble);
/* One more reason for a bit to be wrong. */
void line_add_rate(Line *line, double rate);
/* How often a bit is wrong, all reasons together, on average. */
double line_error_ratio(const Line *line);

/* What is wrong in the eye: OFFSET 64ths of a unit interval from its middle, closed by CLOSING 64ths on each side. */
double line_eye_rate(double closing, int offset);

/* A line without troubles, none of whose bits is wrong within RUN, in which nothing is silent. */
void line_check_sound(const Line *line, const LineRun *run, WireLane *ret);

/* FIRST: the first bit that is wrong by line->rate, if within the bits; of DICE the rest is drawn. 0, or -ENOMEM. */
int line_check(const Line *line, const LineRun *run, uint64_t first, Dice *dice, WireLane *ret);
/* The same with a list of events, in order of their bits, in place of what would be drawn for line->troubles. */
void line_check_events(const Line *line, const LineRun *run, const LineEvent *events, size_t n_events, uint64_t first, Dice *dice,
                       WireLane *ret);
