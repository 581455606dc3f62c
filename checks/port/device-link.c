/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/port/device-link.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#define REPLAYS_MAX 64u /* of one frame, on average: beyond it nothing would arrive */

/* How one call makes its commands and reads what comes back; index counts the caller's arrays. */
typedef struct LinkCall {
        const WireCommand *commands; /* of one kind: type and parameters, one for all ends or, with each, one per end */
        bool each;
        const LinkFrame *frames; /* what goes in */
        size_t out_bytes;        /* room per end */
        int (*read)(const uint8_t *out, const WireCompletion *completion, const WireCommand *command, size_t index, void *ret);
        void *ret;
} LinkCall;

unsigned link_port_width(unsigned port) {
        return port == LINK_Z_PLUS || port == LINK_Z_MINUS ? LINK_LANES_Z : LINK_LANES_XY;
}

static int end_error(uint32_t status) {
        switch (status) {
        case STATUS_NRT_SUCCESS:
                return 0;
        case STATUS_NRT_INVALID_HANDLE:
                return -ENXIO;
        case STATUS_NRT_QUEUE_EMPTY:
                return -ENOENT;
        case STATUS_NRT_TIMEOUT:
                return -ETIMEDOUT;
        case DEVICE_STATUS_GARBLED:
                return -EPROTO;
        default:
                return -EREMOTEIO;
        }
}

/* One batch of ends first … first + n - 1, each with a slot of the window of its own. */
static int run_batch(Device *device, const LinkEnd *ends, size_t first, size_t n, size_t slot_bytes, const LinkCall *call,
                     int *ret_errors) {
        WireCompletion completions[WIRE_BATCH_MAX];
        WireCommand commands[WIRE_BATCH_MAX];
        uint8_t *slots;
        int r;

        slots = slot_bytes > 0 ? device_window_take(device, n * slot_bytes) : NULL;
        if (!slots && slot_bytes > 0)
                return -ENOSPC;

        for (size_t i = 0; i < n; i++) {
                WireCommand *command = &commands[i];

                *command = call->commands[call->each ? first + i : 0];
                command->chip = ends[first + i].chip;
                command->unit = ends[first + i].port;
                if (slots)
                        command->in_offset = command->out_offset = device_window_offset(device, slots + i * slot_bytes);
                command->out_bytes = (uint32_t) call->out_bytes;
                if (call->frames) {
                        command->in_bytes = call->frames[first + i].n_bytes;
                        memcpy(slots + i * slot_bytes, call->frames[first + i].bytes, command->in_bytes);
                }
        }

        r = device_execute(device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        for (size_t i = 0; i < n; i++) {
                int *error = &ret_errors[first + i];

                *error = end_error(completions[i].status);
                if (*error >= 0 && call->read)
                        *error = call->read(slots ? slots + i * slot_bytes : NULL, &completions[i], &commands[i], first + i, call->ret);
        }

        return 0;
}

static int run_call(Device *device, const LinkEnd *ends, size_t n, const LinkCall *call, int *ret_errors) {
        size_t slot_bytes = MAX(call->out_bytes, call->frames ? WIRE_FRAME_MAX : 0u);
        size_t batch;
        int r = 0;

        slot_bytes = (slot_bytes + WIRE_ALIGNMENT - 1) & ~(size_t) (WIRE_ALIGNMENT - 1);
        device_window_reset(device);
        batch = slot_bytes == 0 ? WIRE_BATCH_MAX : MIN(device_window_free(device) / slot_bytes, WIRE_BATCH_MAX);
        if (batch == 0)
                return -ENOSPC;

        for (size_t first = 0; first < n && r >= 0; first += batch) {
                r = run_batch(device, ends, first, MIN(n - first, batch), slot_bytes, call, ret_errors);
                device_window_reset(device);
        }

        return r;
}

static bool speed_is_known(const WireLinkStatus *status) {
        static const uint16_t speeds[] = { LINK_LANE_GBPS, 16, 8, 5 };

        for (size_t i = 0; i < ELEMENTS(speeds) && status->up; i++)
                if (status->lane_gbps == speeds[i])
                        return true;

        return !status->up && status->lane_gbps == 0;
}

static int read_status(const uint8_t *out, const WireCompletion *completion, const WireCommand *command, size_t index, void *ret) {
        WireLinkStatus *status = (WireLinkStatus *) ret + index;

        if (completion->out_bytes != sizeof(*status))
                return -EPROTO;

        memcpy(status, out, sizeof(*status));
        return status->up > 1 || status->present > 1 || status->width > link_port_width(command->unit) ||
               (status->width > 0) != status->up || !speed_is_known(status) ? -EPROTO : 0;
}

int device_link_status(Device *device, const LinkEnd *ends, size_t n, WireLinkStatus *ret, int *ret_errors) {
        WireCommand command = { .type = COMMAND_LINK_STATUS };

        return run_call(device, ends, n, &(LinkCall) {
                .commands = &command, .out_bytes = sizeof(WireLinkStatus), .read = read_status, .ret = ret,
        }, ret_errors);
}

int device_link_clear(Device *device, const LinkEnd *ends, size_t n, const char *counter, int *ret_errors) {
        WireCommand command = { .type = COMMAND_ATTRIBUTE_WRITE };
        _cleanup_free_ LinkFrame *texts = NULL;

        texts = calloc(n > 0 ? n : 1, sizeof(*texts));
        if (!texts)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) { /* path, a zero byte, the text */
                char *text = (char *) texts[i].bytes;
                int length;

                length = snprintf(text, WIRE_FRAME_MAX - 1, "assay/link/%s/%s", link_port_to_string((LinkPort) ends[i].port), counter);
                assert(length > 0 && (size_t) length < WIRE_FRAME_MAX - 1);
                text[length + 1] = '0';
                texts[i].n_bytes = (uint32_t) length + 2;
        }

        return run_call(device, ends, n, &(LinkCall) { .commands = &command, .frames = texts }, ret_errors);
}

