/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The NeuronLink ports of a server, many at a time: each call runs one command at each of N ends, in as few batches as
 * the window allows, and says of each end on its own what became of it:
 *
 *     0            done
 *     -ENXIO       there is no such port
 *     -ENOENT      no frame has arrived
 *     -ETIMEDOUT   its chip does not answer
 *     -EPROTO      it answered what no port may say
 *     -EREMOTEIO   anything else
 *
 * The calls themselves fail only where the device port does.
 */

#include "checks/port/device.h"

typedef struct LinkEnd {
        uint8_t chip;
        uint8_t port; /* LinkPort */
} LinkEnd;

typedef struct LinkFrame {
        uint32_t n_bytes;
        uint8_t bytes[WIRE_FRAME_MAX];
} LinkFrame;

typedef struct LinkLanes {
        unsigned n;
        WireLane lanes[LINK_LANES_MAX];
} LinkLanes;

typedef struct LinkTransfer {
        uint64_t nsec;    /* what it took */
        uint64_t replays; /* frames that were sent once more */
} LinkTransfer;

unsigned link_port_width(unsigned port); /* lanes it is built with */

int device_link_status(Device *device, const LinkEnd *ends, size_t n, WireLinkStatus *ret, int *ret_errors);
/* Sets the port's own counter `errors`, `replays` or `retrains` to zero, see wire-link.h. */
int device_link_clear(Device *device, const LinkEnd *ends, size_t n, const char *counter, int *ret_errors);
int device_link_send(Device *device, const LinkEnd *ends, size_t n, const LinkFrame *frames, int *ret_errors);
int device_link_receive(Device *device, const LinkEnd *ends, size_t n, LinkFrame *ret, int *ret_errors);

/* What each end receives while its far end sends; prbs[i] is for ends[i]. */
int device_link_prbs(Device *device, const LinkEnd *ends, size_t n, const WireLinkPrbs *prbs, LinkLanes *ret,
                     int *ret_errors);
int device_link_loopback(Device *device, const LinkEnd *ends, size_t n, WireLoopback stage, const WireLinkPrbs *prbs,
                         LinkLanes *ret, int *ret_errors);

/* Each end receives BYTES of payload from its far end. Fewer that arrive are -EPROTO: then it would not have been done. */
int device_link_transfer(Device *device, const LinkEnd *ends, size_t n, uint64_t bytes, LinkTransfer *ret, int *ret_errors);
