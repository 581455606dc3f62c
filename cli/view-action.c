/* SPDX-License-Identifier: Apache-2.0 */

/* The action for a finding depends on the other findings at its port or chip: a technician who acts on each row alone must not do harm. */

#include <stdio.h>
#include <string.h>

#include "cli/view.h"

/*
 * Findings of one port have one cause: where the cable ends, then the link itself, then what gets through it, then who waits for
 * that. The first one that is found is acted on. What is not here causes nothing, and is caused by nothing.
 */
static const char *const causes[] = {
        "link-unplugged", "link-miscabled", "collective-cable",
        "link-down", "link-lane", "link-clock", "link-crosstalk", "link-errors", "link-degraded", "link-flap",
        "link-frames", "link-counter", "link-bandwidth",
        "collective-hang", "collective-data", "collective-slow",
};

/* How far from the cause; ELEMENTS(causes): it has no place in that order. */
static size_t distance(const ViewFinding *finding) {
        size_t i = 0;

        while (i < ELEMENTS(causes) && strcmp(causes[i], finding->code) != 0)
                i++;
        return i;
}

/* How many characters of WHERE name a port of NeuronLink, whatever lane of it; 0: it is at none. */
static size_t port_length(const char *where) {
        const char *port = strstr(where, "/link-");

        return port ? (size_t) (port - where) + 1 + strcspn(port + 1, "/") : 0;
}

static bool is_same_port(const ViewFinding *a, const ViewFinding *b) {
        size_t n = port_length(a->where);

        return n > 0 && n == port_length(b->where) && strncmp(a->where, b->where, n) == 0;
}

/* As the device calls it, "tray 3", or "" where it did not say; NULL: another part is replaced. */
static const char *tray_of(const ViewFinding *finding) {
        const char *replaceable = finding->replaceable ?: "";

        return *replaceable == '\0' || strncmp(replaceable, "tray", 4) == 0 ? replaceable : NULL;
}

bool view_is_asked_for(const View *view, size_t i) {
        double asked, unused;

        if (view->findings[i].action != ACTION_REPAIR_MEMORY)
                return false;
        view_measured(view, "hbm_repairs_pending", &asked, &unused);
        return asked > 0;
}

/* As the record has it. What is asked for once is not asked for again. */
static Action action_of(const View *view, const ViewFinding *finding) {
        return view_is_asked_for(view, (size_t) (finding - view->findings)) ? ACTION_RESET_CHIP : finding->action;
}

/* Whether it is mended on the chip itself, which is for nothing where its tray is replaced. An adapter is replaced without. */
static bool goes_with_tray(const View *view, const ViewFinding *finding) {
        Action action = action_of(view, finding);

        return tray_of(finding) && !strstr(finding->where, "/nic") &&
               (action == ACTION_REPAIR_MEMORY || action == ACTION_RELOAD_DRIVER || action == ACTION_RESET_CHIP);
}

static const ViewFinding *cause_at_port(const View *view, const ViewFinding *finding) {
        const ViewFinding *cause = finding;

        for (size_t i = 0; distance(finding) < ELEMENTS(causes) && i < view->n_findings; i++)
                if (is_same_port(finding, &view->findings[i]) && distance(&view->findings[i]) < distance(cause))
                        cause = &view->findings[i];
        return cause;
}

const ViewFinding *view_cause(const View *view, size_t i) {
        const ViewFinding *cause = cause_at_port(view, &view->findings[i]);

        for (size_t k = 0; goes_with_tray(view, cause) && k < view->n_findings; k++) {
                const ViewFinding *other = &view->findings[k];

                if (action_of(view, other) == ACTION_REPLACE_TRAY && cause_at_port(view, other) == other && tray_of(other) &&
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
