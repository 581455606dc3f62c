/* SPDX-License-Identifier: Apache-2.0 */

/* What a bank of PSUM holds: pieces that matmuls left, and the SRAM below. */

#include <assert.h>
#include <string.h>

#include "sim/tensor/psum.h"

/* ---- areas ---- */

static unsigned least(unsigned a, unsigned b) {
        return a < b ? a : b;
}

static unsigned most(unsigned a, unsigned b) {
        return a > b ? a : b;
}

static bool area_contains(PsumArea outer, PsumArea inner) {
        return outer.partition <= inner.partition && outer.element <= inner.element &&
               outer.partition + outer.partitions >= inner.partition + inner.partitions &&
               outer.element + outer.elements >= inner.element + inner.elements;
}

/* What both have; False: nothing. */
static bool area_intersect(PsumArea a, PsumArea b, PsumArea *ret) {
        unsigned partition = most(a.partition, b.partition), element = most(a.element, b.element);
        unsigned past = least(a.partition + a.partitions, b.partition + b.partitions);
        unsigned behind = least(a.element + a.elements, b.element + b.elements);

        if (partition >= past || element >= behind)
                return false;
        *ret = (PsumArea) { (uint16_t) partition, (uint16_t) (past - partition), (uint16_t) element, (uint16_t) (behind - element) };
        return true;
}

/* The smallest that has both. */
static PsumArea area_join(PsumArea a, PsumArea b) {
        unsigned partition = least(a.partition, b.partition), element = least(a.element, b.element);
        unsigned past = most(a.partition + a.partitions, b.partition + b.partitions);
        unsigned behind = most(a.element + a.elements, b.element + b.elements);

        return (PsumArea) { (uint16_t) partition, (uint16_t) (past - partition), (uint16_t) element, (uint16_t) (behind - element) };
}

static uint32_t *piece_at(const PsumPiece *piece, unsigned partition, unsigned element) {
        return piece->content->bits + (size_t) (partition - piece->area.partition) * piece->area.elements + element - piece->area.element;
}

/* ---- what a bank holds ---- */

static void content_at(const Psum *psum, const PsumPlace *place, PsumWords *ret) {
        *ret = (PsumWords) {};
        if (psum->sram)
                psum->sram->content(psum->userdata, place, ret);
}

/* AREA as the SRAM has it, to BITS, which hold WHOLE. */
static void fill(const Psum *psum, unsigned bank, PsumArea area, PsumArea whole, uint32_t *bits) {
        unsigned first = area.element / PSUM_ACCESS_ELEMENTS, last = (area.element + area.elements - 1) / PSUM_ACCESS_ELEMENTS;

        for (unsigned m = area.partition; m < area.partition + area.partitions; m++)
                for (unsigned access = first; access <= last; access++) {
                        unsigned begin = access * PSUM_ACCESS_ELEMENTS;
                        unsigned from = most(begin, area.element);
                        unsigned to = least(begin + PSUM_ACCESS_ELEMENTS, area.element + area.elements);
                        PsumWords words;

                        content_at(psum, &(PsumPlace) { bank, m, access }, &words);
                        memcpy(bits + (size_t) (m - whole.partition) * whole.elements + from - whole.element, words.words + (from - begin),
                               (to - from) * sizeof(uint32_t));
                }
}

static void copy_piece(const PsumPiece *piece, PsumArea common, PsumArea whole, uint32_t *bits) {
        for (unsigned m = common.partition; m < common.partition + common.partitions; m++)
                memcpy(bits + (size_t) (m - whole.partition) * whole.elements + common.element - whole.element,
                       piece_at(piece, m, common.element), common.elements * sizeof(uint32_t));
}

void psum_compose(const Psum *psum, unsigned number, PsumArea area, uint32_t *bits) {
        const PsumBank *bank = &psum->banks[number];
        unsigned bottom = bank->n_pieces; /* what lies below is covered */
        PsumArea common;

        while (bottom > 0 && !area_contains(bank->pieces[bottom - 1].area, area))
                bottom--;
        if (bottom == 0)
                fill(psum, number, area, area, bits);
        else
                bottom--;

        for (unsigned i = bottom; i < bank->n_pieces; i++) {
                const PsumPiece *piece = &bank->pieces[i];

                if (!area_intersect(piece->area, area, &common))
                        continue;
                if (piece->content)
                        copy_piece(piece, common, area, bits);
                else
                        fill(psum, number, common, area, bits);
        }
}

