/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/model.h"
#include "sim/tensor/rows.h"
#include "sim/tensor/sparse-faults.h"

/* ---- which faults ---- */

int selectors_inject(Selectors *selectors, const Fault *fault) {
        const Fault **injected;
        SelectFault *faults;
        bool fresh = false;

        for (size_t i = 0; i < selectors->n_injected; i++)
                if (sparse_faults_collide(selectors->injected[i], fault))
                        return -EEXIST;

        injected = realloc(selectors->injected, (selectors->n_injected + 1) * sizeof(*injected));
        if (!injected)
                return -ENOMEM;
        selectors->injected = injected;

        faults = realloc(selectors->faults, (selectors->n_injected + 1) * sizeof(*faults));
        if (!faults)
                return -ENOMEM;
        selectors->faults = faults;

        if (!selectors->felt)
                selectors->felt = calloc(PE_ROWS, sizeof(*selectors->felt));
        if (!selectors->felt)
                return -ENOMEM;
        if (!selectors->tags) {
                selectors->tags = calloc(PE_ROWS, sizeof(*selectors->tags));
                if (!selectors->tags)
                        return -ENOMEM;
                fresh = true;
        }

        injected[selectors->n_injected++] = fault;
        return fresh;
}

void selectors_heal(Selectors *selectors, const Fault *fault) {
        size_t n = 0;

        for (size_t i = 0; i < selectors->n_injected; i++)
                if (selectors->injected[i] != fault)
                        selectors->injected[n++] = selectors->injected[i];

        selectors->n_injected = n;
        selectors->n_faults = 0;
}

void selectors_reset(Selectors *selectors) {
        if (selectors->tags)
                memset(selectors->tags, 0, PE_ROWS * sizeof(*selectors->tags));
        selectors->keep = selectors->group = 0;
        selectors->n_faults = 0;
}

void selectors_done(Selectors *selectors) {
        free(selectors->tags);
        free(selectors->felt);
        free(selectors->injected);
        free(selectors->faults);
}

static void feel(Selectors *selectors, const SelectFault *fault, unsigned row) {
        if (fault->column == SELECT_EVERY)
                memset(selectors->felt[row], true, sizeof(selectors->felt[row]));
        else
                selectors->felt[row][fault->column] = true;
}

static void feel_all(Selectors *selectors, const SelectFault *fault) {
        for (unsigned row = 0; fault->row == SELECT_EVERY && row < PE_ROWS; row++)
                feel(selectors, fault, row);
        if (fault->row != SELECT_EVERY)
                feel(selectors, fault, fault->row);
        if (fault->kind == SELECT_TAG_SWAPPED)
                feel(selectors, fault, fault->b);
}

void selectors_gather(Selectors *selectors, const Execution *execution) {
        selectors->n_faults = 0;
        if (selectors->n_injected > 0)
                memset(selectors->felt, false, PE_ROWS * sizeof(*selectors->felt));

        for (size_t i = 0; i < selectors->n_injected; i++)
                if (sparse_fault_select(selectors->injected[i], &selectors->faults[selectors->n_faults]) &&
                    fault_is_active(selectors->injected[i], execution))
                        feel_all(selectors, &selectors->faults[selectors->n_faults++]);
}

/* How many of the faults in force are to be looked at for an element. */
static size_t faults_at(const Selectors *selectors, unsigned row, unsigned column) {
        return selectors->n_faults > 0 && selectors->felt[row][column] ? selectors->n_faults : 0;
}

static bool fault_is_at(const SelectFault *fault, unsigned row, unsigned column) {
        return (fault->row == SELECT_EVERY || fault->row == row) &&
               (fault->column == SELECT_EVERY || fault->column == column);
}

static uint32_t force(uint32_t value, unsigned bit, bool set) {
        return set ? value | 1u << bit : value & ~(1u << bit);
}

/* ---- tags ---- */

/* The row of the tile whose tag comes to row K. */
static unsigned tag_source(const Selectors *selectors, const Stationary *stationary, unsigned first_row, unsigned k,
                           unsigned column) {
        for (size_t i = 0, n = faults_at(selectors, first_row + k, column); i < n; i++) {
                const SelectFault *fault = &selectors->faults[i];
                unsigned a, b;

                if (fault->kind != SELECT_TAG_SWAPPED || (fault->column != SELECT_EVERY && fault->column != column) ||
                    fault->a < first_row || fault->b < first_row)
                        continue;

                a = fault->a - first_row;
                b = fault->b - first_row;
                if (a >= stationary->rows || b >= stationary->rows || a / stationary->keep != b / stationary->keep)
                        continue;
                k = k == a ? b : k == b ? a : k;
        }

        return k;
}

