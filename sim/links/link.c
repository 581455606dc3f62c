/* SPDX-License-Identifier: Apache-2.0 */

/*
 * link
 *
 * The six NeuronLink ports of a chip: x and y on PCIe-5-like lanes over the server's board and backplane, 32 of them,
 * z over cables to the next server, 16 of them, 32 Gb/s each. One state per port.
 *
 * Everything that travels (frames, PRBS, transfers, loopback at the far end) follows the cables as they are plugged (cable.h), not
 * the design, and the segments of its way (link-path.h), where faults act.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/model.h"
#include "sim/links/link-faults.h"
#include "sim/links/link-path.h"
#include "sim/links/link.h"

#define REPLAYS_MAX     4u    /* how often the link layer sends a frame again */
#define ROUNDS_MAX      64u   /* the same of a transfer, before it gives up */
#define TRANSFER_MAX    (UINT64_C(1) << 40)
#define COMMAND_NSEC    1000u

int link_answer(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        execution->completion->device_nsec = COMMAND_NSEC;
        return 0;
}

void link_end_together(const Link *link, const Execution *execution) {
        uint64_t end = execution->start_nsec + execution->completion->device_nsec;

        chip_advance(link->chip, end);
        chip_advance(link_far(link)->chip, end);
}

Dice link_dice(const Link *link, const Execution *execution, uint64_t draw) {
        return (Dice) { draw_from(link->seed, execution->number, draw) };
}

/* ---------------------------------------------------------------- status and frames */

static int link_status(void *state, Execution *execution) {
        Link *link = state;
        WireLinkStatus status = { .width = (uint8_t) link_port_lanes(link->port), .lane_gbps = LINK_LANE_GBPS };

        if (!link_designed(link))
                return link_answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (execution->command->out_bytes < sizeof(status))
                return link_answer(execution, STATUS_NRT_INVALID);

        if (!link_path_is_sound(link)) {
                LinkPath path;

                link_path(link, LINK_WAY_REAL, execution, 0, 0, &path);
                status.width = (uint8_t) link_path_width(&path);
                status.lane_gbps = status.width > 0 ? (uint16_t) path.gbps : 0;
        }
        status.up = status.width > 0;
        status.present = cable_is_present(link);
        status.frames_sent = link_counter(link, LINK_FRAMES_SENT);
        status.frames_received = link_counter(link, LINK_FRAMES_RECEIVED);
        status.replays = link_counter(link, LINK_REPLAYS);
        status.errors = link_counter(link, LINK_ERRORS);
        status.retrains = link_counter(link, LINK_RETRAINS);

        memcpy(execution->out, &status, sizeof(status));
        execution->completion->out_bytes = sizeof(status);
        return link_answer(execution, STATUS_NRT_SUCCESS);
}

/* Whether one of its tries arrives as it was sent. What is wrong the receiver counts, and the sender what it sends again. */
static bool frame_arrives(Link *link, Link *far, const Execution *execution, const LinkCarriage *carriage) {
        double loss = link_frame_loss(carriage, execution->command->in_bytes);
        Dice dice = link_dice(far, execution, LINK_DRAW_FRAME);

        for (unsigned attempt = 0; attempt <= REPLAYS_MAX; attempt++) {
                if (dice_uniform(&dice) >= loss)
                        return true;

                link_count(far, LINK_ERRORS, 1);
                link_count(link, LINK_REPLAYS, attempt < REPLAYS_MAX);
        }

        return false;
}

static int link_send(void *state, Execution *execution) {
        const WireCommand *command = execution->command;
        Link *link = state, *far;
        LinkCarriage carriage;
        Frame *frame;

        if (!link_designed(link))
                return link_answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (command->in_bytes == 0 || command->in_bytes > WIRE_FRAME_MAX)
                return link_answer(execution, STATUS_NRT_INVALID);

        far = link_far(link);
        carriage = link_carriage(far, execution);
        if (cable_is_broken(link) || carriage.width == 0)
                return link_answer(execution, STATUS_NRT_HW_ERROR);
        if (far->n_frames == LINK_FRAMES_MAX) /* no credit */
                return link_answer(execution, STATUS_NRT_RESOURCE);
        if (!far->frames)
                far->frames = calloc(LINK_FRAMES_MAX, sizeof(Frame));
        if (!far->frames)
                return -ENOMEM;

        if (frame_faults_send(link, execution) < 0)
                return -ENOMEM;

        link_count(link, LINK_FRAMES_SENT, 1);
        if (frame_arrives(link, far, execution, &carriage)) {
                frame = &far->frames[(far->first_frame + far->n_frames++) % LINK_FRAMES_MAX];
                frame->n_bytes = command->in_bytes;
                memcpy(frame->bytes, execution->in, frame->n_bytes);
                link_count(far, LINK_FRAMES_RECEIVED, 1);
        }

        link_answer(execution, STATUS_NRT_SUCCESS);
        link_end_together(link, execution);
        return 0;
}