Product *psum_product(const Psum *psum, unsigned number, PsumArea area) {
        const PsumBank *bank = &psum->banks[number];
        PsumArea common;

        for (unsigned i = bank->n_pieces; i-- > 0;) {
                const PsumPiece *piece = &bank->pieces[i];

                if (area_contains(piece->area, area) && area_contains(area, piece->area))
                        return piece->content;
                if (area_intersect(piece->area, area, &common))
                        return NULL;
        }

        return NULL;
}

static void bank_cut(PsumBank *bank, PsumArea area) {
        unsigned n = 0;

        for (unsigned i = 0; i < bank->n_pieces; i++)
                if (area_contains(area, bank->pieces[i].area))
                        (void) product_unref(bank->pieces[i].content);
                else
                        bank->pieces[n++] = bank->pieces[i];
        bank->n_pieces = n;
}

/* All pieces become one. */
static int bank_melt(Psum *psum, unsigned number) {
        PsumBank *bank = &psum->banks[number];
        PsumArea whole = bank->pieces[0].area;
        Product *product;
        int r;

        for (unsigned i = 1; i < bank->n_pieces; i++)
                whole = area_join(whole, bank->pieces[i].area);
        r = product_new(whole.partitions, whole.elements, &product);
        if (r < 0)
                return r;

        psum_compose(psum, number, whole, product->bits);
        bank_cut(bank, whole);
        bank->pieces[bank->n_pieces++] = (PsumPiece) { whole, product };
        return 0;
}

/* Puts CONTENT into a piece that nobody else has, where one holds all of the area and nothing lies on it. */
static bool bank_put(PsumBank *bank, PsumArea area, const Product *content) {
        PsumArea common;

        for (unsigned i = bank->n_pieces; i-- > 0;) {
                PsumPiece *piece = &bank->pieces[i];

                if (piece->content && piece->content->references == 1 && area_contains(piece->area, area)) {
                        for (unsigned m = 0; m < area.partitions; m++)
                                memcpy(piece_at(piece, area.partition + m, area.element), content->bits + (size_t) m * area.elements,
                                       area.elements * sizeof(uint32_t));
                        return true;
                }
                if (area_intersect(piece->area, area, &common))
                        return false;
        }
        return false;
}

int psum_lay(Psum *psum, unsigned number, PsumArea area, Product *content) {
        PsumBank *bank = &psum->banks[number];
        int r;

        bank_cut(bank, area);
        if (content && content->references == 1 && bank_put(bank, area, content)) {
                (void) product_unref(content);
                return 0;
        }
        if (bank->n_pieces == PSUM_PIECES_MAX) {
                r = bank_melt(psum, number);
                if (r < 0) {
                        (void) product_unref(content);
                        return r;
                }
        }
        bank->pieces[bank->n_pieces++] = (PsumPiece) { area, content };
        return 0;
}

/* ---- for the SRAM ---- */

unsigned psum_find(const Psum *psum, const PsumPlace *place, PsumWords *words) {
        const PsumArea access = { (uint16_t) place->partition, 1, (uint16_t) (place->access * PSUM_ACCESS_ELEMENTS),
                                  PSUM_ACCESS_ELEMENTS };
        const PsumBank *bank = &psum->banks[place->bank];
        PsumWords left = {};
        unsigned mask = 0;
        PsumArea common;

        for (unsigned i = 0; i < bank->n_pieces; i++) {
                const PsumPiece *piece = &bank->pieces[i];
                unsigned bits;

                if (!area_intersect(piece->area, access, &common))
                        continue;
                bits = ((1u << common.elements) - 1) << (common.element - access.element);
                if (piece->content)
                        copy_piece(piece, common, access, left.words);
                mask = piece->content ? mask | bits : mask & ~bits;
        }

        for (unsigned i = 0; i < PSUM_ACCESS_ELEMENTS; i++)
                if (mask >> i & 1)
                        words->words[i] = left.words[i];
        return mask;
}

bool psum_has(const Psum *psum, unsigned bank, PsumArea area) {
        PsumArea common;

        for (unsigned i = 0; i < psum->banks[bank].n_pieces; i++)
                if (psum->banks[bank].pieces[i].content && area_intersect(psum->banks[bank].pieces[i].area, area, &common))
                        return true;

        return false;
}

int psum_yield(Psum *psum, unsigned bank, PsumArea area) {
        return psum_has(psum, bank, area) ? psum_lay(psum, bank, area, NULL) : 0;
}
