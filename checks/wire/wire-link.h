/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What goes between chips, of the bytes of the device port: NeuronLink and EFA. Part of wire.h, which is included instead. */

#include <assert.h>
#include <stdint.h>

#define WIRE_SERVER_MAX  32u

/* ---------------------------------------------------------------- links */

#define WIRE_FRAME_MAX  256u
#define LINK_LANES_XY   32u
#define LINK_LANES_Z    16u
#define LINK_LANES_MAX  32u
#define LINK_LANE_GBPS  32u

/*
 * A lane on its way from port A to port B passes A's transmitter (PCS, then PMA), the line (driver, board or cable, the
 * receiver's input) and B's receiver (PMA, then PCS). Two ports and a line each way are a link.
 */
typedef struct WireLinkStatus { /* the result of COMMAND_LINK_STATUS, in the window */
        uint8_t up;
        uint8_t width;      /* lanes that trained, 0 while down */
        uint16_t lane_gbps; /* of each: LINK_LANE_GBPS, or 16, 8, 5 where it trained slower; 0 while down */
        uint8_t present;    /* 1: something is plugged in here (always, for a trace of the board) */
        uint8_t reserved[3];
        /* The port's own counters, modulo 2^64, of some revisions modulo 2^32: frames, those that it had to send once more, what it
         * received wrong (bits of PRBS, frames whose check failed), how often it trained again after it had been up. A write to
         * assay/link/PORT/errors or …/replays or …/retrains clears that one. */
        uint64_t frames_sent, frames_received, replays, errors, retrains;
} WireLinkStatus;

typedef enum WirePrbs {
        PRBS7,
        PRBS9,
        PRBS11,
        PRBS13,
        PRBS15,
        PRBS20,
        PRBS23,
        PRBS31,
        _PRBS_MAX,
} WirePrbs;

/*
 * Both ends of the cable are driven for `bits` bits per lane: the far end sends, lane l starting from state
 * prbs_seed(seed, l) = splitmix64(seed ^ l) in its low bits (1 where these are zero), but for the lanes of the mask `quiet`, which
 * send an idle line (all zeros). This end has a checker per lane, which knows the polynomial and nothing of the seed:
 *
 *   acquire  At bit p it takes k bits (the degree) as state and predicts each of the next LINK_LOCK_BITS from the k bits that arrived before
 *            it. All right: it is in lock, from bit p on. All wrong: in lock, inverted. Else again at p + 1. Idle lines, at either level,
 *            are no pattern: a state of zeros, once uninverted, is none.
 *   compare  In lock it runs on its own from that state, so that each wrong bit counts once, in blocks of LINK_BLOCK_BITS from p + k on.
 *            A block with LINK_LOSS_ERRORS wrong bits and more counts as any other and ends the lock: then it acquires anew from
 *            the bit behind it (a resync). The last block may be shorter.
 *
 * `offset` moves the sampling point of all lanes of this end away from the middle of the eye, late where positive: closer to its edge
 * more bits are wrong, by the jitter of the lane, so that few bits tell what a lane that is right does in many. The eye of a sound lane is
 * 32 parts wide on each side, and 4.03 parts are a sigma of its jitter: in the middle one bit in 1e15 is wrong. Of an idle line nothing
 * is, and beyond one wrong bit in ten there is no clock: the lane never locks.
 *
 * Receivers take up skew: lanes of a port that are up to LINK_DESKEW_BITS apart are in order (5 ns at 32 Gb/s, what PCI Express 5.0 has
 * its receivers bear); further apart, no frame arrives, and PRBS shows how late a lane is.
 */
#define LINK_LOCK_BITS   128u
#define LINK_BLOCK_BITS  256u
#define LINK_LOSS_ERRORS 96u
#define LINK_OFFSET_MAX  31 /* of 64 parts of a unit interval */
#define LINK_DESKEW_BITS 160
#define LINK_TRANSITIONS_MAX 255u

typedef struct WireLinkPrbs {
        uint64_t bits;
        uint64_t seed;
        uint32_t quiet;
        int8_t offset; /* −LINK_OFFSET_MAX … LINK_OFFSET_MAX */
        uint8_t polynomial;
        uint8_t reserved[2];
} WireLinkPrbs;

typedef struct WireLane {
        uint64_t bits;           /* in lock: those asked for, but for what passed without one */
        uint64_t errors;         /* among them */
        uint64_t errored_blocks; /* with at least one */
        uint64_t transitions;    /* of the received line over all bits, by a counter that stops at LINK_TRANSITIONS_MAX: 0 when idle at
                                  * either level */
        uint32_t resyncs;        /* how often lock was lost and found again */
        int32_t slipped;         /* bits by which the pattern was later at the last lock than at the first, from lock to lock by the nearer
                                  * way round its period: of clocks that slip */
        uint32_t state;          /* of the generator, uninverted, before the bit that arrived first, worked back from the first lock: whose
                                  * lane this is, and how late; without a lock the level of an idle line, 0 or all ones */
        uint8_t locked;          /* lock was found at least once; else bits, errors and what hangs on them are 0 */
        uint8_t inverted;
        uint8_t reserved[2];
} WireLane;

typedef enum WireLoopback {
        LOOPBACK_NEAR_PCS, /* this end's transmitter PCS to its receiver PCS */
        LOOPBACK_NEAR_PMA, /* the same with both PMA; neither has the line in it */
        LOOPBACK_FAR_PMA,  /* over the line, turned round between the far end's PMA, and back */
        LOOPBACK_FAR_PCS,  /* the same behind its PCS */
        _LOOPBACK_MAX,
} WireLoopback;