int device_link_send(Device *device, const LinkEnd *ends, size_t n, const LinkFrame *frames, int *ret_errors) {
        WireCommand command = { .type = COMMAND_LINK_SEND };

        for (size_t i = 0; i < n; i++)
                if (frames[i].n_bytes == 0 || frames[i].n_bytes > WIRE_FRAME_MAX)
                        return -EINVAL;

        return run_call(device, ends, n, &(LinkCall) { .commands = &command, .frames = frames }, ret_errors);
}

static int read_frame(const uint8_t *out, const WireCompletion *completion, const WireCommand *command, size_t index, void *ret) {
        LinkFrame *frame = (LinkFrame *) ret + index;
        uint32_t n_bytes = completion->out_bytes;

        if (n_bytes == 0 || n_bytes > WIRE_FRAME_MAX)
                return -EPROTO;

        frame->n_bytes = n_bytes;
        memcpy(frame->bytes, out, n_bytes);
        return 0;
}

int device_link_receive(Device *device, const LinkEnd *ends, size_t n, LinkFrame *ret, int *ret_errors) {
        WireCommand command = { .type = COMMAND_LINK_RECEIVE };

        return run_call(device, ends, n, &(LinkCall) {
                .commands = &command, .out_bytes = WIRE_FRAME_MAX, .read = read_frame, .ret = ret,
        }, ret_errors);
}

