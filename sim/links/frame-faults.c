/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/frame-faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/links/link.h"

#define DRAW_FALSE  3000u
#define FALSE_BYTES 120u

struct FrameMemory {
        Frame sent, received, made; /* the last ones; made: what is handed out */
};

typedef enum FrameMode {
        FRAME_STRANGE,
        FRAME_STALE,
        FRAME_ECHO,
        FRAME_ENDLESS,
        FRAME_AFTER,
        FRAME_NONE,
} FrameMode;

static const char *const mode_words[] = {
        [FRAME_STRANGE] = "strange", [FRAME_STALE] = "stale", [FRAME_ECHO] = "echo", [FRAME_ENDLESS] = "endless",
        [FRAME_AFTER] = "after", [FRAME_NONE] = "none", NULL,
};

typedef struct FrameParameters {
        int mode;
} FrameParameters;

static const Fault *active_fault(const Link *link, const Execution *execution) {
        for (size_t i = 0; i < link->n_faults; i++)
                if (link->faults[i]->kind == frame_kinds && fault_is_active(link->faults[i], execution))
                        return link->faults[i];

        return NULL;
}

static FrameMemory *memory_of(Link *link) {
        if (!link->frame_memory)
                link->frame_memory = calloc(1, sizeof(*link->frame_memory));
        return link->frame_memory;
}

int frame_faults_send(Link *link, const Execution *execution) {
        FrameMemory *memory;

        if (!active_fault(link, execution))
                return 0;

        memory = memory_of(link);
        if (!memory)
                return -ENOMEM;
        memory->sent.n_bytes = execution->command->in_bytes;
        memcpy(memory->sent.bytes, execution->in, memory->sent.n_bytes);
        return 0;
}

static void make_up(const Link *link, const Fault *fault, const Execution *execution, Frame *frame) {
        frame->n_bytes = FALSE_BYTES;
        for (size_t i = 0; i < frame->n_bytes; i++)
                frame->bytes[i] = (uint8_t) draw_u64(link->chip, &fault->at, execution->number, DRAW_FALSE + i);
}

/* Bytes of the frame itself changed behind its check. */
static void disfigure(const Link *link, const Fault *fault, const Execution *execution, Frame *frame) {
        uint64_t drawn = draw_u64(link->chip, &fault->at, execution->number, DRAW_FALSE);

        frame->bytes[drawn % frame->n_bytes] ^= (uint8_t) (1 + (drawn >> 32) % 255);
}

int frame_faults_receive(Link *link, const Execution *execution, const Frame **frame) {
        const Fault *fault = active_fault(link, execution);
        FrameMemory *memory;
        Frame old;

        if (!fault)
                return 0;

        memory = memory_of(link);
        if (!memory)
                return -ENOMEM;

        old = memory->received;
        if (*frame)
                memory->received = **frame;
        switch ((FrameMode) ((const FrameParameters *) fault->parameters)->mode) {
        case FRAME_STRANGE:
                if (!*frame)
                        return 0;
                memory->made = **frame;
                disfigure(link, fault, execution, &memory->made);
                break;
        case FRAME_STALE:
                if (!*frame)
                        return 0;
                memory->made = old;
                break;
        case FRAME_ECHO:
                if (!*frame)
                        return 0;
                memory->made = memory->sent;
                break;
        case FRAME_ENDLESS:
                make_up(link, fault, execution, &memory->made);
                break;
        case FRAME_AFTER:
                if (*frame || memory->received.n_bytes == 0)
                        return 0;
                make_up(link, fault, execution, &memory->made);
                break;
        case FRAME_NONE:
                memory->made.n_bytes = 0;
                break;
        }
        *frame = &memory->made;
        return 0;
}

static const LocationKind at_port[] = { LOCATION_LINK, _LOCATION_KIND_INVALID };

const FaultKind frame_kinds[] = {
        {
                .name             = "frames-false",
                .summary          = "a port hands out other frames than those that arrive",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(FrameParameters),
                .parameters       = (const YamlField[]) {
                        YAML_WORD("mode", FrameParameters, mode, mode_words, .required = true,
                                  .summary = "strange: with a byte changed; stale: the one before; echo: its own; endless: made up, "
                                             "without end; after: the same once one has arrived; none: it swallows them"),
                        {}
                },
                .is_shared        = true,
                .codes            = FAULT_CODES("link-frames"),
        },
        {}
};
