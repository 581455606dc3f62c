/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/fault.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"
#include "sim/chip/dispatch.h"

#define FIELDS_MAX 32u

static const char *const persistence_words[] = { "permanent", "intermittent", "transient", NULL };
const char *const fault_family_words[] = {
        [FAMILY_MEMORY] = "memory", [FAMILY_COMPUTE] = "compute", [FAMILY_LINKS] = "links",
        [FAMILY_TELEMETRY] = "telemetry", NULL,
};

/* A fault being read. The kind's own struct lies behind it in the same block, so one table can fill in both. */
typedef struct Reading {
        Fault fault;
        int persistence;
} Reading;

const char *persistence_to_string(Persistence persistence) {
        for (unsigned i = 0; persistence_words[i]; i++)
                if (persistence == 1u << i)
                        return persistence_words[i];
        return NULL;
}

static int read_nothing(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return 0;
}

static const YamlField common_fields[] = {
        YAML_CUSTOM("at", Reading, fault, read_nothing),
        YAML_CUSTOM("kind", Reading, fault, read_nothing),
        YAML_WORD("persistence", Reading, persistence, persistence_words),
        YAML_NUMBER("probability", Reading, fault.probability, 0, 1),
        YAML_NUMBER("after", Reading, fault.after, 0, 1e9),
        YAML_NUMBER("above", Reading, fault.above, -100, 200),
        YAML_UNSIGNED("after-commands", Reading, fault.after_commands, 0, UINT64_MAX),
        YAML_NUMBER("droop", Reading, fault.droop, 1, 50),
};

static int read_at(Yaml *yaml, yaml_node_t *node, const Hall *hall, Location *ret) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "a location such as us0-1/chip3", &text);
        if (r < 0)
                return r;
        if (location_parse(text, ret, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        if (!hall_server(hall, ret->server))
                return yaml_refuse(yaml, node, 0, "the topology has no server %s", ret->server);
        if (location_index(ret, LOCATION_CHIP) < 0)
                return yaml_refuse(yaml, node, 0, "expected a chip or a part of one");
        return 0;
}

static int check_port(Yaml *yaml, yaml_node_t *node, const Hall *hall, const Location *at) {
        int port = location_index(at, LOCATION_LINK), lane = location_index(at, LOCATION_LANE);
        bool z = port == LINK_Z_PLUS || port == LINK_Z_MINUS;

        if (z && !hall->ring)
                return yaml_refuse(yaml, node, 0, "single servers have no z links");
        if (z && lane >= (int) LINK_LANES_Z)
                return yaml_refuse(yaml, node, 0, "a z link has lanes 0 to %u", LINK_LANES_Z - 1);
        return 0;
}

static int read_kind(Yaml *yaml, yaml_node_t *node, yaml_node_t *at_node, const Location *at, const FaultKind **ret) {
        const FaultKind *kind;
        const char *name;
        int r;

        r = yaml_scalar(yaml, node, "the name of a kind", &name);
        if (r < 0)
                return r;
        kind = fault_kind_find(name);
        if (!kind)
                return yaml_refuse(yaml, node, 0, "no kind is called \"%.40s\"; assay-sim kinds lists them all", name);
        *ret = kind;
        for (const LocationKind *place = kind->at; *place >= 0; place++)
                if (*place == location_kind(at))
                        return 0;
        return yaml_refuse(yaml, at_node, 0, "%s cannot sit in a %s; assay-sim kinds %s tells where it can", kind->name,
                           location_kind_to_string(location_kind(at)), kind->name);
}

/* TABLE: the common keys, then those of KIND moved to where its struct lies. */
static void build_table(const FaultKind *kind, YamlField table[static FIELDS_MAX + 1]) {
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTS(common_fields); i++)
                table[n++] = common_fields[i];
        for (const YamlField *field = kind->parameters; field && field->name; field++) {
                assert(n < FIELDS_MAX);
                table[n] = *field;
                table[n++].offset += sizeof(Reading);
        }
        table[n] = (YamlField) {};
}

/* KEY must be there exactly where the fault is PERSISTENCE. */
static int check_pair(Yaml *yaml, yaml_node_t *node, const Fault *fault, Persistence persistence, const char *key) {
        yaml_node_t *found = yaml_get(yaml, node, key);

        if ((fault->persistence == persistence) == (found != NULL))
                return 0;
        return yaml_refuse(yaml, found ? found : node, 0, "\"%s\" goes with persistence: %s, and only with it", key,
                           persistence_to_string(persistence));
}

static int check_trigger(Yaml *yaml, yaml_node_t *node, const FaultKind *kind, Trigger trigger, const char *key) {
        yaml_node_t *found = yaml_get(yaml, node, key);

        if (!found || (kind->triggers & trigger))
                return 0;
        return yaml_refuse(yaml, found, 0, "%s has no \"%s\"", kind->name, key);
}

