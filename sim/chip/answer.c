/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/chip/answer.h"

#include <stddef.h>

#include "checks/text/cleanup.h"
#include "sim/chip/fault.h"

extern const Model model_answer;

typedef struct HangFault {
        bool attributes;
} HangFault;

typedef struct GarbleFault {
        int mode;
        int command;
        uint64_t count;
        uint64_t done;
} GarbleFault;

enum { KIND_HANG, KIND_GARBLE, KIND_MISSING, _KIND_MAX };

typedef struct Answer {
        Chip *chip;
        const Fault *faults[_KIND_MAX];
} Answer;

/* Asked several times in each command: a chip without faults has none here. */
static Answer *answer_of(const Chip *chip) {
        return chip->n_faults > 0 ? chip_part_peek(chip, &model_answer, 0) : NULL;
}

/* As if the command were the chip's next: faults of the port count the commands of all engines. */
static bool acts(const Fault *fault, Chip *chip) {
        Execution execution = { .chip = chip, .number = chip->n_commands, .start_nsec = chip->nsec };

        return fault && fault_is_active(fault, &execution);
}

static bool is_attribute(const WireCommand *command) {
        return command->type == COMMAND_ATTRIBUTE || command->type == COMMAND_ATTRIBUTE_WRITE;
}

bool answer_hangs(Chip *chip, const WireCommand *command) {
        const Answer *answer = answer_of(chip);
        const Fault *fault = answer ? answer->faults[KIND_HANG] : NULL;

        if (!fault || (((const HangFault *) fault->parameters)->attributes && is_attribute(command)) || !acts(fault, chip))
                return false;
        /* Also what is never answered has been asked: triggers and draws go on. */
        chip->n_commands++;
        return true;
}

bool chip_hangs(const Chip *chip) {
        const Answer *answer = answer_of(chip);

        return answer && acts(answer->faults[KIND_HANG], answer->chip);
}

/* The families a garble can be limited to, by their first and last command. */
static const char *const command_words[] = {
        "any", "attribute", "reset", "hbm", "tensor", "rounding", "link", "nic", "collective", NULL,
};

static const struct {
        uint16_t first, last;
} command_ranges[] = {
        { 0, UINT16_MAX },
        { COMMAND_ATTRIBUTE, COMMAND_ATTRIBUTE_WRITE },
        { COMMAND_RESET, COMMAND_RESET },
        { COMMAND_HBM_MARCH, COMMAND_HBM_READ_ADDRESS },
        { COMMAND_LOAD_STATIONARY, COMMAND_MATMUL },
        { COMMAND_CONVERT, COMMAND_RNG_STATE },
        { COMMAND_LINK_STATUS, COMMAND_LINK_LOOPBACK },
        { COMMAND_NIC_SEND, COMMAND_NIC_RECEIVE },
        { COMMAND_COLLECTIVE_POST, COMMAND_COLLECTIVE_WAIT },
};

Garble answer_garbles(Chip *chip, const WireCommand *command) {
        const Answer *answer = answer_of(chip);
        const Fault *fault = answer ? answer->faults[KIND_GARBLE] : NULL;
        GarbleFault *garble = fault ? fault->parameters : NULL;

        if (!garble || command->type < command_ranges[garble->command].first ||
            command->type > command_ranges[garble->command].last)
                return GARBLE_NONE;
        if ((garble->count > 0 && garble->done >= garble->count) || !acts(fault, chip))
                return GARBLE_NONE;
        garble->done++;
        return (Garble) garble->mode;
}

bool answer_missing(Chip *chip) {
        const Answer *answer = answer_of(chip);

        return answer && acts(answer->faults[KIND_MISSING], chip);
}

bool answer_refuses(Chip *chip, Execution *execution) {
        if (!answer_missing(chip))
                return false;
        /* Its folder in sysfs is not there, and its driver has no handle of it. */
        execution->completion->status = is_attribute(execution->command) ? STATUS_NRT_QUEUE_EMPTY :
                                                                           STATUS_NRT_INVALID_HANDLE;
        return true;
}

static int answer_init(void *state, Chip *chip, unsigned index) {
        Answer *answer = state;

        answer->chip = chip;
        return 0;
}

static const LocationKind at_chip[] = { LOCATION_CHIP, _LOCATION_KIND_INVALID };

static const char *const garble_words[] = {
        [GARBLE_STATUS] = "status", [GARBLE_VOID] = "void", [GARBLE_OVERSIZE] = "oversize",
        [GARBLE_SHORT] = "short", [GARBLE_SEQUENCE] = "sequence", [GARBLE_COUNT] = "count",
        [GARBLE_MAGIC] = "magic", NULL,
};

static const YamlField hang_fields[] = {
        YAML_BOOLEAN("attributes", HangFault, attributes, .summary = "whether its attributes still answer"),
        {},
};

static const YamlField garble_fields[] = {
        YAML_WORD("mode", GarbleFault, mode, garble_words, .required = true, .summary = "what is wrong with the answer"),
        YAML_WORD("command", GarbleFault, command, command_words, .summary = "which commands are answered so"),
        YAML_UNSIGNED("count", GarbleFault, count, 0, UINT32_MAX, .summary = "how many times; 0: always"),
        {},
};

static const FaultKind kinds[_KIND_MAX + 1] = {
        [KIND_HANG] = {
                .name = "hang", .summary = "takes commands and never answers", .family = FAMILY_TELEMETRY, .at = at_chip,
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(HangFault), .parameters = hang_fields,
                .is_shared = true, .codes = FAULT_CODES("device-hang"),
        },
        [KIND_GARBLE] = {
                .name = "garble", .summary = "answers against the agreement of the port", .family = FAMILY_TELEMETRY, .at = at_chip,
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT | PERSISTENCE_TRANSIENT,
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(GarbleFault), .parameters = garble_fields,
                .is_shared = true, .codes = FAULT_CODES("device-garbled"),
        },
        [KIND_MISSING] = {
                .name = "device-missing", .summary = "its driver did not find it", .family = FAMILY_TELEMETRY, .at = at_chip,
                .persistence = PERSISTENCE_PERMANENT, .is_shared = true, .codes = FAULT_CODES("identity-missing"),
        },
        {},
};

static const Fault **place(void *state, const Fault *fault) {
        Answer *answer = state;

        return &answer->faults[fault->kind - kinds];
}

const Model model_answer = {
        .name       = "answer",
        .part       = LOCATION_CHIP,
        .state_size = sizeof(Answer),
        .init       = answer_init,
        .faults     = (const FaultKind *const[]) { kinds, NULL },
        .place      = place,
};
