/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-nic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"

static int adapter_error(uint32_t status) {
        switch (status) {
        case STATUS_NRT_SUCCESS:
                return 0;
        case STATUS_NRT_INVALID_HANDLE:
                return -ENXIO;
        case STATUS_NRT_TIMEOUT:
                return -ETIMEDOUT;
        case DEVICE_STATUS_GARBLED:
                return -EPROTO;
        default:
                return -EREMOTEIO;
        }
}

int device_nic_send(Device *device, const uint8_t *chips, size_t n, const WireNicSend *sends, NicCompletion *ret,
                    int *ret_errors) {
        for (size_t first = 0; first < n; first += WIRE_BATCH_MAX) {
                size_t batch = MIN(n - first, (size_t) WIRE_BATCH_MAX);
                WireCompletion completions[WIRE_BATCH_MAX];
                WireCommand commands[WIRE_BATCH_MAX];
                int r;

                for (size_t i = 0; i < batch; i++)
                        commands[i] = (WireCommand) {
                                .type = COMMAND_NIC_SEND, .chip = chips[first + i], .nic_send = sends[first + i],
                        };

                r = device_execute(device, commands, batch, completions);
                if (r < 0 && r != -EREMOTEIO)
                        return r;

                for (size_t i = 0; i < batch; i++) {
                        ret[first + i] = (NicCompletion) { completions[i].result[0], completions[i].result[1], completions[i].device_nsec };
                        ret_errors[first + i] = adapter_error(completions[i].status);
                        if (ret_errors[first + i] >= 0 && completions[i].result[0] > sends[first + i].packets)
                                ret_errors[first + i] = -EPROTO;
                }
        }

        return 0;
}

/* Nothing of an arrival is used to index before it has been copied and looked at here. */
static bool ends(const char server[static WIRE_SERVER_MAX]) {
        return server[WIRE_SERVER_MAX - 1] == '\0' || memchr(server, 0, WIRE_SERVER_MAX);
}

static int check_arrivals(const WireArrival *arrivals, size_t n, size_t n_payloads) {
        for (size_t i = 0; i < n; i++)
                if (arrivals[i].chip >= CHIPS || arrivals[i].payload > n_payloads || arrivals[i].path >= NIC_PATHS ||
                    arrivals[i].bytes > NIC_PAYLOAD_MAX || !ends(arrivals[i].server))
                        return -EPROTO;

        return 0;
}

typedef struct Shelf { /* what is in the window, and copies of one adapter's of it */
        const NicRoom *room;
        size_t n_arrivals, n_payloads; /* bytes of each adapter */
        WireArrival *arrivals;
        uint8_t *payloads;
} Shelf;

static WireCommand receive_command(Device *device, const Shelf *shelf, unsigned chip, const uint8_t *out) {
        uint32_t offset = device_window_offset(device, out);

        return (WireCommand) {
                .type = COMMAND_NIC_RECEIVE, .chip = (uint8_t) chip, .out_offset = offset,
                .out_bytes = (uint32_t) (shelf->n_arrivals + shelf->n_payloads),
                .nic_receive = {
                        .arrivals_max = (uint32_t) shelf->room->arrivals_max,
                        .payload_min = shelf->room->payload_min,
                        .payload_offset = offset + (uint32_t) shelf->n_arrivals,
                        .payload_max = (uint32_t) shelf->room->payloads_max,
                },
        };
}

static NicBox open_box(const Shelf *shelf, const uint8_t *out, const WireCompletion *completion) {
        NicBox box = { .arrivals = shelf->arrivals, .payloads = shelf->payloads };
        uint64_t n = completion->result[1];

        box.error = adapter_error(completion->status);
        /* As many as there is room for: else it takes as long as it likes to hand out what it has. */
        if (box.error >= 0 && (n != MIN(completion->result[0], shelf->room->arrivals_max) || completion->out_bytes < n * sizeof(WireArrival)))
                box.error = -EPROTO;
        if (box.error < 0)
                return box;

        memcpy(shelf->arrivals, out, n * sizeof(WireArrival));
        box.error = check_arrivals(shelf->arrivals, n, shelf->room->payloads_max);
        if (box.error < 0)
                return box;
        for (size_t i = 0; i < n; i++)
                if (shelf->arrivals[i].payload > 0) {
                        size_t at = (size_t) (shelf->arrivals[i].payload - 1) * NIC_PAYLOAD_MAX;

                        memcpy(shelf->payloads + at, out + shelf->n_arrivals + at, shelf->arrivals[i].bytes);
                }
        box.n = n;
        box.left = completion->result[0] - n;
        return box;
}

static int receive_batch(Device *device, const Shelf *shelf, const uint8_t *chips, size_t n, NicTake take, void *userdata) {
        size_t stride = shelf->n_arrivals + shelf->n_payloads;
        const uint8_t *out = device_window_take(device, n * stride);
        WireCompletion completions[CHIPS];
        WireCommand commands[CHIPS];
        int r;

        if (!out)
                return -ENOSPC;

        for (size_t i = 0; i < n; i++)
                commands[i] = receive_command(device, shelf, chips[i], out + i * stride);
        r = device_execute(device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        for (size_t i = 0; i < n; i++) {
                NicBox box = open_box(shelf, out + i * stride, &completions[i]);

                take(userdata, chips[i], &box);
        }

        return 0;
}

int device_nic_receive(Device *device, const uint8_t *chips, size_t n, const NicRoom *room, NicTake take, void *userdata) {
        size_t n_arrivals = (room->arrivals_max * sizeof(WireArrival) + WIRE_ALIGNMENT - 1) / WIRE_ALIGNMENT * WIRE_ALIGNMENT;
        size_t n_payloads = room->payloads_max * NIC_PAYLOAD_MAX, fit;
        _cleanup_free_ uint8_t *copies = NULL;
        int r = 0;

        if (room->arrivals_max == 0 || room->arrivals_max > WIRE_WINDOW_MAX / sizeof(WireArrival) ||
            room->payloads_max > WIRE_WINDOW_MAX / NIC_PAYLOAD_MAX)
                return -EINVAL;
        copies = malloc(n_arrivals + n_payloads);
        if (!copies)
                return -ENOMEM;

        device_window_reset(device);
        fit = MIN(device_window_free(device) / (n_arrivals + n_payloads), (size_t) CHIPS);
        if (fit == 0)
                return -ENOSPC;
        for (size_t first = 0; first < n && r >= 0; first += fit) {
                Shelf shelf = { room, n_arrivals, n_payloads, (WireArrival *) copies, copies + n_arrivals };

                r = receive_batch(device, &shelf, chips + first, MIN(n - first, fit), take, userdata);
                device_window_reset(device);
        }

        return r;
}

int device_nic_waiting(Device *device, const uint8_t *chips, size_t n, uint64_t *ret, int *ret_errors) {
        WireCompletion completions[CHIPS];
        WireCommand commands[CHIPS];
        int r;

        if (n > CHIPS)
                return -EINVAL;

        for (size_t i = 0; i < n; i++)
                commands[i] = (WireCommand) { .type = COMMAND_NIC_RECEIVE, .chip = chips[i] };

        r = device_execute(device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        for (size_t i = 0; i < n; i++) {
                ret[i] = completions[i].result[0];
                ret_errors[i] = adapter_error(completions[i].status);
        }

        return 0;
}
