/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The EFA adapters of a server, many at a time. What becomes of each on its own is told as in device-link.h; the calls
 * themselves fail only where the device port does.
 */

#include "checks/device.h"

#define NIC_PAYLOAD_MAX 8192u

/* What the sender's adapter says of a flow. */
typedef struct NicCompletion {
        uint64_t delivered;
        uint64_t status; /* EFA: 0 ok, 10 receiver not ready, 13 unresponsive remote, 15 unreachable */
} NicCompletion;

int device_nic_send(Device *device, const uint8_t *chips, size_t n, const WireNicSend *sends, NicCompletion *ret,
                    int *ret_errors);

/*
 * Takes what has arrived at the adapter of CHIP, at most ARRIVALS_MAX, and the payload of the first PAYLOADS_MAX
 * multiples of PAYLOAD_EVERY (NIC_PAYLOAD_MAX bytes apart). Returns how many arrivals were taken, with *ret_left those that
 * still wait there, or an error; -EREMOTEIO and -ETIMEDOUT are the adapter's own.
 */
int device_nic_receive(Device *device, unsigned chip, WireArrival *ret, size_t arrivals_max, unsigned payload_every,
                       uint8_t *payloads, size_t payloads_max, uint64_t *ret_left);

/* How many packets wait at each adapter, without taking one. */
int device_nic_waiting(Device *device, const uint8_t *chips, size_t n, uint64_t *ret, int *ret_errors);
