/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Catalogue
 *
 * Every finding code there is: how severe it is, what to do, and the words that explain it. Codes are lower-case
 * kebab words that never change their meaning.
 *
 * The action of a finding is decided once, where it is written: catalogue_remedy() goes by the code and by the part that would be
 * replaced. Stream, record and tables carry on what was decided there.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "checks/vocabulary/verdict.h"

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

typedef struct Remedy {
        Action action;    /* the first step of the text */
        const char *text; /* what to do, in order, full sentences */
} Remedy;

/* All strings are static. */
typedef struct CatalogueEntry {
        const char *code;
        const char *check; /* the one word of the check that finds it, or "device" for what the worker itself finds */
        Severity severity;
        Action action;
        const char *summary;     /* a few words, no full stop */
        const char *explanation; /* what it means and how it was told apart, full sentences */
        const char *remedy;      /* as of a Remedy of this action */
        bool names_two; /* it stands at two parts of which one is to blame, each time with the other as the far end of its evidence */
        Remedy without_cable; /* instead, where no cable is the part to be replaced: a whole chip, a broken port, a trace of the board; or none */
} CatalogueEntry;

const CatalogueEntry *catalogue_find(const char *code); /* NULL if there is none */
const CatalogueEntry *catalogue_at(size_t index);       /* NULL past the end: for listings */

/* What is to be done about a finding of ENTRY whose evidence names REPLACEABLE, or NULL: nothing but the chip. */
Remedy catalogue_remedy(const CatalogueEntry *entry, const char *replaceable);
/* That of the two remedies of ENTRY which has ACTION; where none has, that of the code. */
Remedy catalogue_remedy_of(const CatalogueEntry *entry, Action action);

const char *action_to_string(Action action); /* "replace-tray" */
Action action_from_string(const char *word);
