/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/vocabulary/topology.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/yaml.h"
#include "checks/wire/wire.h"

/* While it is read: what was named so far, as trees of texts that live in the document. */
typedef struct Reading {
        Topology *topology;
        void *servers, *ports, *serials;
        TopologyRing *ring;   /* being read */
        TopologyCable *cable;
        unsigned end;
} Reading;

static int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

static void keep(void *key) {
}

/* 1: TEXT is new, 0: it was named before. */
static int name_once(void **tree, const char *text) {
        const char *const *found = tsearch(text, tree, compare);

        return !found ? -ENOMEM : *found == text;
}

static int grow(void **list, size_t n, size_t size) {
        void *grown = reallocarray(*list, n + 1, size);

        if (!grown)
                return -ENOMEM;
        *list = grown;
        memset((char *) grown + n * size, 0, size);
        return 0;
}

/* ---- rings and servers ---- */

static int read_server(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Reading *reading = userdata;
        const char *name;
        int r;

        r = yaml_scalar(yaml, item, "the name of a server", &name);
        if (r < 0)
                return r;
        if (!location_server_name_is_valid(name))
                return yaml_refuse(yaml, item, 0, "'%.64s' is no name of a server, expected lower-case letters, digits and '-'", name);
        r = name_once(&reading->servers, name);
        if (r <= 0)
                return r < 0 ? r : yaml_refuse(yaml, item, 0, "server '%s' is named twice", name);

        (void) snprintf(reading->ring->servers[reading->ring->n++], LOCATION_SERVER_NAME_MAX, "%s", name);
        return 0;
}

static int add_ring(Yaml *yaml, yaml_node_t *node, Reading *reading) {
        Topology *topology = reading->topology;

        if (topology->n_rings >= TOPOLOGY_SERVERS_MAX)
                return yaml_refuse(yaml, node, 0, "more than %u servers", TOPOLOGY_SERVERS_MAX);
        if (grow((void **) &topology->rings, topology->n_rings, sizeof(*topology->rings)) < 0)
                return -ENOMEM;

        reading->ring = &topology->rings[topology->n_rings++];
        return 0;
}

static int read_ring(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Reading *reading = userdata;
        int r;

        r = add_ring(yaml, item, reading);
        if (r >= 0)
                r = yaml_items(yaml, item, TOPOLOGY_RING, "the four servers of a ring", read_server, reading);
        if (r >= 0 && reading->ring->n != TOPOLOGY_RING)
                return yaml_refuse(yaml, item, 0, "a ring of %zu servers, expected %u", reading->ring->n, TOPOLOGY_RING);
        return r;
}

static int read_rings(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_items(yaml, node, TOPOLOGY_SERVERS_MAX, "a list of rings", read_ring, userdata);
}

static int read_single(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        int r = add_ring(yaml, item, userdata);

        return r < 0 ? r : read_server(yaml, item, index, userdata);
}

static int read_singles(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_items(yaml, node, TOPOLOGY_SERVERS_MAX, "a list of servers", read_single, userdata);
}

/* ---- cables ---- */

