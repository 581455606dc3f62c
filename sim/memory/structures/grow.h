/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Arrays of the memory engine that grow by doubling. */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

static inline int memory_grow(void **array, size_t *allocated, size_t wanted, size_t element_bytes) {
        size_t n = *allocated > 0 ? *allocated : 16;
        void *grown;

        if (wanted <= *allocated)
                return 0;

        while (n < wanted)
                n *= 2;
        grown = reallocarray(*array, n, element_bytes);
        if (!grown)
                return -ENOMEM;

        *array = grown;
        *allocated = n;
        return 0;
}

#define MEMORY_GROW(of, what, wanted)                                                                        \
        memory_grow((void **) &(of)->what, &(of)->what##_allocated, wanted, sizeof((of)->what[0]))
