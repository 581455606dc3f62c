/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Faults of memories, and what is done to them: up to the first zero byte the input is the rest of a scenario, the first
 * byte after it the chip of us0-1 that is asked, and every 20 that follow are a command to its memories. Whatever they
 * are, an answer adds up: that is what the checks hold against a device.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"
#include "sim/fleet/scenario.h"
#include "sim/port/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WINDOW       WIRE_WINDOW_MIN
#define COMMANDS_MAX 24u
#define LIST_MAX     256u

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

typedef struct Spoken { /* as in the input */
        uint8_t type, unit, shape, order, background, ops, extent, reserved;
        uint16_t row, number;
        uint8_t at[4]; /* of the other axes, cut to their sizes */
        uint32_t value;
} Spoken;

static_assert(sizeof(Spoken) == 20, "as the banner says");

typedef struct Asked {
        uint8_t *window;
        Reach reach;
        WireBatch header;
        WireCommand command;
} Asked;

/* ---- from bytes ---- */

static const uint16_t stack_size[_MEMORY_AXIS_MAX] = { 16, 2, 3, 4, 4, 16384, 32 };
static const uint16_t array_size[_ARRAY_MAX][_MEMORY_AXIS_MAX] = {
        [ARRAY_SBUF] = { 128, 1, 1, 1, 1, 7168, 1 }, [ARRAY_PSUM] = { 128, 1, 1, 1, 8, 64, 1 },
};

/* One access, and the axes that shape has a bit of from there on, as far as extent says. */
static WireBox box_of(const Spoken *spoken, const uint16_t size[static _MEMORY_AXIS_MAX]) {
        WireBox box;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                unsigned at = axis == HBM_ROW ? spoken->row : spoken->at[axis % 4] >> (axis / 4);

                box.first[axis] = box.last[axis] = (uint16_t) (spoken->shape & 0x80 ? at : at % size[axis]);
                if (spoken->shape >> axis & 1)
                        box.last[axis] = (uint16_t) (box.first[axis] + (size[axis] - 1u - box.first[axis]) * (spoken->extent + 1u) / 256);
        }
        return box;
}

static WireMarch march_of(const Spoken *spoken, WireBox box, uint8_t array) {
        WireMarch march = {
                .box            = box,
                .order          = spoken->order & 3,
                .descending     = spoken->order >> 2 & 1,
                .ecc            = spoken->order >> 3 & 1,
                .background     = spoken->background & 7,
                .parameter      = spoken->background >> 4 & 7,
                .seed           = spoken->number,
                .array          = array,
                .n_ops          = spoken->ops % MARCH_OPS_MAX + 1,
                .mismatches_max = spoken->order & 0x80 ? 0 : spoken->number % LIST_MAX,
        };

        for (unsigned i = 0; i < march.n_ops; i++)
                march.ops[i] = (uint8_t) ((spoken->value >> (2 * i % 32) & 1 ? MARCH_WRITE : 0) |
                                          (spoken->value >> (2 * i % 32 + 1) & 1 ? MARCH_DATA : 0));
        return march;
}

static uint32_t copied(const WireBox *box) {
        uint64_t bytes = MEMORY_ACCESS_BYTES;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                bytes *= MAX((uint64_t) box->last[axis], (uint64_t) box->first[axis]) - box->first[axis] + 1;
        return (uint32_t) MIN(bytes, (uint64_t) WINDOW / 2);
}

static WireCommand command_of(const Spoken *spoken, unsigned chip) {
        static const uint8_t types[] = {
                COMMAND_HBM_MARCH, COMMAND_HBM_COPY_IN, COMMAND_HBM_COPY_OUT, COMMAND_HBM_PAUSE, COMMAND_HBM_HAMMER, COMMAND_HBM_REPAIR,
                COMMAND_HBM_SPARES, COMMAND_HBM_READ_ADDRESS, COMMAND_RESET, COMMAND_SRAM_MARCH, COMMAND_SRAM_COPY_IN, COMMAND_SRAM_COPY_OUT,
        };
        uint8_t type = types[spoken->type % ELEMENTS(types)], array = spoken->unit >> 7;
        bool sram = type >= COMMAND_SRAM_MARCH && type <= COMMAND_SRAM_COPY_OUT;
        WireBox box = box_of(spoken, sram ? array_size[array] : stack_size);
        WireCommand command = { .type = type, .chip = (uint8_t) chip, .unit = type == COMMAND_RESET ? WIRE_CHIP_ALL : spoken->unit & 0x7f };

        switch (type) {
        case COMMAND_HBM_MARCH:
        case COMMAND_SRAM_MARCH:
                command.march = march_of(spoken, box, sram ? array : 0);
                command.out_bytes = (uint32_t) (command.march.mismatches_max * sizeof(WireMismatch));
                break;
        case COMMAND_HBM_PAUSE:
                command.pause.nsec = (uint64_t) spoken->value << spoken->extent % 32;
                break;
        case COMMAND_HBM_HAMMER:
                command.hammer = (WireHammer) { .box = box, .activations = spoken->value, .open_nsec = spoken->number, .step = spoken->ops };
                break;
        case COMMAND_HBM_REPAIR:
        case COMMAND_HBM_SPARES:
                command.repair.box = box;
                break;
        case COMMAND_HBM_READ_ADDRESS:
                command.read_address = (WireReadAddress) { .address = HBM_ADDRESS(spoken->unit % STACKS) + ((uint64_t) spoken->value << spoken->extent % 8),
                                                           .accesses = spoken->number, .ecc = spoken->order & 1 };
                command.out_bytes = MIN(spoken->number * MEMORY_ACCESS_BYTES, WINDOW / 2);
                break;
        case COMMAND_RESET:
                break;
        default:
                command.copy = (WireCopy) { .box = box, .ecc = spoken->order & 1, .array = sram ? array : 0, .plant = spoken->order >> 1 & 1 };
                if (type == COMMAND_HBM_COPY_OUT || type == COMMAND_SRAM_COPY_OUT)
                        command.out_bytes = copied(&box);
                else
                        command.in_bytes = copied(&box);
        }
        command.out_offset = WINDOW / 2;
        return command;
}

