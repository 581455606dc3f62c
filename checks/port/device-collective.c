/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-collective.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>

static int rank_error(uint32_t status) {
        switch (status) {
        case STATUS_NRT_SUCCESS:
                return 0;
        case STATUS_NRT_HW_ERR_COLLECTIVES:
                return -ETIME;
        case STATUS_NRT_TIMEOUT:
                return -ETIMEDOUT;
        case DEVICE_STATUS_GARBLED:
                return -EPROTO;
        default:
                return -EREMOTEIO;
        }
}

/* Makes one command, which may take room from the window, or reads what came of it. */
typedef struct RankCall {
        int (*make)(Device *device, CollectiveRank *rank, uint64_t timeout_nsec, WireCommand *ret);
        void (*read)(CollectiveRank *rank, const WireCommand *command, const WireCompletion *completion, const uint8_t *out,
                     uint64_t timeout_nsec);
        uint64_t timeout_nsec;
} RankCall;

/* As many ranks from FIRST on as the window has room for. Returns how many were looked at. */
static int run_batch(Device *device, CollectiveRank *ranks, size_t first, size_t n, const RankCall *call) {
        WireCompletion completions[CHIPS];
        WireCommand commands[CHIPS];
        size_t index[CHIPS], n_commands = 0, next = first;
        const uint8_t *window;
        int r = 0;

        device_window_reset(device);
        window = device_window_take(device, WIRE_ALIGNMENT);
        for (; next < n && n_commands < CHIPS; next++) {
                if (ranks[next].error < 0)
                        continue;
                r = call->make(device, &ranks[next], call->timeout_nsec, &commands[n_commands]);
                if (r < 0)
                        break;
                index[n_commands++] = next;
        }
        if (r < 0 && (r != -ENOSPC || n_commands == 0))
                return r;

        r = n_commands > 0 ? device_execute(device, commands, n_commands, completions) : 0;
        if (r < 0 && r != -EREMOTEIO)
                return r;
        for (size_t i = 0; i < n_commands; i++) {
                CollectiveRank *rank = &ranks[index[i]];

                rank->error = rank_error(completions[i].status);
                call->read(rank, &commands[i], &completions[i], window + (commands[i].out_offset - device_window_offset(device, window)),
                           call->timeout_nsec);
        }
        device_window_reset(device);
        return (int) (next - first);
}

static int run_call(Device *device, CollectiveRank *ranks, size_t n, const RankCall *call) {
        for (size_t first = 0; first < n;) {
                int r = run_batch(device, ranks, first, n, call);

                if (r < 0)
                        return r;
                first += (size_t) r;
        }

        return 0;
}

/* ---- posting ---- */

static int make_post(Device *device, CollectiveRank *rank, uint64_t timeout_nsec, WireCommand *ret) {
        size_t n_rings = rank->post.rings * sizeof(WireCollectiveRing);
        uint8_t *in = device_window_take(device, n_rings + rank->n_input);

        if (!in)
                return -ENOSPC;

        memcpy(in, rank->rings, n_rings);
        memcpy(in + n_rings, rank->input, rank->n_input);
        *ret = (WireCommand) {
                .type = COMMAND_COLLECTIVE_POST, .chip = rank->chip, .in_offset = device_window_offset(device, in),
                .in_bytes = (uint32_t) (n_rings + rank->n_input), .collective_post = rank->post,
        };
        return 0;
}

static void read_post(CollectiveRank *rank, const WireCommand *command, const WireCompletion *completion, const uint8_t *out,
                      uint64_t timeout_nsec) {
        if (rank->error == -ETIME) /* it has not begun */
                rank->error = -EPROTO;
}

int device_collective_post(Device *device, CollectiveRank *ranks, size_t n) {
        return run_call(device, ranks, n, &(RankCall) { .make = make_post, .read = read_post });
}

/* ---- waiting ---- */

static int make_wait(Device *device, CollectiveRank *rank, uint64_t timeout_nsec, WireCommand *ret) {
        size_t n_out = sizeof(WireCollectiveStatus) + rank->n_output;
        uint8_t *out = device_window_take(device, n_out);

        if (!out)
                return -ENOSPC;

        *ret = (WireCommand) {
                .type = COMMAND_COLLECTIVE_WAIT, .chip = rank->chip, .out_offset = device_window_offset(device, out),
                .out_bytes = (uint32_t) n_out, .collective_wait = { .group = rank->post.group, .timeout_nsec = timeout_nsec },
        };
        return 0;
}

static uint32_t steps_of(const WireCollectivePost *post) {
        switch ((WireCollective) post->operation) {
        case COLLECTIVE_ALL_REDUCE:
                return 2 * (post->ranks - 1u);
        case COLLECTIVE_ALL_GATHER:
        case COLLECTIVE_REDUCE_SCATTER:
        case COLLECTIVE_ALL_TO_ALL:
                return post->ranks - 1u;
        case COLLECTIVE_SEND_RECEIVE:
        case _COLLECTIVE_MAX:
                break;
        }
        return 1;
}

/* Whether a chip that is as it should be can be so far, all numbers of one ring together. */
static bool progress_is_possible(const WireCollectiveProgress *progress, uint32_t steps, uint64_t nsec) {
        uint64_t slack = (uint64_t) steps * COLLECTIVE_HOP_NSEC;

        return progress->steps == steps && progress->done <= steps && progress->begun >= progress->done &&
               progress->begun <= progress->done + 1 && progress->begun <= steps && progress->arrived >= progress->done &&
               progress->arrived <= steps && progress->wait_nsec <= nsec && progress->work_nsec <= nsec &&
               progress->transfer_nsec <= nsec + slack;
}

/* All rings together: it is done where all its steps are, unless that took it longer than was waited. */
static bool status_is_possible(const WireCollectiveStatus *status, const WireCollectivePost *post, bool done, uint64_t timeout_nsec) {
        uint32_t steps = steps_of(post);
        bool all = true;

        if (status->rings != post->rings || status->nsec > timeout_nsec)
                return false;
        for (unsigned c = 0; c < post->rings; c++) {
                if (!progress_is_possible(&status->progress[c], steps, done ? status->nsec : UINT64_MAX / 8))
                        return false;
                all = all && status->progress[c].done == steps;
        }
        return all == done || (all && status->nsec == timeout_nsec);
}

static void read_wait(CollectiveRank *rank, const WireCommand *command, const WireCompletion *completion, const uint8_t *out,
                      uint64_t timeout_nsec) {
        bool done = rank->error == 0;
        WireCollectiveStatus status;

        if (rank->error < 0 && rank->error != -ETIME)
                return;
        if (completion->out_bytes != sizeof(status) + (done ? rank->n_output : 0)) {
                rank->error = -EPROTO;
                return;
        }

        memcpy(&status, out, sizeof(status));
        if (!status_is_possible(&status, &rank->post, done, timeout_nsec)) {
                rank->error = -EPROTO;
                return;
        }

        rank->status = status;
        if (done)
                memcpy(rank->output, out + sizeof(status), rank->n_output);
}

int device_collective_wait(Device *device, CollectiveRank *ranks, size_t n, uint64_t timeout_nsec) {
        return run_call(device, ranks, n, &(RankCall) { .make = make_wait, .read = read_wait, .timeout_nsec = timeout_nsec });
}
