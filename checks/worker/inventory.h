/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inventory
 *
 * What the parts of a server say they are, read once before anything is tested.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/port/device.h"
#include "checks/stream/stream.h"

typedef struct ChipFacts {
        int error;     /* 0, or why they could not be read: -ETIMEDOUT where the chip did not answer, -EPROTO where it made no sense */
        bool hangs;    /* … and not when it was asked again either, see inventory_ask_again() */
        bool absent;   /* the host's driver shows no such device */
        bool occupied; /* see occupancy.h; also where the chip does not tell */
        double temperature; /* °C; NAN where it does not tell */
        char serial[ATTRIBUTE_TEXT_MAX];
        char part_number[ATTRIBUTE_TEXT_MAX];
        char firmware[ATTRIBUTE_TEXT_MAX];
        char firmware_build[ATTRIBUTE_TEXT_MAX];
        char pci_address[ATTRIBUTE_TEXT_MAX];
        char tray[16];      /* "3" */
        char tray_name[32]; /* "tray 3" */
        Particulars *particulars; /* malloc'd; NULL: not read, or told already */
} ChipFacts;

typedef struct Inventory {
        char serial[ATTRIBUTE_TEXT_MAX]; /* of the server */
        ChipFacts chips[CHIPS];
        Particulars *particulars; /* of the server, likewise */
} Inventory;

/* Reads the CHIPS (bit per chip) over a device for the whole server. What fails is told per chip; EARLIER are the errors of what it was
 * asked before, which count as if they were of this. */
void inventory_read(Device *device, uint16_t chips, const int earlier[static CHIPS], Inventory *ret);

/*
 * Reads the particulars of SERVER and of its chips that answered: a look beside the others, for no verdict hangs on it. What cannot be read, or makes
 * no sense, is not known.
 */
void inventory_read_particulars(Device *device, const char *server, uint16_t chips, Inventory *inventory);
void inventory_done(Inventory *inventory);

/*
 * Asks chips that did not answer (-ETIMEDOUT) CONTROL_ANSWERS times for all that they were asked for, PAUSE_USEC apart, and the others of the
 * server beside them, each time. A chip hangs that is silent once more at least, if another one answered each of these times (device-control.h
 * says why answers count and not clocks); else nobody could judge. So a chip that is silent in a share p of its commands, and was so
 * once, is missed with (1 - p)^90. Takes no time where all have answered.
 */
void inventory_ask_again(Device *device, uint64_t pause_usec, Inventory *inventory);

/* Which of CHIPS, which were silent in a test and carry no work, hang: they are asked as above, and for the status of a link. */
uint16_t inventory_hanging(Device *device, uint16_t chips, uint64_t pause_usec);

/* The chips that the host's driver does not show, bit per chip. */
uint16_t inventory_absent(const Inventory *inventory);

/* Which of CHIPS answer properly, and something, now. */
uint16_t inventory_answering(Device *device, uint16_t chips);
