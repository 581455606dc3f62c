/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Backgrounds and march tests as plans name them: what the parameters of every check that marches have in common.
 */

#include <stdint.h>

#include "checks/text/yaml.h"
#include "checks/wire/wire.h"

#define MARCH_BACKGROUNDS_MAX 16u
#define MARCH_BACKGROUNDS "solid, checker, row-stripe, column-stripe, bit-stripe-0 to 7 or address"

/* A background as plans and messages call it. */
typedef struct MarchBackgroundWord {
        const char *word;
        MemoryBackground background;
        uint8_t parameter;
} MarchBackgroundWord;

const MarchBackgroundWord *march_background_word(unsigned index); /* NULL past the end */

/* Indices of two of them. */
#define MARCH_BACKGROUND_SOLID   0
#define MARCH_BACKGROUND_ADDRESS 12

typedef struct MarchBackgrounds {
        unsigned n;
        uint8_t indices[MARCH_BACKGROUNDS_MAX]; /* of march_background_word() */
} MarchBackgrounds;

/* Readers for tables of parameters: a March, the name of a test or a notation; a MarchBackgrounds, a list of words. */
int march_yaml_test(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata);
int march_yaml_backgrounds(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata);

/* March SS, and MATS++: what march checks do unless the plan says otherwise. Initialisers of a March. */
#define MARCH_DEFAULT                                                                                        \
        {                                                                                                    \
                .n_elements = 6,                                                                             \
                .elements = {                                                                                \
                        { MARCH_ANY, 1, { MARCH_W0 } },                                                      \
                        { MARCH_UP, 5, { MARCH_R0, MARCH_R0, MARCH_W0, MARCH_R0, MARCH_W1 } },               \
                        { MARCH_UP, 5, { MARCH_R1, MARCH_R1, MARCH_W1, MARCH_R1, MARCH_W0 } },               \
                        { MARCH_DOWN, 5, { MARCH_R0, MARCH_R0, MARCH_W0, MARCH_R0, MARCH_W1 } },             \
                        { MARCH_DOWN, 5, { MARCH_R1, MARCH_R1, MARCH_W1, MARCH_R1, MARCH_W0 } },             \
                        { MARCH_ANY, 1, { MARCH_R0 } },                                                      \
                },                                                                                           \
        }
#define MARCH_OTHERS_DEFAULT                                                                                 \
        {                                                                                                    \
                .n_elements = 3,                                                                             \
                .elements = {                                                                                \
                        { MARCH_ANY, 1, { MARCH_W0 } },                                                      \
                        { MARCH_UP, 2, { MARCH_R0, MARCH_W1 } },                                             \
                        { MARCH_DOWN, 3, { MARCH_R1, MARCH_W0, MARCH_R0 } },                                 \
                },                                                                                           \
        }
#define MARCH_R0 0
#define MARCH_R1 MARCH_DATA
#define MARCH_W0 MARCH_WRITE
#define MARCH_W1 (MARCH_WRITE | MARCH_DATA)
