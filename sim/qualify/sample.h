/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sample
 *
 * One fault of a kind, drawn at random: a place out of the grammar of locations, parameters out of the table of the kind,
 * persistence and triggers. It is written as text and read back as any scenario is, so what cannot be injected is never drawn
 * and what is drawn can be replayed. Everything follows from (seed, kind, index).
 *
 * Three floors, said in the manual: an intermittent fault acts in at least one in fifty of its part's commands, as many in 0.02 to
 * 0.1 as in 0.2 to 1; a transient one, which acts in one command and is gone, is drawn only of kinds that can be nothing else; and
 * a trigger is one that this hall can reach (colder than it is, after a few commands, with up to the sag of a full array). What acts
 * more rarely is met by luck, whatever the plan.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "sim/chip/model.h"
#include "sim/fleet/scenario.h"

#define SAMPLE_TRIES_MAX       4096u
#define SAMPLE_TRIES_EACH      64u /* of one way down to where a kind can sit */
#define SAMPLE_PROBABILITY_MIN 0.02
#define SAMPLE_ABOVE_MIN       20.0 /* °C; a chip of the hall rests at about 60 */
#define SAMPLE_ABOVE_MAX       50.0
#define SAMPLE_COMMANDS_MAX    3u
#define SAMPLE_DROOP_MIN       1.0 /* mV; a full array sags by 50 */
#define SAMPLE_DROOP_MAX       50.0
/* Device seconds: what strikes before a memory was first written, which takes 110 ms, is written over; every plan takes longer. */
#define SAMPLE_AFTER_MIN       0.12
#define SAMPLE_AFTER_MAX       0.5

typedef struct DrawnFault {
        const FaultKind *kind;
        char *text;                /* as in a scenario */
        bool ring;                 /* stands in an UltraServer, us0-0 … us0-3; else in trn-0 */
        Location at;
        bool comes_and_goes;       /* intermittent */
        double probability;        /* if it is: of acting in a command */
        unsigned triggers;         /* that it has */
        const char *undetectable;  /* why, static; NULL: it can be found */
        Diagnosis diagnosis;       /* of a right finding */
} DrawnFault;

/* The text of a scenario with FAULTS (joined by newlines, each a list item), or, for "", with none but what sound chips do on their own
 * (noise); malloc'd, NULL without memory. */
char *sample_scenario(uint64_t seed, bool ring, const char *faults);

/*
 * Draws the fault of INDEX of KIND, in CHIP; of a kind that is shared, in any chip. 0; -ERANGE where no draw was accepted, with
 * what refused the last one in *ret_error (malloc'd); -ENOMEM. PROBABILITY: of any fault that can come and go; 0: half of them do.
 */
int sample_draw(uint64_t seed, const FaultKind *kind, unsigned index, unsigned chip, double probability, DrawnFault *ret,
                char **ret_error);
void drawn_fault_done(DrawnFault *fault);
