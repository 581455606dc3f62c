/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Particulars
 *
 * A chip and a server tell more of themselves than what identifies them: which assemblies sit in or beside them (Redfish's word for what has a
 * serial and a part number of its own), which software runs, and readings of sensors when the scan began. A return, a line or an auditor needs them.
 * No verdict hangs on any: what is missing or makes no sense is left out.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/vocabulary/location.h"

#define PARTICULARS_TEXT_MAX   48 /* bytes, with the final zero */
#define PARTICULARS_WORD_MAX   32 /* likewise */
#define ASSEMBLIES_MAX         16 /* of one chip, or of one server */
#define SOFTWARES_MAX          8
#define READINGS_MAX           8

typedef struct Assembly {
        char word[PARTICULARS_WORD_MAX]; /* "stack", "tray", "adapter", "cable" */
        Location where; /* a cable: where it is plugged in; a tray: the chip that sits in it */
        char serial[PARTICULARS_TEXT_MAX], part_number[PARTICULARS_TEXT_MAX], version[PARTICULARS_TEXT_MAX]; /* "": not told */
} Assembly;

typedef struct Software {
        char word[PARTICULARS_WORD_MAX]; /* "neuron-driver", "neuron-runtime", "kernel", "bios", "bmc" */
        char version[PARTICULARS_TEXT_MAX];
} Software;

typedef struct SensorReading {
        char word[PARTICULARS_WORD_MAX]; /* "inlet-temperature", "power", "power-utilization", "clock" */
        double value; /* finite */
        char unit[PARTICULARS_WORD_MAX]; /* UCUM */
} SensorReading;

typedef struct Particulars {
        Location where; /* the chip or server */
        size_t n_assemblies, n_softwares, n_readings;
        Assembly assemblies[ASSEMBLIES_MAX];
        Software softwares[SOFTWARES_MAX];
        SensorReading readings[READINGS_MAX];
} Particulars;

/* A note that somebody gives with a run, a work order for instance: so many bytes with the final zero. */
#define NOTE_TEXT_MAX 257

/* One line of UTF-8, not empty, shorter than NOTE_TEXT_MAX, without control characters and such as turn the direction of what stands beside them. */
bool note_text_is_valid(const char *text);

/* Lower-case letters, digits and '-', beginning with a letter, shorter than PARTICULARS_WORD_MAX. */
bool particulars_word_is_valid(const char *word);
/* Printable ASCII, not empty, without spaces at its ends, shorter than PARTICULARS_TEXT_MAX. */
bool particulars_text_is_valid(const char *text);
/* TEXT, or "" where it is not valid: half of a serial number would be another one. */
void particulars_take_text(char ret[static PARTICULARS_TEXT_MAX], const char *text);