static int read_port(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text, *wrong;
        Reading *reading = userdata;
        TopologyRing ring;
        Location *port = ret;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "the location of a link port", &text);
        if (r < 0)
                return r;
        if (location_parse(text, port, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        if (location_kind(port) != LOCATION_LINK)
                return yaml_refuse(yaml, node, 0, "%s is no link port, expected SERVER/chipN/link-…", text);
        if (topology_ring(reading->topology, port->server, &ring) < 0)
                return yaml_refuse(yaml, node, 0, "no ring and no server of this file is called %s", port->server);
        if (ring.n == 1 && location_index(port, LOCATION_LINK) >= LINK_Z_PLUS)
                return yaml_refuse(yaml, node, 0, "%s stands alone and has no z links", port->server);
        r = name_once(&reading->ports, text);
        return r == 0 ? yaml_refuse(yaml, node, 0, "port %s has two cables", text) : r < 0 ? r : 0;
}

static bool is_printable(const char *text) {
        return text[0] && text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ./:+_-")] == '\0';
}

static int read_text(Yaml *yaml, yaml_node_t *node, char *ret, size_t max) {
        const char *text;
        int r;

        r = yaml_scalar(yaml, node, "what is printed there", &text);
        if (r < 0)
                return r;
        if (strlen(text) >= max || !is_printable(text))
                return yaml_refuse(yaml, node, 0, "expected 1 to %zu letters, digits, blanks and . / : + _ -", max - 1);

        (void) snprintf(ret, max, "%s", text);
        return 0;
}

static int read_serial(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Reading *reading = userdata;
        const char *text;
        int r;

        r = read_text(yaml, node, ret, TOPOLOGY_SERIAL_MAX);
        if (r >= 0)
                r = yaml_scalar(yaml, node, "a serial number", &text);
        if (r < 0)
                return r;

        r = name_once(&reading->serials, text);
        return r == 0 ? yaml_refuse(yaml, node, 0, "two cables have the serial number %s", text) : r < 0 ? r : 0;
}

static int read_label(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        Reading *reading = userdata;

        reading->end = (unsigned) index + 1;
        return read_text(yaml, item, reading->cable->labels[index], TOPOLOGY_LABEL_MAX);
}

static int read_labels(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        Reading *reading = userdata;
        int r;

        reading->end = 0;
        r = yaml_items(yaml, node, 2, "the labels at both ends", read_label, reading);
        if (r >= 0 && reading->end != 2)
                return yaml_refuse(yaml, node, 0, "%u labels, expected one for each end", reading->end);
        return r;
}

static const YamlField cable_fields[] = {
        YAML_CUSTOM("from", TopologyCable, ends[0], read_port, .required = true),
        YAML_CUSTOM("to", TopologyCable, ends[1], read_port, .required = true),
        YAML_CUSTOM("serial", TopologyCable, serial, read_serial),
        YAML_CUSTOM("labels", TopologyCable, labels, read_labels),
        {}
};

/* Where the cable at PORT leads: the torus within the server, the ring between servers. */
static Location partner_of(const Topology *topology, const Location *port) {
        unsigned chip = (unsigned) location_index(port, LOCATION_CHIP), row = chip / 4, column = chip % 4;
        LinkPort link = (LinkPort) location_index(port, LOCATION_LINK);
        unsigned ahead = link % 2 == 0 ? 1 : 3;
        Location far = {};
        TopologyRing ring;

        memcpy(far.server, port->server, sizeof(far.server));
        if (link == LINK_X_PLUS || link == LINK_X_MINUS)
                chip = 4 * row + (column + ahead) % 4;
        else if (link == LINK_Y_PLUS || link == LINK_Y_MINUS)
                chip = 4 * ((row + ahead) % 4) + column;
        else if (topology_ring(topology, port->server, &ring) >= 0)
                memcpy(far.server, ring.servers[ahead], sizeof(far.server));
        (void) location_append(&far, LOCATION_CHIP, chip);
        (void) location_append(&far, LOCATION_LINK, link_port_opposite(link));
        return far;
}

unsigned topology_tray(unsigned chip) {
        static const unsigned char routed[CHIPS] = { 0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10 };

        for (unsigned i = 0; i < CHIPS; i++)
                if (routed[i] == chip)
                        return i / 2;
        return 0;
}

bool topology_is_trace(unsigned chip, unsigned port) {
        /* Tray partners sit side by side: columns 3 and 0, 1 and 2 of a row. */
        return port == (chip % 2 == 1 ? LINK_X_PLUS : LINK_X_MINUS);
}

static int read_cable(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        char from[LOCATION_STRING_MAX], wanted[LOCATION_STRING_MAX];
        Reading *reading = userdata;
        Topology *topology = reading->topology;
        TopologyCable *cable;
        Location partner;
        int r;

        if (grow((void **) &topology->cables, topology->n_cables, sizeof(*cable)) < 0)
                return -ENOMEM;
        cable = reading->cable = &topology->cables[topology->n_cables++];
        r = yaml_read(yaml, item, cable_fields, cable, reading);
        if (r < 0)
                return r;

        partner = partner_of(topology, &cable->ends[0]);
        if (!location_equal(&partner, &cable->ends[1]))
                return yaml_refuse(yaml, yaml_get(yaml, item, "to"), 0, "not a torus: %s leads to %s",
                                   location_format(&cable->ends[0], from), location_format(&partner, wanted));
        if (topology_is_trace((unsigned) location_index(&cable->ends[0], LOCATION_CHIP), (unsigned) location_index(&cable->ends[0], LOCATION_LINK)))
                return yaml_refuse(yaml, yaml_get(yaml, item, "from"), 0, "%s is a trace of its tray's board, no cable",
                                   location_format(&cable->ends[0], from));
        return 0;
}

/* Where the cables stand; they are read when all servers are known. */
static int find_cables(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return 0;
}

static const YamlField topology_fields[] = {
        YAML_STRING("topology", Topology, name, 1, 63, .required = true),
        YAML_CUSTOM("rings", Topology, n_rings, read_rings),
        YAML_CUSTOM("servers", Topology, n_rings, read_singles),
        YAML_CUSTOM("cables", Topology, n_cables, find_cables),
        {}
};

static int read_all(Yaml *yaml, Reading *reading) {
        yaml_node_t *root = yaml_root(yaml), *cables;
        int r;

        if (!root)
                return yaml_refuse(yaml, NULL, 0, "empty, expected topology, and rings or servers");
        r = yaml_read(yaml, root, topology_fields, reading->topology, reading);
        if (r < 0)
                return r;
        if (reading->topology->n_rings == 0)
                return yaml_refuse(yaml, root, 0, "neither rings nor servers");

        cables = yaml_get(yaml, root, "cables");
        return cables ? yaml_items(yaml, cables, TOPOLOGY_CABLES_MAX, "a list of cables", read_cable, reading) : 0;
}

static int build(Yaml *yaml, Topology **ret) {
        _cleanup_(topology_freep) Topology *topology = calloc(1, sizeof(*topology));
        Reading reading = { .topology = topology };
        int r;

        if (!topology)
                return -ENOMEM;

        r = read_all(yaml, &reading);
        tdestroy(reading.servers, keep);
        tdestroy(reading.ports, keep);
        tdestroy(reading.serials, keep);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(topology);
        return 0;
}

static int finish(Yaml *yaml, int r, Topology **ret, char **ret_error) {
        if (r >= 0)
                r = build(yaml, ret);
        if (r < 0)
                *ret_error = strdup(yaml->error[0] ? yaml->error : "out of memory");
        return r;
}

int topology_parse(const char *name, const char *text, size_t n, Topology **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};

        return finish(&yaml, yaml_parse(&yaml, name, text, n), ret, ret_error);
}

