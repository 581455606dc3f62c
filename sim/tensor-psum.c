/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor-psum.h"

#include <errno.h>
#include <string.h>

#include "sim/tensor-float.h"

void psum_reset(Psum *psum) {
        for (size_t i = 0; i < PSUM_BANKS; i++)
                psum->banks[i] = product_unref(psum->banks[i]);
}

static unsigned larger(unsigned a, unsigned b) {
        return a > b ? a : b;
}

/* Puts PRODUCT into BANK, element by element. */
static int bank_merge(Product **bank, const Product *product, bool overwrite) {
        const Product *old = *bank;
        Product *merged;
        int r;

        r = product_new(larger(old ? old->columns : 0, product->columns),
                        larger(old ? old->moving : 0, product->moving), &merged);
        if (r < 0)
                return r;

        memset(merged->bits, 0, (size_t) merged->columns * merged->moving * sizeof(uint32_t));
        for (size_t m = 0; old && m < old->columns; m++)
                memcpy(merged->bits + m * merged->moving, old->bits + m * old->moving,
                       old->moving * sizeof(uint32_t));

        for (size_t m = 0; m < product->columns; m++)
                for (size_t n = 0; n < product->moving; n++) {
                        uint32_t *sum = &merged->bits[m * merged->moving + n];
                        uint32_t value = product->bits[m * product->moving + n];

                        *sum = overwrite ? value : float_add(*sum, value);
                }

        (void) product_unref(*bank);
        *bank = merged;
        return 0;
}

/* Where nothing of the old content remains, the product is the new content. */
int psum_store(Psum *psum, unsigned bank_number, Product *product, bool overwrite) {
        Product **bank = &psum->banks[bank_number];
        const Product *old = *bank;
        int r;

        if (overwrite && (!old || (old->columns <= product->columns && old->moving <= product->moving))) {
                (void) product_unref(*bank);
                *bank = product;
                return 0;
        }

        r = bank_merge(bank, product, overwrite);
        (void) product_unref(product);
        return r;
}

void psum_read(const Psum *psum, unsigned bank_number, unsigned columns, unsigned moving, uint8_t *out) {
        const Product *bank = psum->banks[bank_number];
        size_t n_bytes = moving * sizeof(uint32_t);

        if (bank->moving == moving) {
                memcpy(out, bank->bits, columns * n_bytes);
                return;
        }

        for (size_t m = 0; m < columns; m++)
                memcpy(out + m * n_bytes, bank->bits + m * bank->moving, n_bytes);
}
