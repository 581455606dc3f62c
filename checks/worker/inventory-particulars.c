/* SPDX-License-Identifier: Apache-2.0 */

/* Inventory: see inventory.h. This half asks chips and server for their particulars, which no verdict hangs on. */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/worker/inventory.h"

#define UTILIZATION_VALID "POWER_STATUS_VALID," /* the driver's word; seconds, least, most and average in percent follow */

typedef struct AssemblyPaths {
        const char *word;
        LocationKind kind; /* of the part below the chip; LOCATION_CHIP: the chip itself */
        unsigned index;
        const char *serial, *part_number, *version; /* NULL: nobody tells it */
} AssemblyPaths;

#define STACK(n)        { "stack", LOCATION_HBM, n, "assay/hbm/" #n "/serial_number", "assay/hbm/" #n "/part_number", NULL }
#define LINK_CABLE(i, port) { "cable", LOCATION_LINK, i, "assay/link/" port "/cable", "assay/link/" port "/cable_part_number", NULL }

/* The adapter's index is its chip's. */
static const AssemblyPaths assembly_paths[] = {
        { "tray", LOCATION_CHIP, 0, "assay/tray_serial_number", "assay/tray_part_number", NULL },
        STACK(0),
        STACK(1),
        STACK(2),
        STACK(3),
        { "adapter", LOCATION_NIC, 0, "efa/serial_number", "efa/part_number", "efa/fw_ver" },
        { "cable", LOCATION_NIC, 0, "efa/cable_serial_number", "efa/cable_part_number", NULL },
        LINK_CABLE(LINK_X_PLUS, "x+"),
        LINK_CABLE(LINK_X_MINUS, "x-"),
        LINK_CABLE(LINK_Y_PLUS, "y+"),
        LINK_CABLE(LINK_Y_MINUS, "y-"),
        LINK_CABLE(LINK_Z_PLUS, "z+"),
        LINK_CABLE(LINK_Z_MINUS, "z-"),
};

static const struct {
        const char *word, *path;
} software_paths[] = {
        { "neuron-driver", "assay/software/neuron-driver" },
        { "neuron-runtime", "assay/software/neuron-runtime" },
        { "kernel", "assay/software/kernel" },
        { "bios", "assay/software/bios" },
        { "bmc", "assay/software/bmc" },
};

/* A plain number as a whole text. */
static double parse_number(const char *text) {
        char *end;
        double value = strtod(text, &end);

        return end != text && *end == '\0' ? value : NAN;
}

/* The average of the last minute. */
static double parse_utilization(const char *text) {
        const char *average = strrchr(text, ',');

        return strncmp(text, UTILIZATION_VALID, strlen(UTILIZATION_VALID)) == 0 ? parse_number(average + 1) : NAN;
}

typedef struct ReadingPath {
        const char *word, *path, *unit;
        double (*parse)(const char *text);
        double least, most; /* beyond these no sensor of that kind tells anything */
} ReadingPath;

static const ReadingPath server_readings[] = {
        { "inlet-temperature", "assay/inlet_temperature", "Cel", parse_number, -40, 125 },
        { "power", "assay/server_power", "W", parse_number, 0, 100000 },
};

static const ReadingPath chip_readings[] = {
        { "power-utilization", "stats/power/utilization", "%", parse_utilization, 0, 1000 },
        { "clock", "assay/clock", "MHz", parse_number, 0, 100000 },
};

#define ASSEMBLY_TEXTS 3
#define ASKED_MAX      64

/* The texts of PATHS, of which some are NULL; "" where there is none, or none that could be told. */
static void ask(Device *device, unsigned chip, const char *const *paths, size_t n, char (*ret)[ATTRIBUTE_TEXT_MAX]) {
        char texts[ASKED_MAX][ATTRIBUTE_TEXT_MAX];
        const char *asked[ASKED_MAX] = {};
        int errors[ASKED_MAX], r;
        size_t n_asked = 0;

        for (size_t i = 0; i < n; i++)
                if (paths[i])
                        asked[n_asked++] = paths[i];
        r = device_attributes(device, chip, asked, n_asked, texts, errors);
        for (size_t i = 0, k = 0; i < n; i++) {
                bool told = paths[i] && r >= 0 && errors[k] >= 0;

                memcpy(ret[i], told ? texts[k] : "", told ? ATTRIBUTE_TEXT_MAX : 1);
                k += paths[i] != NULL;
        }
}

static void add_readings(Particulars *particulars, const ReadingPath *paths, size_t n, char (*texts)[ATTRIBUTE_TEXT_MAX]) {
        for (size_t i = 0; i < n; i++) {
                SensorReading *reading = &particulars->readings[particulars->n_readings];
                double value = paths[i].parse(texts[i]);

                if (!(value >= paths[i].least && value <= paths[i].most))
                        continue;
                reading->value = value;
                (void) strcpy(reading->word, paths[i].word);
                (void) strcpy(reading->unit, paths[i].unit);
                particulars->n_readings++;
        }
}

