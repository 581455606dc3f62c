/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/parameters.h"

#include <string.h>

#include "checks/plan/plan.h"
#include "checks/wire/wire.h"

static const SystolicParameters defaults = { .patterns = SYSTOLIC_STRUCTURE, .formats = (1u << _FORMAT_MAX) - 1, .repeats = 1 };
static const char *const set_words[] = { "structure", "all", NULL };

#define FORMATS "fp32, bf16, fp16, tf32, fp8_e4m3, fp8_e5m2, fp8_e3m4"

extern const YamlField parameters_systolic[];
extern const size_t parameters_systolic_bytes;
extern const void *const parameters_systolic_defaults;

static int read_format(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        unsigned *formats = userdata;
        const char *text;
        int r;

        r = yaml_scalar(yaml, item, FORMATS, &text);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < _FORMAT_MAX; i++) {
                if (strcmp(wire_format_words[i], text) != 0)
                        continue;
                if (*formats >> i & 1)
                        return yaml_refuse(yaml, item, 0, "'%s' is there twice", text);
                *formats |= 1u << i;
                return 0;
        }

        return yaml_refuse(yaml, item, 0, "'%.60s' is not one of: " FORMATS, text);
}

static int read_formats(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        unsigned formats = 0;
        int r;

        r = yaml_items(yaml, node, _FORMAT_MAX, "a list of formats", read_format, &formats);
        if (r < 0)
                return r;
        if (formats == 0)
                return yaml_refuse(yaml, node, 0, "expected at least one format");

        *(unsigned *) ret = formats;
        return 0;
}

const YamlField parameters_systolic[] = {
        YAML_WORD("patterns", SystolicParameters, patterns, set_words,
                  .summary = "structure: every register bit at 0 and 1, in both directions, and under full load; "
                             "all: every format and mode by itself as well, all tiles, all pairs of operands of 8 bits, every element of PSUM"),
        YAML_CUSTOM("formats", SystolicParameters, formats, read_formats, .summary = "patterns all of whose formats are in this list, by default all: " FORMATS),
        YAML_UNSIGNED("repeats", SystolicParameters, repeats, 1, 64,
                      .summary = "how often what the structure has is run, for faults that come and go; what all has beyond is run once"),
        {}
};
const size_t parameters_systolic_bytes = sizeof(SystolicParameters);
const void *const parameters_systolic_defaults = &defaults;
