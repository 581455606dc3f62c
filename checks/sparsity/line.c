/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/line.h"

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

/* Where the line of STEP begins; 0: it has none. What is wrong from the first column on may be a mode as well. */
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
                        return 0;

        return error != 0 && n >= LINE_COLUMNS_MIN ? begin : 0;
}

bool line_mark(const Record *record, bool spoilt[static PE_COLUMNS]) {
        unsigned first = PE_COLUMNS;

        for (size_t i = 0; i < record->n_steps; i++)
                for (unsigned uniform = 0; record->steps[i].load && record->steps[i].out && uniform < SPARSE_UNIFORM; uniform++) {
                        unsigned begin = line_begin(&record->steps[i], spoilt, uniform);

                        if (begin > 0 && begin < first)
                                first = begin;
                }
        for (unsigned column = first; column < PE_COLUMNS; column++)
                spoilt[column] = true;

        return first < PE_COLUMNS;
}