int topology_load(const char *path, Topology **ret, char **ret_error) {
        _cleanup_yaml_ Yaml yaml = {};

        return finish(&yaml, yaml_load(&yaml, path), ret, ret_error);
}

Topology *topology_free(Topology *topology) {
        if (!topology)
                return NULL;

        free(topology->name);
        free(topology->rings);
        free(topology->cables);
        free(topology);
        return NULL;
}

/* ---- what it says ---- */

static void ring_by_name(const char *server, TopologyRing *ret) {
        const char *dash = strrchr(server, '-');
        bool ring = strncmp(server, "us", 2) == 0 && dash && dash[1] >= '0' && dash[1] < (char) ('0' + TOPOLOGY_RING) && !dash[2];

        *ret = (TopologyRing) { .n = ring ? TOPOLOGY_RING : 1 };
        for (unsigned s = 0; s < ret->n; s++) {
                (void) snprintf(ret->servers[s], LOCATION_SERVER_NAME_MAX, "%s", server);
                if (s > 0)
                        ret->servers[s][dash + 1 - server] = (char) ('0' + ((unsigned) (dash[1] - '0') + s) % TOPOLOGY_RING);
        }
}

int topology_ring(const Topology *topology, const char *server, TopologyRing *ret) {
        if (!topology) {
                ring_by_name(server, ret);
                return 0;
        }

        for (size_t i = 0; i < topology->n_rings; i++)
                for (size_t s = 0; s < topology->rings[i].n; s++) {
                        const TopologyRing *ring = &topology->rings[i];

                        if (strcmp(ring->servers[s], server) != 0)
                                continue;
                        *ret = (TopologyRing) { .n = ring->n };
                        for (size_t k = 0; k < ring->n; k++)
                                memcpy(ret->servers[k], ring->servers[(s + k) % ring->n], LOCATION_SERVER_NAME_MAX);
                        return 0;
                }

        return -ENOENT;
}