typedef struct WireLinkLoopback { /* out: WireLane[], as for PRBS; this end sends and receives */
        WireLinkPrbs prbs;
        uint8_t stage;
        uint8_t reserved[7];
} WireLinkLoopback;

/*
 * The far end sends so many bytes of payload to this end, as a collective would, in frames of WIRE_FRAME_MAX: width × lane_gbps, and once
 * more what arrives wrong. HW_ERROR: the link is down, or too much of it arrives wrong.
 */
typedef struct WireLinkTransfer {
        uint64_t bytes; /* at most 2^40 */
} WireLinkTransfer;

/* ---------------------------------------------------------------- NIC */

/*
 * An EFA adapter sends `packets` packets of one flow to the adapter of (server, chip), which may be itself: packet s of
 * 0 … packets−1 has `bytes` bytes of payload and the CRC32C of it. Byte i is byte i % 8 of the word x ^ x >> 32, where
 * x = splitmix64(seed ^ flow << 32 ^ s) + i / 8 × 0x9e3779b97f4a7c15: no word of a packet is there twice, and making it costs no more
 * than the CRC of it. SRD: reliable, at most once, unordered, no segmentation; a message is one packet.
 *
 * Between any two adapters the fabric has NIC_PATHS paths. A sprayed flow takes them all in turn, packet s path (h + s) % NIC_PATHS,
 * h being a hash of seed and flow; a pinned one keeps to the path it names, also with what is sent again. An adapter's packets to itself
 * are turned round in it and see no path: they arrive with path 0. What is lost on the way is sent again, if need be several times, until
 * it arrives, late: retrans_pkts, retrans_bytes and retrans_timeout_events move at the sender, and nobody else sees anything but time.
 * Where the receiver has no buffer posted (RNR) a packet is gone: the device does not try again.
 *
 * Completion: result[0] = packets the device says were delivered, result[1] = EFA completion status: 0 ok, 10 receiver not ready,
 * 13 unresponsive remote, 15 unreachable. device_nsec: how long the adapter was busy sending, by the clock of its chip and not its own; the
 * packets leave at equal distances. Counters: hw_counters/NAME, the names of the public driver; those of RDMA stand still here, as there are no such commands.
 */
#define NIC_PATHS        16u
#define NIC_PATH_SPRAYED UINT32_MAX
#define NIC_GBPS         200u

typedef struct WireNicSend {
        char server[WIRE_SERVER_MAX];
        uint32_t chip;
        uint32_t flow;
        uint32_t packets; /* 1 … 65536 */
        uint32_t bytes;   /* 1 … 8192, the MTU */
        uint64_t seed;
        uint32_t path;    /* NIC_PATH_SPRAYED, or 0 … NIC_PATHS−1: pinned */
        uint32_t reserved;
} WireNicSend;

/* What has arrived here since the last time: out: WireArrival[]; result[0] = how many there are in all,
 * result[1] = how many of them were written, as many as arrivals_max allows; the others stay. Flows one after another, each in the order of arrival. */
typedef struct WireNicReceive {
        uint32_t arrivals_max;
        uint32_t payload_min;  /* bytes: of each flow of so many and more the payload of the first arrival is written too */
        uint32_t payload_offset; /* in the window, 8192 bytes apart, within the out area behind the arrivals */
        uint32_t payload_max;    /* payloads; 0: none */
} WireNicReceive;

/*
 * Both times are hardware time stamps on one clock: the adapters' PTP clocks, which are disciplined to the same grandmaster, within a
 * server and between servers: `sent` of the sender's, `arrived` of the receiver's. Only differences mean something. `sent`: the last byte left the sender's adapter, of a packet that was
 * sent more than once for the first time; so arrived − sent is the latency of the fabric, and the spacing of `sent` the bandwidth.
 */
typedef struct WireArrival {
        uint32_t flow;
        uint32_t sequence;
        uint32_t bytes;
        uint32_t crc32c;  /* computed over the payload that arrived */
        uint32_t path;    /* on which it came at last */
        uint16_t chip;    /* sender's */
        uint16_t payload; /* 1 + its index at payload_offset, 0: not written */
        char server[WIRE_SERVER_MAX];
        uint64_t sent_nsec, arrived_nsec;
} WireArrival;

/* ---------------------------------------------------------------- host PCIe */

/*
 * The chip, or the adapter beside it, moves `bytes` from or to memory of the host over its own PCIe link and checks them: result[0] =
 * bytes moved; the time is what it took. What the links are stands in attributes, by the names of Linux: device/ the chip's, efa/device/
 * the adapter's, each {current,max}_link_{width,speed} and aer_dev_correctable.
 */
typedef struct WireHostTransfer {
        uint64_t bytes;  /* 1 … 2^30 */
        uint8_t adapter; /* 0: the chip's link, 1: the adapter's */
        uint8_t to_host; /* 0: from the host, 1: to it */
        uint8_t reserved[6];
} WireHostTransfer;

static_assert(sizeof(WireLinkPrbs) == 24, "wire");
static_assert(sizeof(WireLane) == 48, "wire");
static_assert(sizeof(WireNicSend) == 64, "wire");
static_assert(sizeof(WireArrival) == 72, "wire");
static_assert(sizeof(WireHostTransfer) == 16, "wire");
