/* SPDX-License-Identifier: Apache-2.0 */

/* Beside a stuck data lane: whatever a pass reports, in trials and of plants too, is a bit of that lane. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/march/march.h"
#include "tests/hall-device.h"

#define SEEDS 4u

/* A lane of channel 1, with neighbours that plants and trials stand in too. */
typedef struct Lane {
        unsigned dq, value;
        const char *persistence;
} Lane;

static const Lane lanes[] = {
        { 0, 0, "" },
        { 0, 1, "" },
        { 13, 0, "" },
        { 31, 1, "" },
        { 7, 0, ", persistence: intermittent, probability: 0.5" },
        { 22, 1, ", persistence: intermittent, probability: 0.9" },
};

/* Reads before the first write that a trial wants silent, reads after it, and marches that leave what they found. */
static const char *const marches[] = {
        "March SS",
        "March RAW",
        "any(w0);up(r0,r0,w0,r0,w1,r1,w0,r0);dn(r0,w1,r1)",
        "any(w1);up(r1,w1,r1,r1);dn(r1,w0,r0);up(r0,w0,r0)",
};

static const MemoryField fields[] = {
        { .background = MEMORY_BACKGROUND_SOLID },
        { .background = MEMORY_BACKGROUND_BIT_STRIPE, .parameter = 2 },
        { .background = MEMORY_BACKGROUND_ADDRESS, .seed = 5 },
};

typedef struct Heard {
        const Lane *lane;
        unsigned n, n_sound; /* mismatches, and those of bits that the lane does not carry */
        unsigned n_beside;   /* of reads beside the march itself */
        MarchMismatch sound; /* the first of them */
} Heard;

static int hear(const MarchMismatch *mismatch, void *userdata) {
        Heard *heard = userdata;
        bool sound = mismatch->at[HBM_CHANNEL] != 1;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++) {
                uint8_t differs = mismatch->expected.bytes[i] ^ mismatch->actual.bytes[i];

                sound |= (differs & ~(i % 4 == heard->lane->dq / 8 ? 1u << heard->lane->dq % 8 : 0)) != 0;
        }

        heard->n++;
        heard->n_beside += mismatch->op == MARCH_OPS_MAX;
        if (sound && heard->n_sound++ == 0)
                heard->sound = *mismatch;
        return 0;
}

static Device *device_with(const Lane *lane) {
        char text[256];

        (void) snprintf(text, sizeof(text), "scenario: t\nseed: 9\ntopology: {ultraservers: 1}\nfaults:\n"
                                            "  - {at: us0-0/chip0/hbm0/ch1/pc0/dq%u, kind: lane-stuck, value: %u%s}\n",
                        lane->dq, lane->value, lane->persistence);
        return hall_device(text, "us0-0", 0, 4 << 20);
}

static void run(const Lane *lane, const char *notation, const MemoryField *field, bool ecc) {
        _cleanup_(memory_batch_freep) MemoryBatch *batch = NULL;
        MemoryPart part = memory_part_stack(0);
        Heard heard = { .lane = lane };
        MarchPass pass = {
                .parts = &part, .n_parts = 1, .field = *field, .ecc = ecc, .seed = 1, .n_samples = 2, .mismatches_max = 16384,
                .found = hear, .userdata = &heard,
        };
        Device *device = device_with(lane);
        March march;

        assert_non_null(device);
        assert_int_equal(device_hbm_geometry(device, 0, &pass.geometry), 0);
        assert_int_equal(march_read(notation, &march, NULL, NULL), 0);
        assert_int_equal(memory_batch_new(device, &batch), 0);

        pass.march = &march;
        pass.box = memory_geometry_box(&pass.geometry);
        pass.box.last[HBM_CHANNEL] = 3;
        pass.box.last[HBM_PSEUDO_CHANNEL] = pass.box.last[HBM_SID] = 0;
        pass.box.last[HBM_BANK_GROUP] = pass.box.last[HBM_BANK] = 0;
        pass.box.last[HBM_ROW] = 15;
        for (; pass.seed <= SEEDS; pass.seed++)
                assert_int_equal(march_pass_run(&pass, batch), 0);

        assert_int_equal(pass.outcomes[0].n_lies, 0);
        assert_int_equal(pass.outcomes[0].n_blind, 0);
        assert_false(pass.outcomes[0].truncated);
        assert_true(heard.n > 0 && heard.n_beside > 0);
        if (heard.n_sound > 0)
                fail_msg("dq%u at %u%s, %s, background %u, ecc %u: %u of %u are sound, the first in channel %u, element %u op %u",
                         lane->dq, lane->value, lane->persistence, notation, field->background, ecc, heard.n_sound, heard.n,
                         heard.sound.at[HBM_CHANNEL], heard.sound.element, heard.sound.op);

        (void) memory_batch_free(TAKE_PTR(batch));
        (void) device_free(device);
}

static void only_the_lane_is_wrong(void **state) {
        for (size_t l = 0; l < ELEMENTS(lanes); l++)
                for (size_t m = 0; m < ELEMENTS(marches); m++)
                        for (size_t f = 0; f < ELEMENTS(fields); f++)
                                for (unsigned ecc = 0; ecc < 2; ecc++)
                                        run(&lanes[l], marches[m], &fields[f], ecc);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_the_lane_is_wrong),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
