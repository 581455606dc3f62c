/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/fleet/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/yaml.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/chip/chip.h"
#include "sim/chip/fault.h"
#include "sim/fleet/expectation.h"
#include "sim/fleet/in-use.h"
#include "sim/fleet/noise.h"
#include "sim/hbm/part.h"
#include "sim/sram/ecc.h"

#define TEMPERATURE_DEFAULT 60.0

typedef struct Topology {
        uint64_t ultraservers, servers;
        int hbm; /* index of hbm_part_words */
} Topology;

/* SramEcc of the two arrays of every core. */
typedef struct SramText {
        int sbuf, psum;
} SramText;

typedef struct TensorText {
        bool ftz;
        yaml_node_t *formats;
} TensorText;

/* The file as written; the parts that need the topology are read once that stands. */
typedef struct Text {
        char *name;
        uint64_t seed;
        double temperature;
        Topology topology;
        int together; /* index of together_words */
        SramText sram;
        TensorText tensor;
        yaml_node_t *topology_node, *occupied, *noise, *in_use, *faults, *expect;
} Text;

static int keep_node(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        *(yaml_node_t **) ret = node;
        return 0;
}

static const YamlField topology_fields[] = {
        YAML_UNSIGNED("ultraservers", Topology, ultraservers, 1, ULTRASERVERS_MAX),
        YAML_UNSIGNED("servers", Topology, servers, 1, SERVERS_MAX),
        YAML_WORD("hbm", Topology, hbm, hbm_part_words),
        {},
};

static const YamlField sram_fields[] = {
        YAML_WORD("sbuf", SramText, sbuf, sram_ecc_words),
        YAML_WORD("psum", SramText, psum, sram_ecc_words),
        {},
};

static const YamlField tensor_fields[] = {
        YAML_BOOLEAN("ftz", TensorText, ftz),
        YAML_CUSTOM("formats", TensorText, formats, keep_node),
        {},
};

/* What wins in a cell that one access writes together with what disturbs it. */
static const char *const together_words[] = { "fault", "write", NULL };

static const YamlField text_fields[] = {
        YAML_STRING("scenario", Text, name, 1, 200, .required = true),
        YAML_UNSIGNED("seed", Text, seed, 0, UINT64_MAX),
        YAML_NUMBER("temperature", Text, temperature, -40, 150),
        YAML_CUSTOM("topology", Text, topology_node, keep_node, .required = true),
        YAML_STRUCT("sram", Text, sram, sram_fields),
        YAML_STRUCT("tensor", Text, tensor, tensor_fields),
        YAML_WORD("coupling-together", Text, together, together_words),
        YAML_CUSTOM("occupied", Text, occupied, keep_node),
        YAML_CUSTOM("in-use", Text, in_use, keep_node),
        YAML_CUSTOM("noise", Text, noise, keep_node),
        YAML_CUSTOM("faults", Text, faults, keep_node),
        YAML_CUSTOM("expect", Text, expect, keep_node),
        {},
};

static int read_topology(Yaml *yaml, Text *text, Hall **ret) {
        bool ring;
        int r;

        r = yaml_read(yaml, text->topology_node, topology_fields, &text->topology, NULL);
        if (r < 0)
                return r;
        ring = text->topology.ultraservers > 0;
        if (ring == (text->topology.servers > 0))
                return yaml_refuse(yaml, text->topology_node, 0, "expected either ultraservers or servers");
        r = hall_new(text->seed, text->temperature, ring, ring ? text->topology.ultraservers : text->topology.servers, ret);
        if (r < 0)
                return r;
        (*ret)->hbm_part = (unsigned) text->topology.hbm;
        return 0;
}

