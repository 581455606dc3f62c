/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-host.h"

int device_host_transfer(Device *device, unsigned chip, const WireHostTransfer *transfers, size_t n, uint64_t *ret_nsec) {
        WireCompletion completions[WIRE_BATCH_MAX];
        WireCommand commands[WIRE_BATCH_MAX];
        int r;

        if (n > WIRE_BATCH_MAX)
                return -EINVAL;

        for (size_t i = 0; i < n; i++)
                commands[i] = (WireCommand) { .type = COMMAND_HOST_TRANSFER, .chip = (uint8_t) chip, .host_transfer = transfers[i] };
        r = device_execute(device, commands, n, completions);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i++) {
                if (completions[i].result[0] != transfers[i].bytes || completions[i].device_nsec == 0)
                        return -EPROTO;
                ret_nsec[i] = completions[i].device_nsec;
        }

        return 0;
}
