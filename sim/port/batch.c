/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/port/batch.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "sim/chip/answer.h"
#include "sim/chip/chip.h"

static_assert(sizeof(WireBatch) % alignof(WireCompletion) == 0, "completions lie aligned behind the header");

static bool area_fits(uint32_t offset, uint32_t bytes, size_t window_bytes, bool aligned) {
        if (aligned && bytes > 0 && offset % WIRE_ALIGNMENT != 0)
                return false;
        return offset <= window_bytes && bytes <= window_bytes - offset;
}

/* Texts may lie anywhere; everything else is read as numbers. */
static bool areas_fit(const WireCommand *command, size_t window_bytes) {
        bool aligned = command->type != COMMAND_ATTRIBUTE && command->type != COMMAND_ATTRIBUTE_WRITE;

        return area_fits(command->in_offset, command->in_bytes, window_bytes, aligned) &&
               area_fits(command->out_offset, command->out_bytes, window_bytes, aligned);
}

static Chip *chip_of(const Reach *reach, const WireCommand *command) {
        if (command->chip >= CHIPS || (reach->chip != WIRE_CHIP_ALL && command->chip != reach->chip))
                return NULL;
        return server_chip(reach->server, command->chip);
}

/*
 * What a garbled answer says of a command that was run. Over its server the packets are the host driver's, which keep
 * together whatever one chip does to its own: then what would have broken the packet breaks this completion.
 */
static void spoil(Garble garble, bool server_wide, WireCompletion *completion) {
        if (garble == GARBLE_STATUS || (server_wide && garble > GARBLE_OVERSIZE && garble < GARBLE_NONE))
                completion->status = 0x5a5a5a5a;
        else if (garble == GARBLE_OVERSIZE)
                completion->out_bytes = UINT32_MAX;
}

/* And of the whole packet. Returns its length. */
static size_t spoil_packet(Garble garble, WireBatch *header, size_t n) {
        if (garble == GARBLE_SHORT)
                return n / 2;
        if (garble == GARBLE_SEQUENCE)
                header->sequence++;
        else if (garble == GARBLE_COUNT)
                header->n++;
        else if (garble == GARBLE_MAGIC)
                header->magic ^= 1;
        return n;
}

/* Returns 0 with the completion set, or -ETIMEDOUT: the chip will never say anything. */
static int run_command(const Reach *reach, uint64_t batch, const WireCommand *command, WireCompletion *completion,
                       Garble *ret_garble) {
        Chip *chip = chip_of(reach, command);

        *completion = (WireCompletion) { .status = STATUS_NRT_INVALID_HANDLE };
        if (!chip)
                return 0;
        if (!areas_fit(command, reach->window_bytes)) {
                completion->status = STATUS_NRT_INVALID;
                return 0;
        }
        if (answer_hangs(chip, command)) {
                completion->status = STATUS_NRT_TIMEOUT;
                return reach->chip == WIRE_CHIP_ALL ? 0 : -ETIMEDOUT;
        }

        *ret_garble = answer_garbles(chip, command);
        if (*ret_garble == GARBLE_VOID) {
                chip->n_commands++;
                completion->status = STATUS_NRT_SUCCESS;
                return 0;
        }
        chip->client = reach;
        (void) chip_execute(chip, batch, command, reach->window, reach->window_bytes, completion);
        spoil(*ret_garble, reach->chip == WIRE_CHIP_ALL, completion);
        return 0;
}

static bool is_batch(const void *packet, size_t n) {
        const WireBatch *header = packet;

        return n >= sizeof(*header) && header->magic == WIRE_MAGIC && header->n > 0 && header->n <= WIRE_BATCH_MAX &&
               n == sizeof(*header) + header->n * sizeof(WireCommand);
}

static bool is_own(const UltraServer *own, const char *server) {
        for (unsigned i = 0; i < own->n_servers; i++)
                if (strncmp(own->servers[i].name, server, WIRE_SERVER_MAX) == 0)
                        return true;

        return false;
}

bool batch_leaves(const Reach *reach, const void *packet, size_t n) {
        const WireBatch *header = packet;
        const WireCommand *commands = (const WireCommand *) (header + 1);
        const UltraServer *own = reach->server->ultraserver;

        for (uint32_t i = 0; is_batch(packet, n) && i < header->n; i++) {
                const char *server = commands[i].nic_send.server;

                if (commands[i].type == COMMAND_NIC_SEND && !is_own(own, server) && memchr(server, 0, WIRE_SERVER_MAX) &&
                    hall_server(own->hall, server))
                        return true;
        }

        return false;
}

ssize_t batch_run(const Reach *reach, const void *packet, size_t n, uint8_t answer[static BATCH_ANSWER_MAX]) {
        const WireBatch *header = packet;
        const WireCommand *commands = (const WireCommand *) (header + 1);
        WireBatch *reply = (WireBatch *) answer;
        WireCompletion *completions = (WireCompletion *) (reply + 1);
        Garble garble = GARBLE_NONE, one = GARBLE_NONE;
        uint64_t batch;

        if (!is_batch(packet, n))
                return -EPROTO;

        batch = ++reach->server->ultraserver->n_batches;
        for (uint32_t i = 0; i < header->n; i++) { /* before a link command of one moves the clock of another */
                Chip *chip = chip_of(reach, &commands[i]);

                if (chip)
                        chip_join(chip, batch);
        }
        for (uint32_t i = 0; i < header->n; i++) {
                if (run_command(reach, batch, &commands[i], &completions[i], &one) < 0)
                        return 0;
                if (one != GARBLE_NONE && reach->chip != WIRE_CHIP_ALL)
                        garble = one;
        }

        *reply = (WireBatch) { .magic = WIRE_MAGIC, .sequence = header->sequence, .n = header->n };
        return (ssize_t) spoil_packet(garble, reply, sizeof(*reply) + header->n * sizeof(*completions));
}

void batch_close(const Reach *reach) {
        for (unsigned i = 0; i < CHIPS; i++)
                if (reach->server->chips[i] && (reach->chip == WIRE_CHIP_ALL || reach->chip == i))
                        chip_release(reach->server->chips[i], reach);
}