static int link_receive(void *state, Execution *execution) {
        Link *link = state;
        const Frame *frame;
        int r;

        if (!link_designed(link))
                return link_answer(execution, STATUS_NRT_INVALID_HANDLE);
        frame = link->n_frames > 0 ? &link->frames[link->first_frame] : NULL;
        r = frame_faults_receive(link, execution, &frame);
        if (r < 0)
                return r;
        if (!frame || frame->n_bytes == 0)
                return link_answer(execution, STATUS_NRT_QUEUE_EMPTY);

        if (execution->command->out_bytes < frame->n_bytes)
                return link_answer(execution, STATUS_NRT_INVALID);

        memcpy(execution->out, frame->bytes, frame->n_bytes);
        execution->completion->out_bytes = frame->n_bytes;
        if (link->n_frames > 0) {
                link->first_frame = (link->first_frame + 1) % LINK_FRAMES_MAX;
                link->n_frames--;
        }
        return link_answer(execution, STATUS_NRT_SUCCESS);
}

/* ---------------------------------------------------------------- transfers */

/* Each round sends again what the one before it lost. */
static int frames_resend(Dice *dice, uint64_t n_frames, double loss, uint64_t *ret_replays) {
        uint64_t replays = 0;

        for (unsigned round = 0; round < ROUNDS_MAX; round++) {
                n_frames = dice_binomial(dice, n_frames, loss);
                replays += n_frames;
                if (n_frames == 0) {
                        *ret_replays = replays;
                        return 0;
                }
        }

        return -EIO;
}

int link_transfer(Link *link, const Execution *execution, uint64_t bytes, uint64_t *ret_nsec, uint64_t *ret_replays) {
        uint64_t n_frames = bytes / WIRE_FRAME_MAX + (bytes % WIRE_FRAME_MAX > 0), replays;
        LinkCarriage carriage = link_carriage(link, execution);
        Dice dice = link_dice(link, execution, LINK_DRAW_TRANSFER + execution->command->type);
        Link *far = link_far(link);
        int r;

        if (carriage.width == 0)
                return -EIO;
        r = frames_resend(&dice, n_frames, link_frame_loss(&carriage, WIRE_FRAME_MAX), &replays);
        if (r < 0)
                return r;

        link_count(far, LINK_FRAMES_SENT, n_frames);
        link_count(far, LINK_REPLAYS, replays);
        link_count(link, LINK_FRAMES_RECEIVED, n_frames);
        link_count(link, LINK_ERRORS, replays);
        *ret_nsec = (uint64_t) ceil((double) (bytes + replays * WIRE_FRAME_MAX) * 8 / carriage.gbps);
        *ret_replays = replays;
        return 0;
}

static int link_transfer_command(void *state, Execution *execution) {
        uint64_t bytes = execution->command->transfer.bytes, nsec, replays;
        Link *link = state;

        if (!link_designed(link))
                return link_answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (bytes == 0 || bytes > TRANSFER_MAX)
                return link_answer(execution, STATUS_NRT_INVALID);
        if (link_transfer(link, execution, bytes, &nsec, &replays) < 0)
                return link_answer(execution, STATUS_NRT_HW_ERROR);

        *execution->completion = (WireCompletion) { .status = STATUS_NRT_SUCCESS, .device_nsec = nsec, .result = { bytes, replays } };
        link_end_together(link, execution);
        return 0;
}

/* ---------------------------------------------------------------- attributes and faults */

static int read_cable(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return cable_serial(chip, (LinkPort) index, text, size);
}

static int read_label(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return cable_label(chip, (LinkPort) index, text, size);
}

