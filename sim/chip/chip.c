/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/chip.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/answer.h"
#include "sim/chip/dispatch.h"
#include "sim/chip/fault.h"

#define ATTRIBUTE_NSEC    20000u      /* a sysfs file that asks the firmware's mailbox */
#define RESET_CORE_NSEC   5000000u
#define RESET_CHIP_NSEC   500000000u
#define REFUSED_NSEC      500u        /* a command that is turned away at the doorbell */
#define ATTRIBUTE_MAX     128u        /* bytes of a path, with a final zero */
#define TEXT_MAX          256u

int chip_new(Server *server, unsigned index, Chip **ret) {
        Chip *chip;

        assert(index < CHIPS);
        chip = calloc(1, sizeof(*chip) + dispatch_slots() * sizeof(void *));
        if (!chip)
                return -ENOMEM;
        chip->server = server;
        chip->index = index;

        *ret = chip;
        return 0;
}

Chip *chip_free(Chip *chip) {
        const Model *model;
        size_t slot = 0;

        if (!chip)
                return NULL;
        for (size_t m = 0; (model = model_at(m)); m++)
                for (unsigned i = 0; i < part_count(model->part); i++, slot++) {
                        if (chip->parts[slot] && model->done)
                                model->done(chip->parts[slot]);
                        free(chip->parts[slot]);
                }
        for (size_t i = 0; i < chip->n_faults; i++)
                (void) fault_free(chip->faults[i]);
        free(chip->faults);
        free(chip);
        return NULL;
}

void chip_location(const Chip *chip, Location *ret) {
        *ret = (Location) {};
        memcpy(ret->server, chip->server->name, sizeof(ret->server));
        (void) location_append(ret, LOCATION_CHIP, chip->index);
}

uint64_t chip_seed(const Chip *chip) {
        return chip->server->ultraserver->hall->seed;
}

const char *chip_server_name(const Chip *chip) {
        return chip->server->name;
}

unsigned chip_index(const Chip *chip) {
        return chip->index;
}

bool chip_is_occupied(const Chip *chip) {
        return (chip->server->occupied >> chip->index & 1) != 0;
}

double chip_temperature(const Chip *chip) {
        Location at;

        /* No two chips get the same air. */
        chip_location(chip, &at);
        return chip->server->ultraserver->hall->temperature + 3 * draw_uniform(chip, &at, 0, 0) - 1.5 + chip->heat;
}

unsigned chip_sram_ecc(const Chip *chip, WireArray array) {
        return chip->server->ultraserver->hall->sram_ecc[array];
}

unsigned chip_hbm_part(const Chip *chip) {
        return chip->server->ultraserver->hall->hbm_part;
}

bool chip_write_wins(const Chip *chip) {
        return chip->server->ultraserver->hall->write_wins;
}

NoiseRates chip_noise(const Chip *chip) {
        return chip->server->ultraserver->hall->noise;
}

TensorSettings chip_tensor(const Chip *chip) {
        return chip->server->ultraserver->hall->tensor;
}

uint64_t chip_nsec(const Chip *chip) {
        return chip->nsec;
}

const void *chip_client(const Chip *chip) {
        return chip->client;
}

void chip_advance(Chip *chip, uint64_t nsec) {
        if (nsec > chip->nsec)
                chip->nsec = nsec;
}

void *chip_part(Chip *chip, const Model *model, unsigned index) {
        size_t slot = dispatch_slot(model) + index;
        void *state;

        if (index >= part_count(model->part))
                return NULL;
        if (chip->parts[slot])
                return chip->parts[slot];

        state = calloc(1, model->state_size > 0 ? model->state_size : 1);
        if (!state)
                return NULL;
        if (model->init && model->init(state, chip, index) < 0) {
                free(state);
                return NULL;
        }
        return chip->parts[slot] = state;
}

void *chip_part_peek(const Chip *chip, const Model *model, unsigned index) {
        return chip->parts[dispatch_slot(model) + index];
}

Chip *chip_neighbour(Chip *chip, LinkPort port) {
        return topology_neighbour(chip->server, chip->index, port);
}

Chip *chip_find(Chip *chip, const char *server, unsigned index) {
        UltraServer *ultraserver = chip->server->ultraserver;
        Server *other;

        for (unsigned i = 0; i < ultraserver->n_servers; i++)
                if (strncmp(ultraserver->servers[i].name, server, LOCATION_SERVER_NAME_MAX) == 0)
                        return server_chip(&ultraserver->servers[i], index);
        other = hall_server(ultraserver->hall, server);
        return other ? server_chip(other, index) : NULL;
}

/* ---- commands ---- */

