/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/line.h"

#include <math.h>
#include <string.h>

static double number_of(uint32_t image) {
        float number;

        memcpy(&number, &image, sizeof(number));
        return (double) number;
}

/* By how much the sum of all that COLUMN selects of one value is wrong. */
static double error_of(const RecordStep *step, unsigned column, unsigned uniform) {
        size_t at = (size_t) column * step->load->mode->moving + step->load->mode->uniform + uniform;

        return number_of(step->out[at]) - number_of(step->load->golden[at]);
}

static const uint16_t images[SPARSE_UNIFORM] = { 0x5555, 0xaaaa }; /* of loads.h */

/* Whether ERROR of COLUMN is that of a single bit of what one row is given, times its weight. */
static bool is_of_one_row(const RecordStep *step, unsigned column, unsigned uniform, double error) {
        const SparseMode *mode = step->load->mode;
        double golden = number_of(step->load->golden[(size_t) column * mode->moving + mode->uniform + uniform]);

        for (unsigned bit = 0; bit < 16; bit++)
                for (unsigned slot = 0; slot < mode->keep; slot++) {
                        double one = number_of((uint32_t) (images[uniform] ^ 1u << bit) << 16) - number_of((uint32_t) images[uniform] << 16);

                        if ((double) (float) (golden + ldexp(one, (int) slot)) - golden == error)
                                return true;
                }
        return false;
}

/* Where the line of STEP begins; PE_COLUMNS: it has none. What is wrong from the first column on may be a mode as well, unless it is one row's. */
static unsigned line_begin(const RecordStep *step, const bool spoilt[static PE_COLUMNS], unsigned uniform) {
        unsigned begin = PE_COLUMNS, n = 0;
        double error = 0;

        for (unsigned column = PE_COLUMNS; column-- > 0;) {
                double here;

                if (spoilt[column])
                        continue;
                here = error_of(step, column, uniform);
                if (n == 0)
                        error = here;
                if (here != error)
                        break;
                begin = column;
                n++;
        }
        for (unsigned column = 0; column < begin; column++)
                if (!spoilt[column] && error_of(step, column, uniform) != 0)
                        return PE_COLUMNS;
        if (error == 0 || n < LINE_COLUMNS_MIN || (begin == 0 && !is_of_one_row(step, begin, uniform, error)))
                return PE_COLUMNS;

        return begin;
}

/* The first column of a line of STEP, in either of its uniform columns. */
static unsigned step_begin(const RecordStep *step, const bool spoilt[static PE_COLUMNS]) {
        unsigned begin = PE_COLUMNS;

        for (unsigned uniform = 0; uniform < SPARSE_UNIFORM; uniform++) {
                unsigned here = line_begin(step, spoilt, uniform);

                begin = here < begin ? here : begin;
        }
        return begin;
}

bool line_mark(const Record *record, bool spoilt[static PE_COLUMNS]) {
        unsigned first = PE_COLUMNS, behind = PE_COLUMNS; /* of all lines, and of those that do not begin with the first column */
        bool all = true;

        for (size_t i = 0; i < record->n_steps; i++) {
                unsigned begin = record->steps[i].load && record->steps[i].out ? step_begin(&record->steps[i], spoilt) : PE_COLUMNS;

                all = all && (begin < PE_COLUMNS || !record->steps[i].load || !record->steps[i].out);
                first = begin < first ? begin : first;
                behind = begin > 0 && begin < behind ? begin : behind;
        }
        if (first == 0 && !all)
                first = behind;
        for (unsigned column = first; column < PE_COLUMNS; column++)
                spoilt[column] = true;

        return first < PE_COLUMNS;
}
