/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/claim.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#define PATH       "assay/claim"
#define SLOT_BYTES 64u /* of the window: what is written, and what is read */
#define PER_CHIP   2u  /* commands: one that claims, one that asks whether anybody has */

static_assert(sizeof(PATH) + 1 <= SLOT_BYTES / 2 && SLOT_BYTES % WIRE_ALIGNMENT == 0, "path and text fit into half a slot");

/* How a status other than success is told by the inventory, 0 where it says nothing about the chip. */
static int error_of(uint32_t status) {
        return status == STATUS_NRT_TIMEOUT ? -ETIMEDOUT : status == DEVICE_STATUS_GARBLED ? -EPROTO : 0;
}

/* Fills in both commands of one chip. */
static void describe(const Device *device, unsigned chip, uint8_t *slot, WireCommand commands[static PER_CHIP]) {
        uint32_t offset = device_window_offset(device, slot);

        memcpy(slot, PATH "\0001", sizeof(PATH) + 1);
        commands[0] = (WireCommand) {
                .type = COMMAND_ATTRIBUTE_WRITE, .chip = (uint8_t) chip, .in_offset = offset, .in_bytes = sizeof(PATH) + 1
        };
        commands[1] = (WireCommand) {
                .type = COMMAND_ATTRIBUTE, .chip = (uint8_t) chip, .in_offset = offset, .in_bytes = sizeof(PATH) - 1,
                .out_offset = offset + SLOT_BYTES / 2, .out_bytes = SLOT_BYTES / 2
        };
}

/* That the claim is refused counts only beside the answer that somebody holds it: a chip that makes no sense may refuse anything. */
static bool is_held(const uint8_t *slot, const WireCompletion completions[static PER_CHIP]) {
        return completions[0].status == STATUS_NRT_INVALID && completions[1].status == STATUS_NRT_SUCCESS &&
               completions[1].out_bytes == 1 && slot[SLOT_BYTES / 2] == '1';
}

/* All in one batch, so that of two scans that begin together one has all chips and not each a half. Returns whether another client has one. */
static bool claim_chips(ScanServer *server) {
        WireCommand commands[CHIPS * PER_CHIP];
        WireCompletion completions[CHIPS * PER_CHIP];
        uint8_t *slots = device_window_take(server->device, CHIPS * SLOT_BYTES);
        size_t n = 0;
        bool held = false;
        int r;

        assert(slots); /* nothing else is in the window */
        device_window_reset(server->device);
        for (unsigned chip = 0; chip < CHIPS; chip++)
                if (server->target->chips & (1u << chip)) {
                        describe(server->device, chip, slots + chip * SLOT_BYTES, commands + n);
                        n += PER_CHIP;
                }

        r = device_execute(server->device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return false; /* the inventory comes over the same connection, and says so */

        for (size_t i = 0; i < n; i += PER_CHIP) {
                unsigned chip = commands[i].chip;

                held = held || is_held(slots + chip * SLOT_BYTES, completions + i);
                for (size_t k = i; k < i + PER_CHIP && server->claim_errors[chip] == 0; k++)
                        server->claim_errors[chip] = error_of(completions[k].status);
        }
        return held;
}

/* Whether a server is left that another client has chips of. */
static bool claim_all(Scan *scan) {
        bool held = false;

        for (size_t i = 0; i < scan->n_servers; i++) {
                ScanServer *server = &scan->servers[i];

                if (server->device && (server->error == 0 || server->error == -EBUSY)) {
                        server->error = claim_chips(server) ? -EBUSY : 0;
                        held = held || server->error < 0;
                }
        }
        return held;
}

void claim_servers(Scan *scan) {
        double pause_msec = scan_deadline_sec(scan) * 1000 / CLAIM_ANSWERS;
        struct pollfd polled = { .fd = scan->input_fd, .events = POLLIN };

        for (size_t i = 0; i < scan->n_servers; i++)
                scan->servers[i].error = scan_open(scan, i, WIRE_CHIP_ALL, WIRE_WINDOW_MIN, &scan->servers[i].device);

        /* Whoever cancels the scan need not wait for it. */
        for (unsigned refusals = 1; claim_all(scan) && refusals < CLAIM_ANSWERS; refusals++)
                if (poll(&polled, 1, (int) pause_msec + 1) > 0)
                        return;
}
