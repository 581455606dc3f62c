/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/diagnose/suspects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define BITS         (8u * MEMORY_ACCESS_BYTES)
#define SUSPECTS_MAX 64u /* of a stack */
#define TURNS        64u /* what acts in a fiftieth of all reads shows in 128 of them but once in thirteen */
#define REFUTED      8u  /* turns in which what was known failed again, and nothing else */
#define NEARLY_ALL   10u /* but for 1 row of so many */
#define ROW_COLUMNS  8u  /* a row in which 1 column of so many fails is a row */
#define PIECE_ROWS   512u

typedef struct Asked {
        const HbmDiagnosis *diagnosis;
        const HbmCase *c;
        uint32_t bank;
        HbmProbePattern patterns[HBM_PROBE_PATTERNS_MAX];
        size_t n_patterns;
        WireBox column;  /* as far as it was tested */
        uint8_t *known;  /* by row: it has failed */
        unsigned n_rows, n_known;
} Asked;

/* Other places than a pause or the rows beside it make it fail. */
static bool is_plain(const MarchFailure *failure) {
        return failure->phases & (1u << MARCH_PHASE_MARCH | 1u << MARCH_PHASE_ADDRESS | 1u << MARCH_PHASE_WALKING | 1u << MARCH_PHASE_PROBE);
}

static MemoryData bits_of(const HbmCase *c, const MarchFailure *failure) {
        return memory_data_without(failure->bits, c->lanes[hbm_case_bank_of(c, failure) / hbm_case_banks_of_part(c)]);
}

/* ---- who is asked ---- */

/* By column: whether a bit of it fails in more than one row, of rows that do not fail as such. */
static void suspect(const HbmCase *c, size_t first, size_t end, bool *ret) {
        uint32_t columns = c->geometry->size[HBM_COLUMN];
        uint8_t(*seen)[BITS / 8] = calloc(columns, sizeof(*seen));

        for (size_t i = first, last; seen && i < end; i = last) {
                for (last = i; last < end && c->failures[last].linear / columns == c->failures[i].linear / columns; last++)
                        ;
                if ((last - i) * ROW_COLUMNS >= columns && last - i > 1)
                        continue;
                for (size_t k = i; k < last; k++) {
                        uint32_t column = c->failures[k].linear % columns;
                        MemoryData bits = bits_of(c, &c->failures[k]);

                        if (!is_plain(&c->failures[k]))
                                continue;
                        for (unsigned byte = 0; byte < MEMORY_ACCESS_BYTES; byte++) {
                                ret[column] |= seen[column][byte] & bits.bytes[byte];
                                seen[column][byte] |= bits.bytes[byte];
                        }
                }
        }

        free(seen);
}

static bool asked_init(Asked *asked, const HbmDiagnosis *diagnosis, const HbmCase *c, uint32_t bank) {
        HbmProbe limits = { .geometry = diagnosis->geometry, .box = diagnosis->box };
        uint32_t part = bank / hbm_case_banks_of_part(c);

        *asked = (Asked) { .diagnosis = diagnosis, .c = c, .bank = bank };
        asked->n_patterns = hbm_probe_patterns(c->lanes[part], hbm_case_lane_values(c, part, c->lanes[part]), asked->patterns);
        if (!hbm_probe_box(&limits, bank, 1, &asked->column))
                return false;
        asked->n_rows = asked->column.last[HBM_ROW] - asked->column.first[HBM_ROW] + 1u;
        return asked->n_patterns > 0;
}

/* ---- asking ---- */

static unsigned row_of(const Asked *asked, const MarchFailure *failure) {
        const uint16_t *size = asked->c->geometry->size;

        return failure->linear / size[HBM_COLUMN] % size[HBM_ROW] - asked->column.first[HBM_ROW];
}

static void begin(Asked *asked, uint32_t column, size_t first, size_t end) {
        memset(asked->known, 0, asked->n_rows);
        asked->n_known = 0;
        asked->column.first[HBM_COLUMN] = asked->column.last[HBM_COLUMN] = (uint16_t) column;
        for (size_t i = first; i < end; i++)
                if (asked->c->failures[i].linear % asked->c->geometry->size[HBM_COLUMN] == column && is_plain(&asked->c->failures[i])) {
                        asked->known[row_of(asked, &asked->c->failures[i])] = true;
                        asked->n_known++;
                }
}

