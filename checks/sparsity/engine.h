/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Engine
 *
 * A load and a matmul on some cores of a chip at once. What comes back counts only where it was written: the first and the last
 * number of every column are made wrong before, and successive loads differ.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/port/device-tensor.h"

typedef struct Engine {
        Device *device;
        uint16_t *weights, *tags, *values; /* in the window */
        uint32_t *out[CORES];
        const void *sent_weights, *sent_tags, *sent_values; /* what stands there; NULL: it was changed */
        unsigned told;      /* cores whose reads of PSUM met errors that its code could not correct, a bit each, of the last run */
        unsigned no_format; /* cores that refused a matmul as such, which has a format and no mode; of the last run too */
        unsigned refused;   /* the core that did not do what it was told, after -EREMOTEIO */
        uint32_t status;    /* what it said */
} Engine;

#define ENGINE_VALUES_BYTES ((size_t) MOVING_MAX * MOVING_MAX * sizeof(uint16_t))
#define ENGINE_OUT_BYTES    ((size_t) PE_COLUMNS * MOVING_MAX * sizeof(uint32_t))

/* Takes its pieces of the window, of the sizes above. -ENOSPC. */
int engine_init(Engine *engine, Device *device);

/* What is to be run. Pointers to constant data are compared to see what stands in the window already. */
typedef struct EngineJob {
        WireLoad load;
        WireMatmul matmul;
        unsigned moving_rows;
        const void *weights, *tags, *values; /* tags NULL: dense */
        size_t weights_bytes, values_bytes;
} EngineJob;

/* MASK: which cores. *ret_unsupported: those that refused the load or the matmul as such, and gave no results. Results in engine->out: all of them, also where PSUM
 * told of errors. */
int engine_run(Engine *engine, const EngineJob *job, unsigned mask, unsigned *ret_unsupported);

/* What the pointers of jobs to come point to may have changed. */
void engine_forget(Engine *engine);
