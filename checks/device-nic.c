/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/device-nic.h"

#include <string.h>
#include <sys/param.h>

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
                        ret[first + i] = (NicCompletion) { completions[i].result[0], completions[i].result[1] };
                        ret_errors[first + i] = adapter_error(completions[i].status);
                        if (ret_errors[first + i] >= 0 && completions[i].result[0] > sends[first + i].packets)
                                ret_errors[first + i] = -EPROTO;
                }
        }

        return 0;
}

/* Nothing of an arrival is used to index before it has been copied and looked at here; and no packet arrives before it was sent. */
static int check_arrivals(const WireArrival *arrivals, size_t n, size_t n_payloads) {
        for (size_t i = 0; i < n; i++)
                if (arrivals[i].chip >= CHIPS || arrivals[i].payload > n_payloads || arrivals[i].path >= NIC_PATHS ||
                    arrivals[i].bytes > NIC_PAYLOAD_MAX || arrivals[i].arrived_nsec < arrivals[i].sent_nsec ||
                    !memchr(arrivals[i].server, 0, sizeof(arrivals[i].server)))
                        return -EPROTO;

        return 0;
}

int device_nic_receive(Device *device, unsigned chip, WireArrival *ret, size_t arrivals_max, unsigned payload_every,
                       uint8_t *payloads, size_t payloads_max, uint64_t *ret_left) {
        size_t n_arrivals = arrivals_max * sizeof(WireArrival), n_payloads = payloads_max * NIC_PAYLOAD_MAX;
        WireCommand command = { .type = COMMAND_NIC_RECEIVE, .chip = (uint8_t) chip };
        WireCompletion completion = {};
        uint8_t *out;
        int r;

        if (arrivals_max > WIRE_WINDOW_MAX / sizeof(WireArrival) || payloads_max > WIRE_WINDOW_MAX / NIC_PAYLOAD_MAX)
                return -EINVAL;

        device_window_reset(device);
        out = device_window_take(device, n_arrivals + n_payloads);
        if (!out)
                return -ENOSPC;

        command.out_offset = device_window_offset(device, out);
        command.out_bytes = (uint32_t) (n_arrivals + n_payloads);
        command.nic_receive = (WireNicReceive) {
                .arrivals_max = (uint32_t) arrivals_max,
                .payload_every = payload_every,
                .payload_offset = command.out_offset + (uint32_t) n_arrivals,
                .payload_max = (uint32_t) payloads_max,
        };

        r = device_execute(device, &command, 1, &completion);
        device_window_reset(device);
        if (r == -EREMOTEIO)
                return adapter_error(completion.status);
        if (r < 0)
                return r;
        if (completion.result[1] > arrivals_max || completion.result[1] > completion.result[0] ||
            completion.out_bytes < completion.result[1] * sizeof(WireArrival))
                return -EPROTO;

        memcpy(ret, out, completion.result[1] * sizeof(WireArrival));
        if (payloads_max > 0)
                memcpy(payloads, out + n_arrivals, n_payloads);
        *ret_left = completion.result[0] - completion.result[1];
        r = check_arrivals(ret, completion.result[1], payloads_max);
        return r < 0 ? r : (int) completion.result[1];
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
