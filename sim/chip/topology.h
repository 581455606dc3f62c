/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Topology
 *
 * What stands in the simulated hall: UltraServers of four servers in a ring (us<U>-<S>), or single servers without z
 * links (trn-<N>), each with 16 chips in a 4×4 torus and two chips to a tray. A single server is an UltraServer of one.
 * All that is random about it is a hash of the seed. A chip is made when somebody first asks for it, so a hall of many
 * servers costs what is used of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/wire/wire.h"
#include "sim/chip/model.h"

#define ULTRASERVERS_MAX   6250u /* 400,000 chips */
#define SERVERS_MAX        25000u
#define RING               4u /* servers of an UltraServer */

typedef struct Hall Hall;
typedef struct UltraServer UltraServer;
typedef struct Server Server;

struct Server {
        UltraServer *ultraserver;
        unsigned index; /* in the ring */
        uint32_t occupied; /* bit per chip */
        char name[LOCATION_SERVER_NAME_MAX];
        Chip *chips[CHIPS]; /* NULL: nobody has asked for it yet */
};

/* Owned by exactly one thread of the port while it serves. */
struct UltraServer {
        Hall *hall;
        unsigned index;
        unsigned n_servers; /* RING, or 1 */
        uint64_t n_batches; /* so far: which commands start together */
        Server servers[RING];
};

struct Hall {
        uint64_t seed;
        double temperature; /* °C of a chip at rest */
        uint8_t sram_ecc[_ARRAY_MAX]; /* SramEcc of every core's arrays */
        TensorSettings tensor;
        bool ring;
        bool write_wins; /* see chip_write_wins() */
        unsigned hbm_part; /* index of hbm_parts (sim/hbm/part.h); 0 unless a scenario says otherwise */
        NoiseRates noise;
        const Fault *planes[NIC_PATHS]; /* what is wrong with a path of the whole fabric (sim/nic/faults.c); NULL: nothing */
        size_t n_ultraservers;
        uint64_t n_injected; /* faults so far: the last id given */
        UltraServer *ultraservers;
};

/* N UltraServers, or N single servers where !RING. */
int hall_new(uint64_t seed, double temperature, bool ring, size_t n, Hall **ret);
Hall *hall_free(Hall *hall);
DEFINE_CLEANUP(Hall *, hall_free);

size_t hall_servers(const Hall *hall); /* how many */
Server *hall_server(const Hall *hall, const char *name); /* NULL: there is none of this name */
Server *hall_server_at(const Hall *hall, size_t index);

/* Makes the chip where it is not there yet; NULL without memory or for a number that no chip has. */
Chip *server_chip(Server *server, unsigned index);
/* NULL where no such port leads anywhere. */
Chip *topology_neighbour(Server *server, unsigned chip, LinkPort port);

/* ---- what is fixed by the place in the torus, all by chip number ---- */

unsigned torus_neighbour(unsigned chip, LinkPort port); /* x and y ports */
unsigned torus_routing_id(unsigned chip); /* as firmware numbers it: two of one tray are 2i and 2i + 1 */
unsigned torus_tray(unsigned chip);
unsigned torus_pci_bus(unsigned chip);
/* Neighbours in the order of the four near-end ports, as sysfs lists them. */
const uint8_t *torus_connected(unsigned chip);