/* A part that tells nothing of itself is none. */
static void add_assembly(Particulars *particulars, const char *word, const Location *where, char (*texts)[ATTRIBUTE_TEXT_MAX]) {
        Assembly *assembly = &particulars->assemblies[particulars->n_assemblies];

        *assembly = (Assembly) { .where = *where };
        (void) strcpy(assembly->word, word);
        particulars_take_text(assembly->serial, texts[0]);
        particulars_take_text(assembly->part_number, texts[1]);
        particulars_take_text(assembly->version, texts[2]);
        particulars->n_assemblies += assembly->serial[0] || assembly->part_number[0] || assembly->version[0];
}

static void add_software(Particulars *particulars, const char *word, const char *text) {
        Software *software = &particulars->softwares[particulars->n_softwares];

        (void) strcpy(software->word, word);
        particulars_take_text(software->version, text);
        particulars->n_softwares += software->version[0] != '\0';
}

/* CHIP negative: the server's. NULL without memory. */
static Particulars *particulars_new(const char *server, int chip) {
        Particulars *particulars = calloc(1, sizeof(*particulars));

        if (!particulars)
                return NULL;
        (void) snprintf(particulars->where.server, sizeof(particulars->where.server), "%s", server);
        if (chip >= 0)
                (void) location_append(&particulars->where, LOCATION_CHIP, (unsigned) chip);
        return particulars;
}

static void read_chip(Device *device, unsigned chip, Particulars *particulars) {
        enum { N = ASSEMBLY_TEXTS * ELEMENTS(assembly_paths) + ELEMENTS(chip_readings) };
        char texts[N][ATTRIBUTE_TEXT_MAX];
        const char *paths[N];
        size_t n = 0;

        static_assert(N <= ASKED_MAX, "all are asked for at once");
        for (size_t i = 0; i < ELEMENTS(assembly_paths); i++) {
                paths[n++] = assembly_paths[i].serial;
                paths[n++] = assembly_paths[i].part_number;
                paths[n++] = assembly_paths[i].version;
        }
        for (size_t i = 0; i < ELEMENTS(chip_readings); i++)
                paths[n++] = chip_readings[i].path;
        ask(device, chip, paths, n, texts);

        for (size_t i = 0; i < ELEMENTS(assembly_paths); i++) {
                Location where = particulars->where;

                if (assembly_paths[i].kind != LOCATION_CHIP)
                        (void) location_append(&where, assembly_paths[i].kind, assembly_paths[i].kind == LOCATION_NIC ? chip : assembly_paths[i].index);
                add_assembly(particulars, assembly_paths[i].word, &where, texts + ASSEMBLY_TEXTS * i);
        }
        add_readings(particulars, chip_readings, ELEMENTS(chip_readings), texts + ASSEMBLY_TEXTS * ELEMENTS(assembly_paths));
}

/* Over one of its chips, since the host's driver and the BMC answer for all of them. */
static void read_server(Device *device, unsigned chip, Particulars *particulars) {
        static const char *const chassis[ASSEMBLY_TEXTS] = { "assay/server_serial", "assay/server_part_number", NULL };
        enum { N = ASSEMBLY_TEXTS + ELEMENTS(software_paths) + ELEMENTS(server_readings) };
        char texts[N][ATTRIBUTE_TEXT_MAX];
        const char *paths[N];
        size_t n = 0;

        static_assert(N <= ASKED_MAX, "all are asked for at once");
        for (size_t i = 0; i < ASSEMBLY_TEXTS; i++)
                paths[n++] = chassis[i];
        for (size_t i = 0; i < ELEMENTS(software_paths); i++)
                paths[n++] = software_paths[i].path;
        for (size_t i = 0; i < ELEMENTS(server_readings); i++)
                paths[n++] = server_readings[i].path;
        ask(device, chip, paths, n, texts);

        add_assembly(particulars, "chassis", &particulars->where, texts);
        for (size_t i = 0; i < ELEMENTS(software_paths); i++)
                add_software(particulars, software_paths[i].word, texts[ASSEMBLY_TEXTS + i]);
        add_readings(particulars, server_readings, ELEMENTS(server_readings), texts + ASSEMBLY_TEXTS + ELEMENTS(software_paths));
}

void inventory_read_particulars(Device *device, const char *server, uint16_t chips, Inventory *inventory) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                ChipFacts *facts = &inventory->chips[chip];

                if (!(chips & (1u << chip)) || facts->error < 0 || facts->absent)
                        continue;
                facts->particulars = particulars_new(server, (int) chip);
                if (facts->particulars)
                        read_chip(device, chip, facts->particulars);
                if (inventory->particulars)
                        continue;
                inventory->particulars = particulars_new(server, -1);
                if (inventory->particulars)
                        read_server(device, chip, inventory->particulars);
        }
}

void inventory_done(Inventory *inventory) {
        for (unsigned chip = 0; chip < CHIPS; chip++)
                free(inventory->chips[chip].particulars);
        free(inventory->particulars);
}
