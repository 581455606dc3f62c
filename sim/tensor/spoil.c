/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/spoil.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/tensor/memo.h"

/* What enters the multipliers of a row behind its defects: the same for all columns up to the next one, where all share a row of
 * the moving matrix. */
typedef struct Entry {
        bool valid;
        unsigned row;
        size_t n_forces;
        uint32_t x[MOVING_MAX];
} Entry;

typedef struct Work {
        const Stationary *stationary;
        const Moving *moving;
        const Spoil *spoil;
        const Rows *rows; /* NULL until they are needed */
        PeMode mode;
        bool may_err; /* the selectors */
        bool *idle;               /* by defect: it changes nothing, in whatever column */
        const Defect **reaching;  /* this column */
        const Defect **here;      /* this PE */
        size_t n_reaching, n_here;
        unsigned column;          /* of the tile */
        uint32_t psum[MOVING_MAX];
        Fragile fragile;
        Entry entry;
} Work;

static Work *work_done(Work *work) {
        free(work->idle);
        free(work->reaching);
        free(work->here);
        return NULL;
}
DEFINE_CLEANUP(Work *, work_done);

/* ---- what is selected ---- */

static Selection select_at(const Work *work, unsigned k) {
        return selection_of(work->spoil->selectors, work->stationary, work->spoil->first_row, work->spoil->first_column,
                            work->moving, k, work->column);
}

static const Row *row_selected(const Work *work, const Selection *selection) {
        int at = selection_row(selection);

        return at < 0 ? &work->rows->zero : &work->rows->rows[at];
}

static bool selects_wrongly(const Work *work) {
        if (!work->may_err || !selectors_may_err_in(work->spoil->selectors, work->stationary, work->spoil->first_row,
                                                    work->spoil->first_column, work->column))
                return false;
        for (unsigned k = 0; k < work->stationary->rows; k++)
                if (!select_at(work, k).right)
                        return true;
        return false;
}

/* ---- which defects ---- */

static bool acts_on_weight(const Defect *defect) {
        return defect->site == SITE_SHIFT || defect->site == SITE_WEIGHT;
}

static bool acts_on_activation(const Defect *defect) {
        return defect->site == SITE_ROW_LANE || defect->site == SITE_ACTIVATION;
}

static bool is_in_tile_row(const Work *work, const Defect *defect, unsigned k) {
        unsigned row = work->spoil->first_row + k;

        return defect->first_row <= row && row <= defect->last_row;
}

/* Whether DEFECT changes nothing of a row that all columns share; what their own selectors choose is not known here. */
static bool activation_is_idle(const Work *work, const Defect *defect) {
        unsigned k = (unsigned) (defect->first_row - work->spoil->first_row);
        uint32_t x[MOVING_MAX], forced[MOVING_MAX];
        size_t n_bytes = work->moving->columns * sizeof(uint32_t);

        if (work->stationary->keep > 0 || work->may_err || !is_in_tile_row(work, defect, k) || k >= work->stationary->rows)
                return false;

        moving_registers(work->moving, k, x);
        memcpy(forced, x, n_bytes);
        defect_force(defect, forced, work->moving->columns);
        return memcmp(x, forced, n_bytes) == 0;
}

static bool weight_is_idle(const Work *work, const Defect *defect) {
        for (unsigned k = 0; k < work->stationary->rows; k++) {
                uint32_t w = stationary_register(work->stationary, k, work->column), forced = w;

                if (!is_in_tile_row(work, defect, k))
                        continue;
                defect_force(defect, &forced, 1);
                if (forced != w)
                        return false;
        }
        return true;
}

static bool reaches(const Work *work, const Defect *defect) {
        unsigned column = work->spoil->first_column + work->column, first = work->spoil->first_row;

        return defect->first_column <= column && column <= defect->last_column && defect->last_row >= first &&
               defect->first_row < first + work->stationary->rows;
}

/* A defect that changes nothing by itself may undo what another one did, so they are left out together or not at all. */
static void leave_out_idle_weights(Work *work) {
        size_t n = 0;

        for (size_t i = 0; i < work->n_reaching; i++)
                if (acts_on_weight(work->reaching[i]) && !weight_is_idle(work, work->reaching[i]))
                        return;

        for (size_t i = 0; i < work->n_reaching; i++)
                if (!acts_on_weight(work->reaching[i]))
                        work->reaching[n++] = work->reaching[i];
        work->n_reaching = n;
}

static void gather_reaching(Work *work) {
        work->n_reaching = 0;
        for (size_t i = 0; i < work->spoil->n_defects; i++)
                if (!work->idle[i] && reaches(work, &work->spoil->defects[i]))
                        work->reaching[work->n_reaching++] = &work->spoil->defects[i];

        leave_out_idle_weights(work);
}

/* Those of one row are left out together, as above. */
static void find_idle_activations(Work *work) {
        const Defect *defects = work->spoil->defects;

        for (size_t i = 0; i < work->spoil->n_defects; i++) {
                work->idle[i] = acts_on_activation(&defects[i]);
                for (size_t j = 0; work->idle[i] && j < work->spoil->n_defects; j++)
                        if (acts_on_activation(&defects[j]) && defects[j].first_row == defects[i].first_row)
                                work->idle[i] = activation_is_idle(work, &defects[j]);
        }
}

static void gather_here(Work *work, unsigned k) {
        work->n_here = 0;
        for (size_t i = 0; i < work->n_reaching; i++)
                if (work->reaching[i]->site != SITE_COLUMN_LANE && is_in_tile_row(work, work->reaching[i], k))
                        work->here[work->n_here++] = work->reaching[i];
}

