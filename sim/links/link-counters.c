/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a port counts. How often its link has trained again is not counted as it happens but follows from the clock, so that it
 * happens also while nobody looks.
 */

#include "sim/links/link-faults.h"
#include "sim/links/link.h"

#define RUNS_BACK_FROM (UINT64_C(1) << 20)
#define WRAPS_FROM     (UINT32_MAX - 1)

static bool link_has(const Link *link, LinkFaultKind kind) {
        for (size_t i = 0; i < link->n_faults; i++)
                if (link_fault_kind(link->faults[i]) == kind)
                        return true;

        return false;
}

static uint64_t fault_retrains(const Fault *fault, uint64_t nsec) {
        const LinkFault *parameters = fault->parameters;

        return link_fault_kind(fault) == LINK_FLAPS ? (uint64_t) ((double) nsec / (parameters->every * 1e9)) : 0;
}

static uint64_t link_retrains(const Link *link) {
        uint64_t retrains = 0;

        for (size_t i = 0; i < link->n_faults; i++)
                retrains += fault_retrains(link->faults[i], chip_nsec(link->chip));

        return retrains;
}

/* Both ends train. */
static uint64_t counted(const Link *link, LinkCounter counter) {
        const Link *far = link_far(link);

        if (counter != LINK_RETRAINS)
                return link->counted[counter];

        return link->counted[counter] + link_retrains(link) + (far != link ? link_retrains(far) : 0);
}

void link_count(Link *link, LinkCounter counter, uint64_t n) {
        if (link_has(link, LINK_COUNTER_STUCK))
                return;

        link->counted[counter] += link_has(link, LINK_COUNTER_RUNS_BACK) ? -n : n;
}

uint64_t link_counter(const Link *link, LinkCounter counter) {
        bool frames = counter == LINK_FRAMES_SENT || counter == LINK_FRAMES_RECEIVED;
        uint64_t value = counted(link, counter);

        if (frames && link_has(link, LINK_COUNTER_RUNS_BACK))
                value += RUNS_BACK_FROM;
        if (frames && link_has(link, LINK_COUNTER_WRAPS))
                value += WRAPS_FROM;

        return link_has(link, LINK_COUNTER_WRAPS) ? (uint32_t) value : value;
}

void link_counter_clear(Link *link, LinkCounter counter) {
        link->counted[counter] -= counted(link, counter);
}

/* What has been before does not count, and what has been stays. */
static void move_retrains(Link *link, uint64_t retrains) {
        Link *far = link_far(link);

        link->counted[LINK_RETRAINS] += retrains;
        if (far != link)
                far->counted[LINK_RETRAINS] += retrains;
}

void link_counters_inject(Link *link, const Fault *fault) {
        move_retrains(link, -fault_retrains(fault, chip_nsec(link->chip)));
}

void link_counters_heal(Link *link, const Fault *fault) {
        move_retrains(link, fault_retrains(fault, chip_nsec(link->chip)));
}
