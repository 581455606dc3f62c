/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Identity: what a chip says it is, in Neuron's sysfs (layout of driver 2.30), in the firmware's mailbox, and under
 * assay/ what neither has. The host's driver reads serials and versions once when it finds a device, so a process on the
 * host can read them of every neighbour (../neuronN/…) even when that one no longer answers.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/answer.h"
#include "sim/chip/chip.h"

#define FIRMWARE       "1.18.3.0"
#define FIRMWARE_BUILD 0x1b7u
#define API_VERSION    6u
#define POWERED        0x40000000u /* firmware status: up */
#define RACK_SERVERS   2u

extern const Model model_identity;

typedef struct DuplicateFault {
        uint64_t of;
        char *server; /* of the same UltraServer; NULL: its own */
} DuplicateFault;

typedef struct FirmwareFault {
        char *version;
} FirmwareFault;

typedef struct PositionFault {
        uint64_t routing_id;
} PositionFault;

enum { KIND_DUPLICATE, KIND_FIRMWARE, KIND_POSITION, KIND_SERIAL, _KIND_MAX };

typedef struct Identity {
        const Fault *faults[_KIND_MAX];
} Identity;

enum { DRAW_SERIAL = 0x5e71a1, DRAW_POD };

/* Of the chip's fault of a kind; NULL without one. */
static const void *parameters_of(const Chip *chip, unsigned kind) {
        const Identity *identity = chip_part_peek(chip, &model_identity, 0);

        return identity && identity->faults[kind] ? identity->faults[kind]->parameters : NULL;
}

static uint64_t own_serial(const Chip *chip) {
        Location at;

        /* The upper byte as on real ones: never all zero. */
        chip_location(chip, &at);
        return (draw_u64(chip, &at, 0, DRAW_SERIAL) >> 8) | UINT64_C(0x19) << 56;
}

static uint64_t serial_of(Chip *chip) {
        const DuplicateFault *duplicate = parameters_of(chip, KIND_DUPLICATE);

        if (duplicate) {
                Server *server = duplicate->server ? hall_server(chip->server->ultraserver->hall, duplicate->server) : chip->server;
                Chip *other = server ? server_chip(server, (unsigned) duplicate->of) : NULL;

                return own_serial(other ? other : chip);
        }
        return own_serial(chip);
}

static const char *firmware_of(const Chip *chip) {
        const FirmwareFault *firmware = parameters_of(chip, KIND_FIRMWARE);

        return firmware ? firmware->version : FIRMWARE;
}

static uint64_t place_serial(const Chip *chip, const char *name, unsigned draw) {
        Location at = {};

        memcpy(at.server, name, strnlen(name, sizeof(at.server) - 1));
        return draw_u64(chip, &at, 0, draw) >> 16;
}

static unsigned routing_id(const Chip *chip) {
        const PositionFault *position = parameters_of(chip, KIND_POSITION);

        return position ? (unsigned) position->routing_id : torus_routing_id(chip->index);
}

/* ---- sysfs ---- */

static int print(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int print(char *text, size_t size, const char *format, ...) {
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(text, size, format, arguments);
        va_end(arguments);
        return n < 0 || (size_t) n >= size ? -E2BIG : 0;
}

static int read_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%016" PRIx64, serial_of(chip));
}

static int read_other_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        Chip *other = server_chip(chip->server, index);

        if (!other || answer_missing(other))
                return -ENOENT;
        return print(text, size, "%016" PRIx64, serial_of(other));
}

static int read_other_firmware(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        Chip *other = server_chip(chip->server, index);

        if (!other || answer_missing(other))
                return -ENOENT;
        return print(text, size, "%s", firmware_of(other));
}

static int read_connected(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const uint8_t *c = torus_connected(chip->index);

        return print(text, size, "%u, %u, %u, %u", c[0], c[1], c[2], c[3]);
}

static int read_core_count(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%u", CORES);
}

static int read_arch(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "NCv3");
}

static int read_device_name(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "Trainium2");
}

static int read_instance_type(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, chip->server->ultraserver->hall->ring ? "trn2u.48xlarge" : "trn2.48xlarge");
}

/* The driver's words: 0 in reset, 1 ready, 2 invalid. A simulated reset is over when its command is. */
static int read_reset(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "1");
}

static int write_reset(void *state, Chip *chip, unsigned index, const char *text) {
        chip_reset(chip, WIRE_CHIP_ALL);
        return 0;
}

/* ---- mailbox ---- */

static int read_api_version(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%u", API_VERSION);
}

static int read_routing_id(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%u", routing_id(chip));
}

static int read_mailbox_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const Identity *identity = state;

        return print(text, size, "0x%016" PRIx64, identity->faults[KIND_SERIAL] ? ~serial_of(chip) : serial_of(chip));
}

