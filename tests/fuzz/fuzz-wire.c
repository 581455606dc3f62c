/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a client may send to the device port: the first byte says whether it reaches one chip or the server, the next two
 * how much of the input is the packet; the rest lies in the window. Whatever it is, it is answered within the agreement
 * or not at all.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fleet/scenario.h"
#include "sim/port/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WINDOW WIRE_WINDOW_MIN

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

static const char text[] = "scenario: fuzz\ntopology: {ultraservers: 1}\nfaults:\n"
                           "  - {at: us0-1/chip3/core5/pe17.93, kind: product-stuck, bit: 9, value: 1}\n"
                           "  - {at: us0-1/chip3/link-x+/lane7, kind: bit-errors, rate: 1e-3}\n"
                           "  - {at: us0-1/chip3/hbm2/ch3/pc1/sid0/bg2/ba1/row4711/col12/bit77, kind: stuck-at, value: 1}\n"
                           "  - {at: us0-1/chip5, kind: hang}\n";

static void check_answer(const WireCommand *commands, uint32_t n, const uint8_t *answer, size_t n_answer) {
        WireCompletion completion;

        HOLDS(n_answer == sizeof(WireBatch) + n * sizeof(completion));
        for (uint32_t i = 0; i < n; i++) {
                memcpy(&completion, answer + sizeof(WireBatch) + i * sizeof(completion), sizeof(completion));
                HOLDS(completion.out_bytes <= commands[i].out_bytes);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static _Alignas(WireCommand) uint8_t packet[BATCH_PACKET_MAX];
        static _Alignas(WireCompletion) uint8_t answer[BATCH_ANSWER_MAX];
        static _Alignas(64) uint8_t window[WINDOW];
        Scenario *scenario = NULL;
        WireBatch header = {};
        char *error = NULL;
        Reach reach;
        size_t n_packet;
        ssize_t n;

        if (size < 3)
                return 0;
        n_packet = (size_t) (data[1] | data[2] << 8) % (sizeof(packet) + 1);
        if (n_packet > size - 3)
                n_packet = size - 3;
        memcpy(packet, data + 3, n_packet);
        memset(window, 0, sizeof(window));
        memcpy(window, data + 3 + n_packet, size - 3 - n_packet < sizeof(window) ? size - 3 - n_packet : sizeof(window));

        HOLDS(scenario_parse("fuzz", text, strlen(text), &scenario, &error) == 0);
        reach = (Reach) { hall_server(scenario->hall, "us0-1"), data[0] & 1 ? 3 : WIRE_CHIP_ALL, window, sizeof(window) };
        n = batch_run(&reach, packet, n_packet, answer);
        HOLDS(n == -EPROTO || n >= 0);
        if (n > 0) {
                memcpy(&header, packet, sizeof(header));
                check_answer((const WireCommand *) (packet + sizeof(header)), header.n, answer, (size_t) n);
        }
        batch_close(&reach);
        (void) scenario_free(scenario);
        return 0;
}