static unsigned engine_of(const Model *model, unsigned unit) {
        static const uint8_t first[_LOCATION_KIND_MAX] = {
                [LOCATION_CHIP] = ENGINE_MANAGEMENT,
                [LOCATION_CORE] = ENGINE_CORE,
                [LOCATION_HBM]  = ENGINE_STACK,
                [LOCATION_LINK] = ENGINE_PORT,
                [LOCATION_NIC]  = ENGINE_ADAPTER,
        };

        return first[model->part] + unit;
}

static void refuse(WireCompletion *completion, WireStatus status) {
        *completion = (WireCompletion) { .status = status, .device_nsec = REFUSED_NSEC };
}

static void run_model(const Model *model, Execution *execution) {
        void *state = chip_part(execution->chip, model, execution->command->unit);

        if (!state || model->commands[execution->command->type](state, execution) < 0)
                refuse(execution->completion, STATUS_NRT_RESOURCE);
}

static void read_attribute(Chip *chip, Execution *execution) {
        const WireCommand *command = execution->command;
        WireCompletion *completion = execution->completion;
        char path[ATTRIBUTE_MAX], text[TEXT_MAX] = "";
        const DispatchAttribute *found;
        void *state;
        size_t n;
        int r;

        completion->device_nsec = ATTRIBUTE_NSEC;
        completion->status = STATUS_NRT_INVALID;
        if (command->in_bytes >= sizeof(path))
                return;
        memcpy(path, execution->in, command->in_bytes);
        completion->status = STATUS_NRT_QUEUE_EMPTY;
        found = dispatch_attribute(path, command->in_bytes);
        if (!found || !found->attribute->read)
                return;
        state = chip_part(chip, found->model, found->part);
        if (!state) {
                completion->status = STATUS_NRT_RESOURCE;
                return;
        }
        r = found->attribute->read(state, chip, found->index, text, sizeof(text));
        if (r < 0)
                return;
        n = strnlen(text, sizeof(text) - 1);
        completion->status = STATUS_NRT_INVALID;
        if (n > command->out_bytes)
                return;
        memcpy(execution->out, text, n);
        completion->status = STATUS_NRT_SUCCESS;
        completion->out_bytes = (uint32_t) n;
}

static void write_attribute(Chip *chip, Execution *execution) {
        WireCompletion *completion = execution->completion;
        char both[ATTRIBUTE_MAX + TEXT_MAX] = "";
        const DispatchAttribute *found;
        void *state;
        size_t n;

        completion->device_nsec = ATTRIBUTE_NSEC;
        completion->status = STATUS_NRT_INVALID;
        if (execution->command->in_bytes >= sizeof(both))
                return;
        memcpy(both, execution->in, execution->command->in_bytes);
        n = strlen(both);
        if (n >= execution->command->in_bytes)
                return; /* no zero between path and text */
        completion->status = STATUS_NRT_QUEUE_EMPTY;
        found = dispatch_attribute(both, n);
        if (!found || !found->attribute->write)
                return;
        state = chip_part(chip, found->model, found->part);
        if (!state)
                completion->status = STATUS_NRT_RESOURCE;
        else if (found->attribute->write(state, chip, found->index, both + n + 1) < 0)
                completion->status = STATUS_NRT_INVALID;
        else
                completion->status = STATUS_NRT_SUCCESS;
}

void chip_reset(Chip *chip, unsigned core) {
        const Model *model;

        for (unsigned i = 0; i < CORES; i++)
                chip->core_resets[i] += core == WIRE_CHIP_ALL || core == i;
        for (size_t m = 0; (model = model_at(m)); m++) {
                size_t slot = dispatch_slot(model);

                for (unsigned i = 0; model->reset && i < part_count(model->part); i++)
                        if (chip->parts[slot + i] &&
                            (core == WIRE_CHIP_ALL || (model->part == LOCATION_CORE && i == core)))
                                model->reset(chip->parts[slot + i]);
        }
}

void chip_release(Chip *chip, const void *client) {
        const Model *model;

        for (size_t m = 0; (model = model_at(m)); m++)
                for (unsigned i = 0; model->release && i < part_count(model->part); i++) {
                        void *state = chip_part_peek(chip, model, i);

                        if (state)
                                model->release(state, client);
                }
        chip->client = NULL;
}

static void run_reset(Chip *chip, Execution *execution) {
        unsigned core = execution->command->unit;

        if (core != WIRE_CHIP_ALL && core >= CORES) {
                refuse(execution->completion, STATUS_NRT_INVALID_HANDLE);
                return;
        }
        chip_reset(chip, core);
        execution->completion->device_nsec = core == WIRE_CHIP_ALL ? RESET_CHIP_NSEC : RESET_CORE_NSEC;
}

