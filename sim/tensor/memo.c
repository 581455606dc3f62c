/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/tensor/format.h"
#include "sim/tensor/memo.h"

typedef enum MemoKind {
        MEMO_STATIONARY,
        MEMO_MOVING,
        MEMO_ROWS,
        MEMO_PRODUCT,
        MEMO_SUM,
        _MEMO_KIND_MAX,
} MemoKind;

/* All that a scan under `production` uses fits, or each server would have it worked out anew. */
#define MEMO_ENTRIES 384u

static const size_t memo_bytes[_MEMO_KIND_MAX] = { [MEMO_STATIONARY] = 24u << 20, [MEMO_MOVING] = 64u << 20, [MEMO_ROWS] = 16u << 20,
                                                   [MEMO_PRODUCT] = 112u << 20, [MEMO_SUM] = 24u << 20 };

typedef struct MemoEntry {
        uint64_t used;  /* when last; 0: empty */
        uint64_t probe; /* of the content: equal content has equal probes */
        size_t bytes;
        void *content;
        Stationary *stationary; /* of a product, with the next two: what it is made of, and holds */
        Moving *moving;         /* of rows too */
        MatmulMode mode;
        Product *old, *added; /* of a sum, with mode.ftz */
} MemoEntry;

typedef struct Memo {
        uint64_t clock;
        size_t bytes[_MEMO_KIND_MAX];
        size_t n[_MEMO_KIND_MAX]; /* entries that were ever used: the first ones */
        MemoEntry entries[_MEMO_KIND_MAX][MEMO_ENTRIES];
} Memo;

static pthread_once_t memo_once = PTHREAD_ONCE_INIT;
static pthread_key_t memo_key;
static int memo_key_error;

static void entry_forget(Memo *memo, MemoKind kind, MemoEntry *entry) {
        memo->bytes[kind] -= entry->bytes;

        switch (kind) {

        case MEMO_STATIONARY:
                (void) stationary_unref(entry->content);
                break;

        case MEMO_MOVING:
                (void) moving_unref(entry->content);
                break;

        case MEMO_ROWS:
                (void) rows_free(entry->content);
                (void) moving_unref(entry->moving);
                break;

        case MEMO_PRODUCT:
                (void) product_unref(entry->content);
                (void) stationary_unref(entry->stationary);
                (void) moving_unref(entry->moving);
                break;

        case MEMO_SUM:
                (void) product_unref(entry->content);
                (void) product_unref(entry->old);
                (void) product_unref(entry->added);
                break;

        case _MEMO_KIND_MAX:
                break;
        }

        *entry = (MemoEntry){};
}

