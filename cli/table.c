/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/table.h"

#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/assayctl.h"

struct Table {
        const TableColumn *columns;
        size_t n_columns, n_rows;
        struct libscols_table *table; /* NULL with --json */
        json_t *rows;                 /* NULL without */
};

Table *table_free(Table *table) {
        if (!table)
                return NULL;

        scols_unref_table(table->table);
        json_decref(table->rows);
        free(table);
        return NULL;
}

int table_new(const TableColumn *columns, Table **ret) {
        _cleanup_(table_freep) Table *table = calloc(1, sizeof(*table));

        if (!table)
                return -ENOMEM;

        table->columns = columns;
        while (columns[table->n_columns].heading)
                table->n_columns++;

        if (options.json) {
                table->rows = json_array();
                if (!table->rows)
                        return -ENOMEM;
        } else {
                table->table = scols_new_table();
                if (!table->table)
                        return -ENOMEM;
                for (size_t i = 0; i < table->n_columns; i++) {
                        int flags = (columns[i].number ? SCOLS_FL_RIGHT : 0) | (columns[i].wrap ? SCOLS_FL_WRAP : 0);

                        if (!scols_table_new_column(table->table, columns[i].heading, columns[i].wrap ? 0.5 : 0, flags))
                                return -ENOMEM;
                }
        }

        *ret = TAKE_PTR(table);
        return 0;
}

static json_t *json_cell(const TableColumn *column, const char *text) {
        uint64_t number;

        if (!text)
                return json_null();
        if (column->number && parse_u64(text, &number) >= 0)
                return json_integer((json_int_t) number);
        return json_string(text);
}

int table_row(Table *table, const char *const *cells) {
        table->n_rows++;

        if (table->rows) {
                json_t *row = json_object();

                for (size_t i = 0; i < table->n_columns; i++)
                        if (json_object_set_new(row, table->columns[i].key, json_cell(&table->columns[i], cells[i])) < 0) {
                                json_decref(row);
                                return -ENOMEM;
                        }
                return json_array_append_new(table->rows, row) < 0 ? -ENOMEM : 0;
        }

        struct libscols_line *line = scols_table_new_line(table->table, NULL);
        if (!line)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_columns; i++)
                if (scols_line_set_data(line, i, cells[i] ?: "") < 0)
                        return -ENOMEM;
        return 0;
}

size_t table_rows(const Table *table) {
        return table->n_rows;
}

int table_print(Table *table) {
        int r;

        if (table->rows) {
                if (json_dumpf(table->rows, stdout, JSON_INDENT(2)) < 0)
                        return -EIO;
                putchar('\n');
                return 0;
        }

        if (table->n_rows == 0)
                return 0;
        if (isatty(STDOUT_FILENO))
                (void) scols_table_enable_maxout(table->table, 0);
        else
                (void) scols_table_set_termforce(table->table, SCOLS_TERMFORCE_NEVER);
        r = scols_print_table(table->table);
        return r < 0 ? r : 0;
}