const TopologyCable *topology_cable(const Topology *topology, const Location *port, unsigned *ret_end) {
        for (size_t i = 0; topology && i < topology->n_cables; i++)
                for (unsigned end = 0; end < 2; end++)
                        if (location_equal(&topology->cables[i].ends[end], port)) {
                                *ret_end = end;
                                return &topology->cables[i];
                        }

        return NULL;
}

static bool ring_has(const TopologyRing *ring, const char *const *servers, size_t n) {
        for (size_t s = 0; s < ring->n; s++)
                for (size_t i = 0; i < n; i++)
                        if (strcmp(ring->servers[s], servers[i]) == 0)
                                return true;

        return false;
}

static void write_rings(const Topology *topology, size_t size, const char *key, const char *const *servers, size_t n, FILE *file) {
        const char *before = key;

        for (size_t i = 0; i < topology->n_rings; i++) {
                const TopologyRing *ring = &topology->rings[i];

                if (ring->n != size || !ring_has(ring, servers, n))
                        continue;
                fprintf(file, "%s%s", before, size > 1 ? "[" : "");
                for (size_t s = 0; s < ring->n; s++)
                        fprintf(file, "%s\"%s\"", s > 0 ? ", " : "", ring->servers[s]);
                fputs(size > 1 ? "]" : "", file);
                before = ", ";
        }
        if (before != key)
                fputs("]\n", file);
}

static void write_cables(const Topology *topology, const char *const *servers, size_t n, FILE *file) {
        char from[LOCATION_STRING_MAX], to[LOCATION_STRING_MAX];
        const char *before = "cables:\n";

        for (size_t i = 0; i < topology->n_cables; i++) {
                const TopologyCable *cable = &topology->cables[i];
                TopologyRing ring;

                if (topology_ring(topology, cable->ends[0].server, &ring) < 0 || !ring_has(&ring, servers, n))
                        continue;
                fprintf(file, "%s  - {from: \"%s\", to: \"%s\"", before, location_format(&cable->ends[0], from),
                        location_format(&cable->ends[1], to));
                if (cable->serial[0])
                        fprintf(file, ", serial: \"%s\"", cable->serial);
                if (cable->labels[0][0])
                        fprintf(file, ", labels: [\"%s\", \"%s\"]", cable->labels[0], cable->labels[1]);
                fputs("}\n", file);
                before = "";
        }
}

char *topology_text(const Topology *topology, const char *const *servers, size_t n) {
        _cleanup_free_ char *text = NULL;
        size_t n_text;
        FILE *file = open_memstream(&text, &n_text);

        if (!file)
                return NULL;
        fputs("topology: extract\n", file);
        write_rings(topology, TOPOLOGY_RING, "rings: [", servers, n, file);
        write_rings(topology, 1, "servers: [", servers, n, file);
        write_cables(topology, servers, n, file);
        return fclose(file) == 0 ? TAKE_PTR(text) : NULL;
}
