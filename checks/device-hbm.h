/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Commands of the HBM stacks (see wire.h), gathered into batches. A batch owns no window: it takes all of the device's
 * for the time of one run, and copies what came back before anybody judges it.
 */

#include <stdbool.h>

#include "checks/device.h"

typedef struct HbmGeometry {
        uint16_t size[_HBM_AXIS_MAX];
        uint32_t accesses; /* of one stack */
} HbmGeometry;

/* What the chip says; -EPROTO where that is no geometry, -ENOENT where it says nothing. */
int device_hbm_geometry(Device *device, unsigned chip, HbmGeometry *ret);
int hbm_geometry_parse(const char *text, HbmGeometry *ret); /* -EINVAL */

WireBox hbm_geometry_box(const HbmGeometry *geometry); /* a whole stack */
WireBox hbm_access_box(const uint16_t at[static _HBM_AXIS_MAX]);
/* Accesses count in the order of HbmAxis, column fastest. */
uint32_t hbm_geometry_linear(const HbmGeometry *geometry, const uint16_t at[static _HBM_AXIS_MAX]);
void hbm_geometry_at(const HbmGeometry *geometry, uint32_t linear, uint16_t ret[static _HBM_AXIS_MAX]);
bool hbm_geometry_has(const HbmGeometry *geometry, const uint16_t at[static _HBM_AXIS_MAX]);
bool hbm_box_includes(const WireBox *box, const uint16_t at[static _HBM_AXIS_MAX]);
uint64_t hbm_box_accesses(const WireBox *box);

typedef struct HbmAnswer {
        const WireMismatch *mismatches; /* march: the first, n of them; valid until the next run or reset */
        size_t n;
        uint64_t total;                 /* march: mismatches in all, as the device says */
        uint64_t accesses;              /* march: as the device says */
        const uint8_t *data;            /* copy out: as many bytes as were asked for */
        uint64_t device_nsec;
} HbmAnswer;

typedef struct HbmBatch HbmBatch;

int hbm_batch_new(Device *device, HbmBatch **ret);
HbmBatch *hbm_batch_free(HbmBatch *batch);
DEFINE_CLEANUP(HbmBatch *, hbm_batch_free);

/* Forgets commands and answers. */
void hbm_batch_reset(HbmBatch *batch);

/*
 * Add a command and return its number in the batch. -ENOSPC: no room in the window; run what there is and add it to the
 * next.
 */
int hbm_batch_march(HbmBatch *batch, unsigned stack, const WireMarch *march);
int hbm_batch_copy_in(HbmBatch *batch, unsigned stack, const WireBox *box, const void *data, size_t n_bytes);
int hbm_batch_copy_out(HbmBatch *batch, unsigned stack, const WireBox *box);
int hbm_batch_pause(HbmBatch *batch, unsigned stack, uint64_t nsec);

/* The errors of device_execute(). */
int hbm_batch_run(HbmBatch *batch);
HbmAnswer hbm_batch_answer(const HbmBatch *batch, int number);