static bool lane_is_possible(const WireLane *lane, const WireLinkPrbs *prbs) {
        uint64_t blocks_max;

        if (lane->locked > 1 || lane->inverted > 1 || lane->bits > prbs->bits || lane->transitions > LINK_TRANSITIONS_MAX)
                return false;
        if (!lane->locked)
                return lane->bits == 0 && lane->errors == 0 && lane->errored_blocks == 0 && lane->resyncs == 0 && lane->slipped == 0;

        if (lane->errors == 0)
                return lane->errored_blocks == 0 && lane->resyncs == 0 && lane->slipped == 0;

        /* Each lock begins and ends a block anywhere. */
        blocks_max = lane->bits / LINK_BLOCK_BITS + 2 * (UINT64_C(1) + lane->resyncs);
        return lane->errors <= lane->bits && lane->errored_blocks <= lane->errors && lane->errored_blocks <= blocks_max &&
               (lane->errors + LINK_BLOCK_BITS - 1) / LINK_BLOCK_BITS <= lane->errored_blocks &&
               lane->errors / LINK_LOSS_ERRORS >= lane->resyncs && lane->errored_blocks >= lane->resyncs; /* by one each a lock ends */
}

static int read_lanes(const uint8_t *out, const WireCompletion *completion, const WireCommand *command, size_t index, void *ret) {
        LinkLanes *lanes = (LinkLanes *) ret + index;

        lanes->n = link_port_width(command->unit);
        if (completion->out_bytes != lanes->n * sizeof(WireLane))
                return -EPROTO;

        memcpy(lanes->lanes, out, completion->out_bytes);
        /* PRBS and loopback begin with the same struct. */
        for (unsigned l = 0; l < lanes->n; l++)
                if (!lane_is_possible(&lanes->lanes[l], &command->prbs))
                        return -EPROTO;

        return 0;
}

static int run_prbs(Device *device, const LinkEnd *ends, size_t n, const WireCommand *commands, LinkLanes *ret,
                    int *ret_errors) {
        return run_call(device, ends, n, &(LinkCall) {
                .commands = commands, .each = true, .out_bytes = sizeof(ret->lanes), .read = read_lanes, .ret = ret,
        }, ret_errors);
}

int device_link_prbs(Device *device, const LinkEnd *ends, size_t n, const WireLinkPrbs *prbs, LinkLanes *ret,
                     int *ret_errors) {
        _cleanup_free_ WireCommand *commands = NULL;

        commands = calloc(n > 0 ? n : 1, sizeof(*commands));
        if (!commands)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++)
                commands[i] = (WireCommand) { .type = COMMAND_LINK_PRBS, .prbs = prbs[i] };

        return run_prbs(device, ends, n, commands, ret, ret_errors);
}

int device_link_loopback(Device *device, const LinkEnd *ends, size_t n, WireLoopback stage, const WireLinkPrbs *prbs,
                         LinkLanes *ret, int *ret_errors) {
        _cleanup_free_ WireCommand *commands = NULL;

        commands = calloc(n > 0 ? n : 1, sizeof(*commands));
        if (!commands)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++)
                commands[i] = (WireCommand) {
                        .type = COMMAND_LINK_LOOPBACK, .loopback = { .prbs = prbs[i], .stage = (uint8_t) stage },
                };

        return run_prbs(device, ends, n, commands, ret, ret_errors);
}

static int read_transfer(const uint8_t *out, const WireCompletion *completion, const WireCommand *command, size_t index, void *ret) {
        uint64_t n_frames = command->transfer.bytes / WIRE_FRAME_MAX + 1;

        if (completion->out_bytes != 0 || completion->result[0] != command->transfer.bytes || completion->device_nsec == 0 ||
            completion->result[1] / REPLAYS_MAX > n_frames)
                return -EPROTO;

        ((LinkTransfer *) ret)[index] = (LinkTransfer) { completion->device_nsec, completion->result[1] };
        return 0;
}

int device_link_transfer(Device *device, const LinkEnd *ends, size_t n, uint64_t bytes, LinkTransfer *ret, int *ret_errors) {
        WireCommand command = { .type = COMMAND_LINK_TRANSFER, .transfer.bytes = bytes };

        return run_call(device, ends, n, &(LinkCall) { .commands = &command, .read = read_transfer, .ret = ret }, ret_errors);
}
