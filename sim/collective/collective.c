/* SPDX-License-Identifier: Apache-2.0 */

/*
 * collective
 *
 * The CC-cores of a chip: a rank's part of a collective is posted, and runs against the others' when the first of them is waited
 * for. checks/wire/wire-collective.h says what happens then; sim/collective/run.c does it.
 */

#include "sim/collective/collective.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"
#include "sim/links/link.h"

#define POST_NSEC         2000u /* descriptors written, the doorbell rung */
#define TIMEOUT_NSEC_MAX  (UINT64_C(1) << 40)
#define SERVER_STEPS      30u   /* of an all-reduce over one server */
#define PREFLIGHT_BYTES   (UINT64_C(256) << 20) /* that a plan moves over each link, at the least */
#define DRAW_PACE         (UINT64_C(0xcc) << 40)
#define SLOW_FACTOR_MIN   1.15 /* 1.1 of the median is what a plan allows by default */
#define CORRUPT_RATE_MIN  0.05

enum { /* indices into kinds[] below */
        KIND_STUCK_BIT,
        KIND_CORRUPT,
        KIND_STALL,
        KIND_LOST,
        KIND_SLOW,
        KIND_QUEUE,
        _KIND_MAX,
};

static const FaultKind kinds[_KIND_MAX + 1];

static int answer(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        execution->completion->device_nsec = POST_NSEC;
        return 0;
}

/* ---- posting ---- */

static bool ring_is_valid(const WireCollectivePost *post, const WireCollectiveRing *ring) {
        uint64_t seen = 0;

        if (post->operation == COLLECTIVE_SEND_RECEIVE)
                return (ring->send_port < PORTS || ring->send_port == COLLECTIVE_NO_PORT) &&
                       (ring->receive_port < PORTS || ring->receive_port == COLLECTIVE_NO_PORT);

        for (unsigned p = 0; p < post->ranks; p++)
                if (ring->order[p] < post->ranks)
                        seen |= UINT64_C(1) << ring->order[p];
        return ring->send_port < PORTS && ring->receive_port < PORTS && ring->position < post->ranks &&
               ring->order[ring->position] == post->rank && (unsigned) __builtin_popcountll(seen) == post->ranks;
}

static bool post_is_valid(const WireCollectivePost *post, uint32_t in_bytes) {
        return post->operation < _COLLECTIVE_MAX && post->format < _ELEMENT_MAX && post->ranks >= 2 &&
               post->ranks <= COLLECTIVE_RANKS_MAX && post->rank < post->ranks && post->rings >= 1 &&
               post->rings <= COLLECTIVE_RINGS_MAX && post->elements >= 1 && post->repeat >= 1 &&
               post->repeat <= COLLECTIVE_REPEAT_MAX && post->elements <= COLLECTIVE_BYTES_MAX &&
               post->elements * element_bytes(post->format) <=
                               COLLECTIVE_BYTES_MAX / (post->operation == COLLECTIVE_ALL_TO_ALL ? post->ranks : 1u) &&
               in_bytes == post->rings * sizeof(WireCollectiveRing) + collective_input_bytes(post);
}

static const Fault *find_fault(const Collective *collective, unsigned kind, unsigned port, const Execution *execution) {
        for (size_t i = 0; i < collective->n_faults; i++) {
                const Fault *fault = collective->faults[i];

                if (fault->kind == &kinds[kind] && (kind != KIND_QUEUE || (unsigned) link_fault_port(&fault->at) == port) &&
                    fault_is_active(fault, execution))
                        return fault;
        }

        return NULL;
}

static void fall_ill(Collective *collective, const Execution *execution) {
        CollectiveAilments *ailments = &collective->ailments;

        *ailments = (CollectiveAilments) {};
        if (collective->n_faults == 0)
                return;
        ailments->adder = find_fault(collective, KIND_STUCK_BIT, 0, execution);
        ailments->corrupt = find_fault(collective, KIND_CORRUPT, 0, execution);
        ailments->stall = find_fault(collective, KIND_STALL, 0, execution);
        ailments->lost = find_fault(collective, KIND_LOST, 0, execution);
        ailments->slow = find_fault(collective, KIND_SLOW, 0, execution);
        for (unsigned p = 0; p < PORTS; p++)
                ailments->queues[p] = find_fault(collective, KIND_QUEUE, p, execution);
}

/* Of two draws that are the chip's for good, by Box and Muller. */
static double pace_of(const Chip *chip) {
        double deviation = chip_noise(chip).step_times;
        Location at;

        if (!(deviation > 0))
                return 1;
        chip_location(chip, &at);
        return fmax(0.5, 1 + deviation * sqrt(-2 * log(1 - draw_uniform(chip, &at, 0, DRAW_PACE))) *
                                       cos(2 * acos(-1) * draw_uniform(chip, &at, 0, DRAW_PACE + 1)));
}

