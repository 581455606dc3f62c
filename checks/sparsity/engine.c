/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/engine.h"

#include <errno.h>
#include <string.h>

#define POISON     0xfff5a5a5u /* a NaN that no product has */
#define STRIDE     5u          /* 128 columns step over all lines of all lengths with it */
#define TAGS_BYTES (PE_ROWS * device_tag_words(PE_COLUMNS) * sizeof(uint16_t))

int engine_init(Engine *engine, Device *device) {
        *engine = (Engine){ .device = device };

        device_window_reset(device);
        engine->weights = device_window_take(device, PE_ROWS * PE_COLUMNS * sizeof(uint16_t));
        engine->tags = device_window_take(device, TAGS_BYTES);
        engine->values = device_window_take(device, ENGINE_VALUES_BYTES);
        if (!engine->weights || !engine->tags || !engine->values)
                return -ENOSPC;

        for (unsigned core = 0; core < CORES; core++) {
                engine->out[core] = device_window_take(device, ENGINE_OUT_BYTES);
                if (!engine->out[core])
                        return -ENOSPC;
        }

        return 0;
}

static void send(const void **sent, void *place, const void *data, size_t n_bytes) {
        if (*sent == data)
                return;
        memcpy(place, data, n_bytes);
        *sent = data;
}

/* What is not written must not pass for an answer: the end, and a place that steps over all lines of the answers. */
static void poison(uint32_t *out, unsigned moving) {
        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                out[column * moving + column * STRIDE % moving] = POISON;
                out[column * moving + moving - 1] = POISON;
        }
}

void engine_forget(Engine *engine) {
        engine->sent_weights = engine->sent_tags = engine->sent_values = NULL;
}

/* A load or matmul that is not supported is a finding, or systolic's, and keeps nobody from judging the other cores; what PSUM tells of its cells is not ours to judge, its numbers are; whatever else a
 * core does not do keeps us from judging it. */
static int judge_completions(Engine *engine, unsigned core, const WireCommand *commands, const WireCompletion *completions,
                             unsigned *ret_unsupported) {
        if (completions[1].status == STATUS_NRT_UNSUPPORTED)
                engine->no_format |= 1u << core;
        if (completions[0].status == STATUS_NRT_UNSUPPORTED || completions[1].status == STATUS_NRT_UNSUPPORTED) {
                *ret_unsupported |= 1u << core;
                return 0;
        }

        if (completions[1].status == STATUS_NRT_NC_UE)
                engine->told |= 1u << core;
        for (size_t i = 0; i < 2; i++)
                if (completions[i].status != STATUS_NRT_SUCCESS && (i == 0 || completions[i].status != STATUS_NRT_NC_UE)) {
                        engine->refused = core;
                        engine->status = completions[i].status;
                        return -EREMOTEIO;
                }

        return device_matmul_is_complete(&commands[1], &completions[1]) ? 0 : -EPROTO;
}

int engine_run(Engine *engine, const EngineJob *job, unsigned mask, unsigned *ret_unsupported) {
        WireCompletion completions[2 * CORES] = {};
        WireCommand commands[2 * CORES];
        unsigned unsupported = 0;
        size_t n = 0;
        int r;

        send(&engine->sent_weights, engine->weights, job->weights, job->weights_bytes);
        send(&engine->sent_values, engine->values, job->values, job->values_bytes);
        if (job->tags)
                send(&engine->sent_tags, engine->tags, job->tags, TAGS_BYTES);

        for (unsigned core = 0; core < CORES; core++) {
                if (!(mask >> core & 1))
                        continue;
                poison(engine->out[core], job->matmul.moving);
                commands[n++] = device_load_command(engine->device, core, job->load, engine->weights, engine->tags);
                commands[n++] = device_matmul_command(engine->device, core, job->matmul, job->moving_rows, engine->values,
                                                      PE_COLUMNS, engine->out[core]);
        }

        r = device_execute(engine->device, commands, n, completions);
        if (r < 0 && r != -EREMOTEIO)
                return r;

        engine->told = engine->no_format = 0;
        n = 0;
        for (unsigned core = 0; core < CORES; core++) {
                if (!(mask >> core & 1))
                        continue;
                r = judge_completions(engine, core, &commands[n], &completions[n], &unsupported);
                if (r < 0)
                        return r;
                n += 2;
        }

        *ret_unsupported = unsupported;
        return 0;
}