/* ---- a PE ---- */

/* The activations of a PE as its register holds them. */
static const uint32_t *enter(Work *work, unsigned k, const Selection *selection) {
        Entry *entry = &work->entry;
        size_t n_forces = 0;

        for (size_t i = 0; i < work->n_here; i++)
                n_forces += acts_on_activation(work->here[i]);
        if (entry->valid && entry->row == k && entry->n_forces == n_forces)
                return entry->x;

        if (selection->plain && selection_row(selection) >= 0)
                moving_registers(work->moving, (unsigned) selection_row(selection), entry->x);
        else
                for (unsigned n = 0; n < work->moving->columns; n++)
                        entry->x[n] = selection_image(selection, n);
        for (size_t i = 0; i < work->n_here; i++)
                if (acts_on_activation(work->here[i]))
                        defect_force(work->here[i], entry->x, work->moving->columns);

        entry->valid = work->stationary->keep == 0 && !work->may_err;
        entry->row = k;
        entry->n_forces = n_forces;
        return entry->x;
}

/* The sites of this PE's defects as bits. */
static unsigned sites_here(const Work *work) {
        unsigned sites = 0;

        for (size_t i = 0; i < work->n_here; i++)
                sites |= 1u << work->here[i]->site;
        return sites;
}

static void row_step(Work *work, unsigned k) {
        const unsigned weights = 1u << SITE_SHIFT | 1u << SITE_WEIGHT, products = weights | 1u << SITE_MULTIPLIER;
        uint32_t w = stationary_register(work->stationary, k, work->column);
        Selection selection = select_at(work, k);
        unsigned sites;
        Pe pe;

        gather_here(work, k);
        sites = sites_here(work);
        pe = (Pe){ .mode = work->mode, .transposed = work->spoil->transposed, .defects = work->here, .n_defects = work->n_here };
        w = pe_weight(&pe, w);

        if (!pe.transposed && !(sites & ~weights) && selection.plain) {
                row_apply_fragile(work->rows, row_selected(work, &selection), w, work->psum, &work->fragile);
                return;
        }
        if (!pe.transposed && sites & 1u << SITE_MULTIPLIER && !(sites & ~products) && work->fragile.n == 0)
                return; /* its products are zeros */

        pe_run(&pe, w, enter(work, k, &selection), work->moving->columns, work->psum);
        fragile_find(work->rows, work->psum, &work->fragile);
}

/* ---- a column ---- */

/* Which rows of the tile have defects in this column. */
static void mark_rows(const Work *work, bool marked[static PE_ROWS]) {
        memset(marked, 0, PE_ROWS * sizeof(*marked));

        for (size_t i = 0; i < work->n_reaching; i++)
                for (unsigned k = 0; work->reaching[i]->site != SITE_COLUMN_LANE && k < work->stationary->rows; k++)
                        marked[k] = marked[k] || is_in_tile_row(work, work->reaching[i], k);
}

static void column_spoil(Work *work) {
        const Rows *rows = work->rows;
        bool marked[PE_ROWS];

        mark_rows(work, marked);
        memset(work->psum, 0, sizeof(work->psum));
        work->fragile.n = 0;

        for (unsigned k = 0; k < work->stationary->rows; k++)
                if (marked[k] || work->may_err || work->spoil->transposed)
                        row_step(work, k);
                else
                        row_apply_fragile(rows, row_of(rows, work->stationary, k, work->column),
                                          stationary_register(work->stationary, k, work->column), work->psum, &work->fragile);
}

/* Whether the sums of this column are others; what leaves it may be another yet. */
static bool column_sums_wrongly(const Work *work) {
        for (size_t i = 0; i < work->n_reaching; i++)
                if (work->reaching[i]->site != SITE_COLUMN_LANE)
                        return true;

        return selects_wrongly(work);
}

static void column_leave(const Work *work, Product *product) {
        uint32_t *out = product->bits + (size_t) work->column * product->moving;

        for (size_t i = 0; i < work->n_reaching; i++)
                if (work->reaching[i]->site == SITE_COLUMN_LANE)
                        defect_force(work->reaching[i], out, product->moving);
}

static int work_init(Work *work) {
        size_t n = work->spoil->n_defects + 1;

        work->idle = calloc(n, sizeof(*work->idle));
        work->reaching = calloc(n, sizeof(*work->reaching));
        work->here = calloc(n, sizeof(*work->here));
        if (!work->idle || !work->reaching || !work->here)
                return -ENOMEM;

        find_idle_activations(work);
        return 0;
}

int array_spoil(const Stationary *stationary, Moving *moving, const Spoil *spoil, Product *product) {
        _cleanup_(work_donep) Work *work = &(Work){ .stationary = stationary, .moving = moving, .spoil = spoil };
        int r, n = 0;

        work->mode = pe_mode(stationary, moving, spoil->ftz);
        work->may_err = selectors_may_err(spoil->selectors, stationary, spoil->first_row);
        r = work_init(work);
        if (r < 0)
                return r;

        for (work->column = 0; work->column < stationary->columns; work->column++) {
                gather_reaching(work);
                if (column_sums_wrongly(work)) {
                        r = work->rows ? 0 : memo_rows(moving, work->mode, &work->rows);
                        if (r < 0)
                                return r;
                        column_spoil(work);
                        memcpy(product->bits + (size_t) work->column * product->moving, work->psum, product->moving * sizeof(uint32_t));
                        n++;
                }
                column_leave(work, product);
        }

        return n;
}
