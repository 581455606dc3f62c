/* SPDX-License-Identifier: Apache-2.0 */

/*
 * link
 *
 * The six NeuronLink ports of a chip: x and y on PCIe-5-like lanes over the server's board and backplane, 32 of them,
 * z over cables to the next server, 16 of them, 32 Gb/s each. One state per port.
 *
 * Cables lead where the torus and the ring say until plugs are moved (cable.h); everything that travels
 * (frames, PRBS, loopback at the far end) follows the cable, not the design. What a lane suffers is told at the port
 * that receives it. No bit is generated: error counts are drawn from the binomial distribution of the lane's rate, and
 * the lanes without a fault of a port share one draw.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/link.h"
#include "sim/model.h"

#define GOOD_RATE       1e-15 /* bit error ratio of a lane without a fault */
#define REPLAYS_MAX     4u    /* how often the link layer sends a frame again */
#define BITS_MAX        (UINT64_C(1) << 50)
#define COMMAND_NSEC    1000u
#define DRAW_FRAME      1000u /* apart from the draws of PRBS */
#define DRAW_TRANSFER   3000u
#define ROUNDS_MAX      64u
#define TRANSFER_MAX    (UINT64_C(1) << 40)

typedef struct RateParameters {
        double rate;
} RateParameters;

typedef struct LaneParameters {
        uint64_t with;
} LaneParameters;

enum { /* indices into kinds[] below */
        KIND_BIT_ERRORS,
        KIND_LANE_DEAD,
        KIND_LANES_CROSSED,
        KIND_LINK_DOWN,
        KIND_COUNTER_STUCK,
        _KIND_MAX,
};

static const FaultKind kinds[_KIND_MAX + 1];

static const Fault *link_suffers(const Link *link, unsigned kind, const Execution *execution) {
        for (size_t i = 0; i < link->n_faults; i++)
                if (link->faults[i]->kind == &kinds[kind] && fault_is_active(link->faults[i], execution))
                        return link->faults[i];

        return NULL;
}

/* Whether a fault at the port or at one of its lanes acts on LANE. */
static bool fault_hits_lane(const Fault *fault, unsigned lane) {
        int index;

        index = location_index(&fault->at, LOCATION_LANE);
        return index < 0 || (unsigned) index == lane;
}

static bool link_carries(const Link *link, const Link *far, const Execution *execution) {
        return !chip_hangs(far->chip) &&
               !link_suffers(link, KIND_LINK_DOWN, execution) && !link_suffers(far, KIND_LINK_DOWN, execution) &&
               !cable_is_broken(link);
}

static unsigned link_width(const Link *link, const Execution *execution) {
        uint32_t dead = 0;

        for (size_t i = 0; i < link->n_faults; i++)
                if (link->faults[i]->kind == &kinds[KIND_LANE_DEAD] && fault_is_active(link->faults[i], execution))
                        dead |= UINT32_C(1) << location_index(&link->faults[i]->at, LOCATION_LANE);

        return link_port_lanes(link->port) - (unsigned) __builtin_popcount(dead);
}

static void link_count(const Link *link, const Execution *execution, uint64_t *counter, uint64_t n) {
        if (n > 0 && !link_suffers(link, KIND_COUNTER_STUCK, execution))
                *counter += n;
}

static int answer(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        execution->completion->device_nsec = COMMAND_NSEC;
        return 0;
}

/* A link command keeps both chips busy: their clocks meet at its end. */
static void end_together(const Link *link, const Link *far, const Execution *execution) {
        uint64_t end = execution->start_nsec + execution->completion->device_nsec;

        chip_advance(link->chip, end);
        chip_advance(far->chip, end);
}

/* ---------------------------------------------------------------- status and frames */