/* Inside a server a backplane of copper, between servers an active cable with plugs of its own. */
static int read_cable_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        int r = cable_serial(chip, (LinkPort) index, text, size);

        if (r >= 0 && text[0] != '\0')
                (void) snprintf(text, size, "%s", link_port_lanes((LinkPort) index) == LINK_LANES_Z ? "OSFPXD-AEC-1M" : "NL-BP-16");
        return r;
}

#define COUNTER_ATTRIBUTE(name, counter)                                                                     \
        static int read_##name(void *state, Chip *chip, unsigned index, char *text, size_t size) {           \
                if (!link_designed(state))                                                                   \
                        return -ENOENT;                                                                      \
                (void) snprintf(text, size, "%" PRIu64, link_counter(state, counter));                       \
                return 0;                                                                                    \
        }                                                                                                    \
        static int clear_##name(void *state, Chip *chip, unsigned index, const char *text) {                 \
                link_counter_clear(state, counter);                                                          \
                return 0;                                                                                    \
        }

COUNTER_ATTRIBUTE(errors, LINK_ERRORS)
COUNTER_ATTRIBUTE(replays, LINK_REPLAYS)
COUNTER_ATTRIBUTE(retrains, LINK_RETRAINS)

static unsigned count_troubles(const Link *link) {
        unsigned n = 0;

        for (size_t i = 0; i < link->n_faults; i++)
                n += link_fault_is_trouble(link->faults[i]);
        return n;
}

static int link_inject(void *state, const Fault *fault) {
        Link *link = state;
        const Fault **more;
        int r;

        if (!link_designed(link))
                return -ENXIO; /* a single server has no z links */
        if (link_fault_is_trouble(fault) && count_troubles(link) == LINK_TROUBLES_MAX)
                return -ENOSPC;

        more = realloc(link->faults, (link->n_faults + 1) * sizeof(*more));
        if (!more)
                return -ENOMEM;
        link->faults = more;

        r = cable_inject(link, fault);
        if (r < 0)
                return r;

        link_counters_inject(link, fault);
        link->faults[link->n_faults++] = fault;
        return 0;
}

static void link_heal(void *state, const Fault *fault) {
        Link *link = state;

        for (size_t i = 0; i < link->n_faults; i++)
                if (link->faults[i] == fault) {
                        link_counters_heal(link, fault);
                        cable_heal(link, fault);
                        link->faults[i] = link->faults[--link->n_faults];
                        return;
                }
}

static int link_init(void *state, Chip *chip, unsigned index) {
        Link *link = state;

        Location at;

        link->chip = chip;
        link->port = (LinkPort) index;
        at = link_location(link);
        link->seed = draw_seed(chip, &at);
        return 0;
}

static void link_done(void *state) {
        Link *link = state;

        free(link->frames);
        free(link->frame_memory);
        free(link->faults);
}

static void link_reset(void *state) {
        Link *link = state;

        link->n_frames = 0;
}

const Model model_link = {
        .name       = "link",
        .part       = LOCATION_LINK,
        .state_size = sizeof(Link),
        .init       = link_init,
        .done       = link_done,
        .commands   = {
                [COMMAND_LINK_STATUS]   = link_status,
                [COMMAND_LINK_SEND]     = link_send,
                [COMMAND_LINK_RECEIVE]  = link_receive,
                [COMMAND_LINK_PRBS]     = link_prbs,
                [COMMAND_LINK_LOOPBACK] = link_loopback,
                [COMMAND_LINK_TRANSFER] = link_transfer_command,
        },
        .attributes = (const Attribute[]) {
                { "assay/link/%u/cable",    read_cable,    NULL           }, /* %u: the port, x+ … z- */
                { "assay/link/%u/label",    read_label,    NULL           },
                { "assay/link/%u/cable_part_number", read_cable_part, NULL },
                { "assay/link/%u/errors",   read_errors,   clear_errors   },
                { "assay/link/%u/replays",  read_replays,  clear_replays  },
                { "assay/link/%u/retrains", read_retrains, clear_retrains },
                {}
        },
        .faults     = (const FaultKind *const[]) { link_kinds, cable_kinds, frame_kinds, NULL },
        .inject     = link_inject,
        .heal       = link_heal,
        .reset      = link_reset,
};
