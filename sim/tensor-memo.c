/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/tensor-memo.h"

#define MEMO_STATIONARIES 320u /* as many as all tests of a chip have; one less, and the next chip would find none */
#define MEMO_MOVINGS      320u
#define MEMO_PRODUCTS     384u
#define MEMO_BYTES        (64u << 20) /* of products */

typedef struct MemoEntry {
        uint64_t used;  /* when last */
        uint64_t probe; /* of the content: equal content has equal probes */
        void *content;
        Stationary *stationary; /* of a product, with `moving`: what it is made of, and holds */
        Moving *moving;
        MatmulMode mode;
} MemoEntry;

typedef struct Memo {
        uint64_t clock;
        size_t product_bytes;
        MemoEntry stationaries[MEMO_STATIONARIES];
        MemoEntry movings[MEMO_MOVINGS];
        MemoEntry products[MEMO_PRODUCTS];
} Memo;

static pthread_once_t memo_once = PTHREAD_ONCE_INIT;
static pthread_key_t memo_key;
static int memo_key_error;

static size_t product_bytes(const Product *product) {
        return (size_t) product->columns * product->moving * sizeof(uint32_t);
}

static void product_forget(Memo *memo, MemoEntry *entry) {
        if (!entry->content)
                return;

        memo->product_bytes -= product_bytes(entry->content);
        (void) product_unref(entry->content);
        (void) stationary_unref(entry->stationary);
        (void) moving_unref(entry->moving);
        *entry = (MemoEntry){};
}

static void memo_free(void *p) {
        Memo *memo = p;

        for (size_t i = 0; i < MEMO_PRODUCTS; i++)
                product_forget(memo, &memo->products[i]);
        for (size_t i = 0; i < MEMO_STATIONARIES; i++)
                (void) stationary_unref(memo->stationaries[i].content);
        for (size_t i = 0; i < MEMO_MOVINGS; i++)
                (void) moving_unref(memo->movings[i].content);

        free(memo);
}

static void memo_make_key(void) {
        memo_key_error = pthread_key_create(&memo_key, memo_free);
}

/* The main thread ends without destructors; its memo stays reachable until then. */
static Memo *memo_get(void) {
        static _Thread_local Memo *reachable;
        Memo *memo;

        (void) pthread_once(&memo_once, memo_make_key);
        if (memo_key_error != 0)
                return NULL;

        memo = pthread_getspecific(memo_key);
        if (memo)
                return memo;

        memo = calloc(1, sizeof(Memo));
        if (!memo || pthread_setspecific(memo_key, memo) != 0) {
                free(memo);
                return NULL;
        }

        reachable = memo;
        return reachable;
}

void memo_forget(void) {
        Memo *memo = memo_get();

        if (!memo)
                return;

        memo_free(memo);
        (void) pthread_setspecific(memo_key, NULL);
}

/* Some words from all over the content: enough to pass over others, not enough to believe in. */
static uint64_t probe_bytes(uint64_t probe, const uint8_t *bytes, size_t n) {
        size_t stride = n / 16;

        for (size_t i = 0; n >= sizeof(uint64_t) && i < 16; i++) {
                size_t at = i * stride + i * sizeof(uint64_t) / 2;
                uint64_t word;

                memcpy(&word, bytes + (at + sizeof(word) <= n ? at : n - sizeof(word)), sizeof(word));
                probe = (probe ^ word) * 0x9e3779b97f4a7c15u;
                probe ^= probe >> 29;
        }

        return probe;
}

/* An empty entry, else the one that was not used for the longest time. */
static MemoEntry *oldest(MemoEntry *entries, size_t n) {
        MemoEntry *found = entries;

        for (size_t i = 1; i < n; i++)
                if (entries[i].used < found->used)
                        found = &entries[i];

        return found;
}

static bool stationary_equal(const Stationary *a, const Stationary *shape, const void *weights,
                             const void *tags) {
        return a->rows == shape->rows && a->columns == shape->columns && a->format == shape->format &&
               a->double_row == shape->double_row && a->keep == shape->keep && a->group == shape->group &&
               memcmp(a->bytes + a->n_weights, tags, a->n_tags) == 0 && memcmp(a->bytes, weights, a->n_weights) == 0;
}

static Stationary *stationary_make(const Stationary *shape, const void *weights, const void *tags) {
        Stationary *stationary;

        stationary = malloc(sizeof(Stationary) + shape->n_weights + shape->n_tags);
        if (!stationary)
                return NULL;

        *stationary = *shape;
        stationary->references = 1;
        memcpy(stationary->bytes, weights, shape->n_weights);
        memcpy(stationary->bytes + shape->n_weights, tags, shape->n_tags);
        return stationary;
}