static int link_status(void *state, Execution *execution) {
        const Link *link = state, *far = link_far(link);
        WireLinkStatus status = { .present = cable_is_present(link) };

        if (!far)
                return answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (execution->command->out_bytes < sizeof(status))
                return answer(execution, STATUS_NRT_INVALID);

        if (link_carries(link, far, execution)) {
                status.width = (uint8_t) link_width(link, execution);
                status.up = status.width > 0;
                status.lane_gbps = status.up ? LINK_LANE_GBPS : 0;
        }
        status.frames_sent = link->frames_sent;
        status.frames_received = link->frames_received;
        status.replays = link->replays;
        status.errors = link->errors;

        memcpy(execution->out, &status, sizeof(status));
        execution->completion->out_bytes = sizeof(status);
        return answer(execution, STATUS_NRT_SUCCESS);
}

/* One try to get a frame over; the errors of all lanes of FAR spoil it. Returns how many bits arrived wrong. */
static uint64_t frame_errors(const Link *far, const Execution *execution, unsigned attempt) {
        unsigned lanes = link_port_lanes(far->port);
        uint64_t bits = (uint64_t) execution->command->in_bytes * 8, errors = 0;

        for (size_t i = 0; i < far->n_faults; i++) {
                const Fault *fault = far->faults[i];

                if (fault->kind != &kinds[KIND_BIT_ERRORS] || !fault_is_active(fault, execution))
                        continue;

                errors += draw_binomial(far->chip, &fault->at, execution->number, DRAW_FRAME + attempt,
                                        location_kind(&fault->at) == LOCATION_LANE ? bits / lanes + 1 : bits,
                                        ((const RateParameters *) fault->parameters)->rate);
        }

        return errors;
}

static bool frame_arrives(Link *far, const Execution *execution) {
        for (unsigned attempt = 0; attempt <= REPLAYS_MAX; attempt++) {
                uint64_t errors = frame_errors(far, execution, attempt);

                if (errors == 0)
                        return true;

                link_count(far, execution, &far->errors, errors);
                link_count(far, execution, &far->replays, 1);
        }

        return false;
}

static int link_send(void *state, Execution *execution) {
        Link *link = state, *far = link_far(link);
        const WireCommand *command = execution->command;
        Frame *frame;

        if (!far)
                return answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (command->in_bytes == 0 || command->in_bytes > WIRE_FRAME_MAX)
                return answer(execution, STATUS_NRT_INVALID);
        if (!link_carries(link, far, execution) || link_width(far, execution) == 0)
                return answer(execution, STATUS_NRT_HW_ERROR);
        if (far->n_frames == LINK_FRAMES_MAX) /* no credit */
                return answer(execution, STATUS_NRT_RESOURCE);
        if (!far->frames)
                far->frames = calloc(LINK_FRAMES_MAX, sizeof(Frame));
        if (!far->frames)
                return -ENOMEM;

        if (frame_faults_send(link, execution) < 0)
                return -ENOMEM;

        link_count(link, execution, &link->frames_sent, 1);
        if (frame_arrives(far, execution)) {
                frame = &far->frames[(far->first_frame + far->n_frames++) % LINK_FRAMES_MAX];
                frame->n_bytes = command->in_bytes;
                memcpy(frame->bytes, execution->in, frame->n_bytes);
                link_count(far, execution, &far->frames_received, 1);
        }

        answer(execution, STATUS_NRT_SUCCESS);
        end_together(link, far, execution);
        return 0;
}

static int link_receive(void *state, Execution *execution) {
        Link *link = state;
        const Frame *frame;
        int r;

        if (!link_far(link))
                return answer(execution, STATUS_NRT_INVALID_HANDLE);
        frame = link->n_frames > 0 ? &link->frames[link->first_frame] : NULL;
        r = frame_faults_receive(link, execution, &frame);
        if (r < 0)
                return r;
        if (!frame || frame->n_bytes == 0)
                return answer(execution, STATUS_NRT_QUEUE_EMPTY);

        if (execution->command->out_bytes < frame->n_bytes)
                return answer(execution, STATUS_NRT_INVALID);

        memcpy(execution->out, frame->bytes, frame->n_bytes);
        execution->completion->out_bytes = frame->n_bytes;
        if (link->n_frames > 0) {
                link->first_frame = (link->first_frame + 1) % LINK_FRAMES_MAX;
                link->n_frames--;
        }
        return answer(execution, STATUS_NRT_SUCCESS);
}

