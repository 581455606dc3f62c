/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/table.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/wrap.h"

#define COLUMNS_MAX 16
#define INDENT      4  /* of what stands below */
#define BESIDE      40 /* columns that a long text takes at the least to stand beside the others */

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
                _cleanup_free_ char *text = strdup(cells[i] && *cells[i] ? cells[i] : "-");

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

static bool is_long(const TableColumn *column, size_t i, size_t end) {
        return column->wrap && i >= end;
}

/* How wide the columns are that stand on the first line: all but those that stand below, which are the long texts from column END on and, where IS_NARROW, those
 * seldom looked for. */
static size_t width_to(const Table *table, size_t end, bool is_narrow) {
        size_t sum = 0;

        for (size_t i = 0; i < table->n_columns; i++)
                if (!is_long(&table->columns[i], i, end) && !(is_narrow && table->columns[i].below))
                        sum += table->widths[i] + (sum > 0);
        return sum;
}

static size_t last_long(const Table *table, size_t before) {
        size_t i = before;

        while (i > 0 && !table->columns[i - 1].wrap)
                i--;
        return i > 0 ? i - 1 : before;
}

/* LINE NULL: the headings. Of the columns that stand on the first line, or of those BELOW, which may be none. Returns the column that the cursor is in. */
static size_t print_short(const Table *table, struct libscols_line *line, size_t end, bool below) {
        size_t gap = below ? INDENT : 0, column_now = 0;

        for (size_t i = 0; i < table->n_columns; i++) {
                const TableColumn *column = &table->columns[i];
                const char *text = line ? cell_text(line, i) : column->heading;
                size_t n = wrap_columns(text), room = table->widths[i] - n;

                if (is_long(column, i, end) || column->below != below)
                        continue;
                column_now += (column->number ? gap + room : gap) + n;
                printf("%*s%s", (int) (column->number ? gap + room : gap), "", text);
                gap = column->number ? 1 : room + 1;
        }
        return column_now;
}

static void print_both(const Table *table, struct libscols_line *line, size_t end) {
        (void) print_short(table, line, end, false);
        putchar('\n');
        if (print_short(table, line, end, true) > 0)
                putchar('\n');
}

/* Where the rows do not fit: what is short on one line, the long texts from column END on below it, broken between their words. */
static void print_narrow(const Table *table, size_t end) {
        print_both(table, NULL, end);
        for (size_t k = 0; k < table->n_rows; k++) {
                struct libscols_line *line = scols_table_get_line(table->table, k);

                print_both(table, line, end);
                for (size_t i = 0; i < table->n_columns; i++)
                        if (is_long(&table->columns[i], i, end) && strcmp(cell_text(line, i), "-") != 0)
                                wrap_print(INDENT, cell_text(line, i));
        }
}

/* The long text LAST, which is the last column, beside all others. */
static void print_beside(const Table *table, size_t last) {
        size_t indent = width_to(table, last, false) + 1;

        for (size_t k = 0; k <= table->n_rows; k++) {
                struct libscols_line *line = k > 0 ? scols_table_get_line(table->table, k - 1) : NULL;
                size_t used = print_short(table, line, last, false);

                printf("%*s", (int) (indent - used), "");
                wrap_words(indent, line ? cell_text(line, last) : table->columns[last].heading);
        }
}

/* As many of the columns as fit on one line. */
static int print_fitting(const Table *table) {
        size_t last = last_long(table, table->n_columns), width = wrap_width(), end = table->n_columns;
        bool has_below = false;

        for (size_t i = 0; i < table->n_columns; i++)
                has_below |= table->columns[i].below;
        if (width_to(table, end, false) <= width || (last == end && !has_below)) {
                (void) scols_table_set_termforce(table->table, SCOLS_TERMFORCE_NEVER);
                return scols_print_table(table->table);
        }
        if (last + 1 == end && !has_below && width_to(table, last, false) + 1 + BESIDE <= width) {
                print_beside(table, last);
                return 0;
        }
        while (width_to(table, end, true) > width && last_long(table, end) < end)
                end = last_long(table, end);
        print_narrow(table, end);
        return 0;
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
        r = print_fitting(table);
        return r < 0 ? r : 0;
}
