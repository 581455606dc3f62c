/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One command at a time for the chips of a scenario, with its areas in a buffer of the test. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/chip/chip.h"
#include "sim/fleet/scenario.h"

#define LONE_WINDOW (1u << 20)
#define LONE_OUT    4096u /* where out areas begin */

typedef struct Lone {
        Scenario *scenario;
        uint64_t batch;
        uint8_t *window;
} Lone;

/* Returns NULL where the scenario is refused, with the reason on standard error where EXPECTED is NULL, else in it. */
static __attribute__((unused)) Lone *lone_new(const char *text, char **ret_error) {
        Lone *lone = calloc(1, sizeof(*lone));
        char *error = NULL;

        lone->window = aligned_alloc(4096, LONE_WINDOW);
        if (scenario_parse("test", text, strlen(text), &lone->scenario, &error) < 0) {
                if (ret_error)
                        *ret_error = error;
                else
                        fprintf(stderr, "%s\n", error);
                free(lone->window);
                free(lone);
                return NULL;
        }
        return lone;
}

static __attribute__((unused)) Lone *lone_free(Lone *lone) {
        if (lone) {
                scenario_free(lone->scenario);
                free(lone->window);
        }
        free(lone);
        return NULL;
}

DEFINE_CLEANUP(Lone *, lone_free);

static __attribute__((unused)) Chip *lone_chip(Lone *lone, const char *server, unsigned chip) {
        return server_chip(hall_server(lone->scenario->hall, server), chip);
}

static __attribute__((unused)) WireCompletion lone_run(Lone *lone, const char *server, unsigned chip, WireCommand command) {
        WireCompletion completion = {};

        command.chip = (uint8_t) chip;
        if (command.out_bytes > 0 && command.out_offset == 0)
                command.out_offset = LONE_OUT;
        (void) chip_execute(lone_chip(lone, server, chip), ++lone->batch, &command, lone->window, LONE_WINDOW, &completion);
        return completion;
}
