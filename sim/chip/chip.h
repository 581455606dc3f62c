/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chip
 *
 * One simulated chip: its clock, the state of its parts (made by the models when first used), the faults that sit in
 * it. What models may ask of it stands in model.h; here is what the port and the scenario ask.
 */

#include <stddef.h>
#include <stdint.h>

#include "sim/chip/model.h"
#include "sim/chip/topology.h"

#define FAULTS_MAX 4096u /* of one chip */

/* What runs beside what, see wire.h. */
typedef enum Engine {
        ENGINE_CORE,
        ENGINE_STACK      = ENGINE_CORE + CORES,
        ENGINE_PORT       = ENGINE_STACK + STACKS,
        ENGINE_ADAPTER    = ENGINE_PORT + PORTS,
        ENGINE_MANAGEMENT,
        ENGINES,
} Engine;

struct Chip {
        Server *server;
        unsigned index;
        uint64_t nsec;             /* its clock */
        uint64_t batch;            /* the last batch it took part in, and when that began */
        uint64_t batch_nsec;
        uint64_t engine_nsec[ENGINES]; /* when each is free again */
        uint64_t engine_commands[ENGINES], engine_failures[ENGINES];
        uint64_t core_resets[CORES];
        uint64_t n_commands;       /* of all engines, attributes too */
        const void *client;        /* whose command is on its way */
        double heat;               /* °C that faults add */
        size_t n_faults;
        Fault **faults;            /* in the order of their ids */
        void *parts[];             /* one slot per part of each model, see dispatch.h */
};

int chip_new(Server *server, unsigned index, Chip **ret);
Chip *chip_free(Chip *chip);
DEFINE_CLEANUP(Chip *, chip_free);

/* The state of a part where somebody has asked for it before, else NULL. */
void *chip_part_peek(const Chip *chip, const Model *model, unsigned index);
/* The chip as a location. */
void chip_location(const Chip *chip, Location *ret);

/* Takes part in a batch: its commands start no earlier than now. */
void chip_join(Chip *chip, uint64_t batch);

/*
 * Runs one command whose areas lie in the window. BATCH is a number of the caller's that changes with each batch: it
 * says which commands start together. Returns 0 with *completion set, also where that says that the command is wrong.
 */
int chip_execute(Chip *chip, uint64_t batch, const WireCommand *command, uint8_t *window, size_t window_bytes,
                 WireCompletion *completion);

/* Takes FAULT, which must stand in this chip, and gives it an id. -EEXIST, -ENOMEM, -ENOSPC beyond FAULTS_MAX. */
int chip_inject(Chip *chip, Fault *fault);
/* Takes the fault of index out and frees it. */
void chip_heal(Chip *chip, size_t index);
/* Whether what the fault sat in was replaced since: it acts no more, unless from elsewhere. */
bool chip_has_replaced(Chip *chip, size_t index);
/* All parts of the core, or of the whole chip for WIRE_CHIP_ALL. */
void chip_reset(Chip *chip, unsigned core);
/* The connection of CLIENT has closed. */
void chip_release(Chip *chip, const void *client);
