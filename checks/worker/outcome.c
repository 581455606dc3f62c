/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

static void line_done(OutcomeLine *line) {
        free((char *) line->measurement.name);
        free(line->text);
}

static int line_init(OutcomeLine *line, const Event *event, const char *text, size_t n) {
        *line = (OutcomeLine) { .type = event->type, .part = event->part, .verdict = event->verdict, .reason = event->reason, .n = n };
        line->text = malloc(n + 1);
        if (!line->text)
                return -ENOMEM;
        memcpy(line->text, text, n);
        if (event->type != EVENT_MEASUREMENT)
                return 0;

        line->measurement = event->measurement;
        line->measurement.unit = NULL; /* stands in the text */
        line->measurement.name = strdup(event->measurement.name);
        return line->measurement.name ? 0 : -ENOMEM;
}

int outcome_keep(Outcome *outcome, const Event *event, const char *text, size_t n) {
        OutcomeLine line;

        if (outcome->n == outcome->n_allocated) {
                size_t more = MAX(2 * outcome->n_allocated, (size_t) 32);
                OutcomeLine *grown = reallocarray(outcome->lines, more, sizeof(*grown));

                if (!grown)
                        return -ENOMEM;
                outcome->lines = grown;
                outcome->n_allocated = more;
        }

        if (line_init(&line, event, text, n) < 0) {
                line_done(&line);
                return -ENOMEM;
        }
        outcome->lines[outcome->n++] = line;
        return 0;
}

void outcome_write(Outcome *outcome, Outlet *outlet, Account *account, const Location *unit, size_t step) {
        for (size_t i = 0; i < outcome->n; i++) {
                OutcomeLine *line = &outcome->lines[i];

                outlet_forward(outlet, line->text, line->n);
                if (line->type == EVENT_MEASUREMENT)
                        account_measurement(account, unit, step, &line->measurement);
                if (line->type == EVENT_PART_DONE)
                        account_part(account, &line->part, step, line->verdict);
        }
}

uint16_t outcome_parts(const Outcome *outcome, const char *server, Reason reason) {
        uint16_t chips = 0;

        for (size_t i = 0; i < outcome->n; i++) {
                const OutcomeLine *line = &outcome->lines[i];

                if (line->type == EVENT_PART_DONE && line->reason == reason && strcmp(line->part.server, server) == 0)
                        chips |= (uint16_t) (1u << location_index(&line->part, LOCATION_CHIP));
        }
        return chips;
}

static bool is_of_device(const Finding *finding) {
        return strcmp(finding->code, "device-hang") == 0 || strcmp(finding->code, "device-garbled") == 0;
}

bool outcome_blames(const Outcome *outcome) {
        for (size_t i = 0; i < outcome->findings.n; i++)
                if (!is_of_device(&outcome->findings.items[i].finding))
                        return true;
        return false;
}

static void forget_lines(Outcome *outcome) {
        for (size_t i = 0; i < outcome->n; i++)
                line_done(&outcome->lines[i]);
        free(outcome->lines);
        outcome->lines = NULL;
        outcome->n = outcome->n_allocated = 0;
}

void outcome_withdraw(Outcome *outcome) {
        forget_lines(outcome);
        findings_keep(&outcome->findings, is_of_device);
}

void outcome_clear(Outcome *outcome) {
        forget_lines(outcome);
        findings_clear(&outcome->findings);
}
