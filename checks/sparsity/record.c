/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 192u /* steps that were not golden: 10 MB of one core */

static int add(Record *record, RecordStep step) {
        RecordStep *steps;

        steps = reallocarray(record->steps, record->n_steps + 1, sizeof(*steps));
        if (!steps)
                return -ENOMEM;
        record->steps = steps;
        steps[record->n_steps++] = step;
        return 0;
}

int record_add(Record *record, const SparseLoad *load, const uint32_t *out) {
        RecordStep step = { .load = load, .known = true };
        int r;

        if (out && record->n_kept == KEPT_MAX)
                step.known = false;
        else if (out) {
                step.out = malloc(record_step_bytes(load));
                if (!step.out)
                        return -ENOMEM;
                memcpy(step.out, out, record_step_bytes(load));
        }

        r = add(record, step);
        if (r < 0)
                free(step.out);
        else
                record->n_kept += step.out != NULL;
        return r;
}

int record_add_refused(Record *record, const SparseLoad *load) {
        record->refused |= 1u << sparse_mode_index(load->mode);
        return add(record, (RecordStep){ .load = load, .refused = true });
}

Record *record_done(Record *record) {
        for (size_t i = 0; i < record->n_steps; i++)
                free(record->steps[i].out);
        free(record->steps);
        return NULL;
}

uint32_t record_expected(const RecordStep *step, unsigned row, unsigned column) {
        unsigned tag;

        if (!step->load)
                return 1;

        tag = sparse_load_tag(step->load, row, column);
        return tag < step->load->mode->group ? 1u << tag : 0;
}

/* Returns false where the column cannot be read. */
static bool read_column(const RecordStep *step, unsigned column, uint16_t (*selected)[PE_COLUMNS]) {
        if (step->load && sparse_load_has_wrong_data(step->load, step->out, column))
                return false;

        for (unsigned row = 0; row < PE_ROWS; row++) {
                uint32_t inputs = 0;
                bool has = true;

                if (step->load ? !sparse_load_selected(step->load, step->out, row, column, &inputs)
                               : !dense_probe_has(step->out, row, column, &has))
                        return false;
                selected[row][column] = (uint16_t) (step->load ? inputs : has);
        }

        return true;
}

bool record_column_is_wrong(const RecordStep *step, unsigned column) {
        unsigned moving = step->load ? step->load->mode->moving : DENSE_MOVING;
        const uint32_t *golden = step->load ? step->load->golden : dense_probe()->golden;
        size_t at = (size_t) column * moving;

        return memcmp(step->out + at, golden + at, moving * sizeof(uint32_t)) != 0;
}

static int read_step(RecordRead *read, size_t index) {
        const RecordStep *step = &read->record->steps[index];
        uint16_t (*selected)[PE_COLUMNS];

        selected = malloc(PE_ROWS * sizeof(*selected));
        if (!selected)
                return -ENOMEM;
        read->selected[index] = selected;

        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                if (record_column_is_wrong(step, column)) {
                        if (read_column(step, column, selected))
                                continue;
                        read->unclear[column] = true;
                }
                for (unsigned row = 0; row < PE_ROWS; row++)
                        selected[row][column] = (uint16_t) record_expected(step, row, column);
        }

        return 0;
}

int record_read(const Record *record, RecordRead *ret) {
        *ret = (RecordRead){ .record = record };
        ret->selected = calloc(record->n_steps, sizeof(*ret->selected));
        if (!ret->selected)
                return -ENOMEM;

        for (size_t i = 0; i < record->n_steps; i++) {
                int r;

                if (!record->steps[i].out)
                        continue;
                r = read_step(ret, i);
                if (r < 0)
                        return r;
        }

        return 0;
}

RecordRead *record_read_done(RecordRead *read) {
        for (size_t i = 0; read->selected && i < read->record->n_steps; i++)
                free(read->selected[i]);
        free(read->selected);
        return NULL;
}
