/* SPDX-License-Identifier: Apache-2.0 */

/* What goes into a collective and what must come out of it, by its definition in checks/wire/wire-collective.h and not by its steps. */

#include <string.h>

#include "checks/collective/collective.h"

unsigned format_bytes(unsigned format) {
        return format == ELEMENT_FP32 ? 4 : format == ELEMENT_BF16 ? 2 : 1;
}

const char *collective_word(unsigned operation) {
        static const char *const words[_COLLECTIVE_MAX] = {
                [COLLECTIVE_ALL_REDUCE] = "all_reduce", [COLLECTIVE_ALL_GATHER] = "all_gather",
                [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter", [COLLECTIVE_ALL_TO_ALL] = "alltoall",
                [COLLECTIVE_SEND_RECEIVE] = "sendrecv",
        };

        return words[operation];
}

const char *format_word(unsigned format) {
        return format == ELEMENT_FP32 ? "fp32" : format == ELEMENT_BF16 ? "bf16" : "uint8";
}

uint32_t part_begin(uint32_t n, unsigned parts, unsigned k) {
        return (uint32_t) ((uint64_t) n * k / parts);
}

static uint32_t shard_elements(const Recital *recital, unsigned k) {
        return part_begin(recital->post.elements, recital->post.ranks, k + 1) - part_begin(recital->post.elements, recital->post.ranks, k);
}

uint32_t recital_input_elements(const Recital *recital, unsigned rank) {
        return recital->post.operation == COLLECTIVE_ALL_GATHER ? shard_elements(recital, rank % recital->post.ranks) : recital->post.elements;
}

uint32_t recital_output_elements(const Recital *recital, unsigned rank) {
        switch ((WireCollective) recital->post.operation) {
        case COLLECTIVE_REDUCE_SCATTER:
                return shard_elements(recital, rank % recital->post.ranks);
        case COLLECTIVE_ALL_TO_ALL:
                return shard_elements(recital, rank % recital->post.ranks) * recital->post.ranks;
        case COLLECTIVE_ALL_REDUCE:
        case COLLECTIVE_ALL_GATHER:
        case COLLECTIVE_SEND_RECEIVE:
        case _COLLECTIVE_MAX:
                break;
        }
        return recital->post.elements;
}

/* ---- in ---- */

static uint64_t mix(uint64_t x) {
        x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
        x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
        return x ^ x >> 32;
}

/* Upper bits of it are as good as any. */
static uint64_t next(uint64_t random) {
        return random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/* Any sign and significand, magnitudes of 2^-4 to 2^4: sums of up to 64 stay finite and take every bit of the format both ways, and
 * what is small is not lost beside what is large. */
static uint32_t number_of(uint64_t random) {
        return ((uint32_t) (random >> 32) & 0x807fffff) | (123 + (uint32_t) (random >> 29 & 7)) << 23;
}

void recital_vector(const Recital *recital, unsigned rank, uint8_t *ret) {
        const Ensemble *ensemble = recital->ensemble;
        Member member = recital->members[rank];
        /* By where the server stands in its ring: servers that run the same between them agree. */
        uint64_t server = (ensemble->first + member.server) % RING_SERVERS;
        uint64_t random = mix(recital->seed ^ (server << 8 | member.chip) * UINT64_C(0x9e3779b97f4a7c15));
        bool adds = recital->post.operation == COLLECTIVE_ALL_REDUCE || recital->post.operation == COLLECTIVE_REDUCE_SCATTER;

        for (uint32_t i = 0; i < recital->post.elements; i++) {
                random = next(random);
                if (recital->post.format == ELEMENT_FP32) {
                        uint32_t number = number_of(random);

                        memcpy(ret + 4 * i, &number, sizeof(number));
                } else if (recital->post.format == ELEMENT_BF16) {
                        uint16_t number = (uint16_t) (number_of(random) >> 16);

                        memcpy(ret + 2 * i, &number, sizeof(number));
                } else /* a sum of all ranks stays below 255 */
                        ret[i] = adds ? (uint8_t) ((random >> 32) % (254 / recital->post.ranks + 1)) : (uint8_t) (random >> 56);
        }
}

/* ---- out ---- */

static float bf16_to_number(uint16_t half) {
        uint32_t bits = (uint32_t) half << 16;
        float number;

        memcpy(&number, &bits, sizeof(number));
        return number;
}

static float load(const Recital *recital, const uint8_t *vector, uint32_t i) {
        uint16_t half;
        float number;

        if (recital->post.format == ELEMENT_UINT8)
                return vector[i];
        if (recital->post.format == ELEMENT_BF16) {
                memcpy(&half, vector + (size_t) 2 * i, sizeof(half));
                return bf16_to_number(half);
        }
        memcpy(&number, vector + (size_t) 4 * i, sizeof(number));
        return number;
}

/* To nearest, ties to even. Sums are finite: no NaN to care for. */
static uint16_t bf16_of(float number) {
        uint32_t bits, low;

        memcpy(&bits, &number, sizeof(bits));
        low = bits & 0xffff;
        return (uint16_t) ((bits >> 16) + (low > 0x8000 || (low == 0x8000 && (bits >> 16 & 1))));
}

static void put(const Recital *recital, uint8_t *vector, uint32_t i, float number) {
        uint16_t half;

        if (recital->post.format == ELEMENT_UINT8)
                vector[i] = (uint8_t) number;
        else if (recital->post.format == ELEMENT_BF16) {
                half = bf16_of(number);
                memcpy(vector + (size_t) 2 * i, &half, sizeof(half));
        } else
                memcpy(vector + (size_t) 4 * i, &number, sizeof(number));
}

/* Elements FIRST … END of the sum, which belong to the shard of OWNER and go over RING: ranks add in the ring's order, owner last. */
static void sum_part(const Recital *recital, const uint8_t *vectors, unsigned ring, unsigned base, unsigned owner, uint32_t first,
                     uint32_t end, uint8_t *ret) {
        const uint8_t *order = recital->ranks[base].rings[ring].order, *terms[RANKS_MAX];
        unsigned n = recital->post.ranks, q = 0;

        while (order[q] != owner)
                q++;
        for (unsigned j = 0; j < n; j++)
                terms[j] = vectors + (base + order[(q + 1 + j) % n]) * recital->stride;
        for (uint32_t i = first; i < end; i++) {
                float sum = load(recital, terms[0], i), term;

                for (unsigned j = 1; j < n && recital->post.format == ELEMENT_FP32; j++) {
                        memcpy(&term, terms[j] + (size_t) 4 * i, sizeof(term));
                        sum += term;
                }
                for (unsigned j = 1; j < n && recital->post.format != ELEMENT_FP32; j++) {
                        sum += load(recital, terms[j], i);
                        if (recital->post.format == ELEMENT_BF16)
                                sum = bf16_to_number(bf16_of(sum));
                }
                put(recital, ret, i, sum);
        }
}

static void sum_all(const Recital *recital, unsigned base, const uint8_t *vectors, unsigned first_owner, unsigned n_owners, uint8_t *ret) {
        for (unsigned k = first_owner; k < first_owner + n_owners; k++) {
                uint32_t begin = part_begin(recital->post.elements, recital->post.ranks, k);

                for (unsigned c = 0; c < recital->post.rings; c++)
                        sum_part(recital, vectors, c, base, k, begin + part_begin(shard_elements(recital, k), recital->post.rings, c),
                                 begin + part_begin(shard_elements(recital, k), recital->post.rings, c + 1), ret);
        }
}

void recital_expected(const Recital *recital, unsigned rank, const uint8_t *vectors, uint8_t *ret) {
        unsigned n = recital->post.ranks, base = recital->paired ? rank & ~1u : 0, own = rank - base;
        size_t bytes = format_bytes(recital->post.format), shard = shard_elements(recital, own) * bytes;
        size_t first = part_begin(recital->post.elements, n, own) * bytes;

        switch ((WireCollective) recital->post.operation) {
        case COLLECTIVE_ALL_REDUCE:
                sum_all(recital, base, vectors, 0, n, ret);
                break;
        case COLLECTIVE_REDUCE_SCATTER: /* summed where it lies, and moved to the front */
                sum_all(recital, base, vectors, own, 1, ret);
                memmove(ret, ret + first, shard);
                break;
        case COLLECTIVE_ALL_GATHER:
                for (unsigned k = 0; k < n; k++) {
                        size_t begin = part_begin(recital->post.elements, n, k) * bytes;

                        memcpy(ret + begin, vectors + (base + k) * recital->stride + begin, shard_elements(recital, k) * bytes);
                }
                break;
        case COLLECTIVE_ALL_TO_ALL:
                for (unsigned k = 0; k < n; k++)
                        memcpy(ret + k * shard, vectors + (base + k) * recital->stride + first, shard);
                break;
        case COLLECTIVE_SEND_RECEIVE:
                memset(ret, 0, recital->post.elements * bytes);
                for (unsigned c = 0; c < recital->post.rings; c++) {
                        uint32_t begin = part_begin(recital->post.elements, recital->post.rings, c);
                        uint32_t end = part_begin(recital->post.elements, recital->post.rings, c + 1);
                        unsigned from = recital->from[rank][c], opposite = c ^ 1u;
                        uint32_t there = part_begin(recital->post.elements, recital->post.rings, opposite);

                        /* Ring c is port c here, and the opposite one there. */
                        if (from != NOBODY)
                                memcpy(ret + begin * bytes, vectors + from * recital->stride + there * bytes, (end - begin) * bytes);
                }
                break;
        case _COLLECTIVE_MAX:
                break;
        }
}