static int read_ring_serial(Chip *chip, LinkPort port, char *text, size_t size) {
        Chip *other = chip_neighbour(chip, port);

        return other ? print(text, size, "0x%016" PRIx64, own_serial(other)) : -ENOENT;
}

static int read_left_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return read_ring_serial(chip, LINK_Z_MINUS, text, size);
}

static int read_right_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return read_ring_serial(chip, LINK_Z_PLUS, text, size);
}

static int read_node_id(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return chip->server->ultraserver->n_servers > 1 ? print(text, size, "%u", chip->server->index) : -ENOENT;
}

static int read_pod_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "0x%012" PRIx64, place_serial(chip, chip->server->ultraserver->servers[0].name, DRAW_POD));
}

static int read_server_rack(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        unsigned rack = (chip->server->ultraserver->index * chip->server->ultraserver->n_servers + chip->server->index) / RACK_SERVERS;

        return print(text, size, "0x%08x", 0x80008000u | (rack & 0x7fff) << 16 | chip->server->index % RACK_SERVERS);
}

static int read_firmware_build(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "0x%x", FIRMWARE_BUILD);
}

static int read_firmware_status(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "0x%08x", POWERED);
}

/* ---- what neither has ---- */

static int read_tray(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%u", torus_tray(chip->index));
}

static int read_part_number(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "TRN2-T%02u-%c", torus_tray(chip->index), torus_routing_id(chip->index) % 2 ? 'B' : 'A');
}

static int read_pci_address(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "0000:%02x:00.0", torus_pci_bus(chip->index));
}

static int read_firmware(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%s", firmware_of(chip));
}

static int read_server_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "SRV%012" PRIX64, place_serial(chip, chip->server->name, DRAW_SERIAL));
}

static int read_rack(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        const UltraServer *ultraserver = chip->server->ultraserver;

        return print(text, size, "rack-%u", (ultraserver->index * ultraserver->n_servers + chip->server->index) / RACK_SERVERS);
}

static int read_occupied(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print(text, size, "%u", chip->server->occupied >> chip->index & 1);
}

static int write_occupied(void *state, Chip *chip, unsigned index, const char *text) {
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
                return -EINVAL;
        chip->server->occupied &= ~(1u << chip->index);
        chip->server->occupied |= (uint32_t) (text[0] == '1') << chip->index;
        return 0;
}

static const Attribute attributes[] = {
        { "connected_devices",                   read_connected,        NULL           },
        { "core_count",                          read_core_count,       NULL           },
        { "node_id_4",                           read_node_id,          NULL           },
        { "reset",                               read_reset,            write_reset    },
        { "info/serial_number",                  read_serial,           NULL           },
        { "info/architecture/arch_type",         read_arch,             NULL           },
        { "info/architecture/device_name",       read_device_name,      NULL           },
        { "info/architecture/instance_type",     read_instance_type,    NULL           },
        { "../neuron%u/info/serial_number",      read_other_serial,     NULL           },
        { "../neuron%u/assay/firmware",          read_other_firmware,   NULL           },
        { "mailbox/api_version",                 read_api_version,      NULL           },
        { "mailbox/routing_id",                  read_routing_id,       NULL           },
        { "mailbox/serial",                      read_mailbox_serial,   NULL           },
        { "mailbox/left_serial",                 read_left_serial,      NULL           },
        { "mailbox/right_serial",                read_right_serial,     NULL           },
        { "mailbox/node_id",                     read_node_id,          NULL           },
        { "mailbox/pod_serial",                  read_pod_serial,       NULL           },
        { "mailbox/server_rack",                 read_server_rack,      NULL           },
        { "mailbox/firmware_build",              read_firmware_build,   NULL           },
        { "mailbox/firmware_status",             read_firmware_status,  NULL           },
        { "assay/tray",                          read_tray,             NULL           },
        { "assay/part_number",                   read_part_number,      NULL           },
        { "assay/pci_address",                   read_pci_address,      NULL           },
        { "assay/firmware",                      read_firmware,         NULL           },
        { "assay/server_serial",                 read_server_serial,    NULL           },
        { "assay/rack",                          read_rack,             NULL           },
        { "assay/occupied",                      read_occupied,         write_occupied },
        {},
};

/* ---- faults ---- */

static const LocationKind at_chip[] = { LOCATION_CHIP, _LOCATION_KIND_INVALID };

/* Nobody but the thread of an UltraServer may touch its chips. */
static bool is_beside(const char *server, const char *own) {
        size_t n = strlen(own);

        return strlen(server) == n && strncmp(own, "us", 2) == 0 && strncmp(server, own, n - 1) == 0 && server[n - 1] >= '0' &&
               server[n - 1] < (char) ('0' + RING);
}

