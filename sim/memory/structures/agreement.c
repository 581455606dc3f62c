/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/agreement.h"

#include <string.h>

#include "sim/memory/structures/grow.h"

#define PENDING_MAX 4096u /* in a list, of which one word was looked at */

/* Looking at a slice: the lists of the answer grow by what agrees in a first word, and lose what then does not in another. */
typedef struct Look {
        const MemoryQuestion *question;
        MemoryAgreement *answer;
        unsigned words[4], n_words; /* with stuck bits */
        size_t settled[2];          /* entries of the lists of which all words were looked at */
} Look;

/* How the stuck bits of a word differ from the hash: 0 where they agree with it, the whole mask where with its inverse. */
static uint64_t difference(const MemoryQuestion *question, uint32_t linear, unsigned word) {
        uint64_t index = 4 * (uint64_t) (uint32_t) (linear + question->shift) + word;

        return (memory_splitmix64(question->seed ^ index) ^ question->stuck.values.w[word]) & question->stuck.mask.w[word];
}

/* Keeps of LIST from FIRST on those that differ so in a further word. No branches: they would be as good as random. */
static void keep(const MemoryQuestion *question, unsigned word, uint64_t differ, MemoryAgreeing *list, size_t first) {
        size_t kept = first;

        for (size_t i = first; i < list->n; i++) {
                uint32_t linear = list->places[i];

                list->places[kept] = linear;
                kept += difference(question, linear, word) == differ;
        }
        list->n = kept;
}

static void settle(Look *look) {
        for (unsigned data = 0; data < 2; data++) {
                MemoryAgreeing *list = &look->answer->agreeing[data];

                for (unsigned i = 1; i < look->n_words; i++) {
                        unsigned word = look->words[i];

                        keep(look->question, word, data ? look->question->stuck.mask.w[word] : 0, list, look->settled[data]);
                }
                look->settled[data] = list->n;
        }
}

/* N accesses side by side. */
static int look_at_row(Look *look, uint32_t first, unsigned n) {
        MemoryAgreeing *same = &look->answer->agreeing[0], *inverse = &look->answer->agreeing[1];
        unsigned word = look->words[0];
        uint64_t mask = look->question->stuck.mask.w[word];
        int r;

        r = MEMORY_GROW(same, places, same->n + n);
        if (r >= 0)
                r = MEMORY_GROW(inverse, places, inverse->n + n);
        if (r < 0)
                return r;

        for (uint32_t linear = first; linear - first < n; linear++) {
                uint64_t x = difference(look->question, linear, word);

                same->places[same->n] = inverse->places[inverse->n] = linear;
                same->n += x == 0;
                inverse->n += x == mask;
        }

        look->answer->seen += n;
        if (same->n - look->settled[0] >= PENDING_MAX || inverse->n - look->settled[1] >= PENDING_MAX)
                settle(look);
        return 0;
}

/* Row by row, until the slice is through or ENOUGH was seen. */
static int look_at_slice(Look *look, const MemoryShape *shape) {
        const MemorySlice *places = &look->question->places;
        unsigned n_columns = places->box.last[HBM_COLUMN] - places->box.first[HBM_COLUMN] + 1u;
        uint16_t at[_MEMORY_AXIS_MAX];
        int r;

        memory_walk_first(&places->box, false, at);
        do {
                uint32_t linear = memory_shape_linear(shape, at);
                unsigned rows = places->mask[HBM_ROW] ? 1u : (unsigned) (places->box.last[HBM_ROW] - at[HBM_ROW] + 1);

                for (; rows > 0 && look->answer->seen < look->question->enough; rows--, linear += shape->size[HBM_COLUMN]) {
                        r = look_at_row(look, linear, n_columns);
                        if (r < 0)
                                return r;
                }
                /* On behind these rows. */
                at[HBM_COLUMN] = places->box.last[HBM_COLUMN];
                if (!places->mask[HBM_ROW])
                        at[HBM_ROW] = places->box.last[HBM_ROW];
        } while (look->answer->seen < look->question->enough && memory_slice_next(places, MEMORY_ORDER_COLUMN_FAST, false, at));

        settle(look);
        return 0;
}

static bool same_question(const MemoryQuestion *a, const MemoryQuestion *b) {
        return a->seed == b->seed && a->shift == b->shift && a->enough == b->enough &&
               memcmp(&a->stuck, &b->stuck, sizeof(a->stuck)) == 0 &&
               memcmp(&a->places.box, &b->places.box, sizeof(a->places.box)) == 0 &&
               memcmp(a->places.mask, b->places.mask, sizeof(a->places.mask)) == 0 &&
               memcmp(a->places.value, b->places.value, sizeof(a->places.value)) == 0;
}

int memory_agreements_ask(MemoryAgreements *agreements, const MemoryShape *shape, const MemoryQuestion *question,
                          const MemoryAgreement **ret) {
        MemoryAgreement *answer;
        Look look;
        int r;

        for (unsigned i = 0; i < MEMORY_AGREEMENTS_MAX; i++)
                if (agreements->known[i].seen > 0 && same_question(&agreements->known[i].question, question)) {
                        *ret = &agreements->known[i];
                        return 0;
                }

        answer = &agreements->known[agreements->next];
        agreements->next = (agreements->next + 1) % MEMORY_AGREEMENTS_MAX;
        answer->seen = answer->agreeing[0].n = answer->agreeing[1].n = 0;
        answer->question = *question;
        look = (Look) { .question = &answer->question, .answer = answer };
        for (unsigned word = 0; word < 4; word++)
                if (question->stuck.mask.w[word])
                        look.words[look.n_words++] = word;

        r = look_at_slice(&look, shape);
        if (r < 0) {
                answer->seen = 0; /* half an answer is none */
                return r;
        }
        *ret = answer;
        return 0;
}

void memory_agreements_done(MemoryAgreements *agreements) {
        for (unsigned i = 0; i < MEMORY_AGREEMENTS_MAX; i++)
                for (unsigned data = 0; data < 2; data++)
                        free(agreements->known[i].agreeing[data].places);
        *agreements = (MemoryAgreements) {};
}