int scenario_read_unit(Yaml *yaml, yaml_node_t *node, const Hall *hall, Location *ret) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "a server or a chip such as us0-1/chip3", &text);
        if (r < 0)
                return r;
        if (location_parse(text, ret, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        if (ret->n_parts > 1)
                return yaml_refuse(yaml, node, 0, "expected a server or a chip, not a part of one");
        if (!hall_server(hall, ret->server))
                return yaml_refuse(yaml, node, 0, "the topology has no server %s", ret->server);
        if (ret->n_parts == 1 && location_kind(ret) != LOCATION_CHIP)
                return yaml_refuse(yaml, node, 0, "expected a server or a chip");
        return 0;
}

static int read_occupied(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Scenario *scenario = userdata;
        Server *server;
        Location at;
        int r;

        r = scenario_read_unit(yaml, item, scenario->hall, &at);
        if (r < 0)
                return r;
        server = hall_server(scenario->hall, at.server);
        if (at.n_parts == 0)
                server->occupied = (1u << CHIPS) - 1;
        else
                server->occupied |= 1u << at.parts[0].index;
        return 0;
}

/* A word of wire_format_words. */
static int read_format(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        static const YamlField field = { .name = "formats", .type = YAML_TYPE_WORD, .words = wire_format_words };
        unsigned *formats = userdata;
        int format, r;

        r = yaml_read_value(yaml, item, &field, &format, NULL);
        if (r < 0)
                return r;
        if (*formats >> format & 1)
                return yaml_refuse(yaml, item, 0, "%s is named twice", wire_format_words[format]);
        *formats |= 1u << format;
        return 0;
}

static int read_tensor(Yaml *yaml, const TensorText *text, Hall *hall) {
        unsigned formats = 0;
        int r;

        hall->tensor.ftz = text->ftz;
        if (!text->formats)
                return 0;

        r = yaml_items(yaml, text->formats, _FORMAT_MAX, "a list of number formats", read_format, &formats);
        if (r < 0)
                return r;
        if (formats == 0)
                return yaml_refuse(yaml, text->formats, 0, "expected at least one number format");
        hall->tensor.absent = (uint8_t) (~formats & ((1u << _FORMAT_MAX) - 1));
        return 0;
}

static int read_in_use(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Scenario *scenario = userdata;

        return in_use_read(yaml, item, scenario->hall);
}

static int read_fault(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        _cleanup_(fault_freep) Fault *fault = NULL;
        Scenario *scenario = userdata;
        int r;

        r = fault_read(yaml, item, scenario->hall, &fault);
        if (r < 0)
                return r;
        r = fault_inject(scenario->hall, fault);
        if (r < 0)
                return yaml_refuse(yaml, item, 0, "%s", fault_refusal(r));
        (void) TAKE_PTR(fault); /* the chip's now */
        scenario->n_faults++;
        return 0;
}

static int read_parts(Yaml *yaml, Text *text, Scenario *scenario) {
        int r;

        r = read_topology(yaml, text, &scenario->hall);
        if (r < 0)
                return r;
        scenario->hall->write_wins = text->together == 1;
        scenario->hall->sram_ecc[ARRAY_SBUF] = (uint8_t) text->sram.sbuf;
        scenario->hall->sram_ecc[ARRAY_PSUM] = (uint8_t) text->sram.psum;
        r = read_tensor(yaml, &text->tensor, scenario->hall);
        if (r < 0)
                return r;
        if (text->occupied) {
                r = yaml_items(yaml, text->occupied, SCENARIO_OCCUPIED_MAX, "a list of servers and chips", read_occupied, scenario);
                if (r < 0)
                        return r;
        }
        if (text->in_use) {
                r = yaml_items(yaml, text->in_use, IN_USE_ITEMS_MAX, "a list of rows in use", read_in_use, scenario);
                if (r < 0)
                        return r;
        }
        if (text->noise) {
                r = noise_read(yaml, text->noise, scenario->hall);
                if (r < 0)
                        return r;
        }
        if (text->faults) {
                r = yaml_items(yaml, text->faults, SCENARIO_FAULTS_MAX, "a list of faults", read_fault, scenario);
                if (r < 0)
                        return r;
        }
        return text->expect ? expectations_read(yaml, text->expect, scenario) : 0;
}

static int read_scenario(Yaml *yaml, Scenario **ret) {
        Text text = { .temperature = TEMPERATURE_DEFAULT, .sram = { SRAM_ECC_SECDED, SRAM_ECC_PARITY } };
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        yaml_node_t *root = yaml_root(yaml);
        int r;

        if (!root)
                return yaml_refuse(yaml, NULL, 0, "the file is empty, expected a scenario");
        scenario = calloc(1, sizeof(*scenario));
        if (!scenario)
                return -ENOMEM;
        r = yaml_read(yaml, root, text_fields, &text, NULL);
        if (r >= 0)
                r = read_parts(yaml, &text, scenario);
        scenario->name = TAKE_PTR(text.name);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(scenario);
        return 0;
}

/* The message of what failed, whether a rule was broken or memory ran out. */
static int finish(Yaml *yaml, int r, const char *filename, char **ret_error) {
        if (r < 0) {
                if (yaml->error[0] != '\0')
                        *ret_error = strdup(yaml->error);
                else if (asprintf(ret_error, "%s: %s", filename, strerror(-r)) < 0)
                        *ret_error = NULL;
        }
        return r;
}

int scenario_parse(const char *filename, const char *text, size_t n_text, Scenario **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        *ret_error = NULL;
        r = yaml_parse(&yaml, filename, text, n_text);
        if (r >= 0)
                r = read_scenario(&yaml, ret);
        return finish(&yaml, r, filename, ret_error);
}

int scenario_load(const char *path, Scenario **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        *ret_error = NULL;
        r = yaml_load(&yaml, path);
        if (r >= 0)
                r = read_scenario(&yaml, ret);
        return finish(&yaml, r, path, ret_error);
}

Scenario *scenario_free(Scenario *scenario) {
        if (!scenario)
                return NULL;
        (void) hall_free(scenario->hall);
        expectations_free(scenario->expectations, scenario->n_expectations);
        free(scenario->name);
        free(scenario);
        return NULL;
}
