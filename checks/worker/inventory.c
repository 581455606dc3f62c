/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/worker/inventory.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/port/device-control.h"
#include "checks/port/device-link.h"
#include "checks/port/occupancy.h"

enum {
        FACT_SERIAL,
        FACT_PART_NUMBER,
        FACT_FIRMWARE,
        FACT_FIRMWARE_BUILD,
        FACT_PCI_ADDRESS,
        FACT_TRAY,
        FACT_OCCUPIED,
        FACT_IN_USE,
        FACT_TEMPERATURE,
        FACT_SERVER_SERIAL,
        _FACT_MAX,
};

static const char *const paths[_FACT_MAX] = {
        [FACT_SERIAL]        = "info/serial_number",
        [FACT_PART_NUMBER]   = "assay/part_number",
        [FACT_FIRMWARE]      = "assay/firmware",
        [FACT_FIRMWARE_BUILD] = "mailbox/firmware_build",
        [FACT_PCI_ADDRESS]   = "assay/pci_address",
        [FACT_TRAY]          = "assay/tray",
        [FACT_OCCUPIED]      = "assay/occupied",
        [FACT_IN_USE]        = "assay/hbm/in-use",
        [FACT_TEMPERATURE]   = "assay/temperature",
        [FACT_SERVER_SERIAL] = "assay/server_serial",
};

/* What one chip did to its own commands while the whole server is on the line: a hang, or no sense. */
static int chip_error(const Device *device, int error) {
        if (error != -EREMOTEIO)
                return error;
        if (device_status(device) == STATUS_NRT_TIMEOUT)
                return -ETIMEDOUT;
        return device_status(device) == DEVICE_STATUS_GARBLED ? -EPROTO : error;
}

static bool all_missing(const int errors[static _FACT_MAX]) {
        for (unsigned i = 0; i < _FACT_MAX; i++)
                if (errors[i] != -ENOENT)
                        return false;
        return true;
}

/* An attribute that is there has a text. Where even this one has none nobody knows whether the chip carries work, and nothing it answers counts. */
static bool says_nothing(const int errors[static _FACT_MAX], char (*texts)[ATTRIBUTE_TEXT_MAX]) {
        return (errors[FACT_OCCUPIED] >= 0 && texts[FACT_OCCUPIED][0] == '\0') || (errors[FACT_IN_USE] >= 0 && texts[FACT_IN_USE][0] == '\0');
}

static double parse_temperature(const char *text) {
        char *end;
        double celsius = strtod(text, &end);

        return end != text && *end == '\0' && isfinite(celsius) ? celsius : NAN;
}

static void read_chip(Device *device, unsigned chip, Inventory *inventory) {
        char texts[_FACT_MAX][ATTRIBUTE_TEXT_MAX];
        ChipFacts *facts = &inventory->chips[chip];
        int errors[_FACT_MAX], r;

        facts->occupied = true;
        facts->temperature = NAN;
        r = device_attributes(device, chip, paths, _FACT_MAX, texts, errors);
        if (r >= 0 && says_nothing(errors, texts))
                r = -EPROTO;
        if (r < 0) {
                facts->error = chip_error(device, r);
                return;
        }

        facts->absent = all_missing(errors);
        memcpy(facts->serial, texts[FACT_SERIAL], ATTRIBUTE_TEXT_MAX);
        memcpy(facts->part_number, texts[FACT_PART_NUMBER], ATTRIBUTE_TEXT_MAX);
        memcpy(facts->firmware, texts[FACT_FIRMWARE], ATTRIBUTE_TEXT_MAX);
        memcpy(facts->firmware_build, texts[FACT_FIRMWARE_BUILD], ATTRIBUTE_TEXT_MAX);
        memcpy(facts->pci_address, texts[FACT_PCI_ADDRESS], ATTRIBUTE_TEXT_MAX);
        facts->occupied = occupancy_carries_work(texts[FACT_OCCUPIED], texts[FACT_IN_USE]);
        facts->temperature = parse_temperature(texts[FACT_TEMPERATURE]);

        if (texts[FACT_TRAY][0] != '\0' && strlen(texts[FACT_TRAY]) < sizeof(facts->tray)) {
                memcpy(facts->tray, texts[FACT_TRAY], strlen(texts[FACT_TRAY]) + 1);
                (void) snprintf(facts->tray_name, sizeof(facts->tray_name), "tray %.15s", texts[FACT_TRAY]);
        }
        if (inventory->serial[0] == '\0')
                memcpy(inventory->serial, texts[FACT_SERVER_SERIAL], ATTRIBUTE_TEXT_MAX);
}