static void run(Chip *chip, const Model *model, Execution *execution) {
        switch (execution->command->type) {
        case COMMAND_ATTRIBUTE:
                read_attribute(chip, execution);
                break;
        case COMMAND_ATTRIBUTE_WRITE:
                write_attribute(chip, execution);
                break;
        case COMMAND_RESET:
                run_reset(chip, execution);
                break;
        default:
                run_model(model, execution);
        }
}

void chip_join(Chip *chip, uint64_t batch) {
        if (chip->batch == batch)
                return;
        chip->batch = batch;
        chip->batch_nsec = chip->nsec;
}

/* Where it starts: with its batch, or behind what its own engine still does. */
static uint64_t start_of(Chip *chip, uint64_t batch, unsigned engine) {
        chip_join(chip, batch);
        return chip->engine_nsec[engine] > chip->batch_nsec ? chip->engine_nsec[engine] : chip->batch_nsec;
}

int chip_execute(Chip *chip, uint64_t batch, const WireCommand *command, uint8_t *window, size_t window_bytes,
                 WireCompletion *completion) {
        bool managed = command->type == COMMAND_ATTRIBUTE || command->type == COMMAND_ATTRIBUTE_WRITE ||
                       command->type == COMMAND_RESET;
        const Model *model = managed ? NULL : dispatch_command(command->type);
        unsigned engine = ENGINE_MANAGEMENT;

        *completion = (WireCompletion) {};
        if (!managed && !model) {
                refuse(completion, STATUS_NRT_UNSUPPORTED);
                return 0;
        }
        if (model) {
                if (command->unit >= part_count(model->part)) {
                        refuse(completion, STATUS_NRT_INVALID_HANDLE);
                        return 0;
                }
                engine = engine_of(model, command->unit);
        }

        Execution execution = {
                .chip         = chip,
                .command      = command,
                .in           = window + command->in_offset,
                .out          = window + command->out_offset,
                .window       = window,
                .window_bytes = window_bytes,
                .number       = chip->engine_commands[engine]++,
                .start_nsec   = start_of(chip, batch, engine),
                .completion   = completion,
        };

        if (!answer_refuses(chip, &execution))
                run(chip, model, &execution);
        chip->n_commands++;
        chip->engine_failures[engine] += completion->status != STATUS_NRT_SUCCESS;
        chip->engine_nsec[engine] = execution.start_nsec + completion->device_nsec;
        chip_advance(chip, chip->engine_nsec[engine]);
        return 0;
}

/* ---- faults ---- */

/* The state of the part that FAULT sits in. */
static void *part_of(Chip *chip, const Model *model, const Fault *fault) {
        int index = 0;

        if (model->part != LOCATION_CHIP && model->part != LOCATION_NIC)
                index = location_index(&fault->at, model->part);
        return index < 0 ? NULL : chip_part(chip, model, (unsigned) index);
}

static int put(const Model *model, void *state, const Fault *fault) {
        const Fault **place;

        if (!model->place)
                return model->inject(state, fault);
        place = model->place(state, fault);
        if (*place)
                return -EEXIST;
        *place = fault;
        return 0;
}

static void take_out(const Model *model, void *state, const Fault *fault) {
        if (model->place)
                *model->place(state, fault) = NULL;
        else
                model->heal(state, fault);
}

int chip_inject(Chip *chip, Fault *fault) {
        const Model *model = fault_model(fault->kind, &fault->at);
        Hall *hall = chip->server->ultraserver->hall;
        void *state = part_of(chip, model, fault);
        Fault **faults;
        int r;

        if (!state)
                return -ENOMEM;
        if (chip->n_faults >= FAULTS_MAX)
                return -ENOSPC;
        faults = reallocarray(chip->faults, chip->n_faults + 1, sizeof(*faults));
        if (!faults)
                return -ENOMEM;
        chip->faults = faults;

        fault->id = hall->n_injected + 1;
        r = put(model, state, fault);
        if (r < 0)
                return r;
        hall->n_injected++;
        chip->faults[chip->n_faults++] = fault;
        return 0;
}

uint64_t chip_newest_fault(const Chip *chip) {
        return chip->n_faults > 0 ? chip->faults[chip->n_faults - 1]->id : 0;
}

bool chip_has_replaced(Chip *chip, size_t index) {
        const Fault *fault = chip->faults[index];
        const Model *model = fault_model(fault->kind, &fault->at);

        return model->has_replaced && model->has_replaced(part_of(chip, model, fault), fault);
}

void chip_heal(Chip *chip, size_t index) {
        Fault *fault;
        const Model *model;

        assert(index < chip->n_faults);
        fault = chip->faults[index];
        model = fault_model(fault->kind, &fault->at);
        take_out(model, part_of(chip, model, fault), fault);
        memmove(&chip->faults[index], &chip->faults[index + 1], (--chip->n_faults - index) * sizeof(*chip->faults));
        (void) fault_free(fault);
}