/* What the kind admits, and which key needs which other. */
static int check_common(Yaml *yaml, yaml_node_t *node, Reading *reading) {
        yaml_node_t *persistence = yaml_get(yaml, node, "persistence");
        Fault *fault = &reading->fault;
        const FaultKind *kind = fault->kind;
        int r;

        fault->persistence = 1u << reading->persistence;
        if (!persistence)
                while (!(kind->persistence & fault->persistence) && fault->persistence < PERSISTENCE_TRANSIENT)
                        fault->persistence <<= 1;
        if (!(kind->persistence & fault->persistence))
                return yaml_refuse(yaml, persistence, 0, "%s cannot be %s", kind->name,
                                   persistence_words[reading->persistence]);
        r = check_pair(yaml, node, fault, PERSISTENCE_INTERMITTENT, "probability");
        if (r < 0)
                return r;
        r = check_pair(yaml, node, fault, PERSISTENCE_TRANSIENT, "after");
        if (r < 0)
                return r;
        r = check_trigger(yaml, node, kind, TRIGGER_TEMPERATURE, "above");
        if (r < 0)
                return r;
        r = check_trigger(yaml, node, kind, TRIGGER_ACTIVITY, "after-commands");
        if (r < 0)
                return r;
        return check_trigger(yaml, node, kind, TRIGGER_DROOP, "droop");
}

static int reading_new(const FaultKind *kind, const Location *at, Reading **ret) {
        Reading *reading = calloc(1, sizeof(*reading) + kind->parameters_bytes);

        if (!reading)
                return -ENOMEM;
        reading->fault = (Fault) { .kind = kind, .at = *at, .above = -INFINITY };
        if (kind->parameters_bytes > 0)
                reading->fault.parameters = reading + 1;
        *ret = reading;
        return 0;
}

/* What is no scalar is not told. */
static char *read_words(Yaml *yaml, const yaml_node_t *node) {
        char *words = NULL;
        size_t n_words;
        FILE *out;

        out = open_memstream(&words, &n_words);
        if (!out)
                return NULL;
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
                const yaml_node_t *key = yaml_document_get_node(&yaml->document, pair->key);
                const yaml_node_t *value = yaml_document_get_node(&yaml->document, pair->value);
                const char *name = (const char *) key->data.scalar.value; /* the table of fields took it */

                if (value->type == YAML_SCALAR_NODE && strcmp(name, "at") != 0 && strcmp(name, "kind") != 0 &&
                    strcmp(name, "persistence") != 0)
                        fprintf(out, "%s%s: %s", ftell(out) > 0 ? ", " : "", name, (const char *) value->data.scalar.value);
        }
        if (fclose(out) == 0)
                return words;
        free(words);
        return NULL;
}

int fault_read(Yaml *yaml, yaml_node_t *node, const Hall *hall, Fault **ret) {
        _cleanup_(fault_freep) Fault *fault = NULL;
        yaml_node_t *at_node, *kind_node;
        YamlField table[FIELDS_MAX + 1];
        const FaultKind *kind = NULL;
        Reading *reading;
        const char *wrong;
        Location at;
        int r;

        if (node->type != YAML_MAPPING_NODE)
                return yaml_refuse(yaml, node, 0, "expected a fault: {at: …, kind: …}");
        at_node = yaml_get(yaml, node, "at");
        kind_node = yaml_get(yaml, node, "kind");
        if (!at_node || !kind_node)
                return yaml_refuse(yaml, node, 0, "\"%s\" is missing", at_node ? "kind" : "at");
        r = read_at(yaml, at_node, hall, &at);
        if (r < 0)
                return r;
        r = read_kind(yaml, kind_node, at_node, &at, &kind);
        if (r < 0)
                return r;
        r = check_port(yaml, at_node, hall, &at);
        if (r < 0)
                return r;

        r = reading_new(kind, &at, &reading);
        if (r < 0)
                return r;
        fault = &reading->fault;
        build_table(kind, table);
        r = yaml_read(yaml, node, table, reading, fault);
        if (r < 0)
                return r;
        r = check_common(yaml, node, reading);
        if (r < 0)
                return r;
        if (kind->validate && kind->validate(fault, &wrong) < 0)
                return yaml_refuse(yaml, at_node, 0, "%s", wrong);
        fault->words = read_words(yaml, node);
        if (!fault->words)
                return -ENOMEM;

        *ret = TAKE_PTR(fault);
        return 0;
}

Fault *fault_free(Fault *fault) {
        if (!fault)
                return NULL;
        if (fault->kind->parameters)
                yaml_free_fields(fault->kind->parameters, fault->parameters);
        free(fault->words);
        free(fault); /* the Reading: the fault is its first member */
        return NULL;
}

int fault_inject(Hall *hall, Fault *fault) {
        Server *server = hall_server(hall, fault->at.server);
        Chip *chip = server ? server_chip(server, (unsigned) location_index(&fault->at, LOCATION_CHIP)) : NULL;

        return chip ? chip_inject(chip, fault) : -ENOMEM;
}

const char *fault_refusal(int error) {
        if (error == -EEXIST)
                return "another fault sits there, and the two cannot be together";
        if (error == -ENOSPC)
                return "too many faults in one chip";
        if (error == -EINVAL)
                return "the part has no such place for it";
        return strerror(-error);
}

bool fault_is_active(const Fault *fault, const Execution *execution) {
        /* The one field that changes: the fault is the chip's, and only its own thread comes here. */
        Fault *own = (Fault *) fault;

        if (isfinite(fault->above) && !(chip_temperature(execution->chip) > fault->above))
                return false;
        if (execution->number < fault->after_commands)
                return false;
        if (execution->sag < fault->droop)
                return false;
        if (fault->persistence == PERSISTENCE_INTERMITTENT)
                return draw_uniform(execution->chip, &fault->at, execution->number, fault->id) < fault->probability;
        if (fault->persistence != PERSISTENCE_TRANSIENT)
                return true;
        if (fault->fired == 0 && (double) execution->start_nsec >= fault->after * 1e9)
                own->fired = execution->number + 1;
        return fault->fired == execution->number + 1;
}
