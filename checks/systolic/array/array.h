/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Array
 *
 * Runs patterns on the cores of a chip and keeps what was not golden. A healthy core costs a comparison of
 * memory. What a core does not do, or not in full, is kept too: it is that core's affair as long as another
 * one answers.
 */

#include "checks/port/device.h"
#include "checks/systolic/array/observation.h"
#include "checks/text/cleanup.h"

#define PLACED_MAX 32u

typedef struct Array {
        Device *device;
        bool ftz;                           /* attribute assay/tensor/ftz */
        unsigned formats;                   /* a bit for each WireFormat the cores have, as they say … */
        bool told;                          /* … if they say: else all of them, and none is promised */
        uint8_t *in;                        /* in the window: matrices, one behind the other … */
        size_t in_used;
        struct {
                const void *matrix;
                size_t n_bytes;
                uint8_t *at;
        } placed[PLACED_MAX];               /* … and which */
        unsigned n_placed;
        uint32_t *out[CORES];               /* too */
        const Pattern *loaded;              /* whose weights all cores hold; NULL: not known */
        uint32_t *copy;                     /* of one core's output */
        Observation cores[CORES];
        unsigned psum_told;                 /* cores that said that PSUM has errors which its code cannot correct */
        uint8_t banks[CORES];               /* of PSUM, where sums go */
        size_t n_compared;
        unsigned n_runs;                    /* of array_run() */
} Array;

/* Takes its pieces of the device's window and asks what the cores have. -ENOSPC, or an error of device.h.
 * array_done() releases either way. */
int array_init(Array *array, Device *device);
Array *array_done(Array *array);

/*
 * Runs what LIST has on the cores in MASK. A later round adds what it finds to the columns that were golden
 * before: so an intermittent fault shows itself bit by bit. Returns the number of cores that were ever not
 * golden, or an error of device.h that is none of a single command.
 */
int array_run(Array *array, unsigned mask, const PatternList *list);

/* Begins anew with a core, whose sums go to BANK of PSUM from now on. */
void array_forget(Array *array, unsigned core, unsigned bank);

DEFINE_CLEANUP(Array *, array_done);
