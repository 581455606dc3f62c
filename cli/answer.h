/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answer
 *
 * How a server or chip stands, for `gate` and `verdict`: by the newest record, to which the daemon points and which is verified here. What the
 * daemon says of it beside that can make it worse and never better.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "daemon/record/record.h"

typedef struct Answer {
        int status;
        Result result;            /* of the record; RESULT_INCONCLUSIVE where none was verified, or it does not count */
        bool counts;              /* REASON is what the record says, else why there is no answer */
        char reason[512];
        uint64_t record;          /* UINT64_MAX: there is none */
        char id[RECORD_ID_HEX];   /* of what was verified, as the next */
        uint64_t age_usec;
} Answer;

/* By --plan, --max-age, --keyring and --root. Returns 0, or an exit status where nobody could be asked, having complained. */
int answer_ask(sd_bus *bus, const char *target, Answer *ret);
