/* SPDX-License-Identifier: Apache-2.0 */

/* Config: see config.h. */

#include <string.h>

#include "checks/plan/plan.h"
#include "checks/text/yaml.h"
#include "daemon/config.h"
#include "daemon/record/record.h"

#define DEVICE_PREFIX "sim:"

static int read_origin(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "the origin of the log, such as us0.example/assayd", &text);
        if (r < 0)
                return r;

        /* C2SP tlog-checkpoint: a schema-less URL; spaces and '+' would break the note. */
        for (size_t i = 0; text[i]; i++)
                if (text[i] <= ' ' || text[i] == '+' || text[i] == 0x7f)
                        return yaml_refuse(yaml, node, i, "an origin has no spaces and no '+'");
        if (text[0] == '\0' || strlen(text) >= RECORD_ORIGIN_MAX)
                return yaml_refuse(yaml, node, 0, "an origin has 1 to %d bytes", RECORD_ORIGIN_MAX - 1);

        free(*(char **) ret);
        *(char **) ret = strdup(text);
        return *(char **) ret ? 0 : -ENOMEM;
}

static int read_producer(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "the URI of this station, such as https://example.com/us0", &text);
        if (r < 0)
                return r;

        size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
        if (scheme == 0 || text[scheme] != ':' || text[scheme + 1] == '\0' || strlen(text) > 255 ||
            strpbrk(text, " \t"))
                return yaml_refuse(yaml, node, 0, "not a URI, expected one such as https://example.com/us0");

        free(*(char **) ret);
        *(char **) ret = strdup(text);
        return *(char **) ret ? 0 : -ENOMEM;
}

static int read_path(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "a path", &text);
        if (r < 0)
                return r;
        if (text[0] == '\0' || strlen(text) > 4000)
                return yaml_refuse(yaml, node, 0, "not a path, expected 1 to 4000 bytes");

        free(*(char **) ret);
        *(char **) ret = strdup(text);
        return *(char **) ret ? 0 : -ENOMEM;
}

