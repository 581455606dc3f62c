/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table on stdout by libsmartcols, or the same rows as a JSON array with --json. On a terminal that is too narrow for it
 * the last long text of a row is broken within its column; where that would be narrow, too, as many of the long texts as it takes stand below the
 * short ones, from the last one on, and so do the columns that people seldom look for.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/text/cleanup.h"

typedef struct Table Table;

typedef struct TableColumn {
        const char *heading; /* NULL ends the list */
        const char *key;     /* in JSON */
        bool number;         /* right-aligned; a JSON number */
        bool wrap;           /* a long text */
        bool below;          /* seldom looked for: where it is narrow on a second line, beside its like */
} TableColumn;

int table_new(const TableColumn *columns, Table **ret);
/* One text per column, copied; NULL is an empty cell: "-", or null in JSON. */
int table_row(Table *table, const char *const *cells);
/* Prints with a final newline. Returns 0 or a negative errno. */
int table_print(Table *table);
Table *table_free(Table *table);
DEFINE_CLEANUP(Table *, table_free);
