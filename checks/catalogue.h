/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Catalogue
 *
 * Every finding code there is: how severe it is, what to do, and the words that explain it. Codes are lower-case
 * kebab words that never change their meaning.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "checks/verdict.h"

typedef enum Action {
        ACTION_NONE,
        ACTION_MONITOR,
        ACTION_RETEST,
        ACTION_RELOAD_DRIVER,
        ACTION_RESET_CHIP,
        ACTION_REBOOT_SERVER,
        ACTION_REPAIR_MEMORY,
        ACTION_RESEAT_CABLE,
        ACTION_REPLACE_CABLE,
        ACTION_REPLACE_NIC,
        ACTION_REPLACE_TRAY,
        ACTION_RESEAT_TRAY,
        ACTION_QUARANTINE,
        ACTION_INSPECT_STATION,
        ACTION_MOVE_CABLE,
        ACTION_PLUG_IN_CABLE,
        _ACTION_MAX,
        _ACTION_INVALID = -EINVAL,
} Action;

/* All strings are static. */
typedef struct CatalogueEntry {
        const char *code;
        const char *check; /* the one word of the check that finds it, or "device" for what the worker itself finds */
        Severity severity;
        Action action;
        const char *summary;     /* a few words, no full stop */
        const char *explanation; /* what it means and how it was told apart, full sentences */
        const char *remedy;      /* what to do, in order, full sentences */
        bool names_two; /* it stands at two parts of which one is to blame, each time with the other as the far end of its evidence */
} CatalogueEntry;

const CatalogueEntry *catalogue_find(const char *code); /* NULL if there is none */
const CatalogueEntry *catalogue_at(size_t index);       /* NULL past the end: for listings */

const char *action_to_string(Action action); /* "replace-tray" */
Action action_from_string(const char *word);
