/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/psum.h"

#include <stdlib.h>
#include <string.h>

#include "sim/tensor/memo.h"

/* What a matmul, or one column of it, does to a bank. */
typedef struct Store {
        Psum *psum;
        unsigned bank;
        PsumArea area;
        bool overwrite, ftz;
        bool keeps; /* the SRAM may keep accesses for itself */
} Store;

void psum_done(Psum *psum) {
        for (size_t b = 0; b < PSUM_BANKS; b++)
                for (size_t i = 0; i < psum->banks[b].n_pieces; i++)
                        (void) product_unref(psum->banks[b].pieces[i].content);
        free(psum->faults);
        *psum = (Psum) {};
}

/* ---- accesses that the SRAM keeps for itself ---- */

/* Elements of an access that lie in the area, as a mask. */
static unsigned mask_of(const PsumArea *area, unsigned access) {
        unsigned mask = 0;

        for (unsigned i = 0; i < PSUM_ACCESS_ELEMENTS; i++) {
                unsigned element = access * PSUM_ACCESS_ELEMENTS + i;

                if (element >= area->element && element < (unsigned) area->element + area->elements)
                        mask |= 1u << i;
        }

        return mask;
}

/* Which accesses of the area in partition M of it the SRAM keeps, as a mask. */
static uint64_t kept_of(const Store *store, unsigned m) {
        const PsumArea *area = &store->area;
        unsigned first = area->element / PSUM_ACCESS_ELEMENTS, last = (area->element + area->elements - 1u) / PSUM_ACCESS_ELEMENTS;

        return store->psum->sram->keeps(store->psum->userdata, store->bank, area->partition + m) >> first << first &
               UINT64_MAX >> (PSUM_ACCESSES - 1 - last);
}

/* BITS hold the area. AT is where the first element of the access would lie, if it does: those in MASK do. */
typedef int (*Visit)(const Store *store, const PsumPlace *place, unsigned mask, uint32_t *bits, ptrdiff_t at);

static int visit_kept(const Store *store, uint32_t *bits, Visit visit) {
        const PsumArea *area = &store->area;

        for (unsigned m = 0; store->keeps && m < area->partitions; m++)
                for (uint64_t kept = kept_of(store, m); kept > 0; kept &= kept - 1) {
                        const PsumPlace place = { store->bank, area->partition + m, (unsigned) __builtin_ctzll(kept) };
                        ptrdiff_t at = (ptrdiff_t) m * area->elements + (ptrdiff_t) place.access * PSUM_ACCESS_ELEMENTS - area->element;
                        int r;

                        r = visit(store, &place, mask_of(area, place.access), bits, at);
                        if (r < 0)
                                return r;
                }

        return 0;
}

static int read_kept(const Store *store, const PsumPlace *place, unsigned mask, uint32_t *bits, ptrdiff_t at) {
        PsumWords words;

        store->psum->sram->read(store->psum->userdata, place, &words);
        for (unsigned i = 0; i < PSUM_ACCESS_ELEMENTS; i++)
                if (mask >> i & 1)
                        bits[at + (ptrdiff_t) i] = words.words[i];
        return 0;
}

static int write_kept(const Store *store, const PsumPlace *place, unsigned mask, uint32_t *bits, ptrdiff_t at) {
        PsumWords words = {};

        for (unsigned i = 0; i < PSUM_ACCESS_ELEMENTS; i++)
                if (mask >> i & 1)
                        words.words[i] = bits[at + (ptrdiff_t) i];
        return store->psum->sram->write(store->psum->userdata, place, &words, mask);
}

/* ---- one store ---- */

/* What lies in the area, as one product of its own. */
static int old_content(const Store *store, Product **ret) {
        Product *old;
        int r;

        r = product_new(store->area.partitions, store->area.elements, &old);
        if (r < 0)
                return r;

        psum_compose(store->psum, store->bank, store->area, old->bits);
        r = visit_kept(store, old->bits, read_kept);
        if (r < 0) {
                (void) product_unref(old);
                return r;
        }

        *ret = old;
        return 0;
}

/* PRODUCT and what lies there. */
static int add(const Store *store, Product *product, Product **ret) {
        Product *old = store->keeps ? NULL : psum_product(store->psum, store->bank, store->area);
        int r;

        if (old)
                return memo_sum(old, product, store->ftz, ret);

        r = old_content(store, &old);
        if (r < 0)
                return r;

        r = memo_sum(old, product, store->ftz, ret);
        (void) product_unref(old);
        return r;
}