static void drop(Collective *collective) {
        free(collective->vectors);
        collective->vectors = NULL;
        collective->posted = collective->ran = false;
        collective->status = (WireCollectiveStatus) {};
}

static int post(void *state, Execution *execution) {
        Collective *collective = state;
        const WireCollectivePost *post = &execution->command->collective_post;
        size_t n_rings = post->rings * sizeof(WireCollectiveRing);
        int r;

        drop(collective);
        if (!post_is_valid(post, execution->command->in_bytes))
                return answer(execution, STATUS_NRT_INVALID);

        collective->post = *post;
        memcpy(collective->rings, execution->in, n_rings);
        for (unsigned c = 0; c < post->rings; c++) {
                if (!ring_is_valid(&collective->post, &collective->rings[c]))
                        return answer(execution, STATUS_NRT_INVALID);
                for (unsigned other = 0; other < c; other++)
                        if (collective->rings[other].receive_port == collective->rings[c].receive_port &&
                            collective->rings[c].receive_port != COLLECTIVE_NO_PORT)
                                return answer(execution, STATUS_NRT_INVALID);
        }

        r = collective_load(collective, execution->in + n_rings);
        if (r < 0)
                return r;

        collective->posted = true;
        collective->pace = pace_of(collective->chip);
        collective->number = execution->number;
        collective->posted_nsec = execution->start_nsec + POST_NSEC;
        collective->status.rings = post->rings;
        fall_ill(collective, execution);
        return answer(execution, STATUS_NRT_SUCCESS);
}

/* ---- waiting ---- */

static bool is_done(const Collective *collective) {
        for (unsigned c = 0; c < collective->post.rings; c++)
                if (collective->status.progress[c].done < collective->status.progress[c].steps)
                        return false;
        return true;
}

static int wait(void *state, Execution *execution) {
        const WireCollectiveWait *wait = &execution->command->collective_wait;
        WireCompletion *completion = execution->completion;
        Collective *collective = state;
        uint32_t n_out;

        if (!collective->posted || collective->post.group != wait->group || wait->timeout_nsec > TIMEOUT_NSEC_MAX)
                return answer(execution, STATUS_NRT_INVALID);
        n_out = (uint32_t) sizeof(WireCollectiveStatus) + collective_output_bytes(&collective->post);
        if (execution->command->out_bytes < n_out)
                return answer(execution, STATUS_NRT_INVALID);
        if (!collective->ran) {
                int r = collective_run(collective, execution);

                if (r < 0)
                        return r;
        }

        completion->status = STATUS_NRT_SUCCESS;
        if (!is_done(collective) || collective->status.nsec > wait->timeout_nsec) {
                collective->status.nsec = wait->timeout_nsec;
                completion->status = STATUS_NRT_HW_ERR_COLLECTIVES;
                n_out = sizeof(WireCollectiveStatus);
        } else
                collective_store(collective, execution->out + sizeof(WireCollectiveStatus));
        memcpy(execution->out, &collective->status, sizeof(WireCollectiveStatus));
        completion->out_bytes = n_out;
        completion->device_nsec = collective->status.nsec;
        drop(collective);
        return 0;
}

/* ---- faults ---- */

static const LocationKind at_chip[] = { LOCATION_CHIP, _LOCATION_KIND_INVALID };
static const LocationKind at_port[] = { LOCATION_LINK, _LOCATION_KIND_INVALID };

static const char *step_is_never_reached(const Fault *fault) {
        const StepParameters *parameters = fault->parameters;

        return parameters->step >= SERVER_STEPS ? "no collective of one server has so many steps" : NULL;
}

static const char *is_hardly_slow(const Fault *fault) {
        return ((const SlowParameters *) fault->parameters)->factor < SLOW_FACTOR_MIN ? "a chip may take a tenth longer than its siblings" : NULL;
}

static const char *is_too_rare(const Fault *fault) {
        return ((const CorruptParameters *) fault->parameters)->rate < CORRUPT_RATE_MIN ? "a scan sends too few blocks" : NULL;
}

static const char *is_never_full(const Fault *fault) {
        const QueueParameters *parameters = fault->parameters;

        return parameters->bytes >= PREFLIGHT_BYTES ? "no collective of a plan moves so much over a link" : NULL;
}

/* What nobody could see is not drawn. */
static int sample_step(Sample *sample) {
        sample_key(sample, "step", "%" PRIu64, sample_below(sample, SERVER_STEPS));
        return 0;
}

static int sample_rate(Sample *sample) {
        sample_key(sample, "rate", "%.3g", sample_between(sample, CORRUPT_RATE_MIN, 1));
        return 0;
}

static int sample_bytes(Sample *sample) {
        sample_key(sample, "bytes", "%" PRIu64, sample_below(sample, PREFLIGHT_BYTES));
        return 0;
}

