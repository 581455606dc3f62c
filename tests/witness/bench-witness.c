/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a checkpoint costs a witness: the log's signature is checked, the proof too, the new state is committed with its sync, and the
 * cosignature is made. The reference is the bare cryptography, one Ed25519 verification and one signature, in the same run.
 */

#include <stdio.h>
#include <time.h>

#include "tests/witness/ask.h"

#define CHECKPOINTS 1500
#define ROUNDS      1000

static double now_usec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

static double bare_usec(const Ask *ask) {
        static const char text[] = PLACE_ORIGIN "\n11\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        uint8_t signature[KEY_SIGNATURE_MAX];
        double start = now_usec(CLOCK_PROCESS_CPUTIME_ID);
        size_t n;

        for (unsigned i = 0; i < ROUNDS; i++)
                if (key_sign(ask->log, text, sizeof(text), signature, &n) < 0 ||
                    public_key_verify(key_public(ask->log), text, sizeof(text), signature, n) != 1)
                        abort();
        return (now_usec(CLOCK_PROCESS_CPUTIME_ID) - start) / ROUNDS;
}

static Printer bodies[CHECKPOINTS];

/* Of each checkpoint in turn; OLD is what was held before. */
static void run(Ask *ask, double *ret_cpu, double *ret_wall) {
        double cpu = now_usec(CLOCK_PROCESS_CPUTIME_ID), wall = now_usec(CLOCK_MONOTONIC);

        for (unsigned i = 0; i < CHECKPOINTS; i++) {
                WitnessReply reply;

                witness_add_checkpoint(&ask->witness, bodies[i].text, bodies[i].n, UINT64_C(1790000000000000) + i, &reply);
                if (reply.answer != WITNESS_COSIGNED)
                        abort();
                witness_reply_done(&reply);
        }
        *ret_cpu = (now_usec(CLOCK_PROCESS_CPUTIME_ID) - cpu) / CHECKPOINTS;
        *ret_wall = (now_usec(CLOCK_MONOTONIC) - wall) / CHECKPOINTS;
}

int main(void) {
        double bare, cpu, wall;
        static Ask one;

        ask_init(&one);
        while (one.size < 2 * CHECKPOINTS)
                ask_grow(&one, 0);
        for (unsigned i = 0; i < CHECKPOINTS; i++)
                ask_print(&one, 2 * i, 2 * i + 2, &bodies[i]);
        bare = bare_usec(&one);
        run(&one, &cpu, &wall);
        printf("witness-cosign %.0f checkpoints/s of CPU %.2f to bare-verify-and-sign\n", 1e6 / cpu, bare / cpu);
        printf("witness-cosign-with-sync %.0f checkpoints/s\n", 1e6 / wall);

        for (unsigned i = 0; i < CHECKPOINTS; i++)
                printer_done(&bodies[i]);
        ask_done(&one);
        return 0;
}
