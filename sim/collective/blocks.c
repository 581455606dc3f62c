/* SPDX-License-Identifier: Apache-2.0 */

/* Which bytes a step of a collective moves, and what becomes of them: see checks/wire/wire-collective.h. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/collective/collective.h"

unsigned element_bytes(unsigned format) {
        static const uint8_t bytes[_ELEMENT_MAX] = { [ELEMENT_FP32] = 4, [ELEMENT_BF16] = 2, [ELEMENT_UINT8] = 1 };

        return bytes[format];
}

static uint32_t shard_first(uint32_t elements, unsigned parts, unsigned k) {
        return (uint32_t) ((uint64_t) elements * k / parts);
}

static uint32_t shard_size(uint32_t elements, unsigned parts, unsigned k) {
        return shard_first(elements, parts, k + 1) - shard_first(elements, parts, k);
}

unsigned collective_steps(const Collective *collective) {
        unsigned n = collective->post.ranks;

        switch ((WireCollective) collective->post.operation) {
        case COLLECTIVE_ALL_REDUCE:
                return 2 * (n - 1);
        case COLLECTIVE_ALL_GATHER:
        case COLLECTIVE_REDUCE_SCATTER:
        case COLLECTIVE_ALL_TO_ALL:
                return n - 1;
        case COLLECTIVE_SEND_RECEIVE:
                return 1;
        case _COLLECTIVE_MAX:
                break;
        }
        return 0;
}

/* Part RING of what lies from FIRST on. */
static Segment part_of(const WireCollectivePost *post, unsigned vector, uint32_t first, uint32_t n, unsigned ring) {
        uint32_t begin = shard_first(n, post->rings, ring);

        return (Segment) { vector, first + begin, shard_first(n, post->rings, ring + 1) - begin };
}

/* Whether the step adds what it takes in. */
static bool step_adds(const WireCollectivePost *post, unsigned step) {
        return post->operation == COLLECTIVE_REDUCE_SCATTER ||
               (post->operation == COLLECTIVE_ALL_REDUCE && step < post->ranks - 1u);
}

/* A position, of one that is no more than a round ahead. */
static unsigned wrap(unsigned position, unsigned n) {
        return position < n ? position : position - n;
}

unsigned collective_block(const Collective *collective, unsigned ring, unsigned step, bool sending, Segment *ret) {
        const WireCollectivePost *post = &collective->post;
        const WireCollectiveRing *way = &collective->rings[ring];
        unsigned n = post->ranks, from; /* the position whose step this is: that of the sender */
        const Segment *parts = collective->parts[ring]; /* by shard: what is at home at the position of that rank */

        if (post->operation == COLLECTIVE_SEND_RECEIVE) {
                *ret = part_of(post, sending ? 0 : 1, 0, post->elements, ring);
                return 1;
        }

        from = wrap(way->position + (sending ? 0 : n - 1), n);
        if (post->operation == COLLECTIVE_ALL_TO_ALL) {
                unsigned vector = way->order[wrap(from + n - step, n)];

                for (unsigned i = 0; i + step + 1 < n; i++) {
                        ret[i] = parts[way->order[wrap(from + 1 + i, n)]];
                        ret[i].vector = vector;
                }
                return n - 1 - step;
        }
        if (step_adds(post, step))
                from = wrap(from + n - 1, n);
        else if (post->operation == COLLECTIVE_ALL_REDUCE)
                step -= n - 1;
        *ret = parts[way->order[wrap(from + n - step, n)]];
        return 1;
}

/* ---- adding ---- */

static float adder(const Fault *stuck, float a, float b) {
        float sum = a + b;
        uint32_t bits;

        if (stuck) {
                const StuckParameters *parameters = stuck->parameters;

                memcpy(&bits, &sum, sizeof(bits));
                bits = (bits & ~(UINT32_C(1) << parameters->bit)) | (uint32_t) parameters->value << parameters->bit;
                memcpy(&sum, &bits, sizeof(sum));
        }
        return sum;
}

