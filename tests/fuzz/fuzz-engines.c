/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a client may tell the engines of a core that is broken in many ways: each sixteen bytes of the input are a command whose
 * areas are as long as it needs, or the answer a number shorter (fuzz-wire has all other lengths), with whatever sizes, places, modes and formats. What a core does
 * it answers in full, the rest it refuses; and nothing is written outside of the answer.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fleet/scenario.h"
#include "sim/port/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COMMANDS_MAX 64u
#define IN_BYTES     (1u << 20) /* of the window; behind it TAGS, then the answer */
#define TAGS         IN_BYTES
#define OUT          (TAGS + 4096u * 2)
#define WINDOW       (2u << 20)

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

typedef struct Told { /* as in the input */
        uint8_t what, core, rows, columns;
        uint16_t moving, offset;
        uint8_t format, flags, keep, group, first_row, first_column, bank, data; /* data: 1: an answer is wanted, 4: there is not room for all of it; tags */
} Told;

static const char text[] = "scenario: fuzz\ntopology: {servers: 1}\nfaults:\n"
                           "  - {at: trn-0/chip0/core0/pe17.93, kind: product-stuck, bit: 9, value: 1}\n"
                           "  - {at: trn-0/chip0/core0/pe18.93, kind: activation-slow, bit: 30, edge: fall}\n"
                           "  - {at: trn-0/chip0/core0/pe127.127, kind: adder-carry-stuck, bit: 26, value: 1}\n"
                           "  - {at: trn-0/chip0/core0/pe0.0, kind: weight-shift-stuck, bit: 15, value: 1, droop: 20}\n"
                           "  - {at: trn-0/chip0/core0, kind: format-wrong, format: fp8_e5m2, persistence: intermittent, probability: 0.5}\n"
                           "  - {at: trn-0/chip0/core0/sparse, kind: ratio-wrong, mode: 4:16, as: 1:2}\n"
                           "  - {at: trn-0/chip0/core0/sparse/row127/slot127, kind: tag-stale, misses: dense}\n"
                           "  - {at: trn-0/chip0/core0/sparse/row3, kind: select-bridged, position: 0, other: 15, wired: or}\n"
                           "  - {at: trn-0/chip0/core0, kind: psum-address-stuck, bit: 9, value: 1, persistence: intermittent, probability: 0.5}\n"
                           "  - {at: trn-0/chip0/core0/vector, kind: field-width, field: longer}\n"
                           "  - {at: trn-0/chip0/core0/vector/lane127, kind: rng-short-cycle, words: 1}\n";

static uint32_t bytes_of(unsigned format) {
        return format < _FORMAT_MAX ? wire_format_bytes(format) : 1;
}

static WireCommand load_of(const Told *told) {
        WireCommand command = { .type = COMMAND_LOAD_STATIONARY };

        command.load = (WireLoad) { told->rows, told->columns, told->format, told->flags, told->keep, told->group, TAGS + told->data % 2 * 4096,
                                    told->first_row, told->first_column, {} };
        command.in_bytes = (uint32_t) told->rows * told->columns * bytes_of(told->format) * (told->flags & LOAD_DOUBLE_ROW ? 2 : 1);
        return command;
}

/* Of what was loaded last, which may be another tile. */
static WireCommand matmul_of(const Told *told, const Told *loaded) {
        WireCommand command = { .type = COMMAND_MATMUL, .out_offset = OUT };
        uint32_t rows = loaded->rows;

        if (loaded->flags & LOAD_SPARSE && loaded->keep > 0)
                rows = rows / loaded->keep * loaded->group;
        if (loaded->flags & LOAD_DOUBLE_ROW)
                rows *= 2;
        command.matmul = (WireMatmul) { told->moving, told->bank, told->flags, told->offset, told->first_row, told->first_column, told->format, {} };
        command.in_bytes = rows * told->moving * bytes_of(told->format);
        command.out_bytes = told->data & 1 ? (uint32_t) loaded->columns * told->moving * (uint32_t) sizeof(uint32_t) : 0;
        if (command.out_bytes > 0)
                command.out_bytes -= told->data & 4;
        return command;
}

static WireCommand convert_of(const Told *told) {
        WireCommand command = { .type = COMMAND_CONVERT, .out_offset = OUT };
        uint32_t count = told->moving % 1024;

        command.convert = (WireConvert) { told->rows, told->format, told->flags, 0, count };
        command.in_bytes = ENGINE_LANES * count * (uint32_t) sizeof(float);
        command.out_bytes = ENGINE_LANES * count * bytes_of(told->format);
        if (command.out_bytes > 0)
                command.out_bytes -= told->data & 4;
        return command;
}

static WireCommand seed_of(const Told *told) {
        return (WireCommand) { .type = COMMAND_RNG_SEED, .seed = { .engine = told->rows, .seed = told->moving } };
}

static WireCommand state_of(const Told *told) {
        return (WireCommand) { .type = COMMAND_RNG_STATE, .out_offset = OUT, .out_bytes = ENGINE_LANES * 24u - (told->data & 4), .seed = { .engine = told->rows } };
}

static void run(const Reach *reach, WireCommand command) {
        static _Alignas(WireCommand) uint8_t packet[sizeof(WireBatch) + sizeof(WireCommand)];
        static _Alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
        const WireBatch header = { .magic = WIRE_MAGIC, .sequence = 1, .n = 1 };
        WireCompletion completion;
        uint8_t *end;

        if (command.in_bytes > IN_BYTES || command.out_bytes > WINDOW - OUT - 64)
                return;
        end = reach->window + OUT + command.out_bytes;
        memset(end, 0xa5, 64);
        memcpy(packet, &header, sizeof(header));
        memcpy(packet + sizeof(header), &command, sizeof(command));
        HOLDS(batch_run(reach, packet, sizeof(packet), answer) == sizeof(header) + sizeof(completion));
        memcpy(&completion, answer + sizeof(header), sizeof(completion));
        HOLDS(completion.out_bytes <= command.out_bytes);
        HOLDS(completion.status != STATUS_NRT_SUCCESS || completion.out_bytes == command.out_bytes || command.type == COMMAND_CONVERT);
        for (unsigned i = 0; i < 64; i++)
                HOLDS(end[i] == 0xa5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static _Alignas(64) uint8_t window[WINDOW];
        Told told, loaded = {};
        Scenario *scenario = NULL;
        char *error = NULL;
        Reach reach;

        HOLDS(scenario_parse("fuzz", text, strlen(text), &scenario, &error) == 0);
        reach = (Reach) { hall_server(scenario->hall, "trn-0"), 0, window, sizeof(window) };
        for (size_t i = 0; i < OUT; i++) /* all kinds of numbers, and of tags */
                window[i] = (uint8_t) ((i * 0x9e3779b1u >> 13) ^ (size > 0 ? data[i % size] : 0));

        for (size_t i = 0; i < COMMANDS_MAX && (i + 1) * sizeof(told) <= size; i++) {
                WireCommand command;

                memcpy(&told, data + i * sizeof(told), sizeof(told));
                switch (told.what % 5) {
                case 0:
                        command = load_of(&told);
                        loaded = told;
                        break;
                case 1:
                        command = matmul_of(&told, &loaded);
                        break;
                case 2:
                        command = convert_of(&told);
                        break;
                case 3:
                        command = seed_of(&told);
                        break;
                default:
                        command = state_of(&told);
                        break;
                }
                command.unit = told.core;
                run(&reach, command);
        }
        (void) scenario_free(scenario);
        return 0;
}
