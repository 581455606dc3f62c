/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The counters of a chip's memory errors: what the driver's sysfs and the firmware's mailbox tell of them, and how many of
 * these errors were planted by checks (wire.h, "Errors that are planted"). A check that plants announces it first, so that what
 * it leaves behind when it is killed is no error of the chip to the next one.
 *
 * Mailbox words (API 6; public driver, fw_io): bits 31…16 corrected, 15…12 unrepairable, 11…0 repairable uncorrected errors of a stack;
 * of SRAM 31…16 corrected, 15…0 uncorrected. A full field says "at least".
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/port/device.h"

typedef enum ErrorCounter {
        ERRORS_MEM_CORRECTED,
        ERRORS_MEM_UNCORRECTED, /* that no repair mends */
        ERRORS_MEM_REPAIRABLE,  /* uncorrected too */
        ERRORS_SRAM_CORRECTED,
        ERRORS_SRAM_UNCORRECTED,
        _ERROR_COUNTER_MAX,
} ErrorCounter;

/* Sets of counters, by bits. */
#define ERRORS_MEM  (1u << ERRORS_MEM_CORRECTED | 1u << ERRORS_MEM_UNCORRECTED | 1u << ERRORS_MEM_REPAIRABLE)
#define ERRORS_SRAM (1u << ERRORS_SRAM_CORRECTED | 1u << ERRORS_SRAM_UNCORRECTED)
#define ERRORS_ALL  (ERRORS_MEM | ERRORS_SRAM)

typedef struct ErrorCount {
        uint64_t sysfs;
        unsigned n_words;       /* of the mailbox: STACKS, or 1 of SRAM */
        uint64_t words[STACKS]; /* its field in each */
        uint64_t full;          /* where a field stops */
        uint64_t planted[STACKS];
        bool open;              /* somebody is planting now */
} ErrorCount;

/* "stats/hardware/…" */
const char *error_counter_path(ErrorCounter counter);

/* Errors beside the planted ones: of sysfs, of word I of the mailbox. A word that is full has what sysfs has beside the others; where
 * sysfs cannot tell, as several are full, *ret_least is true and there may be more. */
uint64_t error_count_own_sysfs(const ErrorCount *count);
uint64_t error_count_own_word(const ErrorCount *count, unsigned i, bool *ret_least);
/* Whether no more was planted than the mailbox has counted; of a full field nobody knows. */
bool error_count_is_possible(const ErrorCount *count);
/* Whether all that either tells was planted, and there is something: then clearing it loses nothing. */
bool error_count_is_planted(const ErrorCount *count);

/*
 * Reads those of COUNTERS, in one batch. Beside the errors of device.h: -ENOENT, -EPROTO with *ret_path the attribute that is
 * not there or says what cannot be; else *ret_path is NULL.
 */
int device_errors_read(Device *device, unsigned chip, unsigned counters, ErrorCount ret[static _ERROR_COUNTER_MAX],
                       const char **ret_path);

/* From now on, and until device_errors_end(), each word of those COUNTERS may count MOST[counter] errors that are planted.
 * -EREMOTEIO with the status INVALID: another client plants just now. */
int device_errors_announce(Device *device, unsigned chip, unsigned counters, const uint64_t most[static _ERROR_COUNTER_MAX]);
/* No more of COUNTERS will come; those of CLEARED start from zero, by both tellings. */
int device_errors_end(Device *device, unsigned chip, unsigned counters, unsigned cleared);
