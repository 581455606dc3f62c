/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads by device physical address, and map-wrong: one bit of the hash of the address map takes a row bit that is not its own,
 * or leaves out one that is. Everything the fault reaches is sound memory, only not the memory that was asked for.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/hbm/hbm.h"

typedef struct HbmMapWrong {
        int hash; /* index of hash_words */
        uint64_t row_bit;
} HbmMapWrong;

static const char *const hash_words[] = {
        "channel0", "channel1", "channel2", "channel3", "group0", "group1", NULL,
};
#define CHANNEL_HASHES 4

static const YamlField wrong_fields[] = {
        YAML_WORD("hash", HbmMapWrong, hash, hash_words, .required = true, .summary = "which bit of channel or bank group is hashed wrongly"),
        YAML_UNSIGNED("row-bit", HbmMapWrong, row_bit, 0, 15, .required = true, .summary = "the bit of the row that it wrongly takes or leaves out"),
        {},
};

const FaultKind hbm_address_kinds[] = {
        {
                .name             = "map-wrong",
                .summary          = "device addresses of a stack reach another channel or bank group than they should",
                .family           = FAMILY_MEMORY,
                .at               = (const LocationKind[]) { LOCATION_HBM, _LOCATION_KIND_INVALID },
                .persistence      = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,
                .triggers         = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(HbmMapWrong),
                .parameters       = wrong_fields,
                .codes            = FAULT_CODES("hbm-map"),
        },
        {},
};

static HbmMapAxis *bit_of(HbmMap *map, const HbmMapWrong *wrong, unsigned *ret_bit) {
        bool channel = wrong->hash < CHANNEL_HASHES;

        *ret_bit = (unsigned) (channel ? wrong->hash : wrong->hash - CHANNEL_HASHES);
        return channel ? &map->channel : &map->group;
}

int hbm_address_inject(Hbm *hbm, const Fault *fault) {
        const HbmMapWrong *wrong = fault->parameters;
        unsigned bit;

        if (hbm->map_fault)
                return -EEXIST;
        /* Nothing that this stack has would go astray. */
        if (bit_of(&hbm->map, wrong, &bit)->n_bits <= bit || hbm->memory.shape.size[HBM_ROW] <= 1u << wrong->row_bit)
                return -EINVAL;
        hbm->map_fault = fault;
        return 0;
}

/* The map as it is in this command. */
static HbmMap map_now(const Hbm *hbm, const Execution *execution) {
        HbmMap map = hbm->map;

        if (hbm->map_fault && fault_is_active(hbm->map_fault, execution)) {
                const HbmMapWrong *wrong = hbm->map_fault->parameters;
                unsigned bit;
                HbmMapAxis *axis = bit_of(&map, wrong, &bit);

                axis->masks[bit] ^= (uint16_t) (1u << wrong->row_bit);
        }
        return map;
}

static bool read_is_valid(const Hbm *hbm, const WireCommand *command) {
        const WireReadAddress *read = &command->read_address;
        uint64_t offset = read->address - HBM_ADDRESS(hbm->memory.index);

        return read->address >= HBM_ADDRESS(hbm->memory.index) && offset % MEMORY_ACCESS_BYTES == 0 &&
               read->accesses >= 1 && read->accesses <= READ_ADDRESS_MAX && read->ecc <= 1 &&
               offset / MEMORY_ACCESS_BYTES < hbm->memory.shape.accesses &&
               read->accesses <= hbm->memory.shape.accesses - offset / MEMORY_ACCESS_BYTES &&
               command->out_bytes / MEMORY_ACCESS_BYTES >= read->accesses;
}

/* Copies out one access, wherever the address leads. */
static int read_one(Hbm *hbm, const Execution *execution, const HbmMap *map, uint32_t index, WireCompletion *completion) {
        const WireReadAddress *read = &execution->command->read_address;
        WireCommand command = { .type = COMMAND_HBM_COPY_OUT, .unit = execution->command->unit, .out_bytes = MEMORY_ACCESS_BYTES,
                                .copy = { .ecc = read->ecc } };
        Execution one = *execution;

        if (hbm_map_locate(map, &hbm->memory.shape, hbm->memory.index,
                           read->address + (uint64_t) index * MEMORY_ACCESS_BYTES, command.copy.box.first) < 0)
                return -ERANGE;
        memcpy(command.copy.box.last, command.copy.box.first, sizeof(command.copy.box.last));
        one.command = &command;
        one.out = execution->out + index * MEMORY_ACCESS_BYTES;
        one.completion = completion;
        return hbm_copy_out(hbm, &one);
}

int hbm_read_address(void *state, Execution *execution) {
        Hbm *hbm = state;
        WireCompletion *completion = execution->completion;
        HbmMap map;
        int r;

        if (!read_is_valid(hbm, execution->command)) {
                completion->status = STATUS_NRT_INVALID;
                return 0;
        }

        map = map_now(hbm, execution);
        for (uint32_t i = 0; i < execution->command->read_address.accesses; i++) {
                WireCompletion one = {};

                r = read_one(hbm, execution, &map, i, &one);
                if (r < 0)
                        return r;
                completion->out_bytes += one.out_bytes;
                completion->device_nsec += one.device_nsec;
        }

        completion->status = STATUS_NRT_SUCCESS;
        return 0;
}

int hbm_read_map(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        Hbm *hbm = state;
        char buffer[HBM_MAP_TEXT_MAX];

        (void) snprintf(text, size, "%s", hbm_map_format(&hbm->map, buffer));
        return 0;
}
