/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/rounding/memo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_ENTRIES    512u
#define MEMORY_BYTES_MAX  (2u << 20) /* inputs larger than this are not kept */
#define MEMORY_BYTES_ALL  (64u << 20)
#define SEEDED_ENTRIES    256u

/* What one engine answered, for the same generators and the same input. */
typedef struct Remembered {
        Conversion conversion;
        Generator before[ENGINE_LANES], after[ENGINE_LANES];
        uint8_t *in, *out; /* one block; NULL: an empty entry */
} Remembered;

/* The generators of an engine just seeded. */
typedef struct Seeded {
        bool known;
        unsigned engine;
        uint32_t seed;
        Generator lanes[ENGINE_LANES];
} Seeded;

typedef struct Memory {
        Remembered *entries; /* MEMORY_ENTRIES, allocated with the first */
        Seeded *seeded;      /* SEEDED_ENTRIES, the same */
        unsigned next;
        size_t n_bytes;
} Memory;

static _Thread_local Memory memory;
static pthread_once_t memory_once = PTHREAD_ONCE_INIT;
static pthread_key_t memory_key;
static int memory_key_error;

static void forget(Memory *own, Remembered *entry) {
        if (entry->in)
                own->n_bytes -= entry->conversion.n_in + entry->conversion.n_out;
        free(entry->in);
        entry->in = NULL;
}

/* A thread takes its memory with it. */
static void memory_done(void *p) {
        Memory *own = p;

        for (unsigned i = 0; own->entries && i < MEMORY_ENTRIES; i++)
                forget(own, &own->entries[i]);
        free(own->entries);
        free(own->seeded);
        *own = (Memory) {};
}

static void memory_make_key(void) {
        memory_key_error = pthread_key_create(&memory_key, memory_done);
}

/* ---- one lane, sound ---- */

static void convert_lane(const Conversion *conversion, Generator *generator, const uint8_t *in, uint8_t *out) {
        bool stochastic = conversion->command.flags & CONVERT_STOCHASTIC;
        const Target *target = conversion->target;

        for (uint32_t i = 0; i < conversion->command.count; i++) {
                uint32_t bits, word = stochastic ? generator_next(generator) : 0, pattern;

                memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
                if (!target_is_special(target, bits, &pattern)) {
                        Cut cut = target_cut(target, bits);
                        bool up = stochastic ? cut_goes_up_stochastic(&cut, word, cut.d) : cut_goes_up_nearest(&cut);

                        pattern = cut_join(target, &cut, cut.kept + up);
                }
                target_store(target, target_image(target, pattern), out, i);
        }
}

static void convert_lanes(const Conversion *conversion, Generator *lanes, const uint8_t *in, uint8_t *out) {
        size_t n_in = conversion->n_in / ENGINE_LANES, n_out = conversion->n_out / ENGINE_LANES;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                convert_lane(conversion, &lanes[lane], in + lane * n_in, out + lane * n_out);
}

/* ---- all lanes ---- */

/* To nearest neither the engine nor its generators matter. */
static bool is_same(const Remembered *entry, const Conversion *conversion, const Generator *before, const uint8_t *in) {
        const WireConvert *a = &entry->conversion.command, *b = &conversion->command;
        bool stochastic = b->flags & CONVERT_STOCHASTIC;

        return entry->in && a->format == b->format && a->flags == b->flags && a->count == b->count &&
                        (!stochastic || memcmp(entry->before, before, sizeof(entry->before)) == 0) &&
                        memcmp(entry->in, in, conversion->n_in) == 0;
}

static const Remembered *recall(const Conversion *conversion, const Generator *before, const uint8_t *in) {
        for (unsigned i = 0; memory.entries && i < MEMORY_ENTRIES; i++)
                if (is_same(&memory.entries[i], conversion, before, in))
                        return &memory.entries[i];

        return NULL;
}

/* An empty entry in turn. The oldest go until there is room. NULL: what is asked is not kept, it is only slower. */
static Remembered *make_room(const Conversion *conversion) {
        size_t n = conversion->n_in + conversion->n_out;
        Remembered *entry;

        (void) pthread_once(&memory_once, memory_make_key);
        if (conversion->n_in > MEMORY_BYTES_MAX || memory_key_error != 0 || pthread_setspecific(memory_key, &memory) != 0)
                return NULL;
        if (!memory.entries)
                memory.entries = calloc(MEMORY_ENTRIES, sizeof(*memory.entries));
        if (!memory.entries)
                return NULL;

        entry = &memory.entries[memory.next++ % MEMORY_ENTRIES];
        forget(&memory, entry);
        for (unsigned i = 0; i < MEMORY_ENTRIES && memory.n_bytes + n > MEMORY_BYTES_ALL; i++)
                forget(&memory, &memory.entries[(memory.next + i) % MEMORY_ENTRIES]);
        entry->in = malloc(n);
        if (!entry->in)
                return NULL;
        memory.n_bytes += n;
        entry->out = entry->in + conversion->n_in;
        entry->conversion = *conversion;
        return entry;
}

/*
 * The client may write to the input while it is read. So what is remembered is computed from a copy, and the copy is
 * what later inputs are compared with: one client cannot make another one see wrong results.
 */
static const Remembered *remember(const Conversion *conversion, const Generator *before, const uint8_t *in) {
        Remembered *entry = make_room(conversion);

        if (!entry)
                return NULL;
        memcpy(entry->in, in, conversion->n_in);
        memcpy(entry->before, before, sizeof(entry->before));
        memcpy(entry->after, before, sizeof(entry->after));
        convert_lanes(conversion, entry->after, entry->in, entry->out);
        return entry;
}

void rounding_seed(unsigned engine, uint32_t seed, Generator *lanes) {
        unsigned at = (seed * 0x9e3779b1u ^ engine << 24) >> 24;
        Seeded *known;

        (void) pthread_once(&memory_once, memory_make_key);
        if (!memory.seeded && memory_key_error == 0 && pthread_setspecific(memory_key, &memory) == 0)
                memory.seeded = calloc(SEEDED_ENTRIES, sizeof(*memory.seeded));
        known = memory.seeded ? &memory.seeded[at] : NULL;
        if (known && known->known && known->engine == engine && known->seed == seed) {
                memcpy(lanes, known->lanes, sizeof(known->lanes));
                return;
        }

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                generator_seed(&lanes[lane], engine, lane, seed);
        if (known) {
                *known = (Seeded) { .known = true, .engine = engine, .seed = seed };
                memcpy(known->lanes, lanes, sizeof(known->lanes));
        }
}

void rounding_convert(const Conversion *conversion, Generator *lanes, const uint8_t *in, uint8_t *out) {
        const Remembered *known = recall(conversion, lanes, in) ?: remember(conversion, lanes, in);

        if (!known) {
                convert_lanes(conversion, lanes, in, out);
                return;
        }

        memcpy(out, known->out, conversion->n_out);
        if (conversion->command.flags & CONVERT_STOCHASTIC)
                memcpy(lanes, known->after, sizeof(known->after));
}