static void tag_take(Selectors *selectors, const Stationary *stationary, unsigned first_row, bool switched, unsigned k,
                     unsigned column) {
        unsigned row = first_row + k, tag;

        tag = stationary_tag(stationary, tag_source(selectors, stationary, first_row, k, column), column);

        for (size_t i = 0, n = faults_at(selectors, row, column); i < n; i++) {
                const SelectFault *fault = &selectors->faults[i];

                if (!fault_is_at(fault, row, column))
                        continue;
                if (fault->kind == SELECT_STALE_LOAD || (fault->kind == SELECT_STALE_SWITCH && switched))
                        return;
                if (fault->kind == SELECT_TAG_LANE_STUCK && fault->a / 4u == column % 4)
                        tag = force(tag, fault->a % 4u, fault->value);
        }

        selectors->tags[row][column] = (uint8_t) tag;
}

static bool faults_reach(const Selectors *selectors, unsigned column) {
        for (size_t i = 0; i < selectors->n_faults; i++)
                if (selectors->faults[i].column == SELECT_EVERY || selectors->faults[i].column == column)
                        return true;

        return false;
}

void selectors_load(Selectors *selectors, const Stationary *stationary, unsigned first_row) {
        bool switched = stationary->keep != selectors->keep || stationary->group != selectors->group;
        bool reached[PE_COLUMNS];

        selectors->keep = stationary->keep;
        selectors->group = stationary->group;
        if (!selectors->tags || stationary->keep == 0)
                return;

        for (unsigned column = 0; column < stationary->columns; column++)
                reached[column] = faults_reach(selectors, column);

        for (unsigned k = 0; k < stationary->rows; k++) {
                bool *differs = selectors->differs[(first_row + k) / TILE_UNIT];
                uint8_t *tags = selectors->tags[first_row + k];

                for (unsigned column = 0; column < stationary->columns; column++) {
                        uint8_t tag = (uint8_t) stationary_tag(stationary, k, column);

                        if (reached[column])
                                tag_take(selectors, stationary, first_row, switched, k, column);
                        else
                                tags[column] = tag;
                        differs[column] = (k % TILE_UNIT > 0 && differs[column]) || tags[column] != tag;
                }
        }
}

static unsigned tag_read(const Selectors *selectors, unsigned row, unsigned column) {
        uint32_t tag = selectors->tags[row][column];

        for (size_t i = 0, n = faults_at(selectors, row, column); i < n; i++) {
                const SelectFault *fault = &selectors->faults[i];

                if (fault->kind == SELECT_TAG_STUCK && fault_is_at(fault, row, column))
                        tag = force(tag, fault->a, fault->value);
        }

        return tag;
}

/* ---- legs ---- */

/* Which mode the core takes the load for. */
static void mode_read(const Selectors *selectors, const Stationary *stationary, unsigned *ret_keep, unsigned *ret_group) {
        *ret_keep = stationary->keep;
        *ret_group = stationary->group;

        for (size_t i = 0; i < selectors->n_faults; i++) {
                const SelectFault *fault = &selectors->faults[i];

                if (fault->kind == SELECT_RATIO_WRONG && fault->a == stationary->keep && fault->b == stationary->group) {
                        *ret_keep = fault->as_keep;
                        *ret_group = fault->as_group;
                }
        }
}

/* Whether an element selects though the load is dense. */
static bool is_left_sparse(const Selectors *selectors, unsigned row, unsigned column) {
        for (size_t i = 0, n = faults_at(selectors, row, column); i < n; i++)
                if (selectors->faults[i].kind == SELECT_STALE_DENSE && fault_is_at(&selectors->faults[i], row, column))
                        return true;

        return false;
}

/* What TAG lets through of the legs of a group, and whether they carry what they should. */
static void selection_decode(Selection *selection, unsigned tag, unsigned group) {
        const Selectors *selectors = selection->selectors;
        uint16_t dead = 0, open = 0;
        unsigned leg = tag;

        for (size_t i = 0, n = faults_at(selectors, selection->row, selection->column); i < n; i++) {
                const SelectFault *fault = &selectors->faults[i];

                if (!fault_is_at(fault, selection->row, selection->column))
                        continue;
                if (fault->kind == SELECT_DECODER_STUCK && fault->a == tag)
                        leg = fault->b;
                else if (fault->kind == SELECT_LEG_DEAD)
                        dead |= (uint16_t) (1u << fault->a);
                else if (fault->kind == SELECT_LEG_OPEN)
                        open |= (uint16_t) (1u << fault->a);
                else if (fault->kind == SELECT_LEG_STUCK || fault->kind == SELECT_BRIDGED)
                        selection->plain = false;
        }

        selection->enabled = (uint16_t) ((leg < group ? 1u << leg : 0) & ~dead) | open;
        if (selection->enabled & (selection->enabled - 1))
                selection->plain = false;
}

