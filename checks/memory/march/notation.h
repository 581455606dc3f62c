/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * March notation
 *
 * A march test as people write it: elements separated by ';', each a direction and its operations on one access:
 *
 *     any(w0);up(r0,w1);dn(r1,w0);any(r0)
 *
 * up = ascending, dn = descending, any = either (run ascending), Del = a pause without accesses. rD reads and compares,
 * wD writes the background XOR D. Spaces may stand between all parts. What a read wants must be what was written last:
 * a test that contradicts itself, or reads what nothing has written, is refused with its place.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

#define MARCH_ELEMENTS_MAX 32
#define MARCH_TEXT_MAX     1024 /* bytes of a notation, with the final zero */

typedef enum MarchDirection {
        MARCH_ANY,
        MARCH_UP,
        MARCH_DOWN,
        MARCH_DELAY, /* has no operations */
        _MARCH_DIRECTION_MAX,
} MarchDirection;

typedef struct MarchElement {
        MarchDirection direction;
        uint8_t n_ops;
        uint8_t ops[MARCH_OPS_MAX]; /* as WireMarch has them: MARCH_WRITE, MARCH_DATA */
} MarchElement;

typedef struct March {
        unsigned n_elements;
        MarchElement elements[MARCH_ELEMENTS_MAX];
} March;

/* A test with a name; the table has all of the usual ones. */
typedef struct MarchTest {
        const char *name;
        unsigned n_ops;    /* per access */
        unsigned n_delays;
        const char *notation;
} MarchTest;

const MarchTest *march_test_find(const char *name); /* NULL: none is called so */
const MarchTest *march_test_at(size_t index);       /* NULL past the end */

/* Returns 0, or -EINVAL and, where wanted, what is wrong (a static sentence) and its byte offset in TEXT. */
int march_parse(const char *text, March *ret, const char **ret_wrong, size_t *ret_offset);

/* The same for the name of a test or a notation. */
int march_read(const char *text, March *ret, const char **ret_wrong, size_t *ret_offset);

unsigned march_operations(const March *march); /* per access */