/* ---------------------------------------------------------------- transfers */

/* How often a bit arrives wrong at LINK, over all of its lanes. */
static double link_error_ratio(const Link *link, const Execution *execution) {
        double ratio = GOOD_RATE;

        for (size_t i = 0; i < link->n_faults; i++) {
                const Fault *fault = link->faults[i];

                if (fault->kind == &kinds[KIND_BIT_ERRORS] && fault_is_active(fault, execution))
                        ratio += ((const RateParameters *) fault->parameters)->rate /
                                 (location_kind(&fault->at) == LOCATION_LANE ? link_port_lanes(link->port) : 1);
        }

        return ratio;
}

/* Each round sends again what the one before it lost. */
static int frames_resend(const Link *link, const Execution *execution, uint64_t n_frames, uint64_t *ret_replays) {
        double lost = -expm1(8 * WIRE_FRAME_MAX * log1p(-link_error_ratio(link, execution)));
        Location at = link_location(link);
        uint64_t replays = 0;

        for (unsigned round = 0; round < ROUNDS_MAX; round++) {
                n_frames = draw_binomial(link->chip, &at, execution->number, DRAW_TRANSFER + round, n_frames, lost);
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
        Link *far = link_far(link);
        unsigned width;
        int r;

        width = far && link_carries(link, far, execution) ? link_width(link, execution) : 0;
        if (width == 0)
                return -EIO;

        r = frames_resend(link, execution, n_frames, &replays);
        if (r < 0)
                return r;

        link_count(far, execution, &far->frames_sent, n_frames);
        link_count(far, execution, &far->replays, replays);
        link_count(link, execution, &link->frames_received, n_frames);
        link_count(link, execution, &link->errors, replays);
        *ret_nsec = (uint64_t) ceil((double) (bytes + replays * WIRE_FRAME_MAX) * 8 / (width * LINK_LANE_GBPS));
        *ret_replays = replays;
        return 0;
}

static int link_transfer_command(void *state, Execution *execution) {
        uint64_t bytes = execution->command->transfer.bytes, nsec, replays;
        Link *link = state;

        if (!link_far(link))
                return answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (bytes == 0 || bytes > TRANSFER_MAX)
                return answer(execution, STATUS_NRT_INVALID);
        if (link_transfer(link, execution, bytes, &nsec, &replays) < 0)
                return answer(execution, STATUS_NRT_HW_ERROR);

        *execution->completion = (WireCompletion) { .status = STATUS_NRT_SUCCESS, .device_nsec = nsec, .result = { bytes, replays } };
        end_together(link, link_far(link), execution);
        return 0;
}

/* ---------------------------------------------------------------- PRBS */

static const uint8_t prbs_degree[_PRBS_MAX] = {
        [PRBS7] = 7, [PRBS9] = 9, [PRBS11] = 11, [PRBS13] = 13, [PRBS15] = 15, [PRBS20] = 20, [PRBS23] = 23, [PRBS31] = 31,
};

static uint32_t prbs_state(const WireLinkPrbs *prbs, unsigned lane) {
        uint64_t x = (prbs->seed ^ lane) + UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        x = (x ^ x >> 31) & ((UINT64_C(1) << prbs_degree[prbs->polynomial]) - 1);
        return x > 0 ? (uint32_t) x : 1;
}

/* A period of 2^k − 1 bits has 2^(k−1) transitions; what is left of one has them at every other bit. */
static uint64_t prbs_transitions(const WireLinkPrbs *prbs) {
        uint64_t half = UINT64_C(1) << (prbs_degree[prbs->polynomial] - 1), period = 2 * half - 1;

        return prbs->bits / period * half + prbs->bits % period / 2;
}

/* All lanes as they come from a far end without faults. */
static void lanes_fill(WireLane *lanes, unsigned n, const WireLinkPrbs *prbs) {
        uint64_t transitions = prbs_transitions(prbs);

        for (unsigned l = 0; l < n; l++)
                lanes[l] = (WireLane) {
                        .bits = prbs->bits, .transitions = transitions, .locked = 1, .state = prbs_state(prbs, l),
                };
}

/* Idle: nothing to lock to, nothing counted. */
static void lane_idle(WireLane *lane) {
        *lane = (WireLane) { .bits = lane->bits };
}

/* The checker of lane A gets the stream of lane B: it knows the pattern, but every other bit is not the wanted one. */
static void lanes_cross(const Link *link, const Fault *fault, const Execution *execution, WireLane *lanes) {
        unsigned a = (unsigned) location_index(&fault->at, LOCATION_LANE);
        unsigned b = (unsigned) ((const LaneParameters *) fault->parameters)->with;
        uint32_t state = lanes[a].state;

        lanes[a].state = lanes[b].state;
        lanes[b].state = state;
        for (unsigned i = 0; i < 2; i++) {
                WireLane *lane = &lanes[i == 0 ? a : b];

                lane->errors = draw_binomial(link->chip, &fault->at, execution->number, i, lane->bits, 0.5);
        }
}

static void lane_disturb(const Link *link, const Fault *fault, const Execution *execution, WireLane *lane, unsigned l) {
        double rate = ((const RateParameters *) fault->parameters)->rate;

        lane->errors += draw_binomial(link->chip, &fault->at, execution->number, l, lane->bits, rate);
        if (lane->errors > lane->bits)
                lane->errors = lane->bits;
}

/* What the faults at the receiving port LINK do to what comes in. */
static void lanes_suffer(const Link *link, const Execution *execution, WireLane *lanes, unsigned n) {
        for (size_t i = 0; i < link->n_faults; i++) {
                const Fault *fault = link->faults[i];

                if (!fault_is_active(fault, execution))
                        continue;
                if (fault->kind == &kinds[KIND_LANES_CROSSED])
                        lanes_cross(link, fault, execution, lanes);
                if (fault->kind == &kinds[KIND_BIT_ERRORS])
                        for (unsigned l = 0; l < n; l++)
                                if (fault_hits_lane(fault, l))
                                        lane_disturb(link, fault, execution, &lanes[l], l);
        }

        for (size_t i = 0; i < link->n_faults; i++) /* last: silence hides all else */
                if (link->faults[i]->kind == &kinds[KIND_LANE_DEAD] && fault_is_active(link->faults[i], execution))
                        lane_idle(&lanes[location_index(&link->faults[i]->at, LOCATION_LANE)]);
}

/* The rare errors of lanes without a fault: one draw for all of them. */
static void lanes_wear(const Link *link, const Execution *execution, WireLane *lanes, unsigned n, uint64_t bits) {
        Location at = link_location(link);
        uint64_t errors;

        errors = draw_binomial(link->chip, &at, execution->number, 0, bits * n, GOOD_RATE);
        for (uint64_t e = 0; e < errors; e++) {
                WireLane *lane = &lanes[draw_u64(link->chip, &at, execution->number, 1 + e) % n];

                if (lane->locked && lane->errors < lane->bits)
                        lane->errors++;
        }
}

/* Receives at LINK over the path that STAGE leaves of it; _LOOPBACK_MAX is the real way, from the far end. */
static void lanes_receive(Link *link, const Link *far, const Execution *execution, const WireLinkPrbs *prbs,
                          WireLoopback stage, WireLane *lanes) {
        unsigned n = link_port_lanes(link->port);
        bool near = stage == LOOPBACK_NEAR_PCS || stage == LOOPBACK_NEAR_PMA;
        uint64_t errors = 0;

        lanes_fill(lanes, n, prbs);
        if (near ? stage == LOOPBACK_NEAR_PMA && link_suffers(link, KIND_LINK_DOWN, execution) :
                   !link_carries(link, far, execution)) {
                for (unsigned l = 0; l < n; l++)
                        lane_idle(&lanes[l]);
                return;
        }

        if (!near) {
                lanes_wear(link, execution, lanes, n, prbs->bits);
                if (stage != _LOOPBACK_MAX) /* there and back: the far receiver has its part in it */
                        lanes_suffer(far, execution, lanes, n);
                lanes_suffer(link, execution, lanes, n);
        }

        for (unsigned l = 0; l < n; l++)
                errors += lanes[l].errors;
        link_count(link, execution, &link->errors, errors);
}

static int run_prbs(Link *link, Execution *execution, const WireLinkPrbs *prbs, WireLoopback stage) {
        WireLane lanes[LINK_LANES_MAX] = {};
        size_t n_bytes = link_port_lanes(link->port) * sizeof(WireLane);
        const Link *far = link_far(link);

        if (!far)
                return answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (prbs->bits == 0 || prbs->bits > BITS_MAX || prbs->polynomial >= _PRBS_MAX || prbs->quiet != 0 || prbs->offset != 0 ||
            execution->command->out_bytes < n_bytes)
                return answer(execution, STATUS_NRT_INVALID);

        lanes_receive(link, far, execution, prbs, stage, lanes);
        memcpy(execution->out, lanes, n_bytes);

        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->out_bytes = (uint32_t) n_bytes;
        execution->completion->device_nsec = (prbs->bits + LINK_LANE_GBPS - 1) / LINK_LANE_GBPS;
        end_together(link, far, execution);
        return 0;
}

static int link_prbs(void *state, Execution *execution) {
        return run_prbs(state, execution, &execution->command->prbs, _LOOPBACK_MAX);
}

static int link_loopback(void *state, Execution *execution) {
        const WireLinkLoopback *loopback = &execution->command->loopback;

        if (loopback->stage >= _LOOPBACK_MAX)
                return answer(execution, STATUS_NRT_INVALID);

        return run_prbs(state, execution, &loopback->prbs, loopback->stage);
}

/* ---------------------------------------------------------------- attributes and faults */

static int read_cable(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return cable_serial(chip, (LinkPort) index, text, size);
}

static int read_label(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return cable_label(chip, (LinkPort) index, text, size);
}

static int validate_lane(const Fault *fault, const char **ret_wrong) {
        if (location_index(&fault->at, LOCATION_LANE) >= (int) link_port_lanes(link_fault_port(&fault->at))) {
                *ret_wrong = "z links have lanes 0 to 15";
                return -EINVAL;
        }

        return 0;
}

static int validate_crossed(const Fault *fault, const char **ret_wrong) {
        uint64_t with = ((const LaneParameters *) fault->parameters)->with;

        if (with >= link_port_lanes(link_fault_port(&fault->at))) {
                *ret_wrong = "z links have lanes 0 to 15";
                return -EINVAL;
        }
        if ((int) with == location_index(&fault->at, LOCATION_LANE)) {
                *ret_wrong = "a lane cannot be crossed with itself";
                return -EINVAL;
        }

        return validate_lane(fault, ret_wrong);
}

static int link_inject(void *state, const Fault *fault) {
        Link *link = state;
        const Fault **more;
        int r;

        if (!link_designed(link))
                return -ENXIO; /* a single server has no z links */

        more = realloc(link->faults, (link->n_faults + 1) * sizeof(*more));
        if (!more)
                return -ENOMEM;
        link->faults = more;

        r = cable_inject(link, fault);
        if (r < 0)
                return r;

        link->faults[link->n_faults++] = fault;
        return 0;
}

static void link_heal(void *state, const Fault *fault) {
        Link *link = state;

        for (size_t i = 0; i < link->n_faults; i++)
                if (link->faults[i] == fault) {
                        cable_heal(link, fault);
                        link->faults[i] = link->faults[--link->n_faults];
                        return;
                }
}

static const char *rate_is_in_order(const Fault *fault) {
        return ((const RateParameters *) fault->parameters)->rate < 1e-12 ? "a lane may have up to 1e-12" : NULL;
}

static const LocationKind at_port[] = { LOCATION_LINK, _LOCATION_KIND_INVALID };
static const LocationKind at_lane[] = { LOCATION_LANE, _LOCATION_KIND_INVALID };
static const LocationKind at_port_or_lane[] = { LOCATION_LANE, LOCATION_LINK, _LOCATION_KIND_INVALID };

/* Both lanes that are crossed carry the other's stream. */
static void diagnose_crossed(const Fault *fault, Diagnosis *diagnosis) {
        const LaneParameters *parameters = fault->parameters;
        Location *other = &diagnosis->places[diagnosis->n_places++];

        *other = fault->at;
        (void) location_truncate(other, LOCATION_LINK);
        (void) location_append(other, LOCATION_LANE, (unsigned) parameters->with);
}

#define COMES_AND_GOES PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT

static const FaultKind kinds[_KIND_MAX + 1] = {
        [KIND_BIT_ERRORS] = {
                .name             = "bit-errors",
                .summary          = "bits arrive wrong on a lane, or on all lanes of a port",
                .family           = FAMILY_LINKS,
                .at               = at_port_or_lane,
                .persistence      = COMES_AND_GOES,
                .triggers         = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(RateParameters),
                .parameters       = (const YamlField[]) {
                        YAML_NUMBER("rate", RateParameters, rate, 1e-14, 0.01, .required = true,
                                    .summary = "of the bits received; a worse lane does not train"),
                        {}
                },
                .validate         = validate_lane,
                .undetectable     = rate_is_in_order,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-errors"),
        },
        [KIND_LANE_DEAD] = {
                .name        = "lane-dead",
                .summary     = "nothing arrives on a lane: an idle line",
                .family      = FAMILY_LINKS,
                .at          = at_lane,
                .persistence = COMES_AND_GOES,
                .triggers    = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .validate    = validate_lane,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-lane"),
        },
        [KIND_LANES_CROSSED] = {
                .name             = "lanes-crossed",
                .summary          = "two lanes of a port arrive in each other's place",
                .family           = FAMILY_LINKS,
                .at               = at_lane,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(LaneParameters),
                .parameters       = (const YamlField[]) {
                        YAML_UNSIGNED("with", LaneParameters, with, 0, LINK_LANES_MAX - 1, .required = true,
                                      .summary = "the other lane"),
                        {}
                },
                .validate         = validate_crossed,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-lane"),
                .diagnose         = diagnose_crossed,
        },
        [KIND_LINK_DOWN] = {
                .name        = "link-down",
                .summary     = "the transceiver of a port is dead",
                .family      = FAMILY_LINKS,
                .at          = at_port,
                .persistence = COMES_AND_GOES,
                .triggers    = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-down"),
        },
        [KIND_COUNTER_STUCK] = {
                .name        = "link-counter-stuck",
                .summary     = "the counters of a port stand still whatever happens",
                .family      = FAMILY_LINKS,
                .at          = at_port,
                .persistence = PERSISTENCE_PERMANENT,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-counter"),
        },
        {}
};

static int link_init(void *state, Chip *chip, unsigned index) {
        Link *link = state;

        link->chip = chip;
        link->port = (LinkPort) index;
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
                { "assay/link/%u/cable", read_cable }, /* %u: the port, x+ … z- */
                { "assay/link/%u/label", read_label },
                {}
        },
        .faults     = (const FaultKind *const[]) { kinds, cable_kinds, frame_kinds, NULL },
        .inject     = link_inject,
        .heal       = link_heal,
        .reset      = link_reset,
};
