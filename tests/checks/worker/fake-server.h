/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of sixteen chips that does nothing but answer, in a process of its own: attributes, and
 * everything else with success at once. It can stop answering in ways that a simulated server cannot be
 * asked for.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum FakeFault {
        FAKE_NONE,
        FAKE_HANG,         /* the chip says nothing from its first own batch on */
        FAKE_HANG_PARTLY,  /* the same, but it still answers over the server's connection */
        FAKE_HANG_FROM_START, /* over no connection at all */
        FAKE_HANG_ALL,     /* nothing answers any more once any chip was spoken to */
        FAKE_HANG_ALONE,   /* as FAKE_HANG, and the server has no other chip that answers */
        FAKE_SILENT_ONCE,  /* over the server's connection, to the first question to it */
        FAKE_SILENT_AT_TIMES, /* … and to every twentieth after that */
        FAKE_SILENT_ALONE, /* the same, and the server has no other chip that answers */
        FAKE_WRONG_SEQUENCE,
        FAKE_SHORT_ANSWER,
        FAKE_TOO_MANY_BYTES,
        FAKE_SAYS_NOTHING, /* the attributes of the chip are there, over all connections, and empty */
        FAKE_SAYS_NOTHING_ALL, /* those of all chips */
        FAKE_GARBLED_ALL,  /* wrong sequences over all connections, once any chip was spoken to */
        FAKE_REFUSES_ALL,  /* whatever the chip is asked over the server's connection is refused, as if it were a claim */
        FAKE_HANG_LATER,   /* the chip says nothing any more behind the batch in which it was first told to do something */
        FAKE_SILENT_LATER, /* over the server's connection, to one question behind the first command */
        FAKE_GARBLED_LATER, /* as FAKE_HANG_LATER, and over its own connections what it says makes no sense */
        FAKE_SILENT_AT_WORK, /* over the server's connection the chip answers questions and is silent to whatever it is told to do */
        FAKE_SILENT_IN_TURN, /* the same, until chip 0 was told to do two things; then the next chip, and so on */
        FAKE_GONE,         /* the whole server leaves when the chip is spoken to */
        FAKE_GONE_LATER,   /* … behind the batch in which it was first told to do something */
} FakeFault;

typedef struct FakeOptions {
        const char *path; /* of the socket */
        FakeFault fault;
        uint8_t chip;
        uint16_t occupied; /* bit per chip */
        uint16_t in_use;   /* chips that have rows in use and say that they are not occupied */
        uint16_t taken;    /* chips that say so from their first own batch on */
        uint16_t begun;    /* chips on which a job begins with their … */
        unsigned begun_with; /* … command of this number, of those that are no attributes, from 1 */
        bool leaves;       /* … and ends when the chip has said so; it begins again with the next */
        uint16_t reticent; /* chips that refuse to tell over their own connections whether they are occupied, once they were told to do something */
        uint16_t secretive; /* the same, over all connections */
        uint16_t claimed;  /* chips that another client has */
        unsigned n_refusals; /* … until a claim of each was refused so often; 0: for ever */
        bool nonsense;     /* what tells of parts, software and sensors says what none of them can */
        unsigned n_stalls; /* so many times, when the chip is spoken to, */
        unsigned stall_msec; /* the whole server stands still for so long; what hangs does so after it */
} FakeOptions;

pid_t fake_server_start(const FakeOptions *options);
void fake_server_stop(pid_t pid);