/* ---- what comes back ---- */

static void judge_march(const Asked *asked, const WireCompletion *completion) {
        const WireMarch *march = &asked->command.march;
        uint64_t accesses = 1, reads = 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                accesses *= march->box.last[axis] - march->box.first[axis] + 1u;
        for (unsigned i = 0; i < march->n_ops; i++)
                reads += march->ops[i] & MARCH_WRITE ? 0 : accesses;

        HOLDS(completion->result[1] == accesses && completion->result[0] <= reads);
        HOLDS(completion->out_bytes == MIN(completion->result[0], (uint64_t) march->mismatches_max) * sizeof(WireMismatch));
        for (uint32_t i = 0; i < completion->out_bytes / sizeof(WireMismatch); i++) {
                WireMismatch mismatch;

                memcpy(&mismatch, asked->window + asked->command.out_offset + i * sizeof(mismatch), sizeof(mismatch));
                HOLDS(mismatch.op < march->n_ops && !(march->ops[mismatch.op] & MARCH_WRITE));
                for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                        HOLDS(mismatch.at[axis] >= march->box.first[axis] && mismatch.at[axis] <= march->box.last[axis]);
        }
}

static bool has_read(const WireCompletion *completion) {
        return completion->status == STATUS_NRT_SUCCESS || completion->status == STATUS_NRT_HBM_UE ||
               completion->status == STATUS_NRT_NC_UE || completion->status == STATUS_NRT_REPAIRABLE_HBM_UE;
}

static void ask(Asked *asked) {
        static _Alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
        WireCompletion completion;
        ssize_t n;

        asked->header = (WireBatch) { .magic = WIRE_MAGIC, .n = 1 };
        n = batch_run(&asked->reach, &asked->header, sizeof(asked->header) + sizeof(asked->command), answer);
        if (n != (ssize_t) (sizeof(WireBatch) + sizeof(completion)))
                return; /* a fault may keep it from answering */

        memcpy(&completion, answer + sizeof(WireBatch), sizeof(completion));
        if (!has_read(&completion) || completion.out_bytes > asked->command.out_bytes)
                return; /* or spoil what it answers */
        if (asked->command.type == COMMAND_HBM_MARCH || asked->command.type == COMMAND_SRAM_MARCH)
                judge_march(asked, &completion);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static const char head[] = "scenario: fuzz\ntopology: {ultraservers: 1}\n";
        static _Alignas(64) uint8_t window[WINDOW];
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_free_ char *error = NULL, *text = NULL;
        size_t n = strnlen((const char *) data, size), at;
        static Asked asked;
        int n_text = asprintf(&text, "%s%.*s", head, (int) n, (const char *) data);

        HOLDS(n_text >= 0);
        if (size < n + 2 || scenario_parse("fuzz", text, (size_t) n_text, &scenario, &error) < 0)
                return 0;

        memset(window, 0x5a, sizeof(window));
        asked = (Asked) { .window = window, .reach = { hall_server(scenario->hall, "us0-1"), WIRE_CHIP_ALL, window, sizeof(window) } };
        at = n + 2;
        for (unsigned i = 0; i < COMMANDS_MAX && at + sizeof(Spoken) <= size; i++, at += sizeof(Spoken)) {
                Spoken spoken;

                memcpy(&spoken, data + at, sizeof(spoken));
                asked.command = command_of(&spoken, data[n + 1] % CHIPS);
                ask(&asked);
        }
        return 0;
}
