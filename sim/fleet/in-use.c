/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/in-use.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/chip/chip.h"
#include "sim/hbm/live.h"

#define TEXT_MAX 256u

static void list_stack(const Chip *chip, unsigned stack, FILE *out) {
        const Hbm *hbm = chip_part_peek(chip, &model_hbm, stack);
        char place[LOCATION_STRING_MAX], text[TEXT_MAX];
        Location at;

        if (!hbm)
                return;
        if (hbm_live_format(hbm, text, sizeof(text)) < 0)
                (void) snprintf(text, sizeof(text), "many");
        if (strcmp(text, "none") == 0 && hbm->live.trespasses == 0 && hbm->live.disturbed == 0)
                return;

        chip_location(chip, &at);
        (void) location_append(&at, LOCATION_HBM, stack);
        fprintf(out, "%s  rows %s  %" PRIu64 " accesses overwritten", location_format(&at, place), text, hbm->live.trespasses);
        if (hbm->live.disturbed > 0)
                fprintf(out, ", %" PRIu64 " cells disturbed", hbm->live.disturbed);
        fputc('\n', out);
}

void in_use_list(const Hall *hall, FILE *out) {
        for (size_t s = 0; s < hall_servers(hall); s++)
                for (unsigned c = 0; c < CHIPS; c++) {
                        const Chip *chip = hall_server_at(hall, s)->chips[c];

                        for (unsigned stack = 0; chip && stack < STACKS; stack++)
                                list_stack(chip, stack, out);
                }
}

/* ---- what is said of it ---- */

typedef struct Saying {
        const char *at, *rows;
        yaml_node_t *at_node, *rows_node;
} Saying;

static int keep_at(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Saying *saying = userdata;

        saying->at_node = node;
        return yaml_scalar(yaml, node, "a server, a chip or a stack such as us0-1/chip3/hbm2", &saying->at);
}

static int keep_rows(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Saying *saying = userdata;

        saying->rows_node = node;
        return yaml_scalar(yaml, node, "rows as SID:FIRST-LAST,…, or all, or none", &saying->rows);
}

static const YamlField fields[] = {
        YAML_CUSTOM("at", Saying, at, keep_at, .required = true),
        YAML_CUSTOM("rows", Saying, rows, keep_rows, .required = true),
        {},
};

static int set_stacks(Yaml *yaml, const Saying *saying, Chip *chip, int stack) {
        for (int i = 0; i < (int) STACKS; i++) {
                Hbm *hbm = stack < 0 || stack == i ? chip_part(chip, &model_hbm, (unsigned) i) : NULL;

                if (stack >= 0 && stack != i)
                        continue;
                if (!hbm)
                        return -ENOMEM;
                if (hbm_live_say(hbm, saying->rows) < 0)
                        return yaml_refuse(yaml, saying->rows_node, 0,
                                           "'%.60s' are no rows of that stack, expected SID:FIRST-LAST in ascending order, at "
                                           "most %u of them, or all, or none",
                                           saying->rows, HBM_RANGES_MAX);
        }

        return 0;
}

int in_use_read(Yaml *yaml, yaml_node_t *node, Hall *hall) {
        Saying saying = {};
        const char *wrong;
        Server *server;
        size_t offset;
        Location at;
        int r;

        r = yaml_read(yaml, node, fields, &saying, &saying);
        if (r < 0)
                return r;
        if (location_parse(saying.at, &at, &wrong, &offset) < 0)
                return yaml_refuse(yaml, saying.at_node, offset, "%s", wrong);
        server = hall_server(hall, at.server);
        if (!server)
                return yaml_refuse(yaml, saying.at_node, 0, "the topology has no server %s", at.server);
        if (at.n_parts > 2 || (at.n_parts == 2 && location_kind(&at) != LOCATION_HBM) ||
            (at.n_parts == 1 && location_kind(&at) != LOCATION_CHIP))
                return yaml_refuse(yaml, saying.at_node, 0, "expected a server, a chip or a stack");

        for (int i = 0, chip = location_index(&at, LOCATION_CHIP); i < (int) CHIPS; i++) {
                Chip *of = chip < 0 || chip == i ? server_chip(server, (unsigned) i) : NULL;

                if (chip >= 0 && chip != i)
                        continue;
                r = of ? set_stacks(yaml, &saying, of, location_index(&at, LOCATION_HBM)) : -ENOMEM;
                if (r < 0)
                        return r;
        }

        return 0;
}
