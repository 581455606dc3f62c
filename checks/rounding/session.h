/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Session
 *
 * The scripts of the three engines in the window of one chip's device. Inputs are written once, as they are the same for all
 * cores; answers of one core, or of one engine where the window is small, lie side by side and are poisoned before each is asked.
 */

#include "checks/port/device-rounding.h"
#include "checks/rounding/diagnose.h"
#include "checks/rounding/script.h"

#define SCRATCH_COUNT 64u /* elements of each lane */

typedef struct Session {
        Device *device;
        const Script *scripts[_ENGINE_MAX];
        uint32_t *in[_ENGINE_MAX][SCRIPT_PASSES_MAX];
        uint8_t *out[_ENGINE_MAX][SCRIPT_PASSES_MAX];
        States *before[_ENGINE_MAX]; /* what the generators were before the first seed */
        uint8_t *answers;            /* all of out and before */
        size_t n_answers;
        unsigned at_once;            /* engines whose answers have room */
        uint32_t *scratch_in;        /* [ENGINE_LANES][up to SCRATCH_COUNT], for questions beside the script */
        uint8_t *scratch_out;        /* of one or two bytes each */
} Session;

/* -ENOSPC: the window is too small; -ENOMEM. */
int session_open(Session *session, Device *device, const RoundingParameters *parameters);

/* Runs the scripts of the engines FIRST … FIRST + at_once - 1 of CORE. -EPROTO where less came back than was asked for. */
int session_run(Session *session, unsigned core, WireEngine first);
bool session_is_sound(const Session *session, WireEngine engine);

/* Sets SEED unless it is NULL and converts scratch_in, COUNT elements of each lane, into scratch_out. */
int session_convert(Session *session, unsigned core, WireEngine engine, WireFormat format, const uint32_t *seed, unsigned count);
