/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Backgrounds and march tests as plans name them: what the parameters of every check that marches have in common.
 */

#include <stdint.h>

#include "checks/wire.h"
#include "checks/yaml.h"

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