/* A single server has no z links: refused at injection, as for kinds of links. */
static int inject(void *state, const Fault *fault) {
        Collective *collective = state;
        const Fault **more;

        if (fault->kind == &kinds[KIND_QUEUE] && !chip_neighbour(collective->chip, link_fault_port(&fault->at)))
                return -ENXIO;
        more = realloc(collective->faults, (collective->n_faults + 1) * sizeof(*more));
        if (!more)
                return -ENOMEM;

        collective->faults = more;
        collective->faults[collective->n_faults++] = fault;
        return 0;
}

static void heal(void *state, const Fault *fault) {
        Collective *collective = state;

        drop(collective); /* what was posted may still know it */
        for (size_t i = 0; i < collective->n_faults; i++)
                if (collective->faults[i] == fault) {
                        collective->faults[i] = collective->faults[--collective->n_faults];
                        return;
                }
}

#define AT_CHIP(word, text, type, table, hidden, draw, code)                                                       \
        {                                                                                                     \
                .name = word, .summary = text, .family = FAMILY_LINKS, .at = at_chip,                         \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                              \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY, .parameters_bytes = sizeof(type),         \
                .parameters = table, .undetectable = hidden, .is_shared = true, .codes = FAULT_CODES(code),   \
                .sample = draw,                                                                               \
        }

static const YamlField stuck_parameters[] = {
        YAML_UNSIGNED("bit", StuckParameters, bit, 0, 31, .required = true, .summary = "of the binary32 sum"),
        YAML_UNSIGNED("value", StuckParameters, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {}
};

static const YamlField corrupt_parameters[] = {
        YAML_NUMBER("rate", CorruptParameters, rate, 1e-6, 1, .required = true, .summary = "of the blocks that it sends"),
        {}
};

static const YamlField step_parameters[] = {
        YAML_UNSIGNED("step", StepParameters, step, 0, 2 * COLLECTIVE_RANKS_MAX, .required = true, .summary = "of the program, from 0"),
        {}
};

static const YamlField slow_parameters[] = {
        YAML_NUMBER("factor", SlowParameters, factor, 1, 1000, .required = true, .summary = "by which a step takes longer"),
        {}
};

static const YamlField queue_parameters[] = {
        YAML_UNSIGNED("bytes", QueueParameters, bytes, 0, UINT64_C(1) << 40, .required = true, .summary = "of one collective that still come in"),
        {}
};

static const FaultKind kinds[_KIND_MAX + 1] = {
        [KIND_STUCK_BIT] = AT_CHIP("reduce-stuck-bit", "a bit of the adder of the accumulating DMA engines is stuck",
                                   StuckParameters, stuck_parameters, NULL, NULL, "collective-data"),
        [KIND_CORRUPT] = AT_CHIP("dma-corrupt", "blocks that the chip sends in collectives have a wrong bit, with right checks",
                                 CorruptParameters, corrupt_parameters, is_too_rare, sample_rate, "collective-data"),
        [KIND_STALL] = AT_CHIP("collective-stall", "the CC-cores stop before a step", StepParameters, step_parameters,
                               step_is_never_reached, sample_step, "collective-hang"),
        [KIND_LOST] = AT_CHIP("semaphore-lost", "an increment of the semaphores of arriving blocks is lost", StepParameters,
                              step_parameters, step_is_never_reached, sample_step, "collective-hang"),
        [KIND_SLOW] = AT_CHIP("chip-slow", "the CC-cores take longer for each step", SlowParameters, slow_parameters,
                              is_hardly_slow, NULL, "collective-slow"),
        [KIND_QUEUE] = {
                .name             = "link-stall",
                .summary          = "after so many bytes of a collective its blocks are no longer taken in at a port; frames and PRBS go on",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,
                .triggers         = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(QueueParameters),
                .parameters       = queue_parameters,
                .undetectable     = is_never_full,
                .sample           = sample_bytes,
                .is_shared        = true,
                .codes            = FAULT_CODES("collective-hang"),
        },
        {}
};

static int init(void *state, Chip *chip, unsigned index) {
        Collective *collective = state;

        collective->chip = chip;
        return 0;
}

static void done(void *state) {
        Collective *collective = state;

        drop(collective);
        free(collective->faults);
}

static void reset(void *state) {
        drop(state);
}

const Model model_collective = {
        .name       = "collective",
        .part       = LOCATION_CHIP,
        .state_size = sizeof(Collective),
        .init       = init,
        .done       = done,
        .commands   = {
                [COMMAND_COLLECTIVE_POST] = post,
                [COMMAND_COLLECTIVE_WAIT] = wait,
        },
        .faults     = (const FaultKind *const[]) { kinds, NULL },
        .inject     = inject,
        .heal       = heal,
        .reset      = reset,
};
