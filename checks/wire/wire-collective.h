/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Collectives, of the bytes of the device port. Part of wire.h, which is included instead. */

#include <assert.h>
#include <stdint.h>

/*
 * Beside its engines a chip has CC-cores, which run its part (a rank's) of a collective without the host: per ring a program of
 * steps. In each step the rank sends a block out of one port and takes one in at another; its DMA engine writes the block into the
 * chip that is really plugged there, and then counts up a semaphore of it. The ranks of one collective may be on several
 * servers, so all are posted first (COMMAND_COLLECTIVE_POST) and then waited for (COMMAND_COLLECTIVE_WAIT); those that are posted run
 * when the first is waited for, and those that are not then take no part. One collective per chip at a time: a post, a wait and
 * a reset drop what was posted before.
 *
 * Vectors are of `elements` elements; with n ranks, shard k is those from elements × k / n up to elements × (k + 1) / n, rounded
 * down. Over R rings, ring c carries part c of each shard, cut the same way.
 *
 *   operation       in            out                                  steps of each ring, at position p of it
 *   all-reduce      vector        sum of all ranks'                    reduce-scatter, then all-gather
 *   all-gather      own shard     vector: every rank's shard           n − 1: sends the shard of position p − s, takes in that of p − 1 − s
 *   reduce-scatter  vector        own shard of the sum                 n − 1: sends that of p − 1 − s, takes in that of p − 2 − s, adds
 *   all-to-all      vector: to    from each rank, in their order, as   n − 1: sends of position p − s what goes to p + 1 … p − s + n − 1,
 *                   rank k shard  many elements as the own shard has   takes in of p − 1 − s what goes to p … and keeps its own
 *   send-receive    vector        vector                               1: part c of all goes out of the send port of ring c, and what comes
 *                                                                      in at its receive port is part c; without a port it stays 0
 *
 * Positions count modulo n; step s is 0 … . A sum is received + own, as binary32, rounded to nearest even and then to the
 * format at each rank; so that of position q is (((x[q + 1] + x[q + 2]) + …) + x[q]). uint8 is added as a number and ends at 255.
 *
 * A step begins when the one before is done, and is done when its block is there and added or passed on. A CC-core takes
 * COLLECTIVE_STEP_NSEC and COLLECTIVE_BYTES_PER_NSEC for it, to within a few percent from chip to chip, the block up to COLLECTIVE_HOP_NSEC and what the link takes for its
 * bytes (COMMAND_LINK_TRANSFER). `repeat` makes every block so many times as long in time and on the wire, of the same bytes: what is
 * left in the end is what the last of them was.
 */
#define COLLECTIVE_RANKS_MAX      64u
#define COLLECTIVE_RINGS_MAX      6u
#define COLLECTIVE_BYTES_MAX      (1u << 20) /* of a vector, of all-to-all of all ranks' */
#define COLLECTIVE_REPEAT_MAX     (1u << 24)
#define COLLECTIVE_NO_PORT        0xffu
#define COLLECTIVE_STEP_NSEC      500u
#define COLLECTIVE_BYTES_PER_NSEC 1000u /* adding and passing on, all rings side by side */
#define COLLECTIVE_HOP_NSEC       2000u

typedef enum WireCollective {
        COLLECTIVE_ALL_REDUCE,
        COLLECTIVE_ALL_GATHER,
        COLLECTIVE_REDUCE_SCATTER,
        COLLECTIVE_ALL_TO_ALL,
        COLLECTIVE_SEND_RECEIVE,
        _COLLECTIVE_MAX,
} WireCollective;

typedef enum WireElement {
        ELEMENT_FP32,
        ELEMENT_BF16,
        ELEMENT_UINT8,
        _ELEMENT_MAX,
} WireElement;

typedef struct WireCollectiveRing {
        uint8_t send_port, receive_port; /* LinkPort; of send-receive one may be COLLECTIVE_NO_PORT */
        uint8_t position;                /* of this rank */
        uint8_t reserved;
        uint8_t order[COLLECTIVE_RANKS_MAX]; /* the rank at each position; send-receive does not use it */
} WireCollectiveRing;

typedef struct WireCollectivePost { /* in: WireCollectiveRing[rings], and then the input */
        uint64_t group;    /* the caller's number: posts with the same one belong together */
        uint32_t elements; /* 1 … COLLECTIVE_BYTES_MAX bytes of them */
        uint32_t repeat;   /* 1 … COLLECTIVE_REPEAT_MAX */
        uint8_t operation; /* WireCollective */
        uint8_t format;    /* WireElement */
        uint8_t rank, ranks;
        uint8_t rings;     /* 1 … COLLECTIVE_RINGS_MAX */
        uint8_t reserved[3];
} WireCollectivePost;

/*
 * out: WireCollectiveStatus and then, where the rank has done all of its steps, the output. Else the status of the completion is
 * NRT_HW_ERR_COLLECTIVES after timeout_nsec, there is no output, and the status tells how far the rank was then; what it had
 * begun counts in no time. In either case the rank is free for another collective.
 */
typedef struct WireCollectiveWait {
        uint64_t group;
        uint64_t timeout_nsec; /* at most 2^40 */
} WireCollectiveWait;

typedef struct WireCollectiveProgress { /* of one ring */
        uint32_t steps;
        uint32_t begun;         /* handed to the DMA queue of the send port */
        uint32_t arrived;       /* the semaphore that its predecessor counts up */
        uint32_t done;          /* done ≤ begun ≤ done + 1, done ≤ arrived */
        uint64_t sent, received; /* bytes that the ports took and gave */
        uint64_t wait_nsec;     /* a step of its own begun, before the predecessor's did */
        uint64_t transfer_nsec; /* blocks coming in */
        uint64_t work_nsec;     /* the CC-core's own */
} WireCollectiveProgress;

typedef struct WireCollectiveStatus {
        uint64_t nsec; /* from when the last rank was posted until this one was done, or what was waited */
        uint32_t rings;
        uint32_t reserved;
        WireCollectiveProgress progress[COLLECTIVE_RINGS_MAX];
} WireCollectiveStatus;

static_assert(sizeof(WireCollectiveRing) == 68, "wire");
static_assert(sizeof(WireCollectivePost) == 24, "wire");
static_assert(sizeof(WireCollectiveStatus) == 352, "wire");
