/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A march element over a box: time follows faults, not bytes.
 *
 * The box is cut into fragments of one write layer, each fragment into regions: what lies in no unit, and what lies
 * in each unit and in none within it. All accesses of a region behave like one of their row parity, so one of them is
 * run and multiplied. Spots are run one by one in the order of the visit. Only the first mismatches_max mismatches
 * are told, and only regions that can hold one of these are walked.
 *
 * One case has no closed form: stuck lanes against the address background, where an access agrees by chance once in
 * 2^8; there the hashes are counted, up to where counts must be exact.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sim/memory/cells/memory.h"
#include "sim/memory/march/region.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bit b of an access is bit b % 64 of word b / 64");

static bool march_is_valid(const Memory *memory, const WireCommand *command) {
        const WireMarch *march = &command->march;

        return memory_box_is_valid(&memory->shape, &march->box) && march->order < _MEMORY_ORDER_MAX &&
               march->descending <= 1 && march->background < _MEMORY_BACKGROUND_MAX && march->parameter <= 7 &&
               march->ecc <= 1 && march->n_ops >= 1 && march->n_ops <= MARCH_OPS_MAX &&
               march->mismatches_max <= command->out_bytes / sizeof(WireMismatch);
}

MemoryBits memory_element_bits(const MemoryElement *element, uint32_t linear, unsigned row) {
        return element->hash ? memory_pattern_bits(&element->pattern, linear, row) : element->uniform[row & 1];
}

static int element_init(MemoryElement *element, Memory *memory, const WireMarch *march) {
        *element = (MemoryElement) {
                .memory     = memory,
                .march   = march,
                .pattern = { .background = march->background, .seed = march->seed },
        };

        /* A layer must be equal to another that reads the same: fields that have no meaning are left out. */
        if (march->background == MEMORY_BACKGROUND_BIT_STRIPE)
                element->pattern.parameter = march->parameter;
        if (march->background != MEMORY_BACKGROUND_ADDRESS)
                element->pattern.seed = 0;

        element->hash = memory_pattern_is_hash(&element->pattern);
        for (unsigned row = 0; row < 2 && !element->hash; row++)
                element->uniform[row] = memory_pattern_bits(&element->pattern, 0, row);

        for (unsigned i = 0; i < march->n_ops; i++) {
                if (march->ops[i] & ~(MARCH_WRITE | MARCH_DATA))
                        return -EINVAL;
                if (!(march->ops[i] & MARCH_WRITE)) {
                        element->reads[element->n_writes < 2 ? element->n_writes : 2] = true;
                        continue;
                }
                element->n_writes++;
                element->before_data = element->last_data;
                element->last_data = march->ops[i] & MARCH_DATA;
        }

        return 0;
}

int memory_element_record(MemoryElement *element, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned op,
                       const MemoryBits *actual) {
        MemoryRecords *records = &element->memory->records;
        uint32_t key = memory_shape_key(&element->memory->shape, (MemoryOrder) element->march->order, at);
        MemoryRecord *record;

        if (records->n >= records->allocated) {
                size_t n = records->allocated > 0 ? 2 * records->allocated : 64;
                MemoryRecord *grown = reallocarray(records->records, n, sizeof(MemoryRecord));

                if (!grown)
                        return -ENOMEM;
                records->records = grown;
                records->allocated = n;
        }

        record = &records->records[records->n++];
        record->key = element->march->descending ? ~key : key;
        memcpy(record->mismatch.at, at, sizeof(record->mismatch.at));
        record->mismatch.op = (uint16_t) op;
        memcpy(record->mismatch.actual, actual, sizeof(record->mismatch.actual));
        return 0;
}

static int compare_records(const void *a, const void *b) {
        const MemoryRecord *x = a, *y = b;

        if (x->key != y->key)
                return x->key < y->key ? -1 : 1;
        return (int) x->mismatch.op - (int) y->mismatch.op;
}

void memory_element_cut_records(MemoryElement *element) {
        MemoryRecords *records = &element->memory->records;
        bool unsorted = false;

        for (size_t i = 1; i < records->n && !unsorted; i++)
                unsorted = compare_records(&records->records[i - 1], &records->records[i]) > 0;
        if (unsorted)
                qsort(records->records, records->n, sizeof(MemoryRecord), compare_records);
        if (records->n > element->march->mismatches_max)
                records->n = element->march->mismatches_max;
}

