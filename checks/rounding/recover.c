/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/recover.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/statistics/tails.h"

#define FORMAT        FORMAT_FP8_E5M2
#define ROUNDS_MAX    33u
#define KNOWN_BITS    24u /* of every word */
/* A name is given to what independent words do less often than this, over all pairs of lanes of a chip together. */
#define TWIN_ALPHA (1e-6 / (CORES * _ENGINE_MAX * ENGINE_LANES * ENGINE_LANES))

/* What tells the lower half of what is left from the upper one; its threshold is 0 where no number does. */
static Element bisect(uint64_t low, uint64_t high) {
        Element e = element_below_all(FORMAT, (uint32_t) (low + (high - low) / 2), true, false);
        uint64_t threshold = element_threshold(&e);

        if (threshold <= low || threshold >= high)
                e.fraction = 0;
        return e;
}

int recover_words(Session *session, unsigned core, WireEngine engine, uint32_t seed, Recovered *ret) {
        uint64_t *low = &ret->low[0][0], *high = &ret->high[0][0];
        uint32_t up = golden_image(FORMAT, 1);
        bool left = true;
        int r;

        ret->seed = seed;
        for (unsigned i = 0; i < ENGINE_LANES * RECOVERED_WORDS; i++) {
                low[i] = 0;
                high[i] = UINT64_C(1) << 32;
        }

        for (unsigned round = 0; round < ROUNDS_MAX && left; round++) {
                for (unsigned i = 0; i < ENGINE_LANES * RECOVERED_WORDS; i++)
                        session->scratch_in[i] = bisect(low[i], high[i]).bits;
                r = session_convert(session, core, engine, FORMAT, &seed, RECOVERED_WORDS);
                if (r < 0)
                        return r;

                left = false;
                for (unsigned i = 0; i < ENGINE_LANES * RECOVERED_WORDS; i++) {
                        Element e = bisect(low[i], high[i]);

                        if (e.fraction == 0)
                                continue;
                        *(golden_load(FORMAT, session->scratch_out, i) == up ? &low[i] : &high[i]) = element_threshold(&e);
                        left = true;
                }
        }

        return 0;
}

/* ---- what the words are ---- */

typedef struct Words {
        uint32_t actual[RECOVERED_WORDS]; /* bits below the known ones are whatever they are */
        uint32_t wanted[RECOVERED_WORDS];
} Words;

typedef struct Teller {
        char *text;
        size_t size, n;
        bool nothing; /* a bit is none of what can be told */
} Teller;

static void __attribute__((format(printf, 2, 3))) tell(Teller *teller, const char *format, ...) {
        va_list arguments;
        int n;

        if (teller->n > 0 && teller->n + 2 < teller->size)
                teller->n += (size_t) snprintf(teller->text + teller->n, teller->size - teller->n, ", ");
        va_start(arguments, format);
        n = vsnprintf(teller->text + teller->n, teller->size - teller->n, format, arguments);
        va_end(arguments);
        teller->n = n < 0 || teller->n + (size_t) n >= teller->size ? teller->size - 1 : teller->n + (size_t) n;
}

/* All words' bit B as 64 bits. */
static uint64_t column(const uint32_t words[static RECOVERED_WORDS], unsigned b) {
        uint64_t bits = 0;

        for (unsigned i = 0; i < RECOVERED_WORDS; i++)
                bits |= (uint64_t) (words[i] >> b & 1) << i;
        return bits;
}

static void tell_bit(const Words *words, unsigned bit, Teller *teller) {
        uint64_t actual = column(words->actual, bit), own = column(words->wanted, bit);

        if (actual == own)
                return;
        if (actual == 0 || actual == UINT64_MAX) {
                tell(teller, "bit %u is stuck at %u", bit, actual != 0);
                return;
        }
        for (unsigned other = 32; other-- > 0;) {
                uint64_t wanted = column(words->wanted, other);

                if (actual != wanted && actual != (own & wanted) && actual != (own | wanted))
                        continue;
                tell(teller, "bit %u gives %s%u", bit, actual == wanted ? "bit " : actual == (own & wanted) ? "itself and bit " : "itself or bit ", other);
                return;
        }
        teller->nothing = true;
}

/* After how many words they begin anew; RECOVERED_WORDS where they do not. */
static unsigned find_period(const Words *words) {
        unsigned period = 1;

        for (unsigned i = period; i < RECOVERED_WORDS; i++)
                if ((words->actual[i] ^ words->actual[i % period]) >> (32 - KNOWN_BITS)) {
                        period++;
                        i = period - 1;
                }
        return period;
}

/* How many words of LANE, as far as they are known, OTHER has too. *ret_lag: how far ahead of it LANE is, by the first of them. */
static unsigned count_shared(const Recovered *recovered, unsigned lane, unsigned other, int *ret_lag) {
        unsigned n = 0;

        for (unsigned i = 0; i < RECOVERED_WORDS; i++)
                for (unsigned j = 0; j < RECOVERED_WORDS; j++)
                        if ((recovered->low[lane][i] ^ recovered->low[other][j]) >> (32 - KNOWN_BITS) == 0) {
                                if (n++ == 0)
                                        *ret_lag = (int) j - (int) i;
                                break;
                        }
        return n;
}

/* What pairs of independent words have in common are rare events, dependent ones, and so Poisson's in number. */
static bool find_twin(const Recovered *recovered, unsigned lane, unsigned *ret_other, unsigned *ret_shared, int *ret_lag) {
        static const double mean = RECOVERED_WORDS * RECOVERED_WORDS / (double) (1u << KNOWN_BITS);
        unsigned most = 0;

        for (unsigned other = 0; other < ENGINE_LANES; other++) {
                unsigned n;
                int lag = 0;

                if (other == lane)
                        continue;
                n = count_shared(recovered, lane, other, &lag);
                if (n > most) {
                        most = n;
                        *ret_other = other;
                        *ret_lag = lag;
                }
        }

        *ret_shared = most;
        return most > 0 && poisson_at_least(most, mean) <= TWIN_ALPHA;
}

bool recovered_explain(const Recovered *recovered, WireEngine engine, unsigned lane, char *text, size_t size, unsigned *ret_other) {
        Teller teller = { .text = text, .size = size };
        unsigned period, shared;
        int lag;
        Words words;

        text[0] = '\0';
        *ret_other = ENGINE_LANES;
        script_words(engine, lane, recovered->seed, 0, RECOVERED_WORDS, words.wanted);
        for (unsigned i = 0; i < RECOVERED_WORDS; i++)
                words.actual[i] = (uint32_t) recovered->low[lane][i];

        period = find_period(&words);
        if (period < RECOVERED_WORDS / 2) {
                tell(&teller, period == 1 ? "the word is 0x%0*" PRIx32 "… again and again" : "the words repeat, beginning with 0x%0*" PRIx32 "…",
                     (int) KNOWN_BITS / 4, words.actual[0] >> (32 - KNOWN_BITS));
                if (period > 1)
                        tell(&teller, "after %u", period);
                return true;
        }
        for (unsigned bit = 32; bit-- > 32 - KNOWN_BITS;)
                tell_bit(&words, bit, &teller);
        if (!teller.nothing)
                return teller.n > 0;

        teller.n = 0;
        text[0] = '\0';
        if (!find_twin(recovered, lane, ret_other, &shared, &lag)) {
                *ret_other = ENGINE_LANES;
                return false;
        }
        tell(&teller, "%u of %u words, not those of the seeded generator, are those of lane %u, %d %s", shared, RECOVERED_WORDS, *ret_other, abs(lag),
             lag < 0 ? "behind" : "ahead");
        return true;
}
