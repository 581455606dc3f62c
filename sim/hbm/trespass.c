/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/trespass.h"

#include "sim/hbm/live.h"

/* ---- cells that are live ---- */

/* The places to which DETOUR leads addresses of RANGE that are not theirs. */
static bool led_astray(const MemoryDetour *detour, const WireBox *range, MemorySlice *ret) {
        WireBox common;
        MemorySlice whole;

        if (!detour->active || !memory_box_intersect(&detour->box, range, &common))
                return false;
        whole = memory_slice_of(&common);
        if (!memory_slice_half(&whole, detour->axis, detour->bit, !detour->value, ret))
                return false;
        memory_slice_flip(ret, detour->axis, detour->bit);
        return true;
}

static uint64_t count_in_use(const Hbm *hbm, const HbmLiveRows *live, const MemorySlice *places) {
        uint64_t n = 0;

        for (size_t i = 0; i < live->n; i++) {
                WireBox box = hbm_live_box(hbm, &live->ranges[i]);
                MemorySlice rows = memory_slice_of(&box), common;

                if (memory_slice_intersect(places, &rows, &common))
                        n += memory_slice_volume(&common);
        }
        return n;
}

/* How many of PLACES are live, decoders left aside. */
static uint64_t count_live(const Hbm *hbm, const HbmLiveRows *live, const MemorySlice *places) {
        const MemoryDetours *detours = &hbm->memory.detours;
        uint64_t n = count_in_use(hbm, live, places);

        for (size_t k = 0; k < detours->n_detours && detours->any; k++)
                for (size_t i = 0; i < live->n; i++) {
                        WireBox box = hbm_live_box(hbm, &live->ranges[i]);
                        MemorySlice led, common;

                        if (led_astray(&detours->detours[k], &box, &led) && memory_slice_intersect(places, &led, &common))
                                n += memory_slice_volume(&common) - count_in_use(hbm, live, &common);
                }
        return n;
}

static bool is_live(const Hbm *hbm, const HbmLiveRows *live, uint32_t linear) {
        WireBox box;
        MemorySlice place;

        memory_shape_at(&hbm->memory.shape, linear, box.first);
        memory_shape_at(&hbm->memory.shape, linear, box.last);
        place = memory_slice_of(&box);
        return count_live(hbm, live, &place) > 0;
}

/* ---- cells that were written ---- */

/* Straight and astray addresses of one box lead to the same places: they are counted once. */
static uint64_t count_parts(const Hbm *hbm, const HbmLiveRows *live) {
        const MemoryDetours *detours = &hbm->memory.detours;
        uint64_t n = 0;

        for (size_t i = 0; i < detours->n_parts; i++) {
                const MemoryReach *part = &detours->parts[i];

                n += count_live(hbm, live, &part->places);
                for (size_t k = 0; part->detour && k < detours->n_parts; k++) {
                        MemorySlice common;

                        if (!detours->parts[k].detour && memory_slice_intersect(&part->places, &detours->parts[k].places, &common))
                                n -= count_live(hbm, live, &common);
                }
        }
        return n;
}

static bool is_written(const Hbm *hbm, uint32_t linear) {
        const MemoryDetours *detours = &hbm->memory.detours;
        uint16_t at[_MEMORY_AXIS_MAX];

        memory_shape_at(&hbm->memory.shape, linear, at);
        for (size_t i = 0; i < detours->n_parts; i++)
                if (memory_slice_has(&detours->parts[i].places, at))
                        return true;
        return false;
}

/* The cells that addresses x and y of a decoder fault reach, as traps.h says: [address][cell]. */
static const bool reach[_DECODER_MAX][2][2] = {
        [DECODER_A] = { { false, false }, { false, false } }, [DECODER_B] = { { false, false }, { true, true } },
        [DECODER_C] = { { false, true }, { false, true } },   [DECODER_D] = { { true, true }, { false, true } },
        [DECODER_SHORT] = { { true, true }, { true, true } },
};

/* By how much the count of the places of two addresses is to be put right where DECODER leads them elsewhere. */
static int64_t correct(const Hbm *hbm, const HbmLiveRows *live, const MemoryDecoder *decoder, uint32_t i) {
        const uint32_t places[2] = { decoder->x + i, decoder->y + i };
        unsigned n_places = decoder->class == DECODER_A ? 1 : 2;
        bool used[2] = {}, written[2] = {};
        int64_t n = 0;

        for (unsigned k = 0; k < n_places; k++) {
                used[k] = is_live(hbm, live, places[k]);
                written[k] = is_written(hbm, places[k]);
                n -= used[k] && written[k];
        }
        for (unsigned cell = 0; cell < n_places; cell++) {
                bool is_used = used[cell], is_reached = false;

                for (unsigned address = 0; address < n_places; address++) {
                        is_used |= used[address] && reach[decoder->class][address][cell];
                        is_reached |= written[address] && reach[decoder->class][address][cell];
                }
                n += is_used && is_reached;
        }
        return n;
}

int hbm_trespass_write(Hbm *hbm, const WireBox *box) {
        const MemoryTraps *traps = &hbm->memory.traps;
        HbmLiveRows live;
        int64_t n;
        int r;

        hbm_live_rows(hbm, &live);
        if (live.n == 0 || !memory_box_is_valid(&hbm->memory.shape, box))
                return 0;
        r = memory_detours_part(&hbm->memory.detours, box, false);
        if (r < 0)
                return r;

        n = (int64_t) count_parts(hbm, &live);
        for (size_t i = 0; i < traps->n_decoders; i++)
                for (uint32_t k = 0; traps->decoders[i].active && k < traps->decoders[i].n; k++)
                        n += correct(hbm, &live, &traps->decoders[i], k);
        hbm->live.trespasses += (uint64_t) n;
        return 0;
}

void hbm_trespass_flip(void *userdata, const Memory *memory, uint32_t linear) {
        Hbm *hbm = userdata;
        HbmLiveRows live;

        hbm_live_rows(hbm, &live);
        hbm->live.disturbed += live.n > 0 && is_live(hbm, &live, linear);
}
