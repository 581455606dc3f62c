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

#include "sim/hbm.h"
#include "sim/hbm-region.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bit b of an access is bit b % 64 of word b / 64");

static bool march_is_valid(const Hbm *hbm, const WireCommand *command) {
        const WireMarch *march = &command->march;

        return hbm_box_is_valid(&hbm->shape, &march->box) && march->order < _HBM_ORDER_MAX &&
               march->descending <= 1 && march->background < _HBM_BACKGROUND_MAX && march->parameter <= 7 &&
               march->ecc <= 1 && march->n_ops >= 1 && march->n_ops <= MARCH_OPS_MAX &&
               march->mismatches_max <= command->out_bytes / sizeof(WireMismatch);
}

HbmBits hbm_element_bits(const HbmElement *element, uint32_t linear, unsigned row) {
        return element->hash ? hbm_pattern_bits(&element->pattern, linear, row) : element->uniform[row & 1];
}

static int element_init(HbmElement *element, Hbm *hbm, const WireMarch *march) {
        *element = (HbmElement) {
                .hbm     = hbm,
                .march   = march,
                .pattern = { .background = march->background, .seed = march->seed },
        };

        /* A layer must be equal to another that reads the same: fields that have no meaning are left out. */
        if (march->background == HBM_BACKGROUND_BIT_STRIPE)
                element->pattern.parameter = march->parameter;
        if (march->background != HBM_BACKGROUND_ADDRESS)
                element->pattern.seed = 0;

        element->hash = hbm_pattern_is_hash(&element->pattern);
        for (unsigned row = 0; row < 2 && !element->hash; row++)
                element->uniform[row] = hbm_pattern_bits(&element->pattern, 0, row);

        for (unsigned i = 0; i < march->n_ops; i++) {
                if (march->ops[i] & ~(MARCH_WRITE | MARCH_DATA))
                        return -EINVAL;
                element->writes |= (march->ops[i] & MARCH_WRITE) != 0;
                if (march->ops[i] & MARCH_WRITE)
                        element->last_data = march->ops[i] & MARCH_DATA;
        }

        return 0;
}