/* What is in it beyond its three parts the log looks at. */
static int read_witness(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Config *config = userdata;
        const char *vkey;
        char **grown;
        int r;

        r = yaml_scalar(yaml, item, "the key of a witness, NAME+ID+KEY", &vkey);
        if (r < 0)
                return r;
        if (strlen(vkey) > 511 || !record_vkey_is_witness(vkey))
                return yaml_refuse(yaml, item, 0, "not the key of a witness, expected NAME+ID+KEY of type 0x04");

        grown = realloc(config->witnesses, (config->n_witnesses + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        config->witnesses = grown;
        grown[config->n_witnesses] = strdup(vkey);
        return grown[config->n_witnesses++] ? 0 : -ENOMEM;
}

static int read_witnesses(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_items(yaml, node, RECORD_WITNESSES_MAX, "a list of keys of witnesses", read_witness, userdata);
}

static int read_device(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "a device such as sim:/run/assay/us0.sock", &text);
        if (r < 0)
                return r;

        if (strncmp(text, DEVICE_PREFIX, strlen(DEVICE_PREFIX)) != 0 || text[strlen(DEVICE_PREFIX)] == '\0')
                return yaml_refuse(yaml, node, 0, "unknown device '%.64s', expected sim:SOCKET", text);
        if (strlen(text) > 255)
                return yaml_refuse(yaml, node, 0, "a device has at most 255 bytes");
        if (strchr(text, '#'))
                return yaml_refuse(yaml, node, (size_t) (strchr(text, '#') - text),
                                   "a device has no '#', its servers stand in `servers`");

        free(*(char **) ret);
        *(char **) ret = strdup(text);
        return *(char **) ret ? 0 : -ENOMEM;
}

static int read_server(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Config *config = userdata;
        ConfigServer *grown;
        const char *name;
        int r;

        r = yaml_scalar(yaml, item, "the name of a server", &name);
        if (r < 0)
                return r;
        if (!location_server_name_is_valid(name))
                return yaml_refuse(
                                yaml, item, 0,
                                "'%.64s' is no name of a server, expected lower-case letters, digits and '-'",
                                name);
        for (size_t i = 0; i < config->n_servers; i++)
                if (strcmp(config->servers[i].name, name) == 0)
                        return yaml_refuse(yaml, item, 0, "server '%s' is listed twice", name);
        if (config->n_servers >= CONFIG_SERVERS_MAX)
                return yaml_refuse(yaml, item, 0, "more than %d servers", CONFIG_SERVERS_MAX);

        grown = realloc(config->servers, (config->n_servers + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        config->servers = grown;
        grown[config->n_servers] = (ConfigServer) {};
        strncpy(grown[config->n_servers].name, name, LOCATION_SERVER_NAME_MAX - 1);
        config->n_servers++;
        return 0;
}

static int read_servers(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Config *config = userdata;
        size_t before = config->n_servers;
        int r;

        r = yaml_items(yaml, node, CONFIG_SERVERS_MAX, "a list of servers", read_server, config);
        if (r < 0)
                return r;
        if (config->n_servers == before)
                return yaml_refuse(yaml, node, 0, "no servers, expected at least one");

        return 0;
}

static const YamlField target_fields[] = {
        YAML_CUSTOM("device", ConfigTarget, device, read_device, .required = true),
        YAML_STRING("model", ConfigTarget, model, 1, 31),
        YAML_CUSTOM("servers", ConfigTarget, n_servers, read_servers, .required = true),
        {}
};

static int read_target(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Config *config = userdata;
        ConfigTarget *target, *grown;
        int r;

        grown = realloc(config->targets, (config->n_targets + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        config->targets = grown;
        target = &grown[config->n_targets++];
        *target = (ConfigTarget) { .first_server = config->n_servers };

        r = yaml_read(yaml, item, target_fields, target, config);
        if (r < 0)
                return r;

        target->n_servers = config->n_servers - target->first_server;
        if (!target->model)
                target->model = strdup("Trn2");
        return target->model ? 0 : -ENOMEM;
}

static int read_targets(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Config *config = userdata;
        int r;

        r = yaml_items(yaml, node, CONFIG_SERVERS_MAX, "a list of targets", read_target, config);
        if (r < 0)
                return r;
        if (config->n_targets == 0)
                return yaml_refuse(yaml, node, 0, "no targets, expected at least one");

        return 0;
}

static const YamlField limit_fields[] = {
        YAML_UNSIGNED("scans", ConfigLimits, scans, 1, 1024),
        YAML_UNSIGNED("scans_per_uid", ConfigLimits, scans_per_uid, 1, 1024),
        YAML_UNSIGNED("workers", ConfigLimits, workers, 0, 256),
        YAML_UNSIGNED("reconnects", ConfigLimits, reconnects, 0, 16),
        YAML_NUMBER("step_sec", ConfigLimits, step_sec, 0.01, 86400),
        YAML_NUMBER("silence_sec", ConfigLimits, silence_sec, 0.01, 86400),
        YAML_NUMBER("deadline_scale", ConfigLimits, deadline_scale, 0.1, 1000),
        {}
};

const char *const config_clock_sources[] = { "ntp", "ptp", NULL };

static const YamlField config_fields[] = {
        YAML_CUSTOM("origin", Config, origin, read_origin),
        YAML_CUSTOM("producer", Config, producer, read_producer),
        YAML_CUSTOM("key", Config, key, read_path),
        YAML_CUSTOM("log_key", Config, log_key, read_path),
        YAML_CUSTOM("store", Config, store, read_path),
        YAML_CUSTOM("anchor", Config, anchor, read_path),
        YAML_NUMBER("checkpoint_sec", Config, checkpoint_sec, 0.01, 86400),
        YAML_CUSTOM("witnesses", Config, witnesses, read_witnesses),
        YAML_UNSIGNED("keep_days", Config, keep_days, 0, 36500),
        YAML_CUSTOM("archive", Config, archive, read_path),
        YAML_CUSTOM("evidence", Config, evidence, read_path),
        YAML_CUSTOM("plans", Config, plans, read_path),
        YAML_CUSTOM("topology", Config, topology_file, read_path),
        YAML_CUSTOM("run_socket", Config, run_socket, read_path),
        YAML_WORD("clock_source", Config, clock_source, config_clock_sources),
        YAML_NUMBER("heartbeat_sec", Config, heartbeat_sec, 0.1, 3600),
        YAML_STRUCT("limits", Config, limits, limit_fields),
        YAML_CUSTOM("targets", Config, targets, read_targets, .required = true),
        {}
};

/* Only now: both lists grew while they were read. */
static void config_link(Config *config) {
        for (size_t t = 0; t < config->n_targets; t++) {
                ConfigTarget *target = &config->targets[t];

                for (size_t s = 0; s < target->n_servers; s++) {
                        config->servers[target->first_server + s].device = target->device;
                        config->servers[target->first_server + s].model = target->model;
                }
        }
}

static int config_read(Yaml *yaml, Config **ret) {
        _cleanup_(config_freep) Config *config = NULL;
        yaml_node_t *root = yaml_root(yaml);
        int r;

        config = calloc(1, sizeof(*config));
        if (!config)
                return -ENOMEM;

        config->heartbeat_sec = 3600;
        config->checkpoint_sec = 1;
        config->limits = (ConfigLimits) {
                .scans = 64,
                .scans_per_uid = 16,
                .reconnects = 3,
                .step_sec = 120,
                .silence_sec = 120,
                .deadline_scale = 1,
        };

        if (!root)
                return yaml_refuse(yaml, NULL, 0, "empty, expected targets");
        r = yaml_read(yaml, root, config_fields, config, config);
        if (r < 0)
                return r;

        config_link(config);
        *ret = TAKE_PTR(config);
        return 0;
}

static int config_finish(Yaml *yaml, int r, Config **ret, char **ret_error) {
        if (r >= 0)
                r = config_read(yaml, ret);
        if (r < 0)
                *ret_error = strdup(yaml->error[0] ? yaml->error : "out of memory");

        return r;
}

int config_parse(const char *name, const char *text, size_t n, Config **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        r = yaml_parse(&yaml, name, text, n);
        return config_finish(&yaml, r, ret, ret_error);
}

static int load_topology(Yaml *yaml, Config *config, char **ret_error) {
        TopologyRing ring;
        int r;

        r = topology_load(config->topology_file, &config->topology, ret_error);
        if (r < 0)
                return r;

        for (size_t i = 0; i < config->n_servers; i++)
                if (topology_ring(config->topology, config->servers[i].name, &ring) < 0) {
                        r = yaml_refuse(yaml, yaml_get(yaml, yaml_root(yaml), "topology"), 0, "%s has no server %s, which is in `targets`",
                                        config->topology_file, config->servers[i].name);
                        *ret_error = strdup(yaml->error);
                        return r;
                }

        return 0;
}

int config_load(const char *path, Config **ret, char **ret_error) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_yaml_ Yaml yaml = {};
        int r;

        r = yaml_load(&yaml, path);
        r = config_finish(&yaml, r, &config, ret_error);
        if (r >= 0 && config->topology_file)
                r = load_topology(&yaml, config, ret_error);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(config);
        return 0;
}

const char *config_plans(const Config *config) {
        return config->plans ? config->plans : plan_folders();
}

Config *config_free(Config *config) {
        if (!config)
                return NULL;

        for (size_t i = 0; i < config->n_targets; i++) {
                free(config->targets[i].device);
                free(config->targets[i].model);
        }
        for (size_t i = 0; i < config->n_witnesses; i++)
                free(config->witnesses[i]);
        free(config->witnesses);
        free(config->targets);
        free(config->servers);
        free(config->log_key);
        free(config->anchor);
        free(config->signed_in);
        free(config->origin);
        free(config->producer);
        free(config->key);
        free(config->store);
        free(config->archive);
        free(config->evidence);
        free(config->plans);
        free(config->topology_file);
        topology_freep(&config->topology);
        free(config->run_socket);
        free(config);
        return NULL;
}