static void complete(MemoryElement *element, Execution *execution) {
        MemoryRecords *records = &element->memory->records;
        WireCompletion *completion = execution->completion;
        uint64_t accesses = memory_box_volume(&element->march->box);
        uint64_t bytes = accesses * element->march->n_ops * MEMORY_ACCESS_BYTES;
        unsigned bytes_per_nsec = element->memory->rules->bytes_per_nsec;

        for (size_t i = 0; i < records->n; i++)
                memcpy(execution->out + i * sizeof(WireMismatch), &records->records[i].mismatch,
                       sizeof(WireMismatch));

        completion->status = memory_count(element->memory, &element->tally);
        completion->out_bytes = (uint32_t) (records->n * sizeof(WireMismatch));
        completion->device_nsec = (bytes + bytes_per_nsec - 1) / bytes_per_nsec;
        completion->result[0] = element->mismatches;
        completion->result[1] = accesses;
}

static int write_parts(MemoryElement *element, bool second) {
        Memory *memory = element->memory;
        MemoryPattern left = element->pattern, before = element->pattern;
        int r;

        left.data = element->last_data;
        before.data = element->before_data;
        for (size_t i = 0; i < memory->detours.n_parts && element->n_writes > 0; i++) {
                const MemoryReach *part = &memory->detours.parts[i];
                MemoryPattern pattern;

                if (part->second != second)
                        continue;
                pattern = memory_reach_pattern(&memory->shape, part, before);
                r = memory_past_write(memory, &part->places, element->n_writes > 1 ? &pattern : NULL);
                if (r < 0)
                        return r;
                pattern = memory_reach_pattern(&memory->shape, part, left);
                memory_content_write(&memory->content, &part->places, &pattern);
        }

        return 0;
}

/* Spots want the content as it was before; the layer is written last. */
static int run_straight(MemoryElement *element) {
        bool second = element->memory->detours.parts[0].second;
        int r;

        r = memory_regions_count(element, second);
        if (r < 0)
                return r;
        r = memory_regions_tell(element);
        if (r < 0)
                return r;
        r = memory_spots_run(element);
        if (r < 0)
                return r;

        return write_parts(element, second);
}

/* Where addresses have partners, what is visited second finds what the first have left. */
static int run_astray(MemoryElement *element) {
        int r;

        r = memory_spots_run(element);
        for (unsigned second = 0; second < 2 && r >= 0; second++) {
                r = memory_regions_count(element, second);
                if (r >= 0)
                        r = write_parts(element, second);
        }
        return r < 0 ? r : memory_regions_tell(element);
}

static int run_element(MemoryElement *element) {
        Memory *memory = element->memory;
        int r;

        r = memory_detours_part(&memory->detours, &element->march->box, element->march->descending);
        if (r < 0)
                return r;
        r = memory_content_reserve(&memory->content, memory->detours.n_parts);
        if (r < 0)
                return r;

        memory->records.n = 0;
        element->astray = memory->detours.n_parts > 1 || memory->detours.parts[0].detour;
        r = element->astray ? run_astray(element) : run_straight(element);
        if (r < 0)
                return r;

        memory_element_cut_records(element);
        if (element->n_released > 0)
                memory_spots_sweep(&memory->spots);
        return 0;
}

static void ask_comparator(MemoryElement *element, const Execution *execution) {
        const Memory *memory = element->memory;

        if (!memory->comparator || !fault_is_active(memory->comparator, execution))
                return;

        for (unsigned i = 0; i < element->march->n_ops; i++)
                if (memory_comparator_is_blind(memory, element->march->ops[i] & MARCH_DATA))
                        element->blind |= UINT32_C(1) << i;
}

int memory_march(Memory *memory, Execution *execution) {
        MemoryElement element;
        int r;

        if (!march_is_valid(memory, execution->command) ||
            element_init(&element, memory, &execution->command->march) < 0) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        ask_comparator(&element, execution);
        r = memory_prepare(memory, execution);
        if (r >= 0)
                r = run_element(&element);
        free(element.regions);
        if (r < 0)
                return r;

        complete(&element, execution);
        return 0;
}
