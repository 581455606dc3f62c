/* SPDX-License-Identifier: Apache-2.0 */

/* The kinds of fault that sit on cables, and which plugs they move. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/chip/topology.h"
#include "sim/links/cable.h"
#include "sim/links/link.h"

typedef struct OtherParameters {
        Location other; /* a port */
} OtherParameters;

typedef struct UnpluggedParameters {
        int ends;
} UnpluggedParameters;

enum { ENDS_ONE, ENDS_BOTH };

static const char *const ends_words[] = { [ENDS_ONE] = "one", [ENDS_BOTH] = "both", NULL };

enum { /* indices into cable_kinds[] */
        CABLE_BROKEN,
        CABLE_LABEL,
        CABLE_MOVED,
        CABLE_SERIAL,
        CABLE_SWAPPED,
        CABLE_UNPLUGGED,
        LOOPBACK_PLUG,
        RING_REVERSED,
        _CABLE_KIND_MAX,
};

LinkPort link_fault_port(const Location *at) {
        return (LinkPort) location_index(at, LOCATION_LINK);
}

static const Location *other_of(const Fault *fault) {
        return &((const OtherParameters *) fault->parameters)->other;
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

/* ---- what a fault does ---- */

bool cable_fault_breaks(const Fault *fault) {
        return fault->kind == &cable_kinds[CABLE_BROKEN];
}

const Location *cable_fault_serial(const Fault *fault) {
        return fault->kind == &cable_kinds[CABLE_SERIAL] ? other_of(fault) : NULL;
}

const Location *cable_fault_label(const Fault *fault) {
        return fault->kind == &cable_kinds[CABLE_LABEL] ? other_of(fault) : NULL;
}

static Link *find_port(const Link *link, const Location *at) {
        Chip *chip = chip_find(link->chip, at->server, (unsigned) location_index(at, LOCATION_CHIP));

        return chip ? chip_part(chip, &model_link, link_fault_port(at)) : NULL;
}

/* Plus and minus of every chip change places: the ring runs the other way round. */
static int ring_moves(Link *link, PlugMove *ret) {
        int n = 0;

        for (unsigned i = 0; i < RING; i++) {
                Link *opposite = chip_part(link->chip, &model_link, link_port_opposite(link->port));

                ret[n++] = (PlugMove) { link, opposite };
                ret[n++] = (PlugMove) { opposite, link };
                link = link_designed(opposite);
        }
        return n;
}

int cable_fault_moves(Link *link, const Fault *fault, PlugMove ret[static PLUG_MOVES_MAX]) {
        Link *far = link_designed(link), *other;
        unsigned kind = 0;

        while (kind < _CABLE_KIND_MAX && fault->kind != &cable_kinds[kind])
                kind++;
        if (kind == _CABLE_KIND_MAX)
                return 0;
        if (!far)
                return -ENXIO;

        ret[0] = (PlugMove) { link, NULL };
        ret[1] = (PlugMove) { far, NULL };
        switch (kind) {
        case CABLE_UNPLUGGED:
                return ((const UnpluggedParameters *) fault->parameters)->ends == ENDS_BOTH ? 2 : 1;
        case LOOPBACK_PLUG:
                ret[0] = (PlugMove) { NULL, link };
                return 1;
        case RING_REVERSED:
                return ring_moves(link, ret);
        case CABLE_MOVED:
        case CABLE_SWAPPED:
                other = find_port(link, other_of(fault));
                if (!other || !link_designed(other))
                        return -ENXIO;
                ret[0].to = other;
                if (kind == CABLE_MOVED)
                        return 1;
                ret[0] = (PlugMove) { far, link_designed(other) };
                ret[1] = (PlugMove) { link_designed(other), far };
                return 2;
        default:
                return 0;
        }
}

/* ---- what it may be ---- */

static int read_port(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
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

static int validate_cable(const Fault *fault, const char **ret_wrong) {
        if (cable_is_trace((unsigned) location_index(&fault->at, LOCATION_CHIP), link_fault_port(&fault->at))) {
                *ret_wrong = "the link between tray partners is a trace of their board, not a cable";
                return -EINVAL;
        }

        return 0;
}

static int validate_ring(const Fault *fault, const char **ret_wrong) {
        LinkPort port = link_fault_port(&fault->at);

        if (port == LINK_X_PLUS || port == LINK_X_MINUS) {
                *ret_wrong = "half of a row's links are traces of boards, so it cannot be reversed; a column or the ring between servers can";
                return -EINVAL;
        }

        return 0;
}

/* Everything up to the last '-': the UltraServer. */
static bool same_ultraserver(const char *a, const char *b) {
        const char *end_a = strrchr(a, '-'), *end_b = strrchr(b, '-');

        return end_a && end_b && end_a - a == end_b - b && strncmp(a, b, (size_t) (end_a - a)) == 0;
}

static int validate_other(const Fault *fault, const char **ret_wrong) {
        const Location *other = other_of(fault);
        bool z = link_port_lanes(link_fault_port(&fault->at)) == LINK_LANES_Z;
        Location far = link_far_end(&fault->at);
        Fault at_other = { .at = *other };
        bool plugs = fault->kind == &cable_kinds[CABLE_MOVED] || fault->kind == &cable_kinds[CABLE_LABEL];

        if (location_equal(&fault->at, other) || (!plugs && location_equal(&far, other)))
                *ret_wrong = "both are the same cable, expected another one";
        else if (z != (link_port_lanes(link_fault_port(other)) == LINK_LANES_Z))
                *ret_wrong = "the plugs of z cables do not fit the backplane";
        else if (!z && strcmp(fault->at.server, other->server) != 0)
                *ret_wrong = "x and y cables do not leave their server";
        else if (z && !same_ultraserver(fault->at.server, other->server))
                *ret_wrong = "z cables do not leave their UltraServer";
        else if (validate_cable(&at_other, ret_wrong) < 0)
                *ret_wrong = "the link of the other port is a trace of a tray's board, not a cable";
        else
                return validate_cable(fault, ret_wrong);

        return -EINVAL;
}

/* ---- what a right diagnosis says ---- */

static void add_place(Diagnosis *diagnosis, Location place) {
        diagnosis->places[diagnosis->n_places++] = place;
}

/* A cable has two ends, and nobody can tell which of them is to blame. */
static void diagnose_both_ends(const Fault *fault, Diagnosis *diagnosis) {
        add_place(diagnosis, link_far_end(&fault->at));
}

static void diagnose_two_cables(const Fault *fault, Diagnosis *diagnosis) {
        diagnose_both_ends(fault, diagnosis);
        add_place(diagnosis, *other_of(fault));
        add_place(diagnosis, link_far_end(other_of(fault)));
}

static void diagnose_ring(const Fault *fault, Diagnosis *diagnosis) {
        Location opposite = fault->at;

        (void) location_truncate(&opposite, LOCATION_CHIP);
        (void) location_append(&opposite, LOCATION_LINK, link_port_opposite(link_fault_port(&fault->at)));
        diagnose_both_ends(fault, diagnosis);
        add_place(diagnosis, opposite);
        add_place(diagnosis, link_far_end(&opposite));
}

/* The other cable has the same plugs: x and y of the same server, z of the same ring. */
static int sample_other(Sample *sample, const char *key) {
        Location other = { .n_parts = 0 };
        char text[LOCATION_STRING_MAX];
        bool ring = sample_has_ring(sample);

        memcpy(other.server, sample_at(sample)->server, sizeof(other.server));
        (void) location_append(&other, LOCATION_CHIP, (unsigned) sample_below(sample, CHIPS));
        (void) location_append(&other, LOCATION_LINK, ring ? LINK_Z_PLUS + (unsigned) sample_below(sample, 2) :
                                                             (unsigned) sample_below(sample, LINK_Z_PLUS));
        sample_key(sample, key, "%s", location_format(&other, text));
        return 0;
}

static int sample_with(Sample *sample) {
        return sample_other(sample, "with");
}

static int sample_to(Sample *sample) {
        return sample_other(sample, "to");
}

static int sample_of(Sample *sample) {
        return sample_other(sample, "of");
}

/* ---- kinds ---- */

static const LocationKind at_port[] = { LOCATION_LINK, _LOCATION_KIND_INVALID };

#define OTHER(key, sentence)                                                                                 \
        (const YamlField[]) {                                                                                \
                YAML_CUSTOM(key, OtherParameters, other, read_port, .required = true, .summary = sentence), {} \
        }

const FaultKind cable_kinds[_CABLE_KIND_MAX + 1] = {
        [CABLE_BROKEN] = {
                .name        = "cable-broken",
                .summary     = "the cable whose plug belongs at a port carries nothing, either way",
                .family      = FAMILY_LINKS,
                .at          = at_port,
                .persistence = PERSISTENCE_PERMANENT,
                .validate    = validate_cable,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-down"),
                .diagnose    = diagnose_both_ends,
        },
        [CABLE_LABEL] = {
                .name             = "cable-label",
                .summary          = "the label on the plug of a port names another port",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(OtherParameters),
                .parameters       = OTHER("of", "the port it names, as a full location"),
                .validate         = validate_other,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-label"),
                .sample           = sample_of,
        },
        [CABLE_MOVED] = {
                .name             = "cable-moved",
                .summary          = "the plug of a port sits in another one; several of them make any order of plugs",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(OtherParameters),
                .parameters       = OTHER("to", "where it sits, as a full location; the plug that belongs there hangs loose, "
                                                "unless it is moved too"),
                .validate         = validate_other,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-miscabled", "link-unplugged"),
                .diagnose         = diagnose_two_cables,
                .sample           = sample_to,
        },
        [CABLE_SERIAL] = {
                .name             = "cable-serial",
                .summary          = "the plug of a port tells the serial number of another cable",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(OtherParameters),
                .parameters       = OTHER("of", "a port of the other cable, as a full location"),
                .validate         = validate_other,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-serial"),
                .diagnose         = diagnose_two_cables,
                .sample           = sample_of,
        },
        [CABLE_SWAPPED] = {
                .name             = "cable-swapped",
                .summary          = "the far ends of two cables are exchanged",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(OtherParameters),
                .parameters       = OTHER("with", "the port of the other cable, as a full location"),
                .validate         = validate_other,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-miscabled"),
                .diagnose         = diagnose_two_cables,
                .sample           = sample_with,
        },
        [CABLE_UNPLUGGED] = {
                .name             = "cable-unplugged",
                .summary          = "the plug of a port hangs loose",
                .family           = FAMILY_LINKS,
                .at               = at_port,
                .persistence      = PERSISTENCE_PERMANENT,
                .parameters_bytes = sizeof(UnpluggedParameters),
                .parameters       = (const YamlField[]) {
                        YAML_WORD("ends", UnpluggedParameters, ends, ends_words, .summary = "one (default), or both: the cable is missing"),
                        {}
                },
                .validate         = validate_cable,
                .is_shared        = true,
                .codes            = FAULT_CODES("link-unplugged"),
        },
        [LOOPBACK_PLUG] = {
                .name        = "loopback-plug",
                .summary     = "a plug that sends back what it gets sits in a port; the cable hangs loose",
                .family      = FAMILY_LINKS,
                .at          = at_port,
                .persistence = PERSISTENCE_PERMANENT,
                .validate    = validate_cable,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-miscabled"),
        },
        [RING_REVERSED] = {
                .name        = "ring-reversed",
                .summary     = "plus and minus are exchanged at all four chips of the column, or of the ring between servers, of a port",
                .family      = FAMILY_LINKS,
                .at          = at_port,
                .persistence = PERSISTENCE_PERMANENT,
                .validate    = validate_ring,
                .is_shared   = true,
                .codes       = FAULT_CODES("link-miscabled"),
                .diagnose    = diagnose_ring,
        },
        {}
};
