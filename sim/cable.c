/* SPDX-License-Identifier: Apache-2.0 */

/*
 * cable
 *
 * Which port is really at the other end: the designed torus and ring, until two far ends are exchanged. Both directions
 * of a link run in one cable, so an exchange moves four ports at once. The link between tray partners is a trace of
 * their board and cannot be moved.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/link.h"
#include "sim/topology.h"

#define DRAW_CABLE 2000u

unsigned link_port_lanes(LinkPort port) {
        return port == LINK_Z_PLUS || port == LINK_Z_MINUS ? LINK_LANES_Z : LINK_LANES_XY;
}

Location link_location(const Link *link) {
        Location at = {};

        (void) snprintf(at.server, sizeof(at.server), "%s", chip_server_name(link->chip));
        (void) location_append(&at, LOCATION_CHIP, chip_index(link->chip));
        (void) location_append(&at, LOCATION_LINK, link->port);
        return at;
}

Link *link_designed(const Link *link) {
        Chip *neighbour;

        neighbour = chip_neighbour(link->chip, link->port);
        return neighbour ? chip_part(neighbour, &model_link, link_port_opposite(link->port)) : NULL;
}

Link *link_far(const Link *link) {
        return link->plugged ? link->plugged : link_designed(link);
}

static bool is_board_trace(unsigned chip, LinkPort port) {
        /* Tray partners sit side by side, columns 3-0 and 1-2 of a row: a trace of their board, no cable. */
        return port == (chip % 2 == 1 ? LINK_X_PLUS : LINK_X_MINUS);
}

int cable_text(Chip *chip, LinkPort port, char *text, size_t size) {
        const Link *link = chip_part(chip, &model_link, port), *designed;
        Location at;

        designed = link ? link_designed(link) : NULL;
        if (!designed)
                return -ENOENT;

        if (is_board_trace(chip_index(chip), port)) {
                text[0] = '\0';
                return 0;
        }

        if (link->cable) {
                link = link->cable;
                designed = link_designed(link);
        }
        /* Both ends of a cable tell the same number: that of its plus end. */
        at = link_location(link->port % 2 == 0 ? link : designed);
        (void) snprintf(text, size, "NLC%012" PRIX64, draw_u64(link->chip, &at, 0, DRAW_CABLE) >> 16);
        return 0;
}

LinkPort link_fault_port(const Location *at) {
        return (LinkPort) location_index(at, LOCATION_LINK);
}

static int cable_read_with(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "the location of a link port", &text);
        if (r < 0)
                return r;

        r = location_parse(text, ret, &wrong, &offset);
        if (r < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        if (location_kind(ret) != LOCATION_LINK)
                return yaml_refuse(yaml, node, 0, "%s is no link port, expected SERVER/chipN/link-…", text);

        return 0;
}

static int cable_validate(const Fault *fault, const char **ret_wrong) {
        if (is_board_trace((unsigned) location_index(&fault->at, LOCATION_CHIP), link_fault_port(&fault->at))) {
                *ret_wrong = "the link between tray partners is a trace of their board, not a cable";
                return -EINVAL;
        }

        return 0;
}

Location link_far_end(const Location *at) {
        unsigned chip = (unsigned) location_index(at, LOCATION_CHIP);
        LinkPort port = link_fault_port(at);
        Location far = {};

        memcpy(far.server, at->server, sizeof(far.server));
        if (port == LINK_Z_PLUS || port == LINK_Z_MINUS) {
                char *last = &far.server[strlen(far.server) - 1]; /* usU-S, S one digit */

                *last = (char) ('0' + (unsigned) (*last - '0' + (port == LINK_Z_PLUS ? 1 : (int) RING - 1)) % RING);
        } else
                chip = torus_neighbour(chip, port);
        (void) location_append(&far, LOCATION_CHIP, chip);
        (void) location_append(&far, LOCATION_LINK, link_port_opposite(port));
        return far;
}

/* A cable has two ends, and nobody can tell which of them is to blame. */
static void cable_diagnose(const Fault *fault, Diagnosis *diagnosis) {
        diagnosis->places[diagnosis->n_places++] = link_far_end(&fault->at);
}

static void cable_diagnose_swap(const Fault *fault, Diagnosis *diagnosis) {
        const Location *with = &((const SwapParameters *) fault->parameters)->with;

        cable_diagnose(fault, diagnosis);
        diagnosis->places[diagnosis->n_places++] = *with;
        diagnosis->places[diagnosis->n_places++] = link_far_end(with);
}

/* The other cable has the same plugs: x and y of the same server, z of the same ring. */
static int cable_sample_swap(Sample *sample) {
        Location with = { .n_parts = 0 };
        char text[LOCATION_STRING_MAX];
        bool ring = sample_has_ring(sample);

        memcpy(with.server, sample_at(sample)->server, sizeof(with.server));
        (void) location_append(&with, LOCATION_CHIP, (unsigned) sample_below(sample, CHIPS));
        (void) location_append(&with, LOCATION_LINK, (unsigned) (ring ? LINK_Z_PLUS + sample_below(sample, 2) : sample_below(sample, LINK_Z_PLUS)));
        sample_key(sample, "with", "%s", location_format(&with, text));
        return 0;
}