/* Adds the failures of one turn to those that are known and to the failures of the diagnosis. */
static int learn(Asked *asked, const MarchFailures *turn, bool *ret_again, bool *ret_new) {
        *ret_again = *ret_new = false;
        for (size_t i = 0; i < turn->n; i++) {
                const MarchFailure *failure = &turn->failures[i];
                uint8_t *known = &asked->known[row_of(asked, failure)];
                MemoryData bits = bits_of(asked->c, failure);
                int r;

                if (memory_data_first(&bits) < 0)
                        continue;
                *ret_again |= *known;
                *ret_new |= !*known;
                if (*known)
                        continue;
                *known = true;
                asked->n_known++;
                r = march_failures_add(asked->diagnosis->failures, asked->c->stack, failure->linear, &failure->first, &failure->expected,
                                       &failure->actual);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int ask_column(Asked *asked) {
        MarchFailures turn = {};
        HbmProbe probe = {
                .geometry = asked->diagnosis->geometry, .box = &asked->column, .batch = asked->diagnosis->batch,
                .stack = asked->c->stack, .list_max = PIECE_ROWS, .failures = &turn,
        };
        unsigned n_refuting = 0;
        int r = 0;

        for (unsigned i = 0; i < TURNS && n_refuting < REFUTED && NEARLY_ALL * (asked->n_rows - asked->n_known) > asked->n_rows; i++) {
                bool again, new;

                turn.n = 0;
                r = hbm_probe_pieces(&probe, asked->bank, PIECE_ROWS, asked->patterns, asked->n_patterns);
                if (r == -ENOSPC) { /* a small window: what is known must do */
                        r = 0;
                        break;
                }
                if (r < 0)
                        break;
                march_failures_merge(&turn);
                r = learn(asked, &turn, &again, &new);
                if (r < 0)
                        break;
                n_refuting += again && !new;
        }

        march_failures_done(&turn);
        return r;
}

/* Failures FIRST … END - 1 are of one bank. */
static int ask_bank(const HbmDiagnosis *diagnosis, const HbmCase *c, size_t first, size_t end, unsigned *n_asked) {
        uint32_t columns = c->geometry->size[HBM_COLUMN];
        bool *suspects = calloc(columns, sizeof(bool));
        Asked asked;
        int r = 0;

        if (!suspects)
                return -ENOMEM;
        suspect(c, first, end, suspects);
        if (!asked_init(&asked, diagnosis, c, hbm_case_bank_of(c, &c->failures[first]))) {
                free(suspects);
                return 0;
        }

        asked.known = calloc(asked.n_rows, 1);
        if (!asked.known)
                r = -ENOMEM;
        for (uint32_t i = 0; r >= 0 && i < columns && *n_asked < SUSPECTS_MAX; i++) {
                if (!suspects[i])
                        continue;
                begin(&asked, i, first, end);
                r = ask_column(&asked);
                (*n_asked)++;
        }

        free(asked.known);
        free(suspects);
        return r;
}

int hbm_suspects_ask(const HbmDiagnosis *diagnosis, const HbmCase *c) {
        HbmCase before = *c;
        MarchFailure *failures;
        unsigned n_asked = 0;
        int r = 0;

        if (c->n_failures < 2)
                return 0;
        /* The list of the diagnosis grows, and may move, while this one is gone through. */
        failures = reallocarray(NULL, c->n_failures, sizeof(MarchFailure));
        if (!failures)
                return -ENOMEM;
        memcpy(failures, c->failures, c->n_failures * sizeof(MarchFailure));
        before.failures = failures;

        for (size_t i = 0, end; r >= 0 && i < c->n_failures; i = end) {
                uint32_t bank = hbm_case_bank_of(c, &failures[i]);

                for (end = i; end < c->n_failures && hbm_case_bank_of(c, &failures[end]) == bank; end++)
                        ;
                if (!c->gone[bank] && end - i > 1)
                        r = ask_bank(diagnosis, &before, i, end, &n_asked);
        }

        free(failures);
        return r;
}
