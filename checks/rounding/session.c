/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POISON      0xa5 /* what the window holds before a core answers: an engine that writes nothing cannot pass */
#define ALIGNED(n)  (((n) + WIRE_ALIGNMENT - 1) & ~(size_t) (WIRE_ALIGNMENT - 1))

static int put_inputs(Session *session, WireEngine engine) {
        const Script *script = session->scripts[engine];

        for (unsigned i = 0; i < script->n_passes; i++) {
                size_t n = script_in_bytes(script, i);

                session->in[engine][i] = script->in_is_shared[i] ? session->in[0][i] : device_window_take(session->device, n);
                if (!session->in[engine][i])
                        return -ENOSPC;
                if (!script->in_is_shared[i])
                        memcpy(session->in[engine][i], script->in[i], n);
        }

        return 0;
}

static size_t answers_bytes(const Script *script) {
        size_t n = ALIGNED(sizeof(States));

        for (unsigned i = 0; i < script->n_passes; i++)
                n += ALIGNED(script_out_bytes(script, i));
        return n;
}

/* All scripts have the same passes, and so the same room. */
static void place_answers(Session *session) {
        size_t each = session->n_answers / session->at_once;

        for (WireEngine engine = 0; engine < _ENGINE_MAX; engine++) {
                uint8_t *at = session->answers + each * (engine % session->at_once);

                session->before[engine] = (States *) at;
                at += ALIGNED(sizeof(States));
                for (unsigned i = 0; i < session->scripts[engine]->n_passes; i++) {
                        session->out[engine][i] = at;
                        at += ALIGNED(script_out_bytes(session->scripts[engine], i));
                }
        }
}

int session_open(Session *session, Device *device, const RoundingParameters *parameters) {
        size_t each;
        int r = 0;

        *session = (Session) { .device = device, .at_once = _ENGINE_MAX };
        device_window_reset(device);
        for (WireEngine engine = 0; engine < _ENGINE_MAX && r >= 0; engine++) {
                session->scripts[engine] = script_get(engine, parameters);
                if (!session->scripts[engine])
                        return -ENOMEM;
                r = put_inputs(session, engine);
        }
        if (r < 0)
                return r;

        session->scratch_in = device_window_take(device, ENGINE_LANES * SCRATCH_COUNT * sizeof(uint32_t));
        session->scratch_out = device_window_take(device, ENGINE_LANES * SCRATCH_COUNT * sizeof(uint16_t));
        each = answers_bytes(session->scripts[0]);
        if (_ENGINE_MAX * each > device_window_free(device))
                session->at_once = 1;
        session->n_answers = session->at_once * each;
        session->answers = device_window_take(device, session->n_answers);
        if (!session->scratch_in || !session->scratch_out || !session->answers)
                return -ENOSPC;
        place_answers(session);
        return 0;
}

static size_t add_engine(const Session *session, unsigned core, WireEngine engine, WireCommand *commands) {
        const Script *script = session->scripts[engine];
        size_t n = 0;

        commands[n++] = device_state_command(session->device, core, engine, session->before[engine]);
        for (unsigned i = 0; i < script->n_passes; i++) {
                const Pass *pass = &script->passes[i];

                if (pass->reset)
                        commands[n++] = device_reset_command(core);
                else if (pass_is_stochastic(pass) && pass->after == 0)
                        commands[n++] = device_seed_command(core, engine, pass->seed);
                commands[n++] = device_convert_command(session->device, core, engine, pass->format, pass_is_stochastic(pass) ? CONVERT_STOCHASTIC : 0,
                                                       pass->count, session->in[engine][i], session->out[engine][i]);
        }

        return n;
}

/* All were answered in full. */
static int execute(Device *device, WireCommand *commands, size_t n, WireCompletion *completions) {
        int r;

        r = device_execute(device, commands, n, completions);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (completions[i].out_bytes != commands[i].out_bytes)
                        return -EPROTO;
        return 0;
}

int session_run(Session *session, unsigned core, WireEngine first) {
        static WireCommand commands[_ENGINE_MAX * (1 + 2 * SCRIPT_PASSES_MAX)];
        static WireCompletion completions[_ENGINE_MAX * (1 + 2 * SCRIPT_PASSES_MAX)];
        size_t n = 0;

        memset(session->answers, POISON, session->n_answers);
        for (unsigned i = 0; i < session->at_once; i++)
                n += add_engine(session, core, first + i, commands + n);
        return execute(session->device, commands, n, completions);
}

bool session_is_sound(const Session *session, WireEngine engine) {
        const Script *script = session->scripts[engine];

        for (unsigned i = 0; i < script->n_passes; i++)
                if (memcmp(session->out[engine][i], script->out[i], script_out_bytes(script, i)) != 0)
                        return false;

        return true;
}

int session_convert(Session *session, unsigned core, WireEngine engine, WireFormat format, const uint32_t *seed, unsigned count) {
        WireCommand commands[2];
        WireCompletion completions[2];
        size_t n = 0;

        memset(session->scratch_out, POISON, ENGINE_LANES * SCRATCH_COUNT * sizeof(uint16_t));
        if (seed)
                commands[n++] = device_seed_command(core, engine, *seed);
        commands[n++] = device_convert_command(session->device, core, engine, format, CONVERT_STOCHASTIC, count, session->scratch_in,
                                               session->scratch_out);
        return execute(session->device, commands, n, completions);
}
