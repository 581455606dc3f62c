/* SPDX-License-Identifier: Apache-2.0 */

/* The action for a finding depends on the other findings at its port or chip: a technician who acts on each row alone must not do harm. */

#include <stdio.h>
#include <string.h>

#include "cli/results/view.h"

/*
 * Findings of one part that have one cause, the nearest to it first: the first that is found there is acted on. What is not here causes
 * nothing, and is caused by nothing. What only warns stands last, for it is no reason to put off what fails.
 */
static const struct {
        const char *part; /* how the name of the part begins that they share; "": all of the place */
        const char *codes[20];
} causes[] = {
        /* Where the cable ends, then the link itself, then what gets through it, then who waits for that. */
        { "/link-", { "link-unplugged", "link-miscabled", "collective-cable",
                      "link-down", "link-lane", "link-clock", "link-crosstalk", "link-errors", "link-degraded", "link-flap",
                      "link-frames", "link-counter", "link-bandwidth",
                      "collective-hang", "collective-data", "collective-slow", "link-margin", "link-either-end" } },
        /* A spare takes the place of the whole row, whatever is wrong with it, and however seldom. */
        { "/row", { "hbm-wordline-short", "hbm-row", "hbm-sub-wordline", "hbm-word", "hbm-cell", "hbm-retention", "hbm-hammer",
                    "hbm-intermittent", "hbm-soft-error" } },
        /* An adapter that is replaced needs nothing else; then the cable, then the driver. */
        { "/nic", { "efa-corruption", "efa-loss", "efa-misdelivery", "efa-cable", "efa-path", "efa-unresponsive", "efa-not-ready", "efa-flood",
                    "efa-clock", "efa-counter", "efa-slow", "efa-single-path", "efa-retransmission" } },
        { "", { "host-link", "efa-slow", "host-link-errors" } },
        /* Errors that a counter tells which may be lying, and cells that are too hot, are no reason to replace a tray yet. */
        { "/chip", { "counter-lies", "sram-uncorrected" } },
        { "/chip", { "counter-lies", "hbm-uncorrected" } },
        { "/chip", { "overheated", "hbm-scattered" } },
        { "/chip", { "overheated", "sram-scattered" } },
};

#define CODES ELEMENTS(causes[0].codes)

/* How far from the cause; CODES: it has no place in that order. */
static size_t distance(size_t order, const ViewFinding *finding) {
        size_t i = 0;

        while (i < CODES && (!causes[order].codes[i] || strcmp(causes[order].codes[i], finding->code) != 0))
                i++;
        return i;
}

/* How many characters of WHERE name the PART, whatever of it is meant; 0: it is at none. */
static size_t part_length(const char *where, const char *part) {
        const char *at = strstr(where, part);

        return *part == '\0' ? strlen(where) : at ? (size_t) (at - where) + 1 + strcspn(at + 1, "/") : 0;
}

static bool is_same_part(const ViewFinding *a, const ViewFinding *b, const char *part) {
        size_t n = part_length(a->where, part);

        return n > 0 && n == part_length(b->where, part) && strncmp(a->where, b->where, n) == 0;
}

static bool is_cause(const ViewFinding *cause, const ViewFinding *finding) {
        for (size_t i = 0; i < ELEMENTS(causes); i++)
                if (distance(i, finding) < CODES && distance(i, cause) < distance(i, finding) && is_same_part(cause, finding, causes[i].part))
                        return true;
        return false;
}

/* As the device calls it, "tray 3", or "" where it did not say; NULL: another part is replaced. */
static const char *tray_of(const ViewFinding *finding) {
        const char *replaceable = finding->replaceable ?: "";

        return *replaceable == '\0' || strncmp(replaceable, "tray", 4) == 0 ? replaceable : NULL;
}

static bool is_asked_for(const View *view, const ViewFinding *finding) {
        double asked, unused;

        if (finding->action != ACTION_REPAIR_MEMORY)
                return false;
        view_measured(view, "hbm_repairs_pending", &asked, &unused);
        return asked > 0;
}

bool view_is_asked_for(const View *view, size_t i) {
        return is_asked_for(view, &view->findings[i]);
}

/* As the record has it. What is asked for once is not asked for again. */
static Action action_of(const View *view, const ViewFinding *finding) {
        return is_asked_for(view, finding) ? ACTION_RESET_CHIP : finding->action;
}

/* Whether it is mended on the chip itself, which is for nothing where its tray is replaced. An adapter is replaced without. */
static bool goes_with_tray(const View *view, const ViewFinding *finding) {
        Action action = action_of(view, finding);

        return tray_of(finding) && !strstr(finding->where, "/nic") &&
               (action == ACTION_REPAIR_MEMORY || action == ACTION_RELOAD_DRIVER || action == ACTION_RESET_CHIP);
}

static const ViewFinding *cause_at_part(const View *view, const ViewFinding *finding) {
        const ViewFinding *cause = finding;

        for (size_t i = 0; i < view->n_findings; i++)
                if (is_cause(&view->findings[i], cause))
                        cause = &view->findings[i];
        return cause;
}

const ViewFinding *view_shared(const View *view, size_t i) {
        const ViewFinding *finding = &view->findings[i];

        for (size_t k = 0; view->server && k < view->server->n_findings; k++) {
                const ViewFinding *other = &view->server->findings[k];

                if (other->shared && strcmp(other->shared, finding->code) == 0 && strcmp(other->step, finding->step) == 0)
                        return other;
        }
        return NULL;
}

const ViewFinding *view_cause(const View *view, size_t i) {
        const ViewFinding *cause = cause_at_part(view, &view->findings[i]), *shared = view_shared(view, i);

        if (shared)
                return shared;
        for (size_t k = 0; goes_with_tray(view, cause) && k < view->n_findings; k++) {
                const ViewFinding *other = &view->findings[k];

                if (action_of(view, other) == ACTION_REPLACE_TRAY && cause_at_part(view, other) == other && tray_of(other) &&
                    strcmp(tray_of(other), tray_of(cause)) == 0)
                        return other;
        }
        return cause;
}

const char *view_action(const View *view, size_t i, char *buffer, size_t size) {
        const ViewFinding *finding = view_cause(view, i);
        const char *action = action_to_string(action_of(view, finding)) ?: "", *replaceable = finding->replaceable, *noun = strrchr(action, '-');

        /* "replace-tray" of "tray 3" is "replace tray 3"; what is not itself the thing to replace goes without. */
        if (noun && replaceable && strncmp(replaceable, noun + 1, strlen(noun + 1)) == 0)
                (void) snprintf(buffer, size, "%.*s %s", (int) (noun - action), action, replaceable);
        else
                (void) snprintf(buffer, size, "%s", action);
        for (char *c = buffer; *c; c++)
                if (*c == '-')
                        *c = ' ';
        return buffer;
}
