/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Record name
 *
 * How a person names a record of the log: by its number, or by its ID as gate prints it, in lower-case hex digits: sixteen of them, or as few as eight
 * where no other record begins so. What could be either is a number where it has less than sixteen digits.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

/* Whether TEXT has the form of either, and of an ID. */
bool record_name_is(const char *text);
bool record_name_is_id(const char *text);

/*
 * The number of the record that TEXT names. IDs have no index, so records are read from the newest on, by assayd's own keys: up to the one that is found, or
 * all where an ID of less than sixteen digits may be of two. Returns 0 or an exit status, having complained.
 */
int record_name_find(sd_bus *bus, const char *text, uint64_t *ret);