int hbm_element_record(HbmElement *element, const uint16_t at[static _HBM_AXIS_MAX], unsigned op,
                       const HbmBits *actual) {
        HbmRecords *records = &element->hbm->records;
        uint32_t key = hbm_shape_key(&element->hbm->shape, (HbmOrder) element->march->order, at);
        HbmRecord *record;

        if (records->n >= records->allocated) {
                size_t n = records->allocated > 0 ? 2 * records->allocated : 64;
                HbmRecord *grown = reallocarray(records->records, n, sizeof(HbmRecord));

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

/* All operations on one spot. Its cells keep their state; what was copied in is gone with the first write. */
static int run_spot(HbmElement *element, HbmSpot *spot, const HbmEffects *effects) {
        Hbm *hbm = element->hbm;
        const WireMarch *march = element->march;
        HbmBits background = hbm_element_bits(element, spot->linear, spot->at[HBM_ROW]), intended, stored;
        int r;

        stored = hbm_spot_stored(hbm, spot, &intended);

        for (unsigned i = 0; i < march->n_ops; i++) {
                uint64_t invert = march->ops[i] & MARCH_DATA ? UINT64_MAX : 0, differs = 0;
                HbmBits wanted = background, actual;

                for (unsigned word = 0; word < 4; word++)
                        wanted.w[word] ^= invert;

                if (march->ops[i] & MARCH_WRITE) {
                        hbm_spot_store(hbm, spot, &wanted);
                        spot->held = true;
                        spot->data = wanted;
                        stored = hbm_spot_stored(hbm, spot, &intended);
                        continue;
                }

                actual = hbm_read(effects, stored, &intended, march->ecc, &element->tally);
                for (unsigned word = 0; word < 4; word++)
                        differs |= actual.w[word] ^ wanted.w[word];
                if (!differs || element->blind >> i & 1)
                        continue;

                element->mismatches++;
                if (element->n_spot_records < march->mismatches_max) {
                        r = hbm_element_record(element, spot->at, i, &actual);
                        if (r < 0)
                                return r;
                        element->n_spot_records++;
                }
        }

        /* The layer that this element leaves says the same. */
        if (element->writes)
                spot->held = false;
        return 0;
}

static int run_spots(HbmElement *element, const Execution *execution) {
        static const HbmEffects none = {};
        Hbm *hbm = element->hbm;
        const WireMarch *march = element->march;
        size_t first, end;
        int r;

        r = hbm_overlay_range(&hbm->overlay, &hbm->shape, (HbmOrder) march->order, &march->box, &first,
                              &end);
        if (r < 0)
                return r;

        for (size_t i = 0; i < end - first; i++) {
                HbmSpot *spot = hbm_overlay_nth(&hbm->overlay, (HbmOrder) march->order,
                                                march->descending ? end - 1 - i : first + i);

                if (!hbm_box_has(&march->box, spot->at))
                        continue;

                hbm_spot_wake(hbm, spot, execution);
                r = run_spot(element, spot,
                             spot->unit >= 0 ? &hbm->overlay.units[spot->unit].effects : &none);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int compare_records(const void *a, const void *b) {
        const HbmRecord *x = a, *y = b;

        if (x->key != y->key)
                return x->key < y->key ? -1 : 1;
        return (int) x->mismatch.op - (int) y->mismatch.op;
}

void hbm_element_cut_records(HbmElement *element) {
        HbmRecords *records = &element->hbm->records;

        if (records->n > 1)
                qsort(records->records, records->n, sizeof(HbmRecord), compare_records);
        if (records->n > element->march->mismatches_max)
                records->n = element->march->mismatches_max;
}

static void complete(HbmElement *element, Execution *execution) {
        HbmRecords *records = &element->hbm->records;
        WireCompletion *completion = execution->completion;
        uint64_t accesses = hbm_box_volume(&element->march->box);
        uint64_t bytes = accesses * element->march->n_ops * HBM_ACCESS_BYTES;

        for (size_t i = 0; i < records->n; i++)
                memcpy(execution->out + i * sizeof(WireMismatch), &records->records[i].mismatch,
                       sizeof(WireMismatch));

        if (element->tally.corrected > 0)
                chip_count(execution->chip, COUNTER_MEM_ECC_CORRECTED, element->hbm->index,
                           element->tally.corrected);
        if (element->tally.uncorrected > 0)
                chip_count(execution->chip, COUNTER_MEM_ECC_UNCORRECTED, element->hbm->index,
                           element->tally.uncorrected);

        completion->status = STATUS_NRT_SUCCESS;
        completion->out_bytes = (uint32_t) (records->n * sizeof(WireMismatch));
        completion->device_nsec = (bytes + HBM_BYTES_PER_NSEC - 1) / HBM_BYTES_PER_NSEC;
        completion->result[0] = element->mismatches;
        completion->result[1] = accesses;
}

/* Counts and tells all there is; the layer is written last, when nothing can fail any more. */
static int run_element(HbmElement *element, const Execution *execution) {
        Hbm *hbm = element->hbm;
        int r;

        if (element->writes) {
                r = hbm_content_reserve(&hbm->content);
                if (r < 0)
                        return r;
        }

        r = hbm_content_cut(&hbm->content, &element->march->box);
        if (r < 0)
                return r;

        hbm->records.n = 0;
        r = hbm_regions_run(element);
        if (r < 0)
                return r;

        element->spots_from = hbm->records.n;
        r = run_spots(element, execution);
        if (r < 0)
                return r;
        if (element->spots_from > 0)
                hbm_element_cut_records(element);

        if (element->writes) {
                HbmPattern left = element->pattern;

                left.data = element->last_data;
                hbm_content_write(&hbm->content, &element->march->box, &left);
                hbm_overlay_sweep(&hbm->overlay);
        }

        return 0;
}

static void ask_comparator(HbmElement *element, const Execution *execution) {
        const Hbm *hbm = element->hbm;

        if (!hbm->comparator || !fault_is_active(hbm->comparator, execution))
                return;

        for (unsigned i = 0; i < element->march->n_ops; i++)
                if (hbm_comparator_is_blind(hbm, element->march->ops[i] & MARCH_DATA))
                        element->blind |= UINT32_C(1) << i;
}

int hbm_march(void *state, Execution *execution) {
        Hbm *hbm = state;
        HbmElement element;
        int r;

        if (!march_is_valid(hbm, execution->command) ||
            element_init(&element, hbm, &execution->command->march) < 0) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        ask_comparator(&element, execution);
        r = hbm_overlay_prepare(&hbm->overlay, &hbm->shape, execution);
        if (r < 0)
                return r;

        r = run_element(&element, execution);
        if (r < 0)
                return r;

        complete(&element, execution);
        return 0;
}
