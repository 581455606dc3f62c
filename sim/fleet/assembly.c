/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Assembly: serials and part numbers of what is replaced beside a chip (its tray, its stacks, the adapter beside it, the cables of both), and what
 * the server tells of itself: versions of its software and readings of its BMC. No public source says how a Trn2 tells these; the names under
 * assay/ are ours. Vendor number and serial of a cable are what the EEPROM of its plug holds, fw_ver is the name of Linux for an adapter.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "sim/chip/chip.h"
#include "sim/chip/topology.h"
#include "sim/links/cable.h"

#define INLET_CELSIUS 24.0 /* in the middle of what ASHRAE recommends, 18 to 27 °C */
#define IDLE_WATTS    5200u /* of a server of sixteen chips at rest, two CPUs and its fans */

extern const Model model_assembly;

enum { DRAW_STACK = 0xa55e, DRAW_TRAY, DRAW_ADAPTER, DRAW_ADAPTER_CABLE, DRAW_INLET, DRAW_WATTS };

static int print_serial(const char *prefix, uint64_t drawn, char *text, size_t size) {
        (void) snprintf(text, size, "%s%010" PRIX64, prefix, drawn >> 24);
        return 0;
}

static uint64_t draw_of_chip(const Chip *chip, unsigned index, uint64_t draw) {
        Location at;

        chip_location(chip, &at);
        return draw_u64(chip, &at, index, draw);
}

static uint64_t draw_of_server(const Chip *chip, unsigned index, uint64_t draw) {
        Location at;

        chip_location(chip, &at);
        (void) location_truncate(&at, LOCATION_SERVER);
        return draw_u64(chip, &at, index, draw);
}

static int print_text(const char *fixed, char *text, size_t size) {
        (void) snprintf(text, size, "%s", fixed);
        return 0;
}

/* ---- parts ---- */

static int read_stack_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return index < STACKS ? print_serial("H", draw_of_chip(chip, index, DRAW_STACK), text, size) : -ENOENT;
}

static int read_stack_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return index < STACKS ? print_text(chip_hbm_part(chip) == 0 ? "HBM3-12H-24G" : "HBM3E-8H-24G", text, size) : -ENOENT;
}

static int read_tray_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_serial("TR", draw_of_server(chip, torus_tray(chip->index), DRAW_TRAY), text, size);
}

static int read_tray_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("TRN2-SLED-2", text, size);
}

static int read_adapter_serial(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_serial("EFA", draw_of_chip(chip, 0, DRAW_ADAPTER), text, size);
}

static int read_adapter_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("EFA3-200G", text, size);
}

static int read_adapter_firmware(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("3.4.1", text, size);
}

static int read_adapter_cable(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_serial("DAC", draw_of_chip(chip, 0, DRAW_ADAPTER_CABLE), text, size);
}

static int read_adapter_cable_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("QSFP112-DAC-2M", text, size);
}

/* ---- the server ---- */

static int read_server_part(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("TRN2-16", text, size);
}

static int read_driver(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("2.24.7.0", text, size);
}

static int read_runtime(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("2.28.23.0", text, size);
}

static int read_kernel(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("6.8.0-1031-aws", text, size);
}

static int read_bios(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("1.0.14", text, size);
}

static int read_bmc(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("2.11.3", text, size);
}

static int read_inlet(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%.1f", INLET_CELSIUS + (double) (draw_of_server(chip, 0, DRAW_INLET) % 21) / 10 - 1);
        return 0;
}

static int read_watts(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%u", IDLE_WATTS + (unsigned) (draw_of_server(chip, 0, DRAW_WATTS) % 100));
        return 0;
}

/* Of the tensor engines, which no public attribute tells. */
static int read_clock(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        return print_text("2400", text, size);
}

static const Attribute attributes[] = {
        { "assay/hbm/%u/serial_number",    read_stack_serial,       NULL },
        { "assay/hbm/%u/part_number",      read_stack_part,         NULL },
        { "assay/tray_serial_number",      read_tray_serial,        NULL },
        { "assay/tray_part_number",        read_tray_part,          NULL },
        { "efa/serial_number",             read_adapter_serial,     NULL },
        { "efa/part_number",               read_adapter_part,       NULL },
        { "efa/fw_ver",                    read_adapter_firmware,   NULL },
        { "efa/cable_serial_number",       read_adapter_cable,      NULL },
        { "efa/cable_part_number",         read_adapter_cable_part, NULL },
        { "assay/server_part_number",      read_server_part,        NULL },
        { "assay/software/neuron-driver",  read_driver,             NULL },
        { "assay/software/neuron-runtime", read_runtime,            NULL },
        { "assay/software/kernel",         read_kernel,             NULL },
        { "assay/software/bios",           read_bios,               NULL },
        { "assay/software/bmc",            read_bmc,                NULL },
        { "assay/inlet_temperature",       read_inlet,              NULL },
        { "assay/server_power",            read_watts,              NULL },
        { "assay/clock",                   read_clock,              NULL },
        {},
};

const Model model_assembly = {
        .name       = "assembly",
        .part       = LOCATION_CHIP,
        .attributes = attributes,
};