static float bf16_to_float(uint16_t half) {
        uint32_t bits = (uint32_t) half << 16;
        float value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static uint16_t bf16_from_float(float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        if ((bits & 0x7fffffff) > 0x7f800000)
                return (uint16_t) (bits >> 16 | 0x40);
        return (uint16_t) ((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void add_elements(const Collective *to, uint8_t *own, const uint8_t *in, size_t n) {
        const Fault *stuck = to->ailments.adder;

        switch ((WireElement) to->post.format) {
        case ELEMENT_FP32:
                for (size_t i = 0; i < n; i++) {
                        float a, b;

                        memcpy(&a, in + 4 * i, sizeof(a));
                        memcpy(&b, own + 4 * i, sizeof(b));
                        a = adder(stuck, a, b);
                        memcpy(own + 4 * i, &a, sizeof(a));
                }
                break;
        case ELEMENT_BF16:
                for (size_t i = 0; i < n; i++) {
                        uint16_t a, b;

                        memcpy(&a, in + 2 * i, sizeof(a));
                        memcpy(&b, own + 2 * i, sizeof(b));
                        a = bf16_from_float(adder(stuck, bf16_to_float(a), bf16_to_float(b)));
                        memcpy(own + 2 * i, &a, sizeof(a));
                }
                break;
        case ELEMENT_UINT8:
                for (size_t i = 0; i < n; i++) {
                        float sum = adder(stuck, in[i], own[i]);

                        own[i] = sum >= 255 ? 255 : sum > 0 ? (uint8_t) sum : 0;
                }
                break;
        case _ELEMENT_MAX:
                break;
        }
}

void collective_merge(const Collective *to, bool adds, uint8_t *own, const uint8_t *in, size_t n) {
        if (adds)
                add_elements(to, own, in, n);
        else
                memcpy(own, in, n * element_bytes(to->post.format));
}

/* BIT of them arrives wrong. */
static void take_flipped(const Collective *to, bool adds, uint8_t *own, const uint8_t *in, size_t n, size_t bit) {
        size_t bytes = element_bytes(to->post.format), wrong = bit / 8 / bytes;
        uint8_t element[4] = {};

        memcpy(element, in + wrong * bytes, bytes);
        element[bit / 8 % bytes] ^= (uint8_t) (1u << bit % 8);
        collective_merge(to, adds, own, in, wrong);
        collective_merge(to, adds, own + wrong * bytes, element, 1);
        collective_merge(to, adds, own + (wrong + 1) * bytes, in + (wrong + 1) * bytes, n - wrong - 1);
}

void collective_take(const Collective *from, const Segment *sent, Collective *to, const Segment *taken, unsigned step, uint64_t flip) {
        size_t bytes = element_bytes(to->post.format), n = sent->n < taken->n ? sent->n : taken->n;
        const uint8_t *source = from->vectors + ((size_t) sent->vector * from->post.elements + sent->first) * bytes;
        uint8_t *target = to->vectors + ((size_t) taken->vector * to->post.elements + taken->first) * bytes;
        bool adds = step_adds(&to->post, step);

        if (flip == 0 || n == 0)
                collective_merge(to, adds, target, source, n);
        else
                take_flipped(to, adds, target, source, n, flip % (n * bytes * 8));
}

/* ---- in and out ---- */

uint32_t collective_input_bytes(const WireCollectivePost *post) {
        uint32_t n = post->operation == COLLECTIVE_ALL_GATHER ? shard_size(post->elements, post->ranks, post->rank) : post->elements;

        return n * element_bytes(post->format);
}

uint32_t collective_output_bytes(const WireCollectivePost *post) {
        uint32_t shard = shard_size(post->elements, post->ranks, post->rank), n = post->elements;

        if (post->operation == COLLECTIVE_REDUCE_SCATTER)
                n = shard;
        if (post->operation == COLLECTIVE_ALL_TO_ALL)
                n = shard * post->ranks;
        return n * element_bytes(post->format);
}

static unsigned n_vectors(const WireCollectivePost *post) {
        return post->operation == COLLECTIVE_ALL_TO_ALL ? post->ranks : post->operation == COLLECTIVE_SEND_RECEIVE ? 2 : 1;
}

void collective_cut(const WireCollectivePost *post, Segment (*ret)[COLLECTIVE_RANKS_MAX]) {
        for (unsigned k = 0; k < post->ranks && post->operation != COLLECTIVE_SEND_RECEIVE; k++) {
                uint32_t first = shard_first(post->elements, post->ranks, k), n = shard_size(post->elements, post->ranks, k);

                for (unsigned c = 0; c < post->rings; c++)
                        ret[c][k] = part_of(post, 0, first, n, c);
        }
}

int collective_load(Collective *collective, const uint8_t *in) {
        const WireCollectivePost *post = &collective->post;
        size_t bytes = element_bytes(post->format), first = 0;

        collective->vectors = calloc(n_vectors(post), post->elements * bytes);
        if (!collective->vectors)
                return -ENOMEM;

        if (post->operation == COLLECTIVE_ALL_GATHER)
                first = shard_first(post->elements, post->ranks, post->rank);
        if (post->operation == COLLECTIVE_ALL_TO_ALL)
                first = (size_t) post->rank * post->elements;
        memcpy(collective->vectors + first * bytes, in, collective_input_bytes(post));
        return 0;
}

void collective_store(const Collective *collective, uint8_t *out) {
        const WireCollectivePost *post = &collective->post;
        size_t bytes = element_bytes(post->format), vector = post->elements * bytes;
        size_t first = shard_first(post->elements, post->ranks, post->rank) * bytes;

        switch ((WireCollective) post->operation) {
        case COLLECTIVE_SEND_RECEIVE:
                memcpy(out, collective->vectors + vector, vector);
                break;
        case COLLECTIVE_REDUCE_SCATTER:
                memcpy(out, collective->vectors + first, collective_output_bytes(post));
                break;
        case COLLECTIVE_ALL_TO_ALL: {
                size_t shard = collective_output_bytes(post) / post->ranks;

                for (unsigned o = 0; o < post->ranks; o++)
                        memcpy(out + o * shard, collective->vectors + o * vector + first, shard);
                break;
        }
        case COLLECTIVE_ALL_REDUCE:
        case COLLECTIVE_ALL_GATHER:
        case _COLLECTIVE_MAX:
                memcpy(out, collective->vectors, vector);
        }
}
