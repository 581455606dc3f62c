/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The EFA adapters of a server, many at a time. What becomes of each on its own is told as in device-link.h; the calls
 * themselves fail only where the device port does.
 */

#include "checks/port/device.h"

#define NIC_PAYLOAD_MAX 8192u

/* What the sender's adapter says of a flow. */
typedef struct NicCompletion {
        uint64_t delivered;
        uint64_t status; /* EFA: 0 ok, 10 receiver not ready, 13 unresponsive remote, 15 unreachable */
        uint64_t busy_nsec; /* by its chip's clock */
} NicCompletion;

int device_nic_send(Device *device, const uint8_t *chips, size_t n, const WireNicSend *sends, NicCompletion *ret,
                    int *ret_errors);

/* What of one adapter is taken at a time. */
typedef struct NicRoom {
        size_t arrivals_max;
        size_t payloads_max;  /* 0: none */
        uint32_t payload_min; /* bytes: one payload of each flow of so many and more */
} NicRoom;

/* What was taken: copies, which hold until the next ones come. */
typedef struct NicBox {
        int error; /* the adapter's own, and nothing was taken */
        size_t n;
        const WireArrival *arrivals;
        const uint8_t *payloads; /* NIC_PAYLOAD_MAX bytes apart */
        uint64_t left;           /* that still wait there */
} NicBox;

typedef void (*NicTake)(void *userdata, unsigned chip, const NicBox *box);

/* Takes what has arrived at the adapters of CHIPS, as many at a time as the window has room for, and hands it to TAKE, one adapter after
 * the other. */
int device_nic_receive(Device *device, const uint8_t *chips, size_t n, const NicRoom *room, NicTake take, void *userdata);

/* How many packets wait at each adapter, without taking one. */
int device_nic_waiting(Device *device, const uint8_t *chips, size_t n, uint64_t *ret, int *ret_errors);
