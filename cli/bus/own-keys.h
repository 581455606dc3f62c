/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Own keys: those that assayd names as its own, of its records, of its log and of the witnesses it was given. */

#include <systemd/sd-bus.h>

#include "daemon/record/record.h"

/* Its witnesses as lines of a keyring, "witness w1 VKEY", malloc'd, and how many they are; none of a daemon that is older than this. Returns 0 or an exit
 * status, having complained. */
int own_keys_witnesses(sd_bus *bus, char **ret_lines, unsigned *ret_n);

/* A keyring of them that asks for no proof and no witness. IS_WITNESSED: it knows the witnesses, too, so that what they signed is told; each signature
 * costs its verification. Returns 0 or an exit status, having complained. */
int own_keys(sd_bus *bus, bool is_witnessed, RecordKeyring **ret);