/* Everything up to the last '-': the UltraServer. */
static bool same_ultraserver(const char *a, const char *b) {
        const char *end_a = strrchr(a, '-'), *end_b = strrchr(b, '-');

        return end_a && end_b && end_a - a == end_b - b && strncmp(a, b, (size_t) (end_a - a)) == 0;
}

static int cable_validate_swap(const Fault *fault, const char **ret_wrong) {
        const Location *with = &((const SwapParameters *) fault->parameters)->with;
        bool z = link_port_lanes(link_fault_port(&fault->at)) == LINK_LANES_Z;
        Fault other = { .at = *with };

        if (location_equal(&fault->at, with))
                *ret_wrong = "a cable cannot be swapped with itself";
        else if (z != (link_port_lanes(link_fault_port(with)) == LINK_LANES_Z))
                *ret_wrong = "the plugs of z cables do not fit the backplane";
        else if (!z && strcmp(fault->at.server, with->server) != 0)
                *ret_wrong = "x and y cables do not leave their server";
        else if (!same_ultraserver(fault->at.server, with->server))
                *ret_wrong = "z cables do not leave their UltraServer";
        else
                return cable_validate(fault, ret_wrong) < 0 ? -EINVAL : cable_validate(&other, ret_wrong);

        return -EINVAL;
}

/* Exchanges the far ends of A and B, and sets them back when they are exchanged already. */
static void plugs_exchange(Link *a, Link *b) {
        Link *far_a = link_designed(a), *far_b = link_designed(b);
        bool back = a->plugged;

        a->plugged = back ? NULL : far_b;
        b->plugged = back ? NULL : far_a;
        far_a->plugged = back ? NULL : b;
        far_b->plugged = back ? NULL : a;
        far_a->cable = back ? NULL : b;
        far_b->cable = back ? NULL : a;
}

static Link *swap_partner(Link *link, const Fault *fault) {
        const Location *with = &((const SwapParameters *) fault->parameters)->with;
        Chip *chip;

        chip = chip_find(link->chip, with->server, (unsigned) location_index(with, LOCATION_CHIP));
        return chip ? chip_part(chip, &model_link, link_fault_port(with)) : NULL;
}

static int cable_swap(Link *link, const Fault *fault) {
        Link *with = swap_partner(link, fault), *far, *with_far;

        far = link_designed(link);
        with_far = with ? link_designed(with) : NULL;
        if (!far || !with_far)
                return -ENXIO;
        if (far == with || link->plugged || with->plugged || far->plugged || with_far->plugged)
                return -EEXIST; /* the two ends of one cable, or a plug that has been moved already */

        plugs_exchange(link, with);
        return 0;
}

static void cable_swap_back(Link *link, const Fault *fault) {
        plugs_exchange(link, swap_partner(link, fault));
}

/* ---- kinds ---- */

enum { /* indices into cable_kinds[] */
        CABLE_BROKEN,
        CABLE_SWAPPED,
        _CABLE_KIND_MAX,
};

static const LocationKind at_port[] = { LOCATION_LINK, _LOCATION_KIND_INVALID };

const FaultKind cable_kinds[_CABLE_KIND_MAX + 1] = {
        [CABLE_BROKEN] = {
                .name        = "cable-broken",
                .summary     = "the cable at a port carries nothing, either way",
                .family      = FAMILY_LINKS,
                .at          = at_port,
                .persistence = PERSISTENCE_PERMANENT,
                .validate    = cable_validate,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-down"),
                .diagnose    = cable_diagnose,
        },
        [CABLE_SWAPPED] = {
                .name             = "cable-swapped",
                .summary          = "the far ends of two cables are exchanged",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(SwapParameters),
                .parameters       = (const YamlField[]) {
                        YAML_CUSTOM("with", SwapParameters, with, cable_read_with, .required = true,
                                    .summary = "the port of the other cable, as a full location"),
                        {}
                },
                .validate         = cable_validate_swap,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-miscabled"),
                .diagnose         = cable_diagnose_swap,
                .sample           = cable_sample_swap,
        },
        {}
};

static bool breaks(const Link *link) {
        for (size_t i = 0; i < link->n_faults; i++)
                if (link->faults[i]->kind == &cable_kinds[CABLE_BROKEN])
                        return true;

        return false;
}

bool cable_is_broken(const Link *link) {
        return breaks(link) || breaks(link_far(link));
}

int cable_inject(Link *link, const Fault *fault) {
        return fault->kind == &cable_kinds[CABLE_SWAPPED] ? cable_swap(link, fault) : 0;
}

void cable_heal(Link *link, const Fault *fault) {
        if (fault->kind == &cable_kinds[CABLE_SWAPPED])
                cable_swap_back(link, fault);
}