/* ROW is that of the tile. */
static Selection selection_dense(const Selectors *selectors, const Moving *moving, unsigned first_row, unsigned row,
                                 unsigned pe_column) {
        Selection selection = { .selectors = selectors, .moving = moving, .row = (uint8_t) (first_row + row),
                                .column = (uint8_t) pe_column, .plain = true, .right = true, .n_legs = 1, .enabled = 1,
                                .first = row };

        if (!selectors->tags || !is_left_sparse(selectors, first_row + row, pe_column))
                return selection;

        selection_decode(&selection, tag_read(selectors, first_row + row, pe_column), SELECT_LEGS);
        selection.right = selection.plain && selection.enabled == 1;
        return selection;
}

Selection selection_of(const Selectors *selectors, const Stationary *stationary, unsigned first_row, unsigned first_column,
                       const Moving *moving, unsigned row, unsigned column) {
        unsigned keep, group, right, tag;
        Selection selection;

        if (stationary->keep == 0)
                return selection_dense(selectors, moving, first_row, row, first_column + column);

        right = tag = stationary_tag(stationary, row, column);
        if (selectors->tags)
                tag = tag_read(selectors, first_row + row, column);

        mode_read(selectors, stationary, &keep, &group);
        selection = (Selection){ .selectors = selectors, .moving = moving, .row = (uint8_t) (first_row + row),
                                 .column = (uint8_t) column, .plain = true, .n_legs = (uint8_t) group,
                                 .first = row / keep * group };
        selection_decode(&selection, tag, group);

        selection.right = selection.plain && keep == stationary->keep && group == stationary->group &&
                          selection.enabled == (right < group ? 1u << right : 0);
        return selection;
}

static bool leg_is_wired(const Selection *selection, unsigned leg) {
        return leg < selection->n_legs && selection->first + leg < selection->moving->rows;
}

int selection_row(const Selection *selection) {
        unsigned leg = selection->enabled ? (unsigned) __builtin_ctz(selection->enabled) : 0;

        return selection->enabled && leg_is_wired(selection, leg) ? (int) (selection->first + leg) : -1;
}

static uint32_t leg_image(const Selection *selection, unsigned leg, unsigned n) {
        return leg_is_wired(selection, leg) ? moving_register(selection->moving, selection->first + leg, n) : 0;
}

uint32_t selection_image(const Selection *selection, unsigned n) {
        const Selectors *selectors = selection->selectors;
        uint32_t legs[SELECT_LEGS], image = 0;
        int row;

        if (selection->plain) {
                row = selection_row(selection);
                return row < 0 ? 0 : moving_register(selection->moving, (unsigned) row, n);
        }

        for (unsigned leg = 0; leg < SELECT_LEGS; leg++)
                legs[leg] = leg_image(selection, leg, n);

        for (size_t i = 0; i < selectors->n_faults; i++) {
                const SelectFault *fault = &selectors->faults[i];
                uint32_t both;

                if (fault->kind != SELECT_BRIDGED || !fault_is_at(fault, selection->row, selection->column))
                        continue;
                both = fault->value ? legs[fault->a] | legs[fault->b] : legs[fault->a] & legs[fault->b];
                legs[fault->a] = legs[fault->b] = both;
        }

        for (size_t i = 0; i < selectors->n_faults; i++) {
                const SelectFault *fault = &selectors->faults[i];

                if (fault->kind == SELECT_LEG_STUCK && fault_is_at(fault, selection->row, selection->column))
                        legs[fault->a] = force(legs[fault->a], fault->b, fault->value);
        }

        for (unsigned leg = 0; leg < SELECT_LEGS; leg++)
                if (selection->enabled >> leg & 1)
                        image |= legs[leg];

        return image;
}

static bool tags_differ(const Selectors *selectors, const Stationary *stationary, unsigned first_row, unsigned column) {
        for (unsigned k = 0; stationary->keep > 0 && k < stationary->rows; k += TILE_UNIT)
                if (selectors->differs[(first_row + k) / TILE_UNIT][column])
                        return true;

        return false;
}

bool selectors_may_err_in(const Selectors *selectors, const Stationary *stationary, unsigned first_row, unsigned first_column,
                          unsigned column) {
        if (!selectors->tags)
                return false;

        return faults_reach(selectors, first_column + column) || tags_differ(selectors, stationary, first_row, column);
}

bool selectors_may_err(const Selectors *selectors, const Stationary *stationary, unsigned first_row) {
        if (!selectors->tags)
                return false;
        if (selectors->n_faults > 0)
                return true;

        for (unsigned column = 0; column < stationary->columns; column++)
                if (tags_differ(selectors, stationary, first_row, column))
                        return true;

        return false;
}
