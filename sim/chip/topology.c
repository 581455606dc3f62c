/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/topology.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"

/* The public driver and neuron-ls documents: who is connected to whom, and on which PCI bus each device sits. */
static const struct {
        uint8_t connected[4];
        uint8_t bus;
} devices[CHIPS] = {
        { { 12, 1, 3, 4 },    0xcc },
        { { 0, 13, 5, 2 },    0xb5 },
        { { 14, 3, 1, 6 },    0xb6 },
        { { 2, 15, 7, 0 },    0xcb },
        { { 8, 5, 7, 0 },     0x6f },
        { { 4, 9, 1, 6 },     0x58 },
        { { 10, 7, 5, 2 },    0x59 },
        { { 6, 11, 3, 4 },    0x6e },
        { { 4, 9, 11, 12 },   0x9b },
        { { 8, 5, 13, 10 },   0x84 },
        { { 6, 11, 9, 14 },   0x85 },
        { { 10, 7, 15, 8 },   0x9a },
        { { 0, 13, 15, 8 },   0xf8 },
        { { 12, 1, 9, 14 },   0xe1 },
        { { 2, 15, 13, 10 },  0xe2 },
        { { 14, 3, 11, 12 },  0xf7 },
};

/* The chip behind each routing id of the firmware. */
static const uint8_t routed[CHIPS] = { 0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10 };

unsigned torus_routing_id(unsigned chip) {
        unsigned id = 0;

        assert(chip < CHIPS);
        while (routed[id] != chip)
                id++;
        return id;
}

unsigned torus_tray(unsigned chip) {
        return torus_routing_id(chip) / 2;
}

unsigned torus_pci_bus(unsigned chip) {
        assert(chip < CHIPS);
        return devices[chip].bus;
}

const uint8_t *torus_connected(unsigned chip) {
        assert(chip < CHIPS);
        return devices[chip].connected;
}

unsigned torus_neighbour(unsigned chip, LinkPort port) {
        unsigned row = chip / 4, column = chip % 4;

        assert(chip < CHIPS);
        if (port == LINK_X_PLUS)
                column++;
        else if (port == LINK_X_MINUS)
                column += 3;
        else if (port == LINK_Y_PLUS)
                row++;
        else if (port == LINK_Y_MINUS)
                row += 3;
        return row % 4 * 4 + column % 4;
}

static void ultraserver_init(UltraServer *ultraserver, Hall *hall, unsigned index) {
        ultraserver->hall = hall;
        ultraserver->index = index;
        ultraserver->n_servers = hall->ring ? RING : 1;
        for (unsigned i = 0; i < ultraserver->n_servers; i++) {
                Server *server = &ultraserver->servers[i];

                server->ultraserver = ultraserver;
                server->index = i;
                if (hall->ring)
                        (void) snprintf(server->name, sizeof(server->name), "us%u-%u", index, i);
                else
                        (void) snprintf(server->name, sizeof(server->name), "trn-%u", index);
        }
}

int hall_new(uint64_t seed, double temperature, bool ring, size_t n, Hall **ret) {
        _cleanup_(hall_freep) Hall *hall = NULL;

        assert(n > 0 && n <= (ring ? ULTRASERVERS_MAX : SERVERS_MAX));
        hall = calloc(1, sizeof(*hall));
        if (!hall)
                return -ENOMEM;
        hall->seed = seed;
        hall->temperature = temperature;
        hall->sram_ecc[ARRAY_SBUF] = SRAM_ECC_SECDED;
        hall->sram_ecc[ARRAY_PSUM] = SRAM_ECC_PARITY;
        hall->ring = ring;
        hall->ultraservers = calloc(n, sizeof(*hall->ultraservers));
        if (!hall->ultraservers)
                return -ENOMEM;
        hall->n_ultraservers = n;
        for (size_t i = 0; i < n; i++)
                ultraserver_init(&hall->ultraservers[i], hall, (unsigned) i);

        *ret = TAKE_PTR(hall);
        return 0;
}

Hall *hall_free(Hall *hall) {
        if (!hall)
                return NULL;
        for (size_t i = 0; i < hall->n_ultraservers; i++)
                for (unsigned s = 0; s < RING; s++)
                        for (unsigned c = 0; c < CHIPS; c++)
                                (void) chip_free(hall->ultraservers[i].servers[s].chips[c]);
        free(hall->ultraservers);
        free(hall);
        return NULL;
}

size_t hall_servers(const Hall *hall) {
        return hall->n_ultraservers * (hall->ring ? RING : 1);
}

Server *hall_server_at(const Hall *hall, size_t index) {
        size_t each = hall->ring ? RING : 1;

        if (index >= hall_servers(hall))
                return NULL;
        return &hall->ultraservers[index / each].servers[index % each];
}

Server *hall_server(const Hall *hall, const char *name) {
        unsigned first, second = 0;
        size_t index;
        Server *server;

        if (sscanf(name, hall->ring ? "us%5u-%1u" : "trn-%5u", &first, &second) < (hall->ring ? 2 : 1))
                return NULL;
        index = hall->ring ? (size_t) first * RING + second : first;
        server = hall_server_at(hall, index);
        /* What scanned is not yet what is meant: "us00-1", "us0-1x". */
        return server && strcmp(server->name, name) == 0 ? server : NULL;
}

Chip *server_chip(Server *server, unsigned index) {
        if (index >= CHIPS)
                return NULL;
        if (!server->chips[index] && chip_new(server, index, &server->chips[index]) < 0)
                return NULL;
        return server->chips[index];
}

Chip *topology_neighbour(Server *server, unsigned chip, LinkPort port) {
        UltraServer *ultraserver = server->ultraserver;
        unsigned ring = ultraserver->n_servers;

        if (port < 0 || port >= _LINK_PORT_MAX)
                return NULL;
        if (port != LINK_Z_PLUS && port != LINK_Z_MINUS)
                return server_chip(server, torus_neighbour(chip, port));
        if (ring == 1)
                return NULL;
        return server_chip(&ultraserver->servers[(server->index + (port == LINK_Z_PLUS ? 1 : ring - 1)) % ring], chip);
}
