/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/table.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "cli/assayctl.h"
#include "cli/wrap.h"

#define COLUMNS_MAX 16
#define INDENT      4 /* of what stands below */

struct Table {
        const TableColumn *columns;
        size_t n_columns, n_rows;
        size_t widths[COLUMNS_MAX]; /* of what is printed */
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
        assert(table->n_columns <= COLUMNS_MAX);

        if (options.json) {
                table->rows = json_array();
                if (!table->rows)
                        return -ENOMEM;
        } else {
                table->table = scols_new_table();
                if (!table->table)
                        return -ENOMEM;
                for (size_t i = 0; i < table->n_columns; i++) {
                        int flags = columns[i].number ? SCOLS_FL_RIGHT : 0;

                        if (!scols_table_new_column(table->table, columns[i].heading, 0, flags))
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
        for (size_t i = 0; i < table->n_columns; i++) {
                _cleanup_free_ char *text = strdup(cells[i] ?: "");

                if (!text)
                        return -ENOMEM;
                make_plain(text, "");
                if (scols_line_refer_data(line, i, text) < 0)
                        return -ENOMEM;
                (void) TAKE_PTR(text);
        }
        return 0;
}

static const char *cell_text(struct libscols_line *line, size_t column) {
        return scols_cell_get_data(scols_line_get_cell(line, column)) ?: "";
}

static void measure(Table *table) {
        for (size_t i = 0; i < table->n_columns; i++) {
                table->widths[i] = wrap_columns(table->columns[i].heading);
                for (size_t k = 0; k < table->n_rows; k++) {
                        size_t n = wrap_columns(cell_text(scols_table_get_line(table->table, k), i));

                        table->widths[i] = n > table->widths[i] ? n : table->widths[i];
                }
        }
}

/* Whether rows would be broken by the edge of the terminal, and there is something that can stand below instead. */
static bool too_wide(const Table *table) {
        bool wraps = false;
        size_t sum = 0;

        for (size_t i = 0; i < table->n_columns; i++) {
                wraps |= table->columns[i].wrap || table->columns[i].below;
                sum += table->widths[i] + (i > 0);
        }

        return wraps && sum > wrap_width();
}

/* LINE NULL: the headings. Of the columns that stand on the first line, or of those BELOW, which may be none. */
static void print_short(const Table *table, struct libscols_line *line, bool below) {
        size_t gap = below ? INDENT : 0;
        bool any = false;

        for (size_t i = 0; i < table->n_columns; i++) {
                const TableColumn *column = &table->columns[i];
                const char *text = line ? cell_text(line, i) : column->heading;
                size_t room = table->widths[i] - wrap_columns(text);

                if (column->wrap || column->below != below)
                        continue;
                printf("%*s%s", (int) (column->number ? gap + room : gap), "", text);
                gap = column->number ? 1 : room + 1;
                any = true;
        }
        if (any)
                putchar('\n');
}

static void print_both(const Table *table, struct libscols_line *line) {
        print_short(table, line, false);
        print_short(table, line, true);
}

/* Where the rows do not fit: what is short on one line, each long text below it, broken between its words. */
static void print_narrow(const Table *table) {
        print_both(table, NULL);
        for (size_t k = 0; k < table->n_rows; k++) {
                struct libscols_line *line = scols_table_get_line(table->table, k);

                print_both(table, line);
                for (size_t i = 0; i < table->n_columns; i++)
                        if (table->columns[i].wrap && *cell_text(line, i))
                                wrap_print(INDENT, cell_text(line, i));
        }
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
        measure(table);
        if (too_wide(table)) {
                print_narrow(table);
                return 0;
        }

        (void) scols_table_set_termforce(table->table, SCOLS_TERMFORCE_NEVER);
        r = scols_print_table(table->table);
        return r < 0 ? r : 0;
}