void inventory_read(Device *device, uint16_t chips, const int earlier[static CHIPS], Inventory *ret) {
        assert(device_chip(device) == WIRE_CHIP_ALL);

        *ret = (Inventory) {};
        for (unsigned chip = 0; chip < CHIPS; chip++)
                if (chips & (1u << chip)) {
                        read_chip(device, chip, ret);
                        if (earlier[chip] < 0 && ret->chips[chip].error == 0)
                                ret->chips[chip].error = earlier[chip];
                }
}

/* What a chip answers beside its attributes, without a change of anything. */
static int ask_link(Device *device, uint16_t chips, uint16_t *silent) {
        WireLinkStatus statuses[CHIPS];
        LinkEnd ends[CHIPS];
        int errors[CHIPS], r;
        size_t n = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++)
                if (chips >> chip & 1)
                        ends[n++] = (LinkEnd) { (uint8_t) chip, LINK_X_PLUS };

        r = device_link_status(device, ends, n, statuses, errors);
        for (size_t i = 0; i < n && r >= 0; i++)
                if (errors[i] == -ETIMEDOUT)
                        *silent |= (uint16_t) (1u << ends[i].chip);
        return r;
}

/* Bits per chip of who answered something and of who was silent to something, in one round of questions: all of them for those that are
 * asked again, one for the others. Negative: the connection has broken off. */
static int ask_all(Device *device, uint16_t again, uint16_t *ret_answered, uint16_t *ret_silent) {
        char texts[CHIPS * _FACT_MAX][ATTRIBUTE_TEXT_MAX];
        const char *asked[CHIPS * _FACT_MAX];
        uint8_t chips[CHIPS * _FACT_MAX];
        int errors[CHIPS * _FACT_MAX], r;
        size_t n = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++)
                for (unsigned fact = 0; fact < (again >> chip & 1 ? _FACT_MAX : FACT_SERIAL + 1); fact++) {
                        chips[n] = (uint8_t) chip;
                        asked[n++] = paths[fact];
                }

        r = device_attributes_of(device, chips, asked, n, texts, errors);
        if (r < 0)
                return r;
        *ret_answered = *ret_silent = 0;
        for (size_t i = 0; i < n; i++)
                if (errors[i] >= 0)
                        *ret_answered |= (uint16_t) (1u << chips[i]);
                else if (errors[i] == -ETIMEDOUT)
                        *ret_silent |= (uint16_t) (1u << chips[i]);
        return 0;
}

/* Of AGAIN those that hang. LINKS: none of them carries work, so that a link may be asked for its status. */
static uint16_t find_hanging(Device *device, uint16_t again, uint64_t pause_usec, bool links) {
        uint16_t hang = 0;

        for (unsigned i = 0; i < CONTROL_ANSWERS && again != 0; i++) {
                uint16_t answered, silent;

                (void) usleep((useconds_t) pause_usec);
                if (ask_all(device, again, &answered, &silent) < 0 || (links && ask_link(device, again, &silent) < 0))
                        return 0;
                hang |= again & silent;
                for (unsigned chip = 0; chip < CHIPS; chip++)
                        if ((answered & ~(1u << chip)) == 0)
                                again &= (uint16_t) ~(1u << chip); /* nobody beside it */
        }
        return hang & again;
}

void inventory_ask_again(Device *device, uint64_t pause_usec, Inventory *inventory) {
        uint16_t again = 0, hang;

        for (unsigned chip = 0; chip < CHIPS; chip++)
                again |= (uint16_t) ((unsigned) (inventory->chips[chip].error == -ETIMEDOUT) << chip);

        hang = find_hanging(device, again, pause_usec, false);
        for (unsigned chip = 0; chip < CHIPS; chip++)
                inventory->chips[chip].hangs = hang >> chip & 1;
}

uint16_t inventory_hanging(Device *device, uint16_t chips, uint64_t pause_usec) {
        return find_hanging(device, chips, pause_usec, true);
}

uint16_t inventory_absent(const Inventory *inventory) {
        uint16_t absent = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++)
                absent |= (uint16_t) ((unsigned) inventory->chips[chip].absent << chip);
        return absent;
}

uint16_t inventory_answering(Device *device, uint16_t chips) {
        uint16_t answering = 0;

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                char text[ATTRIBUTE_TEXT_MAX];

                if ((chips & (1u << chip)) && device_attribute(device, chip, paths[FACT_SERIAL], text) >= 0 && text[0] != '\0')
                        answering |= (uint16_t) (1u << chip);
                if (device_failure(device) < 0)
                        break; /* nothing will come over this connection any more */
        }

        return answering;
}
