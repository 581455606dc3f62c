/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/backgrounds.h"

#include <string.h>

#include "checks/memory/march/notation.h"
#include "checks/text/cleanup.h"

static const MarchBackgroundWord words[] = {
        { "solid", MEMORY_BACKGROUND_SOLID, 0 },
        { "checker", MEMORY_BACKGROUND_CHECKER, 0 },
        { "row-stripe", MEMORY_BACKGROUND_ROW_STRIPE, 0 },
        { "column-stripe", MEMORY_BACKGROUND_COLUMN_STRIPE, 0 },
        { "bit-stripe-0", MEMORY_BACKGROUND_BIT_STRIPE, 0 },
        { "bit-stripe-1", MEMORY_BACKGROUND_BIT_STRIPE, 1 },
        { "bit-stripe-2", MEMORY_BACKGROUND_BIT_STRIPE, 2 },
        { "bit-stripe-3", MEMORY_BACKGROUND_BIT_STRIPE, 3 },
        { "bit-stripe-4", MEMORY_BACKGROUND_BIT_STRIPE, 4 },
        { "bit-stripe-5", MEMORY_BACKGROUND_BIT_STRIPE, 5 },
        { "bit-stripe-6", MEMORY_BACKGROUND_BIT_STRIPE, 6 },
        { "bit-stripe-7", MEMORY_BACKGROUND_BIT_STRIPE, 7 },
        { "address", MEMORY_BACKGROUND_ADDRESS, 0 },
};

const MarchBackgroundWord *march_background_word(unsigned index) {
        return index < ELEMENTS(words) ? &words[index] : NULL;
}

static bool has_read(const March *march) {
        for (unsigned i = 0; i < march->n_elements; i++)
                for (unsigned k = 0; k < march->elements[i].n_ops; k++)
                        if (!(march->elements[i].ops[k] & MARCH_WRITE))
                                return true;
        return false;
}

int march_yaml_test(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "the name of a march test or a notation such as any(w0);up(r0,w1);dn(r1)", &text);
        if (r < 0)
                return r;
        if (march_read(text, ret, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        if (!has_read(ret))
                return yaml_refuse(yaml, node, strlen(text), "nothing is read: such a test cannot fail");
        return 0;
}

static int read_background(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        MarchBackgrounds *backgrounds = userdata;
        const char *text;
        int r;

        r = yaml_scalar(yaml, item, "a background: " MARCH_BACKGROUNDS, &text);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < ELEMENTS(words); i++)
                if (strcmp(words[i].word, text) == 0) {
                        backgrounds->indices[index] = (uint8_t) i;
                        backgrounds->n = (unsigned) index + 1;
                        return 0;
                }

        return yaml_refuse(yaml, item, 0, "'%.60s' is no background, expected " MARCH_BACKGROUNDS, text);
}

int march_yaml_backgrounds(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        MarchBackgrounds backgrounds = {};
        int r;

        r = yaml_items(yaml, node, MARCH_BACKGROUNDS_MAX, "a list of backgrounds", read_background, &backgrounds);
        if (r < 0)
                return r;
        if (backgrounds.n == 0)
                return yaml_refuse(yaml, node, 0, "expected at least one background");

        *(MarchBackgrounds *) ret = backgrounds;
        return 0;
}
