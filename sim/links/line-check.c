/* SPDX-License-Identifier: Apache-2.0 */

/* The checker of a lane, as wire-link.h describes it. */

#include <stdlib.h>
#include <math.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"
#include "sim/links/line-events.h"
#include "sim/links/line-prbs.h"
#include "sim/links/line-reader.h"

#define SEARCH_MAX  65536u /* bits without a lock, after which finding one is a matter of waiting */
#define SEARCH_RATE 0.01   /* of wrong bits; with fewer it takes no waiting */
#define PHASES_MAX  4096   /* slips among which the phase of a lock is looked for */

typedef struct Checker {
        const LineRun *run;
        uint64_t bits; /* of them, how many are looked at */
        Reader reader;
        Pattern expected;
        unsigned degree;
        uint64_t from;  /* of the lock: its first bit, */
        uint64_t block; /* the next block to be compared, */
        int64_t late;   /* and its phase */
        int64_t first_late;
        WireLane *lane;
} Checker;

/* ---- acquire ---- */

/* How late the pattern is whose last bits, those before reader->at, are STATE: now, or before the clock slipped within them. */
static int64_t phase_of(Checker *checker, uint32_t state) {
        int64_t late = checker->reader.late, last = (int64_t) checker->reader.at - 1;

        for (int64_t d = 0; d <= PHASES_MAX; d++)
                for (int sign = -1; sign <= 1; sign += 2)
                        if (pattern_state(&checker->expected, last - (late + sign * d)) == state)
                                return late + sign * d;

        return late; /* wrong bits that look like another pattern: one chance in 2^128 */
}

static void lock(Checker *checker, uint32_t state, bool inverted, uint64_t from) {
        WireLane *lane = checker->lane;

        checker->from = from;
        checker->block = from + checker->degree;
        checker->late = phase_of(checker, state);
        if (lane->locked) {
                lane->resyncs++;
                lane->slipped = (int32_t) (checker->late - checker->first_late);
                return;
        }

        checker->first_late = checker->late;
        lane->locked = 1;
        lane->inverted = inverted;
        lane->state = pattern_state(&checker->expected, -checker->late - 1);
}

/* Nothing but wrong bits of one probability is left in the way of a lock: how long it takes until there is none of them for long enough. */
static bool lock_by_waiting(Checker *checker) {
        Reader *reader = &checker->reader;
        unsigned window = checker->degree + LINK_LOCK_BITS;
        double chance = reader->rate * pow(1 - reader->rate, window);
        uint64_t end = MIN(checker->bits, reader->n_events > 0 ? reader->events[0].at : UINT64_MAX), wait;

        wait = dice_gap(&reader->dice, chance);
        if (reader->at + window >= end || wait >= end - reader->at - window) {
                reader_pass(reader, end);
                return false;
        }

        reader_pass(reader, reader->at + wait + window);
        lock(checker, pattern_state(&checker->expected, (int64_t) reader->at - 1 - reader->late), reader->line->inverted,
             reader->at - window);
        return true;
}

/* Reads until the pattern is found. False: it is not, and all is read. */
static bool acquire(Checker *checker) {
        WirePrbs polynomial = checker->run->polynomial;
        uint32_t mask = (uint32_t) line_prbs_period(polynomial), state = 0;
        unsigned n = 0, right = 0, wrong = 0, window = checker->degree + LINK_LOCK_BITS;
        Reader *reader = &checker->reader;
        uint64_t begin = reader->at;

        while (reader->at < checker->bits) {
                unsigned bit;

                /* Idle for as long as a state: no lock that began before is due any more, and the last of it is enough. */
                if (reader->silent > reader->at + 4 * window && n >= checker->degree && state == (reader->line->inverted ? mask : 0)) {
                        (void) reader_count(reader, MIN(reader->silent - 2 * window, checker->bits));
                        begin = reader->at;
                        n = right = wrong = 0;
                        continue;
                }
                if (reader->at - begin > SEARCH_MAX && reader->at >= reader->silent && reader->rate > SEARCH_RATE) {
                        if (lock_by_waiting(checker))
                                return true;
                        begin = reader->at;
                        n = right = wrong = 0;
                        continue;
                }

                bit = reader_next(reader);
                if (n++ >= checker->degree) {
                        bool is_right = bit == line_prbs_next_bit(polynomial, state);

                        right = is_right ? right + 1 : 0;
                        wrong = is_right ? 0 : wrong + 1;
                }
                state = (uint32_t) (((uint64_t) state << 1 | bit) & mask);

                if (right >= LINK_LOCK_BITS && state != 0) {
                        lock(checker, state, false, reader->at - window);
                        return true;
                }
                if (wrong >= LINK_LOCK_BITS && state != mask) {
                        lock(checker, state ^ mask, true, reader->at - window);
                        return true;
                }
        }

        return false;
}

/* ---- compare ---- */

static bool is_in_step(const Checker *checker, uint64_t end) {
        const Reader *reader = &checker->reader;

        return reader->late == checker->late && reader->next_break >= end && reader->silent <= reader->at &&
               checker->lane->inverted == reader->line->inverted;
}

/* One block, from where it has not been read yet. */
static uint64_t compare_block(Checker *checker, uint64_t end) {
        Reader *reader = &checker->reader;
        uint64_t wrong = 0;

        if (is_in_step(checker, end))
                return reader_count(reader, end);

        while (reader->at < end) {
                unsigned expected = pattern_bit(&checker->expected, (int64_t) reader->at - checker->late);

                wrong += reader_next(reader) ^ expected ^ checker->lane->inverted;
        }
        return wrong;
}