static void memo_free(void *p) {
        Memo *memo = p;

        for (unsigned kind = 0; kind < _MEMO_KIND_MAX; kind++)
                for (size_t i = 0; i < MEMO_ENTRIES; i++)
                        entry_forget(memo, kind, &memo->entries[kind][i]);

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

/* An empty entry, or with HELD the oldest that is none. */
static MemoEntry *oldest(Memo *memo, MemoKind kind, bool held) {
        MemoEntry *found = NULL;

        for (size_t i = 0; i < MEMO_ENTRIES; i++) {
                MemoEntry *entry = &memo->entries[kind][i];

                if ((!held || entry->used > 0) && (!found || entry->used < found->used))
                        found = entry;
        }

        return found;
}

/* Makes room for CONTENT, which is of N_BYTES, and keeps it. */
static MemoEntry *entry_keep(Memo *memo, MemoKind kind, void *content, size_t n_bytes) {
        MemoEntry *entry;

        while (memo->bytes[kind] > 0 && memo->bytes[kind] + n_bytes > memo_bytes[kind])
                entry_forget(memo, kind, oldest(memo, kind, true));

        entry = oldest(memo, kind, false);
        if (entry == &memo->entries[kind][memo->n[kind]])
                memo->n[kind]++;
        entry_forget(memo, kind, entry);
        *entry = (MemoEntry){ .used = ++memo->clock, .bytes = n_bytes, .content = content };
        memo->bytes[kind] += n_bytes;
        return entry;
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

        for (size_t i = 0; i < memo->n[MEMO_STATIONARY]; i++) {
                entry = &memo->entries[MEMO_STATIONARY][i];
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

        entry = entry_keep(memo, MEMO_STATIONARY, stationary, shape->n_weights + shape->n_tags);
        entry->probe = probe;
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

        for (size_t i = 0; i < memo->n[MEMO_MOVING]; i++) {
                entry = &memo->entries[MEMO_MOVING][i];
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

        entry = entry_keep(memo, MEMO_MOVING, moving, shape->n_bytes);
        entry->probe = probe;
        *ret = moving;
        return 0;
}

static bool mode_equal(PeMode a, PeMode b) {
        return a.weights == b.weights && a.activations == b.activations && a.ftz == b.ftz && a.double_row == b.double_row;
}

int memo_rows(Moving *moving, PeMode mode, const Rows **ret) {
        Memo *memo = memo_get();
        MemoEntry *entry;
        Rows *rows;
        int r;

        if (!memo)
                return -ENOMEM;

        for (size_t i = 0; i < memo->n[MEMO_ROWS]; i++) {
                entry = &memo->entries[MEMO_ROWS][i];
                rows = entry->content;
                if (!rows || entry->moving != moving || !mode_equal(rows->mode, mode))
                        continue;

                entry->used = ++memo->clock;
                *ret = rows;
                return 0;
        }

        r = rows_new(moving, mode, &rows);
        if (r < 0)
                return r;

        entry = entry_keep(memo, MEMO_ROWS, rows, rows->n_bytes);
        entry->moving = moving;
        moving->references++;
        *ret = rows;
        return 0;
}

/* A product holds its factors, so that a pointer cannot come to mean another matrix. */
static void product_remember(Memo *memo, Stationary *stationary, Moving *moving, MatmulMode mode, Product *product) {
        MemoEntry *entry;

        entry = entry_keep(memo, MEMO_PRODUCT, product, (size_t) product->columns * product->moving * sizeof(uint32_t));
        entry->stationary = stationary;
        entry->moving = moving;
        entry->mode = mode;
        product->references++;
        stationary->references++;
        moving->references++;
}

int memo_product(Stationary *stationary, Moving *moving, MatmulMode mode, Product **ret) {
        Memo *memo = memo_get();
        const Rows *rows;
        Product *product;
        int r;

        if (!memo)
                return -ENOMEM;

        for (size_t i = 0; i < memo->n[MEMO_PRODUCT]; i++) {
                MemoEntry *entry = &memo->entries[MEMO_PRODUCT][i];

                if (!entry->content || entry->stationary != stationary || entry->moving != moving ||
                    entry->mode.ftz != mode.ftz || entry->mode.transposed != mode.transposed)
                        continue;

                entry->used = ++memo->clock;
                *ret = entry->content;
                (*ret)->references++;
                return 0;
        }

        r = memo_rows(moving, pe_mode(stationary, moving, mode.ftz), &rows);
        if (r < 0)
                return r;
        r = product_new(stationary->columns, moving->columns, &product);
        if (r < 0)
                return r;

        r = array_multiply(stationary, rows, mode, product);
        if (r < 0) {
                (void) product_unref(product);
                return r;
        }

        product_remember(memo, stationary, moving, mode, product);
        *ret = product;
        return 0;
}

static int sum_make(const Product *old, const Product *added, bool ftz, Product **ret) {
        const PeMode mode = { .ftz = ftz };
        size_t n = (size_t) old->columns * old->moving;
        Product *sum;
        int r;

        r = product_new(old->columns, old->moving, &sum);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++)
                sum->bits[i] = pe_add(mode, old->bits[i], added->bits[i]);

        *ret = sum;
        return 0;
}

/* A product that its core alone refers to is no other core's, so nobody will ask for its sums again. */
static bool product_is_shared(const Product *product) {
        return product->references > 1;
}

static void sum_remember(Memo *memo, Product *old, Product *added, bool ftz, Product *sum) {
        MemoEntry *entry;

        entry = entry_keep(memo, MEMO_SUM, sum, (size_t) sum->columns * sum->moving * sizeof(uint32_t));
        entry->old = old;
        entry->added = added;
        entry->mode.ftz = ftz;
        old->references++;
        added->references++;
        sum->references++;
}

int memo_sum(Product *old, Product *added, bool ftz, Product **ret) {
        Memo *memo = memo_get();
        int r;

        assert(old->columns == added->columns && old->moving == added->moving);

        if (!memo)
                return -ENOMEM;

        for (size_t i = 0; i < memo->n[MEMO_SUM]; i++) {
                MemoEntry *entry = &memo->entries[MEMO_SUM][i];

                if (!entry->content || entry->old != old || entry->added != added || entry->mode.ftz != ftz)
                        continue;

                entry->used = ++memo->clock;
                *ret = entry->content;
                (*ret)->references++;
                return 0;
        }

        r = sum_make(old, added, ftz, ret);
        if (r >= 0 && product_is_shared(old) && product_is_shared(added))
                sum_remember(memo, old, added, ftz, *ret);
        return r;
}
