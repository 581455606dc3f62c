/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the lanes of 64 chips cost the simulator: PRBS of 1e13 bits on each lane of each port of an UltraServer, sound and with a fault
 * of each kind, and commands that move no pattern. All of it CPU time of one thread.
 */

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "tests/sim/lone-command.h"

#define SERVERS   4u
#define ROUNDS    40u
#define BITS      UINT64_C(10000000000000)
#define ULTRA     "scenario: bench\nseed: 5\ntopology: {ultraservers: 1}\n"

static double cpu_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

/* CPU µs for each chip, of COMMAND at all ports of all chips. */
static double ports_usec(Lone *lone, WireCommand command, unsigned rounds) {
        double start = 0;

        for (unsigned round = 0; round <= rounds; round++) {
                if (round == 1)
                        start = cpu_usec(); /* all chips are made by now */
                for (unsigned s = 0; s < SERVERS; s++)
                        for (unsigned chip = 0; chip < CHIPS; chip++)
                                for (unsigned port = 0; port < PORTS; port++) {
                                        char server[8];

                                        (void) snprintf(server, sizeof(server), "us0-%u", s);
                                        command.unit = (uint8_t) port;
                                        if (lone_run(lone, server, chip, command).status != STATUS_NRT_SUCCESS)
                                                abort();
                                }
        }

        return (cpu_usec() - start) / rounds / (SERVERS * CHIPS);
}

static WireCommand prbs(uint64_t bits, int8_t offset) {
        return (WireCommand) {
                .type = COMMAND_LINK_PRBS, .out_bytes = LINK_LANES_MAX * sizeof(WireLane),
                .prbs = { .bits = bits, .seed = 1, .polynomial = PRBS31, .offset = offset },
        };
}

/* CPU µs of PRBS at the one port that has FAULT. */
static double fault_usec(const char *fault) {
        WireCommand command = prbs(BITS, 0);
        char text[512];
        double start;
        Lone *lone;

        (void) snprintf(text, sizeof(text), ULTRA "faults: [{at: us0-0/chip0/link-x+/lane3, %s}]\n", fault);
        lone = lone_new(text, NULL);
        if (!lone)
                abort();
        start = cpu_usec();
        for (unsigned i = 0; i < ROUNDS; i++)
                if (lone_run(lone, "us0-0", 0, command).status != STATUS_NRT_SUCCESS)
                        abort();
        start = cpu_usec() - start;
        (void) lone_free(lone);
        return start / ROUNDS;
}

int main(void) {
        static const struct {
                const char *name, *fault;
        } faults[] = {
                { "bit-errors-1e-12", "kind: bit-errors, rate: 1e-12" },
                { "bit-errors-1e-3", "kind: bit-errors, rate: 1e-3" },
                { "lane-dead", "kind: lane-dead" },
                { "lane-inverted", "kind: lane-inverted" },
                { "lane-skewed", "kind: lane-skewed, bits: 1000" },
                { "clock-slips-10", "kind: clock-slips, per-second: 10" },
                { "clock-slips-1000", "kind: clock-slips, per-second: 1000" },
                { "burst-errors-1e-10", "kind: burst-errors, rate: 1e-10, length: 100, density: 0.3" },
                { "crosstalk-1e-9", "kind: crosstalk, from: 4, rate: 1e-9" },
                { "eye-closed-10", "kind: eye-closed, closing: 10" },
        };
        Lone *lone = lone_new(ULTRA, NULL);

        if (!lone)
                return 1;

        printf("link-prbs-1e13-chip %.2f us %.3g to budget\n", ports_usec(lone, prbs(BITS, 0), ROUNDS), ports_usec(lone, prbs(BITS, 0), ROUNDS) / 1000);
        printf("link-prbs-offset-12-chip %.2f us\n", ports_usec(lone, prbs(4000000, 12), ROUNDS));
        printf("link-prbs-offset-20-chip %.2f us\n", ports_usec(lone, prbs(4000000, 20), ROUNDS));
        printf("link-status-chip %.2f us\n", ports_usec(lone, (WireCommand) {
                .type = COMMAND_LINK_STATUS, .out_bytes = sizeof(WireLinkStatus) }, ROUNDS));
        printf("link-transfer-chip %.2f us\n", ports_usec(lone, (WireCommand) {
                .type = COMMAND_LINK_TRANSFER, .transfer = { 1 << 30 } }, ROUNDS));
        for (size_t i = 0; i < ELEMENTS(faults); i++)
                printf("link-prbs-1e13-%s %.1f us\n", faults[i].name, fault_usec(faults[i].fault));

        (void) lone_free(lone);
        return 0;
}