static int validate_duplicate(const Fault *fault, const char **ret_wrong) {
        const DuplicateFault *duplicate = fault->parameters;
        bool own = !duplicate->server || strcmp(duplicate->server, fault->at.server) == 0;

        *ret_wrong = "a chip cannot take its own serial";
        if (own && (int) duplicate->of == location_index(&fault->at, LOCATION_CHIP))
                return -EINVAL;
        *ret_wrong = "expected a server of the same UltraServer";
        return own || is_beside(duplicate->server, fault->at.server) ? 0 : -EINVAL;
}

static int validate_position(const Fault *fault, const char **ret_wrong) {
        const PositionFault *position = fault->parameters;

        *ret_wrong = "this is the routing id that the chip has";
        return position->routing_id == torus_routing_id((unsigned) location_index(&fault->at, LOCATION_CHIP)) ? -EINVAL : 0;
}

static int validate_firmware(const Fault *fault, const char **ret_wrong) {
        const FirmwareFault *firmware = fault->parameters;

        *ret_wrong = "this is the version that every chip has";
        return strcmp(firmware->version, FIRMWARE) == 0 ? -EINVAL : 0;
}

/* Who has the number by right cannot be told from the two that carry it. */
static void diagnose_duplicate(const Fault *fault, Diagnosis *diagnosis) {
        const DuplicateFault *duplicate = fault->parameters;
        Location *other = &diagnosis->places[diagnosis->n_places++];

        *other = fault->at;
        (void) location_truncate(other, LOCATION_SERVER);
        if (duplicate->server)
                (void) snprintf(other->server, sizeof(other->server), "%s", duplicate->server);
        (void) location_append(other, LOCATION_CHIP, (unsigned) duplicate->of);
}

static int sample_firmware(Sample *sample) {
        sample_key(sample, "version", "1.%u.%u.0", (unsigned) sample_below(sample, 30), (unsigned) sample_below(sample, 10));
        return 0;
}

static const YamlField duplicate_fields[] = {
        YAML_UNSIGNED("of", DuplicateFault, of, 0, CHIPS - 1, .required = true, .summary = "the chip whose serial it takes"),
        YAML_STRING("server", DuplicateFault, server, 1, LOCATION_SERVER_NAME_MAX - 1,
                    .summary = "of the same UltraServer, where that chip is; its own without it"),
        {},
};

static const YamlField firmware_fields[] = {
        YAML_STRING("version", FirmwareFault, version, 1, 32, .required = true, .summary = "what it runs instead"),
        {},
};

static const YamlField position_fields[] = {
        YAML_UNSIGNED("routing_id", PositionFault, routing_id, 0, CHIPS - 1, .required = true, .summary = "where it believes it sits"),
        {},
};

static const FaultKind kinds[_KIND_MAX + 1] = {
        [KIND_DUPLICATE] = {
                .name = "serial-duplicate", .summary = "carries the serial number of another chip", .family = FAMILY_TELEMETRY,
                .at = at_chip, .persistence = PERSISTENCE_PERMANENT, .parameters_bytes = sizeof(DuplicateFault),
                .parameters = duplicate_fields, .validate = validate_duplicate, .is_shared = true,
                .codes = FAULT_CODES("identity-duplicate"), .diagnose = diagnose_duplicate,
        },
        [KIND_FIRMWARE] = {
                .name = "firmware-mismatch", .summary = "runs another firmware than its neighbours", .family = FAMILY_TELEMETRY,
                .at = at_chip, .persistence = PERSISTENCE_PERMANENT, .parameters_bytes = sizeof(FirmwareFault),
                .parameters = firmware_fields, .validate = validate_firmware, .is_shared = true,
                .codes = FAULT_CODES("identity-firmware"), .sample = sample_firmware,
        },
        [KIND_POSITION] = {
                .name = "position-mismatch", .summary = "sits elsewhere than its firmware believes", .family = FAMILY_TELEMETRY,
                .at = at_chip, .persistence = PERSISTENCE_PERMANENT, .parameters_bytes = sizeof(PositionFault),
                .parameters = position_fields, .validate = validate_position, .is_shared = true,
                .codes = FAULT_CODES("identity-mismatch"),
        },
        [KIND_SERIAL] = {
                .name = "serial-mismatch", .summary = "the driver shows another serial than the firmware", .family = FAMILY_TELEMETRY,
                .at = at_chip, .persistence = PERSISTENCE_PERMANENT, .codes = FAULT_CODES("identity-mismatch"),
        },
        {},
};

static const Fault **place(void *state, const Fault *fault) {
        Identity *identity = state;

        return &identity->faults[fault->kind - kinds];
}

const Model model_identity = {
        .name       = "identity",
        .part       = LOCATION_CHIP,
        .state_size = sizeof(Identity),
        .attributes = attributes,
        .faults     = (const FaultKind *const[]) { kinds, NULL },
        .place      = place,
};