/* All whole blocks before anything of the list happens, at once. */
static void compare_blocks(Checker *checker) {
        Reader *reader = &checker->reader;
        uint64_t end = MIN(checker->bits, reader->n_events > 0 ? reader->events[0].at : UINT64_MAX), errored;

        end = checker->block + (end - checker->block) / LINK_BLOCK_BITS * LINK_BLOCK_BITS;
        checker->lane->errors += reader_count_blocks(reader, end, &errored);
        checker->lane->errored_blocks += errored;
        checker->block = end;
}

/* From a lock until it is lost, or all is read. */
static void compare(Checker *checker) {
        Reader *reader = &checker->reader;

        while (checker->block < checker->bits) {
                uint64_t end = MIN(checker->block + LINK_BLOCK_BITS, checker->bits), wrong;

                if (reader->at == checker->block && is_in_step(checker, end) &&
                    (reader->n_events == 0 || reader->events[0].at >= end) && end - checker->block == LINK_BLOCK_BITS) {
                        compare_blocks(checker);
                        continue;
                }

                wrong = compare_block(checker, end);
                checker->block = end;
                checker->lane->errors += wrong;
                checker->lane->errored_blocks += wrong > 0;
                if (wrong >= LINK_LOSS_ERRORS)
                        break;
        }

        checker->lane->bits += checker->block - checker->from;
}

/* ---- the whole ---- */

/* What the activity detector counts, up to where it stops. */
static uint64_t count_transitions(Reader reader, uint64_t bits) {
        uint64_t transitions = 0;
        unsigned last = 2;

        while (reader.at < bits && transitions < LINK_TRANSITIONS_MAX) {
                if (reader.silent > reader.at + 2)
                        (void) reader_count(&reader, MIN(reader.silent - 1, bits - 1));

                unsigned bit = reader_next(&reader);

                transitions += last < 2 && bit != last;
                last = bit;
        }
        return transitions;
}

/*
 * Where nothing happens for long the pattern is found at once, and as no run of a maximal sequence is longer than its degree the line has
 * toggled often enough by then.
 */
static bool begins_sound(const LineRun *run, uint64_t first) {
        uint64_t enough = (LINK_TRANSITIONS_MAX + 1) * line_prbs_degree(run->polynomial);

        return run->bits >= enough && first >= enough;
}

static void begin_sound(const Line *line, const LineRun *run, WireLane *ret) {
        uint32_t state = line_prbs_seed(run->polynomial, run->seed, line->source);

        *ret = (WireLane) {
                .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .inverted = line->inverted,
                .state = line->late == 0 ? state : line_prbs_jump(run->polynomial, state, -line->late),
        };
}

static void check_idle(const Line *line, WireLane *ret) {
        *ret = (WireLane) { .state = line->high ? UINT32_MAX : 0 };
}

/* What was cut off is taken to go as what was looked at. */
static void scale(WireLane *lane, uint64_t bits, uint64_t looked_at) {
        double factor = (double) bits / (double) looked_at;

        lane->bits = MIN((uint64_t) ((double) lane->bits * factor), bits);
        lane->errors = MIN((uint64_t) ((double) lane->errors * factor), lane->bits);
        lane->errored_blocks = (uint64_t) ((double) lane->errored_blocks * factor);
        lane->resyncs = (uint32_t) fmin((double) lane->resyncs * factor, UINT32_MAX);
        lane->slipped = (int32_t) fmax(fmin(lane->slipped * factor, INT32_MAX), INT32_MIN);
}

static void check(const Line *line, const LineRun *run, uint64_t bits, const LineEvent *events, size_t n_events, uint64_t first,
                  const Dice *dice, WireLane *ret) {
        Reader reader = reader_begin(line, run, events, n_events, first, *dice);
        Checker checker = {
                .run = run, .bits = bits, .reader = reader, .degree = line_prbs_degree(run->polynomial), .lane = ret,
                .expected = pattern_begin(run->polynomial, line_prbs_seed(run->polynomial, run->seed, line->source)),
                .block = line_prbs_degree(run->polynomial), .late = line->late, .first_late = line->late,
        };

        if (begins_sound(run, reader.next)) {
                begin_sound(line, run, ret);
                checker.reader.at = checker.degree + LINK_LOCK_BITS;
                compare(&checker);
        } else
                *ret = (WireLane) { .transitions = count_transitions(reader, run->bits) };
        if (line->rate > LINE_RATE_MAX)
                return;

        while (acquire(&checker))
                compare(&checker);
        if (bits < run->bits)
                scale(ret, run->bits, bits);
}

void line_check_events(const Line *line, const LineRun *run, const LineEvent *events, size_t n_events, uint64_t first, Dice *dice,
                       WireLane *ret) {
        if (line->carries)
                check(line, run, run->bits, events, n_events, first, dice, ret);
        else
                check_idle(line, ret);
}

int line_check(const Line *line, const LineRun *run, uint64_t first, Dice *dice, WireLane *ret) {
        _cleanup_free_ LineEvent *events = NULL;
        uint64_t bits;
        size_t n;
        int r;

        if (!line->carries) {
                check_idle(line, ret);
                return 0;
        }

        r = line_events_draw(line, run, dice, &events, &n, &bits);
        if (r < 0)
                return r;
        check(line, run, bits, events, n, first, dice, ret);
        return 0;
}

void line_check_sound(const Line *line, const LineRun *run, WireLane *ret) {
        Dice dice = {};

        if (!line->carries || !begins_sound(run, UINT64_MAX)) {
                line_check_events(line, run, NULL, 0, UINT64_MAX, &dice, ret);
                return;
        }
        begin_sound(line, run, ret);
        ret->bits = run->bits;
}