int memo_stationary(const Stationary *shape, const void *weights, const void *tags, Stationary **ret) {
        Memo *memo = memo_get();
        Stationary *stationary;
        MemoEntry *entry;
        uint64_t probe;

        if (!memo)
                return -ENOMEM;

        probe = probe_bytes(shape->rows * 1000u + shape->columns + shape->format * 1000000u, weights, shape->n_weights);
        probe = probe_bytes(probe + shape->keep * 100u + shape->group, tags, shape->n_tags);

        for (size_t i = 0; i < MEMO_STATIONARIES; i++) {
                entry = &memo->stationaries[i];
                if (!entry->content || entry->probe != probe)
                        continue;
                if (!stationary_equal(entry->content, shape, weights, tags))
                        continue;

                entry->used = ++memo->clock;
                *ret = entry->content;
                (*ret)->references++;
                return 0;
        }

        stationary = stationary_make(shape, weights, tags);
        if (!stationary)
                return -ENOMEM;

        entry = oldest(memo->stationaries, MEMO_STATIONARIES);
        (void) stationary_unref(entry->content);
        *entry = (MemoEntry){ .used = ++memo->clock, .probe = probe, .content = stationary };
        stationary->references++;
        *ret = stationary;
        return 0;
}

static bool moving_equal(const Moving *a, const Moving *shape, const void *values) {
        return a->rows == shape->rows && a->columns == shape->columns && a->format == shape->format &&
               a->double_row == shape->double_row && memcmp(a->bytes, values, a->n_bytes) == 0;
}

int memo_moving(const Moving *shape, const void *values, Moving **ret) {
        Memo *memo = memo_get();
        MemoEntry *entry;
        Moving *moving;
        uint64_t probe;

        if (!memo)
                return -ENOMEM;

        probe = probe_bytes(shape->rows * 1000u + shape->columns + shape->format * 1000000u, values, shape->n_bytes);

        for (size_t i = 0; i < MEMO_MOVINGS; i++) {
                entry = &memo->movings[i];
                moving = entry->content;
                if (!moving || entry->probe != probe || !moving_equal(moving, shape, values))
                        continue;

                entry->used = ++memo->clock;
                moving->references++;
                *ret = moving;
                return 0;
        }

        moving = malloc(sizeof(Moving) + shape->n_bytes);
        if (!moving)
                return -ENOMEM;

        *moving = *shape;
        moving->references = 2;
        memcpy(moving->bytes, values, shape->n_bytes);

        entry = oldest(memo->movings, MEMO_MOVINGS);
        (void) moving_unref(entry->content);
        *entry = (MemoEntry){ .used = ++memo->clock, .probe = probe, .content = moving };
        *ret = moving;
        return 0;
}

/* Makes room for N_BYTES more. */
static void products_shrink(Memo *memo, size_t n_bytes) {
        while (memo->product_bytes > 0 && memo->product_bytes + n_bytes > MEMO_BYTES) {
                MemoEntry *found = NULL;

                for (size_t i = 0; i < MEMO_PRODUCTS; i++)
                        if (memo->products[i].content && (!found || memo->products[i].used < found->used))
                                found = &memo->products[i];

                product_forget(memo, found);
        }
}

/* A product holds its factors, so that a pointer cannot come to mean another matrix. */
static void product_remember(Memo *memo, Stationary *stationary, Moving *moving, MatmulMode mode, Product *product) {
        MemoEntry *entry;

        products_shrink(memo, product_bytes(product));
        entry = oldest(memo->products, MEMO_PRODUCTS);
        product_forget(memo, entry);

        *entry = (MemoEntry){
                .used = ++memo->clock, .content = product, .stationary = stationary, .moving = moving, .mode = mode
        };
        memo->product_bytes += product_bytes(product);
        product->references++;
        stationary->references++;
        moving->references++;
}

int memo_product(Stationary *stationary, Moving *moving, MatmulMode mode, Product **ret) {
        Memo *memo = memo_get();
        Product *product;
        int r;

        if (!memo)
                return -ENOMEM;

        for (size_t i = 0; i < MEMO_PRODUCTS; i++) {
                MemoEntry *entry = &memo->products[i];

                if (!entry->content || entry->stationary != stationary || entry->moving != moving ||
                    entry->mode.ftz != mode.ftz || entry->mode.transposed != mode.transposed)
                        continue;

                entry->used = ++memo->clock;
                *ret = entry->content;
                (*ret)->references++;
                return 0;
        }

        r = product_new(stationary->columns, moving->columns, &product);
        if (r < 0)
                return r;

        r = array_multiply(stationary, moving, mode, product);
        if (r < 0) {
                (void) product_unref(product);
                return r;
        }

        product_remember(memo, stationary, moving, mode, product);
        *ret = product;
        return 0;
}