/* Takes the reference to PRODUCT. */
static int store_run(const Store *store, Product *product) {
        int r;

        if (!store->overwrite) {
                Product *sum;

                r = add(store, product, &sum);
                (void) product_unref(product);
                if (r < 0)
                        return r;
                product = sum;
        }

        r = visit_kept(store, product->bits, write_kept);
        if (r < 0) {
                (void) product_unref(product);
                return r;
        }
        return psum_lay(store->psum, store->bank, store->area, product);
}

static int store_read(const Store *store, uint32_t *bits) {
        psum_compose(store->psum, store->bank, store->area, bits);
        return visit_kept(store, bits, read_kept);
}

/* ---- a matmul ---- */

typedef int (*Step)(const Store *store, const Product *product, unsigned n, uint32_t *out);

/* Each moving column for itself, where the address of the first one is not that of all. */
static int each_column(Store *store, const PsumFaulty *faulty, const Product *product, uint32_t *out, Step step) {
        const Store whole = *store;

        for (unsigned n = 0; n < product->moving; n++) {
                unsigned address = whole.bank * PSUM_ELEMENTS + whole.area.element + n;
                int r;

                address = (address & ~faulty->clear) | faulty->set;
                store->bank = address / PSUM_ELEMENTS;
                store->area.element = (uint16_t) (address % PSUM_ELEMENTS);
                store->area.elements = 1;
                r = step(store, product, n, out);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int store_column(const Store *store, const Product *product, unsigned n, uint32_t *out) {
        Product *column;
        int r;

        r = product_new(product->columns, 1, &column);
        if (r < 0)
                return r;
        for (size_t m = 0; m < product->columns; m++)
                column->bits[m] = product->bits[m * product->moving + n];
        return store_run(store, column);
}

static int read_column(const Store *store, const Product *product, unsigned n, uint32_t *out) {
        uint32_t bits[PE_COLUMNS];
        int r;

        r = store_read(store, bits);
        for (size_t m = 0; m < product->columns && r >= 0; m++)
                out[m * product->moving + n] = bits[m];
        return r;
}

static int run_astray(Store *store, const PsumFaulty *faulty, Product *product, uint32_t *out) {
        Store read = *store;
        int r;

        r = each_column(store, faulty, product, NULL, store_column);
        if (r >= 0 && out)
                r = each_column(&read, faulty, product, out, read_column);
        (void) product_unref(product);
        return r;
}

static bool keeps_any(const Store *store) {
        for (unsigned m = 0; m < store->area.partitions; m++)
                if (kept_of(store, m) > 0)
                        return true;
        return false;
}

/* Where the SRAM keeps something, but nothing of this area, it need not be asked again. */
static int run_straight(Store *store, Product *product, uint32_t *out) {
        int r;

        store->keeps = store->keeps && keeps_any(store);
        r = store_run(store, product);
        return r >= 0 && out ? store_read(store, out) : r;
}

int psum_run(Psum *psum, Execution *execution, Product *product, bool ftz) {
        const WireMatmul *matmul = &execution->command->matmul;
        PsumFaulty faulty = psum_fault_effects(psum, execution);
        uint32_t *out = execution->command->out_bytes > 0 ? (uint32_t *) execution->out : NULL;
        Store store = {
                .psum = psum,
                .bank = matmul->bank,
                .area = { matmul->first_column, product->columns, matmul->offset, product->moving },
                .overwrite = (matmul->flags & MATMUL_OVERWRITE) != 0,
                .ftz = ftz,
        };
        size_t n_bytes = (size_t) product->columns * product->moving * sizeof(uint32_t);
        bool asks;
        int r = 0;

        store.overwrite = faulty.flag ? faulty.overwrite : store.overwrite;
        if (psum->sram)
                r = psum->sram->begin(psum->userdata, execution, &store.keeps);
        if (r < 0) {
                (void) product_unref(product);
                return r;
        }

        asks = store.keeps;
        r = faulty.clear | faulty.set ? run_astray(&store, &faulty, product, out) : run_straight(&store, product, out);
        if (r < 0)
                return r;

        execution->completion->out_bytes = out ? (uint32_t) n_bytes : 0;
        execution->completion->status = asks ? psum->sram->end(psum->userdata) : STATUS_NRT_SUCCESS;
        return 0;
}
